/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tests.h"

#include "base/path.h"
#include "policy/policy.h"

#include <fnmatch.h>

#include <stdlib.h>

#define HOME "/home/u"

static struct policy builtin(const char *name, const char *home)
{
	struct policy p = POLICY_INIT;
	struct airlock_error err = {0};
	assert_int_equal(policy_apply_builtin(&p, name, home, &err), 0);
	assert_int_equal(policy_validate(&p, &err), 0);
	return p;
}

/* "read", "hide"… or "unseen" when no rule covers the path. */
static const char *access_of(const struct policy *p, const char *path)
{
	const struct policy_path *rule = policy_rule_for(p, path);
	return rule ? policy_access_name(rule->access) : "unseen";
}

/* Every row of the table of profiles that is about paths. */
static void profiles_show_what_they_promise(void **state)
{
	static const struct {
		const char *path, *strict, *moderate, *permissive;
	} rows[] = {
		/* root */
		{"/", "unseen", "read", "read"},
		{"/usr/bin/env", "read", "read", "read"},
		{"/bin/sh", "read", "read", "read"},
		{"/sbin/ip", "read", "read", "read"},
		{"/lib/ld.so", "read", "read", "read"},
		{"/lib32/x", "read", "read", "read"},
		{"/lib64/ld-linux-x86-64.so.2", "read", "read", "read"},
		{"/libx32/x", "read", "read", "read"},
		{"/etc", "unseen", "read", "read"},
		{"/etc/passwd", "read", "read", "read"},
		{"/etc/ssl/certs/a.pem", "read", "read", "read"},
		{"/etc/ld.so.cache", "read", "read", "read"},
		{"/etc/default/grub", "unseen", "read", "read"},
		{"/etc/machine-id", "unseen", "read", "read"},
		{"/etc/mysql/debian.cnf", "unseen", "read", "read"},
		{"/opt/sdk", "unseen", "read", "read"},
		{"/var/lib/x", "unseen", "read", "read"},
		{"/srv", "unseen", "read", "read"},
		{"/boot/config", "unseen", "read", "read"},
		/* home */
		{HOME, "tmpfs", "read", "read"},
		{HOME "/notes.txt", "tmpfs", "read", "read"},
		{HOME "/.config/app", "tmpfs", "read", "read"},
		{HOME "/.ssh/id_ed25519", "hide", "hide", "read"},
		{HOME "/.bash_history", "hide", "hide", "read"},
		{HOME "/.config/gh/hosts.yml", "hide", "hide", "read"},
		{HOME "/.docker/config.json", "hide", "hide", "read"},
		{HOME "/.docker/cli-plugins", "tmpfs", "read", "read"},
		{HOME "/.sshx", "tmpfs", "read", "read"},
		/* other people */
		{"/home", "unseen", "hide", "read"},
		{"/home/other/x", "unseen", "hide", "read"},
		{"/var/home/other", "unseen", "hide", "read"},
		{"/root/.bashrc", "unseen", "hide", "read"},
		/* run, sockets, temporary files */
		{"/run", "tmpfs", "tmpfs", "tmpfs"},
		{"/run/user/1000/bus", "tmpfs", "tmpfs", "tmpfs"},
		{"/run/docker.sock", "tmpfs", "tmpfs", "tmpfs"},
		{"/tmp", "tmpfs", "tmpfs", "tmpfs"},
		{"/tmp/.X11-unix/X0", "tmpfs", "tmpfs", "tmpfs"},
		{"/var/tmp/x", "tmpfs", "tmpfs", "tmpfs"},
		/* secrets of the machine */
		{"/etc/shadow", "hide", "hide", "hide"},
		{"/etc/shadow-", "hide", "hide", "hide"},
		{"/etc/gshadow", "hide", "hide", "hide"},
		{"/etc/gshadow-", "hide", "hide", "hide"},
		{"/etc/sudoers", "hide", "hide", "read"},
		{"/etc/sudoers.d/x", "hide", "hide", "read"},
		{"/etc/ssh/ssh_host_rsa_key", "hide", "hide", "read"},
		{"/etc/ssh/ssh_host_ecdsa_key", "hide", "hide", "read"},
		{"/etc/ssh/ssh_host_ed25519_key", "hide", "hide", "read"},
		{"/etc/ssh/ssh_host_dsa_key", "hide", "hide", "read"},
		{"/etc/ssh/ssh_config", "unseen", "read", "read"},
		{"/etc/ssl/private/server.key", "hide", "hide", "read"},
	};
	struct policy strict = builtin("strict", HOME), moderate = builtin("moderate", HOME),
		      permissive = builtin("permissive", HOME);
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		print_message("# %s\n", rows[i].path);
		assert_string_equal(access_of(&strict, rows[i].path), rows[i].strict);
		assert_string_equal(access_of(&moderate, rows[i].path), rows[i].moderate);
		assert_string_equal(access_of(&permissive, rows[i].path), rows[i].permissive);
	}
	policy_done(&strict);
	policy_done(&moderate);
	policy_done(&permissive);
}

