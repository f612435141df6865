/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/mountinfo.h"

#include <string.h>

bool sys_mount_point(const char *line, char *out, size_t size)
{
	for (int field = 0; field < 4; field++) {
		line = strchr(line, ' ');
		if (!line)
			return false;
		line++;
	}
	size_t n = 0;
	for (; *line && *line != ' ' && n + 1 < size; line++) {
		if (line[0] == '\\' && line[1] && line[2] && line[3]) {
			out[n++] = (char)((line[1] - '0') * 64 + (line[2] - '0') * 8 + (line[3] - '0'));
			line += 3;
		} else
			out[n++] = *line;
	}
	out[n] = '\0';
	return true;
}
