/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "change/reason.h"

#include "base/json.h"

#include <assert.h>
#include <string.h>

/* In a sentence %w stands for what and the program in parentheses, %p for the path, %c for the commit, %r for the cause. */
static const struct reason_form {
	struct airlock_reason plain; /* the code without arguments */
	const char *name;	     /* in records and JSON */
	enum reason_class class;
	const char *sentence;
	const char *old; /* the sentence in records of version 1, where it was another */
} forms[] = {
#define FORM(id, name, class, ...) [AIRLOCK_REASON_##id] = {{.code = AIRLOCK_REASON_##id}, name, class, __VA_ARGS__}
	FORM(ROOT_REPLACED, "root-replaced", REASON_CONFLICT, "the project directory was replaced"),
	FORM(PARENT_REPLACED, "parent-replaced", REASON_CONFLICT, "a directory above it was replaced"),
	FORM(PARENT_DELETED, "parent-deleted", REASON_CONFLICT, "a directory above it was deleted since the run began"),
	FORM(EDITED, "edited", REASON_CONFLICT, "edited since the run began"),
	FORM(DELETED, "deleted", REASON_CONFLICT, "deleted since the run began"),
	FORM(CREATED, "created", REASON_CONFLICT, "created since the run began"),
	FORM(REPLACED, "replaced", REASON_CONFLICT, "replaced since the run began"),
	FORM(FILLED, "filled", REASON_CONFLICT, "something was created in it since the run began"),
	FORM(LOST, "lost", REASON_CONFLICT, "cannot be looked at any more"),
	FORM(UNKNOWN_ENTRY, "unknown-entry", REASON_CONFLICT, "there is something in it that the run did not know"),
	FORM(FOREIGN_ENTRY, "foreign-entry", REASON_CONFLICT, "there is something in it that the run did not make"),
	FORM(DIRECTORY_GONE, "directory-gone", REASON_CONFLICT, "its directory is gone"),
	FORM(APPLY_RACED, "apply-raced", REASON_CONFLICT, "somebody else changed it while it was being applied"),
	FORM(UNDO_RACED, "undo-raced", REASON_CONFLICT, "somebody else changed it while it was being undone"),
	FORM(CHANGED_SINCE, "changed-since", REASON_CONFLICT, "changed since it was applied"),

	FORM(OTHER_CONFLICT, "other-conflict", REASON_WAITING, "there is a conflict in the same run",
	     "held because of a conflict in the same run"),
	FORM(WAITS_FOR_ENTRY, "waits-for-entry", REASON_WAITING, "something in it is kept"),
	FORM(WAITS_FOR_PARENT, "waits-for-parent", REASON_WAITING, "its directory waits"),
	FORM(WAITS_FOR_OTHER, "waits-for-other", REASON_WAITING, "it belongs to something that waits"),
	FORM(TIMED_OUT, "timed-out", REASON_WAITING, "the command timed out", "held: the command timed out"),
	FORM(KILLED, "killed", REASON_WAITING, "the command was killed", "held: the command was killed"),
	FORM(ENDED, "ended", REASON_WAITING, "the command was ended", "held: the command was ended"),
	FORM(NOT_RUN, "not-run", REASON_WAITING, "the command could not be run", "held: the command could not be run"),
	FORM(INTERRUPTED, "interrupted", REASON_WAITING, "the run was interrupted", "held: the run was interrupted"),
	FORM(NOT_APPLIED, "not-applied", REASON_WAITING, "it could not be applied", "held: it could not be applied"),
	FORM(NO_BACKUP, "no-backup", REASON_WAITING, "its daily backup cannot be made"),
	FORM(NOT_KEPT, "not-kept", REASON_WAITING, "not kept: %w"),

	FORM(RUNS, "runs", REASON_CONTENT, "runs outside the sandbox: %w"),
	FORM(MISLEADS, "misleads", REASON_CONTENT, "leads programs outside the sandbox astray: %w"),
	FORM(STEERS, "steers", REASON_CONTENT, "steers programs outside the sandbox: %w"),
	FORM(UNKNOWN_NAME, "unknown-name", REASON_CONTENT,
	     "unknown dot-file: no table of airlock knows which program reads it"),
	FORM(UNKNOWN_SETTING, "unknown-setting", REASON_CONTENT, "git setting %w is not known to be harmless"),
	FORM(HOLD_RULE, "hold-rule", REASON_CONTENT, "a rule of the configuration holds it",
	     "held by a rule of the configuration"),
	FORM(LINK_OUT, "link-out", REASON_CONTENT, "leads out of the project: symbolic link"),
	FORM(MADE_EXECUTABLE, "made-executable", REASON_CONTENT, "made executable: git tracks it as data"),
	FORM(SPECIAL_FILE, "special-file", REASON_CONTENT, "special file: programs that open it may wait for ever"),
	FORM(NAMED_PIPE, "named-pipe", REASON_CONTENT, "a named pipe is not applied by itself"),
	FORM(SOCKET, "socket", REASON_CONTENT, "a socket cannot be applied"),
	FORM(DEVICE, "device", REASON_CONTENT, "a device cannot be applied"),
	FORM(NEW_COMMIT, "new-commit", REASON_CONTENT, "git: new commit %c has %p (%r)"),
	FORM(STAGED, "staged", REASON_CONTENT, "git: staged is %p (%r)"),
	FORM(MAKES_REPOSITORY, "makes-repository", REASON_CONTENT,
	     "makes a directory a repository, and with it %p: %r"),
	FORM(APPLIED_WHOLE, "applied-whole", REASON_CONTENT,
	     "it belongs to %p: a change of git's index, HEAD or references is applied whole or not at all",
	     "held with %p: a change of git's index, HEAD or references is applied whole or not at all"),
	FORM(UNREADABLE, "unreadable", REASON_CONTENT, "cannot be read, so it cannot be judged"),
	FORM(TOO_LARGE, "too-large", REASON_CONTENT, "too large to be judged"),
	FORM(INVALID_JSON, "invalid-json", REASON_CONTENT,
	     "not a JSON object without repeated members, so its scripts cannot be judged"),
	FORM(INVALID_SETTINGS, "invalid-settings", REASON_CONTENT,
	     "git would refuse to read it, so it cannot be judged"),
	FORM(COMMIT_UNREADABLE, "commit-unreadable", REASON_CONTENT,
	     "git: a new commit cannot be read, so it cannot be judged"),
	FORM(INDEX_UNREADABLE, "index-unreadable", REASON_CONTENT,
	     "git: what is staged cannot be read, so it cannot be judged"),
	FORM(HISTORY_TOO_LONG, "history-too-long", REASON_CONTENT,
	     "git: too much history or too many references to be looked through"),
	FORM(UNKNOWN_REFS, "unknown-refs", REASON_CONTENT,
	     "git: its references are in a format that airlock does not read"),
	FORM(TOO_MANY_OBJECTS, "too-many-objects", REASON_CONTENT,
	     "git: too many objects were packed anew to be held against their names"),
	FORM(UNKNOWN_OBJECTS, "unknown-objects", REASON_CONTENT,
	     "git: a file about objects in a format that airlock does not read"),
	FORM(LARGE_REPOSITORY, "large-repository", REASON_CONTENT,
	     "makes a directory a repository, and there is too much in it to be judged"),
	FORM(LARGE_DIRECTORY, "large-directory", REASON_CONTENT,
	     "leads to a directory with too many files to be judged"),
	FORM(RECORDED, "recorded", REASON_CONTENT, "%w"),

	FORM(SETUID_DROPPED, "setuid-dropped", REASON_ADJUSTED, "setuid bit dropped"),
	FORM(SETGID_DROPPED, "setgid-dropped", REASON_ADJUSTED, "setgid bit dropped"),
	FORM(SETIDS_DROPPED, "setids-dropped", REASON_ADJUSTED, "setuid and setgid bits dropped"),

	FORM(OTHER_COMMAND, "other-command", REASON_CONFLICT,
	     "another command of the session changed it at the same time"),
	FORM(TAKEN_BACK, "taken-back", REASON_WAITING, "the steps before it were taken back while the command ran"),
#undef FORM
};