/* The rest of the table: network, changes, limits, nested. */
static void profiles_have_their_values(void **state)
{
	static const struct {
		const char *name;
		enum policy_network network;
		const char *changes;
		int64_t timeout_ms, memory, pids;
		bool inherit, nested;
	} rows[] = {
		{"strict", POLICY_NETWORK_REFUSE, "hold", 60000, INT64_C(1) << 30, 256, false, false},
		{"moderate", POLICY_NETWORK_OFF, "apply", 600000, TEXT_NONE, 4096, true, false},
		{"permissive", POLICY_NETWORK_OFF, "apply", TEXT_NONE, TEXT_NONE, TEXT_NONE, true, true},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		struct policy p = builtin(rows[i].name, HOME);
		assert_string_equal(p.profile, rows[i].name);
		assert_int_equal(p.network, rows[i].network);
		assert_string_equal(policy_changes_name(p.changes), rows[i].changes);
		assert_int_equal(p.timeout_ms.value, rows[i].timeout_ms);
		assert_int_equal(p.memory.value, rows[i].memory);
		assert_int_equal(p.pids.value, rows[i].pids);
		assert_int_equal(p.file_size.value, TEXT_NONE);
		assert_false(p.timeout_ms.asked || p.memory.asked || p.pids.asked || p.file_size.asked);
		assert_int_equal(p.env_inherit, rows[i].inherit);
		assert_int_equal(p.nested, rows[i].nested);
		assert_false(p.share_pid || p.network_wanted || p.changes_asked);
		assert_true(p.new_session);
		policy_done(&p);
	}
}

static void rules_say_which_profile_they_are_from(void **state)
{
	for (const char *const *name = policy_builtin_names(); *name; name++) {
		struct policy p = builtin(*name, HOME);
		assert_true(policy_is_builtin(*name));
		for (size_t i = 0; i < p.n_paths; i++) {
			assert_int_equal(p.paths[i].origin.kind, AIRLOCK_ORIGIN_BUILTIN);
			assert_string_equal(p.paths[i].origin.name, *name);
			assert_true(path_is_normal(p.paths[i].path));
			assert_false(path_is_beneath(p.paths[i].path, "/proc"));
			assert_false(path_is_beneath(p.paths[i].path, "/dev"));
		}
		policy_done(&p);
	}
	assert_false(policy_is_builtin("custom"));
	assert_false(policy_is_builtin(""));
}

static void an_unknown_profile_is_not_found(void **state)
{
	struct policy p = POLICY_INIT;
	struct airlock_error err = {0};
	assert_int_equal(policy_apply_builtin(&p, "lax", HOME, &err), AIRLOCK_ERR_NOT_FOUND);
	assert_non_null(strstr(err.message, "lax"));
	policy_done(&p);
}

static void every_secret_is_hidden_once(void **state)
{
	struct policy p = builtin("moderate", HOME);
	const char *const *names = policy_secret_names();
	for (size_t i = 0; names[i]; i++) {
		char *path = path_join(HOME, names[i]);
		assert_true(path_is_normal(path));
		assert_string_equal(access_of(&p, path), "hide");
		for (size_t j = 0; names[j]; j++) /* nor needlessly below another: each costs a look */
			assert_true(i == j || !path_is_beneath(names[i], names[j]));
		free(path);
	}
	policy_done(&p);
}

