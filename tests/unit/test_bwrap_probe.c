/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A stand-in for bwrap counts how often it is run: dir/bin/bwrap writes a line to dir/count each time. */
#include "identities.h"

#include "backend/bwrap_probe.h"
#include "backend/bwrap_probe_parts.h"
#include "base/macros.h"

static struct bwrap_info info;

/* body is what it does besides counting; "$1" is "--version" in the first of the two calls. */
static int make_fake(const char *dir, const char *body)
{
	char script[1024];
	(void)mkdir(in_dir(dir, "bin"), 0755);
	(void)chmod(in_dir(dir, "bin"), 0755);
	(void)snprintf(script, sizeof script, "#!/bin/sh\necho x >>%s/count\n%s\n", dir, body);
	return put_file(in_dir(dir, "bin/bwrap"), script, 0755);
}

static int calls(const char *dir)
{
	struct stat st;
	return stat(in_dir(dir, "count"), &st) == 0 ? (int)st.st_size / 2 : 0;
}

static int probe_in(const char *path_env, const char *cache, const char *untrusted)
{
	struct airlock_error err = {0};
	const char *const dirs[] = {untrusted, NULL};
	return bwrap_probe(path_env, cache, dirs, &info, &err);
}

static int probe(const char *dir)
{
	return probe_in(in_dir(dir, "bin"), in_dir(dir, "state/cache"), NULL);
}

#define GOOD_FAKE "echo bubblewrap 0.9.1"
#define FAILING_FAKE(words) "[ \"$1\" = --version ] && echo bubblewrap 0.9.1 && exit\necho '" words "' >&2\nexit 1"

/* ── The real one ── */

static const char *agree_with_bwrap(const char *dir)
{
	bool there = access("/usr/bin/bwrap", X_OK) == 0;
	bool works = system("/usr/bin/bwrap --unshare-all --unshare-user --ro-bind / / --proc /proc --dev /dev "
			    "--cap-drop ALL true 2>/dev/null") == 0;
	EXPECT(probe_in("/usr/bin", in_dir(dir, "cache"), NULL) == 0);
	EXPECT(info.works == works);
	EXPECT(!there || info.major > 0 || info.minor > 0);
	EXPECT(info.works == (info.why.code == 0));
	EXPECT(info.works || (info.why.code == AIRLOCK_ERR_UNAVAILABLE && *info.why.message && *info.why.hint));
	EXPECT(!there || probe_in("/usr/bin", in_dir(dir, "cache"), NULL) == 0);
	EXPECT(!there || info.from_cache);
	EXPECT(info.works == works);
	return NULL;
}

static void the_real_one_is_found_and_tried(void **state)
{
	as_everyone(agree_with_bwrap);
}

/* ── Which program ── */

static bool took_fake(const char *dir)
{
	return calls(dir) > 0 || strstr(info.path, dir);
}

static const char *refuse_relative(const char *dir)
{
	EXPECT(make_fake(dir, GOOD_FAKE) == 0);
	EXPECT(chdir(dir) == 0);
	EXPECT(probe_in("bin:./bin::.", in_dir(dir, "cache"), NULL) == 0);
	EXPECT(!took_fake(dir));
	EXPECT(chdir(in_dir(dir, "bin")) == 0);
	EXPECT(probe_in("", in_dir(dir, "cache"), NULL) == 0 && !took_fake(dir));
	EXPECT(probe_in(NULL, in_dir(dir, "cache"), NULL) == 0 && !took_fake(dir));
	EXPECT(probe_in(".:", in_dir(dir, "cache"), NULL) == 0 && !took_fake(dir));
	return NULL;
}

static void relative_entries_of_path_are_passed_over(void **state)
{
	as_everyone(refuse_relative);
}

