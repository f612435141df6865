/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Mapping ids into a user namespace of our own. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* May this process map those ids, and root, into a namespace that it makes? In a container they may not exist. */
bool sys_may_map_ids(uint32_t first, uint32_t count);
