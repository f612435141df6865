/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* [[commands]]: which rules apply to a command. */
#pragma once

#include "config/config.h"
#include "config/toml.h"

/* The words of the command; empty if they are not certain, and then no rule applies. */
int rules_command_words(const struct config_inputs *in, struct strs *ret, struct airlock_error *err);

/* match is an array of strings: the first words of a command. */
bool rules_match(const struct toml_value *match, const struct strs *words);