/* What the design names must be in the table, however it grows. */
static void the_named_secrets_are_in_the_table(void **state)
{
	static const char *const named[] = {
		".ssh",
		".gnupg",
		".aws",
		".azure",
		".config/gcloud",
		".kube",
		".docker/config.json",
		".netrc",
		".npmrc",
		".pypirc",
		".git-credentials",
		".config/gh",
		".password-store",
		".mozilla",
		".config/google-chrome",
		".config/chromium",
		".local/share/keyrings",
		".bash_history",
		".zsh_history",
		".histfile",
		".python_history",
		".node_repl_history",
		".psql_history",
		".mysql_history",
		".sqlite_history",
		".lesshst",
		".local/share/fish/fish_history",
		".claude.json",
		".claude/.credentials.json",
		".codex/auth.json",
		".gemini/oauth_creds.json",
		".config/github-copilot",
		".cargo/credentials",
		".cargo/credentials.toml",
		".gem/credentials",
		".config/rclone",
		".config/op",
		".terraform.d/credentials.tfrc.json",
		".vault-token",
		".pgpass",
		".my.cnf",
		".s3cfg",
		".boto",
		".config/doctl",
		".config/hub",
		".local/share/kwalletd",
		".thunderbird",
		".config/BraveSoftware",
		".tsh",
		".step",
		".acme.sh",
		".local/share/mkcert",
		".android/adbkey",
		".config/argocd",
		".supabase",
		".modal.toml",
		".mcp-auth",
		".vscode-server/data/User/globalStorage",
		".claude/projects",
		".claude/history.jsonl",
		".codex/sessions",
		".codex/history.jsonl",
		".gemini/tmp",
		".ipython/profile_default/history.sqlite",
		".local/state/nvim/shada",
		".Rhistory",
		".irb_history",
		".rediscli_history",
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(named); i++) {
		bool found = false;
		for (const char *const *s = policy_secret_names(); *s; s++)
			found = found || strcmp(*s, named[i]) == 0;
		print_message("# %s\n", named[i]);
		assert_true(found);
	}
}

/* Homes in unusual places still are what the profile says. */
static void homes_may_be_anywhere(void **state)
{
	static const struct {
		const char *profile, *home, *path, *access;
	} rows[] = {
		{"moderate", "/root", "/root/x", "read"},
		{"moderate", "/root", "/root/.ssh", "hide"},
		{"moderate", "/root", "/home/u", "hide"},
		{"moderate", "/root/deep", "/root/deep/x", "read"},
		{"moderate", "/home", "/home/x", "read"},
		{"moderate", "/tmp/h", "/tmp/h/x", "read"},
		{"moderate", "/tmp/h", "/tmp/h/.ssh/k", "hide"},
		{"moderate", "/tmp/h", "/tmp/other", "tmpfs"},
		{"moderate", "/", "/x", "read"},
		{"moderate", "/", "/.ssh", "hide"},
		{"moderate", "/var/home/u", "/var/home/u/x", "read"},
		{"moderate", "/var/home/u", "/var/home/o", "hide"},
		{"permissive", "/tmp/h", "/tmp/h/x", "read"},
		{"strict", "/", "/x", "unseen"},
		{"strict", "/root", "/root/x", "tmpfs"},
		{"strict", "/usr/home/u", "/usr/home/u/x", "tmpfs"},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		struct policy p = builtin(rows[i].profile, rows[i].home);
		print_message("# %s %s %s\n", rows[i].profile, rows[i].home, rows[i].path);
		assert_string_equal(access_of(&p, rows[i].path), rows[i].access);
		policy_done(&p);
	}
}

static void the_most_specific_rule_wins_then_the_latest(void **state)
{
	struct policy p = POLICY_INIT;
	struct airlock_error err = {0};
	assert_int_equal(policy_add_path(&p, POLICY_HIDE, "/a/b", RULE_ORIGIN(CALLER, "1"), &err), 0);
	assert_int_equal(policy_add_path(&p, POLICY_READ, "/a", RULE_ORIGIN(CALLER, "2"), &err), 0);
	assert_int_equal(policy_add_path(&p, POLICY_WRITE, "/a/b/c", RULE_ORIGIN(CALLER, "3"), &err), 0);
	assert_int_equal(policy_add_path(&p, POLICY_TMPFS, "/a/b/c", RULE_ORIGIN(CALLER, "4"), &err), 0);
	static const struct {
		const char *path, *origin;
	} rows[] = {{"/a", "2"},       {"/a/x", "2"}, {"/a/b", "1"}, {"/a/b/d", "1"}, {"/a/b/c", "4"},
		    {"/a/b/c/d", "4"}, {"/ab", NULL}, {"/", NULL},   {"/a/bc", "2"}};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		const struct policy_path *rule = policy_rule_for(&p, rows[i].path);
		assert_int_equal(rule != NULL, rows[i].origin != NULL);
		if (rule)
			assert_string_equal(rule->origin.name, rows[i].origin);
	}
	policy_done(&p);
}

