/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The gate on where things lie: projects in places that programs read, tops of repositories, moves and copies. */
#include "gate_trees.h"

#define STEERS "steers programs outside the sandbox: "
#define UNKNOWN "unknown dot-file: no table of airlock knows which program reads it"

/* ── Where the project lies ── */

struct place {
	const char *project; /* below the home */
	const char *path, *expected;
};

/* The home is t->dir/home; the root is only said to lie in it, what is judged is in the twin trees. */
static void judge_in_home(const char *project)
{
	char home[128];
	struct gate_rules in_home = {.home = home};
	(void)snprintf(home, sizeof home, "%s", at("home", ""));
	put_dir("home", project);
	compare_layer();
	free(t->set->roots[0].path);
	t->set->roots[0].path = strdup(at("home", project));
	rules = &in_home;
	judge();
	rules = NULL;
}

static void a_project_is_judged_by_where_it_lies(void **state)
{
	static const struct place rows[] = {
		{".config", "autostart/a.desktop", RUNS "autostart entry (desktop)"},
		{".config", "systemd/user/a.service", RUNS "systemd unit (systemd)"},
		{".config", "fish/config.fish", RUNS "shell start-up file (fish)"},
		{".config", "environment.d/a.conf", RUNS "session environment (systemd)"},
		{".config", "anything/a.conf", STEERS "settings (the program of that name)"},
		{".config/fish", "conf.d/a.fish", RUNS "shell start-up file (fish)"},
		{".config/newtool", "a.conf", STEERS "settings (the program of that name)"},
		{".local", "bin/ls", RUNS "program in the search path (every shell)"},
		{".local/bin", "ls", RUNS "program in the search path (every shell)"},
		{".local/share/applications", "a.desktop", RUNS "desktop entry (desktop)"},
		{".vim", "plugin/a.vim", RUNS "editor start-up file (vim)"},
		{".vim/pack/a/start/b", "plugin/a.vim", RUNS "editor start-up file (vim)"},
		{"proj/.vscode", "tasks.json", RUNS "editor task (VS Code)"},
		{"proj/.vscode", "a.code-snippets", NULL},
		{"proj/.vscode", "other", UNKNOWN},
		{"proj/.claude", "settings.json", RUNS "agent settings (Claude Code)"},
		{".claude/worktrees/fix", "src/a.c", NULL},
		{".claude/worktrees/fix", ".envrc", RUNS "direnv"},
		{".worktrees/fix", "src/a.c", NULL},
		{".newtool", "config", UNKNOWN},
		{".newtool/work/proj", "src/a.c", NULL}, /* a person keeps projects where they like */
		{".cache", "x", UNKNOWN},
		{".cache/x", "y", NULL},
		{"proj/.cache", "x", NULL},
		{".local/src/proj", "src/a.c", NULL},
		{"bin", "ls", RUNS "program in the search path (every shell)"},
		{"proj/bin", "ls", NULL},
		{"proj", "bin/ls", NULL},
		{"proj", "src/a.c", NULL},
		{"proj/vendor/x", ".vscode/tasks.json", RUNS "editor task (VS Code)"},
		{"proj/node_modules/x", ".newtool", UNKNOWN},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		start_over();
		forget("home");
		put("layer", rows[i].path, "x");
		judge_in_home(rows[i].project);
		const struct change *c = found(rows[i].path);
		if (!why(c) != !rows[i].expected || (why(c) && strcmp(why(c), rows[i].expected) != 0))
			fail_msg("%s in %s: %s", rows[i].path, rows[i].project, why(c) ? why(c) : "applied");
	}
}

static void git_settings_are_judged_by_where_they_lie(void **state)
{
	put("layer", "git/config", "[core]\n\tpager = evil\n");
	put("layer", "git/attributes", "* filter=evil\n");
	judge_in_home(".config");
	assert_change("git/config", RUNS "git setting core.pager");
	assert_change("git/attributes", RUNS "git filter or driver");
}

static void the_home_itself_can_be_the_project(void **state)
{
	put("layer", ".config/newtool/a", "x");
	put("layer", ".cache/a", "x");
	put("layer", "bin/ls", "x");
	put("layer", "src/a.c", "x");
	put("layer", "proj/.cache/a", "x");
	put("layer", "proj/bin/ls", "x");
	put("layer", ".gitignore", "x");
	judge_in_home("");
	assert_change(".config/newtool/a", STEERS "settings (the program of that name)");
	assert_change(".cache/a", UNKNOWN);
	assert_change("bin/ls", RUNS "program in the search path (every shell)");
	assert_change("src/a.c", NULL);
	assert_change("proj/.cache/a", NULL);
	assert_change("proj/bin/ls", NULL);
	assert_change(".gitignore", NULL);
}

