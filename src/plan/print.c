/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The plan as text and as JSON. */
#include "plan/plan.h"

#include "base/json.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

const char *plan_mount_name(enum plan_mount_kind kind)
{
	static const char *const names[] = {
		[PLAN_READ] = "read",
		[PLAN_WRITE] = "write",
		[PLAN_LAYER] = "layer",
		[PLAN_TMPFS] = "tmpfs",
		[PLAN_REBUILD] = "rebuild",
		[PLAN_EMPTY_DIR] = "hide-dir",
		[PLAN_EMPTY_FILE] = "hide-file",
		[PLAN_DEV] = "dev",
		[PLAN_PROC] = "proc",
		[PLAN_SYMLINK] = "symlink",
		[PLAN_DIR] = "dir",
		[PLAN_SEAL] = "seal",
	};
	return names[kind];
}

const char *plan_namespace_name(unsigned bit)
{
	switch (bit) {
	case PLAN_NS_USER:
		return "user";
	case PLAN_NS_MOUNT:
		return "mount";
	case PLAN_NS_PID:
		return "pid";
	case PLAN_NS_NET:
		return "net";
	case PLAN_NS_IPC:
		return "ipc";
	case PLAN_NS_UTS:
		return "uts";
	case PLAN_NS_CGROUP:
		return "cgroup";
	default:
		return NULL;
	}
}

static void add_path(struct buf *out, const char *path)
{
	text_add_escaped(out, path, strlen(path));
}

static void add_origin(struct buf *out, const struct airlock_origin *origin)
{
	_cleanup_free_ char *text = airlock_origin_text(origin);
	buf_adds(out, text ? text : "");
	buf_adds(out, "]\n");
}

static void print_mount(const struct plan_mount *m, struct buf *out)
{
	buf_printf(out, "  %-9s ", plan_mount_name(m->kind));
	add_path(out, m->target);
	if (m->kind == PLAN_SYMLINK) {
		buf_adds(out, " -> ");
		add_path(out, m->source);
	} else if (m->source && strcmp(m->source, m->target) != 0) {
		buf_adds(out, " = ");
		add_path(out, m->source);
	}
	if (m->screen)
		buf_adds(out, " (files only)");
	if (m->kind == PLAN_TMPFS && m->size > 0) {
		buf_adds(out, " (");
		text_add_size(out, m->size);
		buf_addc(out, ')');
	}
	buf_adds(out, "    [");
	add_origin(out, &m->because);
}

static void print_names(const char *title, const struct strs *names, struct buf *out)
{
	buf_printf(out, "%s:", title);
	for (size_t i = 0; i < names->n; i++) {
		buf_addc(out, ' ');
		add_path(out, names->v[i]);
	}
	buf_adds(out, names->n ? "\n" : " none\n");
}

static void print_limits(const struct plan *p, struct buf *out)
{
	buf_adds(out, "limits: timeout ");
	text_add_duration(out, p->timeout_ms.value);
	buf_adds(out, ", memory ");
	text_add_size(out, p->memory.value);
	buf_adds(out, ", processes ");
	if (p->pids.value == TEXT_NONE)
		buf_adds(out, "none");
	else
		buf_printf(out, "%" PRId64, p->pids.value);
	buf_adds(out, ", file size ");
	text_add_size(out, p->file_size.value);
	buf_addc(out, '\n');
}

/* Why variables were removed: for people, and as keys of the JSON. */
static const struct {
	const char *sentence, *key;
} removed_words[POLICY_ENV_N_VERDICTS] = {
	[POLICY_ENV_INSIDE] = {"  because it means something else inside", "inside"},
	[POLICY_ENV_NAME] = {"  because of its name (--env NAME passes it)", "name"},
	[POLICY_ENV_VALUE] = {"  because its value holds a password or key (--env NAME passes it)", "value"},
	[POLICY_ENV_NOT_LISTED] = {"  because the profile passes a short list only (--env NAME passes it)",
				   "not_listed"},
};

