/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Completion scripts, made from the tables of commands and options when asked for. Each prints to stdout; the same
 * program always prints the same bytes. */
#pragma once

/* Prints the ids of the questions that wait, in every shell. */
#define COMPLETION_QUESTIONS "airlock questions 2>/dev/null | cut -c1-8"

void completion_bash(void);
void completion_zsh(void);
void completion_fish(void);
