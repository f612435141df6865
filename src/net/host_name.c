/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Punycode as RFC 3492 has it. Letters are lowered and full-width forms become ASCII before it; characters that are
 * invisible or change the direction of text make a name invalid. */
#include "net/host_name.h"

#include "base/text.h"

#include <string.h>

#define LABEL_MAX 63
#define BASE 36
#define TMIN 1
#define TMAX 26
#define SKEW 38
#define DAMP 700
#define INITIAL_BIAS 72
#define INITIAL_N 128

static unsigned adapt(unsigned delta, unsigned points, bool first)
{
	unsigned k = 0;
	delta = first ? delta / DAMP : delta / 2;
	delta += delta / points;
	for (; delta > (BASE - TMIN) * TMAX / 2; k += BASE)
		delta /= BASE - TMIN;
	return k + (BASE - TMIN + 1) * delta / (delta + SKEW);
}

static unsigned threshold(unsigned k, unsigned bias)
{
	return k <= bias ? TMIN : k >= bias + TMAX ? TMAX : k - bias;
}

static char digit_of(unsigned d)
{
	return (char)(d < 26 ? 'a' + d : '0' + d - 26);
}

static void add_variable(struct buf *out, unsigned q, unsigned bias)
{
	for (unsigned k = BASE;; k += BASE) {
		unsigned t = threshold(k, bias);
		if (q < t)
			break;
		buf_addc(out, digit_of(t + (q - t) % (BASE - t)));
		q = (q - t) / (BASE - t);
	}
	buf_addc(out, digit_of(q));
}

/* The label is short (LABEL_MAX characters), so no number here can overflow. */
static void add_punycode(struct buf *out, const uint32_t *c, size_t n)
{
	unsigned at = INITIAL_N, delta = 0, bias = INITIAL_BIAS, done = 0, basic = 0;
	for (size_t i = 0; i < n; i++)
		if (c[i] < INITIAL_N) {
			buf_addc(out, (char)c[i]);
			basic++;
		}
	done = basic;
	if (basic)
		buf_addc(out, '-');
	while (done < n) {
		uint32_t next = UINT32_MAX;
		for (size_t i = 0; i < n; i++)
			if (c[i] >= at && c[i] < next)
				next = c[i];
		delta += (next - at) * (done + 1);
		at = next;
		for (size_t i = 0; i < n; i++) {
			if (c[i] < at)
				delta++;
			if (c[i] != at)
				continue;
			add_variable(out, delta, bias);
			bias = adapt(delta, done + 1, done == basic);
			delta = 0;
			done++;
		}
		delta++;
		at++;
	}
}

static int value_of(char c)
{
	if (c >= 'a' && c <= 'z')
		return c - 'a';
	return c >= '0' && c <= '9' ? c - '0' + 26 : -1;
}

/* False: it is not punycode. */
static bool decode_punycode(const char *s, size_t len, uint32_t *out, size_t max, size_t *ret_n)
{
	size_t basic = 0, n = 0;
	for (size_t i = 0; i < len; i++)
		if (s[i] == '-')
			basic = i;
	for (; n < basic && n < max; n++)
		out[n] = (unsigned char)s[n];
	size_t in = basic ? basic + 1 : 0;
	uint64_t at = INITIAL_N, i = 0;
	unsigned bias = INITIAL_BIAS;
	while (in < len) {
		uint64_t old = i, weight = 1;
		for (unsigned k = BASE;; k += BASE) {
			int v = in < len ? value_of(s[in++]) : -1;
			unsigned t = threshold(k, bias);
			if (v < 0 || weight > UINT32_MAX)
				return false;
			i += (uint64_t)v * weight;
			if ((unsigned)v < t)
				break;
			weight *= BASE - t;
		}
		bias = adapt((unsigned)(i - old), (unsigned)n + 1, old == 0);
		at += i / (n + 1);
		i %= n + 1;
		if (n >= max || at > 0x10ffff || (at >= 0xd800 && at < 0xe000))
			return false;
		memmove(out + i + 1, out + i, (n - i) * sizeof *out);
		out[i++] = (uint32_t)at;
		n++;
	}
	*ret_n = n;
	return n > 0;
}

/* ── Characters ── */

