// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * AES and SHA instructions, through OpenSSL with and without them. libcrypto chooses its code when it
 * is loaded, by OPENSSL_ia32cap, so each side is measured in a process of its own: this program again,
 * as `accperf calibrate --measure NAME,RUN`. That the other code really runs is checked by counting
 * the opcodes of one call, not by its speed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "offload/calib.h"

/* What an instruction count must show. */
enum path { ANY, NO_AES, VPAES, SCALAR_AES, AES, AES_CLMUL, NO_SHA, SHA_VEX, SHA_SCALAR, SHA };

static const struct calib_openssl_variant {
	const char *name, *kernel, *cap, *baseline;
	enum path host, accel;
} variants[] = {
	{ "aes-cbc/vpaes", "CBC", "~0x200000200000000:~0x0", "vector permutations (vpaes)", VPAES, AES },
	{ "aes-cbc/scalar", "CBC", "~0x200020200000000:~0x0", "scalar tables", SCALAR_AES, AES },
	{ "aes-ctr/bsaes", "CTR", "~0x200000200000000:~0x0", "bit slices (bsaes)", NO_AES, AES },
	{ "aes-ctr/scalar", "CTR", "~0x200020200000000:~0x0", "scalar tables", SCALAR_AES, AES },
	{ "aes-gcm/scalar", "GCM", "~0x200020200000000:~0x0", "scalar tables", SCALAR_AES, AES_CLMUL },
	{ "sha256/avx2", "SHA", ":~0x20000000", "AVX2 code", SHA_VEX, SHA },
	{ "sha256/scalar", "SHA", "~0x1000020000000000:~0x20000020", "scalar code", SHA_SCALAR, SHA },
};
#define COUNTED 2048 /* bytes of the call whose opcodes are counted */
#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

static const char *const names[] = { "libcrypto.so.3", "libcrypto.so.1.1", NULL };

struct crypto {
	void *lib;
	void *(*cipher_new)(void), *(*md_new)(void);
	void (*cipher_free)(void *), (*md_free)(void *);
	const void *(*cbc)(void), *(*ctr)(void), *(*gcm)(void), *(*sha)(void);
	int (*init)(void *, const void *, void *, const uint8_t *, const uint8_t *);
	int (*update)(void *, uint8_t *, int *, const uint8_t *, int);
	int (*final)(void *, uint8_t *, int *);
	int (*md_init)(void *, const void *, void *);
	int (*md_update)(void *, const void *, size_t);
	int (*md_final)(void *, uint8_t *, unsigned *);
	const char *(*version)(int);
	const char *(*info)(int);
	void *ctx;
	uint8_t *out;
	const void *md;
	char kernel;
	const uint8_t *in; /* of the counted call */
	size_t g;
};

static int openssl_list(struct calib_cases *out, struct err *e)
{
	char why[256] = "", version[128] = "";
	void *lib = calib_library(names, "libssl3", why, sizeof(why));
	const char *(*text)(int) = lib ? (const char *(*)(int))dlsym(lib, "OpenSSL_version") : NULL;

	snprintf(version, sizeof(version), "%s", text ? text(0) : "");
#ifndef __x86_64__
	snprintf(why, sizeof(why), "OPENSSL_ia32cap masks x86 instruction sets only");
#endif
	for (size_t i = 0; i < VARIANTS; i++) {
		struct calib_case *c = calib_add(out, &calib_openssl, variants[i].name);

		if (!c)
			return err_set(e, -ENOMEM, "out of memory");
		c->variant = (int)i;
		snprintf(c->device, sizeof(c->device), "%s instructions", variants[i].kernel[0] == 'S' ? "SHA" : "AES");
		snprintf(c->baseline, sizeof(c->baseline), "%s (OPENSSL_ia32cap=%s)", variants[i].baseline,
			 variants[i].cap);
		snprintf(c->driver, sizeof(c->driver), "%s", version);
		snprintf(c->missing, sizeof(c->missing), "%s", why);
	}
	if (lib)
		dlclose(lib);
	return 0;
}

