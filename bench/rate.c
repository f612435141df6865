/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How many sandboxes per second: WORKERS processes start the program again and again, one after the other each.
 *   rate WORKERS SECONDS PROGRAM [ARGUMENT...]    prints the number of starts per second
 * An argument UNIQUE becomes a name of its own with every start. In C, for what starts them must cost next to nothing.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int start_once(char **argv, char **unique, long count, const posix_spawn_file_actions_t *silent)
{
	char name[64];
	pid_t pid;
	int status;
	if (unique) {
		snprintf(name, sizeof name, "rate-%ld-%ld", (long)getpid(), count);
		*unique = name;
	}
	if (posix_spawn(&pid, argv[0], silent, NULL, argv, environ) != 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* Until the time is up; returns how many, or -1 when one failed. */
static long work(char **argv, double end)
{
	char **unique = NULL;
	posix_spawn_file_actions_t silent;
	posix_spawn_file_actions_init(&silent);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&silent, fd, "/dev/null", O_RDWR, 0);
	for (char **argument = argv; *argument; argument++)
		if (strcmp(*argument, "UNIQUE") == 0)
			unique = argument;
	long count = 0;
	do {
		if (start_once(argv, unique, count, &silent) < 0)
			return -1;
		count++;
	} while (now() < end);
	return count;
}

int main(int argc, char **argv)
{
	int workers = argc > 3 ? atoi(argv[1]) : 0;
	if (workers <= 0) {
		fprintf(stderr, "usage: rate WORKERS SECONDS PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	long *counts =
		mmap(NULL, (size_t)workers * sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counts == MAP_FAILED)
		return 1;
	double start = now(), end = start + atof(argv[2]);
	for (int i = 0; i < workers; i++) {
		pid_t pid = fork();
		if (pid < 0)
			return 1;
		if (pid == 0) {
			counts[i] = work(argv + 3, end);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	double seconds = now() - start;
	long total = 0;
	for (int i = 0; i < workers; i++) {
		if (counts[i] < 0) {
			fprintf(stderr, "rate: %s failed\n", argv[3]);
			return 1;
		}
		total += counts[i];
	}
	printf("%.2f\n", (double)total / seconds);
	return 0;
}