static void a_link_in_such_a_place_is_held(void **state)
{
	put_link("layer", "fish", "other");
	put_link("layer", "src", "other");
	judge_in_home(".config");
	assert_change("fish", RUNS "shell start-up file (fish)");
	assert_change("src", STEERS "settings (the program of that name)");
}

/* ── Where a forge looks ── */

static void workflows_count_at_the_top_of_a_repository(void **state)
{
	put_dir("live", "sub/.git");
	put("live", "module/.git", "gitdir: ../.git/modules/module\n");
	put("layer", "sub/.github/workflows/ci.yml", "x");
	put("layer", "module/.gitlab-ci.yml", "x");
	put("layer", "new/.github/workflows/ci.yml", "x");
	put("layer", "new/.git/HEAD", "ref: refs/heads/main\n");
	put("layer", "plain/.github/workflows/ci.yml", "x");
	put("layer", "node_modules/x/.github/workflows/ci.yml", "x");
	put("layer", "node_modules/x/.git/HEAD", "ref: refs/heads/main\n");
	judge_layer();
	assert_change("sub/.github/workflows/ci.yml", RUNS "CI workflow (GitHub Actions)");
	assert_change("module/.gitlab-ci.yml", RUNS "CI workflow (GitLab CI)");
	assert_change("new/.github/workflows/ci.yml", RUNS "CI workflow (GitHub Actions)");
	assert_change("plain/.github/workflows/ci.yml", NULL);
	assert_change("node_modules/x/.github/workflows/ci.yml", NULL);
}

static void a_project_can_be_a_part_of_a_repository(void **state)
{
	put_dir("home", "proj/.git");
	put("layer", "workflows/ci.yml", "x");
	judge_in_home("proj/.github");
	assert_change("workflows/ci.yml", RUNS "CI workflow (GitHub Actions)");
	forget("home");
}

/* ── Moves and copies ── */

struct move {
	const char *from, *path;
	const char *expected;
	bool gone; /* the first is no longer there */
};

static void content_that_was_obeyed_is_not_new(void **state)
{
	static const struct move rows[] = {
		{".github/workflows/a.yml", ".github/workflows/b.yml", NULL, true},
		{".github/workflows/a.yml", ".github/workflows/b.yml", NULL, false},
		{".github/workflows/a.txt", ".github/workflows/a.yml", RUNS "CI workflow (GitHub Actions)", true},
		{".github/workflows/a.txt", ".github/workflows/a.yml", RUNS "CI workflow (GitHub Actions)", false},
		{".github/workflows/x/a.yml", ".github/workflows/a.yml", RUNS "CI workflow (GitHub Actions)", true},
		{"docs/a.yml", ".github/workflows/a.yml", RUNS "CI workflow (GitHub Actions)", true},
		{"docs/a.yml", ".github/workflows/a.yml", RUNS "CI workflow (GitHub Actions)", false},
		{"x/.github/workflows/a.yml", ".github/workflows/a.yml", RUNS "CI workflow (GitHub Actions)", true},
		{"AGENTS.md", "sub/AGENTS.md", NULL, false},
		{"sub/AGENTS.md", "AGENTS.md", STEERS "agent instructions (agents)", false},
		{"sub/AGENTS.md", "AGENTS.md", STEERS "agent instructions (agents)", true},
		{"a/AGENTS.md", "b/AGENTS.md", NULL, true},
		{"a/AGENTS.md", "b/AGENTS.md", STEERS "agent instructions (agents)", false},
		{"AGENTS.md", "CLAUDE.md", STEERS "agent instructions (Claude Code)", false},
		{"old/.vscode/tasks.json", "new/.vscode/tasks.json", NULL, true},
		{".vscode/launch.json", ".vscode/tasks.json", RUNS "editor task (VS Code)", true},
		{".husky/notes", ".husky/pre-commit", RUNS "git hook (husky)", true},
		{".claude/x/settings.json", ".claude/settings.json", RUNS "agent settings (Claude Code)", true},
		{"node_modules/x/.npmrc", "web/api/.npmrc", RUNS "package manager settings (npm)", true},
		{".newtool/a", ".newtool/b", UNKNOWN, true},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		start_over();
		put("live", rows[i].from, "the same");
		put("layer", rows[i].path, "the same");
		if (rows[i].gone) {
			compare_trees();
			make_rename(rows[i].from, rows[i].path);
		} else {
			compare_layer();
		}
		judge();
		const struct change *c = found(rows[i].path);
		if (!why(c) != !rows[i].expected || (why(c) && strcmp(why(c), rows[i].expected) != 0))
			fail_msg("%s to %s: %s", rows[i].from, rows[i].path, why(c) ? why(c) : "applied");
	}
}

