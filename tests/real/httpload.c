// SPDX-License-Identifier: GPL-2.0-or-later
/* httpload PORT REQUESTS FILE PATH...: a client of a web server. Asks for the paths in turns on twelve connections,
 * one request on each at a time, compressed where the server likes: each path as often as any other, however slow
 * the server is. REQUESTS 0: no end. FILE says how many were answered. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECTIONS = 12, LONGEST = 1 << 18, TELL = 480 };

static int connect_to(int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
		perror("connect");
		exit(1);
	}
	return fd;
}

/* Whether an answer is whole. */
static int whole(const char *in, size_t n)
{
	const char *body = memmem(in, n, "\r\n\r\n", 4), *length;

	if (!body)
		return 0;
	length = memmem(in, (size_t)(body - in), "Content-Length: ", 16);
	if (length)
		return n >= (size_t)(body + 4 - in) + strtoul(length + 16, NULL, 10);
	return n >= 7 && !memcmp(in + n - 7, "\r\n0\r\n\r\n", 7);
}

static void answer(int fd)
{
	static char in[LONGEST];
	size_t n = 0;

	while (!whole(in, n)) {
		ssize_t got = n < sizeof(in) ? read(fd, in + n, sizeof(in) - n) : 0;

		if (got <= 0 || (n + (size_t)got > 12 && memcmp(in, "HTTP/1.1 200", 12))) {
			fprintf(stderr, "httpload: no such answer, or the server is gone\n");
			exit(1);
		}
		n += (size_t)got;
	}
}

int main(int argc, char **argv)
{
	long wanted = argc > 4 ? atol(argv[2]) : 0, done = 0;
	int fd[CONNECTIONS], paths = argc - 4;

	if (argc < 5)
		return 2;
	for (int c = 0; c < CONNECTIONS; c++)
		fd[c] = connect_to(atoi(argv[1]));
	for (int step = 0; !wanted || done < wanted; step++) {
		for (int c = 0; c < CONNECTIONS; c++)
			if (dprintf(fd[c], "GET /%s HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n",
				    argv[4 + (c + step) % paths]) < 0)
				return 1;
		for (int c = 0; c < CONNECTIONS; c++)
			answer(fd[c]);
		done += CONNECTIONS;
		if (done % TELL == 0) {
			FILE *f = fopen(argv[3], "w");

			if (f) {
				fprintf(f, "%ld\n", done);
				fclose(f);
			}
		}
	}
	return 0;
}
