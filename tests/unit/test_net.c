/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rules about hosts, decisions, the guard, and messages of the domain name system. */
#include "tests.h"

#include "net/net_decide.h"
#include "net/net_gate.h"
#include "net/dns_message.h"

#include <stdlib.h>

static struct net_address address(const char *text)
{
	struct net_address a = {0};
	if (!net_address_parse(text, &a))
		fail_msg("no address: %s", text);
	return a;
}

/* ── Names ── */

static void names_have_one_spelling(void **state)
{
	static const struct {
		const char *text, *name; /* NULL: no name */
	} rows[] = {
		{"example.org", "example.org"},
		{"EXAMPLE.org.", "example.org"},
		{"b\xc3\xbc"
		 "cher.test",
		 "xn--bcher-kva.test"},
		{"B\xc3\x9c"
		 "CHER.test",
		 "xn--bcher-kva.test"},
		{"xn--bcher-kva.test", "xn--bcher-kva.test"},
		{"\xef\xbd\x81.test", "a.test"}, /* full width */
		{"a\xe3\x80\x82test", "a.test"}, /* ideographic full stop */
		{"\xd0\xbf\xd1\x80\xd0\xb8\xd0\xbc\xd0\xb5\xd1\x80", "xn--e1afmkfd"},
		{"_srv.example.org", "_srv.example.org"},
		{"", NULL},
		{".", NULL},
		{"a..b", NULL},
		{".a", NULL},
		{"a b", NULL},
		{"-a.test", NULL},
		{"a/b", NULL},
		{"a\xe2\x80\x8b.test", NULL}, /* zero width space */
		{"a\xe2\x80\xae.test", NULL}, /* turns the text around */
		{"\xff.test", NULL},
		{"a\n.test", NULL},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		_cleanup_buf_ struct buf out = BUF_INIT;
		bool ok = host_name_normalize(rows[i].text, strlen(rows[i].text), &out);
		if (ok != (rows[i].name != NULL) || (ok && strcmp(buf_str(&out), rows[i].name) != 0))
			fail_msg("%s: %s", rows[i].text, ok ? buf_str(&out) : "refused");
	}
}

static void long_names_are_refused(void **state)
{
	char text[300];
	_cleanup_buf_ struct buf out = BUF_INIT;
	memset(text, 'a', 64);
	assert_true(host_name_normalize(text, 63, &out));
	assert_false(host_name_normalize(text, 64, &out));
	buf_reset(&out);
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = i % 2 ? '.' : 'a';
	assert_true(host_name_normalize(text, 253, &out));
	buf_reset(&out);
	assert_false(host_name_normalize(text, 255, &out));
}

static void other_letters_are_shown_both_ways(void **state)
{
	_cleanup_buf_ struct buf out = BUF_INIT;
	host_name_add_shown(&out, "xn--bcher-kva.test");
	assert_string_equal(buf_str(&out), "b\xc3\xbc"
					   "cher.test (xn--bcher-kva.test)");
	buf_reset(&out);
	host_name_add_shown(&out, "plain.test");
	assert_string_equal(buf_str(&out), "plain.test");
	buf_reset(&out);
	host_name_add_shown(&out, "xn--!.test");
	assert_string_equal(buf_str(&out), "xn--!.test");
}

/* ── Rules ── */

static struct host_rule rule(const char *text, enum host_rule_verdict verdict)
{
	struct host_rule r;
	enum host_rule_fault fault = host_rule_parse(text, verdict, &r);
	if (fault != HOST_RULE_FINE)
		fail_msg("%s: %s", text, host_rule_fault_text(fault));
	r.origin = RULE_ORIGIN(CALLER, "--allow-host");
	return r;
}