static int find_openssl_functions(struct crypto *p, struct err *e)
{
	const struct {
		const char *name;
		void **at;
		bool optional;
	} need[] = {
		{ "EVP_CIPHER_CTX_new", (void **)&p->cipher_new, false },
		{ "EVP_CIPHER_CTX_free", (void **)&p->cipher_free, false },
		{ "EVP_MD_CTX_new", (void **)&p->md_new, false },
		{ "EVP_MD_CTX_free", (void **)&p->md_free, false },
		{ "EVP_aes_128_cbc", (void **)&p->cbc, false },
		{ "EVP_aes_128_ctr", (void **)&p->ctr, false },
		{ "EVP_aes_128_gcm", (void **)&p->gcm, false },
		{ "EVP_sha256", (void **)&p->sha, false },
		{ "EVP_EncryptInit_ex", (void **)&p->init, false },
		{ "EVP_EncryptUpdate", (void **)&p->update, false },
		{ "EVP_EncryptFinal_ex", (void **)&p->final, false },
		{ "EVP_DigestInit_ex", (void **)&p->md_init, false },
		{ "EVP_DigestUpdate", (void **)&p->md_update, false },
		{ "EVP_DigestFinal_ex", (void **)&p->md_final, false },
		{ "OpenSSL_version", (void **)&p->version, true },
		{ "OPENSSL_info", (void **)&p->info, true },
	};
	char why[200] = "";

	p->lib = calib_library(names, "libssl3", why, sizeof(why));
	if (!p->lib)
		return err_set(e, -ENOTSUP, "%s", why);
	for (size_t i = 0; i < sizeof(need) / sizeof(need[0]); i++) {
		*need[i].at = dlsym(p->lib, need[i].name);
		if (!*need[i].at && !need[i].optional)
			return err_set(e, -ENOTSUP, "libcrypto lacks %s", need[i].name);
	}
	return 0;
}

static const uint8_t key[16] = "accperf key 0123", iv[16] = "accperf iv 01234";

static int start_cipher(struct crypto *p)
{
	const void *cipher = p->kernel == 'B' ? p->cbc() : p->kernel == 'T' ? p->ctr() : p->gcm();

	p->ctx = p->cipher_new();
	return p->ctx && p->init(p->ctx, cipher, NULL, key, iv) == 1 ? 0 : -1;
}

static int once(struct crypto *p, const uint8_t *in, size_t g)
{
	unsigned digest_size = 0;
	int n = 0, rest = 0;

	if (p->kernel == 'S')
		return p->md_init(p->ctx, p->md, NULL) == 1 && p->md_update(p->ctx, in, g) == 1 &&
				       p->md_final(p->ctx, p->out, &digest_size) == 1
			       ? 0
			       : -EIO;
	if (p->kernel == 'G')
		return p->init(p->ctx, NULL, NULL, NULL, iv) == 1 && p->update(p->ctx, p->out, &n, in, (int)g) == 1 &&
				       p->final(p->ctx, p->out + n, &rest) == 1
			       ? 0
			       : -EIO;
	return p->update(p->ctx, p->out, &n, in, (int)g) == 1 ? 0 : -EIO;
}

static void run_once(void *arg)
{
	struct crypto *p = arg;

	(void)once(p, p->in, p->g);
}

static int openssl_open(struct calib_session *s, struct err *e)
{
	struct crypto *p = calloc(1, sizeof(*p));
	struct calib_opcodes n;
	struct err why;
	size_t room;
	int err;

	s->priv = p;
	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	err = find_openssl_functions(p, e);
	if (err)
		return err;
	p->kernel = variants[s->c->variant].kernel[0] == 'C' ? variants[s->c->variant].kernel[1]
							     : variants[s->c->variant].kernel[0];
	room = (s->opts->max > COUNTED ? s->opts->max : COUNTED) / 8 * 9 + 80;
	p->out = calloc(1, room);
	if (!p->out)
		return err_set(e, -ENOMEM, "not enough memory for the output; lower --max");
	memset(p->out, 1, room); /* pages present */
	if (p->kernel == 'S') {
		p->ctx = p->md_new();
		p->md = p->sha();
	} else if (start_cipher(p)) {
		return err_set(e, -EIO, "libcrypto refuses to set the cipher up");
	}
	p->in = s->pool;
	p->g = COUNTED;
	/* the parent judges: notes of this form are its own affair, see measure() */
	if (s->opts->path_known)
		return 0;
	if (calib_count_opcodes(run_once, p, &n, &why))
		calib_note(s, "path unknown: %s", why.text);
	else
		calib_note(s, "path %llu %llu %llu %llu %llu %llu %llu %llu", (unsigned long long)n.total,
			   (unsigned long long)n.aesenc, (unsigned long long)n.vaesenc, (unsigned long long)n.pclmul,
			   (unsigned long long)n.vpclmul, (unsigned long long)n.sha256, (unsigned long long)n.pshufb,
			   (unsigned long long)n.vex);
	if (p->info && p->info(1008 /* OPENSSL_INFO_CPU_SETTINGS */))
		calib_note(s, "caps %s", p->info(1008));
	return 0;
}

