/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits of a whole program: Accelerometer's threading designs (Sriraman and Dhanotia, ASPLOS 2020),
 * Amdahl, and what the transfer alone allows. Pure functions. Included by advise, view and tests.
 *
 * To add a design: append to enum acm_design and to the switch of acm_speedup() and acm_break_even().
 */
#ifndef ACCPERF_LIMITS_H
#define ACCPERF_LIMITS_H

enum acm_design {
	ACM_SYNC,    /* the caller waits for the accelerator */
	ACM_SYNC_OS, /* the caller blocks, another thread runs meanwhile */
	ACM_ASYNC,   /* the caller continues */
	ACM_DESIGNS,
};

/* Per window: C host cycles (or ns) in all, of which the share alpha is the kernel; n offloads. Per
 * offload: o0 to set it up, Q in the queue, L to transfer, o1 for the thread switch. */
struct acm {
	double C, alpha, n, o0, Q, L, o1, A;
};

const char *acm_design_str(enum acm_design d);
double acm_speedup(const struct acm *a, enum acm_design d);
/* Size from which one offload of a kernel costing c g^beta on the host saves time; NaN: none. */
double acm_break_even(const struct acm *a, enum acm_design d, double c, double beta);

/* Whole program, when the share f runs s times faster (s may be infinite). */
double amdahl(double f, double s);
/* Speed-up of a kernel of `seconds`, A times faster on the device, that must move `bytes` over
 * `bytes_per_second` first. Once with every call's data, once with unique data shipped once, gives
 * the two ends between which an implementation lies. */
double transfer_bound(double seconds, double A, double bytes, double bytes_per_second);

#endif
