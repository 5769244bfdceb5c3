/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call frame information: .eh_frame or .debug_frame of one module as an index of functions sorted
 * by address, and the unwind rules that hold at an address, computed on demand (a row of the table
 * that the frame program describes; unwind.c caches rows). Compact: 12 bytes a function beside the
 * section itself. The input is untrusted: every read is bounded, nonsense ends in "no rule".
 * Register numbers are DWARF's, so nothing here knows an architecture. Included by symbol, profile, flow, record and
 * tests.
 *
 * To support another frame instruction: one case in cfi_run() of ehframe.c, a case in u-unwind.c.
 */
#ifndef ACCPERF_PROC_EHFRAME_H
#define ACCPERF_PROC_EHFRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CFI_REGS 33 /* x86-64 uses 0..16; arm64 0..31 and 32 for pc */

enum cfi_how {
	CFI_SAME = 0, /* also "no rule": the callee keeps it, or nobody needs it */
	CFI_UNDEFINED,
	CFI_AT_CFA,   /* saved at CFA + value */
	CFI_CFA_PLUS, /* is CFA + value */
	CFI_REGISTER, /* is in register `value` */
	CFI_AT_EXPR,  /* saved at the address that the expression at `value` gives */
	CFI_EXPR,     /* is what the expression gives */
};

struct cfi_rule {
	uint32_t how;
	int32_t value; /* expressions: offset of ULEB length + bytes in the section */
};

struct cfi_row {
	uint64_t start, end; /* function */
	uint32_t cfa_reg;
	int64_t cfa_offset;
	bool cfa_is_expr; /* then cfa_offset is the expression's offset */
	bool signal;      /* a signal trampoline: its caller was interrupted, not calling */
	uint32_t ra_reg;  /* column of the return address */
	struct cfi_rule reg[CFI_REGS];
};

struct ehframe_input {
	uint8_t *data; /* taken over: freed by ehframe_free(), also when parsing fails */
	size_t size;
	uint64_t vaddr;      /* of data */
	uint64_t text_vaddr; /* DW_EH_PE_textrel */
	uint64_t data_vaddr; /* DW_EH_PE_datarel */
	bool debug_frame;
	unsigned address_size; /* 8; 4 is read too */
	/* Pointers that are stored elsewhere in the image (DW_EH_PE_indirect); may be NULL. */
	bool (*read_pointer)(void *ctx, uint64_t vaddr, uint64_t *value);
	void *ctx;
};

struct ehframe;

/* NULL if there is no usable function in it. */
struct ehframe *ehframe_parse(struct ehframe_input *in);
void ehframe_free(struct ehframe *f);
size_t ehframe_count(const struct ehframe *f); /* for tests */
/* For tests: where function i begins, in address order. */
uint64_t ehframe_start(const struct ehframe *f, size_t i);
/* Bounds of the function around vaddr. */
bool ehframe_function(const struct ehframe *f, uint64_t vaddr, uint64_t *start, uint64_t *end);
/* Around vaddr, which is in none: the end of the function before and the start of the next, as far as there are any. */
void ehframe_between(const struct ehframe *f, uint64_t vaddr, uint64_t *end, uint64_t *start);
/* The rules at vaddr; false: no function there, or its program is not understood. */
bool ehframe_row(const struct ehframe *f, uint64_t vaddr, struct cfi_row *row);

/* Evaluates the DWARF expression at `offset`. `memory` reads 8 bytes of the target; false = stop. */
struct cfi_machine {
	const uint64_t *regs;
	uint64_t known; /* bit per register */
	unsigned reg_count;
	bool (*memory)(void *ctx, uint64_t addr, uint64_t *value);
	void *ctx;
};
bool ehframe_expr(const struct ehframe *f, int64_t offset, const struct cfi_machine *m, bool push_cfa, uint64_t cfa,
		  uint64_t *value);

#endif
