/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who wanted a rule: a value, which airlock_origin_text puts into words. */
#ifndef AIRLOCK_ORIGIN_H
#define AIRLOCK_ORIGIN_H

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

enum airlock_origin_kind {
	AIRLOCK_ORIGIN_BUILTIN,	  /* name: the built-in profile, or NULL */
	AIRLOCK_ORIGIN_ALWAYS,	  /* every sandbox has it */
	AIRLOCK_ORIGIN_PROFILE,	  /* name: the profile, which shows it by no rule */
	AIRLOCK_ORIGIN_FILE,	  /* name: the configuration file; line */
	AIRLOCK_ORIGIN_CALLER,	  /* name: as airlock_settings_set was told ("--ro"), or the variable ("AIRLOCK_RO") */
	AIRLOCK_ORIGIN_SHARE_PID, /* the setting of that name */
	/* Roots. */
	AIRLOCK_ORIGIN_PROJECT,
	AIRLOCK_ORIGIN_LINK_ALLOWED, /* name: a symlink of the project that a person has allowed */
	AIRLOCK_ORIGIN_LINK_GRANTED, /* name: one that is allowed for this run */
	AIRLOCK_ORIGIN_WORKTREE,     /* the git directory of this worktree */
	AIRLOCK_ORIGIN_SUBMODULE,    /* the git directory of this submodule */
	AIRLOCK_ORIGIN_WORKSPACE,
	AIRLOCK_ORIGIN_PLAYGROUND,
	AIRLOCK_ORIGIN_CACHE,
	/* Always hidden; no rule can show it. */
	AIRLOCK_ORIGIN_OWN_STATE,
	AIRLOCK_ORIGIN_OWN_CONFIGURATION,
	AIRLOCK_ORIGIN_KERNEL_ADDRESSES,
	AIRLOCK_ORIGIN_SESSION_SOCKETS,
	AIRLOCK_ORIGIN_HOST_SOCKET,
	AIRLOCK_ORIGIN_OTHER_NAME, /* name: the hidden path of which it is another name */
	/* Made because other rules need it. */
	AIRLOCK_ORIGIN_RESOLVER, /* with the network names must resolve */
	AIRLOCK_ORIGIN_SOCKETS,	 /* its sockets and FIFOs must not lead to the host */
	AIRLOCK_ORIGIN_GATHERED, /* many of its entries are visible, the others are not */
	AIRLOCK_ORIGIN_ENTRY,	 /* of a directory that was rebuilt */
	AIRLOCK_ORIGIN_LEFT_OUT, /* name: the path that is left out of it */
	AIRLOCK_ORIGIN_PLACE,	 /* name: the path that needs a place there */
	/* A workspace's. */
	AIRLOCK_ORIGIN_SYSTEM,	     /* the system, over the workspace */
	AIRLOCK_ORIGIN_MACHINE,	     /* what programs need to know of the machine */
	AIRLOCK_ORIGIN_MACHINE_ONLY, /* nothing else */
	AIRLOCK_ORIGIN_MADE,	     /* a file that was made for the workspace */
	AIRLOCK_ORIGIN_SESSION_TMP,  /* the session has a /tmp of its own */
	/* Rules that the recipe of a whole agent brings; name: the agent. */
	AIRLOCK_ORIGIN_AGENT_PRIVATE,	  /* what it writes there stays with the session */
	AIRLOCK_ORIGIN_AGENT_STATE,	  /* its own: it writes there in the home itself */
	AIRLOCK_ORIGIN_AGENT_CREDENTIALS, /* it may see them */
	AIRLOCK_ORIGIN_AGENT_PROGRAM,	  /* its program must be visible */
	AIRLOCK_ORIGIN_AGENT_OTHER,	  /* it belongs to that agent, and this is another command */
};

struct airlock_origin {
	enum airlock_origin_kind kind;
	const char *name; /* bytes; NULL where there is none */
	int line;	  /* of AIRLOCK_ORIGIN_FILE */
};

/* "built-in: moderate", "/etc/airlock/config.toml:4"; safe to print. The caller's: airlock_free. NULL: out of memory. */
char *airlock_origin_text(const struct airlock_origin *origin);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
