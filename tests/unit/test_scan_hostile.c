/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The scan against what a hostile command may leave and what a live tree may be like: layers made by hand, symlinks that
 * lead away, names, locked directories, mounts. As root and as an ordinary user. */
#include "scan_world.h"

#include <sys/xattr.h>

/* ── Layers made by hand ── */

static const char *check_whiteout_forms(const char *dir)
{
	EXPECT(world_make(dir,
			  "echo 1 >a; mkdir d x; echo 1 >d/f; echo 2 >x/f; echo 3 >x/g; mkdir x/h; echo 4 >x/h/i") ==
	       0);
	EXPECT(world_host(dir, "cp -a lower/x upper/x; rm -r upper/x/*; : >upper/x/f; : >upper/x/h; : >upper/x/n; "
			       "touch -d @1 upper/x/g; touch -r lower/x upper/x") == 0);
	EXPECT(mknod(in_dir(dir, "upper/a"), S_IFCHR, 0) == 0 && mknod(in_dir(dir, "upper/d"), S_IFCHR, 0) == 0);
	EXPECT(mknod(in_dir(dir, "upper/nothing"), S_IFCHR, 0) == 0);
	EXPECT(setxattr(in_dir(dir, "upper/x"), "user.overlay.opaque", "x", 1, 0) == 0);
	EXPECT(setxattr(in_dir(dir, "upper/x/f"), "user.overlay.whiteout", "y", 1, 0) == 0);
	EXPECT(setxattr(in_dir(dir, "upper/x/h"), "user.overlay.whiteout", "y", 1, 0) == 0);
	EXPECT(setxattr(in_dir(dir, "upper/x/n"), "user.overlay.whiteout", "y", 1, 0) == 0);
	EXPECT(strcmp(world_found(dir), "Df a\nDd d\nDf d/f\nDf x/f\nMf x/g\nDd x/h\nDf x/h/i") == 0);
	return NULL;
}

static void both_forms_of_whiteouts(void **state)
{
	as_everyone(check_whiteout_forms);
}

/* A whiteout in an opaque directory is not reported twice, and hiding goes on below. */
static const char *check_opaque_below(const char *dir)
{
	EXPECT(world_make(dir, "umask 022; mkdir -p d/e/k; echo 1 >d/f; echo 1 >d/e/g; echo 1 >d/e/k/x") == 0);
	EXPECT(world_host(dir, "umask 022; mkdir -p upper/d/e/k") == 0);
	EXPECT(mknod(in_dir(dir, "upper/d/f"), S_IFCHR, 0) == 0);
	EXPECT(setxattr(in_dir(dir, "upper/d"), "user.overlay.opaque", "y", 1, 0) == 0);
	EXPECT(strcmp(world_found(dir), "Df d/e/g\nDf d/e/k/x\nDf d/f") == 0);
	return NULL;
}

static void an_opaque_directory_hides_all_below(void **state)
{
	as_everyone(check_opaque_below);
}

/* Everything a symlink of the layer leads to would be reported, or hang, if it were followed. */
static const char *check_symlinks(const char *dir)
{
	EXPECT(world_make(dir, "mkdir d e; echo 1 >d/f; echo 1 >e/f; echo 1 >f; mkfifo hang") == 0);
	EXPECT(world_shell(dir,
			   "rm -r d e f; ln -s ../lower/e d; ln -s / e; ln -s hang f; ln -s .. up; ln -s self self; "
			   "mkdir n; ln -s /proc/self/root n/root; ln -s . n/here") == 0);
	EXPECT(strcmp(world_found(dir),
		      "Tl d\nDf d/f\nTl e\nDf e/f\nTl f\nAd n\nAl n/here\nAl n/root\nAl self\nAl up") == 0);
	return NULL;
}

static void symlinks_of_the_layer_are_not_followed(void **state)
{
	as_everyone(check_symlinks);
}

/* The other way: a live symlink where the layer has a directory, as when somebody swapped it meanwhile. */
static const char *check_live_symlinks(const char *dir)
{
	EXPECT(world_make(dir, "mkdir d away; echo 1 >d/f; echo 1 >away/f; echo 1 >away/g") == 0);
	EXPECT(world_shell(dir, "echo 2 >d/f; rm -r away; mkdir away") == 0);
	EXPECT(world_host(dir, "mkdir host; echo 9 >host/f; echo 9 >host/secret; cd lower; mv d old; ln -s ../host d; "
			       "rm -r away; ln -s ../host away") == 0);
	EXPECT(strcmp(world_found(dir), "Td away\nTd d\nAf d/f") == 0);
	return NULL;
}

static void symlinks_of_the_live_tree_are_not_followed(void **state)
{
	as_everyone(check_live_symlinks);
}

/* ── Names ── */

