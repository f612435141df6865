/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Questions as values: what they say, what may be answered, and what makes two of them the same. */
#include "tests.h"

#include "permission/permission.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const no_paths[] = {NULL};
static const char *const argv_ls[] = {"/bin/sh", "-c", "ls -l", NULL};

#define INPUTS                                                                                                         \
	.extra_writable = no_paths, .unsandboxed_because = "", .command = "ls -l", .argv = argv_ls,                    \
	.working_dir = "/home/u/p/src", .project = "/home/u/p", .profile = "moderate", .nonce = "n1"

static struct permission_question ask(const struct permission_inputs *in)
{
	struct permission_question q;
	struct airlock_error err = {0};
	assert_int_equal(permission_collect(in, &q, &err), 0);
	return q;
}

static const char *last_line(const struct permission_question *q)
{
	return strrchr(q->text, '\n') + 1;
}

static void network_has_its_sentence_and_is_asked_each_time(void **state)
{
	struct permission_inputs in = {INPUTS, .network = true};
	struct permission_question a = ask(&in);
	assert_string_equal(last_line(&a), "Run command with network access: ls -l?");
	assert_true(a.one_time_only);
	assert_int_equal(a.n_choices, 2);
	assert_int_equal(a.choices[0], AIRLOCK_ALLOW_ONCE);
	assert_int_equal(a.choices[1], AIRLOCK_DENY);
	assert_int_equal(a.reasons[0], AIRLOCK_ASK_NETWORK);
	assert_int_equal(a.n_reasons, 1);
	in.nonce = "n2";
	struct permission_question b = ask(&in);
	assert_string_not_equal(a.key, b.key);
	permission_done(&a);
	permission_done(&b);
}

static void all_reasons_are_in_one_question(void **state)
{
	static const char *const paths[] = {"/data/a", "/data/b", NULL};
	struct permission_inputs in = {INPUTS, .network = true, .unsandboxed = true};
	in.extra_writable = paths;
	in.unsandboxed_because = "--no-sandbox";
	struct permission_question q = ask(&in);
	assert_int_equal(q.n_reasons, 3);
	assert_string_equal(q.text, "In /home/u/p/src\n"
				    "NOT IN SANDBOX: it can read and change everything you can (--no-sandbox)\n"
				    "It may also write to /data/a\nIt may also write to /data/b\n"
				    "Run command with network access: ls -l?");
	assert_int_equal(q.paths.n, 2);
	assert_true(q.one_time_only);
	assert_string_equal(q.grant_command, "airlock run --yes --network --no-sandbox --allow-write /data/a "
					     "--allow-write /data/b -p /home/u/p -C /home/u/p/src -c 'ls -l'");
	struct airlock_question shown = permission_show(&q);
	assert_int_equal(shown.reasons[0], AIRLOCK_ASK_UNSANDBOXED);
	assert_int_equal(shown.reasons[1], AIRLOCK_ASK_ALLOW_WRITE);
	assert_int_equal(shown.reasons[2], AIRLOCK_ASK_NETWORK);
	assert_int_equal(shown.n_reasons, 3);
	assert_string_equal(shown.paths[1], "/data/b");
	permission_done(&q);
}

static void nothing_to_ask_is_no_reason(void **state)
{
	struct permission_inputs in = {INPUTS};
	struct permission_question q = ask(&in);
	assert_int_equal(q.n_reasons, 0);
	permission_done(&q);
}

static bool is_rememberable(const struct permission_inputs *in)
{
	struct permission_question q = ask(in);
	bool rememberable = !q.one_time_only;
	assert_int_equal(q.n_choices, rememberable ? 6 : 2);
	assert_int_equal(permission_is_choice(&q, AIRLOCK_ALLOW_ALWAYS), rememberable);
	assert_int_equal(permission_is_choice(&q, AIRLOCK_DENY_SESSION), rememberable);
	assert_true(permission_is_choice(&q, AIRLOCK_DENY) && permission_is_choice(&q, AIRLOCK_ALLOW_ONCE));
	assert_false(permission_is_choice(&q, (enum airlock_answer)17));
	permission_done(&q);
	return rememberable;
}

