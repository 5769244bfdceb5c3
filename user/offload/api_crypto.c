// SPDX-License-Identifier: GPL-2.0-or-later
/* Offload APIs: encryption, digests and signatures. */
#include "offload/api_rows.h"

static const struct offload_row openssl_rows[] = {
	CALL("EVP_CipherUpdate", P, .in = ARG32(4), .out = AFTER32(2, 0)),
	CALL("EVP_EncryptUpdate", P, .in = ARG32(4), .out = AFTER32(2, 0)),
	CALL("EVP_DecryptUpdate", P, .in = ARG32(4), .out = AFTER32(2, 0)),
	CALL("EVP_Cipher", NN, .in = ARG32(3)),
	CALL("EVP_Digest", P, .in = ARG(1)),
	CALL("EVP_DigestUpdate", P, .in = ARG(2)),
	CALL("EVP_DigestSign", P, .apart = PA_KEYS, .in = ARG(4), .out = AFTER64(2, 0)),
	CALL("EVP_DigestVerify", P, .apart = PA_KEYS, .in = ARG(4)),
	CALL("EVP_DigestSignUpdate", P, .in = ARG(2)),
	CALL("EVP_DigestVerifyUpdate", P, .in = ARG(2)),
	CALL("EVP_DigestSignFinal", P, .apart = PA_KEYS, .in = NO_BYTES, .out = AFTER64(2, 0)),
	CALL("EVP_DigestVerifyFinal", P, .apart = PA_KEYS, .in = NO_BYTES),
	CALL("EVP_MAC_update", P, .in = ARG(2)),
	CALL("EVP_PKEY_sign", P, .apart = PA_KEYS, .in = ARG(4), .out = AFTER64(2, 0)),
	CALL("EVP_PKEY_verify", P, .apart = PA_KEYS, .in = ARG(4)),
	CALL("EVP_PKEY_encrypt", P, .apart = PA_KEYS, .in = ARG(4), .out = AFTER64(2, 0)),
	CALL("EVP_PKEY_decrypt", P, .apart = PA_KEYS, .in = ARG(4), .out = AFTER64(2, 0)),
	CALL("EVP_PKEY_derive", P, .apart = PA_KEYS, .in = NO_BYTES, .out = AFTER64(2, 0)),
};

const struct offload_api offload_openssl = {
	.name = "openssl",
	.label = "OpenSSL EVP",
	.family = "openssl",
	.libs = "libcrypto.so*",
	.calls_back = true,
	ROWS(openssl_rows),
};

static const struct offload_row kcapi_rows[] = {
	CALL("kcapi_cipher_encrypt", NN, .in = ARG(2), .out = RETURNED),
	CALL("kcapi_cipher_decrypt", NN, .in = ARG(2), .out = RETURNED),
	CALL("kcapi_aead_encrypt", NN, .in = ARG(2), .out = RETURNED),
	CALL("kcapi_aead_decrypt", NN, .in = ARG(2), .out = RETURNED),
	CALL("kcapi_md_digest", NN, .in = ARG(2), .out = RETURNED),
	CALL("kcapi_md_update", NN, .in = ARG(2)),
};

const struct offload_api offload_kcapi = {
	.name = "kcapi",
	.label = "AF_ALG by libkcapi",
	.family = "af_alg",
	.libs = "libkcapi.so*",
	.device = true,
	ROWS(kcapi_rows),
};

static const struct offload_row cryptodev_rows[] = {
	/* A driver's own functions (the table below), with the queue pair first. rte_crypto_op: bytes to cipher, or to
	 * encrypt with a tag, at 52; none: bytes to authenticate at 60. */
	SUBMIT("rte_cryptodev_enqueue_burst", P, .in = JOBS32(1, 2, 52, 60, 52, 0), QUEUE(0)),
	WAIT("rte_cryptodev_dequeue_burst", P, QUEUE(0)),
};

static const struct offload_table cryptodev_table = {
	.symbol = "rte_crypto_fp_ops",
	.entries = 64,
	.stride = 64,
	.row = { "rte_cryptodev_enqueue_burst", "rte_cryptodev_dequeue_burst" },
};

const struct offload_api offload_cryptodev = {
	.name = "cryptodev",
	.label = "DPDK cryptodev",
	.family = "cryptodev",
	.libs = "librte_cryptodev.so*",
	.device = true,
	.table = &cryptodev_table,
	ROWS(cryptodev_rows),
};

static const struct offload_row ipsec_mb_rows[] = {
	/* IMB_MGR of 1.3: its jobs at 1024, before them where the next one lies. IMB_JOB: bytes to cipher at 48; with a
	 * cipher_mode (132) of IMB_CIPHER_NULL: bytes to authenticate at 64. */
	SUBMIT("submit_job", .in = JOB64(0, 1024, 48, 64, 132, 3), QUEUE(0), .job_event = 1, .completes = 1),
	SUBMIT("submit_job_nocheck", .in = JOB64(0, 1024, 48, 64, 132, 3), QUEUE(0), .job_event = 1, .completes = 1),
	WAIT("flush_job", .ok = PR_NONZERO, .scope = PS_EVENT, .job_event = 1),
	WAIT("get_completed_job", .ok = PR_NONZERO, .scope = PS_EVENT, .job_event = 1),
};

/* Its managers are laid out anew by each version. */
const struct offload_api offload_ipsec_mb = {
	.name = "ipsec-mb",
	.label = "libipsec-mb",
	.family = "ipsec-mb",
	.libs = "libIPSec_MB.so.1.3*",
	.suffixes =
		"_sse|_sse_t1|_sse_t2|_sse_t3|_avx|_avx_t1|_avx_t2|_avx2|_avx2_t1|_avx2_t2|_avx512|_avx512_t1|_avx512_t2",
	ROWS(ipsec_mb_rows),
};
