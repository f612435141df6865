/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* I10: nothing a project contains loosens the policy, until the user trusts it, as it is. */
#include "config_world.h"

#define M "[profiles.moderate]\n"
#define S "[sandbox]\n"

/* The user's file, then a line of the project's file in the same table, and what comes of it untrusted.
 * value NULL: left out, the user's value holds. Trusted, the project's value holds in every row. */
struct row {
	const char *table, *user, *project, *key, *before, *after;
};

static const struct row rows[] = {
	/* switches */
	{S, "enabled = true", "enabled = false", "sandbox.enabled", "true", NULL},
	{S, "enabled = false", "enabled = true", "sandbox.enabled", "false", "true"},
	{M, "share_pid = false", "share_pid = true", "profiles.moderate.share_pid", "false", NULL},
	{M, "share_pid = true", "share_pid = false", "profiles.moderate.share_pid", "true", "false"},
	{M, "nested = false", "nested = true", "profiles.moderate.nested", "false", NULL},
	{M, "nested = true", "nested = false", "profiles.moderate.nested", "true", "false"},
	{M, "new_session = true", "new_session = false", "profiles.moderate.new_session", "true", NULL},
	{M, "new_session = false", "new_session = true", "profiles.moderate.new_session", "false", "true"},
	{M, "env.inherit = false", "env.inherit = true", "profiles.moderate.env.inherit", "false", NULL},
	{M, "env.inherit = true", "env.inherit = false", "profiles.moderate.env.inherit", "true", "false"},
	/* limits */
	{M, "timeout = 10", "timeout = 11", "profiles.moderate.timeout", "\"10s\"", NULL},
	{M, "timeout = 10", "timeout = \"none\"", "profiles.moderate.timeout", "\"10s\"", NULL},
	{M, "timeout = 10", "timeout = 9", "profiles.moderate.timeout", "\"10s\"", "\"9s\""},
	{M, "timeout = \"none\"", "timeout = \"300d\"", "profiles.moderate.timeout", "\"none\"", "\"300d\""},
	{M, "memory_limit_mb = 10", "memory_limit_mb = 11", "profiles.moderate.memory_limit_mb", "10", NULL},
	{M, "memory_limit_mb = 10", "memory_limit_mb = \"none\"", "profiles.moderate.memory_limit_mb", "10", NULL},
	{M, "memory_limit_mb = 10", "memory_limit_mb = 9", "profiles.moderate.memory_limit_mb", "10", "9"},
	{M, "memory_limit_mb = \"none\"", "memory_limit_mb = 9", "profiles.moderate.memory_limit_mb", "\"none\"", "9"},
	{M, "pids = 10", "pids = 11", "profiles.moderate.pids", "10", NULL},
	{M, "pids = 10", "pids = \"none\"", "profiles.moderate.pids", "10", NULL},
	{M, "pids = 10", "pids = 9", "profiles.moderate.pids", "10", "9"},
	{M, "file_size = 10", "file_size = 11", "profiles.moderate.file_size", "10", NULL},
	{M, "file_size = 10", "file_size = \"none\"", "profiles.moderate.file_size", "10", NULL},
	{M, "file_size = 10", "file_size = 0", "profiles.moderate.file_size", "10", "0"},
	{S, "warm_start = true", "warm_start = false", "sandbox.warm_start", "true", "false"},
	{S, "warm_start = false", "warm_start = true", "sandbox.warm_start", "false", NULL},
	{S, "max_output = 10", "max_output = 11", "sandbox.max_output", "10", NULL},
	{S, "max_output = 10", "max_output = 9", "sandbox.max_output", "10", "9"},
	/* network: ask → off → refuse */
	{M, "network = \"off\"", "network = \"ask\"", "profiles.moderate.network", "\"off\"", NULL},
	{M, "network = \"off\"", "network = \"refuse\"", "profiles.moderate.network", "\"off\"", "\"refuse\""},
	{M, "network = \"ask\"", "network = \"off\"", "profiles.moderate.network", "\"ask\"", "\"off\""},
	{M, "network = \"ask\"", "network = \"refuse\"", "profiles.moderate.network", "\"ask\"", "\"refuse\""},
	{M, "network = \"refuse\"", "network = \"off\"", "profiles.moderate.network", "\"refuse\"", NULL},
	{M, "network = \"refuse\"", "network = \"ask\"", "profiles.moderate.network", "\"refuse\"", NULL},
	/* changes: direct → apply → ask → hold; discard is beside the line */
	{M, "changes = \"direct\"", "changes = \"apply\"", "profiles.moderate.changes", "\"direct\"", "\"apply\""},
	{M, "changes = \"direct\"", "changes = \"hold\"", "profiles.moderate.changes", "\"direct\"", "\"hold\""},
	{M, "changes = \"apply\"", "changes = \"ask\"", "profiles.moderate.changes", "\"apply\"", "\"ask\""},
	{M, "changes = \"apply\"", "changes = \"direct\"", "profiles.moderate.changes", "\"apply\"", NULL},
	{M, "changes = \"ask\"", "changes = \"hold\"", "profiles.moderate.changes", "\"ask\"", "\"hold\""},
	{M, "changes = \"ask\"", "changes = \"apply\"", "profiles.moderate.changes", "\"ask\"", NULL},
	{M, "changes = \"hold\"", "changes = \"ask\"", "profiles.moderate.changes", "\"hold\"", NULL},
	{M, "changes = \"hold\"", "changes = \"direct\"", "profiles.moderate.changes", "\"hold\"", NULL},
	{M, "changes = \"apply\"", "changes = \"discard\"", "profiles.moderate.changes", "\"apply\"", NULL},
	{M, "changes = \"discard\"", "changes = \"hold\"", "profiles.moderate.changes", "\"discard\"", NULL},
	/* fallback: warn → ask → refuse */
	{S, "fallback_on_unavailable = \"ask\"", "fallback_on_unavailable = \"refuse\"",
	 "sandbox.fallback_on_unavailable", "\"ask\"", "\"refuse\""},
	{S, "fallback_on_unavailable = \"warn\"", "fallback_on_unavailable = \"ask\"",
	 "sandbox.fallback_on_unavailable", "\"warn\"", "\"ask\""},
	{S, "fallback_on_unavailable = \"ask\"", "fallback_on_unavailable = \"warn\"",
	 "sandbox.fallback_on_unavailable", "\"ask\"", NULL},
	{S, "fallback_on_unavailable = \"refuse\"", "fallback_on_unavailable = \"ask\"",
	 "sandbox.fallback_on_unavailable", "\"refuse\"", NULL},
	/* never */
	{S, "backend = \"auto\"", "backend = \"native\"", "sandbox.backend", "\"auto\"", NULL},
	{S, "backend = \"passthrough\"", "backend = \"native\"", "sandbox.backend", "\"passthrough\"", NULL},
	{S, "backend = \"native\"", "backend = \"passthrough\"", "sandbox.backend", "\"native\"", NULL},
	{S, "shell = \"sh\"", "shell = \"/p/evil\"", "sandbox.shell", "\"sh\"", NULL},
	/* profile: permissive → moderate → strict */
	{S, "default_profile = \"permissive\"", "default_profile = \"moderate\"", "sandbox.default_profile",
	 "\"permissive\"", "\"moderate\""},
	{S, "default_profile = \"moderate\"", "default_profile = \"strict\"", "sandbox.default_profile", "\"moderate\"",
	 "\"strict\""},
	{S, "default_profile = \"moderate\"", "default_profile = \"permissive\"", "sandbox.default_profile",
	 "\"moderate\"", NULL},
	{S, "default_profile = \"strict\"", "default_profile = \"moderate\"", "sandbox.default_profile", "\"strict\"",
	 NULL},
};

