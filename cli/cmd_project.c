/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <inttypes.h>
#include <stdio.h>

#include <airlock/history.h>

#include "output.h"
#include "waiting.h"

static void show_progress(size_t seen, void *data)
{
	(void)data;
	waiting_count(seen);
}

static void print_project(const struct airlock_project *p)
{
	const struct airlock_project_root *root;
	const struct airlock_link *link;
	for (size_t i = 0; (root = airlock_project_root(p, i)); i++) {
		output_text(stdout, root->path);
		(void)fputs("    [", stdout);
		output_origin(stdout, &root->because);
		(void)puts("]");
	}
	for (size_t i = 0; (link = airlock_project_link_at(p, i)); i++) {
		(void)printf("link %s: ", airlock_link_state_name(link->state));
		output_text(stdout, link->path);
		(void)fputs(" -> ", stdout);
		output_text(stdout, link->target);
		(void)putchar('\n');
	}
	for (size_t i = 0; airlock_project_note(p, i); i++)
		output_note_line(stdout, "note: ", airlock_project_note(p, i));
	(void)printf("%" PRId64 " files and directories recorded\n", airlock_project_record(p)->file_count);
}

/* Takes the project, which is NULL where rc is an error. */
static int show_project(int rc, struct airlock_project *p, bool json, struct airlock_error *err)
{
	if (rc >= 0 && json)
		rc = output_json(airlock_project_json(p), err);
	else if (rc >= 0)
		print_project(p);
	airlock_project_free(p);
	return rc;
}

int cmd_project_scan(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_project *p = NULL;
	waiting_begin("looking at the files");
	int rc = airlock_project_scan(inv->settings, inv->operand, show_progress, NULL, &p, err);
	waiting_end();
	return show_project(rc, p, inv->json, err);
}

int cmd_project_show(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_project *p = NULL;
	int rc = airlock_project_open(inv->settings, inv->operand, &p, err);
	return show_project(rc, p, inv->json, err);
}

static void print_projects(const struct airlock_projects *l)
{
	for (size_t i = 0; i < airlock_projects_count(l); i++) {
		(void)printf("%6" PRId64 " files  ", airlock_projects_at(l, i)->file_count);
		output_text(stdout, airlock_projects_at(l, i)->path);
		(void)putchar('\n');
	}
	if (airlock_projects_count(l) == 0)
		output_say("no projects yet: airlock project add");
}

int cmd_project_list(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_projects *l = NULL;
	int rc = airlock_projects_open(inv->settings, &l, err);
	if (rc >= 0 && inv->json)
		rc = output_json(airlock_projects_json(l), err);
	else if (rc >= 0)
		print_projects(l);
	airlock_projects_free(l);
	return rc;
}

int cmd_project_remove(const struct invocation *inv, struct airlock_error *err)
{
	char *dir = NULL;
	int rc = airlock_project_remove(inv->settings, inv->operand, &dir, err);
	if (rc >= 0 && inv->json)
		(void)puts("{\n  \"removed\": true\n}");
	else if (rc >= 0)
		output_say("the records of %s are removed; its files and backups stay", dir);
	airlock_free(dir);
	return rc;
}
