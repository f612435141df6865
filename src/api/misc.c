/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Small public helpers that belong to no object. */
#include "airlock/airlock.h"
#include "base/buf.h"
#include "base/columns.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "sys/probe.h"

const char *airlock_version(void)
{
	return AIRLOCK_VERSION;
}

int airlock_is_inside(void)
{
	return sys_is_inside();
}

void airlock_free(void *p)
{
	free(p);
}

char *airlock_text_inert(const char *bytes, size_t len)
{
	struct buf out = BUF_INIT;
	text_add_escaped(&out, bytes, len);
	return buf_take(&out);
}

char *airlock_text_json(const char *bytes, size_t len)
{
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, false);
	json_stringn(&j, NULL, bytes, len);
	return buf_take(&out);
}

char *airlock_text_base64(const void *bytes, size_t len)
{
	struct buf out = BUF_INIT;
	text_add_base64(&out, bytes, len);
	return buf_take(&out);
}

void airlock_text_sha256(const void *bytes, size_t len, char ret[65])
{
	hash_sha256_hex(bytes, len, ret);
}

int airlock_text_bool(const char *word)
{
	bool value;
	return text_parse_bool(word, &value) < 0 ? AIRLOCK_ERR_INVALID : value;
}

size_t airlock_text_columns(const char *text, size_t len)
{
	return columns_of(text, len);
}

size_t airlock_text_fit(const char *text, size_t len, size_t columns)
{
	return columns_fit(text, len, columns);
}

const char *airlock_text_nearest(const char *word, const char *const *candidates)
{
	return text_nearest(word, candidates);
}