static void rules_are_read(void **state)
{
	static const struct {
		const char *text, *shown;
	} rows[] = {
		{"example.org", "example.org"},
		{"Example.ORG.:443", "example.org:443"},
		{"*.example.org", "*.example.org"},
		{"*.example.org:8080", "*.example.org:8080"},
		{"10.1.2.3:5432", "10.1.2.3:5432"},
		{"0x7f.1", "127.0.0.1"},
		{"2130706433:80", "127.0.0.1:80"},
		{"017700000001", "127.0.0.1"},
		{"10.1.", "10.0.0.1"},
		{"::1", "::1"},
		{"[::1]", "::1"},
		{"[2001:db8::1]:443", "[2001:db8::1]:443"},
		{"[::ffff:10.0.0.1]:80", "10.0.0.1:80"},
		{"localhost", "localhost"},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		struct host_rule r = rule(rows[i].text, HOST_RULE_ALLOW);
		_cleanup_buf_ struct buf out = BUF_INIT;
		host_rule_add(&out, &r);
		assert_string_equal(buf_str(&out), rows[i].shown);
	}
}

static void invalid_rules_are_refused(void **state)
{
	static const struct {
		const char *text;
		enum host_rule_fault fault;
	} rows[] = {
		{"", HOST_RULE_EMPTY},
		{":443", HOST_RULE_EMPTY},
		{"*", HOST_RULE_BAD_STAR},
		{"*:443", HOST_RULE_BAD_STAR},
		{"*.", HOST_RULE_BAD_STAR},
		{"a.*.x", HOST_RULE_BAD_STAR},
		{"*x.test", HOST_RULE_BAD_STAR},
		{"*.*.test", HOST_RULE_BAD_STAR},
		{"x..test", HOST_RULE_BAD_NAME},
		{"x test", HOST_RULE_BAD_NAME},
		{"x.test:0", HOST_RULE_BAD_PORT},
		{"x.test:65536", HOST_RULE_BAD_PORT},
		{"x.test:99999999999", HOST_RULE_BAD_PORT},
		{"x.test:", HOST_RULE_BAD_PORT},
		{"x.test:+1", HOST_RULE_BAD_PORT},
		{"x.test:080", HOST_RULE_BAD_PORT},
		{"https://x.test", HOST_RULE_URL},
		{"https://x.test/", HOST_RULE_URL},
		{"x.test/path", HOST_RULE_URL},
		{"x.test:443/path", HOST_RULE_URL},
		{"10.0.0.0/8", HOST_RULE_NETWORK},
		{"[x.test]:80", HOST_RULE_BAD_NAME},
		{"[::1", HOST_RULE_BAD_NAME},
		{"1:2:3", HOST_RULE_BAD_NAME},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		struct host_rule r;
		enum host_rule_fault fault = host_rule_parse(rows[i].text, HOST_RULE_ALLOW, &r);
		if (fault != rows[i].fault)
			fail_msg("'%s': %d", rows[i].text, (int)fault);
	}
	struct host_rule r;
	assert_int_equal(host_rule_parse("10.0.0.0/8", HOST_RULE_PRIVATE, &r), HOST_RULE_FINE);
	assert_int_equal(host_rule_parse("10.0.0.0/33", HOST_RULE_PRIVATE, &r), HOST_RULE_BAD_NAME);
}

static void a_name_matches_itself_only(void **state)
{
	struct host_rule plain = rule("example.org", HOST_RULE_ALLOW), below = rule("*.example.org", HOST_RULE_ALLOW);
	assert_true(host_rule_matches(&plain, "example.org", NULL, 80));
	assert_false(host_rule_matches(&plain, "a.example.org", NULL, 80));
	assert_false(host_rule_matches(&plain, "notexample.org", NULL, 80));
	assert_false(host_rule_matches(&plain, "example.org.evil.test", NULL, 80));
	assert_true(host_rule_matches(&below, "a.example.org", NULL, 80));
	assert_true(host_rule_matches(&below, "a.b.example.org", NULL, 80));
	assert_false(host_rule_matches(&below, "example.org", NULL, 80));
	assert_false(host_rule_matches(&below, "aexample.org", NULL, 80));
}

