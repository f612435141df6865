/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plans from any policy over any file system: what is built shows nothing that a rule hides, makes nothing writable that
 * nobody asked for, and can be printed in every form. */
#include "airlock/job.h"
#include "backend/seatbelt_profile.h"
#include "base/json.h"
#include "base/path.h"
#include "plan/plan.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOME "/home/u"
#define PLAYGROUND "/data/playground"
#define MAX_ENTRIES 24
#define MAX_RULES 12
#define MAX_ROOTS 3

static void demand(bool holds)
{
	if (!holds)
		__builtin_trap();
}

/* ── Choices out of bytes ── */

struct input {
	const uint8_t *p, *end;
};

static unsigned choose(struct input *in, unsigned n)
{
	return in->p < in->end ? *in->p++ % n : 0;
}

/* ── A file system ── */

struct entry {
	char path[200];
	enum plan_type type;
	char link[64];
};

struct file_system {
	struct entry v[MAX_ENTRIES];
	size_t n;
};

static const char *const names[] = {"a", "b", "home", "u", ".ssh", "tmp", "run", "etc", ".config", "x y", "p", "\n\\"};
static const char *const link_texts[] = {"a", "../b", "/home/u", "/", ".", "/missing", "..", "/tmp/a", "/home/u/.ssh"};

static const struct entry *find(const struct file_system *fs, const char *path)
{
	for (size_t i = 0; i < fs->n; i++)
		if (strcmp(fs->v[i].path, path) == 0)
			return &fs->v[i];
	return NULL;
}

static void add(struct file_system *fs, const char *path, enum plan_type type, const char *link)
{
	if (fs->n == MAX_ENTRIES || find(fs, path) || strlen(path) >= sizeof fs->v[0].path)
		return;
	struct entry *e = &fs->v[fs->n++];
	(void)snprintf(e->path, sizeof e->path, "%s", path);
	(void)snprintf(e->link, sizeof e->link, "%s", link);
	e->type = type;
}

static void make_file_system(struct file_system *fs, struct input *in)
{
	static const char *const always[] = {"/home", HOME, "/tmp", "/etc", "/data", PLAYGROUND};
	for (size_t i = 0; i < AL_ARRAY_LEN(always); i++)
		add(fs, always[i], PLAN_DIRECTORY, "");
	for (unsigned n = choose(in, MAX_ENTRIES - AL_ARRAY_LEN(always)); n > 0; n--) {
		static const enum plan_type types[] = {PLAN_FILE, PLAN_DIRECTORY, PLAN_DIRECTORY,
						       PLAN_LINK, PLAN_SOCKET,	  PLAN_OTHER};
		const struct entry *dir = &fs->v[choose(in, (unsigned)fs->n)];
		bool top = choose(in, 4) == 0;
		if (!top && dir->type != PLAN_DIRECTORY)
			continue;
		char *path = path_join(top ? "/" : dir->path, names[choose(in, AL_ARRAY_LEN(names))]);
		enum plan_type type = types[choose(in, AL_ARRAY_LEN(types))];
		add(fs, path, type, type == PLAN_LINK ? link_texts[choose(in, AL_ARRAY_LEN(link_texts))] : "");
		free(path);
	}
}

static enum plan_type type_in(const char *path, void *data)
{
	const struct entry *e = find(data, path);
	return strcmp(path, "/") == 0 ? PLAN_DIRECTORY : e ? e->type : PLAN_MISSING;
}

static char *link_in(const char *path, void *data)
{
	const struct entry *e = find(data, path);
	return e && e->type == PLAN_LINK ? strdup(e->link) : NULL;
}

static char *resolve(const char *path, void *data, int links)
{
	char *at = strdup("/"), *rest = strdup(path), *save = NULL;
	for (char *name = strtok_r(rest, "/", &save); name && at; name = strtok_r(NULL, "/", &save)) {
		char *next = path_join(at, name);
		const struct entry *e = find(data, next);
		if (e && e->type == PLAN_LINK) {
			char *to = links > 0 ? path_normalize(at, e->link) : NULL;
			free(next);
			next = to ? resolve(to, data, links - 1) : NULL;
			free(to);
		} else if (!e || type_in(at, data) != PLAN_DIRECTORY) {
			free(next);
			next = NULL;
		}
		free(at);
		at = next;
	}
	free(rest);
	return at;
}