static void only_a_simple_command_without_a_sandbox_may_be_remembered(void **state)
{
	static const char *const paths[] = {"/data", NULL};
	struct permission_inputs in = {INPUTS, .unsandboxed = true};
	assert_true(is_rememberable(&in));
	in.command = "ls -l | wc";
	assert_false(is_rememberable(&in));
	in.command = "ls -l";
	in.network = true;
	assert_false(is_rememberable(&in));
	in.network = false;
	in.extra_writable = paths;
	assert_false(is_rememberable(&in));
	in.unsandboxed = false;
	assert_false(is_rememberable(&in));
}

static char *key_of(const struct permission_inputs *in)
{
	struct permission_question q = ask(in);
	char *key = strdup(q.key);
	permission_done(&q);
	return key;
}

static void whatever_differs_makes_another_key(void **state)
{
	static const char *const joined[] = {"echo", "a b", NULL}, *const apart[] = {"echo", "a", "b", NULL};
	static const char *const with_empty[] = {"echo", "a", "b", "", NULL};
	struct permission_inputs v[] = {
		{INPUTS, .unsandboxed = true}, {INPUTS, .unsandboxed = true}, {INPUTS, .unsandboxed = true},
		{INPUTS, .unsandboxed = true}, {INPUTS, .unsandboxed = true}, {INPUTS, .unsandboxed = true},
		{INPUTS, .unsandboxed = true}, {INPUTS, .unsandboxed = true},
	};
	enum { N = sizeof v / sizeof *v };
	char *keys[N];
	v[1].argv = joined;
	v[2].argv = apart;
	v[3].argv = with_empty;
	v[4].working_dir = "/home/u/p";
	v[5].project = "/home/u/p/src";
	v[6].profile = "permissive";
	v[7].project = "/home/u/p\n";
	for (size_t i = 0; i < N; i++)
		keys[i] = key_of(&v[i]);
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(keys[i], keys[j]);
	v[0].nonce = "another";
	char *again = key_of(&v[0]);
	assert_string_equal(again, keys[0]);
	free(again);
	for (size_t i = 0; i < N; i++)
		free(keys[i]);
}

static void the_question_names_what_a_network_opens(void **state)
{
	struct permission_inputs in = {INPUTS, .network = true, .shares_network = true, .abstract_sockets = true};
	struct permission_question q = ask(&in);
	assert_non_null(strstr(q.text, "localhost), and sockets with abstract names (a session bus, X11)\n"));
	permission_done(&q);
	in.unsandboxed = true; /* which says more than that */
	in.unsandboxed_because = "--no-sandbox";
	q = ask(&in);
	assert_null(strstr(q.text, "localhost"));
	permission_done(&q);
	in = (struct permission_inputs){INPUTS, .network = true};
	q = ask(&in);
	assert_non_null(strstr(q.text, "every public host, but not to this machine"));
	permission_done(&q);
}

static void the_question_names_the_hosts(void **state)
{
	static const char *const hosts[] = {"a.test:443", "*.b.test", NULL};
	struct permission_inputs in = {INPUTS, .hosts = hosts};
	struct permission_question q = ask(&in);
	const char *last = strrchr(q.text, '\n') + 1;
	assert_int_equal(strncmp(last, "Connect to a.test:443, *.b.test for: ", 37), 0);
	assert_int_equal(q.n_reasons, 1);
	assert_int_equal(q.reasons[0], AIRLOCK_ASK_NETWORK);
	assert_true(q.one_time_only);
	assert_non_null(strstr(q.grant_command, " --allow-host a.test:443 --allow-host '*.b.test'"));
	permission_done(&q);
}

