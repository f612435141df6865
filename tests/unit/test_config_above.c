/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The .airlock.toml files above the project tighten it and loosen nothing, whoever is trusted. */
#include "config_world.h"

#define S "[sandbox]\n"
#define M "[profiles.moderate]\n"

/* The project is ~/a/b/sub, as after `git init sub` in ~/a/b. */
static int nested_open(void **state)
{
	if (world_open(state) < 0)
		return -1;
	struct world *w = *state;
	static const char *const dirs[] = {"a", "a/b", "a/b/sub"};
	for (size_t i = 0; i < AL_ARRAY_LEN(dirs); i++) {
		snprintf(w->project, sizeof w->project, "%s/%s", w->home, dirs[i]);
		if (mkdir(w->project, 0755) < 0)
			return -1;
	}
	snprintf(w->project_file, sizeof w->project_file, "%s/.airlock.toml", w->project);
	return 0;
}

/* The path of the file in this directory of the home. */
static const char *file_of(const struct world *w, const char *dir)
{
	static char path[128];
	snprintf(path, sizeof path, "%s/%s%s.airlock.toml", w->home, dir, *dir ? "/" : "");
	return path;
}

static void put(const struct world *w, const char *dir, const char *text)
{
	write_file(file_of(w, dir), text);
}

static void trust_dir(struct world *w, const char *dir)
{
	char path[128];
	snprintf(path, sizeof path, "%s/%s", w->home, dir);
	assert_int_equal(config_trust(w->trust, path, &w->err), 0);
}

static void assert_from(const struct world *w, const char *key, const char *value, const char *dir, int line)
{
	char source[160];
	snprintf(source, sizeof source, "%s:%d", file_of(w, dir), line);
	assert_value(w, key, value, source);
}

static void every_file_up_to_the_home_tightens(void **state)
{
	struct world *w = *state;
	char outside[64];
	load_well(w);
	assert_value(w, "profiles.moderate.pids", "4096", "built-in"); /* without them nothing is tightened */
	put(w, "", M "pids = 100\n");
	put(w, "a", M "timeout = \"10s\"\npids = 200\n");
	put(w, "a/b", M "blocked_paths = [\"private\"]\n");
	snprintf(outside, sizeof outside, "%s/.airlock.toml", w->dir); /* above the home */
	write_file(outside, M "pids = 7\n");
	load_well(w);
	assert_from(w, "profiles.moderate.pids", "100", "", 2);
	assert_from(w, "profiles.moderate.timeout", "\"10s\"", "a", 2);
	assert_string_equal(access_of(w, "~/a/b/private"), "hide"); /* relative to its own directory */
	assert_int_equal(w->c->warnings.n, 0);
}

static void up_to_the_root_when_the_project_is_not_in_the_home(void **state)
{
	struct world *w = *state;
	char outside[64];
	snprintf(w->project, sizeof w->project, "%s/project", w->dir);
	snprintf(outside, sizeof outside, "%s/.airlock.toml", w->dir);
	write_file(outside, M "pids = 7\n");
	load_well(w);
	assert_int_equal(w->c->policy.pids.value, 7);

	_cleanup_strs_ struct strs dirs = STRS_INIT;
	config_list_above("/srv/x/y", "/home/me", &dirs);
	assert_int_equal(dirs.n, 3);
	assert_string_equal(dirs.v[0], "/");
	assert_string_equal(dirs.v[2], "/srv/x");
	config_list_above("/home/me", "/home/me", &dirs);
	config_list_above("/", "/home/me", &dirs);
	assert_int_equal(dirs.n, 3);
}

static void nothing_above_loosens_and_nothing_is_said(void **state)
{
	struct world *w = *state;
	static const char loose[] = S "enabled = false\ndefault_profile = \"permissive\"\n" M
				      "pids = \"none\"\ntimeout = \"none\"\nwritable_paths = [\"~/x\"]\n"
				      "env = { allow = [\"GITHUB_TOKEN\"] }\n[gate]\nallow = [\"**\"]\n"
				      "[profiles.new]\nextends = \"permissive\"\n";
	for (int trusted = 0; trusted < 2; trusted++) {
		put(w, "a", loose);
		if (trusted)
			trust_dir(w, "a");
		load_well(w);
		assert_true(w->c->enabled);
		assert_string_equal(w->c->policy.profile, "moderate");
		assert_value(w, "profiles.moderate.pids", "4096", "built-in");
		assert_string_not_equal(access_of(w, "~/x"), "write");
		assert_int_equal(w->c->gate_allow.n, 0);
		assert_int_equal(w->c->warnings.n, 0);
		option(w, "profile", "new", "--profile");
		assert_int_equal(load(w), AIRLOCK_ERR_USAGE);
		w->n_settings = 0;
	}
}

