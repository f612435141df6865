/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Landlock: for machines that forbid user namespaces.
 *
 * Nothing is mounted: the command sees the host's paths, and the kernel refuses what no rule grants. isolation()
 * reports what that cannot do: owners can change the metadata of visible files, hidden files still have a size, the
 * machine's processes have names, and there is no layer, so writes go directly to the project. The system call filter
 * handles sockets: Landlock controls neither UDP nor Unix sockets by path. */
#include "backend/landlock_rules.h"
#include "backend/spawn.h"
#include "sys/landlock.h"

#include <fcntl.h>
#include <sys/stat.h>

#define VERSION_TCP 4
#define VERSION_IOCTL 5
#define VERSION_SCOPES 6

#define READ_ACCESS (SYS_LANDLOCK_EXECUTE | SYS_LANDLOCK_READ_FILE | SYS_LANDLOCK_READ_DIR)
#define WRITE_ACCESS                                                                                                   \
	(SYS_LANDLOCK_WRITE_FILE | SYS_LANDLOCK_REMOVE_DIR | SYS_LANDLOCK_REMOVE_FILE | SYS_LANDLOCK_MAKE_DIR |        \
	 SYS_LANDLOCK_MAKE_REG | SYS_LANDLOCK_MAKE_SOCK | SYS_LANDLOCK_MAKE_FIFO | SYS_LANDLOCK_MAKE_SYM |             \
	 SYS_LANDLOCK_REFER | SYS_LANDLOCK_TRUNCATE)
#define NEVER_GRANTED (SYS_LANDLOCK_MAKE_CHAR | SYS_LANDLOCK_MAKE_BLOCK)
#define OF_A_FILE (SYS_LANDLOCK_EXECUTE | SYS_LANDLOCK_READ_FILE | SYS_LANDLOCK_WRITE_FILE | SYS_LANDLOCK_TRUNCATE)

static int probe(const struct backend_context *ctx, struct airlock_error *err)
{
	long version = sys_landlock_version();
	if (version >= LANDLOCK_VERSION_NEEDED)
		return 0;
	if (version >= 0)
		base_error(err, AIRLOCK_ERR_UNAVAILABLE, "landlock", "version",
			   "this kernel's Landlock is version %ld; version %d is needed", version,
			   LANDLOCK_VERSION_NEEDED);
	else
		base_error(err, AIRLOCK_ERR_UNAVAILABLE, "landlock", "",
			   version == -EOPNOTSUPP ? "Landlock is switched off in this kernel"
						  : "this kernel has no Landlock");
	return base_hint(err, version == -EOPNOTSUPP ? "add landlock to the lsm= parameter of the kernel"
						     : "it needs Linux 5.19 or newer with CONFIG_SECURITY_LANDLOCK");
}

static int describe(const struct backend_context *ctx, const struct plan *plan, struct strs *ret,
		    struct airlock_error *err)
{
	strs_add_all(ret, &plan->argv);
	return ret->failed ? base_oom(err) : 0;
}

static struct backend_isolation isolation(const struct backend_context *ctx, const struct plan *plan)
{
	return (struct backend_isolation){
		.filesystem = AIRLOCK_GRADE_PARTIAL,
		.processes = AIRLOCK_GRADE_PARTIAL,
		.syscalls = AIRLOCK_GRADE_ENFORCED,
		.network_isolated = true,
		.network_blocked = !plan->network,
		.ruleset = true,
		.foreign_signals = sys_landlock_version() < VERSION_SCOPES,
		.no_unix_sockets = true,
		.no_internet_sockets = !plan->network,
		.no_ipc = true,
		.no_truncate = sys_landlock_version() < LANDLOCK_VERSION_TRUNCATE,
	};
}

/* Refuses everything that this kernel can refuse, except what rules grant. */
static int create_ruleset(const struct plan *plan, long version)
{
	struct sys_landlock_ruleset r = {.fs = READ_ACCESS | WRITE_ACCESS | NEVER_GRANTED};
	if (version < LANDLOCK_VERSION_TRUNCATE)
		r.fs &= ~(uint64_t)SYS_LANDLOCK_TRUNCATE;
	if (version >= VERSION_IOCTL)
		r.fs |= SYS_LANDLOCK_IOCTL_DEV;
	if (version >= VERSION_TCP && !plan->network)
		r.net = SYS_LANDLOCK_BIND_TCP | SYS_LANDLOCK_CONNECT_TCP;
	if (version >= VERSION_SCOPES)
		r.scoped = SYS_LANDLOCK_SCOPE_ABSTRACT | SYS_LANDLOCK_SCOPE_SIGNAL;
	size_t known = version >= VERSION_SCOPES ? sizeof r : version >= VERSION_TCP ? 16 : 8;
	return (int)sys_landlock_create(&r, known);
}

/* A path that is gone, or cannot be opened, is not granted. */
static int add_rule(int ruleset, const struct landlock_rule *rule, long version)
{
	_cleanup_close_ int fd = open(rule->path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0 || S_ISLNK(st.st_mode))
		return 0;
	uint64_t access = READ_ACCESS | (rule->write ? WRITE_ACCESS : 0);
	if (rule->device && version >= VERSION_IOCTL)
		access |= SYS_LANDLOCK_IOCTL_DEV;
	if (version < LANDLOCK_VERSION_TRUNCATE)
		access &= ~(uint64_t)SYS_LANDLOCK_TRUNCATE;
	if (!S_ISDIR(st.st_mode))
		access &= OF_A_FILE | SYS_LANDLOCK_IOCTL_DEV;
	struct sys_landlock_beneath beneath = {access, fd};
	long rc = sys_landlock_add(ruleset, &beneath);
	return rc == -EBADFD || rc == -EBADF ? 0 : (int)rc; /* a pipe or a kernel file that accepts no rules */
}

static int make_ruleset(const struct plan *plan, struct airlock_error *err)
{
	_cleanup_(landlock_rules_done) struct landlock_rules rules = {0};
	long version = sys_landlock_version();
	int rc = landlock_rules_make(plan, &rules, err);
	if (rc < 0)
		return rc;
	_cleanup_close_ int fd = create_ruleset(plan, version);
	if (fd < 0)
		return base_errno(err, AIRLOCK_ERR_INIT_FAILED, fd, "landlock_create_ruleset", "");
	for (size_t i = 0; i < rules.n; i++) {
		rc = add_rule(fd, &rules.v[i], version);
		if (rc < 0)
			return base_errno(err, AIRLOCK_ERR_INIT_FAILED, rc, "landlock_add_rule", rules.v[i].path);
	}
	return TAKE_FD(fd);
}

static int spawn(const struct backend_context *ctx, const struct plan *plan, const struct backend_fds *fds,
		 pid_t *ret_pid, struct airlock_error *err)
{
	static const char *const argv[] = {"airlock", NULL};
	_cleanup_close_ int ruleset = make_ruleset(plan, err);
	if (ruleset < 0)
		return ruleset;
	struct spawn_more more = SPAWN_MORE_NONE;
	more.args = ruleset;
	return spawn_process("/proc/self/fd/5", argv, fds, &more, plan->new_session, ret_pid, err);
}

const struct backend backend_landlock = {
	"landlock", probe, describe, isolation, spawn, .in_place = true, .copies = true, .tmp_in_playground = true};
