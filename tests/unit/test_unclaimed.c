/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Directories that are never taken as the project unless a person names them. */
#include "tests.h"

#include "base/macros.h"
#include "project/unclaimed.h"

#include <string.h>

struct row {
	const char *dir;
	enum airlock_unclaimed reason;
};

static void assert_rows(const struct row *rows, size_t n, const char *home)
{
	for (size_t i = 0; i < n; i++)
		if (project_unclaimed(rows[i].dir, home) != rows[i].reason)
			fail_msg("%s with home %s: %d instead of %d", rows[i].dir, home ? home : "(none)",
				 project_unclaimed(rows[i].dir, home), rows[i].reason);
}

static void directories_of_and_around_the_home(void **state)
{
	static const struct row rows[] = {
		{"/", AIRLOCK_UNCLAIMED_ROOT},
		{"/home", AIRLOCK_UNCLAIMED_ABOVE_HOME},
		{"/home/me", AIRLOCK_UNCLAIMED_HOME},
		{"/home/me/work", AIRLOCK_CLAIMABLE},
		{"/home/me/work/.hidden", AIRLOCK_CLAIMABLE},
		{"/home/me/.config", AIRLOCK_UNCLAIMED_DOT_DIRECTORY},
		{"/home/me/.local/bin", AIRLOCK_UNCLAIMED_DOT_DIRECTORY},
		{"/home/me/.codex/worktrees/a", AIRLOCK_UNCLAIMED_DOT_DIRECTORY},
		{"/home/you/.config", AIRLOCK_CLAIMABLE},
		{"/srv/work", AIRLOCK_CLAIMABLE},
	};
	assert_rows(rows, AL_ARRAY_LEN(rows), "/home/me");
}

static void settings_of_agents_anywhere(void **state)
{
	static const struct row rows[] = {
		{"/home/me/work/.claude", AIRLOCK_UNCLAIMED_AGENT_SETTINGS},
		{"/home/me/work/.claude/hooks/x", AIRLOCK_UNCLAIMED_AGENT_SETTINGS},
		{"/srv/.codex", AIRLOCK_UNCLAIMED_AGENT_SETTINGS},
		{"/tmp/x/.gemini", AIRLOCK_UNCLAIMED_AGENT_SETTINGS},
		{"/home/me/work/.claude/worktrees", AIRLOCK_UNCLAIMED_AGENT_SETTINGS},
		{"/home/me/work/.claude/worktrees/fix", AIRLOCK_CLAIMABLE},
		{"/home/me/work/.claude/worktrees/fix/src", AIRLOCK_CLAIMABLE},
		{"/home/me/work/.claude/worktrees/fix/.claude", AIRLOCK_UNCLAIMED_AGENT_SETTINGS},
		{"/home/me/work/.claude2", AIRLOCK_CLAIMABLE},
		{"/home/me/work/x.claude", AIRLOCK_CLAIMABLE},
		{"/home/me/work/claude", AIRLOCK_CLAIMABLE},
	};
	assert_rows(rows, AL_ARRAY_LEN(rows), "/home/me");
	/* A home that lies in such a directory is still a home with projects in it. */
	assert_int_equal(project_unclaimed("/srv/.codex/home/work", "/srv/.codex/home"), AIRLOCK_CLAIMABLE);
}

static void directories_for_temporary_files(void **state)
{
	static const struct row rows[] = {
		{"/tmp", AIRLOCK_UNCLAIMED_TEMPORARY},	   {"/var/tmp", AIRLOCK_UNCLAIMED_TEMPORARY},
		{"/dev/shm", AIRLOCK_UNCLAIMED_TEMPORARY}, {"/tmp/work", AIRLOCK_UNCLAIMED_IN_TEMPORARY},
		{"/tmpfiles", AIRLOCK_CLAIMABLE},
	};
	assert_rows(rows, AL_ARRAY_LEN(rows), "/home/me");
	assert_rows(rows, AL_ARRAY_LEN(rows), NULL);
	assert_int_equal(project_unclaimed("/tmp/h/work", "/tmp/h"), AIRLOCK_CLAIMABLE);
	assert_int_equal(project_unclaimed("/tmp", "/tmp/h"), AIRLOCK_UNCLAIMED_ABOVE_HOME);
}

static void only_a_place_below_a_temporary_one_is_adopted_all_the_same(void **state)
{
	assert_true(project_may_adopt("/home/me/work", "/home/me"));
	assert_true(project_may_adopt("/tmp/work", "/home/me"));
	static const char *const no[] = {"/",	 "/home",   "/home/me", "/home/me/.config/x", "/home/me/w/.codex",
					 "/tmp", "/var/tmp"};
	for (size_t i = 0; i < AL_ARRAY_LEN(no); i++)
		assert_false(project_may_adopt(no[i], "/home/me"));
}

static void every_reason_has_its_words(void **state)
{
	for (int i = AIRLOCK_CLAIMABLE; i <= AIRLOCK_UNCLAIMED_IN_TEMPORARY; i++)
		assert_true(strlen(project_unclaimed_words(i)) > 0);
	assert_string_equal(project_unclaimed_words(99), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(directories_of_and_around_the_home),
		cmocka_unit_test(settings_of_agents_anywhere),
		cmocka_unit_test(directories_for_temporary_files),
		cmocka_unit_test(only_a_place_below_a_temporary_one_is_adopted_all_the_same),
		cmocka_unit_test(every_reason_has_its_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
