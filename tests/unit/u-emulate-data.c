// SPDX-License-Identifier: GPL-2.0-or-later
/* Data that bursts saw: what the recorder adds up and writes, what is made of it, and what that does to a flow. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi.h"
#include "record/emulate_data.h"
#include "flow/bursts.h"
#include "flow/estimators.h"
#include "store/read.h"
#include "unit/fake_code.h"
#include "unit/temp_file.h"
#include "unit/unit.h"

/* ---- what the recorder writes ---- */

#define ROUNDS 10
#define LEFT_AT (DATA + 0x8000)

static const uint8_t code[] = {
	0x8b, 0x06,             /* 0 mov eax, [rsi]: from before */
	0x89, 0x07,             /* 2 mov [rdi], eax */
	0x8b, 0x1f,             /* 4 mov ebx, [rdi]: written one instruction ago */
	0x50,                   /* 6 push rax */
	0x58,                   /* 7 pop rax: the stack */
	0x48, 0x83, 0xc6, 0x04, /* 8 add rsi, 4 */
	0xeb, 0xf2,             /* 12 jmp 0 */
};
#define INSNS 7

static bool place(void *ctx, uint32_t pid, uint64_t ip, uint32_t *module, uint64_t *addr)
{
	assert_int_equal(pid, 5);
	*module = 1;
	*addr = ip - CODE;
	return true;
}

static uint32_t word_at(uint64_t addr)
{
	return (uint32_t)(addr / 4);
}

static bool numbered_page(void *ctx, uint64_t addr, uint8_t *buf)
{
	for (uint64_t i = 0; i < EMU_PAGE; i += 4) {
		uint32_t word = word_at(addr / EMU_PAGE * EMU_PAGE + i);

		memcpy(buf + i, &word, sizeof(word));
	}
	return true;
}

static int32_t field(void *ctx, uint64_t ip)
{
	return (int32_t)(ip - CODE) + 1;
}

/* The first bytes of what it moved. */
static uint16_t mark(void *ctx, const struct emu_access *a)
{
	return a->valued ? (uint16_t)(a->value + 1) : 0;
}

/* kept: instructions of each that are not taken back. rounds: of a segment; 0: bursts. */
static void record(unsigned bursts, uint64_t kept, unsigned rounds)
{
	struct err e = { 0 };
	struct store_writer *w = store_create(path, 0, &e);
	struct emulate_data_env where = { .place = place, .field = field, .mark = mark };
	struct emulate_data *f = emulate_data_new(w, &where, 1);
	struct fake_code fake = { code, sizeof(code) };
	struct emu_env env = { .code = fake_code, .page = numbered_page, .ctx = &fake };
	struct emu *emu = emu_new(&env);
	uint64_t regs[WREG_MAX] = { 0 };
	struct emu_start start = { .regs = regs,
				   .insns = INSNS * (rounds ? rounds : ROUNDS),
				   .access = emulate_data_access,
				   .access_ctx = f };
	struct emu_count count[16];
	struct emu_result out;

	assert_true(w && f && emu);
	regs[WREG_IP] = CODE;
	regs[WREG_SP] = SP;
	regs[WREG_SI] = DATA;
	regs[WREG_DI] = LEFT_AT;
	for (unsigned i = 0; i < bursts; i++) {
		struct fmt_burst_data of = { .time = 1000 + i, .pid = 5, .tid = 6 };

		emulate_data_begin(f, &of, SP + 0x1000, rounds);
		assert_int_equal(emu_run(emu, &start, &out), 0);
		assert_int_equal(out.insns, start.insns);
		assert_int_equal(emulate_data_end(f, emu, count, rounds ? 0 : emu_counts(emu, count, 16), kept), 0);
	}
	assert_int_equal(emulate_data_write(f), 0);
	emulate_data_free(f);
	emu_free(emu);
	assert_int_equal(store_close(w, &e), 0);
}

struct seen {
	uint64_t ip_of[16];             /* by id */
	struct fmt_burst_site site[16]; /* by address */
	double pair[16][16];            /* by addresses; writer 15: none */
	unsigned rounds, data, loads, stores;
	unsigned parts, in_parts;                 /* bursts in parts */
	double part_runs[16], part_bytes[16][16]; /* by id; writer 0: none */
	unsigned part_bursts[16];
};

