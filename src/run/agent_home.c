/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Theory of operation.
 *
 * An agent keeps two kinds of things in its directory in the home. Data: transcripts, prompts, credentials. And what it obeys:
 * settings with hooks, plugins, servers to start, programs it has fetched. Both are in one directory, and a new version may add
 * names of either kind. If an agent in a sandbox could write the second kind, the agent outside would run it.
 *
 * So the directory as a whole is private: it is shown through an overlay whose upper directory belongs to the session. What the
 * recipe names as state is mounted over that from the home itself, and single files with credentials, and transcripts by a pattern
 * of their names, are brought home at the end, unless somebody else has changed them meanwhile. A name that no recipe knows stays
 * with the session.
 *
 * Bringing a file home reads what the agent has written: beneath a descriptor, no symlink followed, regular files only (I6). It is
 * data for a program that already trusts that file's owner; what it says is not looked at.
 */
#include "run/agent_home.h"

#include "base/array.h"
#include "base/path.h"
#include "fs/beneath.h"
#include "fs/fs.h"
#include "fs/io.h"
#include "fs/walk.h"
#include "run/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ADDED "a directory added to the agent" /* whose option added it */
#define FILE_MAX ((size_t)8 << 20)	       /* of a file that is copied or brought home */

void agent_home_free(struct job_agent *a)
{
	recipe_free(a->recipe);
	recipe_program_done(&a->program);
	free(a->home);
	*a = (struct job_agent){0};
}

/* ── The recipe ── */

static int no_workspace(const struct airlock_job *job, struct airlock_error *err)
{
	return base_error(err, AIRLOCK_ERR_USAGE, "workspace", job->workspace.dir,
			  "an agent works in a project: it cannot have a workspace");
}

/* True the first time that this user starts the agent. */
static bool is_first_time(const struct airlock_job *job)
{
	_cleanup_free_ char *told = path_join(job->host.state_dir, "told");
	_cleanup_buf_ struct buf file = BUF_INIT;
	struct stat st;
	buf_printf(&file, "%s/agent-%s", told ? told : "", job->agent.recipe->name);
	if (!told || file.failed || stat(buf_str(&file), &st) == 0)
		return false;
	(void)fs_write_private_file(buf_str(&file), "", 0, NULL);
	return true;
}

/* A directory that the person adds to the agent is like one that they name with --allow-write, and asked about like it. Where it does not
 * exist the agent says so. */
static int add_dirs(struct airlock_job *job, const struct airlock_settings *s, const struct settings_view *v,
		    const char *project, struct airlock_error *err)
{
	_cleanup_strs_ struct strs added = STRS_INIT;
	const char *wanted = settings_get(v, "working-dir");
	_cleanup_free_ char *from = wanted ? path_normalize(job->host.cwd, wanted) : strdup(job->host.cwd);
	int rc = from ? recipe_added_dirs(job->agent.recipe, &s->argv, &added, err) : base_oom(err);
	for (size_t i = 0; rc == 0 && i < added.n; i++) {
		_cleanup_free_ char *path = path_normalize(from, added.v[i]);
		_cleanup_free_ char *real = path ? realpath(path, NULL) : NULL;
		if (!path)
			return base_oom(err);
		if (real && !(project && path_is_beneath(real, project)))
			rc = policy_add_path(&job->config->policy, POLICY_WRITE, path, RULE_ORIGIN(CALLER, ADDED), err);
	}
	return rc;
}

int agent_home_load(struct airlock_job *job, const struct airlock_settings *s, const struct settings_view *v,
		    const char *project, struct airlock_error *err)
{
	_cleanup_free_ char *user = path_join(job->host.config_dir, "agents");
	_cleanup_free_ char *etc = path_dirname(job->host.system_file), *system = etc ? path_join(etc, "agents") : NULL;
	_cleanup_(recipe_list_done) struct recipe_list all = {0};
	if (!user || !system)
		return base_oom(err);
	if (s->recipe && job->workspace.dir)
		return no_workspace(job, err);
	const struct recipe_places at = {.home = job->host.home, .system_dir = system, .user_dir = user};
	struct recipe_scene scene = {.home = job->host.home, .project = project, .program = &job->agent.program};
	int rc = s->recipe ? recipe_find(&at, s->recipe, &job->agent.recipe, err) : 0;
	if (rc == 0)
		rc = recipe_list_load(&all, &at, s->recipe != NULL, err);
	if (rc < 0)
		return rc;
	if (!s->recipe)
		return recipe_hide(&all, &scene, job->config, err);
	rc = recipe_program_find(job->agent.recipe, job->host.path_env, project, &job->agent.program, err);
	if (rc == 0 && is_first_time(job))
		NOTE(&job->warnings, AGENT_UPDATES, .subject = job->agent.recipe->title);
	if (rc == 0)
		rc = add_dirs(job, s, v, project, err);
	return rc < 0 ? rc : recipe_apply(job->agent.recipe, &all, &scene, job->config, err);
}