const char *airlock_reason_name(enum airlock_reason_code code)
{
	return code < AL_ARRAY_LEN(forms) ? forms[code].name : NULL;
}

bool change_reason_by_name(const char *name, size_t len, enum airlock_reason_code *ret)
{
	for (size_t i = AIRLOCK_REASON_NONE + 1; i < AL_ARRAY_LEN(forms); i++)
		if (strlen(forms[i].name) == len && memcmp(forms[i].name, name, len) == 0) {
			*ret = (enum airlock_reason_code)i;
			return true;
		}
	return false;
}

const struct airlock_reason *change_reason_of(enum airlock_reason_code code)
{
	assert(code < AL_ARRAY_LEN(forms));
	return &forms[code].plain;
}

/* ── The value ── */

static int copy_string(const char *from, const char **ret)
{
	*ret = from ? strdup(from) : NULL;
	return from && !*ret ? -ENOMEM : 0;
}

int change_reason_copy(const struct airlock_reason *from, struct airlock_reason *ret)
{
	*ret = (struct airlock_reason){.code = from->code, .cause = from->cause};
	int rc = copy_string(from->what, &ret->what);
	rc = rc < 0 ? rc : copy_string(from->program, &ret->program);
	rc = rc < 0 ? rc : copy_string(from->path, &ret->path);
	rc = rc < 0 ? rc : copy_string(from->commit, &ret->commit);
	if (rc < 0)
		change_reason_done(ret);
	return rc;
}

