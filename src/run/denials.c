/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/denials.h"

#include "base/text.h"
#include "settings/settings.h"
#include "run/host_fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The file and line, variable or option that decided about the network; of a profile that says nothing, the profile. */
static struct airlock_origin network_origin(const struct airlock_job *job)
{
	_cleanup_buf_ struct buf key = BUF_INIT;
	const struct config *c = job->config;
	struct airlock_origin origin = RULE_ORIGIN(BUILTIN);
	buf_printf(&key, "profiles.%s.network", job->plan->profile);
	for (size_t i = 0; i < c->n_values; i++)
		if (!c->values[i].ignored && strcmp(c->values[i].key, buf_str(&key)) == 0)
			origin = c->values[i].origin;
	return origin.kind == AIRLOCK_ORIGIN_BUILTIN ? RULE_ORIGIN(BUILTIN, job->plan->profile) : origin;
}

void denials_decide(struct airlock_job *job, const struct airlock_settings *s)
{
	job->explain = job->config->explain_asked ? job->config->explain_denials : s->for_model;
}

/* Without a sandbox nothing is refused, and there is nothing to look for. Calls that the filter refuses are told of in any case. */
const struct denial_scene *denials_scene(struct airlock_run *run)
{
	const struct airlock_job *job = run->job;
	if (job->backend->unsandboxed)
		return NULL;
	run->scene = (struct denial_scene){
		.plan = job->plan,
		.in_place = job->backend->in_place,
		.workspace = job->workspace.dir != NULL,
		.network_refused = job->config->policy.network == POLICY_NETWORK_REFUSE,
		.network_origin = network_origin(job),
		.is_root = geteuid() == 0,
	};
	return job->explain ? &run->scene : NULL;
}

static const char *reason(int errnum)
{
	switch (errnum) {
	case EBUSY:
		return "another program already observes this process: airlock runs inside an observed sandbox";
	case ENOSYS:
	case EINVAL:
		return "this kernel cannot do it: Linux 5.19 or newer is needed";
	case EOPNOTSUPP:
		return "the sandbox cannot have its own /proc here, which airlock needs to observe the command";
	default:
		return strerrordesc_np(errnum);
	}
}

/* A user who asked for explanations gets a note; otherwise only the result has it. */
static void explain_absence(struct airlock_run *run, const char *why)
{
	run->denials_note = strdup(why);
	if (run->job->config->explain_asked)
		NOTE(&run->layers.notes, NOT_OBSERVED, .cause = why);
}

/* True if this user could write there outside the sandbox. Errors other than missing permission do not count as a
 * refusal. */
static bool may_write(const char *path)
{
	if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	return errno != EACCES && errno != EROFS && errno != EPERM;
}

/* The number in a file of /proc/sys; otherwise when there is no such file. */
static long setting(const char *path, long otherwise)
{
	char text[24];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		(void)close(fd);
	if (n <= 0)
		return otherwise;
	text[n] = '\0';
	return strtol(text, NULL, 10);
}

/* The rights of an ordinary user of this machine outside the sandbox. */
static bool may_call(enum child_seen_op op)
{
	switch (op) {
	case CHILD_SEEN_TRACE:
		return setting("/proc/sys/kernel/yama/ptrace_scope", 0) < 3;
	case CHILD_SEEN_NAMESPACE:
		return setting("/proc/sys/user/max_user_namespaces", 1) > 0 &&
		       setting("/proc/sys/kernel/unprivileged_userns_clone", 1) > 0;
	case CHILD_SEEN_PERF:
		return setting("/proc/sys/kernel/perf_event_paranoid", 2) <= 2;
	case CHILD_SEEN_BPF:
		return setting("/proc/sys/kernel/unprivileged_bpf_disabled", 0) == 0;
	case CHILD_SEEN_USERFAULT:
		return setting("/proc/sys/vm/unprivileged_userfaultfd", 1) > 0;
	default:
		return true;
	}
}

/* Without --explain-denials only what the filter refused is known. A command that succeeded did without it. An agent is told
 * what was refused, not which option would allow it: it cannot set one, a person can. */
static void note_calls(struct airlock_run *run)
{
	bool with_hints = run->job->origin.kind == ORIGIN_PERSON;
	if (supervise_result(run->supervise)->exit_code == 0)
		return;
	for (size_t i = 0; i < run->denials.n; i++) {
		_cleanup_buf_ struct buf what = BUF_INIT, hint = BUF_INIT;
		const struct airlock_denial *d = &run->denials.v[i];
		if (d->rule != AIRLOCK_DENIAL_CALL)
			continue;
		denial_add_what(d, &what);
		buf_adds(&hint, d->remedy ? "to allow: " : "no profile allows it");
		if (d->remedy)
			denial_add_hint(d, &hint);
		NOTE(&run->layers.notes, REFUSED, .subject = buf_str(&what),
		     .other = with_hints ? buf_str(&hint) : NULL);
	}
}

void denials_settle(struct airlock_run *run)
{
	const struct supervise_result *r = supervise_result(run->supervise);
	struct airlock_error err = {0};
	if (run->job->backend->unsandboxed || (!run->job->explain && !r->observed))
		return;
	if (!r->observed) {
		if (r->observe_errnum)
			explain_absence(run, reason(r->observe_errnum));
		return;
	}
	_cleanup_(host_fs_done) struct host_fs world = HOST_FS_INIT;
	struct plan_world view = host_fs_view(&world);
	struct denial_scene scene = run->scene;
	scene.world = &view;
	_cleanup_free_ char *home = realpath(run->job->host.home, NULL);
	scene.home = home;
	scene.may_write = run->scene.workspace ? NULL : may_write;
	scene.may_call = may_call;
	if (denials_read(&scene, r->seen.data, r->seen.len, &run->denials, &err) < 0) {
		explain_absence(run, err.message);
		return;
	}
	if (!run->job->explain) {
		note_calls(run);
		return;
	}
	if (run->denials.lost > 0)
		NOTE(&run->layers.notes, REFUSED_MORE, .number = (int64_t)run->denials.lost);
}

void denials_release(struct airlock_run *run)
{
	denials_done(&run->denials);
	free(run->denials_note);
}

bool denials_known(const struct airlock_run *run)
{
	bool observed = supervise_result(run->supervise)->observed && !run->denials_note;
	return run->job->explain && (run->job->backend->unsandboxed || observed);
}

size_t airlock_run_denial_count(const struct airlock_run *run)
{
	return run->job->explain ? run->denials.n : 0; /* else the notes tell */
}

const struct airlock_denial *airlock_run_denial(const struct airlock_run *run, size_t i)
{
	return i < airlock_run_denial_count(run) ? &run->denials.v[i] : NULL;
}
