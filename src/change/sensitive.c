/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Data only: git's own files and settings, package.json, and characters that names are compared without. The names of
 * all other files are in sensitive_names.c and sensitive_harmless.c. */
#include "change/sensitive.h"

#include <stddef.h>

#define RUNS "runs outside the sandbox: "
#define LEADS "leads programs outside the sandbox astray: "
#define STEERS "steers programs outside the sandbox: "

#define FINE(p)                                                                                                        \
	{                                                                                                              \
		.pattern = (p), .how = SENSITIVE_NEVER, .reason = ""                                                   \
	}

/* worktrees/<name>/… is looked up without its first two components, modules/… from the repository inside. */
const struct sensitive_rule sensitive_in_git[] = {
	{"config", SENSITIVE_GIT_CONFIG, RUNS "git configuration"},
	{"config.worktree", SENSITIVE_GIT_CONFIG, RUNS "git configuration"},
	{"commondir", SENSITIVE_GIT_POINTER, LEADS "git directory"},
	{"gitdir", SENSITIVE_GIT_POINTER, LEADS "git directory"},
	FINE("hooks/*.sample"),
	{"hooks/**", SENSITIVE_ALWAYS, RUNS "git hook"},
	{"info/attributes", SENSITIVE_GIT_ATTRIBUTES, RUNS "git filter or driver"},
	{"rebase-merge/git-rebase-todo", SENSITIVE_GIT_TODO, RUNS "command of a git rebase"},
	{"rebase-merge/strategy", SENSITIVE_GIT_WORD, RUNS "merge strategy of a git rebase"},
	{"sequencer/todo", SENSITIVE_GIT_TODO, RUNS "command of a git sequence"},
	{"sequencer/opts", SENSITIVE_GIT_CONFIG, RUNS "options of a git sequence"},
	{"index", SENSITIVE_GIT_INDEX, RUNS "git index that writes into .git"},
	{"sharedindex.*", SENSITIVE_GIT_INDEX, RUNS "git index that writes into .git"},
	FINE("info/exclude"),
	FINE("info/refs"),
	FINE("info/sparse-checkout"),
	FINE("objects/**"),
	FINE("refs/**"),
	FINE("reftable/**"),
	FINE("packed-refs"),
	FINE("logs/**"),
	FINE("HEAD"),
	FINE("ORIG_HEAD"),
	FINE("FETCH_HEAD"),
	FINE("CHERRY_PICK_HEAD"),
	FINE("REVERT_HEAD"),
	FINE("REBASE_HEAD"),
	FINE("MERGE_*"),
	FINE("AUTO_MERGE"),
	FINE("SQUASH_MSG"),
	FINE("BISECT_*"),
	FINE("COMMIT_EDITMSG"),
	FINE("TAG_EDITMSG"),
	FINE("NOTES_EDITMSG"),
	FINE("NOTES_MERGE_*"),
	FINE("description"),
	FINE("rebase-merge/**"),
	FINE("rebase-apply/**"),
	FINE("sequencer/**"),
	FINE("shallow"),
	FINE("gc.pid"),
	FINE("gc.log"),
	FINE("locked"),
	FINE("lost-found/**"),
	FINE("lfs/objects/**"),
	FINE("lfs/incomplete/**"),
	FINE("lfs/cache/**"),
	FINE("lfs/tmp/**"),
	FINE("*.lock"),
	{"info/**", SENSITIVE_ALWAYS, STEERS "git's own files"},
	{0},
};

#define RUNNING_KEY(section, key, value)                                                                               \
	{                                                                                                              \
		section, key, value, RUNS "git setting " section "." key                                               \
	}
#define LEADING_KEY(section, key, value)                                                                               \
	{                                                                                                              \
		section, key, value, LEADS "git setting " section "." key                                              \
	}