static void write_table(const char *path, const char *table, const char *line)
{
	char text[256];
	snprintf(text, sizeof text, "%s%s\n", table, line);
	write_file(path, text);
}

/* `key = value` → value */
static const char *value_part(const char *line)
{
	return strstr(line, " = ") + 3;
}

static void assert_left_out(struct world *w, const struct row *row)
{
	char spelt[128];
	const struct config_value *v = find_value(w, row->key, true);
	assert_non_null(v);
	assert_string_equal(v->value, value_part(row->project));
	spell_source(w, "project:2", spelt, sizeof spelt);
	assert_origin(&v->origin, spelt);
	assert_int_equal(w->c->warnings.n, 1);
	assert_non_null(strstr(w->c->warnings.v[0].other, row->key));
	assert_string_equal(w->c->warnings.v[0].subject, w->project_file);
	assert_int_equal(w->c->warnings.v[0].code, AIRLOCK_NOTE_UNTRUSTED);
}

static void i10_only_what_tightens_counts(void **state)
{
	struct world *w = *state;
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		world_clear(w);
		write_table(w->user, rows[i].table, rows[i].user);
		write_table(w->project_file, rows[i].table, rows[i].project);
		print_message("# %s, then %s\n", rows[i].user, rows[i].project);
		load_well(w);
		if (rows[i].after) {
			assert_value(w, rows[i].key, rows[i].after, "project:2");
			assert_null(find_value(w, rows[i].key, true));
			assert_int_equal(w->c->warnings.n, 0);
		} else {
			assert_value(w, rows[i].key, rows[i].before, "user:2");
			assert_left_out(w, &rows[i]);
		}
	}
}

