/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A graph drawn by graphviz's dot: a process of its own, with descriptors and no names. Included by user/cli/flow.c. */
#ifndef ACCPERF_VIEW_GRAPHVIZ_H
#define ACCPERF_VIEW_GRAPHVIZ_H

#include "util/buf.h"
#include "util/err.h"

/* The picture of what `dot` says, as an SVG in our colours: 0 or -errno. */
int graphviz_draw(const struct buf *dot, struct buf *svg, struct err *e);

#endif
