/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions per nanosecond of a target's own code, by the model of a processor (emu/emu_pipeline.h): what bursts ran
 * of each function tells its instructions in a cycle, samples tell in which functions time went, and the recorder
 * measured how long a cycle of this machine takes.
 *
 *	rate = sum over f of time(f) / (cycles of the model for one of its instructions) / time / cycle * MODEL_SHORT
 *
 * The model is no processor: programs differ in how far it is off. How far is in the interval, which is wide; what a
 * recording measured itself comes before it by the interval's width (counts_speed.h). Pure arithmetic. Included by
 * this room alone.
 */
#ifndef ACCPERF_COUNTS_MODEL_RATE_H
#define ACCPERF_COUNTS_MODEL_RATE_H

struct counts_record;

struct model_rate {
	double per_ns;  /* NaN: no burst was carried on, or the cycle is unknown */
	double log_var; /* of its logarithm */
};
struct model_rate counts_model_rate(const struct counts_record *r);

#endif
