/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The change set as data: its order, its states, its reports, and its record on disk. */
#include "tests.h"
#include "why.h"

#include "base/error.h"
#include "base/json.h"
#include "change/change.h"
#include "change/fields.h"
#include "fs/fs.h"
#include "change/values.h"

#include <stdio.h>

struct place {
	char dir[64], file[96];
	struct change_set *set;
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof *p);
	strcpy(p->dir, "/tmp/airlock-test-change-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	(void)snprintf(p->file, sizeof p->file, "%s/changes", p->dir);
	p->set = change_set_new("20261115-193012.482731-7f3a");
	assert_non_null(p->set);
	assert_int_equal(change_set_add_root(p->set, p->dir, "/upper/overlay0", NULL), 0);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;
	(void)unlink(p->file);
	assert_int_equal(rmdir(p->dir), 0);
	change_set_free(p->set);
	free(p);
	return 0;
}

static struct change *add(struct change_set *set, const char *path, enum change_kind kind)
{
	struct change *c = change_set_add(set, 0, path);
	assert_non_null(c);
	c->kind = kind;
	c->type = CHANGE_FILE;
	c->before = (struct change_stat){.type = CHANGE_FILE, .mode = 0600, .size = 1, .inode = 2, .links = 1};
	c->after = (struct change_stat){.type = CHANGE_FILE, .mode = 0644, .size = 120, .inode = 3, .links = 1};
	return c;
}

/* ── The set ── */

static void parents_come_before_children(void **state)
{
	struct change_set *set = ((struct place *)*state)->set;
	static const char *const given[] = {"b", "a/x", "a-b", "a", "a/x/y", "\xff", "a\001"};
	static const char *const sorted[] = {"a", "a/x", "a/x/y", "a\001", "a-b", "b", "\xff"};
	assert_int_equal(change_set_add_root(set, "/", "/upper/overlay1", NULL), 0);
	assert_non_null(change_set_add(set, 1, "0"));
	for (size_t i = 0; i < AL_ARRAY_LEN(given); i++)
		(void)add(set, given[i], CHANGE_ADDED);
	change_set_sort(set);
	for (size_t i = 0; i < AL_ARRAY_LEN(sorted); i++) {
		assert_string_equal(set->v[i].path, sorted[i]);
		assert_ptr_equal(change_set_find(set, 0, sorted[i]), &set->v[i]);
	}
	assert_ptr_equal(change_set_find(set, 1, "0"), &set->v[7]);
	assert_null(change_set_find(set, 0, "0"));
	assert_null(change_set_find(set, 2, "a"));
	assert_null(change_set_find(set, 0, ""));
}

static void an_empty_set_is_sorted_and_searched(void **state)
{
	struct change_set *set = ((struct place *)*state)->set;
	change_set_sort(set);
	assert_null(change_set_find(set, 0, "a"));
	change_set_free(NULL);
}

static void a_root_must_be_a_directory_that_is_there(void **state)
{
	struct change_set *set = ((struct place *)*state)->set;
	struct airlock_error err = {0};
	assert_int_equal(change_set_add_root(set, "/proc/none", "/u", &err), AIRLOCK_ERR_NOT_FOUND);
	assert_string_equal(err.subject, "/proc/none");
	assert_int_equal(change_set_add_root(set, "/proc/self", "/u", NULL), AIRLOCK_ERR_INVALID); /* a symlink */
	assert_int_equal(set->n_roots, 1);
	struct stat st;
	assert_int_equal(stat(set->roots[0].path, &st), 0);
	assert_int_equal(set->roots[0].inode, st.st_ino);
	assert_int_equal(set->roots[0].device, st.st_dev);
}

static void a_change_has_one_reason_of_each_class(void **state)
{
	struct change *c = add(((struct place *)*state)->set, "a", CHANGE_ADDED);
	assert_null(why(c));
	give_reason(c, AIRLOCK_REASON_SETUID_DROPPED, NULL);
	give_reason(c, AIRLOCK_REASON_RUNS, "one");
	give_reason(c, AIRLOCK_REASON_EDITED, NULL);
	give_reason(c, AIRLOCK_REASON_STEERS, "two");
	assert_string_equal(why(c), "edited since the run began; steers programs outside the sandbox: two; "
				    "setuid bit dropped");
	assert_int_equal(change_reason_code(c, REASON_WAITING), AIRLOCK_REASON_NONE);
	change_reason_drop(c, REASON_WAITING);
	change_reason_drop(c, REASON_CONFLICT);
	assert_int_equal(change_reason_wait(c, AIRLOCK_REASON_TIMED_OUT), 0); /* what it is says enough */
	change_reason_drop(c, REASON_CONTENT);
	assert_string_equal(why(c), "setuid bit dropped");
	assert_int_equal(change_reason_wait(c, AIRLOCK_REASON_TIMED_OUT), 0);
	assert_string_equal(why(c), "the command timed out; setuid bit dropped");
}

