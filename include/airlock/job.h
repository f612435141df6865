/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a job would do, as values.
 *
 *   const struct airlock_plan *plan = airlock_job_plan(job);
 *
 *   printf("%s, %s\n", plan->backend, plan->profile);
 *   for (size_t i = 0; i < plan->n_mounts; i++) {
 *           const struct airlock_mount *m = &plan->mounts[i];
 *           printf("%s %s\n", airlock_mount_kind_name(m->kind), m->target);
 *   }
 *
 * Everything handed out lives as long as the job. Lists of texts end with NULL.
 */
#ifndef AIRLOCK_JOB_H
#define AIRLOCK_JOB_H

#include <stddef.h>
#include <stdint.h>

#include <airlock/project.h>
#include <airlock/result.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* How one path of the sandbox is made. Backends without mounts grant the same access in place. */
enum airlock_mount_kind {
	AIRLOCK_MOUNT_READ,	 /* source, read-only */
	AIRLOCK_MOUNT_WRITE,	 /* source, writable */
	AIRLOCK_MOUNT_LAYER,	 /* source, writable; what is written stays in a layer above it */
	AIRLOCK_MOUNT_TMPFS,	 /* empty and writable, in memory, `size` bytes at most */
	AIRLOCK_MOUNT_REBUILD,	 /* empty; its entries follow; sealed at the end */
	AIRLOCK_MOUNT_HIDE_DIR,	 /* an empty directory over one that is hidden */
	AIRLOCK_MOUNT_HIDE_FILE, /* an empty file over one that is hidden */
	AIRLOCK_MOUNT_DEV,	 /* a minimal /dev */
	AIRLOCK_MOUNT_PROC,	 /* /proc of the sandbox's own processes */
	AIRLOCK_MOUNT_SYMLINK,	 /* source is the text of the link */
	AIRLOCK_MOUNT_DIR,	 /* a directory where nothing is mounted */
	AIRLOCK_MOUNT_SEAL,	 /* no more changes: read-only from here on */
	AIRLOCK_MOUNT_LEFT_OUT,	 /* hidden by not being among the entries of a rebuilt directory */
};

struct airlock_mount {
	enum airlock_mount_kind kind;
	const char *source; /* bytes; path of the host, text of a link, or NULL */
	const char *target; /* bytes; path inside */
	struct airlock_origin because;
	int64_t size;	/* of AIRLOCK_MOUNT_TMPFS */
	int files_only; /* its sockets and FIFOs lead nowhere */
};
const char *airlock_mount_kind_name(enum airlock_mount_kind kind); /* "read", "hide-dir" */

/* Why a variable of the caller's is not passed on. */
enum airlock_removed {
	AIRLOCK_REMOVED_INSIDE,	    /* its value would be wrong inside */
	AIRLOCK_REMOVED_NAME,	    /* because of its name */
	AIRLOCK_REMOVED_VALUE,	    /* its value holds a password or key */
	AIRLOCK_REMOVED_NOT_LISTED, /* the profile passes a short list only */
	AIRLOCK_N_REMOVED,
};

enum {
	AIRLOCK_NAMESPACE_USER = 1 << 0,
	AIRLOCK_NAMESPACE_MOUNT = 1 << 1,
	AIRLOCK_NAMESPACE_PID = 1 << 2,
	AIRLOCK_NAMESPACE_NET = 1 << 3,
	AIRLOCK_NAMESPACE_IPC = 1 << 4,
	AIRLOCK_NAMESPACE_UTS = 1 << 5,
	AIRLOCK_NAMESPACE_CGROUP = 1 << 6,
};
const char *airlock_namespace_name(unsigned bit); /* "user"; NULL: no such */

/* A symlink of the project that leads out, and what is behind it for this run. */
enum airlock_link_access { AIRLOCK_LINK_WRITABLE, AIRLOCK_LINK_READ_ONLY, AIRLOCK_LINK_HIDDEN };
struct airlock_job_link {
	const char *path, *target; /* bytes; as struct airlock_link has them */
	enum airlock_link_state state;
	enum airlock_link_access access;
	int is_granted;	     /* nobody has answered it, and it is writable for this run */
	const char *because; /* why its target never becomes writable, in words and safe to print; or "" */
};

enum airlock_network_mode {
	AIRLOCK_NETWORK_MODE_OFF,
	AIRLOCK_NETWORK_MODE_HOSTS, /* what rules and answers allow */
	AIRLOCK_NETWORK_MODE_OPEN,  /* every public host, but for what is denied */
	AIRLOCK_NETWORK_MODE_HOST,  /* the machine's own network */
};
const char *airlock_network_mode_name(enum airlock_network_mode mode); /* "hosts" */

/* A rule about hosts. */
enum airlock_host_rule_kind { AIRLOCK_HOST_ALLOW, AIRLOCK_HOST_DENY, AIRLOCK_HOST_ALLOW_PRIVATE };
const char *airlock_host_rule_name(enum airlock_host_rule_kind kind); /* "allow_private" */
struct airlock_host_rule {
	enum airlock_host_rule_kind kind;
	const char *host; /* HOST[:PORT]; safe to print */
	struct airlock_origin because;
};

struct airlock_plan {
	const char *command; /* as one shell line; bytes */
	const char *backend, *profile;
	struct airlock_origin backend_origin;
	int is_sandboxed; /* 0: nothing below is enforced but the environment and the timeout */
	int is_in_place;  /* nothing is mounted */
	enum airlock_capture capture;
	const char *capture_because;	    /* as struct airlock_isolation has it */
	const char *working_dir;	    /* bytes */
	const char *const *roots;	    /* bytes; what may be written to */
	const struct airlock_mount *mounts; /* in the order in which they are made; what is left out at the end */
	size_t n_mounts;
	const struct airlock_job_link *links;
	size_t n_links;
	int network, nested, unix_sockets;		  /* allowed? network: the machine's own */
	unsigned namespaces;				  /* AIRLOCK_NAMESPACE_… */
	const char *const *env_kept, *const *env_removed; /* names, sorted */
	const char *const *env_removed_for[AIRLOCK_N_REMOVED];
	int64_t timeout_ms, memory, pids, file_size; /* -1: no limit */
	int explains_denials;
	const struct airlock_note *notes; /* what was left out */
	size_t n_notes;
	const char *const *argv;     /* the command line a person could type; empty when the backend has none */
	const char *sandbox_profile; /* the text that the backend is given, or NULL */
	const struct airlock_question *question; /* what needs a person's yes, also if it is answered; or NULL */
	int64_t remembered_id;			 /* of the remembered answer to it, or 0 */
	enum airlock_answer remembered;
	enum airlock_network_mode network_mode;
	const struct airlock_host_rule *host_rules; /* in the order in which they are tried */
	size_t n_host_rules;
	int asks_hosts;			   /* what no rule decides is asked while the connection waits */
	const char *session;		   /* the session that it is a command of; NULL: none */
	int64_t session_disk, session_tmp; /* what that may write, and into its /tmp, in bytes; -1: no limit */
};

/* NULL: out of memory. */
const struct airlock_plan *airlock_job_plan(struct airlock_job *job);
/* The JSON of `airlock explain --json`. Ends with a newline; "" when memory is short. */
const char *airlock_job_json(struct airlock_job *job);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
