/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tokens of `airlock serve`: a TOML file with the hash of each, and what its owner may use.
 *
 *   [[token]]
 *   name = "ci"
 *   sha256 = "…"                 hex of the token's SHA-256
 *   max_sandboxes = 10           all optional
 *   memory = "512M"              the most that one sandbox may ask for, and what it has when it does not ask
 *   disk = "1G"                  of all its sandboxes together
 *   requests_per_minute = 600
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <airlock/airlock.h>

struct serve_token {
	char *name;
	char sha256[65];
	int64_t max_sandboxes, memory, disk, requests_per_minute; /* -1: no limit */
	double allowance;					  /* requests that may come at once */
	int64_t allowance_ms;					  /* when that was so */
	bool is_gone; /* no longer in the file; requests that it began may still use it */
};

struct serve_tokens {
	struct serve_token **items;
	size_t n;
};

bool serve_token_is_name(const char *name); /* also the name of a directory */
/* Replaces the tokens by those of the file; on failure they stay as they are. What a token has used up stays with its name. */
int serve_tokens_read(struct serve_tokens *t, const char *path, struct airlock_error *err);
/* NULL: none has this secret. Takes the same time whether and which one has. */
struct serve_token *serve_tokens_find(struct serve_tokens *t, const char *secret);
/* Takes one request off the allowance. False: it is used up; *ret_retry_s: come back then. */
bool serve_token_allow(struct serve_token *token, int64_t now_ms, int64_t *ret_retry_s);
/* Adds a token to the file, which it makes (0600) if there is none. secret: what the client needs, stored nowhere. */
int serve_tokens_add(const char *path, const char *name, char secret[65], struct airlock_error *err);
void serve_tokens_done(struct serve_tokens *t);