void plan_print_text(const struct plan *p, struct buf *out)
{
	buf_printf(out, "profile: %s\n", p->profile);
	buf_adds(out, "working directory: ");
	add_path(out, p->cwd);
	buf_adds(out, "\nmounts, in order:\n");
	for (size_t i = 0; i < p->n_mounts; i++)
		print_mount(&p->mounts[i], out);
	for (size_t i = 0; i < p->n_left_out; i++) {
		buf_adds(out, "  left-out  ");
		add_path(out, p->left_out[i].path);
		buf_adds(out, "    [");
		add_origin(out, &p->left_out[i].because);
	}
	buf_printf(out, "network: %s\n",
		   p->network			 ? "shared with the host"
		   : p->namespaces & PLAN_NS_NET ? "none but an own loopback"
						 : "none");
	buf_adds(out, p->namespaces ? "namespaces:" : "namespaces: none");
	for (unsigned bit = 1; plan_namespace_name(bit); bit <<= 1)
		if (p->namespaces & bit)
			buf_printf(out, " %s", plan_namespace_name(bit));
	buf_printf(out, "\nnested user namespaces: %s\n", p->nested ? "allowed" : "not allowed");
	buf_printf(out, "unix sockets: %s\n", p->unix_sockets ? "allowed" : "only pairs");
	print_names("environment kept", &p->env_kept, out);
	print_names("environment removed", &p->env_removed, out);
	for (size_t i = 0; i < AL_ARRAY_LEN(removed_words); i++)
		if (removed_words[i].sentence && p->env_removed_for[i].n)
			print_names(removed_words[i].sentence, &p->env_removed_for[i], out);
	print_limits(p, out);
	for (size_t i = 0; i < p->notes.n; i++) {
		buf_adds(out, "note: ");
		add_path(out, p->notes.v[i]);
		buf_addc(out, '\n');
	}
}

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

static void json_mount(struct json *j, const char *kind, const struct plan_mount *m)
{
	json_open_object(j, NULL);
	json_string(j, "kind", kind);
	if (m->source)
		json_path(j, "source", m->source);
	else
		json_null(j, "source");
	json_path(j, "target", m->target);
	rule_origin_add_json(j, "because", &m->because);
	if (m->kind == PLAN_TMPFS)
		json_int(j, "size", m->size);
	json_close(j);
}

void plan_print_json(const struct plan *p, struct json *j)
{
	json_string(j, "profile", p->profile);
	json_path(j, "working_dir", p->cwd);
	json_names(j, "roots", &p->roots);
	json_open_array(j, "mounts");
	for (size_t i = 0; i < p->n_mounts; i++)
		json_mount(j, plan_mount_name(p->mounts[i].kind), &p->mounts[i]);
	for (size_t i = 0; i < p->n_left_out; i++)
		json_mount(j, "left-out",
			   &(struct plan_mount){.kind = PLAN_EMPTY_DIR,
						.target = p->left_out[i].path,
						.because = p->left_out[i].because});
	json_close(j);
	json_string(j, "network", p->network ? "allowed" : "blocked");
	json_open_object(j, "environment");
	json_names(j, "kept", &p->env_kept);
	json_names(j, "removed", &p->env_removed);
	json_open_object(j, "removed_because");
	for (size_t i = 0; i < AL_ARRAY_LEN(removed_words); i++)
		if (removed_words[i].key)
			json_names(j, removed_words[i].key, &p->env_removed_for[i]);
	json_close(j);
	json_close(j);
	json_open_object(j, "limits");
	json_limit(j, "timeout_ms", p->timeout_ms.value);
	json_limit(j, "memory", p->memory.value);
	json_limit(j, "pids", p->pids.value);
	json_limit(j, "fsize", p->file_size.value);
	json_close(j);
	json_open_array(j, "namespaces");
	for (unsigned bit = 1; plan_namespace_name(bit); bit <<= 1)
		if (p->namespaces & bit)
			json_string(j, NULL, plan_namespace_name(bit));
	json_close(j);
	json_bool(j, "nested", p->nested);
	json_bool(j, "unix_sockets", p->unix_sockets);
	json_names(j, "notes", &p->notes);
}
