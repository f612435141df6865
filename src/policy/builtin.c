/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The built-in profiles: strict, moderate (the default), permissive. */
#include "policy/policy.h"
#include "policy/tables.h"

#include "base/path.h"

#include <string.h>

#define MINUTE_MS INT64_C(60000)
#define GIB (INT64_C(1) << 30)

/* Everything in a profile except its paths. */
struct profile {
	const char *name;
	enum policy_network network;
	enum policy_changes changes;
	bool nested, unix_sockets, env_inherit, env_hide_values;
	const char *const *env_allow, *const *env_deny;
	int64_t timeout_ms, memory, pids;
	int (*add_paths)(struct policy *p, const char *home, struct airlock_origin origin, struct airlock_error *err);
};

static int add_paths_strict(struct policy *p, const char *home, struct airlock_origin origin,
			    struct airlock_error *err);
static int add_paths_moderate(struct policy *p, const char *home, struct airlock_origin origin,
			      struct airlock_error *err);
static int add_paths_permissive(struct policy *p, const char *home, struct airlock_origin origin,
				struct airlock_error *err);

static const char *const nothing[] = {NULL};

static const struct profile profiles[] = {
	{"strict", POLICY_NETWORK_REFUSE, POLICY_CHANGES_HOLD, false, false, false, true, policy_env_strict_allow,
	 nothing, MINUTE_MS, GIB, 256, add_paths_strict},
	{"moderate", POLICY_NETWORK_OFF, POLICY_CHANGES_APPLY, false, true, true, true, nothing,
	 policy_env_moderate_deny, 10 * MINUTE_MS, TEXT_NONE, 4096, add_paths_moderate},
	{"permissive", POLICY_NETWORK_OFF, POLICY_CHANGES_APPLY, true, true, true, false, nothing, nothing, TEXT_NONE,
	 TEXT_NONE, TEXT_NONE, add_paths_permissive},
};

static const char *const names[] = {"strict", "moderate", "permissive", NULL};

static const char *const system_directories[] = {
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", NULL,
};

/* In strict, only those files of /etc that programs need to work at all: no host keys, no service configuration with
 * passwords, nothing that identifies the machine beyond its release. Fixed names, because a pattern would need disk
 * access. */
static const char *const etc_names[] = {
	/* the loader and the system's choices */
	"alternatives",
	"ld.so.cache",
	"ld.so.conf",
	"ld.so.conf.d",
	"ld.so.preload",
	"dpkg",
	/* users, names, time */
	"passwd",
	"group",
	"nsswitch.conf",
	"hosts",
	"host.conf",
	"resolv.conf",
	"gai.conf",
	"networks",
	"protocols",
	"services",
	"rpc",
	"ethertypes",
	"localtime",
	"timezone",
	/* certificates */
	"ssl",
	"ca-certificates",
	"ca-certificates.conf",
	"pki",
	"crypto-policies",
	/* shells and terminals */
	"profile",
	"profile.d",
	"bash.bashrc",
	"bashrc",
	"zsh",
	"zshenv",
	"shells",
	"inputrc",
	"terminfo",
	/* languages */
	"locale.alias",
	"locale.conf",
	"locale.gen",

	/* file types, fonts, documents */
	"mime.types",
	"mailcap",
	"magic",
	"magic.mime",
	"fonts",
	"xdg",
	"xml",
	"sgml",
	"texmf",
	"ImageMagick-6",
	"ImageMagick-7",
	/* interpreters and build tools */
	"gitconfig",
	"perl",
	"python3",
	"python3.9",
	"python3.10",
	"python3.11",
	"python3.12",
	"python3.13",
	"python3.14",
	"java",
	"java-8-openjdk",
	"java-11-openjdk",
	"java-17-openjdk",
	"java-21-openjdk",
	"java-25-openjdk",
	"maven",
	/* which system this is */
	"os-release",
	"lsb-release",
	"debian_version",
	"redhat-release",
	"fedora-release",
	"alpine-release",
	"arch-release",
	NULL,
};

static const char *const private_directories[] = {"/tmp", "/var/tmp", "/run", NULL};

static int add_all(struct policy *p, enum policy_access access, const char *const *paths, struct airlock_origin origin,
		   struct airlock_error *err)
{
	int rc = 0;
	for (; rc >= 0 && *paths; paths++)
		rc = policy_add_path(p, access, *paths, origin, err);
	return rc;
}

