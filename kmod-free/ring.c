// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi.h"
#include "kmod-free/ring.h"

_Static_assert(WREG_MAX == SAMPLE_REGS, "struct sample holds what the wire carries");

/* Newer than Debian 12's headers. */
#define BRANCH_HW_INDEX (1ull << 17)
#define BRANCH_COUNTERS (1ull << 19)
#define FORMAT_LOST (1ull << 4)

/* A bounded reader: past the end it yields zero and remembers. */
struct cur {
	const uint8_t *p, *end;
	bool bad;
};

static const void *take(struct cur *c, uint64_t n)
{
	const void *p = c->p;

	if (c->bad || n > (uint64_t)(c->end - c->p)) {
		c->bad = true;
		return NULL;
	}
	c->p += n;
	return p;
}

static uint64_t u64(struct cur *c)
{
	const void *p = take(c, 8);
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, 8);
	return v;
}

static uint32_t u32(struct cur *c)
{
	const void *p = take(c, 4);
	uint32_t v = 0;

	if (p)
		memcpy(&v, p, 4);
	return v;
}

/* Skips n items of `size` bytes; n is the record's claim. */
static const void *take_array(struct cur *c, uint64_t n, uint64_t size)
{
	if (n > UINT64_MAX / size) {
		c->bad = true;
		return NULL;
	}
	return take(c, n * size);
}

static void skip_read_values(struct cur *c, uint64_t format)
{
	unsigned times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	unsigned each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & FORMAT_LOST);

	if (format & PERF_FORMAT_GROUP) {
		uint64_t nr = u64(c);

		take(c, 8 * times);
		take_array(c, nr, 8 * each);
	} else {
		take(c, 8 * (times + each));
	}
}

/* From perf's register numbers to the order of abi.h; -1: not kept. */
static int reg_slot(unsigned perf_reg)
{
	static const int8_t low[10] = { WREG_AX, WREG_BX, WREG_CX, WREG_DX, WREG_SI,
					WREG_DI, WREG_BP, WREG_SP, WREG_IP, WREG_FLAGS };

	if (perf_reg < 10)
		return low[perf_reg];
	if (perf_reg >= 16 && perf_reg < 24)
		return WREG_R8 + (int)(perf_reg - 16);
	return -1;
}

