// SPDX-License-Identifier: GPL-2.0-or-later
/* The stream from the tool inside Valgrind, and the binary logs: the measured program could have
 * scribbled on either. The first byte chooses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "exact/convert.h"
#include "exact/dumplog.h"
#include "store/write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void log_text(const uint8_t *data, size_t size)
{
	FILE *in = size ? fmemopen((void *)data, size, "r") : NULL, *out = fopen("/dev/null", "w");
	struct err e;
	bool cut;

	if (in && out)
		kelog_text(in, out, &cut, &e);
	if (in)
		fclose(in);
	if (out)
		fclose(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct exact_result res;
	struct err e;
	char path[64], out[64];
	struct store_writer *w;
	int fd;

	if (!size)
		return 0;
	if (data[0] & 1) {
		log_text(data + 1, size - 1);
		return 0;
	}
	fd = memfd_create("stream", 0);
	if (fd < 0 || write(fd, data + 1, size - 1) < 0)
		return 0;
	snprintf(out, sizeof(out), "/tmp/f-exact.%d", (int)getpid());
	w = store_create(out, 0, &e);
	if (w) {
		exact_convert(fd, w, NULL, &res, &e);
		exact_result_release(&res);
		store_close(w, &e);
	}
	unlink(out);
	close(fd);
	return 0;
}
