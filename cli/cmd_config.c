/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <stdio.h>
#include <string.h>

#include "output.h"

#define BUILT_IN_SHOWN 120

/* Hundreds of built-in paths would hide everything else; what somebody wrote is shown whole. */
static void print_value(const struct airlock_config_value *v)
{
	size_t len = strlen(v->toml), shown = len;
	if (v->origin.kind == AIRLOCK_ORIGIN_BUILTIN && len > BUILT_IN_SHOWN) {
		shown = BUILT_IN_SHOWN;
		while (shown > 0 && v->toml[shown - 1] != ' ')
			shown--;
	}
	char *inert = airlock_text_inert(v->toml, shown);
	(void)fputs(inert ? inert : "?", stdout);
	(void)fputs(shown < len ? "... (--json shows all)" : "", stdout);
	airlock_free(inert);
}

int cmd_config_show(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_config *c = NULL;
	int rc = airlock_config_open(inv->settings, &c, err);
	if (rc >= 0 && inv->json)
		rc = output_json(airlock_config_json(c), err);
	for (size_t i = 0; rc >= 0 && !inv->json && i < airlock_config_count(c); i++) {
		const struct airlock_config_value *v = airlock_config_at(c, i);
		output_text(stdout, v->key);
		(void)fputs(" = ", stdout);
		print_value(v);
		(void)fputs("    # ", stdout);
		output_origin(stdout, &v->origin);
		(void)puts(v->is_ignored ? " (left out: the project is not trusted)" : "");
	}
	airlock_config_free(c);
	return rc;
}

int cmd_config_check(const struct invocation *inv, struct airlock_error *err)
{
	int rc = airlock_config_check(inv->settings, inv->operand, err);
	if (rc < 0)
		return rc;
	(void)puts(inv->json ? "{\"ok\": true}" : "ok");
	return 0;
}

int cmd_config_path(const struct invocation *inv, struct airlock_error *err)
{
	static const char *const remarks[] = {[AIRLOCK_FILE_READ] = "",
					      [AIRLOCK_FILE_MISSING] = " (missing)",
					      [AIRLOCK_FILE_TRUSTED] = " (trusted)",
					      [AIRLOCK_FILE_NOT_TRUSTED] = " (not trusted)",
					      [AIRLOCK_FILE_FOREIGN] = " (left out: belongs to another user)",
					      [AIRLOCK_FILE_NOT_REGULAR] = " (not a regular file)",
					      [AIRLOCK_FILE_UNREADABLE] = " (unreadable)"};
	struct airlock_config_files *l = NULL;
	int rc = airlock_config_files_open(inv->settings, &l, err);
	for (size_t i = 0; rc >= 0 && i < airlock_config_files_count(l); i++) {
		output_text(stdout, airlock_config_files_at(l, i)->path);
		(void)puts(remarks[airlock_config_files_at(l, i)->state]);
	}
	airlock_config_files_free(l);
	return rc;
}
