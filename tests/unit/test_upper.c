/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an upper directory's entries mean: as the kernel's overlay makes them, and made by hand. */
#include "overlay_world.h"

#include "base/macros.h"
#include "layer/open.h"
#include "layer/upper.h"
#include "layer/xattrs.h"

#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>

static int open_dir(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The meaning of an entry in one letter: Whiteout, Opaque, Copied up, plain. '?' when it cannot be had. */
static char meaning(int upper, const char *path)
{
	struct upper_dir marks;
	struct upper_entry entry;
	struct stat st;
	char parent[256];
	(void)snprintf(parent, sizeof parent, "%s", path);
	char *slash = strrchr(parent, '/');
	*(slash ? slash : parent) = '\0';
	_cleanup_close_ int dir = openat(upper, *parent ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *name = slash ? slash + 1 : path;
	if (dir < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return '?';
	if (S_ISDIR(st.st_mode))
		return upper_dir_read(dir, name, &marks) < 0 ? '?' : marks.opaque ? 'O' : marks.copied_up ? 'C' : 'p';
	if (upper_dir_read(dir, NULL, &marks) < 0 || upper_entry_read(dir, name, &st, &marks, &entry) < 0)
		return '?';
	return entry.whiteout ? 'W' : entry.copied_up ? 'C' : 'p';
}

static const char *check_kernel_marks(const char *dir)
{
	EXPECT(world_make(dir, "echo 1 >gone; echo 1 >kept; mkdir -p d/e r/s t; echo 1 >d/e/f; ln -s x l") == 0);
	EXPECT(world_shell(dir, "rm gone; echo 2 >>kept; rm -r r t; mkdir r r/new; echo 1 >new; chmod 700 d/e; rm l;"
				"mkdir n; echo 1 >moved; mv moved n/; rm d/e/f") == 0);
	_cleanup_close_ int upper = open_dir(in_dir(dir, "upper"));
	EXPECT(meaning(upper, "gone") == 'W');
	EXPECT(meaning(upper, "kept") == 'C');
	EXPECT(meaning(upper, "d") == 'C');
	EXPECT(meaning(upper, "d/e") == 'C');
	EXPECT(meaning(upper, "d/e/f") == 'W');
	EXPECT(meaning(upper, "r") == 'O');
	EXPECT(meaning(upper, "r/new") == 'p');
	EXPECT(meaning(upper, "t") == 'W');
	EXPECT(meaning(upper, "l") == 'W');
	EXPECT(meaning(upper, "new") == 'p');
	EXPECT(meaning(upper, "n") == 'p');
	EXPECT(meaning(upper, "n/moved") == 'p');
	EXPECT(meaning(upper, "none") == '?');
	return NULL;
}

static void the_kernel_s_marks_are_understood(void **state)
{
	as_everyone(check_kernel_marks);
}

static int set(const char *path, const char *attribute, const char *value)
{
	return lsetxattr(path, attribute, value, strlen(value), 0);
}

static const char *check_xattr_whiteouts(const char *dir)
{
	EXPECT(world_host(dir, "mkdir x w n; for d in x w n; do : >$d/empty; echo 1 >$d/full; : >$d/plain; mkdir $d/d; "
			       "ln -s empty $d/link; done") == 0);
	static const char *const names[] = {"empty", "full", "d"};
	for (size_t i = 0; i < 3; i++)
		for (size_t j = 0; j < 3; j++) {
			char path[64];
			(void)snprintf(path, sizeof path, "%c/%s", "xwn"[j], names[i]);
			EXPECT(set(in_dir(dir, path), "user.overlay.whiteout", "") == 0);
		}
	EXPECT(set(in_dir(dir, "x"), "user.overlay.opaque", "x") == 0);
	EXPECT(set(in_dir(dir, "w"), "user.overlay.whiteouts", "") == 0);
	_cleanup_close_ int upper = open_dir(dir);
	EXPECT(meaning(upper, "x/empty") == 'W');
	EXPECT(meaning(upper, "w/empty") == 'W');
	EXPECT(meaning(upper, "n/empty") == 'p'); /* its directory does not say that there are any */
	EXPECT(meaning(upper, "x/full") == 'p');
	EXPECT(meaning(upper, "x/plain") == 'p');
	EXPECT(meaning(upper, "x/d") == 'p');
	EXPECT(meaning(upper, "x/link") == 'p');
	EXPECT(meaning(upper, "x") == 'p'); /* "x" hides nothing */
	return NULL;
}

static void the_xattr_form_of_whiteouts_is_understood(void **state)
{
	as_everyone(check_xattr_whiteouts);
}

static const char *check_opaque_values(const char *dir)
{
	static const struct {
		const char *name, *value;
		char expected;
	} table[] = {{"a", "y", 'O'}, {"b", "n", 'p'}, {"c", "", 'p'}, {"d", "yes", 'p'}, {"e", "Y", 'p'}};
	_cleanup_close_ int upper = open_dir(dir);
	for (size_t i = 0; i < 5; i++) {
		EXPECT(mkdirat(upper, table[i].name, 0700) == 0);
		EXPECT(set(in_dir(dir, table[i].name), "user.overlay.opaque", table[i].value) == 0);
		EXPECT(meaning(upper, table[i].name) == table[i].expected);
	}
	/* A command may give its own names to such attributes; the kernel escapes them. */
	EXPECT(mkdirat(upper, "f", 0700) == 0);
	EXPECT(set(in_dir(dir, "f"), "user.overlay.overlay.opaque", "y") == 0);
	EXPECT(set(in_dir(dir, "f"), "user.overlayopaque", "y") == 0);
	EXPECT(meaning(upper, "f") == 'p');
	if (geteuid() == 0) {
		EXPECT(mkdirat(upper, "t", 0700) == 0);
		EXPECT(set(in_dir(dir, "t"), "trusted.overlay.opaque", "y") == 0);
		EXPECT(meaning(upper, "t") == 'O');
	}
	return NULL;
}

static void only_y_makes_a_directory_opaque(void **state)
{
	as_everyone(check_opaque_values);
}

static const char *check_device_whiteouts(const char *dir)
{
	EXPECT(mknod(in_dir(dir, "whiteout"), S_IFCHR | 0, makedev(0, 0)) == 0); /* anybody may since Linux 5.8 */
	EXPECT(mkfifo(in_dir(dir, "fifo"), 0600) == 0);
	_cleanup_close_ int upper = open_dir(dir);
	EXPECT(meaning(upper, "whiteout") == 'W');
	EXPECT(meaning(upper, "fifo") == 'p');
	if (geteuid() == 0) {
		EXPECT(mknod(in_dir(dir, "null"), S_IFCHR | 0600, makedev(1, 3)) == 0);
		EXPECT(mknod(in_dir(dir, "block"), S_IFBLK | 0600, makedev(0, 0)) == 0);
		EXPECT(meaning(upper, "null") == 'p');
		EXPECT(meaning(upper, "block") == 'p');
	}
	return NULL;
}

static void only_the_device_0_0_is_a_whiteout(void **state)
{
	as_everyone(check_device_whiteouts);
}

/* ── xattrs ── */

static void overlay_s_names_are_known(void **state)
{
	static const char *const own[] = {"user.overlay.origin", "user.overlay.", "trusted.overlay.opaque",
					  "user.overlay.overlay.x"};
	static const char *const others[] = {"user.overlay", "user.overlayx",  "user.x",	  "security.capability",
					     "trusted.x",    "USER.overlay.x", "user.xoverlay.y", ""};
	for (size_t i = 0; i < AL_ARRAY_LEN(own); i++)
		assert_true(upper_owns_xattr(own[i]));
	for (size_t i = 0; i < AL_ARRAY_LEN(others); i++)
		assert_false(upper_owns_xattr(others[i]));
}

/* How many attributes of user.* and trusted.* are left. */
static size_t count_xattrs(const char *path)
{
	char names[4096];
	ssize_t len = llistxattr(path, names, sizeof names);
	size_t n = 0;
	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1)
		n += strncmp(names + at, "user.", 5) == 0 || strncmp(names + at, "trusted.", 8) == 0;
	return n;
}

static const char *check_strip_one(const char *path, mode_t mode, int flags)
{
	struct stat before, after;
	EXPECT(set(path, "user.overlay.origin", "abc") == 0 && set(path, "user.overlay.impure", "y") == 0);
	EXPECT(set(path, "user.mine", "1") == 0);
	EXPECT(chmod(path, mode) == 0 && lstat(path, &before) == 0);
	_cleanup_close_ int fd = open(path, flags | O_CLOEXEC);
	EXPECT(fd >= 0);
	EXPECT(upper_strip_xattrs(fd) == 2);
	EXPECT(upper_strip_xattrs(fd) == 0);
	EXPECT(count_xattrs(path) == 1);
	EXPECT(lstat(path, &after) == 0 && after.st_mode == before.st_mode);
	EXPECT(after.st_mtim.tv_sec == before.st_mtim.tv_sec && after.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
	return NULL;
}

static const char *check_strip(const char *dir)
{
	EXPECT(world_host(dir, "echo 1 >f; echo 1 >ro; echo 1 >none; mkdir d rod; ln -s f l") == 0);
	const char *wrong = check_strip_one(in_dir(dir, "f"), 0644, O_RDONLY);
	wrong = wrong ? wrong : check_strip_one(in_dir(dir, "ro"), 0444, O_RDONLY); /* as git's objects */
	wrong = wrong ? wrong : check_strip_one(in_dir(dir, "none"), 0, O_PATH);
	wrong = wrong ? wrong : check_strip_one(in_dir(dir, "d"), 0755, O_RDONLY);
	wrong = wrong ? wrong : check_strip_one(in_dir(dir, "rod"), 0555, O_PATH);
	if (wrong)
		return wrong;
	_cleanup_close_ int link = open(in_dir(dir, "l"), O_PATH | O_NOFOLLOW | O_CLOEXEC);
	EXPECT(set(in_dir(dir, "f"), "user.overlay.origin", "abc") == 0);
	if (geteuid() == 0)
		EXPECT(set(in_dir(dir, "l"), "trusted.overlay.origin", "x") == 0);
	EXPECT(upper_strip_xattrs(link) == (geteuid() == 0));
	EXPECT(count_xattrs(in_dir(dir, "f")) == 2); /* the link was not followed */
	return NULL;
}

static void stripping_leaves_everything_else(void **state)
{
	as_everyone(check_strip);
}

static const char *check_large_xattrs(const char *dir)
{
	static char value[3000];
	_cleanup_buf_ struct buf b = BUF_INIT;
	memset(value, 'v', sizeof value - 1);
	EXPECT(put_file(in_dir(dir, "f"), "", 0600) == 0);
	_cleanup_close_ int fd = open_dir(dir);
	EXPECT(xattrs_list(fd, "f", &b) == 0);
	EXPECT(set(in_dir(dir, "f"), "user.large", value) == 0);
	EXPECT(xattrs_get(fd, "f", "user.large", &b) == 0);
	EXPECT(b.len == sizeof value - 1 && strcmp(b.data, value) == 0);
	EXPECT(xattrs_get(fd, "f", "user.none", &b) == -ENODATA);
	EXPECT(xattrs_get(fd, "none", "user.none", &b) == -ENOENT);
	EXPECT(xattrs_remove(fd, "f", "user.none") == -ENODATA);
	EXPECT(xattrs_remove(fd, "f", "user.large") == 0);
	_cleanup_close_ int proc = open_dir("/proc/self");
	EXPECT(xattrs_list(proc, "status", &b) == 0); /* a file system without any */
	return NULL;
}

static void values_of_any_size_are_read(void **state)
{
	as_everyone(check_large_xattrs);
}

/* The newest calls are not everywhere: kernels answer ENOSYS, filters of containers EPERM. */
static int forbid_xattr_calls(unsigned answer)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 463, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 466, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | answer),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = AL_ARRAY_LEN(code), .filter = code};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) : -1;
}

