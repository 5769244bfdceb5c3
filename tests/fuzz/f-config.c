// SPDX-License-Identifier: GPL-2.0-or-later
/* A configuration of the daemon. What is refused has a line and a column in each of its lines, printable, and leaves
 * nothing; what is taken has services, each with a pattern, and limits within what the keys allow. */
/* harm: 13 kinds of wrong questions, 14 of files that are no configuration */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void judge_errors(char *text, unsigned count)
{
	char *line;
	unsigned n = 0;

	while ((line = strsep(&text, "\n"))) {
		char *end;

		if (!*line || !strncmp(line, "and ", 4))
			continue;
		n++;
		if (!isdigit((unsigned char)*line) || !strtoul(line, &end, 10) || *end != ':' ||
		    !strtoul(end + 1, &end, 10) || strncmp(end, ": ", 2) || strlen(end) < 9)
			abort();
		for (; *line; line++)
			if (iscntrl((unsigned char)*line))
				abort();
	}
	if (n != (count < 20 ? count : 20))
		abort();
}

static void judge_taken(const struct daemon_config *c)
{
	if (!c->service_count || !c->folder || *c->folder != '/' || !c->listen || c->budget < 0.0001 || c->budget > 1 ||
	    c->scan < 0.1 || c->segment_size > c->keep_size || !c->tls_cert != !c->tls_key)
		abort();
	for (size_t i = 0; i < c->service_count; i++) {
		const struct config_service *s = &c->services[i];

		if (!s->name || strchr(s->name, '/') || *s->name == '.' || !(s->weight > 0) || !(s->min_age >= 0) ||
		    !config_same_service(s, s))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct daemon_config c;
	AUTO_BUF(errors);
	unsigned n = config_parse((const char *)data, size, &c, &errors);

	buf_addch(&errors, 0);
	if (buf_failed(&errors))
		return 0;
	if (n)
		judge_errors(errors.data, n);
	else
		judge_taken(&c);
	if (n && (c.services || c.folder))
		abort();
	config_release(&c);
	return 0;
}
