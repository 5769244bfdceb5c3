// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/clients.h"

#include <netinet/in.h>
#include <string.h>

static void network_of(const struct sockaddr *from, uint8_t out[8])
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;

	memset(out, 0, 8);
	if (from && from->sa_family == AF_INET)
		memcpy(out, &v4->sin_addr, 4);
	else if (from && from->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		memcpy(out, v6->sin6_addr.s6_addr + 12, 4);
	else if (from && from->sa_family == AF_INET6)
		memcpy(out, &v6->sin6_addr, 8);
}

bool clients_may(struct clients *c, const struct sockaddr *from, double price, double most, double rate, uint64_t now)
{
	unsigned at = 0, oldest = 0;
	uint8_t address[8];

	network_of(from, address);
	for (; at < CLIENTS; at++) {
		if (c->of[at].seen && !memcmp(c->of[at].address, address, sizeof(address)))
			break;
		if (c->of[at].seen < c->of[oldest].seen)
			oldest = at;
	}
	if (at == CLIENTS) {
		at = oldest;
		memcpy(c->of[at].address, address, sizeof(address));
		c->of[at].left = most;
	} else if (now > c->of[at].seen) {
		c->of[at].left += rate * (double)(now - c->of[at].seen) / 1e9;
	}
	if (c->of[at].left > most)
		c->of[at].left = most;
	c->of[at].seen = now ? now : 1;
	if (c->of[at].left < price)
		return false;
	c->of[at].left -= price;
	return true;
}
