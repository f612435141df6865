/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files: every key right and wrong, and every kind of file that is none. */
#include "config_world.h"

static const struct {
	const char *toml, *key, *value, *source;
} right[] = {
	{"[sandbox]\nenabled = false", "sandbox.enabled", "false", "user:2"},
	{"sandbox.enabled = true", "sandbox.enabled", "true", "user:1"},
	{"sandbox = { shell = \"bash\" }", "sandbox.shell", "\"bash\"", "user:1"},
	{"[sandbox]\n\ndefault_profile = \"strict\"", "sandbox.default_profile", "\"strict\"", "user:3"},
	{"[sandbox]\nfallback_on_unavailable = \"refuse\"", "sandbox.fallback_on_unavailable", "\"refuse\"", "user:2"},
	{"[sandbox]\nfallback_on_unavailable = \"ask\"", "sandbox.fallback_on_unavailable", "\"ask\"", "user:2"},
	{"[sandbox]\nfallback_on_unavailable = \"warn\"", "sandbox.fallback_on_unavailable", "\"warn\"", "user:2"},
	{"[sandbox]\nbackend = \"native\"", "sandbox.backend", "\"native\"", "user:2"},
	{"[sandbox]\nbackend = \"passthrough\"", "sandbox.backend", "\"passthrough\"", "user:2"},
	{"[sandbox]\nshell = \"/opt/bin/fish\"", "sandbox.shell", "\"/opt/bin/fish\"", "user:2"},
	{"[sandbox]\nmax_output = \"1M\"", "sandbox.max_output", "\"1M\"", "user:2"},
	{"[sandbox]\nmax_output = 500", "sandbox.max_output", "500", "user:2"},
	{"[sandbox]\nmax_output = 0", "sandbox.max_output", "0", "user:2"},
	{"[profiles.moderate]\nreadonly_paths = [\"/opt\", \"~/.npmrc\"]", "profiles.moderate.readonly_paths", NULL,
	 "user:2"},
	{"[profiles.moderate]\nwritable_paths = [\"/srv//x/\"]", "profiles.moderate.writable_paths", "[\"/srv/x\"]",
	 "user:2"},
	{"[profiles.moderate]\nblocked_paths = [\n \"/a\",\n \"/b\",\n]", "profiles.moderate.blocked_paths",
	 "[\"/a\", \"/b\"]", "user:2"},
	{"[profiles.moderate]\nblocked_paths = []", "profiles.moderate.blocked_paths", "[]", "user:2"},
	{"[profiles.moderate]\nnetwork = \"ask\"", "profiles.moderate.network", "\"ask\"", "user:2"},
	{"[profiles.moderate]\nnetwork = \"refuse\"", "profiles.moderate.network", "\"refuse\"", "user:2"},
	{"[profiles.moderate]\ntimeout = \"90s\"", "profiles.moderate.timeout", "\"90s\"", "user:2"},
	{"[profiles.moderate]\ntimeout = 120", "profiles.moderate.timeout", "\"2m\"", "user:2"},
	{"[profiles.moderate]\ntimeout = \"1.5s\"", "profiles.moderate.timeout", "\"1500ms\"", "user:2"},
	{"[profiles.moderate]\ntimeout = \"none\"", "profiles.moderate.timeout", "\"none\"", "user:2"},
	{"[profiles.moderate]\nmemory_limit_mb = 512", "profiles.moderate.memory_limit_mb", "512", "user:2"},
	{"[profiles.moderate]\nmemory_limit_mb = \"none\"", "profiles.moderate.memory_limit_mb", "\"none\"", "user:2"},
	{"[profiles.moderate]\npids = 10", "profiles.moderate.pids", "10", "user:2"},
	{"[profiles.moderate]\npids = \"none\"", "profiles.moderate.pids", "\"none\"", "user:2"},
	{"[profiles.moderate]\nfile_size = \"1G\"", "profiles.moderate.file_size", "\"1G\"", "user:2"},
	{"[profiles.moderate]\nfile_size = 1024", "profiles.moderate.file_size", "\"1K\"", "user:2"},
	{"[profiles.moderate]\nfile_size = \"none\"", "profiles.moderate.file_size", "\"none\"", "user:2"},
	{"[profiles.moderate]\nfile_size = 5", "profiles.moderate.tmp_size", "\"50%\"", "built-in"},
	{"[profiles.moderate]\ntmp_size = \"25%\"", "profiles.moderate.tmp_size", "\"25%\"", "user:2"},
	{"[profiles.moderate]\ntmp_size = \"100%\"", "profiles.moderate.tmp_size", "\"100%\"", "user:2"},
	{"[profiles.moderate]\nshm_size = \"2G\"", "profiles.moderate.shm_size", "\"2G\"", "user:2"},
	{"[profiles.moderate]\nshm_size = 1048576", "profiles.moderate.shm_size", "\"1M\"", "user:2"},
	{"[profiles.moderate]\nshare_pid = true", "profiles.moderate.share_pid", "true", "user:2"},
	{"[profiles.moderate]\nnew_session = false", "profiles.moderate.new_session", "false", "user:2"},
	{"[profiles.moderate]\nnested = true", "profiles.moderate.nested", "true", "user:2"},
	{"[network]\nmode = \"hosts\"", "network.mode", "\"hosts\"", "user:2"},
	{"[network]\nallow = [\"a.test\", \"*.b.test:443\"]", "network.allow", "[\"a.test\", \"*.b.test:443\"]",
	 "user:2"},
	{"[network]\ndeny = [\"10.0.0.0/8\"]", "network.deny", "[\"10.0.0.0/8\"]", "user:2"},
	{"[network]\nallow_private = [\"10.1.2.3:5432\"]", "network.allow_private", "[\"10.1.2.3:5432\"]", "user:2"},
	{"[network]\nask = false", "network.ask", "false", "user:2"},
	{"[network]\nremember = \"session\"", "network.remember", "\"session\"", "user:2"},
	{"[network.sets]\npackages = [\"a.test\"]", "network.sets.packages", "[\"a.test\"]", "user:2"},
	{"[profiles.moderate]\nchanges = \"apply\"", "profiles.moderate.changes", "\"apply\"", "user:2"},
	{"[profiles.moderate]\nchanges = \"ask\"", "profiles.moderate.changes", "\"ask\"", "user:2"},
	{"[profiles.moderate]\nchanges = \"hold\"", "profiles.moderate.changes", "\"hold\"", "user:2"},
	{"[profiles.moderate]\nchanges = \"discard\"", "profiles.moderate.changes", "\"discard\"", "user:2"},
	{"[profiles.moderate]\nchanges = \"direct\"", "profiles.moderate.changes", "\"direct\"", "user:2"},
	{"[profiles.moderate]\nenv = { inherit = false }", "profiles.moderate.env.inherit", "false", "user:2"},
	{"[profiles.moderate.env]\nallow = [\"A\", \"B_*\"]", "profiles.moderate.env.allow", "[\"A\", \"B_*\"]",
	 "user:2"},
	{"[profiles.moderate.env]\ndeny = [\"A\"]", "profiles.moderate.env.deny", "[\"A\"]", "user:2"},
	{"[profiles.mine]\nextends = \"strict\"\n[sandbox]\ndefault_profile = \"mine\"", "profiles.mine.extends",
	 "\"strict\"", "user:2"},
	{"[profiles.mine]\n[sandbox]\ndefault_profile = \"mine\"", "profiles.mine.extends", "\"moderate\"", "built-in"},
	{"[[commands]]\nmatch = [\"make\"]\npids = 9", "profiles.moderate.pids", "9", "user:3"},
	{"# nothing\n", "sandbox.enabled", "true", "built-in"},
	{"", "sandbox.backend", "\"auto\"", "built-in"},
};

