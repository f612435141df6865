/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who wins: files, profiles and what they extend, command rules, environment and options; and who is named for it. */
#include "config_world.h"

/* ── Precedence ── */

enum layer { BUILTIN, SYSTEM, USER, PROJECT, ENVIRONMENT, OPTION, LAYERS };

/* One value that every layer can set; what layer i says is written with the number of the layer in it. */
struct subject {
	const char *key, *table, *toml, *option; /* toml and option take the layer's number */
	const char *shown, *builtin;
};

static const struct subject subjects[] = {
	{"profiles.moderate.timeout", "[profiles.moderate]", "timeout = \"5%ds\"", "timeout=5%ds", "\"5%ds\"",
	 "\"10m\""},
	{"profiles.moderate.memory_limit_mb", "[profiles.moderate]", "memory_limit_mb = 5%d", "memory=5%dM", "5%d",
	 "\"none\""},
	{"profiles.moderate.pids", "[profiles.moderate]", "pids = 5%d", "pids=5%d", "5%d", "4096"},
	{"profiles.moderate.file_size", "[profiles.moderate]", "file_size = \"5%dK\"", "fsize=5%dK", "\"5%dK\"",
	 "\"none\""},
	{"sandbox.max_output", "[sandbox]", "max_output = \"5%dK\"", "max-output=5%dK", "\"5%dK\"", "\"100K\""},
	{"sandbox.shell", "[sandbox]", "shell = \"/x/%d\"", "shell=/x/%d", "\"/x/%d\"", "\"sh\""},
};

#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static void say(struct world *w, const struct subject *s, enum layer layer, char *text, size_t size)
{
	const char *const files[] = {NULL, w->system, w->user, w->project_file};
	char line[128];
	if (layer <= PROJECT) {
		snprintf(line, sizeof line, s->toml, (int)layer);
		snprintf(text, size, "%s\n%s\n", s->table, line);
		write_file(files[layer], text);
		if (layer == PROJECT)
			trust(w);
		return;
	}
	snprintf(text, size, s->option, (int)layer);
	*strchr(text, '=') = '\0';
	option(w, text, text + strlen(text) + 1, layer == OPTION ? "--x" : "AIRLOCK_X");
}

static void the_higher_of_each_two_layers_wins(void **state)
{
	struct world *w = *state;
	static const char *const sources[] = {"built-in", "system:2", "user:2", "project:2", "AIRLOCK_X", "--x"};
	for (size_t i = 0; i < AL_ARRAY_LEN(subjects); i++)
		for (enum layer low = BUILTIN; low < OPTION; low++)
			for (enum layer high = low + 1; high < LAYERS; high++) {
				char low_text[256], high_text[256], shown[64];
				world_clear(w);
				if (low != BUILTIN)
					say(w, &subjects[i], low, low_text, sizeof low_text);
				say(w, &subjects[i], high, high_text, sizeof high_text);
				load_well(w);
				snprintf(shown, sizeof shown, subjects[i].shown, (int)high);
				assert_value(w, subjects[i].key, shown, sources[high]);
			}
}

static void without_a_word_the_built_in_holds(void **state)
{
	struct world *w = *state;
	load_well(w);
	for (size_t i = 0; i < AL_ARRAY_LEN(subjects); i++)
		assert_value(w, subjects[i].key, subjects[i].builtin, "built-in");
	assert_true(w->c->enabled);
	assert_origin(&w->c->enabled_origin, "built-in");
	assert_string_equal(w->c->backend, "auto");
	assert_origin(&w->c->backend_origin, "built-in");
	assert_int_equal(w->c->fallback, CONFIG_FALLBACK_REFUSE);
	assert_int_equal(w->c->max_output, 102400);
	assert_string_equal(w->c->shell, "sh");
	assert_string_equal(w->c->policy.profile, "moderate");
	assert_int_equal(w->c->warnings.n, 0);
}

