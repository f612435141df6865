/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config/schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MIB (INT64_C(1) << 20)

#define AT(field) offsetof(struct config, field)
#define RULES (SCHEMA_PROFILE | SCHEMA_COMMAND)
#define ANY_NUMBER .max = TEXT_NONE
#define MAX_SHARE (INT64_C(1) << 50) /* "none" is not allowed: unlimited output would use all memory */

/* In the order of the enums. */
static const struct schema_word fallback_words[] = {{"refuse", 2}, {"ask", 1}, {"warn", 0}, {0}};
static const struct schema_word network_words[] = {{"off", 1}, {"ask", 0}, {"refuse", 2}, {0}};
/* Discard throws work away: it is neither tighter nor looser than keeping it. */
static const struct schema_word changes_words[] = {{"direct", 0}, {"apply", 1},	   {"ask", 2},
						   {"hold", 3},	  {"discard", -1}, {0}};
static const struct schema_word backend_words[] = {
	{"auto"}, {"native"}, {"bubblewrap"}, {"landlock"}, {"seatbelt"}, {"passthrough"}, {0}};
/* In the order of enum net_mode; "host" is not for files: every run must ask for it. */
static const struct schema_word network_mode_words[] = {{"off", 2}, {"hosts", 1}, {"open", 0}, {0}};
static const struct schema_word remember_words[] = {{"run", 1}, {"session", 0}, {0}};
static const struct schema_word shell_words[] = {{"sh"}, {"bash"}, {"zsh"}, {0}};

static const char a_profile[] = "the name of a profile (letters, digits, - and _)";
static const char a_duration[] = "a duration such as \"90s\", \"5m\" or \"1h\", a number of seconds, or \"none\"";
static const char a_time[] = "a time such as \"7d\" or \"36h\", a number of seconds, or \"none\"";
static const char a_size[] = "a size such as \"512M\" or \"2G\", a number of bytes, or \"none\"";
static const char a_share[] =
	"a size of at least \"1M\" such as \"512M\" or \"2G\", or a part of the machine's memory such as \"50%\"";
static const char a_session_share[] =
	"a size of at least \"1M\" such as \"512M\" or \"20G\", a part of the disk space that was free when the session began such as \"10%\", or \"none\"";
static const char a_wait[] = "a duration such as \"90s\" or \"5m\", a number of seconds, 0 for not at all, or \"none\"";
static const char paths[] = "a list of paths";
static const char globs[] = "a list of names or patterns of paths in the project, such as \"*.sh\" or \"deploy/**\"";
static const char hosts[] = "a list of hosts such as \"example.org\", \"*.example.net:443\" or \"@set\"";
static const char patterns[] = "a list of names or patterns such as \"LC_*\"";