static int check_file(const struct world *w, const char *path, struct airlock_error *err)
{
	const struct config_inputs others = {.home = w->home, .system_file = w->system, .user_file = w->user};
	return config_check_file(path, &others, err);
}

static void every_key_is_read(void **state)
{
	struct world *w = *state;
	static const char *const argv[] = {"make", NULL};
	for (size_t i = 0; i < AL_ARRAY_LEN(right); i++) {
		world_clear(w);
		w->argv = argv;
		write_file(w->user, right[i].toml);
		load_well(w);
		const struct config_value *v = find_value(w, right[i].key, false);
		assert_value(w, right[i].key, right[i].value ? right[i].value : v->value, right[i].source);
		assert_int_equal(check_file(w, w->user, NULL), 0);
	}
}

#define IN_PROFILE "[profiles.moderate]\n"
#define FORM_DURATION "a duration such as \"90s\", \"5m\" or \"1h\", a number of seconds, or \"none\""
#define FORM_SIZE "a size such as \"512M\" or \"2G\", a number of bytes, or \"none\""
#define FORM_SHARE                                                                                                     \
	"a size of at least \"1M\" such as \"512M\" or \"2G\", or a part of the machine's memory such as \"50%\""
#define FORM_BACKEND "\"auto\", \"native\", \"bubblewrap\", \"landlock\", \"seatbelt\" or \"passthrough\""
#define FORM_CHANGES "\"direct\", \"apply\", \"ask\", \"hold\" or \"discard\""
#define FORM_PROFILE "the name of a profile (letters, digits, - and _)"
#define FORM_PATTERNS "a list of names or patterns such as \"LC_*\""
#define FORM_MATCH "a list of the words the command starts with, such as [\"npm\", \"install\"]"
#define FORM_ENV "a table such as { inherit = true, allow = [\"LANG\"], deny = [\"*_TOKEN\"] }"
#define FORM_SHELL "\"sh\", \"bash\", \"zsh\", or an absolute path"
#define FORM_OUTPUT "a size up to \"1G\" such as \"100K\", or a number of bytes"

