// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/earlier_kept.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "format.h"
#include "profile/profile.h"
#include "profile/walk.h"
#include "util/cachedir.h"
#include "util/grow.h"

#define MAGIC 0x3130524c52414541ull /* "AEARLR01": changes with the layout */
#define MOST_LOADS 32768            /* of one module; by hand */
#define MOST_WRITERS 131072         /* the same: with both, 6 MB */
#define MAX_FILE (sizeof(struct earlier_head) + MOST_LOADS * 16ull + MOST_WRITERS * 32ull)
#define MAX_TOTAL (128ull << 20) /* bytes of all files of the folder, as of counts; by hand */
#define NEXT 0.8              /* what is kept counts so much when another recording is added: five at most; by hand */
#define HALF_S (30 * 86400.0) /* after so long it counts half: programs' input changes; by hand */
#define LEAST_BURSTS 0.02     /* a load that counts for less is forgotten */
#define LARGEST_ID (1u << 20) /* of sites of one profile; a damaged one may claim more */
#define LAST_BIN 63           /* log2 of a distance of 64 bits */

/* File: head, loads, writers. */
struct earlier_head {
	uint64_t magic, xxh64; /* of all that follows this field */
	uint64_t key, written;
	uint32_t loads, writers;
};

uint64_t earlier_key(const uint8_t *build_id, uint32_t len, uint64_t content)
{
	return content && len >= 8 ? XXH64(build_id, len, content) : 0;
}

uint64_t earlier_key_in(uint64_t program, uint64_t module)
{
	return program && module ? XXH64(&module, sizeof(module), program) : 0;
}

bool earlier_is_program(const char *path)
{
	const char *name = strrchr(path, '/'), *so = name ? strstr(name, ".so") : NULL;

	return name && !(so && (!so[3] || so[3] == '.'));
}

void earlier_release(struct earlier_kept *k)
{
	free(k->load);
	free(k->writer);
	map_release(&k->load_at);
	intern_release(&k->writer_at);
	memset(k, 0, sizeof(*k));
}

static void earlier_file_name(uint64_t key, char name[32])
{
	snprintf(name, 32, "w%016lx", (unsigned long)key);
}

int earlier_list(int dir, struct map *keys)
{
	int own = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	DIR *list = own >= 0 ? fdopendir(own) : NULL;
	const struct dirent *entry;

	if (!list) {
		err = -errno;
		if (own >= 0)
			close(own);
		return err;
	}
	while (!err && (entry = readdir(list))) {
		unsigned long key;
		char name[32];

		if (sscanf(entry->d_name, "w%16lx", &key) != 1)
			continue;
		earlier_file_name(key, name);
		if (!strcmp(name, entry->d_name) && !map_put(keys, key, NULL))
			err = -ENOMEM;
	}
	closedir(list);
	return err;
}

/* Its index; UINT32_MAX: no room. */
static uint32_t kept_load(struct earlier_kept *k, uint64_t ip)
{
	bool added;
	uint64_t *at;

	if (k->loads >= MOST_LOADS && !map_get(&k->load_at, ip))
		return UINT32_MAX;
	at = map_put(&k->load_at, ip, &added);
	if (!at || (added && !PUSH(k->load, k->loads, k->load_cap, 256, ((struct earlier_load){ .ip = ip }))))
		return UINT32_MAX;
	if (added)
		*at = k->loads - 1;
	return (uint32_t)*at;
}

static bool add_writer(struct earlier_kept *k, const struct earlier_writer *w)
{
	const struct {
		uint64_t module, ip;
		uint32_t load, bin;
	} key = { w->module, w->ip, w->load, w->bin };
	bool added;
	uint32_t id;

	if (k->writers >= MOST_WRITERS)
		return false;
	id = intern_add(&k->writer_at, &key, sizeof(key), &added);
	if (!id || id > k->writers + 1 || (added && !PUSH(k->writer, k->writers, k->writer_cap, 256, *w)))
		return false;
	if (!added)
		k->writer[id - 1].bytes += w->bytes;
	return true;
}

static bool sane_sum(float v)
{
	return v >= 0 && v < 1e15f;
}

static bool head_fits(const struct earlier_head *h, const struct buf *b, uint64_t key)
{
	const size_t from = offsetof(struct earlier_head, key);

	return h->magic == MAGIC && h->key == key && h->loads <= MOST_LOADS && h->writers <= MOST_WRITERS &&
	       b->len == sizeof(*h) + h->loads * sizeof(struct earlier_load) +
				 h->writers * sizeof(struct earlier_writer) &&
	       XXH64(b->data + from, b->len - from, 0) == h->xxh64;
}

