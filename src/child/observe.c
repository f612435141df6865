/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child/observe.h"

#include "child/caller.h"
#include "child/granted.h"
#include "child/raw_calls.h"
#include "child/seen_record.h"
#include "child/call_path.h"

#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <linux/stat.h>

#define NO_ARGUMENT 7
#define CWD NO_ARGUMENT
#define FLAGS_OF_CREAT (O_CREAT | O_WRONLY | O_TRUNC)

/* The effect of a call on its path. */
enum want {
	WANT_OPEN,   /* its flags decide */
	WANT_READ,   /* needs an existing file */
	WANT_CHANGE, /* the same, and changes it */
	WANT_MAKE,   /* needs a name that does not exist yet */
	WANT_ADDRESS,
};

/* Which arguments are the directory, the path and the flags; the path of an address is the address. */
static const struct observed_call {
	int nr;
	unsigned char op, want, dir, path, flags;
	unsigned nofollow; /* this bit of the flags, or with no flags 1: never */
} rows[] = {
	{__NR_openat, CHILD_SEEN_OPEN, WANT_OPEN, 0, 1, 2, O_NOFOLLOW},
	{__NR_openat2, CHILD_SEEN_OPEN, WANT_OPEN, 0, 1, 2, O_NOFOLLOW},
	{__NR_chdir, CHILD_SEEN_CHDIR, WANT_READ, CWD, 0, NO_ARGUMENT, 0},
	{__NR_truncate, CHILD_SEEN_TRUNCATE, WANT_CHANGE, CWD, 0, NO_ARGUMENT, 0},
	{__NR_mkdirat, CHILD_SEEN_MKDIR, WANT_MAKE, 0, 1, NO_ARGUMENT, 1},
	{__NR_unlinkat, CHILD_SEEN_DELETE, WANT_CHANGE, 0, 1, NO_ARGUMENT, 1},
	{__NR_linkat, CHILD_SEEN_LINK, WANT_MAKE, 2, 3, NO_ARGUMENT, 1},
	{__NR_symlinkat, CHILD_SEEN_SYMLINK, WANT_MAKE, 1, 2, NO_ARGUMENT, 1},
	{__NR_mknodat, CHILD_SEEN_MKNOD, WANT_MAKE, 0, 1, NO_ARGUMENT, 1},
	{__NR_fchmodat, CHILD_SEEN_CHMOD, WANT_CHANGE, 0, 1, NO_ARGUMENT, 0},
	{__NR_fchownat, CHILD_SEEN_CHOWN, WANT_CHANGE, 0, 1, 4, AT_SYMLINK_NOFOLLOW},
	{__NR_utimensat, CHILD_SEEN_UTIME, WANT_CHANGE, 0, 1, 3, AT_SYMLINK_NOFOLLOW},
	{__NR_connect, CHILD_SEEN_CONNECT, WANT_ADDRESS, CWD, 1, NO_ARGUMENT, 0},
	{__NR_bind, CHILD_SEEN_BIND, WANT_ADDRESS, CWD, 1, NO_ARGUMENT, 1},
#ifdef __NR_open
	{__NR_open, CHILD_SEEN_OPEN, WANT_OPEN, CWD, 0, 1, O_NOFOLLOW},
	{__NR_creat, CHILD_SEEN_OPEN, WANT_OPEN, CWD, 0, NO_ARGUMENT, 0},
	{__NR_mkdir, CHILD_SEEN_MKDIR, WANT_MAKE, CWD, 0, NO_ARGUMENT, 1},
	{__NR_rmdir, CHILD_SEEN_DELETE, WANT_CHANGE, CWD, 0, NO_ARGUMENT, 1},
	{__NR_unlink, CHILD_SEEN_DELETE, WANT_CHANGE, CWD, 0, NO_ARGUMENT, 1},
	{__NR_link, CHILD_SEEN_LINK, WANT_MAKE, CWD, 1, NO_ARGUMENT, 1},
	{__NR_symlink, CHILD_SEEN_SYMLINK, WANT_MAKE, CWD, 1, NO_ARGUMENT, 1},
	{__NR_mknod, CHILD_SEEN_MKNOD, WANT_MAKE, CWD, 0, NO_ARGUMENT, 1},
	{__NR_chmod, CHILD_SEEN_CHMOD, WANT_CHANGE, CWD, 0, NO_ARGUMENT, 0},
	{__NR_chown, CHILD_SEEN_CHOWN, WANT_CHANGE, CWD, 0, NO_ARGUMENT, 0},
	{__NR_lchown, CHILD_SEEN_CHOWN, WANT_CHANGE, CWD, 0, NO_ARGUMENT, 1},
#endif
};
#define N_ROWS (sizeof rows / sizeof *rows)

