/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the supervisor and the sandbox's first process say to each other.
 *
 * The first process (src/child/init.c) finds three descriptors beside 0, 1, 2:
 *   CHILD_FD_CONTROL  a SOCK_SEQPACKET socket to the supervisor
 *   CHILD_FD_JOB      a sealed memory file: struct child_job and the strings behind it
 *   CHILD_FD_SELF     its own program, closed at once
 * Its argv and environment are empty, because /proc/1/cmdline and environ can be read from inside.
 *
 *   first process                      supervisor
 *   HELLO ───────────────────────────► learns its pid from the socket's credentials, opens a pidfd,
 *                                      puts it in its cgroup
 *         ◄─────────────────────────── GO (with the record of the run, which it keeps open)
 *   TTY (with the pty's master) ─────►   only with CHILD_PTY
 *   OBSERVER (with what it sees) ────►   only with CHILD_OBSERVE; with CHILD_REFUSED when there is something
 *   FAILED ──────────────────────────►   only when it cannot be started: who waits is not woken for good news
 *         ◄─────────────────────────── SIGNAL …
 *   LIMIT ───────────────────────────►   a watched limit was passed
 *   STOPPED ─────────────────────────►   only with CHILD_PTY: the command was stopped (Ctrl-Z)
 *   EXITED ──────────────────────────►
 *
 *   EXPOSED ─────────────────────────►   before HELLO, only when a directory has no screen that should have one
 *         ◄─────────────────────────── SOCKETS
 *   SOCKETS (with sockets) ──────────►   only with CHILD_PUBLISH: also once without being asked
 *   LISTENERS (with sockets) ────────►   only with a network gate: before HELLO, and when a port is needed
 *   CONNECT ─────────────────────────►   only with a network gate: a process waits in connect(2)
 *         ◄─────────────────────────── CONNECT, with the same id and address
 *         ◄─────────────────────────── KEEP (with the pipes and files of the output), with CHILD_SHARED and after EXITED
 *
 * The end of the socket means that the supervisor is gone: the first process dies, and everything with it. At KEEP it leaves the
 * output and the calls of what goes on to a child of its own, the keeper, and ends (keep.h).
 *
 * A prestarted sandbox (backend/backend_prestart.h, native only) has no command yet, and hears of it before HELLO. With
 * CHILD_PLAN_WAITS_FOR_COMMAND it has the plan, and its own mounts are watched:
 *
 *   READY (with its mount table) ────►   every mount but the late ones is made
 *         ◄─────────────────────────── TAKE (with stdin, stdout, stderr, the job, the plan with its layers)
 *
 * With CHILD_PLAN_WAITS_FOR_PLAN it has what nearly every plan begins with. When something fails before TAKE it ends without
 * a word, and nothing is lost: the supervisor starts another.
 *
 *         ◄─────────────────────────── TELL (with the plan, without its layers), where there is time before TAKE
 *         ◄─────────────────────────── TAKE
 *
 * Where the process that was spawned is the first process itself, GO may come before HELLO is said.
 */
#pragma once

#include <stdint.h>

struct sock_filter;

#define CHILD_FD_CONTROL 3
#define CHILD_FD_JOB 4
#define CHILD_FD_SELF 5
#define CHILD_FD_ARGS 6	 /* the backend's arguments, or a Landlock ruleset (CHILD_RULESET) */
#define CHILD_FD_STAGE 7 /* struct child_stage_job, only for the stage */
#define CHILD_FD_PLAN 7	 /* struct child_plan, only for the native backend */
#define CHILD_FD_USER_NS                                                                                               \
	8 /* a user namespace, for a stage with CHILD_STAGE_ENTER_USER, or a view with CHILD_PLAN_JOINS_USER */
#define CHILD_FD_HOLDER 8 /* pidfd of a session's holder, for a stage with CHILD_STAGE_JOIN */
#define CHILD_FD_HOLDER_USER                                                                                           \
	9 /* its user namespace and its pid namespace, which that stage leaves to the backend to enter */
#define CHILD_FD_HOLDER_PIDS 10
#define CHILD_FD_MOUNTS 6 /* CHILD_PLAN_WAITS_FOR_COMMAND: the mount table of the caller */

/* Texts and arrays of a job. The supervisor points to them; program.c writes them behind the job and leaves their offsets from
 * its start, 0 for none, and that is what the child finds. So each thing has one struct on both sides. */
union child_text {
	const char *text;
	uint64_t at;
};
union child_texts {
	const char *const *v;
	uint64_t at; /* of an array of 64-bit offsets */
};

#define CHILD_JOB_MAGIC 0x6b6c7261u
#define CHILD_NONE (-1)
#define CHILD_SMALL_TMPFS (INT64_C(1) << 20) /* what only hides something, or holds mount points */

enum {
	CHILD_PTY = 1 << 0,	    /* give the command a terminal made in its own devpts */
	CHILD_NEW_SESSION = 1 << 1, /* setsid before exec */
	CHILD_RULESET = 1 << 3,	    /* CHILD_FD_ARGS is a Landlock ruleset; and no capabilities */
	CHILD_RENAMES = 1 << 2,	    /* roots are overlays: rename directories for the command (rename.h) */
	CHILD_OBSERVE = 1 << 4,	    /* note what it tries where the plan may refuse it (observe.h) */
	CHILD_OFFLINE = 1 << 5,	    /* … and which addresses and abstract names: all of them are out of reach */
	CHILD_NESTED = 1 << 6,	    /* it may have mount namespaces of its own */
	CHILD_NULL_INPUT =
		1 << 7,		 /* its standard input is /dev/null, opened inside, and not the descriptor passed in */
	CHILD_REFUSED = 1 << 9,	 /* note which calls the filter refuses (refused.h) */
	CHILD_SIGNALS = 1 << 10, /* send its signals for it, to processes inside only (signals.h) */
	CHILD_GATE =
		1 << 11, /* there is a network gate: open the ports that the command connects to (gate_sockets.h) */
	CHILD_PUBLISH = 1 << 12, /* the supervisor wants sockets that are made inside (CHILD_SOCKETS) */
	CHILD_SHARED =
		1 << 13, /* a command of a session: others share its pid namespace, and what it leaves may go on */
	CHILD_SCOPED = 1 << 8, /* the network is the host's: no abstract sockets but those of its own (Landlock) */
};

#define CHILD_MAX_TMPFS 32
#define CHILD_MAX_PORTS 32

struct child_job {
	uint32_t magic, size, flags;
	uint16_t filter_len, noted; /* noted: the instruction that refuses calls which CHILD_REFUSED notes */
	union child_text cwd;
	union child_texts argv, envp; /* ended by NULL, or 0 */
	uint64_t path;		      /* the command's PATH: found in envp when the job is written; 0: none */
	union {
		const struct sock_filter *v;
		uint64_t at;
	} filter;
	int64_t max_data, max_processes, max_file_size; /* rlimits set inside; CHILD_NONE: leave */
	int64_t watch_memory, watch_processes;		/* totals to watch by looking; CHILD_NONE: do not */
	uint16_t rows, columns;				/* of the terminal; 0: leave */
	uint32_t n_regions, n_tmpfs, n_ports;
	union {
		const struct child_region *v;
		uint64_t at;
	} regions;
	union child_texts tmpfs;	 /* the empty file systems the command may fill */
	uint16_t ports[CHILD_MAX_PORTS]; /* CHILD_GATE: what rules name; only for kernels without notifications */
};

/* What may be refused below a path; of several the longest counts. For CHILD_OBSERVE: says what to tell, decides nothing. */
enum {
	CHILD_REFUSES_READ = 1 << 0,
	CHILD_REFUSES_WRITE = 1 << 1,
	CHILD_REFUSES_MISSING = 1 << 2, /* what is not there may be there on the host */
};
struct child_region {
	union child_text path;
	uint32_t refuses, reserved;
};

enum child_message_type {
	CHILD_HELLO = 1,
	CHILD_GO,
	CHILD_TTY,
	CHILD_OBSERVER, /* b = errno, or 0 and the memory file of seen.h */
	CHILD_STARTED,	/* between the first process and the command's, with what is to be answered (notify.h) */
	CHILD_FAILED,	/* a = enum child_stage, b = errno */
	CHILD_SIGNAL,	/* a = signal, b = enum child_scope */
	CHILD_LIMIT,	/* a = enum child_limit */
	CHILD_STOPPED,	/* a = signal */
	CHILD_EXITED,	/* a = wait status; b = enum child_left; cpu_us, max_rss_kb */
	CHILD_READY,	/* with the table of its mounts; with CHILD_PLAN_FOR_OTHERS their namespace, too */
	CHILD_TELL,
	CHILD_TAKE,
	CHILD_LISTENERS, /* sockets of the network gate */
	CHILD_CONNECT,	 /* id, address, op = 4 or 6, b = port; back: a = enum child_opening */
	CHILD_SOCKETS,	 /* from the supervisor: make some; to it: pairs of IPv4 and IPv6, not connected */
	CHILD_KEEP, /* a = bit n for each enum child_kept that comes with it; id = child_name_hash of the runtime directory */
	CHILD_EXPOSED, /* a, subject as CHILD_FAILED, b = errno: no screen could be made, sockets of the host can be reached */
};

/* The descriptors that come with CHILD_TAKE, in this order. */
enum child_taken {
	CHILD_TAKEN_STDIN,
	CHILD_TAKEN_STDOUT,
	CHILD_TAKEN_STDERR,
	CHILD_TAKEN_JOB,
	CHILD_TAKEN_PLAN,
	CHILD_TAKEN_FDS
};

/* The processes that are left when the command has ended. */
enum child_left {
	CHILD_LEFT_UNKNOWN, /* whatever there is ends with the first process */
	CHILD_LEFT_NOBODY,  /* no other process in the pid namespace */
	CHILD_LEFT_OTHERS,  /* CHILD_SHARED: none that the command has left, but other commands' */
	CHILD_LEFT_OWN,	    /* CHILD_SHARED: some that the command has left; the first process waits for CHILD_KEEP */
};

/* The descriptors that come with CHILD_KEEP: ends of pipes to read, files to write to, and locks to hold until the end. */
enum child_kept {
	CHILD_KEPT_STDOUT,
	CHILD_KEPT_STDERR,
	CHILD_KEPT_STDOUT_FILE,
	CHILD_KEPT_STDERR_FILE,
	CHILD_KEPT_LOCK,
	CHILD_KEPT_LOCK_2,
	CHILD_KEPT_LOGIN, /* tells what is removed beside the user's runtime directory, which goes with the last login (CHILD_KEEP's id) */
	CHILD_KEPT_KEEPERS, /* a file in which each keeper locks one byte: so the host knows which processes are keepers */
	CHILD_KEPT_FDS
};

/* A number for a file name, so that the name can be recognized later. */
static inline uint64_t child_name_hash(const char *name)
{
	uint64_t h = 0xcbf29ce484222325u;
	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 0x100000001b3u;
	return h;
}

enum child_stage {
	CHILD_STAGE_SETUP = 1,
	CHILD_STAGE_TTY,
	CHILD_STAGE_CHDIR,
	CHILD_STAGE_EXEC,
	CHILD_STAGE_LAYER, /* the stage before the backend */
	CHILD_STAGE_FILTER,
	CHILD_STAGE_PLAN, /* the native backend's view */
	CHILD_STAGE_INPUT,
};
enum child_scope { CHILD_SCOPE_COMMAND, CHILD_SCOPE_ALL };
enum child_limit { CHILD_LIMIT_MEMORY = 1, CHILD_LIMIT_PROCESSES };
enum child_opening { CHILD_OPEN, CHILD_OPEN_ONCE /* ask again next time */, CHILD_REFUSE };

struct child_message {
	uint32_t type;
	int32_t a, b;
	uint32_t op;	  /* enum child_op, with CHILD_STAGE_LAYER and CHILD_STAGE_PLAN */
	uint32_t subject; /* number of the layer or of the plan's mount it happened to */
	uint32_t full;	  /* CHILD_EXITED of a command that failed: bit n for file system n of the job that was full */
	int64_t cpu_us, max_rss_kb;
	uint64_t id;	     /* CHILD_CONNECT: of the call that waits */
	uint8_t address[16]; /* in the order of the network */
};

/* ── The stage ──
 *
 * The same program with the argument "stage" is the stage before the backend: it makes a user and a mount namespace (root: a
 * mount namespace), mounts an overlay over each root, rebuilds directories and hides things in place, and executes the backend in
 * them. The backend then finds the layered and rebuilt directories where the live ones were. Rebuilding is done here and
 * not by the backend because bwrap takes ten times as long for each mount. It reports only failures: CHILD_FAILED with
 * CHILD_STAGE_LAYER.
 */

#define CHILD_MAX_LAYERS 64
#define CHILD_MAX_LOWERS 48 /* of one layer; raw_overlay.h says how many the kernel takes */
#define CHILD_MAX_KEPT 256
#define CHILD_ASIDE_AT "/dev/pts" /* where the stage has what the backend needs and nobody shall see */
#define CHILD_ASIDE CHILD_ASIDE_AT "/aside"
#define CHILD_ASIDE_2 CHILD_ASIDE_AT "/aside2"
#define CHILD_MAX_ASIDE 2 /* the playground and the /tmp of a session */

enum {
	CHILD_STAGE_USER = 1 << 0,	 /* make a user namespace and map uid and gid to themselves */
	CHILD_STAGE_ENTER_USER = 1 << 1, /* enter that of CHILD_FD_USER_NS instead */
	CHILD_STAGE_GATE = 1 << 2,	 /* make a network namespace with a gate (gate_sockets.h) */
	CHILD_STAGE_JOIN = 1 << 3,	 /* enter the ipc and uts namespaces of CHILD_FD_HOLDER; with CHILD_STAGE_USER:
					  * and, instead of making one, the user namespace around that of the holder */
	CHILD_STAGE_JOIN_NETWORK = 1 << 4, /* … and its network: a gate is made there */
};

/* A root whose writes are captured: an overlay is mounted over it. Absolute paths. work "": upper is a whole copy of the root
 * and is mounted itself. lowers: layers of earlier commands that lie between the root and upper, the topmost first. */
struct child_layer {
	union child_text root, upper, work;
	union child_texts lowers;
	uint64_t n_lowers;
};

/* A directory of the host rebuilt in place: an empty file system over it, the entries bound back in. */
enum child_entry_kind {
	CHILD_ENTRY_BIND,    /* what was there before, with everything mounted below it; left out when it is gone */
	CHILD_ENTRY_SYMLINK, /* text is what it says */
	CHILD_ENTRY_DIR,     /* an empty directory, for the backend to mount on */
	CHILD_ENTRY_FILE,    /* the same, an empty file */
	CHILD_ENTRY_MOUNT,   /* the directory that text names, opened before anything is hidden */
	CHILD_ENTRY_GONE,    /* the stage's own: left out */
};

struct child_entry {
	union child_text name, text; /* text: of a symlink, or where a mount comes from */
	uint32_t kind, fd;	     /* fd: the stage's own, of CHILD_ENTRY_MOUNT */
};

struct child_rebuild {
	union child_text dir;
	union {
		const struct child_entry *v;
		uint64_t at;
	} entries;
	uint64_t n_entries;
};

/* Something hidden in place: a directory by an empty one, a file by `empty`. */
struct child_cover {
	union child_text path;
	uint64_t is_dir;
};

/* A place in a directory that earlier commands could write to, and that the backend mounts on by name: dir is that directory, rest
 * leads from there to the place. */
struct child_pin {
	union child_text dir, rest;
};

struct child_stage_job {
	uint32_t magic, size, flags, uid, gid;
	uint32_t n_layers, n_screens, n_kept, n_rebuilds, n_covers;
	union {
		const struct child_layer *v;
		uint64_t at;
	} layers;
	/* Directories over which a screen is mounted in place; and what lies below one of these or in a layer, and must be the
	 * host's own: it is put back over them. asides are bound to CHILD_ASIDE and CHILD_ASIDE_2. */
	union child_texts screens, kept;
	union child_texts asides;
	uint64_t n_asides;
	union {
		const struct child_rebuild *v;
		uint64_t at;
	} rebuilds;
	union {
		const struct child_cover *v;
		uint64_t at;
	} covers;
	union {
		const struct child_pin *v;
		uint64_t at;
	} pins;
	uint64_t n_pins;
	union child_text empty; /* path of the empty file; none: no file is covered */
	union child_text file;	/* the backend's program */
	union child_texts argv;
};

/* ── The native backend ──
 *
 * The same program with the argument "view", started in namespaces of its own with every capability in them, carries out the
 * plan (view.c), gives the capabilities up and becomes the first process. It reports failures as CHILD_STAGE_PLAN.
 */

enum {
	CHILD_PLAN_USER_LAST =
		1 << 0, /* the caller's privileges are needed for the mounts: the user namespace comes after */
	CHILD_PLAN_LOOPBACK = 1 << 1,	       /* there is a network namespace: bring its loopback up */
	CHILD_PLAN_NO_NESTED = 1 << 2,	       /* no user namespaces inside */
	CHILD_PLAN_OLD_PROC = 1 << 3,	       /* a new proc cannot be mounted here: show the one there is */
	CHILD_PLAN_WAITS_FOR_COMMAND = 1 << 4, /* before the late mounts (child_prestart.h) */
	CHILD_PLAN_WAITS_FOR_PLAN = 1 << 5,    /* this is only how the real plan will begin */
	CHILD_PLAN_JOINS_USER = 1 << 7,	       /* with CHILD_PLAN_USER_LAST: enter that of CHILD_FD_USER_NS instead */
	CHILD_PLAN_GATE = 1 << 6,	       /* with CHILD_PLAN_LOOPBACK: there is a network gate (gate_sockets.h) */
	CHILD_PLAN_FOR_OTHERS = 1 << 8,	       /* make the mounts, hand them over with READY, and end */
	CHILD_PLAN_IS_THERE = 1 << 9,	       /* somebody made all mounts, and this is their namespace */
};

/* As enum plan_mount_kind says; what hides or rebuilds a directory is a small tmpfs. */
enum child_mount_kind {
	CHILD_MOUNT_READ,
	CHILD_MOUNT_WRITE,
	CHILD_MOUNT_LAYER,
	CHILD_MOUNT_TMPFS,
	CHILD_MOUNT_DEV,
	CHILD_MOUNT_PROC,
	CHILD_MOUNT_SYMLINK,
	CHILD_MOUNT_DIR,
	CHILD_MOUNT_SEAL,
};

/* Which file it was when the plan was made; inode 0: not known. */
struct child_identity {
	uint64_t inode, born;
	uint32_t major, minor;
};

/* When a mount is made. Without CHILD_PLAN_WAITS_… all are made at once. */
enum child_when {
	CHILD_FIRST,
	CHILD_WITH_PLAN,   /* at CHILD_TELL, or at CHILD_TAKE where there was none */
	CHILD_WITH_LAYERS, /* at CHILD_TAKE: a layer, or what lies in one */
};

enum child_optional {
	CHILD_MAY_BE_GONE = 1, /* left out when it is not there any more */
	CHILD_SHOWN_ABOVE,     /* a mount above shows it: left out when it is gone or has no screen */
};

struct child_mount {
	union child_text target;
	union child_text source;      /* host path, or the text of the link */
	union child_text upper, work; /* LAYER */
	union child_texts lowers;     /* LAYER, as of struct child_layer */
	uint64_t n_lowers;
	union child_text screen; /* READ: an overlay of this directory, at or above source, is shown */
	int64_t size;		 /* TMPFS: bytes */
	uint32_t kind;		 /* enum child_mount_kind */
	uint32_t mode;		 /* TMPFS */
	uint32_t optional;	 /* READ: enum child_optional */
	uint32_t inside; /* READ, WRITE: the source lies in a layer and is found inside, where the layer is mounted */
	uint32_t late;	 /* enum child_when */
	uint32_t reserved;
	/* With CHILD_PLAN_WAITS_FOR_COMMAND, of those that are not late: what is bound, and what it is mounted over. */
	struct child_identity source_is, place_is;
};

#define CHILD_MAX_CPUS 1024

struct child_plan {
	uint32_t magic, size, flags;
	uint32_t uid, gid;
	uint32_t n_mounts;
	int64_t idle_ms; /* of a holder (hold.h) */
	/* The processors that the command gets, in bytes of cpus; 0: those that the child has. A child that makes its mounts while its
	 * parent works is kept off the parent's processor until then (launch.h). */
	uint32_t cpus_size;
	uint64_t cpus[CHILD_MAX_CPUS / 64];
	/* With CHILD_PLAN_USER_LAST: ids 1 to n_ids - 1 inside are those behind first_id outside. 0: only uid and gid exist. */
	uint32_t first_id, n_ids;
	union {
		const struct child_mount *v;
		uint64_t at;
	} mounts;
};

enum child_op {
	CHILD_OP_READ_JOB = 1,
	CHILD_OP_UNSHARE,
	CHILD_OP_MAP,
	CHILD_OP_PRIVATE,
	CHILD_OP_OPEN_LOWER,
	CHILD_OP_OPEN_UPPER,
	CHILD_OP_OPEN_WORK,
	CHILD_OP_FSOPEN,
	CHILD_OP_OPTION,
	CHILD_OP_CREATE,
	CHILD_OP_MOUNT,
	CHILD_OP_REBUILD,
	CHILD_OP_COVER,
	CHILD_OP_EXEC,
	CHILD_OP_PLACE,
	CHILD_OP_OPEN_SOURCE,
	CHILD_OP_RESTRICT,
	CHILD_OP_LINK,
	CHILD_OP_DEVICE,
	CHILD_OP_PROC,
	CHILD_OP_LOOPBACK,
	CHILD_OP_PIVOT,
	CHILD_OP_PRIVILEGES,
	CHILD_OP_GATE,
	CHILD_OP_JOIN,
};
