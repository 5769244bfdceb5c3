/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * At which level a call compresses: its argument, or what the object that it works on was last set to, which a function
 * of kind PK_LEVEL told while its library's probes were in place. An object may be set, given back and made anew while
 * they are away: what was seen before counts no more. Part of offload.bpf.c; included there only, after
 * call_sizes.bpf.h.
 */
#ifndef ACCPERF_LEVELS_BPF_H
#define ACCPERF_LEVELS_BPF_H

#define LEVEL_OBJECTS 4096 /* the least recently met goes, and its level is unknown then; by hand */

struct level_key {
	__u64 object;
	__u32 pid, library;
};

struct level_seen {
	__u32 epoch;
	__s32 level;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, LEVEL_OBJECTS);
	__type(key, struct level_key);
	__type(value, struct level_seen);
} levels SEC(".maps");

/* Not known: false. */
static __noinline int level_of(const struct probe_args *r, const struct probe_spec *spec, __s32 *level)
{
	struct level_key key = {};
	struct level_seen *was;
	struct size_seen e;

	if (!r || !spec || !level)
		return false;
	if (spec->level.op != PX_OBJECT) {
		if (!expr_entry(r, &spec->level, &e))
			return false;
		*level = (__s32)e.v;
		return true;
	}
	key.object = arg_of(r, spec->level.a);
	key.pid = current_id() >> 32;
	key.library = spec->library;
	was = bpf_map_lookup_elem(&levels, &key);
	if (!was || was->epoch != epochs[spec->library & (PROBE_LIBS - 1)])
		return false;
	*level = was->level;
	return true;
}

/* PK_LEVEL: what it sets, or that from here on nobody knows. */
static __noinline int level_set(const struct probe_args *r, const struct probe_spec *spec)
{
	struct level_key key = {};
	struct level_seen now = {};

	if (!r || !spec)
		return 0;
	if (spec->level.when_arg && (__u32)arg_of(r, spec->level.when_arg - 1) != spec->level.when)
		return 0; /* another property of it */
	key.object = arg_of(r, spec->queue_arg - 1);
	key.pid = current_id() >> 32;
	key.library = spec->library;
	now.epoch = epochs[spec->library & (PROBE_LIBS - 1)];
	if (level_of(r, spec, &now.level))
		bpf_map_update_elem(&levels, &key, &now, BPF_ANY);
	else
		bpf_map_delete_elem(&levels, &key);
	return 0;
}

#endif