static void only_normal_paths_become_rules(void **state)
{
	static const char *const bad[] = {"", "a", "./a", "/a/", "/a//b", "/a/../b", "/.", "~/x"};
	struct policy p = POLICY_INIT;
	for (size_t i = 0; i < AL_ARRAY_LEN(bad); i++) {
		struct airlock_error err = {0};
		assert_int_equal(policy_add_path(&p, POLICY_READ, bad[i], RULE_ORIGIN(CALLER, "x"), &err),
				 AIRLOCK_ERR_INVALID);
	}
	assert_int_equal(p.n_paths, 0);
	policy_done(&p);
}

/* Words of one string: a table of names that stays readable. */
static const struct env_row {
	bool strict, moderate, permissive;
	const char *names;
} env_rows[] = {
	/* what every program needs */
	{true, true, true,
	 "PATH HOME USER LOGNAME SHELL TERM COLORTERM LANG LANGUAGE LC_ALL LC_CTYPE TZ NO_COLOR PWD CI COLUMNS"},
	/* innocents, some of which look like something else */
	{false, true, true,
	 "EDITOR KEYBOARD KEYMAP MONKEY XKB_DEFAULT_LAYOUT SHIPPING GIT_CONFIG_GLOBAL CURIOUS DESKTOP_SESSION "
	 "TOKENIZERS_PARALLELISM GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL "
	 "PYTHONPATH MANPATH LD_LIBRARY_PATH PKG_CONFIG_PATH JAVA_HOME CARGO_HOME VIRTUAL_ENV "
	 "NODE_ENV "
	 "MAKEFLAGS CFLAGS DEBUG DISPLAY HTTP_PROXY XDG_SESSION_ID COMPASS AUTHORS PATTERN path LCALL"},
	/* secrets by name */
	{false, false, true,
	 "GITHUB_TOKEN GH_TOKEN NPM_TOKEN HF_TOKEN TOKEN ACCESSTOKEN GITHUB_TOKEN_FILE OPENAI_API_KEY "
	 "ANTHROPIC_API_KEY "
	 "APIKEY MY_APIKEY_2 STRIPE_KEY APP_KEY DEPLOY_PRIVATE_KEY_PEM CLIENT_SECRET SECRET_KEY_BASE DB_PASSWORD "
	 "PGPASSWORD MYSQL_PWD ROOT_PASSWD SMTP_PASS GPG_PASSPHRASE AZDO_PAT REGISTRY_AUTH DOCKER_AUTH_CONFIG "
	 "npm_config__authToken npm_config__auth CI_JOB_JWT SLACK_WEBHOOK_URL ERLANG_COOKIE GOOGLE_OAUTH_CLIENT"},
	/* addresses with passwords, clouds, ways to agents and daemons */
	{false, false, true,
	 "DATABASE_URL PROD_DATABASE_URL REDIS_URL MONGODB_URI SENTRY_DSN AZURE_STORAGE_CONNECTION_STRING AWS_PROFILE "
	 "AWS_ACCESS_KEY_ID AZURE_CLIENT_ID GCP_PROJECT CLOUDSDK_CONFIG GOOGLE_APPLICATION_CREDENTIALS VAULT_ADDR "
	 "KUBECONFIG NETRC SSH_AUTH_SOCK SSH_AGENT_PID SSH_ASKPASS GIT_ASKPASS GPG_AGENT_INFO DBUS_SESSION_BUS_ADDRESS "
	 "XAUTHORITY DOCKER_HOST DOCKER_CONFIG VSCODE_GIT_IPC_HANDLE"},
	{false, false, true,
	 "TS_AUTHKEY TAILSCALE_AUTHKEY CELERY_BROKER_URL BROKER_URL PG_DSN DSN SPARK_URI SSHPASS JWT FTP_PW CARD_PIN "
	 "GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0 GIT_CONFIG_PARAMETERS OTEL_EXPORTER_OTLP_HEADERS "
	 "WALLET_MNEMONIC BW_SESSION OP_SESSION_my TLS_PEM GCS_SERVICE_ACCOUNT_JSON ConnectionStrings__Default "
	 "API_KEYS "
	 "OPENAI_KEY_2 HTTP_AUTHORIZATION"},
	/* wrong inside, in every profile */
	{false, false, false, "AIRLOCK_PROFILE AIRLOCK_X TMPDIR TMP TEMP TEMPDIR XDG_RUNTIME_DIR OLDPWD"},
};

