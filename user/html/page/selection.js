// SPDX-License-Identifier: GPL-2.0-or-later
// The stretch of time that the page shows, as slices [from, to); null: all of it.
import * as state from "./state.js";

export function makeSelection(slices) {
	const watchers = [];
	const range = () => {
		const m = /^(\d+)-(\d+)$/.exec(state.get("time"));
		if (!m || !slices) return null;
		const from = Math.min(Number(m[1]), slices - 1), to = Math.min(Number(m[2]), slices);
		return to > from && !(from === 0 && to === slices) ? [from, to] : null;
	};
	state.watch("time", () => watchers.forEach((w) => w()));
	// Which of the slices of another list of equal ones, { count, from, width }, have their middle in the stretch.
	const within = (r, mine, other) => {
		const from = mine.from + r[0] * mine.width, to = mine.from + r[1] * mine.width;
		return Array.from({ length: other.count }, (_, s) => { const middle = other.from + (s + 0.5) * other.width; return middle >= from && middle < to; });
	};
	return { range, within, watch: (w) => watchers.push(w), set: (r) => state.set("time", r ? r[0] + "-" + r[1] : "") };
}
