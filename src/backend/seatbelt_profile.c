/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Denies everything that no rule allows; of two rules the later one decides, so the mounts of a plan become rules in
 * the same order. Nothing is mounted: an empty directory becomes a denied one. */
#include "backend/seatbelt_profile.h"

#include "base/path.h"

#include <string.h>

static const char *const devices[] = {"/dev/null",    "/dev/zero", "/dev/random",
				      "/dev/urandom", "/dev/tty",  "/dev/dtracehelper"};

/* The services that libc and the frameworks of command-line tools use: users and groups, notifications, the log. */
static const char *const services[] = {
	"com.apple.system.opendirectoryd.libinfo", "com.apple.system.opendirectoryd.membership",
	"com.apple.system.notification_center", "com.apple.system.logger", "com.apple.logd"};

static const char *const network_services[] = {"com.apple.dnssd.service", "com.apple.SystemConfiguration.configd",
					       "com.apple.SystemConfiguration.DNSConfiguration",
					       "com.apple.trustd.agent", "com.apple.networkd"};

/* A path may contain anything; a profile must not. */
static void add_string(struct buf *out, const char *s)
{
	buf_addc(out, '"');
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			buf_printf(out, "\\x%02x", c);
		else
			buf_addc(out, (char)c);
	}
	buf_addc(out, '"');
}

static void add_rule(struct buf *out, const char *verdict, const char *operations, const char *filter, const char *path)
{
	buf_printf(out, "(%s %s (%s ", verdict, operations, filter);
	add_string(out, path);
	buf_adds(out, "))\n");
}

static void add_services(struct buf *out, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add_rule(out, "allow", "mach-lookup", "global-name", names[i]);
}

static void add_processes(const struct plan *plan, struct buf *out)
{
	buf_adds(out, "\n; processes: its own\n"
		      "(allow process-fork)\n"
		      "(allow process-exec)\n"
		      "(allow file-map-executable)\n"
		      "(allow signal (target same-sandbox))\n"
		      "(allow process-info* (target same-sandbox))\n"
		      "(allow sysctl-read)\n");
	if (plan->nested)
		buf_adds(out, "(allow process-info*)\n");
	buf_adds(out, "\n; mach and ipc: what libc needs, and nothing of others\n");
	add_services(out, services, AL_ARRAY_LEN(services));
	buf_adds(
		out,
		"(allow ipc-posix-sem)\n"
		"(allow ipc-posix-shm-read-data ipc-posix-shm-read-metadata (ipc-posix-name \"apple.shm.notification_center\"))\n");
}

static void add_devices(struct buf *out)
{
	for (size_t i = 0; i < AL_ARRAY_LEN(devices); i++)
		add_rule(out, "allow", "file-read* file-write* file-ioctl", "literal", devices[i]);
	add_rule(out, "allow", "file-read* file-write*", "subpath", "/dev/fd");
}

static void add_mount(const struct plan_mount *m, struct buf *out)
{
	switch (m->kind) {
	case PLAN_READ:
		/* A later rule revokes what an earlier one granted: a read-only path inside a writable one. */
		add_rule(out, "allow", "file-read*", "subpath", m->source);
		add_rule(out, "deny", "file-write*", "subpath", m->source);
		break;
	case PLAN_WRITE:
	case PLAN_LAYER:
		add_rule(out, "allow", "file-read* file-write*", "subpath", m->source);
		break;
	case PLAN_TMPFS:
	case PLAN_REBUILD:
	case PLAN_EMPTY_DIR:
		add_rule(out, "deny", "file-read* file-write*", "subpath", m->target);
		break;
	case PLAN_EMPTY_FILE:
		add_rule(out, "deny", "file-read* file-write*", "literal", m->target);
		break;
	case PLAN_DEV:
		add_rule(out, "deny", "file-read* file-write*", "subpath", m->target);
		add_devices(out);
		break;
	case PLAN_SYMLINK:
		add_rule(out, "allow", "file-read*", "literal", m->target);
		break;
	case PLAN_PROC: /* there is none */
	case PLAN_DIR:
	case PLAN_SEAL:
		break;
	}
}

static bool is_granted(const struct plan_mount *m)
{
	return m->kind == PLAN_READ || m->kind == PLAN_WRITE || m->kind == PLAN_LAYER;
}

/* The directories above a granted path must exist, or realpath(3) fails in it: grants each directory above, and
 * nothing in it. */
static void add_ancestors(const struct plan *plan, struct buf *out)
{
	_cleanup_strs_ struct strs seen = STRS_INIT;
	for (size_t i = 0; i < plan->n_mounts; i++) {
		if (!is_granted(&plan->mounts[i]))
			continue;
		for (char *dir = path_dirname(plan->mounts[i].source); dir;) {
			char *above = strcmp(dir, "/") == 0 ? NULL : path_dirname(dir);
			if (!strs_has(&seen, dir)) {
				strs_add(&seen, dir);
				add_rule(out, "allow", "file-read-metadata", "literal", dir);
			}
			free(dir);
			dir = above;
		}
	}
	out->failed |= seen.failed;
}

static void add_network(const struct plan *plan, struct buf *out)
{
	buf_adds(out, plan->network ? "\n; network: granted\n" : "\n; network: none\n");
	if (plan->network) {
		buf_adds(out, "(allow network*)\n(allow system-socket)\n");
		add_services(out, network_services, AL_ARRAY_LEN(network_services));
		return;
	}
	buf_adds(out, "(deny network*)\n");
	for (size_t i = 0; plan->unix_sockets && i < plan->n_mounts; i++)
		if (plan->mounts[i].kind == PLAN_WRITE || plan->mounts[i].kind == PLAN_LAYER)
			add_rule(out, "allow", "network-bind network-outbound", "subpath", plan->mounts[i].source);
}

void seatbelt_profile(const struct plan *plan, struct buf *out)
{
	buf_printf(out, "(version 1)\n; profile %s\n(deny default)\n", plan->profile);
	add_processes(plan, out);
	buf_adds(out, "\n; files: of two rules the later decides\n");
	for (size_t i = 0; i < plan->n_mounts; i++)
		add_mount(&plan->mounts[i], out);
	for (size_t i = 0; i < plan->n_left_out; i++)
		add_rule(out, "deny", "file-read* file-write*", "subpath", plan->left_out[i].path);
	buf_adds(out, "\n; the way there\n");
	add_ancestors(plan, out);
	add_network(plan, out);
}
