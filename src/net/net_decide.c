/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "net/net_decide.h"

#include "base/array.h"

#include <string.h>

const char *net_mode_name(enum net_mode mode)
{
	static const char *const names[] = {
		[NET_OFF] = "off", [NET_HOSTS] = "hosts", [NET_OPEN] = "open", [NET_HOST] = "host"};
	return names[mode];
}

int net_rules_add(struct net_rules *rules, const struct host_rule *rule)
{
	if (!ARRAY_ROOM(rules->v, rules->n, rules->cap, 8))
		return -ENOMEM;
	rules->v[rules->n++] = *rule;
	return 0;
}

void net_rules_done(struct net_rules *rules)
{
	for (size_t i = 0; i < rules->n_answers; i++)
		base_freep(&rules->answers[i].host);
	base_freep(&rules->answers);
	base_freep(&rules->v);
	*rules = (struct net_rules){0};
}

void net_target_host(const struct net_target *t, struct buf *out)
{
	if (t->name)
		buf_adds(out, t->name);
	else
		net_address_add(out, &t->address);
}

/* A name that is written as an address ("0x7f.1") is that address, whoever looks it up. */
static struct net_target plain_target(const struct net_target *t)
{
	struct net_target plain = *t;
	if (t->name && net_address_parse_numeric(t->name, &plain.address)) {
		plain.name = NULL;
		plain.address = net_address_unmap(plain.address);
	}
	return plain;
}

static enum net_by by_of(const struct airlock_origin *origin)
{
	return origin->kind == AIRLOCK_ORIGIN_FILE ? NET_BY_RULE : NET_BY_OPTION;
}

static const struct host_rule *find_rule(const struct net_rules *rules, const struct net_target *t,
					 enum host_rule_verdict verdict)
{
	for (size_t i = 0; i < rules->n; i++)
		if (rules->v[i].verdict == verdict && host_rule_matches(&rules->v[i], t->name, &t->address, t->port))
			return &rules->v[i];
	return NULL;
}

static struct net_answer *find_answer(const struct net_rules *rules, const struct net_target *t)
{
	_cleanup_buf_ struct buf host = BUF_INIT;
	net_target_host(t, &host);
	for (size_t i = 0; i < rules->n_answers; i++)
		if (rules->answers[i].port == t->port && strcmp(rules->answers[i].host, buf_str(&host)) == 0)
			return &rules->answers[i];
	return NULL;
}

struct net_decision net_decide(const struct net_rules *rules, const struct net_target *target)
{
	const struct net_target t = plain_target(target);
	const struct host_rule *rule = find_rule(rules, &t, HOST_RULE_DENY);
	if (rule)
		return (struct net_decision){NET_DENY, by_of(&rule->origin), rule->origin};
	if (rules->mode != NET_HOSTS && rules->mode != NET_OPEN)
		return (struct net_decision){NET_DENY, NET_BY_NOBODY, rules->mode_origin};
	rule = find_rule(rules, &t, HOST_RULE_ALLOW);
	if (rule)
		return (struct net_decision){NET_ALLOW, by_of(&rule->origin), rule->origin};
	if (rules->mode == NET_OPEN)
		return (struct net_decision){NET_ALLOW, by_of(&rules->mode_origin), rules->mode_origin};
	const struct net_answer *answer = find_answer(rules, &t);
	if (answer)
		return (struct net_decision){answer->allowed ? NET_ALLOW : NET_DENY, answer->by, {0}};
	return (struct net_decision){rules->ask ? NET_ASK : NET_DENY, NET_BY_NOBODY, {0}};
}

bool net_denies_name(const struct net_rules *rules, const char *name)
{
	for (size_t i = 0; i < rules->n; i++)
		if (rules->v[i].verdict == HOST_RULE_DENY && rules->v[i].port == 0 &&
		    host_rule_matches(&rules->v[i], name, NULL, 0))
			return true;
	return false;
}

bool net_allows_name(const struct net_rules *rules, const char *name)
{
	if (net_denies_name(rules, name) || (rules->mode != NET_HOSTS && rules->mode != NET_OPEN))
		return false;
	for (size_t i = 0; i < rules->n; i++)
		if (rules->v[i].verdict == HOST_RULE_ALLOW &&
		    host_rule_matches(&rules->v[i], name, NULL, rules->v[i].port))
			return true;
	for (size_t i = 0; i < rules->n_answers; i++)
		if (rules->answers[i].allowed && strcmp(rules->answers[i].host, name) == 0)
			return true;
	return rules->mode == NET_OPEN;
}

int net_rules_answer(struct net_rules *rules, const struct net_target *target, bool allowed, enum net_by by)
{
	const struct net_target t = plain_target(target);
	struct net_answer *known = find_answer(rules, &t);
	if (known) {
		known->allowed = allowed;
		known->by = by;
		return 0;
	}
	struct buf host = BUF_INIT;
	net_target_host(&t, &host);
	char *text = buf_take(&host);
	if (!text || rules->n_answers >= NET_MAX_ANSWERS ||
	    !ARRAY_ROOM(rules->answers, rules->n_answers, rules->cap_answers, 8)) {
		free(text);
		return -ENOMEM;
	}
	rules->answers[rules->n_answers++] = (struct net_answer){text, t.port, allowed, by};
	return 0;
}

enum guard_verdict net_guard(const struct net_rules *rules, const struct net_target *target,
			     const struct net_address *address, const struct net_address *own, size_t n_own)
{
	const struct net_target t = {.name = plain_target(target).name, .address = *address, .port = target->port};
	return find_rule(rules, &t, HOST_RULE_PRIVATE) ? GUARD_PUBLIC : guard_judge(address, own, n_own);
}

void net_by_add(struct buf *out, enum net_by by, const struct airlock_origin *origin)
{
	static const char *const names[] = {[NET_BY_OPTION] = "option",
					    [NET_BY_PERSON] = "person",
					    [NET_BY_NOBODY] = "nobody",
					    [NET_BY_GUARD] = "guard"};
	if (by != NET_BY_RULE) {
		buf_adds(out, names[by]);
		return;
	}
	buf_adds(out, "rule ");
	rule_origin_add(out, origin);
}
