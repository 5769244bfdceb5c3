// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf demo: a command to begin with (user/command/command.h), about a section to begin with. */
#include <inttypes.h>

#include "command/command.h"
#include "command/pager.h"
#include "profile/walk.h"
#include "store/demo.h"
#include "store/write.h"
#include "util/json.h"

struct demo_cmd {
	const char *input, *write;
	bool json;
};

static const struct demo_cmd defaults = { .input = "accperf.data" };

#define AT(field) .offset = offsetof(struct demo_cmd, field)
static const struct opt options[] = { { OPT_STRING, 'i', "input", AT(input), .arg = "FILE",
					.help = "the profile (accperf.data)" },
				      { OPT_STRING, 0, "write", AT(write), .arg = "FILE", .help = "write one instead" },
				      { OPT_BOOL, 0, "json", AT(json), .help = "print accperf.demo/1" },
				      OPT_END };

static int write_profile(const char *path, struct err *e)
{
	struct store_writer *w = store_create(path, 0, e);
	struct fmt_demo d = { .number = 42 };
	struct fmt_end end = { .reason = FMT_END_DONE };

	if (!w)
		return e->code;
	store_put(w, FMT_DEMO, &d, sizeof(d));
	store_put(w, FMT_END, &end, sizeof(end));
	return store_close(w, e);
}

static int take_demo(void *ctx, const void *rec, size_t size)
{
	const struct fmt_demo *d = rec;

	*(uint64_t *)ctx += d->number;
	return 0;
}

static const struct section_row rows[] = { { FMT_DEMO, sizeof(struct fmt_demo), take_demo, NULL } };

static int read_profile(const char *path, uint64_t *sum, struct err *e)
{
	struct section_reader reader = SECTION_READER(rows, sum);
	struct store_reader *r = store_open(path, e);
	int err = r ? sections_walk(r, &reader, 1, e) : e->code;

	store_reader_free(r);
	return err;
}

static int cmd_demo(void *opts, int argc, char **argv)
{
	const struct demo_cmd *o = opts;
	uint64_t sum = 0;
	struct err e = { 0 };
	AUTO_BUF(out);

	if (o->write)
		return write_profile(o->write, &e) ? cli_fail(&e, EXIT_FAILED) : EXIT_DONE;
	if (read_profile(o->input, &sum, &e))
		return cli_fail(&e, EXIT_FAILED);
	if (o->json) {
		struct json j = { .out = &out };

		json_obj(&j, NULL);
		json_str(&j, "schema", "accperf.demo/1");
		json_u64(&j, "sum", sum);
		json_end(&j);
		buf_addch(&out, '\n');
	} else {
		buf_addf(&out, "%" PRIu64 "\n", sum);
	}
	return pager_write(&out, !o->json, &e) ? cli_fail(&e, EXIT_FAILED) : EXIT_DONE;
}

static const struct cli_schema schemas[] = {
	{ "demo",
	  "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.demo/1\",\"type\":\"object\","
	  "\"required\":[\"schema\",\"sum\"],\"properties\":{\"schema\":{\"const\":\"accperf.demo/1\"},"
	  "\"sum\":{\"type\":\"integer\"}}}" },
	{ 0 }
};

CLI_COMMAND(demo) = {
	.name = "demo",
	.summary = "a demonstration of how to add a command",
	.order = 99,
	.run = cmd_demo,
	.files_only = true,
	.options = options,
	.opt_size = sizeof(struct demo_cmd),
	.defaults = &defaults,
	.usage = "[options]",
	.details = "Adds the numbers up that a profile holds.",
	.examples = "accperf demo --write x.data\tA profile with such a number\n",
	.schemas = schemas,
};
