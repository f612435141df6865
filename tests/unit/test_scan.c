/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The scan against real overlays and hand-made layers, as root and as an ordinary user. */
#include "scan_world.h"

#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>

/* ── A table: what is there, what the command does, what is reported ── */

struct scan_case {
	const char *lower, *command, *expected;
};

#define F "echo old >f; "
#define D "mkdir -p d/e; echo 1 >d/a; echo 2 >d/e/b; "
#define OLD " -d '2001-02-03 04:05:06.123456789'"

static const struct scan_case cases[] = {
	/* nothing */
	{F, "cat f >/dev/null", ""},
	{F, ": >>f", ""},
	{F, "chmod 600 f; chmod 644 f", ""},
	{F, "echo old >f; touch" OLD " f", ""},
	{F, "mv f g; mv g f", ""},
	{F, "echo 1 >t; rm t", ""},
	{D, "chmod 700 d; chmod 755 d", ""},
	{"ln -s t l", "mv l k; mv k l", ""},
	{"", "mkdir -p a/b; rmdir a/b a", ""},
	/* files */
	{"", "echo 1 >f", "Af f"},
	{"", ": >f", "Af f"},
	{F, "echo new >f", "Mf f"},
	{F, "echo more >>f", "Mf f"},
	{F, "echo new >f; touch" OLD " f", "Mf f"},
	{F, "echo old >g; mv g f; touch" OLD " f", ""},
	{F, ": >f", "Mf f"},
	{F, "touch -d 2002-02-02 f", "mf f"},
	{F, "chmod 755 f", "mf f"},
	{F, "sed -i s/old/new/ f", "Mf f"},
	{F, "rm f", "Df f"},
	{F, "rm f; echo new >f", "Mf f"},
	{F, "ln f g", "Af g"},
	{F, "ln f g; echo new >g", "Mf f\nAf g"},
	/* symlinks */
	{"ln -s t l", "ln -sfn u l; touch -h" OLD " l", "Ml l"},
	{"ln -s t l", "touch -h -d 2002-02-02 l", "ml l"},
	{"ln -s t l", "rm l", "Dl l"},
	{"", "ln -s /etc l", "Al l"},
	/* directories */
	{D, "rm -r d", "Dd d\nDf d/a\nDd d/e\nDf d/e/b"},
	{D, "rm -r d; mkdir d", "Df d/a\nDd d/e\nDf d/e/b"},
	{D, "rm -r d; mkdir -m 700 d", "md d opaque\nDf d/a\nDd d/e\nDf d/e/b"},
	{D, "cp -a d k; rm -r d; mv k d", ""},
	{D, "cp -a d k; rm -r d; mv k d; rm d/e/b; echo x >d/n", "Df d/e/b\nAf d/n"},
	{D, "rm -r d; mkdir -p d/e; echo 9 >d/e/b", "Df d/a\nMf d/e/b"},
	{D, "rm -r d/e; mkdir d/e", "Df d/e/b"},
	{D, "touch -d 2002-02-02 d", ""},
	{D, "chmod 700 d/e", "md d/e"},
	{D, "echo 1 >d/t; rm d/t", ""},
	{D, "echo 1 >d/n; touch -d 2002-02-02 d", "Af d/n"},
	{D, "echo 1 >d/n; chmod 711 d", "md d\nAf d/n"},
	{"", "mkdir -p x/y; echo 1 >x/y/z", "Ad x\nAd x/y\nAf x/y/z"},
	/* renames */
	{F, "mv f g", "Rf g <- f"},
	{F, "mv f g; chmod 600 g; touch g", "Rf g <- f"},
	{F, "mv f g; echo more >>g", "Df f\nAf g"},
	{F, "cp f g; rm f", "Rf g <- f"},
	{F, "cp f g; cp f h; rm f", "Rf g <- f\nAf h"},
	{"ln -s t l", "mv l k", "Rl k <- l"},
	{"ln -s t l", "rm l; ln -s u k", "Al k\nDl l"},
	{D, "mv d k", "Dd d\nDd d/e\nAd k\nRf k/a <- d/a\nAd k/e\nRf k/e/b <- d/e/b"},
	{D, "mkdir k; mv d/a k/a; mv d/e/b k/c", "Ad k\nRf k/a <- d/a\nRf k/c <- d/e/b"},
	{": >f; mkdir d", "rm f; : >g; : >d/f", "Rf d/f <- f\nAf g"},
	{"mkdir a b; echo 1 >a/x; echo 1 >b/y", "mkdir c; mv b/y c/y; mv a/x c/x",
	 "Ad c\nRf c/x <- a/x\nRf c/y <- b/y"},
	{"echo 1 >a; echo 1 >b", "rm a b; echo 1 >c; echo 1 >d", "Rf c <- a\nRf d <- b"},
	{"echo 1 >x", "rm x; mkdir a b; echo 1 >a/y; echo 1 >b/x", "Ad a\nAf a/y\nAd b\nRf b/x <- x"},
	/* types */
	{F, "rm f; mkdir f; echo 1 >f/x", "Td f\nAf f/x"},
	{F, "rm f; ln -s t f", "Tl f"},
	{D, "rm -r d; echo 1 >d", "Tf d\nDf d/a\nDd d/e\nDf d/e/b"},
	{D, "rm -r d; ln -s /etc d", "Tl d\nDf d/a\nDd d/e\nDf d/e/b"},
	{"ln -s d l; mkdir d; echo 1 >d/x", "rm l; mkdir l; echo 1 >l/x", "Td l\nAf l/x"},
	{"ln -s f l", "rm l; echo 1 >l", "Tf l"},
	/* what is not applied */
	{"", "mkfifo p", "Ao p (a named pipe is not applied by itself)"},
	{F, "rm f; mkfifo f", "To f (a named pipe is not applied by itself)"},
	{"mkfifo p", "chmod 600 p", "mo p (a named pipe is not applied by itself)"},
	{"mkfifo p", "chmod 600 p; chmod 644 p", ""},
	{"mkfifo p", "rm p; echo 1 >p", "Tf p"},
	{"mkfifo p", "rm p", "Do p"},
	{"", "cp /bin/true f; chmod 4755 f", "Af f (setuid bit dropped)"},
	{F, "chmod 4644 f", "mf f (setuid bit dropped)"},
	{F, "chmod 2755 f", "mf f (setgid bit dropped)"},
	{F, "echo new >f; chmod 6755 f", "Mf f (setuid and setgid bits dropped)"},
	{F "chmod 4755 f", "touch -d 2002-02-02 f", "mf f"},
	{F "chmod 4755 f", "echo new >f; chmod 4755 f", "Mf f (setuid bit dropped)"},
	{F "chmod 4755 f", "mv f g", "Rf g <- f"},
	{F "chmod 4755 f", "chmod 755 f", "mf f"},
	{D, "chmod 2755 d", "md d"},
};