static void i10_a_trusted_file_counts_in_full(void **state)
{
	struct world *w = *state;
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		world_clear(w);
		write_table(w->user, rows[i].table, rows[i].user);
		write_table(w->project_file, rows[i].table, rows[i].project);
		trust(w);
		load_well(w);
		const struct config_value *v = find_value(w, rows[i].key, false);
		assert_non_null(v);
		assert_string_not_equal(v->value, rows[i].before);
		assert_value(w, rows[i].key, v->value, "project:2");
		assert_int_equal(w->c->warnings.n, 0);
	}
}

/* Keeping a value is no loosening, and nothing to warn of. */
static void i10_the_same_value_is_quietly_kept(void **state)
{
	struct world *w = *state;
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		world_clear(w);
		write_table(w->user, rows[i].table, rows[i].user);
		write_table(w->project_file, rows[i].table, rows[i].user);
		load_well(w);
		assert_value(w, rows[i].key, rows[i].before, NULL);
		assert_int_equal(w->c->warnings.n, 0);
	}
}

static void i10_lists_only_take_away(void **state)
{
	struct world *w = *state;
	write_file(w->project_file,
		   M "blocked_paths = [\"secrets\", \"/opt\", \"~/x\"]\nreadonly_paths = [\"~/.ssh\"]\n"
		     "writable_paths = [\"build\", \"/\"]\nenv.allow = [\"GITHUB_TOKEN\"]\n"
		     "env.deny = [\"LANG\"]\n");
	load_well(w);
	char path[128];
	snprintf(path, sizeof path, "%s/secrets/a", w->project);
	assert_string_equal(access_of(w, path), "hide");
	assert_string_equal(access_of(w, "/opt/x"), "hide");
	assert_string_equal(access_of(w, "~/x"), "hide");
	assert_string_equal(access_of(w, "~/.ssh/id"), "hide");
	assert_string_equal(access_of(w, "/usr"), "read");
	assert_false(policy_keeps_env(&w->c->policy, "GITHUB_TOKEN"));
	assert_false(policy_keeps_env(&w->c->policy, "LANG"));
	char expected[512];
	snprintf(expected, sizeof expected,
		 "%s is not trusted: ignored settings that would loosen the sandbox: profiles.moderate.env.allow, "
		 "profiles.moderate.readonly_paths, profiles.moderate.writable_paths "
		 "(read the file, then run `airlock trust` to accept it)",
		 w->project_file);
	char *line = airlock_note_text(&w->c->warnings.v[0]);
	assert_string_equal(line, expected);
	free(line);
	assert_string_equal(find_value(w, "profiles.moderate.writable_paths", true)->value, "[\"build\", \"/\"]");
	trust(w);
	load_well(w);
	assert_string_equal(access_of(w, "~/.ssh/id"), "read");
	assert_string_equal(access_of(w, "/srv"), "write");
	assert_true(policy_keeps_env(&w->c->policy, "GITHUB_TOKEN"));
	snprintf(path, sizeof path, "%s/build", w->project);
	assert_string_equal(access_of(w, path), "write");
}

