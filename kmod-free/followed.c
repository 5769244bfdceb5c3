/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/types.h>

#include "control.h"
#include "kmod-free/bpf_counters.h"
#include "kmod-free/followed.h"
#include "kmod-free/targets.h"
#include "util/clock.h"
#include "util/grow.h"

/* Twice the places of the set. */
#define LOOKED_AT_MOST 65536u
#define RESTS 20 /* times what looking took: 5 % of a CPU at most; by hand */

/* A number that came back meanwhile is its successor's, and stays. */
static void followed_take_out(int fd, uint32_t key, uint64_t state)
{
	uint64_t taken;

	if (!bpf_map_lookup_and_delete_elem(fd, &key, &taken) && taken != state)
		bpf_map_update_elem(fd, &key, &taken, BPF_NOEXIST);
}

static bool exists_no_more(uint32_t id, uint64_t state)
{
	return state == FOLLOW_GONE || (kill((pid_t)id, 0) && errno == ESRCH);
}

static void followed_make_room(int targets_fd)
{
	struct entry {
		uint32_t key;
		uint64_t state;
	} *gone = NULL;
	size_t n = 0, cap = 0;
	unsigned looked = 0;
	uint64_t state;
	uint32_t key;

	/* looked at first, taken out then: a walk whose entry goes begins anew, perhaps for ever */
	for (uint32_t *last = NULL; looked++ < LOOKED_AT_MOST && !bpf_map_get_next_key(targets_fd, last, &key);
	     last = &key)
		if (!bpf_map_lookup_elem(targets_fd, &key, &state) && exists_no_more(key, state) &&
		    !PUSH(gone, n, cap, 64, (struct entry){ key, state }))
			break;
	for (size_t i = 0; i < n; i++)
		followed_take_out(targets_fd, gone[i].key, gone[i].state);
	free(gone);
}

void followed_if_short(int targets_fd, const struct counter_row *rows, struct followed_room *r)
{
	uint64_t count = counter_read(rows, CTR_NOT_FOLLOWED) + counter_read(rows, CTR_NOT_FORGOTTEN), began;

	if (count == r->seen || (began = clock_now()) < r->rest)
		return;
	r->seen = count;
	if (targets_first_pid_namespace())
		followed_make_room(targets_fd);
	r->rest = clock_now() + RESTS * (clock_now() - began);
}
