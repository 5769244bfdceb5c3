// libs: -ldl
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libipsec-mb's job manager: `off_ipsecmb [JOBS]` hands over jobs of 64 B to 4 KiB: a quarter of them AES-128-CTR,
 * which come back at once; then in turn SHA-256, AES-128-CTR and twice AES-128-CBC, of which several are computed at
 * once and each comes back with a later one. At the end it flushes. Prints its own account: jobs that came back with
 * the call that handed them over are no asynchronous ones. Status 77: built without the library's header (libipsec-
 * mb-dev), or it is not here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __has_include(<intel-ipsec-mb.h>)
#include <dlfcn.h>
#include <intel-ipsec-mb.h>
#include <stddef.h>

/* what accperf takes for granted (user/offload/api_crypto.c) */
_Static_assert(offsetof(IMB_MGR, jobs) == 1024 && offsetof(IMB_MGR, next_job) == 1020, "IMB_MGR");
_Static_assert(offsetof(IMB_JOB, msg_len_to_cipher_in_bytes) == 48 &&
		       offsetof(IMB_JOB, msg_len_to_hash_in_bytes) == 64 && offsetof(IMB_JOB, cipher_mode) == 132 &&
		       IMB_CIPHER_NULL == 3,
	       "IMB_JOB");

#define BUFFERS 64 /* more than a manager keeps */
#define LARGEST 4096

static unsigned char data[BUFFERS][LARGEST], digest[BUFFERS][32], iv[16];
static struct account {
	long calls, bytes, later;
} account[2]; /* checked, not checked */
static long back;
static DECLARE_ALIGNED(uint8_t enc[16 * 15], 16);
static DECLARE_ALIGNED(uint8_t dec[16 * 15], 16);

static size_t fill(IMB_JOB *job, long i, int at_once)
{
	size_t size = 64u << i % 7;

	memset(job, 0, sizeof(*job));
	job->src = job->dst = data[i % BUFFERS];
	job->cipher_mode = IMB_CIPHER_NULL;
	job->hash_alg = IMB_AUTH_NULL;
	job->chain_order = IMB_ORDER_HASH_CIPHER;
	job->cipher_direction = IMB_DIR_ENCRYPT;
	job->user_data = (void *)i;
	if (i % 4 == 0 && !at_once) {
		job->hash_alg = IMB_AUTH_SHA_256;
		job->auth_tag_output = digest[i % BUFFERS];
		job->auth_tag_output_len_in_bytes = 32;
		job->msg_len_to_hash_in_bytes = size;
		job->msg_len_to_cipher_in_bytes = 12345; /* left over; not to be counted */
	} else {
		job->cipher_mode = i % 4 == 1 || at_once ? IMB_CIPHER_CNTR : IMB_CIPHER_CBC;
		job->enc_keys = enc;
		job->dec_keys = dec;
		job->key_len_in_bytes = 16;
		job->iv = iv;
		job->iv_len_in_bytes = 16;
		job->msg_len_to_cipher_in_bytes = size;
	}
	return size;
}

static int take(const IMB_JOB *job)
{
	back++;
	return job->status != IMB_STATUS_COMPLETED;
}

int main(int argc, char **argv)
{
	long jobs = argc > 1 ? atol(argv[1]) : 100, failed = 0;
	void *l = dlopen("libIPSec_MB.so.1", RTLD_NOW);
	IMB_MGR *(*new_manager)(uint64_t) = l ? (IMB_MGR * (*)(uint64_t)) dlsym(l, "alloc_mb_mgr") : NULL;
	void (*init)(IMB_MGR *, IMB_ARCH *) = l ? (void (*)(IMB_MGR *, IMB_ARCH *))dlsym(l, "init_mb_mgr_auto") : NULL;
	IMB_MGR *m = new_manager && init ? new_manager(0) : NULL;
	IMB_JOB *job, *own;

	if (!m) {
		fprintf(stderr, "off_ipsecmb: %s\n", l ? "no manager" : dlerror());
		return 77;
	}
	init(m, NULL);
	IMB_AES_KEYEXP_128(m, "accperf key 0123", enc, dec);
	for (long i = 0; i < jobs; i++) {
		own = IMB_GET_NEXT_JOB(m);
		account[i % 2].bytes += (long)fill(own, i, i < jobs / 4);
		job = i % 2 ? IMB_SUBMIT_JOB_NOCHECK(m) : IMB_SUBMIT_JOB(m);
		account[i % 2].calls++;
		account[i % 2].later += job != own;
		for (; job; job = IMB_GET_COMPLETED_JOB(m))
			failed += take(job);
	}
	while ((job = IMB_FLUSH_JOB(m)))
		failed += take(job);
	if (failed || back != jobs)
		return 1;
	printf("{");
	for (int i = 0; i < 2; i++)
		printf("\"ipsec-mb submit_job%s\":{\"calls\":%ld,\"in\":%ld,\"async\":%ld}%s", i ? "_nocheck" : "",
		       account[i].calls, account[i].bytes, account[i].later, i ? "}\n" : ",");
	return 0;
}
#else
int main(void)
{
	fprintf(stderr, "off_ipsecmb: built without libipsec-mb-dev\n");
	return 77;
}
#endif
