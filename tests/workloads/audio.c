// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Audio as a chain of blocks of 512 floats: oscillators, a four-section equaliser (biquads with state),
 * a 64-tap FIR, an FFT-based spectrum meter, an echo through a delay line of 16384 samples and a mixer
 * to 16 bits. Buffers are used again for every frame. SIZE = frames.
 */
#include <math.h>

#include "work.h"

#define BLOCK 512
#define TAPS 64
#define DELAY 16384

static float voice[3][BLOCK], mixed[BLOCK], equalised[BLOCK], filtered[BLOCK + TAPS], echoed[BLOCK], taps[TAPS];
static float delay_line[DELAY], spectrum_re[BLOCK], spectrum_im[BLOCK], twiddle_re[BLOCK / 2], twiddle_im[BLOCK / 2];
static float meter[BLOCK / 2], sine[1024];
static int16_t pcm[BLOCK];
static struct section {
	float b0, b1, b2, a1, a2, z1, z2;
} equaliser[4];
static uint32_t phase[3];
static unsigned int delay_at;

STEP static void make_tables(void)
{
	for (int i = 0; i < 1024; i++)
		sine[i] = sinf((float)i * 6.2831853f / 1024);
	for (int i = 0; i < BLOCK / 2; i++) {
		twiddle_re[i] = cosf((float)i * 6.2831853f / BLOCK);
		twiddle_im[i] = -sinf((float)i * 6.2831853f / BLOCK);
	}
	for (int i = 0; i < TAPS; i++) {
		float x = ((float)i - TAPS / 2 + 0.5f) * 0.7f;

		taps[i] = sinf(x) / x * 0.22f * (0.54f - 0.46f * cosf(6.2831853f * ((float)i + 0.5f) / TAPS));
	}
}

STEP static void reset_state(void)
{
	for (int i = 0; i < 4; i++)
		equaliser[i] = (struct section){ 0.9f, -0.3f + 0.1f * (float)i, 0.2f, -0.4f, 0.1f, 0, 0 };
	memset(delay_line, 0, sizeof(delay_line));
	memset(filtered, 0, sizeof(filtered));
	memset(meter, 0, sizeof(meter));
	memset(phase, 0, sizeof(phase));
	delay_at = 0;
}

STEP static void oscillate(int v, uint32_t step)
{
	for (int i = 0; i < BLOCK; i++) {
		phase[v] += step;
		voice[v][i] = sine[phase[v] >> 22];
	}
}

STEP static void mix_voices(void)
{
	for (int i = 0; i < BLOCK; i++)
		mixed[i] = 0.5f * voice[0][i] + 0.3f * voice[1][i] + 0.2f * voice[2][i];
}

STEP static void equalise(void)
{
	memcpy(equalised, mixed, sizeof(equalised));
	for (int s = 0; s < 4; s++) {
		struct section *q = &equaliser[s];

		for (int i = 0; i < BLOCK; i++) {
			float x = equalised[i], y = q->b0 * x + q->z1;

			q->z1 = q->b1 * x - q->a1 * y + q->z2;
			q->z2 = q->b2 * x - q->a2 * y;
			equalised[i] = y;
		}
	}
}

STEP static void fir_filter(void)
{
	static float history[BLOCK + TAPS];

	memcpy(history, filtered + BLOCK, TAPS * sizeof(float));
	memcpy(history + TAPS, equalised, sizeof(equalised));
	for (int i = 0; i < BLOCK; i++) {
		float sum = 0;

		for (int t = 0; t < TAPS; t++)
			sum += taps[t] * history[i + t];
		filtered[i] = sum;
	}
	memcpy(filtered + BLOCK, history + BLOCK, TAPS * sizeof(float));
}

STEP static void fft_block(void)
{
	for (unsigned int i = 0; i < BLOCK; i++) {
		unsigned int j = 0;

		for (unsigned int b = 0; b < 9; b++)
			j |= (i >> b & 1) << (8 - b);
		spectrum_re[j] = filtered[i];
		spectrum_im[j] = 0;
	}
	for (int size = 2; size <= BLOCK; size *= 2)
		for (int start = 0; start < BLOCK; start += size)
			for (int k = 0; k < size / 2; k++) {
				int a = start + k, b = a + size / 2, t = k * (BLOCK / size);
				float re = spectrum_re[b] * twiddle_re[t] - spectrum_im[b] * twiddle_im[t];
				float im = spectrum_re[b] * twiddle_im[t] + spectrum_im[b] * twiddle_re[t];

				spectrum_re[b] = spectrum_re[a] - re;
				spectrum_im[b] = spectrum_im[a] - im;
				spectrum_re[a] += re;
				spectrum_im[a] += im;
			}
}

STEP static void update_meter(void)
{
	for (int i = 0; i < BLOCK / 2; i++)
		meter[i] = 0.9f * meter[i] + 0.1f * (spectrum_re[i] * spectrum_re[i] + spectrum_im[i] * spectrum_im[i]);
}

STEP static void add_echo(void)
{
	for (int i = 0; i < BLOCK; i++) {
		float back = delay_line[delay_at];

		echoed[i] = filtered[i] + 0.4f * back;
		delay_line[delay_at] = filtered[i] + 0.3f * back;
		delay_at = (delay_at + 1) % DELAY;
	}
}

STEP static void to_pcm(void)
{
	for (int i = 0; i < BLOCK; i++) {
		float v = echoed[i] * 12000;

		pcm[i] = (int16_t)(v > 32767 ? 32767 : v < -32768 ? -32768 : v);
	}
}

STEP static uint64_t sum_pcm(uint64_t digest)
{
	for (int i = 0; i < BLOCK; i += 4)
		digest = work_mix(digest, (uint16_t)pcm[i]);
	return digest;
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 100);
	uint64_t digest;

	make_tables();
	do {
		reset_state();
		digest = 0;
		for (unsigned long f = 0; f < w.size; f++) {
			for (int v = 0; v < 3; v++)
				oscillate(v, 40000000u + (uint32_t)v * 9000000u + (uint32_t)(f / 8 % 7) * 5000000u);
			mix_voices();
			equalise();
			fir_filter();
			if (f % 2 == 0) {
				fft_block();
				update_meter();
			}
			add_echo();
			to_pcm();
			digest = sum_pcm(digest);
		}
		digest = work_mix(digest, (uint64_t)(meter[3] * 1000));
	} while (work_more(&w, digest));
	return work_done(&w);
}
