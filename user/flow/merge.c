// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/merge.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow/estimators.h"
#include "profile/walk.h"
#include "store/write.h"
#include "util/buf.h"
#include "util/labels.h"
#include "util/log.h"
#include "util/whole.h"

/* The results that are computed of every input and added. */
static const struct merge_variant {
	bool ke, stack, main_image;
} variants[] = {
	{ false, false, false }, { false, true, false }, { false, false, true },
	{ false, true, true },   { true, false, false }, { true, true, false },
};
#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

struct merge {
	const struct merge_what *what;
	struct store_writer *w;
	struct flow sum[VARIANTS];
	unsigned have[VARIANTS];
	uint32_t module_base, stack_base, function_base, next_module, next_stack, next_function;
	double weight;
	char labels[LABELS_MOST]; /* that all files so far have in common */
	char program[256];
	struct intern counter_names;
	struct fmt_counter counters[256]; /* by id */
	struct fmt_cost cost;
	struct fmt_end end;
	struct err *e;
};

/* One input's samples on their way. */
struct merge_copy {
	struct merge *m;
	const struct store_reader *reader;
	uint64_t counted[256]; /* by counter: as this input last said */
	struct fmt_cost cost;
};

static uint32_t copy_string(struct merge *m, const struct store_reader *r, uint32_t id)
{
	return store_string(m->w, store_str(r, id));
}

/* Ids of one input move behind those of the inputs before. */
static uint32_t moved_id(uint32_t id, uint32_t base, uint32_t *next)
{
	if (!id || id > (1u << 30))
		return 0;
	if (base + id >= *next)
		*next = base + id + 1;
	return base + id;
}

static int copy_stack(void *ctx, const void *rec, size_t size)
{
	struct merge *m = ((struct merge_copy *)ctx)->m;
	struct fmt_stack s;
	struct fmt_frame *frames;
	size_t n;
	int err;

	if (size < sizeof(s))
		return 0;
	memcpy(&s, rec, sizeof(s));
	n = (size - sizeof(s)) / sizeof(*frames);
	if (n < s.count)
		s.count = (uint16_t)n;
	frames = malloc((s.count + 1u) * sizeof(*frames));
	if (!frames)
		return err_set(m->e, -ENOMEM, "out of memory");
	memcpy(frames, rec + sizeof(s), s.count * sizeof(*frames));
	s.id = moved_id(s.id, m->stack_base, &m->next_stack);
	for (unsigned i = 0; i < s.count; i++)
		frames[i].module = moved_id(frames[i].module, m->module_base, &m->next_module);
	err = store_put_var(m->w, FMT_STACK, &s, sizeof(s), frames, (uint32_t)(s.count * sizeof(*frames)));
	free(frames);
	return err;
}

static int copy_symbol(void *ctx, const void *record, size_t size)
{
	const struct merge_copy *copy = ctx;
	const uint8_t *rec = record;
	struct merge *m = copy->m;
	struct fmt_symbol s;
	struct fmt_inline chain[64];
	size_t n;

	if (size < sizeof(s))
		return 0;
	memcpy(&s, rec, sizeof(s));
	n = (size - sizeof(s)) / sizeof(chain[0]);
	if (n < s.count)
		s.count = (uint32_t)n;
	/* the last of the chain is the physical function: a long chain loses its innermost ones */
	n = s.count > 64 ? s.count - 64 : 0;
	s.count -= (uint32_t)n;
	memcpy(chain, rec + sizeof(s) + n * sizeof(chain[0]), s.count * sizeof(chain[0]));
	s.module = moved_id(s.module, m->module_base, &m->next_module);
	for (uint32_t i = 0; i < s.count; i++) {
		chain[i].function = moved_id(chain[i].function, m->function_base, &m->next_function);
		chain[i].file = copy_string(m, copy->reader, chain[i].file);
	}
	return store_put_var(m->w, FMT_SYMBOL, &s, sizeof(s), chain, (uint32_t)(s.count * sizeof(chain[0])));
}

