/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plans as profiles of sandbox-exec, compared with tests/golden/seatbelt-*.txt, and asked as the kernel would. */
#include "plan_world.h"

#include "backend/seatbelt_profile.h"

static char *profile_of(const struct setting *s)
{
	struct plan *plan = build(s);
	struct buf out = BUF_INIT;
	seatbelt_profile(plan, &out);
	plan_free(plan);
	return buf_take(&out);
}

static void golden(const char *name, const struct setting *s)
{
	_cleanup_free_ char *text = profile_of(s);
	assert_non_null(text);
	compare_with_golden(name, text);
}

static void strict_is_as_written(void **state)
{
	golden("seatbelt-strict", &(struct setting){"strict", ordinary, "/home/u", "/home/u/p"});
}

static void moderate_is_as_written(void **state)
{
	golden("seatbelt-moderate", &(struct setting){"moderate", ordinary, "/home/u", "/home/u/p"});
}

static void permissive_is_as_written(void **state)
{
	golden("seatbelt-permissive", &(struct setting){"permissive", ordinary, "/home/u", "/home/u/p"});
}

static void the_network_is_as_written(void **state)
{
	golden("seatbelt-network", &(struct setting){"permissive", ordinary, "/home/u", "/home/u/p", .network = true});
}

/* ── The rules, asked ── */

/* The verdict of the last rule that speaks about this operation on this path. Knows what our profiles use. */
static bool allows(const char *profile, const char *operation, const char *path)
{
	bool verdict = false;
	for (const char *line = profile; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		char operations[128], filter[32], of[256];
		bool allow = strncmp(line, "(allow ", 7) == 0;
		if (sscanf(line,
			   allow ? "(allow %127[^(](%31[a-z-] \"%255[^\"]\"" : "(deny %127[^(](%31[a-z-] \"%255[^\"]\"",
			   operations, filter, of) != 3 ||
		    !strstr(operations, operation))
			continue;
		bool meant = strcmp(filter, "subpath") == 0 ? path_is_beneath(path, of) : strcmp(path, of) == 0;
		if (meant)
			verdict = allow;
	}
	return verdict;
}

static void what_the_plan_shows_and_hides_the_profile_does_too(void **state)
{
	_cleanup_free_ char *p = profile_of(&(struct setting){"moderate", ordinary, "/home/u", "/home/u/p"});
	assert_true(allows(p, "file-read*", "/usr/bin/true"));
	assert_false(allows(p, "file-write*", "/usr/bin/true"));
	assert_true(allows(p, "file-read*", "/home/u/p/file"));
	assert_true(allows(p, "file-write*", "/home/u/p/file"));
	assert_true(allows(p, "file-read*", "/home/u/.bashrc"));
	assert_false(allows(p, "file-write*", "/home/u/.bashrc"));
	assert_false(allows(p, "file-read*", "/home/u/.ssh/id_ed25519"));
	assert_false(allows(p, "file-read*", "/home/u/.config/gh/hosts.yml"));
	assert_false(allows(p, "file-read*", "/home/other/file"));
	assert_false(allows(p, "file-read*", "/etc/shadow"));
	assert_false(allows(p, "file-write*", "/tmp/x"));
	assert_false(allows(p, "file-read*", "/dev/disk0"));
	assert_true(allows(p, "file-write*", "/dev/null"));
	assert_true(allows(p, "file-write*", "/data/playground/x"));
	assert_true(allows(p, "file-read-metadata", "/home"));
	assert_false(allows(p, "network-outbound", "/run/docker.sock"));
	assert_non_null(strstr(p, "(deny network*)\n"));
}

static void strict_shows_the_system_alone(void **state)
{
	_cleanup_free_ char *p = profile_of(&(struct setting){"strict", ordinary, "/home/u", "/home/u/p"});
	assert_true(allows(p, "file-read*", "/usr/bin/true"));
	assert_false(allows(p, "file-read*", "/home/u/.bashrc"));
	assert_false(allows(p, "file-read*", "/var/log/x"));
	assert_true(allows(p, "file-write*", "/home/u/p/file"));
	assert_false(allows(p, "network-bind", "/home/u/p/socket"));
}

static void a_path_cannot_say_anything_but_itself(void **state)
{
	static const struct made_up odd[] = {
		SYSTEM,
		{"/home/u", PLAN_DIRECTORY},
		{"/home/u/a\")) (allow default) ; \\\n", PLAN_DIRECTORY},
		{0},
	};
	_cleanup_free_ char *p =
		profile_of(&(struct setting){"permissive", odd, "/home/u", "/home/u/a\")) (allow default) ; \\\n"});
	assert_non_null(strstr(p, "(subpath \"/home/u/a\\\")) (allow default) ; \\\\\\x0a\"))\n"));
	assert_null(strstr(p, "\n(allow default)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strict_is_as_written),
		cmocka_unit_test(moderate_is_as_written),
		cmocka_unit_test(permissive_is_as_written),
		cmocka_unit_test(the_network_is_as_written),
		cmocka_unit_test(what_the_plan_shows_and_hides_the_profile_does_too),
		cmocka_unit_test(strict_shows_the_system_alone),
		cmocka_unit_test(a_path_cannot_say_anything_but_itself),
	};
	return cmocka_run_group_tests_name("seatbelt", tests, NULL, NULL);
}
