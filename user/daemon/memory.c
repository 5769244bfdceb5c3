// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/memory.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon_priv.h"

#define READER_LEAST (24u << 20) /* bytes: 16 MB are enough for a profile of 700 KB; by hand */
#define MOST_MAPS 128u           /* of a process, whose numbers are kept: it has 30 */
#define RINGBUF 27u              /* BPF_MAP_TYPE_RINGBUF: mapped, so it is in the process's memory */
#define MMAPABLE 0x400u          /* BPF_F_MMAPABLE: the same */

uint64_t memory_of(pid_t pid)
{
	static const char *const files[] = { "smaps_rollup", "status" };
	unsigned long long kb = 0;
	char path[64], line[256];

	for (unsigned i = 0; i < 2 && !kb; i++) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/%s", pid, files[i]);
		f = fopen(path, "re");
		while (f && !kb && fgets(line, sizeof(line), f))
			if (sscanf(line, i ? "VmRSS: %llu kB" : "Pss: %llu kB", &kb) != 1)
				kb = 0;
		if (f)
			fclose(f);
	}
	return kb * 1024;
}

/* Of one descriptor; *map: its number, 0: it is no map that the process has not mapped. */
static uint64_t bytes_of_map(const char *path, unsigned *map)
{
	unsigned long long bytes = 0;
	unsigned type = 0, flags = 0;
	FILE *f = fopen(path, "re");
	char line[256];

	*map = 0;
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "map_type: %u", &type) != 1 && sscanf(line, "map_flags: %x", &flags) != 1 &&
		    sscanf(line, "memlock: %llu", &bytes) != 1)
			sscanf(line, "map_id: %u", map);
	if (f)
		fclose(f);
	if (type == RINGBUF || flags & MMAPABLE)
		*map = 0;
	return bytes;
}

static uint64_t bytes_of_maps(pid_t pid)
{
	unsigned seen[MOST_MAPS], count = 0, map;
	char path[sizeof(((struct dirent *)NULL)->d_name) + 64];
	struct dirent *de;
	uint64_t all = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", pid);
	d = opendir(path);
	while (d && (de = readdir(d)) && count < MOST_MAPS) {
		uint64_t bytes;
		unsigned i = 0;

		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", pid, de->d_name);
		bytes = *de->d_name == '.' ? 0 : bytes_of_map(path, &map);
		while (bytes && i < count && seen[i] != map)
			i++;
		if (!bytes || !map || i < count)
			continue;
		seen[count++] = map;
		all += bytes;
	}
	if (d)
		closedir(d);
	return all;
}

uint64_t memory_in_kernel(pid_t pid)
{
	uint64_t all = bytes_of_maps(pid);
	char path[64], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		unsigned long long from, to;

		/* the kernel counts these pages for no process */
		if (strstr(line, "anon_inode:[perf_event]") && sscanf(line, "%llx-%llx", &from, &to) == 2)
			all += to - from;
	}
	if (f)
		fclose(f);
	return all;
}

uint64_t memory_of_readers(const struct daemon *d, pid_t *largest)
{
	pid_t pids[2 + PUSH_SERVERS] = { d->readings.pid, d->queries.runs ? d->queries.pid : 0 };
	uint64_t all = 0, most = 0;

	*largest = 0;
	for (unsigned i = 0; i < PUSH_SERVERS; i++)
		pids[2 + i] = d->pushes.to[i].pid;
	for (unsigned i = 0; i < 2 + PUSH_SERVERS; i++) {
		uint64_t bytes = pids[i] > 0 ? memory_of(pids[i]) : 0;

		if (bytes > most) {
			most = bytes;
			*largest = pids[i];
		}
		all += bytes;
	}
	return all;
}

uint64_t memory_for_reader(const struct daemon *d)
{
	uint64_t left = d->c.memory > d->memory ? d->c.memory - d->memory : 0;

	return left > READER_LEAST ? left : READER_LEAST;
}
