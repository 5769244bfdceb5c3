// SPDX-License-Identifier: GPL-2.0-or-later
/* For t-unwind.sh: a library that is loaded late, stripped and then deleted. Its inner function has
 * no symbol left, so its name comes from the bounds in .eh_frame. */
void library_entry(void (*fn)(void));

__attribute__((noinline, noclone)) static void hidden(void (*fn)(void))
{
	volatile char room[200];

	room[7] = 1;
	for (int i = 0; i < 4; i++)
		fn();
	__asm__ volatile("" ::"r"(&room) : "memory");
}

void library_entry(void (*fn)(void))
{
	hidden(fn);
	__asm__ volatile("" ::: "memory");
}
