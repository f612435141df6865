/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts of the web server that need no server: routes, names, tokens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "http/http_guard.h"
#include "http/http_options.h"
#include "http/http_route.h"
#include "http/http_secret.h"

static void nothing(struct http_request *r)
{
	(void)r;
}

static const struct http_route some[] = {
	{"GET", "/healthz", nothing},
	{"POST", "/v1/sandboxes", nothing},
	{"GET", "/v1/sandboxes/{}", nothing},
	{"GET", "/v1/sandboxes/{}/files/{*}", nothing},
	{"PUT", "/v1/sandboxes/{}/files/{*}", nothing},
	{0},
};
static const struct http_route *const tables[] = {some, NULL};

static struct http_match find(const char *method, const char *path)
{
	struct http_match m;
	http_route_find(tables, method, path, &m);
	return m;
}

static void done(struct http_match *m)
{
	for (size_t i = 0; i < m->n_params; i++)
		free(m->params[i]);
}

static void test_routes(void **state)
{
	(void)state;
	struct http_match m = find("GET", "/v1/sandboxes/a%20b/files/x/y%2Fz");
	assert_ptr_equal(m.route, &some[3]);
	assert_int_equal(m.n_params, 2);
	assert_string_equal(m.params[0], "a b");
	assert_string_equal(m.params[1], "x/y/z");
	done(&m);
	m = find("PUT", "/v1/sandboxes/a/files/");
	assert_ptr_equal(m.route, &some[4]);
	assert_string_equal(m.params[1], "");
	done(&m);
	m = find("HEAD", "/healthz");
	assert_ptr_equal(m.route, &some[0]);
}

/* An escaped slash separates nothing, and "." and ".." are words like others: what they lead to the file API decides. */
static void test_routes_that_are_none(void **state)
{
	(void)state;
	static const char *const paths[] = {"",	       "healthz",	  "/healthz/",	    "//healthz",
					    "/v1",     "/v1%2Fsandboxes", "/v1/sandboxes/", "/v1/sandboxes/a/other",
					    "/Healthz"};
	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
		struct http_match m = find("GET", paths[i]);
		assert_null(m.route);
		assert_int_equal(m.n_params, 0);
	}
	struct http_match m = find("DELETE", "/healthz");
	assert_null(m.route);
	assert_true(m.is_path_known);
}

static void test_malformed_escapes(void **state)
{
	(void)state;
	static const char *const paths[] = {"/v1/sandboxes/a%00b", "/v1/sandboxes/a%", "/v1/sandboxes/a%2",
					    "/v1/sandboxes/a%zz", "/v1/sandboxes/a/files/%0"};
	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
		struct http_match m = find("GET", paths[i]);
		assert_null(m.route);
		assert_true(m.is_malformed);
		assert_int_equal(m.n_params, 0);
	}
	char *text = http_decode("%41%2f", 6);
	assert_string_equal(text, "A/");
	free(text);
}

static void test_host(void **state)
{
	(void)state;
	assert_true(http_guard_host("127.0.0.1:8080", 8080));
	assert_true(http_guard_host("LocalHost:8080", 8080));
	assert_true(http_guard_host("[::1]:8080", 8080));
	assert_true(http_guard_host("localhost", 80));
	assert_false(http_guard_host(NULL, 8080));
	assert_false(http_guard_host("localhost", 8080));
	assert_false(http_guard_host("localhost:8081", 8080));
	assert_false(http_guard_host("evil.example:8080", 8080));
	assert_false(http_guard_host("localhost.evil.example:8080", 8080));
	assert_false(http_guard_host("127.0.0.1:8080 ", 8080));
}

static void test_origin(void **state)
{
	(void)state;
	assert_true(http_guard_origin(NULL, "localhost:8080", false));
	assert_true(http_guard_origin("http://localhost:8080", "localhost:8080", false));
	assert_true(http_guard_origin("https://a.example", "a.example", true));
	assert_false(http_guard_origin("https://localhost:8080", "localhost:8080", false));
	assert_false(http_guard_origin("http://localhost:8081", "localhost:8080", false));
	assert_false(http_guard_origin("http://evil.example", "localhost:8080", false));
	assert_false(http_guard_origin("null", "localhost:8080", false));
	assert_false(http_guard_origin("http://localhost:8080", NULL, false));
}

static void test_tokens(void **state)
{
	struct airlock_error err = {0};
	char a[65], b[65];
	(void)state;
	assert_int_equal(http_secret_new(a, &err), 0);
	assert_int_equal(http_secret_new(b, &err), 0);
	assert_int_equal(strlen(a), 64);
	assert_true(http_secret_equal(a, a));
	assert_false(http_secret_equal(a, b));
	assert_false(http_secret_equal(a, ""));
	assert_string_equal(http_bearer("Bearer x"), "x");
	assert_string_equal(http_bearer("bearer  x"), "x");
	assert_null(http_bearer("Basic x"));
	assert_null(http_bearer(NULL));
}

static void test_options(void **state)
{
	struct airlock_error err = {0};
	const char *const given[] = {"--listen=a", "--drain=5m", "--single=true", "--listen=b", "--pool=x", NULL};
	char *const *words = (char *const *)given;
	int64_t n = 0;
	(void)state;
	assert_string_equal(http_option(words, "listen"), "b");
	assert_null(http_option(words, "lis"));
	assert_true(http_option_is_set(words, "single"));
	assert_int_equal(http_option_seconds(words, "drain", 30, &n, &err), 0);
	assert_int_equal(n, 300);
	assert_int_equal(http_option_seconds(words, "idle", 30, &n, &err), 0);
	assert_int_equal(n, 30);
	assert_int_equal(http_option_number(words, "pool", 10, 1, &n, &err), AIRLOCK_ERR_USAGE);
	assert_int_equal(http_parse_size("2G", &n), 0);
	assert_int_equal(n, (int64_t)2 << 30);
	assert_int_equal(http_parse_size("9999999999999T", &n), AIRLOCK_ERR_INVALID);
	assert_int_equal(http_parse_size("-1", &n), AIRLOCK_ERR_INVALID);
	assert_int_equal(http_parse_seconds("5x", &n), AIRLOCK_ERR_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_routes),
		cmocka_unit_test(test_routes_that_are_none),
		cmocka_unit_test(test_malformed_escapes),
		cmocka_unit_test(test_host),
		cmocka_unit_test(test_origin),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_options),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
