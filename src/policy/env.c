/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides which of the caller's variables reach the command: by name here, by value in env_values.c. */
#include "base/glob.h"
#include "policy/policy.h"
#include "policy/tables.h"

#include <string.h>

const char *const policy_env_strict_allow[] = {
	"PATH",	    "HOME",	   "USER",     "LOGNAME",
	"SHELL",    "PWD",	   "TERM",     "COLORTERM",
	"LANG",	    "LANGUAGE",	   "LC_*",     "TZ",
	"NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE",
	"COLUMNS",  "LINES",	   "CI",       "SOURCE_DATE_EPOCH",
	NULL,
};

const char *const policy_env_moderate_deny[] = {
	/* the name says it; TOKEN only at the end of a word, because TOKENIZERS_PARALLELISM is no secret */
	"*TOKEN",
	"*TOKENS",
	"*_TOKEN_*",
	"*_KEY",
	"*_KEYS",
	"*_KEY_[0-9]*",
	"*_KEY_ID",
	"*_KEY_BASE64",
	"*APIKEY*",
	"*API_KEY*",
	"*ACCESS_KEY*",
	"*PRIVATE_KEY*",
	"*PRIVATEKEY*",
	"*SECRET*",
	"*PASSWORD*",
	"*PASSWD*",
	"*PASSPHRASE*",
	"*_PASS",
	"*_PWD",
	"*_PW",
	"SSHPASS",
	"*_PIN",
	"*MNEMONIC*",
	"*SEED_PHRASE*",
	"PGPASSFILE",
	"*CREDENTIAL*",
	"*_CREDS",
	"*_PAT",
	"*_AUTH",
	"*_AUTH_*",
	"*AUTHKEY*",
	"*AUTHORIZATION*",
	"*OAUTH*",
	"JWT",
	"*_JWT",
	"*_JWT_*",
	"*BEARER*",
	"*_COOKIE",
	"*_COOKIES",
	"*_OTP",
	"*_TOTP",
	"*_PSK",
	"*_PEM",
	"*_PFX",
	"*_P12",
	"*_SAS",
	"*SERVICE_ACCOUNT*",
	"*WEBHOOK*",
	"BW_SESSION",
	"OP_SESSION_*",

	/* headers and settings that programs send to a server, with credentials among them */
	"*_HEADERS",
	"*EXTRAHEADER*",
	/* all of them: git fails if a count or a key has no value */
	"GIT_CONFIG_COUNT",
	"GIT_CONFIG_KEY_*",
	"GIT_CONFIG_VALUE_*",
	"GIT_CONFIG_PARAMETERS",

	/* addresses that carry a password */
	"DATABASE_URL",
	"*_DATABASE_URL",
	"DB_URL",
	"*_DB_URL",
	"POSTGRES*_URL",
	"MYSQL*_URL",
	"REDIS*_URL",
	"AMQP*_URL",
	"MONGO*_URL",
	"*_URI",
	"*BROKER_URL",
	"DSN",
	"*_DSN",
	"*CONNECTION_STRING*",
	"*CONNECTIONSTRING*",
	"*_CONN_STR*",

	/* clouds and clusters, whole families */
	"AWS_*",
	"AZURE_*",
	"ARM_CLIENT_*",
	"GCP_*",
	"GCLOUD_*",
	"CLOUDSDK_*",
	"GOOGLE_APPLICATION_*",
	"ALICLOUD_*",
	"ALIBABA_CLOUD_*",
	"OCI_*",
	"DIGITALOCEAN_*",
	"CLOUDFLARE_*",
	"VAULT_*",
	"KUBECONFIG",
	"NETRC",

	/* sockets of programs that act for the user: agents, buses, daemons, displays */
	"SSH_AUTH_SOCK",
	"SSH_AGENT_PID",
	"*ASKPASS*",
	"GPG_AGENT_INFO",
	"GNOME_KEYRING_*",
	"DBUS_*",
	"XAUTHORITY",
	"ICEAUTHORITY",
	"SESSION_MANAGER",
	"DOCKER_HOST",
	"DOCKER_CONFIG",
	"DOCKER_CERT_PATH",
	"CONTAINER_HOST",
	"CONTAINERD_ADDRESS",
	"BUILDKIT_HOST",
	"VSCODE_IPC_*",
	"VSCODE_GIT_IPC_*",
	NULL,
};

/* Wrong inside the sandbox in every profile: airlock's own settings would control a nested airlock, the temporary
 * directory is a private /tmp, the runtime directory is hidden, and OLDPWD is the caller's directory, not the
 * command's. */
static const char *const never[] = {
	"AIRLOCK_*", "TMPDIR", "TMP", "TEMP", "TEMPDIR", "XDG_RUNTIME_DIR", "OLDPWD", NULL,
};

/* ── Patterns ── */

static bool is_plain(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] == '*' || text[i] == '?' || text[i] == '[' || text[i] == '\\')
			return false;
	return true;
}

static bool matches_any(const char *const *patterns, const char *name)
{
	for (; *patterns; patterns++)
		if (glob_matches(*patterns, name, 0))
			return true;
	return false;
}