static void a_copy_with_other_bytes_or_more_rights_is_new(void **state)
{
	put("live", ".github/workflows/a.yml", "one");
	put("layer", ".github/workflows/b.yml", "two");
	put("live", ".husky/pre-commit", "x");
	put_bytes("layer", "sub/.husky/pre-commit", "x", 1, 0755);
	put("live", "AGENTS.md", "x");
	put_bytes("layer", "sub/AGENTS.md", "x", 1, 0644);
	judge_layer();
	assert_change(".github/workflows/b.yml", RUNS "CI workflow (GitHub Actions)");
	assert_change("sub/.husky/pre-commit", RUNS "git hook (husky)");
	assert_change("sub/AGENTS.md", NULL);
}

static void copies_are_looked_for_in_bounded_time(void **state)
{
	char path[64];
	for (int i = 0; i < 300; i++) {
		(void)snprintf(path, sizeof path, ".github/workflows/live%d.yml", i);
		put("live", path, "aaaa");
		(void)snprintf(path, sizeof path, ".github/workflows/new%d.yml", i);
		put("layer", path, "bbbb");
	}
	put("layer", ".github/workflows/a-copy.yml", "aaaa");
	put("layer", ".github/workflows/z-copy.yml", "aaaa");
	judge_layer();
	assert_change(".github/workflows/a-copy.yml", NULL);
	assert_change(".github/workflows/new7.yml", RUNS "CI workflow (GitHub Actions)");
	assert_change(".github/workflows/z-copy.yml", RUNS "CI workflow (GitHub Actions)");
}

/* ── Environments of Python ── */

static void an_environment_in_use_is_guarded(void **state)
{
	char inside[128];
	(void)snprintf(inside, sizeof inside, "%s/src\n# a comment\nrelative/src\n", t->live);
	put("live", "venv/pyvenv.cfg", "home = /usr/bin\n");
	put("live", "venv/lib/python3/site-packages/old.pth", "import old\n");
	put("layer", "venv/lib/python3/site-packages/old.pth", "import old\n./src\n");
	put("layer", "venv/lib/python3/site-packages/editable.pth", inside);
	put("layer", "venv/lib/python3/site-packages/out.pth", "/elsewhere\n");
	put("layer", "venv/lib/python3/site-packages/up.pth", "../../../../../..\n");
	put("layer", "venv/lib/python3/site-packages/code.pth", "import evil\n");
	put("layer", "venv/lib/python3/site-packages/sitecustomize.py", "x");
	put("layer", "venv/lib/python3/site-packages/package/a.py", "x");
	put("layer", "venv/bin/python3", "x");
	put("layer", "venv/bin/activate.fish", "x");
	put("layer", "venv/bin/pip", "x");
	put("layer", "bin/python3", "x");
	put_link("layer", "scripts/bin", "../src");
	judge_layer();
	const char *start = RUNS "python start-up file (python)";
	assert_change("venv/lib/python3/site-packages/old.pth", NULL);
	assert_change("venv/lib/python3/site-packages/editable.pth", NULL);
	assert_change("venv/lib/python3/site-packages/out.pth", start);
	assert_change("venv/lib/python3/site-packages/up.pth", start);
	assert_change("venv/lib/python3/site-packages/code.pth", start);
	assert_change("venv/lib/python3/site-packages/sitecustomize.py", start);
	assert_change("venv/lib/python3/site-packages/package/a.py", NULL);
	assert_change("venv/bin/python3", RUNS "interpreter that editors start (python)");
	assert_change("venv/bin/activate.fish", RUNS "shell start-up file of an environment (VS Code)");
	assert_change("venv/bin/pip", NULL);
	assert_change("bin/python3", NULL);
	assert_change("scripts/bin", NULL);
}

