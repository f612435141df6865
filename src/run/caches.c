/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Theory of operation.
 *
 * A cache that is in the home gets an overlay: the command finds what the user's own programs have left there, which without
 * network is often the only way to build, and what it writes goes to an upper directory that is kept. A cache that is not in
 * the home is a directory of its own, bound to the place: no overlay, which would cost 0.3 ms.
 *
 * One project's commands never see what another's have written, unless `shared` says so: a poisoned package stays where it
 * was planted. Nobody on the host opens, follows or executes anything in these directories; they are measured and removed
 * beneath descriptors (fs_tree_size_at, fs_remove_tree_at).
 *
 * Two runs of a project at once: the first has the kept uppers, the other gets uppers that go with its run. Directories that
 * are bound are shared by both, as the user's own cache would be.
 *
 * What the policy hides below a cache is covered by the plan where it is there. Where it is not, it may come into being on the
 * host while the command runs: a whiteout in the upper keeps that from being seen.
 */
#include "run/caches.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/path.h"
#include "fs/fs.h"
#include "run/agent_home.h"
#include "run/capture.h"
#include "sys/mountinfo.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define MAX_LAYERS 24 /* of caches; a run has room for 64 */

/* ── Which there are ── */

bool caches_add_name(struct buf *out, const char *rest)
{
	size_t before = out->len;
	for (const char *p = rest; *p; p++) {
		if (*p == '/')
			buf_adds(out, "%2F");
		else if (*p == '%')
			buf_adds(out, "%25");
		else
			buf_addc(out, *p);
	}
	return out->len - before <= NAME_MAX;
}

static bool is_excluded(const struct config *c, const char *path)
{
	for (size_t i = 0; i < c->cache_exclude.n; i++)
		if (path_is_beneath(path, c->cache_exclude.v[i]))
			return true;
	return false;
}

/* True if an excluded path lies below: this directory is then no cache as a whole, but directories in it may be. */
static bool holds_excluded(const struct config *c, const char *path)
{
	for (size_t i = 0; i < c->cache_exclude.n; i++)
		if (path_is_beneath(c->cache_exclude.v[i], path))
			return true;
	return false;
}

struct collector {
	struct airlock_job *job;
	const char *dir; /* of the project's caches; it need not be there yet */
	struct cache_list *list;
	size_t cap, n_layered;
	struct strs mounts; /* where something is mounted below the home; read when first asked for */
	bool read_mounts;
	dev_t works; /* a file system over which layers work; 0: not known yet */
};

/* An overlay does not show what is mounted below it. */
static void read_mounts(struct collector *c)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, point[4096];
	size_t cap = 0;
	while (f && getline(&line, &cap, f) > 0)
		if (sys_mount_point(line, point, sizeof point) && path_is_beneath(point, c->job->host.home))
			strs_add(&c->mounts, point);
	free(line);
	if (f)
		(void)fclose(f);
	c->mounts.failed |= !f;
	c->read_mounts = true;
}

static bool has_mounts_below(struct collector *c, const char *path)
{
	if (!c->read_mounts)
		read_mounts(c);
	for (size_t i = 0; i < c->mounts.n; i++)
		if (path_is_beneath(c->mounts.v[i], path) && strcmp(c->mounts.v[i], path) != 0)
			return true;
	return c->mounts.failed;
}

static bool works_there(struct collector *c, const char *path, dev_t device)
{
	if (device == c->works)
		return true;
	if (!capture_can_layer(&c->job->host, path))
		return false;
	c->works = device;
	return true;
}

/* Through a symlink only what is below the home's real path is looked at, so such a cache is a directory of its own. */
static bool can_be_layered(struct collector *c, const char *path, const struct stat *st)
{
	struct stat own;
	bool mine = st->st_uid == geteuid() && (geteuid() == 0 || st->st_gid == getegid());
	return mine && lstat(path, &own) == 0 && S_ISDIR(own.st_mode) && works_there(c, path, st->st_dev) &&
	       !has_mounts_below(c, path);
}

