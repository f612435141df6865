/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the .envrc at the top of a root, or in a directory above it, leads to. direnv asks a person about .envrc, once, and
 * not about what it sources or starts. */
#include "change/gate/gate.h"

#include "base/path.h"

#include <string.h>

/* What direnv reads on entering the directory, because an .envrc that a person has allowed says so. */
static const struct sensitive_rule entered = {
	.pattern = "**", .how = SENSITIVE_ALWAYS, .reason = {AIRLOCK_REASON_RUNS, ".envrc leads here", "direnv"}};

static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(word, *list) == 0)
			return true;
	return false;
}

static void lead_to_entered(struct gate *g, const char *dir, const char *place)
{
	_cleanup_free_ char *full = path_normalize(dir, place);
	if (full)
		gate_lead_to(g, full, NULL, &entered);
}

/* Parses one line in place: finds what "source" and its relatives name, and what stands for a Nix or Guix shell.
 * Files that are only watched or read cannot run anything. */
static void follow_line(struct gate *g, const char *dir, char *line)
{
	static const char *const sources[] = {".",	"source",	    "source_env", "source_env_if_exists",
					      "dotenv", "dotenv_if_exists", NULL};
	static const char *const shells[] = {"flake", "nix", "devenv", "guix", NULL};
	static const char *const recipes[] = {"flake.nix",  "flake.lock",  "shell.nix", "default.nix",
					      "devenv.nix", "devenv.yaml", "guix.scm",	NULL};
	static const char between[] = " \t\r\"';|&()$`";
	bool is_source = false, is_use = false;
	char *state = NULL;
	for (char *w = strtok_r(line, between, &state); w && *w != '#'; w = strtok_r(NULL, between, &state)) {
		if (is_use && is_one_of(w, shells))
			for (const char *const *r = recipes; *r; r++)
				lead_to_entered(g, dir, *r);
		if (is_source || strncmp(w, "./", 2) == 0)
			lead_to_entered(g, dir, w);
		is_source |= is_one_of(w, sources);
		is_use |= strcmp(w, "use") == 0;
	}
}

void gate_follow_envrc(struct gate *g, const char *dir, struct buf *text)
{
	char *state = NULL;
	if (text->len == 0)
		return;
	for (char *line = strtok_r(text->data, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
		follow_line(g, dir, line);
}
