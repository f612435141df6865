/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is held and what is not: a table of single files, then whole situations, then real git. */
#include "twin_trees.h"
#include "why.h"

#include "change/gate/gate_config.h"
#include "change/gate/gate_name.h"
#include "change/gate/sensitive.h"

#define RUNS "runs outside the sandbox: "
#define LEADS "leads programs outside the sandbox astray: "
#define STEERS "steers programs outside the sandbox: "

struct row {
	const char *path, *before, *after; /* before NULL: a new file */
	const char *expected;		   /* the reason, or its beginning; NULL: applied */
};

static void judge(void)
{
	struct airlock_error err = {0};
	assert_int_equal(gate_judge(t->set, NULL, &err), 0);
}

static bool is_as_expected(const struct change *c, const char *expected)
{
	if (!expected) /* by itself: git's bookkeeping is applied whole or not at all */
		return change_is_follower(c) || (c->verdict == CHANGE_APPLY && !why(c));
	return c->verdict == CHANGE_HOLD && why(c) && strncmp(why(c), expected, strlen(expected)) == 0;
}

static void check_change(const char *path, const char *expected)
{
	const struct change *c = found(path);
	if (!is_as_expected(c, expected))
		fail_msg("%s: %s, expected %s", path, why(c) ? why(c) : "applied", expected ? expected : "applied");
}

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		start_over();
		if (rows[i].before)
			put("live", rows[i].path, rows[i].before);
		put("layer", rows[i].path, rows[i].after);
		compare_layer();
		judge();
		check_change(rows[i].path, rows[i].expected);
	}
}
#define CHECK_ROWS(rows) check_rows(rows, AL_ARRAY_LEN(rows))

/* ── Names ── */

static const struct row ordinary[] = {
	{"src/main.c", "int x;", "int y;", NULL},
	{"README.md", NULL, "# x", NULL},
	{"Makefile", "all:", "all: x", NULL},
	{".gitignore", NULL, "build/\n", NULL},
	{".env", NULL, "A=1", NULL},
	{".editorconfig", NULL, "root = true", NULL},
	{"bashrc", NULL, "x", NULL},
	{"docs/profile", NULL, "x", NULL},
	{".vscode/snippets.code-snippets", NULL, "{}", NULL},
	{".github/CODEOWNERS", NULL, "* @x", NULL},
	{".github/ISSUE_TEMPLATE/bug.md", NULL, "x", NULL},
	{"claude.txt", NULL, "x", NULL},
	{"docs/agents/md", NULL, "x", NULL},
	{"model.pth", NULL, "weights", NULL},
	{"sitecustomize.py", NULL, "x", NULL},
	{"src/hooks/useThing.ts", NULL, "x", NULL},
	{"config", NULL, "[core]\n\tfsmonitor = evil\n", NULL},
	{"src/config", NULL, "[core]\n\tfsmonitor = evil\n", NULL},
	{"HEAD", NULL, "ref: refs/heads/x\n", NULL},
	{"git", NULL, "x", NULL},
	{"node_modules/a/package.json", NULL, "{\"scripts\": {\"postinstall\": \"evil\"}}", NULL},
	{"node_modules/a/.travis.yml", NULL, "x", NULL},
	{"node_modules/a/.github/workflows/ci.yml", NULL, "x", NULL},
	{"node_modules/a/.npmrc", NULL, "x", NULL},
	{"node_modules/a/.vscode/settings.json", NULL, "{}", NULL},
	/* a forge looks at the top of a repository only */
	{"vendor/x/.github/workflows/ci.yml", NULL, "x", NULL},
	{"sub/.github/workflows/ci.yml", NULL, "x", NULL},
	{"sub/.travis.yml", NULL, "x", NULL},
	/* source: a person starts it by name */
	{"conftest.py", NULL, "x", NULL},
	{"build.rs", NULL, "x", NULL},
	{"setup.py", NULL, "x", NULL},
	{"Dockerfile", NULL, "x", NULL},
	{"package-lock.json", NULL, "{}", NULL},
	{"Cargo.lock", NULL, "x", NULL},
	{"eslint.config.js", NULL, "x", NULL},
	{"bin", NULL, "x", NULL},
	{"bin/python-config", NULL, "x", NULL},
	{"tools/bazel.md", NULL, "x", NULL},
	{"src/mise", NULL, "x", NULL},
	/* dot-entries that are known to be harmless */
	{".gitkeep", NULL, "", NULL},
	{".dockerignore", NULL, "x", NULL},
	{".npmignore", NULL, "x", NULL},
	{".prettierrc", NULL, "x", NULL},
	{".prettierrc.json", NULL, "x", NULL},
	{"a/b/.clang-format", NULL, "x", NULL},
	{".env.example", NULL, "A=$(x)", NULL},
	{".pytest_cache/v/cache/lastfailed", NULL, "x", NULL},
	{".pytest_cache/.gitignore", NULL, "x", NULL},
	{"target/.rustc_info.json", NULL, "{}", NULL},
	{"target/debug/.cargo-lock", NULL, "", NULL},
	{"target/debug/.fingerprint/app-491be69ccdac66ca/lib-app.json", NULL, "{}", NULL},
	{".mypy_cache/3.11/.hidden/x", NULL, "x", NULL},
	{".next/server/app.js", NULL, "x", NULL},
	{"web/.turbo/x", NULL, "x", NULL},
	{".tox/py311/bin/x", NULL, "x", NULL},
	{".coverage", NULL, "x", NULL},
	{".gradle/8.5/x.bin", NULL, "x", NULL},
	{".cache/x", NULL, "x", NULL},
	{".eslintrc.cjs", NULL, "x", NULL},
	{".worktrees/fix/src/a.c", NULL, "x", NULL},
	{".claude/worktrees/fix/src/a.c", NULL, "x", NULL},
	{".config", NULL, "CONFIG_X=y", NULL},
	{"node_modules/a/.unknown", NULL, "x", NULL},
	{"node_modules/.package-lock.json", NULL, "{}", NULL},
	{"vendor/a/.unknown/x", NULL, "x", NULL},
	{"venv/lib/python3/site-packages/a/.unknown", NULL, "x", NULL},
	/* judged by what is in them */
	{".env", "PATH=/a", "PATH=/a\nA=1\n# x $(y)\nexport B='x y'\nC=\"d e\"\n", NULL},
	{".nvmrc", NULL, "lts/iron\n", NULL},
	{".python-version", NULL, "3.12.1\npypy3.10-7.3\n", NULL},
	{".tool-versions", NULL, "# x\nnodejs 20.1.0\npython 3.12.1 system\n", NULL},
	{"rust-toolchain.toml", NULL, "[toolchain]\nchannel = \"1.75\"\n", NULL},
	{".pylintrc", NULL, "[MAIN]\njobs=4\n", NULL},
	{".flake8", NULL, "[flake8]\nmax-line-length = 100\n", NULL},
	{"pyproject.toml", NULL, "[tool.ruff]\nline-length = 100\n", NULL},
	{"pyproject.toml", "init-hook = 'x'", "init-hook = 'x'\n[project]\n", NULL},
};

