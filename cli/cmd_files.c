/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock files`, `backups` and `restore`. */
#include "commands.h"

#include <stdio.h>
#include <stdlib.h>

#include <airlock/history.h>

#include "output.h"
#include "words/change_lines.h"

static void print_record(const struct airlock_record *r)
{
	bool is_dir = r->type == AIRLOCK_TYPE_DIRECTORY;
	(void)printf("%10s  %s", is_dir ? "" : output_size((uint64_t)r->size).text, r->is_deleted ? "deleted  " : "");
	output_text(stdout, r->path);
	(void)fputs(is_dir ? "/" : r->target ? " -> " : "", stdout);
	if (r->target)
		output_text(stdout, r->target);
	(void)puts(r->is_ignored ? "  (ignored)" : "");
}

int cmd_files(const struct invocation *inv, struct airlock_error *err)
{
	bool deleted = false;
	struct airlock_records *l = NULL;
	int rc = arguments_flag(&inv->args, "deleted", &deleted, err);
	unsigned flags = (deleted ? AIRLOCK_RECORDS_DELETED : 0) | (inv->json ? AIRLOCK_RECORDS_LOOK : 0);
	if (rc >= 0)
		rc = airlock_records_open(inv->settings, inv->operand, flags, &l, err);
	if (rc >= 0 && inv->json)
		rc = output_json(airlock_records_json(l), err);
	for (size_t i = 0; rc >= 0 && !inv->json && i < airlock_records_count(l); i++)
		print_record(airlock_records_at(l, i));
	airlock_records_free(l);
	return rc;
}

static void print_backups(const struct airlock_backups *l, const char *path)
{
	for (size_t i = 0; i < airlock_backups_count(l); i++) {
		const struct airlock_backup *b = airlock_backups_at(l, i);
		(void)printf("%s  ", b->date);
		if (b->path[0] != '/') {
			output_text(stdout, b->project);
			(void)putchar('/');
		}
		output_text(stdout, b->path);
		(void)putchar('\n');
	}
	if (airlock_backups_count(l) == 0)
		output_say("no backups%s%s", path ? " of " : "", path ? path : "");
}

int cmd_backups(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_backups *l = NULL;
	int rc = airlock_backups_open(inv->settings, inv->operand, &l, err);
	if (rc >= 0 && inv->json)
		rc = output_json(airlock_backups_json(l), err);
	else if (rc >= 0)
		print_backups(l, inv->operand);
	airlock_backups_free(l);
	return rc;
}

static bool is_date(const char *text)
{
	static const char form[] = "00-00-00";
	for (size_t i = 0; i < sizeof form; i++)
		if (form[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
			return false;
	return true;
}

static void print_restored(const struct airlock_changes *c)
{
	char *lines = change_lines(c, NULL);
	(void)fputs(lines ? lines : "", stdout);
	for (size_t i = 0; airlock_changes_note(c, i); i++)
		output_note_line(stdout, "note: ", airlock_changes_note(c, i));
	(void)printf("restored; airlock undo %s takes it back\n", airlock_changes_run(c));
	free(lines);
}

int cmd_restore(const struct invocation *inv, struct airlock_error *err)
{
	const char *date = arguments_value(&inv->args, "date", NULL);
	struct airlock_changes *c = NULL;
	if (date && !is_date(date))
		return output_fail(err, AIRLOCK_ERR_USAGE, date, "--date takes a day such as 26-11-15, not '%s'", date);
	int rc = airlock_restore(inv->settings, inv->operand, date, &c, err);
	if (rc >= 0 && inv->json)
		rc = output_json(airlock_changes_json(c), err);
	else if (rc >= 0)
		print_restored(c);
	airlock_changes_free(c);
	return rc;
}
