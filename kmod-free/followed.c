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
#include "util/grow.h"

/* Twice the places of the set. */
#define LOOKED_AT_MOST 65536u

/* A number that came back meanwhile is its successor's, and stays. */
static bool take_out(int fd, uint32_t key, uint64_t state)
{
	uint64_t taken;

	if (bpf_map_lookup_and_delete_elem(fd, &key, &taken))
		return false;
	return taken == state || bpf_map_update_elem(fd, &key, &taken, BPF_NOEXIST);
}

static bool exists_no_more(uint32_t id, uint64_t state)
{
	return state == FOLLOW_GONE || (kill((pid_t)id, 0) && errno == ESRCH);
}

static unsigned make_room(int targets_fd)
{
	struct entry {
		uint32_t key;
		uint64_t state;
	} *gone = NULL;
	size_t n = 0, cap = 0;
	unsigned out = 0, looked = 0;
	uint64_t state;
	uint32_t key;

	/* looked at first, taken out then: who walks a table that loses what he stands on begins anew, which ends */
	for (uint32_t *last = NULL; looked++ < LOOKED_AT_MOST && !bpf_map_get_next_key(targets_fd, last, &key);
	     last = &key)
		if (!bpf_map_lookup_elem(targets_fd, &key, &state) && exists_no_more(key, state) &&
		    !PUSH(gone, n, cap, 64, (struct entry){ key, state }))
			break;
	for (size_t i = 0; i < n; i++)
		out += take_out(targets_fd, gone[i].key, gone[i].state);
	free(gone);
	return out;
}

unsigned followed_if_short(int targets_fd, const struct counter_row *rows, uint64_t *seen)
{
	uint64_t now = counter_read(rows, CTR_NOT_FOLLOWED) + counter_read(rows, CTR_NOT_FORGOTTEN);

	if (now == *seen)
		return 0;
	*seen = now;
	return targets_first_pid_namespace() ? make_room(targets_fd) : 0;
}
