// SPDX-License-Identifier: GPL-2.0-or-later
// cflags: -O1 -fno-inline -fno-optimize-sibling-calls
// libs: -ldl
/* Ways to leave a function that are no return, each N times: longjmp over frames, signal handlers on
 * the thread's stack and on an alternate one, siglongjmp out of a handler, coroutines, dlopen,
 * threads. After each a marker function is called: its caller in the call tree must be main. */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

static volatile unsigned sink;
static unsigned char cells[64];
static jmp_buf env;
static sigjmp_buf sigenv;
static ucontext_t home, coro;
static char coro_stack[65536], alt_stack[65536];

#define MARKER(name)                                                                                                   \
	static __attribute__((noinline)) void name(void)                                                               \
	{                                                                                                              \
		sink += sink * 3 + 1;                                                                                  \
		__asm__ volatile("");                                                                                  \
	}
MARKER(after_longjmp)
MARKER(after_signal)
MARKER(after_altstack)
MARKER(after_siglongjmp)
MARKER(after_coroutine)
MARKER(after_dlopen)
MARKER(after_threads)

static __attribute__((noinline)) void jump_deep(int n)
{
	volatile char room[256];

	room[n & 255] = n;
	if (n == 0)
		longjmp(env, 1);
	jump_deep(n - 1);
	sink += room[0];
}

static __attribute__((noinline)) void on_signal(int sig)
{
	for (int i = 0; i < 64; i++)
		cells[i] += sig;
}

static __attribute__((noinline)) void on_alt(int sig)
{
	for (int i = 0; i < 64; i++)
		cells[i] ^= sig;
}

static __attribute__((noinline)) void on_jump(int sig)
{
	sink += sig;
	siglongjmp(sigenv, 1);
}

static __attribute__((noinline)) void coro_step(unsigned n)
{
	cells[n & 63] = n;
}

static __attribute__((noinline)) void coro_main(void)
{
	for (unsigned n = 0;; n++) {
		coro_step(n);
		swapcontext(&coro, &home);
	}
}

static __attribute__((noinline)) unsigned thread_recurse(unsigned n)
{
	return n ? 1 + thread_recurse(n - 1) : 0;
}

static __attribute__((noinline)) void *thread_main(void *arg)
{
	for (unsigned i = 0; i < (unsigned long)arg; i++)
		sink += thread_recurse(10);
	return NULL;
}

static __attribute__((noinline)) unsigned read_cells(void)
{
	unsigned sum = 0;

	for (int i = 0; i < 64; i++)
		sum += cells[i];
	return sum;
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 20;
	stack_t alt = { .ss_sp = alt_stack, .ss_size = sizeof(alt_stack) };
	struct sigaction act = { .sa_handler = on_alt, .sa_flags = SA_ONSTACK };
	unsigned (*crc)(unsigned long, const unsigned char *, unsigned);
	pthread_t th[2];
	void *lib;

	for (unsigned i = 0; i < n; i++) {
		if (!setjmp(env))
			jump_deep(4);
		after_longjmp();
	}
	signal(SIGUSR1, on_signal);
	for (unsigned i = 0; i < n; i++) {
		raise(SIGUSR1);
		after_signal();
	}
	sink += read_cells();
	sigaltstack(&alt, NULL);
	sigaction(SIGUSR2, &act, NULL);
	for (unsigned i = 0; i < n; i++) {
		raise(SIGUSR2);
		after_altstack();
	}
	sink += read_cells();
	act.sa_handler = on_jump;
	sigaction(SIGUSR2, &act, NULL);
	for (unsigned i = 0; i < n; i++) {
		if (!sigsetjmp(sigenv, 1))
			raise(SIGUSR2);
		after_siglongjmp();
	}
	getcontext(&coro);
	coro.uc_stack.ss_sp = coro_stack;
	coro.uc_stack.ss_size = sizeof(coro_stack);
	makecontext(&coro, coro_main, 0);
	for (unsigned i = 0; i < n; i++) {
		swapcontext(&home, &coro);
		after_coroutine();
	}
	lib = dlopen("libz.so.1", RTLD_NOW);
	if (lib) {
		*(void **)&crc = dlsym(lib, "crc32");
		for (unsigned i = 0; crc && i < n; i++)
			sink += crc(0, cells, sizeof(cells));
		after_dlopen();
		dlclose(lib);
	}
	for (int i = 0; i < 2; i++)
		pthread_create(&th[i], NULL, thread_main, (void *)(unsigned long)n);
	for (int i = 0; i < 2; i++)
		pthread_join(th[i], NULL);
	after_threads();
	printf("%u\n", sink);
	return 0;
}