static const struct schema_key keys[] = {
	{"enabled", SCHEMA_SANDBOX, SCHEMA_BOOL, SCHEMA_TO_TRUE, AT(enabled)},
	{"default_profile", SCHEMA_SANDBOX, SCHEMA_PROFILE_NAME, SCHEMA_NEVER, AT(policy.profile), .form = a_profile},
	{"fallback_on_unavailable", SCHEMA_SANDBOX, SCHEMA_WORD, SCHEMA_BY_RANK, AT(fallback), fallback_words},
	{"backend", SCHEMA_SANDBOX, SCHEMA_CHOICE, SCHEMA_NEVER, AT(backend), backend_words},
	{"shell", SCHEMA_SANDBOX, SCHEMA_SHELL, SCHEMA_NEVER, AT(shell), shell_words},
	{"warm_start", SCHEMA_SANDBOX, SCHEMA_BOOL, SCHEMA_TO_FALSE, AT(warm_start)},
	/* Kept in memory for every run, so there is an end to it. */
	{"max_output", SCHEMA_SANDBOX, SCHEMA_SIZE, SCHEMA_LOWER, AT(max_output),
	 .form = "a size up to \"1G\" such as \"100K\", or a number of bytes", .max = INT64_C(1) << 30},
	{"explain_denials", SCHEMA_SANDBOX, SCHEMA_BOOL, SCHEMA_NEVER, AT(explain_denials)},

	{"extends", SCHEMA_PROFILE, SCHEMA_PROFILE_NAME, SCHEMA_NEVER, SCHEMA_NOWHERE, .form = a_profile},
	{"match", SCHEMA_COMMAND, SCHEMA_ARGV, SCHEMA_NEVER, SCHEMA_NOWHERE,
	 .form = "a list of the words the command starts with, such as [\"npm\", \"install\"]"},
	{"readonly_paths", RULES, SCHEMA_PATHS, SCHEMA_NEVER, SCHEMA_NOWHERE, .form = paths, .access = POLICY_READ},
	{"writable_paths", RULES, SCHEMA_PATHS, SCHEMA_NEVER, SCHEMA_NOWHERE, .form = paths, .access = POLICY_WRITE},
	{"blocked_paths", RULES, SCHEMA_PATHS, SCHEMA_ADDS, SCHEMA_NOWHERE, .form = paths, .access = POLICY_HIDE},
	{"network", RULES, SCHEMA_WORD, SCHEMA_BY_RANK, AT(policy.network), network_words},
	{"timeout", RULES, SCHEMA_DURATION, SCHEMA_LOWER, AT(policy.timeout_ms), .form = a_duration, .min = 1,
	 ANY_NUMBER},
	{"memory_limit_mb", RULES, SCHEMA_MEGABYTES, SCHEMA_LOWER, AT(policy.memory),
	 .form = "a number of MiB, at least 1, or \"none\"", .min = MIB, ANY_NUMBER},
	{"pids", RULES, SCHEMA_COUNT, SCHEMA_LOWER, AT(policy.pids), .form = "a number, at least 1, or \"none\"",
	 .min = 1, ANY_NUMBER},
	{"file_size", RULES, SCHEMA_SIZE, SCHEMA_LOWER, AT(policy.file_size), .form = a_size, ANY_NUMBER},
	/* Whether a size or a percentage is smaller depends on the machine, so an untrusted file can set neither. */
	{"tmp_size", RULES, SCHEMA_SHARE, SCHEMA_NEVER, AT(policy.tmp_size), .form = a_share, .min = MIB,
	 .max = MAX_SHARE},
	{"shm_size", RULES, SCHEMA_SHARE, SCHEMA_NEVER, AT(policy.shm_size), .form = a_share, .min = MIB,
	 .max = MAX_SHARE},
	{"share_pid", RULES, SCHEMA_BOOL, SCHEMA_TO_FALSE, AT(policy.share_pid)},
	{"new_session", RULES, SCHEMA_BOOL, SCHEMA_TO_TRUE, AT(policy.new_session)},
	{"nested", RULES, SCHEMA_BOOL, SCHEMA_TO_FALSE, AT(policy.nested)},
	{"unix_sockets", RULES, SCHEMA_BOOL, SCHEMA_TO_FALSE, AT(policy.unix_sockets)},
	{"changes", RULES, SCHEMA_WORD, SCHEMA_BY_RANK, AT(policy.changes), changes_words},
	{"env", RULES, SCHEMA_TABLE, SCHEMA_NEVER, SCHEMA_NOWHERE,
	 .form = "a table such as { inherit = true, allow = [\"LANG\"], deny = [\"*_TOKEN\"] }"},
	{"inherit", SCHEMA_ENV, SCHEMA_BOOL, SCHEMA_TO_FALSE, AT(policy.env_inherit)},
	{"deny", SCHEMA_ENV, SCHEMA_PATTERNS, SCHEMA_ADDS, AT(policy.env_deny), .form = patterns},
	{"allow", SCHEMA_ENV, SCHEMA_PATTERNS, SCHEMA_NEVER, AT(policy.env_allow), .form = patterns},

	{"hold", SCHEMA_GATE, SCHEMA_GLOBS, SCHEMA_ADDS, AT(gate_hold), .form = globs},
	{"allow", SCHEMA_GATE, SCHEMA_GLOBS, SCHEMA_NEVER, AT(gate_allow), .form = globs},
	{"backups", SCHEMA_RETENTION, SCHEMA_DURATION, SCHEMA_NEVER, AT(keep_backups_ms), .form = a_time, .min = 1,
	 ANY_NUMBER},
	{"runs", SCHEMA_RETENTION, SCHEMA_DURATION, SCHEMA_NEVER, AT(keep_runs_ms), .form = a_time, .min = 1,
	 ANY_NUMBER},
	{"copy_size", SCHEMA_CAPTURE, SCHEMA_SIZE, SCHEMA_LOWER, AT(copy_size), .form = a_size, ANY_NUMBER},
	{"copy_files", SCHEMA_CAPTURE, SCHEMA_COUNT, SCHEMA_LOWER, AT(copy_files), .form = "a number or \"none\"",
	 ANY_NUMBER},

	{"enabled", SCHEMA_CACHE, SCHEMA_BOOL, SCHEMA_TO_FALSE, AT(cache_enabled)},
	{"shared", SCHEMA_CACHE, SCHEMA_BOOL, SCHEMA_TO_FALSE, AT(cache_shared)},
	{"paths", SCHEMA_CACHE, SCHEMA_PATHS, SCHEMA_NEVER, AT(cache_paths), .form = paths},
	{"exclude", SCHEMA_CACHE, SCHEMA_PATHS, SCHEMA_ADDS, AT(cache_exclude), .form = paths},

	{"wait", SCHEMA_PERMISSION, SCHEMA_WAIT, SCHEMA_LOWER, AT(permission_wait_ms), .form = a_wait, ANY_NUMBER},
	{"idle_timeout", SCHEMA_SESSION, SCHEMA_DURATION, SCHEMA_LOWER, AT(session_idle_ms), .form = a_duration,
	 .min = 1, ANY_NUMBER},
	{"disk", SCHEMA_SESSION, SCHEMA_SHARE, SCHEMA_NEVER, AT(session_disk), .form = a_session_share, .min = MIB,
	 ANY_NUMBER},
	{"tmp_size", SCHEMA_SESSION, SCHEMA_SHARE, SCHEMA_NEVER, AT(session_tmp_size), .form = a_session_share,
	 .min = MIB, ANY_NUMBER},
	{"mode", SCHEMA_NETWORK, SCHEMA_WORD, SCHEMA_BY_RANK, AT(network_mode), network_mode_words},
	{"allow", SCHEMA_NETWORK, SCHEMA_HOSTS, SCHEMA_NEVER, SCHEMA_NOWHERE, .form = hosts,
	 .verdict = HOST_RULE_ALLOW},
	{"deny", SCHEMA_NETWORK, SCHEMA_HOSTS, SCHEMA_ADDS, SCHEMA_NOWHERE, .form = hosts, .verdict = HOST_RULE_DENY},
	{"allow_private", SCHEMA_NETWORK, SCHEMA_HOSTS, SCHEMA_NEVER, SCHEMA_NOWHERE,
	 .form = "a list of addresses such as \"10.1.2.3:5432\", networks or hosts", .verdict = HOST_RULE_PRIVATE},
	{"ask", SCHEMA_NETWORK, SCHEMA_BOOL, SCHEMA_TO_FALSE, AT(network_ask)},
	{"remember", SCHEMA_NETWORK, SCHEMA_WORD, SCHEMA_BY_RANK, AT(network_remember), remember_words},
};
_Static_assert(AL_ARRAY_LEN(keys) <= SCHEMA_MAX_KEYS, "SCHEMA_MAX_KEYS is too small");
_Static_assert(offsetof(struct policy_limit, value) == 0, "limits and plain numbers are stored alike");

