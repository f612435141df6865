/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The keeper: what processes that go on after their command has ended still need of us. Their output goes from the command's pipes
 * to the run's files, and their calls that are listened to are answered. Freestanding.
 *
 * It is a child of the first process, which ends: so it and all that the command has left become children of the session's holder,
 * which waits for them. The first process was started from outside, and its parent may be a program that never waits for it; then
 * the kernel would not let the holder end. */
#pragma once

#include "child/pass.h"

#include <stdint.h>

struct keep {
	int from[2], to[2]; /* standard output and error; -1: none */
	int64_t room[2];    /* bytes that are still written */
	int login;	    /* CHILD_KEPT_LOGIN, or -1 */
	uint64_t runtime;   /* child_name_hash of the directory that goes with the last login */
};
#define KEEP_INIT                                                                                                      \
	{                                                                                                              \
		.from = {-1, -1}, .to = {-1, -1}, .login = -1                                                          \
	}

/* 1: somebody may still write. */
int keep_is_needed(const struct keep *k);

/* Takes what came with CHILD_KEEP, as the keeper. Locks are held until this process ends. */
void keep_begin(struct keep *k, struct pass_received *in);
/* There is news of CHILD_KEPT_LOGIN: 1: the user has logged out. */
int keep_is_logout(const struct keep *k);
/* There is something in a pipe, or it is closed. */
void keep_copy(struct keep *k, unsigned i);
