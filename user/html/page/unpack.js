// SPDX-License-Identifier: GPL-2.0-or-later
// The reverse of pack.c.
function column(c, rows) {
	if (Array.isArray(c)) return unpack(c);
	if ("$texts" in c) return c.$at.map((i) => c.$texts[i]);
	return Array(rows).fill(unpack(c.$same));
}

export function unpack(v) {
	if (v === null || typeof v !== "object") return v;
	if (Array.isArray(v)) return v.some((x) => x !== null && typeof x === "object") ? v.map(unpack) : v;
	if ("$keys" in v) {
		const columns = v.$columns.map((c) => column(c, v.$rows));
		return Array.from({ length: v.$rows }, (_, row) => Object.fromEntries(v.$keys.map((key, k) => [key, columns[k][row]])));
	}
	return Object.fromEntries(Object.entries(v).map(([key, value]) => [key, unpack(value)]));
}