static void see_part(struct seen *s, const uint8_t *rec, size_t size)
{
	struct fmt_burst_part h;
	struct fmt_burst_part_site site;
	struct fmt_burst_part_pair pair;

	assert_true(size >= sizeof(h));
	memcpy(&h, rec, sizeof(h));
	assert_int_equal(size, sizeof(h) + h.sites * sizeof(site) + h.pairs * sizeof(pair));
	assert_int_equal(h.time, 1000 + s->in_parts - (h.sites ? 0 : h.bursts));
	s->parts += h.sites > 0;
	s->in_parts += h.sites ? h.bursts : 0;
	rec += sizeof(h);
	for (unsigned i = 0; i < h.sites; i++, rec += sizeof(site)) {
		memcpy(&site, rec, sizeof(site));
		s->part_runs[site.site] += site.runs;
		s->part_bursts[site.site] += site.bursts;
	}
	for (unsigned i = 0; i < h.pairs; i++, rec += sizeof(pair)) {
		memcpy(&pair, rec, sizeof(pair));
		s->part_bytes[pair.reader][pair.writer] += (double)pair.bytes;
	}
}

static void see_data(struct seen *s, const uint8_t *rec, size_t size)
{
	struct fmt_burst_data d;
	struct fmt_burst_item it;

	assert_true(size >= sizeof(d));
	memcpy(&d, rec, sizeof(d));
	assert_int_equal(size, sizeof(d) + (d.loads + d.stores) * sizeof(it));
	assert_true(d.pid == 5 && d.tid == 6 && d.time >= 1000);
	s->data++;
	for (unsigned i = 0; i < d.loads + d.stores; i++) {
		memcpy(&it, rec + sizeof(d) + i * sizeof(it), sizeof(it));
		assert_int_equal(it.size, 4);
		assert_true(i < d.loads ? it.addr >= DATA && it.addr < DATA + 4 * s->rounds && it.addr != LEFT_AT
					: it.addr == LEFT_AT);
		assert_int_equal(it.mark, (uint16_t)(word_at(i < d.loads ? it.addr : DATA + 4 * (s->rounds - 1)) + 1));
		*(i < d.loads ? &s->loads : &s->stores) += 1;
	}
}

static void see(struct seen *s)
{
	struct err e = { 0 };
	struct store_reader *r = store_open(path, &e);
	struct store_chunk c;
	struct fmt_burst_site site;
	struct fmt_burst_pair pair;
	const uint8_t *rec;
	size_t size;

	assert_non_null(r);
	while (store_next(r, &c, &e) > 0) {
		for (uint32_t i = 0; c.section == FMT_BURST_SITE && i < c.count; i++) {
			store_rec(&c, i, &site, sizeof(site));
			assert_true(site.id < 16 && site.ip < 16 && site.field == (int32_t)site.ip + 1);
			s->ip_of[site.id] = site.ip;
			s->site[site.ip] = site;
		}
		for (uint32_t i = 0; c.section == FMT_BURST_PAIR && i < c.count; i++) {
			store_rec(&c, i, &pair, sizeof(pair));
			s->pair[s->ip_of[pair.reader]][pair.writer ? s->ip_of[pair.writer] : 15] += pair.bytes;
			assert_true(!pair.writer || pair.bin == (s->ip_of[pair.reader] == 4 ? 0 : 2));
		}
		while (c.section == FMT_BURST_DATA && (rec = store_next_var(&c, &size)))
			see_data(s, rec, size);
		while (c.section == FMT_BURST_PART && (rec = store_next_var(&c, &size)))
			see_part(s, rec, size);
	}
	store_reader_free(r);
}