/* Directories that the person named with --allow-write. The agent must be told about them, or it does not use them. */
static void tell_dirs(const struct airlock_job *job, struct strs *argv)
{
	const struct policy *p = &job->config->policy;
	for (size_t i = 0; i < p->n_paths; i++) {
		const struct policy_path *rule = &p->paths[i];
		struct stat st;
		if (rule->access == POLICY_WRITE && rule->origin.kind == AIRLOCK_ORIGIN_CALLER &&
		    strcmp(rule->origin.name, ADDED) != 0 && stat(rule->path, &st) == 0 && S_ISDIR(st.st_mode))
			recipe_add_dir(job->agent.recipe, rule->path, argv);
	}
}

void agent_home_argv(const struct airlock_job *job, const struct airlock_settings *s, struct strs *ret)
{
	const struct recipe *r = job->agent.recipe;
	strs_add(ret, job->agent.program.path);
	strs_add_all(ret, &r->arguments);
	if (s->yolo)
		strs_add_all(ret, &r->yolo);
	tell_dirs(job, ret);
	strs_add_all(ret, &s->argv);
}

/* ── Before the run ── */

int agent_home_make(const struct airlock_job *job, struct airlock_error *err)
{
	const struct recipe *r = job->agent.recipe;
	const struct strs *const lists[] = {r ? &r->private_dirs : NULL, r ? &r->state : NULL};
	int rc = 0;
	for (size_t k = 0; k < AL_ARRAY_LEN(lists) && lists[k]; k++)
		for (size_t i = 0; rc == 0 && i < lists[k]->n; i++) {
			struct stat st;
			if (stat(lists[k]->v[i], &st) < 0 && errno == ENOENT)
				rc = fs_make_private_dir(lists[k]->v[i], err);
		}
	return rc;
}

static bool is_hidden(const struct airlock_job *job, const char *path)
{
	const struct policy_path *rule = policy_rule_for(&job->config->policy, path);
	return rule && rule->access == POLICY_HIDE;
}

static int add_private(struct cache_list *l, const struct airlock_job *job, const char *path, bool is_file,
		       struct airlock_error *err)
{
	const struct job_agent *a = &job->agent;
	_cleanup_buf_ struct buf name = BUF_INIT;
	struct plan_cache *grown = reallocarray(l->v, l->n + 1, sizeof *grown);
	if (!grown || !caches_add_name(&name, path_rest(path, job->host.home)))
		return base_oom(err);
	l->v = grown;
	strs_add(&l->paths, path);
	strs_addf(&l->paths, "%s/%s/%s", a->home, is_file ? "files" : "upper", buf_str(&name));
	if (l->paths.failed || name.failed)
		return base_oom(err);
	const char *own = l->paths.v[l->paths.n - 1];
	l->v[l->n++] = (struct plan_cache){.path = l->paths.v[l->paths.n - 2],
					   .whole = own,
					   .layer = own,
					   .agent = a->recipe->name,
					   .is_file = is_file};
	return 0;
}

static bool can_have_layer(const struct airlock_job *job, const char *dir)
{
	_cleanup_free_ char *real = realpath(dir, NULL);
	return real && capture_can_layer(&job->host, real);
}

int agent_home_decide(struct airlock_job *job, struct cache_list *caches, struct airlock_error *err)
{
	struct job_agent *a = &job->agent;
	int rc = 0;
	if (!a->recipe || job->backend->in_place)
		return 0;
	if (!job->work.name)
		return base_error(err, AIRLOCK_ERR_USAGE, "agent", a->recipe->name, "an agent needs a session");
	free(a->home);
	a->home = session_home(&(struct session_place){&job->host, job->project->dir}, job->work.name);
	if (!a->home)
		return base_oom(err);
	for (size_t i = 0; rc == 0 && i < a->recipe->private_dirs.n; i++) {
		const char *dir = a->recipe->private_dirs.v[i];
		if (is_hidden(job, dir))
			continue;
		if (can_have_layer(job, dir))
			rc = add_private(caches, job, dir, false, err);
		else if (!notes_has(&job->warnings, AIRLOCK_NOTE_AGENT_READ_ONLY, dir))
			NOTE(&job->warnings, AGENT_READ_ONLY, .subject = dir);
	}
	for (size_t i = 0; rc == 0 && i < a->recipe->private_files.n; i++)
		if (!is_hidden(job, a->recipe->private_files.v[i]))
			rc = add_private(caches, job, a->recipe->private_files.v[i], true, err);
	return rc;
}

