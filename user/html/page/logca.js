// SPDX-License-Identifier: GPL-2.0-or-later
// The two times of the model, as user/model/logca.c has them; times in ns, sizes in bytes.
export const hostTime = (p, g) => (p.t0 || 0) + p.C * g ** p.beta;
export const acceleratedTime = (p, g) => p.o + (p.kind === "dep" ? p.L * g : p.L) + (p.A === null ? 0 : (p.C * g ** p.beta) / p.A);
