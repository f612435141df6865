/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "questions_page.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "keys.h"

#define SECOND_NS INT64_C(1000000000)
#define SETTLE_NS (700 * INT64_C(1000000)) /* what moved under the cursor must have been seen before a key counts */
#define FIXED_LINES 4			   /* title, rule, message, keys */
#define LEAST_ROWS 3

/* ── words ── */

struct questions_age questions_age(int64_t ns)
{
	struct questions_age age;
	int64_t s = ns > 0 ? ns / SECOND_NS : 0;
	if (s < 120)
		(void)snprintf(age.text, sizeof age.text, "%" PRId64 " s", s);
	else if (s < 7200)
		(void)snprintf(age.text, sizeof age.text, "%" PRId64 " min", s / 60);
	else
		(void)snprintf(age.text, sizeof age.text, "%" PRId64 " h", s / 3600);
	return age;
}

struct questions_reasons questions_reasons(const struct airlock_pending_question *q)
{
	struct questions_reasons r = {""};
	size_t len = 0;
	for (size_t i = 0; i < q->n_reasons && len < sizeof r.text; i++)
		len += (size_t)snprintf(r.text + len, sizeof r.text - len, "%s%s", i ? ", " : "",
					airlock_question_reason_name(q->reasons[i]));
	return r;
}

static void say(struct questions_page *p, const char *text)
{
	(void)snprintf(p->message, sizeof p->message, "%s", text);
}

/* The lines of the whole text, by what one of them holds. */
static void put_inert(FILE *out, const char *label, const char *bytes)
{
	char *inert = airlock_text_inert(bytes, strlen(bytes));
	(void)fprintf(out, "%s%s", label, inert ? inert : "");
	airlock_free(inert);
}

/* The question and what is known about it; the question's own text is the library's, and whole. */
static char *full_text(const struct airlock_pending_question *q, int64_t now_ns)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	(void)fprintf(out, "%s\n\n", q->text);
	put_inert(out, "Asked by ", q->asked_by);
	(void)fprintf(out, " %s ago", questions_age(now_ns - q->asked_ns).text);
	if (q->wait_ms >= 0)
		(void)fprintf(out, "; denied in %s if nobody answers",
			      questions_age(q->asked_ns + q->wait_ms * 1000000 - now_ns).text);
	if (*q->project)
		put_inert(out, "\nProject ", q->project);
	if (q->session)
		put_inert(out, "\nSession ", q->session);
	if (q->host) {
		put_inert(out, "\nHost ", q->host);
		(void)fprintf(out, ", port %d; %u connection%s wait%s", q->port, q->connections,
			      q->connections == 1 ? "" : "s", q->connections == 1 ? "s" : "");
	}
	return fclose(out) == 0 ? text : NULL;
}

/* ── lines of a text, as wide as the page ── */

/* The length of the first line of text, cut to the width; ret_next is where the next one begins, NULL at the end. */
static size_t cut_line(const char *text, size_t width, const char **ret_next)
{
	size_t len = strcspn(text, "\n"), fit = airlock_text_fit(text, len, width);
	if (fit >= len || fit == 0) {
		*ret_next = text[len] ? text + len + 1 : NULL;
		return len;
	}
	*ret_next = text + fit;
	return fit;
}

static size_t count_lines(const char *text, size_t width)
{
	size_t n = 0;
	for (const char *at = text; at; n++)
		(void)cut_line(at, width, &at);
	return n;
}

/* ── rooms ── */

static size_t count(const struct questions_page *p)
{
	return p->list ? airlock_questions_count(p->list) : 0;
}

/* At most a third of the page is list: the question must be read. */
static size_t list_room(const struct questions_page *p)
{
	size_t most = p->height > 3 * LEAST_ROWS ? p->height / 3 : LEAST_ROWS;
	return count(p) < most ? count(p) : most;
}

static size_t text_room(const struct questions_page *p)
{
	size_t used = FIXED_LINES + (p->is_detail ? 0 : list_room(p));
	return p->height > used ? p->height - used : 1;
}

const struct airlock_pending_question *questions_page_chosen(const struct questions_page *p)
{
	return p->list && p->chosen[0] ? airlock_questions_at(p->list, p->cursor) : NULL;
}

static bool is_whole(const struct questions_page *p)
{
	const struct airlock_pending_question *q = questions_page_chosen(p);
	return p->is_detail || !q || count_lines(q->text, p->width) <= text_room(p);
}

/* ── a new list ── */

static void follow(struct questions_page *p)
{
	size_t room = list_room(p);
	if (p->cursor < p->top)
		p->top = p->cursor;
	if (room > 0 && p->cursor >= p->top + room)
		p->top = p->cursor - room + 1;
	if (p->top + room > count(p))
		p->top = count(p) > room ? count(p) - room : 0;
}

static void choose(struct questions_page *p, size_t at)
{
	const struct airlock_pending_question *q = p->list ? airlock_questions_at(p->list, at) : NULL;
	p->cursor = q ? at : 0;
	p->line = 0;
	(void)snprintf(p->chosen, sizeof p->chosen, "%s", q ? q->id : "");
	p->is_detail = p->is_detail && q;
	follow(p);
}