static const struct row sensitive[] = {
	{".envrc", NULL, "x", RUNS "direnv"},
	{"sub/dir/.envrc", "a", "b", RUNS "direnv"},
	{".bashrc", NULL, "x", RUNS "shell start-up file"},
	{".bash_profile", NULL, "x", RUNS "shell start-up file"},
	{".profile", "a", "b", RUNS "shell start-up file"},
	{".zshrc", NULL, "x", RUNS "shell start-up file"},
	{".zshenv", NULL, "x", RUNS "shell start-up file"},
	{".zprofile", NULL, "x", RUNS "shell start-up file"},
	{".zlogin", NULL, "x", RUNS "shell start-up file"},
	{".kshrc", NULL, "x", RUNS "shell start-up file"},
	{".cshrc", NULL, "x", RUNS "shell start-up file"},
	{".tcshrc", NULL, "x", RUNS "shell start-up file"},
	{".login", NULL, "x", RUNS "shell start-up file"},
	{".config/fish/config.fish", NULL, "x", RUNS "shell start-up file"},
	{".config/fish/conf.d/a.fish", NULL, "x", RUNS "shell start-up file"},
	{".vscode/tasks.json", NULL, "{}", RUNS "editor task"},
	{".vscode/settings.json", "{}", "{\"a\":1}", RUNS "editor settings"},
	{"pkg/.vscode/launch.json", NULL, "{}", RUNS "editor launch configuration"},
	{".vscode/extensions.json", NULL, "{}", RUNS "editor extensions"},
	{"my.code-workspace", NULL, "{}", RUNS "editor workspace"},
	{".idea/workspace.xml", NULL, "x", RUNS "editor workspace"},
	{".idea/runConfigurations/a.xml", NULL, "x", RUNS "editor run configuration"},
	{".vimrc", NULL, "x", RUNS "editor start-up file"},
	{".exrc", NULL, "x", RUNS "editor start-up file"},
	{".nvim.lua", NULL, "x", RUNS "editor start-up file"},
	{".nvimrc", NULL, "x", RUNS "editor start-up file"},
	{".emacs", NULL, "x", RUNS "editor start-up file"},
	{"src/.dir-locals.el", NULL, "x", RUNS "editor start-up file"},
	{".github/workflows/ci.yml", NULL, "x", RUNS "CI workflow"},
	{".github/workflows/deep/ci.yml", NULL, "x", RUNS "CI workflow"},
	{".github/actions/a/action.yml", NULL, "x", RUNS "CI workflow"},
	{".gitlab-ci.yml", "a", "b", RUNS "CI workflow"},
	{".circleci/config.yml", NULL, "x", RUNS "CI workflow"},
	{"Jenkinsfile", NULL, "x", RUNS "CI workflow"},
	{"azure-pipelines.yml", NULL, "x", RUNS "CI workflow"},
	{".travis.yml", NULL, "x", RUNS "CI workflow"},
	{"bitbucket-pipelines.yml", NULL, "x", RUNS "CI workflow"},
	{".drone.yml", NULL, "x", RUNS "CI workflow"},
	{".woodpecker.yml", NULL, "x", RUNS "CI workflow"},
	{".woodpecker/a.yml", NULL, "x", RUNS "CI workflow"},
	{".buildkite/pipeline.yml", NULL, "x", RUNS "CI workflow"},
	{".mcp.json", NULL, "{}", RUNS "MCP servers"},
	{".cursor/mcp.json", NULL, "{}", RUNS "agent settings"},
	{".claude/settings.json", NULL, "{}", RUNS "agent settings"},
	{".claude/commands/a/b.md", NULL, "x", RUNS "agent settings"},
	{".codex/config.toml", NULL, "x", RUNS "agent settings"},
	{".gemini/settings.json", NULL, "{}", RUNS "agent settings"},
	{".windsurfrules", NULL, "x", RUNS "agent settings"},
	{".aider.conf.yml", NULL, "x", RUNS "agent settings"},
	{"CLAUDE.md", NULL, "x", STEERS "agent instructions"},
	{"sub/AGENTS.md", "a", "b", STEERS "agent instructions"},
	{"GEMINI.md", NULL, "x", STEERS "agent instructions"},
	{".cursorrules", NULL, "x", STEERS "agent instructions"},
	{".github/copilot-instructions.md", NULL, "x", STEERS "agent instructions"},
	{"node_modules/a/CLAUDE.md", NULL, "x", STEERS "agent instructions"},
	{".airlock.toml", NULL, "x", STEERS "airlock's own rules"},
	{".pre-commit-config.yaml", NULL, "x", RUNS "git hook (pre-commit)"},
	{".husky/pre-commit", NULL, "x", RUNS "git hook (husky)"},
	{".husky/_/husky.sh", NULL, "x", RUNS "git hook (husky)"},
	{"lefthook.yml", NULL, "x", RUNS "git hook (lefthook)"},
	{".lefthook-local.yml", NULL, "x", RUNS "git hook (lefthook)"},
	{".githooks/pre-push", NULL, "x", RUNS "git hook"},
	{".npmrc", NULL, "x", RUNS "package manager settings"},
	{".yarnrc", NULL, "x", RUNS "package manager settings"},
	{".yarnrc.yml", NULL, "x", RUNS "package manager settings"},
	{".pnpmfile.cjs", NULL, "x", RUNS "package manager settings"},
	{".devcontainer/devcontainer.json", NULL, "{}", RUNS "development container"},
	{".ssh/authorized_keys", NULL, "x", STEERS "ssh settings"},
	{".config/systemd/user/a.service", NULL, "x", RUNS "systemd unit"},
	{".config/autostart/a.desktop", NULL, "x", RUNS "autostart entry"},
	{".local/share/applications/a.desktop", NULL, "x", RUNS "desktop entry"},
	{"crontab", NULL, "x", RUNS "cron table"},
	{"lib/python3/site-packages/a.pth", NULL, "import x", RUNS "python start-up file"},
	{"lib/python3/site-packages/sitecustomize.py", NULL, "x", RUNS "python start-up file"},
	{"lib/python3/dist-packages/usercustomize.py", NULL, "x", RUNS "python start-up file"},
};

#define UNKNOWN "unknown dot-file: no table of airlock knows which program reads it"

