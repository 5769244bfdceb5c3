// SPDX-License-Identifier: GPL-2.0-or-later
/* From one profile of a recording to the next: probes stay, sums and ids begin anew. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "offload/session_internal.h"
#include "util/clock.h"
#include "util/grow.h"

void session_keep_site(struct offload_session *s, const struct offload_event *ev)
{
	if (GROW(s->known_sites, s->known_count, s->known_cap, 64))
		s->known_sites[s->known_count++] =
			(struct known_site){ .func = ev->func, .caller = ev->site, .pid = ev->pid, .probe = ev->probe };
}

void offload_session_ending(struct offload_session *s)
{
	offload_session_poll(s);
	budget_cut(s);
	budget_write(s);
}

/* Of processes that live: most calls are only counted, and then nothing else would tell from where they came. */
static void tell_sites(struct offload_session *s)
{
	uint64_t now = clock_now();
	size_t kept = 0;

	for (size_t i = 0; i < s->known_count; i++) {
		struct known_site *k = &s->known_sites[i];
		uint64_t *at;

		if (kill((pid_t)k->pid, 0))
			continue;
		at = map_put(&s->totals_sites, session_site_key(k->pid, k->probe, k->caller), NULL);
		if (at)
			*at = session_site(s, k->pid, now, k->func, k->caller);
		s->known_sites[kept++] = *k;
	}
	s->known_count = kept;
}

/* Its processes are known by number: of one that has ended nothing is added any more, and what there was is told. */
static bool process_has_ended(struct offload_session *s, uint32_t pid)
{
	return !map_get(&s->pids, pid) && kill((pid_t)pid, 0) && errno == ESRCH;
}

static bool drop_ended_total(void *ctx, const struct probe_total_key *k, const struct probe_total *t)
{
	uint64_t sum[CELL_SUMS];
	struct offload_session *s = ctx;

	session_total_sums(t, sum);
	if (!process_has_ended(s, k->pid) || !cells_known(&s->totals, k, sizeof(*k), sum, CELL_SUMS))
		return false;
	cells_gone(&s->totals, k, sizeof(*k));
	return true;
}

static bool drop_ended_hist(void *ctx, const struct probe_hist_key *k, const struct probe_hist *h)
{
	const uint64_t sum[] = { h->count, h->bytes, h->ns };
	struct offload_session *s = ctx;

	if (!process_has_ended(s, k->pid) || !cells_known(&s->hists, k, sizeof(*k), sum, 3))
		return false;
	cells_gone(&s->hists, k, sizeof(*k));
	return true;
}

void offload_session_begun(struct offload_session *s)
{
	session_forget_unmapped(s);
	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < s->libs_cnt; i++)
		if (s->libs[i].index >= 0)
			s->libs[i].path_id = s->sink.string(s->sink.ctx, s->libs[i].path);
	pthread_mutex_unlock(&s->lock);
	if (s->alg_on)
		s->alg_path = s->sink.string(s->sink.ctx, "[kernel] AF_ALG");
	map_release(&s->sites);
	map_release(&s->totals_sites);
	map_release(&s->stacks);
	calls_next_profile(s->calls);
	if (s->u) {
		uprobe_totals_drop(s->u, drop_ended_total, s);
		uprobe_hists_drop(s->u, drop_ended_hist, s);
	}
	cells_next(&s->totals);
	cells_next(&s->hists);
	tell_sites(s);
	if (s->u)
		session_put_cost(s);
}