/* Every word, mode and switch, not only numbers: user over system, option over both. */
static void words_follow_the_same_order(void **state)
{
	struct world *w = *state;
	write_file(w->system, "[sandbox]\nbackend = \"native\"\nenabled = false\nfallback_on_unavailable = \"warn\"\n"
			      "[profiles.moderate]\nnetwork = \"refuse\"\nchanges = \"hold\"\nnested = true\n");
	write_file(w->user, "[sandbox]\nbackend = \"landlock\"\nfallback_on_unavailable = \"ask\"\n"
			    "[profiles.moderate]\nnetwork = \"ask\"\nshare_pid = true\nnew_session = false\n");
	option(w, "changes", "discard", "--changes");
	load_well(w);
	assert_value(w, "sandbox.backend", "\"landlock\"", "user:2");
	assert_int_equal(w->c->backend_origin.line, 2);
	assert_value(w, "sandbox.enabled", "false", "system:3");
	assert_false(w->c->enabled);
	assert_int_equal(w->c->fallback, CONFIG_FALLBACK_ASK);
	assert_int_equal(w->c->policy.network, POLICY_NETWORK_ASK);
	assert_true(w->c->policy.share_pid && w->c->policy.nested && !w->c->policy.new_session);
	assert_int_equal(w->c->policy.changes, POLICY_CHANGES_DISCARD);
	assert_true(w->c->policy.changes_asked);
}

/* ── Lists ── */

static void lists_add_up_and_name_each_source(void **state)
{
	struct world *w = *state;
	write_file(w->system, "[profiles.moderate]\nblocked_paths = [\"/sys-a\"]\n");
	write_file(w->user, "[profiles.moderate]\nblocked_paths = [\n  \"/user-a\",\n  \"~/user-b\"]\nreadonly_paths = "
			    "[\"~/.npmrc\"]\nwritable_paths = [\"/cache\"]\n");
	option(w, "hide", "opt-a", "--hide");
	option(w, "hide", "../opt-b", "--hide");
	option(w, "ro", "~/.ssh/config", "--ro");
	option(w, "allow-write", "/srv/out/", "--allow-write");
	load_well(w);
	static const char *const hidden[] = {"/sys-a", "/user-a/x", "~/user-b", "~/.ssh"};
	for (size_t i = 0; i < AL_ARRAY_LEN(hidden); i++)
		assert_string_equal(access_of(w, hidden[i]), "hide");
	assert_string_equal(access_of(w, "~/.npmrc"), "read");
	assert_string_equal(access_of(w, "~/.ssh/config"), "read");
	assert_string_equal(access_of(w, "/cache"), "write");
	assert_string_equal(access_of(w, "/srv/out"), "write");
	char expected[256], origin[128];
	snprintf(expected, sizeof expected, "[\"%s/opt-a\", \"%s/opt-b\"]", w->project, w->dir);
	assert_value(w, "profiles.moderate.blocked_paths", expected, "--hide");
	snprintf(origin, sizeof origin, "%s:4", w->user);
	char *path = path_join(w->home, "user-b");
	assert_origin(&policy_rule_for(&w->c->policy, path)->origin, origin);
	free(path);
	assert_origin(&policy_rule_for(&w->c->policy, "/srv/out")->origin, "--allow-write");
	static const char *const sources[] = {"built-in", "system:2", "user:2", "--hide"};
	size_t seen = 0;
	for (size_t i = 0; i < w->c->n_values; i++)
		if (strcmp(w->c->values[i].key, "profiles.moderate.blocked_paths") == 0) {
			char spelt[128];
			spell_source(w, sources[seen++], spelt, sizeof spelt);
			assert_origin(&w->c->values[i].origin, spelt);
		}
	assert_int_equal(seen, 4);
}

