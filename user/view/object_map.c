// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/object_map.h"

#include "view/schema.h"
#include "view/svg.h"

#include <math.h>

#include "util/clean.h"
#include "util/json.h"

static const char *region_name(uint32_t region)
{
	static const char *const names[] = {
		[FMT_X_R_STACK] = "stack", [FMT_X_R_HEAP] = "heap", [FMT_X_R_GLOBAL] = "data", [FMT_X_R_OTHER] = "other"
	};

	return region < sizeof(names) / sizeof(names[0]) ? names[region] : "other";
}

static double known(uint64_t n)
{
	return n == FMT_X_UNKNOWN ? NAN : (double)n;
}

/* Cells that follow each other in one region. */
struct map_stretch {
	uint64_t from, to;
	uint32_t region;
	double allocated, written, read, unread;
};

/* From the i-th cell on; the index behind it. */
static size_t next_map_stretch(const struct flow_input *in, size_t i, struct map_stretch *s)
{
	const struct fmt_x_map *m = &in->x_map[i];

	*s = (struct map_stretch){ .from = m->addr, .to = m->addr, .region = m->region };
	for (; i < in->x_map_count && m->addr == s->to && m->region == s->region; i++, m++) {
		s->to = m->addr + m->len;
		s->allocated += known(m->allocated);
		s->written += known(m->written);
		s->read += known(m->read);
		s->unread += known(m->unread);
		if (s->to <= m->addr)
			return i + 1; /* damaged */
	}
	return i;
}

void object_map_text(const struct flow_input *in, const struct text_style *s, struct buf *out)
{
	text_hue_on(out, s, TEXT_BOLD);
	buf_addf(out, "%-14s  %-14s %-6s%10s%10s%10s%10s%12s", "from", "to", "", "size", "allocated", "written", "read",
		 "never read");
	text_hue_off(out, s, TEXT_BOLD);
	buf_addch(out, '\n');
	for (size_t i = 0; i < in->x_map_count;) {
		struct map_stretch x;

		i = next_map_stretch(in, i, &x);
		buf_addf(out, "%#14llx..%#-14llx %-6s", (unsigned long long)x.from, (unsigned long long)x.to,
			 region_name(x.region));
		text_amount(out, (double)(x.to - x.from), 10);
		if (isnan(x.allocated))
			buf_addf(out, "%10s", "-");
		else
			text_amount(out, x.allocated, 10);
		text_amount(out, x.written, 10);
		text_amount(out, x.read, 10);
		text_amount(out, x.unread, 12);
		buf_addch(out, '\n');
	}
	buf_addstr(out, "\nallocated: in heap blocks and variables; written, read: distinct bytes, by the\n"
			"program or a system call; never read: written, and read by neither\n");
}

void object_map_json(const struct flow_input *in, struct buf *out)
{
	struct json j = { .out = out };

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.object-map/1");
	json_arr(&j, "cells");
	for (size_t i = 0; i < in->x_map_count; i++) {
		const struct fmt_x_map *m = &in->x_map[i];

		json_obj(&j, NULL);
		json_u64(&j, "address", m->addr);
		json_u64(&j, "length", m->len);
		json_str(&j, "region", region_name(m->region));
		json_f64(&j, "allocated", known(m->allocated));
		json_f64(&j, "written", known(m->written));
		json_f64(&j, "read", known(m->read));
		json_f64(&j, "never_read", known(m->unread));
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	buf_addch(out, '\n');
}

#define LEFT 250 /* units of the viewBox, for names; by hand */
#define CELLS 96 /* in a line */
#define CELL 8   /* such units wide; by hand */
#define LINE 12  /* such units high; by hand */

/* What most of a cell's bytes are. */
static const char *cell_hue(const struct fmt_x_map *m)
{
	double written = known(m->written), read = known(m->read), unread = known(m->unread);

	if (!(written + read > 0))
		return "#c9ccd3"; /* allocated, untouched */
	if (unread > written / 2)
		return "#d55e00";
	return written > 0 ? "#009e73" : "#0072b2";
}

/* Lines of a picture: one for each stretch, more where it has more cells than fit. */
static size_t lines_of(const struct flow_input *in)
{
	size_t lines = 0;

	for (size_t i = 0; i < in->x_map_count;) {
		struct map_stretch x;
		size_t first = i;

		i = next_map_stretch(in, i, &x);
		lines += (i - first + CELLS - 1) / CELLS;
	}
	return lines;
}

void object_map_svg(const struct flow_input *in, struct buf *out)
{
	static const struct {
		const char *hue, *name;
	} legend[] = { { "#009e73", "written and read" },
		       { "#0072b2", "read, never written" },
		       { "#d55e00", "most of it written and never read" },
		       { "#c9ccd3", "allocated, never touched" } };
	unsigned width = LEFT + CELLS * CELL + 20, height = (unsigned)lines_of(in) * LINE + 60, y = 44;

	buf_addf(out,
		 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\" " SVG_FRAME
		 " font-size=\"10\">\n<rect width=\"%u\" height=\"%u\" fill=\"#fff\"/>\n",
		 width, height, width, height, width, height);
	for (unsigned i = 0; i < sizeof(legend) / sizeof(legend[0]); i++)
		buf_addf(
			out,
			"<rect x=\"%u\" y=\"10\" width=\"10\" height=\"10\" fill=\"%s\"/><text x=\"%u\" y=\"19\">%s</text>\n",
			20 + 210 * i, legend[i].hue, 34 + 210 * i, legend[i].name);
	for (size_t i = 0; i < in->x_map_count;) {
		struct map_stretch x;
		size_t first = i;

		i = next_map_stretch(in, i, &x);
		buf_addf(out, "<text x=\"10\" y=\"%u\">%s %#llx..%#llx</text>\n", y + 9, region_name(x.region),
			 (unsigned long long)x.from, (unsigned long long)x.to);
		for (size_t k = first; k < i; k++) {
			size_t column = (k - first) % CELLS;

			if (k > first && !column)
				y += LINE;
			buf_addf(out, "<rect x=\"%zu\" y=\"%u\" width=\"%u\" height=\"%u\" fill=\"%s\"/>\n",
				 LEFT + column * CELL, y, CELL - 1, LINE - 2, cell_hue(&in->x_map[k]));
		}
		y += LINE;
	}
	svg_end(out);
}

const char object_map_schema[] =
	"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.object-map/1\",\"type\":\"object\","
	"\"required\":[\"schema\",\"cells\"],\"additionalProperties\":false,\"properties\":{\"schema\":{\"const\":\"accperf.object-map/1\"},"
	"\"cells\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"additionalProperties\":false,"
	"\"required\":[\"address\",\"length\",\"region\"],\"properties\":{\"address\":{\"type\":\"integer\"},\"length\":{\"type\":\"integer\"},"
	"\"region\":{\"enum\":[\"stack\",\"heap\",\"data\",\"other\"]},\"allocated\":" NUM ",\"written\":" NUM
	",\"read\":" NUM ",\"never_read\":" NUM "}}}}}";
