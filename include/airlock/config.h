/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The merged configuration: every value and who set it, and the files it comes from.
 *
 *   struct airlock_config *config = NULL;
 *
 *   if (airlock_config_open(s, &config, &err) < 0)
 *           return err.code;
 *   for (size_t i = 0; i < airlock_config_count(config); i++)
 *           printf("%s = %s\n", airlock_config_at(config, i)->key, airlock_config_at(config, i)->toml);
 *   airlock_config_free(config);
 *
 * Like a job it needs the environment and options. …_at gives NULL when there is no such one, …_json is what the command
 * prints with --json, ends with a newline and is NULL when memory is short. What an object hands out lives as long as it.
 */
#ifndef AIRLOCK_CONFIG_H
#define AIRLOCK_CONFIG_H

#include <stddef.h>

#include <airlock/airlock.h>
#include <airlock/origin.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

struct airlock_config_value {
	const char *key;	      /* "sandbox.backend", "profiles.moderate.timeout" */
	const char *toml;	      /* the value as TOML text; bytes */
	struct airlock_origin origin; /* a file, the caller, or built-in */
	int is_ignored;		      /* it would loosen what holds, and the project whose file has it is not trusted */
};

/* Every value that holds, sorted by key. */
struct airlock_config;
int airlock_config_open(const struct airlock_settings *s, struct airlock_config **ret, struct airlock_error *err);
size_t airlock_config_count(const struct airlock_config *c);
const struct airlock_config_value *airlock_config_at(const struct airlock_config *c, size_t i);
const struct airlock_note *airlock_config_warning(const struct airlock_config *c,
						  size_t i); /* a sentence; NULL beyond the last */
const char *airlock_config_json(struct airlock_config *c);
void airlock_config_free(struct airlock_config *c);

enum airlock_config_file_state {
	AIRLOCK_FILE_READ, /* one of the system's or the user's own */
	AIRLOCK_FILE_MISSING,
	AIRLOCK_FILE_TRUSTED,	  /* of a project, or above it */
	AIRLOCK_FILE_NOT_TRUSTED, /* the same; it only tightens */
	AIRLOCK_FILE_FOREIGN,	  /* left out: it belongs to another user */
	AIRLOCK_FILE_NOT_REGULAR,
	AIRLOCK_FILE_UNREADABLE,
};

struct airlock_config_file {
	const char *path;
	enum airlock_config_file_state state;
};

/* The files that are looked for, lowest precedence first; above the project only those that are there. */
struct airlock_config_files;
int airlock_config_files_open(const struct airlock_settings *s, struct airlock_config_files **ret,
			      struct airlock_error *err);
size_t airlock_config_files_count(const struct airlock_config_files *l);
const struct airlock_config_file *airlock_config_files_at(const struct airlock_config_files *l, size_t i);
void airlock_config_files_free(struct airlock_config_files *l);

/* Is the file right? AIRLOCK_ERR_INVALID names the line that is not. */
int airlock_config_check(const struct airlock_settings *s, const char *file, struct airlock_error *err);
/* Trusts DIR's .airlock.toml as it is now (NULL: the project found from here). ret_dir: what was trusted. */
int airlock_trust(const struct airlock_settings *s, const char *dir, char **ret_dir, struct airlock_error *err);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
