/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "net/host_rule.h"

#include <string.h>

#define PORT_MAX 65535

/* Digits only: no sign, no space, no leading zero. */
static bool parse_number(const char *text, unsigned long max, unsigned *ret)
{
	unsigned long n = 0;
	if (!*text || strlen(text) > 6 || (text[0] == '0' && text[1]))
		return false;
	for (const char *p = text; *p; p++) {
		if (*p < '0' || *p > '9')
			return false;
		n = n * 10 + (unsigned long)(*p - '0');
	}
	*ret = (unsigned)n;
	return n <= max;
}

/* Cuts the port off: [HOST]:PORT, HOST:PORT; a bare IPv6 address has none. */
static enum host_rule_fault take_port(char *text, char **ret_host, unsigned *ret_port)
{
	char *host = text, *colon = strrchr(text, ':'), *port = NULL;
	if (text[0] == '[') {
		char *end = strchr(text, ']');
		if (!end || (end[1] && end[1] != ':'))
			return HOST_RULE_BAD_NAME;
		port = end[1] ? end + 2 : NULL;
		*end = '\0';
		host = text + 1;
	} else if (colon && strchr(text, ':') == colon) {
		*colon = '\0';
		port = colon + 1;
	}
	*ret_host = host;
	if (port && (!parse_number(port, PORT_MAX, ret_port) || *ret_port == 0))
		return HOST_RULE_BAD_PORT;
	return HOST_RULE_FINE;
}

static enum host_rule_fault parse_network(char *host, char *slash, struct host_rule *r)
{
	*slash = '\0';
	if (!net_address_parse(host, &r->address))
		return HOST_RULE_URL;
	if (!parse_number(slash + 1, r->address.family == 4 ? 32 : 128, &r->prefix))
		return HOST_RULE_BAD_NAME;
	return HOST_RULE_FINE;
}

static void set_address(struct host_rule *r, struct net_address a)
{
	r->kind = HOST_RULE_ADDRESS;
	r->address = net_address_unmap(a);
	r->prefix = r->address.family == 4 ? 32 : 128;
}

static enum host_rule_fault parse_name(const char *host, struct host_rule *r)
{
	_cleanup_buf_ struct buf name = BUF_INIT;
	r->kind = HOST_RULE_NAME;
	if (strncmp(host, "*.", 2) == 0) {
		r->kind = HOST_RULE_BELOW;
		host += 2;
	}
	if (strchr(host, '*'))
		return HOST_RULE_BAD_STAR;
	if (!*host)
		return r->kind == HOST_RULE_BELOW ? HOST_RULE_BAD_STAR : HOST_RULE_EMPTY;
	if (!host_name_normalize(host, strlen(host), &name))
		return HOST_RULE_BAD_NAME;
	memcpy(r->name, name.data, name.len + 1);
	struct net_address a;
	if (!net_address_parse_numeric(r->name, &a))
		return HOST_RULE_FINE;
	if (r->kind == HOST_RULE_BELOW)
		return HOST_RULE_BAD_NAME;
	set_address(r, a); /* "10.1." is an address only without the dot at its end */
	return HOST_RULE_FINE;
}

enum host_rule_fault host_rule_parse(const char *text, enum host_rule_verdict verdict, struct host_rule *ret)
{
	struct host_rule r = {.verdict = verdict};
	char copy[1200], *host = copy;
	size_t len = strlen(text);
	if (len == 0)
		return HOST_RULE_EMPTY;
	if (strstr(text, "://"))
		return HOST_RULE_URL;
	if (len >= sizeof copy)
		return HOST_RULE_BAD_NAME;
	memcpy(copy, text, len + 1);
	enum host_rule_fault fault = take_port(copy, &host, &r.port);
	char *slash = strchr(host, '/');
	if (fault != HOST_RULE_FINE)
		return strchr(text, '/') ? HOST_RULE_URL : fault;
	if (slash) {
		fault = parse_network(host, slash, &r);
		if (fault == HOST_RULE_FINE && verdict == HOST_RULE_ALLOW)
			fault = HOST_RULE_NETWORK;
		r.kind = HOST_RULE_ADDRESS;
	} else if (net_address_parse_numeric(host, &r.address)) {
		set_address(&r, r.address);
	} else if (copy[0] == '[') { /* brackets are for IPv6 addresses */
		fault = HOST_RULE_BAD_NAME;
	} else {
		fault = parse_name(host, &r);
	}
	if (fault == HOST_RULE_FINE)
		*ret = r;
	return fault;
}

const char *host_rule_fault_text(enum host_rule_fault fault)
{
	static const char *const texts[] = {
		[HOST_RULE_FINE] = "",
		[HOST_RULE_EMPTY] = "it is empty",
		[HOST_RULE_URL] = "a rule is HOST or HOST:PORT, not a URL",
		[HOST_RULE_BAD_NAME] = "this is not the name or address of a host",
		[HOST_RULE_BAD_STAR] = "a star can only stand at the beginning, as in *.example.org",
		[HOST_RULE_BAD_PORT] = "a port is a number from 1 to 65535",
		[HOST_RULE_NETWORK] = "a network of addresses can only be denied, or named in allow_private",
	};
	return texts[fault];
}

void host_rule_add(struct buf *out, const struct host_rule *rule)
{
	bool is_v6 = rule->kind == HOST_RULE_ADDRESS && rule->address.family == 6;
	if (rule->kind == HOST_RULE_ADDRESS) {
		buf_adds(out, is_v6 && rule->port ? "[" : "");
		net_address_add(out, &rule->address);
		if (rule->prefix != (is_v6 ? 128u : 32u))
			buf_printf(out, "/%u", rule->prefix);
		buf_adds(out, is_v6 && rule->port ? "]" : "");
	} else {
		buf_adds(out, rule->kind == HOST_RULE_BELOW ? "*." : "");
		host_name_add_shown(out, rule->name);
	}
	if (rule->port)
		buf_printf(out, ":%u", rule->port);
}

/* True for "a.x" and "a.b.x" below "x", not for "x" or "ax". */
static bool is_below(const char *name, const char *above)
{
	size_t n = strlen(name), m = strlen(above);
	return n > m + 1 && name[n - m - 1] == '.' && memcmp(name + n - m, above, m) == 0;
}

bool host_rule_matches(const struct host_rule *rule, const char *name, const struct net_address *address, unsigned port)
{
	if (rule->port && rule->port != port)
		return false;
	switch (rule->kind) {
	case HOST_RULE_NAME:
		return name && strcmp(name, rule->name) == 0;
	case HOST_RULE_BELOW:
		return name && is_below(name, rule->name);
	case HOST_RULE_ADDRESS:
		return address && address->family && net_address_is_within(address, &rule->address, rule->prefix);
	}
	return false;
}

bool host_rule_covers(const struct host_rule *outer, const struct host_rule *inner)
{
	if (outer->port && outer->port != inner->port)
		return false;
	if (inner->kind == HOST_RULE_ADDRESS)
		return outer->kind == HOST_RULE_ADDRESS && outer->prefix <= inner->prefix &&
		       net_address_is_within(&inner->address, &outer->address, outer->prefix);
	if (outer->kind == HOST_RULE_NAME)
		return inner->kind == HOST_RULE_NAME && strcmp(outer->name, inner->name) == 0;
	if (outer->kind != HOST_RULE_BELOW)
		return false;
	return is_below(inner->name, outer->name) ||
	       (inner->kind == HOST_RULE_BELOW && strcmp(outer->name, inner->name) == 0);
}
