/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which calls a plan refuses, by which rule; and the list made from what was seen. */
#include "tests.h"

#include "plan_world.h"

#include "base/json.h"
#include "denial/denial.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#define LOOKED CHILD_SEEN_LOOKED
#define MISSING (CHILD_SEEN_LOOKED | CHILD_SEEN_MISSING)
#define MAKES CHILD_SEEN_MISSING

static const struct policy_path rules[] = {
	{.path = (char *)"/usr/lib", .access = POLICY_HIDE, .origin = {AIRLOCK_ORIGIN_CALLER, "--hide", 0}},
	{.path = (char *)"/etc/passwd", .access = POLICY_HIDE, .origin = {AIRLOCK_ORIGIN_FILE, "/c.toml", 4}},
};
static const struct setting moderate = {.profile = "moderate",
					.fs = ordinary,
					.home = "/home/u",
					.project = "/home/u/p",
					.rules = rules,
					.n_rules = 2,
					.capture = true};

struct stage {
	struct plan *plan;
	struct plan_world world;
	struct denial_scene scene;
};

static struct stage *begin(const struct setting *s)
{
	struct stage *st = calloc(1, sizeof *st);
	st->plan = build(s);
	st->world = (struct plan_world)WORLD(s->fs);
	st->scene = (struct denial_scene){.plan = st->plan,
					  .world = &st->world,
					  .home = s->home,
					  .network_origin = RULE_ORIGIN(BUILTIN, "moderate")};
	return st;
}

static void end(struct stage *st)
{
	plan_free(st->plan);
	free(st);
}

/* rule and source, or "" */
static void expect(const struct stage *st, enum child_seen_op op, unsigned flags, const char *path, const char *wanted)
{
	struct denial_try t = {.op = op, .flags = flags, .path = path};
	struct denial_verdict v = denial_decide(&st->scene, &t);
	char text[256] = "", *origin = airlock_origin_text(&v.origin);
	if (v.rule != AIRLOCK_DENIAL_NONE)
		(void)snprintf(text, sizeof text, "%s: %s", airlock_denial_rule_name(v.rule), origin);
	free(origin);
	if (strcmp(text, wanted) != 0)
		fail_msg("%s %s: \"%s\" instead of \"%s\"", airlock_attempt_name((enum airlock_attempt)op), path, text,
			 wanted);
}

static void a_secret_is_hidden_whether_left_out_or_covered(void **state)
{
	struct stage *st = begin(&moderate);
	expect(st, CHILD_SEEN_OPEN, MISSING, "/home/u/.ssh/id_ed25519", "hidden: built-in: moderate");
	expect(st, CHILD_SEEN_OPEN, MISSING, "/home/u/.ssh", "hidden: built-in: moderate");
	expect(st, CHILD_SEEN_OPEN, MISSING, "/home/u/.config/gh/hosts.yml", "hidden: built-in: moderate");
	expect(st, CHILD_SEEN_OPEN, LOOKED, "/etc/shadow", "hidden: built-in: moderate");
	expect(st, CHILD_SEEN_OPEN, LOOKED, "/home/other", "hidden: built-in: moderate");
	expect(st, CHILD_SEEN_OPEN, LOOKED, "/usr/lib", "hidden: --hide");
	expect(st, CHILD_SEEN_WRITE, 0, "/etc/passwd", "hidden: /c.toml:4");
	end(st);
}

static void what_does_not_exist_is_not_refused(void **state)
{
	struct stage *st = begin(&moderate);
	expect(st, CHILD_SEEN_OPEN, MISSING, "/home/u/.netrc", "");
	expect(st, CHILD_SEEN_OPEN, MISSING, "/home/u/.aws", "");
	expect(st, CHILD_SEEN_OPEN, MISSING, "/tmp/x", "");
	expect(st, CHILD_SEEN_OPEN, MISSING, "/home/u/p/x", "");
	expect(st, CHILD_SEEN_OPEN, MISSING, "/usr/nothing", "");
	end(st);
}