/* True if an allow pattern of index `from` or later matches. */
static bool is_allowed(const struct policy *p, size_t from, const char *name)
{
	return from < p->env_allow.n && matches_any((const char *const *)p->env_allow.v + from, name);
}

/* The set of letters in a name, ignoring case: one bit each, some shared with digits. */
static uint32_t letters_of(const char *s, size_t len)
{
	uint32_t bits = 0;
	for (size_t i = 0; i < len; i++)
		bits |= UINT32_C(1) << (s[i] & 31);
	return bits;
}

/* The letters that every matching name must contain; none if that is not easy to tell. */
static uint32_t letters_needed(const char *pattern)
{
	size_t len = strlen(pattern);
	bool open_start = pattern[0] == '*', open_end = len > 1 && pattern[len - 1] == '*';
	const char *word = pattern + open_start;
	size_t n = len - open_start - open_end;
	return is_plain(word, n) ? letters_of(word, n) : 0;
}

static bool same_letter(char a, char b)
{
	return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == (b >= 'A' && b <= 'Z' ? b + ('a' - 'A') : b);
}

/* True if the name begins and ends as the pattern does. Only for patterns that letters_needed knows: a plain word, with or without stars
 * around it. */
static bool fits_ends(const char *pattern, size_t n, const char *name, size_t len)
{
	return len > 0 && (pattern[0] == '*' || same_letter(pattern[0], name[0])) &&
	       (pattern[n - 1] == '*' || same_letter(pattern[n - 1], name[len - 1]));
}

/* Secrets are spelt in any case (npm_config__authToken), so deny patterns ignore case; allow patterns do not. */
static bool is_denied(const struct policy_env *e, const char *name)
{
	const struct policy *p = e->policy;
	size_t len = strlen(name);
	uint32_t letters = letters_of(name, len);
	for (size_t i = 0; i < p->env_deny.n; i++) {
		if (e->letters[i] & ~letters)
			continue;
		const char *pattern = p->env_deny.v[i];
		size_t n = strlen(pattern);
		if (e->letters[i] && !fits_ends(pattern, n, name, len))
			continue;
		size_t earlier_allows = i < p->n_env_deny_after ? p->env_deny_after[i] : 0;
		if (glob_matches_n(pattern, n, name, len, GLOB_ANY_CASE) && !is_allowed(p, earlier_allows, name))
			return true;
	}
	return false;
}

enum named { NOT_NAMED, PASSED, REPLACED };

static enum named named_in_set(const struct policy *p, const char *name)
{
	size_t len = strlen(name);
	for (size_t i = p->env_set.n; i-- > 0;) {
		const char *entry = p->env_set.v[i];
		if (strncmp(entry, name, len) == 0 && (entry[len] == '\0' || entry[len] == '='))
			return entry[len] == '=' ? REPLACED : PASSED;
	}
	return NOT_NAMED;
}

bool policy_env_init(struct policy_env *ret, const struct policy *p)
{
	*ret = (struct policy_env){p, calloc(p->env_deny.n + 1, sizeof *ret->letters)};
	for (size_t i = 0; ret->letters && i < p->env_deny.n; i++)
		ret->letters[i] = letters_needed(p->env_deny.v[i]);
	return ret->letters != NULL;
}

void policy_env_done(struct policy_env *e)
{
	base_freep(&e->letters);
}

enum policy_env_verdict policy_env_judge(const struct policy_env *e, const char *name, const char *value)
{
	const struct policy *p = e->policy;
	enum named named = named_in_set(p, name);
	if (named != NOT_NAMED)
		return named == PASSED ? POLICY_ENV_KEPT : POLICY_ENV_REPLACED;
	if (matches_any(never, name))
		return POLICY_ENV_INSIDE;
	if (is_denied(e, name))
		return POLICY_ENV_NAME;
	if (!p->env_inherit && !is_allowed(p, 0, name))
		return POLICY_ENV_NOT_LISTED;
	if (p->env_hide_values && policy_env_value_is_secret(value) && !is_allowed(p, p->env_values_after, name))
		return POLICY_ENV_VALUE;
	return POLICY_ENV_KEPT;
}

bool policy_keeps_env(const struct policy *p, const char *name)
{
	_cleanup_(policy_env_done) struct policy_env e;
	return policy_env_init(&e, p) && policy_env_judge(&e, name, "") == POLICY_ENV_KEPT;
}

int policy_allow_env(struct policy *p, const char *pattern, struct airlock_error *err)
{
	strs_add(&p->env_allow, pattern);
	return p->env_allow.failed ? base_oom(err) : 0;
}

int policy_deny_env(struct policy *p, const char *pattern, struct airlock_error *err)
{
	size_t *after = realloc(p->env_deny_after, (p->env_deny.n + 1) * sizeof *after);
	if (!after)
		return base_oom(err);
	p->env_deny_after = after;
	while (p->n_env_deny_after < p->env_deny.n)
		after[p->n_env_deny_after++] = 0;
	strs_add(&p->env_deny, pattern);
	if (p->env_deny.failed)
		return base_oom(err);
	after[p->n_env_deny_after++] = p->env_allow.n;
	return 0;
}
