// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/passed_on.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"

#define AS_ALL 0.001 /* what all pass on counts as such a part of it with each writer; .0001 and .01 do as well */
#define AS_OLDER 0.5 /* power of the factor: bursts see what is read soon, and what is older is asked; 1 does as well */
#define LEAST 1.0    /* bytes that a reader is taken to read, so that no share is 0 */

static int count_passed(struct passed_on *p, uint32_t writer, uint32_t reader, double bytes)
{
	uint64_t *at = map_put(&p->at, (uint64_t)writer << 32 | reader, NULL);

	if (!at || (!*at && !PUSH(p->pair, p->pairs, p->cap, 256, 0.0)))
		return -ENOMEM;
	if (!*at)
		*at = p->pairs;
	p->pair[*at - 1] += bytes;
	p->writer[writer] += bytes;
	p->reader[reader] += bytes;
	p->all += bytes;
	return 0;
}

int passed_on_learn(struct passed_on *p, const struct flow_input *in)
{
	int err;

	*p = (struct passed_on){ .funcs = in->func_count };
	p->writer = calloc(in->func_count + (size_t)1, sizeof(*p->writer));
	p->reader = calloc(in->func_count + (size_t)1, sizeof(*p->reader));
	err = p->writer && p->reader ? 0 : -ENOMEM;
	for (size_t i = 0; i < in->burst_pair_count && !err; i++) {
		const struct in_burst_pair *b = &in->burst_pair[i];

		if (b->writer != FLOW_NONE)
			err = count_passed(p, in->sites[b->writer].func, in->sites[b->reader].func, b->bytes);
	}
	return err;
}

double passed_on_factor(const struct passed_on *p, uint32_t writer, uint32_t reader)
{
	const uint64_t *at;
	double usual, few = AS_ALL * p->all;

	if (!(p->all > 0) || writer >= p->funcs || reader >= p->funcs)
		return 1;
	at = map_get(&p->at, (uint64_t)writer << 32 | reader);
	usual = (p->reader[reader] + LEAST) / (p->all + LEAST);
	return pow(((at ? p->pair[*at - 1] : 0) + few * usual) / (p->writer[writer] + few) / usual, AS_OLDER);
}

void passed_on_release(struct passed_on *p)
{
	map_release(&p->at);
	free(p->pair);
	free(p->writer);
	free(p->reader);
	memset(p, 0, sizeof(*p));
}
