/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run_result.h"

#include <stdbool.h>
#include <string.h>

#define FILES_MAX 30 /* list_changes has all of them */

static const char *const brief_members[] = {"run",    "status",	      "exit_code",    "signal",	   "stdout",
					    "stderr", "stdout_bytes", "stderr_bytes", "truncated", "error"};
static const char *const file_members[] = {"path", "path_base64", "kind", "state", "reason"};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static json_t *some_members(json_t *of, const char *const *names, size_t n)
{
	json_t *some = json_object();
	for (size_t i = 0; i < n; i++) {
		json_t *value = json_object_get(of, names[i]);
		if (value && json_object_set(some, names[i], value) < 0) {
			json_decref(some);
			return NULL;
		}
	}
	return some;
}

static json_t *first_files(json_t *files)
{
	json_t *first = json_array();
	for (size_t i = 0; i < json_array_size(files) && i < FILES_MAX; i++)
		if (json_array_append_new(
			    first, some_members(json_array_get(files, i), file_members, COUNT(file_members))) < 0) {
			json_decref(first);
			return NULL;
		}
	return first;
}

static json_t *brief_changes(json_t *changes)
{
	json_t *files = json_object_get(changes, "files");
	const char *state = json_string_value(json_object_get(changes, "state"));
	return json_pack("{s:s, s:I, s:o}", "state", state ? state : "none", "count",
			 (json_int_t)json_array_size(files), "files", first_files(files));
}

json_t *run_result_brief(json_t *whole, json_t *notices)
{
	json_t *brief = some_members(whole, brief_members, COUNT(brief_members));
	if (json_object_set_new(brief, "changes", brief_changes(json_object_get(whole, "changes"))) == 0 &&
	    json_object_set_new(brief, "notices", notices ? json_incref(notices) : json_array()) == 0)
		return brief;
	json_decref(brief);
	return NULL;
}

static bool is_brief(const char *name)
{
	if (strcmp(name, "changes") == 0)
		return true;
	for (size_t i = 0; i < COUNT(brief_members); i++)
		if (strcmp(name, brief_members[i]) == 0)
			return true;
	return false;
}

void run_result_add_rest(json_t *result, json_t *whole)
{
	json_t *rest = json_object(), *value;
	const char *name;
	json_object_foreach(whole, name, value)
	{
		if (!is_brief(name))
			(void)json_object_set(rest, name, value);
	}
	(void)json_object_set_new(result, "_meta", json_pack("{s:o}", "airlock/result", rest));
}
