// SPDX-License-Identifier: GPL-2.0-or-later
#include "counts/loops.h"

#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "proc/ehframe.h"
#include "record/counts_plan.h"
#include "util/grow.h"

#define HEADER 255
#define FIRST_CALL (1ull << 40) /* calls that began before the stretch are numbered downwards from here */
#define LIST_HITS 2

struct loops_spot {
	uint64_t ip;
	uint32_t flags; /* DEC_F_* */
	uint32_t role;  /* index + 1 of the last one added */
};

struct loops_role {
	uint32_t loop, next;
	uint8_t slot; /* 0: way in, k: exit k - 1, HEADER */
};

/* ---- code ---- */

void loops_code(struct loops *l, int pid)
{
	char path[64], line[1024], file[512], prot[8];
	unsigned long start, end, offset;
	FILE *f;

	l->pid = pid;
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		struct loops_image *im;
		struct err e = { 0 };
		uint64_t vaddr;
		bool known = false;

		file[0] = 0;
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %511s", &start, &end, prot, &offset, file) < 4 ||
		    prot[2] != 'x' || file[0] != '/')
			continue;
		for (uint32_t i = 0; i < l->images; i++)
			known |= l->image[i].start == start && l->image[i].end == end;
		if (known || !GROW(l->image, l->images, l->image_cap, 16))
			continue;
		im = &l->image[l->images];
		*im = (struct loops_image){ .start = start, .end = end, .module = module_open_path(file, NULL, 0, &e) };
		if (!im->module || !module_offset_to_vaddr(im->module, offset, &vaddr))
			continue;
		im->bias = start - vaddr;
		l->images++;
	}
	if (f)
		fclose(f);
}

static struct loops_image *image_at(const struct loops *l, uint64_t ip)
{
	for (uint32_t i = 0; i < l->images; i++)
		if (ip >= l->image[i].start && ip < l->image[i].end)
			return &l->image[i];
	return NULL;
}

static size_t code_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return module_read(ctx, addr, buf, len);
}

static bool code_bounds(void *ctx, uint64_t addr, uint64_t *start, uint64_t *end)
{
	const struct ehframe *f = module_ehframe(ctx);

	return f && ehframe_function(f, addr, start, end);
}

static struct loops_spot *spot_at(struct loops *l, uint64_t ip, bool *added)
{
	uint64_t *at = map_put(&l->spot_at, ip, added);

	if (!at || (*added && !GROW(l->spot, l->spots, l->spot_cap, 4096)))
		abort();
	if (*added) {
		l->spot[l->spots] = (struct loops_spot){ .ip = ip };
		*at = l->spots++;
	}
	return &l->spot[*at];
}

static void decode(struct loops *l, struct loops_spot *s)
{
	const struct loops_image *im = image_at(l, s->ip);
	struct dec_insn d;
	uint8_t bytes[15];

	if (im && !dec_decode(bytes, module_read(im->module, s->ip - im->bias, bytes, sizeof(bytes)), &d))
		s->flags = d.flags;
}

static void add_role(struct loops *l, uint64_t ip, uint32_t loop, uint8_t slot)
{
	struct loops_spot *s;
	bool added;

	if (!GROW(l->role, l->roles, l->role_cap, 256))
		abort();
	s = spot_at(l, ip, &added);
	if (added)
		decode(l, s);
	l->role[l->roles] = (struct loops_role){ .loop = loop, .next = s->role, .slot = slot };
	s->role = ++l->roles;
}