const struct schema_key *schema_keys(size_t *ret_n)
{
	*ret_n = AL_ARRAY_LEN(keys);
	return keys;
}

size_t schema_index(const struct schema_key *key)
{
	return (size_t)(key - keys);
}

const struct schema_key *schema_find(unsigned scope, const char *name, size_t len)
{
	for (size_t i = 0; i < AL_ARRAY_LEN(keys); i++)
		if ((keys[i].scopes & scope) && strlen(keys[i].name) == len && memcmp(keys[i].name, name, len) == 0)
			return &keys[i];
	return NULL;
}

const char *schema_nearest(unsigned scope, const char *name)
{
	const char *names[SCHEMA_MAX_KEYS + 1] = {0};
	size_t n = 0;
	for (size_t i = 0; i < AL_ARRAY_LEN(keys); i++)
		if (keys[i].scopes & scope)
			names[n++] = keys[i].name;
	return text_nearest(name, names);
}

bool schema_is_list(const struct schema_key *key)
{
	return key->type == SCHEMA_PATHS || key->type == SCHEMA_PATTERNS || key->type == SCHEMA_GLOBS ||
	       key->type == SCHEMA_HOSTS || key->type == SCHEMA_ARGV;
}

static bool is_text(const struct schema_key *key)
{
	return key->type == SCHEMA_CHOICE || key->type == SCHEMA_SHELL || key->type == SCHEMA_PROFILE_NAME;
}