static void read_regs(struct cur *c, uint64_t mask, struct sample *s)
{
	uint64_t abi = u64(c);
	bool want = abi == PERF_SAMPLE_REGS_ABI_64;

	if (abi == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	for (unsigned i = 0; i < 64; i++) {
		uint64_t v;
		int slot;

		if (!(mask >> i & 1))
			continue;
		v = u64(c);
		slot = reg_slot(i);
		if (want && slot >= 0)
			s->regs[slot] = v;
	}
	/* a partial set would be read as zeros */
	if (want && (mask & RING_REGS_X86_64) == RING_REGS_X86_64 && !c->bad)
		s->valid |= SV_REGS;
}

static enum sample_kind ring_kind_of(const struct perf_event_attr *attr)
{
	if (attr->type == PERF_TYPE_BREAKPOINT)
		return attr->bp_type == 4 /* HW_BREAKPOINT_X */ ? SAMPLE_EXEC_BP : SAMPLE_WATCH;
	if (attr->type == PERF_TYPE_SOFTWARE &&
	    (attr->config == PERF_COUNT_SW_CPU_CLOCK || attr->config == PERF_COUNT_SW_TASK_CLOCK))
		return SAMPLE_TICK;
	if ((attr->sample_type & PERF_SAMPLE_ADDR) && (attr->sample_type & PERF_SAMPLE_DATA_SRC))
		return SAMPLE_ACCESS;
	return SAMPLE_INSN;
}

static void set_id(struct sample *s, uint64_t id)
{
	s->event_id = id;
	s->valid |= SV_ID;
}

static void set_time(struct sample *s, uint64_t t)
{
	s->time = t;
	s->valid |= SV_TIME;
}

static void parse_data_src(struct sample *s, uint64_t v)
{
	union perf_mem_data_src d = { .val = v };

	s->data_src = v;
	s->valid |= SV_DATA_SRC;
	if (d.mem_op & PERF_MEM_OP_LOAD)
		s->flags |= SF_LOAD;
	if (d.mem_op & PERF_MEM_OP_STORE)
		s->flags |= SF_STORE;
	if (d.mem_lock & PERF_MEM_LOCK_LOCKED)
		s->flags |= SF_ATOMIC;
}

static void parse_chain(struct cur *c, struct sample *s)
{
	uint64_t nr = u64(c);
	const void *p = take_array(c, nr, 8);

	if (p && nr <= UINT32_MAX) {
		s->chain = p;
		s->chain_len = (uint32_t)nr;
	}
}

/* shape: fields follow each other in the order of perf_event_open(2), each if its bit is set. */
static void parse_sample(const struct perf_event_attr *attr, uint16_t misc, struct cur *c, struct sample *s)
{
	uint64_t t = attr->sample_type, n;

	s->kind = ring_kind_of(attr);
	if ((misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL)
		s->flags |= SF_KERNEL;
	if (misc & PERF_RECORD_MISC_EXACT_IP)
		s->valid |= SV_EXACT_IP;
	if (t & PERF_SAMPLE_IDENTIFIER)
		set_id(s, u64(c));
	if (t & PERF_SAMPLE_IP) {
		s->ip = u64(c);
		s->valid |= SV_IP;
	}
	if (t & PERF_SAMPLE_TID) {
		s->pid = u32(c);
		s->tid = u32(c);
	}
	if (t & PERF_SAMPLE_TIME)
		set_time(s, u64(c));
	if (t & PERF_SAMPLE_ADDR) {
		s->addr = u64(c);
		s->valid |= SV_ADDR;
	}
	if (t & PERF_SAMPLE_ID)
		set_id(s, u64(c));
	if (t & PERF_SAMPLE_STREAM_ID)
		u64(c);
	if (t & PERF_SAMPLE_CPU) {
		s->cpu = u32(c);
		u32(c);
		s->valid |= SV_CPU;
	}
	s->period = attr->freq ? 0 : attr->sample_period;
	if (t & PERF_SAMPLE_PERIOD)
		s->period = u64(c);
	if (t & PERF_SAMPLE_READ)
		skip_read_values(c, attr->read_format);
	if (t & PERF_SAMPLE_CALLCHAIN)
		parse_chain(c, s);
	if (t & PERF_SAMPLE_RAW)
		take(c, u32(c));
	if (t & PERF_SAMPLE_BRANCH_STACK) {
		n = u64(c);
		if (attr->branch_sample_type & BRANCH_HW_INDEX)
			u64(c);
		take_array(c, n, 24);
		if (attr->branch_sample_type & BRANCH_COUNTERS)
			take_array(c, n, 8);
	}
	if (t & PERF_SAMPLE_REGS_USER)
		read_regs(c, attr->sample_regs_user, s);
	if (t & PERF_SAMPLE_STACK_USER) {
		const uint8_t *stack;

		n = u64(c);
		stack = take(c, n);
		if (n) {
			uint64_t used = u64(c);

			if (stack && !c->bad) {
				s->stack = stack;
				s->stack_bytes = (uint32_t)(used < n ? used : n);
				s->valid |= SV_STACK;
			}
		}
	}
	if (t & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)) {
		n = u64(c);
		/* WEIGHT_STRUCT: the latency is the low half, little endian as everything here */
		s->latency = t & PERF_SAMPLE_WEIGHT_STRUCT ? (uint32_t)n : n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
		s->valid |= SV_LATENCY;
	}
	if (t & PERF_SAMPLE_DATA_SRC)
		parse_data_src(s, u64(c));
	if (t & PERF_SAMPLE_TRANSACTION)
		u64(c);
	if (t & PERF_SAMPLE_REGS_INTR) {
		struct sample ignored = { 0 };

		/* With precise_ip only these belong to the record; else to the interrupt. */
		read_regs(c, attr->sample_regs_intr, attr->precise_ip && !(t & PERF_SAMPLE_REGS_USER) ? s : &ignored);
	}
	if (t & PERF_SAMPLE_PHYS_ADDR) {
		s->phys = u64(c);
		if (s->phys)
			s->valid |= SV_PHYS;
	}
	if (t & PERF_SAMPLE_CGROUP)
		u64(c);
	if (t & PERF_SAMPLE_DATA_PAGE_SIZE) {
		s->page_size = u64(c);
		if (s->page_size)
			s->valid |= SV_PAGE_SIZE;
	}
	if (t & PERF_SAMPLE_CODE_PAGE_SIZE)
		u64(c);
	if (t & PERF_SAMPLE_AUX)
		take(c, u64(c));
}

#define TRAILER_BITS                                                                                                   \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |               \
	 PERF_SAMPLE_IDENTIFIER)

