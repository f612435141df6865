/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Recognises values that are secrets, whatever the variable is called: an address with a password in it
 * (`postgres://user:secret@host`, `https://token@host`) and a private key. Uses a few string searches only, because
 * every start of a command runs this. */
#include "policy/policy.h"

#include <string.h>

/* Characters that end an address inside a longer text. */
#define ENDS_ADDRESS " \t\r\n\"'<>`|,;"

static bool all_digits(const char *s, size_t len)
{
	size_t i = 0;
	while (i < len && s[i] >= '0' && s[i] <= '9')
		i++;
	return i == len;
}

/* True if the scheme before "://" is http or https, where a user name without a password is a token; in ssh://git@host
 * it is not. */
static bool is_web(const char *value, const char *colon)
{
	size_t before = (size_t)(colon - value);
	return (before >= 4 && strncasecmp(colon - 4, "http", 4) == 0) ||
	       (before >= 5 && strncasecmp(colon - 5, "https", 5) == 0);
}

/* `rest` follows "://". A slash normally ends the part before the '@', but people paste passwords without escaping:
 * "user:pa/ss@host" is recognised because what follows the colon is not a port. */
static bool has_password(const char *rest, bool web)
{
	size_t len = strcspn(rest, ENDS_ADDRESS), authority = strcspn(rest, ENDS_ADDRESS "/?#");
	const char *at = memchr(rest, '@', len);
	if (!at || *rest == '[')
		return false;
	const char *colon = memchr(rest, ':', (size_t)(at - rest));
	bool inside = (size_t)(at - rest) < authority;
	if (inside)
		return colon ? at - colon > 1 : web && at > rest;
	return colon && (size_t)(colon - rest) < authority &&
	       !all_digits(colon + 1, authority - (size_t)(colon - rest) - 1);
}

bool policy_env_value_is_secret(const char *value)
{
	for (const char *p = value; (p = strstr(p, "://")); p += 3)
		if (has_password(p + 3, is_web(value, p)))
			return true;
	const char *pem = strstr(value, "-----BEGIN ");
	return pem && strstr(pem, "PRIVATE KEY");
}
