/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "airlock/airlock.h"
#include "backend/backend_prestart.h"

struct airlock_prestart {
	struct backend_prestart *sandbox; /* NULL: none */
};