/* The names are in records and in JSON: each is there once, and found again. */
static void every_reason_has_a_name_and_a_sentence(void **state)
{
	for (enum airlock_reason_code code = AIRLOCK_REASON_NONE + 1; code <= AIRLOCK_REASON_TAKEN_BACK; code++) {
		enum airlock_reason_code found = AIRLOCK_REASON_NONE;
		const char *name = airlock_reason_name(code);
		_cleanup_buf_ struct buf text = BUF_INIT;
		assert_true(change_reason_by_name(name, strlen(name), &found));
		assert_int_equal(found, code);
		change_reason_add_text(&text, change_reason_of(code));
		assert_true(code == AIRLOCK_REASON_RECORDED || text.len > 0);
	}
	assert_null(airlock_reason_name(AIRLOCK_REASON_NONE));
	assert_null(airlock_reason_name((enum airlock_reason_code)(AIRLOCK_REASON_TAKEN_BACK + 1)));
}

static void the_state_of_the_set(void **state)
{
	static const struct {
		const char *letters; /* one change each: its state */
		const char *expected;
	} table[] = {
		{"", "none"},	    {"h", "held"},     {"c", "held"},	   {"hc", "held"}, {"a", "applied"},
		{"ah", "partial"},  {"ac", "partial"}, {"d", "discarded"}, {"dh", "held"}, {"da", "applied"},
		{"dah", "partial"}, {"as", "applied"}, {"hs", "held"},	   {"s", "none"},  {"ds", "discarded"},
	};
	static const char letters[] = "hacsd";
	for (size_t i = 0; i < AL_ARRAY_LEN(table); i++) {
		struct change_set *set = change_set_new("r");
		for (const char *l = table[i].letters; *l; l++)
			add(set, "a", CHANGE_ADDED)->state = (enum change_state)(strchr(letters, *l) - letters);
		assert_string_equal(change_set_state_name(set), table[i].expected);
		change_set_free(set);
	}
}

static void stats_of_every_type(void **state)
{
	struct stat st = {.st_mode = S_IFREG | 04755, .st_size = 7, .st_ino = 8, .st_nlink = 9};
	st.st_mtim = (struct timespec){-1, 5};
	struct change_stat s = change_stat_of(&st);
	assert_int_equal(s.type, CHANGE_FILE);
	assert_int_equal(s.mode, 04755);
	assert_int_equal(s.mtime_ns, -999999995);
	assert_int_equal(change_type_of(S_IFDIR | 0700), CHANGE_DIRECTORY);
	assert_int_equal(change_type_of(S_IFLNK), CHANGE_SYMLINK);
	assert_int_equal(change_type_of(S_IFIFO), CHANGE_OTHER);
	assert_int_equal(change_type_of(S_IFSOCK), CHANGE_OTHER);
	st.st_mtim = (struct timespec){INT64_MAX, 0}; /* a time no nanoseconds can tell stays the latest there is */
	assert_true(change_stat_of(&st).mtime_ns == INT64_MAX);
	st.st_mtim = (struct timespec){INT64_MIN, 0};
	assert_true(change_stat_of(&st).mtime_ns == INT64_MIN);
}

/* ── The reports ── */

static char *json_of(const struct change_set *set)
{
	struct buf b = BUF_INIT;
	struct json j = json_begin(&b, false);
	json_open_object(&j, NULL);
	change_values_add_json(set, change_set_state(set), &j);
	json_close(&j);
	return buf_take(&b);
}

