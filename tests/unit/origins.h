/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who wanted a rule, in words. */
#pragma once

#include "tests.h"

#include "base/rule_origin.h"

#include <stdlib.h>

AL_UNUSED static void assert_origin(const struct airlock_origin *origin, const char *text)
{
	char *found = airlock_origin_text(origin);
	assert_string_equal(found, text);
	free(found);
}
