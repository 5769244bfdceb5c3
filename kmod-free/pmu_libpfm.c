// SPDX-License-Identifier: GPL-2.0-or-later
#include <dlfcn.h>
#include <errno.h>
#include <perfmon/pfmlib_perf_event.h>

#include "kmod-free/pmu_libpfm.h"

int pmu_libpfm_encode(const char *event, void *attr, struct err *e)
{
	static pfm_err_t (*init)(void), (*encode)(const char *, int, pfm_os_t, void *);
	pfm_perf_encode_arg_t arg = { .size = sizeof(arg), .attr = attr };
	static int state; /* 1 ready, -1 absent */

	if (!state) {
		void *lib = dlopen("libpfm.so.4", RTLD_NOW | RTLD_LOCAL);

		init = lib ? (pfm_err_t(*)(void))dlsym(lib, "pfm_initialize") : NULL;
		encode =
			lib ? (pfm_err_t(*)(const char *, int, pfm_os_t, void *))dlsym(lib, "pfm_get_os_event_encoding")
			    : NULL;
		state = init && encode && init() == PFM_SUCCESS ? 1 : -1;
	}
	if (state < 0)
		return err_set(e, -ENOSYS, "libpfm4 is not installed (package libpfm4)");
	if (encode(event, PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &arg) != PFM_SUCCESS)
		return err_set(e, -EINVAL, "libpfm4 does not know the event %s here", event);
	return 0;
}