static void what_can_be_read_is_not_refused(void **state)
{
	struct stage *st = begin(&moderate);
	expect(st, CHILD_SEEN_OPEN, LOOKED, "/usr/bin", "");
	expect(st, CHILD_SEEN_OPEN, LOOKED, "/home/u/.bashrc", "");
	expect(st, CHILD_SEEN_CHDIR, LOOKED, "/", "");
	expect(st, CHILD_SEEN_OPEN, LOOKED, "/home/u/p/x", "");
	end(st);
}

static void writing_is_for_roots_and_private_places(void **state)
{
	struct stage *st = begin(&moderate);
	expect(st, CHILD_SEEN_WRITE, 0, "/home/u/p/x", "");
	expect(st, CHILD_SEEN_DELETE, 0, "/tmp/x", "");
	expect(st, CHILD_SEEN_MKDIR, MAKES, "/home/u/playground/x", "");
	expect(st, CHILD_SEEN_WRITE, 0, "/etc/hosts", "read-only: built-in: moderate");
	expect(st, CHILD_SEEN_MKDIR, MAKES, "/usr/x", "read-only: built-in: moderate");
	expect(st, CHILD_SEEN_CHMOD, 0, "/usr/bin", "read-only: built-in: moderate");
	expect(st, CHILD_SEEN_BIND, MAKES, "/etc/socket", "read-only: built-in: moderate");
	end(st);
}

/* The entries of a directory that was rebuilt to make room are there for its sake: the rule is the one above. */
static void a_rebuilt_directory_is_no_rule(void **state)
{
	struct stage *st = begin(&moderate);
	bool rebuilt = false;
	for (size_t i = 0; i < st->plan->n_mounts; i++)
		rebuilt |= st->plan->mounts[i].derived && st->plan->mounts[i].kind == PLAN_REBUILD;
	assert_true(rebuilt);
	expect(st, CHILD_SEEN_WRITE, 0, "/home/u/.bashrc", "read-only: built-in: moderate");
	expect(st, CHILD_SEEN_WRITE, MAKES, "/home/u/new", "read-only: built-in: moderate");
	expect(st, CHILD_SEEN_CONNECT, MISSING, "/home/u/agent.sock", "not visible: built-in: moderate");
	end(st);
}

static void private_places_are_not_the_hosts(void **state)
{
	struct stage *st = begin(&moderate);
	expect(st, CHILD_SEEN_CONNECT, MISSING, "/run/docker.sock", "not visible: built-in: moderate");
	expect(st, CHILD_SEEN_CONNECT, MISSING, "/run/other.sock", "");
	end(st);
}

static void strict_shows_only_what_it_names(void **state)
{
	struct setting s = moderate;
	s.profile = "strict";
	s.n_rules = 0;
	struct stage *st = begin(&s);
	expect(st, CHILD_SEEN_OPEN, MISSING, "/home/other", "not visible: profile strict");
	expect(st, CHILD_SEEN_OPEN, MISSING, "/home/u/.bashrc", "not visible: built-in: strict");
	expect(st, CHILD_SEEN_OPEN, MISSING, "/opt", "");
	expect(st, CHILD_SEEN_WRITE, MAKES, "/x", "read-only: profile strict");
	end(st);
}

static void a_workspace_hides_nothing_of_the_host(void **state)
{
	struct stage *st = begin(&moderate);
	st->scene.workspace = true;
	expect(st, CHILD_SEEN_CONNECT, MISSING, "/run/docker.sock", "");
	expect(st, CHILD_SEEN_WRITE, 0, "/usr/bin/x", "read-only: built-in: moderate");
	end(st);
}

