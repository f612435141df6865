/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* airlock://run/<id>/stdout, stderr and diff: what is too long for a result. A long one is read in parts: ?offset=N. */
#include "tool_context.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PART_MAX ((size_t)4 << 20)
#define PREFIX "airlock://run/"

struct address {
	char run[48];
	char what[16]; /* "stdout", "stderr", "diff" */
	int64_t offset;
};

static bool parse(const char *uri, struct address *ret)
{
	int used = 0;
	*ret = (struct address){0};
	if (sscanf(uri, PREFIX "%47[^/]/%15[a-z]%n", ret->run, ret->what, &used) != 2 || used == 0)
		return false;
	const char *rest = uri + used;
	used = 0;
	if (*rest &&
	    /* NOLINTNEXTLINE(cert-err34-c): 18 digits fit */
	    (sscanf(rest, "?offset=%18" SCNd64 "%n", &ret->offset, &used) != 1 || rest[used] || ret->offset < 0))
		return false;
	return strcmp(ret->what, "stdout") == 0 || strcmp(ret->what, "stderr") == 0 || strcmp(ret->what, "diff") == 0;
}

/* A part of it, from the offset on. Cuts at a character boundary. */
struct run_part {
	char *bytes;
	size_t len;
	int64_t total;
};

static int read_stream(const struct airlock_settings *s, const struct address *a, struct run_part *ret,
		       struct airlock_error *err)
{
	int fd = -1, rc = airlock_output_open(s, a->run, strcmp(a->what, "stderr") == 0, &fd, err);
	if (rc < 0)
		return rc;
	ret->total = lseek(fd, 0, SEEK_END);
	ret->bytes = malloc(PART_MAX + 1);
	ssize_t n = ret->bytes ? pread(fd, ret->bytes, PART_MAX, a->offset) : -1;
	(void)close(fd);
	if (n < 0)
		return tool_error(err, AIRLOCK_ERR_IO, "cannot read the output of run %s", a->run);
	ret->len = (size_t)n;
	ret->bytes[n] = '\0';
	return 0;
}

static int read_diff(const struct airlock_settings *s, const struct address *a, struct run_part *ret,
		     struct airlock_error *err)
{
	char *text = NULL;
	int rc = airlock_changes_diff(s, a->run, NULL, 0, &text, err);
	if (rc < 0)
		return rc;
	ret->total = (int64_t)strlen(text);
	const char *from = text + (a->offset < ret->total ? a->offset : ret->total);
	ret->bytes = strndup(from, PART_MAX);
	ret->len = ret->bytes ? strlen(ret->bytes) : 0;
	airlock_free(text);
	return ret->bytes ? 0 : tool_error(err, AIRLOCK_ERR_INTERNAL, "out of memory");
}

/* If more follows, an incomplete character is left for the next part. */
static size_t whole_characters(const struct run_part *p, int64_t offset)
{
	if (offset + (int64_t)p->len >= p->total)
		return p->len;
	for (size_t back = 1; back < 4 && back < p->len; back++) {
		unsigned char c = (unsigned char)p->bytes[p->len - back];
		if ((c & 0xC0) == 0x80)
			continue;
		size_t needs = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;
		return needs > back ? p->len - back : p->len;
	}
	return p->len;
}

/* Text as text; anything else in base64. */
static json_t *contents(const char *uri, const struct address *a, const struct run_part *p)
{
	size_t len = whole_characters(p, a->offset);
	int64_t next = a->offset + (int64_t)len;
	json_t *text = json_stringn(p->bytes, len);
	json_t *item = json_pack("{s:s, s:s}", "uri", uri, "mimeType",
				 !text				? "application/octet-stream"
				 : strcmp(a->what, "diff") == 0 ? "text/x-diff"
								: "text/plain");
	if (text)
		(void)json_object_set_new(item, "text", text);
	else
		(void)json_object_set_new(item, "blob", tool_base64(p->bytes, len));
	if (next < p->total || a->offset > 0)
		(void)json_object_set_new(item, "_meta",
					  json_pack("{s:I, s:I, s:o}", "airlock/offset", (json_int_t)a->offset,
						    "airlock/size", (json_int_t)p->total, "airlock/nextOffset",
						    next < p->total ? json_integer(next) : json_null()));
	return item;
}

