/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files of http/page, as tools/embed-files has put them into the program. */
#pragma once

#include <stddef.h>

struct ui_file {
	const char *name; /* NULL: the end */
	const char *type;
	const unsigned char *bytes;
	size_t size;
};

extern const struct ui_file ui_files[];
