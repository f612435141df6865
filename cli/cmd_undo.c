/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <ctype.h>
#include <string.h>

#include <airlock/session.h>

#include "decide.h"
#include "output.h"
#include "waiting.h"

/* `airlock undo [RUN] [PATH...]`: the parsed operands. */
struct undo_request {
	const char *run;	  /* NULL: the last applied run here */
	const char *const *paths; /* NULL: all */
};

/* True if it could be the beginning of "20261115-193012.482731-7f3a". */
static bool looks_like_run(const char *word)
{
	static const char form[] = "00000000-000000.000000-xxxx";
	size_t len = strlen(word);
	if (strcmp(word, "last") == 0)
		return true;
	for (size_t i = 0; i < len; i++) {
		bool fits = i < sizeof form - 1 && (form[i] == '0'   ? isdigit((unsigned char)word[i])
						    : form[i] == 'x' ? isxdigit((unsigned char)word[i])
								     : word[i] == form[i]);
		if (!fits)
			return false;
	}
	return len > 0;
}

/* A word after -- is a path, whatever it looks like. */
static struct undo_request read_request(const struct invocation *inv)
{
	struct undo_request r = {0};
	const char *const *words = inv->args.words;
	if (inv->args.n_leading > 0 && (looks_like_run(words[0]) || airlock_session_exists(inv->settings, words[0])))
		r.run = *words++;
	r.paths = *words ? words : NULL;
	return r;
}

int cmd_undo(const struct invocation *inv, struct airlock_error *err)
{
	bool force = false;
	struct airlock_changes *changes = NULL;
	struct undo_request r = read_request(inv);
	int rc = arguments_flag(&inv->args, "force", &force, err);
	if (rc < 0)
		return rc;
	waiting_begin("undoing");
	rc = airlock_changes_undo(inv->settings, r.run, r.paths, force, &changes, err);
	waiting_end();
	if (rc == AIRLOCK_ERR_NOT_FOUND && r.run && strcmp(err->op, "run") == 0) {
		err->hint[0] = '\0'; /* the word may have been meant as a path */
		rc = output_hint(
			err,
			"airlock log lists the runs; put a path that looks like a run id after --: airlock undo -- PATH");
	}
	if (rc >= 0)
		rc = decide_tell(inv, changes, err);
	airlock_changes_free(changes);
	return rc;
}
