/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "setup.h"

#include <jansson.h>
#include <stddef.h>
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

static int wrong_shape(const struct setup *su, const char *what, struct airlock_error *err)
{
	(void)output_fail(err, AIRLOCK_ERR_INVALID, su->edits->file, "the configuration of %s is not as expected: %s",
			  su->agent->title, what);
	return output_hint(err, "airlock setup %s --print shows what belongs there", su->agent->name);
}

/* The value of an edit with the programs in it. */
static char *fill_in(const struct setup *su, const char *value)
{
	static const struct {
		const char *name;
		size_t offset;
	} names[] = {{"@AIRLOCK@", offsetof(struct setup, program)}, {"@SHELL@", offsetof(struct setup, shell)}};
	char *text = strdup(value);
	for (size_t i = 0; text && i < sizeof names / sizeof *names; i++) {
		const char *program = *(const char *const *)(const void *)((const char *)su + names[i].offset);
		char *at = strstr(text, names[i].name), *filled = NULL;
		if (!at)
			continue;
		if (asprintf(&filled, "%.*s%s%s", (int)(at - text), text, program, at + strlen(names[i].name)) < 0)
			filled = NULL;
		free(text);
		text = filled;
	}
	return text;
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

/* ── Hooks ── */

static void take_hook_out(const struct agent *a, json_t *root)
{
	json_t *hooks = json_object_get(root, "hooks"), *entries = json_object_get(hooks, a->event);
	if (remove_entries(a, entries) == 0)
		return;
	if (json_array_size(entries) == 0)
		(void)json_object_del(hooks, a->event);
	if (json_object_size(hooks) == 0)
		(void)json_object_del(root, "hooks");
	/* A file with only a format version is empty. */
	if (json_object_size(root) == 1 && json_object_get(root, "version") && a->version)
		(void)json_object_clear(root);
}

static json_t *member(json_t *object, const char *key, json_t *(*make)(void))
{
	json_t *value = json_object_get(object, key);
	if (value)
		return value;
	value = make();
	return value && json_object_set_new(object, key, value) == 0 ? value : NULL;
}

static int put_hook_in(const struct setup *su, json_t *root, struct airlock_error *err)
{
	const struct agent *a = su->agent;
	if (a->version && !json_object_get(root, "version") &&
	    json_object_set_new(root, "version", json_integer(a->version)) < 0)
		return out_of_memory(err);
	json_t *hooks = member(root, "hooks", json_object);
	if (hooks && !json_is_object(hooks))
		return wrong_shape(su, "\"hooks\" is not an object", err);
	json_t *entries = hooks ? member(hooks, a->event, json_array) : NULL;
	if (entries && !json_is_array(entries))
		return wrong_shape(su, "the hooks of an event are not a list", err);
	(void)remove_entries(a, entries); /* of an airlock in another place */
	json_t *entry = entries ? make_entry(a, su->command) : NULL;
	return entry && json_array_append_new(entries, entry) == 0 ? 0 : out_of_memory(err);
}

/* ── Members and items ── */

#define DEPTH_MAX 4

/* The objects on the way to a member, the top first; makes those that are missing if it may. */
struct way {
	json_t *objects[DEPTH_MAX];
	char names[DEPTH_MAX][48];
	size_t n;
};

static bool find_way(json_t *root, const char *path, bool may_make, struct way *ret)
{
	json_t *at = root;
	*ret = (struct way){.n = 0};
	while (ret->n < DEPTH_MAX && json_is_object(at)) {
		size_t len = strcspn(path, "/");
		(void)snprintf(ret->names[ret->n], sizeof ret->names[0], "%.*s", (int)len, path);
		ret->objects[ret->n] = at;
		const char *name = ret->names[ret->n++];
		if (!path[len])
			return true;
		at = may_make ? member(at, name, json_object) : json_object_get(at, name);
		path += len + 1;
	}
	return false;
}

/* An object that has nothing left in it was probably made for what we put there. */
static void remove_member(struct way *w)
{
	for (size_t i = w->n; i > 0; i--) {
		(void)json_object_del(w->objects[i - 1], w->names[i - 1]);
		if (json_object_size(w->objects[i - 1]) > 0)
			break;
	}
}

static size_t find_item(json_t *list, const json_t *value)
{
	size_t i = 0;
	while (i < json_array_size(list) && !json_equal(json_array_get(list, i), value))
		i++;
	return i;
}

/* The same program, wherever it was installed. */
static bool is_same_program(const json_t *one, const json_t *two)
{
	const char *a = json_string_value(one), *b = json_string_value(two);
	const char *end_a = a ? strrchr(a, '/') : NULL, *end_b = b ? strrchr(b, '/') : NULL;
	return end_a && end_b && strcmp(end_a, end_b) == 0;
}

static bool is_ours(const json_t *old, const json_t *value)
{
	return json_equal(old, value) || is_same_program(old, value) ||
	       is_same_program(json_object_get(old, "command"), json_object_get(value, "command"));
}

static int put_value_in(const struct setup *su, const struct agent_edit *e, json_t *root, json_t *value,
			struct airlock_error *err)
{
	struct way w;
	if (!find_way(root, e->path, true, &w))
		return wrong_shape(su, "a member on the way to what airlock sets is not an object", err);
	if (e->kind == AGENT_EDIT_MEMBER)
		return json_object_set(w.objects[w.n - 1], w.names[w.n - 1], value) == 0 ? 0 : out_of_memory(err);
	json_t *list = member(w.objects[w.n - 1], w.names[w.n - 1], json_array);
	if (!json_is_array(list))
		return wrong_shape(su, "what airlock adds to is not a list", err);
	bool is_there = find_item(list, value) < json_array_size(list);
	return is_there || json_array_append(list, value) == 0 ? 0 : out_of_memory(err);
}

static void take_value_out(const struct agent_edit *e, json_t *root, const json_t *value)
{
	struct way w;
	if (!find_way(root, e->path, false, &w))
		return;
	json_t *old = json_object_get(w.objects[w.n - 1], w.names[w.n - 1]);
	if (e->kind == AGENT_EDIT_MEMBER && old && is_ours(old, value))
		remove_member(&w);
	if (e->kind != AGENT_EDIT_ITEM || !json_is_array(old))
		return;
	(void)json_array_remove(old, find_item(old, value));
	if (json_array_size(old) == 0)
		remove_member(&w);
}

static int edit_json_value(const struct setup *su, const struct agent_edit *e, json_t *root,
			   enum setup_direction direction, struct airlock_error *err)
{
	char *text = fill_in(su, e->value);
	json_t *value = text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
	int rc = value ? 0 : out_of_memory(err);
	if (rc == 0 && direction == SETUP_ADD)
		rc = put_value_in(su, e, root, value, err);
	else if (rc == 0)
		take_value_out(e, root, value);
	json_decref(value);
	free(text);
	return rc;
}

/* ── A JSON file ── */

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

static int parse(const struct setup *su, const char *text, json_t **ret, struct airlock_error *err)
{
	json_error_t why;
	const char *file = su->edits->file;
	bool is_blank = !text || text[strspn(text, " \t\r\n")] == '\0';
	*ret = is_blank ? json_object() : json_loads(text, JSON_REJECT_DUPLICATES, &why);
	if (!*ret && !is_blank) {
		(void)output_fail(err, AIRLOCK_ERR_INVALID, file, "%s:%d: not plain JSON, so it cannot be edited: %s",
				  file, why.line, why.text);
		return output_hint(err, "comments would be lost; airlock setup %s --print shows what to put in by hand",
				   su->agent->name);
	}
	if (!*ret)
		return out_of_memory(err);
	return json_is_object(*ret) ? 0 : wrong_shape(su, "it is not an object", err);
}

static int edit_root(const struct setup *su, json_t *root, enum setup_direction direction, struct airlock_error *err)
{
	int rc = 0;
	for (size_t i = 0; i < su->n_edits && rc == 0; i++) {
		if (su->edits[i].kind != AGENT_EDIT_HOOK)
			rc = edit_json_value(su, &su->edits[i], root, direction, err);
		else if (direction == SETUP_ADD)
			rc = put_hook_in(su, root, err);
		else
			take_hook_out(su->agent, root);
	}
	return rc;
}

static int edit_json(const struct setup *su, const char *text, enum setup_direction direction, char **ret_edited,
		     struct airlock_error *err)
{
	json_t *root = NULL, *before = NULL;
	int rc = parse(su, text, &root, err);
	if (rc == 0 && !(before = json_deep_copy(root)))
		rc = out_of_memory(err);
	if (rc == 0)
		rc = edit_root(su, root, direction, err);
	if (rc == 0)
		rc = !json_equal(root, before);
	if (rc >= 0 && write_out(root, text, ret_edited, err) < 0)
		rc = err->code;
	json_decref(root);
	json_decref(before);
	return rc;
}

/* ── A file of lines ── */

#define MARK " # airlock"

static char *join(char *text /* freed */, const char *more, size_t len)
{
	char *joined = NULL;
	if (text && asprintf(&joined, "%s%.*s", text, (int)len, more) < 0)
		joined = NULL;
	free(text);
	return joined;
}

static bool is_marked(const char *line, size_t len)
{
	size_t n = sizeof MARK - 1;
	return len >= n && strncmp(line + len - n, MARK, n) == 0;
}

/* Without the lines that are ours. */
static char *unmarked(const char *text)
{
	char *out = strdup("");
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\r\n"),
		       whole = len + strspn(line + len, "\r") + (line[len + strspn(line + len, "\r")] == '\n');
		if (!is_marked(line, len))
			out = join(out, line, whole);
		line += whole;
	}
	return out;
}