static void unpack_kept(struct earlier_kept *k, const struct earlier_head *h, const char *at, double worth)
{
	for (uint32_t i = 0; i < h->loads; i++, at += sizeof(struct earlier_load)) {
		struct earlier_load l;
		uint32_t to;

		memcpy(&l, at, sizeof(l));
		to = kept_load(k, l.ip);
		/* one twice: the file is not ours */
		if (to != i)
			return;
		k->load[to].bursts = sane_sum(l.bursts) ? (float)(l.bursts * worth) : 0;
	}
	for (uint32_t i = 0; i < h->writers; i++, at += sizeof(struct earlier_writer)) {
		struct earlier_writer w;

		memcpy(&w, at, sizeof(w));
		w.pad = 0;
		if (w.load >= k->loads || w.bin > LAST_BIN || !sane_sum(w.bytes))
			continue;
		w.bytes = (float)(w.bytes * worth);
		add_writer(k, &w);
	}
}

void earlier_load(int dir, uint64_t key, uint64_t now, struct earlier_kept *k)
{
	struct earlier_head h;
	char name[32];
	AUTO_BUF(b);

	*k = (struct earlier_kept){ .key = key, .written = now };
	earlier_file_name(key, name);
	if (cachedir_read(dir, name, MAX_FILE, &b) || b.len < sizeof(h))
		return;
	memcpy(&h, b.data, sizeof(h));
	/* a clock that went back makes nothing older */
	if (head_fits(&h, &b, key))
		unpack_kept(k, &h, b.data + sizeof(h),
			    exp2(-(now > h.written ? (double)(now - h.written) : 0) / HALF_S));
}

/* Loads that still count, renumbered. */
static int save_kept(int dir, const struct earlier_kept *k)
{
	struct earlier_head h = { .magic = MAGIC, .key = k->key, .written = k->written };
	uint32_t *to = malloc((k->loads + 1) * sizeof(*to));
	char name[32];
	AUTO_BUF(b);
	AUTO_BUF(rest);

	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < k->loads; i++) {
		to[i] = k->load[i].bursts >= LEAST_BURSTS ? h.loads++ : UINT32_MAX;
		if (to[i] != UINT32_MAX)
			buf_add(&rest, &k->load[i], sizeof(k->load[i]));
	}
	for (size_t i = 0; i < k->writers; i++) {
		struct earlier_writer w = k->writer[i];

		w.load = to[w.load];
		if (w.load == UINT32_MAX)
			continue;
		h.writers++;
		buf_add(&rest, &w, sizeof(w));
	}
	free(to);
	buf_add(&b, &h, sizeof(h));
	buf_add(&b, rest.data, rest.len);
	if (buf_failed(&b) || buf_failed(&rest))
		return -ENOMEM;
	h.xxh64 = XXH64(b.data + offsetof(struct earlier_head, key), b.len - offsetof(struct earlier_head, key), 0);
	memcpy(b.data, &h, sizeof(h));
	earlier_file_name(k->key, name);
	return cachedir_write(dir, name, &b, MAX_TOTAL);
}

/* ---- a profile's own ---- */

struct earlier_own {
	struct fmt_burst_site *site;
	size_t sites, site_cap;
	struct fmt_burst_pair *pair;
	size_t pairs, pair_cap;
	struct map site_at, pair_at;
};

static int own_site(void *ctx, const void *rec, size_t size)
{
	struct earlier_own *o = ctx;
	const struct fmt_burst_site *s = rec;
	bool added;
	uint64_t *at;

	if (!s->id || s->id > LARGEST_ID)
		return 0;
	at = map_put(&o->site_at, s->id, &added);
	if (!at || (added && !GROW(o->site, o->sites, o->site_cap, 256)))
		return -ENOMEM;
	if (added)
		*at = o->sites++;
	o->site[*at] = *s;
	return 0;
}

static int own_pair(void *ctx, const void *rec, size_t size)
{
	struct earlier_own *o = ctx;
	const struct fmt_burst_pair *p = rec;
	bool added;
	uint64_t *at;

	if (p->reader > LARGEST_ID || p->writer > LARGEST_ID || p->bin > LAST_BIN ||
	    !(p->bytes >= 0 && p->bytes < 1e15))
		return 0;
	at = map_put(&o->pair_at, (uint64_t)p->bin << 42 ^ (uint64_t)p->reader << 21 ^ p->writer, &added);
	if (!at || (added && !GROW(o->pair, o->pairs, o->pair_cap, 256)))
		return -ENOMEM;
	if (added)
		*at = o->pairs++;
	o->pair[*at] = *p;
	return 0;
}

