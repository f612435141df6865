/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The scan of an upper layer that is any tree over any other: it ends, leaves both as they are, and reports what could
 * be true: each path once, in order, below the root, and nothing of the overlay's own. */
#include "base/path.h"
#include "change/change.h"
#include "fs/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_STEPS 40

static void demand(bool holds)
{
	if (!holds)
		__builtin_trap();
}

static const char *const names[] = {"a", "b", "c", "d", ".git", "hooks", "x\ny", "\xff\xfe", "config", "HEAD"};
static const char *const targets[] = {"a", "..", "/etc/passwd", "../../..", "loop", ""};

struct input {
	const uint8_t *p, *end;
};

static unsigned choose(struct input *in, unsigned n)
{
	return in->p < in->end ? *in->p++ % n : 0;
}

/* A path of one to four components; most of its directories will be there. */
static void choose_path(struct input *in, const char *tree, char *out, size_t size)
{
	size_t at = (size_t)snprintf(out, size, "%s", tree);
	for (unsigned n = 1 + choose(in, 4); n > 0; n--)
		at += (size_t)snprintf(out + at, size - at, "/%s", names[choose(in, sizeof names / sizeof names[0])]);
}

static void set_mark(const char *path, const char *name, const char *value)
{
	(void)lsetxattr(path, name, value, strlen(value), 0);
}

/* One thing made in a tree, whatever comes of it. */
static void step(struct input *in, const char *tree)
{
	char path[512];
	choose_path(in, tree, path, sizeof path);
	int fd = -1;
	switch (choose(in, 11)) {
	case 0:
	case 1:
	case 2:
		(void)mkdir(path, 0755);
		break;
	case 3:
	case 4:
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, 0644);
		if (fd >= 0)
			(void)!write(fd, "content", choose(in, 8));
		break;
	case 5:
		(void)!symlink(targets[choose(in, sizeof targets / sizeof targets[0] - 1)], path);
		break;
	case 6:
		(void)mkfifo(path, 0600);
		break;
	case 7:
		(void)mknod(path, S_IFCHR, 0); /* a whiteout */
		break;
	case 8:
		set_mark(path, "user.overlay.opaque", choose(in, 2) ? "y" : "x");
		break;
	case 9:
		set_mark(path, choose(in, 2) ? "user.overlay.whiteout" : "user.overlay.redirect", "/a");
		break;
	case 10:
		(void)fchmodat(AT_FDCWD, path, choose(in, 8) * 0111, 0);
		break;
	}
	if (fd >= 0)
		(void)close(fd);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

static int unlock_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	if (type == FTW_D || type == FTW_DNR)
		(void)chmod(path, 0700);
	return 0;
}

static void remove_tree(const char *path)
{
	/* Twice: what was closed is only seen once it is open. */
	for (int i = 0; i < 6; i++)
		(void)nftw(path, unlock_one, 16, FTW_PHYS);
	(void)nftw(path, remove_one, 16, FTW_PHYS | FTW_DEPTH);
	demand(access(path, F_OK) < 0);
}

static void check_changes(const struct change_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		const struct change *c = &set->v[i];
		demand(c->path[0] && c->path[0] != '/' && strlen(c->path) < 4096);
		demand(strncmp(c->path, "../", 3) != 0 && !strstr(c->path, "/../"));
		demand(i == 0 || strcmp(set->v[i - 1].path, c->path) != 0);
		demand((c->from != NULL) == (c->kind == CHANGE_RENAMED));
	}
	_cleanup_buf_ struct buf text = BUF_INIT;
	change_set_text(set, &text);
	demand(!text.failed);
}

static char dir[64], lower[80], upper[80];

static void leave(void)
{
	(void)rmdir(dir);
}

/* In memory where there is such a place: two trees are made for each input. Absolute: the fuzzer has files of its own. */
static void make_place(void)
{
	(void)snprintf(dir, sizeof dir, "%s/airlock-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	demand(mkdtemp(dir) != NULL && atexit(leave) == 0);
	(void)snprintf(lower, sizeof lower, "%s/lower", dir);
	(void)snprintf(upper, sizeof upper, "%s/upper", dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, data + size};
	if (!dir[0])
		make_place();
	demand(mkdir(lower, 0755) == 0 && mkdir(upper, 0755) == 0);
	for (int i = 0; i < MAX_STEPS && in.p < in.end; i++)
		step(&in, choose(&in, 3) ? upper : lower);
	struct airlock_error err = {0};
	struct change_set *set = change_set_new("run");
	_cleanup_strs_ struct strs notes = STRS_INIT;
	demand(set != NULL);
	if (change_set_add_root(set, lower, upper, &err) == 0 && change_scan(set, &notes, &err) == 0)
		check_changes(set);
	else
		demand(err.code != 0 && err.message[0]);
	change_set_free(set);
	remove_tree(lower);
	remove_tree(upper);
	return 0;
}
