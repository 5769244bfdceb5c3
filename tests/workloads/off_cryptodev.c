// libs: -ldl
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * DPDK's cryptodev with a driver in software, without huge pages: `off_cryptodev DRIVER BURSTS [GO]`, DRIVER
 * crypto_openssl or crypto_aesni_mb. Bursts of 1 to 8 operations, one after the other AES-128-CBC and SHA-256, of 64
 * B to 4 KiB, are handed over as DPDK's headers do it inline: by the table of pointers. With GO it says "ready" on
 * standard error once the device runs, and begins when there is a file GO. Prints its own account. Status 77: no DPDK
 * or no such driver. Its headers come with 200 packages, so what of them is needed stands here.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dpdk.h"

#define BURST 8
#define LARGEST 4096
#define GENERATION ".so.23" /* DPDK 22.11 */

struct op {                                                     /* rte_crypto_op with its rte_crypto_sym_op */
	uint8_t type, status, session_type, flags, reserved[2]; /* 1 symmetric; 1 not processed; 0 with a session */
	uint16_t private_data;
	void *pool;
	uint64_t iova;
	struct mbuf *src, *dst;
	void *session;
	struct {
		uint32_t offset, length;
	} cipher, auth;
	uint8_t *digest;
	uint64_t digest_iova;
	uint8_t iv[16] __attribute__((aligned(16)));
};
_Static_assert(offsetof(struct op, cipher) == 48 && offsetof(struct op, auth) == 56 &&
		       offsetof(struct op, digest) == 64,
	       "rte_crypto_op");

struct xform { /* rte_crypto_sym_xform */
	struct xform *next;
	int type; /* 1: authenticate, 2: cipher */
	struct {
		int operation, algorithm; /* 0 encrypt, 1 generate; 5 AES-CBC, 13 SHA-256 */
		struct {
			const uint8_t *data;
			uint16_t length;
		} key;
		uint16_t iv_offset, iv_length, digest_length;
	} how;
	uint8_t rest[32];
};
_Static_assert(offsetof(struct xform, how.iv_offset) == 40, "rte_crypto_sym_xform");

struct table { /* rte_crypto_fp_ops */
	uint16_t (*enqueue)(void *, struct op **, uint16_t), (*dequeue)(void *, struct op **, uint16_t);
	void **pairs;
	uint8_t rest[40];
};
_Static_assert(sizeof(struct table) == 64, "rte_crypto_fp_ops");

static unsigned char data[BURST][LARGEST + 64];
static struct mbuf from[BURST];
static struct op op[BURST];
static const uint8_t key[16] = "accperf key 0123";
static const char *const cryptodev = "librte_cryptodev" GENERATION;

static void *symbol(const char *library, const char *name)
{
	void *l = dlopen(library, RTLD_NOW | RTLD_GLOBAL), *s = l ? dlsym(l, name) : NULL;

	if (!s) {
		fprintf(stderr, "%s\n", dlerror());
		exit(77);
	}
	return s;
}
#define SYMBOL(library, name, type) ((__typeof__(type) *)symbol(library, name))

static void none(const char *driver, const char *what)
{
	fprintf(stderr, "off_cryptodev: %s is not to be had here: %s\n", driver, what);
	exit(77);
}

