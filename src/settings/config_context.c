/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "settings/config_context.h"

#include "base/error.h"
#include "base/path.h"
#include "project/project.h"

void config_context_done(struct config_context *c)
{
	host_done(&c->host);
	settings_view_done(&c->view);
	base_freep(&c->project);
	base_freep(&c->named);
}

int config_context_init(struct config_context *c, const struct airlock_settings *s, struct airlock_error *err)
{
	*c = (struct config_context){0};
	int rc = settings_view(s, &c->view, err);
	if (rc == 0)
		rc = host_init(s, &c->host, err);
	if (rc < 0)
		return rc;
	const char *wanted = settings_get(&c->view, "project");
	const char *file = settings_get(&c->view, "config");
	if (file && !(c->named = path_normalize(c->host.cwd, file)))
		return base_oom(err);
	struct airlock_error none = {0};
	rc = project_detect_known(wanted, c->host.cwd, c->host.home, c->host.state_dir, &c->project,
				  wanted ? err : &none);
	return wanted ? rc : 0;
}

struct config_inputs config_context_inputs(const struct config_context *c)
{
	return (struct config_inputs){
		.home = c->host.home,
		.cwd = c->host.cwd,
		.system_file = c->host.system_file,
		.user_file = c->named ? c->named : c->host.user_file,
		.user_file_required = c->named != NULL,
		.project_dir = c->project,
		.trust_dir = c->host.trust_dir,
		.settings = c->view.items,
		.n_settings = c->view.n,
		.long_lists = true,
	};
}

int config_of_settings(const struct airlock_settings *s, struct config **ret, struct airlock_error *err)
{
	struct config_context c;
	int rc = config_context_init(&c, s, err);
	if (rc == 0) {
		struct config_inputs in = config_context_inputs(&c);
		rc = config_load(&in, ret, err);
	}
	config_context_done(&c);
	return rc;
}
