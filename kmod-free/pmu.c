// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kmod-free/pmu.h"
#include "kmod-free/pmu_libpfm.h"

#define LDLAT_ALL 3          /* cycles: the least that the event takes, so nearly all loads */
#define MEM_LOADS_AUX 0x8203 /* event and mask, Intel's since Sapphire Rapids: groups need it as leader */

/* 0 in an encoding means: this processor has no such event. */
struct encoding {
	uint64_t loads, stores, leader, count_loads, count_stores;
	bool ldlat;         /* loads are LOAD_LATENCY: config1, picked at random */
	const char *libpfm; /* its name for the PMU, NULL: it has none or a wrong one */
};

static const struct encoding nehalem = {
	.loads = 0x100b, .count_loads = 0x010b, .count_stores = 0x020b, .ldlat = true
};
static const struct encoding sandybridge = {
	.loads = 0x1cd, .stores = 0x2cd, .count_loads = 0x81d0, .count_stores = 0x82d0, .ldlat = true
};
static const struct encoding haswell = {
	.loads = 0x1cd, .stores = 0x82d0, .count_loads = 0x81d0, .count_stores = 0x82d0, .ldlat = true
};
static const struct encoding sapphire = { .loads = 0x1cd,
					  .stores = 0x2cd,
					  .leader = MEM_LOADS_AUX,
					  .count_loads = 0x81d0,
					  .count_stores = 0x82d0,
					  .ldlat = true };
static const struct encoding granite = {
	.loads = 0x1cd, .stores = 0x2cd, .count_loads = 0x81d0, .count_stores = 0x82d0, .ldlat = true
};
static const struct encoding gracemont = {
	.loads = 0x5d0, .stores = 0x6d0, .count_loads = 0x81d0, .count_stores = 0x82d0, .ldlat = true
};
static const struct encoding goldmont = {
	.loads = 0x81d0, .stores = 0x82d0, .count_loads = 0x81d0, .count_stores = 0x82d0
};
static const struct encoding knights = {
	.loads = 0x4004, .stores = 0x8004, .count_loads = 0x4004, .count_stores = 0x8004
};

static const struct model {
	uint16_t model;
	const struct encoding *core, *atom; /* both: a hybrid */
	const char *libpfm;
} intel[] = {
	{ 0x1a, &nehalem, NULL, "nhm" },        { 0x1e, &nehalem, NULL, "nhm" },
	{ 0x1f, &nehalem, NULL, "nhm" },        { 0x2e, &nehalem, NULL, "nhm_ex" },
	{ 0x25, &nehalem, NULL, "wsm" },        { 0x2c, &nehalem, NULL, "wsm_dp" },
	{ 0x2f, &nehalem, NULL, "wsm" },        { 0x2a, &sandybridge, NULL, "snb" },
	{ 0x2d, &sandybridge, NULL, "snb_ep" }, { 0x3a, &sandybridge, NULL, "ivb" },
	{ 0x3e, &sandybridge, NULL, "ivb_ep" }, { 0x3c, &haswell, NULL, "hsw" },
	{ 0x3f, &haswell, NULL, "hsw_ep" },     { 0x45, &haswell, NULL, "hsw" },
	{ 0x46, &haswell, NULL, "hsw" },        { 0x3d, &haswell, NULL, "bdw" },
	{ 0x47, &haswell, NULL, "bdw" },        { 0x4f, &haswell, NULL, "bdw_ep" },
	{ 0x56, &haswell, NULL, "bdw_ep" },     { 0x4e, &haswell, NULL, "skl" },
	{ 0x5e, &haswell, NULL, "skl" },        { 0x55, &haswell, NULL, "skx" },
	{ 0x8e, &haswell, NULL, "skl" },        { 0x9e, &haswell, NULL, "skl" },
	{ 0xa5, &haswell, NULL, "skl" },        { 0xa6, &haswell, NULL, "skl" },
	{ 0x7d, &haswell, NULL, "icl" },        { 0x7e, &haswell, NULL, "icl" },
	{ 0x6a, &haswell, NULL, "icx" },        { 0x6c, &haswell, NULL, "icx" },
	{ 0x8c, &haswell, NULL, "icl" },        { 0x8d, &haswell, NULL, "icl" },
	{ 0xa7, &haswell, NULL, "icl" },        { 0x8f, &sapphire, NULL, "spr" },
	{ 0xcf, &sapphire, NULL, NULL },        { 0x97, &sapphire, &gracemont, NULL },
	{ 0x9a, &sapphire, &gracemont, NULL },  { 0xb7, &sapphire, &gracemont, NULL },
	{ 0xba, &sapphire, &gracemont, NULL },  { 0xbf, &sapphire, &gracemont, NULL },
	{ 0xad, &granite, NULL, NULL },         { 0xae, &granite, NULL, NULL },
	{ 0xaa, &granite, &gracemont, NULL },   { 0xac, &granite, &gracemont, NULL },
	{ 0xb5, &granite, &gracemont, NULL },   { 0xc5, &granite, &gracemont, NULL },
	{ 0xc6, &granite, &gracemont, NULL },   { 0xbd, &granite, &gracemont, NULL },
	{ 0xaf, NULL, &gracemont, NULL },       { 0xb6, NULL, &gracemont, NULL },
	{ 0x5c, NULL, &goldmont, "glm" },       { 0x5f, NULL, &goldmont, "glm" },
	{ 0x7a, NULL, &goldmont, "glp" },       { 0x86, NULL, &goldmont, "tmt" },
	{ 0x96, NULL, &goldmont, "tmt" },       { 0x9c, NULL, &goldmont, "tmt" },
	{ 0x57, NULL, &knights, "knl" },        { 0x85, NULL, &knights, "knm" },
};

