/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Links, attributes, odd names, depth, number, and file systems that refuse a rename. */
#include "apply_world.h"

#include <linux/limits.h>
#include <sys/mount.h>

static bool refuse_renames; /* between the run's directory and the project, as quota trees and second mounts do */

int __wrap_fsync(int fd)
{
	return 0;
}

int __wrap_syncfs(int fd)
{
	return 0;
}

static bool is_in_project(int dirfd)
{
	char proc[64], path[PATH_MAX];
	(void)snprintf(proc, sizeof proc, "/proc/self/fd/%d", dirfd);
	ssize_t n = readlink(proc, path, sizeof path - 1);
	path[n > 0 ? n : 0] = '\0';
	return strstr(path, "/project") != NULL;
}

int __real_renameat2(int a, const char *b, int c, const char *d, unsigned flags);
int __wrap_renameat2(int a, const char *b, int c, const char *d, unsigned flags);
int __wrap_renameat2(int a, const char *b, int c, const char *d, unsigned flags)
{
	if (!refuse_renames || is_in_project(a) == is_in_project(c) || strcmp(b, "nothing") == 0)
		return __real_renameat2(a, b, c, d, flags);
	errno = EXDEV;
	return -1;
}

static int refuse_links_with;

int __real_linkat(int a, const char *b, int c, const char *d, int flags);
int __wrap_linkat(int a, const char *b, int c, const char *d, int flags);
int __wrap_linkat(int a, const char *b, int c, const char *d, int flags)
{
	if (!refuse_links_with)
		return __real_linkat(a, b, c, d, flags);
	errno = refuse_links_with;
	return -1;
}

/* ── Links ── */

static ino_t inode_of(const struct world *w, const char *path)
{
	struct stat st;
	return lstat(in_dir(w->project, path), &st) == 0 ? st.st_ino : 0;
}

static const struct node links_before[] = {
	{'f', "a", "shared"}, {'h', "b", "a"}, {'f', "c", "two names that both go"}, {'h', "d", "c"}, {0}};
static const struct node links_after[] = {
	{'f', "a", "no longer shared"}, {'h', "b", "a"}, {'f', "e", "made by the run"}, {'h', "f", "e"}, {0}};

static const char *splits_and_keeps_links(const char *dir)
{
	struct world w;
	EXPECT(world_make(&w, dir, links_before, links_after) == 0);
	/* only a was copied up */
	EXPECT_OK(&w, world_apply(&w, false));
	bool told = false;
	for (size_t i = 0; i < w.notes.n; i++)
		told |= w.notes.v[i].code == AIRLOCK_NOTE_LINK_SPLIT;
	EXPECT(told);
	EXPECT(inode_of(&w, "a") != inode_of(&w, "b") && inode_of(&w, "b") != 0);
	EXPECT(inode_of(&w, "e") == inode_of(&w, "f") && inode_of(&w, "e") != 0);
	EXPECT_OK(&w, world_apply(&w, true));
	EXPECT(refuse_renames || inode_of(&w, "a") == inode_of(&w, "b"));
	EXPECT(inode_of(&w, "c") == inode_of(&w, "d") && inode_of(&w, "c") != 0);
	EXPECT(refuse_renames || !world_differs(w.project, w.original));
	world_done(&w);
	return NULL;
}

static const char *links_when_copied(const char *dir)
{
	refuse_renames = true;
	return splits_and_keeps_links(dir);
}

static void links_are_split_or_kept(void **state)
{
	world_as_everyone(splits_and_keeps_links);
	world_as_everyone(links_when_copied);
}

/* New names of a file that was there, and stays as it is. */
static const struct node named_before[] = {{'f', "a", "text"}, {'d', "d"}, {'f', "new", "old"}, {0}};
static const struct node named_after[] = {{'f', "a", "text"},	   {'d', "d"}, {'h', "d/b", "a"}, {'h', "c", "a"},
					  {'f', "new", "not old"}, {0}};

