/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any bytes as an agent's tool call: an answer is one line of JSON, and one that lets a command run has it in the sandbox. */
#include "hook.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROGRAM "/usr/bin/airlock"

static void demand(int holds)
{
	if (!holds)
		__builtin_trap();
}

static void check_command(json_t *input)
{
	const char *command = json_string_value(json_object_get(input, "command"));
	demand(command && strncmp(command, "'" PROGRAM "' run -C . -c '", 27) == 0);
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
		char *answer = NULL;
		if (hook_answer(a, PROGRAM, (const char *)data, size, &answer, &err) == 0)
			check_answer(answer);
		else
			demand(err.code < 0 && err.message[0]);
		free(answer);
	}
	return 0;
}
