/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Completion scripts, made from the tables of commands and options when asked for. Each prints to stdout; the same
 * program always prints the same bytes. */
#pragma once

#include <stdbool.h>

/* Prints the ids of the questions that wait, in every shell. */
#define COMPLETION_QUESTIONS "airlock questions 2>/dev/null | cut -c1-8"

/* Prints the names of the project's sessions. Used inside '…' and "…". */
#define COMPLETION_SESSIONS "airlock session list 2>/dev/null | sed \"s/ .*//\""
/* The kind of names that completion offers after these words: "session", or "session-or-path" with files, too. */
bool completion_has_sessions(const char *completes);

void completion_bash(void);
void completion_zsh(void);
void completion_fish(void);