static ino_t layer_inode_of(const struct world *w, const char *path)
{
	struct stat st;
	return lstat(in_dir(w->upper, path), &st) == 0 ? st.st_ino : 0;
}

static bool tells_split(const struct world *w)
{
	for (size_t i = 0; i < w->notes.n; i++) {
		const struct airlock_note *note = &w->notes.v[i];
		if (note->code == AIRLOCK_NOTE_LINK_NOT_MADE)
			return strcmp(note->subject, "c") == 0 && strcmp(note->other, "a") == 0 && note->number == 1;
	}
	return false;
}

static const char *names_are_given(const char *dir)
{
	struct world w;
	EXPECT(world_make(&w, dir, named_before, named_after) == 0);
	ino_t inode = inode_of(&w, "a");
	for (int i = 0; i < 2; i++) { /* done, undone, and once more from the record */
		EXPECT_OK(&w, world_apply(&w, false));
		EXPECT_SAME(w.project, w.expected);
		EXPECT(inode_of(&w, "a") == inode && inode_of(&w, "c") == inode && inode_of(&w, "d/b") == inode);
		EXPECT(world_reload(&w) == 0);
		EXPECT_OK(&w, world_apply(&w, true));
		EXPECT_SAME(w.project, w.original);
		EXPECT(inode_of(&w, "a") == inode);
		/* what is live is in no layer */
		EXPECT(layer_inode_of(&w, "c") != inode && layer_inode_of(&w, "c") == layer_inode_of(&w, "d/b"));
		EXPECT(world_reload(&w) == 0);
	}
	EXPECT(w.notes.n == 0);
	world_done(&w);
	return NULL;
}

static const char *names_are_given_when_copied(const char *dir)
{
	refuse_renames = true;
	return names_are_given(dir);
}

/* The file is another by now, or cannot get a name: content and mode are what the run made, in files of their own. */
static const char *names_are_split(const char *dir, void (*meanwhile)(const char *path))
{
	struct world w;
	EXPECT(world_make(&w, dir, named_before, named_after) == 0);
	meanwhile(in_dir(w.project, "a"));
	struct stat edited, made;
	(void)lstat(in_dir(w.project, "a"), &edited);
	EXPECT_OK(&w, world_apply(&w, false));
	EXPECT(tells_split(&w));
	EXPECT(inode_of(&w, "c") != inode_of(&w, "a") && inode_of(&w, "c") == inode_of(&w, "d/b"));
	EXPECT(lstat(in_dir(w.project, "c"), &made) == 0 && made.st_size == 4 && (made.st_mode & 07777) == 0644);
	EXPECT(lstat(in_dir(w.project, "a"), &made) == 0 && made.st_size == edited.st_size);
	EXPECT(made.st_ino == edited.st_ino && made.st_mode == edited.st_mode);
	refuse_links_with = 0;
	EXPECT_OK(&w, world_apply(&w, true));
	EXPECT(inode_of(&w, "c") == 0 && inode_of(&w, "d/b") == 0);
	world_done(&w);
	return NULL;
}

static void is_edited(const char *path)
{
	(void)put_file(path, "edited", 0644);
}

/* Of the same length, with the time put back. */
static void is_edited_in_secret(const char *path)
{
	(void)put_file(path, "TEXT", 0644);
	world_set_mtime(path, LIVE_TIME);
}

static void is_closed(const char *path)
{
	(void)chmod(path, 0600);
}

static void becomes_setuid(const char *path)
{
	(void)chmod(path, 04644);
}

static void has_too_many_names(const char *path)
{
	refuse_links_with = EMLINK;
}

static const char *split_edited(const char *dir)
{
	return names_are_split(dir, is_edited);
}

static const char *split_edited_in_secret(const char *dir)
{
	return names_are_split(dir, is_edited_in_secret);
}

static const char *split_closed(const char *dir)
{
	return names_are_split(dir, is_closed);
}

