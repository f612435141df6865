/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A change's reasons in tests: given as values, compared as the sentence that people read. */
#pragma once

#include "change/reason.h"

#include <stdio.h>

/* NULL: none. Valid until the next call. */
static inline const char *why(const struct change *c)
{
	static char text[4096];
	_cleanup_buf_ struct buf b = BUF_INIT;
	change_reasons_add_text(&b, c->reasons, c->n_reasons);
	(void)snprintf(text, sizeof text, "%s", buf_str(&b));
	return c->n_reasons ? text : NULL;
}

static inline void give_reason(struct change *c, enum airlock_reason_code code, const char *what)
{
	assert_int_equal(change_reason_set(c, &(struct airlock_reason){.code = code, .what = what}), 0);
}
