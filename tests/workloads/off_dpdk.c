// libs: -ldl
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * DPDK's compressdev with a driver in software, without huge pages: `off_dpdk DRIVER [BURSTS]`, DRIVER compress_zlib or
 * compress_isal. A burst enqueues 1 to 8 operations of 512 B to 4 KiB and dequeues until all came back. Prints its own
 * account. Status 77: no DPDK or no such driver. Its headers come with 200 packages, so what of them is needed stands
 * here.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpdk.h"

#define BURST 8
#define LARGEST 4096

struct op {       /* rte_comp_op */
	int type; /* 0: stateless */
	void *xform, *pool;
	uint64_t iova;
	struct mbuf *src, *dst;
	uint32_t src_offset, src_length, dst_offset;
	void *digest;
	uint64_t digest_iova;
	int flush; /* 3: final */
	uint64_t in_sum, out_sum;
	uint32_t consumed, produced;
	uint64_t debug;
	uint8_t status;
	uint8_t rest[64];
};
_Static_assert(offsetof(struct op, src_length) == 52 && offsetof(struct op, produced) == 108, "rte_comp_op");

struct config {
	int socket;
	uint16_t queue_pairs, xforms, streams;
};

struct xform { /* deflate with fixed codes */
	int type, algorithm, huffman, level;
	uint8_t window;
	int checksum, hash;
	uint8_t rest[64];
};

static unsigned char in[BURST][LARGEST], out[BURST][2 * LARGEST];
static struct mbuf from[BURST], to[BURST];
static struct op op[BURST];

static void *symbol(const char *library, const char *name)
{
	void *l = dlopen(library, RTLD_NOW | RTLD_GLOBAL), *s = l ? dlsym(l, name) : NULL;

	if (!s) {
		fprintf(stderr, "%s\n", dlerror());
		exit(77);
	}
	return s;
}

static void *ready(const char *driver)
{
	int (*eal)(int, char **) = (int (*)(int, char **))symbol("librte_eal.so.23", "rte_eal_init");
	int (*vdev)(const char *, const char *) =
		(int (*)(const char *, const char *))symbol("librte_bus_vdev.so.23", "rte_vdev_init");
	const char *library = "librte_compressdev.so.23";
	int (*configure)(uint8_t, struct config *) =
		(int (*)(uint8_t, struct config *))symbol(library, "rte_compressdev_configure");
	int (*pair)(uint8_t, uint16_t, uint32_t, int) =
		(int (*)(uint8_t, uint16_t, uint32_t, int))symbol(library, "rte_compressdev_queue_pair_setup");
	int (*start)(uint8_t) = (int (*)(uint8_t))symbol(library, "rte_compressdev_start");
	int (*create)(uint8_t, const struct xform *, void **) =
		(int (*)(uint8_t, const struct xform *, void **))symbol(library,
									"rte_compressdev_private_xform_create");
	char *args[] = { (char *)"off_dpdk",    (char *)"--no-huge",
			 (char *)"--no-shconf", (char *)"--no-telemetry",
			 (char *)"--no-pci",    (char *)"-m",
			 (char *)"64",          (char *)"--log-level",
			 (char *)"error",       (char *)"--file-prefix",
			 (char *)"off_dpdk",    NULL };
	struct config config = { 0, 1, 1, 0 };
	struct xform deflate = { 0, 2, 1, 1, 15, 0, 0, { 0 } };
	void *made = NULL;

	if (eal((int)(sizeof(args) / sizeof(*args)) - 1, args) < 0 || vdev(driver, NULL) || configure(0, &config) ||
	    pair(0, 0, 64, 0) || start(0) || create(0, &deflate, &made)) {
		fprintf(stderr, "off_dpdk: %s is not to be had here\n", driver);
		exit(77);
	}
	return made;
}

int main(int argc, char **argv)
{
	void *xform = ready(argc > 1 ? argv[1] : "compress_zlib");
	const char *library = "librte_compressdev.so.23";
	uint16_t (*enqueue)(uint8_t, uint16_t, struct op **, uint16_t) =
		(uint16_t(*)(uint8_t, uint16_t, struct op **, uint16_t))symbol(library,
									       "rte_compressdev_enqueue_burst");
	uint16_t (*dequeue)(uint8_t, uint16_t, struct op **, uint16_t) =
		(uint16_t(*)(uint8_t, uint16_t, struct op **, uint16_t))symbol(library,
									       "rte_compressdev_dequeue_burst");
	long bursts = argc > 2 ? atol(argv[2]) : 100, calls = 0, bytes = 0, failed = 0;

	for (long b = 0; b < bursts; b++) {
		struct op *list[BURST], *back[BURST];
		uint16_t n = (uint16_t)(1 + b % BURST), came = 0;

		for (uint16_t i = 0; i < n; i++) {
			uint16_t size = (uint16_t)(512u << (b + i) % 4);

			memset(in[i], 'a' + i, size);
			from[i] = (struct mbuf){ .buf_addr = in[i],
						 .refcnt = 1,
						 .nb_segs = 1,
						 .pkt_len = size,
						 .data_len = size,
						 .buf_len = LARGEST };
			to[i] = (struct mbuf){ .buf_addr = out[i],
					       .refcnt = 1,
					       .nb_segs = 1,
					       .pkt_len = 2 * LARGEST,
					       .data_len = 2 * LARGEST,
					       .buf_len = 2 * LARGEST };
			op[i] = (struct op){
				.xform = xform, .src = &from[i], .dst = &to[i], .src_length = size, .flush = 3
			};
			list[i] = &op[i];
			bytes += size;
		}
		if (enqueue(0, 0, list, n) != n)
			return 1;
		while (came < n)
			came = (uint16_t)(came + dequeue(0, 0, back, BURST));
		for (uint16_t i = 0; i < n; i++)
			failed += op[i].status != 0 || op[i].consumed != op[i].src_length;
		calls++;
	}
	if (failed)
		return 1;
	printf("{\"compressdev rte_compressdev_enqueue_burst\":{\"calls\":%ld,\"in\":%ld,\"async\":%ld}}\n", calls,
	       bytes, calls);
	return 0;
}
