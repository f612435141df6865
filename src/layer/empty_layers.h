/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Empty layers, kept for the next run.
 *
 * Most commands change nothing. Making the four directories of a layer and removing them again is most of what such a run
 * costs on a file system that is slow at it: ext4 without a journal looks at every inode that was freed in the last minutes
 * before it takes one. So the layer of such a run is moved aside and not removed; a later run, while its command runs and it
 * has nothing else to do, makes it as it was when it was made. Of runs with one root only; a few at most. */
#pragma once

#include <stdbool.h>

/* Moves an empty layer into a new run's directory: upper/overlay1 and work/work1, as if just made. Whatever is missing
 * afterwards is for the caller to make. */
void empty_layers_take(const char *state_dir, const char *run_dir);

/* Moves the layer of a run that changed nothing aside; it is not mounted any more. False when there are enough: it is still there
 * then, as a whole or in part. */
bool empty_layers_give(const char *state_dir, const char *run_dir);

/* Makes one of those as new, or removes it when it is not to be had. run_dir: of a run of the caller's own, to work in. */
void empty_layers_clean(const char *state_dir, const char *run_dir);