static int openssl_call(struct calib_session *s, enum run_kind k, const uint8_t *in, size_t g)
{
	return once(s->priv, in, g); /* which side this is was decided by the environment */
}

static void openssl_close(struct calib_session *s)
{
	struct crypto *p = s->priv;

	if (!p)
		return;
	if (p->ctx && p->kernel == 'S')
		p->md_free(p->ctx);
	else if (p->ctx)
		p->cipher_free(p->ctx);
	free(p->out);
	free(p); /* libcrypto stays: it registers exit handlers */
}

static const char *wrong_path(enum path want, const struct calib_opcodes *n)
{
	uint64_t aes = n->aesenc + n->vaesenc, some = n->total / 25; /* less is memcpy's */

	switch (want) {
	case NO_AES: return aes ? "still executes AES instructions" : NULL;
	case VPAES:
		return aes                ? "still executes AES instructions"
		       : n->pshufb < some ? "does not run the vector permutations"
					  : NULL;
	case SCALAR_AES:
		return aes                ? "still executes AES instructions"
		       : n->pshufb > some ? "still runs vector permutations"
					  : NULL;
	case AES: return aes ? NULL : "executes no AES instruction: this processor or the environment lacks them";
	case AES_CLMUL:
		return !aes                     ? "executes no AES instruction"
		       : n->pclmul + n->vpclmul ? NULL
						: "executes no carry-less multiplication";
	case NO_SHA: return n->sha256 ? "still executes SHA instructions" : NULL;
	case SHA_VEX:
		return n->sha256 ? "still executes SHA instructions" : n->vex < some ? "does not run AVX code" : NULL;
	case SHA_SCALAR:
		return n->sha256 ? "still executes SHA instructions" : n->vex > some ? "still runs AVX code" : NULL;
	case SHA: return n->sha256 ? NULL : "executes no SHA instruction: this processor or the environment lacks them";
	case ANY: break;
	}
	return NULL;
}

static int judge_worker_line(struct calib_session *s, enum run_kind k, const char *line, struct err *e)
{
	const struct calib_openssl_variant *v = &variants[s->c->variant];
	struct calib_opcodes n = { 0 };
	unsigned long long c[8];
	const char *why;

	if (sscanf(line, "path %llu %llu %llu %llu %llu %llu %llu %llu", &c[0], &c[1], &c[2], &c[3], &c[4], &c[5],
		   &c[6], &c[7]) != 8) {
		calib_note(s, "%s: which code ran could not be verified (%s)", run_kind_str(k), line);
		return 0;
	}
	n = (struct calib_opcodes){ .total = c[0],
				    .aesenc = c[1],
				    .vaesenc = c[2],
				    .pclmul = c[3],
				    .vpclmul = c[4],
				    .sha256 = c[5],
				    .pshufb = c[6],
				    .vex = c[7] };
	why = wrong_path(k == RUN_HOST ? v->host : v->accel, &n);
	if (why)
		return err_set(e, -ENOTSUP,
			       "%s: the %s run %s, by its opcodes; OPENSSL_ia32cap is read differently here",
			       s->c->name, run_kind_str(k), why);
	calib_note(
		s,
		"%s, 2 KB: %llu instructions, of them aesenc %llu, vaesenc %llu, clmul %llu, sha256rnds2 %llu, pshufb %llu, VEX %llu",
		run_kind_str(k), c[0], c[1], c[2], c[3] + c[4], c[5], c[6], c[7]);
	return 0;
}

#define TURNS 3 /* in which the work is done; by hand */

