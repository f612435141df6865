/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock project links`, `link` and `unlink`. */
#include "commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <airlock/project.h>

#include "output.h"
#include "waiting.h"

static void show_progress(size_t seen, void *data)
{
	(void)data;
	waiting_count(seen);
}

static void print_link(const struct airlock_link *l)
{
	(void)printf("%-10s  ", airlock_link_state_name(l->state));
	output_text(stdout, l->path);
	(void)fputs(" -> ", stdout);
	output_text(stdout, l->target);
	if (l->state == AIRLOCK_LINK_REFUSED) {
		(void)printf("    (%s)", l->because);
	} else if (l->before) {
		(void)fputs("    (when it was allowed it led to ", stdout);
		output_text(stdout, l->before);
		(void)putchar(')');
	}
	(void)putchar('\n');
}

static void print_links(struct airlock_links *links, bool json)
{
	size_t open = 0;
	if (json) {
		(void)fputs(airlock_links_json(links), stdout);
		return;
	}
	for (size_t i = 0; i < airlock_links_count(links); i++) {
		print_link(airlock_links_at(links, i));
		open += airlock_links_at(links, i)->state == AIRLOCK_LINK_UNANSWERED;
	}
	if (airlock_links_count(links) == 0)
		output_say("no symbolic link leads out of %s", airlock_links_project(links));
	else if (open > 0)
		output_say(
			"what is behind unanswered links is read-only: airlock project link PATH allows one, airlock project unlink PATH denies it");
}

int cmd_project_links(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_links *links = NULL;
	waiting_begin("looking for symbolic links");
	int rc = airlock_project_links(inv->settings, inv->operand, show_progress, NULL, &links, err);
	waiting_end();
	if (rc >= 0)
		print_links(links, inv->json);
	airlock_links_free(links);
	return rc < 0 ? rc : 0;
}

/* True if this word is the project's directory rather than a link. Shell completion puts a slash after links to
 * directories. */
static bool is_directory(const char *word)
{
	struct stat st;
	char *name = strdup(word);
	for (size_t len = name ? strlen(name) : 0; len > 1 && name[len - 1] == '/'; len--)
		name[len - 1] = '\0';
	bool yes = name && lstat(name, &st) == 0 && S_ISDIR(st.st_mode);
	free(name);
	return yes;
}

typedef int answer_function(const struct airlock_settings *s, const char *dir, const char *const *paths,
			    struct airlock_links **ret, struct airlock_error *err);

static int answer(const struct invocation *inv, answer_function *function, struct airlock_error *err)
{
	struct airlock_links *links = NULL;
	const char *dir = NULL;
	size_t n = 1;
	while (inv->more[n - 1])
		n++;
	const char **paths = calloc(n + 1, sizeof *paths);
	if (!paths)
		return output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
	for (size_t i = 0; i < n; i++)
		paths[i] = i == 0 ? inv->operand : inv->more[i - 1];
	if (is_directory(paths[n - 1])) {
		dir = paths[n - 1];
		paths[n - 1] = NULL;
	}
	int rc = paths[0] ? function(inv->settings, dir, paths, &links, err)
			  : output_fail(err, AIRLOCK_ERR_USAGE, dir, "%s is a directory, not a symbolic link", dir);
	if (rc >= 0)
		print_links(links, inv->json);
	airlock_links_free(links);
	free(paths);
	return rc < 0 ? rc : 0;
}

int cmd_project_link(const struct invocation *inv, struct airlock_error *err)
{
	return answer(inv, airlock_project_link, err);
}

int cmd_project_unlink(const struct invocation *inv, struct airlock_error *err)
{
	return answer(inv, airlock_project_unlink, err);
}