/* Around a hundred thousand and a million, none near a power of two or ten. */
static const uint32_t primes[] = { 100003, 100019, 100043, 100057, 100069, 100103, 100109, 100129 };
static const uint32_t instruction_primes[] = { 1000003, 1000033, 1000037, 1000039, 1000081, 1000099, 1000117, 1000121 };

static const char *after_colon(const char *line)
{
	const char *c = strchr(line, ':');

	return c ? c + 1 + strspn(c + 1, " \t") : "";
}

int pmu_cpu_parse(const char *text, struct pmu_cpu *out)
{
	bool model = false;

	memset(out, 0, sizeof(*out));
	for (const char *p = text; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
		const char *v = after_colon(p);

		if (!strncmp(p, "vendor_id", 9))
			out->arch = !strncmp(v, "GenuineIntel", 12)                                      ? PMU_X86_INTEL
				    : !strncmp(v, "AuthenticAMD", 12) || !strncmp(v, "HygonGenuine", 12) ? PMU_X86_AMD
													 : 0;
		else if (!strncmp(p, "cpu family", 10))
			out->family = (unsigned)strtoul(v, NULL, 10);
		else if (!strncmp(p, "model name", 10))
			continue;
		else if (!strncmp(p, "model", 5) && !model)
			out->model = (unsigned)strtoul(v, NULL, 10), model = true;
		else if (!strncmp(p, "stepping", 8))
			out->stepping = (unsigned)strtoul(v, NULL, 10);
		else if (!strncmp(p, "CPU implementer", 15))
			out->arch = PMU_ARM64, out->family = (unsigned)strtoul(v, NULL, 16);
		else if (!strncmp(p, "CPU part", 8))
			out->model = (unsigned)strtoul(v, NULL, 16);
		else if (!strncmp(p, "cpu\t", 4) && !strncmp(v, "POWER", 5))
			out->arch = PMU_POWER, out->family = (unsigned)strtoul(v + 5, NULL, 10);
		else if (p[0] == '\n' && out->arch)
			break;
	}
	return out->arch ? 0 : -ENODATA;
}

int pmu_cpu_read(struct pmu_cpu *out)
{
	static char text[16384];
	FILE *f = fopen("/proc/cpuinfo", "re");
	size_t n;

	if (!f)
		return -errno;
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = 0;
	fclose(f);
	return pmu_cpu_parse(text, out);
}

static bool read_line(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "re");
	bool ok;

	if (!f)
		return false;
	ok = fgets(text, (int)size, f);
	fclose(f);
	if (ok)
		text[strcspn(text, "\n")] = 0;
	return ok;
}

static uint64_t *config_word(struct perf_event_attr *attr, const char *name, size_t len)
{
	if (len == 6 && !strncmp(name, "config", 6))
		return (uint64_t *)&attr->config;
	if (len == 7 && !strncmp(name, "config1", 7))
		return (uint64_t *)&attr->config1;
	if (len == 7 && !strncmp(name, "config2", 7))
		return (uint64_t *)&attr->config2;
	/* config3 is newer than this header's attr */
	return NULL;
}

