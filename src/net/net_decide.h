/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* May this command connect to that host? Pure: rules and answers in, a decision with its reason out.
 *
 *   struct net_target t = {.name = "example.org", .port = 443};
 *   struct net_decision d = net_decide(&rules, &t);
 *   if (d.verdict == NET_ASK) …ask, net_rules_answer(&rules, &t, allow), decide again…
 *   if (d.verdict == NET_ALLOW) …resolve; then for every address net_guard(&rules, &t, &address, own, n_own)…
 */
#pragma once

#include "net/guard.h"
#include "net/host_rule.h"

enum net_mode {
	NET_OFF,
	NET_HOSTS, /* what rules and answers allow */
	NET_OPEN,  /* every public host, but for what is denied */
	NET_HOST,  /* the machine's own network: no gate, nothing here decides */
};
const char *net_mode_name(enum net_mode mode); /* "hosts" */

enum net_by {
	NET_BY_RULE,   /* a line of a file: decision.rule, or the mode's own line */
	NET_BY_OPTION, /* --allow-host, --network, --network-mode or their variables */
	NET_BY_PERSON, /* an answer */
	NET_BY_NOBODY, /* no rule, and nobody to ask */
	NET_BY_GUARD,  /* the address is not public */
};

/* What was answered about one host and port. */
struct net_answer {
	char *host; /* as net_target_host writes it */
	unsigned port;
	bool allowed;
	enum net_by by; /* NET_BY_PERSON, or NET_BY_NOBODY: it was asked and nobody answered */
};

struct net_rules {
	enum net_mode mode;
	struct airlock_origin mode_origin; /* who set the mode; its name is borrowed */
	bool ask;			   /* what no rule decides is asked; otherwise it is denied */
	struct host_rule *v;
	size_t n, cap;
	struct net_answer *answers;
	size_t n_answers, cap_answers;
};

int net_rules_add(struct net_rules *rules, const struct host_rule *rule); /* copies; -ENOMEM */
void net_rules_done(struct net_rules *rules);

struct net_target {
	const char *name; /* normalized; NULL: the program named an address */
	struct net_address address;
	unsigned port;
};
/* The name, or the address as text. */
void net_target_host(const struct net_target *t, struct buf *out);

enum net_verdict { NET_ALLOW, NET_ASK, NET_DENY };
struct net_decision {
	enum net_verdict verdict;
	enum net_by by;
	struct airlock_origin origin; /* of the rule or mode that decided */
};

struct net_decision net_decide(const struct net_rules *rules, const struct net_target *t);
/* True if no connection to this name can be allowed, whatever its port. */
bool net_denies_name(const struct net_rules *rules, const char *name);
/* True if some connection to this name is allowed without a question. */
bool net_allows_name(const struct net_rules *rules, const char *name);
#define NET_MAX_ANSWERS 4096
/* Keeps an answer; a later one replaces it. -ENOMEM, also when there are too many: then it counts for now only. */
int net_rules_answer(struct net_rules *rules, const struct net_target *t, bool allowed, enum net_by by);
/* Whether the target may be reached at this address. */
enum guard_verdict net_guard(const struct net_rules *rules, const struct net_target *t,
			     const struct net_address *address, const struct net_address *own, size_t n_own);

/* "rule /etc/airlock/config.toml:4", "option", "person", "nobody", "guard". */
void net_by_add(struct buf *out, enum net_by by, const struct airlock_origin *origin);
