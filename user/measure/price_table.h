/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every price that a recording reckons with, in one table (price_table.c): what it is of, its unit, how it is measured
 * here, and what is assumed where it is not. The ledger, the sources and the choice of the sampling rate read it; no
 * price stands anywhere else. Probes of offload calls alone are priced by their engine (kmod-free/uprobe_cost.c), call
 * by call: they cost what the probed instruction makes them cost, and the row says what to expect.
 * Included by record and tests.
 *
 * To add a price: an id, a row in price_table.c, and a function that measures it (price.h), if it can be.
 */
#ifndef ACCPERF_MEASURE_PRICE_TABLE_H
#define ACCPERF_MEASURE_PRICE_TABLE_H

struct prices;

enum price_id {
	PRICE_TICK,
	PRICE_SWITCH_TIMER,
	PRICE_SWITCH_BREAKPOINT,
	PRICE_SWITCH_ATTACHED,
	PRICE_WATCH_HIT,
	PRICE_WATCH_ARM,
	PRICE_WATCH_WAKE,
	PRICE_COUNT_HIT,
	PRICE_COUNT_WINDOW,
	PRICE_CALL_PASSED,
	PRICE_CALL_TAKEN,
	PRICE_CALL_OTHER,
	PRICE_CALL_ATTACH,
	PRICE_SEGMENT_PASSED,
	PRICE_SEGMENT_TIMED,
	PRICE_SEGMENT_GAP,
	PRICE_WAIT,
	PRICE_SWITCH_SEEN,
	PRICE_RECORD,
	PRICE_RECORD_BATCHED,
	PRICE_PROBE,
	PRICE_HEAP_HIT,
	PRICE_BURST,
	PRICE_BURST_OWN,
	PRICE_WAKE_CPU,
	PRICE_LOOK,
	PRICE_LOOK_CLOSE,
	PRICE_COUPLED_SWITCH,
	PRICE_ARMED_STRINGS,
	PRICE_ARMED_KERNEL,
	PRICE_IDS
};

struct price_row {
	const char *name, *unit;
	double assumed;
	/* Measures this row and those after it of the same function; NaN: could not be. ctx: what the caller has. */
	void (*measure)(void *ctx, double *ns);
	const char *kept; /* as what the prices of earlier recordings are kept (prices.h); NULL: they are not */
};

const struct price_row *price_row(enum price_id id);
double price_assumed(enum price_id id);

/* Measures it, and what is measured with it, unless earlier recordings have; NaN: it could not be. variant: what the
 * price depends on, NULL: nothing. */
double price_measure(struct prices *p, enum price_id id, const char *variant, void *ctx);
/* As measured; NaN: could not be, or was not yet. */
double price_measured(const struct prices *p, enum price_id id);
/* As measured, or else as assumed. */
double price_of(const struct prices *p, enum price_id id);

/* For the table. The first takes a struct sampler, which must not be attached yet and is left as it was; counts take a
 * struct execbp; calls a struct sysio, before anything is added or started. */
void measure_tick(void *sampler, double *ns);
void measure_switch_timer(void *none, double *ns);
void measure_switch_breakpoint(void *none, double *ns);
void measure_switch_attached(void *none, double *ns);
void measure_watch(void *none, double *ns);
void measure_counts(void *execbp, double *ns);
void measure_calls(void *sysio, double *ns);
/* Takes a struct call_segments, likewise. */
void measure_segments(void *call_segments, double *ns);
/* Takes a struct heap_probes, before anything is attached. */
void measure_heap(void *heap_probes, double *ns);

#endif
