/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "net/dns_message.h"

#include <string.h>

#define HEADER 12
#define FLAG_RESPONSE 0x8000
#define FLAG_RECURSION_DESIRED 0x0100
#define FLAG_RECURSION_AVAILABLE 0x0080
#define CLASS_IN 1
#define LABEL_MAX 63
#define EDNS_SIZE 1232

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static size_t put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
	return 2;
}

/* The name at `at`, without compression: in a question there is nothing before it that it could point to. Returns the
 * bytes it takes, or 0. */
static size_t read_name(const uint8_t *bytes, size_t len, size_t at, struct dns_query *q)
{
	size_t start = at, out = 0;
	q->name_is_plain = true;
	for (;;) {
		if (at >= len || bytes[at] > LABEL_MAX)
			return 0;
		size_t n = bytes[at++];
		if (n == 0)
			break;
		if (n > len - at || at + n - start >= DNS_NAME_MAX) /* one byte must be left for the root */
			return 0;
		if (out)
			q->name[out++] = '.';
		for (size_t i = 0; i < n; i++) {
			uint8_t c = bytes[at + i];
			if (c <= ' ' || c >= 0x7f || c == '.' || c == '\\')
				q->name_is_plain = false;
			q->name[out++] = (char)(c ? c : '?');
		}
		at += n;
	}
	q->name[out] = '\0';
	return at - start;
}

/* A record after the question: its owner's name may be compressed, but only EDNS matters, whose owner is the root. */
static bool has_edns(const uint8_t *bytes, size_t len, size_t at)
{
	return at + 11 <= len && bytes[at] == 0 && get16(bytes + at + 1) == DNS_OPT;
}

enum dns_reading dns_query_read(const uint8_t *bytes, size_t len, struct dns_query *ret)
{
	memset(ret, 0, sizeof *ret);
	if (len < HEADER)
		return DNS_IGNORE;
	ret->id = get16(bytes);
	ret->flags = get16(bytes + 2);
	if (ret->flags & FLAG_RESPONSE)
		return DNS_IGNORE;
	if ((ret->flags >> 11 & 0xf) != 0)
		return DNS_UNSUPPORTED;
	if (get16(bytes + 4) != 1 || get16(bytes + 6) != 0 || get16(bytes + 8) != 0)
		return DNS_MALFORMED;
	size_t n = read_name(bytes, len, HEADER, ret);
	if (n == 0 || HEADER + n + 4 > len)
		return DNS_MALFORMED;
	ret->question_len = n + 4;
	memcpy(ret->question, bytes + HEADER, ret->question_len);
	ret->type = get16(bytes + HEADER + n);
	ret->class_ = get16(bytes + HEADER + n + 2);
	ret->has_question = true;
	ret->has_edns = get16(bytes + 10) > 0 && has_edns(bytes, len, HEADER + ret->question_len);
	return ret->class_ == CLASS_IN ? DNS_FINE : DNS_UNSUPPORTED;
}

size_t dns_answer_write(const struct dns_query *q, enum dns_code code, const struct net_address *address, uint32_t ttl,
			uint8_t *out, size_t size)
{
	size_t at = 0;
	if (size < HEADER + q->question_len + 16 + 11)
		return 0;
	at += put16(out + at, q->id);
	at += put16(out + at, FLAG_RESPONSE | FLAG_RECURSION_AVAILABLE | (q->flags & FLAG_RECURSION_DESIRED) |
				      (q->flags & 0x7800) | (unsigned)code);
	at += put16(out + at, q->has_question ? 1 : 0);
	at += put16(out + at, address ? 1 : 0);
	at += put16(out + at, 0);
	at += put16(out + at, q->has_edns ? 1 : 0);
	memcpy(out + at, q->question, q->question_len);
	at += q->question_len;
	if (address) {
		at += put16(out + at, 0xc000 | HEADER); /* the name of the question */
		at += put16(out + at, DNS_A);
		at += put16(out + at, CLASS_IN);
		at += put16(out + at, ttl >> 16);
		at += put16(out + at, ttl & 0xffff);
		at += put16(out + at, 4);
		memcpy(out + at, address->bytes, 4);
		at += 4;
	}
	if (q->has_edns) {
		out[at++] = 0;
		at += put16(out + at, DNS_OPT);
		at += put16(out + at, EDNS_SIZE);
		memset(out + at, 0, 6);
		at += 6;
	}
	return at;
}
