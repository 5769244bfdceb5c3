// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "kmod-free/spe_decode.h"

/* Headers. */
#define PAD 0x00
#define END 0x01
#define TIMESTAMP 0x71
#define ADDR_PC 0
#define ADDR_DATA_VIRT 2
#define ADDR_DATA_PHYS 3
#define COUNTER_TOTAL 0
#define OP_LOAD_STORE 1

struct spe_decode_record {
	bool open; /* a packet has been seen */
	bool load_store, store, atomic, has_pc, has_addr, has_phys, has_latency, has_time;
	uint64_t pc, addr, phys, time, events, source;
	uint32_t latency;
};

struct packet {
	uint8_t header, index;
	unsigned size;   /* of the payload */
	unsigned length; /* in all */
	uint64_t payload;
};

/* 1 read, 0 cut at the end, -1 unknown. */
static int read_packet(const uint8_t *p, size_t n, struct packet *k)
{
	unsigned head = 1;

	memset(k, 0, sizeof(*k));
	k->header = p[0];
	k->index = p[0] & 7;
	if ((p[0] & 0xfc) == 0x20) { /* two bytes: the index grows by two bits */
		if (n < 2)
			return 0;
		if (p[0] == 0x20 && !(p[1] & 0xf0)) { /* alignment */
			k->length = 2;
			k->header = PAD;
			return 1;
		}
		head = 2;
		k->header = p[1];
		k->index = (uint8_t)((p[0] & 3) << 3 | (p[1] & 7));
	}
	if (k->header == PAD || k->header == END) {
		k->length = head;
		return 1;
	}
	if (k->header == TIMESTAMP || (k->header & 0xf8) == 0xb0)
		k->size = 8;
	else if ((k->header & 0xcf) == 0x42 || (k->header & 0xcf) == 0x43)
		k->size = 1u << ((k->header >> 4) & 3);
	else if ((k->header & 0xfc) == 0x64)
		k->size = 4;
	else if ((k->header & 0xfc) == 0x48)
		k->size = 1;
	else if ((k->header & 0xf8) == 0x98)
		k->size = 2;
	else
		return -1;
	if (n < head + k->size)
		return 0;
	memcpy(&k->payload, p + head, k->size);
	k->length = head + k->size;
	return 1;
}

/* Bytes 0 to 6 are the address; bit 55 says whether it is the kernel's half. */
static uint64_t virtual(uint64_t payload)
{
	uint64_t a = payload & 0xffffffffffffffull;

	return a >> 55 & 1 ? a | 0xffull << 56 : a;
}

static void take_packet(struct spe_decode_record *r, const struct packet *k)
{
	r->open = true;
	if (k->header == TIMESTAMP) {
		r->time = k->payload;
		r->has_time = true;
	} else if ((k->header & 0xf8) == 0xb0 && k->index == ADDR_PC) {
		r->pc = virtual(k->payload);
		r->has_pc = true;
	} else if ((k->header & 0xf8) == 0xb0 && k->index == ADDR_DATA_VIRT) {
		r->addr = virtual(k->payload);
		r->has_addr = true;
	} else if ((k->header & 0xf8) == 0xb0 && k->index == ADDR_DATA_PHYS) {
		r->phys = k->payload & 0xffffffffffffffull;
		r->has_phys = true;
	} else if ((k->header & 0xf8) == 0x98 && k->index == COUNTER_TOTAL) {
		r->latency = (uint32_t)(k->payload & 0xfff);
		r->has_latency = true;
	} else if ((k->header & 0xcf) == 0x42) {
		r->events = k->payload;
	} else if ((k->header & 0xcf) == 0x43) {
		r->source = k->payload;
	} else if ((k->header & 0xfc) == 0x48 && (k->header & 3) == OP_LOAD_STORE) {
		r->load_store = true;
		r->store = k->payload & 1;
		/* the extended form: atomic (bit 2) or exclusive (bit 3) */
		r->atomic = (k->payload & 0xe2) == 0x02 && (k->payload & 0x0c);
	}
}

static int spe_decode_deliver(const struct spe_decode_record *r, const struct sample *base, struct spe_stats *st,
			      sample_fn fn, void *ctx)
{
	struct sample s = *base;

	st->records++;
	if (!r->load_store || !r->has_addr || !r->has_pc) {
		st->other++;
		return 0;
	}
	st->accesses++;
	s.kind = SAMPLE_ACCESS;
	s.valid |= SV_IP | SV_ADDR | SV_EXACT_IP;
	s.ip = r->pc;
	s.addr = r->addr;
	s.flags |= r->store ? SF_STORE : SF_LOAD;
	if (r->atomic)
		s.flags |= SF_ATOMIC | SF_LOAD | SF_STORE;
	if (r->pc >> 63)
		s.flags |= SF_KERNEL;
	if (r->has_phys) {
		s.phys = r->phys;
		s.valid |= SV_PHYS;
	}
	if (r->has_latency) {
		s.latency = r->latency;
		s.valid |= SV_LATENCY;
	}
	/* the counter's ticks, not the kernel's clock: the caller, which knows the factor, converts */
	if (r->has_time)
		s.time = r->time;
	return fn(ctx, &s);
}

int64_t spe_decode(const uint8_t *data, size_t size, const struct sample *base, struct spe_stats *st, sample_fn fn,
		   void *ctx)
{
	struct spe_decode_record r = { 0 };
	size_t at = 0, done = 0;

	while (at < size) {
		struct packet k;
		int rc = read_packet(data + at, size - at, &k);

		if (!rc)
			break;
		if (rc < 0) {
			/* not a packet: what was collected is worth nothing */
			memset(&r, 0, sizeof(r));
			st->skipped_bytes++;
			done = ++at;
			continue;
		}
		at += k.length;
		if (k.header == PAD) {
			if (!r.open)
				done = at;
			continue;
		}
		if (k.header != END)
			take_packet(&r, &k);
		if (k.header == END || k.header == TIMESTAMP) { /* either ends a record */
			int err = r.open ? spe_decode_deliver(&r, base, st, fn, ctx) : 0;

			if (err < 0)
				return err;
			memset(&r, 0, sizeof(r));
			done = at;
		}
	}
	return (int64_t)done;
}
