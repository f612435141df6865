/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <ctype.h>
#include <string.h>

#include "change_list.h"
#include "decide.h"
#include "output.h"
#include "waiting.h"

/* `airlock undo [RUN] [PATH...]`: what was meant. */
struct request {
	const char *run;	  /* NULL: the last applied one here */
	const char *const *paths; /* NULL: all */
	bool is_redo;
};

/* Could it be the beginning of "20261115-193012.482731-7f3a"? */
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
static struct request read_request(const struct invocation *inv)
{
	struct request r = {0};
	const char *const *words = inv->args.words;
	if (inv->args.n_leading > 0 && looks_like_run(words[0]))
		r.run = *words++;
	r.paths = *words ? words : NULL;
	return r;
}

/* "last" is looked up once. A run of which nothing is applied is applied again. */
static int find_run(const struct invocation *inv, struct request *r, struct change_list *list,
		    struct airlock_error *err)
{
	if (!r->run)
		return 0;
	int rc = change_list_load(inv->settings, r->run, list, err);
	if (rc == AIRLOCK_ERR_NOT_FOUND) {
		err->hint[0] = '\0'; /* here it may have been meant as something else */
		return output_hint(err,
				   "airlock log lists the runs there are; a path that looks like one comes after --: "
				   "airlock undo -- PATH");
	}
	if (rc < 0)
		return rc;
	r->run = list->run;
	r->is_redo = change_list_count(list, "applied") == 0;
	return 0;
}

static int undo(const struct invocation *inv, const struct request *r, bool force, struct airlock_error *err)
{
	static const struct decide_words undone = {"undid", "nothing to undo"};
	static const struct decide_words redone = {"applied again", "nothing to undo"};
	size_t count = 0;
	char *run = NULL, *text = NULL;
	waiting_begin("undoing");
	int rc = airlock_changes_undo(inv->settings, r->run, r->paths, force, &count, &run, &text, err);
	waiting_end();
	if (rc >= 0)
		rc = decide_tell(inv, run, count, text, r->is_redo ? &redone : &undone, err);
	airlock_free(run);
	airlock_free(text);
	return rc;
}

int cmd_undo(const struct invocation *inv, struct airlock_error *err)
{
	bool force = false;
	struct change_list list = {0};
	struct request r = read_request(inv);
	int rc = arguments_flag(&inv->args, "force", &force, err);
	if (rc >= 0)
		rc = find_run(inv, &r, &list, err);
	if (rc >= 0)
		rc = undo(inv, &r, force, err);
	change_list_done(&list);
	return rc;
}
