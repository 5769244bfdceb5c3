/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words for the rows of an offload API: what a function does, where its bytes are, what completes what. Included by
 * the files of APIs alone, before they say what they describe and tests.
 */
#ifndef ACCPERF_OFFLOAD_API_ROWS_H
#define ACCPERF_OFFLOAD_API_ROWS_H

#include "offload/api_table.h"

/* Where the bytes are. Arguments count from 0. */
#define ARG(n)                                                                                                         \
	{                                                                                                              \
		.op = PX_ARG, .a = (n)                                                                                 \
	}
#define ARG32(n)                                                                                                       \
	{                                                                                                              \
		.op = PX_ARG, .a = (n), .width = 4                                                                     \
	}
#define MUL(n, m)                                                                                                      \
	{                                                                                                              \
		.op = PX_MUL, .a = (n), .b = (m)                                                                       \
	}
#define MUL32(n, m)                                                                                                    \
	{                                                                                                              \
		.op = PX_MUL, .a = (n), .b = (m), .width = 4                                                           \
	}
/* An int of argument n, if argument m is `is`; what the object at argument n was set to; always the same. */
#define ARG32_IF(n, m, is)                                                                                             \
	{                                                                                                              \
		.op = PX_ARG, .a = (n), .width = 4, .when_arg = (m) + 1, .when = (is)                                  \
	}
#define OF_OBJECT(n)                                                                                                   \
	{                                                                                                              \
		.op = PX_OBJECT, .a = (n)                                                                              \
	}
/* A stream of zlib's, whose state it points to. */
#define OF_STREAM(n)                                                                                                   \
	{                                                                                                              \
		.op = PX_OBJECT, .a = (n), .off = 56                                                                   \
	}
#define ALWAYS(v)                                                                                                      \
	{                                                                                                              \
		.op = PX_CONST, .value = (v)                                                                           \
	}
#define NO_BYTES                                                                                                       \
	{                                                                                                              \
		.op = PX_CONST                                                                                         \
	}
#define FIELD32(n, o)                                                                                                  \
	{                                                                                                              \
		.op = PX_FIELD, .a = (n), .off = (o), .width = 4                                                       \
	}
#define PAIR(n, o)                                                                                                     \
	{                                                                                                              \
		.op = PX_FIELD_PAIR, .a = (n), .off = (o)                                                              \
	}
#define AFTER32(n, o)                                                                                                  \
	{                                                                                                              \
		.op = PX_FIELD_AFTER, .a = (n), .off = (o), .width = 4                                                 \
	}
#define AFTER64(n, o)                                                                                                  \
	{                                                                                                              \
		.op = PX_FIELD_AFTER, .a = (n), .off = (o)                                                             \
	}
#define USED32(n, o)                                                                                                   \
	{                                                                                                              \
		.op = PX_USED, .a = (n), .off = (o), .width = 4                                                        \
	}
#define GREW64(n, o)                                                                                                   \
	{                                                                                                              \
		.op = PX_GREW, .a = (n), .off = (o)                                                                    \
	}
#define RETURNED                                                                                                       \
	{                                                                                                              \
		.op = PX_RETURN                                                                                        \
	}
#define SUM(n, cnt)                                                                                                    \
	{                                                                                                              \
		.op = PX_SUM, .a = (n), .b = (cnt)                                                                     \
	}
#define SUM_OF_FIELD32(n, cnt, o)                                                                                      \
	{                                                                                                              \
		.op = PX_SUM, .a = (n), .b = (cnt), .off = (o), .width = 4                                             \
	}
#define JOBS32(n, cnt, first, other, tells, is)                                                                        \
	{                                                                                                              \
		.op = PX_JOBS, .a = (n), .b = (cnt), .width = 4, .value = PX_JOB_VALUE(first, other, tells, is)        \
	}
#define JOB64(n, ring, first, other, tells, is)                                                                        \
	{                                                                                                              \
		.op = PX_JOB, .a = (n), .off = (ring), .value = PX_JOB_VALUE(first, other, tells, is)                  \
	}