/* Between sources the later decides; within one, what it allows is the exception. */
static void env_patterns_add_up(void **state)
{
	struct world *w = *state;
	write_file(w->system, "[profiles.moderate.env]\nallow = [\"GITHUB_TOKEN\"]\n");
	write_file(w->user, "[profiles.moderate]\nenv = { allow = [\"MY_TOKEN\"], deny = [\"MY_*\", \"LANG\"] }\n");
	load_well(w);
	assert_true(policy_keeps_env(&w->c->policy, "GITHUB_TOKEN"));
	assert_true(policy_keeps_env(&w->c->policy, "MY_TOKEN"));
	assert_false(policy_keeps_env(&w->c->policy, "MY_NAME"));
	assert_false(policy_keeps_env(&w->c->policy, "LANG"));
	assert_true(policy_keeps_env(&w->c->policy, "PATH"));
	assert_value(w, "profiles.moderate.env.deny", "[\"MY_*\", \"LANG\"]", "user:2");
	option(w, "env", "LANG", "--env");
	option(w, "env", "A=1", "AIRLOCK_ENV");
	option(w, "env", "A=2", "--env");
	load_well(w);
	assert_true(policy_keeps_env(&w->c->policy, "LANG"));
	assert_int_equal(w->c->policy.env_set.n, 2);
	assert_string_equal(w->c->policy.env_set.v[1], "A=2");
}

static void clear_env_leaves_only_what_is_named(void **state)
{
	struct world *w = *state;
	write_file(w->user, "[profiles.moderate.env]\nallow = [\"X\"]\n");
	option(w, "env", "LANG", "--env");
	option(w, "clear-env", "true", "--clear-env");
	load_well(w);
	assert_true(policy_keeps_env(&w->c->policy, "LANG"));
	assert_false(policy_keeps_env(&w->c->policy, "PATH"));
	assert_false(policy_keeps_env(&w->c->policy, "X"));
	assert_value(w, "profiles.moderate.env.inherit", "false", "--clear-env");
	assert_value(w, "profiles.moderate.env.allow", "[]", "--clear-env");
	assert_value(w, "profiles.moderate.env.deny", "[]", "--clear-env");
	option(w, "clear-env", "false", "--clear-env");
	load_well(w);
	assert_true(policy_keeps_env(&w->c->policy, "PATH"));
	assert_true(policy_keeps_env(&w->c->policy, "X"));
}

/* ── Profiles ── */

#define CHAIN                                                                                                          \
	"[profiles.base]\nextends = \"strict\"\npids = 11\ntimeout = \"11s\"\n"                                        \
	"[profiles.mid]\nextends = \"base\"\npids = 22\n"                                                              \
	"[profiles.top]\nextends = \"mid\"\nblocked_paths = [\"/top\"]\n"                                              \
	"[profiles.plain]\nnested = true\n"                                                                            \
	"[profiles.moderate]\nmemory_limit_mb = 77\n"

static void profiles_inherit_along_the_chain(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *profile, *key, *value, *source;
	} rows[] = {
		{"base", "profiles.base.pids", "11", "user:3"},
		{"base", "profiles.base.memory_limit_mb", "1024", "built-in"},
		{"base", "profiles.base.network", "\"refuse\"", "built-in"},
		{"mid", "profiles.mid.pids", "22", "user:7"},
		{"mid", "profiles.mid.timeout", "\"11s\"", "user:4"},
		{"mid", "profiles.mid.extends", "\"base\"", "user:6"},
		{"top", "profiles.top.pids", "22", "user:7"},
		{"top", "profiles.top.timeout", "\"11s\"", "user:4"},
		{"top", "profiles.top.blocked_paths", "[\"/top\"]", "user:10"},
		{"top", "sandbox.default_profile", "\"top\"", "--profile"},
		{"plain", "profiles.plain.memory_limit_mb", "77", "user:14"},
		{"plain", "profiles.plain.nested", "true", "user:12"},
		{"plain", "profiles.plain.extends", "\"moderate\"", "built-in"},
		{"moderate", "profiles.moderate.memory_limit_mb", "77", "user:14"},
		{"strict", "profiles.strict.memory_limit_mb", "1024", "built-in"},
		{"permissive", "profiles.permissive.nested", "true", "built-in"},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		world_clear(w);
		write_file(w->user, CHAIN);
		option(w, "profile", rows[i].profile, "--profile");
		load_well(w);
		assert_string_equal(w->c->policy.profile, rows[i].profile);
		assert_value(w, rows[i].key, rows[i].value, rows[i].source);
	}
}

