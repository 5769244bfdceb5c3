// SPDX-License-Identifier: GPL-2.0-or-later
/* One perf record under every kind of event description: the first bytes choose the description. */
/* harm: damaged records of rings */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kmod-free/ring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perf_event_attr a = { .size = sizeof(a) };
	struct sample s;

	if (size < 24)
		return 0;
	memcpy(&a.sample_type, data, 8);
	a.read_format = data[8];
	a.sample_id_all = data[9] & 1;
	a.type = data[10] % 8;
	a.bp_type = data[11];
	a.branch_sample_type = (uint64_t)data[12] << 14;
	a.sample_regs_user = data[13] & 1 ? RING_REGS_X86_64 : data[13];
	a.sample_regs_intr = a.sample_regs_user;
	a.precise_ip = data[14] & 3;
	data += 16;
	size -= 16;
	ring_record_id(a.sample_type, a.sample_id_all, data, size);
	if (ring_parse_record(&a, data, size, &s) == 1) {
		/* what it points to must be readable */
		if (s.text)
			sink += (uint8_t)strlen(s.text);
		for (uint32_t i = 0; i < s.stack_bytes; i++)
			sink += s.stack[i];
		for (uint32_t i = 0; i < s.chain_len; i++)
			sink += ((const uint8_t *)s.chain)[8 * (size_t)i];
	}
	return 0;
}
