/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "history/history_read.h"

#include "base/path.h"
#include "fs/fs.h"
#include "history/history.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#define FILE_MAX ((size_t)64 << 20)

int history_read_file(const char *run_dir, struct buf *ret, struct airlock_error *err)
{
	_cleanup_free_ char *file = path_join(run_dir, HISTORY_FILE);
	int rc = file ? fs_read_file(file, FILE_MAX, ret, err) : base_oom(err);
	if (rc < 0)
		return rc;
	while (ret->len > 0 && ret->data[ret->len - 1] == '\n')
		ret->len--;
	if (ret->len < 2 || ret->data[0] != '{' || ret->data[ret->len - 1] != '}')
		return base_error(err, AIRLOCK_ERR_CORRUPT, "read", file, "%s is damaged", file);
	memmove(ret->data, ret->data + 1, ret->len - 1);
	ret->data[ret->len -= 2] = '\0';
	return 0;
}

/* ── Just enough JSON: our own, as base/json.c writes it ── */

/* Past the string that begins at s. */
static const char *skip_string(const char *s)
{
	for (s++; *s && *s != '"'; s++)
		if (*s == '\\' && s[1])
			s++;
	return *s ? s + 1 : s;
}

/* Past the value that begins at s: to one of these characters after it, or the end. */
static const char *skip_to(const char *s, const char *ends)
{
	for (int depth = 0; *s && (depth > 0 || !strchr(ends, *s));) {
		if (*s == '"') {
			s = skip_string(s);
			continue;
		}
		depth += (*s == '{' || *s == '[') - (*s == '}' || *s == ']');
		s++;
	}
	return s;
}

/* Of members without their braces, as they are kept. */
static const char *skip_value(const char *s)
{
	return skip_to(s, ",");
}

/* The same inside an array or object, whose end is an end too. */
static const char *skip_item(const char *s)
{
	return skip_to(s, ",]}");
}

static const char *find_value(const char *members, const char *name)
{
	size_t len = strlen(name);
	for (const char *s = members; *s == '"';) {
		const char *after = skip_string(s);
		if (*after != ':')
			return NULL;
		if ((size_t)(after - s) == len + 2 && memcmp(s + 1, name, len) == 0)
			return after + 1;
		s = skip_value(after + 1);
		s += *s == ',';
	}
	return NULL;
}

static const char *decode_escape(const char *s, struct buf *out)
{
	unsigned code = 0;
	switch (*s) {
	case 'n':
		buf_addc(out, '\n');
		return s + 1;
	case 't':
		buf_addc(out, '\t');
		return s + 1;
	case 'u': /* written for control characters only */
		if (sscanf(s + 1, "%4x", &code) == 1 && strlen(s) >= 5)
			buf_addc(out, (char)code);
		return strlen(s) >= 5 ? s + 5 : s + strlen(s);
	default:
		buf_addc(out, *s);
		return s + 1;
	}
}

char *history_get_string(const char *members, const char *name)
{
	const char *s = find_value(members, name);
	struct buf out = BUF_INIT;
	if (!s || *s != '"')
		return NULL;
	for (s++; *s && *s != '"';) {
		if (*s == '\\' && s[1])
			s = decode_escape(s + 1, &out);
		else
			buf_addc(&out, *s++);
	}
	return buf_take(&out);
}

char *history_get_member(const char *members, const char *name)
{
	const char *s = find_value(members, name);
	size_t n = s ? (size_t)(skip_value(s) - s) : 0;
	bool nothing = !s || strncmp(s, "null", 4) == 0 || strncmp(s, "[]", 2) == 0;
	return nothing ? NULL : strndup(s, n);
}

void history_each(const char *value, void (*each)(const char *name, const char *text, void *data), void *data)
{
	bool object = *value == '{';
	if (!object && *value != '[')
		return;
	for (const char *s = value + 1; *s && *s != ']' && *s != '}';) {
		_cleanup_free_ char *name = NULL, *text = NULL;
		if (object) {
			const char *after = skip_string(s);
			name = strndup(s + 1, (size_t)(after - s) - 2);
			s = after + (*after == ':');
		}
		const char *end = skip_item(s);
		text = strndup(s, (size_t)(end - s));
		if (text && (!object || name))
			each(name, text, data);
		s = end + (*end == ',');
	}
}

int64_t history_get_int(const char *members, const char *name, int64_t fallback)
{
	const char *s = find_value(members, name);
	return s && (*s == '-' || (*s >= '0' && *s <= '9')) ? strtoll(s, NULL, 10) : fallback;
}

/* ── Runs ── */

