/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "backend/backend.h"

#include <string.h>

static const struct backend *const preference[] = {&backend_bubblewrap, NULL};

const struct backend *const *backend_preference(void)
{
	return preference;
}

const struct backend *backend_by_name(const char *name)
{
	for (size_t i = 0; preference[i]; i++)
		if (strcmp(preference[i]->name, name) == 0)
			return preference[i];
	return strcmp(name, backend_passthrough.name) == 0 ? &backend_passthrough : NULL;
}