/* "config:0-7,32-35": the value's low bits go into the first range, and so on. */
static int set_bits(const char *spec, uint64_t value, struct perf_event_attr *attr)
{
	const char *colon = strchr(spec, ':');
	uint64_t *word = colon ? config_word(attr, spec, (size_t)(colon - spec)) : NULL;
	const char *p;

	if (!word)
		return -EINVAL;
	for (p = colon + 1; *p;) {
		char *end;
		unsigned long lo = strtoul(p, &end, 10), hi = lo, bits;
		uint64_t mask;

		if (end == p)
			return -EINVAL;
		if (*end == '-')
			hi = strtoul(end + 1, &end, 10);
		if (hi > 63 || lo > hi)
			return -EINVAL;
		bits = hi - lo + 1;
		mask = bits == 64 ? ~0ull : (1ull << bits) - 1;
		*word = (*word & ~(mask << lo)) | (value & mask) << lo;
		value = bits == 64 ? 0 : value >> bits;
		p = *end == ',' ? end + 1 : end;
		if (*end && *end != ',')
			return -EINVAL;
	}
	return value ? -ERANGE : 0;
}

/* A value into the bits that format_dir/NAME describes; -ENOENT if the PMU has no such field. */
static int pmu_set_field(const char *format_dir, const char *name, uint64_t value, struct perf_event_attr *attr)
{
	char path[512], spec[128];

	if (strchr(name, '/') || snprintf(path, sizeof(path), "%s/%s", format_dir, name) >= (int)sizeof(path))
		return -EINVAL;
	if (!read_line(path, spec, sizeof(spec)))
		return -ENOENT;
	return set_bits(spec, value, attr);
}

int pmu_parse_terms(const char *format_dir, const char *terms, struct perf_event_attr *attr)
{
	char copy[512], *save = NULL;

	if (snprintf(copy, sizeof(copy), "%s", terms) >= (int)sizeof(copy))
		return -EINVAL;
	for (char *t = strtok_r(copy, ",", &save); t; t = strtok_r(NULL, ",", &save)) {
		char *eq = strchr(t, '='), *end;
		uint64_t v = 1;
		uint64_t *word;
		int rc;

		if (eq) {
			*eq = 0;
			v = strtoull(eq + 1, &end, 0);
			if (end == eq + 1 || *end)
				return -EINVAL;
		}
		word = config_word(attr, t, strlen(t));
		if (word) {
			*word = v;
			continue;
		}
		rc = pmu_set_field(format_dir, t, v, attr);
		if (rc)
			return rc;
	}
	return 0;
}

int pmu_libpfm(const char *event, struct perf_event_attr *attr, struct err *e)
{
	memset(attr, 0, sizeof(*attr));
	return pmu_libpfm_encode(event, attr, e);
}

/* What every sampled memory event asks for. */
static void pmu_common(struct perf_event_attr *a, const struct pmu_opts *o, const uint32_t *choice)
{
	a->size = sizeof(*a);
	a->sample_period = o->period ? o->period : choice[o->salt % 8];
	a->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
	a->disabled = 1;
	a->exclude_kernel = !o->kernel;
	a->exclude_hv = 1;
	a->use_clockid = 1;
	a->clockid = 1; /* CLOCK_MONOTONIC */
	a->sample_id_all = 1;
	if (o->prompt)
		a->wakeup_events = 1;
}

static void memory(struct perf_event_attr *a, const struct pmu_opts *o)
{
	pmu_common(a, o, primes);
	a->sample_type |= PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT_STRUCT;
	if (o->phys)
		a->sample_type |= PERF_SAMPLE_PHYS_ADDR;
	if (o->page_size)
		a->sample_type |= PERF_SAMPLE_DATA_PAGE_SIZE;
	/* the period may be changed while records wait in the ring */
	a->sample_type |= PERF_SAMPLE_PERIOD;
	a->precise_ip = 2;
}

/* A clock that is not the kernel's own cannot be written by the processor's batches: each record costs
 * an interrupt. Where CLOCK_MONOTONIC is not needed, there are batches. */
static void allow_batches(struct perf_event_attr *a, const struct pmu_opts *o)
{
	if (o->prompt || !o->batch)
		return;
	a->use_clockid = 0;
	a->clockid = 0;
}

