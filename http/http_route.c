/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "http_route.h"

#include <stdlib.h>
#include <string.h>

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

char *http_decode(const char *text, size_t len)
{
	char *out = malloc(len + 1);
	size_t n = 0;
	for (size_t i = 0; out && i < len; i++) {
		int value = (unsigned char)text[i];
		if (text[i] == '%') {
			int high = len - i > 2 ? hex(text[i + 1]) : -1, low = len - i > 2 ? hex(text[i + 2]) : -1;
			value = high < 0 || low < 0 ? 0 : high * 16 + low;
			i += 2;
		}
		if (value == 0) {
			free(out);
			return NULL;
		}
		out[n++] = (char)value;
	}
	if (out)
		out[n] = '\0';
	return out;
}

static bool take_param(struct http_match *m, const char *text, size_t len)
{
	char *value = http_decode(text, len);
	if (!value)
		m->is_malformed = true;
	else
		m->params[m->n_params++] = value;
	return value != NULL;
}

static void drop_params(struct http_match *m)
{
	for (size_t i = 0; i < m->n_params; i++)
		free(m->params[i]);
	m->n_params = 0;
}

/* Both begin behind a slash. */
static bool matches(const char *pattern, const char *path, struct http_match *m)
{
	for (;;) {
		if (strcmp(pattern, "{*}") == 0)
			return take_param(m, path, strlen(path));
		size_t want = strcspn(pattern, "/"), have = strcspn(path, "/");
		bool is_param = want == 2 && strncmp(pattern, "{}", 2) == 0;
		if (is_param ? have == 0 || !take_param(m, path, have)
			     : want != have || strncmp(pattern, path, have) != 0)
			return false;
		pattern += want;
		path += have;
		if (*path == '\0' && strcmp(pattern, "/{*}") == 0) /* "/list" is "/list/" */
			return take_param(m, "", 0);
		if (*pattern == '\0' || *path == '\0')
			return *pattern == *path;
		pattern++;
		path++;
	}
}

static bool is_method(const struct http_route *route, const char *method)
{
	return strcmp(route->method, method) == 0 || (strcmp(route->method, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

void http_route_find(const struct http_route *const *tables, const char *method, const char *path,
		     struct http_match *ret)
{
	*ret = (struct http_match){0};
	for (; *tables && path[0] == '/'; tables++)
		for (const struct http_route *route = *tables; route->method; route++) {
			if (matches(route->pattern + 1, path + 1, ret)) {
				ret->is_path_known = true;
				if (is_method(route, method)) {
					ret->route = route;
					return;
				}
			}
			drop_params(ret);
		}
}
