/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The scan of an upper layer that is any tree over any other: it ends, leaves both as they are, and reports what could
 * be true: each path once, in order, below the root, and nothing of the overlay's own. */
#include "base/path.h"
#include "change/change.h"
#include "fs/beneath.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
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
static const char *const targets[] = {"a", "..", "/nowhere", "../../..", "loop"};

struct input {
	const uint8_t *p, *end;
};

static unsigned choose(struct input *in, unsigned n)
{
	return in->p < in->end ? *in->p++ % n : 0;
}

/* A path of one to four components; most of its directories will be there. */
static void choose_path(struct input *in, char *out, size_t size)
{
	size_t at = 0;
	for (unsigned n = 1 + choose(in, 4); n > 0; n--)
		at += (size_t)snprintf(out + at, size - at, "%s%s", at ? "/" : "",
				       names[choose(in, sizeof names / sizeof names[0])]);
}

/* A command's own calls, in its tree alone: its symlinks lead out of it, and this may run as root. */
static void make_entry(struct input *in, int dir, const char *name)
{
	char path[64 + NAME_MAX];
	struct stat st;
	int fd = -1;
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d/%s", dir, name);
	switch (choose(in, 11)) {
	case 0:
	case 1:
	case 2:
		(void)mkdirat(dir, name, 0755);
		break;
	case 3:
	case 4:
		fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, 0644);
		if (fd >= 0)
			(void)!write(fd, "content", choose(in, 8));
		break;
	case 5:
		(void)!symlinkat(targets[choose(in, sizeof targets / sizeof targets[0])], dir, name);
		break;
	case 6:
		(void)mkfifoat(dir, name, 0600);
		break;
	case 7:
		(void)mknodat(dir, name, S_IFCHR, 0); /* a whiteout */
		break;
	case 8:
		(void)lsetxattr(path, "user.overlay.opaque", choose(in, 2) ? "y" : "x", 1, 0);
		break;
	case 9:
		(void)lsetxattr(path, choose(in, 2) ? "user.overlay.whiteout" : "user.overlay.redirect", "/a", 2, 0);
		break;
	case 10:
		if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISLNK(st.st_mode))
			(void)fchmodat(dir, name, choose(in, 8) * 0111, 0);
		break;
	}
	if (fd >= 0)
		(void)close(fd);
}

/* One thing made in a tree, whatever comes of it. */
static void step(struct input *in, const char *tree)
{
	char path[512];
	const char *name = NULL;
	choose_path(in, path, sizeof path);
	int top = open(tree, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	demand(top >= 0);
	int dir = fs_open_parent(top, path, &name);
	if (dir >= 0) {
		make_entry(in, dir, name);
		(void)close(dir);
	}
	(void)close(top);
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
	change_set_text(set, NULL, &text);
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
	_cleanup_notes_ struct notes notes = NOTES_INIT;
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
