/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a probed call costs, from one recording to the next (measure/prices.h): measuring it takes a third of a
 * second of a CPU. It is taken from there only where nobody asked for calls; who asks gets this moment's. Included by
 * user/offload/session.c and tests.
 */
#ifndef ACCPERF_OFFLOAD_KEPT_PRICE_H
#define ACCPERF_OFFLOAD_KEPT_PRICE_H

#include <stdbool.h>

struct prices;
struct uprobe_cost;

/* False: it is to be measured, and kept afterwards. */
bool kept_price_known(const struct prices *p, struct uprobe_cost *c);
void kept_price_add(struct prices *p, const struct uprobe_cost *c);

#endif
