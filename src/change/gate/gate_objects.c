/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files of git's objects. Git believes what it finds under an object's name, and what a commit graph says of a commit: a file
 * that a run left could give the person's own commits another content, which the next checkout writes. So an object that
 * some other file has under the same name must be what its name says. What nobody else has is checked when a commit leads
 * there (gate_commits.c). */
#include "change/gate/gate_repo.h"

#include "base/path.h"

#include <stdio.h>
#include <string.h>

#define MAX_BYTES ((uint64_t)512 << 20)
#define MAX_OBJECTS 1000000

static const struct airlock_reason forged = {AIRLOCK_REASON_MISLEADS, "git object that is not what its name says"};
static const struct airlock_reason false_graph = {AIRLOCK_REASON_MISLEADS,
						  "git commit graph that is not as its commits say"};

/* ── What has an object ── */

struct object_check {
	struct gate_repo *repo;
	const char *only; /* "pack-….idx": the pack that is looked at; NULL: all that the run changed */
	struct git_files before_files, after_files;
	struct git_objects before, after; /* after: only what the run wrote */
};

static bool is_written(struct object_check *c, const char *path)
{
	struct gate_repo *repo = c->repo;
	_cleanup_free_ char *full = *repo->dir ? path_join(repo->dir, path) : strdup(path);
	const struct change *found = full ? change_set_find(repo->g->set, repo->root, full) : NULL;
	return !full || (found && gate_is_open(repo->g, found) && found->after.type == CHANGE_FILE &&
			 found->kind != CHANGE_METADATA);
}

static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);
	return n > k && strcmp(name + n - k, end) == 0;
}

/* A loose object counts only when the run wrote it; of a pack, one of the two files may be an old one. */
static int open_written(void *context, const char *path)
{
	struct object_check *c = context;
	bool is_loose = strncmp(path, "objects/pack/", 13) != 0;
	return is_loose && !is_written(c, path) ? -ENOENT : gate_repo_open_after(c->repo, path);
}

static int list_written(void *context, const char *dir, struct strs *ret)
{
	struct object_check *c = context;
	const struct change_set *set = c->repo->g->set;
	_cleanup_free_ char *full = *c->repo->dir ? path_join(c->repo->dir, dir) : strdup(dir);
	if (!full)
		return -ENOMEM;
	for (size_t i = 0; !c->only && i < set->n; i++) {
		const char *name = set->v[i].root == c->repo->root ? path_rest(set->v[i].path, full) : NULL;
		if (name && *name && !strchr(name, '/') && ends_in(name, ".idx") &&
		    gate_is_open(c->repo->g, &set->v[i]))
			strs_add(ret, name);
	}
	if (c->only)
		strs_add(ret, c->only);
	return ret->failed ? -ENOMEM : 0;
}

static void check_open(struct object_check *c, struct gate_repo *repo, const char *only)
{
	*c = (struct object_check){.repo = repo, .only = only};
	c->before_files = (struct git_files){repo, gate_repo_open_before, gate_repo_list_before};
	c->after_files = (struct git_files){c, open_written, list_written};
	git_objects_init(&c->before, &c->before_files, repo->objects.hash);
	git_objects_init(&c->after, &c->after_files, repo->objects.hash);
	c->after.bytes_left = MAX_BYTES;
	c->after.objects_left = MAX_OBJECTS;
}

static void check_done(struct object_check *c)
{
	git_objects_done(&c->before);
	git_objects_done(&c->after);
}

/* ── Packs ── */

struct one {
	struct object_check pack;
	struct object_check *all;
};

/* Somebody else has it, too. */
static bool is_known(void *context, const struct git_oid *oid)
{
	struct one *one = context;
	char hex[2 * GIT_SHA256 + 1], path[96];
	if (git_packs_with(&one->all->after, oid) > 1 || git_object_is_there(&one->all->before, oid))
		return true;
	git_oid_hex(oid, one->pack.repo->objects.hash, hex);
	(void)snprintf(path, sizeof path, "objects/%.2s/%s", hex, hex + 2);
	return is_written(one->all, path);
}

static int check_pack(struct object_check *all, const char *name)
{
	struct one one = {.all = all};
	check_open(&one.pack, all->repo, name);
	int rc = git_packs_check(&one.pack.after, is_known, &one);
	check_done(&one.pack);
	return rc;
}

