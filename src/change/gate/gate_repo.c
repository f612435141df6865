/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Objects come from both trees: whichever has the file. Their names prove what they are (git/objects.h), so a command gains
 * nothing by putting one somewhere. References come from the tree that is asked about. */
#include "change/gate/gate_repo.h"

#include "base/array.h"
#include "base/path.h"
#include "change/gate/gate_config.h"
#include "change/gate/gate_name.h"
#include "fs/beneath.h"
#include "fs/io.h"
#include "layer/open.h"
#include "layer/upper.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

int oids_add(struct oids *l, const struct git_oid *oid)
{
	if (!ARRAY_ROOM(l->v, l->n, l->cap, 16))
		return -ENOMEM;
	l->v[l->n++] = *oid;
	return 0;
}

static int compare_oids(const void *a, const void *b)
{
	return git_oid_compare(a, b);
}

void oids_sort(struct oids *l)
{
	if (l->n > 1)
		qsort(l->v, l->n, sizeof *l->v, compare_oids);
}

bool oids_has(const struct oids *sorted, const struct git_oid *oid)
{
	return sorted->n > 0 && bsearch(oid, sorted->v, sorted->n, sizeof *oid, compare_oids);
}

/* ── Files of both trees ── */

static char *path_in(const struct gate_repo *repo, const char *path)
{
	return *repo->dir ? path_join(repo->dir, path) : strdup(path);
}

static int open_live(struct gate *g, size_t root, const char *path)
{
	const char *name;
	_cleanup_close_ int dir = g->roots[root].live < 0 ? -ENOENT : fs_open_parent(g->roots[root].live, path, &name);
	return dir < 0 ? dir : open_regular_at(dir, name);
}

static int open_changed(struct gate *g, const struct change *c)
{
	const char *name;
	_cleanup_close_ int dir = gate_open_parent_after(g, c, &name);
	return dir < 0 ? dir : upper_open_file(dir, name);
}

static int open_after(struct gate *g, size_t root, const char *path)
{
	const struct change *c = change_set_find(g->set, root, path);
	if (c && gate_is_open(g, c))
		return c->after.type == CHANGE_FILE ? open_changed(g, c) : -ENOENT;
	return open_live(g, root, path);
}

static int open_alternate(const struct gate_repo *repo, const char *path)
{
	static const char objects[] = "objects/";
	int fd = -ENOENT;
	if (strncmp(path, objects, sizeof objects - 1) != 0)
		return -ENOENT;
	for (size_t i = 0; fd < 0 && i < repo->n_alternates; i++) {
		const char *name;
		_cleanup_close_ int dir = fs_open_parent(repo->alternates[i], path + sizeof objects - 1, &name);
		fd = dir < 0 ? dir : open_regular_at(dir, name);
	}
	return fd;
}

int gate_repo_open_before(void *context, const char *path)
{
	struct gate_repo *repo = context;
	_cleanup_free_ char *full = path_in(repo, path);
	if (!full)
		return -ENOMEM;
	int fd = open_live(repo->g, repo->root, full);
	if (fd < 0)
		fd = open_alternate(repo, path);
	return fd == -EINVAL || fd == -ENOTDIR || fd == -ELOOP ? -ENOENT : fd;
}

int gate_repo_open_after(struct gate_repo *repo, const char *path)
{
	_cleanup_free_ char *full = path_in(repo, path);
	return full ? open_after(repo->g, repo->root, full) : -ENOMEM;
}

static int open_object_file(void *context, const char *path)
{
	struct gate_repo *repo = context;
	_cleanup_free_ char *full = path_in(repo, path);
	if (!full)
		return -ENOMEM;
	int fd = open_after(repo->g, repo->root, full);
	return fd >= 0 ? fd : gate_repo_open_before(context, path);
}

/* Takes fd, of a directory. */
static int list_fd(int fd, struct strs *ret)
{
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		base_closep(&fd);
		return 0;
	}
	for (const struct dirent *e; (e = readdir(d)) && !ret->failed && ret->n < REPO_MAX_REFS;)
		if (e->d_name[0] != '.')
			strs_add(ret, e->d_name);
	(void)closedir(d);
	return ret->failed ? -ENOMEM : 0;
}

static void list_new(const struct gate_repo *repo, const char *dir, struct strs *ret)
{
	const struct change_set *set = repo->g->set;
	for (size_t i = 0; i < set->n; i++) {
		const struct change *c = &set->v[i];
		const char *rest = c->root == repo->root ? path_rest(c->path, dir) : NULL;
		if (rest && *rest && !strchr(rest, '/') && c->before.type == CHANGE_NOTHING)
			strs_add(ret, rest);
	}
}

