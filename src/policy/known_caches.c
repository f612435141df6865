/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What programs keep in the home to save work, and can make again: one path a line, relative to the home directory.
 *
 * A command may write there. What it writes goes to a layer that is kept for its project (run/caches.c), and never to the
 * home. A directory stands here together with the one it lies in where the outer one may be excluded, or where a rule about
 * something below the outer one keeps it from being a cache as a whole: the inner ones then count by themselves.
 *
 * Never a place that programs are started from by name: what a command leaves there would run in later sandboxes of the
 * project, in the place of the user's own. */
#include "policy/policy.h"

#include "base/path.h"

#include <string.h>

static const char *const cache_names[] = {
	".cache",
	".cache/bazel",
	".cache/ccache",
	".cache/deno",
	".cache/go-build",
	".cache/node",
	".cache/node-gyp",
	".cache/pip",
	".cache/pnpm",
	".cache/pre-commit",
	".cache/pypoetry",
	".cache/sccache",
	".cache/typescript",
	".cache/uv",
	".cache/yarn",
	".bun/install/cache",
	".bundle/cache",
	".cargo/git",
	".cargo/registry",
	".ccache",
	".composer/cache",
	".conan2/p",
	".gradle/caches",
	".ivy2/cache",
	".local/share/pnpm/store",
	".m2/repository",
	".npm",
	".nuget/packages",
	".yarn/berry/cache",
	"go/pkg",
	NULL,
};

/* Directories from which programs are started. */
static const char *const program_names[] = {
	"bin", ".local/bin", ".bun/bin", ".cargo/bin", ".deno/bin", ".npm-global/bin", ".yarn/bin", "go/bin", NULL,
};

const char *const *policy_cache_names(void)
{
	return cache_names;
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
