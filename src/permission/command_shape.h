/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Is a shell command line simple enough that a yes to it may be remembered?
 *
 *   enum command_shape shape = command_shape("cd src && make test", 19);
 *   if (shape != COMMAND_SIMPLE) only once, because command_shape_name(shape)
 *
 * Simple is one program with its words, and nothing that a glance could miss: no second command but a `cd DIR &&` in
 * front, no redirection, nothing whose text is made when it runs. Quotes are understood, so an operator in quotes is a
 * letter like any other. Whatever the reader is not sure about is not simple. Pure.
 */
#pragma once

#include <stddef.h>

enum command_shape {
	COMMAND_SIMPLE,
	COMMAND_EMPTY,	      /* nothing runs */
	COMMAND_PIPE,	      /* a | b */
	COMMAND_REDIRECT,     /* > < >> << */
	COMMAND_SEQUENCE,     /* ; && || beyond a leading cd */
	COMMAND_BACKGROUND,   /* & */
	COMMAND_SUBSTITUTION, /* $(x) `x` $x: its text depends on when it runs */
	COMMAND_NEWLINE,      /* a second line, also after a backslash */
	COMMAND_GROUP,	      /* ( ) { }, functions */
	COMMAND_KEYWORD,      /* if, while, !, … */
	COMMAND_COMMENT,      /* # hides the rest */
	COMMAND_CONTROL,      /* a control character */
	COMMAND_UNFINISHED,   /* a quote or a backslash with nothing after it */
	COMMAND_NESTED,	      /* another command line in an argument: sh -c, eval */
	N_COMMAND_SHAPES
};

enum command_shape command_shape(const char *line, size_t len);
const char *command_shape_name(enum command_shape shape); /* "simple", "pipe", … */
