/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The plan as JSON. */
#include "plan/plan.h"

#include "base/json.h"

#include <airlock/job.h>

const char *airlock_mount_kind_name(enum airlock_mount_kind kind)
{
	static const char *const names[] = {
		[AIRLOCK_MOUNT_READ] = "read",
		[AIRLOCK_MOUNT_WRITE] = "write",
		[AIRLOCK_MOUNT_LAYER] = "layer",
		[AIRLOCK_MOUNT_TMPFS] = "tmpfs",
		[AIRLOCK_MOUNT_REBUILD] = "rebuild",
		[AIRLOCK_MOUNT_HIDE_DIR] = "hide-dir",
		[AIRLOCK_MOUNT_HIDE_FILE] = "hide-file",
		[AIRLOCK_MOUNT_DEV] = "dev",
		[AIRLOCK_MOUNT_PROC] = "proc",
		[AIRLOCK_MOUNT_SYMLINK] = "symlink",
		[AIRLOCK_MOUNT_DIR] = "dir",
		[AIRLOCK_MOUNT_SEAL] = "seal",
		[AIRLOCK_MOUNT_LEFT_OUT] = "left-out",
	};
	return names[kind];
}

const char *airlock_namespace_name(unsigned bit)
{
	switch (bit) {
	case AIRLOCK_NAMESPACE_USER:
		return "user";
	case AIRLOCK_NAMESPACE_MOUNT:
		return "mount";
	case AIRLOCK_NAMESPACE_PID:
		return "pid";
	case AIRLOCK_NAMESPACE_NET:
		return "net";
	case AIRLOCK_NAMESPACE_IPC:
		return "ipc";
	case AIRLOCK_NAMESPACE_UTS:
		return "uts";
	case AIRLOCK_NAMESPACE_CGROUP:
		return "cgroup";
	default:
		return NULL;
	}
}

/* Why variables were removed. */
static const char *const removed_names[POLICY_ENV_N_VERDICTS] = {
	[POLICY_ENV_INSIDE] = "inside",
	[POLICY_ENV_NAME] = "name",
	[POLICY_ENV_VALUE] = "value",
	[POLICY_ENV_NOT_LISTED] = "not_listed",
};

static void json_limit(struct json *j, const char *key, int64_t value)
{
	if (value == TEXT_NONE)
		json_null(j, key);
	else
		json_int(j, key, value);
}

static void json_names(struct json *j, const char *key, const struct strs *names)
{
	json_open_array(j, key);
	for (size_t i = 0; i < names->n; i++)
		json_string(j, NULL, names->v[i]);
	json_close(j);
}

static void json_mount(struct json *j, enum airlock_mount_kind kind, const struct plan_mount *m)
{
	json_open_object(j, NULL);
	json_string(j, "kind", airlock_mount_kind_name(kind));
	if (m->source)
		json_path(j, "source", m->source);
	else
		json_null(j, "source");
	json_path(j, "target", m->target);
	rule_origin_add_json(j, "because", &m->because);
	if (m->kind == PLAN_TMPFS)
		json_int(j, "size", m->size);
	if (m->screen)
		json_bool(j, "files_only", true);
	json_close(j);
}

void plan_print_json(const struct plan *p, struct json *j)
{
	json_string(j, "profile", p->profile);
	json_path(j, "working_dir", p->cwd);
	json_names(j, "roots", &p->roots);
	json_open_array(j, "mounts");
	for (size_t i = 0; i < p->n_mounts; i++)
		json_mount(j, (enum airlock_mount_kind)p->mounts[i].kind, &p->mounts[i]);
	for (size_t i = 0; i < p->n_left_out; i++)
		json_mount(j, AIRLOCK_MOUNT_LEFT_OUT,
			   &(struct plan_mount){.kind = PLAN_EMPTY_DIR,
						.target = p->left_out[i].path,
						.because = p->left_out[i].because});
	json_close(j);
	json_string(j, "network", p->network ? "host" : p->gate ? "filtered" : "blocked");
	json_open_object(j, "environment");
	json_names(j, "kept", &p->env_kept);
	json_names(j, "removed", &p->env_removed);
	json_open_object(j, "removed_because");
	for (size_t i = 0; i < AL_ARRAY_LEN(removed_names); i++)
		if (removed_names[i])
			json_names(j, removed_names[i], &p->env_removed_for[i]);
	json_close(j);
	json_close(j);
	json_open_object(j, "limits");
	json_limit(j, "timeout_ms", p->timeout_ms.value);
	json_limit(j, "memory", p->memory.value);
	json_limit(j, "pids", p->pids.value);
	json_limit(j, "fsize", p->file_size.value);
	json_close(j);
	json_open_array(j, "namespaces");
	for (unsigned bit = 1; airlock_namespace_name(bit); bit <<= 1)
		if (p->namespaces & bit)
			json_string(j, NULL, airlock_namespace_name(bit));
	json_close(j);
	json_bool(j, "nested", p->nested);
	json_bool(j, "unix_sockets", p->unix_sockets);
	notes_add_json(j, "notes", &p->notes);
}