static void without_mounts_what_is_not_granted_is_refused(void **state)
{
	struct stage *st = begin(&moderate);
	st->scene.in_place = true;
	expect(st, CHILD_SEEN_OPEN, LOOKED, "/tmp/x", "not visible: built-in: moderate");
	expect(st, CHILD_SEEN_WRITE, 0, "/tmp/x", "read-only: built-in: moderate");
	expect(st, CHILD_SEEN_OPEN, LOOKED, "/home/u/.ssh/id_ed25519", "hidden: built-in: moderate");
	expect(st, CHILD_SEEN_OPEN, MISSING, "/home/u/.ssh/nothing", "");
	expect(st, CHILD_SEEN_WRITE, 0, "/dev/null", "");
	expect(st, CHILD_SEEN_CHMOD, 0, "/usr/bin", ""); /* Landlock does not know about modes */
	expect(st, CHILD_SEEN_WRITE, 0, "/usr/bin/x", "read-only: built-in: moderate");
	expect(st, CHILD_SEEN_OPEN, LOOKED, "/usr/bin/x", "");
	end(st);
}

/* ── Addresses ── */

static size_t v4(struct sockaddr_in *a, const char *text, unsigned port)
{
	*a = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	assert_int_equal(inet_pton(AF_INET, text, &a->sin_addr), 1);
	return 8;
}

static size_t v6(struct sockaddr_in6 *a, const char *text, unsigned port)
{
	*a = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
	assert_int_equal(inet_pton(AF_INET6, text, &a->sin6_addr), 1);
	return 24;
}

static void expect_address(const struct stage *st, const void *address, size_t len, bool refused, const char *text)
{
	struct denial_try t = {
		.op = CHILD_SEEN_CONNECT, .flags = CHILD_SEEN_ADDRESS, .address = address, .address_bytes = len};
	struct buf out = BUF_INIT;
	assert_true(denial_add_address(address, len, &out));
	assert_string_equal(buf_str(&out), text);
	assert_int_equal(denial_decide(&st->scene, &t).rule,
			 refused ? AIRLOCK_DENIAL_NETWORK_OFF : AIRLOCK_DENIAL_NONE);
	buf_done(&out);
}

static void addresses_are_out_of_reach_without_the_network(void **state)
{
	struct stage *st = begin(&moderate);
	struct sockaddr_in a;
	struct sockaddr_in6 b;
	struct sockaddr_un u = {.sun_family = AF_UNIX, .sun_path = "\0bus"};
	expect_address(st, &a, v4(&a, "192.0.2.1", 443), true, "192.0.2.1:443");
	expect_address(st, &b, v6(&b, "2001:db8::1", 53), true, "[2001:db8::1]:53");
	expect_address(st, &b, v6(&b, "2001:db8::1", 0), true, "2001:db8::1");
	/* Somebody inside may serve these; nobody inside can serve the ports of a name server. */
	expect_address(st, &a, v4(&a, "127.0.0.1", 8080), false, "127.0.0.1:8080");
	expect_address(st, &b, v6(&b, "::1", 8080), false, "[::1]:8080");
	expect_address(st, &b, v6(&b, "::ffff:127.0.0.1", 8080), false, "[::ffff:127.0.0.1]:8080");
	expect_address(st, &a, v4(&a, "127.0.0.53", 53), true, "127.0.0.53:53");
	/* Linux connects these to the machine itself. */
	expect_address(st, &a, v4(&a, "0.0.0.0", 8080), false, "0.0.0.0:8080");
	expect_address(st, &b, v6(&b, "::", 8080), false, "[::]:8080");
	expect_address(st, &a, v4(&a, "0.0.0.0", 53), true, "0.0.0.0:53");
	expect_address(st, &u, offsetof(struct sockaddr_un, sun_path) + 4, true, "@bus");
	st->plan->network = true;
	expect_address(st, &a, v4(&a, "192.0.2.1", 443), false, "192.0.2.1:443");
	end(st);
}

/* ── The list ── */

struct seen {
	struct child_seen_head head;
	char records[4096];
};

static void seen(struct seen *s, unsigned op, unsigned flags, const void *text, size_t len, uint32_t count)
{
	struct child_seen r = {.op = (uint16_t)op,
			       .flags = (uint16_t)flags,
			       .count = count,
			       .length = (uint32_t)len,
			       .size = (uint32_t)((sizeof r + len + 7) & ~(size_t)7)};
	if (!s->head.magic)
		s->head = (struct child_seen_head){.magic = CHILD_SEEN_MAGIC, .used = sizeof s->head};
	memcpy((char *)s + s->head.used, &r, sizeof r);
	memcpy((char *)s + s->head.used + sizeof r, text, len);
	s->head.used += r.size;
	s->head.records++;
}

