/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ELF files of targets through libelf, with what libelf does not ask: whether a size is one that the
 * file can honestly hold. A sparse file of 20 KB may name sections of gigabytes, and libelf would
 * allocate and read them all. Included by everything that reads such a file in its own process.
 */
#ifndef ACCPERF_KMOD_FREE_ELFFILE_H
#define ACCPERF_KMOD_FREE_ELFFILE_H

#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#define ELFFILE_SMALL (1ull << 20)   /* bytes: notes, links, dynamic entries; real ones are a few KB */
#define ELFFILE_TABLE (256ull << 20) /* bytes: symbol and string tables; the largest browsers have 100 MB */

/* elf_begin() for reading; NULL as well where the tables of sections and segments are implausible. */
Elf *elffile_begin(int fd);
/* May `size` bytes at `offset` be read? At most `max`, inside the file, and not mostly a hole. */
bool elffile_plausible(int fd, uint64_t offset, uint64_t size, uint64_t max);
/* elf_getdata() of a plausible section; NULL else. */
Elf_Data *elffile_data(int fd, Elf_Scn *scn, uint64_t max);
/* Compressed sections claim sizes that compression can reach with real content; a bomb's are a thousandfold. */
bool elffile_unpackable(int fd, Elf *elf);
bool elffile_unpacks_to(uint64_t packed, uint64_t claimed);
/* The string table of section names, or of `index`, may be read by elf_strptr(): plausible and not
 * compressed, for that unpacks it whatever its size. */
bool elffile_names(int fd, Elf *elf, size_t *index);
bool elffile_strings(int fd, Elf *elf, size_t index);

#endif
