/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What this machine can do, row by row. A row is "failed" only when the default profile cannot be had because of it,
 * "degraded" when something else is lost; so the whole is well when no row failed. */
#include "api/doctor.h"

#include "backend/bwrap_probe.h"
#include "backend/landlock_rules.h"
#include "backend/native.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "base/text.h"
#include "fs/fs.h"
#include "project/project.h"
#include "run/capture.h"
#include "settings/host.h"
#include "sys/probe.h"
#include "sys/scope.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_ROWS 16
#define LITTLE_SPACE (INT64_C(256) << 20)

const char *airlock_check_status_name(enum airlock_check_status status)
{
	static const char *const names[] = {
		[AIRLOCK_CHECK_OK] = "ok", [AIRLOCK_CHECK_DEGRADED] = "degraded", [AIRLOCK_CHECK_FAILED] = "failed"};
	return names[status];
}

struct airlock_doctor {
	struct airlock_check rows[MAX_ROWS];
	size_t n;
	bool failed;
	struct strs texts; /* owns what the rows point to */
	struct buf json;
};

/* The facts that the rows are made from. */
struct exam {
	bool no_userns;
	const struct doctor_inputs *in;
	struct airlock_doctor *d;
	struct bwrap_info bwrap;
	struct native_info native;
	struct sys_environment place;
	struct sys_fs state_fs;
};

static const char *keep(struct airlock_doctor *d, const char *text)
{
	strs_add(&d->texts, text ? text : "");
	return d->texts.failed ? "" : d->texts.v[d->texts.n - 1];
}

/* Copies its texts. Consequence and fix are for rows that are not ok. */
static void add_row(struct exam *x, const char *name, enum airlock_check_status status, const char *detail,
		    const char *consequence, const char *fix)
{
	struct airlock_doctor *d = x->d;
	if (d->n == MAX_ROWS)
		return;
	bool ok = status == AIRLOCK_CHECK_OK;
	d->failed |= status == AIRLOCK_CHECK_FAILED;
	d->rows[d->n++] = (struct airlock_check){
		.name = name,
		.status = status,
		.detail = keep(d, detail),
		.consequence = keep(d, ok ? "" : consequence),
		.fix = keep(d, ok ? "" : fix),
	};
}

/* Grades something that a sandbox needs. If a sandbox works without it, the row is degraded, not failed. */
static enum airlock_check_status grade_of_need(const struct exam *x, bool works)
{
	return works				   ? AIRLOCK_CHECK_OK
	       : x->bwrap.works || x->native.works ? AIRLOCK_CHECK_DEGRADED
						   : AIRLOCK_CHECK_FAILED;
}

static void add_userns(struct exam *x)
{
	struct sys_probe user, mount;
	char detail[640];
	sys_probe_userns(&user);
	sys_probe_mountns(&mount);
	x->no_userns = !user.works;
	const struct bwrap_words *w = bwrap_cause_words(bwrap_cause_of(sys_userns_obstacle(&user)));
	if (!user.works)
		(void)snprintf(detail, sizeof detail, "%s; %s", user.detail, w->cause);
	else
		(void)snprintf(detail, sizeof detail, "%s; a mount namespace: %s", user.detail, mount.detail);
	add_row(x, "user namespaces", grade_of_need(x, user.works && mount.works), detail,
		/* A container's filter can refuse sethostname and allow all that the native backend cannot do without. */
		x->native.works	 ? "sandboxes can be made all the same: see the row \"native\""
		: x->bwrap.works ? "only bwrap, which has privileges or a profile of its own, can make a sandbox"
				 : "no sandbox with namespaces can be made",
		user.works ? bwrap_cause_words(BWRAP_CONTAINER)->fix : w->fix);
}

static const char *fix_of_overlay(const struct exam *x, const struct sys_probe *p)
{
	if (p->errnum == ENODEV)
		return "as root: `modprobe overlay`";
	if (x->state_fs.overlay || x->state_fs.network || x->state_fs.fuse)
		return "set XDG_STATE_HOME to a directory on a local file system (ext4, btrfs, xfs), in a container a volume";
	if (p->errnum == EIO)
		return "set XDG_STATE_HOME to a directory on a file system with user extended attributes (ext4, btrfs, xfs; tmpfs from Linux 6.6 on)";
	if (p->errnum == EPERM || p->errnum == EINVAL)
		return "use Linux 5.11 or newer, and a local file system with user extended attributes";
	return "see the rows \"user namespaces\" and \"state directory\"";
}