static const char *split_setuid(const char *dir)
{
	return names_are_split(dir, becomes_setuid);
}

static const char *split_refused(const char *dir)
{
	return names_are_split(dir, has_too_many_names);
}

static const char *split_gone(const char *dir)
{
	struct world w;
	EXPECT(world_make(&w, dir, named_before, named_after) == 0);
	EXPECT(unlink(in_dir(w.project, "a")) == 0 && symlink("new", in_dir(w.project, "a")) == 0);
	EXPECT_OK(&w, world_apply(&w, false));
	EXPECT(tells_split(&w));
	EXPECT(inode_of(&w, "c") != 0 && inode_of(&w, "c") != inode_of(&w, "new"));
	world_done(&w);
	return NULL;
}

static void new_names_are_given_or_split(void **state)
{
	world_as_everyone(names_are_given);
	world_as_everyone(names_are_given_when_copied);
	world_as_everyone(split_edited);
	world_as_everyone(split_edited_in_secret);
	world_as_everyone(split_closed);
	world_as_everyone(split_setuid);
	world_as_everyone(split_refused);
	world_as_everyone(split_gone);
}

/* ── What never becomes live ── */

static const struct node marks_before[] = {{'f', "was", "x"}, {'d', "d"}, {'f', "d/x", "x"}, {0}};
static const struct node marks_after[] = {{'f', "was", "y"}, {'f', "setuid", "x", 04755}, {'d', "d"}, {'f', "d/x", "y"},
					  {'d', "new"},	     {'p', "new/fifo"},		  {0}};

static bool has_marks(const char *path)
{
	char names[1024];
	ssize_t n = llistxattr(path, names, sizeof names);
	for (char *name = names; n > 0 && name < names + n; name += strlen(name) + 1)
		if (strstr(name, "overlay"))
			return true;
	return false;
}

static const char *drops_marks(const char *dir)
{
	struct world w;
	struct stat st;
	EXPECT(world_make(&w, dir, marks_before, marks_after) == 0);
	static const char *const marked[] = {"was", "setuid", "d", "new"};
	/* A tmpfs before Linux 6.6 has no such attributes: then there are no marks that could get out. */
	bool has_xattrs = setxattr(w.upper, "user.test", "x", 1, 0) == 0 && removexattr(w.upper, "user.test") == 0;
	EXPECT(has_xattrs || errno == EOPNOTSUPP);
	for (int i = 0; has_xattrs && i < 4; i++)
		EXPECT(setxattr(in_dir(w.upper, marked[i]), "user.overlay.origin", "x", 1, 0) == 0);
	EXPECT_OK(&w, world_apply(&w, false));
	for (int i = 0; i < 4; i++)
		EXPECT(!has_marks(in_dir(w.project, marked[i])));
	EXPECT(lstat(in_dir(w.project, "setuid"), &st) == 0 && (st.st_mode & 07777) == 0755);
	EXPECT(lstat(in_dir(w.project, "new/fifo"), &st) < 0); /* held */
	struct change *fifo = change_set_find(w.set, 0, "new/fifo");
	EXPECT(fifo && fifo->state == CHANGE_HELD);
	bool *selected = NULL;
	EXPECT_OK(&w, apply_select(w.set, (const char *const[]){"new/fifo", NULL}, false, &selected, &w.err));
	EXPECT_OK(&w, world_execute(&w, selected, false, false));
	free(selected);
	EXPECT(lstat(in_dir(w.project, "new/fifo"), &st) == 0 && S_ISFIFO(st.st_mode));
	EXPECT_OK(&w, world_apply(&w, true));
	EXPECT_SAME(w.project, w.original);
	world_done(&w);
	return NULL;
}

static const char *drops_marks_when_copied(const char *dir)
{
	refuse_renames = true;
	return drops_marks(dir);
}

static void marks_of_the_layer_stay_there(void **state)
{
	world_as_everyone(drops_marks);
	world_as_everyone(drops_marks_when_copied);
}

/* ── Names ── */

