/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tokens: making them, and comparing them so that the time it takes tells nothing. */
#pragma once

#include <stdbool.h>

#include <airlock/airlock.h>

int http_secret_new(char ret[65], struct airlock_error *err); /* 256 random bits as hex */
/* The time depends on neither content; a difference in length is no secret. */
bool http_secret_equal(const char *a, const char *b);
/* Returns the token after "Bearer " in a header, or NULL. */
const char *http_bearer(const char *header);
