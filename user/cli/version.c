// SPDX-License-Identifier: GPL-2.0-or-later
/* accperf version: the version and what is built in; touches nothing of the machine. */
#include <bpf/libbpf.h>
#include <elfutils/version.h>
#include <stdio.h>
#include <zlib.h>
#include <zstd.h>
#include <Zydis/Zydis.h>

#include "cli/built.h"
#include "command/command.h"
#include "command/pager.h"
#include "record/features.h"
#include "record/sources.h"
#include "util/json.h"

struct version_cmd {
	bool json;
};

static const struct opt options[] = { { OPT_BOOL, 0, "json", .offset = offsetof(struct version_cmd, json),
					.help = "print accperf.version/1" },
				      OPT_END };

static void libraries(char text[5][64])
{
	uint64_t z = ZydisGetVersion();

	snprintf(text[0], 64, "libbpf %s", libbpf_version_string());
	snprintf(text[1], 64, "elfutils %d.%d", _ELFUTILS_VERSION / 1000, _ELFUTILS_VERSION % 1000);
	snprintf(text[2], 64, "zstd %s", ZSTD_versionString());
	snprintf(text[3], 64, "Zydis %u.%u.%u", (unsigned)ZYDIS_VERSION_MAJOR(z), (unsigned)ZYDIS_VERSION_MINOR(z),
		 (unsigned)ZYDIS_VERSION_PATCH(z));
	snprintf(text[4], 64, "zlib %s", zlibVersion());
}

static void list_sources(struct buf *out, struct json *j, bool json)
{
	const struct source_row *row;

	if (json)
		json_arr(j, "sources");
	else
		buf_addstr(out, "\nsources of a recording:\n");
	for (unsigned i = 0; (row = sources_row(i)); i++) {
		if (json)
			json_str(j, NULL, row->source->name);
		else
			buf_addf(out, "       %-16s %s\n", row->source->name, row->source->summary);
	}
	if (json)
		json_end(j);
}

static int cmd_version(void *opts, int argc, char **argv)
{
	const struct version_cmd *o = opts;
	struct features f;
	char lib[5][64];
	struct err e = { 0 };
	AUTO_BUF(out);
	struct json j = { .out = &out };

	features_list(&f);
	libraries(lib);
	if (o->json) {
		json_obj(&j, NULL);
		json_str(&j, "schema", "accperf.version/1");
		json_str(&j, "version", ACCPERF_VERSION);
		json_arr(&j, "features");
	} else {
		buf_addf(&out, "accperf %s\n\nbuilt in (`accperf doctor` tells which of them work here):\n",
			 ACCPERF_VERSION);
	}
	for (size_t i = 0; i < f.count; i++) {
		bool built = feature_built(&f.f[i]);

		if (f.f[i].group == FEATURE_RIGHTS)
			continue;
		if (o->json) {
			json_obj(&j, NULL);
			json_str(&j, "name", f.f[i].name);
			json_bool(&j, "built", built);
			json_end(&j);
		} else {
			buf_addf(&out, "  %-4s %-16s %s\n", built ? "yes" : "no", f.f[i].name, f.f[i].title);
		}
	}
	if (o->json)
		json_end(&j);
	list_sources(&out, &j, o->json);
	if (o->json)
		json_arr(&j, "libraries");
	else
		buf_addstr(&out, "\nlibraries: ");
	for (int i = 0; i < 5; i++) {
		if (o->json)
			json_str(&j, NULL, lib[i]);
		else
			buf_addf(&out, "%s%s", i ? ", " : "", lib[i]);
	}
	if (o->json) {
		json_end(&j);
		json_end(&j);
	}
	buf_addch(&out, '\n');
	return pager_write(&out, false, &e) ? cli_fail(&e, EXIT_FAILED) : EXIT_DONE;
}

static const struct cli_schema schemas[] = {
	{ "version",
	  "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.version/1\",\"type\":\"object\","
	  "\"required\":[\"schema\",\"version\",\"features\",\"sources\",\"libraries\"],\"properties\":{"
	  "\"schema\":{\"const\":\"accperf.version/1\"},\"version\":{\"type\":\"string\"},"
	  "\"features\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\",\"built\"],"
	  "\"properties\":{\"name\":{\"type\":\"string\"},\"built\":{\"type\":\"boolean\"}}}},"
	  "\"sources\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
	  "\"libraries\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}}}" },
	{ 0 }
};

CLI_COMMAND(version) = {
	.name = "version",
	.summary = "the version and what is built in",
	.order = 90,
	.run = cmd_version,
	.options = options,
	.opt_size = sizeof(struct version_cmd),
	.usage = "[--json]",
	.details =
		"Lists the measuring features that this build has, by the names that `accperf doctor` uses, and the\n"
		"versions of the libraries it runs with.",
	.examples = "accperf version\tVersion, features, libraries\n",
	.schemas = schemas,
};