static const char *const nasty_names[] = {
	"new\nline", "\x1b[31mred", "\xff\xfe", "-rf",	"--",	 " ",	     "  two ",
	"%41",	     "a\\b",	    "...",	"\x01", "tab\t", "'\"$`;*?", "\xe2\x80\xae.exe",
};

static int write_names(const void *arg)
{
	char longest[256];
	memset(longest, 'L', 255);
	longest[255] = '\0';
	for (size_t i = 0; i < AL_ARRAY_LEN(nasty_names); i++) {
		char below[64];
		(void)snprintf(below, sizeof below, "%s/%s", nasty_names[i], nasty_names[i]);
		if (mkdir(nasty_names[i], 0755) < 0 || put_file(below, "1", 0644) < 0)
			return 1;
	}
	return put_file(longest, "1", 0644) < 0 || unlink("\xfdgone\n") < 0;
}

static const char *check_names(const char *dir)
{
	char longest[256];
	memset(longest, 'L', 255);
	longest[255] = '\0';
	EXPECT(world_make(dir, "echo gone >\"$(printf '\\375gone\\n.')\"; for f in *; do mv \"$f\" \"${f%.}\"; done") ==
	       0);
	EXPECT(world_call(dir, write_names, NULL) == 0);
	_cleanup_changes_ struct change_set *set = world_scan(dir);
	EXPECT(set && set->n == 2 * AL_ARRAY_LEN(nasty_names) + 2);
	for (size_t i = 0; i < AL_ARRAY_LEN(nasty_names); i++) {
		char below[64];
		(void)snprintf(below, sizeof below, "%s/%s", nasty_names[i], nasty_names[i]);
		const struct change *c = change_set_find(set, 0, nasty_names[i]);
		EXPECT(c && c->kind == CHANGE_ADDED && c->type == CHANGE_DIRECTORY);
		EXPECT((c = change_set_find(set, 0, below)) && c->type == CHANGE_FILE);
	}
	EXPECT(change_set_find(set, 0, longest) && change_set_find(set, 0, "\xfdgone\n")->kind == CHANGE_DELETED);
	return NULL;
}

static void names_are_bytes(void **state)
{
	as_everyone(check_names);
}

/* ── Modes ── */

static char *modes_in(const char *dir)
{
	struct buf b = BUF_INIT;
	static const char *const names[] = {"upper/d", "upper/f", "upper/g", "upper/i", "upper/n"};
	for (size_t i = 0; i < AL_ARRAY_LEN(names); i++) {
		struct stat st;
		bool there = lstat(in_dir(dir, names[i]), &st) == 0;
		buf_printf(&b, "%s %o\n", names[i], there ? (unsigned)st.st_mode : 0);
	}
	return buf_take(&b);
}

static const char *check_locked_layer(const char *dir)
{
	EXPECT(world_make(dir, "umask 022; mkdir -p d/e; echo 1 >d/e/f; echo 2 >f; echo 3 >g; echo 4 >h") == 0);
	EXPECT(setxattr(in_dir(dir, "lower/g"), "user.x", "1", 1, 0) == 0);
	EXPECT(world_shell(dir, "echo 9 >d/e/f; mkdir -p n/m; echo 5 >n/m/o; chmod 0 n/m/o n/m n d/e/f d/e d f g; "
				"rm h; echo 4 >i; chmod 0 i; chmod 0 .") == 0);
	EXPECT(chmod(in_dir(dir, "upper"), 0700) == 0);
	_cleanup_free_ char *before = modes_in(dir);
	EXPECT(chmod(in_dir(dir, "upper"), 0) == 0);
	EXPECT(strcmp(world_found(dir), "md d\nmd d/e\nMf d/e/f\nmf f\nmf g\nRf i <- h\nAd n\nAd n/m\nAf n/m/o") == 0);
	struct stat st;
	EXPECT(lstat(in_dir(dir, "upper"), &st) == 0 && (st.st_mode & 07777) == 0);
	EXPECT(chmod(in_dir(dir, "upper"), 0700) == 0);
	_cleanup_free_ char *after = modes_in(dir);
	EXPECT(strcmp(before, after) == 0);
	EXPECT(chmod(in_dir(dir, "upper/n"), 0700) == 0 && lstat(in_dir(dir, "upper/n/m"), &st) == 0);
	EXPECT((st.st_mode & 07777) == 0);
	EXPECT(world_host(dir, "chmod -R u+rwx upper") == 0);
	return NULL;
}

static void a_locked_layer_is_read_and_locked_again(void **state)
{
	as_everyone(check_locked_layer);
}