static void the_list_has_what_was_refused_and_the_way_out(void **state)
{
	struct stage *st = begin(&moderate);
	struct seen s = {0};
	struct denials d;
	struct sockaddr_in a;
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, false);
	seen(&s, CHILD_SEEN_WRITE, 0, "/etc/hosts", 10, 1000);
	seen(&s, CHILD_SEEN_OPEN, LOOKED, "/usr/bin", 8, 3);
	seen(&s, CHILD_SEEN_OPEN, MISSING, "/home/u/.ssh/id", 15, 2);
	seen(&s, CHILD_SEEN_CONNECT, CHILD_SEEN_ADDRESS, &a, v4(&a, "192.0.2.1", 443), 1);
	seen(&s, CHILD_SEEN_OPEN, LOOKED, "/usr/lib/x", 10, 1);
	assert_int_equal(denials_read(&st->scene, &s, s.head.used, &d, NULL), 0);
	denials_print_json(&d, DENIAL_FOR_PERSON, &j, NULL);
	assert_string_equal(
		buf_str(&out),
		"[{\"op\":\"write\",\"path\":\"/etc/hosts\",\"rule\":\"read-only\",\"source\":\"built-in: moderate\","
		"\"region\":\"/\",\"text\":\"write to /etc/hosts (read-only: built-in: moderate), 1000 times\","
		"\"hint\":\"--allow-write /etc\",\"count\":1000},"
		"{\"op\":\"open\",\"path\":\"/home/u/.ssh/id\",\"rule\":\"hidden\",\"source\":\"built-in: moderate\","
		"\"region\":\"/home/u/.ssh\",\"text\":\"open /home/u/.ssh/id (hidden: built-in: moderate), 2 times\","
		"\"hint\":\"--ro /home/u/.ssh/id\",\"count\":2},"
		"{\"op\":\"connect\",\"address\":\"192.0.2.1:443\",\"rule\":\"network off\","
		"\"source\":\"built-in: moderate\",\"region\":null,"
		"\"text\":\"connect to 192.0.2.1:443 (network off: built-in: moderate)\",\"hint\":\"--network\","
		"\"count\":1},"
		"{\"op\":\"open\",\"path\":\"/usr/lib/x\",\"rule\":\"hidden\",\"source\":\"--hide\","
		"\"region\":\"/usr/lib\",\"text\":\"open /usr/lib/x (hidden: --hide)\","
		"\"hint\":\"leave out --hide /usr/lib\",\"count\":1}]");
	buf_done(&out);
	denials_done(&d);
	end(st);
}

static void our_own_state_has_no_way_out(void **state)
{
	struct setting s = moderate;
	struct made_up fs[AL_ARRAY_LEN(ordinary) + 3] = {{"/home/u/.local", PLAN_DIRECTORY, NULL},
							 {"/home/u/.local/state", PLAN_DIRECTORY, NULL},
							 {"/home/u/.local/state/airlock", PLAN_DIRECTORY, NULL}};
	memcpy(fs + 3, ordinary, sizeof ordinary);
	s.fs = fs;
	struct stage *st = begin(&s);
	struct seen r = {0};
	struct denials d;
	seen(&r, CHILD_SEEN_OPEN, MISSING, "/home/u/.local/state/airlock/x", 30, 1);
	assert_int_equal(denials_read(&st->scene, &r, r.head.used, &d, NULL), 0);
	assert_int_equal(d.n, 1);
	assert_int_equal(d.v[0].origin.kind, AIRLOCK_ORIGIN_OWN_STATE);
	assert_int_equal(d.v[0].remedy, AIRLOCK_REMEDY_NONE);
	denials_done(&d);
	end(st);
}

/* ── What would allow it ── */

