/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A run's layers: made before it, read and decided about after it. */
#pragma once

#include "change/scan/copy.h"
#include "change/apply/lock.h"
#include "run/job.h"
#include "supervise/supervise.h"

struct run_layers {
	bool enabled;
	bool by_copy;	/* copies.h: there is no layer while the command runs */
	bool mirrored;	/* the layers are whole copies of the roots, mounted there: no overlay can be had */
	bool aside;	/* somebody can still write to the layers: the set is about copies of them (run_background.h) */
	bool unsettled; /* by copy, and what must not stay could not be put back: the next start tries again */
	struct copy_origins origins;
	struct lock lock;	/* by copy: one run at a time in a root */
	struct change_set *set; /* NULL when not enabled, or when the scan failed */
	struct strs paths;	/* behind layers: root, upper, work of each */
	struct child_layer *layers;
	size_t n_layers;
	struct notes notes;	    /* paths that could not be looked at, hard links split… */
	struct airlock_error error; /* scanning or applying failed; the changes are held */
	bool discarded;
	bool try_again; /* what it changed could not be recorded now: whoever looks later finds it (begun.h) */
	bool recorded;	/* what it changed, if anything, is on disk */
	int64_t real_ns, boot_ns; /* when it began, by the clock of the calendar and by one that nobody sets */
};

/* Does this job's mode capture changes, in layers? */
bool layers_wanted(const struct airlock_job *job);

/* How changes are captured. */
enum airlock_capture layers_capture(const struct airlock_job *job);

/* Can changes in the roots be captured at all, as far as can be said before? AIRLOCK_ERR_UNAVAILABLE with the reason and the
 * way out. mount_points: every mount of the host; NULL: it reads them. */
int layers_preflight(const struct airlock_job *job, const struct strs *mount_points, struct airlock_error *err);

/* Makes upper/overlayN and work/workN in the run's directory. */
int layers_begin(struct run_layers *c, const struct airlock_job *job, const char *run, const char *run_dir,
		 struct airlock_error *err);

/* Everybody who could write is dead: scan, judge, apply as the mode says. Failures go to c->error. prepared: for the record, from
 * fs_prepare_file, or -1; taken. */
void layers_end(struct run_layers *c, struct airlock_job *job, const char *run_dir,
		const struct supervise_result *result, int prepared);
/* No layer is mounted any more: removes what is of no use. */
void layers_tidy(struct run_layers *c, const struct airlock_job *job, const char *run_dir);
void layers_done(struct run_layers *c);

/* The word of the report for the whole run. */
enum airlock_changes_state layers_state(const struct run_layers *c);