static int add_cache(struct collector *c, const char *path, struct airlock_error *err)
{
	struct stat st;
	const struct config *config = c->job->config;
	const char *rest = path_rest(path, c->job->host.home);
	_cleanup_buf_ struct buf name = BUF_INIT;
	bool missing = stat(path, &st) < 0;
	if (!rest || !*rest || !caches_add_name(&name, rest) || is_excluded(config, path) ||
	    holds_excluded(config, path) || (missing ? errno != ENOENT : !S_ISDIR(st.st_mode)))
		return 0;
	bool layered = !missing && c->n_layered < MAX_LAYERS && can_be_layered(c, path, &st);
	struct strs *s = &c->list->paths;
	strs_add(s, path);
	strs_addf(s, "%s/whole/%s", c->dir, buf_str(&name));
	strs_addf(s, "%s/upper/%s", c->dir, buf_str(&name));
	if (name.failed || s->failed || !ARRAY_ROOM(c->list->v, c->list->n, c->cap, 32))
		return base_oom(err);
	c->list->v[c->list->n++] = (struct plan_cache){
		.path = s->v[s->n - 3], .whole = s->v[s->n - 2], .layer = s->v[layered ? s->n - 1 : s->n - 2]};
	c->n_layered += layered;
	return 0;
}

static bool lies_in_one(const struct cache_list *l, const char *path)
{
	for (size_t i = 0; i < l->n; i++)
		if (path_is_beneath(path, l->v[i].path))
			return true;
	return false;
}

/* Does a rule of the policy, a root or nothing at all keep this from being a cache? The plan decides the same once more, about
 * real paths; here it saves the looks and directories of what would not be used. */
static bool is_taken(const struct airlock_job *job, const char *path)
{
	const struct policy *p = &job->config->policy;
	size_t len = strlen(path); /* hundreds of rules are compared with it */
	const struct policy_path *rule = policy_rule_for(p, path);
	if (!rule || rule->access != POLICY_READ || strcmp(rule->path, path) == 0)
		return true;
	for (size_t i = 0; i < p->n_paths; i++)
		if (p->paths[i].access != POLICY_HIDE && strncmp(p->paths[i].path, path, len) == 0 &&
		    path_is_beneath(p->paths[i].path, path))
			return true;
	for (size_t i = 0; i < job->project->n_roots; i++)
		if (path_is_beneath(job->project->roots[i].path, path) ||
		    path_is_beneath(path, job->project->roots[i].path))
			return true;
	return false;
}

/* Is there a program of this name in the command's PATH? */
static bool is_installed(const struct airlock_job *job, const char *program)
{
	char file[PATH_MAX];
	size_t name = strlen(program) + 1;
	for (const char *dir = job->host.path_env, *end; *dir; dir = end + (*end == ':')) {
		end = strchrnul(dir, ':');
		size_t len = (size_t)(end - dir);
		if (*dir != '/' || len + 1 + name > sizeof file)
			continue;
		memcpy(file, dir, len);
		file[len] = '/';
		memcpy(file + len + 1, program, name);
		if (access(file, X_OK) == 0)
			return true;
	}
	return false;
}

/* Nobody needs the cache of a program that is neither installed nor was used here. It would cost a mount. */
static bool is_of_no_use(const struct airlock_job *job, const struct policy_cache *cache, const char *path)
{
	return cache->program && access(path, F_OK) < 0 && errno == ENOENT && !is_installed(job, cache->program);
}

static int collect(struct collector *c, struct airlock_error *err)
{
	const struct config *config = c->job->config;
	int rc = 0;
	for (const struct policy_cache *cache = policy_caches(); rc == 0 && cache->name; cache++) {
		_cleanup_free_ char *path = path_join(c->job->host.home, cache->name);
		if (!path)
			return base_oom(err);
		if (!lies_in_one(c->list, path) && !is_of_no_use(c->job, cache, path) && !is_taken(c->job, path))
			rc = add_cache(c, path, err);
	}
	for (size_t i = 0; rc == 0 && i < config->cache_paths.n; i++)
		if (!is_taken(c->job, config->cache_paths.v[i]))
			rc = add_cache(c, config->cache_paths.v[i], err);
	return rc;
}

/* ── Where they are kept ── */

static char *directory_of(const struct airlock_job *job)
{
	char hex[65], *path = NULL;
	const char *project = job->project->dir;
	hash_sha256_hex(project, strlen(project), hex);
	hex[32] = '\0';
	const char *name = job->config->cache_shared ? "shared" : hex;
	return asprintf(&path, "%s/caches/%s", job->host.state_dir, name) < 0 ? NULL : path;
}

