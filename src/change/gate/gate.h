/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of the gate share: the tree as it was and as it will be, and one function per kind of file.
 *
 * A judge returns the reason to hold, which lives as long as the gate, or NULL: apply. What cannot be read or understood is
 * held. Nothing here changes anything.
 */
#pragma once

#include "change/image.h"
#include "change/change.h"
#include "change/gate/gate_find.h"
#include "change/gate/gate_moved.h"
#include "change/gate/sensitive.h"
#include "change/reason.h"

#define GATE_MAX_CONTENT ((size_t)4 << 20) /* a file longer than this is not understood */

#define GATE_WORD "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-" /* bytes of a plain word */

struct gate_root {
	int live, layer; /* O_PATH, -EBADF when it is not there */
	bool in_git;	 /* it is called .git, or lies in such a directory, like the repository of a submodule */
	bool in_place;	 /* the layer is the live tree itself: no directory of it is opened up */

	/* Where it lies: gate_find.c. */
	struct gate_above *above; /* rows of sensitive_names that begin above it */
	size_t n_above;
	char *home;	     /* the home as a path below it, "" when it is the home; NULL: the home is not in it */
	bool is_in_home;     /* the home is the directory it lies in */
	bool is_dot_in_home; /* its own name begins with a dot, and it lies somewhere in the home */
};

/* A live path through which a sensitive name leads: the target of a symlink, or the directory of core.hooksPath. */
struct gate_alias {
	size_t root;
	char *path;	  /* relative; "" is the root itself */
	const char *rest; /* what a path below it must match; NULL: only the path itself; borrowed from rule */
	const struct sensitive_rule *rule;
	int64_t since_ns; /* ctime of what leads to it; 0: not known, or the change set is about that */
};

/* Whether git would take a directory for a repository. */
struct gate_shape {
	bool known, before, after;
	size_t root;
	struct buf dir;
};

/* What was said of the directory that was asked about last: gate_top.c. */
struct gate_top {
	size_t root;
	char *dir; /* NULL: none yet */
	const struct airlock_reason *reason;
};

struct gate_kept {
	struct gate_kept *next;
	struct airlock_reason reason;
};

/* The data files, not programs, that the index of a live repository names. */
struct gate_tracked {
	bool known, is_readable;
	size_t root;
	struct buf dir; /* of the repository: "" or ends in a slash */
	struct strs data;
};

struct gate {
	struct change_set *set;
	struct gate_root *roots;
	struct moved moved;
	const char *home; /* borrowed; its real path, NULL: not known */
	struct gate_alias *aliases;
	size_t n_aliases;
	struct gate_rows names, harmless; /* sensitive_names and sensitive_harmless */
	unsigned int compared;		  /* what it has cost to find out where changes were copied from */
	struct gate_shape shape;	  /* of the directory asked about last: changes come sorted */
	struct gate_tracked tracked;
	struct gate_top top;
	const bool *selected;	   /* those that are to be applied; NULL: all */
	bool is_undo;		   /* what will be is in before-images, not in the layer */
	int before_fd;		   /* of the before-images, borrowed */
	struct change_image image; /* the one that was opened last */
	struct gate_repo **repos;  /* those looked into so far: gate_repo.h */
	size_t n_repos;
	const struct gate_content *content; /* of the change being judged, when it is one of a commit */
	struct strs tops;	/* work trees that a relative setting may be meant in: roots, above them, and in them */
	size_t first_below;	/* in tops: those in roots */
	int n_settings;		/* files of git's settings that were read */
	int64_t link_ns;	/* the same of the link that was read last */
	int64_t source_ns;	/* ctime of the file or link that is being followed; see struct gate_alias */
	struct gate_kept *kept; /* reasons that are made up of parts */
	bool failed;		/* out of memory */
};

/* Where the content of a change is that is in no tree but in a commit. Both replace what is in ret. */
struct gate_content {
	const struct change *change;
	void *context;
	int (*before)(void *context, struct buf *ret);
	int (*after)(void *context, struct buf *ret);
};

/* home: the real path of the home directory, NULL: not known. */
int gate_open(struct gate *g, struct change_set *set, const char *home, struct airlock_error *err);
void gate_close(struct gate *g);

