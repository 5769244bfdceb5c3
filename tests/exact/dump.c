// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The exact sections of a profile as the lines that lackey.c prints, for t-exact-lackey.sh. Functions
 * outside the program's own file are folded to [file], as lackey --fold does.
 *
 *     dump [--stack include|exclude] PROFILE MAIN
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow/estimators.h"

static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Name and object as two columns. */
static void name(const struct flow_func *fn, const char *main_object)
{
	const char *object = base(fn->object);

	if (fn->name[0] == '(' || !strcmp(object, main_object))
		printf("\t%s\t%s", fn->name, object);
	else
		printf("\t[%s]\t%s", object, object);
}

static void figure(double v)
{
	if (isnan(v))
		printf("\t-");
	else
		printf("\t%.0f", v);
}

/* `subtree NAME in out local`, bytes and unique addresses of each, without or with the stack. */
static void subtrees(const char *path, bool stack)
{
	struct err e = { 0 };
	struct store_reader *r = store_open(path, &e);
	struct store_chunk c;
	struct map names = { 0 };

	for (int pass = 0; r && pass < 2; pass++, store_rewind(r))
		while (store_next(r, &c, &e) > 0)
			for (uint32_t i = 0; i < c.count; i++)
				if (!pass && c.section == FMT_FUNCTION) {
					struct fmt_function f;

					store_rec(&c, i, &f, sizeof(f));
					*map_put(&names, f.id, NULL) = f.name;
				} else if (pass && c.section == FMT_X_SUBTREE) {
					struct fmt_x_subtree s;
					const uint64_t *name;

					store_rec(&c, i, &s, sizeof(s));
					name = map_get(&names, s.function);
					printf("subtree\t%s", name ? store_str(r, (uint32_t)*name) : "(unknown)");
					printf("\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64, s.in[0] + stack * s.in[1],
					       s.out[0] + stack * s.out[1], s.local[0] + stack * s.local[1]);
					if (!stack)
						printf("\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64, s.in_unique[0],
						       s.out_unique[0], s.local_unique[0]);
					printf("\n");
				}
	map_release(&names);
	store_reader_free(r);
}

int main(int argc, char **argv)
{
	struct est_opts o = EST_OPTS_DEFAULT;
	struct flow_input in;
	struct err e = { 0 };
	const char *main_object;

	o.stack = true;
	if (argc > 2 && !strcmp(argv[1], "--stack")) {
		o.stack = strcmp(argv[2], "exclude");
		argc -= 2;
		argv += 2;
	}
	if (argc != 3) {
		fprintf(stderr, "usage: dump [--stack include|exclude] PROFILE MAIN\n");
		return 2;
	}
	main_object = base(argv[2]);
	if (flow_input_load(&in, argv[1], NULL, &e)) {
		fprintf(stderr, "dump: %s\n", e.text);
		return 1;
	}
	printf("total\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", in.x_run.counted,
	       in.x_run.loads, in.x_run.stores, in.x_run.load_bytes, in.x_run.store_bytes);
	for (int sem = FLOW_QUAD; sem <= FLOW_KE; sem++) {
		struct flow f;

		o.ke = sem == FLOW_KE;
		if (!(in.x_run.has & (o.ke ? FMT_X_HAS_KE : FMT_X_HAS_QUAD)))
			continue;
		if (flow_estimate(&in, "exact", &o, &f, &e)) {
			fprintf(stderr, "dump: %s\n", e.text);
			return 1;
		}
		for (uint32_t i = 0; sem == FLOW_QUAD && i < f.func_count; i++) {
			const struct flow_func *fn = &f.funcs[i];

			printf("fn");
			name(fn, main_object);
			figure(fn->instructions);
			figure(fn->loads);
			figure(fn->stores);
			figure(fn->load_bytes);
			figure(fn->store_bytes);
			figure(fn->in);
			figure(fn->in_uma);
			figure(fn->out_uma);
			figure(fn->calls);
			figure(fn->compute);
			printf("\n");
		}
		for (size_t i = 0; i < f.edge_count; i++) {
			const struct flow_edge *x = &f.edges[i];

			printf("%s", sem == FLOW_QUAD ? "quad" : "ke");
			name(&f.funcs[x->producer], main_object);
			name(&f.funcs[x->consumer], main_object);
			figure(sem == FLOW_QUAD ? x->bytes : x->bytes / in.x_run.chunk);
			figure(x->unique);
			printf("\n");
		}
		flow_release(&f);
	}
	flow_input_release(&in);
	subtrees(argv[1], o.stack);
	return 0;
}
