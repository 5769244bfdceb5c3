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
	return { range, watch: (w) => watchers.push(w), set: (r) => state.set("time", r ? r[0] + "-" + r[1] : "") };
}
