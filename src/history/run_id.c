/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "history/run_id.h"

#include "base/path.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#define SECOND_NS INT64_C(1000000000)
/* The times of files are those of the last tick, of which there are a hundred a second or more. */
#define TICK_NS INT64_C(10000000)

static int make(int64_t ns, char *out, size_t size)
{
	time_t seconds = (time_t)(ns / SECOND_NS);
	struct tm tm;
	uint16_t random = 0;
	if (!gmtime_r(&seconds, &tm) || getrandom(&random, sizeof random, 0) != sizeof random)
		return -EIO;
	size_t n = strftime(out, size, "%Y%m%d-%H%M%S", &tm);
	(void)snprintf(out + n, size - n, ".%06ld-%04x", (long)(ns % SECOND_NS / 1000), random);
	return 0;
}

int run_id_make(char *out, size_t size)
{
	return make(store_now(), out, size);
}

/* The parent directory's mtime is the time of the newest run. If it is later than now, the clock was set back:
 * continue from that time, so that ids still sort. */
static int64_t time_of_next(const char *runs)
{
	struct stat st;
	int64_t now = store_now();
	int64_t last = stat(runs, &st) == 0 ? st.st_mtim.tv_sec * SECOND_NS + st.st_mtim.tv_nsec : 0;
	return last > now ? last + TICK_NS : now;
}

static void keep_time(const char *runs, int64_t ns)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {ns / SECOND_NS, ns % SECOND_NS}};
	if (ns > store_now())
		(void)utimensat(AT_FDCWD, runs, times, 0);
}

int run_id_claim(const char *runs, char *out, size_t size, char **ret_dir, struct airlock_error *err)
{
	for (int tries = 0; tries < 100; tries++) {
		int64_t ns = time_of_next(runs);
		int rc = make(ns, out, size);
		if (rc < 0)
			return base_errno(err, AIRLOCK_ERR_IO, rc, "getrandom", "the run's name");
		_cleanup_free_ char *dir = path_join(runs, out);
		if (!dir)
			return base_oom(err);
		if (mkdir(dir, 0700) == 0) {
			keep_time(runs, ns);
			*ret_dir = TAKE_PTR(dir);
			return 0;
		}
		if (errno != EEXIST)
			return base_errno(err, AIRLOCK_ERR_IO, errno, "mkdir", dir);
	}
	return base_errno(err, AIRLOCK_ERR_IO, EEXIST, "mkdir", runs);
}