static const struct {
	const char *toml, *message;
} wrong[] = {
	/* unknown keys */
	{"\n\n[profiles.moderate]\ntimeot = 1",
	 "4:1: unknown key \"timeot\" in [profiles.moderate]; did you mean \"timeout\"?"},
	{"[sandbox]\n  enable = true", "2:3: unknown key \"enable\" in [sandbox]; did you mean \"enabled\"?"},
	{"[sandbox]\nxyzzy = 1", "2:1: unknown key \"xyzzy\" in [sandbox]"},
	{"[sandbx]", "1:2: unknown key \"sandbx\"; did you mean \"sandbox\"?"},
	{"[command]", "1:2: unknown key \"command\"; did you mean \"commands\"?"},
	{"timeout = 5", "1:1: unknown key \"timeout\"; it belongs in [profiles.NAME]"},
	{"[sandbox]\nnetwork = \"off\"", "2:1: unknown key \"network\" in [sandbox]; it belongs in [profiles.NAME]"},
	{"[profiles.x]\nbackend = \"auto\"", "2:1: unknown key \"backend\" in [profiles.x]; it belongs in [sandbox]"},
	{"[profiles.x]\nmatch = [\"a\"]", "2:1: unknown key \"match\" in [profiles.x]; it belongs in [[commands]]"},
	{"[profiles.x]\ninherit = true",
	 "2:1: unknown key \"inherit\" in [profiles.x]; it belongs in env of [profiles.NAME]"},
	{"[profiles.x.env]\nalow = []", "2:1: unknown key \"alow\" in env of [profiles.x]; did you mean \"allow\"?"},
	{"[[commands]]\nmatch = [\"a\"]\nextends = \"x\"",
	 "3:1: unknown key \"extends\" in [[commands]]; it belongs in [profiles.NAME]"},
	{"[sandbox]\n\"a\\u001bb\" = 1", "2:1: unknown key \"a\\x1bb\" in [sandbox]"},
	{"[sandbox]\n\"enabled\\u0000\" = true",
	 "2:1: unknown key \"enabled\\x00\" in [sandbox]; did you mean \"enabled\"?"},
	/* wrong types */
	{"sandbox = 1", "1:11: \"sandbox\" must be a table [sandbox], not 1"},
	{"profiles = []", "1:12: \"profiles\" must be tables [profiles.NAME], not an array"},
	{"profiles.x = true", "1:14: a profile must be a table [profiles.NAME], not a boolean"},
	{"[commands]", "1:1: \"commands\" must be tables [[commands]], not a table"},
	{"commands = [1]", "1:13: \"commands\" must be tables [[commands]]"},
	{"[sandbox]\nenabled = \"yes\"", "2:11: \"enabled\" must be true or false, not \"yes\""},
	{"[sandbox]\nenabled = 1", "2:11: \"enabled\" must be true or false, not 1"},
	{"[sandbox]\ndefault_profile = 1", "2:19: \"default_profile\" must be " FORM_PROFILE ", not 1"},
	{"[sandbox]\nfallback_on_unavailable = true",
	 "2:27: \"fallback_on_unavailable\" must be \"refuse\", \"ask\" or \"warn\", not a boolean"},
	{"[sandbox]\nbackend = [\"native\"]", "2:11: \"backend\" must be " FORM_BACKEND ", not an array"},
	{"[sandbox]\nshell = 1", "2:9: \"shell\" must be " FORM_SHELL ", not 1"},
	{"[sandbox]\nmax_output = 1.5", "2:14: \"max_output\" must be " FORM_OUTPUT ", not a float"},
	{IN_PROFILE "readonly_paths = \"/a\"", "2:18: \"readonly_paths\" must be a list of paths, not \"/a\""},
	{IN_PROFILE "writable_paths = {}", "2:18: \"writable_paths\" must be a list of paths, not a table"},
	{IN_PROFILE "blocked_paths = [1]", "2:18: \"blocked_paths\" must be a list of paths; this item is 1"},
	{IN_PROFILE "network = false", "2:11: \"network\" must be \"off\", \"ask\" or \"refuse\", not a boolean"},
	{IN_PROFILE "timeout = 1.5", "2:11: \"timeout\" must be " FORM_DURATION ", not a float"},
	{IN_PROFILE "memory_limit_mb = \"512\"",
	 "2:19: \"memory_limit_mb\" must be a number of MiB, at least 1, or \"none\", not \"512\""},
	{IN_PROFILE "pids = \"12\"", "2:8: \"pids\" must be a number, at least 1, or \"none\", not \"12\""},
	{IN_PROFILE "file_size = true", "2:13: \"file_size\" must be " FORM_SIZE ", not a boolean"},
	{IN_PROFILE "share_pid = 0", "2:13: \"share_pid\" must be true or false, not 0"},
	{IN_PROFILE "new_session = \"\"", "2:15: \"new_session\" must be true or false, not \"\""},
	{IN_PROFILE "nested = 2020-01-01", "2:10: \"nested\" must be true or false, not a datetime"},
	{IN_PROFILE "changes = 1", "2:11: \"changes\" must be " FORM_CHANGES ", not 1"},
	{IN_PROFILE "env = [\"A\"]", "2:7: \"env\" must be " FORM_ENV ", not an array"},
	{IN_PROFILE "env.inherit = 1", "2:15: \"inherit\" must be true or false, not 1"},
	{IN_PROFILE "env.allow = \"A\"", "2:13: \"allow\" must be " FORM_PATTERNS ", not \"A\""},
	{IN_PROFILE "env.deny = [true]", "2:13: \"deny\" must be " FORM_PATTERNS "; this item is a boolean"},
	{"[profiles.x]\nextends = 1", "2:11: \"extends\" must be " FORM_PROFILE ", not 1"},
	{"[[commands]]\nmatch = \"make\"", "2:9: \"match\" must be " FORM_MATCH ", not \"make\""},
	{"[[commands]]\nmatch = []", "2:9: \"match\" must be " FORM_MATCH ", not an array"},
	{"[[commands]]\nmatch = [\"\"]", "2:10: \"match\" must be " FORM_MATCH "; this item is \"\""},
	{"[[commands]]\npids = 1", "1:1: [[commands]] needs \"match\", the words the command starts with"},
	/* wrong values */
	{"[sandbox]\nbackend = \"nativ\"",
	 "2:11: \"backend\" must be " FORM_BACKEND ", not \"nativ\"; did you mean \"native\"?"},
	{"[sandbox]\nfallback_on_unavailable = \"allow\"",
	 "2:27: \"fallback_on_unavailable\" must be \"refuse\", \"ask\" or \"warn\", not \"allow\""},
	{"[sandbox]\nshell = \"fish\"", "2:9: \"shell\" must be " FORM_SHELL ", not \"fish\""},
	{"[sandbox]\nmax_output = \"none\"", "2:14: \"max_output\" must be " FORM_OUTPUT ", not \"none\""},
	{"[sandbox]\nmax_output = \"2G\"", "2:14: \"max_output\" must be " FORM_OUTPUT ", not \"2G\""},
	{"[sandbox]\ndefault_profile = \"a b\"", "2:19: \"default_profile\" must be " FORM_PROFILE ", not \"a b\""},
	{"[sandbox]\ndefault_profile = \"strct\"", "2:19: unknown profile \"strct\"; did you mean \"strict\"?"},
	{"[profiles.\"a/b\"]", "1:11: \"a/b\" is not a valid profile name; use letters, digits, - and _"},
	{"[profiles.\"\"]", "1:11: \"\" is not a valid profile name; use letters, digits, - and _"},
	{IN_PROFILE "network = \"on\"", "2:11: \"network\" must be \"off\", \"ask\" or \"refuse\", not \"on\""},
	{IN_PROFILE "timeout = \"5x\"", "2:11: \"timeout\" must be " FORM_DURATION ", not \"5x\""},
	{IN_PROFILE "timeout = 0", "2:11: \"timeout\" must be " FORM_DURATION ", not 0"},
	{IN_PROFILE "timeout = -1", "2:11: \"timeout\" must be " FORM_DURATION ", not -1"},
	{IN_PROFILE "memory_limit_mb = 0",
	 "2:19: \"memory_limit_mb\" must be a number of MiB, at least 1, or \"none\", not 0"},
	{IN_PROFILE "memory_limit_mb = 9223372036854775807",
	 "2:19: \"memory_limit_mb\" must be a number of MiB, at least 1, or \"none\", not 9223372036854775807"},
	{IN_PROFILE "pids = 0", "2:8: \"pids\" must be a number, at least 1, or \"none\", not 0"},
	{IN_PROFILE "file_size = \"big\"", "2:13: \"file_size\" must be " FORM_SIZE ", not \"big\""},
	{IN_PROFILE "tmp_size = \"none\"", "2:12: \"tmp_size\" must be " FORM_SHARE ", not \"none\""},
	{IN_PROFILE "tmp_size = \"0%\"", "2:12: \"tmp_size\" must be " FORM_SHARE ", not \"0%\""},
	{IN_PROFILE "tmp_size = \"101%\"", "2:12: \"tmp_size\" must be " FORM_SHARE ", not \"101%\""},
	{IN_PROFILE "tmp_size = \"-5%\"", "2:12: \"tmp_size\" must be " FORM_SHARE ", not \"-5%\""},
	{IN_PROFILE "tmp_size = \"%\"", "2:12: \"tmp_size\" must be " FORM_SHARE ", not \"%\""},
	{IN_PROFILE "tmp_size = \"none%\"", "2:12: \"tmp_size\" must be " FORM_SHARE ", not \"none%\""},
	{IN_PROFILE "shm_size = -50", "2:12: \"shm_size\" must be " FORM_SHARE ", not -50"},
	{IN_PROFILE "shm_size = \"512K\"", "2:12: \"shm_size\" must be " FORM_SHARE ", not \"512K\""},
	{IN_PROFILE "changes = \"aply\"",
	 "2:11: \"changes\" must be " FORM_CHANGES ", not \"aply\"; did you mean \"apply\"?"},
	{IN_PROFILE "timeout = \"1s\\u0000\"", "2:11: \"timeout\" must be " FORM_DURATION ", not \"1s\\x00\""},
	{IN_PROFILE "readonly_paths = [\"/a\", \"b\"]", "2:25: \"b\" in \"readonly_paths\" must start with / or ~/"},
	{IN_PROFILE "readonly_paths = [\"~root/x\"]",
	 "2:19: \"~root/x\" in \"readonly_paths\" must start with / or ~/"},
	{IN_PROFILE "blocked_paths = [\"\"]", "2:18: \"blocked_paths\" must be a list of paths; this item is \"\""},
	{IN_PROFILE "blocked_paths = [\"/a\\u0000\"]",
	 "2:18: \"blocked_paths\" must be a list of paths; this item is \"/a\\x00\""},
	{IN_PROFILE "env.allow = [\"A=1\"]", "2:14: \"allow\" must be " FORM_PATTERNS "; this item is \"A=1\""},
	{IN_PROFILE "readonly_paths = [\"/a/b\"]\nblocked_paths = [\"/a/./b/\"]",
	 "3:18: \"/a/b\" is in \"readonly_paths\" and in \"blocked_paths\" of the same table"},
	/* profiles among themselves */
	{IN_PROFILE "extends = \"strict\"",
	 "2:1: the built-in profile \"moderate\" cannot extend another; choose another name"},
	{"[profiles.a]\nextends = \"a\"", "2:11: profile \"a\" extends itself"},
	{"[profiles.a]\nextends = \"b\"\n[profiles.b]\nextends = \"a\"",
	 "4:11: profile \"b\" extends \"a\", which extends it in turn"},
	{"[profiles.a]\nextends = \"moderat\"", "2:11: unknown profile \"moderat\"; did you mean \"moderate\"?"},
	/* syntax */
	{"[sandbox\n", NULL},
	{"a = 1\na = 2", NULL},
	{"\xff", NULL},
};

