/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "backend/stage_job.h"

#include "backend/spawn.h"
#include "base/path.h"
#include "child/program.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

static bool is_entry_of(const char *path, const char *dir)
{
	const char *rest = path_rest(path, dir);
	return rest && *rest && !strchr(rest, '/');
}

const struct plan_mount *stage_rebuilt_parent(const struct plan *plan, const struct plan_mount *m)
{
	for (size_t i = 0; i < plan->n_mounts; i++)
		if (plan->mounts[i].kind == PLAN_REBUILD && is_entry_of(m->target, plan->mounts[i].target))
			return &plan->mounts[i];
	return NULL;
}

/* The mount through which m's target is seen. */
static const struct plan_mount *cover_of(const struct plan *plan, const struct plan_mount *m)
{
	const struct plan_mount *cover = NULL;
	for (const struct plan_mount *c = plan->mounts; c < m; c++)
		if (path_is_beneath(m->target, c->target))
			cover = c;
	return cover;
}

bool stage_covers(const struct plan *plan, const struct plan_mount *m)
{
	if (m->kind != PLAN_EMPTY_FILE && m->kind != PLAN_EMPTY_DIR)
		return false;
	const struct plan_mount *cover = cover_of(plan, m);
	if (!cover || cover->kind != PLAN_READ || strcmp(cover->source, cover->target) != 0)
		return false;
	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct plan_mount *o = &plan->mounts[i];
		if (o == m || o->kind == PLAN_SEAL)
			continue;
		if (path_is_beneath(o->target, m->target) || (o->source && path_is_beneath(o->source, m->target)))
			return false;
	}
	return true;
}

/* Says how to check the place of a mount that lies in a directory which commands may write to, such as the /tmp of a session. A place
 * below another mount in that directory needs no check here: it belongs to that mount. */
static struct child_pin pin_of(const struct plan *plan, const struct plan_mount *m)
{
	const struct plan_mount *above = cover_of(plan, m);
	const char *rest = above ? path_rest(m->target, above->target) : NULL;
	bool is_elsewhere =
		above && above->kind == PLAN_WRITE && !above->cache && strcmp(above->source, above->target) != 0;
	if (!is_elsewhere || m->kind == PLAN_SEAL || !rest || !*rest)
		return (struct child_pin){0};
	return (struct child_pin){{above->source}, {rest}};
}

bool stage_is_needed(const struct plan *plan, const struct backend_fds *fds)
{
	for (size_t i = 0; i < plan->n_mounts; i++)
		if (plan->mounts[i].kind == PLAN_REBUILD || plan->mounts[i].screen ||
		    stage_covers(plan, &plan->mounts[i]) || pin_of(plan, &plan->mounts[i]).rest.text)
			return true;
	return plan->gate || fds->n_layers > 0 || fds->shared.holder_fd ||
	       geteuid() == 0; /* root's devices are guarded there */
}

/* True if anything is bound from below a directory. Then it must be reachable there, even if the directory itself is
 * hidden. */
static bool holds_sources(const struct plan *plan, const char *dir)
{
	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct plan_mount *m = &plan->mounts[i];
		if (m->source && m->kind != PLAN_SYMLINK && path_is_beneath(m->source, dir))
			return true;
	}
	return false;
}

/* An entry of the rebuilt directory, or something deeper that has only the rebuilt directory above it. */
static bool has_place_in(const struct plan *plan, const struct plan_mount *rebuilt, const struct plan_mount *m)
{
	if (m->kind == PLAN_SEAL || m == rebuilt)
		return false;
	return is_entry_of(m->target, rebuilt->target) || cover_of(plan, m) == rebuilt;
}

/* How an entry of a rebuilt directory gets there: bound from its old place, or a bare mount point for bwrap. */
static struct child_entry entry_for(const struct plan *plan, const char *dir, const struct plan_mount *m)
{
	struct child_entry e = {.name = {path_rest(m->target, dir)}, .kind = CHILD_ENTRY_DIR};
	bool in_place = m->source && strcmp(m->source, m->target) == 0;
	if (m->kind == PLAN_SYMLINK) {
		e.kind = CHILD_ENTRY_SYMLINK;
		e.text.text = m->source;
	} else if (m->cache && m->source && !in_place) {
		e.kind = CHILD_ENTRY_MOUNT;
		e.text.text = m->source;
	} else if (in_place || m->kind == PLAN_REBUILD || holds_sources(plan, m->target))
		e.kind = CHILD_ENTRY_BIND;
	else if (m->kind == PLAN_EMPTY_FILE)
		e.kind = CHILD_ENTRY_FILE;
	return e;
}

