/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Recipes of agents: reading them, and what they mean for a policy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/path.h"
#include "recipe/recipe.h"

#include <string.h>

#define HOME "/home/u"

static struct recipe *parsed(const char *text)
{
	struct recipe *r = NULL;
	struct airlock_error err = {0};
	if (recipe_parse(text, strlen(text), "f.toml", "toy", HOME, &r, &err) < 0)
		fail_msg("%s", err.message);
	return r;
}

static void assert_fault(const char *text, const char *message)
{
	struct recipe *r = NULL;
	struct airlock_error err = {0};
	assert_int_equal(recipe_parse(text, strlen(text), "f.toml", "toy", HOME, &r, &err), AIRLOCK_ERR_INVALID);
	assert_string_equal(err.message, message);
	assert_null(r);
}

static void reads_every_key(void **state)
{
	(void)state;
	_cleanup_recipe_ struct recipe *r = parsed(
		"title='T'\nprogram='~/p'\ninstall='i'\nadd_dir='--add DIR'\narguments=['a']\nyolo=['y']\nhosts=['h.test:1','@s']\ndeny=['d.test']\n"
		"[home]\nprivate=['~/.a']\nprivate_files=['~/.b']\nstate=['~/.a/s']\ncredentials=['~/.a/c']\nfiles=['~/.a/f']\n"
		"[env]\nkeep=['K_*']\nset={S='1'}\n");
	assert_string_equal(r->program, HOME "/p");
	assert_string_equal(r->hosts.rules.v[1], "@s");
	assert_int_equal(r->hosts.lines[1], 7);
	assert_string_equal(r->add_dir, "--add DIR");
	assert_string_equal(r->deny.rules.v[0], "d.test");
	assert_string_equal(r->private_dirs.v[0], HOME "/.a");
	assert_string_equal(r->state.v[0], HOME "/.a/s");
	assert_string_equal(r->files.v[0], HOME "/.a/f");
	assert_string_equal(r->env_set.v[0], "S=1");
}

static void names_the_line_of_a_mistake(void **state)
{
	(void)state;
	assert_fault("", "f.toml:1:1: \"program\" is missing: what is to be started");
	assert_fault("program='p'\nprogramm='p'", "f.toml:2:1: unknown key \"programm\"; did you mean \"program\"?");
	assert_fault("program='p'\n[home]\nhosts=[]",
		     "f.toml:3:1: unknown key \"hosts\" in [home]; it belongs at the top of the file");
	assert_fault("program='p'\n[home]\nstate=['~']", "f.toml:3:8: \"~\" in \"state\": a path must start with ~/");
	assert_fault("program='p'\n[home]\nstate=['~/']", "f.toml:3:8: \"~/\" in \"state\": it is not below your home");
	assert_fault("program='a/b'", "f.toml:1:1: \"program\" must be a name, or a path that starts with / or ~/");
	assert_fault("program=''", "f.toml:1:9: \"program\" must not be empty");
	assert_fault("program='p'\nadd_dir='--add'",
		     "f.toml:2:9: \"add_dir\" must be an option such as \"--add-dir DIR\", \"--add-dir DIR...\" or "
		     "\"--add-dir DIR,...\"");
	assert_fault("program='p'\nhome=1", "f.toml:2:6: \"home\" must be a table [home]");
	assert_fault("program='p'\nyolo='y'", "f.toml:2:6: \"yolo\" must be a list of words, not a string");
}

static void assert_added(const char *option, const char *const *argv, const char *expected)
{
	_cleanup_strs_ struct strs words = STRS_INIT, dirs = STRS_INIT;
	_cleanup_buf_ struct buf text = BUF_INIT, found = BUF_INIT;
	buf_printf(&text, "program='p'\nadd_dir='%s'", option);
	_cleanup_recipe_ struct recipe *r = parsed(buf_str(&text));
	for (; *argv; argv++)
		strs_add(&words, *argv);
	assert_int_equal(recipe_added_dirs(r, &words, &dirs, NULL), 0);
	for (size_t i = 0; i < dirs.n; i++)
		buf_printf(&found, "%s;", dirs.v[i]);
	assert_string_equal(buf_str(&found), expected);
}

static void finds_added_directories(void **state)
{
	(void)state;
	static const char *const words[] = {"-x",	  "--add", "a",	 "b,c",	  "-y", "--add=d",
					    "--addition", "e",	   "--", "--add", "f",	NULL};
	assert_added("--add DIR", words, "a;d;");
	assert_added("--add DIR...", words, "a;b,c;d;");
	assert_added("--add DIR,...", (const char *const[]){"--add", "a,b,", "c", "--add=d,e", NULL}, "a;b;d;e;");
	assert_added("--add DIR", (const char *const[]){"--add", NULL}, "");
	assert_added("--add DIR", (const char *const[]){"--add", "-x", NULL}, "");
}

