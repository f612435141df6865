/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From a failure to its cause, and from the cause to a message and a hint. */
#include "backend/bwrap_probe_parts.h"

#include <stdio.h>
#include <string.h>

static const struct bwrap_words words[BWRAP_CAUSES] = {
	[BWRAP_FINE] = {"", ""},
	[BWRAP_NOT_INSTALLED] = {"it is not installed",
				 "install it: `apt install bubblewrap` (Debian, Ubuntu), `dnf install bubblewrap` "
				 "(Fedora), `pacman -S bubblewrap` (Arch), `zypper install bubblewrap` (openSUSE)"},
	[BWRAP_UNTRUSTED] = {"the only bwrap found cannot be trusted",
			     "install it for the whole system: `apt install bubblewrap`"},
	[BWRAP_NOT_RUNNABLE] = {"the program cannot be executed",
				"install it again: `apt install --reinstall bubblewrap`"},
	[BWRAP_NOT_BWRAP] = {"the program does not print a version as bubblewrap does",
			     "install it again: `apt install --reinstall bubblewrap`"},
	[BWRAP_TOO_OLD] = {"it is older than version 0.5", "install bubblewrap 0.5 or newer"},
	[BWRAP_SLOW] = {"it did not finish within 5 seconds", "look for a hanging mount (`df`), then try again"},
	[BWRAP_SETUID] = {"the program has privileges it does not expect (setuid or file capabilities)",
			  "install it again, or as root: `chmod u-s` and `setcap -r` on the program"},
	[BWRAP_FLATPAK] = {"a Flatpak application cannot make another sandbox", "run airlock outside of the Flatpak"},
	[BWRAP_APPARMOR] =
		{"AppArmor forbids user namespaces for programs without their own profile "
		 "(kernel.apparmor_restrict_unprivileged_userns=1, as on Ubuntu)",
		 "give bwrap a profile, as root: `printf 'abi <abi/4.0>,\\ninclude <tunables/global>\\nprofile bwrap "
		 "/usr/bin/bwrap flags=(unconfined) { userns, }\\n' >/etc/apparmor.d/bwrap && apparmor_parser -r "
		 "/etc/apparmor.d/bwrap`; or, for every program: `sysctl -w "
		 "kernel.apparmor_restrict_unprivileged_userns=0`"},
	[BWRAP_CLONE_SYSCTL] = {"the kernel is configured to refuse user namespaces to ordinary users "
				"(kernel.unprivileged_userns_clone=0)",
				"as root: `sysctl -w kernel.unprivileged_userns_clone=1`, and the same line in "
				"/etc/sysctl.d/ to keep it"},
	[BWRAP_MAX_ZERO] = {"the kernel is configured to allow no user namespaces (user.max_user_namespaces=0)",
			    "as root: `sysctl -w user.max_user_namespaces=15000`, and the same line in /etc/sysctl.d/ "
			    "to keep it"},
	[BWRAP_MAX_REACHED] =
		{"the limit of user namespaces is reached, or they are nested too deep (user.max_user_namespaces)",
		 "stop the programs that use them, or as root raise `sysctl user.max_user_namespaces`; if this is "
		 "another sandbox, run airlock outside of it"},
	[BWRAP_NOT_IN_KERNEL] = {"the kernel has no user namespaces", "use a kernel built with CONFIG_USER_NS"},
	[BWRAP_CHROOT] = {"the kernel refuses user namespaces inside a chroot",
			  "enter the directory with a container tool instead of chroot, for example `systemd-nspawn "
			  "-D DIR`"},
	[BWRAP_CONTAINER] =
		{"the container forbids namespaces (its seccomp filter, or no CAP_SYS_ADMIN)",
		 "start the container with fewer restrictions: `docker run --security-opt seccomp=unconfined "
		 "--security-opt apparmor=unconfined --security-opt systempaths=unconfined`, or `podman run "
		 "--security-opt seccomp=unconfined --security-opt unmask=ALL`"},
	[BWRAP_SECCOMP] = {"a system call filter on this process forbids namespaces",
			   "run airlock outside of the sandbox or service that set it (systemd: RestrictNamespaces=, "
			   "SystemCallFilter=)"},
	[BWRAP_PROC] = {"a fresh /proc cannot be mounted, because the container's own is partly covered",
			"start the container with `--security-opt systempaths=unconfined` (docker) or `--security-opt "
			"unmask=ALL` (podman); in Kubernetes set procMount: Unmasked"},
	[BWRAP_LOOPBACK] = {"the loopback of a new network namespace cannot be set up",
			    "give the container the capability NET_ADMIN, or run airlock outside of it"},
	[BWRAP_OTHER] = {"it could not make a sandbox",
			 "see what it says by itself: bwrap --unshare-all --ro-bind / / true"},
};