bool schema_is_limit(const struct schema_key *key)
{
	return (key->scopes & SCHEMA_PROFILE) && key->type >= SCHEMA_DURATION && key->type <= SCHEMA_SIZE;
}

bool schema_is_profile_name(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
	return len > 0 && len <= 64 && name[len] == '\0';
}

/* ── Reading ── */

static int find_word(const struct schema_word *words, const char *text, int64_t *ret)
{
	for (size_t i = 0; words[i].word; i++)
		if (strcmp(words[i].word, text) == 0) {
			*ret = (int64_t)i;
			return 0;
		}
	return -EINVAL;
}

static int parse_megabytes(const char *text, int64_t *ret)
{
	int rc = text_parse_count(text, ret);
	if (rc < 0 || *ret == TEXT_NONE)
		return rc;
	return __builtin_mul_overflow(*ret, MIB, ret) ? -ERANGE : 0;
}

/* Reads "50%" as -50; everything else is a size. */
static int parse_share(const char *text, int64_t *ret)
{
	size_t len = strlen(text);
	char digits[4];
	if (len < 2 || text[len - 1] != '%')
		return text_parse_size(text, ret);
	if (len > sizeof digits)
		return -ERANGE;
	(void)snprintf(digits, sizeof digits, "%.*s", (int)len - 1, text);
	int rc = text_parse_count(digits, ret);
	if (rc == 0 && (*ret < 1 || *ret > 100))
		return -ERANGE;
	*ret = -*ret;
	return rc;
}

/* Nothing but zeros before the unit: a duration has to be longer. */
static int parse_wait(const char *text, int64_t *ret)
{
	size_t zeros = strspn(text, "0");
	_cleanup_buf_ struct buf other = BUF_INIT;
	if (zeros == 0 || text[zeros] == '.' || (text[zeros] >= '1' && text[zeros] <= '9'))
		return text_parse_duration_ms(text, ret);
	buf_printf(&other, "1%s", text + zeros); /* the unit must be one */
	int rc = text_parse_duration_ms(buf_str(&other), ret);
	*ret = 0;
	return rc;
}

static int parse_number(enum schema_type type, const char *text, int64_t *ret)
{
	switch (type) {
	case SCHEMA_DURATION:
		return text_parse_duration_ms(text, ret);
	case SCHEMA_WAIT:
		return parse_wait(text, ret);
	case SCHEMA_MEGABYTES:
		return parse_megabytes(text, ret);
	case SCHEMA_COUNT:
		return text_parse_count(text, ret);
	case SCHEMA_SIZE:
		return text_parse_size(text, ret);
	case SCHEMA_SHARE:
		return parse_share(text, ret);
	default:
		return -EINVAL;
	}
}

static int parse_text(const struct schema_key *key, const char *text)
{
	int64_t index;
	if (key->type == SCHEMA_PROFILE_NAME)
		return schema_is_profile_name(text) ? 0 : -EINVAL;
	if (key->type == SCHEMA_SHELL && text[0] == '/')
		return 0;
	return find_word(key->words, text, &index);
}

