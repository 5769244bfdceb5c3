// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/series.h"

#include "daemon/figures.h"

static const char *suffix_of(enum series_type type)
{
	return type == SERIES_COUNTER ? "_total" : type == SERIES_INFO ? "_info" : "";
}

void series_family(struct series *s, const char *name, enum series_type type, const char *help)
{
	static const char *const types[] = { "gauge", "counter", "info" };
	const char *end = s->openmetrics ? "" : suffix_of(type);

	s->name = name;
	s->type = type;
	buf_addf(s->out, "# TYPE %s%s %s\n", name, end,
		 types[!s->openmetrics && type == SERIES_INFO ? SERIES_GAUGE : type]);
	buf_addf(s->out, "# HELP %s%s %s\n", name, end, help);
}

void series_begin(struct series *s)
{
	buf_addf(s->out, "%s%s", s->name, suffix_of(s->type));
	s->labels = 0;
}

void series_label(struct series *s, const char *name, const char *value)
{
	buf_addf(s->out, "%c%s=\"", s->labels++ ? ',' : '{', name);
	figures_label(value, s->out);
	buf_addch(s->out, '"');
}

void series_end(struct series *s, double value)
{
	buf_addstr(s->out, s->labels ? "} " : " ");
	figures_value(value, s->out);
	buf_addch(s->out, '\n');
}

void series_gauge(struct series *s, const char *name, const char *help, double value)
{
	series_family(s, name, SERIES_GAUGE, help);
	series_begin(s);
	series_end(s, value);
}

void series_counter(struct series *s, const char *name, const char *help, double value)
{
	series_family(s, name, SERIES_COUNTER, help);
	series_begin(s);
	series_end(s, value);
}

void series_close(struct series *s)
{
	if (s->openmetrics)
		buf_addstr(s->out, "# EOF\n");
}