static void mistakes_are_named_with_their_place(void **state)
{
	struct world *w = *state;
	for (size_t i = 0; i < AL_ARRAY_LEN(wrong); i++) {
		world_clear(w);
		write_file(w->user, wrong[i].toml);
		print_message("# %s\n", wrong[i].message ? wrong[i].message : "syntax");
		assert_int_equal(load(w), AIRLOCK_ERR_INVALID);
		assert_null(w->c);
		assert_int_equal(strncmp(w->err.subject, w->user, strlen(w->user)), 0);
		if (wrong[i].message)
			assert_fault(w, w->user, wrong[i].message);
		/* The same in the other places, and when only checked. */
		struct airlock_error err = {0};
		assert_int_equal(check_file(w, w->user, &err), AIRLOCK_ERR_INVALID);
		assert_string_equal(err.message, w->err.message);
		assert_int_equal(rename(w->user, w->system), 0);
		assert_int_equal(load(w), AIRLOCK_ERR_INVALID);
	}
}

static void a_project_is_held_to_the_same_rules(void **state)
{
	struct world *w = *state;
	write_file(w->project_file, "[profiles.moderate]\ntimeot = 1");
	assert_int_equal(load(w), AIRLOCK_ERR_INVALID);
	assert_fault(w, w->project_file,
		     "2:1: unknown key \"timeot\" in [profiles.moderate]; did you mean \"timeout\"?");
	write_file(w->project_file, "[profiles.moderate]\nblocked_paths = [\"~x\"]");
	assert_int_equal(load(w), AIRLOCK_ERR_INVALID);
	assert_fault(w, w->project_file,
		     "2:18: \"~x\" in \"blocked_paths\" must start with / or ~/, or be relative to the project");
}