/* Names that were missing in the first version, and the rule for those that will be missing. */
static const struct row more_names[] = {
	{"binding.gyp", NULL, "x", RUNS "build at every installation (npm)"},
	{".envrc.local", NULL, "x", RUNS "direnv"},
	{".direnv/flake-profile.rc", NULL, "x", RUNS "direnv"},
	{".mise/config.toml", NULL, "x", RUNS "mise"},
	{".mise.local.toml", NULL, "x", RUNS "mise"},
	{"mise.production.toml", NULL, "x", RUNS "mise"},
	{"mise/config.toml", NULL, "x", RUNS "mise"},
	{".config/mise.toml", NULL, "x", RUNS "mise"},
	{".config/mise/config.toml", NULL, "x", RUNS "mise"},
	{"lint-staged.config.mjs", NULL, "x", RUNS "git hook (lint-staged)"},
	{"husky.config.js", NULL, "x", RUNS "git hook (husky)"},
	{".pnp.cjs", NULL, "x", RUNS "loader of packages (yarn)"},
	{".yarn/sdks/typescript/bin/tsc", NULL, "x", RUNS "tools that editors start (yarn)"},
	{".hg/hgrc", NULL, "x", RUNS "settings (Mercurial)"},
	{".hg/store/00changelog.i", NULL, "x", NULL},
	{".hg/hgext/evil.py", NULL, "x", UNKNOWN},
	{".sl/config", NULL, "x", RUNS "settings (Sapling)"},
	{".jj/repo/config.toml", NULL, "x", RUNS "settings (Jujutsu)"},
	{".jj/repo/op_store/x", NULL, "x", NULL},
	{"hk.pkl", NULL, "x", RUNS "git hook (hk)"},
	{"prek.toml", NULL, "x", RUNS "git hook (prek)"},
	{"captainhook.json", NULL, "x", RUNS "git hook (CaptainHook)"},
	{".git-hooks/pre-commit", NULL, "x", RUNS "git hook"},
	{".pdbrc", NULL, "x", RUNS "debugger start-up file (pdb)"},
	{".irbrc", NULL, "x", RUNS "start-up file (irb)"},
	{".pryrc", NULL, "x", RUNS "start-up file (pry)"},
	{".Rprofile", NULL, "x", RUNS "start-up file (R)"},
	{".RData", NULL, "x", RUNS "start-up file (R)"},
	{".ghci", NULL, "x", RUNS "start-up file (ghci)"},
	{".ocamlinit", NULL, "x", RUNS "start-up file (ocaml)"},
	{".iex.exs", NULL, "x", RUNS "start-up file (iex)"},
	{".octaverc", NULL, "x", RUNS "start-up file (Octave)"},
	{".latexmkrc", NULL, "x", RUNS "start-up file (latexmk)"},
	{"jupyter_notebook_config.py", NULL, "x", RUNS "start-up file (Jupyter)"},
	{".pylintrc", NULL, "[MAIN]\nINIT-hook=\"import os\"\n", RUNS "code of a linter's settings (pylint)"},
	{".pylintrc", "init-hook=a", "init-hook=b", RUNS "code of a linter's settings (pylint)"},
	{"pyproject.toml", NULL, "\"init\\u002dhook\" = \"x\"\n", RUNS "code of a linter's settings"},
	{".flake8", NULL, "[flake8:local-plugins]\nx=y\n", RUNS "code of a linter's settings (flake8)"},
	{".helix/languages.toml", NULL, "x", RUNS "editor settings (Helix)"},
	{".vscode/c_cpp_properties.json", NULL, "x", RUNS "editor settings (VS Code)"},
	{".vscode/run.sh", NULL, "x", UNKNOWN},
	{".idea/modules.xml", NULL, "x", RUNS "editor settings (JetBrains IDEs)"},
	{".lazy.lua", NULL, "x", RUNS "editor start-up file (neovim with lazy.nvim)"},
	{".luarc.json", NULL, "x", RUNS "plugin of a language server"},
	{".ycm_extra_conf.py", NULL, "x", RUNS "settings of a language server"},
	{".gitpod.yml", NULL, "x", RUNS "development container (Gitpod)"},
	{".idx/dev.nix", NULL, "x", RUNS "development container"},
	{".codesandbox/tasks.json", NULL, "x", RUNS "development container"},
	{".pi/x", NULL, "x", RUNS "agent settings (pi)"},
	{".crush.json", NULL, "x", RUNS "agent settings (Crush)"},
	{"crush.json", NULL, "x", RUNS "agent settings (Crush)"},
	{".kilocode/rules.md", NULL, "x", RUNS "agent settings (Kilo Code)"},
	{".openhands/setup.sh", NULL, "x", RUNS "agent settings (OpenHands)"},
	{".factory/x", NULL, "x", RUNS "agent settings (Factory)"},
	{".agents/x", NULL, "x", RUNS "agent settings (agents)"},
	{".amp/settings.json", NULL, "x", RUNS "agent settings (Amp)"},
	{".cline/x", NULL, "x", RUNS "agent settings (Cline)"},
	{".copilot/x", NULL, "x", RUNS "agent settings (Copilot)"},
	{".github/hooks/x.json", NULL, "x", RUNS "agent settings (Copilot)"},
	{"WARP.md", NULL, "x", STEERS "agent instructions (Warp)"},
	{".cargo/config.toml", NULL, "x", RUNS "compiler and runner (cargo)"},
	{"rust-toolchain.toml", NULL, "[toolchain]\npath = \"evil\"\n", LEADS "compiler (rustup)"},
	{".tool-versions", NULL, "python path:/tmp/evil\n", LEADS "versions of tools"},
	{".python-version", NULL, "../../evil\n", LEADS "version of a tool"},
	{".mvn/wrapper/maven-wrapper.jar", NULL, "x", RUNS "build tool and its extensions (Maven)"},
	{"gradle/wrapper/gradle-wrapper.properties", NULL, "x", RUNS "build tool (Gradle)"},
	{"tools/bazel", NULL, "x", RUNS "build tool (Bazel)"},
	{".env", NULL, "A=$(evil)\n", RUNS "commands or variables"},
	{".env", NULL, "A=1; evil\n", RUNS "commands or variables"},
	{".env", NULL, "A=b evil\n", RUNS "commands or variables"},
	{".env", NULL, "LD_PRELOAD=./x.so\n", RUNS "commands or variables"},
	{".env", NULL, "export PATH=./bin\n", RUNS "commands or variables"},
	{".env", NULL, "A=\"`evil`\"\n", RUNS "commands or variables"},
	{".env", NULL, "evil\n", RUNS "commands or variables"},
	{".lfsconfig", NULL, "x", LEADS "server of large files (git-lfs)"},
	{".newtool", NULL, "x", UNKNOWN},
	{".newtool/config", NULL, "x", UNKNOWN},
	{"a/.newtool/b/c", "a", "b", UNKNOWN},
	{".newtool/.gitignore", NULL, "x", UNKNOWN},
	{".newtool/sub/.travis.yml", NULL, "x", UNKNOWN},
	{".github/unknown", NULL, "x", UNKNOWN},
	{".github/workflows", NULL, "a file", UNKNOWN},
	{".yarn/unknown", NULL, "x", UNKNOWN},
	{".worktrees/fix/.newtool", NULL, "x", UNKNOWN},
	{".claude/worktrees/fix/.newtool", NULL, "x", UNKNOWN},
	{".claude/worktrees/fix/.envrc", NULL, "x", RUNS "direnv"},
	{".next", NULL, "a file", UNKNOWN},
	{".pytest_cache/.envrc", NULL, "x", RUNS "direnv"},
	{"vendor/x/.envrc", NULL, "x", RUNS "direnv"},
	{"vendor/x/CLAUDE.md", NULL, "x", STEERS "agent instructions"},
};