static int make_below(int dir_fd, const char *name, struct airlock_error *err)
{
	if (mkdirat(dir_fd, name, 0700) < 0 && errno != EEXIST)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "mkdir", name);
	return 0;
}

/* A file with the path of the project, for people who look here. */
static int write_project(const struct airlock_job *job, const char *dir, int dir_fd, struct airlock_error *err)
{
	const char *project = job->config->cache_shared ? "" : job->project->dir;
	struct stat st;
	_cleanup_free_ char *file = path_join(dir, "project");
	if (!file)
		return base_oom(err);
	if (fstatat(dir_fd, "project", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	return fs_write_private_file(file, project, strlen(project), err);
}

/* Makes what is missing, and takes the lock that keeps `airlock cache clear` away. */
static int open_directory(const struct airlock_job *job, const char *dir, int *ret_lock, int *ret_whole,
			  struct airlock_error *err)
{
	int rc = fs_make_private_dir(dir, err);
	if (rc < 0)
		return rc;
	_cleanup_close_ int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir_fd < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "open", dir);
	*ret_lock = openat(dir_fd, "use", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*ret_lock < 0 || flock(*ret_lock, LOCK_SH) < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "lock", dir);
	rc = write_project(job, dir, dir_fd, err);
	static const char *const parts[] = {"whole", "upper", "used"};
	for (size_t i = 0; rc == 0 && i < AL_ARRAY_LEN(parts); i++)
		rc = make_below(dir_fd, parts[i], err);
	if (rc < 0)
		return rc;
	*ret_whole = openat(dir_fd, "whole", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_whole < 0 ? base_errno(err, AIRLOCK_ERR_IO, errno, "open", dir) : 0;
}

static bool are_wanted(const struct airlock_job *job)
{
	const struct policy_path *home = policy_rule_for(&job->config->policy, job->host.home);
	return job->config->cache_enabled && !job->workspace.dir && !job->backend->in_place && home &&
	       home->access == POLICY_READ && job->project->n_roots > 0;
}

int caches_decide(struct airlock_job *job, struct cache_list *ret, struct airlock_error *err)
{
	*ret = (struct cache_list){0};
	if (!are_wanted(job))
		return 0;
	_cleanup_free_ char *dir = directory_of(job);
	if (!dir)
		return base_oom(err);
	struct collector c = {.job = job, .dir = dir, .list = ret};
	int rc = collect(&c, err);
	strs_done(&c.mounts);
	return rc;
}

void cache_list_done(struct cache_list *l)
{
	free(l->v);
	strs_done(&l->paths);
	*l = (struct cache_list){0};
}

/* ── When the run starts ── */

static bool is_layered(const struct plan_mount *m)
{
	return m->cache && m->kind == PLAN_LAYER;
}

/* True for a private directory of a whole agent, which is kept with the session (run/agent_home.h). */
static bool is_agents(const struct plan_mount *m)
{
	return m->because.kind == AIRLOCK_ORIGIN_AGENT_PRIVATE;
}

/* Is it a directory of its own that is mounted over the cache, because no overlay can be had there? Such a one needs no lock. */
static bool is_whole(const struct plan_mount *m)
{
	_cleanup_free_ char *dir = path_dirname(m->cache);
	return dir && strcmp(path_basename(dir), "whole") == 0;
}

int caches_make(const struct airlock_job *job, int *lock_fd, struct airlock_error *err)
{
	const struct plan *plan = job->plan;
	size_t first = 0;
	while (first < plan->n_mounts && (!plan->mounts[first].cache || is_agents(&plan->mounts[first])))
		first++;
	if (first == plan->n_mounts || *lock_fd >= 0)
		return 0;
	_cleanup_free_ char *dir = directory_of(job);
	_cleanup_close_ int lock = -EBADF, whole = -EBADF;
	int rc = dir ? open_directory(job, dir, &lock, &whole, err) : base_oom(err);
	for (size_t i = first; rc == 0 && i < plan->n_mounts; i++) {
		const struct plan_mount *m = &plan->mounts[i];
		if (m->cache && !is_agents(m) && is_whole(m))
			rc = make_below(whole, path_basename(m->cache), err);
	}
	if (rc == 0)
		*lock_fd = TAKE_FD(lock);
	return rc;
}

/* Hides host entries that do not exist yet. The command may have made anything on the way, so no symlink is followed
 * (I6); a symlink or file in the way hides the host's entry by itself. */
static void put_whiteout(int upper_fd, const char *rest)
{
	_cleanup_close_ int dir = fcntl(upper_fd, F_DUPFD_CLOEXEC, 0);
	const char *slash;
	for (; dir >= 0 && (slash = strchr(rest, '/')); rest = slash + 1) {
		_cleanup_free_ char *name = strndup(rest, (size_t)(slash - rest));
		if (!name || (mkdirat(dir, name, 0755) < 0 && errno != EEXIST))
			return;
		int next = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		(void)close(dir);
		dir = next;
	}
	if (dir >= 0)
		(void)mknodat(dir, rest, S_IFCHR, makedev(0, 0));
}

static void hide_missing(const struct policy *p, const char *root, const char *upper)
{
	_cleanup_close_ int fd = open(upper, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	for (size_t i = 0; fd >= 0 && i < p->n_paths; i++) {
		const char *rest = p->paths[i].access == POLICY_HIDE ? path_rest(p->paths[i].path, root) : NULL;
		if (rest && *rest && lstat(p->paths[i].path, &st) < 0 && errno == ENOENT)
			put_whiteout(fd, rest);
	}
}

/* The work directory is always the run's own: the overlays are volatile, and the kernel takes no work directory twice. */
static int add_layer(struct run_caches *c, const struct airlock_job *job, const struct plan_mount *m,
		     const char *run_dir, struct airlock_error *err)
{
	size_t at = c->paths.n, number = c->n_layers;
	struct stat st;
	strs_add(&c->paths, m->source);
	if (!is_agents(m) && is_whole(m)) {
		strs_add(&c->paths, m->cache);
		strs_add(&c->paths, "");
		return c->paths.failed ? base_oom(err) : 0;
	}
	if (is_agents(m) ? c->agent_thrown_away : c->thrown_away)
		strs_addf(&c->paths, "%s/caches/upper%zu", run_dir, number);
	else
		strs_add(&c->paths, m->cache);
	strs_addf(&c->paths, "%s/caches/work%zu", run_dir, number);
	if (c->paths.failed)
		return base_oom(err);
	int rc = fs_make_private_dir(c->paths.v[at + 1], err);
	if (rc == 0)
		rc = fs_make_private_dir(c->paths.v[at + 2], err);
	if (rc == 0 && stat(m->source, &st) == 0)
		(void)chmod(c->paths.v[at + 1], st.st_mode & 0777); /* what the command sees as the mode of the cache */
	if (rc == 0)
		hide_missing(&job->config->policy, m->target, c->paths.v[at + 1]);
	return rc;
}

/* The directory of the project's caches, and its uppers unless another run has them. */
static int take_lock(struct run_caches *c, const struct plan_mount *m, struct airlock_error *err)
{
	_cleanup_free_ char *upper = path_dirname(m->cache), *dir = upper ? path_dirname(upper) : NULL;
	if (!dir)
		return base_oom(err);
	c->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	c->lock_fd =
		c->dir_fd < 0 ? -EBADF : openat(c->dir_fd, "layers", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (c->lock_fd < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "open", dir);
	if (flock(c->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	base_closep(&c->lock_fd);
	c->thrown_away = true;
	return 0;
}

/* m->cache is <session>/home/upper/NAME. */
static int take_agent_lock(struct run_caches *c, struct airlock_job *job, struct airlock_error *err)
{
	_cleanup_free_ char *lock = path_join(job->agent.home, "lock");
	int rc = lock ? fs_make_private_dir(job->agent.home, err) : base_oom(err);
	if (rc < 0)
		return rc;
	c->agent_lock_fd = open(lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (c->agent_lock_fd < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "open", lock);
	c->agent_thrown_away = flock(c->agent_lock_fd, LOCK_EX | LOCK_NB) < 0;
	if (c->agent_thrown_away)
		NOTE(&job->warnings, AGENT_BUSY, .subject = job->work.name);
	return 0;
}

static int take_locks(struct run_caches *c, struct airlock_job *job, const struct plan_mount *m,
		      struct airlock_error *err)
{
	if (is_agents(m))
		return c->agent_lock_fd < 0 ? take_agent_lock(c, job, err) : 0;
	return c->lock_fd < 0 && !c->thrown_away && !is_whole(m) ? take_lock(c, m, err) : 0;
}

int caches_begin(struct run_caches *c, struct airlock_job *job, const char *run_dir, const struct child_layer *layers,
		 size_t n_layers, struct airlock_error *err)
{
	const struct plan *plan = job->plan;
	size_t n = 0, at;
	int rc = caches_make(job, &job->caches_fd, err);
	if (rc == 0)
		rc = agent_home_copy(job, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < plan->n_mounts; i++)
		n += is_layered(&plan->mounts[i]);
	c->layers = calloc(n_layers + n + 1, sizeof *c->layers);
	if (!c->layers)
		return base_oom(err);
	for (c->n_layers = 0; c->n_layers < n_layers; c->n_layers++)
		c->layers[c->n_layers] = layers[c->n_layers];
	for (size_t i = 0; rc == 0 && n > 0 && i < plan->n_mounts; i++) {
		if (!is_layered(&plan->mounts[i]))
			continue;
		rc = take_locks(c, job, &plan->mounts[i], err);
		if (rc == 0)
			rc = add_layer(c, job, &plan->mounts[i], run_dir, err);
		c->n_layers++;
	}
	for (size_t i = n_layers; rc == 0 && i < c->n_layers; i++) {
		at = (i - n_layers) * 3;
		c->layers[i] = (struct child_layer){{c->paths.v[at]}, {c->paths.v[at + 1]}, {c->paths.v[at + 2]}};
	}
	return rc;
}

/* The kernel leaves work directories of mode 000. Open them up: a person's `rm -r` of the state directory would fail
 * on them. */
static void open_up(const struct run_caches *c)
{
	static const char *const made[] = {"work", "work/incompat", "work/incompat/volatile"};
	for (size_t i = 2; i < c->paths.n; i += 3) { /* source, upper, work of each; no work directory: "" */
		char path[PATH_MAX];
		for (size_t k = 0; *c->paths.v[i] && k < AL_ARRAY_LEN(made); k++)
			if (snprintf(path, sizeof path, "%s/%s", c->paths.v[i], made[k]) < (int)sizeof path)
				(void)chmod(path, 0700);
	}
}

/* Only move it aside: removing takes longer and the caller waits. The next run removes it while its command runs. */
void caches_tidy(struct run_caches *c, const char *run_dir)
{
	char target[NAME_MAX + 8];
	bool is_used = c->dir_fd >= 0 || c->agent_lock_fd >= 0;
	_cleanup_close_ int fd = is_used ? open(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) : -EBADF;
	(void)snprintf(target, sizeof target, "used/%s", path_basename(run_dir));
	if (fd >= 0)
		open_up(c);
	bool is_aside = fd >= 0 && c->dir_fd >= 0 && renameat(fd, "caches", c->dir_fd, target) == 0;
	if (fd >= 0 && !is_aside && errno != ENOENT)
		(void)fs_remove_tree_at(fd, "caches", NULL, NULL);
	base_closep(&c->dir_fd);
	base_closep(&c->lock_fd);
	base_closep(&c->agent_lock_fd);
}

void caches_clean(const struct run_caches *c)
{
	_cleanup_close_ int used =
		c->dir_fd >= 0 ? openat(c->dir_fd, "used", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) : -EBADF;
	DIR *entries = used >= 0 ? fdopendir(used) : NULL;
	if (entries)
		(void)TAKE_FD(used);
	for (struct dirent *e; entries && (e = readdir(entries));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			(void)fs_remove_tree_at(dirfd(entries), e->d_name, NULL, NULL);
	if (entries)
		(void)closedir(entries);
}

void caches_done(struct run_caches *c)
{
	base_closep(&c->dir_fd);
	base_closep(&c->lock_fd);
	base_closep(&c->agent_lock_fd);
	free(c->layers);
	strs_done(&c->paths);
	*c = (struct run_caches)RUN_CACHES_INIT;
}