static const char *check_case(const struct scan_case *c, const char *dir)
{
	static char text[2048];
	char lower[1024], command[1024];
	(void)snprintf(lower, sizeof lower, "umask 022; %s", c->lower);
	(void)snprintf(command, sizeof command, "umask 022; %s", c->command);
	EXPECT(world_make(dir, lower) == 0);
	const char *found = world_shell(dir, command) == 0 ? world_found(dir) : "the command failed";
	(void)snprintf(text, sizeof text, "'%s' on '%s': expected\n%s\nfound\n%s", c->command, c->lower, c->expected,
		       found);
	return strcmp(found, c->expected) != 0 ? text : NULL;
}

static const char *check_table(const char *dir)
{
	const char *wrong = NULL;
	for (size_t i = 0; !wrong && i < AL_ARRAY_LEN(cases); i++) {
		char place[128];
		(void)snprintf(place, sizeof place, "%s/case%zu", dir, i);
		wrong = check_case(&cases[i], place);
	}
	return wrong;
}

static void every_case_of_the_table(void **state)
{
	as_everyone(check_table);
}

/* ── Every type on every other, held against a plain comparison of the two trees ── */

static const char matrix_functions[] =
	"umask 022;"
	"file() { echo $2 >$1; }; empty() { mkdir $1; }; link() { ln -s $2 $1; }; fifo() { mkfifo $1; }; none() { :; };"
	"full() { mkdir -p $1/sub/deep $1/same; echo $2 >$1/f; echo x >$1/same/x; echo $2 >$1/sub/deep/g; ln -s $2 "
	"$1/sub/l; "
	"};"
	"types='file empty full link fifo none';";

