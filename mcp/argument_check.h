/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The part of JSON Schema that the tools' arguments are described with: type, properties, required, additionalProperties
 * (false), items, maxItems, enum, minLength, minimum, exclusiveMinimum, maximum. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* True if the value matches the schema; otherwise why says what is wrong. */
bool schema_accepts(const json_t *schema, const json_t *value, char *why, size_t size);