void questions_page_take(struct questions_page *p, const struct airlock_questions *list, int64_t now_ns)
{
	p->list = list;
	p->now_ns = now_ns;
	for (size_t i = 0; i < count(p) && p->chosen[0]; i++)
		if (strcmp(airlock_questions_at(list, i)->id, p->chosen) == 0) {
			p->cursor = i;
			follow(p);
			return;
		}
	if (p->chosen[0] && p->is_detail)
		say(p, "that question is decided, or what asked it has ended");
	p->is_detail = false;
	p->chosen_ns = now_ns;
	choose(p, p->cursor < count(p) ? p->cursor : count(p) ? count(p) - 1 : 0);
}

/* ── keys ── */

static const struct {
	int key;
	enum airlock_answer answer;
} answer_keys[] = {{'a', AIRLOCK_ALLOW_ONCE},	{'d', AIRLOCK_DENY},	     {'s', AIRLOCK_ALLOW_SESSION},
		   {'w', AIRLOCK_ALLOW_ALWAYS}, {'e', AIRLOCK_DENY_SESSION}, {'v', AIRLOCK_DENY_ALWAYS}};

static bool is_offered(const struct airlock_pending_question *q, enum airlock_answer answer)
{
	for (size_t i = 0; i < q->n_choices; i++)
		if (q->choices[i] == answer)
			return true;
	return false;
}

static bool find_answer(const struct questions_page *p, int key, enum airlock_answer *ret)
{
	const struct airlock_pending_question *q = questions_page_chosen(p);
	for (size_t i = 0; q && i < sizeof answer_keys / sizeof *answer_keys; i++)
		if (answer_keys[i].key == key && is_offered(q, answer_keys[i].answer)) {
			*ret = answer_keys[i].answer;
			return true;
		}
	return false;
}

bool questions_page_is_decision(const struct questions_page *p, int key)
{
	enum airlock_answer ignored;
	return find_answer(p, key, &ignored);
}

static bool is_yes(enum airlock_answer answer)
{
	return answer == AIRLOCK_ALLOW_ONCE || answer == AIRLOCK_ALLOW_SESSION || answer == AIRLOCK_ALLOW_ALWAYS;
}

static enum questions_action decide(struct questions_page *p, enum airlock_answer answer)
{
	if (p->now_ns - p->chosen_ns < SETTLE_NS) {
		say(p, "the list has just changed: look, and press it again");
		return QUESTIONS_NOTHING;
	}
	if (is_yes(answer) && !is_whole(p)) {
		say(p, "there is more to read: Enter shows all of it");
		return QUESTIONS_NOTHING;
	}
	return QUESTIONS_ANSWER;
}

static void move(struct questions_page *p, bool down, size_t by)
{
	size_t last = count(p) ? count(p) - 1 : 0;
	if (p->is_detail) {
		p->line = down ? p->line + by : p->line > by ? p->line - by : 0;
		return;
	}
	choose(p, down ? (p->cursor + by < last ? p->cursor + by : last) : p->cursor > by ? p->cursor - by : 0);
}

static void show_detail(struct questions_page *p, bool on)
{
	p->is_detail = on && questions_page_chosen(p);
	p->line = 0;
	follow(p);
}

enum questions_action questions_page_press(struct questions_page *p, int key, int64_t now_ns,
					   enum airlock_answer *ret_answer)
{
	p->message[0] = '\0';
	p->now_ns = now_ns;
	if (find_answer(p, key, ret_answer))
		return decide(p, *ret_answer);
	switch (key) {
	case 'q':
	case KEY_CTRL('c'):
	case KEY_CTRL('d'):
		if (key == 'q' && p->is_detail) {
			show_detail(p, false);
			return QUESTIONS_NOTHING;
		}
		return QUESTIONS_QUIT;
	case KEY_CTRL('z'):
		return QUESTIONS_SUSPEND;
	case KEY_UP:
	case 'k':
		move(p, false, 1);
		break;
	case KEY_DOWN:
	case 'j':
		move(p, true, 1);
		break;
	case KEY_PAGE_UP:
	case 'b':
		move(p, false, p->is_detail ? text_room(p) : list_room(p));
		break;
	case KEY_PAGE_DOWN:
	case ' ':
		move(p, true, p->is_detail ? text_room(p) : list_room(p));
		break;
	case '\n':
	case KEY_RIGHT:
		show_detail(p, true);
		break;
	case KEY_ESCAPE:
	case KEY_LEFT:
		show_detail(p, false);
		break;
	default:
		break;
	}
	return QUESTIONS_NOTHING;
}

/* ── drawing ── */

