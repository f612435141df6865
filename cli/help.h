/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Help, made from the tables of commands and options; always on stdout. */
#pragma once

#include "commands.h"

void help_welcome(void);  /* `airlock` alone: first steps */
void help_overview(void); /* all commands */
void help_command(const struct command *c);