/* As a file system that folds names would read them. */
static const struct row disguised[] = {
	{".ENVRC", NULL, "x", RUNS "direnv"},
	{".GitHub/Workflows/CI.yml", NULL, "x", RUNS "CI workflow"},
	{"claude.MD", NULL, "x", STEERS "agent instructions"},
	{".Git/hooks/pre-commit", NULL, "x", RUNS "git hook"},
	{".GIT/CONFIG", NULL, "[core]\nfsmonitor=evil", RUNS "git setting core.fsmonitor"},
	{".git./hooks/pre-commit", NULL, "x", RUNS "git hook"},
	{".git /hooks/pre-commit", NULL, "x", RUNS "git hook"},
	{".git . /hooks/pre-commit", NULL, "x", RUNS "git hook"},
	{"GIT~1/hooks/pre-commit", NULL, "x", RUNS "git hook"},
	{".git::$INDEX_ALLOCATION/hooks/pre-commit", NULL, "x", RUNS "git hook"},
	{".g\xe2\x80\x8cit/hooks/pre-commit", NULL, "x", RUNS "git hook"},     /* zero width non-joiner */
	{"\xef\xbb\xbf.git/hooks/pre-commit", NULL, "x", RUNS "git hook"},     /* byte order mark */
	{".gi\xe2\x80\xaet/hooks/pre-commit", NULL, "x", RUNS "git hook"},     /* right-to-left override */
	{".git\xe2\x81\xaf/hooks/pre-commit", NULL, "x", RUNS "git hook"},     /* nominal digit shapes */
	{".en\xe2\x80\x8bvrc", NULL, "x", RUNS "direnv"},		       /* zero width space */
	{".hu\xc5\xbfky/pre-commit", NULL, "x", RUNS "git hook (husky)"},      /* long s */
	{".hus\xe2\x84\xaay/pre-commit", NULL, "x", RUNS "git hook (husky)"},  /* Kelvin sign */
	{".husky\xef\xb8\x8f/pre-commit", NULL, "x", RUNS "git hook (husky)"}, /* variation selector */
	{".git\xff/hooks/pre-commit", NULL, "x", UNKNOWN}, /* a byte that is no character is a name of its own */
	{".gitx/hooks/pre-commit", NULL, "x", UNKNOWN},
	{"...", NULL, "x", UNKNOWN},
	{".HELIX/config.toml", NULL, "x", RUNS "editor settings (Helix)"},
	{"Binding.GYP", NULL, "x", RUNS "build at every installation"},
	{".di\xe2\x80\x8brenv/x", NULL, "x", RUNS "direnv"},
	{".idea./modules.xml", NULL, "x", RUNS "editor settings (JetBrains IDEs)"},
	{"WARP.md:x", NULL, "x", STEERS "agent instructions"},
	{"\xe2\x80\x8b.newtool/x", NULL, "x", UNKNOWN},
	{".GITIGNORE", NULL, "x", NULL},
	{".gitignore:x", NULL, "x", UNKNOWN}, /* harmless only as it is spelt */
	{".\xe2\x80\x8bgitkeep", NULL, "x", UNKNOWN},
	{" ", NULL, "x", NULL},
	{"\xe2\x80\x8b", NULL, "x", NULL},
};

/* ── Git's own directory ── */

#define GIT_OWN STEERS "git's own files"

static const struct row git_files[] = {
	{".git/hooks/pre-commit", NULL, "x", RUNS "git hook"},
	{"sub/.git/hooks/post-checkout", NULL, "x", RUNS "git hook"},
	{".git/hooks/sub/x", NULL, "x", RUNS "git hook"},
	{".git/hooks/pre-commit.sample", NULL, "x", NULL},
	{".git/objects/ab/cdef", NULL, "x", NULL},
	{".git/objects/info/alternates", NULL, "x", LEADS "git objects in another directory"},
	{".git/refs/replace/0123", NULL, "x", LEADS "git object in place of another"},
	{".git/refs/heads/main", NULL, "x", NULL},
	{".git/packed-refs", "a", "b", "git: a new commit cannot be read"},
	{".git/logs/HEAD", NULL, "x", NULL},
	{".git/index", "a", "b", RUNS "git index that writes into .git"},
	{".git/index", "a", "", NULL},
	{".git/rebase-merge/strategy", NULL, "ort\n", NULL},
	{".git/rebase-merge/strategy", NULL, "../../evil\n", RUNS "merge strategy of a git rebase"},
	{".git/sequencer/opts", NULL, "[options]\n\tstrategy = recursive\n\tedit = false\n", NULL},
	{".git/sequencer/opts", NULL, "[options]\n\tstrategy = a/b\n", RUNS "git setting options.strategy"},
	{".git/sequencer/todo", NULL, "pick 123\nexec evil\n", RUNS "command of a git sequence"},
	{".git/HEAD", "a", "b", NULL},
	{".git/ORIG_HEAD", NULL, "x", NULL},
	{".git/FETCH_HEAD", NULL, "x", NULL},
	{".git/COMMIT_EDITMSG", NULL, "x", NULL},
	{".git/MERGE_HEAD", NULL, "x", NULL},
	{".git/MERGE_MSG", NULL, "x", NULL},
	{".git/CHERRY_PICK_HEAD", NULL, "x", NULL},
	{".git/REVERT_HEAD", NULL, "x", NULL},
	{".git/REBASE_HEAD", NULL, "x", NULL},
	{".git/BISECT_LOG", NULL, "x", NULL},
	{".git/AUTO_MERGE", NULL, "x", NULL},
	{".git/SQUASH_MSG", NULL, "x", NULL},
	{".git/shallow", NULL, "x", NULL},
	{".git/gc.pid", NULL, "x", NULL},
	{".git/description", "a", "b", NULL},
	{".git/info/exclude", "a", "b", NULL},
	{".git/config.lock", NULL, "[core]\nfsmonitor=evil", NULL},
	{".git/rebase-merge/author-script", NULL, "x", NULL},
	{".git/rebase-apply/patch", NULL, "x", NULL},
	{".git/rebase-merge/git-rebase-todo", NULL, "pick 123 x\n# exec x\nlabel x\n", NULL},
	{".git/rebase-merge/git-rebase-todo", NULL, "pick 123\n  exec evil\n", RUNS "command of a git rebase"},
	{".git/rebase-merge/git-rebase-todo", NULL, "x evil", RUNS "command of a git rebase"},
	{".git/rebase-merge/git-rebase-todo", "exec make\npick 1\n", "exec make\n", NULL},
	{".git/worktrees/w/HEAD", NULL, "x", NULL},
	{".git/worktrees/w/index", NULL, "x", RUNS "git index that writes into .git"},
	{".git/worktrees/w/logs/HEAD", NULL, "x", NULL},
	{".git/worktrees/w/hooks/x", NULL, "x", RUNS "git hook"},
	{".git/worktrees/w/config.worktree", NULL, "[core]\nfsmonitor=x", RUNS "git setting core.fsmonitor"},
	{".git/worktrees/w/commondir", NULL, "../..\n", NULL},
	{".git/worktrees/w/commondir", NULL, "../../..\n", LEADS "git directory"},
	{".git/worktrees/w/commondir", NULL, "/tmp/evil\n", LEADS "git directory"},
	{".git/worktrees/w/commondir", "../..\n", "../../../x\n", LEADS "git directory"},
	{".git/commondir", NULL, "../x\n", LEADS "git directory"},
	{".git/commondir", NULL, ".\n", LEADS "git directory"},
	{".git/worktrees/w/gitdir", NULL, "/elsewhere/.git\n", LEADS "git directory"},
	{".git/worktrees/w/gitdir", NULL, "../../../w/.git\n", NULL},
	{".git/worktrees/w", NULL, "a file", GIT_OWN},
	{".git/modules/m", NULL, "a file", GIT_OWN},
	{".git/modules/m/HEAD", NULL, "no repository yet", GIT_OWN},
	{".git/info/grafts", NULL, "x", GIT_OWN},
	{".git/info/attributes", NULL, "* filter=x", RUNS "git filter or driver"},
	{".git/info/attributes", NULL, "* text", NULL},
	{".git/rr-cache/x/postimage", NULL, "x", GIT_OWN},
	{".git/remotes/origin", NULL, "URL: ext::evil", GIT_OWN},
	{".git/anything", NULL, "x", GIT_OWN},
	{".git", NULL, "gitdir: /elsewhere\n", LEADS "git directory"},
	{".git", NULL, "gitdir: other\n", LEADS "git directory"},
	{".git", NULL, "gitdir: ../outside/.git\n", LEADS "git directory"},
	{"sub/.git", NULL, "gitdir: ../.git/modules/sub\n", NULL},
	{"sub/.git", NULL, "gitdir: ../x/../../.git\n", LEADS "git directory"},
	{"sub/.git", NULL, "gitdir: \n", LEADS "git directory"},
	{"sub/.git", NULL, "not a pointer\n", NULL},
};

