// SPDX-License-Identifier: GPL-2.0-or-later
/* The end of every picture: rules that give its colours dark counterparts where the reader's page is dark. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/svg.h"

#define COLOURS_MOST 64 /* of one picture; further ones stay as they are; by hand */
#define TOKEN_MOST 32   /* bytes: stroke="#aabbcc" has 16 */

static double hue_part(double p, double q, double t)
{
	t -= floor(t);
	return t < 1 / 6. ? p + (q - p) * 6 * t : t < .5 ? q : t < 2 / 3. ? p + (q - p) * (2 / 3. - t) * 6 : p;
}

/* The same hue, dark where it was light: white becomes the page's ground, black nearly white. */
static void dark_counterpart(const double rgb[3], char out[8])
{
	double hi = fmax(rgb[0], fmax(rgb[1], rgb[2])), lo = fmin(rgb[0], fmin(rgb[1], rgb[2])), d = hi - lo;
	double light = (hi + lo) / 2, hue = 0, full = d > 0 ? d / (1 - fabs(2 * light - 1)) : 0, p, q, of[3];

	if (d > 0)
		hue = (hi == rgb[0]   ? (rgb[1] - rgb[2]) / d
		       : hi == rgb[1] ? (rgb[2] - rgb[0]) / d + 2
				      : (rgb[0] - rgb[1]) / d + 4) /
		      6;
	light = .92 - .83 * light;
	full *= .75;
	q = light < .5 ? light * (1 + full) : light + full - light * full;
	p = 2 * light - q;
	for (int i = 0; i < 3; i++)
		of[i] = 255 * hue_part(p, q, hue + (1 - i) / 3.);
	snprintf(out, 8, "#%02x%02x%02x", (unsigned)lround(of[0]) & 255, (unsigned)lround(of[1]) & 255,
		 (unsigned)lround(of[2]) & 255);
}

/* "#eee", "#0072b2", "rgb(1,2,3)", "white", "black": how many characters it has; 0: something else. */
static size_t read_colour(const char *s, double rgb[3])
{
	unsigned v[3];
	int n = 0;

	if (!strncmp(s, "white", 5) || !strncmp(s, "black", 5)) {
		rgb[0] = rgb[1] = rgb[2] = *s == 'w';
		return 5;
	}
	if (sscanf(s, "rgb(%3u,%3u,%3u)%n", &v[0], &v[1], &v[2], &n) != 3 || !n) {
		size_t digits = *s == '#' ? strspn(s + 1, "0123456789abcdefABCDEF") : 0;

		if (digits == 6)
			sscanf(s + 1, "%2x%2x%2x", &v[0], &v[1], &v[2]);
		else if (digits == 3)
			sscanf(s + 1, "%1x%1x%1x", &v[0], &v[1], &v[2]);
		else
			return 0;
		for (int i = 0; i < 3 && digits == 3; i++)
			v[i] *= 17;
		n = (int)digits + 1;
	}
	for (int i = 0; i < 3; i++)
		rgb[i] = v[i] > 255 ? 1 : v[i] / 255.;
	return (size_t)n;
}

void svg_dark_rules(struct buf *out, const char *rules)
{
	buf_addstr(out, "@media screen and (prefers-color-scheme:dark){");
	while (*rules) {
		double rgb[3];
		char dark[8];
		size_t n = *rules == '#' ? read_colour(rules, rgb) : 0;

		if (n) {
			dark_counterpart(rgb, dark);
			buf_addstr(out, dark);
			rules += n;
		} else {
			buf_addch(out, *rules++);
		}
	}
	buf_addstr(out, "}");
}

struct seen_colours {
	char token[COLOURS_MOST][TOKEN_MOST]; /* fill="#eee" */
	unsigned count;
};

/* A rule for each colour that an attribute of the picture has; those beyond the most stay as they are. */
static void attribute_rules(const char *from, const char *name, struct seen_colours *seen, struct buf *rules)
{
	size_t len = strlen(name);

	for (const char *at = strstr(from, name); at; at = strstr(at + len, name)) {
		char token[TOKEN_MOST], dark[8];
		double rgb[3];
		size_t n = read_colour(at + len, rgb);
		unsigned i = 0;

		if (!n || at[len + n] != '"' || len + n + 2 > sizeof(token) || seen->count == COLOURS_MOST)
			continue;
		snprintf(token, sizeof(token), "%.*s", (int)(len + n + 1), at);
		while (i < seen->count && strcmp(seen->token[i], token))
			i++;
		if (i < seen->count)
			continue;
		memcpy(seen->token[seen->count++], token, sizeof(token));
		dark_counterpart(rgb, dark);
		buf_addf(rules, "[%s]{%.*s:%s}", token, (int)len - 2, name, dark);
	}
}

void svg_end(struct buf *out)
{
	struct seen_colours seen = { .count = 0 };
	const char *from;
	AUTO_BUF(rules);

	buf_addch(out, 0); /* a text for strstr() */
	if (buf_failed(out))
		return;
	out->len--;
	from = out->data;
	for (const char *next = from; (next = strstr(next, "<svg ")); next++)
		from = next;
	attribute_rules(from, "fill=\"", &seen, &rules);
	attribute_rules(from, "stroke=\"", &seen, &rules);
	buf_addf(out, "<style>@media screen and (prefers-color-scheme:dark){text{fill:#eaeaea}%s}</style>\n</svg>\n",
		 rules.data ? rules.data : "");
}

void svg_adopt(struct buf *out)
{
	const char *end = NULL;

	buf_addch(out, 0);
	if (buf_failed(out))
		return;
	out->len--;
	for (const char *next = out->data; (next = strstr(next, "</svg>")); next++)
		end = next;
	if (!end)
		return;
	out->len = (size_t)(end - out->data);
	svg_end(out);
}