/* All entries of all rebuilt directories in one array; each rebuild borrows its part. */
struct rebuilds {
	struct child_rebuild *v;
	struct child_entry *entries;
	size_t n, n_entries;
};

static int collect(const struct plan *plan, struct rebuilds *ret)
{
	ret->v = calloc(plan->n_mounts + 1, sizeof *ret->v);
	ret->entries = calloc(plan->n_mounts + 1, sizeof *ret->entries);
	if (!ret->v || !ret->entries)
		return -ENOMEM;
	for (size_t i = 0; i < plan->n_mounts; i++) {
		if (plan->mounts[i].kind != PLAN_REBUILD)
			continue;
		struct child_rebuild *r = &ret->v[ret->n++];
		*r = (struct child_rebuild){.dir = {plan->mounts[i].target},
					    .entries = {&ret->entries[ret->n_entries]}};
		for (size_t k = 0; k < plan->n_mounts; k++)
			if (has_place_in(plan, &plan->mounts[i], &plan->mounts[k]))
				ret->entries[ret->n_entries + r->n_entries++] =
					entry_for(plan, r->dir.text, &plan->mounts[k]);
		ret->n_entries += r->n_entries;
	}
	return 0;
}

static int collect_covers(const struct plan *plan, struct child_cover **ret, size_t *ret_n)
{
	*ret = calloc(plan->n_mounts + 1, sizeof **ret);
	if (!*ret)
		return -ENOMEM;
	for (size_t i = 0; i < plan->n_mounts; i++)
		if (stage_covers(plan, &plan->mounts[i]))
			(*ret)[(*ret_n)++] =
				(struct child_cover){{plan->mounts[i].target}, plan->mounts[i].kind == PLAN_EMPTY_DIR};
	return 0;
}

static int collect_pins(const struct plan *plan, struct child_pin **ret, size_t *ret_n)
{
	*ret = calloc(plan->n_mounts + 1, sizeof **ret);
	if (!*ret)
		return -ENOMEM;
	for (size_t i = 0; i < plan->n_mounts; i++) {
		struct child_pin p = pin_of(plan, &plan->mounts[i]);
		if (p.rest.text)
			(*ret)[(*ret_n)++] = p;
	}
	return 0;
}

/* Screens are mounted in place, so the backend finds them where the live directories were. */
struct screens {
	const char **dirs, **kept, *asides[CHILD_MAX_ASIDE];
	size_t n_asides;
	size_t n_dirs, n_kept;
};

static bool has_path(const char **paths, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(paths[i], path) == 0)
			return true;
	return false;
}

static bool lies_in_layer(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->n_mounts; i++)
		if (plan->mounts[i].kind == PLAN_LAYER && path_is_beneath(path, plan->mounts[i].source))
			return true;
	return false;
}

static bool lies_below_screen(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->n_mounts; i++)
		if (plan->mounts[i].screen && path_is_beneath(path, plan->mounts[i].screen))
			return true;
	return false;
}

/* True if the host's own must be reachable there although the stage mounts something over it. */
static bool is_kept(const struct plan *plan, const struct plan_mount *m)
{
	if (m->kind == PLAN_WRITE && m->cache)
		return false; /* the stage has opened it before, as an entry of a rebuilt directory */
	if (m->because.kind == AIRLOCK_ORIGIN_AGENT_STATE) /* in the home itself, also below a layer of the agent */
		return lies_below_screen(plan, m->source) || lies_in_layer(plan, m->source);
	if (m->kind == PLAN_WRITE)
		return lies_below_screen(plan, m->source) && !lies_in_layer(plan, m->source);
	return m->special && (lies_below_screen(plan, m->source) || lies_in_layer(plan, m->source));
}

static bool is_put_aside(const struct plan *plan, const struct plan_mount *m)
{
	return m->kind == PLAN_WRITE && strcmp(m->source, m->target) != 0 && is_kept(plan, m);
}

const char *stage_aside(const struct plan *plan, const struct plan_mount *m)
{
	static const char *const places[CHILD_MAX_ASIDE] = {CHILD_ASIDE, CHILD_ASIDE_2};
	size_t n = 0;
	if (!is_put_aside(plan, m))
		return NULL;
	for (size_t i = 0; &plan->mounts[i] != m; i++)
		n += is_put_aside(plan, &plan->mounts[i]);
	assert(n < CHILD_MAX_ASIDE);
	return places[n];
}

