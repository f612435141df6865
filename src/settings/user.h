/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

/* The home directory that the user database has, absolute and normal; NULL: it has none. For callers whose environment
 * does not say: it may ask the network. */
char *user_home(uid_t uid);
