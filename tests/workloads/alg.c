// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel's cryptography through AF_ALG sockets, without a library: `alg [ROUNDS [wait]]`. Each round
 * encrypts (sendmsg and read; in two parts and some reads; as a stream; vmsplice and splice, which puts
 * the bytes in without a copy) and hashes (one send; several with MSG_MORE through a duplicate), of all
 * sizes. Each answer is checked against a second way of getting it. Prints its own account; exits with
 * 77 and a reason where the kernel has no AF_ALG. wait: with its sockets open, until a line is read.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_alg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST (1 << 16)

struct account {
	unsigned long calls, in, out;
};

static uint8_t data[MOST] __attribute__((aligned(4096))), got[MOST], again[MOST];

static void die(const char *what)
{
	fprintf(stderr, "alg: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int bound(const char *type, const char *name)
{
	struct sockaddr_alg sa = { .salg_family = AF_ALG };
	int fd = socket(AF_ALG, SOCK_SEQPACKET, 0);

	strcpy((char *)sa.salg_type, type);
	strcpy((char *)sa.salg_name, name);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa))) {
		fprintf(stderr, "skipped: this kernel has no AF_ALG %s %s (CONFIG_CRYPTO_USER_API): %s\n", type, name,
			strerror(errno));
		exit(77);
	}
	return fd;
}

/* Direction and IV of the next operation, and its first bytes. */
static void begin(int fd, const void *p, size_t n, int flags)
{
	char control[CMSG_SPACE(4) + CMSG_SPACE(4 + 16)] __attribute__((aligned(8))) = { 0 };
	struct iovec iov = { (void *)p, n };
	struct msghdr m = {
		.msg_control = control, .msg_controllen = sizeof(control), .msg_iov = &iov, .msg_iovlen = 1
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	*c = (struct cmsghdr){ .cmsg_level = SOL_ALG, .cmsg_type = ALG_SET_OP, .cmsg_len = CMSG_LEN(4) };
	*(uint32_t *)CMSG_DATA(c) = ALG_OP_ENCRYPT;
	c = CMSG_NXTHDR(&m, c);
	*c = (struct cmsghdr){ .cmsg_level = SOL_ALG, .cmsg_type = ALG_SET_IV, .cmsg_len = CMSG_LEN(4 + 16) };
	((struct af_alg_iv *)CMSG_DATA(c))->ivlen = 16;
	if (sendmsg(fd, &m, flags) != (ssize_t)n)
		die("sendmsg");
}

static void all(int fd, uint8_t *to, size_t n, size_t piece)
{
	for (size_t at = 0; at < n;) {
		ssize_t r = read(fd, to + at, n - at < piece ? n - at : piece);

		if (r <= 0)
			die("read");
		at += (size_t)r;
	}
}

static void one(struct account *a, size_t in, size_t out)
{
	a->calls++;
	a->in += in;
	a->out += out;
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 20;
	const char *how = argc > 2 ? argv[2] : "";
	struct account cbc = { 0 }, sha = { 0 };
	int tfm, cipher, hash, digests, pipes[2], other;
	uint8_t digest[32], same[32];
	uint32_t x = 7;
	char line[8];

	tfm = bound("skcipher", "cbc(aes)");
	if (setsockopt(tfm, SOL_ALG, ALG_SET_KEY, "0123456789abcdef", 16) || (cipher = accept(tfm, NULL, 0)) < 0)
		die("cbc(aes)");
	digests = bound("hash", "sha256");
	if ((hash = accept(digests, NULL, 0)) < 0 || pipe(pipes))
		die("sha256");
	if (!strcmp(how, "wait") && !fgets(line, sizeof(line), stdin))
		return 1;
	for (size_t i = 0; i < MOST; i++)
		data[i] = (uint8_t)(i * 31);
	for (unsigned r = 0; r < rounds; r++) {
		size_t half, n = 16 * (1 + (x = x * 1103515245 + 12345) % 2000);

		/* in one go */
		begin(cipher, data, n, 0);
		all(cipher, got, n, n);
		one(&cbc, n, n);
		/* in two parts, and read in pieces */
		begin(cipher, data, n / 2, MSG_MORE);
		if (send(cipher, data + n / 2, n - n / 2, 0) != (ssize_t)(n - n / 2))
			die("send");
		all(cipher, again, n, n / 32 * 16 + 16);
		one(&cbc, n, n);
		if (memcmp(got, again, n))
			die("two ways, two results");
		/* as a stream: read what is there, go on with the same operation */
		half = n / 32 * 16;
		if (half) {
			begin(cipher, data, half, MSG_MORE);
			all(cipher, again, half, half);
			if (send(cipher, data + half, n - half, 0) != (ssize_t)(n - half))
				die("send");
			all(cipher, again + half, n - half, n - half);
			one(&cbc, n, n);
			if (memcmp(got, again, n))
				die("three ways, two results");
		}
		/* without copying in: direction and IV first, then the pages */
		n = 4096;
		begin(cipher, NULL, 0, MSG_MORE);
		if (vmsplice(pipes[1], &(struct iovec){ data, n }, 1, SPLICE_F_GIFT) != (ssize_t)n ||
		    splice(pipes[0], NULL, cipher, NULL, n, 0) != (ssize_t)n)
			die("splice");
		all(cipher, got, n, n);
		one(&cbc, n, n);
		/* hashes: at once, then in three parts through a duplicate */
		n = 1 + x % 5000;
		if (send(hash, data, n, 0) != (ssize_t)n || read(hash, digest, 32) != 32)
			die("hash");
		one(&sha, n, 32);
		other = dup(hash);
		if (send(hash, data, n / 3, MSG_MORE) != (ssize_t)(n / 3) || write(STDERR_FILENO, "", 0) ||
		    send(other, data + n / 3, n / 3, MSG_MORE) != (ssize_t)(n / 3) ||
		    send(hash, data + n / 3 * 2, n - n / 3 * 2, 0) != (ssize_t)(n - n / 3 * 2) ||
		    recv(other, same, 32, 0) != 32)
			die("hash in parts");
		close(other);
		one(&sha, n, 32);
		if (memcmp(digest, same, 32))
			die("two ways, two digests");
	}
	printf("{\"skcipher cbc(aes)\":{\"calls\":%lu,\"in\":%lu,\"out\":%lu},\"hash sha256\":{\"calls\":%lu,\"in\":%lu,\"out\":%lu}}\n",
	       cbc.calls, cbc.in, cbc.out, sha.calls, sha.in, sha.out);
	return 0;
}