static void json_has_the_fields_of_the_contract(void **state)
{
	struct place *p = *state;
	char expected[1024];
	struct change *c = add(p->set, "new.c", CHANGE_RENAMED);
	c->from = strdup("old.c");
	c->setid_dropped = true;
	c->after.mode = 04755;
	give_reason(c, AIRLOCK_REASON_SETUID_DROPPED, NULL);
	(void)add(p->set, "z", CHANGE_DELETED);
	(void)snprintf(expected, sizeof expected,
		       "{\"state\":\"held\",\"files\":[{\"path\":\"new.c\",\"root\":\"%s\",\"kind\":\"renamed\","
		       "\"type\":\"file\","
		       "\"state\":\"held\",\"reason\":\"setuid bit "
		       "dropped\",\"reason_code\":\"setuid-dropped\",\"from\":\"old.c\",\"size\":120,"
		       "\"mode\":\"0755\"},"
		       "{\"path\":\"z\",\"root\":\"%s\",\"kind\":\"deleted\",\"type\":\"file\",\"state\":\"held\","
		       "\"reason\":null,\"reason_code\":null,\"from\":null,\"size\":1,\"mode\":\"0600\"}]}",
		       p->dir, p->dir);
	_cleanup_free_ char *json = json_of(p->set);
	assert_string_equal(json, expected);
}

static void json_gives_the_exact_bytes_of_other_names(void **state)
{
	struct place *p = *state;
	struct change *c = add(p->set, "a\xff", CHANGE_RENAMED);
	c->from = strdup("\xfe");
	_cleanup_free_ char *json = json_of(p->set);
	assert_non_null(strstr(json, "{\"path\":\"a\xef\xbf\xbd\",\"path_base64\":\"Yf8=\",\"root\":"));
	assert_non_null(strstr(json, "\"from\":\"\xef\xbf\xbd\",\"from_base64\":\"/g==\",\"size\""));
}

static void a_directory_has_no_size(void **state)
{
	struct place *p = *state;
	struct change *c = add(p->set, "d", CHANGE_ADDED);
	c->type = c->after.type = CHANGE_DIRECTORY;
	c->after.mode = 02755;
	_cleanup_free_ char *json = json_of(p->set);
	assert_non_null(strstr(json, "\"type\":\"directory\""));
	assert_non_null(strstr(json, "\"size\":0,\"mode\":\"2755\""));
}

static void text_is_a_line_a_path(void **state)
{
	struct change_set *set = ((struct place *)*state)->set;
	assert_int_equal(change_set_add_root(set, "/", "/upper/overlay1", NULL), 0);
	set->roots[1].path[0] = 'R';
	(void)add(set, "src/a.c", CHANGE_ADDED);
	(void)add(set, "b", CHANGE_MODIFIED);
	(void)add(set, "\x1b[31m\n", CHANGE_DELETED);
	struct change *c = add(set, "new", CHANGE_RENAMED);
	c->from = strdup("old\n");
	c->undone = true;
	give_reason(add(set, "t", CHANGE_TYPE), AIRLOCK_REASON_TIMED_OUT, NULL);
	c = add(set, "h", CHANGE_METADATA);
	c->verdict = CHANGE_HOLD;
	give_reason(c, AIRLOCK_REASON_RECORDED, "git hook");
	c = add(set, "c", CHANGE_MODIFIED);
	c->state = CHANGE_CONFLICT;
	give_reason(c, AIRLOCK_REASON_RECORDED, "edited \x1b by others");
	c = add(set, "s", CHANGE_ADDED);
	c->state = CHANGE_APPLIED;
	give_reason(c, AIRLOCK_REASON_SETUID_DROPPED, NULL);
	add(set, "x", CHANGE_ADDED)->state = CHANGE_DISCARDED;
	add(set, "y", CHANGE_ADDED)->root = 1;
	_cleanup_buf_ struct buf b = BUF_INIT;
	change_set_text(set, NULL, &b);
	assert_string_equal(buf_str(&b), "A  src/a.c  (held)\n"
					 "M  b  (held)\n"
					 "D  \\x1b[31m\\n  (held)\n"
					 "R  old\\n -> new  (undone)\n"
					 "T  t  (held: the command timed out)\n"
					 "m  h  (held: git hook)\n"
					 "M  c  (conflict: edited \\x1b by others)\n"
					 "A  s  (setuid bit dropped)\n"
					 "A  x  (discarded)\n"
					 "A  R/y  (held)\n");
	bool selected[16] = {true, [6] = true};
	buf_reset(&b);
	change_set_text(set, selected, &b);
	assert_string_equal(buf_str(&b), "A  src/a.c\n"
					 "M  c  (conflict: edited \\x1b by others)\n");
}

/* ── The record ── */

static void assert_same_string(const char *a, const char *b)
{
	assert_int_equal(a == NULL, b == NULL);
	if (a)
		assert_string_equal(a, b);
}

static void assert_same_stat(const struct change_stat *a, const struct change_stat *b)
{
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->mode, b->mode);
	assert_true(a->size == b->size && a->inode == b->inode && a->links == b->links);
	assert_true(a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns);
}