/* Calls the function that decides for a run (capture.h), so that doctor and run always agree. */
static void add_overlay(struct exam *x)
{
	struct sys_probe p;
	char detail[384];
	capture_forget(x->in->state_dir);
	sys_probe_overlay(x->in->state_dir, x->in->project, &p);
	(void)snprintf(detail, sizeof detail, "upper directory on %s: %s",
		       *x->state_fs.type ? x->state_fs.type : "the state directory", p.detail);
	add_row(x, "overlay", p.works ? AIRLOCK_CHECK_OK : AIRLOCK_CHECK_DEGRADED, detail,
		"changes are found by comparing with a copy of the project: starting takes longer, and large projects are refused ([capture] in airlock.toml)",
		fix_of_overlay(x, &p));
}

static void add_bwrap(struct exam *x)
{
	const struct bwrap_info *b = &x->bwrap;
	_cleanup_buf_ struct buf detail = BUF_INIT;
	buf_printf(&detail, "version %d.%d.%d, %s, made a sandbox and ran a program in it", b->major, b->minor,
		   b->patch, b->path);
	if (b->is_setuid)
		buf_adds(&detail, "; it is setuid");
	add_row(x, "bubblewrap", grade_of_need(x, b->works), b->works ? buf_str(&detail) : b->why.message,
		x->native.works ? "--backend bubblewrap does not work; the native backend does"
				: "no command can be run in a sandbox",
		b->why.hint);
}

static void add_native(struct exam *x)
{
	const struct native_info *n = &x->native;
	if (n->works && !n->own_proc)
		add_row(x, "native", AIRLOCK_CHECK_DEGRADED, "made a sandbox, but without a fresh /proc",
			"a command sees the names of other processes, directories that were there cannot be renamed as a whole, and memory is not watched; results say \"partial\"",
			bwrap_cause_words(BWRAP_PROC)->fix);
	else
		add_row(x, "native", grade_of_need(x, n->works),
			n->works ? "made a sandbox with namespaces of its own" : n->why.message,
			x->bwrap.works ? "commands start slower, with bubblewrap"
				       : "no command can be run in a sandbox",
			n->why.hint);
}

static void add_landlock(struct exam *x)
{
	struct sys_probe p;
	int abi;
	char detail[384];
	sys_probe_landlock(&p, &abi);
	bool too_old = p.works && abi < LANDLOCK_VERSION_NEEDED;
	(void)snprintf(detail, sizeof detail, "%s%s", p.detail,
		       too_old ? "; the landlock backend needs ABI 2"
		       : p.works && abi < LANDLOCK_VERSION_TRUNCATE
			       ? "; the landlock backend refuses truncate(2) everywhere"
			       : "");
	add_row(x, "Landlock", p.works && !too_old ? AIRLOCK_CHECK_OK : AIRLOCK_CHECK_DEGRADED, detail,
		"one layer less inside the sandbox, and nothing to fall back on where namespaces are forbidden",
		p.errnum == EOPNOTSUPP ? "add landlock to the lsm= list of the kernel's command line"
				       : "use Linux 5.19 or newer, built with CONFIG_SECURITY_LANDLOCK");
}

static void add_seccomp(struct exam *x)
{
	struct sys_probe p;
	sys_probe_seccomp(&p);
	add_row(x, "seccomp", p.works ? AIRLOCK_CHECK_OK : AIRLOCK_CHECK_FAILED, p.detail,
		"system calls cannot be filtered", "use a kernel built with CONFIG_SECCOMP_FILTER");
}

static void add_listener(struct exam *x)
{
	struct sys_probe p;
	sys_probe_listener(&p);
	add_row(x, "explained denials", p.works ? AIRLOCK_CHECK_OK : AIRLOCK_CHECK_DEGRADED, p.detail,
		"results cannot say what the sandbox refused, and a directory that was there before a run cannot be renamed by it with rename(2)",
		p.errnum == EBUSY ? "run airlock outside of the sandbox that listens to its calls"
				  : "use Linux 5.19 or newer");
}

