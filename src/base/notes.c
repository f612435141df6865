/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/notes.h"

#include "base/array.h"
#include "base/json.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

/* %s is the subject, %d the directory that it is in, %o the other, %c the cause, %n the number and %z the number as a size.
 * {c…} is there only if there is a cause, {-c…} only if there is none; {n…} if the number is above 1, {-n…} if it is not, {+…} if
 * it is above 0. */
static const struct note_form {
	const char *name, *words;
} forms[] = {
#define FORM(id, name, words) [AIRLOCK_NOTE_##id] = {name, words}
	FORM(UNTRUSTED, "untrusted",
	     "%s is not trusted: ignored settings that would loosen the sandbox: %o (read the file, then run `airlock trust` to accept it)"),
	FORM(UNTRUSTED_ABOVE, "untrusted-above",
	     "%s, above %c, is not trusted: ignored settings that would loosen the sandbox: %o (read that file, then run `airlock trust %d` to accept it)"),
	FORM(FOREIGN_FILE, "foreign-file", "%s belongs to another user and is ignored for the projects below it"),

	FORM(LINK_REFUSED, "link-refused", "the symlink %s leads to %o: not made writable, %c"),
	FORM(LINKS_MANY, "links-many", "symlinks lead to more than %n directories: the rest is ignored"),
	FORM(LINKS_LEFT_OUT, "links-left-out", "%n more symlinks or directories were left out"),
	FORM(NOT_SEARCHED, "not-searched", "%s could not be searched for symlinks: %c"),
	FORM(MOUNT_NOT_SEARCHED, "mount-not-searched", "%s is mounted from elsewhere: not searched for symlinks"),
	FORM(LINKS_NOT_STORED, "links-not-stored",
	     "airlock cannot remember the project's symlinks and searches for them on every run: %c"),
	FORM(STATE_INSIDE, "state-inside",
	     "%s is in the project: airlock cannot remember the symlinks and searches for them on every run"),
	FORM(LINKS_DAMAGED, "links-damaged",
	     "the stored list of the project's symlinks was unusable, so airlock searched again: %c"),
	FORM(GIT_REFUSED, "git-refused", "the git directory %s is not made writable, %c"),
	FORM(GIT_MISSING, "git-missing", "the file .git leads to no git directory"),

	FORM(NOT_SHOWN, "not-shown", "%s is not shown: %c"),
	FORM(PARENT_UNREADABLE, "parent-unreadable", "%s cannot be mounted: %o cannot be read"),
	FORM(NO_MOUNT_POINT, "no-mount-point", "%s is not mounted: it would have to be created in %o"),
	FORM(MISSING, "missing", "%s does not exist and is left out (%o)"),
	FORM(FOREIGN_PROJECT, "foreign-project",
	     "%s belongs to somebody else: files there that are not yours cannot be changed in a layer (EOVERFLOW); --changes direct lets the command change those that you may"),
	FORM(FOREIGN_HOME, "foreign-home",
	     "you are root, but HOME is %s, which belongs to another user: airlock's files there will belong to root; use sudo -H"),
	FORM(COPIED, "copied", "%c"),
	FORM(PARTIAL_ISOLATION, "partial-isolation", "isolation is partial, because only %s works here: %c"),
	FORM(FELL_BACK, "fell-back", "NOT IN SANDBOX: %c"),

	FORM(UNSANDBOXED, "unsandboxed", "NOT IN SANDBOX: it could read and change everything you can"),
#define KILLED "the command was killed by signal %n ({sSIG%s}{-sunknown})"
	FORM(KILLED, "killed", KILLED),
	FORM(KILLED_MEMORY, "killed-memory", KILLED ": it exceeded its memory limit"),
	FORM(KILLED_FILE_SIZE, "killed-file-size", KILLED ": it exceeded its file size limit"),
	FORM(KILLED_FULL, "killed-full", KILLED ": a file system in memory was full"),
#undef KILLED
	FORM(FULL, "full",
	     "%s, which is in memory, was full when the command failed (%z){o; %o of [profiles.%c] sets its size: see airlock.toml(5)}"),
	FORM(OUTPUT_NOT_WRITTEN, "output-not-written",
	     "standard output could not be written: %c{s; the whole output: airlock output %s}"),
	FORM(OUTPUT_NOT_STORED, "output-not-stored", "some of the output was not stored: %c"),
	FORM(ABSTRACT_SOCKETS, "abstract-sockets",
	     "with the network the command could reach sockets with abstract names (a session bus, X11); Linux 6.12 with Landlock keeps them apart"),
	FORM(EXPOSED, "exposed",
	     "the command could reach sockets of the host in %s, which cannot be shown through an overlay{c: %c}; hide it with --hide if that matters"),
	FORM(HIDDEN_AGAIN, "hidden-again",
	     "%s, which is hidden, was replaced outside while the command ran, and hidden again"),
	FORM(ANSWER_LOST, "answer-lost", "your answer could not be remembered: %c"),
	FORM(LINK_UNANSWERED, "link-unanswered",
	     "no person has allowed this symlink of the project to make another directory writable: %s"),
	FORM(LINKS_UNANSWERED, "links-unanswered",
	     "no person has allowed these symlinks of the project to make another directory writable: %s"),
	FORM(NOT_OBSERVED, "not-observed", "what was refused could not be observed: %c"),
	FORM(REFUSED, "refused", "refused: %s{o; %o}"),
	FORM(REFUSED_MORE, "refused-more", "%n more calls may have been refused: there was no room to note them"),
	FORM(HOST_REFUSED, "host-refused", "refused: connect to %s: %c{o; to allow: %o}"),
	FORM(AGENT_SIGNED_IN, "agent-signed-in", "the agent changed its credentials: %s"),
	FORM(AGENT_NOT_HOME, "agent-not-home",
	     "%s was changed outside while the agent ran: the agent's version stays with session %o{c (%c)}"),
	FORM(AGENT_READ_ONLY, "agent-read-only", "the agent cannot write to %s: no layer can be mounted over it"),
	FORM(AGENT_UPDATES, "agent-updates",
	     "%s cannot update itself in here, because its program is read-only: update it outside"),
	FORM(AGENT_BUSY, "agent-busy",
	     "another agent of session %s is running: what this one writes to its private files goes with its run"),
	FORM(NO_GATE, "no-gate", "there is no network: backend %s cannot filter connections by host"),
	FORM(NOT_COPIED, "not-copied", "%n entries that you may not read are not there for the command: %s{n, …}"),
	FORM(OUTSIDE_NAMES, "outside-names",
	     "%n files have another name outside the project (%s): what the command writes into them is written there too"),
	FORM(CLOCK_BACK, "clock-back", "the clock was set back by %n s while the command ran"),
	FORM(CHANGES_UNREAD, "changes-unread",
	     "what the command changed could not be read (%c): nothing is applied, and it is all in %s/upper"),
	FORM(CHANGES_NOT_KEPT, "changes-not-kept",
	     "the changes could not be kept (%c); what it wrote is in %s/upper, and found there once this is fixed"),

#define UNREAD "%s{c could not be read (%c)}{-c is a mount point}: "
	FORM(LEFT_OUT, "left-out", UNREAD "it is left out"),
	FORM(CONTENT_LEFT_OUT, "content-left-out", UNREAD "what is in it is left out"),
	FORM(SOME_LEFT_OUT, "some-left-out", UNREAD "some of what is in it is left out"),
	FORM(CHANGES_LEFT_OUT, "changes-left-out", UNREAD "what the command changed in it is left out"),
	FORM(TAKEN_AS_CHANGED, "taken-as-changed", UNREAD "it is taken as changed"),
	FORM(ALL_TAKEN_CHANGED, "all-taken-changed",
	     UNREAD "it and what else the command touched in the same directory are taken as changed"),
#undef UNREAD
	FORM(UNREAD_MORE, "unread-more", "%n more paths could not be read"),
	FORM(ACL_LOST, "acl-lost", "%s has lost what its ACL said about other users and groups"),

	FORM(WAITING, "waiting", "%n changes wait for others that are held"),
	FORM(LINK_SPLIT, "link-split", "hard link split: the other names of %s keep the old content"),
	FORM(LINK_NOT_MADE, "link-not-made",
	     "hard link split: %s was made as another name of %o, and is a file of its own{+; so are %n more}"),
	FORM(KEPT_ASIDE, "kept-aside", "what was at %s is kept as before/%o"),
	FORM(MODES_NOT_RESTORED, "modes-not-restored",
	     "the modes of directories could not be restored (%c); the next start does it"),
	FORM(CHANGED_MEANWHILE, "changed-meanwhile",
	     "%s was changed by someone else in the meantime and stays as it is"),
	FORM(INTERRUPTED, "interrupted", "the apply was interrupted (%c); the next start of airlock finishes it"),
	FORM(APPLY_FINISHED, "apply-finished", "the interrupted apply of run %s was finished"),
	FORM(APPLY_REVERTED, "apply-reverted", "the interrupted apply of run %s was reverted"),
	FORM(UNDO_FINISHED, "undo-finished", "the interrupted undo of run %s was finished"),
	FORM(UNDO_REVERTED, "undo-reverted", "the interrupted undo of run %s was reverted"),
	FORM(NOT_RECOVERED, "not-recovered", "the interrupted apply %s cannot be finished now: %c"),
	FORM(RECOVERY_TROUBLE, "recovery-trouble", "%c"),
	FORM(TAKEN_OUT, "taken-out",
	     "the changes of the interrupted run %s were taken out of the project and are held"),
	FORM(NOT_TAKEN_OUT, "not-taken-out",
	     "the changes of the interrupted run %s cannot be taken out of the project now: %c"),
	FORM(NOT_TAKEN_BACK, "not-taken-back", "what was applied could not be taken back: %c"),
	FORM(UNDO_NOT_RECORDED, "undo-not-recorded", "cannot record that it was undone: %c"),
	FORM(REDO_NOT_RECORDED, "redo-not-recorded", "cannot record that it was done again: %c"),

	FORM(RECORDS_STALE, "records-stale", "the records of the files are not up to date (airlock project scan): %c"),
	FORM(HISTORY_GAP, "history-gap", "this is missing in the history: %c"),
	FORM(HISTORY_BEHIND, "history-behind", "the history cannot be brought up to date: %c"),

	FORM(STEP_NOT_TOLD, "step-not-told", "session %s does not know of this step: %c"),
	FORM(BACKGROUND, "background", "%n process{nes} {-ngoes}{ngo} on in the background: %s"),
	FORM(SESSION_OWN_SANDBOX, "session-own-sandbox",
	     "this command does not share processes and loopback with session %s: {c%c}{-cother commands run with other namespaces}"),
	FORM(SESSION_OWN_NETWORK, "session-own-network",
	     "this command does not share loopback with session %s: another command of it has the network now"),
#define ENDED "the command was killed{c with all processes of the session}: "
	FORM(SESSION_DISK, "session-disk",
	     ENDED
	     "session %s has written more than %z{o; apply or discard its changes, or raise %o: see airlock.toml(5)}"),
	FORM(SESSION_TMP, "session-tmp",
	     ENDED
	     "/tmp of session %s has more than %z{o; airlock session end empties it, %o sets its size: see airlock.toml(5)}"),
#undef ENDED
	FORM(SESSION_PIDS, "session-pids",
	     "--pids counts the processes of this command alone, and not those of session %s: nothing here can count them all"),
	FORM(SESSION_NOT_TOLD, "session-not-told", "session %s does not know of it yet: %c"),

	FORM(CUT_SHORT, "cut-short",
	     "run %s was cut short, because airlock was killed: its changes are held{o in session %o}"),
	FORM(CUT_NOT_READ, "cut-not-read", "run %s was cut short, and its changes cannot be read now: %c"),
#undef FORM
};