/* A file by itself may extend what another file defines. */
static void profiles_of_other_files_are_no_mistake(void **state)
{
	struct world *w = *state;
	write_file(w->user, "[profiles.mine]\nextends = \"company\"\n[sandbox]\ndefault_profile = \"team\"");
	assert_int_equal(check_file(w, w->user, NULL), AIRLOCK_ERR_INVALID);
	assert_int_equal(load(w), AIRLOCK_ERR_INVALID);
	assert_fault(w, w->user, "4:19: unknown profile \"team\"; there are strict, moderate, permissive, mine");
	write_file(w->system, "[profiles.company]\n[profiles.team]");
	load_well(w);
	assert_int_equal(check_file(w, w->user, NULL), 0);
	/* Mistakes in the other files are theirs, but a file that cannot be read has no profiles. */
	write_file(w->system, "[profiles.company]\n[profiles.team]\n[profiles.x]\nextends = \"nobody\"");
	assert_int_equal(check_file(w, w->user, NULL), 0);
	write_file(w->system, "[profiles.company]\n[profiles.team]\n[[[");
	assert_int_equal(check_file(w, w->user, NULL), AIRLOCK_ERR_INVALID);
	write_file(w->system, "[profiles.company]\n[profiles.team]");
	write_file(w->project_file, "[profiles.moderate]\nblocked_paths = [\"secret\"]");
	assert_int_equal(check_file(w, w->project_file, NULL), 0);
}

