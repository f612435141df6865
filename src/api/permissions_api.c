/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock permissions`. */
#include "airlock/history.h"
#include "api/list.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "permission/permission.h"
#include "run/remember.h"

#include <string.h>
#include <time.h>

/* A missing store counts as an empty one. */
static int open_existing(const struct airlock_settings *s, struct store **ret, struct airlock_error *err)
{
	struct host host;
	struct airlock_error why = {0};
	int rc = host_init(s, &host, err);
	if (rc < 0)
		return rc;
	rc = store_open_existing(host.state_dir, STORE_WAIT_MS, ret, &why);
	host_done(&host);
	return rc == AIRLOCK_ERR_NOT_FOUND || rc >= 0 ? 0 : base_pass(err, &why);
}

struct airlock_permissions {
	struct airlock_permission *v;
	size_t n;
	struct store_permissions rows; /* behind v */
	char *json;
};

API_LIST(permissions, airlock_permission)

void airlock_permissions_free(struct airlock_permissions *l)
{
	if (!l)
		return;
	store_permissions_done(&l->rows);
	free(l->v);
	free(l->json);
	free(l);
}

static int fill(struct airlock_permissions *l, struct airlock_error *err)
{
	l->v = calloc(l->rows.n + 1, sizeof *l->v);
	if (!l->v)
		return base_oom(err);
	for (size_t i = 0; i < l->rows.n; i++) {
		const struct store_permission *p = &l->rows.v[i];
		if (!remember_is_over(p))
			l->v[l->n++] = (struct airlock_permission){.id = p->id,
								   .kind = p->kind,
								   .command = p->command,
								   .working_dir = p->working_dir,
								   .project = p->project,
								   .answer = remember_answer(p),
								   .created_ns = p->created};
	}
	return 0;
}

int airlock_permissions_open(const struct airlock_settings *s, struct airlock_permissions **ret,
			     struct airlock_error *err)
{
	_cleanup_store_ struct store *store = NULL;
	struct airlock_permissions *l = calloc(1, sizeof *l);
	int rc = l ? open_existing(s, &store, err) : base_oom(err);
	if (rc == 0 && store)
		rc = store_permission_list(store, NULL, &l->rows, err);
	rc = rc < 0 ? rc : fill(l, err);
	if (rc == 0)
		*ret = l;
	else
		airlock_permissions_free(l);
	return rc;
}

static void add_created(struct json *j, int64_t ns)
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;
	char text[32] = "?";
	if (gmtime_r(&seconds, &tm))
		(void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	json_string(j, "created", text);
}

const char *airlock_permissions_json(struct airlock_permissions *l)
{
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, true);
	json_open_object(&j, NULL);
	json_open_array(&j, "permissions");
	for (size_t i = 0; i < l->n; i++) {
		const struct airlock_permission *p = &l->v[i];
		json_open_object(&j, NULL);
		json_int(&j, "id", p->id);
		json_string(&j, "kind", p->kind);
		json_string(&j, "command", p->command);
		json_path(&j, "working_dir", p->working_dir);
		json_path(&j, "project", p->project);
		json_string(&j, "decision", permission_allows(p->answer) ? "allow" : "deny");
		json_string(&j, "scope", permission_scope(p->answer));
		add_created(&j, p->created_ns);
		json_close(&j);
	}
	json_close(&j);
	json_close(&j);
	return api_json(&out, &l->json);
}

int airlock_permissions_revoke(const struct airlock_settings *s, const char *id, struct airlock_error *err)
{
	_cleanup_store_ struct store *store = NULL;
	int64_t number = 0;
	if (text_parse_count(id, &number) < 0 || number == TEXT_NONE) {
		base_error(err, AIRLOCK_ERR_USAGE, "revoke", id, "\"%s\" is not the number of a remembered answer", id);
		return base_hint(err, "`airlock permissions list` shows them");
	}
	int rc = open_existing(s, &store, err);
	if (rc == 0 && !store)
		rc = base_error(err, AIRLOCK_ERR_NOT_FOUND, "revoke", id, "there is no remembered answer %s", id);
	return rc < 0 ? rc : store_permission_remove(store, number, err);
}

int airlock_permissions_clear(const struct airlock_settings *s, uint64_t *ret_count, struct airlock_error *err)
{
	_cleanup_store_ struct store *store = NULL;
	*ret_count = 0;
	int rc = open_existing(s, &store, err);
	return rc < 0 || !store ? rc : store_permission_clear(store, ret_count, err);
}
