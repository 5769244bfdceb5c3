/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Function bounds of stripped code, from the target's own memory: .eh_frame_hdr is a sorted table
 * of function starts made for unwinding. The object is untrusted: nothing is read outside the
 * file's mapping.
 */
#include "x.h"
#include <elf.h>

static Bool readable(Addr a, SizeT n)
{
	return a && a + n > a && VG_(am_is_valid_for_client)(a, n, VKI_PROT_READ);
}

static Addr find_hdr(Module *m)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)m->base;
	const Elf64_Phdr *ph;

	if (!readable(m->base, sizeof(*eh)) || VG_(memcmp)(eh->e_ident, "\177ELF", 4) ||
	    eh->e_phentsize != sizeof(*ph) || eh->e_phnum > 64 ||
	    !readable(m->base + eh->e_phoff, eh->e_phnum * sizeof(*ph)))
		return 0;
	ph = (const Elf64_Phdr *)(m->base + eh->e_phoff);
	for (UInt i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_GNU_EH_FRAME)
			return ph[i].p_vaddr + m->bias;
	return 0;
}

Addr ehframe_start(Module *m, Addr a)
{
	Addr hdr, table, fde, start;
	const UChar *p;
	UInt lo = 0, hi, n, range;
	const Int *t;

	if (!m || !m->base)
		return 0;
	if (!m->eh_hdr)
		m->eh_hdr = find_hdr(m);
	hdr = m->eh_hdr;
	if (!readable(hdr, 12))
		return 0;
	p = (const UChar *)hdr;
	/* version 1, pointers relative to here, 4 bytes: what every linker on this platform writes */
	if (p[0] != 1 || p[1] != 0x1b || p[2] != 0x03 || p[3] != 0x3b)
		return 0;
	n = *(const UInt *)(p + 8);
	table = hdr + 12;
	if (!n || n > 1u << 24 || !readable(table, (SizeT)n * 8))
		return 0;
	t = (const Int *)table;
	hi = n;
	while (hi - lo > 1) {
		UInt mid = lo + (hi - lo) / 2;

		if (hdr + (Long)t[2 * mid] <= a)
			lo = mid;
		else
			hi = mid;
	}
	start = hdr + (Long)t[2 * lo];
	fde = hdr + (Long)t[2 * lo + 1];
	if (start > a || !readable(fde, 16))
		return 0;
	/* length, CIE pointer, start, length of code: 4 bytes each with the usual encoding */
	range = *(const UInt *)(fde + 12);
	return a - start < range ? start : 0;
}
