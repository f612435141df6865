/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* airlock-http: what `airlock serve` and `airlock ui` become. A program of its own, so that `airlock run` does not carry a web server. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "http_options.h"
#include "http_programs.h"

static int report(const struct airlock_error *err)
{
	char *text = airlock_text_inert(err->message, strlen(err->message));
	char *hint = airlock_text_inert(err->hint, strlen(err->hint));
	(void)fprintf(stderr, "airlock: %s\n", text ? text : "out of memory");
	if (hint && *hint)
		(void)fprintf(stderr, "airlock: %s\n", hint);
	airlock_free(text);
	airlock_free(hint);
	return err->code == AIRLOCK_ERR_USAGE ? 2 : 125;
}

int main(int argc, char **argv)
{
	struct airlock_error err = {0};
	int rc = -1;
	(void)signal(SIGPIPE, SIG_IGN);
	if (argc >= 2 && strcmp(argv[1], "serve") == 0)
		rc = serve_main(argv + 2, &err);
	else if (argc >= 2 && strcmp(argv[1], "ui") == 0)
		rc = ui_main(argv + 2, &err);
	else
		(void)http_fail(&err, AIRLOCK_ERR_USAGE, "airlock-http", "start this with: airlock serve, airlock ui");
	return rc < 0 ? report(&err) : rc;
}
