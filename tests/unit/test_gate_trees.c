/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The gate on whole situations: links, modes, repositories by content, several runs in a row. */
#include "gate_trees.h"

#define STEERS "steers programs outside the sandbox: "
#define LEAVES "leads out of the project: symbolic link"

/* ── Links ── */

static void symlinks_that_leave_are_held(void **state)
{
	char inside[128];
	(void)snprintf(inside, sizeof inside, "%s/src", t->live);
	char sly[160];
	(void)snprintf(sly, sizeof sly, "%s/a/../../b", t->live);
	const struct {
		const char *path, *target, *expected;
	} rows[] = {
		{"in", "src/a.c", NULL},
		{"d/up", "../src", NULL},
		{"d/e/up", "../../src/./x", NULL},
		{"top", ".", NULL},
		{"d/root", "..", NULL},
		{"missing", "not/there", NULL},
		{"absolute", inside, NULL},
		{"out", "/etc/passwd", LEAVES},
		{"above", "..", LEAVES},
		{"d/above", "../../x", LEAVES},
		{"d/e/above", "../../../x", LEAVES},
		{"winding", "a/../../../x", LEAVES},
		{"winding-inside", "a/../b", LEAVES}, /* a may be a symlink: words do not tell */
		{"absolute-winding", sly, LEAVES},
		{"sibling", "../live2/x", LEAVES},
		{"proc", "/proc/self/root", LEAVES},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++)
		put_link("layer", rows[i].path, rows[i].target);
	judge_layer();
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++)
		assert_change(rows[i].path, rows[i].expected);
}

static void a_symlink_that_changes_its_target_is_new(void **state)
{
	put_link("live", "a", "x");
	put_link("layer", "a", "/etc");
	put_link("live", "b", "/etc");
	put_link("layer", "b", "x");
	judge_layer();
	assert_change("a", LEAVES);
	assert_change("b", NULL);
}

static void a_symlink_in_the_place_of_a_sensitive_directory_is_held(void **state)
{
	put_link("layer", ".vscode", "editor");
	put("layer", "editor/tasks.json", "{}");
	put_link("layer", ".github", "x");
	put_link("layer", ".git", "repo");
	put_link("layer", "s/.git/hooks", "../../editor");
	put_link("layer", ".envrc", "editor/x");
	put_link("layer", ".gitattributes", "editor/x");
	put_link("layer", "package.json", "editor/x");
	judge_layer();
	assert_change(".vscode", RUNS "editor task (VS Code)");
	assert_change("editor/tasks.json", NULL);
	assert_change(".github", RUNS "CI workflow (GitHub Actions)");
	assert_change(".git", LEADS "git directory");
	assert_change("s/.git/hooks", RUNS "git hook");
	assert_change(".envrc", RUNS "direnv");
	assert_change(".gitattributes", RUNS "git filter or driver");
	assert_change("package.json", RUNS "package script");
}

/* People link hooks and instructions to files with other names: these count, too. */
static void what_a_sensitive_name_leads_to_is_sensitive(void **state)
{
	put("live", "scripts/pre-commit", "a");
	put("live", "docs/agents.md", "a");
	put("live", "docs/other.md", "a");
	put_link("live", ".git/hooks/pre-commit", "../../scripts/pre-commit");
	put_link("live", "CLAUDE.md", "AGENTS.md");
	put_link("live", "AGENTS.md", "docs/agents.md");
	put_link("live", ".github", "tools/github");
	put_link("live", ".vscode", ".vscode"); /* goes nowhere, for ever */
	put("layer", "scripts/pre-commit", "b");
	put("layer", "docs/agents.md", "b");
	put("layer", "docs/other.md", "b");
	put("layer", "tools/github/workflows/ci.yml", "b");
	put("layer", "tools/github/README", "b");
	judge_layer();
	assert_change("scripts/pre-commit", RUNS "git hook");
	assert_change("docs/agents.md", STEERS "agent instructions (agents)");
	assert_change("docs/other.md", NULL);
	assert_change("tools/github/workflows/ci.yml", RUNS "CI workflow (GitHub Actions)");
	assert_change("tools/github/README", NULL);
}

static void the_directory_of_core_hooks_path_is_sensitive(void **state)
{
	put("live", ".git/config", "[core]\n\thooksPath = x\n\thooksPath = tools/hooks\n");
	put("layer", "tools/hooks/pre-commit", "b");
	put("layer", "tools/x", "b");
	put("layer", "x/pre-commit", "b");
	judge_layer();
	assert_change("tools/hooks/pre-commit", RUNS "git hook");
	assert_change("tools/x", NULL);
	assert_change("x/pre-commit", RUNS "git hook"); /* the last one counts, but not in every repository */
}

