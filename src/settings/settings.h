/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the caller asked for, before anything is looked at. */
#pragma once

#include "airlock/airlock.h"
#include "base/buf.h"
#include "config/config.h"

struct airlock_settings {
	struct strs environ;
	struct config_setting *items; /* options, in the order they were set */
	size_t n_items, cap_items;
	struct strs argv;
	char *command;
	char *session;	/* NULL: the caller's terminal session */
	char *asked_by; /* NULL: a program that links the library */
	bool for_model; /* denials are explained and output is short, unless somebody says otherwise */
	char *recipe;	/* the agent whose program is run; argv are its arguments. NULL: none */
	bool yolo;	/* … with its option that asks nothing */
	struct airlock_prestart *prestart; /* borrowed; NULL: none */
};

/* A variable of the caller's environment, or NULL. */
const char *settings_getenv(const struct airlock_settings *s, const char *name);

/* The environment's AIRLOCK_* twins first, then the options: ascending precedence. The items borrow from `s` and `words`. */
struct settings_view {
	struct config_setting *items;
	size_t n;
	struct strs words;
};
int settings_view(const struct airlock_settings *s, struct settings_view *ret, struct airlock_error *err);
void settings_view_done(struct settings_view *v);

/* The last value of a scalar, or NULL. */
const char *settings_get(const struct settings_view *v, const char *key);
/* The same for flags; a word that is no boolean is AIRLOCK_ERR_USAGE. */
int settings_get_flag(const struct settings_view *v, const char *key, bool *ret, struct airlock_error *err);
