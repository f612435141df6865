/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is known of an entry, as fields of a line (base/line_fields.h): seven of them. */
#pragma once

#include "base/line_fields.h"
#include "change/change.h"

void fields_add_stat(struct buf *b, const struct change_stat *s);
int fields_take_stat(struct fields *f, struct change_stat *ret);