static const struct row settings[] = {
	{".git/config", NULL, "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n", NULL},
	{".git/config", "[core]\n\tbare = false\n",
	 "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://x/y.git\n\tfetch = "
	 "+refs/heads/*:refs/remotes/o/*\n",
	 "git setting remote.origin.url is not known"},
	{".git/config", "[remote \"origin\"]\n\turl = https://x/y.git\n",
	 "[remote \"origin\"]\n\turl = https://x/y.git\n\tfetch = +refs/heads/*:refs/remotes/o/*\n"
	 "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
	 NULL},
	{".git/config", "[remote \"origin\"]\n\turl = https://x/y.git\n",
	 "[remote \"origin\"]\n\turl = https://evil/y.git\n", "git setting remote.origin.url is not known"},
	{".git/config", "[remote \"origin\"]\n\turl = https://x/y.git\n",
	 "[remote \"origin\"]\n\turl = https://x/y.git\n\tpushurl = https://evil/y.git\n",
	 "git setting remote.origin.pushurl is not known"},
	{".git/config", NULL, "[branch \"main\"]\n\tremote = elsewhere\n",
	 "git setting branch.main.remote is not known"},
	{".git/config", NULL, "[branch \"main\"]\n\tremote = .\n", NULL},
	{".git/config", NULL, "[remote \"o\"]\n\tmirror = true\n", "git setting remote.o.mirror is not known"},
	{".git/config", NULL, "[annex]\n\tsecure-erase-command = evil\n",
	 "git setting annex.secure-erase-command is not known"},
	{".git/config", NULL, "[svn]\n\tauthorsprog = evil\n", "git setting svn.authorsprog is not known"},
	{".git/config", NULL, "[next]\n\tyear = x\n", "git setting next.year is not known"},
	{".git/config", NULL, "[pager]\n\tlog = evil\n", RUNS "git setting pager.*"},
	{".git/config", NULL, "[branch \"x\"]\n\tmergeoptions = -s evil\n",
	 "git setting branch.x.mergeoptions is not known"},
	{"new/.git/config", NULL,
	 "[remote \"origin\"]\n\turl = https://x/y.git\n[branch \"main\"]\n\tremote = origin\n", NULL},
	{"new/.git/config", NULL, "[remote \"origin\"]\n\turl = ext::evil\n", RUNS "git setting remote.url"},
	{".git/config", NULL, "[user]\n\tname = x\n[color]\n\tui = auto\n", NULL},
	{".git/config", NULL, "[core]\n\tfsmonitor = evil\n", RUNS "git setting core.fsmonitor"},
	{".git/config", NULL, "[core]\n\tfsmonitor = true\n", NULL},
	{".git/config", NULL, "[core]\n\tfsmonitor\n", NULL},
	{".git/config", "[core]\n\tfsmonitor = mine\n", "[core]\n\tfsmonitor = mine\n\tbare = true\n", NULL},
	{".git/config", "[core]\n\tfsmonitor = mine\n", "[core]\n\tfsmonitor = evil\n",
	 RUNS "git setting core.fsmonitor"},
	{".git/config", "[core]\n\tfsmonitor = mine\n", "[core]\n\tbare = false\n", NULL},
	{".git/config", NULL, "[CORE]\n\tFsMonitor=evil", RUNS "git setting core.fsmonitor"},
	{".git/config", NULL, "[core] fsmonitor = evil", RUNS "git setting core.fsmonitor"},
	{".git/config", NULL, "[core]fsmonitor=e\\\nvil", RUNS "git setting core.fsmonitor"},
	{".git/config", NULL, "[user]\ny = a\\\n\n[core]\nfsmonitor = evil", RUNS "git setting core.fsmonitor"},
	{".git/config", NULL, "[user]\ny = \"a\\\nb\"\n[core]\r\nfsmonitor = evil\r\n",
	 RUNS "git setting core.fsmonitor"},
	{".git/config", NULL, "\xef\xbb\xbf[core]\nfsmonitor = evil", RUNS "git setting core.fsmonitor"},
	{".git/config", NULL, "# [core]\n; fsmonitor = evil\n[user] # [core]\nname = z ; [core]\n", NULL},
	{".git/config", NULL, "[user]\ny = \"\\\"\n[core]\nfsmonitor = evil", "git would refuse"},
	{".git/config", NULL, "[core\nfsmonitor = evil", "git would refuse"},
	{".git/config", NULL, "[core]\nfsmonitor : evil", "git would refuse"},
	{".git/config", NULL, "[user]\ny = \\q\n", "git would refuse"},
	{".git/config", NULL, "[alias]\n\tst = !evil\n", RUNS "git setting alias.*"},
	{".git/config", NULL, "[core]\n\thooksPath = x\n", RUNS "git setting core.hookspath"},
	{".git/config", NULL, "[core]\n\teditor = x\n", RUNS "git setting core.editor"},
	{".git/config", NULL, "[core]\n\tpager = x\n", RUNS "git setting core.pager"},
	{".git/config", NULL, "[core]\n\tsshCommand = x\n", RUNS "git setting core.sshcommand"},
	{".git/config", NULL, "[core]\n\taskPass = x\n", RUNS "git setting core.askpass"},
	{".git/config", NULL, "[core]\n\tgitProxy = x\n", RUNS "git setting core.gitproxy"},
	{".git/config", NULL, "[core]\n\tattributesFile = x\n", LEADS "git setting core.attributesfile"},
	{".git/config", NULL, "[core]\n\tworktree = /elsewhere\n", LEADS "git setting core.worktree"},
	{".git/config", NULL, "[core]\n\tworktree = ../src\n", NULL},
	{".git/config", NULL, "[filter \"x\"]\n\tclean = evil\n", RUNS "git setting filter.clean"},
	{".git/config", NULL, "[filter \"x.y]\"]\n\tsmudge = evil\n", RUNS "git setting filter.smudge"},
	{".git/config", NULL, "[filter.x]\n\tprocess = evil\n", RUNS "git setting filter.process"},
	{".git/config", NULL, "[filter \"x\"]\n\trequired = true\n", NULL},
	{".git/config", NULL, "[diff \"x\"]\n\ttextconv = evil\n", RUNS "git setting diff.textconv"},
	{".git/config", NULL, "[diff \"x\"]\n\tcommand = evil\n", RUNS "git setting diff.command"},
	{".git/config", NULL, "[diff]\n\texternal = evil\n", RUNS "git setting diff.external"},
	{".git/config", NULL, "[diff]\n\trenames = true\n", NULL},
	{".git/config", NULL, "[merge \"x\"]\n\tdriver = evil\n", RUNS "git setting merge.driver"},
	{".git/config", NULL, "[credential]\n\thelper = evil\n", RUNS "git setting credential.helper"},
	{".git/config", NULL, "[credential \"https://x\"]\n\thelper = evil\n", RUNS "git setting credential.helper"},
	{".git/config", NULL, "[gpg]\n\tprogram = evil\n", RUNS "git setting gpg.program"},
	{".git/config", NULL, "[gpg \"ssh\"]\n\tprogram = evil\n", RUNS "git setting gpg.program"},
	{".git/config", NULL, "[sequence]\n\teditor = evil\n", RUNS "git setting sequence.editor"},
	{".git/config", NULL, "[pager]\n\tlog = evil\n", RUNS "git setting pager.*"},
	{".git/config", NULL, "[pager]\n\tlog = false\n", NULL},
	{".git/config", NULL, "[include]\n\tpath = ../x\n", LEADS "git setting include.path"},
	{".git/config", NULL, "[includeIf \"gitdir:/\"]\n\tpath = x\n", LEADS "git setting includeif.path"},
	{".git/config", NULL, "[remote \"o\"]\n\tuploadpack = evil\n", RUNS "git setting remote.uploadpack"},
	{".git/config", NULL, "[remote \"o\"]\n\treceivepack = evil\n", RUNS "git setting remote.receivepack"},
	{".git/config", NULL, "[remote \"o\"]\n\tproxy = evil\n", LEADS "git setting remote.proxy"},
	{".git/config", NULL, "[remote \"o\"]\n\tvcs = evil\n", RUNS "git setting remote.vcs"},
	{".git/config", NULL, "[remote \"o\"]\n\turl = ext::sh -c evil\n", RUNS "git setting remote.url"},
	{".git/config", NULL, "[remote \"o\"]\n\turl = -oProxyCommand=evil\n", RUNS "git setting remote.url"},
	{".git/config", NULL, "[remote \"o\"]\n\turl = git@x:y::z\n", "git setting remote.o.url is not known"},
	{".git/config", NULL, "[url \"evil\"]\n\tinsteadOf = https://x\n", LEADS "git setting url.insteadof"},
	{".git/config", NULL, "[url \"evil\"]\n\tpushInsteadOf = x\n", LEADS "git setting url.pushinsteadof"},
	{".git/config", NULL, "[http]\n\tproxy = evil\n", LEADS "git setting http.proxy"},
	{".git/config", NULL, "[http \"https://x\"]\n\tsslVerify = false\n", LEADS "git setting http.sslverify"},
	{".git/config", NULL, "[ssh]\n\tvariant = x\n", LEADS "git setting ssh.variant"},
	{".git/config", NULL, "[protocol \"ext\"]\n\tallow = always\n", RUNS "git setting protocol.allow"},
	{".git/config", NULL, "[submodule \"x\"]\n\tupdate = !evil\n", RUNS "git setting submodule.update"},
	{".git/config", NULL, "[submodule \"x\"]\n\tupdate = rebase\n\turl = ../x\n\tactive = true\n", NULL},
	{".git/config", NULL, "[uploadpack]\n\tpackObjectsHook = x\n", RUNS "git setting uploadpack.packobjectshook"},
	{".git/config", NULL, "[difftool \"x\"]\n\tcmd = evil\n", RUNS "git setting difftool.cmd"},
	{".git/config", NULL, "[mergetool \"x\"]\n\tpath = evil\n", RUNS "git setting mergetool.path"},
	{".git/config", NULL, "[browser \"x\"]\n\tcmd = evil\n", RUNS "git setting browser.cmd"},
	{".git/config", NULL, "[man \"x\"]\n\tcmd = evil\n", RUNS "git setting man.cmd"},
	{".git/config", NULL, "[init]\n\ttemplateDir = x\n", RUNS "git setting init.templatedir"},
	{".git/config", NULL, "[safe]\n\tdirectory = *\n", LEADS "git setting safe.*"},
	{".git/config", NULL, "[extensions]\n\tworktreeConfig = true\n", LEADS "git setting extensions.worktreeconfig"},
	{".git/config.worktree", NULL, "[core]\n\tfsmonitor = evil\n", RUNS "git setting core.fsmonitor"},
	{".gitconfig", NULL, "[core]\n\tpager = evil\n", RUNS "git setting core.pager"},
	{".gitconfig", NULL, "[user]\n\tname = x\n", NULL},
	{".gitmodules", NULL, "[submodule \"a\"]\n\tpath = a\n\turl = https://x/a\n", NULL},
	{".gitmodules", NULL, "[submodule \"a\"]\n\tpath = a\n\turl = ../a\n\tupdate = merge\n", NULL},
	{".gitmodules", NULL, "[submodule \"a\"]\n\tupdate = !evil\n", RUNS "git setting submodule.update"},
	{".gitmodules", NULL, "[submodule \"a\"]\n\turl = ext::evil\n", RUNS "git setting submodule.url"},
	{".gitmodules", NULL, "[submodule \"a\"]\n\turl = --upload-pack=evil\n", RUNS "git setting submodule.url"},
	{".gitmodules", NULL, "[submodule \"a\"]\n\turl = \"https://x/\\nhost=y\"\n", RUNS "git setting submodule.url"},
	{".gitmodules", NULL, "[submodule \"a\"]\n\tpath = -evil\n", RUNS "git submodule that looks like"},
	{".gitmodules", NULL, "[submodule \"../../hooks\"]\n\tpath = a\n", RUNS "git submodule that looks like"},
	{".gitmodules", NULL, "[submodule \"a\"]\n\tpath = a/../../b\n", RUNS "git submodule that looks like"},
	{".gitmodules", "[submodule \"a\"]\n\tupdate = !mine\n", "[submodule \"a\"]\n\tupdate = !mine\n\tpath = a\n",
	 NULL},
	{".gitmodules", NULL, "[rubbish", "git would refuse"},
	{".gitattributes", NULL, "* text=auto eol=lf\n*.png binary\n*.c diff=cpp linguist-vendored\nx export-ignore\n",
	 NULL},
	{".gitattributes", NULL, "*.c filter=evil\n", RUNS "git filter or driver"},
	{".gitattributes", NULL, "*.c diff=evil\n", RUNS "git filter or driver"},
	{"sub/.gitattributes", NULL, "*.c -text merge=evil\n", RUNS "git filter or driver"},
	{".gitattributes", NULL, "*.c merge=union -diff !filter\n", NULL},
	{".gitattributes", NULL, "# *.c filter=evil\n", NULL},
	{".gitattributes", NULL, "\"a b\"filter=evil\n", RUNS "git filter or driver"},
	{".gitattributes", NULL, "\xef\xbb\xbf* filter=evil\n", RUNS "git filter or driver"},
	{".gitattributes", NULL, "*\tfilter=evil", RUNS "git filter or driver"},
	{".gitattributes", NULL, "[attr]m filter=evil\n", RUNS "git filter or driver"},
	{".gitattributes", "[attr]m filter=mine\n", "[attr]m filter=mine\n*.c m\n", RUNS "git filter or driver"},
	{".gitattributes", "*.bin filter=lfs\n", "*.bin filter=lfs\n*.txt text\n", NULL},
	{".gitattributes", "*.bin filter=lfs\n", "*.bin filter=lfs\n*.c filter=lfs\n", RUNS "git filter or driver"},
};

