/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "backend/bwrap_probe_parts.h"

#include "base/text.h"
#include "sys/probe_exec.h"

#include <stdio.h>
#include <string.h>

#define TIMEOUT_MS 5000

/* The end of bwrap's stderr as one escaped line without its name; cuts a longer one. */
static void keep_words(const char *text, char *ret, size_t size)
{
	_cleanup_buf_ struct buf line = BUF_INIT;
	if (strncmp(text, "bwrap: ", 7) == 0)
		text += 7;
	size_t n = strcspn(text, "\n");
	text_add_escaped(&line, text, AL_MIN(n, 120));
	(void)snprintf(ret, size, "%s%s", buf_str(&line), n > 120 ? "..." : "");
}

static enum bwrap_cause cause_of_not_running(const struct sys_exec *x, struct bwrap_verdict *v)
{
	if (x->timed_out)
		return BWRAP_SLOW;
	const char *reason = strerrordesc_np(x->errnum);
	(void)snprintf(v->detail, sizeof v->detail, "%s", reason ? reason : "unknown error");
	return BWRAP_NOT_RUNNABLE;
}

static enum bwrap_cause try_version(const char *path, struct bwrap_verdict *v)
{
	const char *const argv[] = {"bwrap", "--version", NULL};
	struct sys_exec x;
	sys_probe_exec(path, argv, TIMEOUT_MS, &x);
	if (x.errnum || x.timed_out)
		return cause_of_not_running(&x, v);
	/* NOLINTNEXTLINE(cert-err34-c): 9 digits fit */
	int n = sscanf(x.out, "bubblewrap %9d.%9d.%9d", &v->major, &v->minor, &v->patch);
	if (x.exit_code != 0 || n < 2) {
		keep_words(*x.err ? x.err : x.out, v->detail, sizeof v->detail);
		return BWRAP_NOT_BWRAP;
	}
	bool old = v->major == BWRAP_MIN_MAJOR && v->minor < BWRAP_MIN_MINOR;
	return old ? BWRAP_TOO_OLD : BWRAP_FINE;
}

/* Runs bwrap itself inside, to print its version: the one program that certainly exists. Its output proves that
 * something ran inside. */
static enum bwrap_cause try_sandbox(const char *path, struct bwrap_verdict *v)
{
	const char *const argv[] = {
		"bwrap", "--unshare-all", "--unshare-user", "--ro-bind", "/",  "/",  "--proc",	  "/proc",
		"--dev", "/dev",	  "--cap-drop",	    "ALL",	 "--", path, "--version", NULL};
	struct sys_exec x;
	sys_probe_exec(path, argv, TIMEOUT_MS, &x);
	if (x.errnum || x.timed_out)
		return cause_of_not_running(&x, v);
	if (x.exit_code == 0 && strncmp(x.out, "bubblewrap ", 11) == 0)
		return BWRAP_FINE;
	if (*x.err)
		keep_words(x.err, v->detail, sizeof v->detail);
	else
		(void)snprintf(v->detail, sizeof v->detail, "it exited with status %d and printed nothing",
			       x.exit_code);
	return bwrap_diagnose(x.err);
}

static void try_program(const char *path, struct bwrap_verdict *v)
{
	v->cause = try_version(path, v);
	if (v->cause == BWRAP_FINE)
		v->cause = try_sandbox(path, v);
}

static bool at_least(const struct bwrap_verdict *v, int major, int minor)
{
	return v->major > major || (v->major == major && v->minor >= minor);
}

static void fill(const struct bwrap_found *found, const struct bwrap_verdict *v, struct bwrap_info *ret)
{
	memcpy(ret->path, found->path, sizeof ret->path);
	ret->major = v->major;
	ret->minor = v->minor;
	ret->patch = v->patch;
	ret->works = v->cause == BWRAP_FINE;
	ret->is_setuid = found->st.st_mode & S_ISUID;
	ret->has_size_perms = at_least(v, 0, 7) && !ret->is_setuid;
	ret->has_disable_userns = at_least(v, 0, 8);
	ret->has_overlay = at_least(v, 0, 11) && !ret->is_setuid;
	if (!ret->works)
		bwrap_explain(v->cause, found->path, v->detail, &ret->why);
}

static void explain_missing(const struct bwrap_found *found, struct bwrap_info *ret)
{
	char detail[PATH_MAX + 128] = "";
	if (found->refusal)
		(void)snprintf(detail, sizeof detail, "%.1000s: %s", found->refused, found->refusal);
	bwrap_explain(found->refusal ? BWRAP_UNTRUSTED : BWRAP_NOT_INSTALLED, found->refusal ? found->refused : "bwrap",
		      detail, &ret->why);
}

int bwrap_probe(const char *path_env, const char *cache_file, const char *const *untrusted_dirs, struct bwrap_info *ret,
		struct airlock_error *err)
{
	struct bwrap_found found;
	struct bwrap_verdict v = {0};
	_cleanup_buf_ struct buf key = BUF_INIT;
	*ret = (struct bwrap_info){0};
	bwrap_find(path_env, untrusted_dirs, &found);
	if (!*found.path) {
		explain_missing(&found, ret);
		return 0;
	}
	bwrap_cache_key(&found, &key);
	if (key.failed)
		return base_oom(err);
	ret->from_cache = cache_file && bwrap_cache_load(cache_file, &key, &v);
	if (!ret->from_cache) {
		try_program(found.path, &v);
		if (cache_file)
			bwrap_cache_store(cache_file, &key, &v);
	}
	fill(&found, &v, ret);
	return 0;
}
