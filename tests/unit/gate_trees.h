/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the gate says of the difference between the live tree and the layer's. */
#pragma once

#include "twin_trees.h"
#include "why.h"

#define RUNS "runs outside the sandbox: "
#define LEADS "leads programs outside the sandbox astray: "

static const struct gate_rules *rules; /* NULL: those of every project */

static inline void judge(void)
{
	struct airlock_error err = {0};
	assert_int_equal(gate_judge(t->set, rules, &err), 0);
}

static inline void judge_layer(void)
{
	compare_layer();
	judge();
}

/* expected: the reason why it is held; NULL: it is applied, or waits only because git's bookkeeping is applied whole. */
static inline void assert_change(const char *path, const char *expected)
{
	const struct change *c = found(path);
	if (!expected && change_is_follower(c))
		return;
	bool ok = expected ? c->verdict == CHANGE_HOLD && why(c) && strcmp(why(c), expected) == 0
			   : c->verdict == CHANGE_APPLY && !why(c);
	if (!ok)
		fail_msg("%s: %s, expected %s", path, why(c) ? why(c) : "applied", expected ? expected : "applied");
}

static inline int fresh(void **state)
{
	start_over();
	rules = NULL;
	return 0;
}
