/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* News about runs and sessions. Everything that happens to them is appended to the inbox, so watching that one file is enough. */
#include "airlock/history.h"

#include "settings/host.h"
#include "store/inbox.h"

int airlock_log_watch(const struct airlock_settings *s, int *ret_fd, struct airlock_error *err)
{
	struct host host;
	int rc = host_init(s, &host, err);
	if (rc < 0)
		return rc;
	rc = inbox_watch(host.state_dir, ret_fd, err);
	host_done(&host);
	return rc;
}