#define PRODUCT(n, cnt)                                                                                                \
	{                                                                                                              \
		.op = PX_PRODUCT, .a = (n), .b = (cnt)                                                                 \
	}
#define PRODUCT3(n)                                                                                                    \
	{                                                                                                              \
		.op = PX_PRODUCT, .a = (n), .value = 3                                                                 \
	}
#define GRID(n)                                                                                                        \
	{                                                                                                              \
		.op = PX_GRID, .a = (n)                                                                                \
	}
#define DIM3(n)                                                                                                        \
	{                                                                                                              \
		.op = PX_DIM3, .a = (n)                                                                                \
	}
/* cudaMemcpyKind, hipMemcpyKind: 1 to the device, 2 from it, 4 told by the addresses. */
#define TO_DEVICE(n, kind)                                                                                             \
	{                                                                                                              \
		.op = PX_ARG, .a = (n), .when_arg = (kind) + 1, .when = 1, .value = 1 << 4                             \
	}
#define FROM_DEVICE(n, kind)                                                                                           \
	{                                                                                                              \
		.op = PX_ARG, .a = (n), .when_arg = (kind) + 1, .when = 2, .value = 1 << 4                             \
	}
#define TO_DEVICE_2D(n, m, kind)                                                                                       \
	{                                                                                                              \
		.op = PX_MUL, .a = (n), .b = (m), .when_arg = (kind) + 1, .when = 1, .value = 1 << 4                   \
	}
#define FROM_DEVICE_2D(n, m, kind)                                                                                     \
	{                                                                                                              \
		.op = PX_MUL, .a = (n), .b = (m), .when_arg = (kind) + 1, .when = 2, .value = 1 << 4                   \
	}

/* Fields of struct probe_spec that hold an argument's number plus one. */
#define QUEUE(n) .queue_arg = (n) + 1
#define QUEUE_AT(n, o) .queue_arg = (n) + 1, .queue_off = (o)
#define EVENT(n) .event_arg = (n) + 1
#define EVENT_OUT(n) .event_out = (n) + 1
#define EVENTS(cnt, list) .list_n = (cnt) + 1, .list_p = (list) + 1
#define BLOCKS_IF(n) .block_arg = (n) + 1

#define CALL(sym, ...)                                                                                                 \
	{                                                                                                              \
		sym,                                                                                                   \
		{                                                                                                      \
			.kind = PK_CALL, __VA_ARGS__                                                                   \
		}                                                                                                      \
	}
#define SUBMIT(sym, ...)                                                                                               \
	{                                                                                                              \
		sym,                                                                                                   \
		{                                                                                                      \
			.kind = PK_SUBMIT, __VA_ARGS__                                                                 \
		}                                                                                                      \
	}
#define WAIT(sym, ...)                                                                                                 \
	{                                                                                                              \
		sym,                                                                                                   \
		{                                                                                                      \
			.kind = PK_WAIT, __VA_ARGS__                                                                   \
		}                                                                                                      \
	}
#define MARK(sym, ...)                                                                                                 \
	{                                                                                                              \
		sym,                                                                                                   \
		{                                                                                                      \
			.kind = PK_EVENT, __VA_ARGS__                                                                  \
		}                                                                                                      \
	}
#define LEVEL(sym, ...)                                                                                                \
	{                                                                                                              \
		sym,                                                                                                   \
		{                                                                                                      \
			.kind = PK_LEVEL, __VA_ARGS__                                                                  \
		}                                                                                                      \
	}
#define Z .ok = PR_ZERO
#define P .ok = PR_POSITIVE
#define NN .ok = PR_NOT_NEGATIVE
#define ST .ok = PR_STREAM
#define SZ .ok = PR_SIZE

#define ROWS(list) .rows = (list), .row_count = sizeof(list) / sizeof(*(list))

#endif