/* Not in the filter's list: rename.h's list includes them, and only with an address. */
static const struct observed_call others[] = {
	{__NR_sendto, CHILD_SEEN_SEND, WANT_ADDRESS, CWD, 4, NO_ARGUMENT, 0},
	{__NR_renameat, CHILD_SEEN_RENAME, WANT_CHANGE, 0, 1, NO_ARGUMENT, 1},
	{__NR_renameat2, CHILD_SEEN_RENAME, WANT_CHANGE, 0, 1, NO_ARGUMENT, 1},
#ifdef __NR_rename
	{__NR_rename, CHILD_SEEN_RENAME, WANT_CHANGE, CWD, 0, NO_ARGUMENT, 1},
#endif
};

int observe_number(size_t i)
{
	return i < N_ROWS ? rows[i].nr : -1;
}

static const struct observed_call *row_of(int nr)
{
	for (size_t i = 0; i < N_ROWS; i++)
		if (rows[i].nr == nr)
			return &rows[i];
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (others[i].nr == nr)
			return &others[i];
	return 0;
}

int observe_is(int nr)
{
	return row_of(nr) != 0;
}

struct call_look {
	struct observer *o;
	const struct seccomp_notif *n;
	int listener;
	unsigned op;
	int noted;
	int is_granted; /* its last path leads to where nothing is refused */
};

/* ── Where it leads, and what may be refused there ── */

static struct resolved place; /* see call_path.c: one call at a time */
static char path[PATH_MAX];

static unsigned refuses(const struct observer *o, const char *where)
{
	return granted_refuses(o->job, where);
}

/* How much of the path exists: all of it, or up to the directory in which the first name is missing. */
static size_t existing_length(void)
{
	size_t len = place.first_missing;
	if (place.type)
		return place.len;
	while (len > 1 && place.path[len - 1] != '/')
		len--;
	return len > 1 ? len - 1 : 1;
}

/* 0: the path leads to this place. Else nothing is to be noted: nothing can be refused there, or it cannot be told. */
static long find_place(struct call_look *l, int dir_fd, int follow)
{
	const struct seccomp_notif *n = l->n;
	l->is_granted = granted_is_all((int)n->pid, dir_fd, path, follow);
	if (l->is_granted)
		return 1;
	long base = path[0] == '/' ? AT_FDCWD : caller_open_base((int)n->pid, dir_fd);
	if (base < 0 && base != AT_FDCWD)
		return base;
	long rc = resolve_path((int)base, path, follow, &place);
	if (base >= 0)
		(void)r_close((int)base);
	if (rc == 0)
		granted_learn(l->o->job, place.path, existing_length());
	return rc;
}

/* ── What to note ── */

/* The owner decides, sandbox or not: then lifting a rule would not help. For names, the directory decides. */
static unsigned permission_flag(const struct call_look *l)
{
	int of_name = !place.type || l->op == CHILD_SEEN_DELETE || l->op == CHILD_SEEN_RENAME;
	size_t end = place.len;
	while (of_name && end > 1 && place.path[end - 1] != '/')
		end--;
	char *at = of_name ? &place.path[end > 1 ? end - 1 : 1] : &place.path[place.len], kept = *at;
	*at = '\0';
	long rc = raw_call4(__NR_faccessat2, AT_FDCWD, place.path, 2 /* W_OK */, AT_EACCESS);
	*at = kept;
	return rc == -EACCES ? CHILD_SEEN_FOREIGN : 0;
}

static void note_path(struct call_look *l, unsigned flags, size_t len)
{
	l->noted = 1;
	record_note(l->o, l->listener, l->n->id, (struct record){l->op, flags, place.path, len});
}

static void note_read(struct call_look *l)
{
	unsigned refused = refuses(l->o, place.path);
	if (refused & CHILD_REFUSES_READ)
		note_path(l, CHILD_SEEN_LOOKED | (place.type ? 0 : CHILD_SEEN_MISSING), place.len);
	else if (!place.type && refused & CHILD_REFUSES_MISSING)
		note_path(l, CHILD_SEEN_LOOKED | CHILD_SEEN_MISSING, place.first_missing);
}

static void note_change(struct call_look *l)
{
	if (refuses(l->o, place.path) & CHILD_REFUSES_WRITE)
		note_path(l, permission_flag(l) | (place.type ? 0 : CHILD_SEEN_MISSING), place.len);
}