#define LONG_NAME                                                                                                      \
	"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"         \
	"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"         \
	"0123456789012345678901234567890123456789012345678901234"

static const struct node names_before[] = {
	{'f', "-rf", "x"}, {'f', "\xff\xfe", "x"}, {'d', "a\nb"},	 {'f', "a\nb/\x1b[31m", "x"},
	{'f', "%41", "x"}, {'f', " ", "x"},	   {'f', "gone\n", "x"}, {0}};
static const struct node names_after[] = {{'f', "-rf", "y"},
					  {'f', "\xff\xfe", "y"},
					  {'d', "a\nb"},
					  {'f', "a\nb/\x1b[31m", "y"},
					  {'f', "%41", "y"},
					  {'f', " ", "y"},
					  {'d', LONG_NAME},
					  {'f', LONG_NAME "/" LONG_NAME, "y"},
					  {0}};

static const char *any_name(const char *dir)
{
	struct world w;
	EXPECT(world_make(&w, dir, names_before, names_after) == 0);
	EXPECT_OK(&w, world_apply(&w, false));
	EXPECT_SAME(w.project, w.expected);
	EXPECT_OK(&w, world_reload(&w));
	EXPECT_OK(&w, world_apply(&w, true));
	EXPECT_SAME(w.project, w.original);
	world_done(&w);
	return NULL;
}

static const char *any_name_when_copied(const char *dir)
{
	refuse_renames = true;
	return any_name(dir);
}

static void names_are_bytes(void **state)
{
	world_as_everyone(any_name);
	world_as_everyone(any_name_when_copied);
}

/* ── Much ── */

static const struct node empty[] = {{0}};

/* The world without a layer; the caller fills that and scans. */
static int bare_world(struct world *w, const char *dir)
{
	world_paths(w, dir, dir);
	if (world_make_twins(w, empty, empty) < 0 || world_make_dirs(w) < 0 || world_make_tree(w->project, empty) < 0)
		return -1;
	w->set = change_set_new(WORLD_RUN);
	if (!w->set || change_set_add_root(w->set, w->project, w->upper, &w->err) < 0)
		return -1;
	w->set->started_ns = world_now(w->dir);
	return 0;
}

/* Each level costs its path. Both are longer than PATH_MAX, and without sanitizers, which make it five times slower, there
 * are more levels than descriptors. */
#ifdef AIRLOCK_SANITIZED
#define LEVEL "dddddddddddddddd"
#define DEPTH 300
#else
#define LEVEL "ddd"
#define DEPTH 1500
#endif
#define LONG_DEPTH 4000

static int nest(const char *base, int depth)
{
	int fd = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < depth && fd >= 0; i++) {
		int next = mkdirat(fd, LEVEL, 0755) < 0 ? -1 : openat(fd, LEVEL, O_PATH | O_DIRECTORY | O_CLOEXEC);
		(void)close(fd);
		fd = next;
	}
	int file = fd < 0 ? -1 : openat(fd, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	(void)close(fd);
	return file < 0 ? -1 : close(file);
}