static char *real_in(const char *path, void *data)
{
	return resolve(path, data, 8);
}

static int list_in(const char *path, struct strs *ret, void *data)
{
	const struct file_system *fs = data;
	for (size_t i = 0; i < fs->n; i++) {
		const char *rest = path_rest(fs->v[i].path, path);
		if (rest && *rest && !strchr(rest, '/'))
			strs_add(ret, rest);
	}
	return 0;
}

/* ── A policy ── */

static char *choose_path(struct file_system *fs, struct input *in)
{
	const char *base = choose(in, 3) ? fs->v[choose(in, (unsigned)fs->n)].path : "/";
	return choose(in, 2) ? path_join(base, names[choose(in, AL_ARRAY_LEN(names))]) : strdup(base);
}

static void make_policy(struct policy *p, struct file_system *fs, struct input *in)
{
	const char *const *profiles = policy_builtin_names();
	demand(policy_apply_builtin(p, profiles[choose(in, 3)], HOME, NULL) == 0);
	for (unsigned n = choose(in, MAX_RULES); n > 0; n--) {
		char *path = choose_path(fs, in);
		static const enum policy_access access[] = {POLICY_HIDE, POLICY_TMPFS, POLICY_READ, POLICY_WRITE};
		(void)policy_add_path(p, access[choose(in, 4)], path, RULE_ORIGIN(CALLER, "fuzz"), NULL);
		free(path);
	}
	p->share_pid = choose(in, 2);
	p->nested = choose(in, 2);
}

/* ── What must hold ── */

static bool is_asked_for(const struct plan_inputs *in, const char *host)
{
	if (path_is_beneath(host, PLAYGROUND))
		return true;
	for (size_t i = 0; i < in->n_roots; i++)
		if (path_is_beneath(host, in->roots[i].path))
			return true;
	for (size_t i = 0; i < in->policy->n_paths; i++) {
		if (in->policy->paths[i].access != POLICY_WRITE)
			continue;
		char *real = in->world->real(in->policy->paths[i].path, in->world->data);
		bool yes = real && path_is_beneath(host, real);
		free(real);
		if (yes)
			return true;
	}
	return false;
}

static void check_mounts(const struct plan *plan, const struct plan_inputs *in)
{
	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct plan_mount *m = &plan->mounts[i];
		demand(m->target[0] == '/' && path_is_normal(m->target));
		demand(airlock_mount_kind_name((enum airlock_mount_kind)m->kind) != NULL);
		bool bound = m->kind == PLAN_READ || m->kind == PLAN_WRITE || m->kind == PLAN_LAYER;
		demand(!bound || (m->source && m->source[0] == '/'));
		if (m->kind == PLAN_WRITE || m->kind == PLAN_LAYER)
			demand(is_asked_for(in, m->source));
	}
}

/* Our own state is hidden whatever the policy and the roots say, but for a root right there or below. */
static void check_hidden(const struct plan *plan, const struct plan_inputs *in)
{
	for (size_t i = 0; i < in->n_hidden; i++) {
		char *host = NULL;
		enum plan_location where = plan_locate(plan, in->hidden[i].path, &host);
		demand(where != PLAN_NO_MEMORY);
		if (where == PLAN_AT_HOST && in->world->type(in->hidden[i].path, in->world->data) != PLAN_LINK)
			demand(strcmp(host, in->hidden[i].path) != 0 ||
			       in->world->type(in->hidden[i].path, in->world->data) == PLAN_MISSING);
		free(host);
	}
}