static void assert_same_change(const struct change *a, const struct change *b)
{
	assert_int_equal(a->root, b->root);
	assert_string_equal(a->path, b->path);
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->type, b->type);
	assert_same_string(a->from, b->from);
	assert_same_stat(&a->before, &b->before);
	assert_same_stat(&a->after, &b->after);
	assert_true(a->opaque == b->opaque && a->setid_dropped == b->setid_dropped && a->copied_up == b->copied_up);
	assert_int_equal(a->verdict, b->verdict);
	assert_int_equal(a->state, b->state);
	assert_same_string(a->link, b->link);
	assert_int_equal(a->n_reasons, b->n_reasons);
	for (size_t i = 0; i < a->n_reasons; i++) {
		const struct airlock_reason *x = &a->reasons[i], *y = &b->reasons[i];
		assert_true(x->code == y->code && x->cause == y->cause);
		assert_same_string(x->what, y->what);
		assert_same_string(x->program, y->program);
		assert_same_string(x->path, y->path);
		assert_same_string(x->commit, y->commit);
	}
}

static void assert_round_trip(struct place *p)
{
	_cleanup_changes_ struct change_set *back = NULL;
	struct airlock_error err = {0};
	assert_int_equal(change_set_save(p->set, p->file, NULL), 0);
	if (change_set_load(p->file, &back, &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(back->run, p->set->run);
	assert_true(back->started_ns == p->set->started_ns);
	assert_int_equal(back->n_roots, p->set->n_roots);
	for (size_t i = 0; i < back->n_roots; i++) {
		assert_string_equal(back->roots[i].path, p->set->roots[i].path);
		assert_string_equal(back->roots[i].upper, p->set->roots[i].upper);
		assert_true(back->roots[i].device == p->set->roots[i].device);
		assert_true(back->roots[i].inode == p->set->roots[i].inode);
	}
	assert_int_equal(back->n, p->set->n);
	for (size_t i = 0; i < back->n; i++)
		assert_same_change(&p->set->v[i], &back->v[i]);
}

static void an_empty_set_comes_back(void **state)
{
	assert_round_trip(*state);
}

/* A generator of its own: the same sets on every machine. */
static uint64_t random_next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* One component of hostile bytes. */
static char *random_name(uint64_t *seed)
{
	static const char *const nasty[] = {"-",  "--",	     "%",	 "%00", "=",   " ",
					    "\n", "\x1b[2J", "\xff\xfe", "...", "end", "a b"};
	struct buf b = BUF_INIT;
	size_t parts = 1 + random_next(seed) % 4;
	while (parts--) {
		if (random_next(seed) % 2)
			buf_adds(&b, nasty[random_next(seed) % AL_ARRAY_LEN(nasty)]);
		unsigned char c = (unsigned char)random_next(seed);
		buf_addc(&b, c == 0 || c == '/' || c == '.' ? 'x' : (char)c);
	}
	return buf_take(&b);
}

static char *random_path(uint64_t *seed)
{
	struct buf b = BUF_INIT;
	for (size_t parts = random_next(seed) % 4 + 1; parts > 0; parts--) {
		_cleanup_free_ char *name = random_name(seed);
		if (b.len)
			buf_addc(&b, '/');
		buf_adds(&b, name);
	}
	return buf_take(&b);
}

static struct change_stat random_stat(uint64_t *seed)
{
	return (struct change_stat){
		.type = (enum change_type)(random_next(seed) % 5),
		.mode = (uint32_t)random_next(seed) & 07777,
		.size = random_next(seed) >> random_next(seed) % 64,
		.inode = random_next(seed),
		.links = random_next(seed) >> random_next(seed) % 64,
		.mtime_ns = (int64_t)random_next(seed),
		.ctime_ns = random_next(seed) % 2 ? INT64_MIN : INT64_MAX,
	};
}

static enum airlock_reason_code random_reason(uint64_t *seed)
{
	return (enum airlock_reason_code)(1 + random_next(seed) % AIRLOCK_REASON_SETIDS_DROPPED);
}

static void random_change(struct change_set *set, uint64_t *seed)
{
	size_t root = random_next(seed) % set->n_roots;
	_cleanup_free_ char *path = random_path(seed);
	for (size_t i = 0; i < set->n; i++)
		if (set->v[i].root == root && strcmp(set->v[i].path, path) == 0)
			return;
	struct change *c = change_set_add(set, root, path);
	c->kind = (enum change_kind)(random_next(seed) % 6);
	c->type = (enum change_type)(random_next(seed) % 4 + 1);
	c->from = c->kind == CHANGE_RENAMED ? random_path(seed) : NULL;
	c->before = random_stat(seed);
	c->after = random_stat(seed);
	c->opaque = random_next(seed) % 2;
	c->setid_dropped = random_next(seed) % 2;
	c->copied_up = random_next(seed) % 2;
	c->verdict = (enum change_verdict)(random_next(seed) % 3);
	c->state = (enum change_state)(random_next(seed) % 5);
	c->link = random_next(seed) % 2 ? random_path(seed) : NULL;
	for (size_t n = random_next(seed) % 3; n > 0; n--) {
		_cleanup_free_ char *what = random_name(seed), *other = random_name(seed);
		struct airlock_reason r = {.code = random_reason(seed), .cause = random_reason(seed)};
		r.what = random_next(seed) % 2 ? what : NULL;
		r.program = random_next(seed) % 2 ? other : NULL;
		r.path = random_next(seed) % 2 ? other : NULL;
		r.commit = random_next(seed) % 2 ? what : NULL;
		assert_int_equal(change_reason_set(c, &r), 0);
	}
}

static void fill_randomly(struct place *p, uint64_t seed)
{
	change_set_free(p->set);
	p->set = change_set_new("run with\nspace");
	p->set->started_ns = (int64_t)random_next(&seed);
	for (size_t i = 0; i < 3; i++) {
		_cleanup_free_ char *name = random_path(&seed);
		char path[256];
		(void)snprintf(path, sizeof path, "/%s", name);
		assert_int_equal(change_set_take_root(p->set, strdup(path), random_path(&seed), random_next(&seed), i),
				 0);
	}
	for (size_t i = random_next(&seed) % 40; i > 0; i--)
		random_change(p->set, &seed);
	change_set_sort(p->set);
}

static void hostile_sets_come_back(void **state)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		fill_randomly(*state, seed * 7919);
		assert_round_trip(*state);
	}
}

