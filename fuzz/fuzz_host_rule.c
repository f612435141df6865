/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A rule about hosts: what is accepted can be written, read back and means the same; it matches what it covers. */
#include "net/net_decide.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds)
{
	if (!holds)
		__builtin_trap();
}

static bool has_other_letters(const struct host_rule *r)
{
	return r->kind != HOST_RULE_ADDRESS && strstr(r->name, "xn--");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct host_rule r, again;
	memcpy(text, data, size);
	text[size] = '\0';
	if (host_rule_parse(text, HOST_RULE_DENY, &r) == HOST_RULE_FINE) {
		struct buf shown = BUF_INIT, name = BUF_INIT;
		host_rule_add(&shown, &r);
		if (!has_other_letters(&r)) { /* those are shown twice */
			demand(host_rule_parse(buf_str(&shown), HOST_RULE_DENY, &again) == HOST_RULE_FINE);
			demand(host_rule_covers(&r, &again) && host_rule_covers(&again, &r));
		}
		if (r.kind != HOST_RULE_ADDRESS) {
			demand(host_name_normalize(r.name, strlen(r.name), &name) &&
			       strcmp(buf_str(&name), r.name) == 0);
			demand(host_rule_matches(&r, r.name, NULL, r.port) == (r.kind == HOST_RULE_NAME));
		} else {
			demand(host_rule_matches(&r, NULL, &r.address, r.port));
		}
		buf_done(&shown);
		buf_done(&name);
	}
	free(text);
	return 0;
}