static void a_published_port_is_asked_about(void **state)
{
	static const struct permission_port port = {8080, 80};
	struct permission_inputs in = {INPUTS, .ports = &port, .n_ports = 1};
	struct permission_question q = ask(&in);
	assert_non_null(strstr(q.text, "its port 80 at 127.0.0.1:8080\n"));
	assert_int_equal(q.reasons[0], AIRLOCK_ASK_PUBLISH);
	assert_non_null(strstr(q.grant_command, " --publish 8080:80"));
	permission_done(&q);
}

static void a_waiting_connection_is_asked_about(void **state)
{
	struct permission_host in = {"xn--bcher-kva.test", 443, 2, "curl x", "/home/u/p", "/home/u/p", "moderate", "n"};
	struct permission_question q;
	assert_int_equal(permission_about_host(&in, &q, NULL), 0);
	assert_string_equal(q.text, "In /home/u/p\n2 connections wait\n"
				    "Connect to b\xc3\xbc"
				    "cher.test (xn--bcher-kva.test):443 for: curl x?");
	assert_int_equal(q.reasons[0], AIRLOCK_ASK_HOST);
	assert_int_equal(q.n_choices, 2);
	permission_done(&q);
	in.host = "2001:db8::1";
	in.connections = 1;
	assert_int_equal(permission_about_host(&in, &q, NULL), 0);
	assert_non_null(strstr(q.text, "1 connection waits\nConnect to [2001:db8::1]:443 for: curl x?"));
	permission_done(&q);
}

static void hostile_text_stays_in_its_line(void **state)
{
	struct permission_inputs in = {INPUTS, .network = true};
	in.command = "x\x1b[2J\r\nRun ls?\n\xe2\x80\xae\xff\x7f";
	in.working_dir = "/home/u/a\nNOT";
	struct permission_question q = ask(&in);
	assert_string_equal(q.text,
			    "In /home/u/a\\nNOT\n"
			    "It can connect to every public host, but not to this machine or its local network\n"
			    "Run command with network access: "
			    "x\\x1b[2J\\r\\nRun ls?\\n\\u{202e}\\xff\\x7f?");
	permission_done(&q);
}

static struct permission_question ask_long(const char *unit, size_t n, const char *tail)
{
	struct buf b = BUF_INIT;
	for (size_t i = 0; i < n; i++)
		buf_adds(&b, unit);
	buf_adds(&b, tail);
	struct permission_inputs in = {INPUTS, .network = true};
	in.command = buf_str(&b);
	struct permission_question q = ask(&in);
	buf_done(&b);
	return q;
}

static void long_commands_show_head_tail_and_length(void **state)
{
	static const struct {
		const char *unit;
		size_t n;
	} cases[] = {{"x", 5000}, {"\x01", 1100}, {"\xc3\xa9", 900}, {"\xe2\x80\xae", 3000}, {"\xff", 100000}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct permission_question q = ask_long(cases[i].unit, cases[i].n, "; rm -rf tail");
		char length[64];
		(void)snprintf(length, sizeof length, " of %zu bytes not shown ...] ",
			       cases[i].n * strlen(cases[i].unit) + 13);
		assert_non_null(strstr(q.text, length));
		assert_non_null(strstr(q.text, "; rm -rf tail?"));
		assert_true(strlen(q.text) < 1300);
		permission_done(&q);
	}
	struct permission_question q = ask_long("x", 1000, "end");
	assert_null(strstr(q.text, "not shown"));
	permission_done(&q);
}