static void a_very_long_path_comes_back(void **state)
{
	struct place *p = *state;
	struct buf b = BUF_INIT;
	for (int i = 0; i < 4000; i++)
		buf_adds(&b, i ? "/dir\n" : "dir");
	(void)add(p->set, buf_str(&b), CHANGE_ADDED);
	buf_done(&b);
	assert_round_trip(p);
}

static void put_text(const char *file, const char *text, size_t len)
{
	assert_int_equal(fs_write_private_file(file, text, len, NULL), 0);
}

static int load_code(struct place *p, struct airlock_error *err)
{
	_cleanup_changes_ struct change_set *back = NULL;
	*err = (struct airlock_error){0};
	int rc = change_set_load(p->file, &back, err);
	assert_int_equal(rc < 0, back == NULL);
	return rc;
}

/* As airlock 0.1.0 wrote it: reasons as one sentence, and a flag for those that are held only with others. */
static const char record_of_version_1[] =
	"airlock-changes 1\n"
	"run 20261118-003830.235069-4dc2\n"
	"started 1794962310247877954\n"
	"root 65024 10955427 /home/u/p /home/u/.local/state/airlock/runs/20261118-003830.235069-4dc2/"
	"upper/overlay0\n"
	"change 0 added file hold held s .git/hooks/pre-commit - runs%20outside%20the%20sandbox:%20gi"
	"t%20hook;%20setuid%20bit%20dropped nothing 0 0 0 0 0 0 file 4755 10 11029153 1 1794962310367"
	"877951 1794962310391877950\n"
	"change 0 modified file hold held - .git/refs/heads/master - git:%20new%20commit%20d393903af5"
	"%20has%20.github/workflows/ci.yml%20(runs%20outside%20the%20sandbox:%20CI%20workflow%20(GitH"
	"ub%20Actions)) file 644 41 10961490 1 1794962309666875387 1794962309667797104 file 644 41 11"
	"029173 1 1794962310479465386 1794962310493668611\n"
	"change 0 added file hold held - .github/workflows/ci.yml - runs%20outside%20the%20sandbox:%2"
	"0CI%20workflow%20(GitHub%20Actions) nothing 0 0 0 0 0 0 file 644 2 11029156 1 17949623104038"
	"77950 1794962310403877950\n"
	"change 0 added file hold held - .newtool - unknown%20dot-file:%20no%20table%20of%20airlock%2"
	"0knows%20which%20program%20reads%20it nothing 0 0 0 0 0 0 file 644 1 11029179 1 179496231051"
	"5877947 1794962310515877947\n"
	"change 0 modified file hold conflict cw file - edited%20since%20the%20run%20began;%20held%20"
	"with%20.git/hooks/pre-commit:%20a%20change%20of%20git's%20index,%20HEAD%20or%20references%20"
	"is%20applied%20whole%20or%20not%20at%20all file 644 7 10955843 1 1794962311416311304 1794962"
	"311416311304 file 644 5 11029146 1 1794962310327877952 1794962310327877952\n"
	"change 0 added other hold held - pipe - a%20named%20pipe%20is%20not%20applied%20by%20itself "
	"nothing 0 0 0 0 0 0 other 644 0 11029170 1 1794962310507877947 1794962310507877947\n"
	"change 0 added file hold held sw su - held%20with%20.git/hooks/pre-commit:%20a%20change%20of"
	"%20git's%20index,%20HEAD%20or%20references%20is%20applied%20whole%20or%20not%20at%20all;%20s"
	"etuid%20and%20setgid%20bits%20dropped nothing 0 0 0 0 0 0 file 6755 35664 11029180 1 1794962"
	"310520791388 1794962310528040500\n"
	"change 0 modified file hold held cw two - held%20with%20.git/hooks/pre-commit:%20a%20change%"
	"20of%20git's%20index,%20HEAD%20or%20references%20is%20applied%20whole%20or%20not%20at%20all "
	"file 644 4 10955859 1 1794962309700124020 1794962309700124020 file 644 9 11029150 1 17949623"
	"10332102686 1794962310332102686\n"
	"change 0 modified file apply held - waits - held:%20the%20command%20timed%20out file 644 4 1"
	"0955859 1 1794962309700124020 1794962309700124020 file 644 9 11029150 1 1794962310332102686 "
	"1794962310332102686\n"
	"change 0 modified file apply held - waits2 - held%20because%20of%20a%20conflict%20in%20the%2"
	"0same%20run file 644 4 10955859 1 1794962309700124020 1794962309700124020 file 644 9 1102915"
	"0 1 1794962310332102686 1794962310332102686\n"
	"end 10 c4ffb25ad62609ecd7969c983e7ec21cd2949c10feee8810d3085297a9b16839\n";

