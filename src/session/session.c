/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The record of a session, one thing a line, so that a person can read it when everything else is broken:
 *
 *   airlock-session 1
 *   session NAME PROJECT hold open CREATED TURNS
 *   step 1 held 0 3 RUN make
 *   free BYTES
 *   layer 1 1 - DIR BYTES
 *   root /home/u/p DIR/upper/overlay1
 *   whole RUN SETTLED
 *   held COUNT STAMP
 *   deciding RUN
 *   applied RUN
 *   end SHA-256
 *
 * step: number, state, exit status, changes, run, command. free: disk space when the session began. layer: first and last step in it,
 * the apply that left it, directory, bytes in it; its roots follow. held: how many changes of the whole wait, and the time of its record when they were
 * counted. The time of the last use is that of the file.
 */
#include "session/session_parts.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/line_fields.h"
#include "base/path.h"
#include "fs/fs.h"
#include "fs/walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define MAGIC "airlock-session 1"
#define RECORD_MAX ((size_t)256 << 20)
#define TMP_DIR "tmp"

static const char *const modes[] = {"apply", "hold", NULL};
static const char *const states[] = {"open", "ended", NULL};
static const char *const step_states[] = {
	[SESSION_STEP_HELD] = "held", [SESSION_STEP_DECIDED] = "decided", [SESSION_STEP_DISCARDED] = "discarded", NULL};

/* ── Names ── */