/* Editors look for environments and start what they find there. */
static void an_interpreter_of_a_new_environment_is_not_the_projects(void **state)
{
	put("layer", "a/pyvenv.cfg", "home = /usr/bin\n");
	put_link("layer", "a/bin/python", "python3");
	put_link("layer", "a/bin/python3", "/usr/bin/python3");
	put("layer", "a/bin/python-config", "x");
	put("layer", "a/bin/activate", "x");
	put("layer", "b/pyvenv.cfg", "home = /usr/bin\n");
	put("layer", "b/bin/python", "#!/bin/sh\nevil\n");
	put_link("layer", "b/bin/python3", "../../src/evil");
	put_link("layer", "b/bin/python3.12", "/home/somebody/playground/python3");
	judge_layer();
	const char *held = RUNS "interpreter that editors start (python)";
	assert_change("a/bin/python", NULL);
	assert_change("a/bin/python3", NULL);
	assert_change("a/bin/python-config", NULL);
	assert_change("a/bin/activate", NULL);
	assert_change("b/bin/python", held);
	assert_change("b/bin/python3", held);
	assert_change("b/bin/python3.12", "leads out of the project: symbolic link");
}

/* Only to a program that is installed outside the home or in a toolchain directory of it. */
static void a_link_to_an_interpreter_leads_to_an_installed_program(void **state)
{
	static const struct {
		const char *target; /* absolute, or below the home */
		bool passes;
	} rows[] = {
		{"/usr/bin/python3", true},
		{".pyenv/versions/3.12/bin/python3", true},
		{".local/share/uv/python/latest/bin/python3", true}, /* through a link beside it */
		{".pyenv/versions/3.12/bin/python-data", false},     /* no program */
		{".pyenv/versions/3.12/bin/pylinked", false},	     /* leads to another directory of the home */
		{".pyenv/versions/3.12/bin/pyfolder", false},
		{".pyenv/versions/3.12/bin/pymissing", false},
		{".pyenv/shared/python3", false}, /* not where versions are */
		{"pyprojects", false},
		{"pyprojects/python3", false},
		{"pyprojects/pylink", false}, /* to /usr/bin/python3, but anybody at home can turn it */
		{"/usr/bin/pylib", false},
		{"/tmp", false},
	};
	static const char *const programs[] = {".pyenv/versions/3.12/bin/python3", ".pyenv/shared/python3",
					       ".local/share/uv/python/cpython-3.12/bin/python3", "pyprojects/python3"};
	for (size_t i = 0; i < AL_ARRAY_LEN(programs); i++)
		put_bytes("home", programs[i], "x", 1, 0755);
	put("home", ".pyenv/versions/3.12/bin/python-data", "x");
	put_dir("home", ".pyenv/versions/3.12/bin/pyfolder");
	put_link("home", ".local/share/uv/python/latest", "cpython-3.12");
	put_link("home", ".pyenv/versions/3.12/bin/pylinked", at("home", "pyprojects/python3"));
	put_link("home", "pyprojects/pylink", "/usr/bin/python3");
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		start_over();
		put("layer", "a/pyvenv.cfg", "home = /usr/bin\n");
		put_link("layer", "a/bin/python",
			 rows[i].target[0] == '/' ? rows[i].target : at("home", rows[i].target));
		print_message("# %s\n", rows[i].target);
		judge_in_home("proj");
		assert_change("a/bin/python", rows[i].passes ? NULL : "leads out of the project: symbolic link");
	}
	/* Outside the home, where everybody may write. */
	start_over();
	put_bytes("elsewhere", "python3", "x", 1, 0755);
	put("layer", "a/pyvenv.cfg", "home = /usr/bin\n");
	put_link("layer", "a/bin/python", at("elsewhere", "python3"));
	judge_in_home("proj");
	assert_change("a/bin/python", "leads out of the project: symbolic link");
	forget("home");
	forget("elsewhere");
}

#define TEST(f) cmocka_unit_test_setup(f, fresh)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_project_is_judged_by_where_it_lies),
		TEST(git_settings_are_judged_by_where_they_lie),
		TEST(the_home_itself_can_be_the_project),
		TEST(a_link_in_such_a_place_is_held),
		TEST(workflows_count_at_the_top_of_a_repository),
		TEST(a_project_can_be_a_part_of_a_repository),
		TEST(content_that_was_obeyed_is_not_new),
		TEST(a_copy_with_other_bytes_or_more_rights_is_new),
		TEST(copies_are_looked_for_in_bounded_time),
		TEST(an_environment_in_use_is_guarded),
		TEST(an_interpreter_of_a_new_environment_is_not_the_projects),
		TEST(a_link_to_an_interpreter_leads_to_an_installed_program),
	};
	return cmocka_run_group_tests(tests, open_twins, close_twins);
}
