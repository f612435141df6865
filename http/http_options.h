/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The words that `airlock serve` and `airlock ui` pass on: --name=value, each checked against the command's table already.
 *
 *   airlock-http serve --listen=127.0.0.1:8080 --token-file=/etc/airlock/tokens.toml
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <airlock/airlock.h>

/* The last value of the option, else NULL. words ends with NULL. */
const char *http_option(char *const *words, const char *name);
bool http_option_is_set(char *const *words, const char *name); /* a flag */
/* A whole number from 0 to max; fallback when the option is not given. */
int http_option_number(char *const *words, const char *name, int64_t max, int64_t fallback, int64_t *ret,
		       struct airlock_error *err);
/* "30s", "5m", "none" (-1). */
int http_option_seconds(char *const *words, const char *name, int64_t fallback, int64_t *ret,
			struct airlock_error *err);
/* "90s", "5m", "2h", "1d" and "none" (-1) in seconds. */
int http_parse_seconds(const char *text, int64_t *ret);
/* "512M", "2G" in bytes. AIRLOCK_ERR_INVALID */
int http_parse_size(const char *text, int64_t *ret);
/* Passes on those that are options of runs. */
int http_option_settings(char *const *words, struct airlock_settings *s, struct airlock_error *err);
int http_fail(struct airlock_error *err, int code, const char *subject, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