static void a_wider_rule_covers_a_narrower_one(void **state)
{
	static const struct {
		const char *outer, *inner;
		bool covers;
	} rows[] = {
		{"*.x.test", "a.x.test", true},	   {"*.x.test", "x.test", false},      {"*.x.test", "*.a.x.test", true},
		{"*.x.test", "*.x.test", true},	   {"*.a.x.test", "*.x.test", false},  {"x.test", "x.test:443", true},
		{"x.test:443", "x.test", false},   {"x.test:443", "x.test:80", false}, {"x.test", "y.test", false},
		{"10.0.0.1", "10.0.0.1:80", true}, {"10.0.0.1", "10.0.0.2", false},    {"x.test", "10.0.0.1", false},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		struct host_rule outer = rule(rows[i].outer, HOST_RULE_ALLOW),
				 inner = rule(rows[i].inner, HOST_RULE_ALLOW);
		if (host_rule_covers(&outer, &inner) != rows[i].covers)
			fail_msg("%s covers %s?", rows[i].outer, rows[i].inner);
	}
}

/* ── Decisions ── */

static void add(struct net_rules *rules, const char *text, enum host_rule_verdict verdict, struct airlock_origin origin)
{
	struct host_rule r = rule(text, verdict);
	r.origin = origin;
	assert_int_equal(net_rules_add(rules, &r), 0);
}

static void expect(const struct net_rules *rules, const char *name, unsigned port, enum net_verdict verdict,
		   const char *by)
{
	struct net_target t = {.name = name, .port = port};
	struct net_decision d = net_decide(rules, &t);
	_cleanup_buf_ struct buf out = BUF_INIT;
	net_by_add(&out, d.by, &d.origin);
	if (d.verdict != verdict || strcmp(buf_str(&out), by) != 0)
		fail_msg("%s:%u: %d by %s", name, port, (int)d.verdict, buf_str(&out));
}

static void the_rule_that_decides_is_named(void **state)
{
	struct net_rules rules = {.mode = NET_HOSTS, .ask = true};
	add(&rules, "a.test", HOST_RULE_ALLOW, RULE_ORIGIN(FILE, "/c.toml", 3));
	add(&rules, "*.b.test:443", HOST_RULE_ALLOW, RULE_ORIGIN(CALLER, "--allow-host"));
	add(&rules, "bad.b.test", HOST_RULE_DENY, RULE_ORIGIN(FILE, "/c.toml", 4));
	add(&rules, "a.test:25", HOST_RULE_DENY, RULE_ORIGIN(FILE, "/c.toml", 5));
	expect(&rules, "a.test", 80, NET_ALLOW, "rule /c.toml:3");
	expect(&rules, "a.test", 25, NET_DENY, "rule /c.toml:5");
	expect(&rules, "x.b.test", 443, NET_ALLOW, "option");
	expect(&rules, "x.b.test", 80, NET_ASK, "nobody");
	expect(&rules, "bad.b.test", 443, NET_DENY, "rule /c.toml:4");
	expect(&rules, "else.test", 443, NET_ASK, "nobody");
	assert_true(net_denies_name(&rules, "bad.b.test"));
	assert_false(net_denies_name(&rules, "a.test"));
	rules.ask = false;
	expect(&rules, "else.test", 443, NET_DENY, "nobody");
	rules.mode = NET_OPEN;
	rules.mode_origin = RULE_ORIGIN(CALLER, "--network");
	expect(&rules, "else.test", 443, NET_ALLOW, "option");
	expect(&rules, "bad.b.test", 443, NET_DENY, "rule /c.toml:4"); /* denied also when the network is open */
	rules.mode_origin = RULE_ORIGIN(FILE, "/c.toml", 1);
	expect(&rules, "else.test", 443, NET_ALLOW, "rule /c.toml:1");
	rules.mode = NET_OFF;
	expect(&rules, "a.test", 80, NET_DENY, "nobody");
	net_rules_done(&rules);
}

