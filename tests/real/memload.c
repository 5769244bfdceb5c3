// SPDX-License-Identifier: GPL-2.0-or-later
/* memload PORT REQUESTS FILE: a client of memcached. Fills it, then asks on four connections, eight requests at a time:
 * nine gets for each set, keys as popular as words are (Zipf), values of 60 to 1,200 bytes. REQUESTS 0: no end.
 * FILE says how many were answered; "-": fills only. */
#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { KEYS = 20000, CONNECTIONS = 4, AT_ONCE = 8, LONGEST = 1200 };

static uint64_t seed = 88172645463325252u;

static uint64_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* About 1/x, by the inverse of the integral. */
static unsigned popular(void)
{
	return (unsigned)(pow(KEYS, (double)(draw() >> 11) / 9007199254740992.0)) - 1;
}

static unsigned size_of(unsigned key)
{
	return 60 + key * 2654435761u % (LONGEST - 60);
}

static int connect_to(int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
		perror("connect");
		exit(1);
	}
	return fd;
}

static size_t set(char *to, unsigned key)
{
	unsigned n = size_of(key);
	int head = sprintf(to, "set key:%08u 0 0 %u\r\n", key, n);

	for (unsigned i = 0; i < n; i++)
		to[(unsigned)head + i] = (char)('a' + (key + i * i) % 26);
	memcpy(to + head + n, "\r\n", 2);
	return (size_t)head + n + 2;
}

/* Reads until COUNT answers ended: "STORED" or "END" on a line. */
static void answers(FILE *in, int count)
{
	char line[LONGEST + 64];

	while (count > 0 && fgets(line, sizeof(line), in))
		if (!strncmp(line, "END\r", 4) || !strncmp(line, "STORED\r", 7))
			count--;
	if (count) {
		fprintf(stderr, "memload: the server is gone\n");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	static char out[AT_ONCE * (LONGEST + 64)];
	int port = argc > 3 ? atoi(argv[1]) : 0, fd[CONNECTIONS];
	long wanted = argc > 3 ? atol(argv[2]) : 0, done = 0;
	FILE *in[CONNECTIONS];

	if (!port)
		return 2;
	for (int c = 0; c < CONNECTIONS; c++) {
		fd[c] = connect_to(port);
		in[c] = fdopen(dup(fd[c]), "r");
	}
	if (!strcmp(argv[3], "-")) {
		for (unsigned k = 0; k < KEYS; k++) {
			if (write(fd[0], out, set(out, k)) < 0)
				return 1;
			answers(in[0], 1);
		}
		return 0;
	}
	for (int c = 0; !wanted || done < wanted; c = (c + 1) % CONNECTIONS) {
		size_t n = 0;

		for (int i = 0; i < AT_ONCE; i++) {
			unsigned key = popular();

			n += draw() % 10 ? (size_t)sprintf(out + n, "get key:%08u\r\n", key) : set(out + n, key);
		}
		if (write(fd[c], out, n) < 0)
			return 1;
		answers(in[c], AT_ONCE);
		done += AT_ONCE;
		if (done % 4000 == 0) {
			FILE *f = fopen(argv[3], "w");

			if (f) {
				fprintf(f, "%ld\n", done);
				fclose(f);
			}
		}
	}
	return 0;
}
