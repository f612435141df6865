/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Projects: their links that lead out, and which directories are nobody's project.
 *
 *   struct airlock_links *links = NULL;
 *   if (airlock_project_links(s, NULL, NULL, NULL, &links, &err) < 0)
 *           return err.code;
 *   for (size_t i = 0; i < airlock_links_count(links); i++)
 *           if (airlock_links_at(links, i)->state == AIRLOCK_LINK_UNANSWERED)
 *                   puts(airlock_links_at(links, i)->target);
 *   airlock_links_free(links);
 *
 *   enum airlock_unclaimed why = AIRLOCK_CLAIMABLE;
 *   if (airlock_project_unclaimed(s, dir, &why, &err) < 0)
 *           return err.code;
 *   if (why != AIRLOCK_CLAIMABLE)
 *           printf("%s is %s\n", dir, airlock_unclaimed_words(why));
 */
#ifndef AIRLOCK_PROJECT_H
#define AIRLOCK_PROJECT_H

#include <stddef.h>

#include <airlock/airlock.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* ── The project of a directory ── */

/* The project that a command started in `dir` would have: dir, or the nearest directory above it that is marked as one. A
 * relative dir starts at the current directory. AIRLOCK_ERR_INVALID: dir is nobody's project. The path is real, and the
 * caller's: airlock_free. */
int airlock_project_find(const struct airlock_settings *s, const char *dir, char **ret_dir, struct airlock_error *err);
/* ── Links that lead out ── */

/* A symlink in a project that leads to a directory outside makes that directory writable only when a person has said yes to
 * that link and that target. */
enum airlock_link_state {
	AIRLOCK_LINK_UNANSWERED, /* nobody has said anything: the target is read-only, or hidden where the profile hides it */
	AIRLOCK_LINK_ALLOWED, /* a person said yes: the target is one of the project's roots */
	AIRLOCK_LINK_DENIED,  /* a person said no: as unanswered, and not asked again */
	AIRLOCK_LINK_REFUSED, /* no answer can make the target writable; see the reason */
};
const char *airlock_link_state_name(enum airlock_link_state state); /* "unanswered", "allowed", "denied", "refused" */

enum airlock_link_reason {
	AIRLOCK_LINK_NO_REASON,	    /* it is not refused */
	AIRLOCK_LINK_HOME,	    /* leads to $HOME or to what contains it */
	AIRLOCK_LINK_ABOVE_PROJECT, /* the project lies in the target */
	AIRLOCK_LINK_SECRET,	    /* the target is hidden from commands, or lies in something hidden */
	AIRLOCK_LINK_ABOVE_SECRET,  /* something hidden lies in the target */
	AIRLOCK_LINK_OUTSIDE_HOME,
	AIRLOCK_LINK_WITHOUT_HOME, /* outside the project, and there is no home directory to stay in */
};

struct airlock_link {
	const char *path;   /* of the link: relative to the project, or absolute when it lies in another root; bytes */
	const char *target; /* real path of the directory it leads to */
	const char *before; /* what it led to when a person allowed it, if that was another directory; or NULL */
	enum airlock_link_state state;
	enum airlock_link_reason reason;
	const char *because; /* the reason in words, safe to print; "" when it is not refused */
};

/* The links of one project; what it hands out lives as long as it does. */
struct airlock_links;
size_t airlock_links_count(const struct airlock_links *l);
const struct airlock_link *airlock_links_at(const struct airlock_links *l, size_t i); /* NULL: no such */
const char *airlock_links_project(const struct airlock_links *l);
size_t airlock_links_note_count(const struct airlock_links *l); /* what could not be searched */
const struct airlock_note *airlock_links_note(const struct airlock_links *l, size_t i);
/* The JSON that `airlock project links --json` prints, with a newline at its end; "" when memory is short. */
const char *airlock_links_json(struct airlock_links *l);
void airlock_links_free(struct airlock_links *l);

/* Searches the project for links that lead out. dir: NULL is the project found from here. progress may be NULL; otherwise it
 * is called now and then with the number of entries seen. */
int airlock_project_links(const struct airlock_settings *s, const char *dir, void (*progress)(size_t seen, void *data),
			  void *data, struct airlock_links **ret, struct airlock_error *err);
/* A person's yes, or no, to these links and what they lead to now, remembered with the project; paths are relative to the
 * current directory or to the project. All or none. ret: the links that were answered.
 * AIRLOCK_ERR_NOT_FOUND: no such link, or it leads nowhere; AIRLOCK_ERR_INVALID: no symlink, or it does not lead out to a
 * directory; AIRLOCK_ERR_BLOCKED: no answer can make its target writable. To say no, the link need not be there any more. */
int airlock_project_link(const struct airlock_settings *s, const char *dir, const char *const *paths,
			 struct airlock_links **ret, struct airlock_error *err);
int airlock_project_unlink(const struct airlock_settings *s, const char *dir, const char *const *paths,
			   struct airlock_links **ret, struct airlock_error *err);

/* ── Directories that are nobody's project ── */

/* Why airlock does not take a directory as the project by itself. A person who names it (-p, `airlock project add`) gets it. */
enum airlock_unclaimed {
	AIRLOCK_CLAIMABLE,		  /* nothing stands against it */
	AIRLOCK_UNCLAIMED_ROOT,		  /* / */
	AIRLOCK_UNCLAIMED_HOME,		  /* $HOME */
	AIRLOCK_UNCLAIMED_ABOVE_HOME,	  /* contains $HOME */
	AIRLOCK_UNCLAIMED_DOT_DIRECTORY,  /* ~/.x and everything below */
	AIRLOCK_UNCLAIMED_AGENT_SETTINGS, /* .claude, .codex, … anywhere, but not their worktrees */
	AIRLOCK_UNCLAIMED_TEMPORARY,	  /* /tmp, /var/tmp, /dev/shm */
	/* Below one of these, and not in $HOME. `airlock run` takes such a directory: people try things there. */
	AIRLOCK_UNCLAIMED_IN_TEMPORARY,
};

/* dir must exist. A directory that a person made a project with `airlock project add` is claimable. */
int airlock_project_unclaimed(const struct airlock_settings *s, const char *dir, enum airlock_unclaimed *ret,
			      struct airlock_error *err);
/* The words that follow "DIR is ", for example "the home directory". */
const char *airlock_unclaimed_words(enum airlock_unclaimed reason);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