/* last: of this input. Of a level the last word counts, as in a report: an earlier one is no level of the whole. */
static void add_counter(struct merge *m, const struct store_reader *r, const struct fmt_counter *c, uint64_t *last)
{
	const char *name = store_str(r, c->name);
	uint32_t id = intern_str(&m->counter_names, name ? name : "unnamed", NULL);

	if (!id || id >= sizeof(m->counters) / sizeof(m->counters[0]))
		return;
	m->counters[id].flags |= c->flags;
	/* cumulative within an input: only what was added since */
	if (!(c->flags & FMT_C_LEVEL))
		m->counters[id].value += c->value - last[id];
	last[id] = c->value;
}

static void add_levels(struct merge *m, const uint64_t *last)
{
	for (uint32_t id = 1; id <= m->counter_names.count && id < sizeof(m->counters) / sizeof(m->counters[0]); id++)
		if (m->counters[id].flags & FMT_C_LEVEL && last[id] > m->counters[id].value)
			m->counters[id].value = last[id];
}

static int put_process(void *ctx, const void *rec, size_t size)
{
	struct merge_copy *c = ctx;
	struct fmt_process p = *(const struct fmt_process *)rec;

	p.comm = copy_string(c->m, c->reader, p.comm);
	p.cmdline = copy_string(c->m, c->reader, p.cmdline);
	return store_put(c->m->w, FMT_PROCESS, &p, sizeof(p));
}

static int copy_place(void *ctx, const void *rec, size_t size)
{
	struct merge_copy *c = ctx;
	struct fmt_place p = *(const struct fmt_place *)rec;

	p.unit = copy_string(c->m, c->reader, p.unit);
	p.container = copy_string(c->m, c->reader, p.container);
	p.pod = copy_string(c->m, c->reader, p.pod);
	return store_put(c->m->w, FMT_PLACE, &p, sizeof(p));
}

static int put_module(void *ctx, const void *rec, size_t size)
{
	struct merge_copy *c = ctx;
	struct fmt_module m = *(const struct fmt_module *)rec;

	m.id = moved_id(m.id, c->m->module_base, &c->m->next_module);
	m.path = copy_string(c->m, c->reader, m.path);
	return store_put(c->m->w, FMT_MODULE, &m, sizeof(m));
}

static int copy_sample(void *ctx, const void *rec, size_t size)
{
	struct merge_copy *c = ctx;
	struct fmt_sample s = *(const struct fmt_sample *)rec;

	s.stack = moved_id(s.stack, c->m->stack_base, &c->m->next_stack);
	s.period = whole_number((double)s.period * c->m->weight);
	return store_put(c->m->w, FMT_SAMPLE, &s, sizeof(s));
}

static int copy_wait(void *ctx, const void *rec, size_t size)
{
	struct merge_copy *c = ctx;
	struct fmt_wait w = *(const struct fmt_wait *)rec;

	w.stack = moved_id(w.stack, c->m->stack_base, &c->m->next_stack);
	w.weight *= c->m->weight;
	return store_put(c->m->w, FMT_WAIT, &w, sizeof(w));
}

static int copy_branch(void *ctx, const void *rec, size_t size)
{
	struct merge_copy *c = ctx;
	struct fmt_burst_branch b = *(const struct fmt_burst_branch *)rec;

	b.from_module = moved_id(b.from_module, c->m->module_base, &c->m->next_module);
	b.to_module = moved_id(b.to_module, c->m->module_base, &c->m->next_module);
	return store_put(c->m->w, FMT_BURST_BRANCH, &b, sizeof(b));
}