static void expect_hint(const struct stage *st, enum child_seen_op op, unsigned flags, const char *path,
			const char *wanted)
{
	struct seen s = {0};
	struct denials d;
	struct buf out = BUF_INIT;
	seen(&s, op, flags, path, strlen(path), 1);
	assert_int_equal(denials_read(&st->scene, &s, s.head.used, &d, NULL), 0);
	assert_int_equal(d.n, 1);
	denial_add_hint(&d.v[0], &out);
	assert_string_equal(buf_str(&out), wanted);
	buf_done(&out);
	denials_done(&d);
}

static struct stage *begin_at_home(struct made_up fs[static AL_ARRAY_LEN(ordinary) + 5])
{
	static struct setting s;
	const struct made_up more[] = {{"/home/u/.npm", PLAN_DIRECTORY, NULL},
				       {"/home/u/.npm/tmp", PLAN_DIRECTORY, NULL},
				       {"/home/u/work", PLAN_DIRECTORY, NULL},
				       {"/home/u/work/a", PLAN_DIRECTORY, NULL},
				       {"/home/u/work/b", PLAN_DIRECTORY, NULL}};
	memcpy(fs, more, sizeof more);
	memcpy(fs + AL_ARRAY_LEN(more), ordinary, sizeof ordinary);
	s = moderate;
	s.fs = fs;
	return begin(&s);
}

static void hints_go_to_the_directory_that_helps_and_never_to_the_home(void **state)
{
	struct made_up fs[AL_ARRAY_LEN(ordinary) + 5];
	struct stage *st = begin_at_home(fs);
	expect_hint(st, CHILD_SEEN_WRITE, MAKES, "/home/u/.npm/tmp/x", "--allow-write /home/u/.npm");
	expect_hint(st, CHILD_SEEN_WRITE, MAKES, "/home/u/work/a/x", "--allow-write /home/u/work/a");
	expect_hint(st, CHILD_SEEN_MKDIR, MAKES, "/home/u/.yarn",
		    "--allow-write /home/u/.yarn, once that directory exists");
	expect_hint(st, CHILD_SEEN_MKDIR, MAKES, "/home/u/.cache/pip/http",
		    "--allow-write /home/u/.cache/pip, once that directory exists");
	expect_hint(st, CHILD_SEEN_MKDIR, MAKES, "/home/u/.cache", "");
	expect_hint(st, CHILD_SEEN_WRITE, MAKES, "/home/u/.config/x", "");
	expect_hint(st, CHILD_SEEN_WRITE, MAKES, "/home/u/new", "");
	expect_hint(st, CHILD_SEEN_WRITE, 0, "/home/u/.bashrc", "");
	expect_hint(st, CHILD_SEEN_MKDIR, MAKES, "/home/x", "");
	end(st);
}

static void a_write_that_was_refused_is_not_allowed_by_reading(void **state)
{
	struct made_up fs[AL_ARRAY_LEN(ordinary) + 5];
	struct stage *st = begin_at_home(fs);
	expect_hint(st, CHILD_SEEN_MKDIR, MISSING, "/home/u/.ssh/d", "--allow-write /home/u/.ssh");
	expect_hint(st, CHILD_SEEN_OPEN, MISSING, "/home/u/.ssh/d", "--ro /home/u/.ssh/d");
	end(st);
}

static void refusals_in_one_tree_have_one_hint(void **state)
{
	struct made_up fs[AL_ARRAY_LEN(ordinary) + 5];
	struct stage *st = begin_at_home(fs);
	struct seen s = {0};
	struct denials d;
	seen(&s, CHILD_SEEN_WRITE, MAKES, "/home/u/work/a/x", 16, 1);
	seen(&s, CHILD_SEEN_WRITE, MAKES, "/home/u/work/b/x", 16, 1);
	seen(&s, CHILD_SEEN_WRITE, 0, "/etc/hosts", 10, 1);
	seen(&s, CHILD_SEEN_WRITE, 0, "/usr/bin/x", 10, 1);
	assert_int_equal(denials_read(&st->scene, &s, s.head.used, &d, NULL), 0);
	assert_int_equal(d.n, 4);
	assert_string_equal(d.v[0].value, "/home/u/work");
	assert_string_equal(d.v[1].value, "/home/u/work");
	assert_string_equal(d.v[2].value, "/etc");
	assert_string_equal(d.v[3].value, "/usr/bin");
	denials_done(&d);
	end(st);
}

