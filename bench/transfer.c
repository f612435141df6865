/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Connections and bytes for the bench: a server, and clients that print the milliseconds they took. Static, and speaks of a
 * proxy only where one is named, as programs must that live behind one.
 *
 *   transfer serve PORT                       on every address; a client sends a number and gets so many bytes
 *   transfer get HOST PORT BYTES [PROXY]      one connection
 *   transfer many HOST PORT COUNT [PROXY]     one after another, one byte each
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BLOCK (1 << 20)

static char block[BLOCK];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void serve_one(int fd)
{
	uint64_t left = 0;
	if (read(fd, &left, sizeof left) != (ssize_t)sizeof left)
		return;
	while (left > 0) {
		ssize_t n = write(fd, block, left < BLOCK ? (size_t)left : BLOCK);
		if (n <= 0)
			return;
		left -= (uint64_t)n;
	}
}

static _Noreturn void serve(unsigned port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(fd, 1024) < 0)
		die("listen");
	(void)signal(SIGPIPE, SIG_IGN);
	for (;;) {
		int client = accept(fd, NULL, NULL);
		if (client < 0)
			continue;
		serve_one(client);
		(void)close(client);
	}
}

static int connect_to(const char *host, unsigned port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || inet_pton(AF_INET, host, &to.sin_addr) != 1 || connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
		die("connect");
	return fd;
}

/* proxy: ADDRESS:PORT of one that knows CONNECT, with USER:PASSWORD in base64 behind a second colon where it wants that. */
static int connect_through(const char *proxy, const char *host, unsigned port)
{
	char text[600], address[64], secret[300] = "";
	unsigned proxy_port;
	if (sscanf(proxy, "%63[0-9.]:%u:%299s", address, &proxy_port, secret) < 2)
		die("proxy");
	int fd = connect_to(address, proxy_port);
	int n = snprintf(text, sizeof text, "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n%s%s%s\r\n", host, port, host,
			 port, *secret ? "Proxy-Authorization: Basic " : "", secret, *secret ? "\r\n" : "");
	if (write(fd, text, (size_t)n) != n)
		die("write");
	size_t len = 0;
	do {
		ssize_t got = read(fd, text + len, 1);
		if (got != 1 || len + 2 > sizeof text)
			die("the proxy says nothing");
		text[++len] = '\0';
	} while (!strstr(text, "\r\n\r\n"));
	if (!strstr(text, " 200")) {
		fputs(text, stderr);
		exit(1);
	}
	return fd;
}

static void take(const char *host, unsigned port, uint64_t bytes, const char *proxy)
{
	int fd = proxy ? connect_through(proxy, host, port) : connect_to(host, port);
	uint64_t got = 0;
	ssize_t n;
	if (write(fd, &bytes, sizeof bytes) != (ssize_t)sizeof bytes)
		die("write");
	while ((n = read(fd, block, BLOCK)) > 0)
		got += (uint64_t)n;
	if (got != bytes)
		die("not everything came");
	(void)close(fd);
}

int main(int argc, char **argv)
{
	struct timespec from, to;
	if (argc == 3 && strcmp(argv[1], "serve") == 0)
		serve((unsigned)atoi(argv[2]));
	if (argc < 5)
		return 2;
	unsigned port = (unsigned)atoi(argv[3]);
	uint64_t n = strtoull(argv[4], NULL, 10);
	const char *proxy = argc > 5 ? argv[5] : NULL;
	(void)clock_gettime(CLOCK_MONOTONIC, &from);
	if (strcmp(argv[1], "get") == 0)
		take(argv[2], port, n, proxy);
	else
		for (uint64_t i = 0; i < n; i++)
			take(argv[2], port, 1, proxy);
	(void)clock_gettime(CLOCK_MONOTONIC, &to);
	printf("%.3f\n", (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6);
	return 0;
}
