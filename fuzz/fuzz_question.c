/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The question about any command in any directory: nothing in it may act on a terminal, add a line, hide the sentence,
 * or make it longer than a screen. The input is four strings with NUL between them, after a byte of flags. */
#include "base/text.h"
#include "permission/permission.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds)
{
	if (!holds)
		__builtin_trap();
}

static const char *next_string(const char **at, const char *end)
{
	const char *s = *at;
	*at = s < end ? s + strlen(s) + 1 : end;
	return s < end ? s : "";
}

static void check_text(const char *text, size_t lines)
{
	size_t found = 1;
	demand(text_is_utf8(text, strlen(text)));
	for (const char *c = text; *c; c++) {
		demand((unsigned char)*c >= 0x20 || *c == '\n');
		demand(*c != 0x7f);
		found += *c == '\n';
	}
	demand(found == lines && strlen(text) < lines * 1400);
	const char *last = strrchr(text, '\n');
	demand(last && strncmp(last + 1, "Run command with", 16) == 0 && text[strlen(text) - 1] == '?');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *copy = calloc(1, size + 1);
	if (!copy || size < 1)
		return 0;
	memcpy(copy, data, size);
	const char *at = copy + 1, *end = copy + size;
	const char *command = next_string(&at, end), *dir = next_string(&at, end), *path = next_string(&at, end);
	const char *because = next_string(&at, end);
	const char *const paths[] = {path, NULL}, *const argv[] = {command, NULL};
	bool unsandboxed = data[0] & 1, network = data[0] & 2, writes = data[0] & 4 || !(unsandboxed || network);
	struct permission_inputs in = {.network = network,
				       .unsandboxed = unsandboxed,
				       .unsandboxed_because = because,
				       .extra_writable = writes ? paths : NULL,
				       .command = command,
				       .argv = argv,
				       .working_dir = dir,
				       .project = dir,
				       .profile = "moderate",
				       .nonce = "nonce"};
	struct permission_question q;
	if (permission_collect(&in, &q, NULL) < 0)
		return 0;
	demand(q.n_reasons == (size_t)network + unsandboxed + writes);
	demand(q.one_time_only || (q.n_reasons == 1 && unsandboxed && q.shape == COMMAND_SIMPLE));
	if (strncmp(q.text, "In ", 3) == 0 && !network && !unsandboxed)
		demand(strstr(q.text, "extra writable paths: ") != NULL);
	/* The sentence about a run without a sandbox has other words. */
	char *sentence = strstr(q.text, "\nRun command without a sandbox: ");
	if (sentence)
		memcpy(sentence + 1, "Run command with   ", 16);
	check_text(q.text, 2 + (size_t)unsandboxed + writes);
	permission_done(&q);
	return 0;
}
