/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Directories of the host that are shown through a screen: an overlay without an upper layer.
 *
 * A socket or FIFO in a read-only bind mount still leads to the program at its other end on the host; a command could
 * talk to tmux, a key agent or a database and make it act. An overlay shows the same files with its own inodes:
 * connect(2) and sendto(2) return ECONNREFUSED, and a FIFO has no other end. This also holds for what the host makes
 * while the command runs.
 *
 * An overlay does not show what is mounted below its directory, and an ordinary user may not make one there. Such a
 * directory is rebuilt instead (room.c), which leaves its sockets out, and its entries get their own screens.
 *
 * The system's own directories are shown as they are. Only root makes anything there, every program is started from
 * there, and lookups in a fresh overlay cost time. */
#include "plan/screens.h"

#include "base/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* /run is hidden: whatever is shown of it was named by a person, who wants its sockets. */
static const char *const system_dirs[] = {"/bin",   "/boot",  "/dev",	 "/efi",       "/etc",	    "/lib",
					  "/lib32", "/lib64", "/libx32", "/proc",      "/run",	    "/sbin",
					  "/snap",  "/sys",   "/usr",	 "/nix/store", "/gnu/store"};

static bool is_system(const char *path)
{
	for (size_t i = 0; i < AL_ARRAY_LEN(system_dirs); i++)
		if (path[1] == system_dirs[i][1] && path_is_beneath(path, system_dirs[i]))
			return true; /* hundreds of entries are asked about, and the first letter tells it of most */
	return false;
}

static bool is_above_mount(const struct plan_inputs *in, const char *dir)
{
	for (size_t i = 0; in->mount_points && i < in->mount_points->n; i++) {
		const char *rest = path_rest(in->mount_points->v[i], dir);
		if (rest && *rest)
			return true;
	}
	return false;
}

static bool wants_screen(struct nodes *t, struct node *n, const struct plan_world *w)
{
	return n->kind == PLAN_READ && n->source[1] && !is_system(n->source) && nodes_type(t, n, w) == PLAN_DIRECTORY;
}

char *screens_dir(const struct plan_inputs *in, const char *source)
{
	char *dir = is_above_mount(in, source) ? NULL : strdup(source);
	while (dir) {
		char *above = path_dirname(dir);
		if (!above || !above[1] || is_above_mount(in, above)) {
			free(above);
			return dir;
		}
		free(dir);
		dir = above;
	}
	return dir;
}

/* The screen of the directory that the source lies in, which is also the screen of the source; NULL: that directory is "/", or something is
 * mounted below it. The entries of a rebuilt directory follow each other, so it is looked for once. */
static const char *screen_above(struct nodes *t, const struct plan_inputs *in, const char *source)
{
	size_t len = (size_t)(path_basename(source) - source);
	if (t->screen_above && strlen(t->screen_above) == len && memcmp(t->screen_above, source, len) == 0)
		return t->screen;
	base_freep(&t->screen_above);
	base_freep(&t->screen);
	_cleanup_free_ char *above = path_dirname(source);
	bool is_free = above && above[1] && !is_above_mount(in, above);
	t->screen_above = strndup(source, len);
	t->screen = is_free ? screens_dir(in, above) : NULL;
	return t->screen;
}

bool screens_settle(struct nodes *t, struct node *n, const struct plan_inputs *in, struct plan *p)
{
	struct plan_mount *m = &p->mounts[p->n_mounts - 1];
	m->special = m->kind == PLAN_READ && n->looked && (n->type == PLAN_SOCKET || n->type == PLAN_OTHER);
	if (in->in_place || !wants_screen(t, n, in->world))
		return true;
	const char *above = screen_above(t, in, n->source);
	if (!above && is_above_mount(in, n->source))
		return strs_add(&p->exposed, n->source), !p->exposed.failed;
	m->screen = above ? strdup(above) : screens_dir(in, n->source);
	return m->screen != NULL;
}

/* Every directory in the root that is not the system's and has no other rule. */
static void add_top_level(struct nodes *t, const struct plan_inputs *in)
{
	_cleanup_strs_ struct strs names = STRS_INIT;
	size_t known = t->n;
	if (in->world->list("/", &names, in->world->data) < 0)
		return;
	strs_sort(&names);
	for (size_t i = 0; i < names.n && !t->failed; i++) {
		_cleanup_free_ char *path = path_join("/", names.v[i]);
		if (!path || names.failed) {
			t->failed = true;
			return;
		}
		if (is_system(path) || nodes_have(t, known, path) ||
		    in->world->type(path, in->world->data) != PLAN_DIRECTORY)
			continue;
		struct node *n = nodes_put(t, path, PLAN_READ, path, RULE_ORIGIN(SOCKETS), 0);
		if (n) {
			n->type = PLAN_DIRECTORY;
			n->looked = n->derived = true;
		}
	}
	nodes_sort(t);
}

void screens_add(struct nodes *t, const struct plan_inputs *in, struct notes *notes)
{
	if (in->in_place || t->failed || t->n == 0)
		return;
	if (strcmp(t->v[0].path, "/") == 0 && t->v[0].kind == PLAN_READ)
		add_top_level(t, in);
	for (size_t i = 0; i < t->n && !t->failed;) {
		struct node *n = &t->v[i];
		bool rebuilt = wants_screen(t, n, in->world) && is_above_mount(in, n->source) &&
			       strcmp(n->path, n->source) == 0 &&
			       room_rebuild(t, in->world, n->path, RULE_ORIGIN(SOCKETS), notes);
		i += !rebuilt; /* its entries were inserted behind it, and it is looked at again */
	}
}