/* True when c is still to be applied: only then it counts for what will be. */
bool gate_is_open(const struct gate *g, const struct change *c);
/* Why a change is to be held, by itself; NULL: it is not. */
const struct airlock_reason *gate_reason(struct gate *g, const struct gate_rules *rules, const struct change *c);
/* Holds c for this reason. 0 or -ENOMEM. */
int gate_hold(struct change *c, const struct airlock_reason *reason);
/* Copies a reason that is made up of parts, for as long as the gate lives. Never NULL: without memory the gate has failed. */
const struct airlock_reason *gate_keep_reason(struct gate *g, const struct airlock_reason *reason);

/* ── The two trees: gate_tree.c ── */

enum change_type gate_type_before(struct gate *g, size_t root, const char *path);
enum change_type gate_type_after(struct gate *g, size_t root, const char *path);

/* Both replace what is in ret. 0, -ENOENT when there is no regular file, -EFBIG, or another -errno. */
int gate_read_before(struct gate *g, size_t root, const char *path, struct buf *ret);
int gate_read_after(struct gate *g, const struct change *c, struct buf *ret);
/* The directory that holds what the run made of a path, and its name there. */
int gate_open_parent_after(struct gate *g, const struct change *c, const char **ret_name);
/* The target of the symlink c is. */
int gate_read_link(struct gate *g, const struct change *c, struct buf *ret);

/* Where target leads, seen from the directory dir ("" is the root) below a root: the root there and the path below it.
 * False when that is outside of all roots or depends on a symlink before "..". */
bool gate_resolve(struct gate *g, size_t root, const char *dir, const char *target, size_t *ret_root, char **ret_path);
/* True when a component of path, the last included, is a symlink after the run. */
bool gate_has_symlink(struct gate *g, size_t root, const char *path);
/* Like fs_stat_beneath in the live tree: 0 or -errno. */
int gate_stat_before(struct gate *g, size_t root, const char *path, struct stat *ret);

/* ── Judges: gate_git.c, gate_settings.c, gate_lines.c, gate_index.c, gate_package.c, gate_python.c, gate_link.c ── */

/* True when git would take the directory, the first n bytes of path, for its own by what is in it, before or after. */
bool gate_has_git_shape(struct gate *g, size_t root, const char *path, size_t n);
/* True when a component of an absolute path is .git. */
bool gate_is_in_git(const char *path);
/* True when the root itself is a git directory, or lies in one. */
bool gate_is_repository(struct gate *g, size_t root);

/* folded is the path of c as gate_fold gives it. */
const struct airlock_reason *gate_judge_git(struct gate *g, const struct change *c, const char *folded);
const struct airlock_reason *gate_judge_link(struct gate *g, const struct change *c, const char *folded);
const struct airlock_reason *gate_judge_alias(struct gate *g, const struct change *c, const char *folded);
/* Held when it makes a directory, with what already lies there, the top of a repository: gate_top.c. */
const struct airlock_reason *gate_judge_top(struct gate *g, const struct change *c, const char *folded);
/* As rule says; for all but SENSITIVE_NEVER. */
const struct airlock_reason *gate_judge_rule(struct gate *g, const struct change *c, const struct sensitive_rule *rule);

/* Judges the content, for a rule that needs it. */
typedef const struct airlock_reason *gate_judge_content(struct gate *g, const struct change *c,
							const struct sensitive_rule *rule);
gate_judge_content gate_judge_config, gate_judge_modules;
gate_judge_content gate_judge_attributes, gate_judge_todo, gate_judge_word, gate_judge_words, gate_judge_version,
	gate_judge_variables;
gate_judge_content gate_judge_index, gate_judge_pointer, gate_judge_package;
gate_judge_content gate_judge_python_start, gate_judge_python_env, gate_judge_python_bin;
/* True when path lies in a virtual environment of Python: one the run has made, or one that was there before. */
bool gate_is_in_venv(struct gate *g, size_t root, const char *path);
/* A search path of Python: held for new lines that are code or lead out of the roots. */
gate_judge_content gate_judge_search_path;

/* Remembers in c, a change of an index, what is staged in it before and after. */
void gate_mark_index(struct gate *g, struct change *c);

