/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Work that may take long, in a child process: removing a large tree, adding up its size, gc. The child shares nothing but its memory
 * as it was, and tells its result over a pipe. It does not outlive us. */
#include "serve_state.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "http_options.h"

struct serve_result {
	int64_t value;
	struct airlock_error err;
};

struct serve_task {
	struct serve *serve;
	struct serve_task *next;
	pid_t pid;
	struct http_watch watch;
	serve_done *done;
	void *data;
};

static void unlink_task(struct serve *s, const struct serve_task *t)
{
	for (struct serve_task **at = &s->tasks; *at; at = &(*at)->next)
		if (*at == t) {
			*at = t->next;
			return;
		}
}

static void end_task(struct serve_task *t, const struct serve_result *result)
{
	int status = 0;
	http_loop_remove(t->serve->loop, &t->watch);
	(void)close(t->watch.fd);
	(void)waitpid(t->pid, &status, 0);
	unlink_task(t->serve, t);
	t->done(t->data, result->value, &result->err);
	free(t);
}

/* The whole result fits into the pipe, so it is there at once or the child died. */
static void ready(void *data, short revents)
{
	struct serve_task *t = data;
	struct serve_result result;
	(void)revents;
	if (read(t->watch.fd, &result, sizeof result) != (ssize_t)sizeof result) {
		result = (struct serve_result){0};
		result.value = http_fail(&result.err, AIRLOCK_ERR_INTERNAL, "task", "a process of the server died");
	}
	end_task(t, &result);
}

static void run_child(serve_work *work, void *data, int fd, pid_t parent)
{
	struct serve_result result = {0};
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	(void)setpriority(PRIO_PROCESS, 0, 10);
	result.value = work(data, &result.err);
	ssize_t n = write(fd, &result, sizeof result);
	_exit(n == (ssize_t)sizeof result ? 0 : 1);
}

int serve_task_start(struct serve *s, serve_work *work, serve_done *done, void *data, struct airlock_error *err)
{
	int pipe_fds[2];
	struct serve_task *t = calloc(1, sizeof *t);
	if (!t || pipe2(pipe_fds, O_CLOEXEC) < 0) {
		free(t);
		return http_fail(err, AIRLOCK_ERR_IO, "task", "cannot start a process");
	}
	pid_t parent = getpid(), pid = fork();
	if (pid == 0)
		run_child(work, data, pipe_fds[1], parent);
	(void)close(pipe_fds[1]);
	if (pid < 0) {
		(void)close(pipe_fds[0]);
		free(t);
		return http_fail(err, AIRLOCK_ERR_IO, "task", "cannot start a process");
	}
	*t = (struct serve_task){.serve = s, .next = s->tasks, .pid = pid, .done = done, .data = data};
	t->watch = (struct http_watch){.fd = pipe_fds[0], .events = POLLIN, .ready = ready, .data = t};
	s->tasks = t;
	http_loop_add(s->loop, &t->watch);
	return 0;
}

void serve_tasks_end(struct serve *s)
{
	while (s->tasks) {
		struct serve_result result = {0};
		struct serve_task *t = s->tasks;
		result.value = http_fail(&result.err, AIRLOCK_ERR_UNAVAILABLE, "task", "the server ends");
		(void)kill(t->pid, SIGKILL);
		end_task(t, &result);
	}
}
