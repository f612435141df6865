/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A query from the command: whatever its bytes are, reading stays inside them and the answer inside its buffer. */
#include "net/dns_message.h"
#include "net/host_name.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds)
{
	if (!holds)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dns_query q;
	struct net_address a = {.family = 4, .bytes = {198, 18, 0, 1}};
	uint8_t out[DNS_ANSWER_MAX];
	enum dns_reading reading = dns_query_read(data, size, &q);
	if (reading == DNS_IGNORE)
		return 0;
	size_t n = dns_answer_write(&q, reading == DNS_FINE ? DNS_OK : DNS_FORMAT_ERROR,
				    reading == DNS_FINE ? &a : NULL, 30, out, sizeof out);
	demand(n >= 12 && n <= sizeof out);
	struct dns_query own;
	demand(dns_query_read(out, n, &own) == DNS_IGNORE); /* our answer is never taken for a query */
	demand(strlen(q.name) <= DNS_NAME_MAX);
	struct buf name = BUF_INIT;
	if (host_name_normalize(q.name, strlen(q.name), &name))
		demand(name.len <= HOST_NAME_MAX_BYTES && strlen(buf_str(&name)) == name.len);
	buf_done(&name);
	return 0;
}