static void check_name(const char *name, const struct env_row *row)
{
	struct policy strict = builtin("strict", HOME), moderate = builtin("moderate", HOME),
		      permissive = builtin("permissive", HOME);
	print_message("# %s\n", name);
	assert_int_equal(policy_keeps_env(&strict, name), row->strict);
	assert_int_equal(policy_keeps_env(&moderate, name), row->moderate);
	assert_int_equal(policy_keeps_env(&permissive, name), row->permissive);
	policy_done(&strict);
	policy_done(&moderate);
	policy_done(&permissive);
}

static void names_are_kept_or_removed(void **state)
{
	size_t seen = 0;
	for (size_t i = 0; i < AL_ARRAY_LEN(env_rows); i++) {
		char *names = strdup(env_rows[i].names), *rest = NULL;
		for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest), seen++)
			check_name(name, &env_rows[i]);
		free(names);
	}
	assert_true(seen > 100);
}

static void values_tell_secrets(void **state)
{
	static const char *const secret[] = {
		"postgres://user:secret@db.example:5432/app",
		"redis://:secret@cache",
		"https://ghp_abc123@git.example/x.git",
		"HTTP://u:p@proxy.example:8080",
		"amqps://u:p%40ss@mq/vhost",
		"mongodb+srv://u:pa/ss@cluster.example/db?x=1",
		"first=http://plain.example second=ftp://u:p@files.example",
		"--index-url https://__token__:pypi-abc@pkgs.example/simple",
		"jdbc:postgresql://u:p@db/app",
		"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----",
		"-----BEGIN RSA PRIVATE KEY-----",
	};
	static const char *const harmless[] = {
		"",
		"://",
		"://@",
		"https://example.org/",
		"https://example.org:8080/a@b",
		"http://example.org/x:y@z",
		"ssh://git@git.example/x.git",
		"git@git.example:x/y.git",
		"user:secret@host",
		"http://[::1]:80/a@b",
		"https://example.org and me@example.org",
		"unix:///run/x:y",
		"https://@host",
		"ssh://git:@host",
		"-----BEGIN CERTIFICATE-----",
		"file:///a:b/c@d",
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(secret); i++) {
		print_message("# %s\n", secret[i]);
		assert_true(policy_env_value_is_secret(secret[i]));
	}
	for (size_t i = 0; i < AL_ARRAY_LEN(harmless); i++) {
		print_message("# %s\n", harmless[i]);
		assert_false(policy_env_value_is_secret(harmless[i]));
	}
}

static enum policy_env_verdict judged(const struct policy *p, const char *name, const char *value)
{
	struct policy_env e;
	assert_true(policy_env_init(&e, p));
	enum policy_env_verdict verdict = policy_env_judge(&e, name, value);
	policy_env_done(&e);
	return verdict;
}

/* A profile's own list of names does not save a value; what a person allows, or names for this run, does. */
static void secret_values_are_removed_unless_allowed(void **state)
{
	static const char value[] = "https://user:secret@host";
	struct policy strict = builtin("strict", HOME), moderate = builtin("moderate", HOME),
		      permissive = builtin("permissive", HOME);
	struct airlock_error err = {0};
	assert_int_equal(judged(&strict, "LANG", value), POLICY_ENV_VALUE);
	assert_int_equal(judged(&strict, "MIRROR", value), POLICY_ENV_NOT_LISTED);
	assert_int_equal(judged(&moderate, "MIRROR", value), POLICY_ENV_VALUE);
	assert_int_equal(judged(&moderate, "MIRROR", "https://host"), POLICY_ENV_KEPT);
	assert_int_equal(judged(&moderate, "GH_TOKEN", value), POLICY_ENV_NAME);
	assert_int_equal(judged(&permissive, "MIRROR", value), POLICY_ENV_KEPT);
	policy_allow_env(&moderate, "MIRR*", &err);
	assert_int_equal(judged(&moderate, "MIRROR", value), POLICY_ENV_KEPT);
	strs_add(&strict.env_set, "MIRROR");
	assert_int_equal(judged(&strict, "MIRROR", value), POLICY_ENV_KEPT);
	policy_done(&strict);
	policy_done(&moderate);
	policy_done(&permissive);
}

