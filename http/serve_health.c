/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For whoever watches the server: is it alive, may it get more work, what has it done? */
#include "serve_state.h"

#include <stdlib.h>
#include <string.h>

static void healthz(struct http_request *r)
{
	http_reply_bytes(r, 200, "text/plain", "ok\n", 3);
}

/* A proxy sends nothing new to a server that is not ready. */
static void readyz(struct http_request *r)
{
	const struct serve *s = http_data(r);
	if (s->is_draining)
		http_reply_bytes(r, 503, "text/plain", "draining\n", 9);
	else
		http_reply_bytes(r, 200, "text/plain", "ok\n", 3);
}

static void metrics(struct http_request *r)
{
	struct serve *s = http_data(r);
	struct serve_gauges g = {.commands_running = s->n_running,
				 .pool = s->pool_size,
				 .is_draining = s->is_draining,
				 .requests_in_flight = http_server_in_flight(s->server),
				 .connections = http_server_connections(s->server)};
	for (const struct serve_sandbox *b = s->sandboxes; b; b = b->next)
		g.sandboxes_awake += b->is_awake;
	for (size_t i = 0; i < s->tokens.n; i++)
		g.tokens += !s->tokens.items[i]->is_gone;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	if (out) {
		serve_metrics_print(out, &s->metrics, &g);
		(void)fclose(out);
	}
	if (text)
		http_reply_bytes(r, 200, "text/plain; version=0.0.4", text, len);
	else
		http_reply_error(r, 503, "internal", "out of memory");
	free(text);
}

const struct http_route serve_health_routes[] = {
	{"GET", "/healthz", healthz, HTTP_NO_TOKEN | HTTP_ANY_HOST},
	{"GET", "/readyz", readyz, HTTP_NO_TOKEN | HTTP_ANY_HOST},
	{"GET", "/metrics", metrics},
	{0},
};

/* With --open-metrics. */
const struct http_route serve_open_metrics_routes[] = {
	{"GET", "/metrics", metrics, HTTP_NO_TOKEN},
	{0},
};
