// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/unsampled_threads.h"

#include <errno.h>

int unsampled_threads_target(struct unsampled_threads *l, uint32_t pid)
{
	return map_put(&l->pids, pid, NULL) ? 0 : -ENOMEM;
}

static int task_begun(struct unsampled_threads *l, const struct sample *m)
{
	uint64_t *sampled;
	bool process = m->pid != m->ppid;

	if (!map_get(&l->pids, m->ppid) || (process && !l->children))
		return 0;
	sampled = map_put(&l->tids, m->tid, NULL);
	if (!sampled || (process && unsampled_threads_target(l, m->pid)))
		return -ENOMEM;
	*sampled = false; /* another of that number may not have been seen to end */
	l->born++;
	return 0;
}

int unsampled_threads_event(struct unsampled_threads *l, const struct sample *m)
{
	uint64_t *sampled;

	switch (m->kind) {
	case SAMPLE_FORK: return task_begun(l, m);
	case SAMPLE_TICK:
		sampled = map_get(&l->tids, m->tid);
		if (sampled)
			*sampled = true;
		break;
	case SAMPLE_EXIT:
		sampled = map_get(&l->tids, m->tid);
		if (sampled) {
			l->unsampled += !*sampled;
			map_del(&l->tids, m->tid);
		}
		if (m->tid == m->pid)
			map_del(&l->pids, m->pid);
		break;
	default: break;
	}
	return 0;
}

void unsampled_threads_release(struct unsampled_threads *l)
{
	map_release(&l->pids);
	map_release(&l->tids);
}