/* As the recorder builds it (plan_build()). */
static void add_function(struct loops *l, const struct loops_image *im, uint64_t start, uint64_t end)
{
	struct block_code code = { .id = 1, .read = code_read, .bounds = code_bounds, .ctx = im->module };
	struct runs *r = calloc(1, sizeof(*r));
	uint32_t budget = PLAN_INDUCT_ONCE;

	if (!r || !GROW(l->function, l->functions, l->function_cap, 64))
		abort();
	if (end - start > PLAN_FUNCTION_MAX || runs_build(&code, start, end, &budget, r)) {
		free(r);
		return;
	}
	l->function[l->functions++] = r;
	for (uint32_t k = 0; k < r->links; k++) {
		uint32_t loop = r->link[k].loop;
		const struct runs_trips *t = r->link[k].how == FMT_CL_TRIPS ? &r->trips[loop] : NULL;

		if (!t)
			continue;
		if (!GROW(l->one, l->count, l->cap, 64))
			abort();
		l->one[l->count] = (struct loops_one){ .runs = r,
						       .how = t,
						       .loop = loop,
						       .bias = im->bias,
						       .object = im->module->object,
						       .alone = trip_pairs_alone(&r->cfg, loop, t),
						       .last = l->now };
		trip_pairs_begin(&l->one[l->count].pairs, t, false);
		add_role(l, t->entry + im->bias, l->count, 0);
		add_role(l, cfg_block_addr(&r->cfg, r->cfg.loop[loop].header) + im->bias, l->count, HEADER);
		for (uint32_t i = 0; i < t->exits; i++)
			add_role(l, t->exit[i] + im->bias, l->count, (uint8_t)(i + 1));
		l->count++;
	}
}

static uint32_t look(struct loops *l, uint64_t ip)
{
	const uint64_t *known = map_get(&l->spot_at, ip);
	const struct loops_image *im;
	uint64_t start, end;
	bool added;

	if (known)
		return (uint32_t)*known;
	im = image_at(l, ip);
	if (im && code_bounds(im->module, ip - im->bias, &start, &end) &&
	    map_put(&l->function_at, start + im->bias, &added) && added)
		add_function(l, im, start, end);
	spot_at(l, ip, &added);
	if (added)
		decode(l, &l->spot[*map_get(&l->spot_at, ip)]);
	return (uint32_t)*map_get(&l->spot_at, ip);
}

void loops_see(struct loops *l, uint64_t ip)
{
	look(l, ip);
}

/* ---- calls ---- */

void loops_begin(struct loops *l)
{
	l->depth = 0;
	l->stepping = true;
	l->calls = l->base = FIRST_CALL;
	l->before = UINT32_MAX;
	for (uint32_t i = 0; i < l->count; i++) {
		struct loops_one *o = &l->one[i];

		o->frames = 0;
		o->all = 0;
		o->last = l->now;
		memset(o->hits, 0, sizeof(o->hits));
		trip_pairs_begin(&o->pairs, o->how, false);
	}
}

static uint64_t call_now(const struct loops *l)
{
	return l->depth ? l->call[l->depth - 1] : l->base;
}

static void follow(struct loops *l, uint64_t sp)
{
	uint32_t flags = l->before == UINT32_MAX ? 0 : l->spot[l->before].flags;
	uint32_t cap = l->depth_cap;

	if ((flags & DEC_F_RET) && !l->depth)
		l->base--;
	while (l->depth && sp > l->sp[l->depth - 1])
		l->depth--;
	if (!(flags & DEC_F_CALL) || (flags & DEC_F_SYSCALL))
		return;
	if (!GROW(l->sp, l->depth, cap, 256) || !GROW(l->call, l->depth, l->depth_cap, 256))
		abort();
	l->sp[l->depth] = sp;
	l->call[l->depth++] = ++l->calls;
}

/* ---- loops ---- */

static struct loops_frame *frame_of(const struct loops *l, struct loops_one *o)
{
	uint64_t call = call_now(l);

	while (o->frames && o->frame[o->frames - 1].call > call)
		o->frames--;
	if (o->frames && o->frame[o->frames - 1].call == call)
		return &o->frame[o->frames - 1];
	if (!GROW(o->frame, o->frames, o->frame_cap, 8))
		abort();
	o->frame[o->frames] = (struct loops_frame){ .call = call };
	return &o->frame[o->frames++];
}

static bool near(uint64_t a, uint64_t b)
{
	return a > b ? a - b <= 1 : b - a <= 1;
}