/* ── Modes and types ── */

/* What git tracks as a program may become one again, what it does not track may become anything. */
static void data_that_git_tracks_and_becomes_executable_is_held(void **state)
{
	for (int version = 2; version <= 4; version += 2) {
		start_over();
		put("live", "data", "x");
		put("live", "both", "x");
		put_bytes("live", "was-program", "x", 1, 0755);
		put("live", "a/deeper/data", "x");
		shell("cd live && export GIT_INDEX_VERSION=%d && git init -q && git add . && chmod 644 was-program",
		      version);
		put("live", "untracked", "x");
		put_bytes("live", "program", "x", 1, 0755);
		put("live", ".envrc", "x");
		put("live", ".git/hooks/post-merge", "x");
		static const char *const made[] = {"data", "was-program", "a/deeper/data", "untracked",
						   ".git/hooks/post-merge"};
		for (size_t i = 0; i < sizeof made / sizeof *made; i++)
			put_bytes("layer", made[i], "x", 1, 0755);
		put_bytes("layer", "both", "y", 1, 0755);
		put_bytes("layer", "program", "y", 1, 0775);
		put_bytes("layer", "new", "x", 1, 0755);
		put_bytes("layer", ".envrc", "x", 1, 0600);
		judge_layer();
		assert_change("data", "made executable: git tracks it as data");
		assert_change("both", "made executable: git tracks it as data");
		assert_change("a/deeper/data", "made executable: git tracks it as data");
		assert_change("was-program", NULL);
		assert_change("untracked", NULL);
		assert_change("program", NULL);
		assert_change("new", NULL);
		assert_change(".envrc", NULL); /* the same content, less access */
		assert_change(".git/hooks/post-merge", RUNS "git hook");
	}
}

static void data_becomes_executable_where_no_git_is(void **state)
{
	put("live", "data", "x");
	put("live", "odd/.git/index", "not an index");
	put("live", "odd/data", "x");
	put("live", "tree/.git", "gitdir: ../elsewhere");
	put("live", "tree/data", "x");
	put_dir("live", "empty/.git");
	put("live", "empty/data", "x");
	static const char *const made[] = {"data", "odd/data", "tree/data", "empty/data"};
	for (size_t i = 0; i < sizeof made / sizeof *made; i++)
		put_bytes("layer", made[i], "x", 1, 0755);
	judge_layer();
	assert_change("data", NULL);
	assert_change("empty/data", NULL);
	assert_change("odd/data", "made executable: git tracks it as data"); /* what cannot be understood is held */
	assert_change("tree/data", "made executable: git tracks it as data");
}

static void deletions_pass(void **state)
{
	put("live", ".git/hooks/pre-commit", "x");
	put("live", ".gitignore", "x");
	put("live", ".github/workflows/ci.yml", "x");
	put("live", ".envrc", "x");
	compare_trees();
	judge();
	for (size_t i = 0; i < t->set->n; i++)
		assert_int_equal(t->set->v[i].verdict, CHANGE_APPLY);
	assert_true(t->set->n >= 6);
}

static void a_rename_is_judged_by_where_it_ends(void **state)
{
	put("live", "tool", "x");
	put("live", ".envrc", "y");
	put("layer", ".git/hooks/pre-push", "x");
	put("layer", "harmless", "y");
	compare_trees();
	make_rename("tool", ".git/hooks/pre-push");
	make_rename(".envrc", "harmless");
	judge();
	assert_change(".git/hooks/pre-push", RUNS "git hook");
	assert_change("harmless", NULL);
}

static void directories_pass_and_types_that_change_do_not_hide(void **state)
{
	put_dir("layer", ".git/hooks");
	put_dir("layer", ".github/workflows");
	put("live", ".husky/pre-commit/x", "x");
	put("layer", ".husky/pre-commit", "x");
	judge_layer();
	assert_change(".git/hooks", NULL);
	assert_change(".github/workflows", NULL);
	assert_change(".husky/pre-commit", RUNS "git hook (husky)");
}

static void a_named_pipe_is_held(void **state)
{
	assert_int_equal(mkfifo(at("layer", "pipe"), 0600), 0);
	judge_layer();
	assert_change("pipe", "special file: programs that open it may wait for ever");
}

