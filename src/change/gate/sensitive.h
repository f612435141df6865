/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is sensitive, as data: names and settings through which a file that a command wrote runs, or leads programs
 * astray, once it lies in the live tree. gate.c reads these tables; each ends with an empty row.
 *
 * A pattern is components with '/' between them. "*", once in a component, stands for any bytes of it, "**" as the last one
 * for one or more components. Names are compared folded (gate_name.c); patterns are plain ASCII in their usual spelling.
 */
#pragma once

#include <airlock/changes.h>

#include <stdbool.h>
#include <stdint.h>

enum sensitive_how {
	SENSITIVE_ALWAYS,     /* whatever is in it */
	SENSITIVE_NEVER,      /* an exception; the rows after it do not count */
	SENSITIVE_CONTAINER,  /* only in sensitive_harmless */
	SENSITIVE_GIT_CONFIG, /* when a setting of sensitive_git_keys is new or another */
	SENSITIVE_GIT_MODULES,
	SENSITIVE_GIT_ATTRIBUTES, /* when it gives files a filter, diff or merge driver */
	SENSITIVE_GIT_TODO,	  /* when a line of it is a command */
	SENSITIVE_GIT_WORD,	  /* when it is more than a plain word */
	SENSITIVE_GIT_INDEX,	  /* when a path in it leads into a git directory */
	SENSITIVE_GIT_POINTER,	  /* ".git" as a file, "commondir", "gitdir": when it leads elsewhere */
	SENSITIVE_PACKAGE_JSON,	  /* when its scripts changed */
	SENSITIVE_PYTHON_START,	  /* unless it lies in a virtual environment that the run has made */
	SENSITIVE_PYTHON_ENV,	  /* when it makes an old directory a virtual environment */
	SENSITIVE_PYTHON_BIN, /* when it lies in a virtual environment that was there before, or is its interpreter */
	SENSITIVE_WORDS,      /* when a new line of it has one of the rule's words */
	SENSITIVE_VERSION,    /* when it is more than names and numbers of versions */
	SENSITIVE_VARIABLES,  /* when a shell that reads it would do more than set ordinary variables */
};

/* Where a pattern counts. The place is the directory that its first component lies in. */
enum sensitive_where {
	SENSITIVE_ANYWHERE,
	SENSITIVE_AT_TOP,      /* the top of a repository or of a root: there a forge looks for it */
	SENSITIVE_IN_HOME,     /* the home directory itself */
	SENSITIVE_NOT_IN_HOME, /* any other directory */
};

struct sensitive_rule {
	const char *pattern;
	enum sensitive_how how;
	struct airlock_reason reason; /* its code, what and program */
	bool not_in_dependencies;     /* means nothing in the code of others: sensitive_dependencies */
	enum sensitive_where where;
	/* Which of the files in its directory a program obeys depends on the end of the name only ("*.yml"), so that one
	 * that is renamed or copied there does not become something else. */
	bool any_name;
	const char *words; /* SENSITIVE_WORDS: in lower case, '|' between them */
};

/* Names that some program obeys, each with that program: sensitive_names.c. Of those that match from the same component
 * on, the first counts. */
extern const struct sensitive_rule sensitive_names[];

/* Dot-entries that no program outside obeys by itself: sensitive_harmless.c. SENSITIVE_NEVER says it for all that the
 * pattern matches, SENSITIVE_CONTAINER only for the components it names: what lies below is judged for itself. */
extern const struct sensitive_rule sensitive_harmless[];

/* Directories with the code of others, where nobody works: lower case, the last is NULL. */
extern const char *const sensitive_dependencies[];

/* Directories of the home that tools install interpreters in: the last is NULL. */
extern const char *const sensitive_toolchains[];

/* In a git directory, relative to it; the first that matches counts. In a directory called .git everything else is
 * sensitive too; in one that git would only take for a repository by its content, nothing else. */
extern const struct sensitive_rule sensitive_in_git[];

enum sensitive_value {
	SENSITIVE_ANY,
	SENSITIVE_UNLESS_BOOLEAN, /* true and false choose something built in, all else is a command */
	SENSITIVE_UNLESS_WORD,	  /* becomes part of the name of a program */
	SENSITIVE_SHELL,	  /* "!…" is a command, other words are not */
	SENSITIVE_URL,		  /* "ext::…" starts a helper, "-…" is taken for an option */
	SENSITIVE_PLACE,	  /* a directory, seen from the git directory: when it lies outside the roots */
};

/* A setting of git: section.key or section.<anything>.key. */
struct sensitive_key {
	const char *section, *key; /* lower case; key "*": all */
	enum sensitive_value value;
	struct airlock_reason reason;
};
extern const struct sensitive_key sensitive_git_keys[];
/* "section.key" and "section.*": known to be harmless whatever the value is. */
extern const char *const sensitive_harmless_keys[];

/* Drivers of .gitattributes that git has built in. */
extern const char *const sensitive_known_drivers[];

/* Members of package.json whose members are commands, and the scripts that run without being called by name. */
extern const char *const sensitive_package_members[];
extern const char *const sensitive_package_lifecycle[];

/* Characters that file systems ignore in names, by code point. */
struct sensitive_range {
	uint32_t first, last;
};
extern const struct sensitive_range sensitive_ignorable[];