bool history_is_alive(const char *run_dir)
{
	_cleanup_close_ int fd = open(run_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

/* "20261115-193012.482731-7f3a" is a time too. */
int64_t history_time_of_id(const char *id)
{
	struct tm tm = {0};
	long micro = 0;
	if (sscanf(id, "%4d%2d%2d-%2d%2d%2d.%6ld", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min,
		   &tm.tm_sec, &micro) < 7)
		return 0;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	return (int64_t)timegm(&tm) * 1000000000 + micro * 1000;
}

void history_id_of_time(int64_t ns, char out[32])
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;
	out[0] = '\0';
	if (gmtime_r(&seconds, &tm))
		(void)strftime(out, 32, "%Y%m%d-%H%M%S", &tm);
}

static void replace(const char **field, char *value)
{
	if (!value)
		return;
	base_freep(field);
	*field = value;
}

/* What the run's record of changes says now. */
static void read_changes(const char *dir, struct store_run *run)
{
	_cleanup_free_ char *file = path_join(dir, "changes");
	_cleanup_changes_ struct change_set *set = NULL;
	if (!file || change_set_load(file, &set, NULL) < 0)
		return;
	replace(&run->changes_state, strdup(change_set_state_name(set)));
	run->changes_count = (int64_t)set->n;
	if (!*run->project && set->n_roots > 0)
		replace(&run->project, strdup(set->roots[0].path));
}

static void read_ending(const char *members, struct store_run *run)
{
	replace(&run->command, history_get_string(members, "command"));
	replace(&run->project, history_get_string(members, "project"));
	replace(&run->asked_by, history_get_string(members, "asked_by"));
	replace(&run->working_dir, history_get_string(members, "working_dir"));
	replace(&run->status, history_get_string(members, "status"));
	run->exit_code = history_get_int(members, "exit_code", -1);
}

/* A run the database knows nothing of, or only its beginning. */
static void complete(const char *dir, struct store_run *run)
{
	_cleanup_buf_ struct buf members = BUF_INIT;
	if (history_read_file(dir, &members, NULL) == 0) {
		read_ending(members.data, run);
		replace(&run->changes_state, strdup("direct")); /* unless there is a record of them */
	} else if (history_is_alive(dir))
		return;
	else
		replace(&run->status, strdup("error"));
	read_changes(dir, run);
}

static bool is_whole(const struct store_run *r)
{
	return r->id && r->project && r->command && r->asked_by && r->working_dir && r->status && r->changes_state &&
	       r->detail;
}

static int from_directory(const char *runs, const char *id, struct store_run *ret, struct airlock_error *err)
{
	_cleanup_free_ char *dir = path_join(runs, id);
	struct store_run run = {.id = strdup(id),
				.project = strdup(""),
				.command = strdup(""),
				.asked_by = strdup(""),
				.working_dir = strdup(""),
				.started = history_time_of_id(id),
				.status = strdup("running"),
				.exit_code = -1,
				.changes_state = strdup("none"),
				.detail = strdup("")};
	if (dir && is_whole(&run))
		complete(dir, &run);
	if (!dir || !is_whole(&run)) {
		store_run_done(&run);
		return base_oom(err);
	}
	*ret = run;
	return 0;
}

static int append(struct store_runs *l, const struct store_run *run, struct airlock_error *err)
{
	struct store_run *v = reallocarray(l->v, l->n + 1, sizeof *v);
	if (!v)
		return base_oom(err);
	l->v = v;
	l->v[l->n++] = *run;
	return 0;
}

static int newer_first(const void *a, const void *b)
{
	return strcmp(((const struct store_run *)b)->id, ((const struct store_run *)a)->id);
}

static bool lists(const struct store_runs *l, size_t n, const char *id)
{
	struct store_run key = {.id = id};
	return n > 0 && bsearch(&key, l->v, n, sizeof key, newer_first);
}

/* Directories that have no row; with a limit only those newer than the oldest that was asked for can matter. */
static int add_unknown(const struct past_run *e, const char *project, int64_t limit, struct store *store,
		       struct store_runs *l, struct airlock_error *err)
{
	_cleanup_strs_ struct strs dirs = STRS_INIT;
	size_t known = l->n;
	bool full = limit >= 0 && known == (size_t)limit;
	int listed = past_run_list(e, &dirs, err);
	if (listed < 0)
		return listed;
	for (size_t i = dirs.n; i > 0; i--) {
		struct store_run run = {0};
		const char *id = dirs.v[i - 1];
		if (full && (known == 0 || strcmp(id, l->v[known - 1].id) < 0))
			break;
		if (lists(l, known, id) || (store && store_run_get(store, id, &run, NULL) == 1)) {
			store_run_done(&run);
			continue;
		}
		int rc = from_directory(e->runs, id, &run, err);
		if (rc < 0)
			return rc;
		/* airlock was killed before it wrote which project this was: it may be this one */
		bool may_be_here = !project || !*run.project || strcmp(run.project, project) == 0;
		if (!may_be_here)
			store_run_done(&run);
		else if ((rc = append(l, &run, err)) < 0)
			return rc;
	}
	if (l->n > 0)
		qsort(l->v, l->n, sizeof *l->v, newer_first);
	return 0;
}

static void complete_begun(const struct past_run *e, struct store_run *run)
{
	if (strcmp(run->status, "running") != 0)
		return;
	_cleanup_free_ char *dir = path_join(e->runs, run->id);
	if (dir)
		complete(dir, run);
}

int history_list(const struct past_run *e, struct store *store, const char *project, int64_t limit,
		 struct store_runs *ret, struct airlock_error *err)
{
	_cleanup_runs_ struct store_runs l = {0};
	int rc = store ? store_run_list(store, project, limit, &l, err) : 0;
	for (size_t i = 0; rc == 0 && i < l.n; i++)
		complete_begun(e, &l.v[i]);
	rc = rc < 0 ? rc : add_unknown(e, project, store ? limit : -1, store, &l, err);
	if (rc < 0)
		return rc;
	while (limit >= 0 && l.n > (size_t)limit)
		store_run_done(&l.v[--l.n]);
	*ret = l;
	l = (struct store_runs){0};
	return 0;
}

int history_get(const struct past_run *e, struct store *store, const char *id, struct store_run *ret,
		struct airlock_error *err)
{
	int rc = store ? store_run_get(store, id, ret, err) : 0;
	if (rc == 1)
		complete_begun(e, ret);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	_cleanup_free_ char *dir = path_join(e->runs, id);
	if (!dir)
		return base_oom(err);
	if (access(dir, F_OK) < 0)
		return base_error(err, AIRLOCK_ERR_NOT_FOUND, "run", id, "there is no run \"%s\"", id);
	return from_directory(e->runs, id, ret, err);
}