/* The first line that is this heading, or NULL. */
static const char *find_heading(const char *text, const char *heading)
{
	size_t n = strlen(heading);
	for (const char *line = text; *line; line += strcspn(line, "\n") + (strchr(line, '\n') != NULL)) {
		size_t len = strcspn(line, "\r\n#");
		while (len > n && line[len - 1] == ' ')
			len--;
		if (len == n && strncmp(line, heading, n) == 0)
			return line;
	}
	return NULL;
}

static char *add_marked(char *text, const char *lines, size_t skip)
{
	for (const char *line = lines; *line; line += strcspn(line, "\n") + 1) {
		size_t len = strcspn(line, "\n");
		text = join(text, line + skip, len - skip);
		text = join(text, MARK "\n", sizeof MARK);
	}
	return text;
}

/* Below its heading where there is one, at the end where not. */
static char *add_lines(const struct agent_edit *e, char *text /* freed */, const char *lines)
{
	const char *heading = text ? find_heading(text, e->path) : NULL;
	char *out = NULL;
	if (heading) {
		const char *below = heading + strcspn(heading, "\n") + 1;
		size_t skip = strncmp(below, "- ", 2) == 0 ? 2 : 0; /* a list that is not indented */
		out = add_marked(join(strdup(""), text, (size_t)(below - text)), lines, skip);
		out = join(out, below, strlen(below));
	} else if (text) {
		size_t len = strlen(text);
		out = strdup(text);
		if (len > 0 && text[len - 1] != '\n')
			out = join(out, "\n", 1);
		out = join(join(out, e->path, strlen(e->path)), MARK "\n", sizeof MARK);
		out = add_marked(out, lines, 0);
	}
	free(text);
	return out;
}