void change_reason_done(struct airlock_reason *r)
{
	free((char *)r->what);
	free((char *)r->program);
	free((char *)r->path);
	free((char *)r->commit);
	*r = (struct airlock_reason){0};
}

/* Where the reason of a class is, or would be. */
static size_t place_of(const struct change *c, enum reason_class class)
{
	size_t i = 0;
	while (i < c->n_reasons && forms[c->reasons[i].code].class < class)
		i++;
	return i;
}

enum airlock_reason_code change_reason_code(const struct change *c, enum reason_class class)
{
	size_t i = place_of(c, class);
	bool is_there = i < c->n_reasons && forms[c->reasons[i].code].class == class;
	return is_there ? c->reasons[i].code : AIRLOCK_REASON_NONE;
}

void change_reason_drop(struct change *c, enum reason_class class)
{
	size_t i = place_of(c, class);
	if (change_reason_code(c, class) == AIRLOCK_REASON_NONE)
		return;
	change_reason_done(&c->reasons[i]);
	memmove(&c->reasons[i], &c->reasons[i + 1], (--c->n_reasons - i) * sizeof *c->reasons);
}

int change_reason_set(struct change *c, const struct airlock_reason *r)
{
	struct airlock_reason copy, *v = reallocarray(c->reasons, c->n_reasons + 1, sizeof *v);
	if (!v)
		return -ENOMEM;
	c->reasons = v;
	if (change_reason_copy(r, &copy) < 0)
		return -ENOMEM;
	change_reason_drop(c, forms[r->code].class);
	size_t i = place_of(c, forms[r->code].class);
	memmove(&v[i + 1], &v[i], (c->n_reasons++ - i) * sizeof *v);
	v[i] = copy;
	return 0;
}

bool change_is_follower(const struct change *c)
{
	return c->verdict == CHANGE_HOLD && change_reason_code(c, REASON_CONTENT) == AIRLOCK_REASON_APPLIED_WHOLE;
}

int change_reason_wait(struct change *c, enum airlock_reason_code code)
{
	bool is_clear = place_of(c, REASON_ADJUSTED) == 0;
	return is_clear ? change_reason_set(c, change_reason_of(code)) : 0;
}

int change_set_wait(struct change_set *set, enum airlock_reason_code code)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < set->n; i++)
		if (set->v[i].state == CHANGE_HELD)
			rc = change_reason_wait(&set->v[i], code);
	return rc;
}

/* ── Words ── */