static bool lies_in_one(const struct strs *dirs, const char *path)
{
	for (size_t i = 0; i < dirs->n; i++)
		if (path_is_beneath(path, dirs->v[i]))
			return true;
	return false;
}

/* What others must not see of an agent is hidden from plain commands by the table of secrets. */
static void assert_secret(const struct policy *p, const char *path)
{
	const struct policy_path *rule = policy_rule_for(p, path);
	if (!rule || rule->access != POLICY_HIDE)
		fail_msg("%s is not in the table of secrets", path);
}

static void built_in_recipes_are_whole(void **state)
{
	(void)state;
	const struct recipe_places at = {.home = HOME};
	struct recipe_list all = {0};
	struct airlock_error err = {0};
	struct policy p = POLICY_INIT;
	if (recipe_list_load(&all, &at, true, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(policy_apply_builtin(&p, "moderate", HOME, &err), 0);
	assert_true(all.n >= 8);
	for (size_t i = 0; i < all.n; i++) {
		const struct recipe *r = all.v[i];
		assert_non_null(r->install);
		assert_true(r->hosts.rules.n > 0 && r->private_dirs.n > 0);
		for (size_t k = 0; k < r->state.n; k++) {
			assert_true(lies_in_one(&r->private_dirs, r->state.v[k]));
			assert_secret(&p, r->state.v[k]);
		}
		for (size_t k = 0; k < r->credentials.n; k++) {
			assert_true(lies_in_one(&r->private_dirs, r->credentials.v[k]));
			assert_secret(&p, r->credentials.v[k]);
		}
	}
	policy_done(&p);
	recipe_list_done(&all);
}

static struct config *config_for_home(void)
{
	struct config *c = NULL;
	struct airlock_error err = {0};
	struct config_inputs in = {.home = HOME, .cwd = HOME};
	if (config_load(&in, &c, &err) < 0)
		fail_msg("%s", err.message);
	return c;
}

static enum policy_access access_of(const struct config *c, const char *path)
{
	return policy_rule_for(&c->policy, path)->access;
}

static void an_agent_sees_its_own_and_no_other(void **state)
{
	(void)state;
	const struct recipe_places at = {.home = HOME};
	struct recipe_list all = {0};
	struct recipe *claude = NULL;
	struct recipe_program program = {0};
	struct config *c = config_for_home();
	const struct recipe_scene scene = {.home = HOME, .project = HOME "/p", .program = &program};
	assert_int_equal(access_of(c, HOME "/.claude/.credentials.json"), POLICY_HIDE);
	assert_int_equal(access_of(c, HOME "/.codex/config.toml"), POLICY_READ);
	assert_int_equal(recipe_list_load(&all, &at, true, NULL), 0);
	assert_int_equal(recipe_find(&at, "claude", &claude, NULL), 0);
	assert_int_equal(recipe_apply(claude, &all, &scene, c, NULL), 0);
	assert_int_equal(access_of(c, HOME "/.claude/.credentials.json"), POLICY_READ);
	assert_int_equal(access_of(c, HOME "/.claude/todos"), POLICY_WRITE);
	assert_int_equal(access_of(c, HOME "/.claude/projects"), POLICY_READ); /* beneath its private directory */
	assert_int_equal(access_of(c, HOME "/.codex/config.toml"), POLICY_HIDE);
	assert_int_equal(access_of(c, HOME "/.ssh/id"), POLICY_HIDE);
	assert_int_equal(c->policy.changes, POLICY_CHANGES_HOLD);
	assert_int_equal(c->policy.timeout_ms.value, TEXT_NONE);
	assert_int_equal(c->network_mode, NET_HOSTS);
	config_free(c);
	recipe_free(claude);
	recipe_list_done(&all);
}

static void names_of_recipes(void **state)
{
	(void)state;
	assert_true(recipe_is_name("claude"));
	assert_false(recipe_is_name("list"));
	assert_false(recipe_is_name("../x"));
	assert_false(recipe_is_name(""));
	assert_false(recipe_is_name("-x"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_key),
		cmocka_unit_test(finds_added_directories),
		cmocka_unit_test(names_the_line_of_a_mistake),
		cmocka_unit_test(built_in_recipes_are_whole),
		cmocka_unit_test(an_agent_sees_its_own_and_no_other),
		cmocka_unit_test(names_of_recipes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