static unsigned trailer_size(uint64_t sample_type)
{
	return 8 * (unsigned)__builtin_popcountll(sample_type & TRAILER_BITS);
}

/* Cuts the sample_id trailer off the record and reads it. */
static void parse_trailer(const struct perf_event_attr *attr, struct cur *c, struct sample *s)
{
	uint64_t t = attr->sample_type;
	unsigned size = trailer_size(t);
	struct cur tr;

	if (!attr->sample_id_all)
		return;
	if (c->bad || (size_t)(c->end - c->p) < size) {
		c->bad = true;
		return;
	}
	c->end -= size;
	tr = (struct cur){ .p = c->end, .end = c->end + size };
	if (t & PERF_SAMPLE_TID) {
		s->pid = u32(&tr);
		s->tid = u32(&tr);
	}
	if (t & PERF_SAMPLE_TIME)
		set_time(s, u64(&tr));
	if (t & PERF_SAMPLE_ID)
		set_id(s, u64(&tr));
	if (t & PERF_SAMPLE_STREAM_ID)
		u64(&tr);
	if (t & PERF_SAMPLE_CPU) {
		s->cpu = u32(&tr);
		u32(&tr);
		s->valid |= SV_CPU;
	}
	if (t & PERF_SAMPLE_IDENTIFIER)
		set_id(s, u64(&tr));
}

/* The rest of the record is a NUL-terminated, padded string. */
static const char *rest_string(struct cur *c)
{
	const char *str = (const char *)c->p;

	if (c->bad || !memchr(str, 0, (size_t)(c->end - c->p))) {
		c->bad = true;
		return NULL;
	}
	c->p = c->end;
	return str;
}