TEST_WITH(bursts_are_added_up, new_path, remove_path)
{
	struct seen s = { .rounds = ROUNDS };

	record(3, INSNS * ROUNDS, 0);
	see(&s);
	assert_true(s.site[0].runs == 3 * ROUNDS && s.site[0].load_bytes == 3 * 4 * ROUNDS &&
		    s.site[0].load_stack == 0);
	assert_true(s.site[2].runs == 3 * ROUNDS && s.site[2].store_bytes == 3 * 4 * ROUNDS &&
		    s.site[2].load_bytes == 0);
	assert_true(s.site[7].load_bytes == 3 * 8 * ROUNDS && s.site[7].load_stack == 3 * 8 * ROUNDS);
	assert_int_equal(s.site[0].bursts, 3);
	assert_int_equal(s.site[8].bursts, 0); /* unwanted */
	assert_true(s.pair[0][15] == 3 * 4 * ROUNDS && s.pair[0][2] == 0);
	assert_true(s.pair[4][2] == 3 * 4 * ROUNDS && s.pair[4][15] == 0);
	assert_true(s.pair[7][6] == 0 && s.pair[7][15] == 0); /* the stack is nobody's business */
	assert_int_equal(s.data, 3);
	assert_int_equal(s.loads, 3 * ROUNDS);
	assert_int_equal(s.stores, 3); /* written over and over, left once */
}

TEST_WITH(what_was_taken_back_was_no_access, new_path, remove_path)
{
	struct seen s = { .rounds = ROUNDS };

	record(3, INSNS * (ROUNDS / 2), 0);
	see(&s);
	assert_true(s.site[0].load_bytes == 3 * 4 * (ROUNDS / 2) && s.site[2].store_bytes == 3 * 4 * (ROUNDS / 2));
	assert_true(s.pair[0][15] == 3 * 4 * (ROUNDS / 2) && s.pair[4][2] == 3 * 4 * (ROUNDS / 2));
	assert_int_equal(s.loads, 3 * (ROUNDS / 2));
	assert_int_equal(s.stores, 0); /* the last of each came later */
}

/* More than is followed at once. How often it ran and what it moved would count it as one drawn by time. */
TEST_WITH(a_segment_tells_who_wrote_and_nothing_of_volume, new_path, remove_path)
{
	enum { LONG = 10000 };
	struct seen s = { .rounds = LONG };

	record(2, INSNS * LONG, LONG);
	see(&s);
	/* once the first comes by what the second left, in the round before */
	assert_true(s.pair[0][15] == 2 * 4 * (LONG - 1) && s.pair[0][2] == 2 * 4);
	assert_true(s.pair[4][2] == 2 * 4 * LONG && s.pair[4][15] == 0);
	assert_true(s.site[4].bursts == 2 && s.site[4].runs == 0 && s.site[0].load_bytes == 0);
	assert_true(s.site[2].store_bytes == 0 && s.site[7].load_stack == 0);
	assert_int_equal(s.data, 2);
	assert_true(s.loads > 2 * ROUNDS && s.loads < 2 * LONG / 10); /* some of all */
	assert_int_equal(s.stores, 2);
}

TEST_WITH(parts_add_up_to_all, new_path, remove_path)
{
	struct seen s = { .rounds = ROUNDS };

	record(400, INSNS * ROUNDS, 0);
	see(&s);
	/* one burst each at first, then so many times more as there were before */
	assert_int_equal(s.in_parts, 400);
	assert_true(s.parts > 15 && s.parts < 60);
	for (unsigned id = 1; id < 16 && s.ip_of[id] + s.site[0].id; id++) {
		const struct fmt_burst_site *at = &s.site[s.ip_of[id]];

		if (at->id != id)
			continue;
		assert_true(s.part_runs[id] == at->runs);
		assert_int_equal(s.part_bursts[id], at->bursts);
		for (unsigned writer = 1; writer < 16; writer++)
			assert_true(s.part_bytes[id][writer] == s.pair[at->ip][s.ip_of[writer]] ||
				    s.site[s.ip_of[writer]].id != writer);
		assert_true(s.part_bytes[id][0] == s.pair[at->ip][15]);
	}
	assert_true(s.part_bytes[s.site[4].id][s.site[2].id] == 400 * 4 * ROUNDS);
}

/* ---- what is made of it ---- */

