// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hostile recording of perf's through all of `accperf import`: decoding, order, address spaces, stacks, names, the
 * profile. What was imported without an error is a profile that the readers take as whole, though a squeezed recording
 * of equal samples holds more of them than it has bytes.
 */
/*
 * harm: a foreign recording that is damaged
 * harm: a squeezed recording of equal samples, imported
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/profile.h"
#include "record/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/f-import-XXXXXX", out[sizeof(folder) + 8], old[sizeof(out) + 4];

static void remove_all(void)
{
	unlink(out);
	unlink(old);
	rmdir(folder);
}

static void make_folder(void)
{
	if (out[0])
		return;
	if (!mkdtemp(folder))
		abort();
	snprintf(out, sizeof(out), "%s/out", folder);
	snprintf(old, sizeof(old), "%s.old", out);
	atexit(remove_all);
}

static void check_profile(const struct import_result *n)
{
	struct err e = { 0 };
	struct profile *p = profile_load_as_stored(out, &e);

	if (!p && e.code == -ENOMEM)
		return;
	if (!p || p->recovery[0] || !p->has_end || p->accesses != n->accesses) {
		fprintf(stderr, "what was imported is no profile: %s%s\n", e.text, p ? p->recovery : "");
		abort();
	}
	profile_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct import_opts o = { .kernel = size & 1, .cmdline = size & 2, .no_cache = true };
	struct import_result n = { 0 };
	struct err e = { 0 };
	struct perfdata *in = perfdata_from(data, size, &e);

	make_folder();
	if (!in) {
		if (!e.code || !e.text[0])
			abort();
		return 0;
	}
	if (!import_run(in, "hostile", out, &o, &n, &e))
		check_profile(&n);
	else if (!e.code || !e.text[0] || !access(out, F_OK)) /* it says why, and leaves nothing */
		abort();
	unlink(out);
	perfdata_free(in);
	return 0;
}