const char *airlock_note_name(enum airlock_note_code code)
{
	return (size_t)code < AL_ARRAY_LEN(forms) ? forms[code].name : NULL;
}

/* ── The list ── */

static void release(struct airlock_note *note)
{
	free((char *)note->subject);
	free((char *)note->other);
	free((char *)note->cause);
}

void notes_add(struct notes *l, const struct airlock_note *note)
{
	struct airlock_note copy = {.code = note->code,
				    .subject = note->subject ? strdup(note->subject) : NULL,
				    .other = note->other ? strdup(note->other) : NULL,
				    .cause = note->cause ? strdup(note->cause) : NULL,
				    .number = note->number};
	bool is_whole = !copy.subject == !note->subject && !copy.other == !note->other && !copy.cause == !note->cause;
	if (is_whole && ARRAY_ROOM(l->v, l->n, l->cap, 4)) {
		l->v[l->n++] = copy;
		return;
	}
	release(&copy);
	l->failed = true;
}

void notes_add_all(struct notes *l, const struct notes *from)
{
	for (size_t i = 0; i < from->n; i++)
		notes_add(l, &from->v[i]);
}

bool notes_has(const struct notes *l, enum airlock_note_code code, const char *subject)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].code == code && strcmp(l->v[i].subject, subject) == 0)
			return true;
	return false;
}