static void look_at(struct call_look *l, enum want want)
{
	int only_name_missing = !place.type && place.first_missing == place.len;
	if (want == WANT_MAKE && only_name_missing)
		note_change(l); /* NOLINT(bugprone-branch-clone): the next condition comes between */
	else if (want == WANT_MAKE ? !place.type : want == WANT_READ || !place.type)
		note_read(l);
	else if (want == WANT_CHANGE)
		note_change(l);
}

/* Writing to a FIFO or a device changes no file system, and a directory is not written to. */
static void look_at_open(struct call_look *l, uint64_t flags)
{
	int writes = (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC;
	int temporary = (flags & O_TMPFILE) == O_TMPFILE;
	if (flags & O_PATH)
		writes = 0;
	if (writes || (flags & O_CREAT && !place.type))
		l->op = CHILD_SEEN_WRITE;
	if (!place.type)
		look_at(l, flags & O_CREAT && !(flags & O_PATH) ? WANT_MAKE : WANT_READ);
	else if (flags & O_CREAT && flags & O_EXCL)
		return;
	else if (!writes)
		look_at(l, WANT_READ);
	else if (place.type == S_IFREG || (place.type == S_IFDIR && temporary))
		look_at(l, WANT_CHANGE);
}

static int open_flags(const struct observed_call *row, const struct seccomp_notif *n, uint64_t *ret)
{
	struct open_how how = {0};
	*ret = row->flags == NO_ARGUMENT ? FLAGS_OF_CREAT : n->data.args[row->flags];
	if (row->nr != __NR_openat2)
		return 1;
	if (caller_read((int)n->pid, n->data.args[row->flags], &how, sizeof how) < 0)
		return 0;
	*ret = how.flags;
	return how.resolve == 0 || !(how.resolve & ~(__u64)(RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS));
}

static int starts_with(const char *s, const char *prefix)
{
	while (*prefix)
		if (*s++ != *prefix++)
			return 0;
	return 1;
}

/* Most opened files are programs, libraries and headers: read, and never refused. No link among them leads to a
 * secret, so they continue without another look. A path with ".." in it is examined. */
static int is_plainly_readable(const struct observer *o)
{
	if (!starts_with(path, "/usr/") && !starts_with(path, "/lib") && !starts_with(path, "/proc/"))
		return 0;
	for (const char *p = path; *p; p++)
		if (p[0] == '.' && p[1] == '.')
			return 0;
	return !(refuses(o, path) & (CHILD_REFUSES_READ | CHILD_REFUSES_MISSING));
}

static int only_reads(const struct observed_call *row, uint64_t flags)
{
	return row->want == WANT_READ || (row->want == WANT_OPEN && !(flags & (O_ACCMODE | O_TRUNC | O_CREAT)));
}

static int dir_of(const struct observed_call *row, const struct seccomp_notif *n)
{
	return row->dir == CWD ? AT_FDCWD : (int)n->data.args[row->dir];
}

static void look_at_path(struct call_look *l, const struct observed_call *row)
{
	const struct seccomp_notif *n = l->n;
	uint64_t flags = 0;
	if (row->want == WANT_OPEN && !open_flags(row, n, &flags))
		return;
	if (row->want != WANT_OPEN && row->flags != NO_ARGUMENT)
		flags = n->data.args[row->flags];
	else if (row->want != WANT_OPEN)
		flags = 1;
	int follow = !(flags & row->nofollow) && (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);
	if (caller_read_string((int)n->pid, n->data.args[row->path], path) < 0 || !path[0] ||
	    (only_reads(row, flags) && is_plainly_readable(l->o)) || find_place(l, dir_of(row, n), follow) != 0)
		return;
	if (row->want == WANT_OPEN)
		look_at_open(l, flags);
	else
		look_at(l, (enum want)row->want);
}

/* The other path of a rename. What it replaces or creates is changed either way. */
static void look_at_new_name(struct call_look *l)
{
	const struct seccomp_notif *n = l->n;
	int at = n->data.nr == __NR_renameat || n->data.nr == __NR_renameat2;
	int dir = at ? (int)n->data.args[2] : AT_FDCWD;
	if (caller_read_string((int)n->pid, n->data.args[at ? 3 : 1], path) == 0 && path[0] &&
	    find_place(l, dir, 0) == 0)
		look_at(l, place.type ? WANT_CHANGE : WANT_MAKE);
}

/* ── Addresses ── */

#define AF_UNIX_FAMILY 1
#define AF_INET_FAMILY 2
#define AF_INET6_FAMILY 10
#define ADDRESS_BYTES 128
#define UNIX_PATH_AT 2
#define UNIX_PATH_BYTES 108

/* A process inside may serve a loopback port, but none that needs a capability. */
static int may_be_served(const unsigned char *a, size_t len)
{
	static const unsigned char loop6[16] = {[15] = 1}, mapped[13] = {[10] = 0xff, [11] = 0xff, [12] = 127}, any[16];
	unsigned port = (unsigned)a[2] << 8 | a[3];
	int is_loop = 1;
	if (a[0] == AF_INET_FAMILY) /* 0.0.0.0 and :: mean this machine when connecting */
		is_loop = len >= 8 && (a[4] == 127 || !(a[4] | a[5] | a[6] | a[7]));
	else {
		int same = 1, same_mapped = 1, same_any = 1;
		for (size_t i = 0; i < sizeof loop6 && 8 + i < len; i++) {
			same &= a[8 + i] == loop6[i];
			same_any &= a[8 + i] == any[i];
		}
		for (size_t i = 0; i < sizeof mapped && 8 + i < len; i++)
			same_mapped &= a[8 + i] == mapped[i];
		is_loop = len >= 24 && (same || same_mapped || same_any);
	}
	return is_loop && (port == 0 || port >= 1024);
}

/* True if an abstract name is taken in our network namespace. The list shows @ for every NUL. */
static int is_taken(const char *name, size_t len)
{
	static char chunk[4096];
	long fd = r_open("/proc/self/net/unix", O_RDONLY | O_CLOEXEC), got;
	size_t matched = 0;
	int found = 0, in_name = 0;
	while (fd >= 0 && !found && (got = r_read((int)fd, chunk, sizeof chunk)) > 0)
		for (long i = 0; i < got && !found; i++) {
			char want = matched < len ? (name[matched] ? name[matched] : '@') : '\n';
			if (chunk[i] == '@' && !in_name) {
				in_name = 1;
				matched = 1;
			} else if (in_name && matched && chunk[i] == want) {
				found = matched == len;
				matched++;
			} else
				matched = 0;
			if (chunk[i] == '\n')
				in_name = 0;
		}
	if (fd >= 0)
		(void)r_close((int)fd);
	return found;
}

static void look_at_socket_path(struct call_look *l, const struct observed_call *row, const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		path[i] = name[i];
	path[len] = '\0';
	if (path[0] && find_place(l, AT_FDCWD, row->op != CHILD_SEEN_BIND) == 0)
		look_at(l, row->op == CHILD_SEEN_BIND ? WANT_MAKE : WANT_READ);
}

static void note_address(const struct call_look *l, const char *address, size_t len)
{
	if (l->o->job->flags & CHILD_OFFLINE)
		record_note(l->o, l->listener, l->n->id, (struct record){l->op, CHILD_SEEN_ADDRESS, address, len});
}

static void look_at_address(struct call_look *l, const struct observed_call *row)
{
	char a[ADDRESS_BYTES + 1] = {0};
	const struct seccomp_notif *n = l->n;
	size_t len = (size_t)n->data.args[row->path + 1];
	if (len < 3 || len > ADDRESS_BYTES || caller_read((int)n->pid, n->data.args[row->path], a, len) < 0)
		return;
	unsigned family = *(const unsigned short *)(const void *)a;
	if (family == AF_UNIX_FAMILY && a[UNIX_PATH_AT] && len <= UNIX_PATH_AT + UNIX_PATH_BYTES)
		look_at_socket_path(l, row, a + UNIX_PATH_AT, len - UNIX_PATH_AT);
	else if (row->op == CHILD_SEEN_BIND)
		return;
	else if (family == AF_UNIX_FAMILY) {
		if (!is_taken(a + UNIX_PATH_AT, len - UNIX_PATH_AT))
			note_address(l, a, len);
	} else if ((family == AF_INET_FAMILY && len >= 8) || (family == AF_INET6_FAMILY && len >= 24)) {
		if (!may_be_served((const unsigned char *)a, len))
			note_address(l, a, family == AF_INET_FAMILY ? 8 : 24);
	}
}

int observe_call(struct observer *o, int listener, const struct seccomp_notif *n)
{
	const struct observed_call *row = row_of(n->data.nr);
	struct call_look l = {o, n, listener, row ? row->op : 0, 0, 0};
	if (!row || !o->seen || (o->job->flags & CHILD_NESTED && !caller_shares_mounts((int)n->pid)))
		return 0;
	if (row->want == WANT_ADDRESS)
		look_at_address(&l, row);
	else
		look_at_path(&l, row);
	if (row->op == CHILD_SEEN_RENAME && !l.noted)
		look_at_new_name(&l);
	return l.is_granted;
}
