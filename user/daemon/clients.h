/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much each client may ask: a bucket each, that fills with time and that a request empties by its price. Bounded:
 * of more clients than there is room for, the one that was silent for longest is forgotten. Pure. Included by
 * user/daemon and tests.
 */
#ifndef ACCPERF_DAEMON_CLIENTS_H
#define ACCPERF_DAEMON_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define CLIENTS 256u /* connections at once; by hand */

struct clients {
	struct {
		uint8_t address
			[8]; /* of IPv4 all, of IPv6 the network: a host has as many addresses there as it likes */
		double left;
		uint64_t seen; /* ns; 0: nobody */
	} of[CLIENTS];
};

/* False: it has to wait. now: ns, rising. most: what a bucket holds; rate: what comes into it each second. */
bool clients_may(struct clients *c, const struct sockaddr *from, double price, double most, double rate, uint64_t now);

#endif