/* A new index is enough to look; a pack by itself counts when its index is an old one. */
static int judge_pack(struct object_check *all, const char *name)
{
	_cleanup_buf_ struct buf idx = BUF_INIT, path = BUF_INIT;
	if (ends_in(name, ".idx"))
		return check_pack(all, name);
	if (!ends_in(name, ".pack"))
		return strncmp(name, "multi-pack-index", 16) == 0 ? -EOPNOTSUPP : 0;
	buf_add(&idx, name, strlen(name) - 5);
	buf_adds(&idx, ".idx");
	buf_printf(&path, "objects/pack/%s", buf_str(&idx));
	if (idx.failed || path.failed)
		return -ENOMEM;
	_cleanup_close_ int fd = is_written(all, path.data) ? -ENOENT : gate_repo_open_before(all->repo, path.data);
	return fd < 0 ? 0 : check_pack(all, idx.data);
}

/* ── Loose objects ── */

/* rest: "objects/12/3456…" */
static bool parse_loose(const char *rest, size_t hash, struct git_oid *ret)
{
	char hex[2 * GIT_SHA256 + 1];
	if (strlen(rest) != sizeof "objects/" - 1 + 1 + 2 * hash || rest[10] != '/')
		return false;
	memcpy(hex, rest + 8, 2);
	memcpy(hex + 2, rest + 11, 2 * hash - 2);
	return git_oid_parse(hex, hash, ret);
}

static int judge_loose(struct object_check *all, const struct git_oid *oid)
{
	bool is_elsewhere = git_packs_with(&all->after, oid) > 0 || git_object_is_there(&all->before, oid);
	return is_elsewhere ? git_object_check_loose(&all->after, oid) : 0;
}

/* ── The graph ── */

static int judge_graph(struct gate_repo *repo, const char *rest)
{
	struct git_objects o;
	_cleanup_close_ int fd = gate_repo_open_after(repo, rest);
	if (fd < 0)
		return fd;
	git_objects_init(&o, &repo->files, repo->objects.hash);
	int rc = git_graph_check(&o, fd);
	git_objects_done(&o);
	return rc;
}

/* ── All ── */

static bool is_in(const char *rest, const char *dir)
{
	return strncmp(rest, dir, strlen(dir)) == 0;
}

static const struct airlock_reason *reason_of(int rc, bool is_graph)
{
	if (rc == -EOPNOTSUPP)
		return change_reason_of(AIRLOCK_REASON_UNKNOWN_OBJECTS);
	if (rc == -EDQUOT || rc == -EFBIG)
		return change_reason_of(AIRLOCK_REASON_TOO_MANY_OBJECTS);
	return is_graph ? &false_graph : &forged;
}

static int judge_file(struct change *c, struct object_check *all, const char *rest)
{
	struct gate_repo *repo = all->repo;
	struct git_oid oid;
	bool is_graph = is_in(rest, "objects/info/commit-graph");
	int rc = 0;
	if (is_in(rest, "lfs/")) /* git-lfs writes a file once, and looks at its size only when it reads it */
		rc = c->before.type == CHANGE_NOTHING ? 0 : -EBADMSG;
	else if (is_in(rest, "objects/pack/"))
		rc = judge_pack(all, rest + 13);
	else if (is_graph)
		rc = ends_in(rest, "/commit-graph-chain") ? 0 : judge_graph(repo, rest);
	else if (parse_loose(rest, repo->objects.hash, &oid))
		rc = judge_loose(all, &oid);
	return rc == 0 || rc == -ENOMEM ? rc : gate_hold(c, reason_of(rc, is_graph));
}

/* all: of the repository that was met last; changes come sorted. What is no regular file is held: git would follow a symlink. */
static int judge_change(struct gate *g, struct change *c, struct object_check *all)
{
	_cleanup_free_ char *dir = NULL;
	const char *rest = NULL;
	if (!gate_is_of_objects(g, c->root, c->path, &dir, &rest))
		return 0;
	struct gate_repo *repo = dir ? gate_repo_get(g, c->root, dir) : NULL;
	if (!repo)
		return -ENOMEM;
	if (repo->is_new)
		return 0;
	if (all->repo != repo) {
		check_done(all);
		check_open(all, repo, NULL);
	}
	return c->after.type == CHANGE_FILE ? judge_file(c, all, rest) : gate_hold(c, &forged);
}

int gate_judge_objects(struct gate *g)
{
	struct object_check all = {0};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < g->set->n; i++) {
		struct change *c = &g->set->v[i];
		if (gate_is_open(g, c) && c->after.type != CHANGE_NOTHING && c->after.type != CHANGE_DIRECTORY &&
		    c->kind != CHANGE_METADATA)
			rc = judge_change(g, c, &all);
	}
	check_done(&all);
	return rc;
}