static void parse_mmap(const struct perf_event_attr *attr, uint32_t type, uint16_t misc, struct cur *c,
		       struct sample *s)
{
	s->kind = SAMPLE_MMAP;
	parse_trailer(attr, c, s);
	s->pid = u32(c);
	s->tid = u32(c);
	s->addr = u64(c);
	s->size = u64(c);
	s->pgoff = u64(c);
	s->valid |= SV_ADDR | SV_SIZE;
	if (type == PERF_RECORD_MMAP2) {
		const uint8_t *id = take(c, 24);

		/* Kernels leave the bit set for events that did not ask (6.18, when another recorder on the
		 * machine did): what they then hold is the inode. */
		if (id && (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) && attr->build_id) {
			if (id[0] > sizeof(s->build_id.id)) {
				c->bad = true;
			} else {
				s->build_id.len = id[0];
				memcpy(s->build_id.id, id + 4, id[0]);
			}
		} else if (id) {
			memcpy(&s->dev_major, id, 4);
			memcpy(&s->dev_minor, id + 4, 4);
			memcpy(&s->ino, id + 8, 8);
		}
		s->prot = u32(c);
		s->valid |= SV_PROT;
		u32(c); /* MAP_SHARED... */
		if (s->prot & PROT_EXEC)
			s->flags |= SF_EXEC;
	} else if (!(misc & PERF_RECORD_MISC_MMAP_DATA)) {
		s->flags |= SF_EXEC;
	}
	if (s->size && s->addr + s->size - 1 < s->addr)
		c->bad = true;
	if ((misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL)
		s->flags |= SF_KERNEL;
	s->text = rest_string(c);
}

static void parse_task(const struct perf_event_attr *attr, uint32_t type, struct cur *c, struct sample *s)
{
	s->kind = type == PERF_RECORD_FORK ? SAMPLE_FORK : SAMPLE_EXIT;
	parse_trailer(attr, c, s);
	s->pid = u32(c);
	s->ppid = u32(c);
	s->tid = u32(c);
	s->ptid = u32(c);
	set_time(s, u64(c));
}

int ring_parse_record(const struct perf_event_attr *attr, const void *rec, size_t len, struct sample *out)
{
	struct perf_event_header h;
	struct cur c;

	memset(out, 0, sizeof(*out));
	out->syscall = -1;
	if (len < sizeof(h))
		return -EBADMSG;
	memcpy(&h, rec, sizeof(h));
	if (h.size < sizeof(h) || h.size > len)
		return -EBADMSG;
	c = (struct cur){ .p = (const uint8_t *)rec + sizeof(h), .end = (const uint8_t *)rec + h.size };
	switch (h.type) {
	case PERF_RECORD_SAMPLE: parse_sample(attr, h.misc, &c, out); break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2: parse_mmap(attr, h.type, h.misc, &c, out); break;
	case PERF_RECORD_COMM:
		out->kind = SAMPLE_COMM;
		parse_trailer(attr, &c, out);
		out->pid = u32(&c);
		out->tid = u32(&c);
		if (h.misc & PERF_RECORD_MISC_COMM_EXEC)
			out->flags |= SF_EXEC;
		out->text = rest_string(&c);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT: parse_task(attr, h.type, &c, out); break;
	case PERF_RECORD_LOST:
		out->kind = SAMPLE_LOST;
		parse_trailer(attr, &c, out);
		set_id(out, u64(&c));
		out->period = u64(&c);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		out->kind = SAMPLE_LOST;
		parse_trailer(attr, &c, out);
		out->period = u64(&c);
		break;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		out->kind = SAMPLE_THROTTLE;
		parse_trailer(attr, &c, out);
		set_time(out, u64(&c));
		set_id(out, u64(&c));
		u64(&c);
		out->period = h.type == PERF_RECORD_THROTTLE;
		break;
	case PERF_RECORD_AUX:
		out->kind = SAMPLE_AUX;
		parse_trailer(attr, &c, out);
		out->addr = u64(&c);
		out->size = u64(&c);
		out->period = u64(&c); /* PERF_AUX_FLAG_* */
		out->valid |= SV_ADDR | SV_SIZE;
		break;
	default: return 0;
	}
	if (c.bad) {
		memset(out, 0, sizeof(*out));
		return -EBADMSG;
	}
	return 1;
}

uint64_t ring_record_id(uint64_t sample_type, int sample_id_all, const void *rec, size_t len)
{
	struct perf_event_header h;
	size_t at = sizeof(h);
	uint64_t id;

	if (len < sizeof(h))
		return 0;
	memcpy(&h, rec, sizeof(h));
	if (h.size > len || h.size < sizeof(h))
		return 0;
	if (h.type == PERF_RECORD_SAMPLE) {
		if (!(sample_type & PERF_SAMPLE_IDENTIFIER)) {
			if (!(sample_type & PERF_SAMPLE_ID))
				return 0;
			at += 8 * (unsigned)__builtin_popcountll(sample_type & (PERF_SAMPLE_IP | PERF_SAMPLE_TID |
										PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR));
		}
	} else {
		unsigned back = 8; /* IDENTIFIER comes last */

		if (!sample_id_all || h.size < sizeof(h) + trailer_size(sample_type))
			return 0;
		if (!(sample_type & PERF_SAMPLE_IDENTIFIER)) {
			if (!(sample_type & PERF_SAMPLE_ID))
				return 0;
			back += 8 *
				(unsigned)__builtin_popcountll(sample_type & (PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU));
		}
		at = h.size - back;
	}
	if (at + 8 > h.size)
		return 0;
	memcpy(&id, (const uint8_t *)rec + at, 8);
	return id;
}

static int ring_prepare(struct ring *r, size_t data_bytes, const struct perf_event_attr *attr)
{
	r->attr = *attr;
	r->data_bytes = data_bytes;
	r->bounce = malloc(UINT16_MAX + 1);
	return r->bounce ? 0 : -ENOMEM;
}

int ring_open(struct ring *r, int fd, unsigned pages, const struct perf_event_attr *attr, struct err *e)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p = MAP_FAILED;
	int err = EINVAL;