/* The same for names relative to a directory. */
static int add_below(struct policy *p, enum policy_access access, const char *dir, const char *const *list,
		     struct airlock_origin origin, struct airlock_error *err)
{
	for (; *list; list++) {
		int rc = policy_take_path(p, access, path_join(dir, *list), origin, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* A home of "/" gets no rule of its own: an empty home would be an empty, writable root. */
static int add_home(struct policy *p, enum policy_access access, const char *home, struct airlock_origin origin,
		    struct airlock_error *err)
{
	return strcmp(home, "/") == 0 ? 0 : policy_add_path(p, access, home, origin, err);
}

static int add_paths_strict(struct policy *p, const char *home, struct airlock_origin origin, struct airlock_error *err)
{
	int rc = add_all(p, POLICY_READ, system_directories, origin, err);
	if (rc >= 0)
		rc = add_below(p, POLICY_READ, "/etc", etc_names, origin, err);
	if (rc >= 0)
		rc = add_all(p, POLICY_TMPFS, private_directories, origin, err);
	if (rc >= 0)
		rc = add_home(p, POLICY_TMPFS, home, origin, err);
	if (rc >= 0) /* An empty home has none, unless the home, or a directory that holds some, is the project. */
		rc = add_below(p, POLICY_HIDE, home, policy_secret_names(), origin, err);
	if (rc >= 0)
		rc = add_all(p, POLICY_HIDE, policy_password_files, origin, err);
	if (rc >= 0)
		rc = add_all(p, POLICY_HIDE, policy_system_secrets, origin, err);
	return rc;
}

/* Hides other people's homes as a whole; the rule for the user's own home is more specific and wins. */
static int hide_other_homes(struct policy *p, const char *home, struct airlock_origin origin, struct airlock_error *err)
{
	int rc = add_all(p, POLICY_HIDE, policy_home_parents, origin, err);
	if (rc >= 0 && !path_is_beneath(home, "/root"))
		rc = policy_add_path(p, POLICY_HIDE, "/root", origin, err);
	return rc;
}

static int add_paths_moderate(struct policy *p, const char *home, struct airlock_origin origin,
			      struct airlock_error *err)
{
	int rc = policy_add_path(p, POLICY_READ, "/", origin, err);
	if (rc >= 0)
		rc = add_all(p, POLICY_TMPFS, private_directories, origin, err);
	if (rc >= 0)
		rc = add_all(p, POLICY_HIDE, policy_password_files, origin, err);
	if (rc >= 0)
		rc = add_all(p, POLICY_HIDE, policy_system_secrets, origin, err);
	if (rc >= 0)
		rc = hide_other_homes(p, home, origin, err);
	if (rc >= 0)
		rc = add_home(p, POLICY_READ, home, origin, err);
	if (rc >= 0)
		rc = add_below(p, POLICY_HIDE, home, policy_secret_names(), origin, err);
	return rc;
}

static int add_paths_permissive(struct policy *p, const char *home, struct airlock_origin origin,
				struct airlock_error *err)
{
	int rc = policy_add_path(p, POLICY_READ, "/", origin, err);
	if (rc >= 0)
		rc = add_all(p, POLICY_TMPFS, private_directories, origin, err);
	/* A home below /tmp or /run would vanish with them. */
	if (rc >= 0)
		rc = add_home(p, POLICY_READ, home, origin, err);
	if (rc >= 0)
		rc = add_all(p, POLICY_HIDE, policy_password_files, origin, err);
	return rc;
}

static const struct profile *find(const char *name)
{
	for (size_t i = 0; i < AL_ARRAY_LEN(profiles); i++)
		if (strcmp(profiles[i].name, name) == 0)
			return &profiles[i];
	return NULL;
}

bool policy_is_builtin(const char *name)
{
	return find(name) != NULL;
}

const char *const *policy_builtin_names(void)
{
	return names;
}

static int add_env(struct policy *p, const struct profile *from, struct airlock_error *err)
{
	int rc = 0;
	for (const char *const *s = from->env_deny; rc >= 0 && *s; s++)
		rc = policy_deny_env(p, *s, err);
	for (const char *const *s = from->env_allow; rc >= 0 && *s; s++)
		rc = policy_allow_env(p, *s, err);
	p->env_inherit = from->env_inherit;
	p->env_hide_values = from->env_hide_values;
	p->env_values_after = p->env_allow.n; /* The profile's own list allows no variable by its value. */
	return rc;
}

int policy_apply_builtin(struct policy *p, const char *name, const char *home, struct airlock_error *err)
{
	const struct profile *from = find(name);
	if (!from)
		return base_error(err, AIRLOCK_ERR_NOT_FOUND, "profile", name, "no built-in profile is called \"%s\"",
				  name);
	p->profile = strdup(name);
	if (!p->profile)
		return base_oom(err);
	p->network = from->network;
	p->changes = from->changes;
	p->nested = from->nested;
	p->unix_sockets = from->unix_sockets;
	p->share_pid = false;
	p->new_session = true;
	p->timeout_ms = (struct policy_limit){from->timeout_ms, false};
	p->memory = (struct policy_limit){from->memory, false};
	p->pids = (struct policy_limit){from->pids, false};
	p->file_size = (struct policy_limit){TEXT_NONE, false};
	p->tmp_size = p->shm_size = POLICY_HALF_OF_MEMORY;
	int rc = add_env(p, from, err);
	return rc < 0 ? rc : from->add_paths(p, home, RULE_ORIGIN(BUILTIN, from->name), err);
}
