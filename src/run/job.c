/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Settings → configuration → project → backend → plan → question. Each step only decides. */
#include "run/job.h"

#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "fs/fs.h"
#include "run/agent_home.h"
#include "run/aliases.h"
#include "run/caches.h"
#include "run/capture.h"
#include "run/host_sockets.h"
#include "run/copies.h"
#include "run/denials.h"
#include "run/explain.h"
#include "run/ids.h"
#include "run/layers.h"
#include "run/links.h"
#include "run/prestart.h"
#include "run/host_fs.h"
#include "run/run_holder.h"
#include "run/run_session.h"
#include "sys/probe.h"

#include <errno.h>
#include <limits.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

/* One argument may not be longer than the kernel's MAX_ARG_STRLEN, its NUL included. */
#define MAX_ARGUMENT (128 * 1024)
/* The output that is kept of each stream when a model reads the result. */
#define MODEL_MAX_OUTPUT (30 * 1024)

void airlock_job_free(struct airlock_job *job)
{
	if (!job || __atomic_fetch_sub(&job->runs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	ids_forget_groups(job);
	free(job->capture_because);
	plan_free(job->plan);
	project_free(job->project);
	workspace_done(&job->workspace);
	config_free(job->config);
	host_done(&job->host);
	strs_done(&job->untrusted_dirs);
	backend_found_done(&job->found);
	base_closep(&job->caches_fd);
	base_closep(&job->end_with_fd);
	strs_done(&job->environ);
	strs_done(&job->argv);
	free(job->cwd);
	notes_done(&job->warnings);
	network_done(&job->net);
	permission_done(&job->question);
	free(job->session);
	free(job->work.name);
	for (size_t i = 0; i < job->work.n_lowers; i++)
		strs_done(&job->work.lowers[i]);
	free(job->work.lowers);
	free(job->work.tmp);
	free(job->work.dir);
	run_holder_leave(job);
	session_processes_done(&job->work.processes);
	free(job->command_line);
	origin_done(&job->origin);
	explained_free(job->explained);
	agent_home_free(&job->agent);
	free(job);
}

/* ── Configuration and project ── */

static int load_config(struct airlock_job *job, const struct airlock_settings *s, const struct settings_view *v,
		       const char *project_dir, struct airlock_error *err)
{
	const char *file = settings_get(v, "config");
	_cleanup_free_ char *named = file ? path_normalize(job->host.cwd, file) : NULL;
	if (file && !named)
		return base_oom(err);
	struct config_inputs in = {
		.home = job->host.home,
		.cwd = job->host.cwd,
		.system_file = job->host.system_file,
		.user_file = named ? named : job->host.user_file,
		.user_file_required = named != NULL,
		.project_dir = project_dir,
		.trust_dir = job->host.trust_dir,
		.settings = v->items,
		.n_settings = v->n,
		.argv = s->argv.n && !s->recipe ? (const char *const *)s->argv.v : NULL,
		.shell_command = s->command,
	};
	int rc = config_load(&in, &job->config, err);
	if (rc == 0)
		notes_add_all(&job->warnings, &job->config->warnings);
	return rc < 0 ? rc : agent_home_load(job, s, v, project_dir, err);
}

/* Never a root, whatever the profile hides: the secrets of the table, and our own directories. */
static void list_secrets(const void *data, struct strs *out)
{
	const struct airlock_job *job = data;
	for (const char *const *name = policy_secret_names(); *name; name++)
		strs_take(out, path_join(job->host.home, *name));
	strs_add(out, job->host.state_dir);
	strs_add(out, job->host.config_dir);
	if (job->host.runtime_dir)
		strs_add(out, job->host.runtime_dir);
	const struct policy *p = &job->config->policy;
	for (size_t i = 0; i < p->n_paths; i++)
		if (p->paths[i].access == POLICY_HIDE)
			strs_add(out, p->paths[i].path);
}

/* The kernel copies no file into a layer whose owner has no name in the sandbox's user namespace; what the command is told
 * then ("Value too large for defined data type") nobody understands. */
static void warn_of_owner(struct airlock_job *job)
{
	struct stat st;
	if (job->config->policy.changes == POLICY_CHANGES_DIRECT || geteuid() == 0 || job->project->n_roots == 0 ||
	    stat(job->project->dir, &st) < 0 || st.st_uid == geteuid())
		return;
	if (faccessat(AT_FDCWD, job->project->dir, W_OK, AT_EACCESS) == 0) /* captured by copy */
		return;
	NOTE(&job->warnings, FOREIGN_PROJECT, .subject = job->project->dir);
}

/* Files that root writes there are unusable for the owner of the home: airlock without sudo would fail from then on. */
static void warn_of_home(struct airlock_job *job)
{
	struct stat st;
	if (geteuid() != 0 || stat(job->host.home, &st) < 0 || st.st_uid == 0 ||
	    !path_is_beneath(job->host.state_dir, job->host.home))
		return;
	NOTE(&job->warnings, FOREIGN_HOME, .subject = job->host.home);
}

int job_project_query(const struct airlock_job *job, const char *dir, char **ret_home, struct project_query *ret,
		      struct airlock_error *err)
{
	*ret_home = realpath(job->host.home, NULL);
	if (!*ret_home && !base_is_absent(errno))
		return base_errno(err, AIRLOCK_ERR_IO, errno, "realpath", job->host.home);
	*ret = (struct project_query){
		.dir = dir,
		.home = *ret_home,
		.state_dir = job->host.state_dir,
		.list_secrets = list_secrets,
		.secrets_data = job,
		.rescan = job->opening.rescan,
		.grant_all = job->opening.grant_all,
		.progress = job->opening.progress,
		.progress_data = job->opening.progress_data,
	};
	return 0;
}

static void use_roots(struct airlock_job *job)
{
	for (size_t i = 0; i < job->project->n_roots; i++)
		if (!strs_has(&job->untrusted_dirs, job->project->roots[i].path))
			strs_add(&job->untrusted_dirs, job->project->roots[i].path);
}

static int open_project(struct airlock_job *job, const char *dir, struct airlock_error *err)
{
	_cleanup_free_ char *home = NULL;
	struct project_query q;
	int rc = job_project_query(job, dir, &home, &q, err);
	if (rc == 0)
		rc = project_open(&q, &job->project, err);
	if (rc < 0)
		return rc;
	use_roots(job);
	notes_add_all(&job->warnings, &job->project->notes);
	warn_of_owner(job);
	warn_of_home(job);
	return 0;
}

/* ── The command ── */

static const char *shell_program(const char *shell)
{
	return strcmp(shell, "sh") == 0 ? "/bin/sh" : shell;
}

static int make_argv(const struct airlock_job *job, const struct airlock_settings *s, struct strs *ret,
		     struct airlock_error *err)
{
	if (s->recipe) {
		agent_home_argv(job, s, ret);
	} else if (s->command) {
		strs_add(ret, shell_program(job->config->shell));
		strs_add(ret, "-c");
		strs_add(ret, s->command);
	} else
		strs_add_all(ret, &s->argv);
	if (ret->failed)
		return base_oom(err);
	for (size_t i = 0; i < ret->n; i++) {
		size_t len = strlen(ret->v[i]);
		if (len >= MAX_ARGUMENT) {
			base_error(err, AIRLOCK_ERR_LIMIT, "exec", s->command ? "command" : ret->v[0],
				   "the command is too long: an argument of %zu bytes, the system takes at most %d",
				   len, MAX_ARGUMENT - 1);
			return base_hint(err, "put it into a script file and run that");
		}
	}
	return 0;
}

static char *as_shell_line(const struct airlock_settings *s, const struct strs *argv)
{
	if (s->command && !s->recipe)
		return strdup(s->command);
	struct buf b = BUF_INIT;
	for (size_t i = 0; i < argv->n; i++) {
		if (i)
			buf_addc(&b, ' ');
		text_add_shell_word(&b, argv->v[i]);
	}
	return buf_take(&b);
}

/* ── The plan ── */

/* Without a sandbox there is nothing between the command and the files; holding them back was asked for and cannot be. */
static int check_changes(const struct airlock_job *job, struct airlock_error *err)
{
	const struct policy *p = &job->config->policy;
	bool captures = p->changes == POLICY_CHANGES_ASK || p->changes == POLICY_CHANGES_HOLD ||
			p->changes == POLICY_CHANGES_DISCARD;
	if (!job->backend->unsandboxed || !captures)
		return 0;
	const char *mode = policy_changes_name(p->changes);
	base_error(err, AIRLOCK_ERR_UNAVAILABLE, "changes", mode,
		   "changes cannot be captured without a sandbox, so \"%s\" is not possible", mode);
	return base_hint(err, "use --changes direct: the command writes straight to the project");
}

/* Without mounts there is no private /tmp: a directory in the playground takes its place. */
static int live_without_mounts(struct airlock_job *job, struct airlock_error *err)
{
	struct policy *p = &job->config->policy;
	_cleanup_free_ char *tmp = path_join(job->host.playground, "tmp");
	if (!tmp)
		return base_oom(err);
	int rc = fs_make_private_dir(tmp, err);
	if (rc < 0)
		return rc;
	strs_addf(&p->env_set, "TMPDIR=%s", tmp);
	return p->env_set.failed ? base_oom(err) : 0;
}

/* An airlock that an agent's command starts is the agent's, too: without a sandbox it would find the person's own state. */
static int mark_inside(struct airlock_job *job, struct airlock_error *err)
{
	struct strs *set = &job->config->policy.env_set;
	if (job->origin.kind == ORIGIN_AGENT)
		strs_add(set, "AIRLOCK_AGENT=1");
	return set->failed ? base_oom(err) : 0;
}

/* The session's sockets are behind it: buses, agents, displays. A rule of its own, as for /tmp and home, goes before. */
static bool hides_runtime_dir(const struct airlock_job *job)
{
	const struct policy *p = &job->config->policy;
	const char *dir = job->host.runtime_dir;
	for (size_t i = 0; dir && i < p->n_paths; i++)
		if (strcmp(p->paths[i].path, dir) == 0)
			return false;
	for (size_t i = 0; dir && i < job->project->n_roots; i++)
		if (strcmp(job->project->roots[i].path, dir) == 0)
			return false;
	return dir != NULL;
}

/* Paths that no rule of the policy can show: airlock's own files, the sockets of the login session, and other names of hidden files. */
struct hidden {
	struct plan_root *v;
	size_t n;
	struct strs aliases, originals, sockets;
};

static void hidden_done(struct hidden *h)
{
	free(h->v);
	strs_done(&h->aliases);
	strs_done(&h->originals);
	strs_done(&h->sockets);
}

static void add_hidden(struct hidden *h, const char *path, struct airlock_origin because)
{
	h->v[h->n++] = (struct plan_root){path, because};
}

/* A root is there because somebody named it, under whichever name. */
static bool is_root_or_home(const struct airlock_job *job, const char *path)
{
	for (size_t i = 0; i < job->project->n_roots; i++)
		if (strcmp(job->project->roots[i].path, path) == 0)
			return true;
	return strcmp(path, job->host.home) == 0;
}

static bool is_shown_by_rule(const struct policy *p, const char *path)
{
	for (size_t i = 0; i < p->n_paths; i++)
		if (p->paths[i].access == POLICY_READ && strcmp(p->paths[i].path, path) == 0)
			return true;
	return false;
}

/* Layers cut them off by themselves. */
static int find_sockets(const struct airlock_job *job, struct strs *ret, struct airlock_error *err)
{
	_cleanup_host_sockets_ struct host_sockets sockets = HOST_SOCKETS_INIT;
	if (layers_wanted(job) || job->backend->in_place)
		return 0;
	int rc = host_sockets_read(&sockets, err);
	for (size_t i = 0; rc == 0 && i < job->project->n_roots; i++) {
		const char *dir = job->project->roots[i].path;
		int found = host_sockets_find_in(&sockets, dir, ret);
		rc = found < 0 ? base_errno(err, AIRLOCK_ERR_IO, found, "look for sockets", dir) : 0;
	}
	return rc;
}

static int collect_hidden(const struct airlock_job *job, const struct plan_world *world, const char *mounts,
			  struct hidden *h, struct airlock_error *err)
{
	const struct policy *p = &job->config->policy;
	const char *own[] = {job->host.state_dir, job->host.config_dir,
			     hides_runtime_dir(job) ? job->host.runtime_dir : NULL, NULL};
	int rc = aliases_find_in(mounts, p, world, own, &h->aliases, &h->originals, err);
	if (rc == 0)
		rc = find_sockets(job, &h->sockets, err);
	if (rc < 0)
		return rc;
	h->v = calloc(h->aliases.n + h->sockets.n + 4, sizeof *h->v);
	if (!h->v)
		return base_oom(err);
	add_hidden(h, job->host.state_dir, RULE_ORIGIN(OWN_STATE));
	add_hidden(h, job->host.config_dir, RULE_ORIGIN(OWN_CONFIGURATION));
	if ((geteuid() == 0 || !p->nested) && host_fs_shows_kernel_addresses())
		add_hidden(h, "/proc/kallsyms", RULE_ORIGIN(KERNEL_ADDRESSES));
	if (hides_runtime_dir(job))
		add_hidden(h, job->host.runtime_dir, RULE_ORIGIN(SESSION_SOCKETS));
	for (size_t i = 0; i < h->aliases.n; i++)
		if (!is_root_or_home(job, h->aliases.v[i]))
			add_hidden(h, h->aliases.v[i], RULE_ORIGIN(OTHER_NAME, h->originals.v[i]));
	for (size_t i = 0; i < h->sockets.n; i++)
		if (!is_shown_by_rule(p, h->sockets.v[i]))
			add_hidden(h, h->sockets.v[i], RULE_ORIGIN(HOST_SOCKET));
	return 0;
}

static int64_t machine_memory(void)
{
	struct sysinfo info;
	return sysinfo(&info) < 0 ? 0 : (int64_t)info.totalram * info.mem_unit;
}

/* ret_mount_points: every mount of the host. */
static int build_plan(struct airlock_job *job, struct strs *ret_mount_points, struct airlock_error *err)
{
	const struct project *project = job->project;
	_cleanup_(host_fs_done) struct host_fs world = HOST_FS_INIT;
	struct plan_world view = host_fs_view(&world);
	_cleanup_buf_ struct buf mounts = BUF_INIT;
	int rc = aliases_read_mounts(&mounts, ret_mount_points, err);
	if (rc < 0)
		return rc;
	struct plan_inputs common = {
		.mount_points = ret_mount_points,
		.policy = &job->config->policy,
		.world = &view,
		.cwd = job->cwd,
		.argv = (const char *const *)job->argv.v,
		.environ = (const char *const *)job->environ.v,
		.memory = machine_memory(),
		.network = job->network,
		.gate = network_has_gate(job),
		.resolver = job->net.resolver,
		.hosts = job->net.hosts,
		.is_root = geteuid() == 0,
		.capture = layers_wanted(job),
		.tmp_source = job->backend->in_place ? NULL : job->work.tmp,
	};
	if (job->workspace.dir)
		return job_plan_workspace(job, &common, err);
	_cleanup_free_ struct plan_root *roots = calloc(project->n_roots + 1, sizeof *roots);
	if (!roots)
		return base_oom(err);
	for (size_t i = 0; i < project->n_roots; i++)
		roots[i] = (struct plan_root){project->roots[i].path, project->roots[i].because};
	_cleanup_(hidden_done) struct hidden hidden = {0};
	_cleanup_(cache_list_done) struct cache_list caches = {0};
	rc = collect_hidden(job, &view, buf_str(&mounts), &hidden, err);
	if (rc == 0)
		rc = caches_decide(job, &caches, err);
	if (rc == 0)
		rc = agent_home_decide(job, &caches, err);
	if (rc < 0)
		return rc;
	struct plan_inputs in = common;
	in.home = job->host.home;
	in.roots = roots;
	in.n_roots = project->n_roots;
	in.playground_source = job->host.playground;
	in.caches = caches.v;
	in.n_caches = caches.n;
	in.hidden = hidden.v;
	in.n_hidden = hidden.n;
	in.in_place = job->backend->in_place;
	return plan_build(&in, &job->plan, err);
}

/* The result always has the reason; a person is told once for each project. */
static int take_copy(struct airlock_job *job, const struct capture_choice *choice, struct airlock_error *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	job->mirrors = true;
	capture_describe(job, choice, &text);
	job->capture_because = buf_take(&text);
	if (!job->capture_because)
		return base_oom(err);
	if (!job->capture_told && capture_tell_once(&job->host, choice)) { /* the plan may be made a second time */
		NOTE(&job->warnings, COPIED, .cause = job->capture_because);
		job->capture_told = true;
	}
	return job->warnings.failed ? base_oom(err) : 0;
}

/* With overlays where they can be had, else with copies of the roots that are mounted at their place. */
static int plan_capture(struct airlock_job *job, struct airlock_error *err)
{
	plan_free(job->plan);
	job->plan = NULL;
	job->mirrors = false;
	ids_forget_groups(job);
	base_freep(&job->capture_because);
	_cleanup_strs_ struct strs mount_points = STRS_INIT;
	int rc = build_plan(job, &mount_points, err);
	if (rc == 0 && layers_wanted(job))
		rc = layers_preflight(job, &mount_points, err);
	struct capture_choice choice = {.obstacle = CAPTURE_FREE};
	if (rc == 0 && layers_wanted(job))
		capture_examine(job, &choice);
	if (choice.obstacle == CAPTURE_FOREIGN_GROUP && ids_map_groups(job, &choice))
		capture_examine_grouped(job, &choice);
	if (choice.obstacle != CAPTURE_FREE) {
		rc = take_copy(job, &choice, err);
		ids_forget_groups(job);
	}
	rc = rc < 0 ? rc : ids_decide_others(job, err);
	return rc == 0 && (copies_wanted(job) || job->mirrors) ? copies_preflight(job, err) : rc;
}

static void use_untrusted_dirs(struct airlock_job *job)
{
	static const char *const none[] = {NULL};
	job->ctx.untrusted_dirs = job->untrusted_dirs.n ? (const char *const *)job->untrusted_dirs.v : none;
}

/* The links are looked at again: since the question was shown, somebody may have turned one or replaced its target. */
int job_grant_links(struct airlock_job *job, const struct project_link *links, size_t n, struct airlock_error *err)
{
	_cleanup_free_ char *home = NULL;
	struct project_query q;
	struct project *wider = NULL;
	int rc = job_project_query(job, job->project->dir, &home, &q, err);
	if (rc < 0)
		return rc;
	q.grants = links;
	q.n_grants = n;
	rc = project_open(&q, &wider, err);
	if (rc < 0)
		return rc;
	explained_free(TAKE_PTR(job->explained));
	project_free(job->project);
	job->project = wider;
	use_roots(job);
	use_untrusted_dirs(job);
	return job->untrusted_dirs.failed ? base_oom(err) : plan_capture(job, err);
}

static int make_question(struct airlock_job *job, const struct strs *extra_writable, const char *unsandboxed_because,
			 struct airlock_error *err)
{
	char nonce[33];
	struct permission_link links[PERMISSION_MAX_LINKS];
	size_t n_links = links_to_ask(job, links, PERMISSION_MAX_LINKS);
	int rc = job_nonce(nonce, err);
	if (rc < 0)
		return rc;
	struct permission_inputs in = {
		.abstract_sockets = job->backend->isolation(&job->ctx, job->plan).abstract_sockets,
		.extra_writable = (const char *const *)extra_writable->v,
		.links = links,
		.n_links = n_links,
		.unsandboxed = unsandboxed_because != NULL,
		.unsandboxed_because = unsandboxed_because ? unsandboxed_because : "",
		.command = job->command_line,
		.argv = (const char *const *)job->plan->argv.v,
		.working_dir = job->plan->cwd,
		.project = job->project->dir,
		.profile = job->plan->profile,
		.nonce = nonce,
	};
	network_fill_question(job, &in);
	return permission_collect(&in, &job->question, err);
}

/* Everything that depends on the configuration being known. */
static int decide(struct airlock_job *job, const struct airlock_settings *s, const struct settings_view *v,
		  struct airlock_error *err)
{
	_cleanup_strs_ struct strs extra = STRS_INIT;
	_cleanup_free_ char *because = NULL;
	const char *wanted_dir = settings_get(v, "working-dir");
	int rc = make_argv(job, s, &job->argv, err);
	if (rc == 0)
		rc = network_decide(job, err);
	if (rc == 0 && !job->workspace.dir)
		rc = job_check_paths(job, &extra, err);
	if (rc == 0)
		rc = job_choose_backend(job, &because, err);
	if (rc == 0)
		rc = network_settle(job, err);
	if (rc == 0)
		rc = check_changes(job, err);
	if (rc == 0)
		rc = job_find_working_dir(job, wanted_dir, &job->cwd, err);
	if (rc == 0 && job->backend->tmp_in_playground)
		rc = live_without_mounts(job, err);
	if (rc == 0)
		rc = mark_inside(job, err);
	/* Before the plan looks at the home it lies in: what is not there then is not in a rebuilt directory either. */
	if (rc == 0 && !job->workspace.dir)
		rc = fs_make_private_dir(job->host.playground, err);
	if (rc == 0)
		rc = agent_home_make(job, err);
	if (rc == 0)
		rc = plan_capture(job, err);
	if (rc == 0)
		rc = run_session_check(job, err);
	if (rc == 0)
		notes_add_all(&job->warnings, &job->plan->notes);
	if (rc == 0)
		rc = job_check_working_dir(job, wanted_dir ? job->cwd : NULL, err);
	if (rc == 0 && !(job->command_line = as_shell_line(s, &job->argv)))
		rc = base_oom(err);
	denials_decide(job, s);
	job->max_output = s->for_model && !job->config->max_output_asked ? MODEL_MAX_OUTPUT : job->config->max_output;
	if (rc < 0 || job->cannot_run.code) /* nobody is asked for what cannot be */
		return rc;
	return make_question(job, &extra, because, err);
}

static bool can_be_written(const char *dir)
{
	_cleanup_free_ char *path = strdup(dir);
	while (path && access(path, F_OK) < 0 && errno == ENOENT && strchr(path, '/') != strrchr(path, '/'))
		*strrchr(path, '/') = '\0';
	return path && access(path, W_OK) == 0;
}

/* Inside a sandbox of airlock there is Landlock at most, and only with a state directory that was put where it can be written. */
static int check_not_inside(const struct host *host, struct airlock_error *err)
{
	if (!sys_is_inside() || can_be_written(host->state_dir))
		return 0;
	return base_error(
		err, AIRLOCK_ERR_UNAVAILABLE, "nested", "airlock",
		"this is inside a sandbox of airlock already: it guards every command here, and no other can be "
		"made in it");
}

int job_open(struct airlock_job *job, const struct airlock_settings *s, const struct settings_view *v,
	     struct airlock_error *err)
{
	_cleanup_free_ char *dir = NULL;
	int rc = host_init(s, &job->host, err);
	if (rc == 0)
		rc = check_not_inside(&job->host, err);
	if (rc == 0)
		rc = workspace_open(&job->workspace, v, job->host.cwd, err);
	bool workspace = job->workspace.dir != NULL;
	if (rc == 0 && !workspace)
		rc = project_detect_known(job->opening.dir ? job->opening.dir : settings_get(v, "project"),
					  job->host.cwd, job->host.home, job->host.state_dir, &dir, err);
	if (rc == 0) /* a workspace's own .airlock.toml is a file like any other */
		rc = load_config(job, s, v, dir, err);
	if (rc < 0)
		return rc;
	return workspace ? job_open_workspace(job, v, err) : open_project(job, dir, err);
}

/* A descriptor means this very process, also when another gets its number later. */
static int open_end_with(struct airlock_job *job, const struct settings_view *v, struct airlock_error *err)
{
	const char *text = settings_get(v, "end-with");
	int64_t pid = 0;
	if (!text || !*text)
		return 0;
	if (text_parse_count(text, &pid) < 0 || pid <= 0 || pid > INT32_MAX)
		return base_error(err, AIRLOCK_ERR_USAGE, "end-with", text, "\"%s\" is no number of a process", text);
	job->end_with_fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	if (job->end_with_fd >= 0)
		return 0;
	return errno == ESRCH ? base_error(err, AIRLOCK_ERR_NOT_FOUND, "end-with", text, "there is no process %s", text)
			      : base_errno(err, AIRLOCK_ERR_IO, errno, "watch the process", text);
}

static int prepare(struct airlock_job *job, const struct airlock_settings *s, const struct settings_view *v,
		   struct airlock_error *err)
{
	int rc = settings_get_flag(v, "yes", &job->yes, err);
	job->opening.grant_all = job->yes;
	if (rc == 0)
		rc = origin_decide(s, v, &job->origin, err);
	if (rc == 0)
		rc = job_open(job, s, v, err);
	if (rc == 0)
		rc = run_session_join(job, v, err);
	if (rc == 0) {
		job->prestart = s->prestart;
		prestart_begin_in_session(job);
	}
	if (rc == 0)
		rc = open_end_with(job, v, err);
	if (rc == 0)
		rc = settings_get_flag(v, "pty", &job->pty, err);
	strs_add_all(&job->environ, &s->environ);
	job->session = s->session ? strdup(s->session) : NULL;
	if (rc == 0 && s->session && !job->session)
		rc = base_oom(err);
	if (rc == 0 && (job->environ.failed || job->untrusted_dirs.failed))
		rc = base_oom(err);
	if (rc < 0)
		return rc;
	/* The settings may be freed before the run starts: from here on the job's own copy of the environment counts. */
	for (size_t i = 0; i < job->environ.n; i++)
		if (strncmp(job->environ.v[i], "PATH=", 5) == 0)
			job->host.path_env = job->environ.v[i] + 5;
	job->ctx = (struct backend_context){
		.found = &job->found,
		.path_env = job->host.path_env,
		.state_dir = job->host.state_dir,
		.data_dir = job->host.data_dir,
	};
	use_untrusted_dirs(job);
	return decide(job, s, v, err);
}

struct airlock_job *job_new(void)
{
	struct airlock_job *job = calloc(1, sizeof *job);
	if (!job)
		return NULL;
	job->caches_fd = job->end_with_fd = -EBADF;
	job->work.holder.pid_fd = job->work.busy_fd = job->work.gate_fd = job->work.keepers_fd = -EBADF;
	job->work.own_fd = -EBADF;
	return job;
}

int airlock_job_prepare(const struct airlock_settings *s, struct airlock_job **ret, struct airlock_error *err)
{
	struct settings_view v;
	if (!s->command && s->argv.n == 0 && !s->recipe)
		return base_error(err, AIRLOCK_ERR_USAGE, "run", "", "no command was given");
	int rc = settings_view(s, &v, err);
	if (rc < 0)
		return rc;
	struct airlock_job *job = job_new();
	rc = job ? prepare(job, s, &v, err) : base_oom(err);
	settings_view_done(&v);
	if (rc == 0 && job->warnings.failed)
		rc = base_oom(err);
	if (rc < 0) {
		if (job)
			origin_redact(&job->origin, err);
		airlock_job_free(job);
		return rc;
	}
	*ret = job;
	return 0;
}

size_t airlock_job_warning_count(const struct airlock_job *job)
{
	return job->warnings.n;
}

const struct airlock_note *airlock_job_warning(const struct airlock_job *job, size_t i)
{
	return notes_at(&job->warnings, i);
}
