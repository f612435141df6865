/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the shell's quoting (POSIX 2.2 and 2.3), far enough to tell letters from operators. It never says what a line
 * does, only whether it is plainly one command: the first thing that is more than that ends the reading. */
#include "permission/command_shape.h"

#include "base/macros.h"

#include <stdbool.h>
#include <string.h>

#define WORD_MAX 32 /* longer words are neither a keyword nor a shell */

struct word {
	char text[WORD_MAX]; /* without its quotes */
	size_t len;	     /* may be more than was kept */
	bool quoted;	     /* part of it was quoted: then it is not a keyword */
};

struct command_reader {
	const char *at, *end;
	struct word word;  /* the last one read */
	size_t n_words;	   /* of the command being read */
	bool is_cd;	   /* it is cd */
	bool is_shell;	   /* it is a shell: -c would be another command line */
	bool after_cd;	   /* the leading `cd x &&` has been seen */
	bool after_assign; /* only NAME=value so far */
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_name_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_control(char c)
{
	return ((unsigned char)c < 0x20 && c != '\t' && c != '\n') || c == 0x7f;
}

/* A dollar begins an expansion unless what follows cannot be one; then it is a letter. */
static bool begins_expansion(const struct command_reader *r, bool in_quotes)
{
	const char *next = r->at + 1;
	if (next == r->end)
		return false;
	if (in_quotes && *next == '"')
		return false;
	return is_name_start(*next) || (*next >= '0' && *next <= '9') || (*next && strchr("{([@*#?$!-'\"", *next));
}

static void add_letter(struct word *w, char c)
{
	if (w->len + 1 < sizeof w->text)
		w->text[w->len] = c;
	w->len++;
}

static enum command_shape read_single_quotes(struct command_reader *r)
{
	for (r->at++; r->at < r->end; r->at++) {
		if (*r->at == '\'') {
			r->at++;
			return COMMAND_SIMPLE;
		}
		if (*r->at == '\n')
			return COMMAND_NEWLINE;
		if (is_control(*r->at))
			return COMMAND_CONTROL;
		add_letter(&r->word, *r->at);
	}
	return COMMAND_UNFINISHED;
}

/* Outside quotes it takes the next letter literally; in double quotes only those that are special there. */
static enum command_shape read_backslash(struct command_reader *r, bool in_quotes)
{
	if (r->at + 1 == r->end)
		return COMMAND_UNFINISHED;
	char next = r->at[1];
	if (next == '\n')
		return COMMAND_NEWLINE;
	if (is_control(next))
		return COMMAND_CONTROL;
	if (in_quotes && !(next && strchr("$`\"\\", next)))
		add_letter(&r->word, '\\');
	add_letter(&r->word, next);
	r->at += 2;
	return COMMAND_SIMPLE;
}

static enum command_shape read_double_quotes(struct command_reader *r)
{
	r->at++;
	while (r->at < r->end) {
		char c = *r->at;
		if (c == '"') {
			r->at++;
			return COMMAND_SIMPLE;
		}
		if (c == '`' || (c == '$' && begins_expansion(r, true)))
			return COMMAND_SUBSTITUTION;
		if (c == '\n')
			return COMMAND_NEWLINE;
		if (is_control(c))
			return COMMAND_CONTROL;
		if (c == '\\') {
			enum command_shape shape = read_backslash(r, true);
			if (shape != COMMAND_SIMPLE)
				return shape;
			continue;
		}
		add_letter(&r->word, c);
		r->at++;
	}
	return COMMAND_UNFINISHED;
}

/* What an unquoted letter means beyond itself; COMMAND_SIMPLE if nothing. */
static enum command_shape shape_of_letter(const struct command_reader *r)
{
	switch (*r->at) {
	case '\n':
		return COMMAND_NEWLINE;
	case '|':
		return r->at + 1 < r->end && r->at[1] == '|' ? COMMAND_SEQUENCE : COMMAND_PIPE;
	case '&':
		return r->at + 1 < r->end && r->at[1] == '&' ? COMMAND_SEQUENCE : COMMAND_BACKGROUND;
	case ';':
		return COMMAND_SEQUENCE;
	case '<':
	case '>':
		return COMMAND_REDIRECT;
	case '(':
	case ')':
		return COMMAND_GROUP;
	case '`':
		return COMMAND_SUBSTITUTION;
	case '$':
		return begins_expansion(r, false) ? COMMAND_SUBSTITUTION : COMMAND_SIMPLE;
	default:
		return is_control(*r->at) ? COMMAND_CONTROL : COMMAND_SIMPLE;
	}
}

static enum command_shape read_part(struct command_reader *r)
{
	char c = *r->at;
	if (c == '\'' || c == '"' || c == '\\')
		r->word.quoted = true;
	if (c == '\'')
		return read_single_quotes(r);
	if (c == '"')
		return read_double_quotes(r);
	if (c == '\\')
		return read_backslash(r, false);
	enum command_shape shape = shape_of_letter(r);
	if (shape == COMMAND_SIMPLE) {
		add_letter(&r->word, c);
		r->at++;
	}
	return shape;
}

/* True if an operator that ends a word, but not the reading, begins here. */
static bool ends_word(const struct command_reader *r)
{
	return r->at == r->end || is_blank(*r->at) || *r->at == '&';
}

static enum command_shape read_word(struct command_reader *r)
{
	r->word = (struct word){.len = 0};
	if (*r->at == '#')
		return COMMAND_COMMENT;
	while (!ends_word(r)) {
		enum command_shape shape = read_part(r);
		if (shape != COMMAND_SIMPLE)
			return shape;
	}
	r->word.text[AL_MIN(r->word.len, sizeof r->word.text - 1)] = '\0';
	return COMMAND_SIMPLE;
}

static bool is_one_of(const struct word *w, const char *const *words)
{
	for (; *words; words++)
		if (strlen(*words) == w->len && strcmp(*words, w->text) == 0)
			return true;
	return false;
}

static bool is_assignment(const struct word *w)
{
	size_t i = 0, kept = AL_MIN(w->len, sizeof w->text - 1);
	while (i < kept && (is_name_start(w->text[i]) || (i > 0 && w->text[i] >= '0' && w->text[i] <= '9')))
		i++;
	return i > 0 && i < kept && w->text[i] == '=' && !w->quoted;
}

/* The program's name without its directory. */
static bool is_shell(const struct word *w)
{
	static const char *const shells[] = {"sh",  "bash", "dash", "zsh",  "ksh",     "mksh",
					     "ash", "fish", "csh",  "tcsh", "busybox", NULL};
	if (w->len >= sizeof w->text)
		return false;
	const char *slash = strrchr(w->text, '/');
	struct word name = {.len = 0};
	for (const char *c = slash ? slash + 1 : w->text; *c; c++)
		add_letter(&name, *c);
	return is_one_of(&name, shells);
}

/* -c, -lc, -ec: the next word is a command line. */
static bool asks_for_command_line(const struct word *w)
{
	return w->len > 1 && w->text[0] == '-' && w->text[1] != '-' && strchr(w->text, 'c');
}

static enum command_shape take_program(struct command_reader *r)
{
	static const char *const keywords[] = {"if",   "then",	"else",	    "elif",   "fi",	"do", "done", "case",
					       "esac", "while", "until",    "for",    "select", "in", "{",    "}",
					       "!",    "[[",	"function", "coproc", "time",	NULL};
	static const char *const evaluators[] = {"eval",    ".",    "source", "exec", "command",
						 "builtin", "trap", "alias",  NULL};
	if (!r->word.quoted && is_one_of(&r->word, keywords))
		return r->word.text[0] == '{' || r->word.text[0] == '}' ? COMMAND_GROUP : COMMAND_KEYWORD;
	if (is_one_of(&r->word, evaluators))
		return COMMAND_NESTED;
	static const char *const cd[] = {"cd", NULL};
	r->is_cd = is_one_of(&r->word, cd);
	r->is_shell = is_shell(&r->word);
	return COMMAND_SIMPLE;
}

static enum command_shape take_word(struct command_reader *r)
{
	if (r->n_words == 0 && is_assignment(&r->word)) {
		r->after_assign = true;
		return COMMAND_SIMPLE;
	}
	r->n_words++;
	if (r->n_words == 1)
		return take_program(r);
	return r->is_shell && asks_for_command_line(&r->word) ? COMMAND_NESTED : COMMAND_SIMPLE;
}

/* `cd DIR &&` at the very beginning, with exactly one directory, and something after it. */
static enum command_shape take_ampersand(struct command_reader *r)
{
	bool is_and = r->at + 1 < r->end && r->at[1] == '&';
	if (!is_and)
		return COMMAND_BACKGROUND;
	if (r->after_cd || !r->is_cd || r->n_words != 2 || r->after_assign)
		return COMMAND_SEQUENCE;
	r->at += 2;
	r->after_cd = true;
	r->is_cd = false;
	r->n_words = 0;
	return COMMAND_SIMPLE;
}

enum command_shape command_shape(const char *line, size_t len)
{
	struct command_reader r = {.at = line, .end = line + len};
	while (r.at < r.end) {
		enum command_shape shape = COMMAND_SIMPLE;
		if (is_blank(*r.at)) {
			r.at++;
			continue;
		}
		if (*r.at == '&') {
			shape = take_ampersand(&r);
		} else {
			shape = read_word(&r);
			if (shape == COMMAND_SIMPLE)
				shape = take_word(&r);
		}
		if (shape != COMMAND_SIMPLE)
			return shape;
	}
	if (r.n_words == 0)
		return r.after_cd ? COMMAND_UNFINISHED : COMMAND_EMPTY;
	/* Only one leading change of directory is allowed. */
	return r.after_cd && r.is_cd ? COMMAND_SEQUENCE : COMMAND_SIMPLE;
}

const char *command_shape_name(enum command_shape shape)
{
	static const char *const names[N_COMMAND_SHAPES] = {
		[COMMAND_SIMPLE] = "simple",
		[COMMAND_EMPTY] = "empty",
		[COMMAND_PIPE] = "pipe",
		[COMMAND_REDIRECT] = "redirection",
		[COMMAND_SEQUENCE] = "several commands",
		[COMMAND_BACKGROUND] = "background",
		[COMMAND_SUBSTITUTION] = "substitution",
		[COMMAND_NEWLINE] = "several lines",
		[COMMAND_GROUP] = "group",
		[COMMAND_KEYWORD] = "keyword",
		[COMMAND_COMMENT] = "comment",
		[COMMAND_CONTROL] = "control character",
		[COMMAND_UNFINISHED] = "unfinished",
		[COMMAND_NESTED] = "command in a command",
	};
	return names[shape];
}