/* The later source decides, and within one source what it allows is the exception to what it denies. */
static void the_order_of_env_patterns_counts(void **state)
{
	struct policy p = builtin("moderate", HOME);
	struct airlock_error err = {0};
	policy_allow_env(&p, "GITHUB_TOKEN", &err);
	policy_allow_env(&p, "MY_*", &err);
	assert_true(policy_keeps_env(&p, "GITHUB_TOKEN"));
	assert_true(policy_keeps_env(&p, "MY_TOKEN"));
	assert_false(policy_keeps_env(&p, "OTHER_TOKEN"));
	policy_deny_env(&p, "MY_TOKEN", &err);
	policy_deny_env(&p, "lc_all", &err);
	assert_false(policy_keeps_env(&p, "MY_TOKEN"));
	assert_true(policy_keeps_env(&p, "MY_SECRET"));
	assert_true(policy_keeps_env(&p, "GITHUB_TOKEN"));
	assert_false(policy_keeps_env(&p, "LC_ALL"));
	policy_allow_env(&p, "MY_TOKEN", &err);
	assert_true(policy_keeps_env(&p, "MY_TOKEN"));
	policy_done(&p);
}

/* A list filled without the order: what is allowed is saved from every deny. */
static void patterns_without_an_order_let_allow_win(void **state)
{
	struct policy p = {.env_inherit = true};
	struct airlock_error err = {0};
	strs_add(&p.env_deny, "A*");
	strs_add(&p.env_allow, "AB");
	assert_true(policy_keeps_env(&p, "AB"));
	assert_false(policy_keeps_env(&p, "AC"));
	policy_deny_env(&p, "AB", &err);
	assert_false(policy_keeps_env(&p, "AB"));
	policy_done(&p);
}

static void named_variables_pass_whatever_the_patterns(void **state)
{
	struct policy p = builtin("strict", HOME);
	static const char *const set[] = {"TMPDIR", "GITHUB_TOKEN", "AIRLOCK_PROFILE", "PATH=/x", "GIVEN=1"};
	for (size_t i = 0; i < AL_ARRAY_LEN(set); i++)
		strs_add(&p.env_set, set[i]);
	assert_true(policy_keeps_env(&p, "TMPDIR"));
	assert_true(policy_keeps_env(&p, "GITHUB_TOKEN"));
	assert_true(policy_keeps_env(&p, "AIRLOCK_PROFILE"));
	/* Given another value: the caller's is not kept. */
	assert_false(policy_keeps_env(&p, "PATH"));
	assert_false(policy_keeps_env(&p, "GIVEN"));
	assert_false(policy_keeps_env(&p, "GIV"));
	policy_done(&p);
}

/* An allow pattern cannot bring back what is wrong inside. */
static void patterns_never_pass_what_is_wrong_inside(void **state)
{
	struct policy p = builtin("permissive", HOME);
	struct airlock_error err = {0};
	policy_allow_env(&p, "*", &err);
	assert_false(policy_keeps_env(&p, "TMPDIR"));
	assert_false(policy_keeps_env(&p, "AIRLOCK_TIMEOUT"));
	policy_done(&p);
}

