/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The whole terminal for a while: /dev/tty, keys as they are pressed, frames drawn over each other.
 *
 *   struct screen s;
 *   if (screen_open(&s, &err) < 0) …
 *   screen_draw(&s, frame);
 *   while ((event = screen_wait(&s, &key)) != SCREEN_OVER) …
 *   screen_close(&s);
 *
 * Between open and close the signals that would end airlock are blocked; one of them is SCREEN_OVER, and strikes when the
 * caller's mask is back, after the terminal has been put back too. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include <airlock/airlock.h>

#include "terminal.h"

struct screen {
	int tty;
	int ends, signals; /* signals that would end us, only waited for; the others */
	struct terminal mode;
	sigset_t before;
	bool is_on;		 /* the frames are seen */
	unsigned char bytes[64]; /* read, but no keys yet */
	size_t n_bytes;
	bool is_burst; /* they came together with others */
	int news_fd;   /* borrowed: also waited for; -1: none */
	int tick_ms;   /* SCREEN_NEWS comes at least this often; -1: not by itself */
};

struct screen_size {
	size_t height, width;
};

struct screen_key {
	int key;       /* of keys.h */
	bool is_burst; /* arrived together with others: a paste, or a key that is held down */
};

enum screen_event {
	SCREEN_KEY,
	SCREEN_NEWS,	/* news_fd can be read, or it is time to look */
	SCREEN_RESIZED, /* or we were continued: draw it again */
	SCREEN_OVER,	/* a signal, or the terminal is gone */
};

/* True if there is a terminal that can show frames: not a dumb one, not too small, and colours are allowed. */
bool screen_is_possible(void);

int screen_open(struct screen *s, struct airlock_error *err);
void screen_close(struct screen *s);
/* Gives the terminal back for another question; and takes it again. */
void screen_leave(struct screen *s);
int screen_enter(struct screen *s, struct airlock_error *err);
/* Ctrl-Z: stops this process group until someone continues it. */
int screen_suspend(struct screen *s, struct airlock_error *err);

struct screen_size screen_size(const struct screen *s);
void screen_draw(const struct screen *s, const char *frame);
enum screen_event screen_wait(struct screen *s, struct screen_key *ret);
/* True if the key came by itself, with nothing right before or after it. Waits a moment. */
bool screen_is_alone(const struct screen *s, const struct screen_key *key);
