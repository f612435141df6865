/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Asking, starting, and handing the supervisor's loop to the caller. */
#include "run/run.h"

#include "base/error.h"
#include "base/path.h"
#include "change/apply/apply.h"
#include "fs/fs.h"
#include "layer/monitor.h"
#include "run/agent_home.h"
#include "run/agent_state.h"
#include "run/capture.h"
#include "change/values.h"
#include "run/copies.h"
#include "run/denials.h"
#include "layer/empty_layers.h"
#include "history/history.h"
#include "run/run_background.h"
#include "run/run_holder.h"
#include "run/run_record.h"
#include "run/run_session.h"
#include "run/links.h"
#include "run/workspace_hold.h"
#include "history/run_id.h"
#include "run/prestart.h"
#include "history/recovery.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

static int hold_run_dir(struct airlock_run *run, struct airlock_error *err)
{
	if (chmod(run->dir, 0700) < 0) /* whatever the caller's umask takes away */
		return base_errno(err, AIRLOCK_ERR_IO, errno, "chmod", run->dir);
	run->lock_fd = open(run->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (run->lock_fd < 0 || flock(run->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "lock", run->dir);
	return 0;
}

static int claim_run_dir(struct airlock_run *run, const struct host *host, struct airlock_error *err)
{
	_cleanup_free_ char *runs = path_join(host->state_dir, "runs");
	if (!runs)
		return base_oom(err);
	int rc = fs_make_private_dir(runs, err);
	if (rc < 0) {
		base_hint(err, "airlock keeps its records there; point XDG_STATE_HOME to a directory you can write to");
		return rc;
	}
	rc = run_id_claim(runs, run->id, sizeof run->id, &run->dir, err);
	return rc < 0 ? rc : hold_run_dir(run, err);
}

static int recover_first(const struct host *host, struct airlock_error *err)
{
	_cleanup_notes_ struct notes notes = NOTES_INIT;
	size_t count = 0;
	return recovery_run(host, &count, &notes, err);
}

int run_begin(struct airlock_run *run, struct airlock_error *err)
{
	struct airlock_job *job = run->job;
	int rc = recover_first(&job->host, err);
	if (rc == 0)
		rc = claim_run_dir(run, &job->host, err);
	if (rc == 0)
		rc = run_session_begin(job, &run->layers.notes, err);
	if (rc == 0)
		rc = run_session_make_tmp(job, err);
	return rc < 0 ? rc : layers_begin(&run->layers, job, run->id, run->dir, err);
}

static int start(struct airlock_run *run, const struct airlock_io *io, struct airlock_error *err)
{
	struct airlock_job *job = run->job;
	struct net_gate *gate = NULL;
	int rc = job->workspace.dir ? mount_points_make(&run->mount_points, job->plan, job->workspace.dir, err) : 0;
	if (rc == 0)
		rc = run_begin(run, err);
	if (rc == 0)
		rc = run_record_beginning(run, err);
	if (rc == 0)
		rc = caches_begin(&run->caches, job, run->dir, run->layers.layers, run->layers.n_layers, err);
	if (rc == 0)
		rc = agent_files_begin(&run->agent_files, job, err);
	if (rc == 0)
		rc = agent_state_begin(&run->agent_mark, job, run->id, run->started_ns, err);
	if (rc == 0)
		rc = network_open(run, io, &gate, err);
	if (rc < 0)
		return rc;
	struct supervise_spec spec = {
		.backend = job->backend,
		.ctx = &job->ctx,
		.plan = job->plan,
		.run_id = run->id,
		.run_dir = run->dir,
		.session_group = *job->work.group ? job->work.group : NULL,
		.max_output = job->max_output,
		.record_fd = run->begun_fd,
		.layers = run->caches.layers,
		.n_layers = run->caches.n_layers,
		.user_ns_fd = job->user_ns_fd,
		.shared = run_holder_shared(job),
		.end_with_fd = job->end_with_fd,
		.runtime_dir = job->host.runtime_dir,
		.keepers_fd = job->work.keepers_fd,
		.keep_locks = {job->workspace.dir ? run->mount_points.dir_fd : run->caches.lock_fd, job->caches_fd},
		.pty = job->pty,
		.gate = gate,
		.publishes = job->config->n_publish > 0,
		.ports = job->net.ports,
		.n_ports = job->net.n_ports,
		.observe = denials_scene(run),
		.stdin_fd = io ? io->stdin_fd : -1,
		.stdout_fd = io ? io->stdout_fd : -1,
		.stderr_fd = io ? io->stderr_fd : -1,
		.terminal_fd = io ? io->terminal_fd : -1,
		.look = run_usage_is_limited(job) ? run_usage_look : NULL,
		.look_data = run,
		.prestart = job->prestart ? job->prestart->sandbox : NULL,
	};
	spec.shared.view_fd = workspace_hold_view(job);
	rc = supervise_start(&spec, &run->supervise, err);
	bool had_view = spec.shared.view_fd != 0;
	if (rc < 0 && had_view)
		workspace_hold_drop_view(job);
	if (rc == 0 || (!run_holder_renew(job) && !had_view))
		return rc;
	base_error_clear(err);
	spec.shared = run_holder_shared(job);
	spec.prestart = NULL;
	return supervise_start(&spec, &run->supervise, err);
}

/* The rest of the start takes as long as most of the mounts. Not for a workspace, whose mount points are not there yet. */
static void tell_prestart(const struct airlock_job *job)
{
	struct backend_prestart *p = job->prestart ? job->prestart->sandbox : NULL;
	bool is_elsewhere = job->work.name && p && !p->shared.holder_fd; /* not in the session's namespaces */
	if (backend_prestart_is_usable(p) && job->backend->prestart && !job->workspace.dir && !is_elsewhere)
		job->backend->prestart->tell(&job->ctx, job->plan, p);
}

struct airlock_run *run_new(struct airlock_job *job)
{
	struct airlock_run *run = calloc(1, sizeof *run);
	if (!run)
		return NULL;
	(void)__atomic_fetch_add(&job->runs, 1, __ATOMIC_RELAXED);
	run->job = job;
	run->caches = (struct run_caches)RUN_CACHES_INIT;
	run->agent_mark = (struct agent_mark)AGENT_MARK_INIT;
	run->tail = (struct session_tail)SESSION_TAIL_INIT;
	run->lock_fd = run->begun_fd = run->changes_fd = run->detail_fd = -EBADF;
	run->started_ns = store_now();
	return run;
}

/* There is nothing to do now but to wait. */
static void do_ahead(struct airlock_run *run)
{
	run->changes_fd = fs_prepare_file(run->dir);
	run->detail_fd = fs_prepare_file(run->dir);
	if (run->layers.enabled)
		empty_layers_clean(run->job->host.state_dir, run->dir);
	caches_clean(&run->caches);
}

int airlock_run_start(struct airlock_job *job, const struct airlock_io *io, struct airlock_run **ret,
		      struct airlock_error *err)
{
	if (job->started)
		return base_error(err, AIRLOCK_ERR_USAGE, "start", "",
				  "a job can be started only once; prepare another");
	struct airlock_run *run = run_new(job);
	if (!run)
		return base_oom(err);
	struct airlock_error unheard = {0};
	err = err ? err : &unheard; /* the history tells it all the same */
	int rc = job->cannot_run.code;
	if (rc < 0)
		(void)base_pass(err, &job->cannot_run);
	if (rc == 0)
		rc = job_ask(job, io, err);
	if (rc == 0) {
		job->started = true;
		if (caches_make(job, &job->caches_fd, NULL) == 0 && agent_home_copy(job, NULL) == 0 &&
		    run_session_make_tmp(job, NULL) ==
			    0) /* else start() fails over it, unless something else comes first */
			tell_prestart(job);
		rc = start(run, io, err);
	}
	if (rc < 0) {
		run_record_refused(run, err);
		origin_redact(&job->origin, err);
		airlock_run_free(run);
		return rc;
	}
	run_holder_alone(job, run->id, supervise_pid(run->supervise));
	run_record_begin(run);
	do_ahead(run);
	*ret = run;
	return 0;
}

int airlock_run_fd(const struct airlock_run *run)
{
	return supervise_fd(run->supervise);
}

/* Not of what people do with a key, a closed pipe or a signal of their own: they know. */
static void note_signal(struct airlock_run *run)
{
	const struct supervise_result *r = supervise_result(run->supervise);
	bool is_own = r->signal == run->passed_on && r->signal != SIGKILL; /* which two Ctrl-C stand for */
	bool is_known = r->signal == SIGINT || r->signal == SIGPIPE || is_own;
	if (r->status != AIRLOCK_SIGNALED || is_known || run_usage_note(run))
		return;
	enum airlock_note_code code = r->limit_hit == AIRLOCK_LIMIT_MEMORY	? AIRLOCK_NOTE_KILLED_MEMORY
				      : r->limit_hit == AIRLOCK_LIMIT_FILE_SIZE ? AIRLOCK_NOTE_KILLED_FILE_SIZE
				      : r->signal == SIGBUS && r->n_full > 0	? AIRLOCK_NOTE_KILLED_FULL
										: AIRLOCK_NOTE_KILLED;
	notes_add(&run->layers.notes,
		  &(struct airlock_note){.code = code, .subject = sigabbrev_np(r->signal), .number = r->signal});
}

/* An agent is told what happened, not which setting would help: it cannot set one, a person can. */
static void note_full(struct airlock_run *run)
{
	const struct supervise_result *r = supervise_result(run->supervise);
	bool with_hint = run->job->origin.kind == ORIGIN_PERSON;
	for (size_t i = 0; i < r->n_full; i++) {
		bool is_shm = strcmp(r->full[i]->target, "/dev/shm") == 0;
		NOTE(&run->layers.notes, FULL, .subject = r->full[i]->target, .number = r->full[i]->size,
		     .other = !with_hint ? NULL
			      : is_shm	 ? "shm_size"
					 : "tmp_size",
		     .cause = with_hint ? run->job->plan->profile : NULL);
	}
}

static void note_lost_output(struct airlock_run *run)
{
	const struct supervise_lost *lost = &supervise_result(run->supervise)->lost;
	if (lost->relayed)
		NOTE(&run->layers.notes, OUTPUT_NOT_WRITTEN, .cause = strerrordesc_np(lost->relayed),
		     .subject = lost->kept ? NULL : run->id);
	if (lost->kept)
		NOTE(&run->layers.notes, OUTPUT_NOT_STORED, .cause = strerrordesc_np(lost->kept));
}

/* With the kernel's reason: there are several, and some are of this moment only. */
static void note_exposed(struct airlock_run *run)
{
	const struct supervise_result *r = supervise_result(run->supervise);
	const char *dir = run_exposed(run->job, r);
	bool is_told = dir && dir == r->exposed && r->exposed_errnum;
	if (dir)
		NOTE(&run->layers.notes, EXPOSED, .subject = dir,
		     .cause = is_told ? strerror(r->exposed_errnum) : NULL);
}

/* Where other processes can still write to the layers, a copy of them is looked at. */
static void end_layers(struct airlock_run *run)
{
	struct airlock_error err = {0};
	if (run_background_set_aside(run, &err) < 0) {
		(void)base_pass(&run->layers.error, &err);
		return;
	}
	layers_end(&run->layers, run->job, run->dir, supervise_result(run->supervise), TAKE_FD(run->changes_fd));
}

/* Waits for the last processes and puts the layers away. The result does not depend on it. */
static void leave(struct airlock_run *run)
{
	if (run->left)
		return;
	run->left = true;
	supervise_await_end(run->supervise);
	if (!run->layers.aside) { /* else somebody still works in them */
		layers_tidy(&run->layers, run->job, run->dir);
		caches_tidy(&run->caches, run->dir);
	}
	run_record_forget_beginning(run);
	run_holder_leave(run->job);
}

int airlock_run_await_result(struct airlock_run *run, int timeout_ms)
{
	if (run->finished)
		return 0;
	if (supervise_dispatch(run->supervise, timeout_ms) > 0)
		return 1;
	if (run->layers.enabled && supervise_result(run->supervise)->status == AIRLOCK_FAILED)
		capture_forget(run->job->host.state_dir);
	network_close(run);
	end_layers(run);
	agent_state_end(&run->agent_mark, run->job, run->started_ns);
	agent_files_end(&run->agent_files, run->job, &run->caches, run->started_ns, &run->layers.notes);
	run_background_record(run);
	run_background_look(run);
	note_signal(run);
	note_full(run);
	note_lost_output(run);
	if (supervise_result(run->supervise)->pids_alone)
		NOTE(&run->layers.notes, SESSION_PIDS, .subject = run->job->work.name);
	if (run->job->backend->unsandboxed)
		NOTE(&run->layers.notes, UNSANDBOXED);
	if (run->job->backend->isolation(&run->job->ctx, run->job->plan).abstract_sockets)
		NOTE(&run->layers.notes, ABSTRACT_SOCKETS);
	note_exposed(run);
	const char *again = supervise_result(run->supervise)->covered_again;
	if (again)
		NOTE(&run->layers.notes, HIDDEN_AGAIN, .subject = again);
	if (run->job->not_remembered.code)
		NOTE(&run->layers.notes, ANSWER_LOST, .cause = run->job->not_remembered.message);
	links_note(run->job, &run->layers.notes);
	if (supervise_result(run->supervise)->goes_on)
		mount_points_leave(&run->mount_points);
	else
		mount_points_remove(&run->mount_points);
	denials_settle(run);
	result_settle(run);
	run->finished = true;
	run_record_end(run);
	return 0;
}

int airlock_run_dispatch(struct airlock_run *run, int timeout_ms)
{
	int rc = airlock_run_await_result(run, timeout_ms);
	if (rc == 0)
		leave(run);
	return rc;
}

int airlock_run_signal(struct airlock_run *run, int signal)
{
	if (signal != SIGSTOP && signal != SIGTSTP && signal != SIGCONT)
		run->passed_on = signal; /* it may end the command */
	supervise_signal(run->supervise, signal);
	return 0;
}

void airlock_run_resize(struct airlock_run *run)
{
	supervise_resize(run->supervise);
}

int airlock_run_take_stop(struct airlock_run *run)
{
	return !run->finished && supervise_take_stop(run->supervise);
}

void airlock_run_free(struct airlock_run *run)
{
	if (!run)
		return;
	if (run->supervise && !run->finished) {
		/* Freed before its end: what it changed is held, for a person to decide. */
		supervise_abandon(run->supervise);
		(void)airlock_run_dispatch(run, 0);
	}
	if (run->finished)
		leave(run);
	supervise_free(run->supervise);
	network_free(run);
	mount_points_remove(&run->mount_points);
	if (run->dir)
		caches_tidy(&run->caches, run->dir); /* of one that did not start */
	caches_done(&run->caches);
	agent_files_done(&run->agent_files);
	agent_mark_done(&run->agent_mark);
	layers_done(&run->layers);
	monitor_close(run->monitor);
	if (run->dir && !run->supervise) /* it did not start */
		run_record_forget_beginning(run);
	if (run->dir)
		(void)rmdir(run->dir); /* only goes when nothing was kept in it */
	session_tail_done(&run->tail);
	base_closep(&run->begun_fd);
	base_closep(&run->lock_fd);
	base_closep(&run->changes_fd);
	base_closep(&run->detail_fd);
	denials_release(run);
	airlock_changes_free(run->changes);
	free(run->dir);
	free(run->json);
	free(run->text);
	airlock_job_free(run->job);
	free(run);
}

const char *airlock_run_id(const struct airlock_run *run)
{
	return run->id;
}

enum airlock_status airlock_run_status(const struct airlock_run *run)
{
	return supervise_result(run->supervise)->status;
}

/* A command that succeeded, and whose changes we could not bring home, has not done what its caller wanted: a script must
 * not go on. A command that failed keeps its own status, which says more. */
int airlock_run_exit_code(const struct airlock_run *run)
{
	const struct supervise_result *r = supervise_result(run->supervise);
	if (r->status == AIRLOCK_EXITED && r->exit_code == 0 && run->layers.error.code)
		return airlock_code_exit_status(AIRLOCK_ERR_IO);
	return r->exit_code;
}

const struct airlock_error *airlock_run_error(const struct airlock_run *run)
{
	const struct airlock_error *own = &supervise_result(run->supervise)->error;
	return own->code ? own : &run->layers.error;
}

enum airlock_changes_mode airlock_run_changes_mode(const struct airlock_run *run)
{
	static const enum airlock_changes_mode modes[] = {[POLICY_CHANGES_DIRECT] = AIRLOCK_MODE_DIRECT,
							  [POLICY_CHANGES_APPLY] = AIRLOCK_MODE_APPLY,
							  [POLICY_CHANGES_ASK] = AIRLOCK_MODE_ASK,
							  [POLICY_CHANGES_HOLD] = AIRLOCK_MODE_HOLD,
							  [POLICY_CHANGES_DISCARD] = AIRLOCK_MODE_DISCARD};
	return modes[run->job->config->policy.changes];
}

const struct airlock_changes *airlock_run_changes(struct airlock_run *run)
{
	if (!run->changes)
		run->changes = change_values_of_run(run->id, run->layers.set, layers_state(&run->layers));
	return run->changes;
}

const struct airlock_note *airlock_run_note(const struct airlock_run *run, size_t i)
{
	return notes_at(&run->layers.notes, i);
}

/* Opened when somebody first asks: most runs are over before anybody does. */
static struct monitor *monitor_of(struct airlock_run *run)
{
	if (run->monitor || run->finished || run->layers.n_layers == 0)
		return run->monitor;
	_cleanup_free_ const char **uppers = calloc(run->layers.n_layers, sizeof *uppers);
	for (size_t i = 0; uppers && i < run->layers.n_layers; i++)
		uppers[i] = run->layers.layers[i].upper.text;
	if (uppers)
		(void)monitor_open(uppers, run->layers.n_layers, &run->monitor);
	return run->monitor;
}

int64_t airlock_run_progress(struct airlock_run *run, const char **ret_latest)
{
	struct monitor *m = monitor_of(run);
	struct monitor_path latest;
	*ret_latest = "";
	if (!m)
		return -1;
	monitor_read(m);
	if (monitor_latest(m, &latest, 1) == 1)
		*ret_latest = latest.path;
	return (int64_t)monitor_count(m);
}