/* The quick comparison is only that: fnmatch(3) is what the patterns mean. */
static void a_pattern_means_what_fnmatch_says(void **state)
{
	static const char *const patterns[] = {"*",	 "**",	   "A", "a*", "*A",    "*A*",	"A*B", "*_KEY", "K?Y",
					       "[KL]EY", "KEY\\*", "",	"*?", "AB*AB", "*KEY*", "key", "K*",	"*EY"};
	static const char *const names[] = {"A",    "a",     "AB",  "aB",   "ABAB",    "ABxAB", "KEY", "key",
					    "KEY*", "A_KEY", "LEY", "KEYS", "MONKEYS", "_KEY",	"K",   "EY"};
	for (size_t i = 0; i < AL_ARRAY_LEN(patterns); i++) {
		struct policy deny = POLICY_INIT, allow = POLICY_INIT;
		struct airlock_error err = {0};
		deny.env_inherit = true;
		assert_int_equal(policy_deny_env(&deny, patterns[i], &err), 0);
		assert_int_equal(policy_allow_env(&allow, patterns[i], &err), 0);
		for (size_t k = 0; k < AL_ARRAY_LEN(names); k++) {
			assert_int_equal(policy_keeps_env(&deny, names[k]),
					 fnmatch(patterns[i], names[k], FNM_CASEFOLD) != 0);
			assert_int_equal(policy_keeps_env(&allow, names[k]), fnmatch(patterns[i], names[k], 0) == 0);
		}
		policy_done(&deny);
		policy_done(&allow);
	}
}

static void paths_are_expanded(void **state)
{
	static const struct {
		const char *text, *path; /* NULL: invalid */
	} rows[] = {
		{"~", HOME},
		{"~/", HOME},
		{"~/x/../y", HOME "/y"},
		{"~//x", HOME "/x"},
		{"~/../x", "/home/x"},
		{"/", "/"},
		{"/a/./b//c/", "/a/b/c"},
		{"/..", "/"},
		{"", NULL},
		{"x", NULL},
		{"./x", NULL},
		{"~root", NULL},
		{"~root/x", NULL},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		struct airlock_error err = {0};
		char *path = NULL;
		int rc = policy_expand_path(rows[i].text, HOME, &path, &err);
		assert_int_equal(rc, rows[i].path ? 0 : AIRLOCK_ERR_INVALID);
		if (rows[i].path)
			assert_string_equal(path, rows[i].path);
		free(path);
	}
	struct airlock_error err = {0};
	char *path = NULL;
	assert_int_equal(policy_expand_path("~/x", NULL, &path, &err), AIRLOCK_ERR_INVALID);
}

enum broken {
	TIMEOUT,
	MEMORY,
	PIDS,
	FSIZE,
	NETWORK,
	CHANGES,
	PROFILE,
	ENV_SET,
	ENV_NAME,
	ENV_PATTERN,
	PROC,
	DEV,
	FINE
};

static void break_it(struct policy *p, enum broken what)
{
	struct airlock_error err = {0};
	switch (what) {
	case TIMEOUT:
		p->timeout_ms.value = 0;
		break;
	case MEMORY:
		p->memory.value = 4096;
		break;
	case PIDS:
		p->pids.value = 0;
		break;
	case FSIZE:
		p->file_size.value = -1;
		break;
	case NETWORK:
		p->network = (enum policy_network)7;
		break;
	case CHANGES:
		p->changes = (enum policy_changes)7;
		break;
	case PROFILE:
		p->profile[0] = '\0';
		break;
	case ENV_SET:
		strs_add(&p->env_set, "");
		break;
	case ENV_NAME:
		strs_add(&p->env_set, "=x");
		break;
	case ENV_PATTERN:
		policy_deny_env(p, "", &err);
		break;
	case PROC:
		policy_add_path(p, POLICY_READ, "/proc/1", RULE_ORIGIN(FILE, "x", 1), &err);
		break;
	case DEV:
		policy_add_path(p, POLICY_WRITE, "/dev", RULE_ORIGIN(FILE, "x", 1), &err);
		break;
	case FINE:
		p->file_size.value = 0;
		policy_add_path(p, POLICY_HIDE, "/proc/kcore", RULE_ORIGIN(FILE, "x", 1), &err);
		policy_add_path(p, POLICY_READ, "/device", RULE_ORIGIN(FILE, "x", 1), &err);
		strs_add(&p->env_set, "A=");
		break;
	}
}

static void impossible_values_are_refused(void **state)
{
	for (enum broken what = TIMEOUT; what <= FINE; what++) {
		struct policy p = builtin("moderate", HOME);
		struct airlock_error err = {0};
		break_it(&p, what);
		assert_int_equal(policy_validate(&p, &err), what == FINE ? 0 : AIRLOCK_ERR_INVALID);
		assert_int_equal(err.message[0] == '\0', what == FINE);
		policy_done(&p);
	}
}