static bool try_scope(void)
{
	char name[32];
	_cleanup_free_ struct sys_scope *scope = geteuid() != 0 ? malloc(sizeof *scope) : NULL;
	(void)snprintf(name, sizeof name, "doctor-%d", (int)getpid());
	bool works = scope && sys_scope_open(name, scope) == 0;
	if (works)
		sys_scope_close(scope);
	return works;
}

/* Mirrors what the supervisor does: an rlimit in the sandbox's user namespace counts an ordinary user's processes,
 * but never binds root; without a cgroup, memory is sampled. */
static void add_cgroups(struct exam *x)
{
	struct sys_cgroup c;
	char detail[384];
	bool by_rlimit = geteuid() != 0;
	sys_probe_cgroup(&c);
	if (!c.memory && try_scope()) {
		c.memory = true;
		(void)snprintf(c.probe.detail, sizeof c.probe.detail,
			       "your systemd makes a scope for each run with a limit");
	}
	(void)snprintf(detail, sizeof detail, "limits: memory %s, processes %s; %s", c.memory ? "enforced" : "partial",
		       by_rlimit ? "enforced (by rlimit)"
		       : c.pids	 ? "enforced"
				 : "none",
		       c.probe.detail);
	const char *lost =
		c.memory
			? "the number of processes cannot be limited for root"
			: "memory is watched instead of bounded: a command can pass its limit for a moment before it is killed, and results say \"partial\"";
	const char *fix =
		x->place.container
			? "give the container a writable /sys/fs/cgroup"
			: "with systemd, run it where groups are delegated: `systemd-run --user --scope -p Delegate=yes airlock ...`";
	add_row(x, "control groups", c.memory && (c.pids || by_rlimit) ? AIRLOCK_CHECK_OK : AIRLOCK_CHECK_DEGRADED,
		detail, lost, fix);
}

/* Without user namespaces none of these is possible; the row about user namespaces then names the cause and the fix. */
static const char *fix_of_namespace(const struct exam *x, enum bwrap_cause cause)
{
	return x->no_userns ? "see the row \"user namespaces\"" : bwrap_cause_words(cause)->fix;
}

static void add_procfs(struct exam *x)
{
	struct sys_probe p;
	sys_probe_procfs(&p);
	add_row(x, "pid namespace", grade_of_need(x, p.works), p.detail,
		"a command cannot be kept from seeing other processes", fix_of_namespace(x, BWRAP_PROC));
}

static void add_netns(struct exam *x)
{
	struct sys_probe p;
	sys_probe_netns(&p);
	add_row(x, "network namespace", grade_of_need(x, p.works), p.detail, "the network cannot be cut off",
		fix_of_namespace(x, BWRAP_LOOPBACK));
}

static void add_kernel(struct exam *x)
{
	struct sys_kernel k;
	struct sys_probe p[4];
	_cleanup_buf_ struct buf detail = BUF_INIT;
	sys_kernel_examine(&k);
	sys_probe_openat2(&p[0]);
	sys_probe_pidfd_open(&p[1]);
	sys_probe_close_range(&p[2]);
	sys_probe_memfd_exec(&p[3]);
	bool all = true;
	buf_printf(&detail, "Linux %s", k.release);
	for (size_t i = 0; i < AL_ARRAY_LEN(p); i++) {
		all &= p[i].works;
		buf_printf(&detail, "; %s", p[i].detail);
	}
	add_row(x, "kernel", all ? AIRLOCK_CHECK_OK : AIRLOCK_CHECK_FAILED, buf_str(&detail),
		"commands cannot be started and watched safely",
		p[3].works ? "use Linux 5.9 or newer" : "as root: `sysctl -w vm.memfd_noexec=0`");
}