/* The letters that have a case and are likely in names; others stay as they are. */
static uint32_t lower(uint32_t c)
{
	if (c >= 0xff01 && c <= 0xff5e) /* full width */
		c -= 0xff01 - '!';
	if (c == 0x3002 || c == 0xff61) /* ideographic full stops */
		return '.';
	if (c >= 'A' && c <= 'Z')
		return c + 32;
	if (c >= 0xc0 && c <= 0xde && c != 0xd7)
		return c + 32;
	if (((c >= 0x100 && c <= 0x137) || (c >= 0x14a && c <= 0x177)) && c != 0x130 && c != 0x131)
		return c | 1;
	if ((c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17e))
		return c + (c & 1);
	if (c >= 0x391 && c <= 0x3a9)
		return c + 32;
	if (c >= 0x410 && c <= 0x42f)
		return c + 32;
	return c >= 0x400 && c <= 0x40f ? c + 80 : c;
}

static bool is_letter(uint32_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* Characters beyond ASCII that no label may have: spaces, controls, what is invisible or turns the text around. */
static bool is_forbidden(uint32_t c)
{
	return c < 0xa1 || c == 0xad || c == 0x34f || c == 0x61c || c == 0x1680 || c == 0x180e ||
	       (c >= 0x2000 && c <= 0x206f) || c == 0x3000 || c == 0x3164 || (c >= 0xe000 && c <= 0xf8ff) ||
	       (c >= 0xfe00 && c <= 0xfe0f) || c == 0xfeff || c >= 0xfff0;
}

static bool add_label(const uint32_t *c, size_t n, struct buf *out)
{
	bool plain = true;
	if (n == 0 || n > LABEL_MAX || c[0] == '-')
		return false;
	for (size_t i = 0; i < n; i++) {
		if (c[i] < 0x80 ? !is_letter(c[i]) : is_forbidden(c[i]) && c[i] < 0x10000)
			return false;
		plain = plain && c[i] < 0x80;
	}
	size_t start = out->len;
	if (plain) {
		for (size_t i = 0; i < n; i++)
			buf_addc(out, (char)c[i]);
	} else {
		buf_adds(out, "xn--");
		add_punycode(out, c, n);
	}
	return out->len - start <= LABEL_MAX;
}

bool host_name_normalize(const char *text, size_t len, struct buf *out)
{
	uint32_t label[LABEL_MAX + 1];
	size_t n = 0, start = out->len;
	if (len == 0 || len > 4 * (HOST_NAME_MAX_BYTES + 1))
		return false;
	for (size_t i = 0; i < len;) {
		size_t bytes = text_utf8_length((const unsigned char *)text + i, len - i);
		uint32_t c = bytes ? lower(text_utf8_decode((const unsigned char *)text + i, bytes)) : 0;
		i += bytes;
		if (!bytes || n > LABEL_MAX)
			return false;
		if (c != '.') {
			label[n++] = c;
			continue;
		}
		if (!add_label(label, n, out))
			return false;
		if (i < len)
			buf_addc(out, '.');
		n = 0;
	}
	if (n > 0 && !add_label(label, n, out))
		return false;
	return !out->failed && out->len > start && out->len - start <= HOST_NAME_MAX_BYTES;
}

static void add_own_letters(struct buf *out, const char *label, size_t len)
{
	uint32_t c[LABEL_MAX];
	size_t n = 0;
	_cleanup_buf_ struct buf text = BUF_INIT;
	if (len <= 4 || memcmp(label, "xn--", 4) != 0 || !decode_punycode(label + 4, len - 4, c, LABEL_MAX, &n)) {
		buf_add(out, label, len);
		return;
	}
	for (size_t i = 0; i < n; i++)
		text_add_character(&text, c[i]);
	text_add_escaped(out, buf_str(&text), text.len);
}

void host_name_add_shown(struct buf *out, const char *name)
{
	_cleanup_buf_ struct buf own = BUF_INIT;
	for (const char *at = name; *at;) {
		size_t len = strcspn(at, ".");
		add_own_letters(&own, at, len);
		at += len;
		if (*at)
			buf_addc(&own, *at++);
	}
	buf_adds(out, buf_str(&own));
	if (strcmp(buf_str(&own), name) != 0)
		buf_printf(out, " (%s)", name);
}
