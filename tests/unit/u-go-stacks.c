// SPDX-License-Identifier: GPL-2.0-or-later
/* Where a goroutine's stack ends: by the bounds that R14 points to, by nothing else, and read again as it moves. */
#include <stdlib.h>
#include <string.h>

#include "record/go_stacks.h"
#include "unit/unit.h"

#define PID 7
#define G 0xc000002340
#define LO 0xc000064000
#define HI 0xc000066000

static uint64_t memory[2];
static unsigned reads;

static size_t read_word_pair(uint32_t pid, uint64_t addr, void *buf, size_t len)
{
	reads++;
	if (pid != PID || addr != G || len != sizeof(memory))
		return 0;
	memcpy(buf, memory, len);
	return len;
}

TEST(bounds_of_the_running_one)
{
	struct go_stacks s = { 0 };

	(void)state;
	memory[0] = LO;
	memory[1] = HI;
	reads = 0;
	assert_int_equal(go_stacks_end(&s, PID, G, LO + 100, read_word_pair), HI);
	assert_int_equal(go_stacks_end(&s, PID, G, HI, read_word_pair), HI);
	assert_int_equal(reads, 1);
	/* it has grown, and moved */
	memory[0] = HI + 0x4000;
	memory[1] = HI + 0x8000;
	assert_int_equal(go_stacks_end(&s, PID, G, HI + 0x5000, read_word_pair), HI + 0x8000);
	assert_int_equal(reads, 2);
}

TEST(what_is_none)
{
	struct go_stacks s = { 0 };

	(void)state;
	memory[0] = LO;
	memory[1] = HI;
	/* the pointer is elsewhere: on the stack of the system, on another goroutine's */
	assert_int_equal(go_stacks_end(&s, PID, G, LO - 8, read_word_pair), 0);
	assert_int_equal(go_stacks_end(&s, PID, G, LO, read_word_pair), 0);
	assert_int_equal(go_stacks_end(&s, PID, G, HI + 8, read_word_pair), 0);
	/* another process, or nothing to be read there */
	assert_int_equal(go_stacks_end(&s, PID + 1, G, LO + 100, read_word_pair), 0);
	assert_int_equal(go_stacks_end(&s, PID, G + 8, LO + 100, read_word_pair), 0);
	/* no stack is so large */
	memory[0] = 0;
	assert_int_equal(go_stacks_end(&s, PID, G, LO + 100, read_word_pair), 0);
	/* what points nowhere is not even read */
	reads = 0;
	assert_int_equal(go_stacks_end(&s, PID, 0, LO + 100, read_word_pair), 0);
	assert_int_equal(go_stacks_end(&s, PID, G + 1, LO + 100, read_word_pair), 0);
	assert_int_equal(go_stacks_end(&s, PID, UINT64_MAX - 7, LO + 100, read_word_pair), 0);
	assert_int_equal(reads, 0);
}
