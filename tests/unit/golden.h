/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Texts compared with tests/golden/NAME.txt. UPDATE_GOLDEN=1 writes the files anew; look at the difference before
 * committing it. */
#pragma once

#include "tests.h"

#include <stdio.h>
#include <stdlib.h>

static void compare_with_golden(const char *name, const char *text)
{
	char path[200], expected[65536];
	(void)snprintf(path, sizeof path, "tests/golden/%s.txt", name);
	if (getenv("UPDATE_GOLDEN")) {
		FILE *f = fopen(path, "w");
		assert_non_null(f);
		assert_true(fputs(text, f) >= 0);
		assert_int_equal(fclose(f), 0);
	}
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	expected[fread(expected, 1, sizeof expected - 1, f)] = '\0';
	(void)fclose(f);
	assert_string_equal(text, expected);
}
