/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Empty layers, kept for the next run.
 *
 * Most commands change nothing. Making the four directories of a layer and removing them again is most of what such a run
 * costs on a file system that is slow at it: ext4 without a journal looks at every inode that was freed in the last minutes
 * before it takes one. So a layer that is as it was when it was made is moved aside and not removed. Of runs with one root
 * only; a few at most. */
#pragma once

#include <stdbool.h>

/* Moves an empty layer into a new run's directory: upper/overlay1 and work/work1, as if just made. Whatever is missing
 * afterwards is for the caller to make. */
void empty_layers_take(const char *state_dir, const char *run_dir);

/* Moves the layer of a run aside. False when it is not as new or there are enough: it is still there then, as a whole or
 * in part. */
bool empty_layers_give(const char *state_dir, const char *run_dir);
