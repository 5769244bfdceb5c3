// SPDX-License-Identifier: GPL-2.0-or-later
// The two curves of LogCA over the size of a call: which parameter counts where, what was seen, and how often.
import { axisBottom, axisLeft } from "d3-axis";
import { scaleLog } from "d3-scale";
import { select } from "d3-selection";
import { el, pictureHolder, svg, tipLines, tooltip } from "./dom.js";
import { figure, kinds, range } from "./format.js";
import { LETTERS, acceleratedTime, cut, hostTime } from "./logca.js";

const W = 620, H = 300, LEFT = 92, RIGHT = 14, BOTTOM = 44, STRIP = 16, SIZES = 34, POINTS = 121;
export const letterName = (p, letter) => ({ o: "overhead", L: p.kind === "dep" ? "bandwidth" : "latency", A: "computation", C: "work a byte" })[letter];

// A strip for each parameter, over the sizes at which it counts.
function regions(p, lo, hi, x) {
	return LETTERS.map((letter, row) => [
		svg("text", { class: "strip", x: LEFT - 8, y: row * STRIP + 12, "text-anchor": "end" }, letterName(p, letter)),
		svg("rect", { class: "none", x: LEFT, y: row * STRIP + 2, width: W - RIGHT - LEFT, height: STRIP - 4, rx: 2 }),
		cut(p, letter, lo, hi).map(([from, to]) => {
			const bar = svg("rect", { class: "counts", x: x(from).toFixed(1), y: row * STRIP + 2, width: Math.max(1, x(to) - x(from)).toFixed(1), height: STRIP - 4, rx: 2 });
			bar.addEventListener("mousemove", (e) => tooltip(tipLines(letterName(p, letter) + " (" + letter + ") counts", range(from, to, "bytes"), "ten times better, it gives at least 1.2 times the speed-up"), e));
			bar.addEventListener("mouseleave", () => tooltip(null));
			return bar;
		})]);
}

// points: { g, t, n, variant } measured; sizes: { g, share } how many of the calls have which size; band: break-even.
export function curvesPicture({ p, lo, hi, points, sizes, band }) {
	const top = LETTERS.length * STRIP + 12, floor = H - BOTTOM - SIZES, grid = Array.from({ length: POINTS }, (_, i) => lo * (hi / lo) ** (i / (POINTS - 1)));
	const values = [...grid.flatMap((g) => [hostTime(p, g), acceleratedTime(p, g)]), ...points.map((q) => q.t)].filter((v) => v > 0 && Number.isFinite(v));
	const x = scaleLog().base(2).domain([lo, hi]).range([LEFT, W - RIGHT]).clamp(true), y = scaleLog().domain([Math.min(...values), Math.max(...values)]).nice().range([floor, top]);
	const line = (f) => "M" + grid.map((g) => x(g).toFixed(1) + " " + y(Math.max(f(p, g), y.domain()[0])).toFixed(1)).join("L");
	const picture = svg("svg", { class: "curves", viewBox: "0 0 " + W + " " + H, width: W, height: H, role: "img", "aria-label": "Time of a call by its size, on the host and accelerated; which parameter counts at which size; the sizes seen" }, regions(p, lo, hi, x));
	if (band && band[0] > 0 && band[1] >= band[0] && band[1] > lo && band[0] < hi) picture.append(svg("rect", { class: "band", x: x(band[0]), y: top, width: Math.max(1.5, x(band[1]) - x(band[0])), height: floor - top }));
	picture.append(svg("path", { class: "host", d: line(hostTime) }), svg("path", { class: "accelerated", d: line(acceleratedTime) }));
	for (const q of points) {
		const dot = svg("circle", { class: q.variant === "accelerated" ? "accelerated" : "host", cx: x(q.g), cy: y(q.t), r: 4 });
		dot.addEventListener("mousemove", (e) => tooltip(tipLines((q.variant || "host") + ", " + figure(q.g, "bytes"), figure(q.t, "time") + " a call", q.n !== undefined && kinds.number(q.n) + " calls"), e));
		dot.addEventListener("mouseleave", () => tooltip(null));
		picture.append(dot);
	}
	const most = Math.max(...sizes.map((s) => s.share), 1e-12);
	picture.append(svg("text", { class: "strip", x: LEFT - 8, y: H - BOTTOM - 4, "text-anchor": "end" }, "sizes seen"));
	for (const s of sizes) {
		const tall = Math.max(2, (SIZES - 8) * s.share / most), bar = svg("rect", { class: "seen", x: (x(s.g) - 4).toFixed(1), y: (H - BOTTOM - tall).toFixed(1), width: 8, height: tall.toFixed(1), rx: 1 });
		bar.addEventListener("mousemove", (e) => tooltip(tipLines(figure(s.g, "bytes"), figure(s.share, "share") + " of the calls"), e));
		bar.addEventListener("mouseleave", () => tooltip(null));
		picture.append(bar);
	}
	select(picture).append("g").attr("class", "axis").attr("transform", "translate(0," + (H - BOTTOM) + ")").call(axisBottom(x).ticks(6, (v) => figure(v, "bytes")));
	select(picture).append("g").attr("class", "axis").attr("transform", "translate(" + LEFT + ",0)").call(axisLeft(y).ticks(5, (v) => figure(v, "time")));
	return picture;
}

// The same in words, for those who do not see it.
const inWords = (p, lo, hi) => LETTERS.map((l) => [l, cut(p, l, lo, hi)]).filter(([, c]) => c.length).map(([l, c]) => letterName(p, l) + " (" + l + ") " + (c.length === 1 && c[0][0] === lo && c[0][1] === hi ? "at all of these sizes" : c.map(([a, b]) => (a === lo ? "up to " + figure(b, "bytes") : b === hi ? "from " + figure(a, "bytes") + " on" : range(a, b, "bytes"))).join(" and "))).join("; ");

// draw() anew takes another answer of what().
export function curvesPanel(what) {
	const holder = pictureHolder("LogCA curves"), says = el("p", { class: "unknown" }), seen = el("li", {}, el("i", { class: "seen" }), "sizes seen"), even = el("li", {});
	let picture;
	function draw() {
		const now = what();
		element.hidden = !now;
		if (!now) return;
		picture = curvesPicture(now);
		holder.replaceChildren(picture);
		seen.hidden = !now.sizes.length;
		even.hidden = !now.band || !(now.band[0] > 0) || !Number.isFinite(now.band[1]);
		if (!even.hidden) even.replaceChildren(el("i", { class: "band" }), "break-even, " + range(now.band[0], now.band[1], "bytes"));
		says.textContent = "What limits it, by size: " + (inWords(now.p, now.lo, now.hi) || "nothing alone") + ".";
	}
	const legend = el("ul", { class: "legend" }, el("li", {}, el("i", { class: "host" }), "on the host"), el("li", {}, el("i", { class: "accelerated" }), "accelerated"), el("li", {}, el("i", { class: "counts" }), "counts here: ten times better, it gives 1.2 times the speed-up or more"), even, seen);
	const element = el("div", {}, holder, legend, says);
	return { element, draw, picture: () => picture };
}
