/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Messages of the domain name system (RFC 1035, RFC 6891), as far as a server needs them that answers one question with
 * at most one address. Reading is strict: the sender is the command, and what is not a plain query is answered with an
 * error or not at all.
 *
 *   struct dns_query q;
 *   if (dns_query_read(bytes, len, &q) == DNS_IGNORE) return;
 *   len = dns_answer_write(&q, …, out, sizeof out);
 */
#pragma once

#include "net/net_address.h"

#define DNS_NAME_MAX 255 /* bytes on the wire */
#define DNS_ANSWER_MAX 512

enum dns_type { DNS_A = 1, DNS_AAAA = 28, DNS_OPT = 41 };

/* What to do with a message. */
enum dns_reading {
	DNS_FINE,
	DNS_IGNORE,	 /* too short, or itself an answer: nothing is sent back */
	DNS_MALFORMED,	 /* answer with format error */
	DNS_UNSUPPORTED, /* another operation than a query: answer with not implemented */
};

struct dns_query {
	uint16_t id, flags;
	uint16_t type, class_;
	bool has_question;
	bool has_edns;
	char name[DNS_NAME_MAX + 1];	    /* labels with dots between them, as they came; "" is the root */
	bool name_is_plain;		    /* no byte in it that could be mistaken for a dot, or is unprintable */
	uint8_t question[DNS_NAME_MAX + 4]; /* as it came, to be sent back */
	size_t question_len;
};

enum dns_reading dns_query_read(const uint8_t *bytes, size_t len, struct dns_query *ret);

enum dns_code { DNS_OK = 0, DNS_FORMAT_ERROR = 1, DNS_FAILURE = 2, DNS_NO_NAME = 3, DNS_NOT_IMPLEMENTED = 4 };

/* Writes an answer; address: of an A record, or NULL. Returns its length, or 0 if it does not fit. */
size_t dns_answer_write(const struct dns_query *q, enum dns_code code, const struct net_address *address, uint32_t ttl,
			uint8_t *out, size_t size);