int gate_repo_list_before(void *context, const char *dir, struct strs *ret)
{
	struct gate_repo *repo = context;
	_cleanup_free_ char *full = path_in(repo, dir);
	if (!full)
		return -ENOMEM;
	int live = repo->g->roots[repo->root].live;
	int rc = live < 0 ? 0 : list_fd(fs_open_beneath(live, full, O_RDONLY | O_DIRECTORY), ret);
	for (size_t i = 0; rc == 0 && i < repo->n_alternates; i++)
		rc = list_fd(fs_open_beneath(repo->alternates[i], "pack", O_RDONLY | O_DIRECTORY), ret);
	return ret->failed ? -ENOMEM : rc;
}

/* Every name once, because one that is twice is only looked into twice. */
static int list_objects(void *context, const char *dir, struct strs *ret)
{
	struct gate_repo *repo = context;
	_cleanup_free_ char *full = path_in(repo, dir);
	if (!full)
		return -ENOMEM;
	list_new(repo, full, ret);
	return gate_repo_list_before(context, dir, ret);
}

int gate_repo_read(struct gate_repo *repo, const char *path, bool after, size_t limit, struct buf *ret)
{
	_cleanup_free_ char *full = path_in(repo, path);
	buf_reset(ret);
	if (!full)
		return -ENOMEM;
	_cleanup_close_ int fd = (after ? open_after : open_live)(repo->g, repo->root, full);
	if (fd < 0)
		return fd == -EINVAL || fd == -ENOTDIR || fd == -ELOOP ? -ENOENT : fd;
	int rc = fs_read_all(fd, limit, ret);
	return ret->failed ? -ENOMEM : rc;
}

/* ── Opening ── */

struct format {
	size_t hash;
	bool is_reftable;
	char *worktree; /* core.worktree, or NULL */
};

static int find_format(void *context, const char *name, const char *value)
{
	struct format *f = context;
	if (strcmp(name, "extensions.objectformat") == 0 && value)
		f->hash = strcasecmp(value, "sha256") == 0 ? GIT_SHA256 : GIT_SHA1;
	if (strcmp(name, "extensions.refstorage") == 0)
		f->is_reftable = !value || strncasecmp(value, "files", 5) != 0;
	if (strcmp(name, "core.worktree") == 0 && value) {
		free(f->worktree);
		f->worktree = strdup(value);
	}
	return 0;
}

/* Objects of a live repository may be kept elsewhere. A list that the run changed is held and not followed. */
static void open_alternates(struct gate_repo *repo)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_free_ char *base = NULL;
	if (gate_repo_read(repo, "objects/info/alternates", false, 65536, &text) < 0)
		return;
	_cleanup_free_ char *objects = path_in(repo, "objects");
	base = objects ? path_join(repo->g->set->roots[repo->root].path, objects) : NULL;
	for (char *p = (char *)buf_str(&text); base && *p && repo->n_alternates < REPO_MAX_ALTERNATES;) {
		size_t n = strcspn(p, "\n");
		bool more = p[n] == '\n';
		p[n] = '\0';
		_cleanup_free_ char *dir = *p && *p != '#' ? path_normalize(base, p) : NULL;
		int fd = dir ? open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
		if (fd >= 0)
			repo->alternates[repo->n_alternates++] = fd;
		p += n + more;
	}
}

static char *parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return strndup(path, slash ? (size_t)(slash - path) : 0);
}

/* The directory that core.worktree names, below the same root; NULL: none. A submodule's git directory is .git/modules/NAME of the
 * repository around it, and says so where its files are. */
static char *named_top(const struct gate_repo *repo, const char *worktree)
{
	const char *root = repo->g->set->roots[repo->root].path;
	_cleanup_free_ char *base = path_join(root, repo->dir), *top = base ? path_normalize(base, worktree) : NULL;
	const char *rest = top ? path_rest(top, root) : NULL;
	return rest ? strdup(rest) : NULL;
}

/* Where the paths of its trees lie. The git directory of a worktree or submodule that is a root of its own belongs to the
 * first root, which is the project. What core.worktree says counts only where the run did not write it: it would decide how a
 * commit of the run is judged. */
static int find_top(struct gate_repo *repo, const char *worktree)
{
	repo->top_root = repo->root;
	repo->top = worktree && !repo->is_new ? named_top(repo, worktree) : NULL;
	if (repo->top)
		return 0;
	bool is_named = strcmp(path_basename(repo->dir), ".git") == 0;
	bool is_root = *repo->dir == '\0' && repo->g->roots[repo->root].in_git;
	repo->top_root = is_root ? 0 : repo->root;
	repo->top = is_root ? strdup("") : is_named ? parent_of(repo->dir) : strdup(repo->dir);
	return repo->top ? 0 : -ENOMEM;
}

