/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the workloads that drive DPDK need of its headers alike, which come with 200 packages. */
#ifndef ACCPERF_WORKLOADS_DPDK_H
#define ACCPERF_WORKLOADS_DPDK_H

#include <stddef.h>
#include <stdint.h>

struct mbuf { /* rte_mbuf of DPDK 22.11 */
	void *buf_addr;
	uint64_t iova;
	uint16_t data_off, refcnt, nb_segs, port;
	uint64_t ol_flags;
	uint32_t packet_type, pkt_len;
	uint16_t data_len, vlan;
	uint32_t hash[2];
	uint16_t vlan_outer, buf_len;
	void *pool, *next;
	uint8_t rest[128];
};
_Static_assert(offsetof(struct mbuf, buf_len) == 54 && offsetof(struct mbuf, next) == 64, "rte_mbuf");

#endif
