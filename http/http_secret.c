/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "http_secret.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "http_options.h"

int http_secret_new(char ret[65], struct airlock_error *err)
{
	unsigned char random[32];
	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
		return http_fail(err, AIRLOCK_ERR_IO, "getrandom", "no random numbers");
	for (size_t i = 0; i < sizeof random; i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", random[i]);
	return 0;
}

bool http_secret_equal(const char *a, const char *b)
{
	size_t len = strlen(a);
	volatile unsigned char difference = 0;
	if (strlen(b) != len)
		return false;
	for (size_t i = 0; i < len; i++)
		difference |= (unsigned char)(a[i] ^ b[i]);
	return difference == 0;
}

const char *http_bearer(const char *header)
{
	if (!header || strncasecmp(header, "Bearer ", 7) != 0)
		return NULL;
	header += 7;
	return header + strspn(header, " ");
}
