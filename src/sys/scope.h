/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A control group from the user's systemd, for those who have none of their own.
 *
 * Who comes by ssh or a console is in a session's group, which is root's. Groups of the user are below user@UID.service, and only
 * systemd may move a process from the one to the other. So it is asked, over the user's bus, for a transient scope with a process of
 * ours in it: the keeper, which does nothing. The scope is delegated to the user and lasts as long as the keeper:
 *
 *   airlock-NAME.scope/     memory and pids are passed on
 *       keep/               the keeper
 *       box/                whoever is attached; limits are set here
 *
 *   struct sys_scope s;
 *   if (sys_scope_open("20261116-160604", &s) == 0) {
 *           …write s.box/memory.max…
 *           sys_scope_attach(&s, pid);
 *           sys_scope_close(&s);
 *   }
 *
 * The bus is spoken to by busctl(1), by absolute path and with an empty environment: each call costs a process, and only runs with a
 * memory limit make one.
 */
#pragma once

#include "sys/probe.h"

#include <sys/types.h>

struct sys_scope {
	char name[96];
	char dir[PATH_MAX], box[PATH_MAX];
	char address[96]; /* of the bus */
	int keeper_fd;	  /* the keeper ends when this is closed */
	pid_t keeper;
	int keeper_pidfd, keeper_report;
};

/* 0 or -errno; -ENOENT: this user has no systemd here. name: letters, digits, `-` and `.`, unique. */
int sys_scope_open(const char *name, struct sys_scope *ret);
int sys_scope_attach(const struct sys_scope *s, pid_t pid); /* into box; 0 or -errno */
void sys_scope_close(struct sys_scope *s);
