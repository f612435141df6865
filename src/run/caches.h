/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Caches of the home that commands may write to, without writing to the home.
 *
 *   caches_decide(job, &caches, err);                 for the plan: which there are, and where their own directories are
 *   caches_make(job, &fd, err);                       before anything is mounted: these directories
 *   caches_begin(&run->caches, job, layers…, err);    when the run starts: layers of the project and of its caches
 *   caches_tidy(&run->caches, run_dir);               when nothing is mounted any more
 *
 * <state_dir>/caches/<32 hex of sha256 of the project>/ (or "shared"):
 *   project        the path of the project; "" when shared
 *   use            every job of the project holds a shared lock on it: whoever gets it alone may remove the rest
 *   layers         who holds this lock has the uppers: the kernel does not define what two overlays on one upper do
 *   upper/NAME     of the overlay over a cache that is in the home
 *   whole/NAME     what stands for a cache that is not
 *   used/RUN       what a run has left, for the next one to remove
 * NAME is the path below the home with '/' as "%2F" and '%' as "%25".
 */
#pragma once

#include "run/job.h"

struct run_caches {
	struct child_layer *layers; /* those of the project first, then those of the caches */
	size_t n_layers;
	struct strs paths; /* behind layers */
	int dir_fd;	   /* of the project's caches; -EBADF: no layers */
	int lock_fd;	   /* of the uppers; -EBADF: none, or they are another run's */
	bool thrown_away;  /* the uppers are the run's own, because another run has the kept ones */
	int agent_lock_fd; /* the same for what is private to an agent */
	bool agent_thrown_away;
};
#define RUN_CACHES_INIT                                                                                                \
	{                                                                                                              \
		.dir_fd = -EBADF, .lock_fd = -EBADF, .agent_lock_fd = -EBADF                                           \
	}

/* The caches for the plan; freed by cache_list_done. */
struct cache_list {
	struct plan_cache *v;
	size_t n;
	struct strs paths; /* behind v */
};

/* Empty where the configuration, the backend or the profile wants none. A cache that cannot be had stays read-only. */
int caches_decide(struct airlock_job *job, struct cache_list *ret, struct airlock_error *err);
void cache_list_done(struct cache_list *l);

/* Makes the directories that the plan names; `airlock cache clear` refuses for as long as *lock_fd is open. Must come before the
 * first mount, also before that of a prestarted sandbox. Not done when the plan is made: whoever only looks at a plan
 * (`airlock explain`) leaves nothing behind. Does nothing when *lock_fd is open already, or the plan has no caches. */
int caches_make(const struct airlock_job *job, int *lock_fd, struct airlock_error *err);
/* The path below the home as one name. False: it is too long. */
bool caches_add_name(struct buf *out, const char *rest);
int caches_begin(struct run_caches *c, struct airlock_job *job, const char *run_dir, const struct child_layer *layers,
		 size_t n_layers, struct airlock_error *err);
/* While there is nothing to do but to wait: removes what earlier runs have left. */
void caches_clean(const struct run_caches *c);
void caches_tidy(struct run_caches *c, const char *run_dir);
void caches_done(struct run_caches *c);
