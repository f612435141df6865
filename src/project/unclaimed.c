/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "project/unclaimed.h"

#include "base/macros.h"
#include "base/path.h"

#include <string.h>

/* Shared by every user of the machine; any of them may plant markers there. */
static const char *const temporary[] = {"/tmp", "/var/tmp", "/dev/shm", "/private/tmp", "/private/var/tmp"};

/* Where agents keep settings, hooks and transcripts, in a home or in a project. */
static const char *const settings[] = {
	".agents",   ".aider", ".amp",	     ".claude",	 ".cline",  ".clinerules", ".codeium", ".codex",    ".continue",
	".copilot",  ".crush", ".cursor",    ".factory", ".gemini", ".goose",	   ".junie",   ".kilocode", ".kiro",
	".opencode", ".pi",    ".openhands", ".qwen",	 ".roo",    ".trae",	   ".warp",    ".windsurf",
};

static enum airlock_unclaimed judge_temporary(const char *dir)
{
	for (size_t i = 0; i < AL_ARRAY_LEN(temporary); i++) {
		if (strcmp(dir, temporary[i]) == 0)
			return AIRLOCK_UNCLAIMED_TEMPORARY;
		if (path_is_beneath(dir, temporary[i]))
			return AIRLOCK_UNCLAIMED_IN_TEMPORARY;
	}
	return AIRLOCK_CLAIMABLE;
}

static bool is_settings_name(const char *name, size_t len)
{
	for (size_t i = 0; i < AL_ARRAY_LEN(settings); i++)
		if (strlen(settings[i]) == len && memcmp(settings[i], name, len) == 0)
			return true;
	return false;
}

/* Agents check out their worktrees in SETTINGS/worktrees/NAME: such a checkout is an ordinary project. */
static bool is_worktree(const char *after_settings)
{
	static const char prefix[] = "/worktrees/";
	return strncmp(after_settings, prefix, sizeof prefix - 1) == 0 && after_settings[sizeof prefix - 1] != '\0';
}

static bool is_in_settings(const char *dir)
{
	for (const char *slash = dir; *slash;) {
		const char *name = slash + 1;
		size_t len = strcspn(name, "/");
		if (is_settings_name(name, len) && !is_worktree(name + len))
			return true;
		slash = name + len;
	}
	return false;
}

enum airlock_unclaimed project_unclaimed(const char *dir, const char *home)
{
	if (strcmp(dir, "/") == 0)
		return AIRLOCK_UNCLAIMED_ROOT;
	if (home && strcmp(dir, home) == 0)
		return AIRLOCK_UNCLAIMED_HOME;
	if (home && path_is_beneath(home, dir))
		return AIRLOCK_UNCLAIMED_ABOVE_HOME;
	const char *in_home = home ? path_rest(dir, home) : NULL;
	if (in_home && in_home[0] == '.')
		return AIRLOCK_UNCLAIMED_DOT_DIRECTORY;
	/* Only below the home: the home itself may be in a directory of such a name. */
	if (is_in_settings(in_home ? in_home - 1 : dir))
		return AIRLOCK_UNCLAIMED_AGENT_SETTINGS;
	return in_home ? AIRLOCK_CLAIMABLE : judge_temporary(dir);
}

bool project_may_adopt(const char *dir, const char *home)
{
	enum airlock_unclaimed reason = project_unclaimed(dir, home);
	return reason == AIRLOCK_CLAIMABLE || reason == AIRLOCK_UNCLAIMED_IN_TEMPORARY;
}

const char *project_unclaimed_words(enum airlock_unclaimed reason)
{
	static const char *const words[] = {
		[AIRLOCK_CLAIMABLE] = "a directory that may be a project",
		[AIRLOCK_UNCLAIMED_ROOT] = "the whole file system",
		[AIRLOCK_UNCLAIMED_HOME] = "the home directory",
		[AIRLOCK_UNCLAIMED_ABOVE_HOME] = "above the home directory",
		[AIRLOCK_UNCLAIMED_DOT_DIRECTORY] =
			"in a dot-directory of the home directory, where programs keep settings",
		[AIRLOCK_UNCLAIMED_AGENT_SETTINGS] = "where an agent keeps its settings",
		[AIRLOCK_UNCLAIMED_TEMPORARY] = "a shared directory for temporary files",
		[AIRLOCK_UNCLAIMED_IN_TEMPORARY] = "in a shared directory for temporary files",
	};
	return (unsigned)reason < AL_ARRAY_LEN(words) ? words[reason] : "";
}