static void a_chain_has_an_end(void **state)
{
	struct world *w = *state;
	FILE *f = fopen(w->user, "w");
	for (int i = 0; i < 2000; i++)
		fprintf(f, "[profiles.p%d]\nextends = \"p%d\"\n", i, i + 1);
	fprintf(f, "[profiles.p2000]\n");
	fclose(f);
	assert_int_equal(load(w), AIRLOCK_ERR_INVALID);
	assert_non_null(strstr(w->err.message, "more than 32 profiles extend each other"));
}

static void the_longest_chain_ends_with_the_default(void **state)
{
	struct world *w = *state;
	FILE *f = fopen(w->user, "w");
	for (int i = 0; i < 31; i++)
		fprintf(f, "[profiles.p%d]\nextends = \"p%d\"\n", i, i + 1);
	fprintf(f, "[profiles.p31]\n");
	fclose(f);
	load_well(w);
}

static void write_bytes(const char *path, size_t n)
{
	FILE *f = fopen(path, "w");
	for (size_t i = 0; i < n; i++)
		fputc('#', f);
	fclose(f);
}

static void a_mebibyte_is_the_limit(void **state)
{
	struct world *w = *state;
	write_bytes(w->user, 1 << 20);
	load_well(w);
	write_bytes(w->user, (1 << 20) + 1);
	assert_int_equal(load(w), AIRLOCK_ERR_LIMIT);
	assert_string_equal(w->err.subject, w->user);
	unlink(w->user);
	write_bytes(w->project_file, (1 << 20) + 1);
	assert_int_equal(load(w), AIRLOCK_ERR_LIMIT);
	assert_int_equal(config_trust(w->trust, w->project, NULL), AIRLOCK_ERR_LIMIT);
}