TEST(those_that_cannot_look_back_tell_nothing)
{
	struct in_site sites[3] = { { .func = 7 }, { .func = 8 }, { .func = 9 } };
	struct in_burst_site met[2] = { { .site = 0, .bursts = 9 }, { .site = 1, .bursts = 9 } };
	struct in_burst_pair pair[] = {
		{ 0, FLOW_NONE, 3, 20 }, { 0, 1, 2, 50 },  { 0, 2, 4, 20 },          { 0, FLOW_NONE, 14, 10 },
		{ 1, 2, 3, 30 },         { 1, 2, 12, 20 }, { 1, FLOW_NONE, 13, 50 },
	};
	struct flow_input in = { .sites = sites,
				 .site_count = 3,
				 .burst_site = met,
				 .burst_site_count = 2,
				 .burst_pair = pair,
				 .burst_pair_count = 7 };
	struct bursts b;

	assert_int_equal(bursts_learn(&b, &in, true), 0);
	assert_int_equal(b.count, 3);
	/* half at once; of the other half two of three, as those 20 could see as far as the third bin only; believed
	 * by 9 of 10 */
	assert_int_equal(b.writer[0].func, 8);
	assert_true(fabs(b.writer[0].part - 0.45) < 1e-9);
	assert_int_equal(b.writer[1].func, 9);
	assert_true(fabs(b.writer[1].part - 0.3) < 1e-9);
	assert_true(fabs(b.older[0] - 0.25) < 1e-9);
	assert_true(b.writer[0].far == 0 && b.writer[1].far == 0);
	assert_true(fabs(b.writer[2].part - 0.45) < 1e-9 && fabs(b.writer[2].far - 0.18) < 1e-9);
	assert_true(b.older[2] == 1);
	bursts_release(&b);
}

/* ---- what it does to a flow ---- */

enum { WRITER_A = 1, WRITER_B, READER };

static void put_function(struct store_writer *w, uint32_t id, const char *name)
{
	struct fmt_function f = { .id = id, .name = store_string(w, name), .object = store_string(w, "/nowhere/app") };
	struct fmt_symbol s = { .addr = 0x1000 * id, .module = 1, .count = 1 };
	struct fmt_inline i = { .function = id };

	store_put(w, FMT_FUNCTION, &f, sizeof(f));
	store_put_var(w, FMT_SYMBOL, &s, sizeof(s), &i, sizeof(i));
}

static void put_access(struct store_writer *w, uint32_t function, uint64_t time, uint32_t flags, double weight)
{
	struct fmt_access a = { .time = time,
				.addr = 0x10000,
				.ip = 0x1000 * function,
				.weight = weight,
				.module = 1,
				.pid = 1,
				.tid = 1,
				.size = 4,
				.flags = flags };

	store_put(w, FMT_ACCESS, &a, sizeof(a));
}

static void put_bursts(struct store_writer *w)
{
	struct fmt_burst_pair pair[] = { { .reader = 3, .writer = 2, .bin = 3, .bytes = 60 },
					 { .reader = 3, .bin = 14, .bytes = 40 },
					 { .reader = 9, .writer = 2, .bytes = 1 } };
	struct {
		struct fmt_burst_data d;
		struct fmt_burst_item it[2];
	} data = {
		{ .time = 500, .pid = 1, .tid = 1, .loads = 1, .stores = 1 },
		{ { 0x10000, 3, 4, 0 }, { 0x10000, 2, 4, 0 } },
	};

	for (uint32_t i = 1; i <= 3; i++) {
		struct fmt_burst_site s = { .id = i, .module = 1, .ip = 0x1000 * i, .runs = 1, .bursts = 99 };

		store_put(w, FMT_BURST_SITE, &s, sizeof(s));
	}
	for (unsigned i = 0; i < 3; i++)
		store_put(w, FMT_BURST_PAIR, &pair[i], sizeof(pair[i]));
	store_put_var(w, FMT_BURST_DATA, &data, sizeof(data), NULL, 0);
}

/* As put_bursts() has it, of ten parts: each alike, or two sorts. */
static void put_parts(struct store_writer *w, bool alike)
{
	for (unsigned i = 0; i < 10; i++) {
		float near = alike ? 6 : i % 2 ? 12 : 0;
		struct {
			struct fmt_burst_part h;
			struct fmt_burst_part_site s;
			struct fmt_burst_part_pair p[2];
		} part = { { .time = 400 + 10 * i, .bursts = 10, .sites = 1, .pairs = 2 },
			   { .site = 3, .bursts = 10, .runs = 1 },
			   { { .reader = 3, .writer = 2, .bin = 3, .bytes = near },
			     { .reader = 3, .bin = 14, .bytes = 10 - near > 0 ? 10 - near : 0 } } };

		store_put_var(w, FMT_BURST_PART, &part, sizeof(part), NULL, 0);
	}
}

