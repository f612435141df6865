/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The configuration where no command is run: for `airlock config`, `airlock trust` and gc. */
#pragma once

#include "settings/host.h"

struct config_context {
	struct host host;
	struct settings_view view;
	char *project; /* NULL: not in one, which is no reason to fail */
	char *named;   /* --config FILE */
};

int config_context_init(struct config_context *c, const struct airlock_settings *s, struct airlock_error *err);
void config_context_done(struct config_context *c);
/* The inputs of config_load; they borrow from the context. */
struct config_inputs config_context_inputs(const struct config_context *c);

/* The merged configuration; config_free. */
int config_of_settings(const struct airlock_settings *s, struct config **ret, struct airlock_error *err);