const struct sensitive_key sensitive_git_keys[] = {
	RUNNING_KEY("core", "fsmonitor", SENSITIVE_UNLESS_BOOLEAN),
	RUNNING_KEY("core", "hookspath", SENSITIVE_ANY),
	RUNNING_KEY("core", "editor", SENSITIVE_ANY),
	RUNNING_KEY("core", "pager", SENSITIVE_ANY),
	RUNNING_KEY("core", "sshcommand", SENSITIVE_ANY),
	RUNNING_KEY("core", "askpass", SENSITIVE_ANY),
	RUNNING_KEY("core", "gitproxy", SENSITIVE_ANY),
	RUNNING_KEY("core", "alternaterefscommand", SENSITIVE_ANY),
	RUNNING_KEY("core", "virtualfilesystem", SENSITIVE_ANY),
	LEADING_KEY("core", "worktree", SENSITIVE_PLACE),
	LEADING_KEY("core", "attributesfile", SENSITIVE_ANY),
	RUNNING_KEY("alias", "*", SENSITIVE_ANY),
	RUNNING_KEY("hook", "*", SENSITIVE_ANY),
	RUNNING_KEY("pager", "*", SENSITIVE_UNLESS_BOOLEAN),
	RUNNING_KEY("filter", "clean", SENSITIVE_ANY),
	RUNNING_KEY("filter", "smudge", SENSITIVE_ANY),
	RUNNING_KEY("filter", "process", SENSITIVE_ANY),
	RUNNING_KEY("diff", "external", SENSITIVE_ANY),
	RUNNING_KEY("diff", "command", SENSITIVE_ANY),
	RUNNING_KEY("diff", "textconv", SENSITIVE_ANY),
	RUNNING_KEY("merge", "driver", SENSITIVE_ANY),
	RUNNING_KEY("difftool", "cmd", SENSITIVE_ANY),
	RUNNING_KEY("difftool", "path", SENSITIVE_ANY),
	RUNNING_KEY("mergetool", "cmd", SENSITIVE_ANY),
	RUNNING_KEY("mergetool", "path", SENSITIVE_ANY),
	RUNNING_KEY("guitool", "cmd", SENSITIVE_ANY),
	RUNNING_KEY("browser", "cmd", SENSITIVE_ANY),
	RUNNING_KEY("browser", "path", SENSITIVE_ANY),
	RUNNING_KEY("man", "cmd", SENSITIVE_ANY),
	RUNNING_KEY("man", "path", SENSITIVE_ANY),
	RUNNING_KEY("web", "browser", SENSITIVE_ANY),
	RUNNING_KEY("instaweb", "*", SENSITIVE_ANY),
	RUNNING_KEY("interactive", "difffilter", SENSITIVE_ANY),
	RUNNING_KEY("sequence", "editor", SENSITIVE_ANY),
	RUNNING_KEY("trailer", "command", SENSITIVE_ANY),
	RUNNING_KEY("trailer", "cmd", SENSITIVE_ANY),
	RUNNING_KEY("tar", "command", SENSITIVE_ANY),
	RUNNING_KEY("gc", "recentobjectshook", SENSITIVE_ANY),
	RUNNING_KEY("uploadpack", "packobjectshook", SENSITIVE_ANY),
	RUNNING_KEY("sendemail", "*", SENSITIVE_ANY),
	RUNNING_KEY("imap", "*", SENSITIVE_ANY),
	RUNNING_KEY("credential", "helper", SENSITIVE_ANY),
	RUNNING_KEY("gpg", "program", SENSITIVE_ANY),
	RUNNING_KEY("gpg", "defaultkeycommand", SENSITIVE_ANY),
	LEADING_KEY("gpg", "allowedsignersfile", SENSITIVE_ANY),
	LEADING_KEY("gpg", "revocationfile", SENSITIVE_ANY),
	LEADING_KEY("include", "path", SENSITIVE_ANY),
	LEADING_KEY("includeif", "path", SENSITIVE_ANY),
	RUNNING_KEY("remote", "uploadpack", SENSITIVE_ANY),
	RUNNING_KEY("remote", "receivepack", SENSITIVE_ANY),
	RUNNING_KEY("remote", "vcs", SENSITIVE_ANY),
	LEADING_KEY("remote", "proxy", SENSITIVE_ANY),
	LEADING_KEY("remote", "lfsurl", SENSITIVE_ANY),
	RUNNING_KEY("remote", "url", SENSITIVE_URL),
	RUNNING_KEY("remote", "pushurl", SENSITIVE_URL),
	RUNNING_KEY("remote", "pushdefault", SENSITIVE_URL),
	RUNNING_KEY("branch", "remote", SENSITIVE_URL),
	RUNNING_KEY("branch", "pushremote", SENSITIVE_URL),
	RUNNING_KEY("submodule", "url", SENSITIVE_URL),
	RUNNING_KEY("submodule", "update", SENSITIVE_SHELL),
	LEADING_KEY("url", "insteadof", SENSITIVE_ANY),
	LEADING_KEY("url", "pushinsteadof", SENSITIVE_ANY),
	LEADING_KEY("http", "proxy", SENSITIVE_ANY),
	LEADING_KEY("http", "sslverify", SENSITIVE_ANY),
	LEADING_KEY("http", "sslcainfo", SENSITIVE_ANY),
	LEADING_KEY("http", "sslcapath", SENSITIVE_ANY),
	LEADING_KEY("http", "sslcert", SENSITIVE_ANY),
	LEADING_KEY("http", "sslkey", SENSITIVE_ANY),
	LEADING_KEY("http", "proxysslcainfo", SENSITIVE_ANY),
	LEADING_KEY("http", "curloptresolve", SENSITIVE_ANY),
	LEADING_KEY("http", "extraheader", SENSITIVE_ANY),
	LEADING_KEY("http", "cookiefile", SENSITIVE_ANY),
	LEADING_KEY("http", "followredirects", SENSITIVE_ANY),
	LEADING_KEY("ssh", "variant", SENSITIVE_ANY),
	RUNNING_KEY("protocol", "allow", SENSITIVE_ANY),
	RUNNING_KEY("lfs", "path", SENSITIVE_ANY),
	RUNNING_KEY("lfs", "clean", SENSITIVE_ANY),
	RUNNING_KEY("lfs", "smudge", SENSITIVE_ANY),
	RUNNING_KEY("lfs", "standalonetransferagent", SENSITIVE_ANY),
	LEADING_KEY("lfs", "url", SENSITIVE_ANY),
	LEADING_KEY("lfs", "pushurl", SENSITIVE_ANY),
	RUNNING_KEY("init", "templatedir", SENSITIVE_ANY),
	RUNNING_KEY("options", "strategy", SENSITIVE_UNLESS_WORD), /* sequencer/opts */
	LEADING_KEY("safe", "*", SENSITIVE_ANY),
	LEADING_KEY("extensions", "worktreeconfig", SENSITIVE_ANY),
	{0},
};

