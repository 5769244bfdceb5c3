// SPDX-License-Identifier: GPL-2.0-or-later
/* A profile of which a filter's part is left, for what walks samples one by one. */
#include <math.h>

#include "profile/in_order.h"
#include "profile/profile.h"

bool profile_takes(const struct profile *p, const struct filter *f, uint32_t pid, const char *comm, uint32_t stack)
{
	const struct profile_stack *s = &p->stacks[stack];
	uint32_t function = 0;

	if (s->count) {
		const struct profile_frame *leaf = &p->frames[p->stack_frames[s->first]];

		function = p->lines[leaf->first + leaf->count - 1].function;
	}
	return filter_process(f, pid, comm) &&
	       filter_code(f, p->functions[function].name, p->functions[function].object);
}

bool profile_takes_all(const struct profile *p, const struct filter *f)
{
	for (size_t i = 0; i < p->cell_count; i++) {
		const struct profile_thread *t = &p->threads[p->cells[i].thread];

		if (!filter_process(f, t->pid, t->comm))
			return false;
	}
	return true;
}

double profile_keep_part(struct profile *p, const struct filter *f)
{
	enum profile_unit unit = profile_unit(p);
	double whole = p->weight[unit];
	size_t n = 0;

	if (!filter_any(f))
		return 1;
	for (enum profile_unit u = PROFILE_TIME; u < PROFILE_UNITS; u++)
		p->samples[u] = 0, p->weight[u] = 0;
	for (size_t i = 0; i < p->thread_count; i++)
		p->threads[i].cell_count = 0;
	for (size_t i = 0; i < p->cell_count; i++) {
		struct profile_thread *t = &p->threads[p->cells[i].thread];

		if (!profile_takes(p, f, t->pid, t->comm, p->cells[i].stack))
			continue;
		if (!t->cell_count++)
			t->first_cell = n;
		for (enum profile_unit u = PROFILE_TIME; u < PROFILE_UNITS; u++) {
			p->samples[u] += p->cells[i].samples[u];
			p->weight[u] += p->cells[i].weight[u];
		}
		p->cells[n++] = p->cells[i];
	}
	p->cell_count = n;
	return whole > 0 ? p->weight[unit] / whole : NAN;
}

void in_order_keep_part(struct in_order *o, const struct profile *p, const struct filter *f)
{
	size_t samples = 0, calls = 0;

	for (size_t i = 0; i < o->thread_count; i++) {
		struct ordered_thread *t = &o->threads[i];
		size_t first_sample = samples, first_call = calls;

		for (size_t k = t->first_sample; k < t->first_sample + t->sample_count; k++)
			if (profile_takes(p, f, t->pid, t->comm, o->samples[k].stack))
				o->samples[samples++] = o->samples[k];
		for (size_t k = t->first_call; k < t->first_call + t->call_count; k++)
			if (filter_process(f, t->pid, t->comm))
				o->calls[calls++] = o->calls[k];
		t->first_sample = first_sample;
		t->sample_count = samples - first_sample;
		t->first_call = first_call;
		t->call_count = calls - first_call;
	}
	o->sample_count = samples;
	o->call_count = calls;
}