static const struct section_row rows[] = {
	{ FMT_BURST_SITE, sizeof(struct fmt_burst_site), own_site, NULL },
	{ FMT_BURST_PAIR, sizeof(struct fmt_burst_pair), own_pair, NULL },
};

static const struct fmt_burst_site *own_site_of(const struct earlier_own *o, uint32_t id)
{
	const uint64_t *at = map_get(&o->site_at, id);

	return at ? &o->site[*at] : NULL;
}

static uint64_t key_of_profile_module(const struct profile *p, uint32_t id)
{
	const struct profile_module *m = &p->modules[profile_module_of(p, id)];

	return m->kind == FMT_MOD_FILE ? earlier_key(m->build_id, m->build_id_len, m->content) : 0;
}

/* All that bursts saw of the loads of one module. */
static int add_module(struct earlier_kept *k, const struct earlier_own *o, const struct profile *p, uint32_t module)
{
	int n = 0;

	for (size_t i = 0; i < k->loads; i++)
		k->load[i].bursts *= (float)NEXT;
	for (size_t i = 0; i < k->writers; i++)
		k->writer[i].bytes *= (float)NEXT;
	for (size_t i = 0; i < o->sites; i++) {
		uint32_t load = o->site[i].module == module && o->site[i].load_bytes > 0 ? kept_load(k, o->site[i].ip)
											 : UINT32_MAX;

		if (load == UINT32_MAX)
			continue;
		k->load[load].bursts += (float)o->site[i].bursts;
		n++;
	}
	for (size_t i = 0; i < o->pairs; i++) {
		const struct fmt_burst_site *r = own_site_of(o, o->pair[i].reader),
					    *w = own_site_of(o, o->pair[i].writer);
		const uint64_t *load = r && r->module == module ? map_get(&k->load_at, r->ip) : NULL;
		uint64_t key = w ? key_of_profile_module(p, w->module) : 0;

		/* code that nobody can tell another time */
		if (!load || (o->pair[i].writer && !key))
			continue;
		add_writer(k, &(struct earlier_writer){ .module = key,
							.ip = w ? w->ip : 0,
							.load = (uint32_t)*load,
							.bin = o->pair[i].bin,
							.bytes = (float)o->pair[i].bytes });
	}
	return n;
}

/* Of the program that bursts met most; 0: none that is known. */
static uint64_t key_of_program(const struct profile *p, const struct earlier_own *o)
{
	uint64_t most = 0, key = 0;

	for (size_t m = 1; m < p->module_count; m++) {
		uint64_t met = 0;

		if (p->modules[m].kind != FMT_MOD_FILE || !earlier_is_program(p->modules[m].path))
			continue;
		for (size_t i = 0; i < o->sites; i++)
			met += o->site[i].module == p->modules[m].id ? o->site[i].bursts : 0;
		if (met > most) {
			most = met;
			key = key_of_profile_module(p, p->modules[m].id);
		}
	}
	return key;
}

static bool has_own_sites(const struct earlier_own *o, uint32_t module)
{
	for (size_t i = 0; i < o->sites; i++)
		if (o->site[i].module == module)
			return true;
	return false;
}

int earlier_keep(int dir, const char *profile, uint64_t now, struct err *e)
{
	struct earlier_own o = { 0 };
	const struct section_reader reader = SECTION_READER(rows, &o);
	struct profile *p = profile_load_with(profile, 0, &reader, 1, e);
	int added = p ? 0 : e->code;
	uint64_t program;

	program = p ? key_of_program(p, &o) : 0;
	for (size_t m = 1; p && m < p->module_count; m++) {
		uint64_t module = key_of_profile_module(p, p->modules[m].id),
			 key = earlier_key_in(earlier_is_program(p->modules[m].path) ? module : program, module);
		struct earlier_kept k;
		int n;

		if (!key || !has_own_sites(&o, p->modules[m].id))
			continue;
		earlier_load(dir, key, now, &k);
		n = add_module(&k, &o, p, p->modules[m].id);
		if (n && !save_kept(dir, &k))
			added += n;
		earlier_release(&k);
	}
	profile_free(p);
	free(o.site);
	free(o.pair);
	map_release(&o.site_at);
	map_release(&o.pair_at);
	return added;
}
