/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What memory takes here that was displaced from the first caches, beyond what it takes from there: a call behind a hit
 * of a probe finds code and data so, where a loop's next call had them fetched while the last one ran.
 * Included by user/offload, tests.
 */
#ifndef ACCPERF_KMOD_FREE_COLD_PRICE_H
#define ACCPERF_KMOD_FREE_COLD_PRICE_H

struct cold_price {
	double line_ns; /* of each line that is waited for, one after another: from behind the second cache */
	double byte_ns; /* of each byte that is copied: from the second cache, as it is fetched ahead */
	/* the same from behind the second cache, at places that are drawn: of that a hit displaces nothing to all */
	double far_byte_ns;
};

/* On memory of our own; 0: cannot be measured. Takes some milliseconds. */
struct cold_price cold_price(void);

#endif