static void add_environment(struct exam *x)
{
	char where[256], detail[320];
	sys_environment_describe(&x->place, where, sizeof where);
	(void)snprintf(detail, sizeof detail, "inside %s", where);
	if (x->place.flatpak)
		add_row(x, "environment", AIRLOCK_CHECK_FAILED, detail,
			"no sandbox can be made inside a Flatpak; every command is asked about and runs NOT IN SANDBOX",
			bwrap_cause_words(BWRAP_FLATPAK)->fix);
	else
		add_row(x, "environment", *where ? AIRLOCK_CHECK_DEGRADED : AIRLOCK_CHECK_OK,
			*where ? detail : "no container, Flatpak, WSL or other sandbox around us",
			"a sandbox here is never stronger than the one around it; the other rows say what works", "");
}

/* "" when it is good; what is lost otherwise. */
static const char *worry_about_state(const struct sys_fs *fs)
{
	if (fs->network)
		return "a network file system: slow, and locks and layers may not work on it";
	if (fs->fuse)
		return "a file system in user space: layers cannot lie on it";
	if (strcmp(fs->type, "tmpfs") == 0 || strcmp(fs->type, "ramfs") == 0)
		return "in memory: runs and backups are gone after a restart";
	if (fs->free_bytes < (uint64_t)LITTLE_SPACE || fs->free_inodes < 1000)
		return "little space is left for captured output and changes";
	return "";
}

static void describe_state(const struct exam *x, const char *tried, struct buf *ret)
{
	buf_printf(ret, "%s: %s", x->in->state_dir, tried);
	if (x->state_fs.errnum)
		return;
	buf_printf(ret, "; %s%s, ", x->state_fs.type, x->state_fs.read_only ? " (read-only)" : "");
	text_add_size(ret, (int64_t)AL_MIN(x->state_fs.free_bytes, (uint64_t)INT64_MAX - 1));
	buf_adds(ret, " free");
}

/* The directory on the way from home to the state directory that belongs to somebody else; NULL: none does. Mostly it is
 * root's: airlock was started with sudo and the user's HOME. */
static char *find_foreign(const struct exam *x, bool *ret_is_root)
{
	_cleanup_free_ char *path = strdup(x->in->state_dir);
	struct stat st;
	while (path && x->in->home && path_is_beneath(path, x->in->home) && strcmp(path, x->in->home) != 0) {
		if (stat(path, &st) == 0) {
			*ret_is_root = st.st_uid == 0;
			return st.st_uid != geteuid() ? TAKE_PTR(path) : NULL;
		}
		/* cppcheck-suppress nullPointer ; only TAKE_PTR sets it to NULL, and returns */
		*strrchr(path, '/') = '\0';
	}
	return NULL;
}

static void describe_state_fix(const struct exam *x, bool is_writable, struct buf *ret)
{
	bool is_root = false;
	_cleanup_free_ char *foreign = find_foreign(x, &is_root);
	if (is_writable)
		buf_adds(ret, "as its owner: `chmod 700` on it, or set XDG_STATE_HOME to a directory of your own");
	else if (foreign)
		buf_printf(ret, "%s belongs to %s (airlock was run with sudo?); as root: `chown -R %u %s`", foreign,
			   is_root ? "root" : "somebody else", (unsigned)geteuid(), foreign);
	else
		buf_adds(ret, "set XDG_STATE_HOME to a directory you can write, on a local file system");
}

static void add_state_dir(struct exam *x)
{
	struct airlock_error err = {0};
	struct sys_probe p;
	_cleanup_buf_ struct buf detail = BUF_INIT, fix = BUF_INIT;
	sys_probe_writable(x->in->state_dir, &p);
	bool good = p.works && fs_check_private(x->in->state_dir, &err) == 0;
	describe_state(x, p.works && !good ? err.message : p.detail, &detail);
	describe_state_fix(x, p.works && !good, &fix);
	const char *worry =
		good ? worry_about_state(&x->state_fs) : "nothing can be run, because nothing can be recorded";
	add_row(x, "state directory",
		!good	 ? AIRLOCK_CHECK_FAILED
		: *worry ? AIRLOCK_CHECK_DEGRADED
			 : AIRLOCK_CHECK_OK,
		buf_str(&detail), worry, buf_str(&fix));
}