static const struct row packages[] = {
	{"package.json", NULL, "{\"name\": \"x\", \"scripts\": {\"test\": \"jest\"}}", NULL},
	{"package.json", NULL, "{\"scripts\": {\"postinstall\": \"evil\"}}", RUNS "package script"},
	{"package.json", NULL, "{\"scripts\": {\"pre\\u0069nstall\": \"evil\"}}", RUNS "package script"},
	{"package.json", NULL, "{\"\\u0073cripts\": {\"install\": \"evil\"}}", RUNS "package script"},
	{"package.json", NULL, "{\"scripts\": {\"prepare\": \"husky\"}}", RUNS "package script"},
	{"package.json", NULL, "{\"husky\": {\"hooks\": {\"pre-commit\": \"evil\"}}}", RUNS "package script"},
	{"a/package.json", "{\"scripts\": {\"test\": \"a\"}}", "{\"scripts\": {\"test\": \"b\"}}",
	 RUNS "package script"},
	{"package.json", "{\"scripts\": {\"test\": \"a\"}}", "{\"scripts\": {\"test\": \"a\", \"x\": \"b\"}}",
	 RUNS "package script"},
	{"package.json", "{\"scripts\": {\"test\": \"a\", \"x\": \"b\"}}", "{\"scripts\": {\"test\": \"a\"}}", NULL},
	{"package.json", "{\"scripts\": {\"test\": \"a\"}}",
	 "{\n  \"dependencies\": {\"left-pad\": \"1.0.0\"},\n  \"scripts\": {\n    \"test\":\t\"a\"\n  }\n}\n", NULL},
	{"package.json", "{}", "{\"version\": \"2.0.0\", \"a\": [1, -2.5e+3, true, null, {\"b\": \"\\u00e4\\n\"}]}",
	 NULL},
	{"package.json", "{\"a\": {\"scripts\": {}}}", "{\"a\": {\"scripts\": {\"postinstall\": \"no\"}}}", NULL},
	{"package.json", "not json", "{\"scripts\": {\"test\": \"a\"}}", RUNS "package script"},
	{"package.json", "{}", "{\"scripts\": {\"a\": \"x\"}, \"scripts\": {\"a\": \"y\"}}", "not a JSON object"},
	{"package.json", "{}", "{\"scripts\": {\"a\": 1}} trailing", "not a JSON object"},
	{"package.json", "{}", "{\"a\": \"line\nbreak\"}", "not a JSON object"},
	{"package.json", "{}", "// a comment\n{}", "not a JSON object"},
	{"package.json", "{}", "{\"a\": 1,}", "not a JSON object"},
	{"package.json", "{}", "[]", "not a JSON object"},
	{"package.json", "{}", "", "not a JSON object"},
	{"package.json", NULL, "\xef\xbb\xbf{\"name\": \"x\"}", NULL},
};

