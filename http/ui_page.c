/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files of the page itself. They hold no data, so nobody needs a token for them. */
#include "ui_state.h"

#include <string.h>

#include "ui_files.h"

static void send_file(struct http_request *r, const char *name)
{
	if (!ui_check_peer(r))
		return;
	for (const struct ui_file *f = ui_files; f->name; f++)
		if (strcmp(f->name, name) == 0) {
			http_reply_bytes(r, 200, f->type, f->bytes, f->size);
			return;
		}
	http_reply_error(r, 404, "not_found", "there is no such file");
}

static void start(struct http_request *r)
{
	send_file(r, "index.html");
}

static void part(struct http_request *r)
{
	send_file(r, http_param(r, 0));
}

const struct http_route ui_page_routes[] = {
	{"GET", "/", start, HTTP_NO_TOKEN},
	{"GET", "/page/{}", part, HTTP_NO_TOKEN},
	{0},
};