static void trust_in_the_inner_loosens_nothing_of_the_outer(void **state)
{
	struct world *w = *state;
	put(w, "a", M "pids = 100\n");
	write_file(w->project_file,
		   S "default_profile = \"own\"\n[profiles.own]\nextends = \"permissive\"\npids = 300\n" M
		     "pids = 300\n");
	trust(w);
	load_well(w);
	assert_string_equal(w->c->policy.profile, "moderate");
	assert_int_equal(w->c->policy.pids.value, 100);
	assert_int_equal(w->c->warnings.n, 1);
	assert_int_equal(w->c->warnings.v[0].code, AIRLOCK_NOTE_UNTRUSTED_ABOVE);
	assert_string_equal(w->c->warnings.v[0].subject, file_of(w, "a"));
	assert_non_null(strstr(w->c->warnings.v[0].other, "sandbox.default_profile"));

	/* Until the user has accepted both. */
	trust_dir(w, "a");
	load_well(w);
	assert_string_equal(w->c->policy.profile, "own");
	assert_int_equal(w->c->policy.pids.value, 300);
	assert_int_equal(w->c->warnings.n, 0);
}

static void an_inner_choice_sheds_no_table_of_the_outer(void **state)
{
	struct world *w = *state;
	put(w, "a", M "pids = 3\nblocked_paths = [\"~/x\"]\n");
	write_file(w->project_file, S "default_profile = \"strict\"\n");
	load_well(w);
	assert_string_equal(w->c->policy.profile, "strict");
	assert_int_equal(w->c->policy.pids.value, 3);
	assert_string_equal(access_of(w, "~/x"), "hide");
	/* Three deep: each has its say. */
	put(w, "", S "default_profile = \"strict\"\n[profiles.strict]\npids = 9\n");
	put(w, "a/b", "[profiles.strict]\npids = 2\n");
	load_well(w);
	assert_from(w, "profiles.strict.pids", "2", "a/b", 2);
}

static void a_trusted_file_above_keeps_the_profile_it_made(void **state)
{
	struct world *w = *state;
	write_file(w->user, "[profiles.strict]\npids = 400\n" S
			    "default_profile = \"mine\"\n[profiles.mine]\ntimeout = \"9s\"\n");
	put(w, "a",
	    S "default_profile = \"tight\"\n[profiles.tight]\nextends = \"strict\"\npids = 5\n"
	      "writable_paths = [\"~/x\"]\n");
	load_well(w);
	assert_string_equal(w->c->policy.profile, "mine"); /* a stranger's profile is none */
	trust_dir(w, "a");
	load_well(w);
	assert_string_equal(w->c->policy.profile, "strict");
	assert_int_equal(w->c->policy.pids.value, 5);
	assert_value(w, "profiles.strict.timeout", "\"9s\"", NULL); /* what the user had tightened stays */
	assert_string_not_equal(access_of(w, "~/x"), "write");
	option(w, "profile", "moderate", "--profile");
	load_well(w);
	assert_string_equal(w->c->policy.profile, "moderate");
	assert_int_equal(w->c->policy.pids.value, 4096);
	w->n_settings = 0;

	put(w, "a", S "default_profile = \"nowhere\"\n");
	load_well(w);
	trust_dir(w, "a");
	assert_int_equal(load(w), AIRLOCK_ERR_INVALID);
	assert_fault(w, file_of(w, "a"),
		     "2:19: unknown profile \"nowhere\"; there are strict, moderate, permissive, mine");
}

static void command_rules_above_tighten(void **state)
{
	struct world *w = *state;
	static const char *const argv[] = {"make", "all", NULL};
	put(w, "a", "[[commands]]\nmatch = [\"make\"]\ntimeout = \"3s\"\nwritable_paths = [\"~/x\"]\n");
	w->argv = argv;
	load_well(w);
	assert_from(w, "profiles.moderate.timeout", "\"3s\"", "a", 3);
	assert_string_not_equal(access_of(w, "~/x"), "write");
}

/* Patterns of ~/a, and what they are in ~/a/b/sub; NULL: nothing there matches. */
static void patterns_of_the_gate_are_relative_to_their_file(void **state)
{
	struct world *w = *state;
	static const char *const rows[][2] = {
		{"*.lock", "*.lock"}, {"b/sub/docs/**", "/docs/**"},
		{"./b/sub/x", "/x"},  {"/b/*/x/y", "/x/y"},
		{"B/SUB/x", "/x"},    {"b/other/x", NULL},
		{"docs/x", NULL},     {"b/sub", "*"},
		{"b/**", "*"},	      {"/b", "*"},
		{"sub/", "*"},	      {"su?", "*"},
		{"b/sub/**", "*"},    {"vendor/", "vendor/"},
		{"b/sub/x/", "/x/"},  {"/docs", NULL},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		char text[128];
		snprintf(text, sizeof text, "[gate]\nhold = [\"%s\"]\n", rows[i][0]);
		put(w, "a", text);
		load_well(w);
		print_message("# %s\n", rows[i][0]);
		assert_int_equal(w->c->gate_hold.n, rows[i][1] ? 1 : 0);
		if (rows[i][1])
			assert_string_equal(w->c->gate_hold.v[0], rows[i][1]);
	}
}