static int put_function(void *ctx, const void *rec, size_t size)
{
	struct merge_copy *c = ctx;
	struct fmt_function f = *(const struct fmt_function *)rec;

	f.id = moved_id(f.id, c->m->function_base, &c->m->next_function);
	f.name = copy_string(c->m, c->reader, f.name);
	f.object = copy_string(c->m, c->reader, f.object);
	f.file = copy_string(c->m, c->reader, f.file);
	return store_put(c->m->w, FMT_FUNCTION, &f, sizeof(f));
}

static int count_counter(void *ctx, const void *rec, size_t size)
{
	struct merge_copy *c = ctx;

	add_counter(c->m, c->reader, rec, c->counted);
	return 0;
}

static int note_cost(void *ctx, const void *rec, size_t size)
{
	memcpy(&((struct merge_copy *)ctx)->cost, rec, sizeof(struct fmt_cost));
	return 0;
}

static int add_end(void *ctx, const void *rec, size_t size)
{
	struct fmt_end *all = &((struct merge_copy *)ctx)->m->end;
	const struct fmt_end *end = rec;

	all->duration_ns += end->duration_ns;
	all->samples += end->samples;
	all->lost += end->lost;
	all->exit_status = end->exit_status;
	all->reason = FMT_END_DONE;
	return 0;
}

static const struct section_row rows[] = {
	{ FMT_PROCESS, sizeof(struct fmt_process), put_process, NULL },
	{ FMT_PLACE, sizeof(struct fmt_place), copy_place, NULL },
	{ FMT_MODULE, sizeof(struct fmt_module), put_module, NULL },
	{ FMT_SAMPLE, sizeof(struct fmt_sample), copy_sample, NULL },
	{ FMT_WAIT, sizeof(struct fmt_wait), copy_wait, NULL },
	{ FMT_BURST_BRANCH, sizeof(struct fmt_burst_branch), copy_branch, NULL },
	{ FMT_STACK, 0, copy_stack, NULL },
	{ FMT_SYMBOL, 0, copy_symbol, NULL },
	{ FMT_FUNCTION, sizeof(struct fmt_function), put_function, NULL },
	{ FMT_COUNTER, sizeof(struct fmt_counter), count_counter, NULL },
	{ FMT_COST, sizeof(struct fmt_cost), note_cost, NULL },
	{ FMT_END, sizeof(struct fmt_end), add_end, NULL },
};

static void add_cost(struct merge *m, const struct fmt_cost *c)
{
	m->cost.own_cpu_ns += c->own_cpu_ns;
	m->cost.target_cpu_ns += c->target_cpu_ns;
	m->cost.target_lost_ns += c->target_lost_ns;
	if (c->peak_rss > m->cost.peak_rss)
		m->cost.peak_rss = c->peak_rss;
}

/* One input, from one walk: time samples with their stacks and names are copied as they come; accesses stay behind,
 * their result is kept instead, for library code as itself and as its caller. */
static int read_input(struct merge *m, const char *path, struct profile **p, struct flow_input in[2])
{
	struct section_reader readers[1 + 2 * FLOW_INPUT_READERS];
	struct raw *raw[2] = { 0 };
	struct merge_copy c = { .m = m };
	int err = 0;

	*p = profile_open(path, m->e);
	if (!*p)
		return m->e->code;
	c.reader = profile_reader(*p);
	m->module_base = m->next_module;
	m->stack_base = m->next_stack;
	m->function_base = m->next_function;
	readers[0] = SECTION_READER(rows, &c);
	for (unsigned i = 0; !err && i < 2; i++) {
		struct flow_input_opts io = { .main_image = i, .no_earlier = true };

		raw[i] = flow_input_begin(&in[i], *p, &io, &readers[1 + i * FLOW_INPUT_READERS], m->e);
		err = raw[i] ? 0 : -ENOMEM;
	}
	if (!err)
		err = profile_read(*p, FLOW_INPUT_GROUPS, readers, sizeof(readers) / sizeof(*readers), m->e);
	if (err && !m->e->code)
		err_set(m->e, err, "%s: %s", path, err == -ENOMEM ? "out of memory" : strerror(-err));
	for (unsigned i = 0; i < 2; i++) {
		int failed = raw[i] ? flow_input_end(raw[i], err) : 0;

		err = err ? err : failed;
	}
	add_levels(m, c.counted);
	add_cost(m, &c.cost);
	return err;
}