static int load(const struct mcp_request *r, const struct address *a, struct run_part *ret, struct airlock_error *err)
{
	struct airlock_settings *s = NULL;
	struct address found = *a;
	int rc = tool_settings(r, &s, err);
	if (rc >= 0 && !tool_is_own_run(tool_context_of(r), a->run))
		rc = tool_find_run(r, s, a->run, found.run, err);
	if (rc >= 0)
		rc = strcmp(a->what, "diff") == 0 ? read_diff(s, &found, ret, err) : read_stream(s, &found, ret, err);
	airlock_settings_free(s);
	return rc;
}

static void read_resource(struct mcp_request *r, json_t *params)
{
	const char *uri = json_string_value(json_object_get(params, "uri"));
	struct airlock_error err = {0};
	struct address a;
	struct run_part p = {0};
	if (!uri) {
		mcp_fail(r, RPC_INVALID_PARAMS, NULL, "Invalid params: uri must be a string");
	} else if (!parse(uri, &a) || load(r, &a, &p, &err) < 0) {
		char why[256];
		(void)snprintf(why, sizeof why, "Resource not found: %.128s", uri);
		mcp_fail(r, RPC_INVALID_PARAMS, json_pack("{s:s}", "uri", uri), why);
	} else {
		mcp_reply(r, json_pack("{s:[o]}", "contents", contents(uri, &a, &p)));
	}
	free(p.bytes);
}

/* The latest runs of this server, newest first. */
static void list_resources(struct mcp_request *r, json_t *params)
{
	static const char *const kinds[] = {"stdout", "stderr", "diff"};
	const struct tool_context *f = tool_context_of(r);
	json_t *list = json_array();
	if (json_object_get(params, "cursor")) {
		json_decref(list);
		mcp_fail(r, RPC_INVALID_PARAMS, NULL, "Invalid params: unknown cursor");
		return;
	}
	for (size_t i = f->n_own_runs; i > 0 && f->n_own_runs - i < TOOL_OWN_RUNS; i--)
		for (size_t k = 0; k < 3; k++) {
			const char *id = f->own_runs[(i - 1) % TOOL_OWN_RUNS];
			char uri[128], name[80];
			(void)snprintf(uri, sizeof uri, PREFIX "%s/%s", id, kinds[k]);
			(void)snprintf(name, sizeof name, "%s of run %s", kinds[k], id);
			(void)json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "uri", uri, "name", name,
								    "mimeType", k == 2 ? "text/x-diff" : "text/plain"));
		}
	mcp_reply(r, json_pack("{s:o}", "resources", list));
}

static json_t *template(const char *what, const char *title, const char *type)
{
	char uri[64];
	(void)snprintf(uri, sizeof uri, PREFIX "{run}/%s{?offset}", what);
	return json_pack("{s:s, s:s, s:s, s:s}", "uriTemplate", uri, "name", what, "title", title, "mimeType", type);
}

static void list_templates(struct mcp_request *r, json_t *params)
{
	(void)params;
	mcp_reply(r, json_pack("{s:[o, o, o]}", "resourceTemplates",
			       template("stdout", "The whole standard output of a run", "text/plain"),
			       template("stderr", "The whole standard error of a run", "text/plain"),
			       template("diff", "What a run changed, as a unified diff", "text/x-diff")));
}

const struct mcp_method tool_resource_methods[] = {
	{"resources/list", MCP_BOTH, list_resources, 0},
	{"resources/templates/list", MCP_BOTH, list_templates, 3600000},
	{"resources/read", MCP_BOTH, read_resource, 0},
	{0},
};
