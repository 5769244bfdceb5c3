// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks of every kind, for tests/cli/t-unwind.sh, which compiles this in several ways (PIE, fixed
 * address, static, without frame pointers):   stacks MODE SECONDS [LIBRARY]; seconds of CPU time, its children's too,
 * so that a busy machine makes neither fewer samples of it nor a larger share of its start.
 * In every mode nearly all time lies below  main -> outer -> inner -> the mode's own function; each
 * works after its call, so that none becomes a jump.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEP __attribute__((noinline, noclone, used))
#define AFTER __asm__ volatile("" ::: "memory")

static volatile uint64_t sink;
static const char *library;
static double most;

static double used(int who)
{
	struct rusage r;

	getrusage(who, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6;
}

static int over(void)
{
	return used(RUSAGE_SELF) + used(RUSAGE_CHILDREN) >= most;
}

STEP static void burn(void)
{
	uint64_t x = sink;

	for (unsigned i = 0; i < 2000000; i++) {
		x = x * 6364136223846793005ull + i;
		__asm__ volatile("" : "+r"(x));
	}
	sink = x;
	AFTER;
}

STEP static uint64_t dive(unsigned depth)
{
	char room[64];

	memset(room, (int)depth, sizeof(room));
	__asm__ volatile("" ::"r"(room) : "memory");
	if (!depth) {
		burn();
		return 1;
	}
	return dive(depth - 1) + (uint64_t)room[3];
}

/* An array of six pages of which the ends are used: those between are never there. */
STEP static void hollow(void)
{
	char room[6 * 4096];

	room[0] = room[sizeof(room) - 1] = 1;
	__asm__ volatile("" ::"r"(room) : "memory");
	burn();
	sink += (uint64_t)room[sizeof(room) - 1];
	AFTER;
}

/* A frame of 48 KB that is used, as encoders of video and images have them. */
STEP static void wide(void)
{
	char room[48 * 1024];

	memset(room, 1, sizeof(room));
	__asm__ volatile("" ::"r"(room) : "memory");
	burn();
	sink += (uint64_t)room[sizeof(room) - 1];
	AFTER;
}

STEP static void on_signal(int sig)
{
	burn();
	AFTER;
}

STEP static void interrupted(void)
{
	raise(SIGUSR1);
	AFTER;
}

STEP static void clock_loop(void)
{
	struct timespec ts;

	for (int i = 0; i < 100000; i++)
		clock_gettime(CLOCK_MONOTONIC, &ts);
	AFTER;
}

STEP static void read_loop(void)
{
	static char buf[65536];
	FILE *f = fopen("/dev/zero", "r");

	for (int i = 0; f && i < 2000; i++)
		if (read(fileno(f), buf, sizeof(buf)) < 0)
			abort();
	if (f)
		fclose(f);
	AFTER;
}

/* Two functions of machine code with frame pointers, named in /tmp/perf-PID.map as a JIT does it. */
STEP static void jit(void)
{
	static const uint8_t code[] = {
		/* 0: caller: push rbp; mov rbp,rsp; call loop (at 16); pop rbp; ret */
		0x55,
		0x48,
		0x89,
		0xe5,
		0xe8,
		0x07,
		0,
		0,
		0,
		0x5d,
		0xc3,
		0x90,
		0x90,
		0x90,
		0x90,
		0x90,
		/* 16: loop: push rbp; mov rbp,rsp; mov ecx,5000000; dec ecx; jnz -4; pop rbp; ret */
		0x55,
		0x48,
		0x89,
		0xe5,
		0xb9,
		0x40,
		0x4b,
		0x4c,
		0x00,
		0xff,
		0xc9,
		0x75,
		0xfc,
		0x5d,
		0xc3,
	};
	static void (*fn)(void);

	if (!fn) {
		uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		char name[64];
		FILE *map;

		memcpy(page, code, sizeof(code));
		mprotect(page, 4096, PROT_READ | PROT_EXEC);
		memcpy(&fn, &page, sizeof(fn));
		snprintf(name, sizeof(name), "/tmp/perf-%d.map", getpid());
		map = fopen(name, "w");
		if (!map)
			abort();
		fprintf(map, "%lx 10 jitted_caller\n%lx f jitted loop\n", (unsigned long)page,
			(unsigned long)page + 16);
		fclose(map);
	}
	fn();
	AFTER;
}

STEP static void loaded(void)
{
	static void (*fn)(void (*)(void));

	if (!fn) {
		void *lib = dlopen(library, RTLD_NOW);

		if (!lib) {
			fprintf(stderr, "%s\n", dlerror());
			exit(1);
		}
		*(void **)&fn = dlsym(lib, "library_entry");
		unlink(library);
	}
	fn(burn);
	AFTER;
}

STEP static void forked(void)
{
	pid_t child = fork();

	if (!child) {
		for (int i = 0; i < 20; i++)
			burn();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	AFTER;
}

STEP static void inner(const char *mode)
{
	if (!strcmp(mode, "plain"))
		burn();
	else if (!strcmp(mode, "hollow"))
		hollow();
	else if (!strcmp(mode, "wide"))
		wide();
	else if (!strcmp(mode, "deep"))
		sink += dive(150);
	else if (!strcmp(mode, "abyss"))
		sink += dive(20000);
	else if (!strcmp(mode, "signal") || !strcmp(mode, "altstack"))
		interrupted();
	else if (!strcmp(mode, "vdso"))
		clock_loop();
	else if (!strcmp(mode, "read"))
		read_loop();
	else if (!strcmp(mode, "jit"))
		jit();
	else if (!strcmp(mode, "dlopen"))
		loaded();
	else if (!strcmp(mode, "fork"))
		forked();
	else
		exit(2);
	AFTER;
}

STEP static void outer(const char *mode)
{
	inner(mode);
	AFTER;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal };
	stack_t ss = { .ss_size = 65536 };

	if (argc < 3)
		return 2;
	library = argc > 3 ? argv[3] : NULL;
	most = atof(argv[2]);
	if (!strcmp(argv[1], "altstack")) {
		ss.ss_sp = malloc(ss.ss_size);
		sigaltstack(&ss, NULL);
		sa.sa_flags = SA_ONSTACK;
	}
	sigaction(SIGUSR1, &sa, NULL);
	while (!over())
		outer(argv[1]);
	return 0;
}