static size_t count_entries(const char *path)
{
	_cleanup_walk_ struct fs_walk w = FS_WALK_INIT;
	size_t n = 0;
	int event = fs_walk_start(&w, open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	while (event >= 0 && (event = fs_walk_next(&w)) > 0) {
		n += event != FS_WALK_LEAVE;
		if (event == FS_WALK_DIR)
			(void)fs_walk_enter(&w);
	}
	return n;
}

static const char *deep(const char *dir)
{
	struct world w;
	int depth = getenv("AIRLOCK_TEST_LONG") ? LONG_DEPTH : DEPTH;
	EXPECT(bare_world(&w, dir) == 0 && nest(w.upper, depth) == 0);
	world_set_mtime(w.upper, LIVE_TIME - 1);
	EXPECT_OK(&w, change_scan(w.set, &w.notes, &w.err));
	EXPECT(w.set->n == (size_t)depth + 1);
	EXPECT(world_apply(&w, false) == depth + 1);
	EXPECT(count_entries(w.project) == (size_t)depth + 1);
	EXPECT(world_apply(&w, true) == depth + 1);
	EXPECT_SAME(w.project, w.original);
	EXPECT(count_entries(w.upper) == (size_t)depth + 1);
	world_done(&w);
	return NULL;
}

static const char *many(const char *dir)
{
	struct world w;
	char name[32];
	EXPECT(bare_world(&w, dir) == 0 && mkdir(in_dir(w.upper, "d"), 0755) == 0);
	for (int i = 0; i < 2000; i++) {
		(void)snprintf(name, sizeof name, "d/%d", i);
		EXPECT(put_file(in_dir(w.upper, name), name, 0644) == 0);
	}
	world_set_mtime(w.upper, LIVE_TIME - 1);
	EXPECT_OK(&w, change_scan(w.set, &w.notes, &w.err));
	EXPECT(world_apply(&w, false) == 2001);
	EXPECT(count_entries(w.project) == 2001);
	EXPECT(world_apply(&w, true) == 2001);
	EXPECT_SAME(w.project, w.original);
	world_done(&w);
	return NULL;
}

static const char *many_when_copied(const char *dir)
{
	refuse_renames = true;
	return many(dir);
}

static void trees_may_be_deep_and_wide(void **state)
{
	world_as_everyone(deep);
	world_as_everyone(many);
	world_as_everyone(many_when_copied);
}

/* ── Large and sparse ── */

#define HOLE ((off_t)5 << 30)

static const char *sparse(const char *dir)
{
	struct world w;
	struct stat st;
	char data[5] = "";
	refuse_renames = true; /* copied */
	EXPECT(bare_world(&w, dir) == 0);
	int fd = open(in_dir(w.upper, "big"), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	EXPECT(fd >= 0 && pwrite(fd, "data", 4, HOLE) == 4 && ftruncate(fd, HOLE + 100000) == 0);
	(void)close(fd);
	EXPECT_OK(&w, change_scan(w.set, &w.notes, &w.err));
	EXPECT_OK(&w, world_apply(&w, false));
	fd = open(in_dir(w.project, "big"), O_RDONLY | O_CLOEXEC);
	EXPECT(fd >= 0 && fstat(fd, &st) == 0 && st.st_size == HOLE + 100000 && st.st_blocks < 1000);
	EXPECT(pread(fd, data, 4, HOLE) == 4 && strcmp(data, "data") == 0);
	(void)close(fd);
	world_done(&w);
	return NULL;
}

static void holes_stay_holes(void **state)
{
	world_as_everyone(sparse);
}

/* ── Where before-images are ── */

static bool has_content(const char *path, const char *wanted)
{
	_cleanup_buf_ struct buf b = BUF_INIT;
	return fs_read_file(path, 100, &b, NULL) == 0 && strcmp(buf_str(&b), wanted) == 0;
}

static const struct node place_before[] = {{'f', "a", "old a"}, {'f', "b", "old b"}, {'l', "c", "old"}, {0}},
			 place_after[] = {{'f', "a", "new a"}, {'f', "b", "new b"}, {'l', "c", "new"}, {0}};

/* An apply leaves them in the layer; earlier versions moved all of them to before/, and so does undo. */
static const char *images_in_both_places(const char *dir)
{
	struct world w;
	char slot[64];
	EXPECT(world_make(&w, dir, place_before, place_after) == 0);
	EXPECT_OK(&w, world_apply(&w, false));
	EXPECT_SAME(w.project, w.expected);
	const struct change *b = change_set_find(w.set, 0, "b");
	EXPECT(b && b->slot && has_content(in_dir(w.upper, "a"), "old a") &&
	       has_content(in_dir(w.upper, "b"), "old b"));
	(void)snprintf(slot, sizeof slot, "before/%llu", (unsigned long long)b->slot);
	EXPECT(rename(in_dir(w.upper, "b"), in_dir(w.run, slot)) == 0);
	EXPECT_OK(&w, world_reload(&w));
	refuse_renames = true; /* copied */
	EXPECT_OK(&w, world_apply(&w, true));
	EXPECT_SAME(w.project, w.original);
	EXPECT(has_content(in_dir(w.upper, "a"), "new a") && has_content(in_dir(w.upper, "b"), "new b"));
	refuse_renames = false;
	EXPECT_OK(&w, world_apply(&w, false));
	EXPECT_SAME(w.project, w.expected);
	EXPECT_OK(&w, world_apply(&w, true));
	EXPECT_SAME(w.project, w.original);
	world_done(&w);
	return NULL;
}

/* Something else in its place is not taken for one. */
static const char *image_lost(const char *dir)
{
	struct world w;
	EXPECT(world_make(&w, dir, place_before, place_after) == 0);
	EXPECT_OK(&w, world_apply(&w, false));
	EXPECT(put_file(in_dir(w.upper, "other"), "other", 0644) == 0);
	EXPECT(rename(in_dir(w.upper, "other"), in_dir(w.upper, "a")) == 0);
	EXPECT(world_apply(&w, true) == AIRLOCK_ERR_NOT_FOUND);
	EXPECT_SAME(w.project, w.expected);
	world_done(&w);
	return NULL;
}

static void before_images_are_found_where_they_are(void **state)
{
	world_as_everyone(images_in_both_places);
	world_as_everyone(image_lost);
}

/* ── Looking ── */

/* I2: not even the time of the last access tells that a file was compared. */
static const char *compared_unseen(const char *dir)
{
	struct world w;
	struct stat st;
	const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 2000}};
	EXPECT(bare_world(&w, dir) == 0);
	EXPECT(put_file(in_dir(w.project, "x"), "old", 0644) == 0 && put_file(in_dir(w.upper, "x"), "new", 0644) == 0);
	EXPECT(utimensat(AT_FDCWD, in_dir(w.project, "x"), times, 0) == 0);
	EXPECT_OK(&w, change_scan(w.set, &w.notes, &w.err));
	EXPECT(w.set->n == 1 && w.set->v[0].kind == CHANGE_MODIFIED);
	EXPECT(stat(in_dir(w.project, "x"), &st) == 0 && st.st_atim.tv_sec == 1000);
	world_done(&w);
	return NULL;
}