/* True when git knows what was at the path of c before the run as a file that is no program. */
bool gate_is_tracked_data(struct gate *g, const struct change *c);

/* The first sensitive setting of a git configuration in dir, whatever was there before. */
const struct airlock_reason *gate_config_reason(struct gate *g, size_t root, const char *dir, const struct buf *text);

/* What c is now, and what was at its path; "before" is empty when there was nothing. Returns the reason to hold it unread,
 * or NULL. */
const struct airlock_reason *gate_read_both(struct gate *g, const struct change *c, struct buf *before,
					    struct buf *after);

/* ── Names: gate_find.c ── */

/* The row of sensitive_names that counts for a path, and where in the path its pattern begins. */
struct gate_name {
	const struct sensitive_rule *rule; /* NULL: none, and the rest is NULL, too */
	const char *raw, *at;		   /* in the path and in the folded one */
};
/* on_the_way: also one whose pattern goes through path. */
struct gate_name gate_find_name(struct gate *g, size_t root, const char *path, const char *folded, bool on_the_way);
/* The rule that counts for c because of where its root lies; NULL: none. */
const struct sensitive_rule *gate_find_by_place(struct gate *g, const struct change *c, const char *folded);
/* True for a dot-entry, or something in one, that no table knows. */
bool gate_is_unknown(struct gate *g, const struct change *c, const char *folded);
int gate_find_above(struct gate *g, size_t root, const char *home); /* for gate_open; 0 or -ENOMEM */

/* True when c, held by its name, has the content of a live file that programs obeyed in the same way: gate_same.c. */
bool gate_was_obeyed(struct gate *g, const struct change *c, const struct gate_name *name);

/* Takes path: a live name, or with rest what is below it, that is as sensitive as the rule says. */
void gate_add_alias(struct gate *g, size_t root, char *path, const char *rest, const struct sensitive_rule *rule);
/* True for the path that a leads to; _covers: also for a symlink in the way of it. */
bool gate_alias_leads_to(const struct gate_alias *a, const char *path);
bool gate_alias_covers(const struct gate_alias *a, const struct change *c);
void gate_forget_aliases(struct gate *g, size_t keep); /* all but the first */
extern const struct sensitive_rule gate_hook_rule;
/* The same for an absolute path, if it leads into a root; and for everything that live symlinks on its way lead to. */
void gate_lead_to(struct gate *g, const char *full, const char *rest, const struct sensitive_rule *rule);
void gate_lead_in_root(struct gate *g, size_t root, const char *path, const char *rest,
		       const struct sensitive_rule *rule);
/* What the person's own git configuration leads to; home (a real path) and environ ("NAME=value") may be NULL. gate_live.c. */
void gate_follow_settings(struct gate *g, const char *home, const struct strs *variables);
/* What a configuration with this text in dir leads to; top: of its work tree. After gate_follow_settings. */
void gate_follow_text(struct gate *g, const char *home, const char *top, const char *dir, const struct buf *text);
/* What the text of an .envrc in dir leads to; the text is taken apart. gate_envrc.c. */
void gate_follow_envrc(struct gate *g, const char *dir, struct buf *text);

/* ── Around the roots: gate_above.c ── */

/* One thing found in a directory above a root. */
struct gate_above_place {
	const char *dir;     /* the directory */
	const char *git_dir; /* of the repository whose work tree it is; or NULL */
	const char *envrc;   /* its .envrc; or NULL */
};
void gate_above_each(struct gate *g, void (*tell)(void *context, const struct gate_above_place *place), void *context);
void gate_above_list_hooks(const char *hooks, void (*tell)(void *context, const char *path), void *context);
int gate_find_tops(struct gate *g); /* fills g->tops; 0 or -ENOMEM */
/* What links in the home directory lead to; home, a real path, may be NULL. gate_home.c. */
void gate_follow_home(struct gate *g, const char *home);
/* The first change that makes a directory with commands in it a repository; NULL: none. */
const struct change *gate_find_awakened(struct gate *g, const struct airlock_reason **ret_reason);

/* The live names that lead elsewhere; after gate_open. */
void gate_find_aliases(struct gate *g);
