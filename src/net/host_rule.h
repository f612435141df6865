/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rules about hosts: HOST[:PORT], where HOST is a name, *.NAME (every name below it, not NAME itself), an address, or a
 * network (10.0.0.0/8, only for allow_private). */
#pragma once

#include "base/rule_origin.h"
#include "net/host_name.h"
#include "net/net_address.h"

enum host_rule_kind {
	HOST_RULE_NAME,
	HOST_RULE_BELOW,   /* *.NAME */
	HOST_RULE_ADDRESS, /* prefix says how many bits count */
};

enum host_rule_verdict {
	HOST_RULE_ALLOW,
	HOST_RULE_DENY,
	HOST_RULE_PRIVATE, /* allow_private: the guard lets it pass; allows nothing by itself */
};

struct host_rule {
	enum host_rule_kind kind;
	enum host_rule_verdict verdict;
	char name[HOST_NAME_MAX_BYTES + 1]; /* normalized */
	struct net_address address;
	unsigned prefix;
	unsigned port;		      /* 0: every port */
	struct airlock_origin origin; /* its name is borrowed */
};

enum host_rule_fault {
	HOST_RULE_FINE,
	HOST_RULE_EMPTY,
	HOST_RULE_URL,
	HOST_RULE_BAD_NAME,
	HOST_RULE_BAD_STAR, /* a star anywhere but as *. at the beginning, or alone */
	HOST_RULE_BAD_PORT,
	HOST_RULE_NETWORK, /* a network where only one host may stand */
};

/* Everything but verdict and origin. */
enum host_rule_fault host_rule_parse(const char *text, enum host_rule_verdict verdict, struct host_rule *ret);
const char *host_rule_fault_text(enum host_rule_fault fault); /* "a port is a number from 1 to 65535" */

/* As it could be written; names in their own letters. */
void host_rule_add(struct buf *out, const struct host_rule *rule);

/* name: normalized; NULL: only the address counts. port 0 matches only rules for every port. */
bool host_rule_matches(const struct host_rule *rule, const char *name, const struct net_address *address,
		       unsigned port);
/* True if everything that `inner` allows, `outer` allows too. */
bool host_rule_covers(const struct host_rule *outer, const struct host_rule *inner);