static double share(const struct flow_input *in, bool stack, const char *producer)
{
	struct est_opts o = EST_OPTS_DEFAULT;
	struct err e = { 0 };
	struct flow f;
	const struct flow_edge *edge;
	double v;

	o.stack = stack;
	assert_int_equal(flow_estimate(in, "fused", &o, &f, &e), 0);
	edge = flow_get(&f, flow_find(&f, producer, NULL), flow_find(&f, "reader", NULL));
	v = edge ? edge->bytes / flow_total(&f) : 0;
	assert_true(fabs(flow_total(&f) - 40) < 1e-9); /* bursts change whose bytes these are, not how many */
	flow_release(&f);
	return v;
}

enum { NO_BURSTS, BURSTS, PARTS_ALIKE, PARTS_APART };

static void load(struct flow_input *in, int bursts)
{
	struct err e = { 0 };
	struct flow_input_opts o = { 0 };
	struct store_writer *w = store_create(path, 0, &e);
	struct fmt_module m = { .id = 1, .kind = FMT_MOD_FILE };
	struct fmt_end end = { .time = 3000, .reason = FMT_END_DONE };

	assert_non_null(w);
	store_meta(w, "engine", "soft");
	store_meta(w, "from_start", "1");
	m.path = store_string(w, "/nowhere/app");
	store_put(w, FMT_MODULE, &m, sizeof(m));
	put_function(w, WRITER_A, "writer_a");
	put_function(w, WRITER_B, "writer_b");
	put_function(w, READER, "reader");
	put_access(w, WRITER_A, 100, FMT_A_STORE, 10);
	for (unsigned i = 0; i < 400; i++)
		put_access(w, READER, 400, FMT_A_LOAD, 0.025);
	if (bursts)
		put_bursts(w);
	if (bursts >= PARTS_ALIKE)
		put_parts(w, bursts == PARTS_ALIKE);
	store_put(w, FMT_END, &end, sizeof(end));
	assert_int_equal(store_close(w, &e), 0);
	assert_int_equal(flow_input_load(in, path, &o, &e), 0);
}

TEST_WITH(bursts_know_who_wrote_just_before, new_path, remove_path)
{
	struct flow_input in;

	load(&in, NO_BURSTS);
	assert_true(fabs(share(&in, false, "writer_a") - 1) < 1e-6);
	flow_input_release(&in);
	load(&in, BURSTS);
	assert_int_equal(in.burst_count, 1);
	assert_int_equal(in.burst_pair_count, 2); /* the third is of an instruction that is nowhere described */
	assert_true(fabs(share(&in, false, "writer_b") - 0.594) < 1e-6);
	assert_true(fabs(share(&in, false, "writer_a") - 0.406) < 1e-6);
	/* bursts saw nothing of the stack */
	assert_true(fabs(share(&in, true, "writer_a") - 1) < 1e-6);
	flow_input_release(&in);
}

/* Deviation of an edge, of all bytes. */
static double width(int bursts, const char *producer)
{
	struct est_opts o = EST_OPTS_DEFAULT;
	const struct flow_edge *edge;
	struct flow_input in;
	struct err e = { 0 };
	struct flow f;
	double v;

	load(&in, bursts);
	assert_int_equal(flow_estimate(&in, "fused", &o, &f, &e), 0);
	edge = flow_get(&f, flow_find(&f, producer, NULL), flow_find(&f, "reader", NULL));
	assert_non_null(edge);
	v = edge->sd / flow_total(&f);
	flow_release(&f);
	flow_input_release(&in);
	return v;
}

TEST_WITH(bursts_that_differ_make_intervals_wide, new_path, remove_path)
{
	double alike = width(PARTS_ALIKE, "writer_b"), apart = width(PARTS_APART, "writer_b");

	/* the 400 loads alone: 60 % of all, each in or out */
	assert_true(alike > 0.015 && alike < 0.045);
	/* five parts of ten, each in or out: .63 of a share near one half; 40 refits tell that within a fifth */
	assert_true(apart > 0.1 && apart < 0.24);
}
