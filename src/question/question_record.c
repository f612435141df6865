/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A question as text, and back. The first line has a number of fixed width, which the asker overwrites in place; the second
 * is JSON. A reader trusts neither to be whole. */
#include "question/question_files.h"

#include "base/json.h"
#include "base/json_value.h"
#include "base/text.h"
#include "permission/permission.h"

#include <stdio.h>
#include <string.h>

/* ── Writing ── */

static void add_list(struct json *j, const struct question_ask *ask)
{
	json_open_array(j, "reasons");
	for (size_t i = 0; i < ask->n_reasons; i++)
		json_string(j, NULL, airlock_question_reason_name(ask->reasons[i]));
	json_close(j);
	json_open_array(j, "choices");
	for (size_t i = 0; i < ask->n_choices; i++)
		json_string(j, NULL, airlock_answer_name(ask->choices[i]));
	json_close(j);
	json_open_array(j, "paths");
	for (const char *const *p = ask->paths; p && *p; p++)
		json_string(j, NULL, *p);
	json_close(j);
}

void question_write_text(const struct question_ask *ask, const char *nonce, int64_t asked_ns, struct buf *out)
{
	buf_printf(out, QUESTION_MARK "%0*u\n", QUESTION_COUNT_DIGITS, ask->connections);
	struct json j = json_begin(out, false);
	json_open_object(&j, NULL);
	json_string(&j, "nonce", nonce);
	json_int(&j, "asked_ns", asked_ns);
	json_int(&j, "wait_ms", ask->wait_ms);
	json_string(&j, "text", ask->text);
	json_string(&j, "command", ask->command);
	json_string(&j, "working_dir", ask->working_dir);
	json_string(&j, "project", ask->project);
	json_string(&j, "session", ask->session);
	json_string(&j, "asked_by", ask->asked_by);
	json_string(&j, "host", ask->host);
	json_int(&j, "port", ask->port);
	json_bool(&j, "optional", ask->is_optional);
	add_list(&j, ask);
	json_close(&j);
	buf_addc(out, '\n');
}

/* ── Reading ── */

/* Owned by the entry; NULL when it is no string. */
static const char *read_string(struct question_entry *e, struct json_value top, const char *name)
{
	struct json_value v = json_value_member(top, name);
	if (json_value_kind(v) != '"')
		return NULL;
	strs_take(&e->texts, json_value_string(v));
	return e->texts.failed ? NULL : e->texts.v[e->texts.n - 1];
}

/* A reason that this airlock does not know makes the whole question unreadable: a person must see all of them. */
static int read_reasons(struct question_entry *e, struct json_value list)
{
	for (struct json_item i = {0}; json_value_next(list, &i);) {
		_cleanup_free_ char *word = json_value_string(i.value);
		if (!word || e->ask.n_reasons == QUESTION_MAX_REASONS ||
		    !permission_parse_reason(word, &e->reasons[e->ask.n_reasons]))
			return -EINVAL;
		e->ask.n_reasons++;
	}
	e->ask.reasons = e->reasons;
	return e->ask.n_reasons > 0 ? 0 : -EINVAL;
}

static int read_choices(struct question_entry *e, struct json_value list)
{
	for (struct json_item i = {0}; json_value_next(list, &i);) {
		_cleanup_free_ char *word = json_value_string(i.value);
		if (!word || e->ask.n_choices == QUESTION_MAX_CHOICES ||
		    airlock_answer_parse(word, &e->choices[e->ask.n_choices]) < 0)
			return -EINVAL;
		e->ask.n_choices++;
	}
	e->ask.choices = e->choices;
	return e->ask.n_choices > 0 ? 0 : -EINVAL;
}

static int read_members(struct question_entry *e, struct json_value top)
{
	e->asked_ns = json_value_int(json_value_member(top, "asked_ns"), 0);
	e->ask.wait_ms = json_value_int(json_value_member(top, "wait_ms"), 0);
	e->ask.text = read_string(e, top, "text");
	e->ask.command = read_string(e, top, "command");
	e->ask.working_dir = read_string(e, top, "working_dir");
	e->ask.project = read_string(e, top, "project");
	e->ask.session = read_string(e, top, "session");
	e->ask.asked_by = read_string(e, top, "asked_by");
	e->ask.host = read_string(e, top, "host");
	e->ask.port = (int)json_value_int(json_value_member(top, "port"), 0);
	e->ask.is_optional = json_value_kind(json_value_member(top, "optional")) == 't';
	for (struct json_item i = {0}; json_value_next(json_value_member(top, "paths"), &i);)
		strs_take(&e->paths, json_value_string(i.value));
	e->ask.paths = (const char *const *)e->paths.v;
	if (e->texts.failed || e->paths.failed)
		return -ENOMEM;
	return e->ask.text && e->ask.command ? 0 : -EINVAL;
}

int question_read_text(const char *text, size_t len, struct question_entry *e, char nonce[QUESTION_NONCE_SIZE])
{
	const size_t head = strlen(QUESTION_MARK) + QUESTION_COUNT_DIGITS + 1;
	struct json_value top;
	if (len < head || memcmp(text, QUESTION_MARK, strlen(QUESTION_MARK)) != 0 || text[head - 1] != '\n' ||
	    !json_value_parse(text + head, len - head, &top))
		return -EINVAL;
	e->ask.connections = (unsigned)strtoul(text + strlen(QUESTION_MARK), NULL, 10);
	_cleanup_free_ char *word = json_value_string(json_value_member(top, "nonce"));
	if (!word || strlen(word) != QUESTION_NONCE_SIZE - 1)
		return -EINVAL;
	if (nonce)
		(void)snprintf(nonce, QUESTION_NONCE_SIZE, "%s", word);
	int rc = read_members(e, top);
	if (rc == 0)
		rc = read_reasons(e, json_value_member(top, "reasons"));
	return rc < 0 ? rc : read_choices(e, json_value_member(top, "choices"));
}

void question_entry_free(struct question_entry *e)
{
	if (!e)
		return;
	strs_done(&e->texts);
	strs_done(&e->paths);
	free(e);
}