static int collect_screens(const struct plan *plan, struct screens *ret)
{
	ret->dirs = calloc(plan->n_mounts + 1, sizeof *ret->dirs);
	ret->kept = calloc(plan->n_mounts + 1, sizeof *ret->kept);
	if (!ret->dirs || !ret->kept)
		return -ENOMEM;
	for (size_t i = 0; i < plan->n_mounts; i++) {
		const char *screen = plan->mounts[i].screen;
		if (screen && !has_path(ret->dirs, ret->n_dirs, screen))
			ret->dirs[ret->n_dirs++] = screen;
	}
	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct plan_mount *m = &plan->mounts[i];
		if (is_put_aside(plan, m) && ret->n_asides < CHILD_MAX_ASIDE)
			ret->asides[ret->n_asides++] = m->source;
		else if (is_kept(plan, m) && !has_path(ret->kept, ret->n_kept, m->source))
			ret->kept[ret->n_kept++] = m->source;
	}
	return 0;
}

static int stage_job(const char *file, const char *const *argv, const struct plan *plan, const char *empty_file,
		     const struct backend_fds *fds)
{
	struct rebuilds rebuilds = {0};
	struct child_cover *covers = NULL;
	struct child_pin *pins = NULL;
	size_t n_covers = 0, n_pins = 0;
	struct screens screens = {0};
	int rc = collect(plan, &rebuilds);
	if (rc == 0)
		rc = collect_covers(plan, &covers, &n_covers);
	if (rc == 0)
		rc = collect_pins(plan, &pins, &n_pins);
	if (rc == 0)
		rc = collect_screens(plan, &screens);
	struct child_stage_job job = {.flags = geteuid() == 0	 ? 0
					       : fds->user_ns_fd ? CHILD_STAGE_ENTER_USER
								 : CHILD_STAGE_USER,
				      .uid = geteuid(),
				      .gid = getegid(),
				      .file = {file},
				      .argv = {argv},
				      .layers = {fds->layers},
				      .n_layers = (uint32_t)fds->n_layers,
				      .covers = {covers},
				      .n_covers = (uint32_t)n_covers,
				      .pins = {pins},
				      .n_pins = n_pins,
				      .screens = {screens.dirs},
				      .n_screens = (uint32_t)screens.n_dirs,
				      .kept = {screens.kept},
				      .n_kept = (uint32_t)screens.n_kept,
				      .asides = {screens.asides},
				      .n_asides = screens.n_asides,
				      .empty = {empty_file},
				      .rebuilds = {rebuilds.v},
				      .n_rebuilds = (uint32_t)rebuilds.n};
	if (plan->gate)
		job.flags |= CHILD_STAGE_GATE;
	if (fds->shared.holder_fd)
		job.flags |= CHILD_STAGE_JOIN;
	if (fds->shared.holder_fd && plan->namespaces & PLAN_NS_NET && !fds->shared.own_network)
		job.flags |= CHILD_STAGE_JOIN_NETWORK;
	if (rc == 0)
		rc = child_stage_fd(&job);
	free(rebuilds.v);
	free(rebuilds.entries);
	free(covers);
	free(pins);
	free(screens.dirs);
	free(screens.kept);
	return rc;
}

static int open_namespace(pid_t pid, const char *name)
{
	char path[48];
	(void)snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* If the holder lives afterwards, the pid was its own all the time. */
static int open_holder(const struct backend_shared *shared, struct spawn_more *more)
{
	more->user = shared->holder_fd;
	more->holder_user = open_namespace(shared->holder_pid, "user");
	more->holder_pids = open_namespace(shared->holder_pid, "pid");
	int rc = AL_MIN(more->holder_user, more->holder_pids);
	if (rc >= 0 && syscall(SYS_pidfd_send_signal, shared->holder_fd, 0, NULL, 0) < 0)
		rc = -errno;
	return AL_MIN(rc, 0);
}

int stage_spawn(const char *file, const char *const *argv, const struct plan *plan, const char *empty_file,
		const struct backend_fds *fds, int args_fd, pid_t *ret_pid, struct airlock_error *err)
{
	static const char *const stage_argv[] = {"airlock", "stage", NULL};
	_cleanup_close_ int stage_fd = stage_job(file, argv, plan, empty_file, fds);
	if (stage_fd < 0)
		return base_errno(err, AIRLOCK_ERR_INIT_FAILED, stage_fd, "memfd_create", "stage");
	struct spawn_more more = {args_fd, stage_fd, fds->user_ns_fd ? fds->user_ns_fd : -1, -1, -1};
	int rc = fds->shared.holder_fd ? open_holder(&fds->shared, &more) : 0;
	if (rc < 0)
		rc = base_errno(err, AIRLOCK_ERR_INIT_FAILED, rc, "open", "the session's namespaces");
	else
		rc = spawn_process("/proc/self/fd/5", stage_argv, fds, &more, plan->new_session, ret_pid, err);
	base_closep(&more.holder_user);
	base_closep(&more.holder_pids);
	return rc;
}
