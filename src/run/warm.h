/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "airlock/airlock.h"
#include "backend/prepared.h"

struct airlock_warm {
	struct backend_prepared *prepared; /* NULL: none */
};
