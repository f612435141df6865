/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "output.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

int output_fail(struct airlock_error *err, int code, const char *subject, const char *fmt, ...)
{
	if (err->code != 0)
		return code;
	err->code = code;
	(void)snprintf(err->op, sizeof err->op, "%s", code == AIRLOCK_ERR_USAGE ? "parse" : "");
	(void)snprintf(err->subject, sizeof err->subject, "%s", subject ? subject : "");
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(err->message, sizeof err->message, fmt, ap);
	va_end(ap);
	return code;
}

int output_hint(struct airlock_error *err, const char *fmt, ...)
{
	if (err->hint[0] == '\0') {
		va_list ap;
		va_start(ap, fmt);
		(void)vsnprintf(err->hint, sizeof err->hint, fmt, ap);
		va_end(ap);
	}
	return err->code;
}

bool output_has_colour(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
	return isatty(fd) && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

static void put_line(const char *label, const char *colour, const char *inert)
{
	bool coloured = output_has_colour(STDERR_FILENO);
	(void)fprintf(stderr, "%sairlock: %s%s%s\n", coloured ? colour : "", label, coloured ? "\033[0m" : "", inert);
}

#define PLAIN_BYTES 1024

/* Out of memory a message is still printed: as far as it fits, with question marks for everything but plain ASCII. */
static void say_plainly(const char *label, const char *colour, const char *text)
{
	char plain[PLAIN_BYTES];
	size_t n = 0;
	for (; text[n] && n + 1 < sizeof plain; n++)
		plain[n] = (char)(text[n] >= ' ' && text[n] <= '~' ? text[n] : '?');
	plain[n] = '\0';
	put_line(label, colour, plain);
}

static void say_line(const char *label, const char *colour, const char *text)
{
	char *inert = airlock_text_inert(text, strlen(text));
	if (inert)
		put_line(label, colour, inert);
	else
		say_plainly(label, colour, text);
	airlock_free(inert);
}

void output_say(const char *fmt, ...)
{
	char *text = NULL, part[PLAIN_BYTES];
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vasprintf(&text, fmt, ap);
	if (n < 0)
		(void)vsnprintf(part, sizeof part, fmt, again);
	va_end(again);
	va_end(ap);
	say_line("", "\033[1m", n < 0 ? part : text);
	if (n >= 0)
		free(text);
}

void output_error(const struct airlock_error *err)
{
	say_line("", "\033[1;31m", err->message[0] ? err->message : airlock_code_meaning(err->code));
	if (err->hint[0])
		say_line("hint: ", "\033[36m", err->hint);
}

void output_note(const struct airlock_note *note)
{
	char *line = airlock_note_text(note);
	put_line("", "\033[1m", line ? line : airlock_note_name(note->code));
	airlock_free(line);
}

void output_note_line(FILE *out, const char *label, const struct airlock_note *note)
{
	char *line = airlock_note_text(note);
	(void)fprintf(out, "%s%s\n", label, line ? line : airlock_note_name(note->code));
	airlock_free(line);
}

size_t output_lines(const char *text, size_t max)
{
	size_t left = 0;
	for (size_t i = 0; *text; i++) {
		size_t len = strcspn(text, "\n");
		if (i < max)
			(void)fprintf(stderr, "airlock:   %.*s\n", (int)len, text);
		else
			left++;
		text += len + (text[len] == '\n');
	}
	return left;
}

int output_json(const char *json, struct airlock_error *err)
{
	if (!json)
		return output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
	(void)fputs(json, stdout);
	return 0;
}

void output_cell(FILE *out, const char *bytes, size_t width)
{
	char *inert = airlock_text_inert(bytes, strlen(bytes));
	const char *shown = inert ? inert : "?";
	size_t used = airlock_text_columns(shown, strlen(shown));
	(void)fprintf(out, "%s%*s", shown, (int)(used < width ? width - used : 0), "");
	airlock_free(inert);
}

void output_text(FILE *out, const char *bytes)
{
	output_cell(out, bytes, 0);
}

void output_origin(FILE *out, const struct airlock_origin *origin)
{
	char *words = airlock_origin_text(origin);
	(void)fputs(words ? words : "?", out);
	airlock_free(words);
}

static void put_cut(const char *line, size_t len, size_t width)
{
	size_t fits = airlock_text_columns(line, len) <= width ? len : airlock_text_fit(line, len, width - 1);
	(void)printf("%.*s%s\n", (int)fits, line, fits < len ? "…" : "");
}

void output_list(const char *text)
{
	struct winsize size;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 2) {
		(void)fputs(text, stdout);
		return;
	}
	while (*text) {
		size_t len = strcspn(text, "\n");
		put_cut(text, len, size.ws_col);
		text += len + (text[len] == '\n');
	}
}