static void looking_leaves_no_trace(void **state)
{
	world_as_everyone(compared_unseen);
}

/* ── Two roots ── */

static const char *two_roots(const char *dir)
{
	struct world w;
	EXPECT(world_make(&w, dir, marks_before, marks_after) == 0);
	const char *root = in_dir(dir, "second"), *upper = in_dir(w.uppers, "overlay1");
	EXPECT(mkdir(root, 0755) == 0 && mkdir(upper, 0755) == 0);
	EXPECT(put_file(in_dir(root, "a"), "old", 0644) == 0 && put_file(in_dir(upper, "a"), "new", 0644) == 0);
	change_set_free(w.set);
	w.set = change_set_new(WORLD_RUN);
	EXPECT_OK(&w, change_set_add_root(w.set, w.project, w.upper, &w.err));
	EXPECT_OK(&w, change_set_add_root(w.set, root, upper, &w.err));
	w.set->started_ns = world_now(dir);
	EXPECT_OK(&w, change_scan(w.set, &w.notes, &w.err));
	EXPECT_OK(&w, change_set_save(w.set, w.record, &w.err));
	bool *selected = NULL;
	EXPECT_OK(&w, apply_select(w.set, (const char *const[]){in_dir(root, "a"), NULL}, false, &selected, &w.err));
	EXPECT(world_execute(&w, selected, false, false) == 1);
	free(selected);
	EXPECT_SAME(w.project, w.original);
	EXPECT_OK(&w, world_apply(&w, false));
	struct stat st;
	EXPECT(stat(in_dir(w.project, "setuid"), &st) == 0 && stat(in_dir(root, "a"), &st) == 0);
	EXPECT_OK(&w, world_apply(&w, true));
	EXPECT_SAME(w.project, w.original);
	world_done(&w);
	return NULL;
}