static bool is_within_root(const struct plan_inputs *in, const char *path)
{
	for (size_t i = 0; i < in->n_roots; i++)
		if (path_is_beneath(path, in->roots[i].path))
			return true;
	return path_is_beneath(path, PLAYGROUND) || path_is_beneath(path, HOME "/playground") ||
	       path_is_beneath(path, "/etc/resolv.conf") || path_is_beneath(path, "/dev") ||
	       path_is_beneath(path, "/proc");
}

/* Where no link gives anything a second name, what the deciding rule hides leads nowhere. */
static void check_rules(const struct plan *plan, const struct plan_inputs *in, const struct file_system *fs)
{
	for (size_t i = 0; i < fs->n; i++)
		if (fs->v[i].type == PLAN_LINK)
			return;
	for (size_t i = 0; i < fs->n; i++) {
		const struct policy_path *rule = policy_rule_for(in->policy, fs->v[i].path);
		bool shown = rule && (rule->access == POLICY_READ || rule->access == POLICY_WRITE);
		if (shown || is_within_root(in, fs->v[i].path))
			continue;
		char *host = NULL;
		demand(plan_locate(plan, fs->v[i].path, &host) != PLAN_AT_HOST || strcmp(host, fs->v[i].path) != 0);
		free(host);
	}
}

static void check_printing(const struct plan *plan)
{
	_cleanup_buf_ struct buf object = BUF_INIT, profile = BUF_INIT;
	struct json j = json_begin(&object, false);
	json_open_object(&j, NULL);
	plan_print_json(plan, &j);
	json_close(&j);
	seatbelt_profile(plan, &profile);
	int depth = 0;
	bool quoted = false;
	for (const char *p = buf_str(&profile); *p; p++) {
		if (quoted && *p == '\\')
			p++;
		else if (*p == '"')
			quoted = !quoted;
		else if (!quoted)
			depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
		demand(depth >= 0 && (*p != '\n' || (!quoted && depth == 0)));
	}
	demand(depth == 0 && !quoted && text_is_utf8(object.data, object.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const argv[] = {"true", NULL}, *const environ[] = {"PATH=/bin", "A_TOKEN=x", NULL};
	struct input in = {data, data + size};
	struct file_system fs = {.n = 0};
	struct policy policy = POLICY_INIT;
	struct plan *plan = NULL;
	make_file_system(&fs, &in);
	make_policy(&policy, &fs, &in);
	struct plan_root roots[MAX_ROOTS];
	size_t n_roots = 0;
	for (unsigned n = 1 + choose(&in, MAX_ROOTS); n > 0 && n_roots < MAX_ROOTS; n--) {
		const struct entry *e = &fs.v[choose(&in, (unsigned)fs.n)];
		if (e->type == PLAN_DIRECTORY)
			roots[n_roots++] = (struct plan_root){e->path, RULE_ORIGIN(PROJECT)};
	}
	const struct plan_root hidden = {fs.v[choose(&in, (unsigned)fs.n)].path, RULE_ORIGIN(OWN_STATE)};
	struct plan_world world = {type_in, real_in, link_in, list_in, &fs};
	struct plan_inputs inputs = {.policy = &policy,
				     .world = &world,
				     .home = HOME,
				     .roots = roots,
				     .n_roots = n_roots,
				     .playground_source = PLAYGROUND,
				     .hidden = &hidden,
				     .n_hidden = !path_is_beneath(PLAYGROUND, hidden.path) &&
						 strcmp(hidden.path, HOME) != 0,
				     .cwd = n_roots ? roots[0].path : "/",
				     .argv = argv,
				     .environ = environ,
				     .network = choose(&in, 2),
				     .is_root = choose(&in, 2),
				     .capture = choose(&in, 2)};
	if (policy_validate(&policy, NULL) == 0 && plan_build(&inputs, &plan, NULL) == 0) {
		check_mounts(plan, &inputs);
		check_hidden(plan, &inputs);
		check_rules(plan, &inputs, &fs);
		check_printing(plan);
	}
	plan_free(plan);
	policy_done(&policy);
	return 0;
}
