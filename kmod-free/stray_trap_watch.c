// SPDX-License-Identifier: GPL-2.0-or-later
/* The program that sees signals being sent while breakpoints are tried out (stray_trap.h): loading, sums, end. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kmod-free/kernel_btf.h"
#include "kmod-free/stray_trap.h"
#include "stray.skel.h"

struct stray_watch {
	struct stray_bpf *bpf;
};

struct stray_watch *stray_watch_new(struct err *e)
{
	struct stray_watch *w = calloc(1, sizeof(*w));
	int err;

	if (!w) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	w->bpf = stray_bpf__open_opts(kernel_btf_options());
	if (!w->bpf) {
		err = -errno;
	} else {
		w->bpf->bss->ours = (uint32_t)getpid();
		err = kernel_btf_load(w->bpf->skeleton);
		err = err ? err : stray_bpf__attach(w->bpf);
	}
	if (!err)
		return w;
	err_set(e, err, "signals cannot be watched: %s", strerror(-err));
	stray_watch_free(w);
	return NULL;
}

void stray_watch_read(const struct stray_watch *w, struct stray_victim *v)
{
	*v = (struct stray_victim){ .signals = __atomic_load_n(&w->bpf->bss->signals, __ATOMIC_ACQUIRE),
				    .pid = w->bpf->bss->last_pid };
	memcpy(v->comm, w->bpf->bss->last_comm, sizeof(v->comm) - 1);
}

void stray_watch_free(struct stray_watch *w)
{
	if (!w)
		return;
	stray_bpf__destroy(w->bpf);
	free(w);
}