static int pmu_type(const char *sysfs, const char *pmu, uint32_t *type)
{
	char path[512], text[32];

	if (snprintf(path, sizeof(path), "%s/%s/type", sysfs, pmu) >= (int)sizeof(path))
		return -EINVAL;
	if (!read_line(path, text, sizeof(text)))
		return -ENOENT;
	*type = (uint32_t)strtoul(text, NULL, 10);
	return 0;
}

static bool sysfs_event(const char *sysfs, const char *pmu, const char *name, struct perf_event_attr *a)
{
	char path[512], terms[256], format[512];

	if (snprintf(path, sizeof(path), "%s/%s/events/%s", sysfs, pmu, name) >= (int)sizeof(path) ||
	    snprintf(format, sizeof(format), "%s/%s/format", sysfs, pmu) >= (int)sizeof(format))
		return false;
	return read_line(path, terms, sizeof(terms)) && !pmu_parse_terms(format, terms, a);
}

static const struct model *find_model(const struct pmu_cpu *cpu)
{
	if (cpu->family != 6)
		return NULL;
	for (size_t i = 0; i < sizeof(intel) / sizeof(intel[0]); i++)
		if (intel[i].model == cpu->model)
			return &intel[i];
	return NULL;
}

static void set_ldlat(struct perf_event_attr *a, const struct pmu_opts *o, const char *sysfs, const char *pmu)
{
	unsigned v = o->ldlat ? o->ldlat : LDLAT_ALL;
	char format[512];

	if (snprintf(format, sizeof(format), "%s/%s/format", sysfs, pmu) < (int)sizeof(format) &&
	    !pmu_set_field(format, "ldlat", v, a))
		return;
	a->config1 = v;
}

static bool from_libpfm(const struct model *m, enum pmu_what what, struct perf_event_attr *a)
{
	char name[128];

	if (!m || !m->libpfm || (what != PMU_COUNT_LOADS && what != PMU_COUNT_STORES))
		return false;
	snprintf(name, sizeof(name), "%s::MEM_INST_RETIRED:ALL_%s", m->libpfm,
		 what == PMU_COUNT_LOADS ? "LOADS" : "STORES");
	return !pmu_libpfm(name, a, NULL);
}

/* One PMU of an Intel processor; 0 if it has the event.
 * shape: what names an event on this machine, and what is wanted of it. */
static int intel_one(const char *sysfs, const char *pmu, const struct encoding *enc, const struct model *model,
		     enum pmu_what what, const struct pmu_opts *o, struct pmu_event *ev)
{
	struct perf_event_attr *a = &ev->attr;
	uint32_t type = PERF_TYPE_RAW;
	uint64_t raw = 0;

	memset(ev, 0, sizeof(*ev));
	snprintf(ev->pmu, sizeof(ev->pmu), "%s", pmu);
	ev->what = what;
	if (pmu_type(sysfs, pmu, &type) && strcmp(pmu, "cpu"))
		return -ENOENT;
	switch (what) {
	case PMU_LOADS:
		memory(a, o);
		raw = enc ? enc->loads : 0;
		if (sysfs_event(sysfs, pmu, "mem-loads", a))
			ev->from = PMU_FROM_SYSFS;
		break;
	case PMU_STORES:
		memory(a, o);
		raw = enc ? enc->stores : 0;
		if (sysfs_event(sysfs, pmu, "mem-stores", a))
			ev->from = PMU_FROM_SYSFS;
		break;
	case PMU_INSTRUCTIONS:
		pmu_common(a, o, instruction_primes);
		a->precise_ip = 3; /* the opener steps down */
		a->type = PERF_TYPE_HARDWARE;
		a->config = PERF_COUNT_HW_INSTRUCTIONS | (strcmp(pmu, "cpu") ? (uint64_t)type << 32 : 0);
		ev->from = PMU_FROM_TABLE;
		allow_batches(a, o);
		return 0;
	case PMU_COUNT_LOADS:
	case PMU_COUNT_STORES:
		a->size = sizeof(*a);
		a->exclude_kernel = !o->kernel;
		a->disabled = 1;
		a->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
		raw = !enc ? 0 : what == PMU_COUNT_LOADS ? enc->count_loads : enc->count_stores;
		break;
	default: return -ENOENT;
	}
	if (!ev->from && raw) {
		a->config = raw;
		ev->from = PMU_FROM_TABLE;
	}
	if (!ev->from && from_libpfm(model, what, a))
		ev->from = PMU_FROM_LIBPFM;
	if (!ev->from)
		return -ENOENT;
	a->type = type;
	if (what == PMU_LOADS && (!enc || enc->ldlat)) {
		ev->random = true;
		set_ldlat(a, o, sysfs, pmu);
	}
	if (what == PMU_LOADS || what == PMU_STORES)
		allow_batches(a, o);
	/* The kernel demands this leader for a load event that wants DATA_SRC. */
	if (what == PMU_LOADS) {
		struct perf_event_attr l = { .size = sizeof(l),
					     .type = type,
					     .exclude_kernel = a->exclude_kernel,
					     .exclude_hv = 1,
					     .disabled = 1 };

		if (sysfs_event(sysfs, pmu, "mem-loads-aux", &l) || (enc && enc->leader && (l.config = enc->leader))) {
			ev->has_leader = true;
			ev->leader = l;
			a->disabled = 0;
		}
	}
	return 0;
}