/* What the user may not read themselves is told, not guessed, and stops nothing. */
static const char *check_locked_live(const char *dir)
{
	_cleanup_notes_ struct notes notes = NOTES_INIT;
	struct airlock_error err = {0};
	EXPECT(world_make(dir, "mkdir -p a/b s u; echo 1 >a/b/f; echo 1 >s/f; echo 5 >s/g; echo 1 >u/f; echo 2 >r; "
			       "echo 3 >ok") == 0);
	EXPECT(world_host(dir, "cd lower; chmod 0 u/f a/b s r") == 0);
	EXPECT(world_shell(dir, "chmod 700 a/b; rm -r a; chmod 755 s; echo 2 >s/f; rm s/g; echo new >s/n; chmod 644 r; "
				"echo 4 >ok") == 0);
	_cleanup_changes_ struct change_set *set = world_scan_notes(dir, &notes, &err);
	EXPECT(set && change_set_find(set, 0, "ok")->kind == CHANGE_MODIFIED);
	EXPECT(change_set_find(set, 0, "a/b") && change_set_find(set, 0, "s/n")->kind == CHANGE_ADDED);
	EXPECT(change_set_find(set, 0, "s")->kind == CHANGE_METADATA && change_set_find(set, 0, "r"));
	EXPECT(change_set_find(set, 0, "s/g")->kind == CHANGE_DELETED);
	if (geteuid() != 0) {
		EXPECT(notes.n == 3 && change_set_find(set, 0, "s/g")->type == CHANGE_OTHER);
		EXPECT(strcmp(notes.v[0].cause, "Permission denied") == 0);
		EXPECT(change_set_find(set, 0, "s/f")->kind == CHANGE_MODIFIED);
	} else {
		EXPECT(notes.n == 0 && change_set_find(set, 0, "a/b/f"));
	}
	EXPECT(world_host(dir, "chmod -R u+rwx lower upper") == 0);
	return NULL;
}

static void a_locked_live_tree_is_noted(void **state)
{
	as_everyone(check_locked_live);
}

static const char *check_many_notes(const char *dir)
{
	_cleanup_notes_ struct notes notes = NOTES_INIT;
	struct airlock_error err = {0};
	if (geteuid() == 0)
		return NULL;
	EXPECT(world_make(dir, "for i in $(seq 200); do mkdir d$i; done") == 0);
	EXPECT(world_host(dir, "chmod 0 lower/d*") == 0);
	EXPECT(world_shell(dir, "rmdir *") == 0);
	_cleanup_changes_ struct change_set *set = world_scan_notes(dir, &notes, &err);
	EXPECT(set && set->n == 200 && notes.n == 51);
	EXPECT(notes.v[50].code == AIRLOCK_NOTE_UNREAD_MORE && notes.v[50].number == 150);
	EXPECT(world_host(dir, "chmod 700 lower/*") == 0);
	return NULL;
}

static void notes_are_bounded(void **state)
{
	as_everyone(check_many_notes);
}

/* Mounted over by somebody: what is beneath cannot be compared. */
static const char *check_mount(const char *dir)
{
	_cleanup_notes_ struct notes notes = NOTES_INIT;
	struct airlock_error err = {0};
	EXPECT(world_make(dir, "mkdir -p m d/m e; echo 1 >m/f; echo 1 >d/m/f; echo 1 >d/g") == 0);
	EXPECT(world_shell(dir, "echo 2 >m/f; rm -r d; echo 3 >f") == 0);
	EXPECT(enter_user_namespace() == 0 && unshare(CLONE_NEWNS) == 0);
	EXPECT(mount("none", in_dir(dir, "lower/m"), "tmpfs", 0, NULL) == 0);
	EXPECT(mount("none", in_dir(dir, "lower/d/m"), "tmpfs", 0, NULL) == 0);
	_cleanup_changes_ struct change_set *set = world_scan_notes(dir, &notes, &err);
	EXPECT(set && set->n == 4 && change_set_find(set, 0, "f") && change_set_find(set, 0, "d/g"));
	EXPECT(change_set_find(set, 0, "d/m") && !change_set_find(set, 0, "m/f"));
	EXPECT(notes.n == 2 && notes.v[0].code == AIRLOCK_NOTE_CHANGES_LEFT_OUT && !notes.v[0].cause);
	EXPECT(umount(in_dir(dir, "lower/m")) == 0 && umount(in_dir(dir, "lower/d/m")) == 0);
	return NULL;
}

static void a_mount_in_the_live_tree_is_noted(void **state)
{
	as_everyone(check_mount);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_forms_of_whiteouts),
		cmocka_unit_test(an_opaque_directory_hides_all_below),
		cmocka_unit_test(symlinks_of_the_layer_are_not_followed),
		cmocka_unit_test(symlinks_of_the_live_tree_are_not_followed),
		cmocka_unit_test(names_are_bytes),
		cmocka_unit_test(a_locked_layer_is_read_and_locked_again),
		cmocka_unit_test(a_locked_live_tree_is_noted),
		cmocka_unit_test(notes_are_bounded),
		cmocka_unit_test(a_mount_in_the_live_tree_is_noted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
