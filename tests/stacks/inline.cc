// SPDX-License-Identifier: GPL-2.0-or-later
// For t-unwind.sh: two levels of inlining below a C++ function, and a lambda that is not inlined.
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace deep {
static volatile uint64_t sink;

static inline __attribute__((always_inline)) uint64_t innermost(uint64_t x, unsigned i)
{
	// long enough that a timer is late by less
	for (unsigned k = 0; k < 64; k++)
		x = x * 6364136223846793005ull + i;
	return x;
}

template <typename T> static inline __attribute__((always_inline)) T middle(T x)
{
	for (unsigned i = 0; i < 50000; i++) {
		x = innermost(x, i);
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

struct Worker {
	__attribute__((noinline)) void run(int n)
	{
		auto lambda = [&](uint64_t x) __attribute__((noinline)) {
			return middle(x) + (uint64_t)n;
		};
		sink = lambda(sink);
	}
};
} // namespace deep

int main(int, char **argv)
{
	deep::Worker w;
	clock_t end = clock() + (clock_t)(atof(argv[1]) * CLOCKS_PER_SEC);

	while (clock() < end)
		w.run(3);
	return 0;
}