/* What a profile says itself beats what it inherits, whichever file says it. */
static void nearer_in_the_chain_beats_higher_in_the_files(void **state)
{
	struct world *w = *state;
	write_file(w->system, "[profiles.ci]\nextends = \"permissive\"\npids = 1\n");
	write_file(w->user, "[profiles.permissive]\npids = 2\ntimeout = 3\n[profiles.ci]\nextends = \"moderate\"\n"
			    "[sandbox]\ndefault_profile = \"ci\"\n");
	load_well(w);
	assert_value(w, "profiles.ci.pids", "1", "system:3");
	assert_value(w, "profiles.ci.timeout", "\"10m\"", "built-in");
	assert_value(w, "profiles.ci.extends", "\"moderate\"", "user:5");
}

static void unknown_profiles_are_named(void **state)
{
	struct world *w = *state;
	write_file(w->user, "[profiles.company]\n");
	option(w, "profile", "compny", "--profile");
	assert_int_equal(load(w), AIRLOCK_ERR_USAGE);
	assert_string_equal(w->err.subject, "--profile");
	assert_string_equal(w->err.message, "--profile: unknown profile \"compny\"; did you mean \"company\"?");
	w->n_settings = 0;
	option(w, "profile", "xyz", "AIRLOCK_PROFILE");
	assert_int_equal(load(w), AIRLOCK_ERR_USAGE);
	assert_string_equal(w->err.message, "AIRLOCK_PROFILE: unknown profile \"xyz\"; there are strict, moderate, "
					    "permissive, company");
	world_clear(w);
	write_file(w->project_file, "[profiles.mine]\n");
	option(w, "profile", "mine", "--profile");
	assert_int_equal(load(w), AIRLOCK_ERR_USAGE);
	assert_non_null(strstr(w->err.message, "is not trusted (see `airlock trust`)"));
}

/* ── [[commands]] ── */

#define ARGV(...)                                                                                                      \
	(const char *const[])                                                                                          \
	{                                                                                                              \
		__VA_ARGS__, NULL                                                                                      \
	}

static void rules_match_argv_or_plain_words(void **state)
{
	struct world *w = *state;
	const struct {
		const char *const *argv;
		const char *shell;
		bool matches;
	} rows[] = {
		{ARGV("npm", "install"), NULL, true},
		{ARGV("npm", "install", "-g", "x"), NULL, true},
		{ARGV("/usr/bin/npm", "install"), NULL, true},
		{ARGV("./npm", "install"), NULL, true},
		{ARGV("npm"), NULL, false},
		{ARGV("npm", "installx"), NULL, false},
		{ARGV("npm", "run", "install"), NULL, false},
		{ARGV("xnpm", "install"), NULL, false},
		{ARGV("npm", "/bin/install"), NULL, false},
		{ARGV("NPM", "install"), NULL, false},
		{ARGV("npm install"), NULL, false},
		{NULL, "npm install", true},
		{NULL, "  npm\tinstall --save a@1.0:x,y+z=%_/.-  ", true},
		{NULL, "/usr/bin/npm install", true},
		{NULL, "npm install; true", false},
		{NULL, "npm install && x", false},
		{NULL, "npm install | x", false},
		{NULL, "npm install > x", false},
		{NULL, "npm install $X", false},
		{NULL, "npm install `x`", false},
		{NULL, "npm install 'x'", false},
		{NULL, "npm install \"x\"", false},
		{NULL, "npm install *", false},
		{NULL, "npm install ~/x", false},
		{NULL, "npm install #x", false},
		{NULL, "npm install \\x", false},
		{NULL, "npm install x\n", false},
		{NULL, "npm install {a,b}", false},
		{NULL, "npm install !x", false},
		{NULL, "npm install \xc3\xa4", false},
		{NULL, "A=1 npm install", false},
		{NULL, "cd x && npm install", false},
		{NULL, "exec npm install", false},
		{NULL, "npm", false},
		{NULL, "", false},
		{NULL, " ", false},
		{NULL, NULL, false},
	};
	write_file(w->user, "[[commands]]\nmatch = [\"npm\", \"install\"]\npids = 7\n");
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		w->argv = rows[i].argv;
		w->shell_command = rows[i].shell;
		print_message("# row %zu\n", i);
		load_well(w);
		assert_int_equal(w->c->policy.pids.value, rows[i].matches ? 7 : 4096);
	}
}

