/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Directories that their owner, us, may not search: what is in them can be neither looked at nor moved. They are opened up
 * before the transaction is planned, which a journal of their own says (or a crash would leave them open), and have their
 * old modes for everybody who asks. Once the journal of the transaction is written it knows about them.
 *
 *   _cleanup_unlock_ struct unlock u = UNLOCK_INIT;
 *   unlock_dirs(&u, &tx, request, err);       tx.unlocked is set
 *   …plan, write the journal… unlock_hand_over(&u);
 *   …or… unlock_restore(&u);
 */
#pragma once

#include "change/apply/apply.h"
#include "change/apply/apply_tx.h"
#include "change/apply/journal.h"

struct unlock {
	struct apply_tx tx; /* its dirs are those that were opened, sorted */
	struct journal *journals;
	size_t n_journals;
	bool handed_over;
};
#define UNLOCK_INIT                                                                                                    \
	{                                                                                                              \
		.tx = APPLY_TX_INIT                                                                                    \
	}

int unlock_dirs(struct unlock *u, struct apply_tx *tx, const struct apply_request *request, struct airlock_error *err);
void unlock_hand_over(struct unlock *u);
void unlock_restore(struct unlock *u); /* nothing when handed over */
void unlock_done(struct unlock *u);
#define _cleanup_unlock_ _cleanup_(unlock_done)
