/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "change_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_read.h"
#include "output.h"

/* A path that is not UTF-8 is exact only in its base64 form. */
static char *read_path(const char *value, const char *exact)
{
	return exact ? json_read_base64(exact) : json_read_string(value);
}

static bool read_item(const char *file, struct change_item *ret)
{
	enum { PATH, PATH_EXACT, ROOT, ROOT_EXACT, KIND, TYPE, STATE, REASON, N };
	static const char *const keys[N] = {"path", "path_base64", "root",  "root_base64",
					    "kind", "type",	   "state", "reason"};
	const char *v[N];
	json_read_members(file, keys, N, v);
	*ret = (struct change_item){.path = read_path(v[PATH], v[PATH_EXACT]),
				    .root = read_path(v[ROOT], v[ROOT_EXACT]),
				    .kind = json_read_string(v[KIND]),
				    .state = json_read_string(v[STATE]),
				    .reason = json_read_string(v[REASON]),
				    .is_directory = json_read_is(v[TYPE], "directory")};
	return ret->path && ret->root && ret->kind && ret->state;
}

static bool add_item(struct change_list *l, size_t *cap, const char *file)
{
	if (l->n == *cap) {
		size_t more = *cap ? *cap * 2 : 16;
		struct change_item *v = realloc(l->v, more * sizeof *v);
		if (!v)
			return false;
		l->v = v;
		*cap = more;
	}
	return read_item(file, &l->v[l->n++]);
}

int change_list_parse(const char *object, struct change_list *ret, struct airlock_error *err)
{
	*ret = (struct change_list){.run = json_read_string(json_read_member(object, "run")),
				    .is_direct = json_read_is(json_read_member(object, "state"), "direct")};
	bool ok = true;
	size_t cap = 0;
	for (const char *f = json_read_first(json_read_member(object, "files")); ok && f; f = json_read_next(f))
		ok = add_item(ret, &cap, f);
	if (ok)
		return 0;
	change_list_done(ret);
	return output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "the list of changes cannot be read");
}

int change_list_load(const struct airlock_settings *s, const char *run, struct change_list *ret,
		     struct airlock_error *err)
{
	char *json = NULL;
	int rc = airlock_changes_show(s, run, true, &json, err);
	if (rc >= 0)
		rc = change_list_parse(json, ret, err);
	airlock_free(json);
	if (rc < 0 || ret->run)
		return rc;
	change_list_done(ret);
	return output_fail(err, AIRLOCK_ERR_INTERNAL, run, "the changes of run '%s' do not name it", run);
}

static void item_done(struct change_item *c)
{
	char *all[] = {c->path, c->root, c->kind, c->state, c->reason, c->shown};
	for (size_t k = 0; k < sizeof all / sizeof *all; k++)
		free(all[k]);
}

void change_list_done(struct change_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		item_done(&l->v[i]);
	free(l->v);
	free(l->run);
	*l = (struct change_list){0};
}

static bool is_waiting(const struct change_item *c)
{
	return strcmp(c->state, "held") == 0 || strcmp(c->state, "conflict") == 0;
}

/* "M  path  (held: reason)": where the path ends. */
static size_t path_length(const struct change_item *c, const char *path, size_t len)
{
	for (size_t i = len; (c->reason || strcmp(c->state, "held") != 0) && i-- > 3;)
		if (strncmp(path + i - 2, "  (", 3) == 0)
			return i - 2;
	return len;
}

int change_list_read_lines(struct change_list *l, const char *text, struct airlock_error *err)
{
	for (size_t i = 0; i < l->n; i++) {
		size_t len = strcspn(text, "\n");
		const char *path = len > 3 ? text + 3 : text;
		free(l->v[i].shown);
		l->v[i].shown = strndup(path, path_length(&l->v[i], path, len - (size_t)(path - text)));
		if (!l->v[i].shown)
			return output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
		text += len + (text[len] == '\n');
	}
	return 0;
}

void change_list_keep_waiting(struct change_list *l, char *text)
{
	size_t n = 0;
	char *out = text;
	for (size_t i = 0; i < l->n; i++) {
		size_t len = strcspn(text, "\n");
		len += text[len] == '\n';
		if (is_waiting(&l->v[i])) {
			l->v[n++] = l->v[i];
			(void)memmove(out, text, len);
			out += len;
		} else {
			item_done(&l->v[i]);
		}
		text += len;
	}
	*out = '\0';
	l->n = n;
}

size_t change_list_count(const struct change_list *l, const char *state)
{
	size_t n = 0;
	for (size_t i = 0; i < l->n; i++)
		n += strcmp(l->v[i].state, state) == 0;
	return n;
}

struct change_count change_count(size_t n)
{
	struct change_count c;
	(void)snprintf(c.text, sizeof c.text, n == 1 ? "%zu change" : "%zu changes", n);
	return c;
}

struct change_summary change_list_summary(const struct change_list *l)
{
	static const char *const words[][2] = {{"applied", "applied"},
					       {"held", "held"},
					       {"conflict", "in conflict"},
					       {"skipped", "skipped"},
					       {"discarded", "discarded"}};
	struct change_summary s = {""};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t n = change_list_count(l, words[i][0]), len = strlen(s.text);
		if (n > 0)
			(void)snprintf(s.text + len, sizeof s.text - len, "%s%zu %s", len ? ", " : "", n, words[i][1]);
	}
	return s;
}