/* A rule that names a path matches that path only. */
static void rules_with_a_path_mean_that_path(void **state)
{
	struct world *w = *state;
	write_file(w->user, "[[commands]]\nmatch = [\"/usr/bin/make\"]\npids = 7\n");
	w->argv = ARGV("/usr/bin/make");
	load_well(w);
	assert_int_equal(w->c->policy.pids.value, 7);
	w->argv = ARGV("make");
	load_well(w);
	assert_int_equal(w->c->policy.pids.value, 4096);
}

static void matching_rules_apply_in_order(void **state)
{
	struct world *w = *state;
	write_file(w->system, "[[commands]]\nmatch = [\"git\"]\npids = 1\ntimeout = 1\nnetwork = \"ask\"\n");
	write_file(w->user, "[profiles.moderate]\npids = 5\n"
			    "[[commands]]\nmatch = [\"git\"]\ntimeout = 2\nenv.allow = [\"SSH_AUTH_SOCK\"]\n"
			    "[[commands]]\nmatch = [\"make\"]\ntimeout = 9\n"
			    "[[commands]]\nmatch = [\"git\", \"push\"]\ntimeout = 3\nreadonly_paths = [\"~/.ssh\"]\n"
			    "changes = \"hold\"\n");
	w->argv = ARGV("git", "push");
	load_well(w);
	assert_value(w, "profiles.moderate.pids", "1", "system:3");
	assert_value(w, "profiles.moderate.timeout", "\"3s\"", "user:12");
	assert_value(w, "profiles.moderate.network", "\"ask\"", "system:5");
	assert_string_equal(access_of(w, "~/.ssh/id"), "read");
	assert_true(policy_keeps_env(&w->c->policy, "SSH_AUTH_SOCK"));
	assert_true(w->c->policy.changes_asked);
	assert_int_equal(w->c->policy.changes, POLICY_CHANGES_HOLD);
	option(w, "timeout", "4s", "--timeout");
	load_well(w);
	assert_value(w, "profiles.moderate.timeout", "\"4s\"", "--timeout");
	w->argv = ARGV("git", "status");
	w->n_settings = 0;
	load_well(w);
	assert_value(w, "profiles.moderate.timeout", "\"2s\"", "user:5");
	assert_string_equal(access_of(w, "~/.ssh/id"), "hide");
	assert_false(w->c->policy.changes_asked);
}

/* ── Options ── */

static void options_are_asked_for(void **state)
{
	struct world *w = *state;
	option(w, "timeout", "none", "--timeout");
	option(w, "memory", "1500K", "--memory");
	option(w, "pids", "3", "--pids");
	option(w, "fsize", "2G", "--fsize");
	option(w, "network", "true", "--network");
	option(w, "json", "true", "--json");
	option(w, "project", "nonsense", "--project");
	load_well(w);
	const struct policy *p = &w->c->policy;
	assert_true(p->timeout_ms.asked && p->memory.asked && p->pids.asked && p->file_size.asked);
	assert_int_equal(p->timeout_ms.value, TEXT_NONE);
	assert_int_equal(p->memory.value, 1500 * 1024);
	assert_int_equal(p->file_size.value, INT64_C(2) << 30);
	assert_true(p->network_wanted);
	assert_value(w, "profiles.moderate.memory_limit_mb", "\"1500K\"", "--memory");
	option(w, "network", "false", "--network");
	load_well(w);
	assert_false(w->c->policy.network_wanted);
}

static void limits_of_files_are_not_asked_for(void **state)
{
	struct world *w = *state;
	write_file(w->user,
		   "[profiles.moderate]\ntimeout = 5\npids = 5\n[[commands]]\nmatch = [\"x\"]\nfile_size = 5\n");
	w->argv = ARGV("x");
	load_well(w);
	assert_int_equal(w->c->policy.file_size.value, 5);
	assert_false(w->c->policy.timeout_ms.asked || w->c->policy.pids.asked || w->c->policy.file_size.asked);
}

