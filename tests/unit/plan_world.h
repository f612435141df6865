/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plans over made-up file systems. */
#pragma once

#include "golden.h"

#include "base/path.h"
#include "plan/plan.h"

#include <stdio.h>
#include <stdlib.h>

/* ── A file system in a table ── */

struct made_up {
	const char *path;
	enum plan_type type;
	const char *link;
};

static const struct made_up *entry(const struct made_up *fs, const char *path)
{
	for (; fs->path; fs++)
		if (strcmp(fs->path, path) == 0)
			return fs;
	return NULL;
}

static enum plan_type type_in(const char *path, void *data)
{
	const struct made_up *e = entry(data, path);
	return strcmp(path, "/") == 0 ? PLAN_DIRECTORY : e ? e->type : PLAN_MISSING;
}

static char *link_in(const char *path, void *data)
{
	const struct made_up *e = entry(data, path);
	return e && e->link ? strdup(e->link) : NULL;
}

/* Resolves component by component, as realpath does. */
static char *real_in(const char *path, void *data)
{
	char *at = strdup("/");
	char *rest = strdup(path + 1), *save = NULL;
	for (char *name = strtok_r(rest, "/", &save); name && at; name = strtok_r(NULL, "/", &save)) {
		char *next = path_join(at, name);
		const struct made_up *e = entry(data, next);
		if (e && e->type == PLAN_LINK) {
			char *to = path_normalize(at, e->link);
			free(next);
			next = real_in(to, data);
			free(to);
		} else if (!e) {
			free(next);
			next = NULL;
		}
		free(at);
		at = next;
	}
	free(rest);
	return at;
}

static int list_in(const char *path, struct strs *ret, void *data)
{
	for (const struct made_up *e = data; e->path; e++) {
		const char *rest = path_rest(e->path, path);
		if (rest && *rest && !strchr(rest, '/'))
			strs_add(ret, rest);
	}
	return 0;
}

#define WORLD(fs)                                                                                                      \
	{                                                                                                              \
		.type = type_in, .real = real_in, .link = link_in, .list = list_in, .data = (void *)(fs)               \
	}

#define SYSTEM                                                                                                         \
	{"/bin", PLAN_LINK, "usr/bin"}, {"/lib", PLAN_LINK, "usr/lib"}, {"/usr", PLAN_DIRECTORY},                      \
		{"/usr/bin", PLAN_DIRECTORY}, {"/usr/lib", PLAN_DIRECTORY}, {"/etc", PLAN_DIRECTORY},                  \
		{"/etc/passwd", PLAN_FILE}, {"/etc/shadow", PLAN_FILE},                                                \
		{"/etc/resolv.conf", PLAN_LINK, "../run/resolv.conf"}, {"/run", PLAN_DIRECTORY},                       \
		{"/run/resolv.conf", PLAN_FILE}, {"/run/docker.sock", PLAN_SOCKET}, {"/tmp", PLAN_DIRECTORY},          \
		{"/var", PLAN_DIRECTORY}, {"/var/tmp", PLAN_DIRECTORY}, {"/var/run", PLAN_LINK, "/run"},               \
		{"/home", PLAN_DIRECTORY}, {"/proc", PLAN_DIRECTORY},                                                  \
	{                                                                                                              \
		"/dev", PLAN_DIRECTORY                                                                                 \
	}

static const struct made_up ordinary[] = {
	SYSTEM,
	{"/home/u", PLAN_DIRECTORY},
	{"/home/u/.ssh", PLAN_DIRECTORY},
	{"/home/u/.ssh/id_ed25519", PLAN_FILE},
	{"/home/u/.bashrc", PLAN_FILE},
	{"/home/u/.config", PLAN_DIRECTORY},
	{"/home/u/.config/gh", PLAN_DIRECTORY},
	{"/home/u/.config/git", PLAN_DIRECTORY},
	{"/home/u/agent.sock", PLAN_SOCKET},
	{"/home/u/dotfiles", PLAN_LINK, ".config"},
	{"/home/u/p", PLAN_DIRECTORY},
	{"/home/other", PLAN_DIRECTORY},
	{0},
};

/* ── Building and comparing ── */

struct setting {
	const char *profile;
	const struct made_up *fs;
	const char *home, *project, *linked_root;
	bool network, share_pid;
	const struct policy_path *rules;
	size_t n_rules;
	const struct plan_workspace *workspace;
	bool capture;
};

static struct plan *build(const struct setting *s)
{
	static const char *const argv[] = {"true", NULL};
	static const char *const environ[] = {"PATH=/usr/bin:/bin", "GITHUB_TOKEN=x", "LANG=C", "TMPDIR=/x", NULL};
	struct airlock_error err = {0};
	struct policy policy = POLICY_INIT;
	assert_int_equal(policy_apply_builtin(&policy, s->profile, s->home, &err), 0);
	policy.share_pid = s->share_pid;
	for (size_t i = 0; i < s->n_rules; i++)
		assert_int_equal(
			policy_add_path(&policy, s->rules[i].access, s->rules[i].path, s->rules[i].origin, &err), 0);
	struct plan_root roots[] = {{s->project, RULE_ORIGIN(PROJECT)},
				    {s->linked_root, RULE_ORIGIN(LINK_ALLOWED, "lib")}};
	struct plan_root hidden = {"/home/u/.local/state/airlock", RULE_ORIGIN(OWN_STATE)};
	struct plan_world world = WORLD(s->fs);
	struct plan_inputs in = {.policy = &policy,
				 .world = &world,
				 .home = s->home,
				 .roots = roots,
				 .n_roots = s->linked_root ? 2 : 1,
				 .playground_source = "/data/playground",
				 .hidden = &hidden,
				 .n_hidden = 1,
				 .cwd = s->project,
				 .argv = argv,
				 .environ = environ,
				 .memory = INT64_C(4) << 30,
				 .network = s->network,
				 .capture = s->capture,
				 .workspace = s->workspace};
	struct plan *plan = NULL;
	assert_int_equal(plan_build(&in, &plan, &err), 0);
	policy_done(&policy);
	return plan;
}
