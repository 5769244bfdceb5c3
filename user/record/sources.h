/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of sources: what each is (source.h), which account of the ledger it spends from, and the price that matters
 * most. `record -e`, doctor, version and help read it; so does nothing else need to know which there are.
 * Included by view, foreground, cli and tests. To add one: a row here; source.h has the steps.
 */
#ifndef ACCPERF_RECORD_SOURCES_H
#define ACCPERF_RECORD_SOURCES_H

#include "measure/price_table.h"
#include "record/features.h"
#include "record/ledger.h"
#include "source.h"

/* X(name, account, price) of those without a driver. */
#define RECORDER_SOURCES(X)                                                                                            \
	X(timer, ACCOUNT_TIMER, PRICE_TICK)                                                                            \
	X(watch, ACCOUNT_WATCH, PRICE_WATCH_HIT)                                                                       \
	X(counts, ACCOUNT_WINDOWS, PRICE_COUNT_HIT)                                                                    \
	X(bursts, ACCOUNT_BURSTS, PRICE_BURST)                                                                         \
	X(segments, ACCOUNT_SEGMENTS, PRICE_SEGMENT_TIMED)                                                             \
	X(syscalls, ACCOUNT_SYSCALLS, PRICE_CALL_TAKEN)                                                                \
	X(waits, ACCOUNT_WAITS, PRICE_WAIT)                                                                            \
	X(heap, ACCOUNT_HEAP, PRICE_HEAP_HIT)                                                                          \
	X(offload, ACCOUNT_OFFLOAD, PRICE_PROBE)

/* X(name) of those with a driver, which are a processor's; best first. */
#define PROCESSOR_SOURCES(X)                                                                                           \
	X(pebs)                                                                                                        \
	X(ibs)                                                                                                         \
	X(spe)

#define SOURCE_DECLARED(name, ...) extern const struct source source_##name;
RECORDER_SOURCES(SOURCE_DECLARED)
PROCESSOR_SOURCES(SOURCE_DECLARED)

/* What record -e takes. */
#define SOURCE_CHOICE(name) "|" #name
#define SOURCE_CHOICES "auto|pmu|soft" PROCESSOR_SOURCES(SOURCE_CHOICE)

struct source_row {
	const struct source *source;
	enum account account;
	enum price_id price;
};

/* The i-th; NULL: there are no more. */
const struct source_row *sources_row(unsigned i);
/* One with a driver, by name; NULL if there is none of that name. */
const struct source *source_find(const char *name);
/* First one that gives all of `gives` (enum source_gives) and whose probe succeeds; NULL with the reasons of all that
 * were tried in e. Probes open and close events, nothing else. */
const struct source *source_auto(unsigned gives, struct err *e);
/* Whether it works here: by the features that it needs, or by its driver's probe. text: what was found, or what is
 * missing. */
bool source_works(const struct source *s, const struct features *f, char *text, size_t size);

#endif