static const char *refuse_project(const char *dir)
{
	char path[PATH_MAX];
	EXPECT(make_fake(dir, GOOD_FAKE) == 0);
	EXPECT(probe_in(in_dir(dir, "bin"), in_dir(dir, "cache"), dir) == 0);
	EXPECT(!took_fake(dir));
	/* Nor by another way of writing it, a link to the directory, or a link to the program. */
	(void)snprintf(path, sizeof path, "/tmp/../%s//bin/.", dir);
	EXPECT(probe_in(path, in_dir(dir, "cache"), in_dir(dir, "bin")) == 0 && !took_fake(dir));
	EXPECT(symlink("bin", in_dir(dir, "link")) == 0);
	EXPECT(probe_in(in_dir(dir, "link"), in_dir(dir, "cache"), in_dir(dir, "bin")) == 0 && !took_fake(dir));
	EXPECT(mkdir(in_dir(dir, "other"), 0755) == 0 && symlink("../bin/bwrap", in_dir(dir, "other/bwrap")) == 0);
	EXPECT(probe_in(in_dir(dir, "other"), in_dir(dir, "cache"), in_dir(dir, "bin")) == 0 && !took_fake(dir));
	/* A link in the project to a program elsewhere can be turned as well. */
	EXPECT(probe_in(in_dir(dir, "other"), in_dir(dir, "cache"), in_dir(dir, "other")) == 0 && !took_fake(dir));
	/* A sibling whose name begins alike is not inside; "/" is passed over. */
	EXPECT(probe_in(in_dir(dir, "bin"), in_dir(dir, "cache"), in_dir(dir, "bi")) == 0 && took_fake(dir));
	EXPECT(probe_in(in_dir(dir, "bin"), in_dir(dir, "cache"), "/") == 0 && info.works);
	return NULL;
}

static void programs_of_the_project_are_passed_over(void **state)
{
	as_everyone(refuse_project);
}

static const char *refuse_writable(const char *dir)
{
	EXPECT(make_fake(dir, GOOD_FAKE) == 0);
	EXPECT(chmod(in_dir(dir, "bin/bwrap"), 0757) == 0);
	EXPECT(probe(dir) == 0 && !took_fake(dir));
	EXPECT(chmod(in_dir(dir, "bin/bwrap"), 0644) == 0);
	EXPECT(probe(dir) == 0 && !took_fake(dir));
	EXPECT(chmod(in_dir(dir, "bin/bwrap"), 0755) == 0 && chmod(in_dir(dir, "bin"), 0777) == 0);
	EXPECT(probe(dir) == 0 && !took_fake(dir));
	EXPECT(chmod(in_dir(dir, "bin"), 01777) == 0);
	EXPECT(probe(dir) == 0 && took_fake(dir));
	EXPECT(info.works);
	return NULL;
}

static void programs_others_can_write_are_passed_over(void **state)
{
	as_everyone(refuse_writable);
}

