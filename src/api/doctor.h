/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The doctor without the settings around it; airlock_doctor_examine of the public header is made of this. */
#pragma once

#include "airlock/airlock.h"

struct doctor_inputs {
	const char *state_dir;	/* made when missing */
	const char *home;	/* may be NULL */
	const char *project;	/* what a run here would put an overlay over; NULL: none */
	const char *path_env;	/* may be NULL */
	const char *flatpak_id; /* FLATPAK_ID, may be NULL */
};

/* Every probe, live: nothing remembered is used, and what is remembered is brought up to date. */
int doctor_examine(const struct doctor_inputs *in, struct airlock_doctor **ret, struct airlock_error *err);