static void verdict(struct loops_one *o, const struct loops_frame *f, unsigned slot, uint64_t claimed, uint64_t value)
{
	uint64_t is = f->begun ? f->runs : 0;

	o->claimed++;
	o->most = is > o->most ? is : o->most;
	o->exact += claimed == is;
	if (near(claimed, is)) {
		o->right++;
		return;
	}
	if (o->wrongs < LOOPS_SHOWN)
		o->wrong[o->wrongs++] = (struct loops_wrong){ claimed, is, f->value_in, value, slot };
}

/* Windows that are opened so many instructions before this way out, after the last hit; header: and see that first.
 * shape: one claim and what it is compared with. */
static void if_begun_within(struct loops_one *o, const struct loops_frame *f, unsigned slot, uint64_t sp,
			    uint64_t value, bool header, uint64_t instructions)
{
	struct trip_pairs p;
	uint64_t n;

	trip_pairs_begin(&p, o->how, o->alone);
	if (header && !o->alone && o->how->exits + 2 <= EXECWIN_SLOTS)
		trip_pairs_hit(&p, TRIP_PAIRS_HEADER, o->header_sp, 0, false, NULL, NULL, &n);
	if (trip_pairs_hit(&p, slot, sp, value, true, NULL, NULL, &n) != TRIP_PAIRS_WITHIN)
		return;
	o->within += instructions;
	o->within_right += near(n, f->begun ? f->runs : 0) ? instructions : 0;
}

static void begun_within(const struct loops *l, struct loops_one *o, const struct loops_frame *f, unsigned slot,
			 uint64_t sp, uint64_t value)
{
	uint64_t header = o->last_header > o->last ? o->last_header : o->last;

	/* it may have begun before the stretch */
	if (!f->begun && (f->call <= FIRST_CALL || !l->stepping))
		return;
	if_begun_within(o, f, slot, sp, value, true, header - o->last);
	if_begun_within(o, f, slot, sp, value, false, l->now - header);
}

static void hit(struct loops *l, struct loops_one *o, unsigned slot, const uint64_t *reg, uint64_t sp)
{
	struct loops_frame *f = frame_of(l, o);
	uint8_t which = slot                     ? o->how->in.exit[o->how->exit_at[slot - 1]].reg
			: o->how->in.entry_known ? DEC_NOREG
						 : o->how->in.entry_reg;
	uint64_t value = which == DEC_NOREG ? 0 : reg[which], n;
	bool list = !o->how->in.stride;
	unsigned most = !slot ? TRIP_PAIRS_HITS + 1 : list ? LIST_HITS : TRIP_PAIRS_HITS;
	bool ends = ++o->hits[slot] == most || ++o->all == 3 * TRIP_PAIRS_HITS;

	if (slot)
		begun_within(l, o, f, slot, sp, value);
	switch (trip_pairs_hit(&o->pairs, slot, sp, value, ends, l->peek, l->ctx, &n)) {
	case TRIP_PAIRS_ONE: verdict(o, f, slot, n, value); break;
	case TRIP_PAIRS_ODD: o->odd++; break;
	default: break;
	}
	if (!slot) {
		*f = (struct loops_frame){ .call = f->call, .begun = true, .value_in = value };
		o->entered++;
	}
	o->last = l->now;
	if (!ends)
		return;
	o->all = 0;
	memset(o->hits, 0, sizeof(o->hits));
	trip_pairs_begin(&o->pairs, o->how, false);
}

