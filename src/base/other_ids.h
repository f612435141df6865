/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which ids of the machine stand for the other users and groups inside a sandbox of root.
 *
 * Inside, root is root of the machine, with its files and without its power over those of others. Every other id N is
 * IDS_FIRST + N on the machine, which nobody has: whoever becomes N inside can open what everybody may, and nothing of the
 * machine's user N. docs/design/decisions.md ("Other users inside root's sandbox") says why, and why these numbers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define IDS_FIRST                                                                                                      \
	0x78000000u /* 2013265920: above the ids of directory services, below the ids that some programs read as negative */
#define IDS_COUNT 0x07000000u /* 0 to 117440511 */

/* True if the machine's id belongs to a user inside the sandbox. */
static inline bool ids_is_shifted(uint32_t id)
{
	return id > IDS_FIRST && id < IDS_FIRST + IDS_COUNT;
}

/* The id that the command used. */
static inline uint32_t ids_meant(uint32_t id)
{
	return ids_is_shifted(id) ? id - IDS_FIRST : id;
}
