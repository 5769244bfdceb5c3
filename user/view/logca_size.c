// SPDX-License-Identifier: GPL-2.0-or-later
/* How a size in bytes and a parameter's letters read in views of LogCA. */
#include <math.h>

#include "view/logca.h"

void logca_size(struct buf *b, double g)
{
	static const char *const units[] = { "B", "KB", "MB", "GB", "TB" };
	unsigned u = 0;

	if (isnan(g)) {
		buf_addstr(b, "unknown");
		return;
	}
	if (!isfinite(g) || g < .01 || g >= 1024. * 1024 * 1024 * 1024 * 1024) {
		buf_addf(b, isfinite(g) ? "%.2g B" : "no bound", g);
		return;
	}
	for (; g >= 1024 && u < 4; u++)
		g /= 1024;
	if (fabs(g - round(g)) < 1e-9 * g && g < 1024) /* exp(ln 16) is 16 B */
		buf_addf(b, "%.0f %s", g, units[u]);
	else
		buf_addf(b, g < 10 ? "%.2f %s" : g < 100 ? "%.1f %s" : "%.0f %s", g, units[u]);
}

void logca_letters(const struct logca *p, double g, char letters[LOGCA_LETTERS + 1])
{
	int n = 0;

	for (int i = 0; i < LOGCA_LETTERS; i++)
		if (logca_gain(p, (enum logca_letter)i, LOGCA_IMPROVE, g) >= LOGCA_RATIO)
			letters[n++] = LOGCA_LETTER_NAMES[i];
	letters[n] = 0;
}
