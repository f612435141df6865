/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of this module share. */
#pragma once

#include "change/fold/fold.h"
#include "session/session.h"

#define SESSIONS_DIR "sessions"
#define LAYERS_DIR "layers"

/* A new last step or layer, zeroed; NULL: out of memory. */
struct session_step *session_push_step(struct session *s);
struct session_layer *session_push_layer(struct session *s);
void session_layer_done(struct session_layer *l);
/* Only the first n stay. */
void session_keep_steps(struct session *s, size_t n);
void session_keep_layers(struct session *s, size_t n);
uint64_t session_last_step(const struct session *s);

/* The whole run is one of the past: it was made of other layers. */
void session_forget_whole(struct session *s);
/* A new directory in layers/. The caller's path. */
int session_make_layer_dir(const struct host *host, char **ret, struct airlock_error *err);
/* A new directory in runs/, which gc leaves alone as long as *ret_lock is open. The caller's path. */
int session_claim_run(const char *runs, char *id, size_t size, char **ret_dir, int *ret_lock,
		      struct airlock_error *err);
/* A layer of these roots in dir, onto the end of the stack. */
int session_put_layer(struct session *s, const char *dir, const struct change_set *set, uint64_t first, uint64_t last,
		      const char *of, struct airlock_error *err);
/* Layers from to to-1 as one below dir, for all roots that any of them has; fills roots and uppers. */
int session_merge_layers(const struct session *s, size_t from, size_t to, const char *dir, enum fold_files how,
			 struct session_layer *ret, struct airlock_error *err);
/* What these layers found in the project, sorted. */
int session_load_bases(const struct session *s, size_t from, size_t to, struct fold_bases *ret,
		       struct airlock_error *err);
/* True if the two cannot both be there: they are about the same path, or one is about everything below it. */
bool session_changes_collide(const struct change *a, const struct change *b);
/* Adds a step whose layer and record are in command->run_dir. The session is locked; it is saved. */
int session_append_step(struct session *s, const struct session_command *command, const struct change_set *set,
			struct airlock_error *err);