static bool table_has(const char *name)
{
	for (const struct policy_cache *c = policy_caches(); c->name; c++)
		if (strcmp(c->name, name) == 0)
			return true;
	return false;
}

static void the_table_of_caches_is_in_order(void **state)
{
	(void)state;
	static const char *const promised[] = {".npm",
					       ".cache",
					       ".cargo/registry",
					       ".cargo/git",
					       "go/pkg",
					       ".gradle/caches",
					       ".m2/repository",
					       ".nuget/packages",
					       ".cache/pip",
					       ".bun/install/cache",
					       ".local/share/pnpm/store"};
	for (size_t i = 0; i < AL_ARRAY_LEN(promised); i++)
		if (!table_has(promised[i]))
			fail_msg("%s is no cache", promised[i]);
	const struct policy_cache *all = policy_caches();
	for (size_t i = 0; all[i].name; i++) {
		_cleanup_free_ char *path = path_join("/home/u", all[i].name);
		assert_int_equal(policy_cache_check(path, "/home/u"), POLICY_CACHE_FINE);
		/* The outer directory comes first, and nothing is there twice: who goes through the table relies on it. */
		for (size_t k = i + 1; all[k].name; k++)
			if (path_is_beneath(all[i].name, all[k].name))
				fail_msg("%s comes before %s", all[i].name, all[k].name);
	}
}

static void caches_are_below_the_home_and_hold_no_programs(void **state)
{
	(void)state;
	static const struct {
		const char *path, *home;
		enum policy_cache_fault fault;
	} cases[] = {
		{"/home/u/.tool/cache", "/home/u", POLICY_CACHE_FINE},
		{"/home/u/.local/share/tool", "/home/u", POLICY_CACHE_FINE},
		{"/home/u/binary", "/home/u", POLICY_CACHE_FINE},
		{"/home/u", "/home/u", POLICY_CACHE_OUTSIDE},
		{"/home/uu/.cache", "/home/u", POLICY_CACHE_OUTSIDE},
		{"/usr/lib", "/home/u", POLICY_CACHE_OUTSIDE},
		{"/", "/home/u", POLICY_CACHE_OUTSIDE},
		{"/.cache", "/", POLICY_CACHE_OUTSIDE},
		{"/home/u/bin", "/home/u", POLICY_CACHE_PROGRAMS},
		{"/home/u/.local/bin", "/home/u", POLICY_CACHE_PROGRAMS},
		{"/home/u/.local", "/home/u", POLICY_CACHE_PROGRAMS},
		{"/home/u/.cargo", "/home/u", POLICY_CACHE_PROGRAMS},
		{"/home/u/go/bin/tool", "/home/u", POLICY_CACHE_PROGRAMS},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(cases); i++)
		if (policy_cache_check(cases[i].path, cases[i].home) != cases[i].fault)
			fail_msg("%s in %s", cases[i].path, cases[i].home);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(profiles_show_what_they_promise),
		cmocka_unit_test(profiles_have_their_values),
		cmocka_unit_test(rules_say_which_profile_they_are_from),
		cmocka_unit_test(an_unknown_profile_is_not_found),
		cmocka_unit_test(every_secret_is_hidden_once),
		cmocka_unit_test(the_named_secrets_are_in_the_table),
		cmocka_unit_test(homes_may_be_anywhere),
		cmocka_unit_test(the_most_specific_rule_wins_then_the_latest),
		cmocka_unit_test(only_normal_paths_become_rules),
		cmocka_unit_test(names_are_kept_or_removed),
		cmocka_unit_test(values_tell_secrets),
		cmocka_unit_test(secret_values_are_removed_unless_allowed),
		cmocka_unit_test(the_order_of_env_patterns_counts),
		cmocka_unit_test(patterns_without_an_order_let_allow_win),
		cmocka_unit_test(named_variables_pass_whatever_the_patterns),
		cmocka_unit_test(patterns_never_pass_what_is_wrong_inside),
		cmocka_unit_test(a_pattern_means_what_fnmatch_says),
		cmocka_unit_test(paths_are_expanded),
		cmocka_unit_test(impossible_values_are_refused),
		cmocka_unit_test(the_table_of_caches_is_in_order),
		cmocka_unit_test(caches_are_below_the_home_and_hold_no_programs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
