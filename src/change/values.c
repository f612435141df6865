/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "change/values.h"

#include "base/error.h"
#include "base/json.h"
#include "change/reason.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct airlock_changes {
	char *run;
	enum airlock_changes_state state;
	enum airlock_changes_action action;
	struct airlock_change *v;
	size_t n, n_done;
	struct notes notes;
	const struct change_set *set; /* what the values point into */
	struct change_set *own;	      /* the same when it is freed with them */
	char *json;
};

static enum airlock_file_type type_of(const struct change *c)
{
	static const enum airlock_file_type types[] = {[CHANGE_NOTHING] = AIRLOCK_TYPE_OTHER,
						       [CHANGE_FILE] = AIRLOCK_TYPE_FILE,
						       [CHANGE_DIRECTORY] = AIRLOCK_TYPE_DIRECTORY,
						       [CHANGE_SYMLINK] = AIRLOCK_TYPE_SYMLINK,
						       [CHANGE_OTHER] = AIRLOCK_TYPE_OTHER};
	return types[c->type];
}

/* The same values under other names. */
_Static_assert((int)CHANGE_ADDED == AIRLOCK_KIND_ADDED && (int)CHANGE_MODIFIED == AIRLOCK_KIND_MODIFIED &&
		       (int)CHANGE_DELETED == AIRLOCK_KIND_DELETED && (int)CHANGE_RENAMED == AIRLOCK_KIND_RENAMED &&
		       (int)CHANGE_METADATA == AIRLOCK_KIND_METADATA && (int)CHANGE_TYPE == AIRLOCK_KIND_TYPE,
	       "kinds");
_Static_assert((int)CHANGE_HELD == AIRLOCK_CHANGE_HELD && (int)CHANGE_APPLIED == AIRLOCK_CHANGE_APPLIED &&
		       (int)CHANGE_CONFLICT == AIRLOCK_CHANGE_CONFLICT &&
		       (int)CHANGE_SKIPPED == AIRLOCK_CHANGE_SKIPPED &&
		       (int)CHANGE_DISCARDED == AIRLOCK_CHANGE_DISCARDED,
	       "states");

struct airlock_change change_value(const struct change_set *set, size_t i, bool is_done)
{
	const struct change *c = &set->v[i];
	return (struct airlock_change){
		.path = c->path,
		.root = set->roots[c->root].path,
		.from = c->from,
		.kind = (enum airlock_change_kind)c->kind,
		.type = type_of(c),
		.state = (enum airlock_change_state)c->state,
		.reasons = c->reasons,
		.n_reasons = c->n_reasons,
		.size = change_size(c),
		.mode = change_mode(c),
		.owner = c->has_owner ? &c->owner : NULL,
		.owner_before = c->has_owner && c->before.type != CHANGE_NOTHING ? &c->owner_before : NULL,
		.in_project = c->root == 0,
		.is_sensitive = c->verdict == CHANGE_HOLD,
		.is_undone = c->undone,
		.is_done = is_done};
}

static bool fill(struct airlock_changes *c, const struct change_outcome *o)
{
	size_t n = c->set ? c->set->n : 0;
	c->v = calloc(n + 1, sizeof *c->v);
	for (size_t i = 0; c->v && i < n; i++) {
		bool is_done = o->done && o->done[i];
		if (o->only && !o->only[i])
			continue;
		c->v[c->n++] = change_value(c->set, i, is_done);
		c->n_done += is_done;
	}
	return c->v && c->run;
}

struct airlock_changes *change_values_of_run(const char *run, const struct change_set *set,
					     enum airlock_changes_state state)
{
	struct airlock_changes *c = calloc(1, sizeof *c);
	if (!c)
		return NULL;
	*c = (struct airlock_changes){.run = strdup(run), .state = state, .set = set};
	if (fill(c, &(struct change_outcome){0}))
		return c;
	airlock_changes_free(c);
	return NULL;
}

int change_values_take(struct change_set *set, const struct change_outcome *outcome, struct airlock_changes **ret,
		       struct airlock_error *err)
{
	struct airlock_changes *c = calloc(1, sizeof *c);
	if (!c) {
		change_set_free(set);
		return base_oom(err);
	}
	*c = (struct airlock_changes){.run = strdup(set->run),
				      .state = change_set_state(set),
				      .action = outcome->action,
				      .set = set,
				      .own = set};
	if (outcome->notes) {
		c->notes = *outcome->notes;
		*outcome->notes = (struct notes)NOTES_INIT;
	}
	if (fill(c, outcome)) {
		*ret = c;
		return 0;
	}
	airlock_changes_free(c);
	return base_oom(err);
}

