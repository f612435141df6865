/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "help.h"
#include "output.h"

/* A caller may start us with 0, 1 or 2 closed: the next opened file would get that number, and be read as the
 * command's input or receive airlock's messages. Or with a non-blocking pipe, as npm does. */
static void take_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		int flags = fcntl(fd, F_GETFL);
		if (flags < 0 && errno == EBADF && open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) != fd)
			_exit(125);
		if (fd > 0 && flags >= 0 && flags & O_NONBLOCK)
			output_wait(fd);
	}
}

/* A reader that went away, or a file that may not grow, must fail one write and not kill us in the middle of an apply.
 * If the caller ignores SIGCHLD, the kernel would reap our children before we learn how they ended. */
static void set_signals(void)
{
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)signal(SIGCHLD, SIG_DFL);
}

/* Most commands end in a few milliseconds: requesting memory in small pieces, and returning it just before the end,
 * would waste system calls. */
#define HEAP_STEP (512 << 10)
#define HEAP_KEPT (8 << 20)

static void set_heap(void)
{
	(void)mallopt(M_TOP_PAD, HEAP_STEP);
	(void)mallopt(M_TRIM_THRESHOLD, HEAP_KEPT);
}

static int unknown_command(const char *word, bool json)
{
	struct airlock_error err = {0};
	const char *near = command_nearest(word);
	if (word[0] == '-') {
		(void)output_fail(&err, AIRLOCK_ERR_USAGE, word, "unknown option %s", word);
		(void)output_hint(&err, "the command comes first: airlock run [OPTION...] -- PROGRAM [ARG...]");
	} else {
		(void)output_fail(&err, AIRLOCK_ERR_USAGE, word, "unknown command '%s'", word);
	}
	if (command_is_program(word)) /* the most frequently forgotten word is run */
		(void)output_hint(&err, "%s%s%sto run the program: airlock run -- %s", near ? "did you mean " : "",
				  near ? near : "", near ? "? Or, " : "", word);
	if (near)
		(void)output_hint(&err, "did you mean %s?", near);
	(void)output_hint(&err, "see airlock help");
	static const struct command none = {.name = ""};
	return invoke_report(&none, json, &err);
}

static int dispatch(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	if (!word)
		help_welcome();
	else if (strcmp(word, "--version") == 0)
		(void)printf("airlock %s\n", airlock_version());
	else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		help_overview();
	else
		return command_find(word) ? invoke(command_find(word), argc - 2, argv + 2)
					  : unknown_command(word, invoke_wants_json(argc, argv));
	return 0;
}

int main(int argc, char **argv)
{
	set_heap();
	take_descriptors();
	set_signals();
	return output_finish(dispatch(argc, argv));
}
