/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `airlock hook AGENT`: called by the agent, not by a person. For all agents a hook that ends with 2 blocks the call, and
 * any other failure lets it pass: whatever goes wrong here must end with 2. */
#include "commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hook.h"
#include "input.h"
#include "output.h"

#define BLOCKED 2

static int read_input(char **ret, size_t *ret_len, struct airlock_error *err)
{
	char *text = malloc(HOOK_MAX_BYTES + 1);
	size_t len = 0;
	ssize_t n = text ? 1 : -1;
	while (n > 0 && len <= HOOK_MAX_BYTES) {
		n = input_take(STDIN_FILENO, text + len, HOOK_MAX_BYTES + 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	*ret = text;
	*ret_len = len;
	if (!text)
		return output_fail(err, AIRLOCK_ERR_INTERNAL, NULL, "out of memory");
	if (n < 0)
		return output_fail(err, AIRLOCK_ERR_IO, "standard input", "cannot read standard input: %s",
				   strerror(errno));
	return len <= HOOK_MAX_BYTES ? 0
				     : output_fail(err, AIRLOCK_ERR_LIMIT, "standard input", "the call is too long");
}

/* Not through stdio: an answer that cannot be written must end with our status, not with that of a lost result. */
static int write_answer(const char *text, struct airlock_error *err)
{
	if (output_write(STDOUT_FILENO, text, strlen(text)))
		return 0;
	return output_fail(err, AIRLOCK_ERR_IO, "standard output", "cannot write the answer: %s", strerror(errno));
}

static int answer(const struct agent *a, struct airlock_error *err)
{
	char *input = NULL, *text = NULL, *program = agent_program();
	size_t len = 0;
	int rc = program ? read_input(&input, &len, err)
			 : output_fail(err, AIRLOCK_ERR_IO, "/proc/self/exe", "cannot find out where airlock is");
	if (rc == 0)
		rc = hook_answer(a, program, input, len, &text, err);
	if (rc == 0)
		rc = write_answer(text, err);
	free(program);
	free(input);
	free(text);
	return rc;
}

int cmd_hook(const struct invocation *inv, struct airlock_error *err)
{
	const struct agent *a = agent_find(inv->operand);
	if (!a) {
		(void)output_fail(err, AIRLOCK_ERR_USAGE, inv->operand, "airlock knows no agent '%s'", inv->operand);
		return output_hint(err, "it knows: " AGENT_NAMES);
	}
	if (answer(a, err) == 0)
		return 0;
	output_error(err);
	return BLOCKED;
}
