/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <airlock/files.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "read_input.h"
#include "output.h"

/* ── Words ── */

static const char *value_of(const struct invocation *inv, const char *name)
{
	return arguments_value(&inv->args, name, NULL);
}

/* A number ≥ 0; fallback if the option was not given. */
static int number_of(const struct invocation *inv, const char *name, int64_t fallback, int64_t *ret,
		     struct airlock_error *err)
{
	const char *text = value_of(inv, name);
	char *end = NULL;
	*ret = fallback;
	if (!text)
		return 0;
	errno = 0;
	long long n = strtoll(text, &end, 10);
	if (errno || *end || end == text || n < 0)
		return output_fail(err, AIRLOCK_ERR_USAGE, name, "--%s is not a number: '%s'", name, text);
	*ret = n;
	return 0;
}

/* The maximum number: ≥ 1, or 0 if the option was not given. */
static int max_of(const struct invocation *inv, int64_t *ret, struct airlock_error *err)
{
	int rc = number_of(inv, "max", 0, ret, err);
	if (rc == 0 && *ret == 0 && value_of(inv, "max"))
		return output_fail(err, AIRLOCK_ERR_USAGE, "max", "--max must be at least 1");
	return rc;
}

static int open_place(const struct invocation *inv, struct airlock_place **ret, struct airlock_error *err)
{
	return airlock_place_open(inv->settings, value_of(inv, "run"), ret, err);
}

/* ── Results ── */

/* Raw bytes for the content; everything else is escaped text. */
static int put_content(const struct airlock_files *r)
{
	const struct airlock_files_content *c = airlock_files_content(r);
	return fwrite(c->bytes, 1, c->size, stdout) == c->size ? 0 : 1;
}

static void say_there_is_more(const struct airlock_files *r)
{
	const struct airlock_files_content *c = airlock_files_content(r);
	if (c && c->cut)
		output_say("line %lld is too long and was cut", (long long)c->end_line);
	if (c && c->next_offset >= 0)
		output_say("%lld of %lld lines; go on with --offset %lld", (long long)(c->end_line - c->start_line + 1),
			   (long long)c->total_lines, (long long)c->next_offset);
	else if (airlock_files_truncated(r))
		output_say("there is more; --max raises the limit");
}

/* Takes both. rc: the result of the call; r is NULL if that failed. */
static int finish(const struct invocation *inv, struct airlock_place *place, struct airlock_files *r, int rc)
{
	if (r && inv->json)
		(void)fputs(airlock_files_json(r), stdout);
	else if (r) {
		if (airlock_files_content(r))
			(void)put_content(r);
		else if (!airlock_files_change(r))
			(void)fputs(airlock_files_text(r), stdout);
		else
			output_lines(airlock_files_text(r), 1);
		say_there_is_more(r);
	}
	airlock_files_free(r);
	airlock_place_free(place);
	return rc;
}

/* ── Looking ── */

int cmd_fs_ls(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_place *place = NULL;
	struct airlock_files *r = NULL;
	int rc = open_place(inv, &place, err);
	if (rc >= 0)
		rc = airlock_files_ls(place, inv->operand, &r, err);
	return finish(inv, place, r, rc);
}

int cmd_fs_read(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_place *place = NULL;
	struct airlock_files *r = NULL;
	int64_t offset = 0, limit = -1;
	int rc = number_of(inv, "offset", 0, &offset, err);
	if (rc >= 0)
		rc = number_of(inv, "limit", -1, &limit, err);
	if (rc >= 0)
		rc = open_place(inv, &place, err);
	if (rc >= 0)
		rc = airlock_files_read(place, inv->operand, offset, limit, &r, err);
	return finish(inv, place, r, rc);
}

/* 1 if nothing was found, as for every command that finds nothing. */
static int found(const struct airlock_files *r, int rc)
{
	return rc < 0 || airlock_files_entry_count(r) + airlock_files_match_count(r) > 0 ? rc : 1;
}

int cmd_fs_glob(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_place *place = NULL;
	struct airlock_files *r = NULL;
	int64_t max = 0;
	int rc = max_of(inv, &max, err);
	if (rc >= 0)
		rc = open_place(inv, &place, err);
	if (rc >= 0)
		rc = airlock_files_glob(place, inv->operand, inv->more[0], max, &r, err);
	return finish(inv, place, r, rc < 0 ? rc : found(r, rc));
}

int cmd_fs_grep(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_place *place = NULL;
	struct airlock_files *r = NULL;
	int64_t max = 0;
	int rc = max_of(inv, &max, err);
	if (rc >= 0)
		rc = open_place(inv, &place, err);
	if (rc >= 0)
		rc = airlock_files_grep(place, inv->operand, inv->more[0], value_of(inv, "glob"), max, &r, err);
	return finish(inv, place, r, rc < 0 ? rc : found(r, rc));
}

/* ── Changing ── */

static int read_input(char **ret, size_t *ret_size, struct airlock_error *err)
{
	size_t cap = 65536, n = 0;
	char *content = malloc(cap);
	for (;;) {
		if (content && n == cap) {
			char *grown = reallocarray(content, 2, cap);
			if (!grown)
				free(content);
			content = grown;
			cap *= 2;
		}
		if (!content)
			return output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
		ssize_t got = input_take(STDIN_FILENO, content + n, cap - n);
		if (got < 0) {
			free(content);
			return output_fail(err, AIRLOCK_ERR_IO, "standard input", "cannot read standard input: %s",
					   strerror(errno));
		}
		if (got == 0)
			break;
		n += (size_t)got;
	}
	*ret = content;
	*ret_size = n;
	return 0;
}

int cmd_fs_write(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_place *place = NULL;
	struct airlock_files *r = NULL;
	char *content = NULL;
	size_t size = 0;
	int rc = open_place(inv, &place, err);
	if (rc >= 0)
		rc = read_input(&content, &size, err);
	if (rc >= 0)
		rc = airlock_files_write(place, inv->operand, content, size, &r, err);
	free(content);
	return finish(inv, place, r, rc);
}

int cmd_fs_edit(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_place *place = NULL;
	struct airlock_files *r = NULL;
	const char *old_text = value_of(inv, "old"), *new_text = value_of(inv, "new");
	bool all = false;
	int rc = arguments_flag(&inv->args, "all", &all, err);
	if (rc >= 0 && (!old_text || !new_text)) {
		(void)output_fail(err, AIRLOCK_ERR_USAGE, old_text ? "new" : "old", "--%s is missing",
				  old_text ? "new" : "old");
		rc = output_hint(err, "airlock fs edit PATH --old TEXT --new TEXT");
	}
	if (rc >= 0)
		rc = open_place(inv, &place, err);
	if (rc >= 0)
		rc = airlock_files_edit(place, inv->operand, old_text, new_text, all, &r, err);
	return finish(inv, place, r, rc);
}

int cmd_fs_delete(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_place *place = NULL;
	struct airlock_files *r = NULL;
	int rc = open_place(inv, &place, err);
	if (rc >= 0)
		rc = airlock_files_delete(place, inv->operand, &r, err);
	return finish(inv, place, r, rc);
}