static void a_broken_file_above_is_an_error(void **state)
{
	struct world *w = *state;
	put(w, "a", "[sandbox]\nbackand = \"x\"\n");
	assert_int_equal(load(w), AIRLOCK_ERR_INVALID);
	assert_fault(w, file_of(w, "a"), "2:1: unknown key \"backand\" in [sandbox]; did you mean \"backend\"?");
	unlink(file_of(w, "a"));
	assert_int_equal(symlink("/dev/null", file_of(w, "a")), 0);
	assert_int_equal(load(w), AIRLOCK_ERR_INVALID);
	assert_string_equal(w->err.subject, file_of(w, "a"));
	unlink(file_of(w, "a"));
	assert_int_equal(mkfifo(file_of(w, "a"), 0600), 0);
	assert_int_equal(load(w), AIRLOCK_ERR_INVALID);
	unlink(file_of(w, "a"));
	load_well(w);
}

/* Whatever somebody else puts there: a file, a broken one, a link, a FIFO. */
static void what_belongs_to_somebody_else_does_not_count(void **state)
{
	struct world *w = *state;
	if (geteuid() != 0)
		skip();
	for (int kind = 0; kind < 4; kind++) {
		const char *file = file_of(w, "a");
		unlink(file);
		if (kind < 2)
			write_file(file, kind ? "[[[" : M "pids = 3\n");
		else
			assert_int_equal(kind == 2 ? symlink("/etc/shadow", file) : mkfifo(file, 0600), 0);
		assert_int_equal(lchown(file, 4242, 4242), 0);
		load_well(w);
		assert_int_equal(w->c->policy.pids.value, 4096);
		assert_int_equal(w->c->warnings.n, 1);
		assert_string_equal(w->c->warnings.v[0].subject, file);
	}
	/* The owner of the project may, but not from where everybody can write. */
	unlink(file_of(w, "a"));
	put(w, "a", M "pids = 3\n");
	assert_int_equal(chown(file_of(w, "a"), 4242, 4242), 0);
	assert_int_equal(chown(w->project, 4242, 4242), 0);
	load_well(w);
	assert_int_equal(w->c->policy.pids.value, 3);
	char dir[80];
	snprintf(dir, sizeof dir, "%s/a", w->home);
	assert_int_equal(chmod(dir, 01777), 0);
	load_well(w);
	assert_int_equal(w->c->policy.pids.value, 4096);
	assert_int_equal(chown(file_of(w, "a"), 0, 0), 0);
	load_well(w);
	assert_int_equal(w->c->policy.pids.value, 3);
}

static void depth_sheds_nothing(void **state)
{
	struct world *w = *state;
	char dir[512], file[600];
	int top = snprintf(dir, sizeof dir, "%s/a", w->home), n = top;
	put(w, "a", M "pids = 3\n");
	for (int i = 0; i < 100; i++) {
		n += snprintf(dir + n, sizeof dir - (size_t)n, "/d");
		assert_int_equal(mkdir(dir, 0755), 0);
	}
	const struct config_inputs in = {.home = w->home, .cwd = dir, .project_dir = dir, .trust_dir = w->trust};
	assert_int_equal(config_load(&in, &w->c, &w->err), 0);
	assert_int_equal(w->c->policy.pids.value, 3);
	config_free(w->c);
	w->c = NULL;
	/* More files than are read: an error, not a few left out. */
	for (int i = 1; i <= CONFIG_MAX_ABOVE; i++) {
		snprintf(file, sizeof file, "%.*s/.airlock.toml", top + 2 * i, dir);
		write_file(file, "");
	}
	assert_int_equal(config_load(&in, &w->c, &w->err), AIRLOCK_ERR_LIMIT);
	unlink(file);
	assert_int_equal(config_load(&in, &w->c, &w->err), 0);
	assert_int_equal(w->c->policy.pids.value, 3);
}

#define NESTED_TEST(f) cmocka_unit_test_setup_teardown(f, nested_open, world_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		NESTED_TEST(every_file_up_to_the_home_tightens),
		NESTED_TEST(up_to_the_root_when_the_project_is_not_in_the_home),
		NESTED_TEST(nothing_above_loosens_and_nothing_is_said),
		NESTED_TEST(trust_in_the_inner_loosens_nothing_of_the_outer),
		NESTED_TEST(an_inner_choice_sheds_no_table_of_the_outer),
		NESTED_TEST(a_trusted_file_above_keeps_the_profile_it_made),
		NESTED_TEST(command_rules_above_tighten),
		NESTED_TEST(patterns_of_the_gate_are_relative_to_their_file),
		NESTED_TEST(a_broken_file_above_is_an_error),
		NESTED_TEST(what_belongs_to_somebody_else_does_not_count),
		NESTED_TEST(depth_sheds_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