static void add_what(struct buf *out, const struct airlock_reason *r)
{
	if (r->what)
		buf_adds(out, r->what);
	if (r->program)
		buf_printf(out, r->what ? " (%s)" : "%s", r->program);
}

void change_reason_add_text(struct buf *out, const struct airlock_reason *r)
{
	for (const char *p = forms[r->code].sentence; p && *p; p++) {
		if (*p != '%') {
			buf_addc(out, *p);
			continue;
		}
		switch (*++p) {
		case 'w':
			add_what(out, r);
			break;
		case 'p':
			buf_adds(out, r->path ? r->path : "");
			break;
		case 'c':
			buf_adds(out, r->commit ? r->commit : "");
			break;
		default: /* a cause has what and program, and no cause of its own */
			change_reason_add_text(out, &(struct airlock_reason){
							    .code = r->cause, .what = r->what, .program = r->program});
		}
	}
}

void change_reasons_add_text(struct buf *out, const struct airlock_reason *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		buf_adds(out, i ? "; " : "");
		change_reason_add_text(out, &v[i]);
	}
}

char *airlock_change_reason_text(const struct airlock_change *c)
{
	struct buf out = BUF_INIT;
	change_reasons_add_text(&out, c->reasons, c->n_reasons);
	return buf_take(&out);
}

void change_reasons_add_json(struct json *j, const struct airlock_reason *v, size_t n)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	change_reasons_add_text(&text, v, n);
	json_string(j, "reason", n ? buf_str(&text) : NULL);
	json_string(j, "reason_code", n ? airlock_reason_name(v->code) : NULL);
	j->out->failed |= text.failed;
}

int change_reason_refuse(struct airlock_error *err, const char *verb, const char *path, const struct airlock_reason *r)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	change_reason_add_text(&text, r);
	return base_error(err, AIRLOCK_ERR_CONFLICT, verb, path, "%s: %s", path, buf_str(&text));
}

/* ── Sentences of version 1 ── */

/* Is the text this sentence, with anything in place of one argument? */
static bool is_sentence(const char *sentence, const char *text, size_t len, struct airlock_reason *ret)
{
	const char *argument = strchr(sentence, '%');
	size_t before = argument ? (size_t)(argument - sentence) : strlen(sentence);
	const char *tail = argument ? argument + 2 : "";
	size_t after = strlen(tail);
	if (strchr(tail, '%') || len < before + after || (!argument && len != before) ||
	    memcmp(text, sentence, before) != 0 || memcmp(text + len - after, tail, after) != 0)
		return false;
	const char *value = argument ? strndup(text + before, len - before - after) : NULL;
	*(argument && argument[1] == 'p' ? &ret->path : &ret->what) = value;
	return true;
}

static int read_one(struct change *c, const char *text, size_t len)
{
	for (size_t code = AIRLOCK_REASON_NONE + 1; code < AL_ARRAY_LEN(forms); code++) {
		struct airlock_reason r = {.code = (enum airlock_reason_code)code};
		const char *sentence = forms[code].old ? forms[code].old : forms[code].sentence;
		if (code == AIRLOCK_REASON_RECORDED || !is_sentence(sentence, text, len, &r))
			continue;
		int rc = strchr(sentence, '%') && !r.what && !r.path ? -ENOMEM : change_reason_set(c, &r);
		change_reason_done(&r);
		return rc < 0 ? rc : 1;
	}
	return 0;
}

/* Version 1 joined sentences by "; ", which a path may contain, too. Unknown text is kept as it is. */
int change_reason_read_sentence(struct change *c, const char *text)
{
	while (*text) {
		int rc = 0;
		const char *end = text;
		while (rc == 0 && *end) {
			end = strstr(end + 1, "; ");
			end = end ? end : text + strlen(text);
			rc = read_one(c, text, (size_t)(end - text));
		}
		if (rc == 0)
			return change_reason_set(
				c, &(struct airlock_reason){.code = AIRLOCK_REASON_RECORDED, .what = text});
		if (rc < 0)
			return rc;
		text = *end ? end + 2 : end;
	}
	return 0;
}