const struct airlock_note *notes_at(const struct notes *l, size_t i)
{
	return i < l->n ? &l->v[i] : NULL;
}

void notes_done(struct notes *l)
{
	for (size_t i = 0; i < l->n; i++)
		release(&l->v[i]);
	free(l->v);
	*l = (struct notes)NOTES_INIT;
}

/* ── Words ── */

static const char *string_of(const struct airlock_note *note, char which)
{
	return which == 's' ? note->subject : which == 'o' ? note->other : note->cause;
}

static void add_argument(struct buf *out, const struct airlock_note *note, char which)
{
	if (which == 'n')
		buf_printf(out, "%" PRId64, note->number);
	else if (which == 'z')
		text_add_size(out, note->number);
	else {
		const char *value = which == 'd' ? note->subject : string_of(note, which);
		const char *slash = which == 'd' && value ? strrchr(value, '/') : NULL;
		size_t n = slash > value ? (size_t)(slash - value) : slash ? 1 : value ? strlen(value) : 0;
		text_add_escaped(out, value ? value : "", n);
	}
}

/* p is behind the opening brace. True if the clause is wanted; *ret is where its words begin. */
static bool wants_clause(const struct airlock_note *note, const char *p, const char **ret)
{
	bool negated = *p == '-';
	p += negated;
	*ret = p + 1;
	if (*p == 'n' || *p == '+')
		return (note->number > (*p == 'n')) != negated;
	return !string_of(note, *p) == negated;
}

void notes_add_text(struct buf *out, const struct airlock_note *note)
{
	for (const char *p = forms[note->code].words; p && *p; p++)
		if (*p == '%')
			add_argument(out, note, *++p);
		else if (*p == '{') {
			const char *begin;
			p = wants_clause(note, p + 1, &begin) ? begin - 1 : strchr(p, '}');
		} else if (*p != '}')
			buf_addc(out, *p);
}

char *airlock_note_text(const struct airlock_note *note)
{
	struct buf out = BUF_INIT;
	notes_add_text(&out, note);
	return buf_take(&out);
}

void notes_add_json(struct json *j, const char *name, const struct notes *l)
{
	json_open_array(j, name);
	for (size_t i = 0; i < l->n; i++) {
		_cleanup_buf_ struct buf line = BUF_INIT;
		notes_add_text(&line, &l->v[i]);
		json_string(j, NULL, buf_str(&line));
		j->out->failed |= line.failed;
	}
	json_close(j);
}
