// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/heap_sites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/json.h"
#include "view/schema.h"

#define FRAMES_SHOWN 6 /* callers of a site, as text */

struct heap_sites_order {
	const struct flow_input *in;
	uint32_t *of; /* sites, largest first; NULL: no memory, as they come */
};

static int by_allocated(const void *a, const void *b, void *ctx)
{
	const struct heap *h = ctx;
	const struct heap_site *x = &h->site[*(const uint32_t *)a], *y = &h->site[*(const uint32_t *)b];

	return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : x->told < y->told ? 1 : -(x->told > y->told);
}

static struct heap_sites_order order_sites(const struct flow_input *in)
{
	struct heap_sites_order o = { in, calloc(in->heap.site_count + 1, sizeof(*o.of)) };

	for (uint32_t i = 0; o.of && i < in->heap.site_count; i++)
		o.of[i] = i;
	if (o.of)
		qsort_r(o.of, in->heap.site_count, sizeof(*o.of), by_allocated, (void *)&in->heap);
	return o;
}

static const struct heap_site *in_order(const struct heap_sites_order *o, size_t i)
{
	return &o->in->heap.site[o->of ? o->of[i] : i];
}

/* Functions from the site outwards; a frame's inline chain innermost first. */
static void each_frame(const struct flow_input *in, const struct heap_site *s,
		       void (*fn)(void *ctx, const struct profile_function *f, const struct profile_line *l), void *ctx)
{
	const struct profile *p = in->profile;
	const struct profile_stack *st = p ? &p->stacks[s->stack] : NULL;

	for (uint32_t i = s->skip; st && i < st->count; i++) {
		const struct profile_frame *f = &p->frames[p->stack_frames[st->first + i]];

		for (uint32_t k = 0; k < f->count; k++)
			fn(ctx, &p->functions[p->lines[f->first + k].function], &p->lines[f->first + k]);
	}
}

struct site_callers {
	struct buf *out;
	unsigned n;
};

static void text_caller(void *ctx, const struct profile_function *f, const struct profile_line *l)
{
	struct site_callers *c = ctx;

	/* the site itself is named already */
	if (c->n++ == 0 || c->n > FRAMES_SHOWN + 1)
		return;
	buf_addstr(c->out, c->n == 2 ? "      called by " : ", ");
	text_name(c->out, f->name, 32, 0);
}

static void text_life(struct buf *out, double ns)
{
	AUTO_BUF(b);

	if (isnan(ns))
		buf_addstr(&b, "unknown");
	else
		text_seconds(&b, whole_number(ns));
	text_pad_left(out, b.data ? b.data : "", 10);
}

static void text_rate(struct buf *out, double v, unsigned columns)
{
	AUTO_BUF(b);

	text_count(&b, whole_number(v));
	text_pad_left(out, b.data ? b.data : "", columns);
}

void heap_sites_text(const struct heap_sites_view *v, const struct text_style *s, struct buf *out)
{
	const struct heap *h = &v->in->heap;
	struct heap_sites_order o = order_sites(v->in);

	text_hue_on(out, s, TEXT_BOLD);
	buf_addf(out, "%11s%9s%12s%10s%10s%8s  %s", "bytes/s", "95%", "blocks/s", "mean size", "lives", "told", "site");
	text_hue_off(out, s, TEXT_BOLD);
	buf_addch(out, '\n');
	for (size_t i = 0; i < h->site_count && i < v->rows; i++) {
		const struct heap_site *k = in_order(&o, i);
		struct site_callers c = { out, 0 };

		text_amount(out, k->bytes, 11);
		if (isnan(k->spread))
			buf_addf(out, "%9s", "unknown");
		else
			buf_addf(out, "  +-%3.0f %%", 100 * k->spread);
		text_rate(out, k->allocs, 12);
		text_amount(out, k->size, 10);
		text_life(out, k->life_ns);
		buf_addf(out, "%8llu  ", (unsigned long long)k->told);
		text_name(out, v->in->object_site[k->object_site].name, 60, 0);
		buf_addch(out, '\n');
		each_frame(v->in, k, text_caller, &c);
		if (c.n > FRAMES_SHOWN + 1)
			buf_addf(out, " and %u more", c.n - FRAMES_SHOWN - 1);
		if (c.n > 1)
			buf_addch(out, '\n');
	}
	if (h->site_count > v->rows)
		buf_addf(out, "%zu more sites; --rows N lists more\n", h->site_count - v->rows);
	buf_addf(out, "\n%llu turns, ", (unsigned long long)h->turns);
	text_seconds(out, whole_number(h->turn_ns));
	buf_addstr(out, " in all, in which ");
	text_bytes(out, whole_number(h->bytes));
	buf_addstr(out, " a second were allocated in ");
	text_count(out, whole_number(h->allocs));
	buf_addstr(out, " blocks\n");
	if (h->nowhere)
		buf_addf(out, "%llu blocks whose stack tells no site\n", (unsigned long long)h->nowhere);
	buf_addstr(out, "lives: mean time until a free, of what was seen in turns; unknown: none was freed in one\n");
	text_name(out, v->source, 0, 0);
	buf_addch(out, '\n');
	free(o.of);
}

