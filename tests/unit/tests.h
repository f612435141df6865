/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What every unit test needs; cmocka wants these four headers before its own. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
