/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What fleet.h found, as text and JSON. Included by cli. */
#ifndef ACCPERF_DAEMON_FLEET_VIEW_H
#define ACCPERF_DAEMON_FLEET_VIEW_H

#include "daemon/fleet.h"

struct fleet_view {
	struct fleet_question asked;
	bool diff, advise, differ, all; /* all: what may be noise, too */
	size_t rows;                    /* at most, of the text */
};

void fleet_text(const struct fleet_view *v, const struct fleet_functions *f, struct buf *out);
void fleet_json(const struct fleet_view *v, const struct fleet_functions *f, struct buf *out);

extern const char fleet_view_schema[];

#endif
