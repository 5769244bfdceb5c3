// SPDX-License-Identifier: GPL-2.0-or-later
/* A module's unwind table: found in its file, bounded, and copied, for all that is in it is untrusted. */
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kmod-free/elffile.h"
#include "proc/ehframe.h"
#include "proc/module_priv.h"

#define MAX_FRAME_SECTION (256ull << 20) /* bytes of one file; the largest browsers have 30 MB */
#define MAX_FRAME_TOTAL (512ull << 20)   /* bytes of all files: what tables of targets may take of our memory */

static bool read_pointer(void *ctx, uint64_t vaddr, uint64_t *value)
{
	return module_read(ctx, vaddr, value, 8) == 8;
}

/* Counts what unwind tables take, for all modules together; without a set of modules there is one only. */
static bool frame_room(struct module_private *p, uint64_t size)
{
	struct modules *ms = p->ms;

	if (!size || size > MAX_FRAME_SECTION || (ms && size > MAX_FRAME_TOTAL - ms->frame_bytes)) {
		if (ms)
			ms->frames_refused++;
		return false;
	}
	if (ms)
		ms->frame_bytes += size;
	p->frame_bytes += size;
	return true;
}

static uint8_t *copy_range(struct module_private *p, uint64_t off, uint64_t size, size_t *got)
{
	struct stat st;
	uint8_t *data;
	ssize_t n;
	size_t have = 0;

	if (fstat(p->fd, &st) || off >= (uint64_t)st.st_size)
		return NULL;
	if (size > (uint64_t)st.st_size - off)
		size = (uint64_t)st.st_size - off;
	if (!elffile_plausible(p->fd, off, size, MAX_FRAME_SECTION) || !frame_room(p, size))
		return NULL;
	data = malloc(size);
	while (data && have < size && (n = pread(p->fd, data + have, size - have, (off_t)(off + have))) > 0)
		have += (size_t)n;
	*got = have;
	return data;
}

/* Files stripped of section headers: .eh_frame_hdr says where .eh_frame begins. */
static bool frame_by_segment(struct module_private *p, Elf *elf, struct ehframe_input *in)
{
	size_t n = 0;

	if (elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n && i < 4096; i++) {
		GElf_Phdr ph;
		uint8_t hdr[12];
		uint64_t vaddr, off;
		int32_t rel;

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_GNU_EH_FRAME)
			continue;
		if (pread(p->fd, hdr, sizeof(hdr), (off_t)ph.p_offset) != sizeof(hdr) || hdr[0] != 1)
			continue;
		memcpy(&rel, hdr + 4, 4);
		if (hdr[1] == 0x1b) /* pcrel, 4 bytes signed: what linkers write */
			vaddr = ph.p_vaddr + 4 + (uint64_t)(int64_t)rel;
		else
			continue;
		for (unsigned s = 0; s < p->m.segment_count; s++) {
			const struct module_segment *g = &p->segments[s];

			if (vaddr < g->vaddr || vaddr - g->vaddr >= g->filesz)
				continue;
			off = g->offset + (vaddr - g->vaddr);
			in->data = copy_range(p, off, g->filesz - (vaddr - g->vaddr), &in->size);
			in->vaddr = vaddr;
			in->data_vaddr = ph.p_vaddr;
			return in->data != NULL;
		}
	}
	return false;
}

/* .debug_frame, only where there is no .eh_frame: a few kilobytes may be compressed gigabytes, so the size
 * that they claim is looked at first. */
static bool frame_of_debug(struct module_private *p, Elf_Scn *scn, struct ehframe_input *in)
{
	GElf_Shdr sh;
	GElf_Chdr ch;
	Elf_Data *d;
	bool packed;

	if (!scn || !gelf_getshdr(scn, &sh) || !elffile_plausible(p->fd, sh.sh_offset, sh.sh_size, MAX_FRAME_SECTION))
		return false;
	packed = sh.sh_flags & SHF_COMPRESSED;
	if (packed &&
	    (!gelf_getchdr(scn, &ch) || ch.ch_size > MAX_FRAME_SECTION || !elffile_unpacks_to(sh.sh_size, ch.ch_size)))
		return false;
	if (!frame_room(p, packed ? ch.ch_size : sh.sh_size) || (packed && elf_compress(scn, 0, 0) < 0))
		return false;
	d = elf_getdata(scn, NULL);
	if (!d || !d->d_buf || !d->d_size || d->d_size > MAX_FRAME_SECTION)
		return false;
	in->data = malloc(d->d_size);
	if (in->data)
		memcpy(in->data, d->d_buf, d->d_size);
	in->size = d->d_size;
	in->debug_frame = true;
	return in->data;
}

static struct ehframe *frame_load(struct module_private *p)
{
	struct ehframe_input in = { .address_size = 8, .read_pointer = read_pointer, .ctx = &p->m };
	struct ehframe_input dbg = in;
	Elf *elf = elffile_begin(p->fd);
	struct ehframe *f = NULL;
	Elf_Scn *scn = NULL, *debug = NULL;
	size_t names;

	if (!elf)
		return NULL;
	if (gelf_getclass(elf) == ELFCLASS32)
		in.address_size = dbg.address_size = 4;
	while (elffile_names(p->fd, elf, &names) && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		const char *name;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, sh.sh_name);
		if (!name)
			continue;
		if (!strcmp(name, ".eh_frame") && !in.data) {
			in.data = copy_range(p, sh.sh_offset, sh.sh_size, &in.size);
			in.vaddr = sh.sh_addr;
		} else if (!strcmp(name, ".eh_frame_hdr")) {
			in.data_vaddr = sh.sh_addr;
		} else if (!strcmp(name, ".text")) {
			in.text_vaddr = sh.sh_addr;
		} else if (!strcmp(name, ".debug_frame") && !debug) {
			debug = scn;
		}
	}
	if (!in.data)
		frame_by_segment(p, elf, &in);
	if (in.data)
		f = ehframe_parse(&in);
	if (!f && frame_of_debug(p, debug, &dbg))
		f = ehframe_parse(&dbg);
	elf_end(elf);
	return f;
}

const struct ehframe *module_ehframe(struct module *m)
{
	struct module_private *p = m->priv;

	if (!p->frame_tried && m->state == MODULE_OPEN && m->kind != FMT_MOD_KERNEL) {
		if (module_fd(m) >= 0) {
			p->frame_tried = true;
			p->frame = frame_load(p);
		}
	}
	return p->frame;
}

bool module_code_bounds(void *module, uint64_t vaddr, uint64_t *start, uint64_t *end)
{
	const struct ehframe *f = module_ehframe(module);

	return f && ehframe_function(f, vaddr, start, end);
}