bool session_is_name(const char *name)
{
	static const char more[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	size_t len = strlen(name);
	bool begins = (name[0] >= 'A' && name[0] <= 'Z') || (name[0] >= 'a' && name[0] <= 'z');
	return begins && len <= SESSION_NAME_MAX && strspn(name, more) == len && strcmp(name, "last") != 0;
}

int session_check_name(const char *name, struct airlock_error *err)
{
	if (session_is_name(name))
		return 0;
	if (strcmp(name, "last") == 0)
		return base_error(err, AIRLOCK_ERR_USAGE, "session", name,
				  "a session cannot be called \"last\": that is the last run");
	return base_error(
		err, AIRLOCK_ERR_USAGE, "session", name,
		"\"%s\" is no name for a session: a letter, then letters, digits, '.', '_' and '-', at most %d characters",
		name, SESSION_NAME_MAX);
}

/* ── The value ── */

void session_layer_done(struct session_layer *l)
{
	free(l->dir);
	free(l->of);
	strs_done(&l->roots);
	strs_done(&l->uppers);
	*l = (struct session_layer){0};
}

static void step_done(struct session_step *s)
{
	free(s->run);
	free(s->command);
	*s = (struct session_step){0};
}

void session_done(struct session *s)
{
	session_keep_steps(s, 0);
	session_keep_layers(s, 0);
	free(s->steps);
	free(s->layers);
	free(s->name);
	free(s->project);
	free(s->dir);
	free(s->whole);
	free(s->deciding);
	strs_done(&s->applies);
	strs_done(&s->stale);
	base_closep(&s->lock_fd);
	*s = (struct session)SESSION_INIT;
}

struct session_step *session_push_step(struct session *s)
{
	if (!ARRAY_ROOM(s->steps, s->n_steps, s->cap_steps, 16))
		return NULL;
	s->steps[s->n_steps] = (struct session_step){0};
	return &s->steps[s->n_steps++];
}

struct session_layer *session_push_layer(struct session *s)
{
	if (!ARRAY_ROOM(s->layers, s->n_layers, s->cap_layers, 16))
		return NULL;
	s->layers[s->n_layers] = (struct session_layer){0};
	return &s->layers[s->n_layers++];
}

void session_keep_steps(struct session *s, size_t n)
{
	while (s->n_steps > n)
		step_done(&s->steps[--s->n_steps]);
}

void session_keep_layers(struct session *s, size_t n)
{
	while (s->n_layers > n)
		session_layer_done(&s->layers[--s->n_layers]);
}

uint64_t session_last_step(const struct session *s)
{
	return s->n_steps ? s->steps[s->n_steps - 1].number : 0;
}

/* ── Places ── */

static char *project_key(const char *project)
{
	char sum[65];
	hash_sha256_hex(project, strlen(project), sum);
	return strndup(sum, 32);
}

static char *project_dir(const struct session_place *at)
{
	_cleanup_free_ char *sessions = path_join(at->host->state_dir, SESSIONS_DIR), *key = project_key(at->project);
	return sessions && key ? path_join(sessions, key) : NULL;
}

static int64_t now_ns(void)
{
	struct timespec t = {0};
	(void)clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ── /tmp ── */

char *session_dir(const struct session_place *at, const char *name)
{
	_cleanup_free_ char *dir = project_dir(at);
	return dir ? path_join(dir, name) : NULL;
}

char *session_tmp(const struct session_place *at, const char *name)
{
	_cleanup_free_ char *own = session_dir(at, name);
	return own ? path_join(own, TMP_DIR) : NULL;
}

char *session_home(const struct session_place *at, const char *name)
{
	_cleanup_free_ char *dir = project_dir(at), *own = dir ? path_join(dir, name) : NULL;
	return own ? path_join(own, SESSION_HOME) : NULL;
}

uint64_t session_tmp_bytes(const struct session *s)
{
	_cleanup_close_ int dir = open(s->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	uint64_t bytes = 0, entries = 0;
	return dir < 0 || fs_tree_size_at(dir, TMP_DIR, &bytes, &entries, NULL) < 0 || entries < 2 ? 0 : bytes;
}

void session_clear_tmp(const struct session *s)
{
	_cleanup_close_ int dir = open(s->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir >= 0)
		(void)fs_remove_tree_at(dir, TMP_DIR, NULL, NULL);
}

/* ── Writing ── */

static void add_layer(struct buf *b, const struct session_layer *l)
{
	buf_adds(b, "layer");
	fields_add_number(b, l->first);
	fields_add_number(b, l->last);
	fields_add_string(b, l->of);
	fields_add_string(b, l->dir);
	fields_add_number(b, l->bytes);
	buf_addc(b, '\n');
	for (size_t i = 0; i < l->roots.n; i++) {
		buf_adds(b, "root");
		fields_add_string(b, l->roots.v[i]);
		fields_add_string(b, l->uppers.v[i]);
		buf_addc(b, '\n');
	}
}

static void add_step(struct buf *b, const struct session_step *s)
{
	buf_adds(b, "step");
	fields_add_number(b, s->number);
	buf_printf(b, " %s", step_states[s->state]);
	fields_add_signed(b, s->exit_code);
	fields_add_number(b, s->count);
	fields_add_string(b, s->run);
	fields_add_string(b, s->command);
	buf_addc(b, '\n');
}

static void add_word(struct buf *b, const char *word, const char *value)
{
	buf_adds(b, word);
	fields_add_string(b, value);
	buf_addc(b, '\n');
}

int session_save(struct session *s, struct airlock_error *err)
{
	_cleanup_buf_ struct buf b = BUF_INIT;
	_cleanup_free_ char *file = path_join(s->dir, SESSION_RECORD);
	char sum[65];
	buf_adds(&b, MAGIC "\nsession");
	fields_add_string(&b, s->name);
	fields_add_string(&b, s->project);
	buf_printf(&b, " %s %s", modes[s->holds], states[s->ended]);
	fields_add_signed(&b, s->created_ns);
	fields_add_number(&b, s->turns);
	buf_addc(&b, '\n');
	buf_adds(&b, "free");
	fields_add_number(&b, s->free_bytes);
	buf_addc(&b, '\n');
	for (size_t i = 0; i < s->n_steps; i++)
		add_step(&b, &s->steps[i]);
	for (size_t i = 0; i < s->n_layers; i++)
		add_layer(&b, &s->layers[i]);
	if (s->whole) {
		buf_adds(&b, "whole");
		fields_add_string(&b, s->whole);
		fields_add_number(&b, s->settled);
		buf_addc(&b, '\n');
	}
	if (s->whole && s->held_stamp) {
		buf_adds(&b, "held");
		fields_add_number(&b, s->held);
		fields_add_signed(&b, s->held_stamp);
		buf_addc(&b, '\n');
	}
	if (s->deciding)
		add_word(&b, "deciding", s->deciding);
	for (size_t i = 0; i < s->applies.n; i++)
		add_word(&b, "applied", s->applies.v[i]);
	hash_sha256_hex(buf_str(&b), b.len, sum);
	buf_printf(&b, "end %s\n", sum);
	if (!file || b.failed)
		return base_oom(err);
	int rc = fs_write_private_file(file, b.data, b.len, err);
	if (rc == 0)
		session_remove_stale(s);
	return rc;
}

void session_touch(const struct session *s)
{
	_cleanup_free_ char *file = path_join(s->dir, SESSION_RECORD);
	if (file)
		(void)utimensat(AT_FDCWD, file, NULL, AT_SYMLINK_NOFOLLOW);
}

/* ── Reading ── */

static int read_head(struct session *s, struct fields *f)
{
	unsigned mode = 0, state = 0;
	int rc = s->name ? -EINVAL : fields_take_string(f, &s->name);
	rc = rc < 0 ? rc : fields_take_string(f, &s->project);
	rc = rc < 0 ? rc : fields_take_name(f, modes, "a mode", &mode);
	rc = rc < 0 ? rc : fields_take_name(f, states, "a state", &state);
	rc = rc < 0 ? rc : fields_take_signed(f, &s->created_ns);
	rc = rc < 0 ? rc : fields_take_number(f, &s->turns);
	s->holds = mode == 1;
	s->ended = state == 1;
	return rc < 0 ? rc : s->name && s->project ? 0 : -EINVAL;
}

static int read_step(struct session *s, struct fields *f)
{
	struct session_step *step = session_push_step(s);
	unsigned state = 0;
	int64_t exit_code = 0;
	if (!step)
		return -ENOMEM;
	int rc = fields_take_number(f, &step->number);
	rc = rc < 0 ? rc : fields_take_name(f, step_states, "a state", &state);
	rc = rc < 0 ? rc : fields_take_signed(f, &exit_code);
	rc = rc < 0 ? rc : fields_take_number(f, &step->count);
	rc = rc < 0 ? rc : fields_take_string(f, &step->run);
	rc = rc < 0 ? rc : fields_take_string(f, &step->command);
	step->state = (enum session_step_state)state;
	step->exit_code = (int)exit_code;
	bool ordered = s->n_steps < 2 || s->steps[s->n_steps - 2].number < step->number;
	return rc < 0 ? rc : step->run && step->command && ordered ? 0 : -EINVAL;
}

static int read_layer(struct session *s, struct fields *f)
{
	struct session_layer *l = session_push_layer(s);
	if (!l)
		return -ENOMEM;
	int rc = fields_take_number(f, &l->first);
	rc = rc < 0 ? rc : fields_take_number(f, &l->last);
	rc = rc < 0 ? rc : fields_take_string(f, &l->of);
	rc = rc < 0 ? rc : fields_take_string(f, &l->dir);
	rc = rc < 0 ? rc : fields_take_number(f, &l->bytes);
	return rc < 0 ? rc : l->dir && path_is_normal(l->dir) ? 0 : -EINVAL;
}

static int read_root(struct session *s, struct fields *f)
{
	_cleanup_free_ char *root = NULL, *upper = NULL;
	struct session_layer *l = s->n_layers ? &s->layers[s->n_layers - 1] : NULL;
	int rc = fields_take_string(f, &root);
	rc = rc < 0 ? rc : fields_take_string(f, &upper);
	if (rc < 0 || !l || !root || !upper || !path_is_normal(root) || !path_is_beneath(upper, l->dir))
		return rc < 0 ? rc : -EINVAL;
	strs_take(&l->roots, TAKE_PTR(root));
	strs_take(&l->uppers, TAKE_PTR(upper));
	return l->roots.failed || l->uppers.failed ? -ENOMEM : 0;
}

static int read_free(struct session *s, struct fields *f)
{
	return fields_take_number(f, &s->free_bytes);
}

static int read_whole(struct session *s, struct fields *f)
{
	int rc = s->whole ? -EINVAL : fields_take_string(f, &s->whole);
	return rc < 0 ? rc : fields_take_number(f, &s->settled);
}

static int read_held(struct session *s, struct fields *f)
{
	int rc = fields_take_number(f, &s->held);
	return rc < 0 ? rc : fields_take_signed(f, &s->held_stamp);
}

static int read_deciding(struct session *s, struct fields *f)
{
	return s->deciding ? -EINVAL : fields_take_string(f, &s->deciding);
}

static int read_applied(struct session *s, struct fields *f)
{
	char *run = NULL;
	int rc = fields_take_string(f, &run);
	if (rc == 0)
		strs_take(&s->applies, run);
	return rc < 0 ? rc : s->applies.failed ? -ENOMEM : 0;
}

/* 1: the last line. */
static int read_line(struct session *s, const struct buf *text, size_t at, size_t len)
{
	static const char *const words[] = {"session", "free",	   "step",    "layer", "root", "whole",
					    "held",    "deciding", "applied", "end",   NULL};
	static int (*const readers[])(struct session *, struct fields *) = {read_head,	read_free,     read_step,
									    read_layer, read_root,     read_whole,
									    read_held,	read_deciding, read_applied};
	struct fields f = fields_of(text->data + at, len);
	unsigned word = 0;
	char sum[65];
	if (at == 0)
		return len == strlen(MAGIC) && memcmp(text->data, MAGIC, len) == 0 ? 0 : -EINVAL;
	int rc = fields_take_name(&f, words, "a line", &word);
	if (rc == 0 && word < AL_ARRAY_LEN(readers)) {
		rc = readers[word](s, &f);
		return rc < 0 ? rc : fields_end(&f);
	}
	hash_sha256_hex(text->data, at, sum);
	rc = rc < 0 ? rc : fields_take_literal(&f, sum);
	rc = rc < 0 ? rc : fields_end(&f);
	return rc < 0 ? rc : 1;
}

static int parse(struct session *s, const struct buf *text)
{
	for (size_t at = 0; at < text->len;) {
		const char *newline = memchr(text->data + at, '\n', text->len - at);
		if (!newline)
			return -EINVAL;
		size_t len = (size_t)(newline - text->data) - at;
		int rc = read_line(s, text, at, len);
		at += len + 1;
		if (rc != 0)
			return rc < 0 ? rc : at == text->len && s->name ? 0 : -EINVAL;
	}
	return -EINVAL;
}

/* s->dir is set. */
static int load(struct session *s, struct airlock_error *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_free_ char *file = path_join(s->dir, SESSION_RECORD);
	struct stat st;
	if (!file)
		return base_oom(err);
	int rc = fs_read_file(file, RECORD_MAX, &text, err);
	if (rc < 0)
		return rc;
	rc = parse(s, &text);
	if (rc == -ENOMEM)
		return base_oom(err);
	if (rc == 0 && stat(file, &st) == 0)
		s->used_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	if (rc == 0)
		return 0;
	base_error(err, AIRLOCK_ERR_CORRUPT, "parse", file, "the record of the session is damaged: %s", file);
	return base_hint(
		err,
		"its layers are untouched: `airlock log` lists its runs, and `airlock diff RUN` shows each of them");
}

static int lock(struct session *s, struct airlock_error *err)
{
	_cleanup_free_ char *file = path_join(s->dir, "lock");
	if (!file)
		return base_oom(err);
	s->lock_fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock_fd < 0)
		return base_errno(err, AIRLOCK_ERR_IO, errno, "open", file);
	while (flock(s->lock_fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return base_errno(err, AIRLOCK_ERR_IO, errno, "lock", file);
	return 0;
}

/* ── Opening ── */

static bool has_record(const char *dir)
{
	_cleanup_free_ char *file = path_join(dir, SESSION_RECORD);
	return file && access(file, F_OK) == 0;
}

/* Another project may have one of that name: then that is said. */
static int not_found(const struct session_place *at, const char *name, struct airlock_error *err)
{
	_cleanup_strs_ struct strs all = STRS_INIT;
	base_error(err, AIRLOCK_ERR_NOT_FOUND, "session", name, "this project has no session \"%s\"", name);
	if (session_list(&(struct session_place){at->host, NULL}, &all, NULL) < 0)
		return AIRLOCK_ERR_NOT_FOUND;
	for (size_t i = 0; i < all.n; i++) {
		_cleanup_session_ struct session other = SESSION_INIT;
		const char *slash = strchr(all.v[i], '/');
		if (slash && strcmp(slash + 1, name) == 0 &&
		    session_open_entry(&other, at->host, all.v[i], NULL) == 0) {
			base_hint(err, "the project %s has one: use -p %s", other.project, other.project);
			return AIRLOCK_ERR_NOT_FOUND;
		}
	}
	base_hint(err, "airlock session list shows the sessions");
	return AIRLOCK_ERR_NOT_FOUND;
}

static int set_dir(struct session *s, const struct session_place *at, const char *name, struct airlock_error *err)
{
	int rc = session_check_name(name, err);
	if (rc < 0)
		return rc;
	_cleanup_free_ char *dir = project_dir(at);
	s->dir = dir ? path_join(dir, name) : NULL;
	return s->dir ? 0 : base_oom(err);
}

int session_open(struct session *s, const struct session_place *at, const char *name, enum session_how how,
		 struct airlock_error *err)
{
	int rc = set_dir(s, at, name, err);
	if (rc == 0 && !has_record(s->dir))
		rc = not_found(at, name, err);
	if (rc == 0 && how == SESSION_LOCK)
		rc = lock(s, err);
	return rc < 0 ? rc : load(s, err);
}

/* All of it but its record. 1: there is one, and it was read. */
static int begin(struct session *s, const struct session_place *at, const char *name, bool holds, bool may_exist,
		 struct airlock_error *err)
{
	int rc = set_dir(s, at, name, err);
	if (rc == 0)
		rc = fs_make_private_dir(s->dir, err);
	if (rc == 0)
		rc = lock(s, err);
	if (rc < 0)
		return rc;
	if (has_record(s->dir)) {
		if (may_exist) {
			rc = load(s, err);
			return rc < 0 ? rc : 1;
		}
		base_error(err, AIRLOCK_ERR_CONFLICT, "session", name, "this project has a session \"%s\" already",
			   name);
		return base_hint(err, "choose another name, or go on with it: airlock run --session %s", name);
	}
	s->name = strdup(name);
	s->project = strdup(at->project);
	s->holds = holds;
	s->created_ns = s->used_ns = now_ns();
	s->free_bytes = session_disk_free(s->dir);
	return s->name && s->project ? 0 : base_oom(err);
}

int session_begin_new(struct session *s, const struct session_place *at, const char *name, bool holds,
		      struct airlock_error *err)
{
	return begin(s, at, name, holds, false, err);
}

int session_create(struct session *s, const struct session_place *at, const char *name, bool holds,
		   struct airlock_error *err)
{
	int rc = session_begin_new(s, at, name, holds, err);
	return rc < 0 ? rc : session_save(s, err);
}

int session_open_or_create(struct session *s, const struct session_place *at, const char *name, bool holds,
			   struct airlock_error *err)
{
	int rc = begin(s, at, name, holds, true, err);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = session_save(s, err);
	return rc < 0 ? rc : 1;
}

/* ── All of them ── */

static int list_dir(const char *dir, const char *prefix, struct strs *ret, struct airlock_error *err)
{
	DIR *d = opendir(dir);
	if (!d)
		return errno == ENOENT ? 0 : base_errno(err, AIRLOCK_ERR_IO, errno, "open", dir);
	for (struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.')
			strs_addf(ret, "%s%s%s", prefix, *prefix ? "/" : "", e->d_name);
	(void)closedir(d);
	return ret->failed ? base_oom(err) : 0;
}

static int list_project(const char *dir, const char *prefix, struct strs *ret, struct airlock_error *err)
{
	_cleanup_strs_ struct strs names = STRS_INIT;
	int rc = list_dir(dir, "", &names, err);
	for (size_t i = 0; rc == 0 && i < names.n; i++) {
		_cleanup_free_ char *one = path_join(dir, names.v[i]);
		if (one && session_is_name(names.v[i]) && has_record(one))
			strs_addf(ret, "%s%s%s", prefix, *prefix ? "/" : "", names.v[i]);
	}
	return rc < 0 ? rc : ret->failed ? base_oom(err) : 0;
}

int session_list(const struct session_place *at, struct strs *ret, struct airlock_error *err)
{
	_cleanup_free_ char *dir = at->project ? project_dir(at) : path_join(at->host->state_dir, SESSIONS_DIR);
	_cleanup_strs_ struct strs keys = STRS_INIT;
	if (!dir)
		return base_oom(err);
	int rc = at->project ? list_project(dir, "", ret, err) : list_dir(dir, "", &keys, err);
	for (size_t i = 0; rc == 0 && i < keys.n; i++) {
		_cleanup_free_ char *one = path_join(dir, keys.v[i]);
		rc = one ? list_project(one, keys.v[i], ret, err) : base_oom(err);
	}
	strs_sort(ret);
	return rc;
}

int session_list_directories(const struct host *host, struct strs *ret)
{
	_cleanup_free_ char *dir = path_join(host->state_dir, SESSIONS_DIR);
	_cleanup_strs_ struct strs keys = STRS_INIT;
	int rc = dir ? list_dir(dir, dir, &keys, NULL) : -ENOMEM;
	for (size_t i = 0; rc == 0 && i < keys.n; i++)
		rc = list_dir(keys.v[i], keys.v[i], ret, NULL);
	return rc;
}

int session_open_entry(struct session *s, const struct host *host, const char *entry, struct airlock_error *err)
{
	_cleanup_free_ char *sessions = path_join(host->state_dir, SESSIONS_DIR);
	s->dir = sessions ? path_join(sessions, entry) : NULL;
	return s->dir ? load(s, err) : base_oom(err);
}

char *session_new_name(const struct session_place *at)
{
	_cleanup_free_ char *dir = project_dir(at);
	time_t now = time(NULL);
	struct tm tm;
	char name[SESSION_NAME_MAX];
	if (!dir || !localtime_r(&now, &tm))
		return NULL;
	for (unsigned i = 1; i < 10000; i++) {
		(void)snprintf(name, sizeof name, "work-%02d%02d-%u", tm.tm_mon + 1, tm.tm_mday, i);
		_cleanup_free_ char *one = path_join(dir, name);
		if (!one || access(one, F_OK) < 0)
			return one ? strdup(name) : NULL;
	}
	return NULL;
}

int session_references(const struct host *host, struct strs *ret, struct airlock_error *err)
{
	_cleanup_strs_ struct strs all = STRS_INIT;
	int rc = session_list(&(struct session_place){host, NULL}, &all, err);
	for (size_t i = 0; rc == 0 && i < all.n; i++) {
		_cleanup_session_ struct session s = SESSION_INIT;
		rc = session_open_entry(&s, host, all.v[i], err);
		for (size_t k = 0; rc == 0 && k < s.n_layers; k++)
			strs_add(ret, s.layers[k].dir);
		for (size_t k = 0; rc == 0 && k < s.n_steps; k++) /* rewind takes merged layers apart again */
			if (s.steps[k].state == SESSION_STEP_HELD)
				strs_addf(ret, "%s/runs/%s", host->state_dir, s.steps[k].run);
		if (rc == 0 && s.whole)
			strs_addf(ret, "%s/runs/%s", host->state_dir, s.whole);
		if (rc == 0 && s.deciding)
			strs_addf(ret, "%s/runs/%s", host->state_dir, s.deciding);
		if (rc == 0 && s.applies.n > 0) /* that undo is about, and what is shown when nothing is held */
			strs_addf(ret, "%s/runs/%s", host->state_dir, s.applies.v[s.applies.n - 1]);
	}
	return rc < 0 ? rc : ret->failed ? base_oom(err) : 0;
}