int schema_parse(const struct schema_key *key, enum schema_type type, const char *text, struct schema_value *ret)
{
	struct schema_value v = {.text = text};
	int rc;
	if (is_text(key))
		rc = parse_text(key, text);
	else if (type == SCHEMA_WORD)
		rc = find_word(key->words, text, &v.number);
	else {
		rc = parse_number(type, text, &v.number);
		bool is_part = type == SCHEMA_SHARE && v.number < 0;
		if (rc == 0 && !is_part && (v.number < key->min || v.number > key->max))
			rc = -ERANGE;
	}
	if (rc == 0)
		*ret = v;
	return rc;
}

/* A count is written as a number: "12" in quotes is a mistake; only "none" is a word. */
static int read_string(const struct schema_key *key, const struct toml_value *v, struct schema_value *ret)
{
	bool counts = key->type == SCHEMA_COUNT || key->type == SCHEMA_MEGABYTES;
	if (strlen(v->u.string.s) != v->u.string.len || (counts && strcmp(v->u.string.s, "none") != 0))
		return -EINVAL;
	return schema_parse(key, key->type, v->u.string.s, ret);
}

int schema_read(const struct schema_key *key, const struct toml_value *v, struct schema_value *ret)
{
	char digits[24];
	if (v->type == TOML_BOOLEAN && key->type == SCHEMA_BOOL) {
		*ret = (struct schema_value){.number = v->u.boolean};
		return 0;
	}
	if (key->type == SCHEMA_BOOL || schema_is_list(key) || key->type == SCHEMA_TABLE)
		return -EINVAL;
	if (v->type == TOML_STRING)
		return read_string(key, v, ret);
	if (v->type != TOML_INTEGER || is_text(key) || key->type == SCHEMA_WORD)
		return -EINVAL;
	(void)snprintf(digits, sizeof digits, "%" PRId64, v->u.integer);
	return schema_parse(key, key->type, digits, ret);
}

/* ── Comparing and storing ── */

static void *field(const struct schema_key *key, const struct config *c)
{
	return (char *)(uintptr_t)c + key->offset;
}

static int64_t stored_number(const struct schema_key *key, const struct config *c)
{
	if (key->type == SCHEMA_BOOL)
		return *(const bool *)field(key, c);
	if (key->type == SCHEMA_WORD)
		return *(const int *)field(key, c);
	return *(const int64_t *)field(key, c);
}

/* How tight a value is: higher is tighter, negative cannot be compared. */
static int64_t rank_of(const struct schema_key *key, int64_t number)
{
	switch (key->tight) {
	case SCHEMA_TO_TRUE:
		return number != 0;
	case SCHEMA_TO_FALSE:
		return number == 0;
	case SCHEMA_LOWER:
		return INT64_MAX - number;
	case SCHEMA_BY_RANK:
		return key->words[number].rank;
	default:
		return -1;
	}
}

bool schema_loosens(const struct schema_key *key, const struct config *in_force, const struct schema_value *v)
{
	if (is_text(key)) {
		const char *now = *(char *const *)field(key, in_force);
		return !now || strcmp(now, v->text) != 0;
	}
	int64_t now = stored_number(key, in_force);
	if (now == v->number)
		return false;
	int64_t old_rank = rank_of(key, now), new_rank = rank_of(key, v->number);
	return old_rank < 0 || new_rank < 0 || new_rank < old_rank;
}

static int store_text(char **where, const char *text)
{
	char *copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	free(*where);
	*where = copy;
	return 0;
}

int schema_store(const struct schema_key *key, struct config *c, const struct schema_value *v)
{
	if (is_text(key))
		return store_text(field(key, c), v->text);
	if (key->type == SCHEMA_BOOL)
		*(bool *)field(key, c) = v->number != 0;
	else if (key->type == SCHEMA_WORD)
		*(int *)field(key, c) = (int)v->number;
	else
		*(int64_t *)field(key, c) = v->number;
	return 0;
}
