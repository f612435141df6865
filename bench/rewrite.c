/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command of the capture table: writes one KB anew into each of the first N files of the project it is started in.
 *   rewrite N [truncate]    files are d<i/100>/f<i>
 * With truncate the files are emptied first, as most programs do; ext4 then writes them to the disk when they are closed,
 * which hides what a sandbox costs. Without, the command itself costs next to nothing.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char name[64], content[1024];
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	memset(content, 'a' + (int)(now.tv_nsec / 1000 % 26), sizeof content);
	int n = argc > 1 ? atoi(argv[1]) : 0;
	int empty = argc > 2 && strcmp(argv[2], "truncate") == 0 ? O_TRUNC : 0;
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof name, "d%d/f%d", i / 100, i);
		int fd = open(name, O_WRONLY | empty | O_CLOEXEC);
		if (fd < 0 || write(fd, content, sizeof content) != sizeof content || close(fd) < 0) {
			perror(name);
			return 1;
		}
	}
	return n > 0 ? 0 : 2;
}