static const char *check_matrix(const char *dir)
{
	char lower[2048], command[2048];
	(void)snprintf(
		lower, sizeof lower,
		"%s for a in $types; do for b in $types; do mkdir -p n/$a-$b; $a flat-$a-$b old; $a n/$a-$b/x old; "
		"echo k >n/$a-$b/keep; done; done",
		matrix_functions);
	(void)snprintf(command, sizeof command,
		       "%s for a in $types; do for b in $types; do rm -rf flat-$a-$b n/$a-$b/x; $b flat-$a-$b new; "
		       "$b n/$a-$b/x new; done; done",
		       matrix_functions);
	EXPECT(world_make(dir, lower) == 0);
	EXPECT(world_shell_kept(dir, command) == 0);
	return world_disagreement(dir);
}

static void every_type_on_every_type(void **state)
{
	as_everyone(check_matrix);
}

/* ── Random commands, held against the same comparison ── */

static uint64_t seed;

static unsigned pick(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 16) % n;
}

static const char *some_path(void)
{
	static char paths[4][64];
	static unsigned next;
	char *p = paths[next++ % 4];
	p[0] = '\0';
	for (unsigned depth = pick(3) + 1; depth > 0; depth--)
		(void)snprintf(p + strlen(p), 64 - strlen(p), "%s%c", *p ? "/" : "", "abc"[pick(3)]);
	return p;
}

static void add_operation(struct buf *script)
{
	const char *p = some_path(), *q = some_path();
	buf_adds(script, "{ ");
	switch (pick(11)) {
	case 0:
	case 1:
		buf_printf(script, "echo %u >%s", pick(3), p);
		break;
	case 2:
		buf_printf(script, "mkdir -p %s", p);
		break;
	case 3:
		buf_printf(script, "rm -rf %s", p);
		break;
	case 4:
		buf_printf(script, "mv -T %s %s", p, q);
		break;
	case 5:
		buf_printf(script, "ln -sfn %s %s", q, p);
		break;
	case 6:
		buf_printf(script, "chmod %s %s", pick(2) ? "755" : "700", p);
		break;
	case 7:
		buf_printf(script, "touch -h -d 2003-03-0%u %s", pick(9) + 1, p);
		break;
	case 8:
		buf_printf(script, "cp -a %s %s", p, q);
		break;
	case 9:
		buf_printf(script, "ln %s %s", p, q);
		break;
	default:
		buf_printf(script, "rm -rf %s; mkdir %s", p, p);
	}
	buf_adds(script, "; } 2>/dev/null || :\n");
}

static char *some_script(unsigned n)
{
	struct buf b = BUF_INIT;
	buf_adds(&b, "umask 022\n");
	for (unsigned i = 0; i < n; i++)
		add_operation(&b);
	return buf_take(&b);
}

static bool is_long(void)
{
	return getenv("AIRLOCK_TEST_LONG") != NULL;
}

static const char *check_random_run(const char *dir, uint64_t run)
{
	static char text[8192];
	seed = run * UINT64_C(0x9e3779b97f4a7c15) + geteuid();
	_cleanup_free_ char *lower = some_script(12), *command = some_script(15);
	EXPECT(world_make(dir, lower) == 0);
	EXPECT(world_shell_kept(dir, command) == 0);
	const char *wrong = world_disagreement(dir);
	(void)snprintf(text, sizeof text, "run %u: %s\n%s--\n%s", (unsigned)run, wrong ? wrong : "", lower, command);
	return wrong ? text : NULL;
}

static const char *check_random(const char *dir)
{
	const char *wrong = NULL;
	for (uint64_t run = 1; !wrong && run <= (is_long() ? 2000 : 25); run++) {
		char place[128];
		(void)snprintf(place, sizeof place, "%s/run%u", dir, (unsigned)run);
		wrong = check_random_run(place, run);
	}
	return wrong;
}

static void random_commands(void **state)
{
	as_everyone(check_random);
}

/* ── Attributes ── */

