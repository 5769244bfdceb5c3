// SPDX-License-Identifier: GPL-2.0-or-later
/* This machine in words: processor, cores, kernel. Stands in every entry of a catalogue measured here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "offload/calib.h"

char *calib_machine(void)
{
	char line[256], model[160] = "unknown processor", *out = NULL;
	FILE *f = fopen("/proc/cpuinfo", "re");
	struct utsname u;

	while (f && fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':');

		if (strncmp(line, "model name", 10) || !colon)
			continue;
		colon[strcspn(colon, "\n")] = 0;
		snprintf(model, sizeof(model), "%s", colon + 2);
		break;
	}
	if (f)
		fclose(f);
	uname(&u);
	if (asprintf(&out, "%s, %ld cores, %s %s", model, sysconf(_SC_NPROCESSORS_ONLN), u.sysname, u.release) < 0)
		return NULL;
	return out;
}