static void what_is_decided_is_left_alone(void **state)
{
	put("layer", ".envrc", "x");
	put("layer", ".zshrc", "x");
	put("layer", ".cshrc", "x");
	compare_layer();
	found(".envrc")->state = CHANGE_APPLIED;
	found(".zshrc")->verdict = CHANGE_SKIP;
	found(".cshrc")->setid_dropped = true;
	give_reason(found(".cshrc"), AIRLOCK_REASON_SETUID_DROPPED, NULL);
	judge();
	judge();
	assert_int_equal(found(".envrc")->verdict, CHANGE_APPLY);
	assert_int_equal(found(".zshrc")->verdict, CHANGE_SKIP);
	assert_change(".cshrc", RUNS "shell start-up file (csh); setuid bit dropped");
}

static void what_cannot_be_read_is_held(void **state)
{
	size_t n = (5 << 20);
	char *big = malloc(n);
	memset(big, ' ', n);
	put_bytes("layer", "package.json", big, n, 0644);
	put_bytes("layer", ".git/config", big, n, 0644);
	free(big);
	put("layer", ".gitmodules", "");
	compare_layer();
	assert_int_equal(unlink(at("layer", ".gitmodules")), 0);
	judge();
	assert_change("package.json", "too large to be judged");
	assert_change(".git/config", "too large to be judged");
	assert_change(".gitmodules", "cannot be read, so it cannot be judged");
}

/* ── The configuration ── */

static void the_configuration_adds_and_relaxes(void **state)
{
	_cleanup_strs_ struct strs hold = STRS_INIT, allow = STRS_INIT;
	strs_add(&hold, "*.SQL");
	strs_add(&hold, "infra");
	strs_add(&hold, "src/gen/*.c");
	strs_add(&allow, ".envrc");
	strs_add(&allow, ".github/**");
	strs_add(&allow, "infra/ok.tf");
	static const char *const paths[] = {
		"db/schema.sql",
		"infra/main.tf",
		"infra/ok.tf",
		"src/gen/a.c",
		"src/a.c",
		"sub/.envrc",
		".github/workflows/ci.yml",
		"sub/.vscode/tasks.json",
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(paths); i++)
		put("layer", paths[i], "x");
	rules = &(const struct gate_rules){&hold, &allow};
	put("live", "infra/gone", "x");
	compare_trees();
	judge();
	assert_change("db/schema.sql", "a rule of the configuration holds it");
	assert_change("infra/main.tf", "a rule of the configuration holds it");
	assert_change("infra/ok.tf", NULL);
	assert_change("src/gen/a.c", "a rule of the configuration holds it");
	assert_change("src/a.c", NULL);
	assert_change("sub/.envrc", NULL);
	assert_change(".github/workflows/ci.yml", NULL);
	assert_change("sub/.vscode/tasks.json", RUNS "editor task (VS Code)");
	assert_change("infra/gone", "a rule of the configuration holds it");
	rules = NULL; /* judged again without them: what only they held is free */
	judge();
	assert_change("db/schema.sql", NULL);
	assert_change("sub/.envrc", RUNS "direnv");
}

/* ── Repositories by content ── */

static void put_repository(const char *which, const char *dir)
{
	char path[256];
	static const char *const files[] = {"HEAD", "objects/info/packs", "refs/heads/main"};
	for (size_t i = 0; i < AL_ARRAY_LEN(files); i++) {
		(void)snprintf(path, sizeof path, "%s%s%s", dir, *dir ? "/" : "", files[i]);
		put(which, path, "ref: refs/heads/main\n");
	}
}