static int edit_lines(const struct setup *su, const char *text, enum setup_direction direction, char **ret_edited,
		      struct airlock_error *err)
{
	char *out = unmarked(text ? text : "");
	if (out && !*out && direction == SETUP_ADD && su->edits->first)
		out = add_marked(out, su->edits->first, 0);
	for (size_t i = 0; out && direction == SETUP_ADD && i < su->n_edits; i++) {
		char *lines = fill_in(su, su->edits[i].value);
		out = lines ? add_lines(&su->edits[i], out, lines) : NULL;
		free(lines);
	}
	*ret_edited = out;
	return out ? strcmp(out, text ? text : "") != 0 : out_of_memory(err);
}

static int edit_file(const struct setup *su, const char *text, enum setup_direction direction, char **ret_edited,
		     struct airlock_error *err)
{
	char *ours = fill_in(su, su->edits->value);
	bool is_ours = ours && text && strcmp(text, ours) == 0;
	if (ours && direction == SETUP_REMOVE) {
		*ret_edited = strdup(is_ours || !text ? "" : text);
		free(ours);
		return *ret_edited ? is_ours : out_of_memory(err);
	}
	*ret_edited = ours;
	return ours ? !is_ours : out_of_memory(err);
}

int setup_edit(const struct setup *su, const char *text, enum setup_direction direction, char **ret_edited,
	       struct airlock_error *err)
{
	if (su->edits->kind == AGENT_EDIT_FILE)
		return edit_file(su, text, direction, ret_edited, err);
	return su->edits->kind == AGENT_EDIT_LINES ? edit_lines(su, text, direction, ret_edited, err)
						   : edit_json(su, text, direction, ret_edited, err);
}
