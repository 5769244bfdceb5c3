// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The exact sections and the synthetic samples of a profile as text, a record a line, for
 * t-exact-*.sh: what no reading command shows in full.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/read.h"

static struct store_reader *r;
static uint32_t names[1 << 20], objects[1 << 20];
static struct fmt_x_node nodes[1 << 18];
static struct fmt_object objs[1 << 18];

static const char *text(uint32_t id)
{
	const char *s = store_str(r, id);

	return s ? s : "?";
}

static const char *fn(uint32_t id)
{
	return id < 1 << 20 ? text(names[id]) : "?";
}

static void path(uint32_t id)
{
	if (id >= 1 << 18 || !nodes[id].id)
		return;
	if (nodes[id].parent) {
		path(nodes[id].parent);
		putchar(';');
	}
	fputs(fn(nodes[id].function), stdout);
}

static void names_first(struct store_chunk *c)
{
	for (uint32_t i = 0; i < c->count; i++) {
		if (c->section == FMT_FUNCTION) {
			struct fmt_function f;

			store_rec(c, i, &f, sizeof(f));
			if (f.id < 1 << 20)
				names[f.id] = f.name, objects[f.id] = f.object;
		} else if (c->section == FMT_X_NODE) {
			struct fmt_x_node n;

			store_rec(c, i, &n, sizeof(n));
			if (n.id < 1 << 18)
				nodes[n.id] = n;
		} else if (c->section == FMT_OBJECT) {
			struct fmt_object o;

			store_rec(c, i, &o, sizeof(o));
			if (o.id < 1 << 18)
				objs[o.id] = o;
		}
	}
}

/* shape: a case for each section. */
static void print(struct store_chunk *c)
{
	for (uint32_t i = 0; i < c->count; i++) {
		switch (c->section) {
		case FMT_X_RUN: {
			struct fmt_x_run x;

			store_rec(c, i, &x, sizeof(x));
			printf("run\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
			       "\thas %u\tshadow %" PRIu64 "\ttouched %" PRIu64 "\n",
			       x.instructions, x.counted, x.loads, x.stores, x.load_bytes, x.store_bytes, x.has,
			       x.shadow_bytes, x.touched);
			break;
		}
		case FMT_X_FUNC: {
			struct fmt_x_func x;

			store_rec(c, i, &x, sizeof(x));
			printf("func\t%s\t%s\t%s\tcalls %" PRIu64 "\tinsns %" PRIu64 "\tcompute %" PRIu64
			       "\ttransfer %" PRIu64 "\tcontrol %" PRIu64 "\tint %" PRIu64 "\tfp %" PRIu64
			       "\tloads %" PRIu64 "\tstores %" PRIu64 "\n",
			       fn(x.function), text(objects[x.function]), x.scope == FMT_X_SELF ? "self" : "inclusive",
			       x.calls, x.instructions, x.compute, x.transfer, x.control, x.ops_int, x.ops_fp, x.loads,
			       x.stores);
			printf("region\t%s\t%s\tload %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\tstore %" PRIu64
			       " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			       fn(x.function), x.scope == FMT_X_SELF ? "self" : "inclusive", x.load_bytes[0],
			       x.load_bytes[1], x.load_bytes[2], x.load_bytes[3], x.store_bytes[0], x.store_bytes[1],
			       x.store_bytes[2], x.store_bytes[3]);
			break;
		}
		case FMT_X_EDGE: {
			struct fmt_x_edge x;

			store_rec(c, i, &x, sizeof(x));
			printf("edge\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", fn(x.producer), fn(x.consumer),
			       x.bytes[0], x.unique[0], x.ke_chunks[0]);
			break;
		}
		case FMT_X_NODE: {
			struct fmt_x_node x;

			store_rec(c, i, &x, sizeof(x));
			fputs("node\t", stdout);
			path(x.id);
			printf("\t%" PRIu64 "\t%" PRIu64 "\n", x.calls, x.instructions);
			break;
		}
		case FMT_X_USE: {
			struct fmt_x_use x;

			store_rec(c, i, &x, sizeof(x));
			printf("use\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
			       fn(x.function), x.object < 1 << 18 ? text(objs[x.object].name) : "?", x.reads, x.writes,
			       x.read_bytes, x.write_bytes, x.unique);
			break;
		}
		case FMT_X_OBJECT: {
			struct fmt_x_object x;

			store_rec(c, i, &x, sizeof(x));
			printf("object\t%s\t%u\tblocks %" PRIu64 "\tbytes %" PRIu64 "\tpeak %" PRIu64 "\n",
			       x.object < 1 << 18 ? text(objs[x.object].name) : "?",
			       x.object < 1 << 18 ? objs[x.object].kind : 0, x.blocks, x.bytes, x.peak);
			break;
		}
		case FMT_X_SLICE: {
			struct fmt_x_slice x;

			store_rec(c, i, &x, sizeof(x));
			printf("slice\t%" PRIu64 "\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", x.slice,
			       fn(x.function), x.instructions, x.load_bytes[0] + x.load_bytes[1],
			       x.store_bytes[0] + x.store_bytes[1]);
			break;
		}
		case FMT_X_SUBTREE: {
			struct fmt_x_subtree x;

			store_rec(c, i, &x, sizeof(x));
			printf("subtree\t%s\tin %" PRIu64 " out %" PRIu64 " local %" PRIu64 "\tunique %" PRIu64
			       " %" PRIu64 " %" PRIu64 "\n",
			       fn(x.function), x.in[0], x.out[0], x.local[0], x.in_unique[0], x.out_unique[0],
			       x.local_unique[0]);
			break;
		}
		case FMT_X_SUBTREE_KE: {
			struct fmt_x_subtree_ke x;

			store_rec(c, i, &x, sizeof(x));
			printf("whole\t%s\tin %" PRIu64 " out %" PRIu64 " local %" PRIu64 "\tunique %" PRIu64
			       " %" PRIu64 " %" PRIu64 "\n",
			       fn(x.function), x.in[0], x.out[0], x.local[0], x.unique[0], x.unique[1], x.unique[2]);
			break;
		}
		case FMT_ACCESS: {
			struct fmt_access x;

			store_rec(c, i, &x, sizeof(x));
			printf("access\t%u\t%s\t%u\t%.0f\n", x.flags, fn(x.function), x.size, x.weight);
			break;
		}
		case FMT_SAMPLE: {
			struct fmt_sample x;

			store_rec(c, i, &x, sizeof(x));
			printf("sample\t%u\t%" PRIu64 "\n", x.flags, x.period);
			break;
		}
		}
	}
}

int main(int argc, char **argv)
{
	struct err e;
	struct store_chunk c;

	r = argc == 2 ? store_open(argv[1], &e) : NULL;
	if (!r) {
		fprintf(stderr, "sections: %s\n", argc == 2 ? e.text : "one profile");
		return 1;
	}
	while (store_next(r, &c, &e) > 0) {
		if (c.section == FMT_WINDOW) {
			const uint8_t *p;
			size_t n;

			while ((p = store_next_var(&c, &n))) {
				struct fmt_window w;

				if (n < sizeof(w))
					continue;
				memcpy(&w, p, sizeof(w));
				printf("window\t%u\t%u\n", w.end_reason, w.count);
			}
			continue;
		}
		names_first(&c);
	}
	store_rewind(r);
	while (store_next(r, &c, &e) > 0)
		print(&c);
	store_reader_free(r);
	return 0;
}
