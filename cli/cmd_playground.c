/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "output.h"

int cmd_playground_path(const struct invocation *inv, struct airlock_error *err)
{
	char *path = NULL;
	int rc = airlock_playground_path(inv->settings, &path, err);
	if (rc < 0)
		return rc;
	output_path(path);
	airlock_free(path);
	return 0;
}

static const char *entries_word(uint64_t n)
{
	return n == 1 ? "entry" : "entries";
}

int cmd_playground_size(const struct invocation *inv, struct airlock_error *err)
{
	uint64_t bytes = 0, entries = 0;
	int rc = airlock_playground_size(inv->settings, &bytes, &entries, err);
	if (rc < 0)
		return rc;
	if (inv->json)
		(void)printf("{\"bytes\": %" PRIu64 ", \"entries\": %" PRIu64 "}\n", bytes, entries);
	else if (entries == 0)
		(void)puts("the playground is empty");
	else
		(void)printf("%s in %" PRIu64 " %s\n", output_size(bytes).text, entries, entries_word(entries));
	return 0;
}

/* "Remove 12.3 MiB in 45 entries from /home/u/.local/share/airlock/playground?" */
static int make_question(const struct invocation *inv, uint64_t bytes, uint64_t entries, char **ret,
			 struct airlock_error *err)
{
	char *path = NULL;
	int rc = airlock_playground_path(inv->settings, &path, err);
	if (rc < 0)
		return rc;
	char *inert = airlock_text_inert(path, strlen(path));
	int n = asprintf(ret, "Remove %s in %" PRIu64 " %s from %s?", output_size(bytes).text, entries,
			 entries_word(entries), inert ? inert : "the playground");
	airlock_free(inert);
	airlock_free(path);
	return n < 0 ? output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory") : 0;
}

/* 1: continue. AIRLOCK_ERR_DENIED: a no, or nobody to ask. */
static int ask_to_clear(const struct invocation *inv, uint64_t bytes, uint64_t entries, struct airlock_error *err)
{
	char *question = NULL;
	int rc = make_question(inv, bytes, entries, &question, err);
	if (rc < 0)
		return rc;
	const struct ask ask = {.text = question,
				.keys = "[R]emove  [K]eep",
				.word = "remove",
				.said_yes = "remove",
				.said_no = "keep"};
	struct airlock_error nobody = {0};
	rc = airlock_settings_is_agent(inv->settings)
		     ? output_fail(&nobody, AIRLOCK_ERR_DENIED, "playground", "AIRLOCK_AGENT is set")
		     : ask_terminal(&ask, &nobody);
	free(question);
	if (rc > 0)
		return rc;
	(void)output_fail(err, AIRLOCK_ERR_DENIED, "playground", "the playground is not cleared: %s",
			  rc < 0 ? nobody.message : "you said no");
	return rc < 0 ? output_hint(err, "--yes answers the question") : err->code;
}

static int tell_removed(const struct invocation *inv, uint64_t bytes, uint64_t entries)
{
	if (inv->json)
		(void)printf("{\"removed\": %" PRIu64 "}\n", entries);
	else if (entries == 0)
		(void)puts("the playground is empty");
	else
		(void)printf("removed %s in %" PRIu64 " %s\n", output_size(bytes).text, entries, entries_word(entries));
	return 0;
}

int cmd_playground_clear(const struct invocation *inv, struct airlock_error *err)
{
	uint64_t bytes = 0, entries = 0;
	bool yes = false;
	int rc = arguments_flag(&inv->args, "yes", &yes, err);
	if (rc >= 0)
		rc = airlock_playground_size(inv->settings, &bytes, &entries, err);
	if (rc >= 0 && entries > 0 && !yes)
		rc = ask_to_clear(inv, bytes, entries, err);
	if (rc >= 0 && entries > 0)
		rc = airlock_playground_clear(inv->settings, &entries, err);
	return rc < 0 ? rc : tell_removed(inv, bytes, entries);
}
