// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/export.h"

#include <stdlib.h>
#include <string.h>

const struct export_format export_formats[] = {
	{ "pprof", ".pb.gz", .binary = true, .carries_flow = true, .render = export_pprof },
	{ "otlp", ".otlp", .binary = true, .render = export_otlp },
	{ "collapsed", ".folded", .render = export_collapsed },
	{ "callgrind", ".callgrind", .render = export_callgrind },
	{ "speedscope", ".speedscope.json", .carries_flow = true, .render = export_speedscope },
	{ "firefox", ".firefox.json", .timed = true, .render = export_firefox },
	{ "bolt", ".bolt", .branches = true, .render = export_bolt },
	{ "csv", ".csv", .table = true, .render = export_csv },
	{ 0 },
};

const struct export_format *export_find(const char *name)
{
	for (const struct export_format *f = export_formats; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}
