/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"

#include <stdlib.h>
#include <string.h>

bool path_is_normal(const char *path)
{
	if (path[0] != '/')
		return false;
	if (path[1] == '\0')
		return true;
	for (const char *p = path; *p;) {
		const char *name = p + 1;
		size_t len = (size_t)(strchrnul(name, '/') - name);
		if (len == 0 || (len == 1 && name[0] == '.') || (len == 2 && name[0] == '.' && name[1] == '.'))
			return false;
		p = name + len;
	}
	return true;
}

static void drop_last(struct buf *b)
{
	while (b->len > 0 && b->data[b->len - 1] != '/')
		b->len--;
	if (b->len > 0)
		b->len--;
	if (b->data)
		b->data[b->len] = '\0';
}

static void append_components(struct buf *out, const char *path)
{
	for (const char *p = path; *p;) {
		p += strspn(p, "/");
		size_t len = strcspn(p, "/");
		if (len == 2 && p[0] == '.' && p[1] == '.')
			drop_last(out);
		else if (len > 0 && !(len == 1 && p[0] == '.')) {
			buf_addc(out, '/');
			buf_add(out, p, len);
		}
		p += len;
	}
}

char *path_normalize(const char *base, const char *path)
{
	struct buf out = BUF_INIT;
	if (path[0] != '/' && base)
		append_components(&out, base);
	append_components(&out, path);
	if (out.len == 0)
		buf_addc(&out, '/');
	return buf_take(&out);
}

char *path_join(const char *dir, const char *name)
{
	size_t n_dir = strlen(dir), n_name = strlen(name);
	size_t slash = n_dir == 0 || dir[n_dir - 1] != '/';
	char *out = malloc(n_dir + slash + n_name + 1);
	if (!out)
		return NULL;
	memcpy(out, dir, n_dir); /* NOLINT(bugprone-not-null-terminated-result): the name follows */
	if (slash)
		out[n_dir] = '/';
	memcpy(out + n_dir + slash, name, n_name + 1);
	return out;
}

/* Most paths that are compared differ early: so no function is called for each. */
const char *path_rest(const char *path, const char *dir)
{
	size_t n = 0;
	while (dir[n] && path[n] == dir[n])
		n++;
	if (dir[n])
		return NULL;
	if (n == 1 && dir[0] == '/')
		return path + 1;
	if (path[n] == '\0')
		return path + n;
	return path[n] == '/' ? path + n + 1 : NULL;
}

bool path_is_beneath(const char *path, const char *dir)
{
	return path_rest(path, dir) != NULL;
}

const char *path_basename(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

char *path_dirname(const char *path)
{
	const char *slash = strrchr(path, '/');
	if (!slash)
		return strdup(".");
	return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

int path_compare(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	unsigned char x = *a == '/' ? 1 : (unsigned char)*a, y = *b == '/' ? 1 : (unsigned char)*b;
	/* A byte 0x01 in a name still sorts above the separator. */
	int ax = *a && *a != '/' ? x + 1 : x, by = *b && *b != '/' ? y + 1 : y;
	return (ax > by) - (ax < by);
}