static int spawn(const char *const *argv, const char *cap, pid_t *pid, struct err *e)
{
	int fd[2];

	if (pipe2(fd, O_CLOEXEC))
		return err_set(e, -errno, "cannot make a pipe: %s", strerror(errno));
	*pid = fork();
	if (*pid == 0) {
		if (cap)
			setenv("OPENSSL_ia32cap", cap, 1);
		else
			unsetenv("OPENSSL_ia32cap");
		dup2(fd[1], STDOUT_FILENO);
		execv("/proc/self/exe", (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	close(fd[1]);
	if (*pid < 0) {
		close(fd[0]);
		return err_set(e, -errno, "cannot start another copy of this program: %s", strerror(errno));
	}
	return fd[0];
}

static int measure_in_child(struct calib_session *s, enum run_kind k, unsigned count, bool first, struct err *e)
{
	char what[128], min[32], max[32], calls[32], limit[32], block[65536];
	const char *argv[] = { "accperf",
			       "calibrate",
			       "--measure",
			       what,
			       "--min",
			       min,
			       "--max",
			       max,
			       "--calls",
			       calls,
			       "--seconds",
			       limit,
			       s->opts->same_input ? "--same-input" : NULL,
			       NULL };
	struct points side = { 0 };
	char *text = NULL, *line, *rest;
	size_t len = 0, size;
	FILE *f;
	pid_t pid = -1;
	int fd, status = 0, err = 0;

	if (s->opts->progress)
		s->opts->progress(s->opts->ctx, s->c, 0, k);
	snprintf(what, sizeof(what), "%s,%s%s", s->c->name, run_kind_str(k), first ? "" : ",again");
	snprintf(min, sizeof(min), "%zu", s->opts->min);
	snprintf(max, sizeof(max), "%zu", s->opts->max);
	snprintf(calls, sizeof(calls), "%u", count);
	snprintf(limit, sizeof(limit), "%.0f",
		 s->opts->limit > 0 ? ceil(s->opts->limit / 2 * count / s->opts->calls) : 0);
	fd = spawn(argv, k == RUN_HOST ? variants[s->c->variant].cap : NULL, &pid, e);
	if (fd < 0)
		return fd;
	f = open_memstream(&text, &len);
	for (ssize_t n; f && (n = read(fd, block, sizeof(block))) > 0;)
		fwrite(block, 1, (size_t)n, f);
	close(fd);
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
		err = err_set(e, -EIO, "%s: the process that measures the %s side failed", s->c->name, run_kind_str(k));
	if (!f || fclose(f))
		err = err_set(e, -ENOMEM, "out of memory");
	if (!err)
		err = points_parse_csv(&side, text, len, e);
	for (size_t i = 0; !err && i < side.run[k].count; i++)
		err = points_add(s->pts, k, side.run[k].at[i].g, side.run[k].at[i].t, side.run[k].at[i].switched, e);
	points_release(&side);
	for (line = text; !err && line && *line == '#'; line = rest) {
		rest = strchr(line, '\n');
		if (rest)
			*rest++ = 0;
		size = strlen(line);
		if (!first)
			continue;
		if (size > 2 && !strncmp(line + 2, "path", 4))
			err = judge_worker_line(s, k, line + 2, e);
		else if (size > 2 && strncmp(line + 2, "caps", 4))
			calib_note(s, "%s: %s", run_kind_str(k), line + 2);
	}
	free(text);
	return err;
}

static int openssl_measure(struct calib_session *s, struct err *e)
{
	int err = 0;

	/* In turns, so that a machine that gets slower meanwhile does so for both. */
	for (unsigned turn = 0, left = s->opts->calls; left && !err; turn++) {
		unsigned count = turn < TURNS - 1 ? (left + TURNS - turn - 1) / (TURNS - turn) : left;

		err = measure_in_child(s, RUN_HOST, count, turn == 0, e);
		if (!err)
			err = measure_in_child(s, RUN_ACCEL, count, turn == 0, e);
		left -= count;
	}
	return err;
}

const struct calib_family calib_openssl = {
	.name = "openssl",
	.summary = "AES and SHA instructions, through OpenSSL with and without them",
	.list = openssl_list,
	.open = openssl_open,
	.any_size = true,
	.call = openssl_call,
	.close = openssl_close,
	.measure = openssl_measure,
};
