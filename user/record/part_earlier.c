// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/part_earlier.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "flow/earlier_kept.h"
#include "proc/module.h"
#include "store/earlier.h"
#include "util/grow.h"

struct earlier_told {
	uint64_t key; /* of the module's file; 0: not known, or not asked */
	bool asked, program, told;
};

struct earlier_part {
	int dir;
	struct map kept;             /* keys of what is there */
	struct earlier_told *module; /* by id */
	uint32_t modules;
	bool found;            /* the first program */
	struct intern site_at; /* module and address -> fmt_earlier_site.id */
};

static bool same_key(const struct earlier_part *p, uint64_t key, uint32_t *module)
{
	for (uint32_t i = 1; i < p->modules; i++)
		if (p->module[i].key == key) {
			*module = i;
			return true;
		}
	return false;
}

/* Its id, written when it is new; 0: no memory. */
static uint32_t earlier_site(struct earlier_part *p, struct store_writer *w, uint32_t module, uint64_t ip, float bursts)
{
	const uint64_t key[2] = { module, ip };
	bool added;
	uint32_t id = intern_add(&p->site_at, key, sizeof(key), &added);
	const struct fmt_earlier_site rec = { .ip = ip, .module = module, .id = id, .bursts = bursts };

	/* of one that was met as a writer the last record tells that it reads, too */
	if (id && (added || bursts > 0) && store_put(w, FMT_EARLIER_SITE, &rec, sizeof(rec)))
		return 0;
	return id;
}

static int tell_of_module(struct earlier_part *p, struct store_writer *w, uint32_t module, const struct earlier_kept *k)
{
	int err = 0;

	for (size_t i = 0; i < k->loads && !err; i++)
		err = earlier_site(p, w, module, k->load[i].ip, k->load[i].bursts) ? 0 : -ENOMEM;
	for (size_t i = 0; i < k->writers && !err; i++) {
		const struct earlier_writer *x = &k->writer[i];
		struct fmt_earlier_pair rec = { .bin = x->bin, .bytes = x->bytes };
		uint32_t of = 0;

		/* code that is not mapped now cannot have written */
		if (x->module && !same_key(p, x->module, &of))
			continue;
		rec.reader = earlier_site(p, w, module, k->load[x->load].ip, 0);
		rec.writer = x->module ? earlier_site(p, w, of, x->ip, 0) : 0;
		if (!rec.reader || (x->module && !rec.writer))
			err = -ENOMEM;
		else
			err = store_put(w, FMT_EARLIER_PAIR, &rec, sizeof(rec));
	}
	return err;
}

/* A program's own loads, and those of a library in the first program of which some are kept. */
static int tell_of_first(struct earlier_part *p, struct store_writer *w, uint32_t module)
{
	struct earlier_told *m = &p->module[module];
	int err = 0;

	for (uint32_t i = 1; i < p->modules && !m->told && !err; i++) {
		struct earlier_kept k;
		uint64_t key;

		if (!p->module[i].program || (m->program && i != module))
			continue;
		key = earlier_key_in(p->module[i].key, m->key);
		if (!map_get(&p->kept, key))
			continue;
		earlier_load(p->dir, key, (uint64_t)time(NULL), &k);
		m->told = k.loads > 0;
		err = tell_of_module(p, w, module, &k);
		earlier_release(&k);
	}
	return err;
}

/* Those of which the profile tells since the last time; all keys first, as one's writers are in another. */
static int earlier_second(void *part, struct session *s, uint64_t now)
{
	struct earlier_part *p = part;
	struct modules *ms = attr_modules(session_attr(s));
	uint32_t n = modules_count(ms) + 1;
	bool more = false;
	int err = 0;

	if (!GROW_ZEROED(p->module, n, p->modules, 64))
		return -ENOMEM;
	for (uint32_t i = 1; i < n; i++) {
		struct module *m = modules_get(ms, i);
		struct earlier_told *t = &p->module[i];

		if (t->asked || !m || !m->written)
			continue;
		t->asked = more = true;
		t->key = m->kind == FMT_MOD_FILE ? earlier_key(m->build_id, m->build_id_len, module_content(m)) : 0;
		t->program = t->key && earlier_is_program(m->path);
	}
	for (uint32_t i = 1; i < n && more && !err; i++)
		if (p->module[i].key && !p->module[i].told)
			err = tell_of_first(p, session_store(s), i);
	return err;
}

/* The next profile says it all again, for itself. */
static int earlier_begun(void *part, struct session *s, struct err *e)
{
	struct earlier_part *p = part;

	for (uint32_t i = 0; i < p->modules; i++)
		p->module[i] = (struct earlier_told){ 0 };
	intern_release(&p->site_at);
	return 0;
}

static void earlier_part_release(void *part)
{
	struct earlier_part *p = part;

	close(p->dir);
	map_release(&p->kept);
	free(p->module);
	intern_release(&p->site_at);
	free(p);
}

static const struct source earlier_source = {
	.name = "earlier",
	.second = earlier_second,
	.begun = earlier_begun,
	.release = earlier_part_release,
};

int earlier_part_add(struct session *s, int dir, struct err *e)
{
	struct earlier_part *p = calloc(1, sizeof(*p));

	if (!p) {
		close(dir);
		return err_set(e, -ENOMEM, "out of memory");
	}
	p->dir = dir;
	if (earlier_list(dir, &p->kept) == -ENOMEM) {
		earlier_part_release(p);
		return err_set(e, -ENOMEM, "out of memory");
	}
	return session_add(s, &earlier_source, p, e);
}