/* Each place where a file is expected, and what may be there instead. */
static void what_is_no_file_is_refused(void **state)
{
	struct world *w = *state;
	const char *const places[] = {w->system, w->user, w->project_file};
	for (size_t i = 0; i < AL_ARRAY_LEN(places); i++) {
		assert_int_equal(mkdir(places[i], 0755), 0);
		assert_int_equal(load(w), AIRLOCK_ERR_INVALID);
		assert_non_null(strstr(w->err.message, "is a directory"));
		assert_int_equal(rmdir(places[i]), 0);
		assert_int_equal(mkfifo(places[i], 0644), 0);
		assert_int_equal(load(w), AIRLOCK_ERR_INVALID);
		assert_non_null(strstr(w->err.message, "is not a regular file"));
		assert_int_equal(unlink(places[i]), 0);
		FILE *f = fopen(places[i], "w");
		fwrite("\x7f"
		       "ELF\0\1\2\3",
		       1, 8, f);
		fclose(f);
		assert_int_equal(load(w), AIRLOCK_ERR_INVALID);
		assert_non_null(strstr(w->err.message, "is not a text file"));
		assert_string_equal(w->err.subject, places[i]);
		assert_int_equal(unlink(places[i]), 0);
	}
}

static void missing_files_are_fine_unless_named(void **state)
{
	struct world *w = *state;
	load_well(w);
	assert_int_equal(w->c->warnings.n, 0);
	w->user_file_required = true;
	assert_int_equal(load(w), AIRLOCK_ERR_NOT_FOUND);
	assert_string_equal(w->err.subject, w->user);
	assert_int_equal(check_file(w, w->user, NULL), AIRLOCK_ERR_NOT_FOUND);
	const struct config_inputs none = {.home = w->home, .cwd = w->home};
	assert_int_equal(config_load(&none, &w->c, &w->err), 0);
}

/* Dotfiles are often links; a project's file must be its own. */
static void links_count_for_the_user_not_for_a_project(void **state)
{
	struct world *w = *state;
	write_file(w->system, "[sandbox]\nshell = \"zsh\"");
	assert_int_equal(symlink(w->system, w->user), 0);
	load_well(w);
	assert_value(w, "sandbox.shell", "\"zsh\"", "user:2");
	assert_int_equal(symlink(w->system, w->project_file), 0);
	assert_int_equal(load(w), AIRLOCK_ERR_INVALID);
	assert_non_null(strstr(w->err.message, "is a symbolic link"));
	assert_string_equal(w->err.subject, w->project_file);
	assert_int_equal(config_trust(w->trust, w->project, NULL), AIRLOCK_ERR_INVALID);
	unlink(w->project_file);
	assert_int_equal(symlink("nowhere", w->project_file), 0);
	assert_int_equal(load(w), AIRLOCK_ERR_INVALID);
}