static void a_record_of_version_1_is_read(void **state)
{
	struct place *p = *state;
	static const struct {
		const char *path;
		enum airlock_reason_code conflict, waiting, content, adjusted;
	} rows[] = {
		{".git/hooks/pre-commit", 0, 0, AIRLOCK_REASON_RUNS, AIRLOCK_REASON_SETUID_DROPPED},
		{".git/refs/heads/master", 0, 0, AIRLOCK_REASON_RECORDED, 0},
		{".github/workflows/ci.yml", 0, 0, AIRLOCK_REASON_RUNS, 0},
		{".newtool", 0, 0, AIRLOCK_REASON_UNKNOWN_NAME, 0},
		{"file", AIRLOCK_REASON_EDITED, 0, AIRLOCK_REASON_APPLIED_WHOLE, 0},
		{"pipe", 0, 0, AIRLOCK_REASON_NAMED_PIPE, 0},
		{"su", 0, 0, AIRLOCK_REASON_APPLIED_WHOLE, AIRLOCK_REASON_SETIDS_DROPPED},
		{"two", 0, 0, AIRLOCK_REASON_APPLIED_WHOLE, 0},
		{"waits", 0, AIRLOCK_REASON_TIMED_OUT, 0, 0},
		{"waits2", 0, AIRLOCK_REASON_OTHER_CONFLICT, 0, 0},
	};
	_cleanup_changes_ struct change_set *set = NULL;
	struct airlock_error err = {0};
	put_text(p->file, record_of_version_1, sizeof record_of_version_1 - 1);
	if (change_set_load(p->file, &set, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(set->n, AL_ARRAY_LEN(rows));
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		const struct change *c = change_set_find(set, 0, rows[i].path);
		assert_non_null(c);
		assert_int_equal(change_reason_code(c, REASON_CONFLICT), rows[i].conflict);
		assert_int_equal(change_reason_code(c, REASON_WAITING), rows[i].waiting);
		assert_int_equal(change_reason_code(c, REASON_CONTENT), rows[i].content);
		assert_int_equal(change_reason_code(c, REASON_ADJUSTED), rows[i].adjusted);
		assert_int_equal(change_is_follower(c), rows[i].content == AIRLOCK_REASON_APPLIED_WHOLE);
	}
	const struct change *two = change_set_find(set, 0, "two");
	assert_string_equal(why(change_set_find(set, 0, ".git/hooks/pre-commit")),
			    "runs outside the sandbox: git hook; setuid bit dropped");
	assert_string_equal(two->reasons[0].path, ".git/hooks/pre-commit");
	assert_string_equal(why(change_set_find(set, 0, ".git/refs/heads/master")),
			    "git: new commit d393903af5 has .github/workflows/ci.yml "
			    "(runs outside the sandbox: CI workflow (GitHub Actions))");
	/* Written again it is of this version, and says the same. */
	change_set_free(TAKE_PTR(p->set));
	p->set = TAKE_PTR(set);
	assert_round_trip(p);
}

static void a_missing_record_is_not_found(void **state)
{
	struct airlock_error err;
	assert_int_equal(load_code(*state, &err), AIRLOCK_ERR_NOT_FOUND);
}

/* Every byte, one at a time, made another; and every length. */
static void any_damage_is_noticed(void **state)
{
	struct place *p = *state;
	struct airlock_error err;
	_cleanup_buf_ struct buf good = BUF_INIT;
	add(p->set, "a b", CHANGE_RENAMED)->from = strdup("-");
	give_reason(add(p->set, "b", CHANGE_MODIFIED), AIRLOCK_REASON_RUNS, "why");
	assert_int_equal(change_set_save(p->set, p->file, NULL), 0);
	assert_int_equal(fs_read_file(p->file, 1 << 20, &good, NULL), 0);
	for (size_t i = 0; i < good.len; i++) {
		char old = good.data[i];
		good.data[i] = (char)(old ^ 1);
		put_text(p->file, good.data, good.len);
		good.data[i] = old;
		assert_int_equal(load_code(p, &err), AIRLOCK_ERR_CORRUPT);
		put_text(p->file, good.data, i);
		assert_int_equal(load_code(p, &err), AIRLOCK_ERR_CORRUPT);
	}
	buf_addc(&good, '\n');
	put_text(p->file, good.data, good.len);
	assert_int_equal(load_code(p, &err), AIRLOCK_ERR_CORRUPT);
}

static void damage_is_told_with_its_line(void **state)
{
#define HEAD "airlock-changes 2\nrun r\nstarted 5\nroot 1 2 /p /u\n"
#define STATS " nothing 0 0 0 0 0 0 file 644 1 2 1 0 0\n"
	static const struct {
		const char *text;
		unsigned line;
		const char *words;
	} table[] = {
		{"", 1, "it ends too early"},
		{"airlock-changes 3\n", 1, "expected a version that is known"},
		{"something else\n", 1, "expected airlock-changes"},
		{"airlock-changes 2\nrun -\n", 2, "no run"},
		{"airlock-changes 2\nrun a b\n", 2, "expected the end of the line"},
		{"airlock-changes 2\nrun a\nstarted soon\n", 3, "expected a number"},
		{"airlock-changes 2\nrun a\nstarted 99999999999999999999\n", 3, "expected a number"},
		{"airlock-changes 2\nrun a\nstarted 5\nroot 1 2 p /u\n", 4, "no such root"},
		{"airlock-changes 2\nrun a\nstarted 5\nroot -1 2 /p /u\n", 4, "expected a number"},
		{HEAD "more\n", 5, "expected root, change or end"},
		{HEAD "change 1 added file apply held - a -" STATS, 5, "no such root"},
		{HEAD "change 0 gone file apply held - a -" STATS, 5, "expected a kind of change"},
		{HEAD "change 0 added nothing apply held - a -" STATS, 5, "a change of nothing"},
		{HEAD "change 0 added file perhaps held - a -" STATS, 5, "expected a verdict"},
		{HEAD "change 0 added file apply kept - a -" STATS, 5, "expected a state"},
		{HEAD "change 0 added file apply held so a -" STATS, 5, "expected flags"},
		{HEAD "change 0 added file apply held  a -" STATS, 5, "expected flags"},
		{HEAD "change 0 added file apply held - - -" STATS, 5, "leaves its root"},
		{HEAD "change 0 added file apply held -  -" STATS, 5, "leaves its root"},
		{HEAD "change 0 added file apply held - /a -" STATS, 5, "leaves its root"},
		{HEAD "change 0 added file apply held - a/../b -" STATS, 5, "leaves its root"},
		{HEAD "change 0 renamed file apply held - a .." STATS, 5, "leaves its root"},
		{HEAD "change 0 added file apply held - a%2F -" STATS, 5, "leaves its root"},
		{HEAD "change 0 added file apply held - a%00b -" STATS, 5, "expected a string"},
		{HEAD "change 0 added file apply held - a%2 -" STATS, 5, "expected a string"},
		{HEAD "change 0 added file apply held - a%2f -" STATS, 5, "expected a string"},
		{HEAD "change 0 added file apply held - a\tb -" STATS, 5, "expected a string"},
		{HEAD "change 0 added file apply held - a b" STATS, 5, "an old path without a renaming"},
		{HEAD "change 0 added file apply held - a - file 9 1 1 1 1 1\n", 5, "expected a mode"},
		{HEAD "change 0 added file apply held - b -" STATS "change 0 added file apply held - a -" STATS, 6,
		 "paths out of order"},
		{HEAD "change 0 added file apply held - a -" STATS "change 0 added file apply held - a -" STATS, 6,
		 "paths out of order"},
		{HEAD "change 0 added file apply held - a -" STATS "root 1 2 /q /u\n", 6, "no such root"},
		{HEAD "change 0 added file apply held - a -" STATS "reason 1 runs - - - - -\n", 6, "no such change"},
		{HEAD "change 0 added file apply held - a -" STATS "reason 0 jumps - - - - -\n", 6,
		 "expected a reason"},
		{HEAD "change 0 added file apply held - a -" STATS "reason 0 - - - - - -\n", 6, "expected a reason"},
		{HEAD "change 0 added file apply held - a -" STATS "reason 0 runs so - - - -\n", 6,
		 "expected a reason"},
		{HEAD "change 0 added file apply held - a -" STATS "reason 0 runs - - - -\n", 6, "expected a string"},
		{HEAD "end 0 00\n", 5, "expected"},
	};
	struct place *p = *state;
	for (size_t i = 0; i < AL_ARRAY_LEN(table); i++) {
		struct airlock_error err;
		char where[128];
		put_text(p->file, table[i].text, strlen(table[i].text));
		assert_int_equal(load_code(p, &err), AIRLOCK_ERR_CORRUPT);
		(void)snprintf(where, sizeof where, "%s:%u", p->file, table[i].line);
		assert_string_equal(err.subject, where);
		if (!strstr(err.message, table[i].words))
			fail_msg("case %zu: %s", i, err.message);
	}
}

static void fields_keep_every_number(void **state)
{
	static const int64_t numbers[] = {0, 1, -1, INT64_MAX, INT64_MIN};
	for (size_t i = 0; i < AL_ARRAY_LEN(numbers); i++) {
		char text[32];
		int64_t back = 7;
		int n = snprintf(text, sizeof text, "%lld", (long long)numbers[i]);
		struct fields f = fields_of(text, (size_t)n);
		assert_int_equal(fields_take_signed(&f, &back), 0);
		assert_true(back == numbers[i] && fields_end(&f) == 0);
	}
	static const char *const wrong[] = {"", "-", "+1", " 1", "01", "-0", "--1", "1x", "9223372036854775808"};
	for (size_t i = 0; i < AL_ARRAY_LEN(wrong); i++) {
		int64_t back;
		struct fields f = fields_of(wrong[i], strlen(wrong[i]));
		assert_int_equal(fields_take_signed(&f, &back), -EINVAL);
	}
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_PLACE(parents_come_before_children),
		IN_PLACE(an_empty_set_is_sorted_and_searched),
		IN_PLACE(a_root_must_be_a_directory_that_is_there),
		IN_PLACE(a_change_has_one_reason_of_each_class),
		IN_PLACE(every_reason_has_a_name_and_a_sentence),
		IN_PLACE(the_state_of_the_set),
		cmocka_unit_test(stats_of_every_type),
		IN_PLACE(json_has_the_fields_of_the_contract),
		IN_PLACE(json_gives_the_exact_bytes_of_other_names),
		IN_PLACE(a_directory_has_no_size),
		IN_PLACE(text_is_a_line_a_path),
		IN_PLACE(an_empty_set_comes_back),
		IN_PLACE(hostile_sets_come_back),
		IN_PLACE(a_very_long_path_comes_back),
		IN_PLACE(a_record_of_version_1_is_read),
		IN_PLACE(a_missing_record_is_not_found),
		IN_PLACE(any_damage_is_noticed),
		IN_PLACE(damage_is_told_with_its_line),
		cmocka_unit_test(fields_keep_every_number),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
