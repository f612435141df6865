/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What people are told beside a result, as values; the words are in notes.c alone.
 *
 *   NOTE(&notes, LINK_SPLIT, .subject = path);
 *   NOTE(&notes, HISTORY_GAP, .cause = why.message);
 */
#pragma once

#include "airlock/note.h"
#include "base/buf.h"

struct notes {
	struct airlock_note *v;
	size_t n, cap;
	bool failed; /* out of memory: one is missing */
};
#define NOTES_INIT                                                                                                     \
	{                                                                                                              \
		0                                                                                                      \
	}

#define NOTE(l, id, ...) notes_add(l, &(struct airlock_note){.code = AIRLOCK_NOTE_##id, __VA_ARGS__})

void notes_add(struct notes *l, const struct airlock_note *note); /* copies */
void notes_add_all(struct notes *l, const struct notes *from);
bool notes_has(const struct notes *l, enum airlock_note_code code, const char *subject);
const struct airlock_note *notes_at(const struct notes *l, size_t i); /* NULL beyond the last */
void notes_done(struct notes *l);
#define _cleanup_notes_ _cleanup_(notes_done)

/* The line of a note; what comes from outside is escaped. */
void notes_add_text(struct buf *out, const struct airlock_note *note);

struct json;
/* The lines as an array of this name. */
void notes_add_json(struct json *j, const char *name, const struct notes *l);