const char *const sensitive_known_drivers[] = {
	"text",	  "binary",  "union",	 "ada",	   "bash", "bibtex", "cpp",    "csharp",   "css",    "dts",
	"elixir", "fortran", "fountain", "golang", "html", "java",   "kotlin", "markdown", "matlab", "objc",
	"pascal", "perl",    "php",	 "python", "ruby", "rust",   "scheme", "tex",	   NULL,
};

const char *const sensitive_package_members[] = {
	"scripts", "husky", "simple-git-hooks", "pre-commit", "pre-push", "gitHooks", "lint-staged", NULL,
};

const char *const sensitive_package_lifecycle[] = {
	"preinstall",	  "install",	   "postinstall", "preprepare", "prepare",     "postprepare",  "prepublish",
	"prepublishOnly", "publish",	   "postpublish", "prepack",	"postpack",    "dependencies", "preuninstall",
	"uninstall",	  "postuninstall", "preversion",  "version",	"postversion", NULL,
};

/* Default_Ignorable_Code_Point of Unicode, which HFS+ and case-folding ext4 pass over, and what lies between. */
const struct sensitive_range sensitive_ignorable[] = {
	{0xad, 0xad},	    {0x34f, 0x34f},	{0x61c, 0x61c},	  {0x115f, 0x1160}, {0x17b4, 0x17b5},
	{0x180b, 0x180f},   {0x200b, 0x200f},	{0x202a, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164},
	{0xfe00, 0xfe0f},   {0xfeff, 0xfeff},	{0xffa0, 0xffa0}, {0xfff0, 0xfff8}, {0x1bca0, 0x1bca3},
	{0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}, {0, 0},
};