static void a_run_may_have_several_roots(void **state)
{
	world_as_everyone(two_roots);
}

/* ── A container's image ── */

static const struct node image_before[] = {{'d', "gone"},
					   {'f', "gone/a", "a"},
					   {'d', "gone/b"},
					   {'d', "file", NULL, 0700, "x"},
					   {'f', "file/c", "c"},
					   {'f', "dir", "d"},
					   {'d', "stays"},
					   {'f', "stays/e", "e"},
					   {0}};
static const struct node image_after[] = {{'f', "file", "now a file"}, {'d', "dir"},
					  {'f', "dir/f", "f"},	       {'d', "stays"},
					  {'f', "stays/e", "changed"}, {0}};

/* The project is in the lower layer of an overlay: its directories cannot be renamed. */
static int mount_image(const char *dir, const char *lower)
{
	char options[2048];
	const char *upper = in_dir(dir, "image-upper"), *work = in_dir(dir, "image-work"),
		   *merged = in_dir(dir, "image");
	if (mkdir(upper, 0755) < 0 || mkdir(work, 0755) < 0 || mkdir(merged, 0755) < 0)
		return -1;
	(void)snprintf(options, sizeof options, "lowerdir=%s,upperdir=%s,workdir=%s,redirect_dir=off", lower, upper,
		       work);
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -1;
	return mount("overlay", merged, "overlay", 0, options);
}

static const char *in_an_image(const char *dir)
{
	struct world w;
	const char *lower = in_dir(dir, "image-lower");
	EXPECT(mkdir(lower, 0755) == 0);
	world_paths(&w, dir, dir);
	EXPECT(world_make_twins(&w, image_before, image_after) == 0);
	EXPECT(mkdir(in_dir(lower, "project"), 0755) == 0);
	EXPECT(world_make_tree(in_dir(lower, "project"), image_before) == 0);
	if (geteuid() != 0 || mount_image(dir, lower) < 0)
		return NULL; /* needs: root, and an overlay here */
	w.project = world_path(&w, dir, "image/project");
	EXPECT((mkdir(w.state, 0700) | mkdir(w.runs, 0700) | mkdir(w.run, 0700) | mkdir(w.uppers, 0700) |
		mkdir(w.upper, 0755)) == 0);
	w.set = change_set_new(WORLD_RUN);
	EXPECT_OK(&w, change_set_add_root(w.set, w.project, w.upper, &w.err));
	w.set->started_ns = world_now(dir);
	EXPECT(world_make_layer(w.upper, image_before, image_after) == 0);
	EXPECT_OK(&w, change_scan(w.set, &w.notes, &w.err));
	EXPECT_OK(&w, world_apply(&w, false));
	EXPECT_SAME(w.project, w.expected);
	EXPECT_OK(&w, world_apply(&w, true));
	EXPECT_SAME(w.project, w.original);
	world_done(&w);
	(void)umount2(in_dir(dir, "image"), MNT_DETACH);
	return NULL;
}

static void directories_of_an_image_can_go(void **state)
{
	world_as_everyone(in_an_image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_are_split_or_kept),
		cmocka_unit_test(new_names_are_given_or_split),
		cmocka_unit_test(marks_of_the_layer_stay_there),
		cmocka_unit_test(names_are_bytes),
		cmocka_unit_test(trees_may_be_deep_and_wide),
		cmocka_unit_test(holes_stay_holes),
		cmocka_unit_test(before_images_are_found_where_they_are),
		cmocka_unit_test(looking_leaves_no_trace),
		cmocka_unit_test(a_run_may_have_several_roots),
		cmocka_unit_test(directories_of_an_image_can_go),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