static void files_others_can_write_are_refused(void **state)
{
	struct world *w = *state;
	const char *const places[] = {w->system, w->user};
	for (size_t i = 0; i < AL_ARRAY_LEN(places); i++) {
		write_file(places[i], "");
		assert_int_equal(chmod(places[i], 0664), 0);
		load_well(w);
		assert_int_equal(chmod(places[i], 0646), 0);
		assert_int_equal(load(w), AIRLOCK_ERR_INVALID);
		assert_non_null(strstr(w->err.message, "is writable by everybody"));
		assert_string_equal(w->err.subject, places[i]);
		assert_true(w->err.hint[0]);
		assert_int_equal(check_file(w, places[i], NULL), 0);
		unlink(places[i]);
	}
	/* A project's file is trusted by what it says, not by who may write it. */
	write_file(w->project_file, "");
	assert_int_equal(chmod(w->project_file, 0666), 0);
	load_well(w);
}

/* As root another owner can be made; as anybody else a file of root's is looked at instead, which is fine. */
static void files_of_other_users_are_refused(void **state)
{
	struct world *w = *state;
	write_file(w->user, "");
	if (geteuid() == 0) {
		assert_int_equal(chown(w->user, 65534, 65534), 0);
		assert_int_equal(load(w), AIRLOCK_ERR_INVALID);
		assert_non_null(strstr(w->err.message, "belongs to another user"));
		assert_int_equal(chown(w->user, 0, 0), 0);
		/* The same file for that other user, who is not its owner: root's files are fine. */
		assert_int_equal(chmod(w->dir, 0755), 0);
		assert_int_equal(seteuid(65534), 0);
		load_well(w);
		assert_int_equal(seteuid(0), 0);
	} else {
		snprintf(w->user, sizeof w->user, "/etc/hostname");
		assert_int_not_equal(load(w), AIRLOCK_ERR_IO);
		assert_null(strstr(w->err.message, "belongs to another user"));
	}
}

static void unreadable_files_are_named(void **state)
{
	struct world *w = *state;
	bool root = geteuid() == 0;
	write_file(w->user, "");
	assert_int_equal(chmod(w->user, 0), 0);
	assert_int_equal(chmod(w->dir, 0755), 0);
	if (root)
		assert_int_equal(seteuid(65534), 0);
	int rc = load(w);
	if (root)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(rc, AIRLOCK_ERR_IO);
	assert_int_equal(w->err.errnum, EACCES);
	assert_string_equal(w->err.subject, w->user);
}

static void a_long_path_leaves_room_for_the_fault(void **state)
{
	struct world *w = *state;
	char path[1200] = "";
	strcpy(path, w->dir);
	while (strlen(path) < 1000) {
		strcat(path,
		       "/ddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd");
		assert_int_equal(mkdir(path, 0755), 0);
	}
	strcat(path, "/c.toml");
	write_file(path, "[sandbox]\nenable = true");
	assert_int_equal(check_file(w, path, &w->err), AIRLOCK_ERR_INVALID);
	assert_non_null(strstr(w->err.message, "/c.toml:2:1: unknown key \"enable\""));
	assert_non_null(strstr(w->err.message, "did you mean \"enabled\"?"));
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, world_open, world_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(every_key_is_read),
		WORLD_TEST(mistakes_are_named_with_their_place),
		WORLD_TEST(a_project_is_held_to_the_same_rules),
		WORLD_TEST(profiles_of_other_files_are_no_mistake),
		WORLD_TEST(a_chain_has_an_end),
		WORLD_TEST(the_longest_chain_ends_with_the_default),
		WORLD_TEST(a_mebibyte_is_the_limit),
		WORLD_TEST(what_is_no_file_is_refused),
		WORLD_TEST(missing_files_are_fine_unless_named),
		WORLD_TEST(links_count_for_the_user_not_for_a_project),
		WORLD_TEST(files_others_can_write_are_refused),
		WORLD_TEST(files_of_other_users_are_refused),
		WORLD_TEST(unreadable_files_are_named),
		WORLD_TEST(a_long_path_leaves_room_for_the_fault),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