static void any_repository_is_judged_like_git(void **state)
{
	put_repository("layer", "bare");
	put("layer", "bare/config", "[core]\n\tbare = true\n");
	put("layer", "bare/hooks/update.sample", "x");
	put("layer", "bare/README", "x");
	put_repository("layer", "a/evil");
	put("layer", "a/evil/config", "[core]\n\tfsmonitor = evil\n");
	put("layer", "a/evil/hooks/update", "x");
	put("layer", "a/evil/info/attributes", "* filter=x");
	put("layer", "half/objects/x", "x"); /* can be the common directory of another */
	put("layer", "half/refs/x", "x");
	put("layer", "half/config", "[core]\n\tfsmonitor = evil\n");
	put("layer", "linked/HEAD", "x");
	put("layer", "linked/commondir", "../half\n");
	put("layer", "linked/config.worktree", "[core]\n\tfsmonitor = evil\n");
	put_repository("layer", "led");
	put_link("layer", "led/hooks", "../bare");
	put_link("layer", "led/objects/x", "../..");
	judge_layer();
	assert_change("bare/HEAD", NULL);
	assert_change("bare/config", NULL);
	assert_change("bare/hooks/update.sample", NULL);
	assert_change("bare/README", NULL);
	assert_change("a/evil/config", RUNS "git setting core.fsmonitor");
	assert_change("a/evil/hooks/update", RUNS "git hook");
	assert_change("a/evil/info/attributes", RUNS "git filter or driver");
	assert_change("a/evil/HEAD", NULL);
	assert_change("half/config", RUNS "git setting core.fsmonitor");
	assert_change("linked/commondir", LEADS "git directory");
	assert_change("led/hooks", RUNS "git hook");
	assert_change("led/objects/x", NULL);
	assert_change("linked/config.worktree", RUNS "git setting core.fsmonitor");
}

/* The root itself can be one, by its content or by where it is. */
static void the_root_can_be_a_repository(void **state)
{
	put_repository("live", "");
	put("layer", "config", "[core]\n\tpager = evil\n");
	put("layer", "hooks/update", "x");
	put("layer", "unknown", "x");
	judge_layer();
	assert_change("config", RUNS "git setting core.pager");
	assert_change("hooks/update", RUNS "git hook");
	assert_change("unknown", NULL);
}

static void the_root_can_lie_in_a_git_directory(void **state)
{
	char live[128];
	put("layer", "hooks/pre-commit", "x");
	put("layer", "objects/ab/c", "x");
	put("layer", "unknown", "x");
	put("layer", "modules/m/hooks/x", "x");
	put_dir("home", "");
	(void)snprintf(live, sizeof live, "%s/home/.git", t->dir);
	assert_int_equal(mkdir(live, 0755), 0);
	compare_layer();
	free(t->set->roots[0].path);
	t->set->roots[0].path = strdup(live);
	judge();
	forget("home");
	assert_change("hooks/pre-commit", RUNS "git hook");
	assert_change("objects/ab/c", NULL);
	assert_change("unknown", STEERS "git's own files");
	assert_change("modules/m/hooks/x", STEERS "git's own files");
}

/* A first run leaves a config where it means nothing, a second one makes it mean something. */
static void a_repository_in_two_runs_is_held(void **state)
{
	put("live", "x/config", "[core]\n\tfsmonitor = evil\n");
	put_repository("layer", "x");
	put("live", "y/hooks/update", "evil");
	put("live", "y/objects/x", "x");
	put("live", "y/HEAD", "x");
	put("layer", "y/refs/heads/x", "x");
	put("live", "z/config", "[core]\n\tbare = true\n");
	put_repository("layer", "z");
	put("live", "w/config", "[core]\n\tfsmonitor = evil\n");
	put("live", "w/HEAD", "x");
	put("live", "w/objects/x", "x");
	put("live", "w/refs/x", "x");
	put("layer", "w/HEAD", "y"); /* it was one before: the user's */
	put("live", "v/commondir", "../w\n");
	put("layer", "v/HEAD", "x");
	judge_layer();
	const char *awakens = RUNS "makes a directory with commands in it a git repository";
	assert_change("x/HEAD", awakens);
	assert_change("x/objects/info/packs", awakens);
	assert_change("y/refs/heads/x", awakens);
	assert_change("v/HEAD", awakens);
	assert_change("z/HEAD", NULL);
	assert_change("w/HEAD", NULL);
}

static void submodules_follow_the_same_rules(void **state)
{
	put_repository("layer", ".git/modules/a/b");
	put("layer", ".git/modules/a/b/config", "[core]\n\tworktree = ../../../../a/b\n");
	put("layer", ".git/modules/a/b/index", "");
	put("layer", ".git/modules/a/b/hooks/pre-commit", "x");
	put("layer", ".git/modules/a/b/unknown", "x");
	put_repository("layer", ".git/modules/a/b/modules/c");
	put("layer", ".git/modules/a/b/modules/c/config", "[core]\n\tworktree = /elsewhere\n");
	put("layer", "a/b/.git", "gitdir: ../../.git/modules/a/b\n");
	/* A module named "objects" must not pass for objects. */
	put("layer", ".git/modules/objects/hooks/pre-commit", "x");
	judge_layer();
	assert_change(".git/modules/a/b/HEAD", NULL);
	assert_change(".git/modules/a/b/objects/info/packs", NULL);
	assert_change(".git/modules/a/b/config", NULL);
	assert_change(".git/modules/a/b/index", NULL);
	assert_change(".git/modules/a/b/hooks/pre-commit", RUNS "git hook");
	assert_change(".git/modules/a/b/unknown", STEERS "git's own files");
	assert_change(".git/modules/a/b/modules/c/HEAD", NULL);
	assert_change(".git/modules/a/b/modules/c/config", LEADS "git setting core.worktree");
	assert_change("a/b/.git", NULL);
	assert_change(".git/modules/objects/hooks/pre-commit", STEERS "git's own files");
}

