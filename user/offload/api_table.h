/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of offload APIs. Included by cli and tests. To add one: a row here; api.h has the steps.
 */
#ifndef ACCPERF_OFFLOAD_API_TABLE_H
#define ACCPERF_OFFLOAD_API_TABLE_H

#include "offload/api.h"

/* X(id, name) for a `const struct offload_api offload_ID`; C takes no hyphen in an id. */
#define OFFLOAD_APIS(X)                                                                                                \
	X(cuda, "cuda")                                                                                                \
	X(cudart, "cudart")                                                                                            \
	X(hip, "hip")                                                                                                  \
	X(level_zero, "level-zero")                                                                                    \
	X(opencl, "opencl")                                                                                            \
	X(vulkan, "vulkan")                                                                                            \
	X(openssl, "openssl")                                                                                          \
	X(zlib, "zlib")                                                                                                \
	X(isal, "isal")                                                                                                \
	X(zstd, "zstd")                                                                                                \
	X(qatzip, "qatzip")                                                                                            \
	X(qpl, "qpl")                                                                                                  \
	X(vaapi, "vaapi")                                                                                              \
	X(kcapi, "kcapi")                                                                                              \
	X(compressdev, "compressdev")                                                                                  \
	X(cryptodev, "cryptodev")                                                                                      \
	X(ipsec_mb, "ipsec-mb")                                                                                        \
	X(af_alg, "af_alg")                                                                                            \
	X(io_uring, "io_uring")

#define OFFLOAD_API_DECLARED(id, name) extern const struct offload_api offload_##id;
OFFLOAD_APIS(OFFLOAD_API_DECLARED)

/* For an option's help: all names. */
#define OFFLOAD_API_NAMED(id, name) name ", "
#define OFFLOAD_API_NAMES OFFLOAD_APIS(OFFLOAD_API_NAMED)

#endif