static int intel_encode(const struct pmu_cpu *cpu, const char *sysfs, enum pmu_what what, const struct pmu_opts *o,
			struct pmu_event *out, int max, struct err *e)
{
	const struct model *m = find_model(cpu);
	uint32_t type;
	int n = 0;

	if (!pmu_type(sysfs, "cpu_core", &type)) {
		if (n < max && !intel_one(sysfs, "cpu_core", m ? m->core : NULL, m, what, o, &out[n]))
			n++;
		if (n < max && !intel_one(sysfs, "cpu_atom", m ? m->atom : NULL, m, what, o, &out[n]))
			n++;
	} else if (n < max && !intel_one(sysfs, "cpu", m ? (m->core ? m->core : m->atom) : NULL, m, what, o, &out[n])) {
		n++;
	}
	if (n)
		return n;
	if (!m)
		return err_set(e, -ENOENT, "processor model %u.%u is not in our table and sysfs names no memory events",
			       cpu->family, cpu->model);
	return err_set(e, -ENOENT, "this processor does not sample %s with addresses",
		       what == PMU_LOADS    ? "loads"
		       : what == PMU_STORES ? "stores"
					    : "these events");
}

static int ibs_encode(const struct pmu_cpu *cpu, const char *sysfs, enum pmu_what what, const struct pmu_opts *o,
		      struct pmu_event *ev, struct err *e)
{
	struct perf_event_attr *a = &ev->attr;
	char format[512];
	uint32_t type;

	memset(ev, 0, sizeof(*ev));
	ev->what = what;
	snprintf(ev->pmu, sizeof(ev->pmu), "ibs_op");
	if (what == PMU_COUNT_LOADS || what == PMU_COUNT_STORES) {
		if (cpu->family < 0x17)
			return err_set(e, -ENOENT, "no counting event for loads is known for AMD family %xh",
				       cpu->family);
		snprintf(ev->pmu, sizeof(ev->pmu), "cpu");
		*a = (struct perf_event_attr){ .size = sizeof(*a),
					       .type = PERF_TYPE_RAW,
					       .disabled = 1,
					       .config = what == PMU_COUNT_LOADS ? 0x129 : 0x229,
					       .exclude_kernel = !o->kernel,
					       .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
							      PERF_FORMAT_TOTAL_TIME_RUNNING };
		ev->from = PMU_FROM_TABLE;
		return 1;
	}
	if (pmu_type(sysfs, "ibs_op", &type))
		return err_set(e, -ENOENT,
			       "no IBS here (no ibs_op PMU in sysfs: a virtual machine, or IBS is disabled)");
	if (what == PMU_STORES)
		return err_set(e, -ENOENT, "IBS samples loads and stores in one event");
	memory(a, o);
	ev->what = what == PMU_INSTRUCTIONS ? PMU_INSTRUCTIONS : PMU_MEMORY;
	ev->from = PMU_FROM_SYSFS;
	a->type = type;
	/* the hardware counts in sixteens */
	a->sample_period = (a->sample_period + 15) & ~15ull;
	a->precise_ip = 0;
	a->exclude_hv = 0;
	a->exclude_kernel = 0;
	snprintf(format, sizeof(format), "%s/ibs_op/format", sysfs);
	if (pmu_set_field(format, "cnt_ctl", 1, a))
		a->config |= 1ull << 19;
	/* Before 6.14 there is no filter: samples of the kernel are dropped by hand. */
	if (!o->kernel && !pmu_set_field(format, "swfilt", 1, a))
		a->exclude_kernel = 1;
	return 1;
}

