/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent_sandbox.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value of a key at the top of a TOML file, up to the end of the line or a comment. The caller frees; NULL: it is not there. */
static char *toml_value(const char *text, const char *key)
{
	size_t n = strlen(key);
	for (const char *line = text; line && *line && *line != '[';
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		const char *at = line + strspn(line, " \t");
		if (*at == '[')
			break;
		if (strncmp(at, key, n) != 0)
			continue;
		at += n + strspn(at + n, " \t");
		if (*at != '=')
			continue;
		at++;
		at += strspn(at, " \t");
		size_t len = strcspn(at, "\r\n#");
		while (len > 0 && (at[len - 1] == ' ' || at[len - 1] == '\t'))
			len--;
		return strndup(at, len);
	}
	return NULL;
}

/* The same for a member of a JSON file, as JSON. */
static char *json_member(const char *text, const char *path)
{
	json_t *root = json_loads(text, 0, NULL), *at = root;
	char name[48];
	while (at && *path) {
		size_t len = strcspn(path, "/");
		(void)snprintf(name, sizeof name, "%.*s", (int)len, path);
		at = json_object_get(at, name);
		path += len + (path[len] == '/');
	}
	char *value = at ? json_dumps(at, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
	json_decref(root);
	return value;
}

static bool is_toml(const struct agent *a)
{
	size_t n = strlen(a->sandbox_file);
	return n > 5 && strcmp(a->sandbox_file + n - 5, ".toml") == 0;
}

/* As Codex writes strings: with either kind of quotes. */
static bool is_off(const struct agent *a, const char *value)
{
	size_t n = strlen(value);
	if (strcmp(value, a->sandbox_off) == 0)
		return true;
	return is_toml(a) && n == strlen(a->sandbox_off) && n > 2 && value[0] == '\'' && value[n - 1] == '\'' &&
	       strncmp(value + 1, a->sandbox_off + 1, n - 2) == 0;
}

char *agent_sandbox_advice(const struct agent *a, const char *path, const char *text)
{
	char *advice = NULL, *value = NULL;
	if (!a->sandbox_file)
		return NULL;
	if (text)
		value = is_toml(a) ? toml_value(text, a->sandbox_member) : json_member(text, a->sandbox_member);
	bool is_on = value ? !is_off(a, value) : a->is_sandbox_default;
	if (is_on &&
	    asprintf(&advice, "its own sandbox is on, which does not work together with airlock: set %s %s %s in %s",
		     a->sandbox_member, is_toml(a) ? "=" : "to", a->sandbox_off, path) < 0)
		advice = NULL;
	free(value);
	return advice;
}

const char *agent_sandbox_around(void)
{
	static const char *const marks[][2] = {{"CODEX_SANDBOX", "Codex"},
					       {"CODEX_SANDBOX_NETWORK_DISABLED", "Codex"},
					       {"SANDBOX_RUNTIME", "Claude Code"}};
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (getenv(marks[i][0]))
			return marks[i][1];
	return NULL;
}
