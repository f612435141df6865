/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What was found is remembered and verified, not searched again. */
#include "project_place.h"

#include "base/hash.h"
#include "project/link_memory.h"

static void make_many_files(void)
{
	shell("mkdir home/work/p/many && cd home/work/p/many && seq 1 9000 | xargs touch");
}

static void the_project_is_walked_only_once(void **state)
{
	make_many_files();
	make_dir("home/lib");
	link_to("home/lib", "home/work/p/l");
	project_free(open_project());
	assert_int_equal(place->progress_calls, 2);
	_cleanup_project_ struct project *again = open_project();
	assert_int_equal(place->progress_calls, 2);
	assert_roots(again, ROOTS("home/lib"));
	project_free(rescan_project());
	assert_int_equal(place->progress_calls, 4);
}

static char *memory_file(void)
{
	char hex[65], *path = NULL;
	hash_sha256_hex(place->project, strlen(place->project), hex);
	assert_true(asprintf(&path, "%s/projects/%.16s/links", place->state, hex) > 0);
	return path;
}

static void memory_is_private_and_written_only_when_changed(void **state)
{
	struct stat a, b, c;
	_cleanup_free_ char *file = memory_file();
	project_free(open_project());
	assert_int_equal(stat(file, &a), 0);
	assert_int_equal(a.st_mode & 07777, 0600);
	project_free(rescan_project());
	assert_int_equal(stat(file, &b), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	assert_int_equal(a.st_ctim.tv_nsec, b.st_ctim.tv_nsec);
	make_dir("home/lib");
	link_to("home/lib", "home/work/p/l");
	project_free(rescan_project());
	assert_int_equal(stat(file, &c), 0);
	assert_int_not_equal(a.st_size, c.st_size);
}

static void every_damage_is_noticed(void **state)
{
	_cleanup_free_ char *file = memory_file();
	_cleanup_buf_ struct buf good = BUF_INIT;
	_cleanup_links_ struct links l = LINKS_INIT, back = LINKS_INIT;
	(void)links_add(&l, "a\nb", "/x/y", AIRLOCK_LINK_ALLOWED);
	(void)links_add(&l, "/r/l", "/z", AIRLOCK_LINK_DENIED);
	assert_int_equal(memory_save(place->state, place->project, &l, NULL), 0);
	assert_int_equal(memory_load(place->state, place->project, &back, NULL), 0);
	assert_int_equal(back.n, 2);
	assert_string_equal(back.v[0].path, "a\nb");
	assert_int_equal(back.v[0].state, AIRLOCK_LINK_ALLOWED);
	assert_string_equal(back.v[1].target, "/z");
	assert_int_equal(back.v[1].state, AIRLOCK_LINK_DENIED);
	assert_int_equal(fs_read_file(file, 10000, &good, NULL), 0);
	for (size_t i = 0; i < good.len; i++) {
		good.data[i] ^= 0x20;
		assert_int_equal(fs_write_private_file(file, good.data, good.len, NULL), 0);
		assert_int_equal(memory_load(place->state, place->project, &back, NULL), AIRLOCK_ERR_CORRUPT);
		good.data[i] ^= 0x20;
		assert_int_equal(fs_write_private_file(file, good.data, i, NULL), 0);
		assert_int_equal(memory_load(place->state, place->project, &back, NULL), AIRLOCK_ERR_CORRUPT);
	}
	assert_int_equal(back.n, 2);
}

static void write_memory(const char *const *strings, size_t max)
{
	_cleanup_free_ char *file = memory_file();
	_cleanup_buf_ struct buf b = BUF_INIT;
	char hex[65];
	for (size_t k = 0; k < max && strings[k]; k++) {
		const char *s = strcmp(strings[k], "P") == 0 ? place->project : strings[k];
		buf_add(&b, s, strlen(s) + 1);
	}
	hash_sha256_hex(b.data, b.len, hex);
	buf_add(&b, hex, sizeof hex);
	assert_int_equal(fs_write_private_file(file, b.data, b.len, NULL), 0);
}

/* Right sum, wrong content: another version, a string too few, a target or state that is none. */
static void wrong_content_is_damage_too(void **state)
{
	static const char *const rows[][5] = {
		{"airlock links 3", "P"},
		{"airlock links 2"},
		{"airlock links 2", "P", "path"},
		{"airlock links 2", "P", "path", "/a"},
		{"airlock links 2", "P", "path", "relative", "allowed"},
		{"airlock links 2", "P", "path", "/a/../b", "allowed"},
		{"airlock links 2", "P", "", "/a", "allowed"},
		{"airlock links 2", "P", "path", "/a", "refused"},
		{"airlock links 2", "P", "path", "/a", "yes"},
		{"airlock links 1", "P", "path", "relative"},
	};
	_cleanup_links_ struct links back = LINKS_INIT;
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		write_memory(rows[i], 5);
		assert_int_equal(memory_load(place->state, place->project, &back, NULL), AIRLOCK_ERR_CORRUPT);
	}
}