/* An agent that finds its file missing makes it; one that finds it empty may say that it is damaged. */
static int read_original(const char *path, struct buf *ret, struct airlock_error *err)
{
	struct airlock_error why = {0};
	int rc = fs_read_file(path, FILE_MAX, ret, &why);
	size_t len = strlen(path);
	if (rc == AIRLOCK_ERR_NOT_FOUND) {
		if (len > 5 && strcmp(path + len - 5, ".json") == 0)
			buf_adds(ret, "{}\n");
		return ret->failed ? base_oom(err) : 0;
	}
	return rc < 0 ? base_pass(err, &why) : 0;
}

static int copy_file(const struct plan_mount *m, struct airlock_error *err)
{
	_cleanup_buf_ struct buf content = BUF_INIT;
	struct stat st;
	if (lstat(m->cache, &st) == 0)
		return 0;
	int rc = read_original(m->target, &content, err);
	return rc < 0 ? rc : fs_write_private_file(m->cache, buf_str(&content), content.len, err);
}

int agent_home_copy(const struct airlock_job *job, struct airlock_error *err)
{
	const struct plan *plan = job->plan;
	int rc = 0;
	for (size_t i = 0; rc == 0 && job->agent.home && i < plan->n_mounts; i++) {
		const struct plan_mount *m = &plan->mounts[i];
		if (m->cache && m->because.kind == AIRLOCK_ORIGIN_AGENT_PRIVATE && m->kind == PLAN_WRITE)
			rc = copy_file(m, err);
	}
	return rc;
}

/* ── Bringing files home ── */

struct agent_file {
	const char *path; /* of the recipe */
	bool is_secret;
	bool existed;
	struct stat before;
};

static void remember(struct agent_files *f, const struct strs *paths, bool is_secret)
{
	for (size_t i = 0; i < paths->n; i++) {
		if (recipe_is_pattern(paths->v[i]))
			continue;
		struct agent_file *file = &f->v[f->n++];
		*file = (struct agent_file){.path = paths->v[i], .is_secret = is_secret};
		file->existed = stat(file->path, &file->before) == 0;
	}
}

int agent_files_begin(struct agent_files *f, const struct airlock_job *job, struct airlock_error *err)
{
	const struct recipe *r = job->agent.home ? job->agent.recipe : NULL;
	if (!r)
		return 0;
	f->v = calloc(r->credentials.n + r->files.n + 1, sizeof *f->v);
	if (!f->v)
		return base_oom(err);
	remember(f, &r->credentials, true);
	remember(f, &r->files, false);
	return 0;
}

static bool is_unchanged(const struct agent_file *f)
{
	struct stat st;
	if (stat(f->path, &st) < 0)
		return !f->existed && errno == ENOENT;
	return f->existed && st.st_ino == f->before.st_ino && st.st_size == f->before.st_size &&
	       st.st_mtim.tv_sec == f->before.st_mtim.tv_sec && st.st_mtim.tv_nsec == f->before.st_mtim.tv_nsec;
}

/* Reads what the agent left there. -ENOENT: nothing; also where it removed the file (a whiteout): whoever signs out inside stays
 * signed in outside. */