static void ordinary_files_are_applied(void **state)
{
	CHECK_ROWS(ordinary);
}

static void sensitive_names_are_held(void **state)
{
	CHECK_ROWS(sensitive);
}

static void names_that_were_missing_are_held(void **state)
{
	CHECK_ROWS(more_names);
}

/* "**" only as the last component, "*" once in any other: gate_name_match knows no more. */
static void assert_pattern(const char *pattern)
{
	for (const char *p = pattern; p; p = gate_rest(p)) {
		size_t n = strcspn(p, "/"), stars = 0;
		for (size_t i = 0; i < n; i++)
			stars += p[i] == '*';
		if (stars > 1 && (strcmp(p, "**") != 0 || p == pattern))
			fail_msg("%s", pattern);
	}
}

/* A row without the program that obeys it, or one that can never count, is a mistake. */
static void the_tables_are_sound(void **state)
{
	for (const struct sensitive_rule *r = sensitive_names; r->pattern; r++) {
		assert_pattern(r->pattern);
		assert_true(r->how == SENSITIVE_NEVER || (r->reason.code && (r->reason.what || r->reason.program)));
		assert_true((r->how == SENSITIVE_WORDS) == (r->words != NULL));
		assert_int_not_equal(r->how, SENSITIVE_CONTAINER);
		for (const struct sensitive_rule *earlier = sensitive_names; earlier < r; earlier++)
			assert_string_not_equal(earlier->pattern, r->pattern);
	}
	for (const struct sensitive_rule *r = sensitive_harmless; r->pattern; r++) {
		assert_pattern(r->pattern);
		assert_int_equal(r->pattern[0], '.');
		assert_true(r->how == SENSITIVE_NEVER || r->how == SENSITIVE_CONTAINER);
		for (const struct sensitive_rule *earlier = sensitive_harmless; earlier < r; earlier++)
			assert_string_not_equal(earlier->pattern, r->pattern);
		for (const struct sensitive_rule *other = sensitive_names; other->pattern; other++)
			if (other->how != SENSITIVE_NEVER)
				assert_string_not_equal(other->pattern, r->pattern);
	}
}

static void disguised_names_are_seen_through(void **state)
{
	CHECK_ROWS(disguised);
}

static void files_of_git_by_what_they_do(void **state)
{
	CHECK_ROWS(git_files);
}

static void settings_of_git_by_what_is_new(void **state)
{
	CHECK_ROWS(settings);
}

static void package_scripts_by_what_is_new(void **state)
{
	CHECK_ROWS(packages);
	char deep[2048] = "{\"a\": ";
	memset(deep + 6, '[', 1000);
	put("layer", "package.json", deep);
	compare_layer();
	judge();
	check_change("package.json", "not a JSON object");
}

