/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/rule_origin.h"

#include "base/json.h"
#include "base/text.h"

#include <string.h>

/* %s is the name. */
static const char *const words[] = {
	[AIRLOCK_ORIGIN_ALWAYS] = "always",
	[AIRLOCK_ORIGIN_BUILTIN] = "built-in: %s",
	[AIRLOCK_ORIGIN_PROFILE] = "profile %s",
	[AIRLOCK_ORIGIN_FILE] = "%s:", /* and the line */
	[AIRLOCK_ORIGIN_CALLER] = "%s",
	[AIRLOCK_ORIGIN_SHARE_PID] = "share_pid",
	[AIRLOCK_ORIGIN_PROJECT] = "project",
	[AIRLOCK_ORIGIN_LINK_ALLOWED] = "symlink %s, allowed by a person",
	[AIRLOCK_ORIGIN_LINK_GRANTED] = "symlink %s, allowed for this run",
	[AIRLOCK_ORIGIN_WORKTREE] = "git directory of this worktree",
	[AIRLOCK_ORIGIN_SUBMODULE] = "git directory of this submodule",
	[AIRLOCK_ORIGIN_WORKSPACE] = "workspace",
	[AIRLOCK_ORIGIN_PLAYGROUND] = "playground",
	[AIRLOCK_ORIGIN_CACHE] = "cache",
	[AIRLOCK_ORIGIN_OWN_STATE] = "airlock's own state",
	[AIRLOCK_ORIGIN_OWN_CONFIGURATION] = "airlock's own configuration",
	[AIRLOCK_ORIGIN_KERNEL_ADDRESSES] = "addresses of the kernel",
	[AIRLOCK_ORIGIN_SESSION_SOCKETS] = "the session's sockets",
	[AIRLOCK_ORIGIN_HOST_SOCKET] = "a socket of the host",
	[AIRLOCK_ORIGIN_OTHER_NAME] = "another name of %s",
	[AIRLOCK_ORIGIN_RESOLVER] = "network: names must resolve",
	[AIRLOCK_ORIGIN_SOCKETS] = "its sockets and FIFOs must not lead to the host",
	[AIRLOCK_ORIGIN_GATHERED] = "many of its entries are visible, the others are not",
	[AIRLOCK_ORIGIN_ENTRY] = "entry of a rebuilt directory",
	[AIRLOCK_ORIGIN_LEFT_OUT] = "%s is left out of it",
	[AIRLOCK_ORIGIN_PLACE] = "%s needs a place there",
	[AIRLOCK_ORIGIN_SYSTEM] = "the system, over the workspace",
	[AIRLOCK_ORIGIN_MACHINE] = "what programs need to know of the machine",
	[AIRLOCK_ORIGIN_MACHINE_ONLY] = "only what programs need to know of the machine",
	[AIRLOCK_ORIGIN_MADE] = "made for the workspace",
	[AIRLOCK_ORIGIN_SESSION_TMP] = "/tmp of the session",
	[AIRLOCK_ORIGIN_AGENT_PRIVATE] = "agent %s: what it writes stays with the session",
	[AIRLOCK_ORIGIN_AGENT_STATE] = "agent %s: its own state",
	[AIRLOCK_ORIGIN_AGENT_CREDENTIALS] = "agent %s: its credentials",
	[AIRLOCK_ORIGIN_AGENT_PROGRAM] = "agent %s: its program",
	[AIRLOCK_ORIGIN_AGENT_OTHER] = "it belongs to agent %s",
};

void rule_origin_add(struct buf *out, const struct airlock_origin *origin)
{
	const char *text = words[origin->kind], *slot = strstr(text, "%s");
	if (origin->kind == AIRLOCK_ORIGIN_BUILTIN && !origin->name) {
		buf_adds(out, "built-in");
		return;
	}
	bool is_link = origin->kind == AIRLOCK_ORIGIN_LINK_ALLOWED || origin->kind == AIRLOCK_ORIGIN_LINK_GRANTED;
	if (!slot) {
		buf_adds(out, text);
		return;
	}
	buf_add(out, text, (size_t)(slot - text));
	buf_adds(out, origin->name);
	if (is_link && origin->name[0] != '/')
		buf_adds(out, " in the project");
	buf_adds(out, slot + 2);
	if (origin->kind == AIRLOCK_ORIGIN_FILE)
		buf_add_signed(out, origin->line);
}

void rule_origin_add_json(struct json *j, const char *key, const struct airlock_origin *origin)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	rule_origin_add(&text, origin);
	json_string(j, key, buf_str(&text));
}

struct airlock_origin rule_origin_keep(struct airlock_origin origin, struct strs *names)
{
	if (!origin.name)
		return origin;
	for (size_t i = names->n; i > 0; i--) /* hundreds of rules in a row have one origin */
		if (strcmp(names->v[i - 1], origin.name) == 0) {
			origin.name = names->v[i - 1];
			return origin;
		}
	strs_add(names, origin.name);
	origin.name = names->failed ? "" : names->v[names->n - 1];
	return origin;
}

bool rule_origin_is_own(const struct airlock_origin *origin)
{
	return origin->kind == AIRLOCK_ORIGIN_OWN_STATE || origin->kind == AIRLOCK_ORIGIN_OWN_CONFIGURATION;
}

bool rule_origin_is_same(const struct airlock_origin *a, const struct airlock_origin *b)
{
	bool same_name = a->name && b->name ? strcmp(a->name, b->name) == 0 : a->name == b->name;
	return a->kind == b->kind && a->line == b->line && same_name;
}

char *airlock_origin_text(const struct airlock_origin *origin)
{
	_cleanup_buf_ struct buf raw = BUF_INIT;
	struct buf out = BUF_INIT;
	rule_origin_add(&raw, origin);
	text_add_escaped(&out, buf_str(&raw), raw.len);
	out.failed |= raw.failed;
	return buf_take(&out);
}