static int read_left(int upper, const char *rest, struct buf *ret)
{
	struct stat st;
	_cleanup_close_ int fd = fs_open_beneath(upper, rest, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -ENOENT;
	return fs_read_all(fd, FILE_MAX, ret);
}

static bool is_same_as_home(const char *path, const struct buf *content)
{
	_cleanup_buf_ struct buf now = BUF_INIT;
	return fs_read_file(path, FILE_MAX, &now, NULL) == 0 && now.len == content->len &&
	       memcmp(buf_str(&now), buf_str(content), now.len) == 0;
}

/* The file itself, not a link to it (people keep such files in a repository and link them). */
static int write_home(const char *path, const struct buf *content, struct airlock_error *err)
{
	_cleanup_free_ char *real = realpath(path, NULL);
	return fs_write_private_file(real ? real : path, buf_str(content), content->len, err);
}

/* From now on the session sees what the home has. */
static void forget(int upper, const char *rest)
{
	const char *name;
	_cleanup_close_ int dir = fs_open_parent(upper, rest, &name);
	if (dir >= 0)
		(void)unlinkat(dir, name, 0);
}

static void bring_home(const struct agent_file *f, int upper, const char *rest, const char *session,
		       struct notes *notes)
{
	_cleanup_buf_ struct buf content = BUF_INIT;
	struct airlock_error why = {0};
	if (read_left(upper, rest, &content) < 0)
		return;
	if (is_same_as_home(f->path, &content)) {
		forget(upper, rest);
		return;
	}
	if (!is_unchanged(f) || write_home(f->path, &content, &why) < 0) {
		NOTE(notes, AGENT_NOT_HOME, .subject = f->path, .other = session,
		     .cause = why.code ? why.message : NULL);
		return;
	}
	if (f->is_secret)
		NOTE(notes, AGENT_SIGNED_IN, .subject = f->path);
	forget(upper, rest);
}

/* ── Transcripts: every file that a pattern of the recipe matches ── */

#define CHUNK ((size_t)64 << 10)

static int copy_all(int from, int to)
{
	_cleanup_free_ char *chunk = malloc(CHUNK);
	ssize_t n = chunk ? 1 : -1;
	while (n > 0 && (n = read(from, chunk, CHUNK)) > 0) {
		int rc = fs_write_all(to, chunk, (size_t)n);
		if (rc < 0)
			return rc;
	}
	return n < 0 ? -errno : 0;
}

/* A reader sees either the old file or the new one. */
static int replace_home(const char *path, int from, const struct stat *st)
{
	_cleanup_buf_ struct buf name = BUF_INIT;
	_cleanup_free_ char *dir = path_dirname(path);
	buf_printf(&name, "%s.XXXXXX", path);
	if (!dir || name.failed)
		return -ENOMEM;
	if (fs_make_private_dir(dir, NULL) < 0)
		return -EIO;
	_cleanup_free_ char *temporary = buf_take(&name);
	_cleanup_close_ int to = mkostemp(temporary, O_CLOEXEC);
	if (to < 0)
		return -errno;
	int rc = copy_all(from, to);
	if (rc == 0 && (futimens(to, (struct timespec[]){st->st_atim, st->st_mtim}) < 0 || rename(temporary, path) < 0))
		rc = -errno;
	if (rc < 0)
		(void)unlink(temporary);
	return rc;
}

/* A new one, or one that nobody outside has written to since the agent began. */
static bool is_theirs(const char *path, int64_t since_ns)
{
	struct stat st;
	if (lstat(path, &st) < 0)
		return errno == ENOENT;
	return S_ISREG(st.st_mode) && (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec < since_ns;
}

static void bring_match(int dir, const char *name, const char *path, int64_t since_ns)
{
	struct stat st;
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && is_theirs(path, since_ns) &&
	    replace_home(path, fd, &st) == 0)
		(void)unlinkat(dir, name, 0); /* from now on the session sees what the home has */
}

static bool matches(const struct strs *files, const char *path)
{
	for (size_t i = 0; i < files->n; i++)
		if (recipe_is_pattern(files->v[i]) && fnmatch(files->v[i], path, 0) == 0)
			return true;
	return false;
}

/* upper is what the agent has written in the private directory root. */
static void bring_matches(const struct recipe *r, const char *root, int upper, int64_t since_ns)
{
	_cleanup_walk_ struct fs_walk w = FS_WALK_INIT;
	int fd = fs_open_beneath(upper, "", O_RDONLY | O_DIRECTORY), event = fd < 0 ? fd : fs_walk_start(&w, fd);
	while (event >= 0 && (event = fs_walk_next(&w)) > 0) {
		const char *rest = fs_walk_path(&w);
		_cleanup_free_ char *path = rest ? path_join(root, rest) : NULL;
		if (event == FS_WALK_DIR)
			(void)fs_walk_enter(&w);
		else if (event == FS_WALK_ENTRY && path && matches(&r->files, path))
			bring_match(fs_walk_dirfd(&w), w.name, path, since_ns);
	}
}

void agent_files_end(struct agent_files *f, const struct airlock_job *job, const struct run_caches *caches,
		     int64_t since_ns, struct notes *notes)
{
	for (size_t k = 0; f->v && k < caches->n_layers; k++) {
		const struct child_layer *l = &caches->layers[k];
		_cleanup_close_ int upper =
			l->upper.text && *l->upper.text
				? open(l->upper.text, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
				: -EBADF;
		for (size_t i = 0; upper >= 0 && i < f->n; i++) {
			const char *rest = path_rest(f->v[i].path, l->root.text);
			if (rest && *rest)
				bring_home(&f->v[i], upper, rest, job->work.name, notes);
		}
		if (upper >= 0 && strs_has(&job->agent.recipe->private_dirs, l->root.text))
			bring_matches(job->agent.recipe, l->root.text, upper, since_ns);
	}
}

void agent_files_done(struct agent_files *f)
{
	free(f->v);
	*f = (struct agent_files){0};
}