/* Forget the remembered verdict first: people ask the doctor right after a repair, before the next run. */
static int examine_backends(struct exam *x, struct airlock_error *err)
{
	_cleanup_free_ char *cache = path_join(x->in->state_dir, BWRAP_CACHE_NAME);
	_cleanup_free_ char *native = path_join(x->in->state_dir, NATIVE_CACHE_NAME);
	if (!cache || !native)
		return base_oom(err);
	(void)unlink(cache);
	(void)unlink(native);
	native_probe(native, &x->native);
	return bwrap_probe(x->in->path_env, cache, NULL, &x->bwrap, err);
}

static void add_rows(struct exam *x)
{
	add_userns(x);
	add_overlay(x);
	add_native(x);
	add_bwrap(x);
	add_landlock(x);
	add_seccomp(x);
	add_listener(x);
	add_cgroups(x);
	add_procfs(x);
	add_netns(x);
	add_kernel(x);
	add_environment(x);
	add_state_dir(x);
}

static void write_json(struct airlock_doctor *d)
{
	struct json j = json_begin(&d->json, true);
	json_open_object(&j, NULL);
	json_bool(&j, "ok", !d->failed);
	json_open_array(&j, "checks");
	for (size_t i = 0; i < d->n; i++) {
		json_open_object(&j, NULL);
		json_string(&j, "name", d->rows[i].name);
		json_string(&j, "status", airlock_check_status_name(d->rows[i].status));
		json_string(&j, "detail", d->rows[i].detail);
		json_string(&j, "consequence", d->rows[i].consequence);
		json_string(&j, "fix", d->rows[i].fix);
		json_close(&j);
	}
	json_close(&j);
	json_close(&j);
	buf_addc(&d->json, '\n');
}

int doctor_examine(const struct doctor_inputs *in, struct airlock_doctor **ret, struct airlock_error *err)
{
	struct airlock_doctor *d = calloc(1, sizeof *d);
	struct exam *x =
		calloc(1, sizeof *x); /* on the heap: a program that links the library may call this on a small stack */
	struct airlock_error unused = {0};
	int rc = 0;
	if (!d || !x) {
		rc = base_oom(err);
		goto out;
	}
	x->in = in;
	x->d = d;
	(void)fs_make_private_dir(in->state_dir, &unused); /* its row finds out what is wrong with it */
	sys_environment_examine("", in->flatpak_id, &x->place);
	sys_fs_examine(in->state_dir, &x->state_fs);
	rc = examine_backends(x, err);
	if (rc < 0)
		goto out;
	add_rows(x);
	write_json(d);
	if (d->texts.failed || d->json.failed)
		rc = base_oom(err);
	else
		*ret = TAKE_PTR(d);
out:
	free(x);
	airlock_doctor_free(d);
	return rc;
}

int airlock_doctor_examine(const struct airlock_settings *s, struct airlock_doctor **ret, struct airlock_error *err)
{
	struct host host;
	struct airlock_error unused = {0};
	_cleanup_free_ char *project = NULL;
	int rc = host_init(s, &host, err);
	if (rc < 0)
		return rc;
	/* No project is an error for a run; here it only means fewer checks. */
	(void)project_detect_known(NULL, host.cwd, host.home, host.state_dir, &project, &unused);
	struct doctor_inputs in = {
		.state_dir = host.state_dir,
		.home = host.home,
		.project = project,
		.path_env = host.path_env,
		.flatpak_id = settings_getenv(s, "FLATPAK_ID"),
	};
	rc = doctor_examine(&in, ret, err);
	host_done(&host);
	return rc;
}

int airlock_doctor_ok(const struct airlock_doctor *d)
{
	return !d->failed;
}

size_t airlock_doctor_count(const struct airlock_doctor *d)
{
	return d->n;
}

const struct airlock_check *airlock_doctor_check(const struct airlock_doctor *d, size_t i)
{
	return i < d->n ? &d->rows[i] : NULL;
}

const char *airlock_doctor_json(struct airlock_doctor *d)
{
	return buf_str(&d->json);
}

void airlock_doctor_free(struct airlock_doctor *d)
{
	if (!d)
		return;
	strs_done(&d->texts);
	buf_done(&d->json);
	free(d);
}
