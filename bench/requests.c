/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How many commands per second a server answers: WORKERS processes ask it again and again, each for a sandbox and on a connection of
 * its own, one request after the other.
 *   requests WORKERS SECONDS PORT TOKEN     prints requests per second, and the median and the 99th percentile of a request in ms
 * The sandboxes are called w0, w1, … In C, for what asks must cost next to nothing.
 */
#define _GNU_SOURCE /* strcasestr */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BODY "{\"command\":\"true\"}"
#define MOST 100000 /* requests of a worker */

struct worker {
	long count; /* -1: it failed */
	float ms[MOST];
};

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int connect_to(int port)
{
	int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
		return -1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	return fd;
}

/* 0: a whole answer that says that the command succeeded. */
static int read_answer(int fd)
{
	static char text[65536];
	size_t have = 0;
	for (;;) {
		ssize_t n = read(fd, text + have, sizeof text - 1 - have);
		if (n <= 0)
			return -1;
		have += (size_t)n;
		text[have] = '\0';
		char *end = strstr(text, "\r\n\r\n"), *length = strcasestr(text, "\r\nContent-Length: ");
		if (!end || !length || length > end)
			continue;
		size_t whole = (size_t)(end - text) + 4 + strtoul(length + strlen("\r\nContent-Length: "), NULL, 10);
		if (have >= whole)
			return strncmp(text, "HTTP/1.1 200", 12) == 0 && strstr(end, "\"exit_code\":0") ? 0 : -1;
	}
}

static long work(struct worker *w, int number, double end, int port, const char *token)
{
	char request[1024];
	int len =
		snprintf(request, sizeof request,
			 "POST /v1/sandboxes/w%d/execute HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n"
			 "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n" BODY,
			 number, port, token, strlen(BODY));
	int fd = connect_to(port);
	long count = 0;
	do {
		double start = now();
		if (fd < 0 || write(fd, request, (size_t)len) != len || read_answer(fd) < 0)
			return -1;
		w->ms[count++] = (float)((now() - start) * 1000);
	} while (now() < end && count < MOST);
	return count;
}

static int compare(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	int workers = argc == 5 ? atoi(argv[1]) : 0;
	if (workers <= 0) {
		fprintf(stderr, "usage: requests WORKERS SECONDS PORT TOKEN\n");
		return 2;
	}
	struct worker *all =
		mmap(NULL, (size_t)workers * sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	float *times = malloc((size_t)workers * sizeof all->ms);
	if (all == MAP_FAILED || !times)
		return 1;
	double start = now(), end = start + atof(argv[2]);
	for (int i = 0; i < workers; i++) {
		pid_t pid = fork();
		if (pid < 0)
			return 1;
		if (pid == 0) {
			all[i].count = work(&all[i], i, end, atoi(argv[3]), argv[4]);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	double seconds = now() - start;
	size_t total = 0;
	for (int i = 0; i < workers; i++) {
		if (all[i].count < 0) {
			fprintf(stderr, "requests: one failed\n");
			return 1;
		}
		memcpy(times + total, all[i].ms, (size_t)all[i].count * sizeof *times);
		total += (size_t)all[i].count;
	}
	qsort(times, total, sizeof *times, compare);
	printf("%.2f %.3f %.3f\n", (double)total / seconds, (double)times[total / 2], (double)times[total * 99 / 100]);
	return 0;
}