	memset(r, 0, sizeof(*r));
	r->fd = fd;
	if (!pages || (pages & (pages - 1)))
		return err_set(e, -EINVAL, "a perf ring of %u pages is not a power of two", pages);
	for (; pages; pages /= 2) {
		p = mmap(NULL, page * (1 + pages), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		err = errno;
		if (p != MAP_FAILED || (err != EPERM && err != ENOMEM))
			break;
	}
	if (p == MAP_FAILED)
		return err_set(e, -err,
			       err == EPERM
				       ? "even a ring of one page exceeds the memory-lock limit: raise `ulimit -l` or "
					 "kernel.perf_event_mlock_kb"
				       : "mapping a perf ring failed: %s",
			       strerror(err));
	r->page = p;
	r->data = (uint8_t *)p + page;
	r->map_bytes = page * (1 + pages);
	if (ring_prepare(r, page * pages, attr)) {
		ring_close(r);
		return err_set(e, -ENOMEM, "out of memory for a perf ring");
	}
	return (int)pages;
}

int ring_from_memory(struct ring *r, void *mem, size_t data_bytes, const struct perf_event_attr *attr)
{
	memset(r, 0, sizeof(*r));
	r->fd = -1;
	if (!data_bytes || (data_bytes & (data_bytes - 1)))
		return -EINVAL;
	r->page = mem;
	r->data = (uint8_t *)mem + sizeof(*r->page);
	return ring_prepare(r, data_bytes, attr);
}

/* The record at `tail`, contiguous; NULL if its header cannot be right. */
static const uint8_t *record_at(struct ring *r, uint64_t tail, uint64_t avail, size_t *size)
{
	size_t off = tail & (r->data_bytes - 1), first;
	struct perf_event_header h;

	if (avail < sizeof(h))
		return NULL;
	/* records are 8-aligned, so a header never wraps */
	if (off + sizeof(h) > r->data_bytes)
		return NULL;
	memcpy(&h, r->data + off, sizeof(h));
	if (h.size < sizeof(h) || h.size > avail || h.size % 8)
		return NULL;
	*size = h.size;
	if (off + h.size <= r->data_bytes)
		return r->data + off;
	first = r->data_bytes - off;
	memcpy(r->bounce, r->data + off, first);
	memcpy(r->bounce + first, r->data, h.size - first);
	return r->bounce;
}

int ring_read(struct ring *r, sample_fn fn, void *ctx)
{
	uint64_t head, tail;
	int n = 0, rc = 0;

	if (!r->page)
		return 0;
	head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	tail = r->page->data_tail;
	if (head - tail > r->data_bytes) {
		/* cannot happen with a live kernel ring; never loop on it */
		r->malformed++;
		tail = head;
	}
	while (tail != head && rc >= 0) {
		struct sample s;
		size_t size = 0;
		const uint8_t *rec = record_at(r, tail, head - tail, &size);

		if (!rec) {
			r->malformed++;
			tail = head;
			break;
		}
		r->records++;
		rc = ring_parse_record(&r->attr, rec, size, &s);
		if (rc < 0) {
			r->malformed++;
			rc = 0;
		} else if (rc) {
			if (s.kind == SAMPLE_LOST)
				r->lost += s.period;
			if (s.kind == SAMPLE_THROTTLE)
				r->throttled += s.period;
			n++;
			rc = fn(ctx, &s);
		}
		tail += size;
	}
	__atomic_store_n(&r->page->data_tail, tail, __ATOMIC_RELEASE);
	return rc < 0 ? rc : n;
}

void ring_close(struct ring *r)
{
	if (r->page && r->map_bytes)
		munmap(r->page, r->map_bytes);
	free(r->bounce);
	memset(r, 0, sizeof(*r));
	r->fd = -1;
}
