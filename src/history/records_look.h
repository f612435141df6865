/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One entry of the live tree as a record has it. */
#pragma once

#include "store/projects.h"

#include <sys/stat.h>

/* Fills what a stat tells. type is not to be freed. */
void records_from_stat(const struct stat *st, struct store_file *f);
/* What costs little: where a link leads, and that what is empty or no file needs no look inside. target is the caller's. */
void records_glance(int dir_fd, const char *name, struct store_file *f);
/* The same, and whether a file is text. */
void records_look(int dir_fd, const char *name, struct store_file *f);