static void applying_is_a_question_too(void **state)
{
	static const char *const paths[] = {".git/hooks/pre commit", NULL};
	struct permission_apply in = {
		.run = "20261115-1", .sensitive = "a    b\n", .held = "", .paths = paths, .nonce = "n"};
	struct permission_question q;
	assert_int_equal(permission_about_apply(&in, &q, NULL), 0);
	assert_int_equal(q.reasons[0], AIRLOCK_ASK_SENSITIVE_CHANGES);
	assert_true(q.one_time_only);
	assert_string_equal(q.text, "Sensitive, because other programs would run or obey them:\na    b\n"
				    "Apply them too?");
	assert_string_equal(q.grant_command, "airlock apply 20261115-1 '.git/hooks/pre commit'");
	permission_done(&q);

	struct buf lines = BUF_INIT;
	for (int i = 0; i < 1000; i++)
		buf_printf(&lines, "path%d    reason\n", i);
	in.sensitive = buf_str(&lines);
	assert_int_equal(permission_about_apply(&in, &q, NULL), 0);
	assert_non_null(strstr(q.text, "path29 "));
	assert_null(strstr(q.text, "path30 "));
	assert_non_null(strstr(q.text, "\n... and 970 more\nApply them too?"));
	permission_done(&q);
	buf_done(&lines);

	in.sensitive = "c    d\n";
	in.held = "added a\n";
	assert_int_equal(permission_about_apply(&in, &q, NULL), 0);
	assert_int_equal(q.n_reasons, 2);
	assert_int_equal(q.reasons[0], AIRLOCK_ASK_HELD_CHANGES);
	assert_string_equal(q.text, "An agent wants to apply these changes, which wait for a person:\nadded a\n"
				    "Sensitive, because other programs would run or obey them:\nc    d\nApply them?");
	permission_done(&q);
}

static void a_refusal_names_the_way_out_to_people_only(void **state)
{
	struct permission_question q = {.reasons = {AIRLOCK_ASK_NETWORK}, .n_reasons = 1};
	struct airlock_error nobody = {0}, agent = {0};
	assert_int_equal(permission_denied(&q, PERMISSION_NOBODY_TO_ASK, &nobody), AIRLOCK_ERR_DENIED);
	assert_non_null(strstr(nobody.hint, "--yes"));
	assert_int_equal(permission_denied(&q, PERMISSION_AGENT, &agent), AIRLOCK_ERR_DENIED);
	assert_string_equal(agent.hint, "");
	assert_null(strstr(agent.message, "--"));
}

static void answers_have_a_scope(void **state)
{
	assert_string_equal(permission_scope(AIRLOCK_ALLOW_ONCE), "once");
	assert_string_equal(permission_scope(AIRLOCK_DENY), "once");
	assert_string_equal(permission_scope(AIRLOCK_ALLOW_SESSION), "session");
	assert_string_equal(permission_scope(AIRLOCK_DENY_ALWAYS), "always");
	for (int i = AIRLOCK_DENY; i <= AIRLOCK_DENY_ALWAYS; i++) {
		enum airlock_answer again = AIRLOCK_DENY;
		const char *name = airlock_answer_name((enum airlock_answer)i);
		assert_int_equal(permission_allows((enum airlock_answer)i), strncmp(name, "allow", 5) == 0);
		assert_int_equal(airlock_answer_parse(name, &again), 0);
		assert_int_equal(again, i);
	}
	enum airlock_answer none;
	assert_int_equal(airlock_answer_parse("allow", &none), AIRLOCK_ERR_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(network_has_its_sentence_and_is_asked_each_time),
		cmocka_unit_test(all_reasons_are_in_one_question),
		cmocka_unit_test(nothing_to_ask_is_no_reason),
		cmocka_unit_test(only_a_simple_command_without_a_sandbox_may_be_remembered),
		cmocka_unit_test(whatever_differs_makes_another_key),
		cmocka_unit_test(the_question_names_what_a_network_opens),
		cmocka_unit_test(the_question_names_the_hosts),
		cmocka_unit_test(a_published_port_is_asked_about),
		cmocka_unit_test(a_waiting_connection_is_asked_about),
		cmocka_unit_test(hostile_text_stays_in_its_line),
		cmocka_unit_test(long_commands_show_head_tail_and_length),
		cmocka_unit_test(applying_is_a_question_too),
		cmocka_unit_test(a_refusal_names_the_way_out_to_people_only),
		cmocka_unit_test(answers_have_a_scope),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
