// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/logca_words.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int parse_size(const char *text, size_t len, double *g)
{
	char one[64], *end;
	double scale = 1;

	if (len == 0 || len >= sizeof(one))
		return -1;
	memcpy(one, text, len);
	one[len] = 0;
	*g = strtod(one, &end);
	if (end != one && *end && !end[1])
		scale = *end == 'K' ? 1024. : *end == 'M' ? 1048576. : *end == 'G' ? 1073741824. : 0;
	else if (*end || end == one)
		return -1;
	*g *= scale;
	return *g > 0 && isfinite(*g) ? 0 : -1;
}

int logca_sizes_parse(const char *const *given, unsigned count, double lo, double hi, double g[LOGCA_SIZES_MOST],
		      struct err *e)
{
	int n = 0;

	for (unsigned i = 0; i < count; i++)
		for (const char *s = given[i]; *s;) {
			size_t len = strcspn(s, ",");

			if (n == LOGCA_SIZES_MOST)
				return err_set(e, -EINVAL, "more than %d sizes", LOGCA_SIZES_MOST);
			if (parse_size(s, len, &g[n++]))
				return err_set(e, -EINVAL, "--size wants sizes such as 4096, 64K or 2M, not '%.*s'",
					       (int)(len < 40 ? len : 40), s);
			s += len + (s[len] == ',');
		}
	if (!n) /* the paper's ticks */
		for (double at = exp2(ceil(log2(lo) - 1e-9)); at <= hi * (1 + 1e-9) && n < LOGCA_SIZES_MOST; at *= 8)
			g[n++] = at;
	return n;
}

int logca_change(const char *text, struct logca *p, struct err *e)
{
	const struct {
		const char *name;
		double *at;
	} field[] = {
		{ "L", &p->L }, { "o", &p->o }, { "C", &p->C }, { "A", &p->A }, { "beta", &p->beta }, { "t0", &p->t0 },
	};

	for (const char *s = text; *s;) {
		size_t len = strcspn(s, ","), name = strcspn(s, "=*/,"), i;
		char value[64], *end;
		double v;

		for (i = 0; i < sizeof(field) / sizeof(field[0]); i++)
			if (strlen(field[i].name) == name && !memcmp(field[i].name, s, name))
				break;
		if (i == sizeof(field) / sizeof(field[0]) || name >= len || len - name - 1 >= sizeof(value))
			return err_set(e, -EINVAL, "--change wants things like L/10, A*2 or o=0, not '%.*s'",
				       (int)(len < 40 ? len : 40), s);
		memcpy(value, s + name + 1, len - name - 1);
		value[len - name - 1] = 0;
		v = strtod(value, &end);
		if (s[name] == '/' && v == 0 && end != value)
			return err_set(e, -EINVAL, "--change: %.*s cannot be divided by 0; %.*s=0 takes it away",
				       (int)name, s, (int)name, s);
		if (*end || end == value || !(v >= 0))
			return err_set(e, -EINVAL, "--change: '%s' is no number of 0 or more", value);
		*field[i].at = s[name] == '=' ? v : s[name] == '*' ? *field[i].at * v : *field[i].at / v;
		s += len + (s[len] == ',');
	}
	return logca_check(p, e);
}
