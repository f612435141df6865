/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "output.h"
#include "wrap.h"

struct mark {
	const char *sign, *colour;
};

/* Symbols for a terminal; a pipe gets the words of the JSON. */
static const struct mark marks[] = {
	[AIRLOCK_CHECK_OK] = {"✓", "\033[32m"},
	[AIRLOCK_CHECK_DEGRADED] = {"!", "\033[33m"},
	[AIRLOCK_CHECK_FAILED] = {"✗", "\033[31m"},
};

struct doctor_look {
	bool signs, colour;
	size_t name_width;
};

static bool can_show_signs(void)
{
	return isatty(STDOUT_FILENO) && setlocale(LC_CTYPE, "") && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

static void print_mark(const struct doctor_look *look, enum airlock_check_status status)
{
	const struct mark *m = &marks[status];
	if (!look->signs)
		(void)printf("%-8s  ", airlock_check_status_name(status));
	else
		(void)printf("%s%s%s ", look->colour ? m->colour : "", m->sign, look->colour ? "\033[0m" : "");
}

/* column: the current column; 0 if the line has not begun. */
static void print_wrapped(size_t indent, size_t column, const char *text)
{
	char *inert = airlock_text_inert(text, strlen(text));
	struct wrap w = wrap_begin(stdout, indent);
	w.column = column;
	wrap_words(&w, inert ? inert : "");
	wrap_end(&w);
	airlock_free(inert);
}

/* On one line however long: people copy it. */
static void print_fix(size_t indent, const char *text)
{
	char *inert = airlock_text_inert(text, strlen(text));
	(void)printf("%*sfix: %s\n", (int)indent, "", inert ? inert : "");
	airlock_free(inert);
}

static void print_check(const struct doctor_look *look, const struct airlock_check *c)
{
	size_t indent = (look->signs ? 2 : 10) + look->name_width + 2;
	print_mark(look, c->status);
	(void)printf("%s%*s  ", c->name, (int)(look->name_width - wrap_width(c->name)), "");
	print_wrapped(indent, indent, c->detail);
	if (*c->consequence)
		print_wrapped(indent, 0, c->consequence);
	if (*c->fix)
		print_fix(indent, c->fix);
}

static void print_examination(const struct airlock_doctor *d)
{
	struct doctor_look look = {.signs = can_show_signs(), .colour = output_has_colour(STDOUT_FILENO)};
	for (size_t i = 0; i < airlock_doctor_count(d); i++) {
		size_t width = wrap_width(airlock_doctor_check(d, i)->name);
		look.name_width = width > look.name_width ? width : look.name_width;
	}
	for (size_t i = 0; i < airlock_doctor_count(d); i++)
		print_check(&look, airlock_doctor_check(d, i));
	(void)printf("\n%s\n", airlock_doctor_ok(d) ? "This machine can run commands in the default profile."
						    : "This machine cannot give what the default profile promises.");
}

int cmd_doctor(const struct invocation *inv, struct airlock_error *err)
{
	struct airlock_doctor *d = NULL;
	if (airlock_is_inside() && !inv->json) { /* what follows would be about the sandbox, not about the machine */
		output_say("this is inside a sandbox of airlock already: it guards every command here");
		return 1;
	}
	int rc = airlock_doctor_examine(inv->settings, &d, err);
	if (rc < 0)
		return rc;
	if (inv->json)
		(void)fputs(airlock_doctor_json(d), stdout);
	else
		print_examination(d);
	rc = airlock_doctor_ok(d) ? 0 : 1;
	airlock_doctor_free(d);
	return rc;
}