static void an_answer_is_for_its_host_and_port(void **state)
{
	struct net_rules rules = {.mode = NET_HOSTS, .ask = true};
	struct net_target t = {.name = "a.test", .port = 443};
	assert_int_equal(net_rules_answer(&rules, &t, true, NET_BY_PERSON), 0);
	expect(&rules, "a.test", 443, NET_ALLOW, "person");
	expect(&rules, "a.test", 80, NET_ASK, "nobody");
	expect(&rules, "b.test", 443, NET_ASK, "nobody");
	assert_int_equal(net_rules_answer(&rules, &t, false, NET_BY_PERSON), 0);
	expect(&rules, "a.test", 443, NET_DENY, "person");
	add(&rules, "a.test", HOST_RULE_DENY, RULE_ORIGIN(FILE, "/c.toml", 9));
	assert_int_equal(net_rules_answer(&rules, &t, true, NET_BY_PERSON), 0);
	expect(&rules, "a.test", 443, NET_DENY, "rule /c.toml:9");
	net_rules_done(&rules);
}

static void answers_are_kept_up_to_a_number(void **state)
{
	struct net_rules rules = {.mode = NET_HOSTS, .ask = true};
	struct net_target t = {.name = "a.test"};
	for (t.port = 1; t.port <= NET_MAX_ANSWERS; t.port++)
		assert_int_equal(net_rules_answer(&rules, &t, true, NET_BY_PERSON), 0);
	assert_int_equal(net_rules_answer(&rules, &t, true, NET_BY_PERSON), -ENOMEM);
	expect(&rules, "a.test", NET_MAX_ANSWERS, NET_ALLOW, "person");
	expect(&rules, "a.test", NET_MAX_ANSWERS + 1, NET_ASK, "nobody");
	t.port = 1;
	assert_int_equal(net_rules_answer(&rules, &t, false, NET_BY_PERSON), 0); /* one that is known may change */
	expect(&rules, "a.test", 1, NET_DENY, "person");
	net_rules_done(&rules);
}

static enum net_opening before_connect(struct net_gate *g, const char *address)
{
	struct net_address a;
	assert_true(net_address_parse(address, &a));
	return net_gate_before_connect(g, &a, 443);
}

static void a_program_hears_before_it_connects(void **state)
{
	struct net_rules rules = {.mode = NET_HOSTS, .ask = true};
	const struct net_asker somebody = {0}; /* nobody is asked before something has connected */
	add(&rules, "9.9.9.9", HOST_RULE_ALLOW, RULE_ORIGIN(FILE, "/c.toml", 1));
	add(&rules, "10.1.1.1", HOST_RULE_ALLOW, RULE_ORIGIN(FILE, "/c.toml", 2));
	add(&rules, "9.9.9.8", HOST_RULE_DENY, RULE_ORIGIN(FILE, "/c.toml", 3));
	for (int is_there = 0; is_there < 2; is_there++) {
		struct net_gate_spec spec = {.rules = &rules, .asker = is_there ? &somebody : NULL};
		struct net_gate *g = NULL;
		size_t n;
		assert_int_equal(net_gate_new(&spec, &g, NULL), 0);
		assert_int_equal(before_connect(g, "9.9.9.9"), NET_OPENS);
		assert_int_equal(before_connect(g, "9.9.9.8"), NET_REFUSES);
		assert_int_equal(before_connect(g, "10.1.1.1"), NET_REFUSES);
		assert_int_equal(before_connect(g, "9.9.9.7"), is_there ? NET_OPENS_ONCE : NET_REFUSES);
		const struct net_seen *seen = net_gate_seen(g, &n);
		assert_int_equal(n, is_there ? 2 : 3); /* what is opened is seen when it connects */
		assert_int_equal(seen[0].by, NET_BY_RULE);
		assert_int_equal(seen[0].port, 443);
		assert_int_equal(seen[1].by, NET_BY_GUARD);
		assert_int_equal(seen[1].guard, GUARD_PRIVATE);
		if (!is_there)
			assert_int_equal(seen[2].by, NET_BY_NOBODY);
		net_gate_free(g);
	}
	net_rules_done(&rules);
}

