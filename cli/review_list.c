/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The review as a list on the whole terminal: reads keys (screen.c), feeds them to the model (review_model.c), draws
 * what the model says (review_draw.c) and carries out its actions (review_act.c). */
#include "review_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "review_draw.h"
#include "review_model.h"
#include "screen.h"
#include "words/change_lines.h"

struct viewer {
	struct review *review;
	struct screen screen;
	struct review_model model;
	struct review_row *rows;
	char *diff; /* what model.lines points into */
	const char **lines;
};

/* ── the rows ── */

/* In the words that the title line uses for the current change. */
static char *reason_of(const struct airlock_change *c)
{
	bool is_conflict = c->state == AIRLOCK_CHANGE_CONFLICT;
	char *why = change_reason(c), *text = NULL;
	if (!why || asprintf(&text, "%s%s", is_conflict ? "conflict: " : "", why) < 0)
		text = NULL;
	airlock_free(why);
	return text;
}

static bool make_rows(struct viewer *v)
{
	const struct review *r = v->review;
	v->rows = calloc(r->n + 1, sizeof *v->rows);
	v->model.chosen = calloc(r->n + 1, sizeof *v->model.chosen);
	bool ok = v->rows && v->model.chosen;
	for (size_t i = 0; ok && i < r->n; i++) {
		const struct airlock_change *c = r->waiting[i];
		v->rows[i] = (struct review_row){.letter = change_letter(c->kind),
						 .path = change_path(c),
						 .is_conflict = c->state == AIRLOCK_CHANGE_CONFLICT,
						 .reason = c->n_reasons > 0 ? reason_of(c) : NULL,
						 .beneath = review_beneath(r, i)};
		ok = v->rows[i].path && (v->rows[i].reason || c->n_reasons == 0);
	}
	v->model.rows = v->rows;
	v->model.n = r->n;
	v->model.run = airlock_changes_run(r->changes);
	v->model.cursor = r->cursor < r->n ? r->cursor : r->n - 1;
	return ok;
}

static void viewer_done(struct viewer *v)
{
	for (size_t i = 0; v->rows && i < v->review->n; i++) {
		free((char *)v->rows[i].reason);
		free((char *)v->rows[i].path);
	}
	free(v->rows);
	free(v->model.chosen);
	airlock_free(v->diff);
	free(v->lines);
}

/* ── the diff ── */

/* Cuts the text up. */
static const char **split_lines(char *text, size_t *ret_n)
{
	size_t n = 0;
	for (const char *p = text; (p = strchr(p, '\n')); p++)
		n++;
	const char **lines = calloc(n + 2, sizeof *lines);
	*ret_n = 0;
	for (char *p = text; lines && *p;) {
		lines[(*ret_n)++] = p;
		p += strcspn(p, "\n");
		if (*p)
			*p++ = '\0';
	}
	return lines;
}

/* With colours, because only then the library escapes the content. */
static void show_diff(struct viewer *v)
{
	struct airlock_error err = {0};
	const struct review *r = v->review;
	char *path = review_path(r->waiting[v->model.cursor]), *text = NULL;
	const char *paths[] = {path, NULL};
	static const char *const nothing[] = {"It cannot be shown.", NULL};
	size_t n = 0;
	if (path && airlock_changes_diff(r->settings, airlock_changes_run(r->changes), paths, true, &text, &err) >= 0) {
		airlock_free(v->diff);
		free(v->lines);
		v->diff = text;
		v->lines = split_lines(text, &n);
	}
	if (v->lines && text)
		review_model_show(&v->model, v->lines, n);
	else
		review_model_show(&v->model, nothing, 1);
	free(path);
}

/* ── deciding ── */

/* Carried out on the restored terminal: there may be a question. */
static bool carry_out(struct viewer *v, enum review_action action)
{
	struct review *r = v->review;
	struct airlock_error err = {0};
	bool settled = true;
	screen_leave(&v->screen);
	switch (action) {
	case REVIEW_APPLY_ALL:
		settled = review_apply(r, NULL);
		break;
	case REVIEW_APPLY_CHOSEN:
		settled = review_apply_chosen(r, v->model.chosen);
		break;
	case REVIEW_APPLY_ANYWAY:
		settled = review_apply_anyway(r, v->model.cursor);
		break;
	case REVIEW_DISCARD_CHOSEN:
		review_discard_chosen(r, v->model.chosen);
		break;
	case REVIEW_DISCARD_ALL:
		review_discard(r, NULL);
		break;
	default:
		break; /* hold */
	}
	return settled || screen_enter(&v->screen, &err) < 0;
}

/* Returns whether the review is over. */
static bool act(struct viewer *v, enum review_action action)
{
	struct airlock_error err = {0};
	switch (action) {
	case REVIEW_NOTHING:
		return false;
	case REVIEW_SHOW_DIFF:
		show_diff(v);
		return false;
	case REVIEW_SUSPEND:
		return screen_suspend(&v->screen, &err) < 0;
	default:
		return carry_out(v, action);
	}
}

static bool handle_key(struct viewer *v, const struct screen_key *key)
{
	if (review_model_is_decision(&v->model, key->key) && !screen_is_alone(&v->screen, key)) {
		v->model.message = "several keys at once decide nothing: press it again";
		return false;
	}
	return act(v, review_model_press(&v->model, key->key));
}

static void draw(struct viewer *v)
{
	struct screen_size size = screen_size(&v->screen);
	review_model_resize(&v->model, size.height, size.width);
	char *frame = review_draw(&v->model);
	if (frame)
		screen_draw(&v->screen, frame);
	free(frame);
}

/* A signal, or a terminal that is gone, leaves the changes held. */
static void view(struct viewer *v)
{
	struct screen_key key;
	enum screen_event event;
	bool is_over = false;
	while (!is_over) {
		draw(v);
		event = screen_wait(&v->screen, &key);
		is_over = event == SCREEN_OVER || (event == SCREEN_KEY && handle_key(v, &key));
	}
}

int review_list(struct review *r, struct airlock_error *err)
{
	struct viewer v = {.review = r};
	int rc = make_rows(&v) ? 0 : output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
	if (rc >= 0)
		rc = screen_open(&v.screen, err);
	if (rc >= 0) {
		view(&v);
		screen_close(&v.screen);
	}
	viewer_done(&v);
	return rc;
}