static bool may_write_at_home(const char *path)
{
	return strncmp(path, "/home/u", 7) == 0;
}

static void what_fails_outside_as_well_is_not_refused(void **state)
{
	struct stage *st = begin(&moderate);
	expect(st, CHILD_SEEN_WRITE, CHILD_SEEN_FOREIGN, "/etc/hosts", "");
	st->scene.may_write = may_write_at_home;
	expect(st, CHILD_SEEN_WRITE, 0, "/etc/hosts", "");
	expect(st, CHILD_SEEN_MKDIR, MAKES, "/usr/bin/__pycache__", "");
	expect(st, CHILD_SEEN_DELETE, 0, "/etc/hosts", "");
	expect(st, CHILD_SEEN_WRITE, 0, "/home/u/.bashrc", "read-only: built-in: moderate");
	expect(st, CHILD_SEEN_MKDIR, MAKES, "/home/u/new", "read-only: built-in: moderate");
	expect(st, CHILD_SEEN_OPEN, MISSING, "/home/u/.ssh/id", "hidden: built-in: moderate");
	end(st);
}

static void agents_are_given_no_option(void **state)
{
	struct stage *st = begin(&moderate);
	struct seen s = {0};
	struct denials d;
	struct buf out = BUF_INIT;
	struct json j = json_begin(&out, false);
	seen(&s, CHILD_SEEN_OPEN, MISSING, "/home/u/.ssh/id", 15, 1);
	assert_int_equal(denials_read(&st->scene, &s, s.head.used, &d, NULL), 0);
	denials_print_json(&d, DENIAL_FOR_AGENT, &j, NULL);
	assert_non_null(strstr(buf_str(&out), "\"hint\":null"));
	assert_null(strstr(buf_str(&out), "--ro"));
	buf_done(&out);
	denials_done(&d);
	end(st);
}

/* The first process is ours, but it lives with the command. */
static void damaged_records_end_the_list(void **state)
{
	struct stage *st = begin(&moderate);
	struct seen s = {0};
	struct denials d;
	seen(&s, CHILD_SEEN_WRITE, 0, "/etc/hosts", 10, 1);
	uint32_t good = s.head.used;
	seen(&s, CHILD_SEEN_WRITE, 0, "/etc/group", 10, 1);
	struct child_seen *second = (void *)((char *)&s + good);
	for (size_t len = 0; len <= s.head.used; len++) {
		assert_int_equal(denials_read(&st->scene, &s, len, &d, NULL), 0);
		denials_done(&d);
	}
	const uint32_t sizes[] = {0, 1, sizeof *second - 1, 4096, UINT32_MAX};
	for (size_t i = 0; i < AL_ARRAY_LEN(sizes); i++) {
		second->size = sizes[i];
		assert_int_equal(denials_read(&st->scene, &s, s.head.used, &d, NULL), 0);
		assert_int_equal(d.n, 1);
		denials_done(&d);
	}
	second->size = (uint32_t)sizeof *second + 16;
	second->length = UINT32_MAX;
	s.head.used = UINT32_MAX;
	assert_int_equal(denials_read(&st->scene, &s, sizeof s, &d, NULL), 0);
	assert_int_equal(d.n, 1);
	denials_done(&d);
	second->length = 10;
	second->op = 999;
	assert_int_equal(denials_read(&st->scene, &s, good + second->size, &d, NULL), 0);
	assert_int_equal(d.n, 1);
	denials_done(&d);
	end(st);
}