static void json_caller(void *ctx, const struct profile_function *f, const struct profile_line *l)
{
	struct json *j = ctx;

	json_obj(j, NULL);
	json_str(j, "function", f->name);
	json_str(j, "object", f->object);
	json_str(j, "file", l->line ? l->file : NULL);
	json_f64(j, "line", l->line && l->file ? l->line : NAN);
	json_end(j);
}

void heap_sites_json(const struct heap_sites_view *v, struct buf *out)
{
	const struct heap *h = &v->in->heap;
	struct heap_sites_order o = order_sites(v->in);
	struct json j = { .out = out };

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.heap/1");
	json_u64(&j, "turns", h->turns);
	json_f64(&j, "turns_ns", h->turn_ns);
	json_f64(&j, "blocks_per_second", h->turn_ns > 0 ? h->allocs : NAN);
	json_f64(&j, "bytes_per_second", h->turn_ns > 0 ? h->bytes : NAN);
	json_u64(&j, "without_site", h->nowhere);
	json_arr(&j, "sites");
	for (size_t i = 0; i < h->site_count; i++) {
		const struct heap_site *k = in_order(&o, i);

		json_obj(&j, NULL);
		json_str(&j, "name", v->in->object_site[k->object_site].name);
		json_str(&j, "function", v->in->object_site[k->object_site].function);
		json_u64(&j, "told", k->told);
		json_u64(&j, "ended", k->ended);
		json_f64(&j, "blocks_per_second", k->allocs);
		json_f64(&j, "bytes_per_second", k->bytes);
		json_f64(&j, "spread", k->spread);
		json_f64(&j, "mean_size", k->allocs > 0 ? k->size : NAN);
		json_f64(&j, "life_ns", k->life_ns);
		json_f64(&j, "seen_ns", k->seen_ns);
		json_arr(&j, "stack");
		each_frame(v->in, k, json_caller, &j);
		json_end(&j);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	buf_addch(out, '\n');
	free(o.of);
}

const char heap_sites_schema[] =
	"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.heap/1\",\"type\":\"object\","
	"\"required\":[\"schema\",\"turns\",\"sites\"],\"properties\":{\"schema\":{\"const\":\"accperf.heap/1\"},"
	"\"turns\":" INT ",\"turns_ns\":" NUM ",\"blocks_per_second\":" NUM ",\"bytes_per_second\":" NUM
	",\"without_site\":" INT
	",\"sites\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\",\"function\",\"told\",\"stack\"],"
	"\"properties\":{\"name\":{\"type\":\"string\"},\"function\":{\"type\":\"string\"},\"told\":" INT
	",\"ended\":" INT ",\"blocks_per_second\":" NUM ",\"bytes_per_second\":" NUM
	",\"spread\":{\"type\":[\"number\",\"null\"],\"description\":\"half of a 95 % interval of bytes_per_second, relative: of the drawing alone\"}"
	",\"mean_size\":" NUM ",\"life_ns\":" NUM ",\"seen_ns\":" NUM
	",\"stack\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"function\":{\"type\":\"string\"},\"object\":{\"type\":\"string\"},"
	"\"file\":{\"type\":[\"string\",\"null\"]},\"line\":" NUM "}}}}}}}}";
