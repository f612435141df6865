/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the doctor found is told by itself after a run that failed, but not after every one: a file in the state directory
 * has what was told last. */
#include "airlock/airlock.h"

#include "base/buf.h"
#include "base/error.h"
#include "fs/fs.h"
#include "settings/host.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define TOLD_AGAIN_AFTER_S (24 * 60 * 60)
#define TOLD_MAX (64 * 1024)

static void describe(const struct airlock_doctor *d, struct buf *out)
{
	for (size_t i = 0; i < airlock_doctor_count(d); i++) {
		const struct airlock_check *c = airlock_doctor_check(d, i);
		if (c->status == AIRLOCK_CHECK_FAILED)
			buf_printf(out, "%s\n%s\n%s\n", c->name, c->detail, c->fix);
	}
}

/* A clock that was set back counts as "old", too. */
static bool is_recent(const char *path)
{
	struct stat st;
	if (stat(path, &st) < 0)
		return false;
	time_t age = time(NULL) - st.st_mtime;
	return age >= 0 && age < TOLD_AGAIN_AFTER_S;
}

static bool was_told(const char *path, const struct buf *found)
{
	_cleanup_buf_ struct buf told = BUF_INIT;
	struct airlock_error unused = {0};
	return is_recent(path) && fs_read_file(path, TOLD_MAX, &told, &unused) >= 0 &&
	       strcmp(buf_str(&told), buf_str(found)) == 0;
}

int airlock_doctor_is_news(const struct airlock_settings *s, const struct airlock_doctor *d)
{
	struct host host;
	struct airlock_error unused = {0};
	_cleanup_buf_ struct buf found = BUF_INIT, path = BUF_INIT;
	describe(d, &found);
	if (found.len == 0 || host_init(s, &host, &unused) < 0)
		return 0;
	buf_printf(&path, "%s/doctor.told", host.state_dir);
	bool is_news = !was_told(buf_str(&path), &found);
	if (is_news) /* if it cannot be stored, the user sees it again */
		(void)fs_write_private_file(buf_str(&path), buf_str(&found), found.len, &unused);
	host_done(&host);
	return is_news;
}