void airlock_changes_free(struct airlock_changes *c)
{
	if (!c)
		return;
	change_set_free(c->own);
	notes_done(&c->notes);
	free(c->run);
	free(c->json);
	free(c->v);
	free(c);
}

const char *airlock_changes_run(const struct airlock_changes *c)
{
	return c->run;
}

/* That decides about them; NULL: none. */
static const char *session_of(const struct airlock_changes *c)
{
	return c->set && c->set->part != CHANGE_PART_APART ? c->set->session : NULL;
}

const char *airlock_changes_name(const struct airlock_changes *c)
{
	const char *session = session_of(c);
	return session ? session : c->run;
}

enum airlock_changes_state airlock_changes_state(const struct airlock_changes *c)
{
	return c->state;
}

size_t airlock_changes_count(const struct airlock_changes *c)
{
	return c->n;
}

const struct airlock_change *airlock_changes_at(const struct airlock_changes *c, size_t i)
{
	return i < c->n ? &c->v[i] : NULL;
}

enum airlock_changes_action airlock_changes_action(const struct airlock_changes *c)
{
	return c->action;
}

size_t airlock_changes_done_count(const struct airlock_changes *c)
{
	return c->n_done;
}

const struct airlock_note *airlock_changes_note(const struct airlock_changes *c, size_t i)
{
	return notes_at(&c->notes, i);
}

struct owner_text {
	char text[24];
};

static struct owner_text owner_text(const struct airlock_owner *o)
{
	struct owner_text t;
	(void)snprintf(t.text, sizeof t.text, "%" PRIu32 ":%" PRIu32, o->uid, o->gid);
	return t;
}

static void add_object(struct json *j, const struct airlock_change *c)
{
	char mode[16];
	(void)snprintf(mode, sizeof mode, "%04o", c->mode);
	json_open_object(j, NULL);
	json_path(j, "path", c->path);
	json_path(j, "root", c->root);
	json_string(j, "kind", airlock_change_kind_name(c->kind));
	json_string(j, "type", airlock_file_type_name(c->type));
	json_string(j, "state", airlock_change_state_name(c->state));
	change_reasons_add_json(j, c->reasons, c->n_reasons);
	if (c->from)
		json_path(j, "from", c->from);
	else
		json_null(j, "from");
	json_int(j, "size", (int64_t)c->size);
	json_string(j, "mode", mode);
	if (c->owner) {
		json_string(j, "owner", owner_text(c->owner).text);
		json_string(j, "owner_before", c->owner_before ? owner_text(c->owner_before).text : NULL);
	}
	json_close(j);
}

void change_values_add_json(const struct change_set *set, enum airlock_changes_state state, struct json *j)
{
	json_string(j, "state", airlock_changes_state_name(state));
	json_open_array(j, "files");
	for (size_t i = 0; set && i < set->n; i++) {
		const struct airlock_change c = change_value(set, i, false);
		add_object(j, &c);
	}
	json_close(j);
}

void change_values_list_json(const struct airlock_changes *c, struct json *j)
{
	json_string(j, "state", airlock_changes_state_name(c->state));
	json_open_array(j, "files");
	for (size_t i = 0; i < c->n; i++)
		add_object(j, &c->v[i]);
	json_close(j);
}

const char *airlock_changes_json(struct airlock_changes *c)
{
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, true);
	json_open_object(&j, NULL);
	json_string(&j, "run", c->run);
	if (session_of(c))
		json_string(&j, "session", session_of(c));
	change_values_list_json(c, &j);
	json_close(&j);
	buf_addc(&out, '\n');
	free(c->json);
	c->json = buf_take(&out);
	return c->json;
}

/* ── Words ── */

const char *airlock_change_kind_name(enum airlock_change_kind kind)
{
	return change_kind_name((enum change_kind)kind);
}

const char *airlock_file_type_name(enum airlock_file_type type)
{
	static const char *const names[] = {[AIRLOCK_TYPE_FILE] = "file",
					    [AIRLOCK_TYPE_DIRECTORY] = "directory",
					    [AIRLOCK_TYPE_SYMLINK] = "symlink",
					    [AIRLOCK_TYPE_OTHER] = "other"};
	return names[type];
}

const char *airlock_change_state_name(enum airlock_change_state state)
{
	return change_state_name((enum change_state)state);
}
