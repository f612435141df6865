/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "setup.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

#define DEFAULT_INDENT 2
#define MAX_INDENT 8

static int out_of_memory(struct airlock_error *err)
{
	return output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
}

static int wrong_shape(const struct agent *a, const char *what, struct airlock_error *err)
{
	(void)output_fail(err, AIRLOCK_ERR_INVALID, a->file, "the configuration of %s is not as expected: %s", a->title,
			  what);
	return output_hint(err, "airlock setup %s --print shows what belongs there", a->name);
}

/* ── Entries ── */

static json_t *make_entry(const struct agent *a, const char *command)
{
	switch (a->entry) {
	case AGENT_ENTRY_NESTED:
		return json_pack("{s:s, s:[{s:s, s:s}]}", "matcher", a->matcher, "hooks", "type", "command", "command",
				 command);
	case AGENT_ENTRY_TYPED:
		return json_pack("{s:s, s:s}", "type", "command", "command", command);
	case AGENT_ENTRY_COMMAND:
		return json_pack("{s:s, s:s, s:b}", "command", command, "matcher", a->matcher, "failClosed", 1);
	}
	return NULL;
}

static bool is_our_hook(const struct agent *a, json_t *hook)
{
	const char *command = json_string_value(json_object_get(hook, "command"));
	return command && agent_is_command(a, command);
}

/* Removes our hooks from a list of hooks. Returns how many there were. */
static size_t remove_hooks(const struct agent *a, json_t *list)
{
	size_t removed = 0;
	for (size_t i = json_array_size(list); i > 0; i--)
		if (is_our_hook(a, json_array_get(list, i - 1))) {
			(void)json_array_remove(list, i - 1);
			removed++;
		}
	return removed;
}

/* The same for a list of entries, each of which may contain a list of hooks. Removes an entry that contained only
 * ours. */
static size_t remove_entries(const struct agent *a, json_t *entries)
{
	if (a->entry != AGENT_ENTRY_NESTED)
		return remove_hooks(a, entries);
	size_t removed = 0;
	for (size_t i = json_array_size(entries); i > 0; i--) {
		json_t *hooks = json_object_get(json_array_get(entries, i - 1), "hooks");
		size_t n = remove_hooks(a, hooks);
		if (n > 0 && json_array_size(hooks) == 0)
			(void)json_array_remove(entries, i - 1);
		removed += n;
	}
	return removed;
}

/* ── The whole ── */

static int take_out(const struct agent *a, json_t *root)
{
	json_t *hooks = json_object_get(root, "hooks"), *entries = json_object_get(hooks, a->event);
	if (remove_entries(a, entries) == 0)
		return 0;
	if (json_array_size(entries) == 0)
		(void)json_object_del(hooks, a->event);
	if (json_object_size(hooks) == 0)
		(void)json_object_del(root, "hooks");
	/* A file with only a format version is empty. */
	if (json_object_size(root) == 1 && json_object_get(root, "version") && a->version)
		(void)json_object_clear(root);
	return 1;
}

static json_t *member(json_t *object, const char *key, json_t *(*make)(void))
{
	json_t *value = json_object_get(object, key);
	if (value)
		return value;
	value = make();
	return value && json_object_set_new(object, key, value) == 0 ? value : NULL;
}

static int put_in(const struct agent *a, json_t *root, const char *command, struct airlock_error *err)
{
	if (a->version && !json_object_get(root, "version") &&
	    json_object_set_new(root, "version", json_integer(a->version)) < 0)
		return out_of_memory(err);
	json_t *hooks = member(root, "hooks", json_object);
	if (hooks && !json_is_object(hooks))
		return wrong_shape(a, "\"hooks\" is not an object", err);
	json_t *entries = hooks ? member(hooks, a->event, json_array) : NULL;
	if (entries && !json_is_array(entries))
		return wrong_shape(a, "the hooks of an event are not a list", err);
	(void)remove_entries(a, entries); /* of an airlock in another place */
	json_t *entry = entries ? make_entry(a, command) : NULL;
	return entry && json_array_append_new(entries, entry) == 0 ? 1 : out_of_memory(err);
}

/* The width of the first indentation, so that the rest of the file keeps its layout. */
static size_t indent_of(const char *text)
{
	for (const char *line = text ? strchr(text, '\n') : NULL; line; line = strchr(line + 1, '\n')) {
		size_t n = strspn(line + 1, " ");
		if (n > 0 && line[1 + n] != '\n')
			return n < MAX_INDENT ? n : MAX_INDENT;
	}
	return DEFAULT_INDENT;
}

static int write_out(json_t *root, const char *before, char **ret, struct airlock_error *err)
{
	if (json_object_size(root) == 0) {
		*ret = strdup("");
		return *ret ? 0 : out_of_memory(err);
	}
	char *text = json_dumps(root, JSON_INDENT(indent_of(before)) | JSON_REAL_PRECISION(15));
	int n = text ? asprintf(ret, "%s\n", text) : -1;
	free(text);
	return n < 0 ? out_of_memory(err) : 0;
}

static int parse(const struct agent *a, const char *text, json_t **ret, struct airlock_error *err)
{
	json_error_t why;
	bool is_blank = !text || text[strspn(text, " \t\r\n")] == '\0';
	*ret = is_blank ? json_object() : json_loads(text, JSON_REJECT_DUPLICATES, &why);
	if (!*ret && !is_blank) {
		(void)output_fail(err, AIRLOCK_ERR_INVALID, a->file,
				  "%s:%d: not plain JSON, so it cannot be edited: %s", a->file, why.line, why.text);
		return output_hint(err, "comments would be lost; airlock setup %s --print shows what to put in by hand",
				   a->name);
	}
	if (!*ret)
		return out_of_memory(err);
	return json_is_object(*ret) ? 0 : wrong_shape(a, "it is not an object", err);
}

int setup_edit(const struct agent *a, const char *command, const char *text, enum setup_direction direction,
	       char **ret_edited, struct airlock_error *err)
{
	json_t *root = NULL, *before = NULL;
	int rc = parse(a, text, &root, err);
	if (rc == 0 && !(before = json_deep_copy(root)))
		rc = out_of_memory(err);
	if (rc == 0)
		rc = direction == SETUP_ADD ? put_in(a, root, command, err) : take_out(a, root);
	if (rc > 0)
		rc = !json_equal(root, before);
	if (rc >= 0 && write_out(root, text, ret_edited, err) < 0)
		rc = err->code;
	json_decref(root);
	json_decref(before);
	return rc;
}
