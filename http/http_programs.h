/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The two servers. words: options, see http_options.h. Each runs until it is told to stop. An exit status, or a negative enum
 * airlock_code with err filled. */
#pragma once

#include <airlock/airlock.h>

int serve_main(char *const *words, struct airlock_error *err);
int ui_main(char *const *words, struct airlock_error *err);
