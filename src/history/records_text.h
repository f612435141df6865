/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether a recorded file is text. A scan leaves that open for most, and a list of the records looks:
 *
 *   _cleanup_text_ struct text_looks looks = records_text_begin(project_dir);
 *   is_text = records_text(&looks, f);
 *   records_text_keep(&looks, store);     for the next list
 */
#pragma once

#include "base/macros.h"
#include "store/projects.h"

struct text_look {
	int64_t id, ctime;
	bool is_text;
};

struct text_looks {
	int root_fd;
	struct text_look *v;
	size_t n, cap;
};

struct text_looks records_text_begin(const char *project_dir);
/* What the record says, else the file as it is now, else its backup; what is nowhere is no text. */
bool records_text(struct text_looks *l, const struct store_file *f);
/* Not when somebody else is writing, or it cannot be written: then the next list looks again. */
void records_text_keep(struct text_looks *l, struct store *store);
void records_text_done(struct text_looks *l);
#define _cleanup_text_ _cleanup_(records_text_done)
