/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A directory with a real overlay over it, as a sandbox has one, for checks that run as root and as an ordinary user.
 *
 *   static const char *check(const char *dir)
 *   {
 *           EXPECT(world_make(dir, "echo old >f; mkdir d") == 0);        fills dir/lower
 *           EXPECT(world_shell(dir, "rm f; touch d/x") == 0);            in the overlay; dir/upper is what it leaves
 *           …
 *   }
 *
 * The overlay is mounted in a user and mount namespace of a child, which is dead when world_shell returns. */
#pragma once

#include "identities.h"

#include <dirent.h>
#include <sys/mount.h>

static inline int world_wait(pid_t pid)
{
	int status = -1;
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline int world_exec(const char *script)
{
	(void)execl("/bin/sh", "sh", "-euc", script, (char *)NULL);
	return 127;
}

/* Runs script in dir, as we are. */
static inline int world_host(const char *dir, const char *script)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(chdir(dir) < 0 ? 96 : world_exec(script));
	return world_wait(pid);
}

/* Everything in lower is made old, so that whatever the command writes has another time. */
#define WORLD_AGE "\nfind . -depth -exec touch -h -d '2001-02-03 04:05:06.123456789' {} +"

/* dir is made when it is not there yet. */
static inline int world_make(const char *dir, const char *script)
{
	static char whole[65536];
	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return -1;
	(void)snprintf(whole, sizeof whole, "mkdir lower upper work merged after; cd lower\n%s" WORLD_AGE, script);
	return world_host(dir, whole);
}

/* In the child: namespaces, and the overlay at merged, which becomes the working directory. */
static inline int world_enter(const char *dir)
{
	if (enter_user_namespace() != 0 || unshare(CLONE_NEWNS) < 0)
		return 90;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || chdir(dir) < 0)
		return 91;
	if (mount("overlay", "merged", "overlay", 0,
		  "lowerdir=lower,upperdir=upper,workdir=work,userxattr,redirect_dir=nofollow,metacopy=off") < 0)
		return 92;
	return chdir("merged") < 0 ? 93 : 0;
}

/* fn runs in the overlay, with it as working directory, and returns its exit status. */
static inline int world_call(const char *dir, int (*fn)(const void *arg), const void *arg)
{
	pid_t pid = fork();
	if (pid == 0) {
		int rc = world_enter(dir);
		_exit(rc ? rc : fn(arg));
	}
	int status = world_wait(pid);
	(void)chmod(in_dir(dir, "work/work"), 0700); /* the kernel's, mode 000: whoever removes dir must get into it */
	return status;
}

static inline int world_exec_arg(const void *script)
{
	return world_exec(script);
}

static inline int world_shell(const char *dir, const char *script)
{
	return world_call(dir, world_exec_arg, script);
}

/* The same, and a copy of what the command saw at the end in dir/after. */
static inline int world_shell_kept(const char *dir, const char *script)
{
	static char whole[65536];
	(void)snprintf(whole, sizeof whole, "%s\ncp -a . ../after/", script);
	return world_shell(dir, whole);
}