static int open_repo(struct gate_repo *repo)
{
	_cleanup_buf_ struct buf config = BUF_INIT;
	struct format format = {.hash = GIT_SHA1};
	_cleanup_free_ char *head = path_in(repo, "HEAD");
	if (!head)
		return -ENOMEM;
	repo->is_new = gate_type_before(repo->g, repo->root, head) == CHANGE_NOTHING;
	if (gate_repo_read(repo, "config", repo->is_new, GATE_MAX_CONTENT, &config) == 0)
		(void)gitconfig_read(buf_str(&config), config.len, find_format, &format);
	int rc = find_top(repo, format.worktree);
	free(format.worktree);
	if (rc < 0)
		return rc;
	repo->is_reftable = format.is_reftable;
	repo->files = (struct git_files){repo, open_object_file, list_objects};
	git_objects_init(&repo->objects, &repo->files, format.hash);
	repo->old_rc = 1;
	open_alternates(repo);
	return 0;
}

static void close_repo(struct gate_repo *repo)
{
	if (!repo)
		return;
	git_objects_done(&repo->objects);
	for (size_t i = 0; i < repo->n_alternates; i++)
		base_closep(&repo->alternates[i]);
	free(repo->old.v);
	free(repo->tips.v);
	free(repo->near.v);
	free(repo->own.v);
	free(repo->dir);
	free(repo->top);
	free(repo);
}

void gate_repos_close(struct gate *g)
{
	for (size_t i = 0; i < g->n_repos; i++)
		close_repo(g->repos[i]);
	free(g->repos);
}

struct gate_repo *gate_repo_get(struct gate *g, size_t root, const char *dir)
{
	for (size_t i = 0; i < g->n_repos; i++)
		if (g->repos[i]->root == root && strcmp(g->repos[i]->dir, dir) == 0)
			return g->repos[i];
	struct gate_repo **v = reallocarray(g->repos, g->n_repos + 1, sizeof *v);
	struct gate_repo *repo = calloc(1, sizeof *repo);
	if (v)
		g->repos = v;
	if (repo)
		*repo = (struct gate_repo){.g = g, .root = root, .dir = strdup(dir)};
	if (!v || !repo || !repo->dir || open_repo(repo) < 0) {
		close_repo(repo);
		g->failed = true;
		return NULL;
	}
	v[g->n_repos++] = repo;
	return repo;
}

/* A tag is as good as what it names. */
int gate_repo_read_commit(struct gate_repo *repo, struct git_oid *oid, struct git_commit *ret)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	for (int tags = 0; tags < 8; tags++) {
		enum git_type type;
		int rc = git_object_read(&repo->objects, oid, GIT_ANY, &type, &text);
		if (rc < 0)
			return rc;
		if (type == GIT_COMMIT)
			return git_commit_parse(&text, repo->objects.hash, ret);
		if (type != GIT_TAG || git_tag_parse(&text, repo->objects.hash, oid) < 0)
			return -EBADMSG;
	}
	return -EBADMSG;
}

/* ── Which repository ── */

/* The one line of a file in the live tree, as a place in the roots. */
static bool follow_pointer(struct gate *g, size_t root, const char *file, const char *prefix, size_t *ret_root,
			   char **ret_path)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_free_ char *dir = parent_of(file);
	size_t n = strlen(prefix);
	if (!dir || gate_read_before(g, root, file, &text) < 0 || text.len < n || memcmp(text.data, prefix, n) != 0)
		return false;
	text.data[strcspn(text.data, "\r\n")] = '\0';
	return gate_resolve(g, root, dir, text.data + n + strspn(text.data + n, " \t"), ret_root, ret_path);
}

/* .git is a file: the git directory it names, or the common one of that. */
static struct gate_repo *follow_gitfile(struct gate *g, size_t root, const char *file)
{
	_cleanup_free_ char *dir = NULL, *common = NULL;
	size_t there, common_root;
	if (!follow_pointer(g, root, file, "gitdir:", &there, &dir))
		return NULL;
	_cleanup_free_ char *pointer = *dir ? path_join(dir, "commondir") : strdup("commondir");
	if (!pointer)
		return NULL;
	if (gate_type_before(g, there, pointer) == CHANGE_NOTHING)
		return gate_repo_get(g, there, dir);
	/* "../..": by names, which is what it means in a directory without symlinks. */
	_cleanup_free_ char *up = parent_of(dir), *above = up ? parent_of(up) : NULL;
	if (above && strcmp(path_basename(up), "worktrees") == 0)
		return gate_repo_get(g, there, above);
	return follow_pointer(g, there, pointer, "", &common_root, &common) ? gate_repo_get(g, common_root, common)
									    : NULL;
}

