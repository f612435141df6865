/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What programs keep in the home to save work, and can make again: one path a line, relative to the home directory.
 *
 * A command may write there. What it writes goes to a layer that is kept for its project (run/caches.c), and never to the
 * home. A directory stands here together with the one it lies in where the outer one may be excluded, or where a rule about
 * something below the outer one keeps it from being a cache as a whole: the inner ones then count by themselves.
 *
 * Each costs a mount, so the caches of rarer programs have the name of a program: if it is not installed, and the cache is not in the
 * home either, nobody needs it.
 *
 * Never a place that programs are started from by name: what a command leaves there would run in later sandboxes of the
 * project, in the place of the user's own. */
#include "policy/policy.h"

#include "base/path.h"

#include <string.h>

static const struct policy_cache caches[] = {
	{".cache", NULL},
	{".cache/bazel", NULL},
	{".cache/ccache", NULL},
	{".cache/deno", NULL},
	{".cache/go-build", NULL},
	{".cache/node", NULL},
	{".cache/node-gyp", NULL},
	{".cache/pip", NULL},
	{".cache/pnpm", NULL},
	{".cache/pre-commit", NULL},
	{".cache/pypoetry", NULL},
	{".cache/sccache", NULL},
	{".cache/typescript", NULL},
	{".cache/uv", NULL},
	{".cache/yarn", NULL},
	{".bun/install/cache", "bun"},
	{".bundle/cache", "bundle"},
	{".cargo/git", NULL},
	{".cargo/registry", NULL},
	{".ccache", "ccache"},
	{".composer/cache", "composer"},
	{".conan2/p", "conan"},
	{".gradle/caches", "java"},
	{".ivy2/cache", "java"},
	{".local/share/pnpm/store", "pnpm"},
	{".m2/repository", "java"},
	{".npm", NULL},
	{".nuget/packages", "dotnet"},
	{".yarn/berry/cache", "yarn"},
	{"go/pkg", NULL},
	{NULL, NULL},
};

/* Directories from which programs are started. */
static const char *const program_names[] = {
	"bin", ".local/bin", ".bun/bin", ".cargo/bin", ".deno/bin", ".npm-global/bin", ".yarn/bin", "go/bin", NULL,
};

const struct policy_cache *policy_caches(void)
{
	return caches;
}

enum policy_cache_fault policy_cache_check(const char *path, const char *home)
{
	const char *rest = path_rest(path, home);
	if (!rest || !*rest || strcmp(home, "/") == 0)
		return POLICY_CACHE_OUTSIDE;
	for (const char *const *name = program_names; *name; name++)
		if (path_is_beneath(rest, *name) || path_is_beneath(*name, rest))
			return POLICY_CACHE_PROGRAMS;
	return POLICY_CACHE_FINE;
}