static void i10_the_gate_only_holds_more(void **state)
{
	struct world *w = *state;
	write_file(w->user, "[gate]\nhold = [\"*.sql\"]\nallow = [\"AGENTS.md\"]\n");
	write_file(w->project_file, "[gate]\nhold = [\"deploy/\"]\nallow = [\"*\"]\n");
	load_well(w);
	assert_int_equal(w->c->gate_hold.n, 2);
	assert_string_equal(w->c->gate_hold.v[0], "*.sql");
	assert_string_equal(w->c->gate_hold.v[1], "deploy/");
	assert_int_equal(w->c->gate_allow.n, 1);
	assert_string_equal(w->c->gate_allow.v[0], "AGENTS.md");
	assert_value(w, "gate.hold", "[\"deploy/\"]", "project:2");
	assert_value(w, "gate.allow", "[\"AGENTS.md\"]", "user:3");
	assert_string_equal(find_value(w, "gate.allow", true)->value, "[\"*\"]");
	trust(w);
	load_well(w);
	assert_int_equal(w->c->gate_allow.n, 2);
	assert_null(find_value(w, "gate.allow", true));
}

static void i10_new_profiles_and_ancestors_do_not_count(void **state)
{
	struct world *w = *state;
	write_file(w->user, S "default_profile = \"mine\"\n[profiles.mine]\nextends = \"strict\"\n");
	write_file(w->project_file, "[profiles.mine]\nextends = \"permissive\"\npids = 3\n"
				    "[profiles.theirs]\nnetwork = \"ask\"\nenv = { inherit = true, deny = [\"A\"] }\n");
	load_well(w);
	assert_value(w, "profiles.mine.extends", "\"strict\"", "user:4");
	assert_value(w, "profiles.mine.network", "\"refuse\"", "built-in");
	assert_value(w, "profiles.mine.pids", "3", "project:3");
	assert_non_null(find_value(w, "profiles.mine.extends", true));
	assert_non_null(find_value(w, "profiles.theirs.network", true));
	assert_string_equal(find_value(w, "profiles.theirs.env", true)->value, "{ inherit = true, deny = [\"A\"] }");
	option(w, "profile", "theirs", "--profile");
	assert_int_equal(load(w), AIRLOCK_ERR_USAGE);
	trust(w);
	load_well(w);
	assert_value(w, "profiles.theirs.network", "\"ask\"", "project:5");
	w->n_settings = 0;
	load_well(w);
	assert_value(w, "profiles.mine.extends", "\"permissive\"", "project:2");
}

static void i10_command_rules_are_held_to_it_too(void **state)
{
	struct world *w = *state;
	static const char *const argv[] = {"make", NULL};
	w->argv = argv;
	write_file(w->user, "[[commands]]\nmatch = [\"make\"]\npids = 100\n");
	write_file(w->project_file, "[[commands]]\nmatch = [\"make\"]\npids = 200\ntimeout = 5\nchanges = \"direct\"\n"
				    "blocked_paths = [\"/opt\"]\nwritable_paths = [\"/\"]\n"
				    "[[commands]]\nmatch = [\"other\"]\npids = 500\n");
	load_well(w);
	assert_value(w, "profiles.moderate.pids", "100", "user:3");
	assert_value(w, "profiles.moderate.timeout", "\"5s\"", "project:4");
	assert_value(w, "profiles.moderate.changes", "\"apply\"", "built-in");
	assert_false(w->c->policy.changes_asked);
	assert_string_equal(access_of(w, "/opt"), "hide");
	assert_string_equal(access_of(w, "/srv"), "read");
	assert_string_equal(find_value(w, "commands.pids", true)->value, "200");
	assert_non_null(find_value(w, "commands.changes", true));
	assert_non_null(find_value(w, "commands.writable_paths", true));
	trust(w);
	load_well(w);
	assert_value(w, "profiles.moderate.pids", "200", "project:3");
	assert_true(w->c->policy.changes_asked);
}

