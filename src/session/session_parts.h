/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Declarations that only the files of this module use. */
#pragma once

#include "change/fold/fold.h"
#include "session/session.h"

#define SESSIONS_DIR "sessions"
#define LAYERS_DIR "layers"
#define SESSION_HOME "home"
#define SESSION_RECORD "session"
/* In the directory of a checkpoint: the run that it is of. */
#define SESSION_CHECKPOINT "checkpoint"

/* A new last step or layer, zeroed; NULL: out of memory. */
struct session_step *session_push_step(struct session *s);
struct session_layer *session_push_layer(struct session *s);
void session_layer_done(struct session_layer *l);
/* Only the first n stay. */
void session_keep_steps(struct session *s, size_t n);
void session_keep_layers(struct session *s, size_t n);
uint64_t session_last_step(const struct session *s);

/* A new one, locked, without a record yet: nobody else sees it before it is saved. AIRLOCK_ERR_CONFLICT: there is one. */
int session_begin_new(struct session *s, const struct session_place *at, const char *name, bool holds,
		      struct airlock_error *err);
/* The directory of all runs; the caller's. NULL: out of memory. */
char *session_runs_dir(const struct session *s);
/* The directories of all sessions, with a record or without, as paths. */
int session_list_directories(const struct host *host, struct strs *ret);

/* The whole run is one of the past: it was made of other layers. Its directory goes when the session is saved: until then the record
 * on disk names it. */
void session_forget_whole(struct session *s);
void session_remove_stale(struct session *s);
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
/* The bases of these layers, sorted: the entries that the project had where they changed it. */
int session_load_bases(const struct session *s, size_t from, size_t to, struct fold_bases *ret,
		       struct airlock_error *err);
/* True if this step is a checkpoint of that run (checkpoint.c). */
bool session_is_checkpoint(const struct host *host, const char *step_run, const char *run);
/* Takes the checkpoints of a run away, as far as its layer stands for them. True if there were any: the session must be saved. */
bool session_drop_checkpoints(struct session *s, const struct host *host, const struct session_begun *begun,
			      const char *run);
/* Marks changes whose path has what the session itself has applied: nobody else has changed it since. */
void session_mark_applied(const struct session *s, const struct host *host, struct change_set *set);
/* True if the two cannot both be there: they are about the same path, or one is about everything below it. */
bool session_changes_collide(const struct change *a, const struct change *b);
/* Adds a step whose layer and record are in command->run_dir. The session is locked; it is saved. */
int session_append_step(struct session *s, const struct session_command *command, const struct change_set *set,
			struct airlock_error *err);