static void foreign_programs_are_passed_over(void **state)
{
	char dir[] = "/tmp/airlock-test-XXXXXX";
	if (geteuid() != 0)
		return; /* giving a file away takes root; `make check` runs the tests as root too */
	assert_non_null(mkdtemp(dir));
	assert_int_equal(make_fake(dir, GOOD_FAKE), 0);
	assert_int_equal(chown(in_dir(dir, "bin/bwrap"), ORDINARY_ID, 0), 0);
	assert_int_equal(probe(dir), 0);
	assert_false(took_fake(dir));
	assert_int_equal(chown(in_dir(dir, "bin/bwrap"), 0, 0), 0);
	assert_int_equal(chown(in_dir(dir, "bin"), ORDINARY_ID, 0), 0);
	assert_int_equal(probe(dir), 0);
	assert_false(took_fake(dir));
	(void)nftw(dir, identities_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void the_reason_of_a_refusal_is_told(void **state)
{
	char dir[] = "/tmp/airlock-test-XXXXXX";
	struct bwrap_found found;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(make_fake(dir, GOOD_FAKE), 0);
	const char *const untrusted[] = {dir, "/usr", "/bin", "/usr/local", NULL};
	bwrap_find(in_dir(dir, "bin"), untrusted, &found);
	assert_string_equal(found.path, "");
	assert_string_equal(found.refused, in_dir(dir, "bin/bwrap"));
	struct airlock_error err = {0};
	assert_int_equal(bwrap_probe(in_dir(dir, "bin"), NULL, untrusted, &info, &err), 0);
	assert_int_equal(info.why.code, AIRLOCK_ERR_UNAVAILABLE);
	assert_non_null(strstr(info.why.message, "cannot be trusted"));
	assert_non_null(strstr(info.why.message, "it is in the project"));
	assert_string_equal(info.why.subject, in_dir(dir, "bin/bwrap"));
	(void)nftw(dir, identities_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ── Remembering ── */

static const char *remember(const char *dir)
{
	struct stat st;
	EXPECT(make_fake(dir, GOOD_FAKE) == 0);
	EXPECT(probe(dir) == 0 && info.works && !info.from_cache);
	EXPECT(calls(dir) == 2); /* its version, and a sandbox */
	EXPECT(strcmp(info.path, in_dir(dir, "bin/bwrap")) == 0);
	EXPECT(info.major == 0 && info.minor == 9 && info.patch == 1);
	EXPECT(info.has_size_perms && info.has_disable_userns && !info.has_overlay);
	for (int i = 0; i < 3; i++)
		EXPECT(probe(dir) == 0 && info.works && info.from_cache && info.minor == 9);
	EXPECT(calls(dir) == 2);
	EXPECT(stat(in_dir(dir, "state/cache"), &st) == 0 && (st.st_mode & 07777) == 0600);
	EXPECT(stat(in_dir(dir, "state"), &st) == 0 && (st.st_mode & 07777) == 0700);
	/* Another program, the same length: noticed. */
	EXPECT(make_fake(dir, "echo bubblewrap 0.11.") == 0);
	EXPECT(probe(dir) == 0 && !info.from_cache && info.minor == 11 && info.has_overlay);
	EXPECT(calls(dir) == 4);
	/* Changed mode: noticed. */
	EXPECT(chmod(in_dir(dir, "bin/bwrap"), 04755) == 0);
	EXPECT(probe(dir) == 0 && !info.from_cache && info.is_setuid && !info.has_overlay && !info.has_size_perms);
	return NULL;
}

static void a_verdict_is_remembered_until_the_program_changes(void **state)
{
	as_everyone(remember);
}

static const char *distrust_cache(const char *dir)
{
	char text[8192], path[PATH_MAX];
	EXPECT(make_fake(dir, GOOD_FAKE) == 0);
	EXPECT(probe(dir) == 0);
	(void)snprintf(path, sizeof path, "%s", in_dir(dir, "state/cache"));
	int n = sys_read_small(path, text, sizeof text);
	EXPECT(n > 0);
	/* Cut off anywhere, it is not believed; what is missing at the very end is only bwrap's words, here none. */
	for (int cut = 0; cut < n - 1; cut += 7) {
		char part[8192];
		(void)snprintf(part, sizeof part, "%.*s", cut, text);
		EXPECT(put_file(path, part, 0600) == 0);
		EXPECT(probe(dir) == 0 && info.works && !info.from_cache);
	}
	int before = calls(dir);
	/* Writable by others, or a link: not ours. */
	EXPECT(chmod(path, 0666) == 0);
	EXPECT(probe(dir) == 0 && !info.from_cache && calls(dir) == before + 2);
	EXPECT(rename(path, in_dir(dir, "moved")) == 0 && symlink("../moved", path) == 0);
	EXPECT(probe(dir) == 0 && !info.from_cache && calls(dir) == before + 4);
	EXPECT(probe(dir) == 0 && info.from_cache);
	/* Another boot. */
	n = sys_read_small(path, text, sizeof text);
	char *boot = strchr(text, '\n') + 1;
	*boot = *boot == '0' ? '1' : '0';
	EXPECT(put_file(path, text, 0600) == 0);
	EXPECT(probe(dir) == 0 && !info.from_cache);
	return NULL;
}

static void damaged_or_foreign_caches_are_not_believed(void **state)
{
	as_everyone(distrust_cache);
}

static const char *cannot_write(const char *dir)
{
	EXPECT(make_fake(dir, GOOD_FAKE) == 0);
	EXPECT(probe_in(in_dir(dir, "bin"), "/proc/nowhere/cache", NULL) == 0 && info.works);
	EXPECT(probe_in(in_dir(dir, "bin"), NULL, NULL) == 0 && info.works);
	EXPECT(calls(dir) == 4);
	return NULL;
}

static void a_cache_that_cannot_be_written_is_no_error(void **state)
{
	as_everyone(cannot_write);
}

/* Makes the cached verdict `seconds` older. */
static int age_cache(const char *path, long seconds)
{
	char text[8192], aged[8192];
	int major, minor, patch, cause;
	long when;
	if (sys_read_small(path, text, sizeof text) <= 0)
		return -1;
	char *verdict = strstr(text, "/bin/bwrap\n") + strlen("/bin/bwrap\n"), *rest = strchr(verdict, '\n');
	if (sscanf(verdict, "%d.%d.%d %d %ld", &major, &minor, &patch, &cause, &when) != 5)
		return -1;
	(void)snprintf(aged, sizeof aged, "%.*s%d.%d.%d %d %ld%s", (int)(verdict - text), text, major, minor, patch,
		       cause, when - seconds, rest);
	return put_file(path, aged, 0600);
}

static const char *remember_failure(const char *dir)
{
	EXPECT(make_fake(dir, FAILING_FAKE("bwrap: Unexpected setuid user 7, should be 0")) == 0);
	EXPECT(probe(dir) == 0 && !info.works && !info.from_cache && calls(dir) == 2);
	EXPECT(probe(dir) == 0 && !info.works && info.from_cache && calls(dir) == 2);
	EXPECT(info.why.code == AIRLOCK_ERR_UNAVAILABLE);
	EXPECT(strstr(info.why.message, "Unexpected setuid user 7"));
	EXPECT(age_cache(in_dir(dir, "state/cache"), 50) == 0);
	EXPECT(probe(dir) == 0 && info.from_cache);
	EXPECT(age_cache(in_dir(dir, "state/cache"), 20) == 0);
	EXPECT(probe(dir) == 0 && !info.from_cache && calls(dir) == 4);
	/* From the future: a file that was carried over or forged. */
	EXPECT(age_cache(in_dir(dir, "state/cache"), -1000) == 0);
	EXPECT(probe(dir) == 0 && !info.from_cache);
	return NULL;
}

static void a_failure_is_remembered_for_a_minute(void **state)
{
	as_everyone(remember_failure);
}

/* ── Why not ── */

static const char *name_causes(const char *dir)
{
	static const struct {
		const char *body;
		enum bwrap_cause cause;
		const char *detail;
	} rows[] = {
		{FAILING_FAKE("bwrap: Unexpected setuid user 7, should be 0"), BWRAP_SETUID, "user 7"},
		{FAILING_FAKE("bwrap: Unexpected capabilities but not setuid, old file caps config?"), BWRAP_SETUID,
		 "file caps"},
		{FAILING_FAKE("bwrap: Can'\\''t mount proc on /newroot/proc: Operation not permitted"), BWRAP_PROC,
		 "mount proc"},
		{"echo bubblewrap 0.4.1", BWRAP_TOO_OLD, ""},
		{"echo hello", BWRAP_NOT_BWRAP, "hello"},
		{"echo 'libcap.so.2: cannot open shared object file' >&2; exit 127", BWRAP_NOT_BWRAP, "libcap.so.2"},
		{"printf '\\033[31mbwrap'; exit 3", BWRAP_NOT_BWRAP, "\\x1b[31mbwrap"},
		{"echo bubblewrap 0.9.1; kill -9 $$", BWRAP_NOT_BWRAP, ""},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		EXPECT(make_fake(dir, rows[i].body) == 0);
		EXPECT(probe_in(in_dir(dir, "bin"), NULL, NULL) == 0 && !info.works);
		EXPECT(info.why.code == AIRLOCK_ERR_UNAVAILABLE);
		EXPECT(strstr(info.why.message, bwrap_cause_words(rows[i].cause)->cause));
		EXPECT(strstr(info.why.message, rows[i].detail));
		EXPECT(strcmp(info.why.hint, bwrap_cause_words(rows[i].cause)->fix) == 0);
		EXPECT(strcmp(info.why.subject, info.path) == 0);
		EXPECT(!strchr(info.why.message, '\033'));
	}
	EXPECT(put_file(in_dir(dir, "bin/bwrap"), "garbage", 0755) == 0);
	EXPECT(probe_in(in_dir(dir, "bin"), NULL, NULL) == 0 && !info.works);
	EXPECT(strstr(info.why.message, "cannot be executed: Exec format error"));
	return NULL;
}

static void broken_programs_are_explained(void **state)
{
	as_everyone(name_causes);
}

/* It must run something inside, not merely succeed. */
static const char *silent(const char *dir)
{
	EXPECT(make_fake(dir, "[ \"$1\" = --version ] && echo bubblewrap 0.9.1; exit 0") == 0);
	EXPECT(probe(dir) == 0 && !info.works);
	EXPECT(strstr(info.why.message, "status 0 and printed nothing"));
	return NULL;
}

static void success_without_a_sandbox_is_not_believed(void **state)
{
	as_everyone(silent);
}

/* The real bwrap, with a verdict from before the filter in the cache. */
static const char *under_filter(const char *dir)
{
	struct sys_environment e;
	EXPECT(probe_in("/usr/bin", in_dir(dir, "cache"), NULL) == 0);
	EXPECT(info.works);
	EXPECT(forbid_user_namespaces() == 0);
	sys_environment_examine("", NULL, &e);
	EXPECT(probe_in("/usr/bin", in_dir(dir, "cache"), NULL) == 0);
	EXPECT(!info.works && !info.from_cache);
	EXPECT(strstr(info.why.message, bwrap_cause_words(e.container ? BWRAP_CONTAINER : BWRAP_SECCOMP)->cause));
	return NULL;
}

static void a_filter_around_us_is_named(void **state)
{
	as_everyone(under_filter);
}

static const char *inside_a_namespace(const char *dir)
{
	EXPECT(enter_user_namespace() == 0);
	/* Root's files belong to nobody we know in here, and yet /usr/bin/bwrap is to be used. */
	EXPECT(probe_in("/usr/bin", in_dir(dir, "cache"), NULL) == 0);
	EXPECT(info.works);
	EXPECT(write_setting("/proc/sys/user/max_user_namespaces", "0") == 0);
	EXPECT(probe_in("/usr/bin", in_dir(dir, "cache"), NULL) == 0);
	EXPECT(!info.works && !info.from_cache);
	EXPECT(strstr(info.why.message, "user.max_user_namespaces=0"));
	EXPECT(strstr(info.why.hint, "sysctl -w user.max_user_namespaces"));
	return NULL;
}

static void nested_it_works_until_namespaces_run_out(void **state)
{
	as_everyone(inside_a_namespace);
}

static void every_cause_has_words_that_fit(void **state)
{
	struct airlock_error err;
	for (int c = BWRAP_NOT_INSTALLED; c < BWRAP_CAUSES; c++) {
		bwrap_explain((enum bwrap_cause)c, "bwrap", "", &err);
		assert_int_equal(err.code, AIRLOCK_ERR_UNAVAILABLE);
		assert_true(strlen(bwrap_cause_words((enum bwrap_cause)c)->cause) > 10);
		assert_string_equal(err.hint, bwrap_cause_words((enum bwrap_cause)c)->fix);
	}
	for (int o = SYS_USERNS_FREE; o <= SYS_USERNS_OTHER; o++)
		assert_true(o == SYS_USERNS_FREE || bwrap_cause_of((enum sys_userns_obstacle)o) != BWRAP_FINE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_real_one_is_found_and_tried),
		cmocka_unit_test(relative_entries_of_path_are_passed_over),
		cmocka_unit_test(programs_of_the_project_are_passed_over),
		cmocka_unit_test(programs_others_can_write_are_passed_over),
		cmocka_unit_test(foreign_programs_are_passed_over),
		cmocka_unit_test(the_reason_of_a_refusal_is_told),
		cmocka_unit_test(a_verdict_is_remembered_until_the_program_changes),
		cmocka_unit_test(damaged_or_foreign_caches_are_not_believed),
		cmocka_unit_test(a_cache_that_cannot_be_written_is_no_error),
		cmocka_unit_test(a_failure_is_remembered_for_a_minute),
		cmocka_unit_test(broken_programs_are_explained),
		cmocka_unit_test(success_without_a_sandbox_is_not_believed),
		cmocka_unit_test(a_filter_around_us_is_named),
		cmocka_unit_test(nested_it_works_until_namespaces_run_out),
		cmocka_unit_test(every_cause_has_words_that_fit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
