/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock questions --watch`: the questions as they come. */
#pragma once

#include "commands.h"

/* On the whole terminal: a list, details, and keys that answer. Until the person quits. */
int questions_watch(const struct airlock_settings *s, struct airlock_error *err);