static void draw_title(const struct questions_page *p, FILE *out)
{
	char text[96];
	size_t n = count(p);
	struct frame_line l = frame_begin(out, p->width);
	(void)snprintf(text, sizeof text,
		       n == 0	? "No question waits"
		       : n == 1 ? "1 question waits"
				: "%zu questions wait",
		       n);
	frame_style(&l, FRAME_BOLD);
	frame_put(&l, text);
	frame_style(&l, FRAME_PLAIN);
	if (p->is_detail) {
		(void)snprintf(text, sizeof text, "  this is %zu of %zu: %s", p->cursor + 1, n, p->chosen);
		frame_put(&l, text);
	}
	frame_end(&l);
}

static void put_inert_line(struct frame_line *l, const char *bytes)
{
	char *inert = airlock_text_inert(bytes, strlen(bytes));
	frame_put(l, inert ? inert : "");
	airlock_free(inert);
}

static void draw_row(const struct questions_page *p, FILE *out, size_t at)
{
	const struct airlock_pending_question *q = airlock_questions_at(p->list, at);
	struct frame_line l = frame_begin(out, p->width);
	char text[320];
	bool is_cursor = at == p->cursor && p->chosen[0];
	(void)snprintf(text, sizeof text, "%c %s  %6s  %s", is_cursor ? '>' : ' ', q->id,
		       questions_age(p->now_ns - q->asked_ns).text, questions_reasons(q).text);
	if (is_cursor)
		frame_style(&l, FRAME_REVERSE);
	frame_put(&l, text);
	if (q->host) {
		frame_put(&l, " ");
		put_inert_line(&l, q->host);
	}
	frame_put(&l, "  ");
	put_inert_line(&l, q->command);
	if (is_cursor)
		frame_fill(&l);
	frame_end(&l);
}

static void draw_rule(const struct questions_page *p, FILE *out)
{
	struct frame_line l = frame_begin(out, p->width);
	while (l.left > 0)
		frame_put_bytes(&l, "─", strlen("─"));
	frame_end(&l);
}

static size_t draw_lines(const struct questions_page *p, FILE *out, const char *text, size_t from, size_t room)
{
	size_t i = 0, drawn = 0;
	for (const char *at = text, *next; at && drawn < room; at = next, i++) {
		size_t len = cut_line(at, p->width, &next);
		if (i < from)
			continue;
		struct frame_line l = frame_begin(out, p->width);
		frame_put_bytes(&l, at, len);
		frame_end(&l);
		drawn++;
	}
	return drawn;
}

static void draw_text(const struct questions_page *p, FILE *out)
{
	const struct airlock_pending_question *q = questions_page_chosen(p);
	size_t room = text_room(p), drawn = 0;
	char *text = q ? full_text(q, p->now_ns) : strdup("Questions of agents' runs appear here.");
	if (text) {
		size_t n = count_lines(text, p->width), last = n > room ? n - room : 0;
		drawn = draw_lines(p, out, text, p->is_detail ? (p->line < last ? p->line : last) : 0, room);
	}
	free(text);
	frame_empty(out, room - drawn);
}

static void draw_message(const struct questions_page *p, FILE *out)
{
	struct frame_line l = frame_begin(out, p->width);
	frame_style(&l, FRAME_YELLOW);
	frame_put(&l, p->message[0] ? p->message : is_whole(p) ? "" : "there is more to read: Enter shows all of it");
	frame_end(&l);
}

#define MAX_HINTS 12

static void draw_keys(const struct questions_page *p, FILE *out)
{
	static const char *const words[] = {[AIRLOCK_ALLOW_ONCE] = "allow",
					    [AIRLOCK_DENY] = "deny",
					    [AIRLOCK_ALLOW_SESSION] = "allow: session",
					    [AIRLOCK_ALLOW_ALWAYS] = "always",
					    [AIRLOCK_DENY_SESSION] = "deny: session",
					    [AIRLOCK_DENY_ALWAYS] = "never"};
	static const char *const keys[] = {"a", "d", "s", "w", "e", "v"};
	const struct airlock_pending_question *q = questions_page_chosen(p);
	struct frame_hint hints[MAX_HINTS] = {{0}};
	size_t n = 0;
	for (size_t i = 0; q && i < sizeof answer_keys / sizeof *answer_keys; i++)
		if (is_offered(q, answer_keys[i].answer))
			hints[n++] = (struct frame_hint){keys[i], words[answer_keys[i].answer]};
	if (q && !p->is_detail)
		hints[n++] = (struct frame_hint){"enter", "all of it"};
	if (q)
		hints[n++] = (struct frame_hint){"j k", p->is_detail ? "scroll" : "move"};
	hints[n++] = (struct frame_hint){"q", p->is_detail ? "the list" : "quit"};
	frame_hints(out, p->width, hints);
}

char *questions_page_draw(const struct questions_page *p)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	draw_title(p, out);
	for (size_t i = p->top; !p->is_detail && i < p->top + list_room(p) && i < count(p); i++)
		draw_row(p, out, i);
	draw_rule(p, out);
	draw_text(p, out);
	draw_message(p, out);
	draw_keys(p, out);
	return fclose(out) == 0 ? text : NULL;
}
