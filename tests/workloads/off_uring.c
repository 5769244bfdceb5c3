// SPDX-License-Identifier: GPL-2.0-or-later
/* io_uring without a library: `off_uring [READS] [BYTES]` reads of /dev/zero, four in flight. */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEPTH 4

int main(int argc, char **argv)
{
	unsigned reads = argc > 1 ? (unsigned)atoi(argv[1]) : 100, bytes = argc > 2 ? (unsigned)atoi(argv[2]) : 4096;
	struct io_uring_params p = { 0 };
	int fd = (int)syscall(__NR_io_uring_setup, DEPTH, &p), zero = open("/dev/zero", O_RDONLY);
	uint8_t *buf = malloc((size_t)bytes * DEPTH), *sq, *cq;
	struct io_uring_sqe *sqes;
	uint64_t sum = 0;

	if (fd < 0 || zero < 0 || !buf) {
		perror("off_uring");
		return 77;
	}
	sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQ_RING);
	cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE, MAP_SHARED,
		  fd, IORING_OFF_CQ_RING);
	sqes = mmap(NULL, p.sq_entries * sizeof(*sqes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || sqes == MAP_FAILED)
		return 1;
	for (unsigned done = 0; done < reads;) {
		unsigned *sq_tail = (unsigned *)(sq + p.sq_off.tail), mask = *(unsigned *)(sq + p.sq_off.ring_mask);
		unsigned *cq_head = (unsigned *)(cq + p.cq_off.head), n = reads - done < DEPTH ? reads - done : DEPTH;

		for (unsigned i = 0; i < n; i++) {
			unsigned at = (*sq_tail + i) & mask;

			sqes[at] = (struct io_uring_sqe){ .opcode = IORING_OP_READ,
							  .fd = zero,
							  .addr = (uintptr_t)(buf + (size_t)i * bytes),
							  .len = bytes };
			((unsigned *)(sq + p.sq_off.array))[at] = at;
		}
		__atomic_store_n(sq_tail, *sq_tail + n, __ATOMIC_RELEASE);
		if (syscall(__NR_io_uring_enter, fd, n, n, IORING_ENTER_GETEVENTS, NULL, 0) != (long)n)
			return 1;
		while (*cq_head != __atomic_load_n((unsigned *)(cq + p.cq_off.tail), __ATOMIC_ACQUIRE)) {
			struct io_uring_cqe *c = (struct io_uring_cqe *)(cq + p.cq_off.cqes) +
						 (*cq_head & *(unsigned *)(cq + p.cq_off.ring_mask));

			sum += c->res > 0 ? (uint64_t)c->res : 0;
			done++;
			__atomic_store_n(cq_head, *cq_head + 1, __ATOMIC_RELEASE);
		}
	}
	printf("{\"read\":{\"calls\":%u,\"out\":%lu}}\n", reads, (unsigned long)sum);
	return 0;
}