const struct bwrap_words *bwrap_cause_words(enum bwrap_cause cause)
{
	return &words[cause < BWRAP_CAUSES ? cause : BWRAP_OTHER];
}

enum bwrap_cause bwrap_cause_of(enum sys_userns_obstacle obstacle)
{
	static const enum bwrap_cause causes[] = {
		[SYS_USERNS_FREE] = BWRAP_FINE,
		[SYS_USERNS_APPARMOR] = BWRAP_APPARMOR,
		[SYS_USERNS_CLONE_SYSCTL] = BWRAP_CLONE_SYSCTL,
		[SYS_USERNS_MAX_ZERO] = BWRAP_MAX_ZERO,
		[SYS_USERNS_MAX_REACHED] = BWRAP_MAX_REACHED,
		[SYS_USERNS_NOT_IN_KERNEL] = BWRAP_NOT_IN_KERNEL,
		[SYS_USERNS_CHROOT] = BWRAP_CHROOT,
		[SYS_USERNS_CONTAINER] = BWRAP_CONTAINER,
		[SYS_USERNS_SECCOMP] = BWRAP_SECCOMP,
		[SYS_USERNS_OTHER] = BWRAP_OTHER,
	};
	return causes[obstacle];
}

/* A marker file distinguishes it from other problems: nothing else would help there. */
static bool in_flatpak(void)
{
	return access("/.flatpak-info", F_OK) == 0;
}

/* Uses our own probes if the message says only that it was not permitted. */
static enum bwrap_cause diagnose_by_trying(void)
{
	struct sys_probe p;
	sys_probe_userns(&p);
	if (!p.works)
		return bwrap_cause_of(sys_userns_obstacle(&p));
	sys_probe_procfs(&p);
	if (!p.works)
		return BWRAP_PROC;
	sys_probe_netns(&p);
	return p.works ? BWRAP_OTHER : BWRAP_LOOPBACK;
}

enum bwrap_cause bwrap_diagnose(const char *complaint)
{
	if (in_flatpak())
		return BWRAP_FLATPAK;
	if (strstr(complaint, "Unexpected setuid") || strstr(complaint, "Unexpected capabilities"))
		return BWRAP_SETUID;
	if (strstr(complaint, "mount proc"))
		return BWRAP_PROC;
	enum bwrap_cause cause = diagnose_by_trying();
	/* It can fail although our own probe succeeds: in gVisor's namespaces the loopback is already up. */
	return cause == BWRAP_OTHER && strstr(complaint, "loopback") ? BWRAP_LOOPBACK : cause;
}

void bwrap_explain(enum bwrap_cause cause, const char *subject, const char *detail, struct airlock_error *ret)
{
	if (cause == BWRAP_NOT_INSTALLED && in_flatpak())
		cause = BWRAP_FLATPAK;
	const struct bwrap_words *w = bwrap_cause_words(cause);
	base_error_clear(ret);
	(void)base_error(ret, AIRLOCK_ERR_UNAVAILABLE, "bwrap", subject, "bubblewrap cannot be used: %s%s%s", w->cause,
			 *detail ? ": " : "", detail);
	(void)base_hint(ret, "%s", w->fix);
}
