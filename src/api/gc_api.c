/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock gc`. */
#include "api/list.h"
#include "base/error.h"
#include "base/json.h"
#include "history/gc.h"
#include "session/session.h"
#include "settings/config_context.h"

struct airlock_gc {
	bool dry_run;
	struct strs removed[GC_KINDS];
	struct airlock_garbage *v;
	size_t n;
	char *json;
};

API_LIST(gc, airlock_garbage)

void airlock_gc_free(struct airlock_gc *g)
{
	if (!g)
		return;
	for (size_t k = 0; k < GC_KINDS; k++)
		strs_done(&g->removed[k]);
	free(g->v);
	free(g->json);
	free(g);
}

static int fill(struct airlock_gc *g, struct airlock_error *err)
{
	size_t total = 0;
	for (size_t k = 0; k < GC_KINDS; k++)
		total += g->removed[k].n;
	g->v = calloc(total + 1, sizeof *g->v);
	for (size_t k = 0; g->v && k < GC_KINDS; k++)
		for (size_t i = 0; i < g->removed[k].n; i++)
			g->v[g->n++] = (struct airlock_garbage){(enum airlock_garbage_kind)k, g->removed[k].v[i]};
	return g->v ? 0 : base_oom(err);
}

/* First sessions go that nobody needs, then what no session needs. */
static int sweep_sessions(struct airlock_gc *g, const struct airlock_settings *s, struct strs *ret_needed,
			  struct airlock_error *err)
{
	struct host host = {0};
	struct config *config = NULL;
	int rc = host_init(s, &host, err);
	_cleanup_notes_ struct notes notes = NOTES_INIT;
	size_t count = 0;
	if (rc == 0) /* their layers are no garbage */
		rc = session_hold_cut(&(struct session_place){&host, NULL}, NULL, &count, &notes, err);
	if (rc == 0)
		rc = config_of_settings(s, &config, err);
	if (rc == 0)
		rc = session_sweep(&host, gc_oldest(config, store_now()), g->dry_run,
				   &g->removed[AIRLOCK_GARBAGE_SESSION], err);
	if (rc == 0)
		rc = session_references(&host, ret_needed, err);
	strs_sort(ret_needed);
	config_free(config);
	host_done(&host);
	return rc;
}

/* A session that cannot be read keeps everything of sessions; the rest is cleaned up all the same. */
static int collect(struct airlock_gc *g, const struct airlock_settings *s, struct airlock_error *err)
{
	_cleanup_strs_ struct strs needed = STRS_INIT;
	struct airlock_error why = {0};
	int swept = sweep_sessions(g, s, &needed, &why);
	int rc = gc_collect(s, g->dry_run, swept < 0 ? NULL : &needed, g->removed, err);
	return rc < 0 || swept == 0 ? rc : base_pass(err, &why);
}

int airlock_gc_run(const struct airlock_settings *s, int dry_run, struct airlock_gc **ret, struct airlock_error *err)
{
	struct airlock_gc *g = calloc(1, sizeof *g);
	if (!g)
		return base_oom(err);
	g->dry_run = dry_run;
	int rc = collect(g, s, err);
	rc = rc < 0 ? rc : fill(g, err);
	if (rc == 0)
		*ret = g;
	else
		airlock_gc_free(g);
	return rc;
}

const char *airlock_gc_json(struct airlock_gc *g)
{
	static const char *const keys[] = {[AIRLOCK_GARBAGE_LAYERS] = "layers",
					   [AIRLOCK_GARBAGE_RUN] = "runs",
					   [AIRLOCK_GARBAGE_BACKUP] = "backups",
					   [AIRLOCK_GARBAGE_CACHES] = "caches",
					   [AIRLOCK_GARBAGE_SESSION] = "sessions"};
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, true);
	json_open_object(&j, NULL);
	json_bool(&j, "dry_run", g->dry_run);
	for (size_t k = 0; k < GC_KINDS; k++) {
		json_open_array(&j, keys[k]);
		for (size_t i = 0; i < g->removed[k].n; i++)
			json_string(&j, NULL, g->removed[k].v[i]);
		json_close(&j);
	}
	json_close(&j);
	return api_json(&out, &g->json);
}