static void the_sandbox_is_switched(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *toml, *key, *value;
		bool enabled;
		const char *source;
	} rows[] = {
		{"", "no-sandbox", "true", false, "--x"},
		{"", "no-sandbox", "false", true, "--x"},
		{"sandbox.enabled = false", "sandbox", "true", true, "--x"},
		{"sandbox.enabled = true", "sandbox", "false", false, "--x"},
		{"sandbox.enabled = false", "backend", "native", true, "--x"},
		{"sandbox.enabled = false", "backend", "passthrough", false, "user:1"},
		{"sandbox.enabled = true", "backend", "passthrough", true, "user:1"},
		{"sandbox.enabled = false", "pids", "5", false, "user:1"},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		char spelt[128];
		world_clear(w);
		write_file(w->user, rows[i].toml);
		option(w, rows[i].key, rows[i].value, "--x");
		load_well(w);
		assert_int_equal(w->c->enabled, rows[i].enabled);
		spell_source(w, rows[i].source, spelt, sizeof spelt);
		assert_origin(&w->c->enabled_origin, spelt);
	}
}

static void bad_options_are_usage_errors(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *key, *value, *message;
	} rows[] = {
		{"timeout", "5x", "--o must be a duration such as 90s, 5m or 1h, or none, not \"5x\""},
		{"timeout", "0", "--o must be a duration such as 90s, 5m or 1h, or none, not \"0\""},
		{"timeout", "", "--o must be a duration such as 90s, 5m or 1h, or none, not \"\""},
		{"memory", "lots", "--o must be a size such as 512M or 2G, at least 1M, or none, not \"lots\""},
		{"memory", "4K", "--o must be a size such as 512M or 2G, at least 1M, or none, not \"4K\""},
		{"pids", "0", "--o must be a number, at least 1, or none, not \"0\""},
		{"pids", "-1", "--o must be a number, at least 1, or none, not \"-1\""},
		{"fsize", "1Q", "--o must be a size such as 512M or 2G, or none, not \"1Q\""},
		{"max-output", "none", "--o must be a size such as 100K or 1M, up to 1G, not \"none\""},
		{"changes", "aply",
		 "--o must be \"direct\", \"apply\", \"ask\", \"hold\" or \"discard\", not \"aply\""},
		{"backend", "docker",
		 "--o must be \"auto\", \"native\", \"bubblewrap\", \"landlock\", \"seatbelt\" or \"passthrough\", not "
		 "\"docker\""},
		{"shell", "fish", "--o must be \"sh\", \"bash\", \"zsh\", or an absolute path, not \"fish\""},
		{"profile", "", "--o must be the name of a profile (letters, digits, - and _), not \"\""},
		{"profile", "a\033b", "--o must be the name of a profile (letters, digits, - and _), not \"a\\x1bb\""},
		{"network", "maybe", "--o must be true or false, not \"maybe\""},
		{"no-sandbox", "2", "--o must be true or false, not \"2\""},
		{"sandbox", "", "--o must be true or false, not \"\""},
		{"clear-env", "x", "--o must be true or false, not \"x\""},
		{"allow-write", "", "--o must be a path, not \"\""},
		{"ro", "~root", "--o must be a path, not \"~root\""},
		{"hide", "", "--o must be a path, not \"\""},
		{"env", "", "--o must be NAME or NAME=VALUE, not \"\""},
		{"env", "=x", "--o must be NAME or NAME=VALUE, not \"=x\""},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		w->n_settings = 0;
		option(w, rows[i].key, rows[i].value, "--o");
		assert_int_equal(load(w), AIRLOCK_ERR_USAGE);
		assert_string_equal(w->err.subject, "--o");
		assert_string_equal(w->err.message, rows[i].message);
	}
}

/* A value that only the whole policy shows to be impossible still names who said it. */
static void the_host_s_proc_cannot_be_shown(void **state)
{
	struct world *w = *state;
	option(w, "ro", "/proc/cpuinfo", "--ro");
	assert_int_equal(load(w), AIRLOCK_ERR_INVALID);
	assert_non_null(strstr(w->err.message, "--ro"));
}

/* ── Rows ── */