static void a_name_written_as_an_address_is_that_address(void **state)
{
	struct net_rules rules = {.mode = NET_HOSTS, .ask = true};
	add(&rules, "127.0.0.1", HOST_RULE_DENY, RULE_ORIGIN(FILE, "/c.toml", 1));
	expect(&rules, "0x7f.1", 80, NET_DENY, "rule /c.toml:1");
	expect(&rules, "2130706433", 80, NET_DENY, "rule /c.toml:1");
	net_rules_done(&rules);
}

/* ── The guard ── */

static void only_public_addresses_pass(void **state)
{
	static const struct {
		const char *text;
		enum guard_verdict verdict;
	} rows[] = {
		{"1.1.1.1", GUARD_PUBLIC},
		{"203.0.113.9", GUARD_PUBLIC},
		{"2606:4700::1", GUARD_PUBLIC},
		{"0.1.2.3", GUARD_UNSPECIFIED},
		{"127.9.9.9", GUARD_LOOPBACK},
		{"169.254.169.254", GUARD_METADATA},
		{"fd00:ec2::254", GUARD_METADATA},
		{"169.254.1.1", GUARD_LINK_LOCAL},
		{"10.255.255.255", GUARD_PRIVATE},
		{"172.15.255.255", GUARD_PUBLIC},
		{"172.16.0.0", GUARD_PRIVATE},
		{"172.31.255.255", GUARD_PRIVATE},
		{"172.32.0.0", GUARD_PUBLIC},
		{"192.168.0.1", GUARD_PRIVATE},
		{"100.63.255.255", GUARD_PUBLIC},
		{"100.64.0.0", GUARD_PRIVATE},
		{"100.127.255.255", GUARD_PRIVATE},
		{"100.128.0.0", GUARD_PUBLIC},
		{"198.18.0.1", GUARD_RESERVED},
		{"224.0.0.1", GUARD_MULTICAST},
		{"240.0.0.1", GUARD_RESERVED},
		{"255.255.255.255", GUARD_MULTICAST},
		{"::", GUARD_UNSPECIFIED},
		{"::1", GUARD_LOOPBACK},
		{"::ffff:1.1.1.1", GUARD_TRANSLATED},
		{"::1.2.3.4", GUARD_TRANSLATED},
		{"64:ff9b::7f00:1", GUARD_TRANSLATED},
		{"64:ff9b:1::1", GUARD_TRANSLATED},
		{"2002:7f00:1::", GUARD_TRANSLATED},
		{"2001::1", GUARD_TRANSLATED},
		{"fe80::1", GUARD_LINK_LOCAL},
		{"fc00::1", GUARD_PRIVATE},
		{"ff02::1", GUARD_MULTICAST},
		{"4000::1", GUARD_RESERVED},
		{"8.8.4.4", GUARD_OWN},
	};
	struct net_address own = address("8.8.4.4");
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		struct net_address a = address(rows[i].text);
		enum guard_verdict v = guard_judge(&a, &own, 1);
		if (v != rows[i].verdict)
			fail_msg("%s: %s", rows[i].text, guard_verdict_name(v));
	}
}

static void allow_private_names_what_passes(void **state)
{
	struct net_rules rules = {.mode = NET_OPEN};
	struct net_address a = address("10.1.2.3"), b = address("10.1.2.4"), c = address("192.168.7.7");
	struct net_target t = {.name = "db.test", .port = 5432}, other = {.name = "db.test", .port = 22};
	add(&rules, "10.1.2.3:5432", HOST_RULE_PRIVATE, RULE_ORIGIN(FILE, "/c.toml", 1));
	add(&rules, "192.168.0.0/16", HOST_RULE_PRIVATE, RULE_ORIGIN(FILE, "/c.toml", 2));
	/* A rule for an address allows it, and does not make it public. */
	add(&rules, "10.1.2.4", HOST_RULE_ALLOW, RULE_ORIGIN(FILE, "/c.toml", 3));
	assert_int_equal(net_guard(&rules, &t, &a, NULL, 0), GUARD_PUBLIC);
	assert_int_equal(net_guard(&rules, &other, &a, NULL, 0), GUARD_PRIVATE);
	assert_int_equal(net_guard(&rules, &t, &b, NULL, 0), GUARD_PRIVATE);
	assert_int_equal(net_guard(&rules, &t, &c, NULL, 0), GUARD_PUBLIC);
	net_rules_done(&rules);
}

