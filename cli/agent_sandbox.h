/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Some agents put commands into a sandbox of their own. Neither can be made inside the other. Pure: the text of the agent's configuration
 * in, a sentence out.
 *
 *   char *advice = agent_sandbox_advice(agent, path, text);
 *   its own sandbox is on, which does not work together with airlock: set sandbox_mode = "danger-full-access" in /home/me/.codex/config.toml
 */
#pragma once

#include "agents.h"

/* text: NULL if there is no such file. NULL: its sandbox is off, or it has none, or out of memory. The caller frees. */
char *agent_sandbox_advice(const struct agent *a, const char *path, const char *text);

/* The agent in whose sandbox this process is, by the variables that it sets there; NULL: none that we know. */
const char *agent_sandbox_around(void);