static void every_key_has_a_row_in_order(void **state)
{
	struct world *w = *state;
	static const char *const keys[] = {
		"cache.enabled",
		"cache.exclude",
		"cache.paths",
		"cache.shared",
		"capture.copy_files",
		"capture.copy_size",
		"gate.allow",
		"gate.hold",
		"network.allow",
		"network.allow_private",
		"network.ask",
		"network.deny",
		"network.mode",
		"network.remember",
		"permission.wait",
		"profiles.moderate.blocked_paths",
		"profiles.moderate.changes",
		"profiles.moderate.env.allow",
		"profiles.moderate.env.deny",
		"profiles.moderate.env.inherit",
		"profiles.moderate.file_size",
		"profiles.moderate.memory_limit_mb",
		"profiles.moderate.nested",
		"profiles.moderate.network",
		"profiles.moderate.new_session",
		"profiles.moderate.pids",
		"profiles.moderate.readonly_paths",
		"profiles.moderate.share_pid",
		"profiles.moderate.shm_size",
		"profiles.moderate.timeout",
		"profiles.moderate.tmp_size",
		"profiles.moderate.unix_sockets",
		"profiles.moderate.writable_paths",
		"retention.backups",
		"retention.runs",
		"sandbox.backend",
		"sandbox.default_profile",
		"sandbox.enabled",
		"sandbox.explain_denials",
		"sandbox.fallback_on_unavailable",
		"sandbox.max_output",
		"sandbox.shell",
		"sandbox.warm_start",
		"session.disk",
		"session.idle_timeout",
		"session.tmp_size",
	};
	load_well(w);
	assert_int_equal(w->c->n_values, AL_ARRAY_LEN(keys));
	for (size_t i = 0; i < AL_ARRAY_LEN(keys); i++) {
		assert_string_equal(w->c->values[i].key, keys[i]);
		assert_origin(&w->c->values[i].origin, "built-in");
		assert_false(w->c->values[i].ignored);
	}
	assert_value(w, "profiles.moderate.writable_paths", "[]", "built-in");
	assert_non_null(strstr(find_value(w, "profiles.moderate.blocked_paths", false)->value, "/home/.ssh\""));
	assert_non_null(strstr(find_value(w, "profiles.moderate.env.deny", false)->value, "\"AWS_*\""));
}

static void values_are_toml(void **state)
{
	struct world *w = *state;
	write_file(w->user, "[profiles.moderate]\nblocked_paths = ['/a\"b\\c', \"/n\\nl\"]\n");
	load_well(w);
	assert_value(w, "profiles.moderate.blocked_paths", "[\"/a\\\"b\\\\c\", \"/n\\u000Al\"]", "user:2");
	option(w, "hide", "/bad\xff", "--hide");
	option(w, "hide", "/\xc3\xa4\x7f", "--hide");
	load_well(w);
	assert_value(w, "profiles.moderate.blocked_paths", "[\"/bad\xef\xbf\xbd\", \"/\xc3\xa4\\u007F\"]", "--hide");
	assert_string_equal(access_of(w, "/bad\xff"), "hide");
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, world_open, world_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(the_higher_of_each_two_layers_wins),
		WORLD_TEST(without_a_word_the_built_in_holds),
		WORLD_TEST(words_follow_the_same_order),
		WORLD_TEST(lists_add_up_and_name_each_source),
		WORLD_TEST(env_patterns_add_up),
		WORLD_TEST(clear_env_leaves_only_what_is_named),
		WORLD_TEST(profiles_inherit_along_the_chain),
		WORLD_TEST(nearer_in_the_chain_beats_higher_in_the_files),
		WORLD_TEST(unknown_profiles_are_named),
		WORLD_TEST(rules_match_argv_or_plain_words),
		WORLD_TEST(rules_with_a_path_mean_that_path),
		WORLD_TEST(matching_rules_apply_in_order),
		WORLD_TEST(options_are_asked_for),
		WORLD_TEST(limits_of_files_are_not_asked_for),
		WORLD_TEST(the_sandbox_is_switched),
		WORLD_TEST(bad_options_are_usage_errors),
		WORLD_TEST(the_host_s_proc_cannot_be_shown),
		WORLD_TEST(every_key_has_a_row_in_order),
		WORLD_TEST(values_are_toml),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
