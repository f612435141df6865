/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Asks the person at the terminal: /dev/tty, never standard input, which belongs to the command.
 *
 *   struct airlock_io io = {…, .ask = ask_permission};
 *   if (ask_terminal(&(struct ask){"Remove it?", "[R]emove  [K]eep", "remove", "remove", "keep"}, &err) > 0) …
 */
#pragma once

#include <stdbool.h>

#include <airlock/airlock.h>

/* For struct airlock_io. Without a terminal: denies, and says which option would have granted it. */
enum airlock_answer ask_permission(const struct airlock_question *q, void *data);
/* Whether there is a person to ask. Never for an agent's run: the agent may be able to type on this terminal. If not,
 * tell the library: then its error says so, in JSON too. */
bool ask_is_possible(const struct airlock_settings *s);

/* Another answer than yes and no, with its own key. */
struct ask_more {
	char letter; /* upper or lower case, alone or followed by Enter */
	const char *said;
};

struct ask {
	const char *text; /* inert, may have several lines */
	const char *keys; /* "[A]llow once  [D]eny" */
	const char *
		word; /* "allow": this word or its first letter, in upper or lower case, means yes, and so do "y" and "yes" as a line */
	const char *said_yes, *said_no; /* shown when decided */
	const struct ask_more *more;	/* ends with letter == 0; NULL: none */
	bool is_during_run;		/* a command is writing to this terminal, too */
};

/* One of several things to do, each with its key. */
struct ask_keys {
	const char *text;    /* inert, shown above the keys; NULL: nothing */
	const char *keys;    /* "[y]es  [n]o" */
	const char *letters; /* "yn"; upper or lower case */
};

/* The letter of the pressed key; '\n' for Enter; 0 for Ctrl-C, Ctrl-D, end of input and signals. Ignores other keys.
 * AIRLOCK_ERR_UNAVAILABLE: nobody to ask. */
int ask_key(const struct ask_keys *ask, struct airlock_error *err);

/* 1: yes; the letter of another answer; 0: anything else, including Enter, end of input, Ctrl-C and a signal.
 * AIRLOCK_ERR_UNAVAILABLE: nobody to ask. */
int ask_terminal(const struct ask *ask, struct airlock_error *err);
