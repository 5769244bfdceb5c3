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

static __always_inline void level_key_of(struct level_key *key, const struct probe_spec *spec, __u64 object)
{
	key->object = object;
	key->pid = current_id() >> 32;
	key->library = spec->library;
}

/* What the object was set to, in the place of what the arguments tell. */
static __noinline int level_of_object(struct probe_thread *t, const struct probe_spec *spec)
{
	struct level_key key = {};
	struct level_seen *was;

	if (!t || !spec)
		return 0;
	level_key_of(&key, spec, arg_of(&t->args, spec->level.a));
	was = bpf_map_lookup_elem(&levels, &key);
	if (was && was->epoch == epochs[spec->library & (PROBE_LIBS - 1)]) {
		t->told[TOLD_LEVEL].v = (__u32)was->level;
		t->told_bits |= 1u << TOLD_LEVEL;
	}
	return 0;
}

/* PK_LEVEL: what it sets, or that from here on nobody knows. */
static __noinline int level_set(const struct probe_thread *t, const struct probe_spec *spec)
{
	struct level_key key = {};
	struct level_seen now = {};

	if (!t || !spec)
		return 0;
	if (spec->level.when_arg && (__u32)arg_of(&t->args, spec->level.when_arg - 1) != spec->level.when)
		return 0; /* another property of it */
	level_key_of(&key, spec, arg_of(&t->args, spec->queue_arg - 1));
	now.epoch = epochs[spec->library & (PROBE_LIBS - 1)];
	now.level = (__s32)t->told[TOLD_LEVEL].v;
	if (t->told_bits >> TOLD_LEVEL & 1)
		bpf_map_update_elem(&levels, &key, &now, BPF_ANY);
	else
		bpf_map_delete_elem(&levels, &key);
	return 0;
}

#endif
