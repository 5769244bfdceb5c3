// SPDX-License-Identifier: GPL-2.0-or-later
/* Offload APIs: the kernel's own, of which there are calls but no functions. */
#include "offload/api_rows.h"

/* By system calls: what is recorded has a row for each algorithm seen. */
const struct offload_api offload_af_alg = {
	.name = "af_alg",
	.label = "AF_ALG",
	.family = "af_alg",
	.libs = "",
	.device = true,
};

/* By tracepoints: uring_ops has what its operations are. */
const struct offload_api offload_io_uring = {
	.name = "io_uring",
	.label = "io_uring",
	.family = "io_uring",
	.libs = "",
};

static const struct offload_uring_op uring_ops[] = {
	{ 1, URING_OUT, "readv" },      { 2, URING_IN, "writev" },      { 3, 0, "fsync" },
	{ 4, URING_OUT, "read_fixed" }, { 5, URING_IN, "write_fixed" }, { 9, URING_IN, "sendmsg" },
	{ 10, URING_OUT, "recvmsg" },   { 22, URING_OUT, "read" },      { 23, URING_IN, "write" },
	{ 26, URING_IN, "send" },       { 27, URING_OUT, "recv" },      { 30, URING_OUT, "splice" },
	{ 46, 0, "uring_cmd" },         { 47, URING_IN, "send_zc" },
};

const struct offload_uring_op *offload_uring_ops(unsigned *count)
{
	*count = sizeof(uring_ops) / sizeof(*uring_ops);
	return uring_ops;
}
