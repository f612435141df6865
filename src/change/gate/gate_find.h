/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which row of the tables counts for a path. */
#pragma once

#include "change/gate/gate_name.h"
#include "change/gate/sensitive.h"

#include <stddef.h>
#include <stdint.h>

/* The rows of a table by how their patterns begin, in the order of the table: what does not begin alike is never looked
 * at, so that the length of a table hardly costs anything. */
#define GATE_ROWS_KEYS 513
#define GATE_MAX_ROWS 1024 /* that a table may have */
struct gate_rows {
	const struct sensitive_rule *rules;
	uint16_t *next;		       /* by row: the next one with the same key, plus one */
	uint16_t head[GATE_ROWS_KEYS]; /* the first row of a key, plus one; 0: none */
};
int gate_rows_init(struct gate_rows *rows, const struct sensitive_rule *rules); /* 0 or -ENOMEM */
void gate_rows_done(struct gate_rows *rows);

/* Rows whose pattern may match from a component on, in the order of the table:
 *   struct gate_rows_at it = gate_rows_at(rows, at);
 *   for (const struct sensitive_rule *r; (r = gate_rows_next(&it));) … */
struct gate_rows_at {
	const struct gate_rows *rows;
	size_t own, any; /* the next row of the component's own key and of patterns that begin with "*", plus one */
};
struct gate_rows_at gate_rows_at(const struct gate_rows *rows, const char *at);
const struct sensitive_rule *gate_rows_next(struct gate_rows_at *it);

/* A row that begins above a root: what is left of its pattern counts for the paths below the root. */
struct gate_above {
	const struct sensitive_rule *rule;
	const char *rest; /* of the rule's pattern */
	size_t level;	  /* the component that it begins at; rows of one level come one after the other */
};