static void the_table_is_long_enough(void **state)
{
	assert_true(AL_ARRAY_LEN(ordinary) + AL_ARRAY_LEN(sensitive) + AL_ARRAY_LEN(disguised) +
			    AL_ARRAY_LEN(git_files) + AL_ARRAY_LEN(settings) + AL_ARRAY_LEN(packages) >=
		    250);
}

/* ── Parts ── */

static void names_are_folded(void **state)
{
	static const char *const pairs[][2] = {
		{"A/b", "a/b"},
		{".git./x ", ".git/x"},
		{"a:b/c", "a/c"},
		{":a", ":a"},
		{"...", "."},
		{"git~1/HEAD", ".git/head"},
		{"/A//b", "/a//b"},
		{"\xc3\x84", "\xc3\x84"},
		{"\xe2\x80\x8b", "\xe2\x80\x8b"},
		{"x\xf3\xa0\x80\x81y", "xy"},
		{"", ""},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(pairs); i++) {
		_cleanup_buf_ struct buf b = BUF_INIT;
		gate_fold(pairs[i][0], &b);
		assert_string_equal(buf_str(&b), pairs[i][1]);
	}
}

static void patterns_of_the_table_match(void **state)
{
	assert_int_equal(gate_name_match("a/b", "a/b"), GATE_MATCH);
	assert_int_equal(gate_name_match("A/B", "a/b"), GATE_MATCH);
	assert_int_equal(gate_name_match("a/b", "a"), GATE_ON_THE_WAY);
	assert_int_equal(gate_name_match("a/b", "a/b/c"), GATE_NO);
	assert_int_equal(gate_name_match("a/**", "a"), GATE_ON_THE_WAY);
	assert_int_equal(gate_name_match("a/**", "a/b/c"), GATE_MATCH);
	assert_int_equal(gate_name_match("a*z", "az"), GATE_MATCH);
	assert_int_equal(gate_name_match("a*z", "abcz"), GATE_MATCH);
	assert_int_equal(gate_name_match("a*a", "a"), GATE_NO);
	assert_int_equal(gate_name_match("*.x", "y.x"), GATE_MATCH);
	assert_int_equal(gate_name_match("*.x", "y.x/z"), GATE_NO);
}

static void patterns_of_the_configuration_match(void **state)
{
	assert_true(gate_pattern_match("*.c", "src/a.c", 0));
	assert_true(gate_pattern_match("src/*.c", "src/a.c", 0));
	assert_true(gate_pattern_match("/src/*.c", "src/a.c", 0));
	assert_true(gate_pattern_match("./src/*.c", "src/a.c", 0));
	assert_false(gate_pattern_match("src/*.c", "x/src/a.c", 0));
	assert_false(gate_pattern_match("src/*", "src/a/b", 0));
	assert_true(gate_pattern_match("src/**", "src/a/b", 0));
	assert_true(gate_pattern_match("s*/**", "src/a/b", 0));
	assert_false(gate_pattern_match("src/**", "src", 0));
	assert_false(gate_pattern_match("src", "src/a", 0));
	assert_true(gate_pattern_covers("src", "src/a/b", 0));
	assert_true(gate_pattern_covers("a", "src/a/b", 0));
	assert_true(gate_pattern_covers("src/", "src/a", 0));
	assert_true(gate_pattern_covers("src/", "a/src/b", 0));
	assert_false(gate_pattern_covers("src/", "a/src", 0));
	assert_true(gate_pattern_covers("a/src/", "a/src/b/c", 0));
	assert_false(gate_pattern_covers("/src/", "a/src/b", 0));
	assert_false(gate_pattern_covers("src", "srcs/a", 0));
}

static int print_setting(void *context, const char *name, const char *value)
{
	buf_printf(context, "%s%s%s;", name, value ? "=" : "", value ? value : "");
	return 0;
}

/* What git config --list prints for the same text, where git reads it at all. */
static void configuration_is_read_as_git_reads_it(void **state)
{
	static const char *const pairs[][2] = {
		{"", ""},
		{"[a]b=c", "a.b=c;"},
		{"[A]B=C", "a.b=C;"},
		{"[a \"X y\"]b=c", "a.X y.b=c;"},
		{"[a \"x\\\"\\\\\\y\"]b", "a.x\"\\y.b;"},
		{"[a.B]c=d", "a.b.c=d;"},
		{"[a]b = c d  ;e\n", "a.b=c d;"},
		{"[a]b = \" c ;d\" # e\n", "a.b= c ;d;"},
		{"[a]b = x \" y\"z \n", "a.b=x  yz;"},
		{"[a]b = c\\\n  d\n", "a.b=c  d;"},
		{"[a]b = \\t\\n\\\"\\\\\n", "a.b=\t\n\"\\;"},
		{"[a]\r\nb=c\r\nd\r\n", "a.b=c;a.d;"},
		{"[a]b=\n c = \n", "a.b=;a.c=;"},
		{"[a] b-1=2 \n [c]\n\td", "a.b-1=2;c.d;"},
		{"#[a]b=c\n;x\n \t[a]b # c\n", NULL},
		{"[a]b c", NULL},
		{"[a]1b=c", NULL},
		{"[a]b_c=d", NULL},
		{"[]a=b", NULL},
		{"[a b]c=d", NULL},
		{"[a \"b\" ]c=d", NULL},
		{"[a \"b\nc\"]d", NULL},
		{"[a]b=\"c\n\"", NULL},
		{"[a]b=c\\", "a.b=c;"},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(pairs); i++) {
		_cleanup_buf_ struct buf b = BUF_INIT;
		int rc = gitconfig_read(pairs[i][0], strlen(pairs[i][0]), print_setting, &b);
		assert_int_equal(rc, pairs[i][1] ? 0 : -EINVAL);
		if (pairs[i][1])
			assert_string_equal(buf_str(&b), pairs[i][1]);
		put("live", "config", pairs[i][0]);
		shell("git config -f live/config --list >list %s", pairs[i][1] ? "" : "&& exit 1; true");
		for (size_t k = 0; pairs[i][1] && k < b.len; k++)
			b.data[k] = b.data[k] == ';' && (k + 1 == b.len || b.data[k + 1] != 'd') ? '\n' : b.data[k];
		put("expected", "", buf_str(&b));
		if (pairs[i][1] && !strchr(pairs[i][1], '\t'))
			shell("diff list expected");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ordinary_files_are_applied),
		cmocka_unit_test(sensitive_names_are_held),
		cmocka_unit_test(names_that_were_missing_are_held),
		cmocka_unit_test(the_tables_are_sound),
		cmocka_unit_test(disguised_names_are_seen_through),
		cmocka_unit_test(files_of_git_by_what_they_do),
		cmocka_unit_test(settings_of_git_by_what_is_new),
		cmocka_unit_test(package_scripts_by_what_is_new),
		cmocka_unit_test(the_table_is_long_enough),
		cmocka_unit_test(names_are_folded),
		cmocka_unit_test(patterns_of_the_table_match),
		cmocka_unit_test(patterns_of_the_configuration_match),
		cmocka_unit_test(configuration_is_read_as_git_reads_it),
	};
	return cmocka_run_group_tests(tests, open_twins, close_twins);
}