struct gate_repo *gate_repo_above(struct gate *g, size_t root, const char *path)
{
	_cleanup_buf_ struct buf at = BUF_INIT;
	for (size_t n = strlen(path);; n--) {
		while (n > 0 && path[n - 1] != '/')
			n--;
		buf_reset(&at);
		buf_add(&at, path, n);
		buf_adds(&at, ".git");
		if (at.failed)
			return NULL;
		enum change_type type = gate_type_before(g, root, at.data);
		if (type == CHANGE_DIRECTORY)
			return gate_repo_get(g, root, at.data);
		if (type == CHANGE_FILE)
			return follow_gitfile(g, root, at.data);
		if (n == 0 || type != CHANGE_NOTHING)
			return NULL;
	}
}

/* ── Bookkeeping ── */

static bool is_bookkeeping_name(const char *rest)
{
	static const char *const names[] = {"head", "index", "refs", "packed-refs", "reftable", "logs/refs/stash"};
	for (size_t i = 0; i < AL_ARRAY_LEN(names); i++)
		if (names[i][0] == rest[0] && gate_first_is(rest, names[i]))
			return true;
	return strncmp(rest, "sharedindex.", 12) == 0;
}

/* Where git keeps what it has left half done. The next commit applies MERGE_AUTOSTASH, --abort goes back to what these name. */
static bool is_unfinished_name(const char *rest)
{
	static const char *const names[] = {"merge_autostash", "merge_head",	     "cherry_pick_head",
					    "revert_head",     "rebase_head",	     "bisect_start",
					    "bisect_head",     "notes_merge_partial"};
	static const char *const dirs[] = {"rebase-merge", "rebase-apply", "sequencer"};
	static const char *const in_dirs[] = {"orig-head", "onto",	  "autostash", "squash-onto",
					      "head",	   "stopped-sha", "amend"};
	for (size_t i = 0; i < AL_ARRAY_LEN(names); i++)
		if (strcmp(rest, names[i]) == 0)
			return true;
	for (size_t i = 0; i < AL_ARRAY_LEN(dirs); i++)
		for (size_t k = 0; gate_first_is(rest, dirs[i]) && k < AL_ARRAY_LEN(in_dirs); k++)
			if (strcmp(gate_rest(rest) ? gate_rest(rest) : "", in_dirs[k]) == 0)
				return true;
	return false;
}

/* dir: the first n bytes of path. A worktree's own directory leads to the common one. */
static bool is_git_dir(struct gate *g, size_t root, const char *path, const char *folded, size_t n, char **ret)
{
	_cleanup_free_ char *dir = strndup(path, n), *up = dir ? parent_of(dir) : NULL,
			    *above = up ? parent_of(up) : NULL;
	if (!above)
		return g->failed = true;
	bool is_named = n == 0 ? g->roots[root].in_git
			       : n >= 4 && strncmp(folded + n - 4, ".git", 4) == 0 && (n == 4 || folded[n - 5] == '/');
	if (!is_named && !gate_has_git_shape(g, root, path, n))
		return false;
	bool is_worktree = !is_named && strcmp(path_basename(up), "worktrees") == 0;
	if (ret)
		*ret = is_worktree ? TAKE_PTR(above) : TAKE_PTR(dir);
	return true;
}

static bool find_in_git_dir(struct gate *g, size_t root, const char *path, bool (*is_name)(const char *rest),
			    char **ret_dir, const char **ret_rest)
{
	_cleanup_buf_ struct buf folded = BUF_INIT;
	gate_fold(path, &folded);
	if (folded.failed)
		return g->failed = true;
	size_t at = 0; /* folding may shorten a name, so the two are counted apart */
	for (const char *rest = buf_str(&folded); rest; rest = gate_rest(rest)) {
		size_t n = at ? at - 1 : 0, folded_n = (size_t)(rest - folded.data);
		_cleanup_free_ char *above = strndup(folded.data, folded_n ? folded_n - 1 : 0);
		if (is_name(rest) && above && strlen(above) == n && is_git_dir(g, root, path, above, n, ret_dir)) {
			if (ret_rest)
				*ret_rest = path + at;
			return true;
		}
		at += strcspn(path + at, "/") + 1;
	}
	return false;
}

bool gate_is_bookkeeping(struct gate *g, size_t root, const char *path, char **ret_dir, const char **ret_rest)
{
	return find_in_git_dir(g, root, path, is_bookkeeping_name, ret_dir, ret_rest);
}

static bool is_objects_name(const char *rest)
{
	return gate_first_is(rest, "objects") || gate_first_is(rest, "lfs/objects");
}

bool gate_is_of_objects(struct gate *g, size_t root, const char *path, char **ret_dir, const char **ret_rest)
{
	/* Git reads them by these very names. */
	return strstr(path, "objects") && find_in_git_dir(g, root, path, is_objects_name, ret_dir, ret_rest);
}

bool gate_is_unfinished(struct gate *g, size_t root, const char *path, char **ret_dir, const char **ret_rest)
{
	return find_in_git_dir(g, root, path, is_unfinished_name, ret_dir, ret_rest);
}
