/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "settings/host.h"

#include "base/error.h"
#include "base/path.h"
#include "settings/user.h"

#include <string.h>

#define SYSTEM_FILE "/etc/airlock/config.toml"

static int find_home(const struct airlock_settings *s, char **ret, struct airlock_error *err)
{
	const char *home = settings_getenv(s, "HOME");
	if (home && *home && *home != '/')
		return base_error(err, AIRLOCK_ERR_INVALID, "HOME", home,
				  "HOME is \"%s\", which is not an absolute path", home);
	*ret = home && *home ? path_normalize(NULL, home) : user_home(getuid());
	if (*ret)
		return 0;
	base_error(err, AIRLOCK_ERR_INVALID, "HOME", "HOME",
		   "HOME is not set and the user database has no home directory");
	return base_hint(err, "set HOME to the directory whose files are yours");
}

/* XDG: a relative value is to be ignored. */
static char *xdg(const struct airlock_settings *s, const char *name, const char *home, const char *fallback)
{
	const char *value = settings_getenv(s, name);
	_cleanup_free_ char *base = value && *value == '/' ? path_normalize(NULL, value) : path_join(home, fallback);
	return base ? path_join(base, "airlock") : NULL;
}

/* Refuse a state directory that contains the home: hiding it would hide everything. */
static int find_runtime_dir(const struct airlock_settings *s, const char *home, char **ret, struct airlock_error *err)
{
	const char *value = settings_getenv(s, "XDG_RUNTIME_DIR");
	if (!value || *value != '/')
		return 0;
	_cleanup_free_ char *dir = path_normalize(NULL, value);
	if (!dir)
		return base_oom(err);
	if (!path_is_beneath(home, dir))
		*ret = TAKE_PTR(dir);
	return 0;
}

static char *current_directory(struct airlock_error *err)
{
	char *cwd = getcwd(NULL, 0);
	if (!cwd || cwd[0] != '/') {
		int errnum = cwd ? ENOENT : errno;
		free(cwd);
		base_errno(err, AIRLOCK_ERR_INVALID, errnum, "getcwd", "current directory");
		base_hint(err, "it was removed or cannot be reached: cd to a directory that exists");
		return NULL;
	}
	return cwd;
}

static void find_git_env(const struct airlock_settings *s, struct strs *ret)
{
	for (size_t i = 0; i < s->environ.n; i++)
		if (strncmp(s->environ.v[i], "GIT_", 4) == 0 || strncmp(s->environ.v[i], "XDG_CONFIG_HOME=", 16) == 0)
			strs_add(ret, s->environ.v[i]);
}

int host_init(const struct airlock_settings *s, struct host *ret, struct airlock_error *err)
{
	*ret = (struct host){.system_file = SYSTEM_FILE};
	const char *path = settings_getenv(s, "PATH");
	ret->path_env = path ? path : "";
	int rc = find_home(s, &ret->home, err);
	find_git_env(s, &ret->git_env);
	if (rc == 0) {
		ret->cwd = current_directory(err);
		ret->state_dir = xdg(s, "XDG_STATE_HOME", ret->home, ".local/state");
		ret->data_dir = xdg(s, "XDG_DATA_HOME", ret->home, ".local/share");
		ret->config_dir = xdg(s, "XDG_CONFIG_HOME", ret->home, ".config");
		ret->user_file = ret->config_dir ? path_join(ret->config_dir, "config.toml") : NULL;
		ret->trust_dir = ret->state_dir ? path_join(ret->state_dir, "trust") : NULL;
		ret->playground = ret->data_dir ? path_join(ret->data_dir, "playground") : NULL;
		if (!ret->cwd || ret->git_env.failed || !ret->user_file || !ret->trust_dir || !ret->playground)
			rc = base_oom(err); /* keeps the error of the directory when there is one */
		else
			rc = find_runtime_dir(s, ret->home, &ret->runtime_dir, err);
	}
	if (rc < 0) {
		if (err && err->code)
			rc = err->code;
		host_done(ret);
	}
	return rc;
}

void host_done(struct host *h)
{
	char **all[] = {&h->home,      &h->cwd,	      &h->state_dir,  &h->data_dir,   &h->config_dir,
			&h->user_file, &h->trust_dir, &h->playground, &h->runtime_dir};
	for (size_t i = 0; i < AL_ARRAY_LEN(all); i++)
		base_freep(all[i]);
	strs_done(&h->git_env);
}

char *host_journal_dir(const struct host *host)
{
	return path_join(host->state_dir, "journal");
}

char *host_lock_dir(const struct host *host)
{
	return path_join(host->state_dir, "locks");
}
