// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/volume_error.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow/resample.h"
#include "util/map.h"

#define UNCOUNTED_SD 0.7 /* of a function's log instructions per time, where nothing was counted: SPREAD_PRIOR */
#define SD_MOST 2.0      /* a factor of 50: nothing is known, and refits shall be of use for the rest */
/* Of a block's log instructions per time within its function. Bytes an instruction of functions of ten real programs
 * were off by a log of .28, 68 times in a hundred: some blocks hold most of a function's reads, so theirs is more. */
#define PIECE_SD 0.4
#define PIECE_TOLD_SD 0.1 /* where bursts part a function's time, which are resampled besides; by hand */
#define PIECE_BYTES 6     /* 64 bytes of code are about a block */

int volume_error_new(struct volume_error *v, const struct flow_input *in)
{
	struct map at = { 0 };
	int err;

	*v = (struct volume_error){ .sites = in->site_count };
	v->piece = calloc(v->sites + 1, sizeof(*v->piece));
	v->bytes = calloc(v->sites + 1, sizeof(*v->bytes));
	v->factor = calloc(v->sites + 1, sizeof(*v->factor));
	v->of_piece = calloc(v->sites + 1, sizeof(*v->of_piece));
	v->of_function = calloc(in->func_count + 1, sizeof(*v->of_function));
	v->reader = calloc(in->func_count + 1, sizeof(*v->reader));
	v->read = calloc(in->func_count + 1, sizeof(*v->read));
	err = v->reader && v->read && v->piece && v->bytes && v->factor && v->of_piece && v->of_function ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < v->sites && !err; i++) {
		const struct in_site *s = &in->sites[i];
		bool added;
		uint64_t *p =
			map_put(&at,
				s->block ? s->block : 1ull << 63 ^ (uint64_t)s->module << 40 ^ s->ip >> PIECE_BYTES,
				&added);

		err = p ? 0 : -ENOMEM;
		if (p && added)
			*p = v->pieces++;
		v->piece[i] = p ? (uint32_t)*p : 0;
	}
	map_release(&at);
	if (err)
		volume_error_release(v);
	return err;
}

void volume_error_add(struct volume_error *v, uint32_t site, double bytes)
{
	v->bytes[site] += bytes;
}

void volume_error_draw(struct volume_error *v, const struct flow_input *in, uint64_t *state)
{
	double was = 0, is = 0;

	for (uint32_t f = 0; f < in->func_count; f++) {
		double sd = in->funcs[f].executed_sd;

		v->of_function[f] = resample_normal(state) * (sd > 0 ? fmin(sd, SD_MOST) : UNCOUNTED_SD);
	}
	for (uint32_t p = 0; p < v->pieces; p++)
		v->of_piece[p] = resample_normal(state);
	for (uint32_t i = 0; i < v->sites; i++) {
		const struct in_site *s = &in->sites[i];

		v->factor[i] = exp((s->func < in->func_count ? v->of_function[s->func] : 0) +
				   (s->block ? PIECE_TOLD_SD : PIECE_SD) * v->of_piece[v->piece[i]]);
		was += v->bytes[i];
		is += v->bytes[i] * v->factor[i];
	}
	for (uint32_t f = 0; f < in->func_count; f++)
		v->reader[f] = v->read[f] = 0;
	for (uint32_t i = 0; i < v->sites; i++) {
		uint32_t f = in->sites[i].func;

		v->factor[i] *= is > 0 ? was / is : 1;
		if (f >= in->func_count)
			continue;
		v->reader[f] += v->bytes[i] * v->factor[i];
		v->read[f] += v->bytes[i];
	}
	for (uint32_t f = 0; f < in->func_count; f++)
		v->reader[f] = v->read[f] > 0 ? v->reader[f] / v->read[f] : 1;
}

void volume_error_release(struct volume_error *v)
{
	free(v->piece);
	free(v->bytes);
	free(v->factor);
	free(v->of_piece);
	free(v->of_function);
	free(v->reader);
	free(v->read);
	*v = (struct volume_error){ 0 };
}
