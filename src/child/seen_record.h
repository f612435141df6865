/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes the memory file of seen.h. Freestanding. */
#pragma once

#include "child/observe.h"

struct record {
	unsigned op, flags;
	const char *text;
	size_t len;
};

/* Records one call, if its process still waits for the answer: a pid that was reused says nothing. */
void record_note(struct observer *o, int listener, uint64_t id, struct record r);
