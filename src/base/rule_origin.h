/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who wanted a rule. */
#pragma once

#include "base/buf.h"

#include <airlock/origin.h>

#define RULE_ORIGIN(k, ...) ((struct airlock_origin){.kind = AIRLOCK_ORIGIN_##k, ##__VA_ARGS__})

/* In words, with the bytes of its name as they are: not for a terminal. */
void rule_origin_add(struct buf *out, const struct airlock_origin *origin);
struct json;
void rule_origin_add_json(struct json *j, const char *key, const struct airlock_origin *origin);
/* The same origin with its name in `names`, where each name is kept once. names->failed: out of memory. */
struct airlock_origin rule_origin_keep(struct airlock_origin origin, struct strs *names);
bool rule_origin_is_same(const struct airlock_origin *a, const struct airlock_origin *b);
/* True for what no option, file or profile may show. */
bool rule_origin_is_own(const struct airlock_origin *origin);
