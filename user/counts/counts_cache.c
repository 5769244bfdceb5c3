// SPDX-License-Identifier: GPL-2.0-or-later
#include "counts/counts_cache.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "util/cachedir.h"
#include "util/grow.h"
#include "util/normal.h"

#define MAGIC 0x31304e5553434341ull /* "ACCSUN01": changes with the layout */
#define MAX_FILE (16u << 20)        /* bytes for one program; by hand */
#define MAX_TOTAL (128ull << 20)    /* bytes for all programs; by hand */
#define RECORDINGS_SD 0.3           /* by which ratios of one recording and another differ, where only one is known */

/* File: head, entries. */
struct counts_cache_head {
	uint64_t magic, xxh64; /* of all that follows this struct */
	uint32_t entries, entry_size;
};

struct counts_cache_key {
	uint64_t parent_module, parent, child, site;
	uint32_t how, pad;
};

struct counts_cache_entry {
	struct counts_cache_key key;
	struct counts_others others;
};

struct counts_cache_file {
	struct counts_cache_entry *entry;
	size_t count, cap;
	struct intern at; /* key -> entry + 1 */
	char name[24];
};

static void file_release(struct counts_cache_file *f)
{
	free(f->entry);
	intern_release(&f->at);
	memset(f, 0, sizeof(*f));
}

static struct counts_cache_entry *find_entry(struct counts_cache_file *f, const struct counts_cache_key *key, bool add)
{
	struct counts_cache_entry *e;
	bool added;
	uint32_t id;

	if (!add && !f->count)
		return NULL;
	id = intern_add(&f->at, key, sizeof(*key), &added);
	if (!id)
		return NULL;
	if (!added)
		return id <= f->count ? &f->entry[id - 1] : NULL;
	if (!add || (f->count + 1) * sizeof(*e) > MAX_FILE - sizeof(struct counts_cache_head))
		return NULL;
	if (!GROW(f->entry, f->count, f->cap, 256))
		return NULL;
	e = &f->entry[f->count++];
	*e = (struct counts_cache_entry){ .key = *key };
	return e;
}

static bool sane_others(const struct counts_others *o)
{
	if (o->recordings > COUNTS_CACHE_RECORDINGS)
		return false;
	for (uint32_t i = 0; i < o->recordings; i++)
		if (!(o->anchor[i] >= 0 && o->anchor[i] < 1e15) || !(o->child[i] >= 0 && o->child[i] < 1e15))
			return false;
	return true;
}

static void load_cached_counts(int dir, struct counts_cache_file *f, uint64_t module)
{
	struct counts_cache_head h;
	AUTO_BUF(b);

	snprintf(f->name, sizeof(f->name), "%016lx", (unsigned long)module);
	if (cachedir_read(dir, f->name, MAX_FILE, &b) || b.len < sizeof(h))
		return;
	memcpy(&h, b.data, sizeof(h));
	if (h.magic != MAGIC || h.entry_size != sizeof(struct counts_cache_entry) ||
	    (b.len - sizeof(h)) / sizeof(struct counts_cache_entry) != h.entries ||
	    (b.len - sizeof(h)) % sizeof(struct counts_cache_entry) ||
	    XXH64(b.data + sizeof(h), b.len - sizeof(h), 0) != h.xxh64)
		return;
	for (uint32_t i = 0; i < h.entries; i++) {
		struct counts_cache_entry e, *mine;

		memcpy(&e, b.data + sizeof(h) + i * sizeof(e), sizeof(e));
		mine = sane_others(&e.others) ? find_entry(f, &e.key, true) : NULL;
		if (mine)
			mine->others = e.others;
	}
}

static int save_cached_counts(int dir, const struct counts_cache_file *f)
{
	struct counts_cache_head h = { .magic = MAGIC,
				       .entries = (uint32_t)f->count,
				       .entry_size = sizeof(struct counts_cache_entry) };
	AUTO_BUF(b);

	h.xxh64 = XXH64(f->entry, f->count * sizeof(*f->entry), 0);
	buf_add(&b, &h, sizeof(h));
	buf_add(&b, f->entry, f->count * sizeof(*f->entry));
	return cachedir_write(dir, f->name, &b, MAX_TOTAL);
}

/* ---- links by the module of their child ---- */

struct counts_cache_item {
	uint64_t module;
	size_t link;
	struct counts_cache_key key;
};

/* Code is told apart by build-id and content: without them nobody knows whether it is the same another
 * time, and a target that claims another's build-id would speak for it. */
static bool cache_key_of_module(const struct counts_record *r, uint32_t node, uint64_t *key)
{
	const struct profile_module *m;

	*key = 0;
	if (!node || r->node[node].function == UINT32_MAX)
		return false;
	m = &r->profile->modules[profile_module_of(r->profile, r->func[r->node[node].function].module)];
	if (m->kind != FMT_MOD_FILE || !m->content || m->build_id_len < 8)
		return false;
	*key = XXH64(m->build_id, m->build_id_len, m->content);
	return true;
}

static int by_module_and_function(const void *a, const void *b)
{
	const struct counts_cache_item *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->link < y->link ? -1 : x->link > y->link;
}

