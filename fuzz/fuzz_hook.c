/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any bytes as an agent's tool call: an answer is one line of JSON, and one that lets a command run has it in the sandbox. */
#include "hook.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROGRAM "/usr/bin/airlock"
#define PROJECT "/home/u/p"
#define START "'" PROGRAM "' run --agent hook:"

static void demand(int holds)
{
	if (!holds)
		__builtin_trap();
}

static void check_command(json_t *input)
{
	const char *command = json_string_value(json_object_get(input, "command"));
	demand(command && strncmp(command, START, sizeof START - 1) == 0 &&
	       strstr(command, "-p '" PROJECT "' -C . -c '") != NULL);
}

static void check_answer(const char *text)
{
	json_t *answer = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	demand(json_is_object(answer) && strchr(text, '\n') == text + strlen(text) - 1);
	json_t *specific = json_object_get(answer, "hookSpecificOutput");
	json_t *inputs[] = {json_object_get(specific, "updatedInput"), json_object_get(specific, "tool_input"),
			    json_object_get(answer, "updated_input"), json_object_get(answer, "modifiedArgs")};
	for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
		if (inputs[i])
			check_command(inputs[i]);
	json_decref(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (const struct agent *a = agents; a->name; a++) {
		struct airlock_error err = {0};
		struct hook_call *call = NULL;
		char *answer = NULL;
		int rc = hook_read(a, (const char *)data, size, &call, &err);
		if (rc == 0)
			(void)hook_start_dir(call);
		if (rc == 0)
			rc = hook_answer(call, &(struct hook_place){PROGRAM, PROJECT}, &answer, &err);
		if (rc == 0)
			check_answer(answer);
		else
			demand(err.code < 0 && err.message[0]);
		free(answer);
		hook_free(call);
	}
	return 0;
}