static void ready(const char *driver, void *session[2])
{
	char *args[] = { (char *)"off_cryptodev",
			 (char *)"--no-huge",
			 (char *)"--no-shconf",
			 (char *)"--no-telemetry",
			 (char *)"--no-pci",
			 (char *)"-m",
			 (char *)"64",
			 (char *)"--log-level",
			 (char *)"error",
			 (char *)"--file-prefix",
			 (char *)"off_cryptodev",
			 NULL };
	struct {
		int socket;
		uint16_t pairs;
		uint64_t disabled;
	} config = { 0, 1, 0 };
	struct {
		uint32_t descriptors;
		void *sessions;
	} pair = { 64, NULL };
	struct xform cipher = { .type = 2, .how = { 0, 5, { key, 16 }, offsetof(struct op, iv), 16, 0 } },
		     digest = { .type = 1, .how = { 1, 13, { NULL, 0 }, 0, 0, 32 } };
	unsigned size;
	void *pool;

	if (SYMBOL("librte_eal" GENERATION, "rte_eal_init", int(int, char **))((int)(sizeof(args) / sizeof(*args)) - 1,
									       args) < 0)
		none(driver, "rte_eal_init");
	if (SYMBOL("librte_bus_vdev" GENERATION, "rte_vdev_init", int(const char *, const char *))(driver, NULL))
		none(driver, "rte_vdev_init");
	size = SYMBOL(cryptodev, "rte_cryptodev_sym_get_private_session_size", unsigned(uint8_t))(0);
	pool = SYMBOL(cryptodev, "rte_cryptodev_sym_session_pool_create",
		      void *(const char *, uint32_t, uint32_t, uint32_t, uint16_t, int))("sessions", 16, size, 0, 0, 0);
	pair.sessions = pool;
	if (!pool || SYMBOL(cryptodev, "rte_cryptodev_configure", int(uint8_t, void *))(0, &config) ||
	    SYMBOL(cryptodev, "rte_cryptodev_queue_pair_setup", int(uint8_t, uint16_t, const void *, int))(0, 0, &pair,
													   0) ||
	    SYMBOL(cryptodev, "rte_cryptodev_start", int(uint8_t))(0))
		none(driver, "a queue pair");
	for (int i = 0; i < 2; i++)
		session[i] = SYMBOL(cryptodev, "rte_cryptodev_sym_session_create",
				    void *(uint8_t, struct xform *, void *))(0, i ? &digest : &cipher, pool);
	if (!session[0] || !session[1])
		none(driver, "a session");
}

int main(int argc, char **argv)
{
	const char *driver = argc > 1 ? argv[1] : "crypto_openssl", *go = argc > 3 ? argv[3] : NULL;
	long bursts = argc > 2 ? atol(argv[2]) : 100, calls = 0, bytes = 0, failed = 0;
	const struct table *table;
	void *session[2];

	ready(driver, session);
	table = symbol(cryptodev, "rte_crypto_fp_ops");
	if (go)
		fprintf(stderr, "ready\n");
	while (go && access(go, F_OK))
		usleep(1000);
	for (long b = 0; b < bursts; b++) {
		struct op *list[BURST], *back[BURST];
		uint16_t n = (uint16_t)(1 + b % BURST), came = 0;

		for (uint16_t i = 0; i < n; i++) {
			uint32_t size = 64u << (b + i) % 7;

			from[i] = (struct mbuf){ .buf_addr = data[i],
						 .iova = (uint64_t)(uintptr_t)data[i],
						 .refcnt = 1,
						 .nb_segs = 1,
						 .pkt_len = size + 32,
						 .data_len = (uint16_t)(size + 32),
						 .buf_len = sizeof(data[i]) };
			op[i] = (struct op){ .type = 1, .status = 1, .src = &from[i], .session = session[i & 1] };
			if (i & 1) {
				op[i].auth.length = size;
				op[i].digest = data[i] + size;
			} else {
				op[i].cipher.length = size;
			}
			list[i] = &op[i];
			bytes += size;
		}
		if (table[0].enqueue(table[0].pairs[0], list, n) != n)
			return 1;
		while (came < n)
			came = (uint16_t)(came + table[0].dequeue(table[0].pairs[0], back, BURST));
		for (uint16_t i = 0; i < n; i++)
			failed += op[i].status != 0;
		calls++;
	}
	if (failed) {
		fprintf(stderr, "off_cryptodev: %ld operations failed\n", failed);
		return 1;
	}
	printf("{\"cryptodev rte_cryptodev_enqueue_burst\":{\"calls\":%ld,\"in\":%ld,\"async\":%ld}}\n", calls, bytes,
	       calls);
	return 0;
}
