// SPDX-License-Identifier: GPL-2.0-or-later
/* What a probe says of its feature. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "record/features.h"

void feature_set(struct feature *f, enum feature_state state, const char *fmt, ...)
{
	va_list ap;

	f->state = state;
	va_start(ap, fmt);
	vsnprintf(f->detail, sizeof(f->detail), fmt, ap);
	va_end(ap);
}

void feature_means(struct feature *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->means, sizeof(f->means), fmt, ap);
	va_end(ap);
}

void feature_enable(struct feature *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->enable, sizeof(f->enable), fmt, ap);
	va_end(ap);
}

bool feature_line(const char *path, char *out, size_t size)
{
	FILE *f = fopen(path, "re");
	bool ok;

	if (!f)
		return false;
	ok = fgets(out, (int)size, f) != NULL;
	fclose(f);
	if (ok)
		out[strcspn(out, "\n")] = 0;
	return ok;
}

void feature_enable_rights(struct feature *f, const char *caps)
{
	char self[256];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (!geteuid()) {
		/* root without the capability: a container took it */
		feature_enable(
			f,
			"start the container with --cap-add BPF --cap-add PERFMON --cap-add SYS_PTRACE --security-opt seccomp=unconfined");
		return;
	}
	if (n <= 0) {
		feature_enable(f, "run accperf as root");
		return;
	}
	self[n] = 0;
	feature_enable(
		f,
		"sudo chgrp GROUP %s && sudo chmod 0750 %s && sudo setcap %s+ep %s   (its members may then look into every "
		"process; or run accperf with sudo)",
		self, self, caps, self);
}