/* ── DNS ── */

static size_t put_header(uint8_t *out, unsigned flags, unsigned questions, unsigned additional)
{
	const uint8_t head[12] = {0x12, 0x34, (uint8_t)(flags >> 8), (uint8_t)flags, 0, (uint8_t)questions, 0, 0, 0,
				  0,	0,    (uint8_t)additional};
	memcpy(out, head, sizeof head);
	return sizeof head;
}

static size_t put_name(uint8_t *out, const char *name)
{
	size_t at = 0;
	while (*name) {
		size_t n = strcspn(name, ".");
		out[at++] = (uint8_t)n;
		memcpy(out + at, name, n);
		at += n;
		name += n + (name[n] == '.');
	}
	out[at++] = 0;
	return at;
}

static size_t put_query(uint8_t *out, const char *name, unsigned type)
{
	size_t at = put_header(out, 0x0100, 1, 0);
	at += put_name(out + at, name);
	const uint8_t tail[4] = {(uint8_t)(type >> 8), (uint8_t)type, 0, 1};
	memcpy(out + at, tail, sizeof tail);
	return at + sizeof tail;
}

static void a_query_is_read_and_answered(void **state)
{
	uint8_t bytes[600], out[DNS_ANSWER_MAX];
	struct dns_query q;
	struct net_address a = address("198.18.0.5");
	size_t n = put_query(bytes, "A.example.org", DNS_A);
	assert_int_equal(dns_query_read(bytes, n, &q), DNS_FINE);
	assert_string_equal(q.name, "A.example.org");
	assert_int_equal(q.type, DNS_A);
	assert_true(q.name_is_plain);
	size_t len = dns_answer_write(&q, DNS_OK, &a, 30, out, sizeof out);
	assert_int_equal(len, n + 16);
	assert_int_equal(out[2] & 0x80, 0x80);
	assert_int_equal(out[3], 0x80);
	assert_int_equal(out[7], 1);
	assert_memory_equal(out + 12, bytes + 12, n - 12);
	assert_memory_equal(out + len - 4, a.bytes, 4);
	len = dns_answer_write(&q, DNS_NO_NAME, NULL, 0, out, sizeof out);
	assert_int_equal(len, n);
	assert_int_equal(out[3] & 0xf, DNS_NO_NAME);
}

static void edns_is_answered_with_edns(void **state)
{
	uint8_t bytes[600], out[DNS_ANSWER_MAX];
	struct dns_query q;
	size_t n = put_query(bytes, "x.test", DNS_AAAA);
	bytes[11] = 1;
	memset(bytes + n, 0, 11);
	bytes[n + 2] = DNS_OPT;
	assert_int_equal(dns_query_read(bytes, n + 11, &q), DNS_FINE);
	assert_true(q.has_edns);
	assert_int_equal(dns_answer_write(&q, DNS_OK, NULL, 0, out, sizeof out), n + 11);
	assert_int_equal(out[11], 1);
	assert_int_equal(dns_query_read(bytes, n + 10, &q), DNS_FINE); /* cut off: there is none */
	assert_false(q.has_edns);
}

