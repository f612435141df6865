/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The counters of the server, and their text form for Prometheus. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SERVE_BUCKETS 12

struct serve_histogram {
	uint64_t counts[SERVE_BUCKETS + 1]; /* the last: longer than all */
	double sum_s;
};

enum serve_quota {
	SERVE_QUOTA_REQUESTS,
	SERVE_QUOTA_SANDBOXES,
	SERVE_QUOTA_DISK,
	SERVE_QUOTA_COMMANDS,
	SERVE_N_QUOTAS
};

struct serve_metrics {
	uint64_t by_status[600]; /* replies */
	uint64_t runs[5];	 /* by enum airlock_status */
	uint64_t runs_refused;	 /* could not be started */
	uint64_t quota_hits[SERVE_N_QUOTAS];
	uint64_t created, deleted, rested;
	uint64_t pool_hits, pool_misses;
	uint64_t bytes_in, bytes_out; /* of files */
	uint64_t mcp_messages, audit_lost;
	struct serve_histogram request_s, run_s;
};

/* Numbers that are not counted but are so now. */
struct serve_gauges {
	size_t sandboxes_awake, commands_running, requests_in_flight, pool, tokens;
	unsigned connections;
	int is_draining;
};

void serve_histogram_add(struct serve_histogram *h, double seconds);
void serve_metrics_print(FILE *out, const struct serve_metrics *m, const struct serve_gauges *g);
