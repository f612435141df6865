/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "commands.h"

#include <string.h>

#include "completion.h"
#include "output.h"

int cmd_completion(const struct invocation *inv, struct airlock_error *err)
{
	static const struct {
		const char *name;
		void (*print)(void);
	} shells[] = {{"bash", completion_bash}, {"zsh", completion_zsh}, {"fish", completion_fish}};

	for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
		if (strcmp(inv->operand, shells[i].name) == 0) {
			shells[i].print();
			return 0;
		}
	(void)output_fail(err, AIRLOCK_ERR_USAGE, inv->operand, "unknown shell '%s'; expected one of: bash, zsh, fish",
			  inv->operand);
	return output_hint(err, "see airlock completion --help");
}