static int spe_encode(const char *sysfs, enum pmu_what what, const struct pmu_opts *o, struct pmu_event *out, int max,
		      struct err *e)
{
	int n = 0;

	for (int i = 0; i < 8 && n < max; i++) {
		struct pmu_event *ev = &out[n];
		char format[512];
		uint32_t type;

		memset(ev, 0, sizeof(*ev));
		snprintf(ev->pmu, sizeof(ev->pmu), "arm_spe_%d", i);
		if (pmu_type(sysfs, ev->pmu, &type))
			continue;
		memory(&ev->attr, o);
		ev->what = PMU_MEMORY;
		ev->from = PMU_FROM_SYSFS;
		ev->attr.type = type;
		ev->attr.precise_ip = 0;
		ev->attr.sample_type &=
			~(uint64_t)(PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT_STRUCT |
				    PERF_SAMPLE_PERIOD | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_DATA_PAGE_SIZE);
		snprintf(format, sizeof(format), "%s/%s/format", sysfs, ev->pmu);
		if (pmu_set_field(format, "ts_enable", 1, &ev->attr) || pmu_set_field(format, "jitter", 1, &ev->attr) ||
		    pmu_set_field(format, "load_filter", 1, &ev->attr) ||
		    pmu_set_field(format, "store_filter", 1, &ev->attr))
			return err_set(e, -EINVAL, "the format of %s in sysfs is not understood", ev->pmu);
		if (o->phys)
			pmu_set_field(format, "pa_enable", 1, &ev->attr);
		if (o->ldlat)
			pmu_set_field(format, "min_latency", o->ldlat, &ev->attr);
		n++;
	}
	return n ? n : err_set(e, -ENOENT, "no SPE here (no arm_spe_N PMU in sysfs)");
}

static int power_encode(const struct pmu_cpu *cpu, enum pmu_what what, const struct pmu_opts *o, struct pmu_event *ev,
			struct err *e)
{
	static const uint64_t raw[2][2] = { { 0x34340401e0, 0x343c0401e0 }, { 0x35340401e0, 0x353c0401e0 } };

	memset(ev, 0, sizeof(*ev));
	if (cpu->family < 9 || cpu->family > 10 || (what != PMU_LOADS && what != PMU_STORES))
		return err_set(e, -ENOENT, "no memory sampling is known for POWER%u", cpu->family);
	memory(&ev->attr, o);
	snprintf(ev->pmu, sizeof(ev->pmu), "cpu");
	ev->what = what;
	ev->from = PMU_FROM_TABLE;
	ev->attr.type = PERF_TYPE_RAW;
	ev->attr.config = raw[cpu->family - 9][what == PMU_STORES];
	ev->attr.precise_ip = 0; /* addresses are valid only where SIER says so; the kernel leaves 0 */
	return 1;
}

int pmu_encode(const struct pmu_cpu *cpu, const char *sysfs, enum pmu_what what, const struct pmu_opts *o,
	       struct pmu_event *out, int max, struct err *e)
{
	if (max < 1)
		return -EINVAL;
	switch (cpu->arch) {
	case PMU_X86_INTEL: return intel_encode(cpu, sysfs, what, o, out, max, e);
	case PMU_X86_AMD: return ibs_encode(cpu, sysfs, what, o, out, e);
	case PMU_ARM64: return spe_encode(sysfs, what, o, out, max, e);
	case PMU_POWER: return power_encode(cpu, what, o, out, e);
	}
	return err_set(e, -ENOENT, "this processor's vendor is not in our table");
}

void pmu_event_text(const struct pmu_event *ev, char *text, size_t size)
{
	static const char *const what[] = { "?",           "loads",       "stores", "memory", "instructions",
					    "count-loads", "count-stores" };
	int n = snprintf(text, size, "%s %s type=%u config=%#llx config1=%#llx config2=%#llx precise=%u%s%s", ev->pmu,
			 what[ev->what <= PMU_COUNT_STORES ? ev->what : 0], ev->attr.type,
			 (unsigned long long)ev->attr.config, (unsigned long long)ev->attr.config1,
			 (unsigned long long)ev->attr.config2, ev->attr.precise_ip,
			 ev->attr.exclude_kernel ? " user" : "", ev->random ? " random" : "");

	if (ev->has_leader && n > 0 && (size_t)n < size)
		snprintf(text + n, size - (size_t)n, " leader=%#llx", (unsigned long long)ev->leader.config);
}