/* A stricter name is not stricter in everything: what the user tightened in the old profile must survive the change. */
static void i10_a_stricter_profile_keeps_what_was_tighter(void **state)
{
	struct world *w = *state;
	write_file(w->user, M "timeout = 5\npids = 9000\nmemory_limit_mb = 100\nblocked_paths = [\"/usr/local\"]\n"
			      "env.deny = [\"LANG\"]\nenv.allow = [\"X\"]\nreadonly_paths = [\"/srv\"]\n"
			      "changes = \"discard\"\n");
	write_file(w->project_file, S "default_profile = \"strict\"\n[profiles.strict]\npids = 100\ntimeout = 7\n");
	load_well(w);
	assert_string_equal(w->c->policy.profile, "strict");
	assert_value(w, "profiles.strict.timeout", "\"5s\"", "user:2");
	assert_value(w, "profiles.strict.memory_limit_mb", "100", "user:4");
	assert_value(w, "profiles.strict.pids", "100", "project:4");
	assert_value(w, "profiles.strict.network", "\"refuse\"", "built-in");
	assert_string_equal(access_of(w, "/usr/local/bin"), "hide");
	assert_string_equal(access_of(w, "/srv"), "unseen");
	assert_false(policy_keeps_env(&w->c->policy, "LANG"));
	assert_false(policy_keeps_env(&w->c->policy, "X"));
	assert_non_null(find_value(w, "profiles.strict.timeout", true));
	assert_int_equal(w->c->warnings.n, 1);
	/* The user's own choice of strict is the user's strict. */
	option(w, "profile", "strict", "--profile");
	load_well(w);
	assert_value(w, "profiles.strict.timeout", "\"7s\"", "project:5");
	assert_value(w, "profiles.strict.memory_limit_mb", "1024", "built-in");
}

/* An adjusted strict may be looser than moderate; a custom profile cannot be compared. */
static void i10_only_untouched_built_in_profiles_are_tighter(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *user, *project;
	} cases[] = {
		{"[profiles.strict]\nnetwork = \"ask\"\n", S "default_profile = \"strict\"\n"},
		{S "default_profile = \"mine\"\n[profiles.mine]\n", S "default_profile = \"strict\"\n"},
		{"[profiles.mine]\nextends = \"strict\"\n", S "default_profile = \"mine\"\n"},
		{"", S "default_profile = \"nobody\"\n"},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(cases); i++) {
		world_clear(w);
		write_file(w->user, cases[i].user);
		write_file(w->project_file, cases[i].project);
		load_well(w);
		assert_string_equal(w->c->policy.profile, i == 1 ? "mine" : "moderate");
		assert_non_null(find_value(w, "sandbox.default_profile", true));
	}
}

/* Options and environment are the person's own words: no project holds them back. */
static void options_win_over_a_tightening_project(void **state)
{
	struct world *w = *state;
	write_file(w->project_file, S "default_profile = \"strict\"\n" M "timeout = 5\nnetwork = \"refuse\"\n");
	option(w, "profile", "moderate", "AIRLOCK_PROFILE");
	option(w, "timeout", "1h", "--timeout");
	load_well(w);
	assert_value(w, "sandbox.default_profile", "\"moderate\"", "AIRLOCK_PROFILE");
	assert_value(w, "profiles.moderate.timeout", "\"1h\"", "--timeout");
	assert_value(w, "profiles.moderate.network", "\"refuse\"", "project:5");
}

static void the_rows_left_out_come_last(void **state)
{
	struct world *w = *state;
	write_file(w->project_file, M "timeout = \"none\"\n" S "backend = \"passthrough\"\n");
	load_well(w);
	size_t n = w->c->n_values;
	assert_string_equal(w->c->values[n - 2].key, "profiles.moderate.timeout");
	assert_string_equal(w->c->values[n - 1].key, "sandbox.backend");
	for (size_t i = 0; i < n; i++)
		assert_int_equal(w->c->values[i].ignored, i >= n - 2);
}

static void a_long_warning_is_cut(void **state)
{
	struct world *w = *state;
	write_file(w->project_file,
		   "[profiles.x]\npids=1\ntimeout=1\nnested=true\nshare_pid=true\nnew_session=true\n"
		   "memory_limit_mb=1\nfile_size=1\nnetwork=\"off\"\nchanges=\"hold\"\nextends=\"strict\"\n");
	load_well(w);
	assert_int_equal(w->c->warnings.n, 1);
	assert_non_null(strstr(w->c->warnings.v[0].other, " and 2 more"));
}

/* ── Trust ── */

