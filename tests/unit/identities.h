/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Running a check as root and as an ordinary user, each time in a process and a directory of its own.
 *
 *   static const char *check(const char *dir) { EXPECT(1 + 1 == 2); return NULL; }
 *   static void it_adds(void **state) { as_everyone(check); }
 *
 * A check returns NULL or what is wrong: cmocka's own asserts do not work in a child. */
#pragma once

#include "tests.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ORDINARY_ID 54321 /* in no user database: nothing may depend on being in one */

typedef const char *(*identity_check)(const char *dir);

#define EXPECT_TEXT2(x) #x
#define EXPECT_TEXT(x) EXPECT_TEXT2(x)
#define EXPECT(condition)                                                                                              \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			return __FILE__ ":" EXPECT_TEXT(__LINE__) ": " #condition;                                     \
	} while (0)

static inline int identities_remove_one(const char *path, const struct stat *st, int flag, struct FTW *where)
{
	return remove(path);
}

static inline void identities_become(uid_t id)
{
	if (setgroups(0, NULL) < 0 || setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0)
		_exit(99);
	/* As a program that was started by that user; one that has changed its user is not dumpable. */
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

/* Runs check(dir) in a child, as id when we are root (0: as we are). */
static inline void identities_run(identity_check check, const char *dir, uid_t id)
{
	char text[512] = "";
	int fds[2];
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	(void)fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (id)
			identities_become(id);
		const char *wrong = check(dir);
		if (wrong && write(fds[1], wrong, strlen(wrong)) < 0)
			_exit(98);
		_exit(0);
	}
	int status = 0;
	(void)close(fds[1]);
	ssize_t n = read(fds[0], text, sizeof text - 1);
	(void)close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (n > 0)
		fail_msg("as %s: %s", id ? "an ordinary user" : "the calling user", text);
	assert_int_equal(status, 0);
}

static inline void identities_in_new_dir(identity_check check, uid_t id)
{
	char dir[] = "/tmp/airlock-test-XXXXXX";
	assert_non_null(mkdtemp(dir));
	if (id)
		assert_int_equal(chown(dir, id, id), 0);
	identities_run(check, dir, id);
	(void)nftw(dir, identities_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void as_everyone(identity_check check)
{
	identities_in_new_dir(check, 0);
	if (geteuid() == 0)
		identities_in_new_dir(check, ORDINARY_ID);
}

/* dir/name in one of a few static buffers. */
static inline const char *in_dir(const char *dir, const char *name)
{
	static char paths[8][1024];
	static int next;
	char *path = paths[next++ % 8], whole[sizeof paths[0]]; /* dir may be one of them */
	(void)snprintf(whole, sizeof whole, "%s/%s", dir, name);
	return memcpy(path, whole, sizeof whole);
}

static inline int write_setting(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int rc = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
	(void)close(fd);
	return rc;
}

static inline int put_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	size_t len = strlen(text);
	int rc = fd >= 0 && write(fd, text, len) == (ssize_t)len && fchmod(fd, mode) == 0 ? 0 : -1;
	(void)close(fd);
	return rc;
}

/* A seccomp filter that gives new user namespaces this answer (SECCOMP_RET_*). */
static inline int answer_user_namespaces(uint32_t answer)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, answer),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = sizeof code / sizeof *code, .filter = code};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) : -1;
}

/* As the filters of containers do it. */
static inline int forbid_user_namespaces(void)
{
	return answer_user_namespaces(SECCOMP_RET_ERRNO | EPERM);
}

/* As `unshare -Ur`: a user namespace in which we are root and nobody else is known. */
static inline int enter_user_namespace(void)
{
	char uid[64], gid[64];
	(void)snprintf(uid, sizeof uid, "0 %u 1", geteuid());
	(void)snprintf(gid, sizeof gid, "0 %u 1", getegid());
	if (unshare(CLONE_NEWUSER) < 0)
		return -1;
	return write_setting("/proc/self/setgroups", "deny") | write_setting("/proc/self/uid_map", uid) |
	       write_setting("/proc/self/gid_map", gid);
}
