/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sandboxes started by a program whose other threads hold every lock of libc in turn: a child that took one of them after
 * clone would wait for ever. AIRLOCK_TEST_SANDBOXES says how many. */
#include "library_place.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#define THREADS 8
#ifdef __SANITIZE_ADDRESS__
#define SANDBOXES 40 /* several times slower */
#else
#define SANDBOXES 200
#endif

static atomic_bool stop;

/* Memory, streams, the time zone, the environment: each has a lock. */
static void *be_busy(void *data)
{
	FILE *sink = fopen("/dev/null", "we");
	for (unsigned i = 0; sink && !stop; i++) {
		char *block = malloc(64 + i % 100000);
		time_t now = time(NULL);
		struct tm tm;
		if (block && localtime_r(&now, &tm))
			(void)fprintf(sink, "%s %d %p\n", getenv("HOME"), tm.tm_sec, (void *)block);
		free(block);
		if (i % 64 == 0) {
			struct timespec pause = {0, 200000}; /* the sandboxes want the processors too */
			(void)nanosleep(&pause, NULL);
		}
	}
	if (sink)
		(void)fclose(sink);
	return NULL;
}

static int run_one(void)
{
	struct airlock_settings *s = airlock_settings_new();
	struct airlock_job *job = NULL;
	struct airlock_run *run = NULL;
	struct airlock_error err = {0};
	int code = -1;
	if (airlock_settings_set_environ(s, environ, &err) == 0 &&
	    airlock_settings_set(s, "backend", "native", "this test", &err) == 0 &&
	    airlock_settings_set(s, "changes", "direct", "this test", &err) == 0 &&
	    airlock_settings_set_command(s, "exit 5", &err) == 0 && airlock_job_prepare(s, &job, &err) == 0 &&
	    airlock_run_start(job, NULL, &run, &err) == 0) {
		while (airlock_run_dispatch(run, -1) > 0)
			;
		code = airlock_run_exit_code(run);
	} else
		print_error("%s\n", err.message);
	airlock_run_free(run);
	airlock_job_free(job);
	airlock_settings_free(s);
	return code;
}

static void busy_threads_do_not_matter(void **state)
{
	const char *wanted = getenv("AIRLOCK_TEST_SANDBOXES");
	long n = wanted ? strtol(wanted, NULL, 10) : SANDBOXES;
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, be_busy, NULL), 0);
	long good = 0;
	for (long i = 0; i < n; i++)
		good += run_one() == 5;
	stop = true;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(good, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(busy_threads_do_not_matter)};
	return cmocka_run_group_tests(tests, make_place, remove_place);
}
