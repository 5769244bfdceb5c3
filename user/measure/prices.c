// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/prices.h"

#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "measure/price.h"
#include "util/cachedir.h"
#include "util/clock.h"

#define FOLDER "prices"
#define FILE_MOST 65536 /* bytes; by hand */
#define VALUE_MOST 1e9  /* ns: nothing that is priced takes a second */

static struct price_kept *find_price(struct prices *p, const char *name, bool make)
{
	for (unsigned i = 0; i < p->count; i++)
		if (!strcmp(p->of[i].name, name))
			return &p->of[i];
	if (!make || p->count == PRICES_MOST || strlen(name) >= sizeof(p->of[0].name))
		return NULL;
	p->of[p->count] = (struct price_kept){ 0 };
	strcpy(p->of[p->count].name, name);
	return &p->of[p->count++];
}

static void keep_price(struct price_kept *k, uint64_t at, const double *v)
{
	if (k->count == PRICES_KEPT) {
		memmove(k->at, k->at + 1, sizeof(k->at) - sizeof(k->at[0]));
		memmove(k->value, k->value + 1, sizeof(k->value) - sizeof(k->value[0]));
		k->count--;
	}
	k->at[k->count] = at;
	memcpy(k->value[k->count++], v, sizeof(k->value[0]));
}

static bool read_values(const char *text, double *v)
{
	for (unsigned i = 0; i < PRICES_VALUES; i++) {
		char *end;

		v[i] = strtod(text, &end);
		/* a difference of two times may be below 0 */
		if (end == text || (!isnan(v[i]) && !(fabs(v[i]) < VALUE_MOST)))
			return false;
		text = end;
	}
	return *text == '\0';
}

/* "NAME NS-SINCE-BOOT VALUE VALUE VALUE" */
static void take_price_line(struct prices *p, const char *line)
{
	double v[PRICES_VALUES];
	char name[24];
	uint64_t at;
	struct price_kept *k;
	int used = 0;

	if (sscanf(line, "%23s %" SCNu64 "%n", name, &at, &used) != 2 || at > p->now || p->now - at > PRICES_OLD_NS ||
	    !read_values(line + used, v))
		return;
	k = find_price(p, name, true);
	if (k && (!k->count || k->at[k->count - 1] <= at))
		keep_price(k, at, v);
}

static void choose_again(struct prices *p)
{
	uint64_t oldest = p->now > PRICES_SETTLED_NS ? p->now - PRICES_SETTLED_NS : 0;

	p->again = -1;
	for (unsigned i = 0; i < p->count; i++) {
		uint64_t last = p->of[i].at[p->of[i].count - 1];

		if (last < oldest) {
			oldest = last;
			p->again = (int)i;
		}
	}
}

void prices_read(struct prices *p, const char *text, const char *identity, uint64_t now)
{
	size_t len = strlen(identity);
	char line[256];

	*p = (struct prices){ .now = now, .again = -1 };
	for (unsigned i = 0; i < PRICE_IDS; i++)
		p->ns[i] = NAN;
	snprintf(p->identity, sizeof(p->identity), "%s", identity);
	if (!text || strncmp(text, identity, len) || text[len] != '\n')
		return;
	for (text += len + 1; *text;) {
		size_t n = strcspn(text, "\n");

		if (n < sizeof(line)) {
			memcpy(line, text, n);
			line[n] = '\0';
			take_price_line(p, line);
		}
		text += n + (text[n] == '\n');
	}
	choose_again(p);
}

static double median_of(const struct price_kept *k, unsigned value)
{
	double v[PRICES_KEPT];
	unsigned n = 0;

	for (unsigned i = 0; i < k->count; i++)
		if (!isnan(k->value[i][value]))
			v[n++] = k->value[i][value];
	return price_median(v, n);
}

bool prices_known(const struct prices *p, const char *name, double *values, unsigned n)
{
	const struct price_kept *k = find_price((struct prices *)p, name, false);

	if (!k || k->count < PRICES_ENOUGH || (p->again >= 0 && k == &p->of[p->again]))
		return false;
	for (unsigned i = 0; i < n && i < PRICES_VALUES; i++)
		values[i] = median_of(k, i);
	return true;
}

void prices_add(struct prices *p, const char *name, double *values, unsigned n)
{
	double v[PRICES_VALUES] = { NAN, NAN, NAN };
	struct price_kept *k;
	bool any = false;

	for (unsigned i = 0; i < n && i < PRICES_VALUES; i++) {
		v[i] = isfinite(values[i]) ? values[i] : NAN;
		any |= !isnan(v[i]);
	}
	k = any ? find_price(p, name, true) : NULL;
	if (!k)
		return;
	keep_price(k, p->now, v);
	p->changed = true;
	for (unsigned i = 0; i < n && i < PRICES_VALUES; i++)
		values[i] = median_of(k, i);
}

static void read_first_line(const char *path, char *out, size_t size)
{
	FILE *f = fopen(path, "re");

	snprintf(out, size, "unknown");
	if (f && fgets(out, (int)size, f))
		out[strcspn(out, "\n")] = '\0';
	if (f)
		fclose(f);
}

/* CPUs that we may use: with one, prices that need another are not to be had. */
static int allowed_cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 0 : CPU_COUNT(&set);
}

static const char *file_name(char *out, size_t size)
{
	snprintf(out, size, "cpus-%d", allowed_cpus());
	return out;
}

/* Of whatever a price depends on, and is the same from one recording to the next. */
static void identify(char *out, size_t size)
{
	struct utsname u = { 0 };
	struct stat st = { 0 };
	char boot[64];

	read_first_line("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	uname(&u);
	stat("/proc/self/exe", &st);
	snprintf(out, size, "accperf prices 1 %s %.40s %lld %lld %ld/%d", boot, u.release, (long long)st.st_size,
		 (long long)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec, sysconf(_SC_NPROCESSORS_ONLN),
		 allowed_cpus());
}

void prices_open(struct prices *p)
{
	int dir = cachedir_open(FOLDER);
	char identity[sizeof(p->identity)], name[32];
	AUTO_BUF(text);
	bool there = dir >= 0 && !cachedir_read(dir, file_name(name, sizeof(name)), FILE_MOST, &text) && text.len &&
		     !memchr(text.data, 0, text.len);

	identify(identity, sizeof(identity));
	prices_read(p, there ? text.data : NULL, identity, clock_ns(CLOCK_BOOTTIME));
	if (dir >= 0)
		close(dir);
}

void prices_close(struct prices *p)
{
	char name[32];
	AUTO_BUF(text);
	int dir;

	if (!p->changed)
		return;
	p->changed = false;
	dir = cachedir_open(FOLDER);
	if (dir < 0)
		return;
	buf_addf(&text, "%s\n", p->identity);
	for (unsigned i = 0; i < p->count; i++)
		for (unsigned k = 0; k < p->of[i].count; k++)
			buf_addf(&text, "%s %" PRIu64 " %.1f %.1f %.1f\n", p->of[i].name, p->of[i].at[k],
				 p->of[i].value[k][0], p->of[i].value[k][1], p->of[i].value[k][2]);
	cachedir_write(dir, file_name(name, sizeof(name)), &text, FILE_MOST);
	close(dir);
}