/* What the first process passes on must be all that the plan refuses: the regions are the wider of the two. */
static void regions_leave_nothing_refused_out(void **state)
{
	struct stage *st = begin(&moderate);
	static const char *const paths[] = {
		"/",	       "/etc/hosts",	   "/etc/shadow", "/home/u/.ssh/x", "/home/u/new",
		"/home/u/p/x", "/run/docker.sock", "/usr/lib/x",  "/home/other/x",  "/dev/sda"};
	for (int in_place = 0; in_place < 2; in_place++) {
		struct child_region *r = NULL;
		size_t n = 0;
		st->scene.in_place = in_place;
		assert_true(denial_regions(&st->scene, &r, &n));
		for (size_t i = 0; i < AL_ARRAY_LEN(paths); i++) {
			uint32_t refuses = 0;
			size_t longest = 0;
			for (size_t k = 0; k < n; k++)
				if (path_is_beneath(paths[i], r[k].path.text) && strlen(r[k].path.text) >= longest) {
					longest = strlen(r[k].path.text);
					refuses = r[k].refuses;
				}
			struct denial_try write = {.op = CHILD_SEEN_WRITE, .path = paths[i]};
			struct denial_try look = {.op = CHILD_SEEN_OPEN, .flags = LOOKED, .path = paths[i]};
			struct denial_try miss = {.op = CHILD_SEEN_OPEN, .flags = MISSING, .path = paths[i]};
			if (denial_decide(&st->scene, &write).rule != AIRLOCK_DENIAL_NONE)
				assert_true(refuses & CHILD_REFUSES_WRITE);
			if (denial_decide(&st->scene, &look).rule != AIRLOCK_DENIAL_NONE)
				assert_true(refuses & CHILD_REFUSES_READ);
			if (denial_decide(&st->scene, &miss).rule != AIRLOCK_DENIAL_NONE)
				assert_true(refuses & (CHILD_REFUSES_READ | CHILD_REFUSES_MISSING));
		}
		free(r);
	}
	end(st);
}

static void the_regions_of_a_plan(void **state)
{
	struct stage *st = begin(&moderate);
	struct child_region *r = NULL;
	struct buf out = BUF_INIT;
	size_t n = 0;
	assert_true(denial_regions(&st->scene, &r, &n));
	for (size_t i = 0; i < n; i++)
		buf_printf(&out, "%c%c%c %s\n", r[i].refuses & CHILD_REFUSES_READ ? 'r' : '-',
			   r[i].refuses & CHILD_REFUSES_WRITE ? 'w' : '-',
			   r[i].refuses & CHILD_REFUSES_MISSING ? 'm' : '-', r[i].path.text);
	compare_with_golden("regions-moderate", buf_str(&out));
	buf_done(&out);
	free(r);
	end(st);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_secret_is_hidden_whether_left_out_or_covered),
		cmocka_unit_test(what_does_not_exist_is_not_refused),
		cmocka_unit_test(what_can_be_read_is_not_refused),
		cmocka_unit_test(writing_is_for_roots_and_private_places),
		cmocka_unit_test(a_rebuilt_directory_is_no_rule),
		cmocka_unit_test(private_places_are_not_the_hosts),
		cmocka_unit_test(strict_shows_only_what_it_names),
		cmocka_unit_test(a_workspace_hides_nothing_of_the_host),
		cmocka_unit_test(without_mounts_what_is_not_granted_is_refused),
		cmocka_unit_test(addresses_are_out_of_reach_without_the_network),
		cmocka_unit_test(the_list_has_what_was_refused_and_the_way_out),
		cmocka_unit_test(our_own_state_has_no_way_out),
		cmocka_unit_test(hints_go_to_the_directory_that_helps_and_never_to_the_home),
		cmocka_unit_test(a_write_that_was_refused_is_not_allowed_by_reading),
		cmocka_unit_test(refusals_in_one_tree_have_one_hint),
		cmocka_unit_test(what_fails_outside_as_well_is_not_refused),
		cmocka_unit_test(agents_are_given_no_option),
		cmocka_unit_test(damaged_records_end_the_list),
		cmocka_unit_test(regions_leave_nothing_refused_out),
		cmocka_unit_test(the_regions_of_a_plan),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
