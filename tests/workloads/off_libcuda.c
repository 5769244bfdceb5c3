// cflags: -O2 -shared -fPIC -fvisibility=hidden -fno-ipa-icf
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A libcuda.so.1 without a GPU, for the probes' tests: the driver's names and arguments, and streams
 * that take a known time. A copy takes 20 us and 0.1 ns a byte, a kernel 500 us; an asynchronous one
 * is put behind its stream's last, and whoever synchronises sleeps until the stream is done. Build
 * gives build/workloads/off_libcuda; tests link it to libcuda.so.1.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define API __attribute__((visibility("default")))
#define STREAMS 64

struct stream {
	uint64_t busy_until;
};
struct event {
	uint64_t at;
};

static struct stream streams[STREAMS + 1]; /* [0]: the default stream */
static unsigned streams_cnt;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void sleep_until(uint64_t t)
{
	struct timespec ts = { .tv_sec = (time_t)(t / 1000000000u), .tv_nsec = (long)(t % 1000000000u) };

	/* Asking for a time that has passed may still give the processor away. */
	while (now() < t && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

static struct stream *of(void *s)
{
	return s ? s : &streams[0];
}

static uint64_t put(struct stream *s, uint64_t ns)
{
	uint64_t t = now(), end;

	pthread_mutex_lock(&lock);
	end = (s->busy_until > t ? s->busy_until : t) + ns;
	s->busy_until = end;
	pthread_mutex_unlock(&lock);
	return end;
}

static uint64_t copy_ns(size_t n)
{
	return 20000 + n / 10;
}

#define KERNEL_NS 500000

API int cuInit(unsigned flags);
API int cuInit(unsigned flags)
{
	return 0;
}

API int cuStreamCreate(void **s, unsigned flags);
API int cuStreamCreate(void **s, unsigned flags)
{
	if (streams_cnt == STREAMS)
		return 2;
	*s = &streams[++streams_cnt];
	return 0;
}

API int cuMemAlloc_v2(void **p, size_t n);
API int cuMemAlloc_v2(void **p, size_t n)
{
	*p = malloc(n);
	return *p ? 0 : 2;
}

#define SYNC_COPY(name)                                                                                                \
	API int name(void *dst, const void *src, size_t n);                                                            \
	API int name(void *dst, const void *src, size_t n)                                                             \
	{                                                                                                              \
		memcpy(dst, src, n);                                                                                   \
		sleep_until(put(&streams[0], copy_ns(n)));                                                             \
		return 0;                                                                                              \
	}
#define ASYNC_COPY(name)                                                                                               \
	API int name(void *dst, const void *src, size_t n, void *s);                                                   \
	API int name(void *dst, const void *src, size_t n, void *s)                                                    \
	{                                                                                                              \
		memcpy(dst, src, n);                                                                                   \
		put(of(s), copy_ns(n));                                                                                \
		return 0;                                                                                              \
	}
SYNC_COPY(cuMemcpyHtoD_v2)
SYNC_COPY(cuMemcpyDtoH_v2)
SYNC_COPY(cuMemcpyHtoD_v2_ptds)
ASYNC_COPY(cuMemcpyHtoDAsync_v2)
ASYNC_COPY(cuMemcpyDtoHAsync_v2)
ASYNC_COPY(cuMemcpyHtoDAsync_v2_ptsz)

API int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		       unsigned shared, void *s, void **args, void **extra);
/* shape: the driver's interface. */
API int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		       unsigned shared, void *s, void **args, void **extra)
{
	put(of(s), KERNEL_NS);
	return 0;
}

API int cuStreamSynchronize(void *s);
API int cuStreamSynchronize(void *s)
{
	sleep_until(of(s)->busy_until);
	return 0;
}

API int cuStreamQuery(void *s);
API int cuStreamQuery(void *s)
{
	return now() >= of(s)->busy_until ? 0 : 600;
}

API int cuCtxSynchronize(void);
API int cuCtxSynchronize(void)
{
	for (unsigned i = 0; i <= streams_cnt; i++)
		sleep_until(streams[i].busy_until);
	return 0;
}

API int cuEventCreate(void **e, unsigned flags);
API int cuEventCreate(void **e, unsigned flags)
{
	*e = calloc(1, sizeof(struct event));
	return *e ? 0 : 2;
}

API int cuEventRecord(void *e, void *s);
API int cuEventRecord(void *e, void *s)
{
	((struct event *)e)->at = of(s)->busy_until;
	return 0;
}

API int cuEventSynchronize(void *e);
API int cuEventSynchronize(void *e)
{
	sleep_until(((struct event *)e)->at);
	return 0;
}
