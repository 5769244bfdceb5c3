// SPDX-License-Identifier: GPL-2.0-or-later
// Figures as people read them, always with what is known of their accuracy. Unknown is grey, never 0.
import { el } from "./dom.js";

const known = (v) => typeof v === "number" && Number.isFinite(v);
const digits = (v) => (v === 0 ? "0" : Math.abs(v) >= 100 ? v.toFixed(0) : Math.abs(v) >= 10 ? v.toFixed(1) : v.toFixed(2));
function scaled(v, step, units) {
	let u = 0;
	while (Math.abs(v) >= step && u < units.length - 1) {
		v /= step;
		u++;
	}
	return (u === 0 && Number.isInteger(v) ? String(v) : digits(v)) + "\u00a0" + units[u];
}
export const kinds = {
	share: (v) => (v !== 0 && Math.abs(v) < 0.0001 ? "<\u00a00.01" : (100 * v).toFixed(2)) + "\u00a0%",
	bytes: (v) => scaled(v, 1000, ["B", "kB", "MB", "GB", "TB", "PB"]),
	time: (v) => scaled(v, 1000, ["ns", "\u00b5s", "ms", "s"]),
	rate: (v) => scaled(v, 1000, ["/s", "k/s", "M/s", "G/s"]),
	times: (v) => digits(v) + "\u00d7",
	number: (v) => (Number.isInteger(v) || Math.abs(v) >= 1000 ? Math.round(v).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f") : digits(v)),
};
export const figure = (v, kind = "number") => (known(v) ? kinds[kind](v) : "unknown");

export function range(low, high, kind = "number") {
	if (!known(low) && !known(high)) return "";
	if (low === high) return "exact";
	if (!known(high)) return "at least " + kinds[kind](low);
	if (!known(low)) return "at most " + kinds[kind](high);
	const a = kinds[kind](low), b = kinds[kind](high);
	if (a === b) return a;
	const unit = /\u00a0(\S+)$/;
	return (unit.exec(a)?.[1] === unit.exec(b)?.[1] ? a.replace(unit, "") : a) + "\u2013" + b;
}

// A value over its interval; grey with the reason where either is unknown. how: { why, whyRange, meaning }.
// low undefined: a figure that was counted, which has none. Without a value its ends stand alone, where they say anything.
export function cell(v, low, high, kind, how = {}) {
	if (!known(v)) {
		return el("span", { class: "unknown", title: how.why || "the profile does not tell" }, range(low > 0 ? low : null, high, kind) || "unknown");
	}
	const r = range(low, high, kind);
	if (!r && low !== undefined) return el("span", { class: "figure" }, kinds[kind](v), el("small", { class: "range unknown", title: how.whyRange || "the profile does not tell how far off it may be" }, "interval unknown"));
	return el("span", { class: "figure" }, kinds[kind](v), r && el("small", { class: "range", title: how.meaning || "95 % interval" }, r));
}

// Wilson's interval, as the C side computes it (profile/time_shares.c).
export function wilson(share, n) {
	const z = 1.959964, zz = z * z;
	if (n === null || n === undefined || !(n > 0)) return [null, null];
	if (n === Infinity) return [share, share];
	const mid = (share + zz / (2 * n)) / (1 + zz / n);
	const half = (z / (1 + zz / n)) * Math.sqrt((share * (1 - share)) / n + zz / (4 * n * n));
	return [share <= 0 ? 0 : Math.max(0, mid - half), share >= 1 ? 1 : Math.min(1, mid + half)];
}