/* user::rw- user:0:rwx group::r-- mask::rwx other::r-- as the kernel wants it. */
static const unsigned char acl[] = {2, 0, 0,   0,   1,	 0,   6,  0, 255, 255, 255, 255, 2,   0,  7,
				    0, 0, 0,   0,   0,	 4,   0,  4, 0,	  255, 255, 255, 255, 16, 0,
				    7, 0, 255, 255, 255, 255, 32, 0, 4,	  0,   255, 255, 255, 255};

static int set_attributes(const void *arg)
{
	static char large[2000];
	memset(large, 'l', sizeof large);
	return setxattr("new", "user.x", "1", 1, 0) | setxattr("other", "user.x", "2", 1, 0) |
	       removexattr("removed", "user.x") | setxattr("dir", "user.x", "1", 1, 0) |
	       setxattr("acl", "system.posix_acl_access", acl, sizeof acl, 0) |
	       setxattr("dacl", "system.posix_acl_default", acl, sizeof acl, 0) |
	       setxattr("same", "user.y", large, sizeof large, 0) | removexattr("same", "user.y") |
	       setxattr("renamed", "user.z", "1", 1, 0) | removexattr("renamed", "user.x") | chmod("mode", 0600) |
	       removexattr("several", "user.a") | setxattr("several", "user.a", "1", 1, 0) | /* now the last of them */
	       setxattr("severed", "user.b", "2", 1, 0);
}

static const char *check_attributes(const char *dir)
{
	EXPECT(world_make(dir, "umask 022; for f in new other removed acl same renamed mode several severed; do echo 1 "
			       ">$f; done; "
			       "mkdir dir dacl") == 0);
	static const char *const with[] = {"lower/other", "lower/removed", "lower/same", "lower/renamed"};
	for (size_t i = 0; i < AL_ARRAY_LEN(with); i++)
		EXPECT(setxattr(in_dir(dir, with[i]), "user.x", "1", 1, 0) == 0);
	static const char *const with_both[] = {"lower/several", "lower/severed"};
	for (size_t i = 0; i < AL_ARRAY_LEN(with_both); i++)
		EXPECT(setxattr(in_dir(dir, with_both[i]), "user.a", "1", 1, 0) == 0 &&
		       setxattr(in_dir(dir, with_both[i]), "user.b", "1", 1, 0) == 0);
	EXPECT(world_call(dir, set_attributes, NULL) == 0);
	const char *found = world_found(dir);
	EXPECT(strcmp(found,
		      "mf acl\nmd dacl\nmd dir\nmf mode\nmf new\nmf other\nmf removed\nmf renamed\nmf severed") == 0);
	return NULL;
}

static void user_xattrs_and_acls_count(void **state)
{
	as_everyone(check_attributes);
}

static const char *check_overlay_attributes(const char *dir)
{
	EXPECT(world_make(dir, "echo 1 >f; echo 1 >g; mkdir d") == 0);
	EXPECT(world_shell(dir, "chmod 600 f g; chmod 644 f g; chmod 700 d; chmod 755 d") == 0);
	EXPECT(setxattr(in_dir(dir, "upper/f"), "user.overlay.anything", "1", 1, 0) == 0);
	EXPECT(setxattr(in_dir(dir, "lower/g"), "user.overlay.origin", "1", 1, 0) == 0);
	EXPECT(strcmp(world_found(dir), "") == 0);
	return NULL;
}

static void overlay_s_own_attributes_do_not_count(void **state)
{
	as_everyone(check_overlay_attributes);
}

