/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * At which level a call compresses: its argument, what the state of the stream that it works on says (zlib), or what
 * that object was last set to, which a function of kind PK_LEVEL told while its library's probes were in place. An
 * object may be set, given back and made anew while they are away: what was seen before counts no more. Part of
 * offload.bpf.c; included there only, after call_sizes.bpf.h.
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

/* zlib's state of a stream that compresses: where fields lie in 1.2.13's. Where another's lie elsewhere, what
 * zlib_level() asks is not so. */
#define ZLIB_WINDOW 80 /* its size, the size's logarithm, the size less one */
#define ZLIB_LEVEL 196
#define ZLIB_LEVEL_MOST 9

/* It points back to the stream, and its window's size stands there thrice: what agrees in all of it is one. */
static __always_inline bool zlib_level(__u64 stream, __u64 state, __u32 *told)
{
	__u32 window[3] = {}, level = 0;
	__u64 back = 0;
	long wrong;

	wrong = bpf_probe_read_user(&back, sizeof(back), (void *)state);
	wrong |= bpf_probe_read_user(window, sizeof(window), (void *)(state + ZLIB_WINDOW));
	wrong |= bpf_probe_read_user(&level, sizeof(level), (void *)(state + ZLIB_LEVEL));
	wrong |= (back != stream) | (window[1] - 8 > 7) | (window[0] != 1u << (window[1] & 31)) |
		 (window[2] != window[0] - 1) | (level > ZLIB_LEVEL_MOST);
	*told = level;
	return !wrong;
}

/* What the object says itself, else what it was set to, in the place of what the arguments tell. */
static __noinline int level_of_object(struct probe_thread *t, const struct probe_spec *spec)
{
	struct level_key key = {};
	struct level_seen *was;
	__u32 level = 0;
	__u64 state;

	if (!t || !spec)
		return 0;
	level_key_of(&key, spec, arg_of(&t->args, spec->level.a));
	was = bpf_map_lookup_elem(&levels, &key);
	if (spec->level.off && read_field(key.object + spec->level.off, 8, &state) &&
	    zlib_level(key.object, state, &level)) {
		t->told_bits |= 1u << TOLD_LEVEL;
	} else if (was && was->epoch == epochs[spec->library & (PROBE_LIBS - 1)]) {
		level = (__u32)was->level;
		t->told_bits |= 1u << TOLD_LEVEL;
	}
	t->told[TOLD_LEVEL].v = level;
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