static void hostile_queries_are_refused(void **state)
{
	uint8_t bytes[600] = {0};
	struct dns_query q;
	assert_int_equal(dns_query_read(bytes, 11, &q), DNS_IGNORE);
	size_t n = put_header(bytes, 0x8100, 1, 0); /* an answer, sent to make us answer ourselves */
	assert_int_equal(dns_query_read(bytes, n, &q), DNS_IGNORE);
	n = put_header(bytes, 0x2800, 1, 0); /* an update */
	assert_int_equal(dns_query_read(bytes, n, &q), DNS_UNSUPPORTED);
	n = put_header(bytes, 0x0100, 2, 0);
	assert_int_equal(dns_query_read(bytes, sizeof bytes, &q), DNS_MALFORMED);
	n = put_header(bytes, 0x0100, 1, 0); /* a name that points to itself */
	bytes[n] = 0xc0;
	bytes[n + 1] = 12;
	assert_int_equal(dns_query_read(bytes, n + 6, &q), DNS_MALFORMED);
	bytes[n] = 63; /* a label longer than the message */
	assert_int_equal(dns_query_read(bytes, n + 20, &q), DNS_MALFORMED);
	bytes[n] = 64;
	assert_int_equal(dns_query_read(bytes, sizeof bytes, &q), DNS_MALFORMED);
	for (size_t i = n; i < sizeof bytes; i++) /* labels without an end */
		bytes[i] = i % 2 ? 'a' : 1;
	assert_int_equal(dns_query_read(bytes, sizeof bytes, &q), DNS_MALFORMED);
	n = put_query(bytes, "x.test", DNS_A);
	for (size_t cut = 12; cut < n; cut++)
		assert_int_equal(dns_query_read(bytes, cut, &q), DNS_MALFORMED);
}

/* 127 labels of one byte: 254 bytes and the root. */
static void the_longest_name_fits(void **state)
{
	uint8_t bytes[600], out[DNS_ANSWER_MAX];
	struct dns_query q;
	size_t n = put_header(bytes, 0x0100, 1, 0);
	for (size_t i = 0; i < 127; i++) {
		bytes[n++] = 1;
		bytes[n++] = 'a';
	}
	memset(bytes + n, 0, 5);
	bytes[n + 2] = DNS_A;
	bytes[n + 4] = 1;
	assert_int_equal(dns_query_read(bytes, n + 5, &q), DNS_FINE);
	assert_int_equal(strlen(q.name), 253);
	assert_true(dns_answer_write(&q, DNS_OK, NULL, 0, out, sizeof out) > 0);
}

static void bytes_that_no_name_has_are_noticed(void **state)
{
	uint8_t bytes[600];
	struct dns_query q;
	size_t n = put_query(bytes, "a.test", DNS_A);
	bytes[13] = '.'; /* a label that is a dot */
	assert_int_equal(dns_query_read(bytes, n, &q), DNS_FINE);
	assert_false(q.name_is_plain);
	bytes[13] = 0;
	assert_int_equal(dns_query_read(bytes, n, &q), DNS_FINE);
	assert_false(q.name_is_plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_have_one_spelling),
		cmocka_unit_test(long_names_are_refused),
		cmocka_unit_test(other_letters_are_shown_both_ways),
		cmocka_unit_test(rules_are_read),
		cmocka_unit_test(invalid_rules_are_refused),
		cmocka_unit_test(a_name_matches_itself_only),
		cmocka_unit_test(a_wider_rule_covers_a_narrower_one),
		cmocka_unit_test(the_rule_that_decides_is_named),
		cmocka_unit_test(an_answer_is_for_its_host_and_port),
		cmocka_unit_test(answers_are_kept_up_to_a_number),
		cmocka_unit_test(a_program_hears_before_it_connects),
		cmocka_unit_test(a_name_written_as_an_address_is_that_address),
		cmocka_unit_test(only_public_addresses_pass),
		cmocka_unit_test(allow_private_names_what_passes),
		cmocka_unit_test(a_query_is_read_and_answered),
		cmocka_unit_test(edns_is_answered_with_edns),
		cmocka_unit_test(hostile_queries_are_refused),
		cmocka_unit_test(the_longest_name_fits),
		cmocka_unit_test(bytes_that_no_name_has_are_noticed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