static const char *check_stats(const char *dir)
{
	EXPECT(world_make(dir, "echo old >m; echo gone >d; echo moved >r; echo t >t") == 0);
	struct stat lower, upper;
	EXPECT(world_shell(dir, "chmod 600 m; echo newer >m; rm d t; mv r s; mkdir t; echo 1 >a; ln a b") == 0);
	_cleanup_changes_ struct change_set *set = world_scan(dir);
	EXPECT(set && set->n == 6);
	const struct change *c = change_set_find(set, 0, "m");
	EXPECT(lstat(in_dir(dir, "lower/m"), &lower) == 0 && lstat(in_dir(dir, "upper/m"), &upper) == 0);
	EXPECT(c->before.inode == lower.st_ino && c->before.size == 4 && c->before.type == CHANGE_FILE);
	EXPECT(c->after.inode == upper.st_ino && c->after.size == 6 && c->after.mode == 0600);
	EXPECT(c->before.mtime_ns == 981173106123456789 && c->after.mtime_ns > c->before.mtime_ns);
	EXPECT(c->before.ctime_ns == lower.st_ctim.tv_sec * INT64_C(1000000000) + lower.st_ctim.tv_nsec);
	EXPECT(c->copied_up && c->verdict == CHANGE_APPLY && c->state == CHANGE_HELD);
	c = change_set_find(set, 0, "d");
	EXPECT(c->before.size == 5 && c->after.type == CHANGE_NOTHING && c->after.inode == 0 && !c->copied_up);
	c = change_set_find(set, 0, "s");
	EXPECT(lstat(in_dir(dir, "lower/r"), &lower) == 0 && c->before.inode == lower.st_ino && c->copied_up);
	EXPECT(c->after.size == 6 && c->after.type == CHANGE_FILE);
	c = change_set_find(set, 0, "t");
	EXPECT(c->before.type == CHANGE_FILE && c->after.type == CHANGE_DIRECTORY && !c->opaque && !c->copied_up);
	c = change_set_find(set, 0, "a");
	EXPECT(c->before.type == CHANGE_NOTHING && c->after.links == 2 && !c->copied_up);
	EXPECT(c->after.inode == change_set_find(set, 0, "b")->after.inode);
	return NULL;
}

static void both_states_are_told(void **state)
{
	as_everyone(check_stats);
}

/* An original that somebody else removed while the command changed its copy shows by copied_up. */
static const char *check_vanished(const char *dir)
{
	EXPECT(world_make(dir, "echo 1 >f; mkdir d; echo 1 >d/g") == 0);
	EXPECT(world_shell(dir, "echo 2 >f; echo 2 >d/g; echo 3 >new") == 0);
	EXPECT(world_host(dir, "rm -r lower/f lower/d") == 0);
	EXPECT(strcmp(world_found(dir), "Ad d\nAf d/g\nAf f\nAf new") == 0);
	_cleanup_changes_ struct change_set *set = world_scan(dir);
	EXPECT(set && set->v[0].copied_up && set->v[1].copied_up && set->v[2].copied_up && !set->v[3].copied_up);
	return NULL;
}

static void a_vanished_original_can_be_told(void **state)
{
	as_everyone(check_vanished);
}

/* ── What is never applied ── */

static int make_socket(const void *arg)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "sock"};
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return bind(s, (struct sockaddr *)&a, sizeof a) < 0;
}

static const char *check_skipped(const char *dir)
{
	EXPECT(world_make(dir, "") == 0);
	EXPECT(world_call(dir, make_socket, NULL) == 0);
	if (geteuid() == 0)
		EXPECT(mknod(in_dir(dir, "upper/null"), S_IFCHR | 0666, makedev(1, 3)) == 0);
	EXPECT(strcmp(world_found(dir), geteuid() == 0 ? "Ao null (a device cannot be applied)\n"
							 "Ao sock (a socket cannot be applied)"
						       : "Ao sock (a socket cannot be applied)") == 0);
	_cleanup_changes_ struct change_set *set = world_scan(dir);
	EXPECT(set && set->v[0].verdict == CHANGE_SKIP && set->v[0].state == CHANGE_SKIPPED);
	EXPECT(mkfifo(in_dir(dir, "upper/fifo"), 0600) == 0);
	change_set_free(set);
	set = world_scan(dir);
	EXPECT(set && set->v[0].verdict == CHANGE_HOLD && set->v[0].state == CHANGE_HELD);
	return NULL;
}

static void sockets_and_devices_are_skipped(void **state)
{
	as_everyone(check_skipped);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_case_of_the_table),
		cmocka_unit_test(every_type_on_every_type),
		cmocka_unit_test(random_commands),
		cmocka_unit_test(user_xattrs_and_acls_count),
		cmocka_unit_test(overlay_s_own_attributes_do_not_count),
		cmocka_unit_test(both_states_are_told),
		cmocka_unit_test(a_vanished_original_can_be_told),
		cmocka_unit_test(sockets_and_devices_are_skipped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
