/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the first process noted, as any bytes: whatever they say, what comes of them can be printed. */
#include "base/json.h"
#include "denial/denial.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOUNT(k, path, why)                                                                                            \
	{                                                                                                              \
		.kind = (k), .source = (char *)(path), .target = (char *)(path), .because = { why, "name", 1 }         \
	}

static struct plan_mount mounts[] = {MOUNT(PLAN_READ, "/", AIRLOCK_ORIGIN_BUILTIN),
				     MOUNT(PLAN_DEV, "/dev", AIRLOCK_ORIGIN_ALWAYS),
				     MOUNT(PLAN_EMPTY_FILE, "/etc/shadow", AIRLOCK_ORIGIN_FILE),
				     MOUNT(PLAN_REBUILD, "/home", AIRLOCK_ORIGIN_PLACE),
				     MOUNT(PLAN_LAYER, "/home/p", AIRLOCK_ORIGIN_PROJECT),
				     MOUNT(PLAN_TMPFS, "/tmp", AIRLOCK_ORIGIN_BUILTIN)};

static enum plan_type type_of(const char *path, void *data)
{
	return (enum plan_type)(strlen(path) % (PLAN_OTHER + 1));
}

static void try_scene(const struct denial_scene *scene, const void *bytes, size_t len)
{
	struct denials d;
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, false);
	if (denials_read(scene, bytes, len, &d, NULL) < 0)
		return;
	for (size_t i = 0; i < d.n; i++) {
		if (d.v[i].rule == AIRLOCK_DENIAL_NONE || !d.v[i].path == !d.v[i].address)
			__builtin_trap();
		denial_add_what(&d.v[i], &out);
		denial_add_hint(&d.v[i], &out);
	}
	denials_print_json(&d, DENIAL_FOR_PERSON, &j, NULL);
	buf_done(&out);
	denials_done(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char profile[] = "moderate";
	struct plan plan = {.profile = profile, .mounts = mounts, .n_mounts = sizeof mounts / sizeof *mounts};
	struct plan_world world = {.type = type_of};
	struct denial_scene scene = {
		.plan = &plan, .world = &world, .home = "/home/u", .network_origin = RULE_ORIGIN(BUILTIN)};
	struct child_seen_head head = {.magic = CHILD_SEEN_MAGIC, .used = UINT32_MAX};
	char *file = malloc(sizeof head + size);
	if (!file)
		return 0;
	memcpy(file, &head, sizeof head);
	memcpy(file + sizeof head, data, size);
	for (int i = 0; i < 4; i++) {
		scene.in_place = i & 1;
		scene.workspace = i & 2;
		try_scene(&scene, file, sizeof head + size);
	}
	try_scene(&scene, data, size);
	free(file);
	return 0;
}