static void a_repository_hidden_among_objects_is_found(void **state)
{
	put_repository("layer", ".git/objects/x");
	put("layer", ".git/objects/x/config", "[core]\n\tfsmonitor = evil\n");
	judge_layer();
	assert_change(".git/objects/x/HEAD", NULL);
	assert_change(".git/objects/x/config", RUNS "git setting core.fsmonitor");
}

static void a_pointer_through_a_symlink_is_held(void **state)
{
	put_link("live", "link", "elsewhere");
	put_dir("live", "elsewhere");
	put("layer", "a/.git", "gitdir: ../link/.git\n");
	put("layer", "b/.git", "gitdir: ../real/.git\n");
	judge_layer();
	assert_change("a/.git", LEADS "git directory");
	assert_change("b/.git", NULL);
}

/* ── Python ── */

static void a_virtual_environment_is_applied_whole(void **state)
{
	shell("python3 -m venv --without-pip layer/.venv && cd layer/.venv/lib/python3*/site-packages && "
	      "echo 'import x' >x.pth && echo x >sitecustomize.py");
	rules = &(struct gate_rules){.home = getenv("HOME")}; /* the interpreter may be one of its toolchains */
	judge_layer();
	for (size_t i = 0; i < t->set->n; i++)
		if (t->set->v[i].verdict != CHANGE_APPLY)
			fail_msg("%s: %s", t->set->v[i].path, why(&t->set->v[i]));
	assert_true(t->set->n > 10);
}

static void a_virtual_environment_is_no_excuse(void **state)
{
	put("live", ".local/lib/python3.11/site-packages/a.py", "x");
	put("layer", ".local/lib/python3.11/site-packages/a.pth", "import evil");
	put("layer", ".local/pyvenv.cfg", "home = /usr/bin\n");
	put("live", ".venv/pyvenv.cfg", "home = /usr/bin\n");
	put("layer", ".venv/lib/python3.11/site-packages/a.pth", "import x");
	judge_layer();
	assert_change(".local/pyvenv.cfg", STEERS "python environment (python)");
	assert_change(".local/lib/python3.11/site-packages/a.pth", RUNS "python start-up file (python)");
	assert_change(".venv/lib/python3.11/site-packages/a.pth", RUNS "python start-up file (python)");
}

#define TEST(f) cmocka_unit_test_setup(f, fresh)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(symlinks_that_leave_are_held),
		TEST(a_symlink_that_changes_its_target_is_new),
		TEST(a_symlink_in_the_place_of_a_sensitive_directory_is_held),
		TEST(what_a_sensitive_name_leads_to_is_sensitive),
		TEST(the_directory_of_core_hooks_path_is_sensitive),
		TEST(data_that_git_tracks_and_becomes_executable_is_held),
		TEST(data_becomes_executable_where_no_git_is),
		TEST(deletions_pass),
		TEST(a_rename_is_judged_by_where_it_ends),
		TEST(directories_pass_and_types_that_change_do_not_hide),
		TEST(a_named_pipe_is_held),
		TEST(what_is_decided_is_left_alone),
		TEST(what_cannot_be_read_is_held),
		TEST(the_configuration_adds_and_relaxes),
		TEST(any_repository_is_judged_like_git),
		TEST(the_root_can_be_a_repository),
		TEST(the_root_can_lie_in_a_git_directory),
		TEST(a_repository_in_two_runs_is_held),
		TEST(submodules_follow_the_same_rules),
		TEST(a_repository_hidden_among_objects_is_found),
		TEST(a_pointer_through_a_symlink_is_held),
		TEST(a_virtual_environment_is_applied_whole),
		TEST(a_virtual_environment_is_no_excuse),
	};
	return cmocka_run_group_tests(tests, open_twins, close_twins);
}
