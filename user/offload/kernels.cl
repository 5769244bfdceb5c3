/* SPDX-License-Identifier: GPL-2.0-or-later
 * What `accperf calibrate` gives a GPU to do: the same arithmetic as calib_host.c. Compiled by the
 * OpenCL driver at run time; scripts/make-ptx makes kernels.ptx of it for CUDA. */
#ifdef ACCPERF_PTX
#define ITEM(d) (d == 0 ? __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x() \
			: __nvvm_read_ptx_sreg_ctaid_y() * __nvvm_read_ptx_sreg_ntid_y() + __nvvm_read_ptx_sreg_tid_y())
#else
#define ITEM(d) ((uint)get_global_id(d))
#endif

kernel void accperf_vector(global const uint *in, global uint *out, uint n)
{
	uint i = ITEM(0), x, k = 0;

	if (i >= n)
		return;
	x = in[i];
	do {
		x = x * 1664525u + 1013904223u;
		k++;
	} while ((x >> 29) && k < 64);
	out[i] = x ^ k;
}

kernel void accperf_sgemm(global const float *a, global const float *b, global float *c, uint n)
{
	uint col = ITEM(0), row = ITEM(1);
	float sum = 0;

	if (col >= n || row >= n)
		return;
	for (uint k = 0; k < n; k++)
		sum += a[row * n + k] * b[k * n + col];
	c[row * n + col] = sum;
}

static uint mix_(uint x)
{
	x ^= x << 8 | x >> 24;
	x *= 0x9e3779b1u;
	return x ^ x >> 15;
}

kernel void accperf_cipher(global const uint *in, global uint *out, uint blocks)
{
	uint i = ITEM(0), s0, s1, s2, s3;

	if (i >= blocks)
		return;
	s0 = in[4 * i];
	s1 = in[4 * i + 1];
	s2 = in[4 * i + 2];
	s3 = in[4 * i + 3];
	for (uint r = 0; r < 10; r++) {
		uint t0 = mix_(s0 ^ (s1 + r)), t1 = mix_(s1 ^ (s2 + r)), t2 = mix_(s2 ^ (s3 + r));

		s3 = mix_(s3 ^ (s0 + r));
		s0 = t0;
		s1 = t1;
		s2 = t2;
	}
	out[4 * i] = s0;
	out[4 * i + 1] = s1;
	out[4 * i + 2] = s2;
	out[4 * i + 3] = s3;
}
