/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Completion scripts, made from the tables of commands and options when asked for. Each prints to stdout; the same
 * program always prints the same bytes. */
#pragma once

void completion_bash(void);
void completion_zsh(void);
void completion_fish(void);