static double both(double a, double b)
{
	return isnan(a) ? b : isnan(b) ? a : a + b;
}

/* Unknown of one is unknown of the sum. */
static double wider(double a, double b, bool is)
{
	return isnan(a) || isnan(b) ? NAN : is ? b : a;
}

static void add_head(struct flow *s, const struct flow *f, bool first)
{
	if (first) {
		s->engine = f->engine;
		s->semantics = f->semantics;
		s->stack = f->stack;
		s->main_image = f->main_image;
		s->level = f->level;
	}
	s->time_bias |= f->time_bias;
	s->speed_low = wider(s->speed_low, f->speed_low, f->speed_low < s->speed_low);
	s->speed_high = wider(s->speed_high, f->speed_high, f->speed_high > s->speed_high);
	s->duration_ns = both(s->duration_ns, f->duration_ns);
	s->loads = both(s->loads, f->loads);
	s->stores = both(s->stores, f->stores);
	s->windows = both(s->windows, f->windows);
	s->lost = both(s->lost, f->lost);
}

static int sum_flow(struct merge *m, size_t v, const struct flow *f, const char *path)
{
	struct flow *s = &m->sum[v];

	if (f->main_image != variants[v].main_image)
		return 0;
	add_head(s, f, !m->have[v]++);
	if (f->engine != s->engine)
		return err_set(m->e, -EINVAL,
			       "%s comes from the %s engine and the others from %s; merge like with like", path,
			       flow_engine_str(f->engine), flow_engine_str(s->engine));
	return flow_add(s, f, m->weight) ? err_set(m->e, -ENOMEM, "out of memory") : 0;
}

static int add_flows(struct merge *m, const struct flow_input in[2], const char *path)
{
	int err = 0;

	for (size_t v = 0; !err && v < VARIANTS; v++) {
		const struct flow_input *from = &in[variants[v].main_image];
		struct est_opts est = EST_OPTS_DEFAULT;
		struct err ignored = { 0 };
		struct flow f;

		if (!from->access_count && !from->has_x && !from->cache.count)
			continue;
		est.ke = variants[v].ke;
		est.stack = variants[v].stack;
		/* not every profile has every kind; the closing line says which are kept */
		if (flow_estimate(from, NULL, &est, &f, &ignored))
			continue;
		err = sum_flow(m, v, &f, path);
		flow_release(&f);
	}
	return err;
}

/* The build-id of each object must be the same wherever it occurs. */
static int check_builds(struct merge *m, struct intern *seen, const char *ids, const char *path)
{
	for (const char *p = ids; *p;) {
		const char *nl = strchr(p, '\n'), *eq = memchr(p, '=', nl ? (size_t)(nl - p) : 0);

		if (!nl || !eq)
			break;
		for (uint32_t i = 1; i <= seen->count; i++) {
			size_t len;
			const char *old = intern_get(seen, i, &len);

			if (old && !strncmp(old, p, (size_t)(eq - p) + 1) &&
			    (len != (size_t)(nl - p) || memcmp(old, p, len)))
				return err_set(
					m->e, -EINVAL,
					"%s is another build of %.*s than in the files before it; --force merges by name",
					path, (int)(eq - p), p);
		}
		if (!intern_add(seen, p, (size_t)(nl - p), NULL))
			return err_set(m->e, -ENOMEM, "out of memory");
		p = nl + 1;
	}
	return 0;
}

