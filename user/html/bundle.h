/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page's script and style as html.mk bundles them, with the digests that its content security policy names.
 * Without the packages that bundling takes, they are empty. Included by user/html and the commands that say so (cli
 * and tests).
 */
#ifndef ACCPERF_HTML_BUNDLE_H
#define ACCPERF_HTML_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>

struct html_bundle {
	const unsigned char *script, *style; /* no NUL at their end */
	size_t script_len, style_len;
	const char *script_sha256, *style_sha256; /* base64 */
};

extern const struct html_bundle html_bundle;

#define HTML_NEEDS "esbuild and node-d3"

static inline bool html_bundled(void)
{
	return html_bundle.script_len;
}

#endif