/* One address, whatever it is to however many loops; only `one` of them, or all. */
static void roles_at(struct loops *l, uint32_t at, uint32_t one, const struct user_regs_struct *u)
{
	const uint64_t reg[16] = { [WREG_AX] = u->rax,  [WREG_DX] = u->rdx,  [WREG_CX] = u->rcx,  [WREG_BX] = u->rbx,
				   [WREG_SI] = u->rsi,  [WREG_DI] = u->rdi,  [WREG_BP] = u->rbp,  [WREG_SP] = u->rsp,
				   [WREG_R8] = u->r8,   [WREG_R9] = u->r9,   [WREG_R10] = u->r10, [WREG_R11] = u->r11,
				   [WREG_R12] = u->r12, [WREG_R13] = u->r13, [WREG_R14] = u->r14, [WREG_R15] = u->r15 };

	for (uint32_t r = l->spot[at].role; r; r = l->role[r - 1].next) {
		struct loops_one *o = &l->one[l->role[r - 1].loop];

		if (one != UINT32_MAX && l->role[r - 1].loop != one)
			continue;
		if (l->role[r - 1].slot != HEADER) {
			hit(l, o, l->role[r - 1].slot, reg, u->rsp);
			continue;
		}
		frame_of(l, o)->runs++;
		o->header++;
		o->last_header = l->now;
		o->header_sp = u->rsp;
	}
}

unsigned loops_watch(struct loops *l, uint32_t one, uint64_t *addr)
{
	const struct loops_one *o = &l->one[one];
	const struct cfg *c = &o->runs->cfg;
	unsigned n = 0;

	if (o->how->exits > 2)
		return 0;
	loops_begin(l);
	l->stepping = false;
	addr[n++] = o->how->entry + o->bias;
	addr[n++] = cfg_block_addr(c, c->loop[o->loop].header) + o->bias;
	for (uint32_t i = 0; i < o->how->exits; i++)
		addr[n++] = o->how->exit[i] + o->bias;
	return n;
}

void loops_met(struct loops *l, uint32_t one, const struct user_regs_struct *u)
{
	l->now++;
	/* deeper calls have the greater number */
	l->base = ~u->rsp;
	roles_at(l, look(l, u->rip), one, u);
}

void loops_at(struct loops *l, const struct user_regs_struct *u)
{
	uint32_t at;

	/* a turn of what repeats itself */
	if (l->before != UINT32_MAX && l->before_ip == u->rip && (l->spot[l->before].flags & DEC_F_REP))
		return;
	l->now++;
	follow(l, u->rsp);
	at = look(l, u->rip);
	roles_at(l, at, UINT32_MAX, u);
	l->before = at;
	l->before_ip = u->rip;
}

/* ---- what came of it ---- */

void loops_print(const struct loops *l, FILE *out)
{
	for (uint32_t i = 0; i < l->count; i++) {
		const struct loops_one *o = &l->one[i];
		const struct cfg *c = &o->runs->cfg;
		uint64_t header = cfg_block_addr(c, c->loop[o->loop].header);

		fprintf(out,
			"loop %s 0x%lx +0x%lx %s entered %lu claimed %lu right %lu exact %lu odd %lu within %lu held %lu header %lu most %lu\n",
			o->object, (unsigned long)header, (unsigned long)(header - c->start),
			o->how->in.stride ? "register" : "list", o->entered, o->claimed, o->right, o->exact, o->odd,
			o->within, o->within_right, o->header, o->most);
		for (unsigned k = 0; k < o->wrongs; k++)
			fprintf(out, "   claimed %lu true %lu: in 0x%lx, %s %u 0x%lx stride %ld bits %u\n",
				o->wrong[k].claimed, o->wrong[k].is, o->wrong[k].value_in,
				o->wrong[k].slot ? "out" : "in again", o->wrong[k].slot, o->wrong[k].value_out,
				(long)o->how->in.stride, o->how->in.bits);
	}
}

void loops_release(struct loops *l)
{
	for (uint32_t i = 0; i < l->functions; i++) {
		runs_release(l->function[i]);
		free(l->function[i]);
	}
	for (uint32_t i = 0; i < l->images; i++)
		module_close_path(l->image[i].module);
	for (uint32_t i = 0; i < l->count; i++)
		free(l->one[i].frame);
	free(l->image);
	free(l->one);
	free(l->spot);
	free(l->role);
	free(l->function);
	free(l->sp);
	free(l->call);
	map_release(&l->spot_at);
	map_release(&l->function_at);
	memset(l, 0, sizeof(*l));
}