static int write_totals(struct merge *m, unsigned files)
{
	int err = 0;

	for (uint32_t i = 1; !err && i <= m->counter_names.count && i < 256; i++) {
		m->counters[i].name = store_string(m->w, intern_get(&m->counter_names, i, NULL));
		err = store_put(m->w, FMT_COUNTER, &m->counters[i], sizeof(m->counters[i]));
	}
	if (!err && m->cost.own_cpu_ns)
		err = store_put(m->w, FMT_COST, &m->cost, sizeof(m->cost));
	for (size_t v = 0; !err && v < VARIANTS; v++)
		if (m->have[v] == files)
			err = flow_put(m->w, &m->sum[v], m->e);
	if (!err)
		err = store_put(m->w, FMT_END, &m->end, sizeof(m->end));
	return err;
}

/* Is it of the same program, and of the same builds? */
static int check_same_program(struct merge *m, const struct flow_input *in, struct intern *seen, bool first,
			      const char *path)
{
	if (first)
		snprintf(m->program, sizeof(m->program), "%s", in->program);
	if (m->what->force)
		return 0;
	if (strcmp(m->program, in->program))
		return err_set(m->e, -EINVAL, "%s is of %s and the first of %s; --force merges them all the same", path,
			       *in->program ? in->program : "an unknown program",
			       *m->program ? m->program : "an unknown program");
	return check_builds(m, seen, in->build_ids, path);
}

static void keep_labels(struct merge *m, const struct profile *p, bool first)
{
	const char *labels = profile_meta(p, META_LABELS);

	if (first)
		snprintf(m->labels, sizeof(m->labels), "%s", labels ? labels : "");
	labels_keep_common(m->labels, labels ? labels : "");
}

static int add_input(struct merge *m, const char *path, struct intern *seen, bool first, bool *degraded)
{
	struct flow_input in[2] = { { 0 }, { 0 } };
	struct profile *p;
	int err = read_input(m, path, &p, in);

	if (!err)
		err = check_same_program(m, &in[0], seen, first, path);
	if (!err)
		keep_labels(m, p, first);
	if (!err && first) {
		store_meta(m->w, "engine", flow_engine_str(in[0].engine));
		store_meta(m->w, "command", in[0].command);
	}
	if (!err && *in[0].missing) {
		log_warn("%s: %s", path, in[0].missing);
		*degraded = true;
	}
	if (!err)
		err = add_flows(m, in, path);
	for (unsigned i = 0; i < 2; i++)
		flow_input_release(&in[i]);
	profile_free(p);
	return err;
}

static int merge_all(struct merge *m, bool *degraded)
{
	const struct merge_what *what = m->what;
	struct intern seen = { 0 };
	int err = 0;

	store_metaf(m->w, "merged", "%u", what->count);
	for (unsigned i = 0; !err && i < what->count; i++) {
		m->weight = what->weights[i];
		err = add_input(m, what->paths[i], &seen, !i, degraded);
	}
	if (!err && *m->labels)
		err = store_meta(m->w, META_LABELS, m->labels);
	if (!err)
		err = write_totals(m, what->count);
	intern_release(&seen);
	return err;
}

int merge_profiles(const struct merge_what *what, const char *output, struct merge_result *res, struct err *e)
{
	struct merge m = { .what = what, .e = e, .next_module = 1, .next_stack = 1, .next_function = 1 };
	int err;

	*res = (struct merge_result){ 0 };
	m.w = store_create(output, STORE_KEEP_OLD | STORE_WHEN_DONE, e);
	if (!m.w)
		return e->code;
	for (size_t v = 0; v < VARIANTS; v++)
		flow_init(&m.sum[v]);
	err = merge_all(&m, &res->degraded);
	if (err && !e->code)
		err_set(e, err, "writing %s failed: %s", output, strerror(-err));
	if (err)
		store_abandon(m.w);
	else
		err = store_close(m.w, e);
	for (size_t v = 0; v < VARIANTS; v++) {
		res->kinds += m.have[v] == what->count;
		flow_release(&m.sum[v]);
	}
	intern_release(&m.counter_names);
	return err;
}