static const char *check_older_kernel(const char *dir)
{
	EXPECT(forbid_xattr_calls(ENOSYS) == 0);
	const char *wrong = check_large_xattrs(dir);
	return wrong ? wrong : check_xattr_whiteouts(dir);
}

static const char *check_filtered(const char *dir)
{
	EXPECT(forbid_xattr_calls(EPERM) == 0);
	return check_older_kernel(dir);
}

static void older_kernels_will_do(void **state)
{
	as_everyone(check_older_kernel);
	as_everyone(check_filtered);
}

/* ── Access ── */

static const char *check_access(const char *dir)
{
	static const mode_t modes[] = {0, 0200, 0100, 0077, 04000};
	_cleanup_close_ int upper = open_dir(dir);
	EXPECT(put_file(in_dir(dir, "f"), "text", 0600) == 0 && mkdirat(upper, "d", 0700) == 0);
	EXPECT(put_file(in_dir(dir, "d/x"), "text", 0600) == 0);
	for (size_t i = 0; i < AL_ARRAY_LEN(modes); i++) {
		struct stat st;
		char text[4];
		EXPECT(fchmodat(upper, "f", modes[i], 0) == 0 && fchmodat(upper, "d", modes[i], 0) == 0);
		_cleanup_close_ int fd = upper_open_file(upper, "f");
		EXPECT(fd >= 0 && read(fd, text, 4) == 4);
		EXPECT(fstatat(upper, "f", &st, 0) == 0 && (st.st_mode & 07777) == modes[i]);
		EXPECT(fstatat(upper, "d", &st, 0) == 0);
		int unlocked = upper_unlock(upper, "d", &st);
		EXPECT(unlocked == (geteuid() != 0));
		EXPECT(faccessat(upper, "d/x", R_OK, 0) == 0);
		_cleanup_close_ int inside = openat(upper, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		EXPECT(inside >= 0);
		EXPECT(!unlocked || upper_relock(upper, "d", &st) == 0);
		EXPECT(fstatat(upper, "d", &st, 0) == 0 && (st.st_mode & 07777) == modes[i]);
	}
	EXPECT(fchmodat(upper, "d", 0700, 0) == 0);
	return NULL;
}

static void whatever_the_mode_the_layer_can_be_read(void **state)
{
	as_everyone(check_access);
}

static const char *check_pinned(const char *dir)
{
	struct stat st;
	EXPECT(put_file(in_dir(dir, "f"), "text", 0) == 0 && put_file(in_dir(dir, "g"), "text", 0600) == 0);
	_cleanup_close_ int upper = open_dir(dir);
	EXPECT(fstatat(upper, "f", &st, 0) == 0);
	EXPECT(renameat(upper, "g", upper, "f") == 0);
	EXPECT(upper_relock(upper, "f", &st) == -ESTALE);
	EXPECT(fstatat(upper, "f", &st, 0) == 0 && (st.st_mode & 07777) == 0600);
	return NULL;
}

static void a_mode_goes_only_to_what_was_looked_at(void **state)
{
	as_everyone(check_pinned);
}

static const char *check_only_files(const char *dir)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	_cleanup_close_ int upper = open_dir(dir);
	EXPECT(world_host(dir, "mkdir d; mkfifo fifo; echo 1 >f; ln -s f link; ln -s none dangling") == 0);
	_cleanup_close_ int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	strcpy(a.sun_path, in_dir(dir, "sock"));
	EXPECT(bind(s, (struct sockaddr *)&a, sizeof a) == 0);
	static const char *const names[] = {"d", "fifo", "link", "dangling", "sock"};
	for (size_t i = 0; i < AL_ARRAY_LEN(names); i++) {
		EXPECT(open_regular_at(upper, names[i]) == -EINVAL);
		EXPECT(upper_open_file(upper, names[i]) == -EINVAL);
	}
	EXPECT(open_regular_at(upper, "none") == -ENOENT);
	_cleanup_close_ int fd = open_regular_at(upper, "f");
	EXPECT(fd >= 0);
	return NULL;
}

static void only_regular_files_are_opened(void **state)
{
	as_everyone(check_only_files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernel_s_marks_are_understood),
		cmocka_unit_test(the_xattr_form_of_whiteouts_is_understood),
		cmocka_unit_test(only_y_makes_a_directory_opaque),
		cmocka_unit_test(only_the_device_0_0_is_a_whiteout),
		cmocka_unit_test(overlay_s_names_are_known),
		cmocka_unit_test(stripping_leaves_everything_else),
		cmocka_unit_test(values_of_any_size_are_read),
		cmocka_unit_test(older_kernels_will_do),
		cmocka_unit_test(whatever_the_mode_the_layer_can_be_read),
		cmocka_unit_test(a_mode_goes_only_to_what_was_looked_at),
		cmocka_unit_test(only_regular_files_are_opened),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