static bool is_trusted(struct world *w, const char *content)
{
	bool trusted = false;
	struct airlock_error err = {0};
	assert_int_equal(config_is_trusted(w->trust, w->project, content, strlen(content), &trusted, &err), 0);
	return trusted;
}

static void an_edit_ends_trust(void **state)
{
	struct world *w = *state;
	write_file(w->project_file, M "timeout = \"none\"\n");
	assert_false(is_trusted(w, M "timeout = \"none\"\n"));
	trust(w);
	assert_true(is_trusted(w, M "timeout = \"none\"\n"));
	load_well(w);
	assert_value(w, "profiles.moderate.timeout", "\"none\"", "project:2");
	write_file(w->project_file, M "timeout = \"none\" \n");
	load_well(w);
	assert_value(w, "profiles.moderate.timeout", "\"10m\"", "built-in");
	assert_int_equal(w->c->warnings.n, 1);
	trust(w);
	load_well(w);
	assert_value(w, "profiles.moderate.timeout", "\"none\"", "project:2");
	assert_false(is_trusted(w, M "timeout = \"none\"\n"));
}

static char *only_record(struct world *w)
{
	char command[128], name[128] = "";
	snprintf(command, sizeof command, "ls %s", w->trust);
	FILE *f = popen(command, "r");
	assert_non_null(fgets(name, sizeof name, f));
	pclose(f);
	name[strcspn(name, "\n")] = '\0';
	assert_int_equal(strlen(name), 64);
	return path_join(w->trust, name);
}

static void trust_belongs_to_one_directory(void **state)
{
	struct world *w = *state;
	write_file(w->project_file, "");
	trust(w);
	bool trusted = true;
	assert_int_equal(config_is_trusted(w->trust, w->home, "", 0, &trusted, NULL), 0);
	assert_false(trusted);
	_cleanup_free_ char *record = only_record(w);
	struct stat st;
	assert_int_equal(stat(record, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void a_damaged_or_foreign_record_gives_no_trust(void **state)
{
	struct world *w = *state;
	static const char *const contents[] = {"", "x",
					       "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"};
	write_file(w->project_file, "");
	trust(w);
	assert_true(is_trusted(w, ""));
	_cleanup_free_ char *record = only_record(w);
	for (size_t i = 0; i < AL_ARRAY_LEN(contents); i++) {
		write_file(record, contents[i]);
		assert_false(is_trusted(w, ""));
	}
	trust(w);
	bool trusted = false;
	assert_int_equal(chmod(record, 0666), 0);
	assert_int_equal(config_is_trusted(w->trust, w->project, "", 0, &trusted, NULL), AIRLOCK_ERR_INVALID);
	assert_false(trusted);
	assert_int_equal(load(w), AIRLOCK_ERR_INVALID);
	assert_string_equal(w->err.subject, record);
}

static void nothing_to_trust_is_not_found(void **state)
{
	struct world *w = *state;
	assert_int_equal(config_trust(w->trust, w->project, &w->err), AIRLOCK_ERR_NOT_FOUND);
	assert_string_equal(w->err.subject, w->project_file);
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, world_open, world_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(i10_only_what_tightens_counts),
		WORLD_TEST(i10_the_gate_only_holds_more),
		WORLD_TEST(i10_a_trusted_file_counts_in_full),
		WORLD_TEST(i10_the_same_value_is_quietly_kept),
		WORLD_TEST(i10_lists_only_take_away),
		WORLD_TEST(i10_new_profiles_and_ancestors_do_not_count),
		WORLD_TEST(i10_command_rules_are_held_to_it_too),
		WORLD_TEST(i10_a_stricter_profile_keeps_what_was_tighter),
		WORLD_TEST(i10_only_untouched_built_in_profiles_are_tighter),
		WORLD_TEST(options_win_over_a_tightening_project),
		WORLD_TEST(the_rows_left_out_come_last),
		WORLD_TEST(a_long_warning_is_cut),
		WORLD_TEST(an_edit_ends_trust),
		WORLD_TEST(trust_belongs_to_one_directory),
		WORLD_TEST(a_damaged_or_foreign_record_gives_no_trust),
		WORLD_TEST(nothing_to_trust_is_not_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