static struct counts_cache_item *list_links(const struct counts_record *r, size_t *n)
{
	struct counts_cache_item *item = calloc(r->links + 1, sizeof(*item));

	*n = 0;
	for (size_t i = 0; item && i < r->links; i++) {
		const struct fmt_counts_link *l = &r->link[i].l;
		struct counts_cache_item *it = &item[*n];

		if ((l->how != FMT_CL_TRIPS && l->how != FMT_CL_RATIO && l->how != FMT_CL_REPLAY) ||
		    !cache_key_of_module(r, l->child, &it->module) ||
		    !cache_key_of_module(r, l->parent, &it->key.parent_module))
			continue;
		it->link = i;
		it->key.parent = r->node[l->parent].addr;
		it->key.child = r->node[l->child].addr;
		it->key.site = l->site;
		/* an entry and a loop may share an address */
		it->key.how = l->how | r->node[l->parent].kind << 8 | r->node[l->child].kind << 16;
		++*n;
	}
	if (item)
		qsort(item, *n, sizeof(*item), by_module_and_function);
	return item;
}

static bool add_recording(struct counts_others *o, uint64_t recording, double anchor, double child)
{
	uint32_t at = 0;

	while (at < o->recordings && o->recording[at] != recording)
		at++;
	if (at < o->recordings && o->anchor[at] == anchor && o->child[at] == child)
		return false;
	if (at == COUNTS_CACHE_RECORDINGS) {
		at--;
		memmove(o->recording, o->recording + 1, at * sizeof(*o->recording));
		memmove(o->anchor, o->anchor + 1, at * sizeof(*o->anchor));
		memmove(o->child, o->child + 1, at * sizeof(*o->child));
		o->recordings--;
	}
	o->recording[at] = recording;
	o->anchor[at] = anchor;
	o->child[at] = child;
	if (at == o->recordings)
		o->recordings++;
	return true;
}

int counts_cache_add(int dir, const struct counts_record *r)
{
	size_t n;
	struct counts_cache_item *item = r->recording ? list_links(r, &n) : NULL;
	int added = 0;

	if (!item)
		return r->recording ? -ENOMEM : 0;
	for (size_t i = 0, end; i < n; i = end) {
		struct counts_cache_file f = { 0 };
		bool changed = false;

		load_cached_counts(dir, &f, item[i].module);
		for (end = i; end < n && item[end].module == item[i].module; end++) {
			const struct counts_rec_link *l = &r->link[item[end].link];
			double anchor = 0, child = 0;
			struct counts_cache_entry *e;

			for (size_t k = l->window; k < l->window + l->windows; k++) {
				anchor += r->window[k].anchor;
				child += r->window[k].child;
			}
			if (!(anchor > 0) || !(e = find_entry(&f, &item[end].key, true)) ||
			    !add_recording(&e->others, r->recording, anchor, child))
				continue;
			changed = true;
			added++;
		}
		if (changed)
			save_cached_counts(dir, &f);
		file_release(&f);
	}
	free(item);
	return added;
}

int counts_cache_fill(int dir, struct counts_record *r)
{
	size_t n;
	struct counts_cache_item *item = list_links(r, &n);
	int got = 0;

	if (!item)
		return -ENOMEM;
	for (size_t i = 0, end; i < n; i = end) {
		struct counts_cache_file f = { 0 };

		load_cached_counts(dir, &f, item[i].module);
		for (end = i; end < n && item[end].module == item[i].module; end++) {
			struct counts_others *o = &r->link[item[end].link].others;
			const struct counts_cache_entry *e = find_entry(&f, &item[end].key, false);

			for (uint32_t k = 0; e && k < e->others.recordings; k++)
				if (e->others.recording[k] != r->recording)
					add_recording(o, e->others.recording[k], e->others.anchor[k],
						      e->others.child[k]);
			got += o->recordings > 0;
		}
		file_release(&f);
	}
	free(item);
	return got;
}

void counts_cache_ratio(const struct counts_others *o, struct counts_ratio *out)
{
	double x = 0, y = 0, ratio, scatter = 0, var, half;

	*out = counts_ratio_unknown();
	for (uint32_t i = 0; i < o->recordings && i < COUNTS_CACHE_RECORDINGS; i++) {
		x += o->anchor[i];
		y += o->child[i];
	}
	if (!(x >= COUNTS_ANCHOR_MIN))
		return;
	/* less than half a run is told by nothing */
	ratio = fmax(y, 0.5) / x;
	for (uint32_t i = 0; i < o->recordings; i++) {
		double off = (o->child[i] - ratio * o->anchor[i]) / (ratio * x);

		scatter += off * off;
	}
	/* what this recording does is as far from the others as they are from each other, or more */
	var = o->recordings > 1 ? scatter * o->recordings / (o->recordings - 1) * (1 + o->recordings) : 0;
	out->log_var = fmax(var, RECORDINGS_SD * RECORDINGS_SD) + 1 / (y + 0.5);
	out->how = COUNTS_CACHED;
	out->ratio = ratio;
	out->anchor = x;
	out->child = y;
	out->windows = o->recordings;
	half = Z95 * sqrt(out->log_var);
	out->low = ratio * exp(-half);
	out->high = ratio * exp(half);
}