void output_path(const char *path)
{
	char *inert = isatty(STDOUT_FILENO) ? airlock_text_inert(path, strlen(path)) : NULL;
	(void)puts(inert ? inert : path);
	airlock_free(inert);
}

bool output_write(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, text, len);
		if (n < 0 && errno == EAGAIN) { /* someone who shares the terminal made it non-blocking */
			struct pollfd p = {.fd = fd, .events = POLLOUT};
			(void)poll(&p, 1, -1);
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		text += n;
		len -= (size_t)n;
	}
	return true;
}

static ssize_t write_whole(void *fd, const char *text, size_t len)
{
	return output_write(*(const int *)fd, text, len) ? (ssize_t)len : 0;
}

void output_wait(int fd)
{
	static int descriptors[] = {STDOUT_FILENO, STDERR_FILENO};
	bool is_error = fd == STDERR_FILENO;
	FILE *waiting = fopencookie(&descriptors[is_error], "w", (cookie_io_functions_t){.write = write_whole});
	if (!waiting)
		return;
	if (is_error)
		(void)setvbuf(waiting, NULL, _IONBF, 0);
	*(is_error ? &stderr : &stdout) = waiting;
}

/* `airlock … | head` is no failure. Asks the descriptor, because stdio may have met the error long before. */
static bool reader_is_gone(void)
{
	struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
	return poll(&out, 1, 0) > 0 && out.revents & POLLERR;
}

int output_finish(int status)
{
	errno = 0;
	bool flushed = fflush(stdout) == 0;
	if ((flushed && !ferror(stdout)) || reader_is_gone())
		return status;
	output_say("cannot write to standard output%s%s", errno ? ": " : "", errno ? strerror(errno) : "");
	return airlock_code_exit_status(AIRLOCK_ERR_IO);
}

struct output_size output_size(uint64_t bytes)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
	struct output_size out;
	double value = (double)bytes;
	size_t unit = 0;
	for (; value >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++)
		value /= 1024;
	(void)snprintf(out.text, sizeof out.text, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return out;
}

struct output_time output_time(int64_t ns)
{
	struct output_time out = {"?"};
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;
	if (gmtime_r(&seconds, &tm))
		(void)strftime(out.text, sizeof out.text, "%Y-%m-%d %H:%M:%S UTC", &tm);
	return out;
}

struct output_age output_age(int64_t ns)
{
	struct output_age out = {"just now"}; /* also of the future: a clock was set back */
	int64_t s = (int64_t)time(NULL) - ns / 1000000000;
	if (s >= 2 * 86400)
		(void)snprintf(out.text, sizeof out.text, "%" PRId64 " days ago", s / 86400);
	else if (s >= 3600)
		(void)snprintf(out.text, sizeof out.text, "%" PRId64 " h ago", s / 3600);
	else if (s >= 60)
		(void)snprintf(out.text, sizeof out.text, "%" PRId64 " min ago", s / 60);
	return out;
}

struct output_duration output_duration(int64_t ms)
{
	static const struct {
		int64_t ms;
		const char *name;
	} units[] = {{3600000, "h"}, {60000, "min"}, {1000, "s"}};
	struct output_duration out;
	(void)snprintf(out.text, sizeof out.text, "%" PRId64 " ms", ms);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (ms < units[i].ms)
			continue;
		(void)snprintf(out.text, sizeof out.text, ms % units[i].ms ? "%.1f %s" : "%.0f %s",
			       (double)ms / (double)units[i].ms, units[i].name);
		break;
	}
	return out;
}