/* Version 1 had made roots of them by itself. */
static void links_of_the_old_format_are_unanswered(void **state)
{
	make_dir("home/lib");
	link_to("home/lib", "home/work/p/l");
	write_memory((const char *const[]){"airlock links 1", "P", "l", at("home/lib"), NULL}, 5);
	_cleanup_project_ struct project *p = open_ungranted();
	assert_roots(p, NO_ROOTS);
	assert_int_equal(p->n_links, 1);
	assert_int_equal(p->links[0].state, AIRLOCK_LINK_UNANSWERED);
	assert_int_equal(p->notes.n, 0);
	answer_link("l", AIRLOCK_LINK_ALLOWED);
	_cleanup_project_ struct project *allowed = open_ungranted();
	assert_roots(allowed, ROOTS("home/lib"));
}

static void a_damaged_memory_is_searched_again(void **state)
{
	_cleanup_free_ char *file = memory_file();
	make_dir("home/lib");
	link_to("home/lib", "home/work/p/l");
	assert_int_equal(fs_write_private_file(file, "rubbish", 7, NULL), 0);
	_cleanup_project_ struct project *p = open_project();
	assert_roots(p, ROOTS("home/lib"));
	assert_int_equal(p->notes.n, 1);
	assert_true(note_has(p, "airlock searched again", file));
	_cleanup_project_ struct project *again = open_project();
	assert_int_equal(again->notes.n, 0);
	assert_int_equal(chmod(file, 0666), 0);
	_cleanup_project_ struct project *open_to_all = open_project();
	assert_true(note_has(open_to_all, "airlock searched again", "written by other users"));
	assert_int_equal(unlink(file), 0);
	assert_int_equal(mkfifo(file, 0600), 0);
	_cleanup_project_ struct project *fifo = open_project();
	assert_true(note_has(fifo, "airlock searched again", "regular"));
}

static void another_projects_memory_is_not_taken(void **state)
{
	_cleanup_free_ char *file = memory_file();
	_cleanup_links_ struct links l = LINKS_INIT, back = LINKS_INIT;
	assert_int_equal(memory_save(place->state, "/somewhere/else", &l, NULL), 0);
	shell("mkdir -p \"$(dirname '%s')\" && mv state/projects/*/links '%s'", file, file);
	assert_int_equal(memory_load(place->state, place->project, &back, NULL), AIRLOCK_ERR_NOT_FOUND);
}

static void a_state_directory_that_cannot_be_written_is_noted(void **state)
{
	make_dir("home/lib");
	link_to("home/lib", "home/work/p/l");
	make_file("file", "");
	strcpy(place->state, at("file/state"));
	_cleanup_project_ struct project *p = open_project();
	assert_roots(p, ROOTS("home/lib"));
	assert_int_equal(p->notes.n, 1);
	assert_true(note_has(p, "airlock cannot remember", at("file")));
	struct project_query q = query();
	q.state_dir = NULL;
	_cleanup_project_ struct project *none = open_query(&q);
	assert_roots(none, ROOTS("home/lib"));
	assert_int_equal(none->notes.n, 0);
}

static void a_state_directory_in_the_project_is_not_trusted(void **state)
{
	make_dir("home/lib");
	link_to("home/lib", "home/work/p/l");
	strcpy(place->state, at("home/work/p/state"));
	_cleanup_project_ struct project *p = open_project();
	assert_roots(p, ROOTS("home/lib"));
	assert_true(note_has(p, "is in the project", place->state));
	struct stat st;
	assert_int_equal(stat(place->state, &st), -1);
}

static void a_state_directory_that_cannot_be_read_is_an_error(void **state)
{
	struct airlock_error err = {0};
	struct project *p = NULL;
	struct project_query q = query();
	if (geteuid() == 0) /* may read everything */
		return;
	make_dir("state");
	assert_int_equal(chmod(place->state, 0), 0);
	assert_int_equal(project_open(&q, &p, &err), AIRLOCK_ERR_IO);
	assert_int_equal(err.errnum, EACCES);
	assert_null(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_project_is_walked_only_once),
		TEST(memory_is_private_and_written_only_when_changed),
		TEST(every_damage_is_noticed),
		TEST(wrong_content_is_damage_too),
		TEST(links_of_the_old_format_are_unanswered),
		TEST(a_damaged_memory_is_searched_again),
		TEST(another_projects_memory_is_not_taken),
		TEST(a_state_directory_that_cannot_be_written_is_noted),
		TEST(a_state_directory_in_the_project_is_not_trusted),
		TEST(a_state_directory_that_cannot_be_read_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
