// SPDX-License-Identifier: GPL-2.0-or-later
// Offload calls, their sizes, and the LogCA curves fitted to them.
import { axisBottom, axisLeft } from "d3-axis";
import { scaleLog } from "d3-scale";
import { select } from "d3-selection";
import { el, pictureHolder, shortened, svg, tipLines, tooltip } from "./dom.js";
import { figure, kinds, range } from "./format.js";
import { hostTime, acceleratedTime } from "./logca.js";
import { saveButton } from "./save.js";
import { makeTable, plainTable } from "./table.js";

function sizes(call) {
	const h = call.histogram || [];
	if (!h.length) return el("p", { class: "unknown" }, "The sizes of its calls are unknown.");
	const most = Math.max(...h.map((b) => b.calls)), row = 22, w = 520;
	return pictureHolder("Sizes of calls", {}, svg("svg", { viewBox: "0 0 " + w + " " + h.length * row, width: w, height: h.length * row, class: "sizes", role: "img", "aria-label": "Sizes of the calls of " + shortened(call.name, 80) },
		h.map((b, i) => [
			svg("text", { x: 150, y: i * row + 15, "text-anchor": "end" }, figure(b.from, "bytes") + " to " + figure(b.below, "bytes")),
			svg("rect", { class: "value", x: 160, y: i * row + 4, width: Math.max(1, 150 * b.calls / most), height: row - 9, rx: 2 }),
			svg("text", { x: 166 + Math.max(1, 150 * b.calls / most), y: i * row + 15 }, kinds.number(b.calls) + " calls, " + (b.mean_ns === null ? "time unknown" : figure(b.mean_ns, "time") + " each")),
		])));
}

function curves(verdict, calls) {
	const p = verdict.params, W = 560, H = 300, left = 66, bottom = 44, lo = Math.max(1, p.from_bytes), hi = Math.max(p.to_bytes, lo * 2);
	const grid = Array.from({ length: 121 }, (_, i) => lo * (hi / lo) ** (i / 120));
	const points = calls.filter((c) => c.api === verdict.api && c.name === verdict.name).flatMap((c) => (c.histogram || []).filter((b) => b.calls > 0 && b.mean_ns > 0 && b.bytes > 0).map((b) => ({ g: b.bytes / b.calls, t: b.mean_ns, n: b.calls, variant: c.variant })));
	const values = [...grid.flatMap((g) => [hostTime(p, g), acceleratedTime(p, g)]), ...points.map((q) => q.t)].filter((v) => v > 0);
	const x = scaleLog().base(2).domain([lo, hi]).range([left, W - 14]), y = scaleLog().domain([Math.min(...values), Math.max(...values)]).nice().range([H - bottom, 14]);
	const line = (f) => "M" + grid.map((g) => x(g).toFixed(1) + " " + y(f(p, g)).toFixed(1)).join("L");
	const picture = svg("svg", { class: "curves", viewBox: "0 0 " + W + " " + H, width: W, height: H, role: "img", "aria-label": "Time of a call by its size, on the host and accelerated" });
	const a = verdict.from_low, b = verdict.from_high;
	if (a > 0 && b > 0 && b > lo && a < hi) picture.append(svg("rect", { class: "band", x: x(Math.max(a, lo)), y: 14, width: Math.max(1.5, x(Math.min(b, hi)) - x(Math.max(a, lo))), height: H - bottom - 14 }));
	picture.append(svg("path", { class: "host", d: line(hostTime) }), svg("path", { class: "accelerated", d: line(acceleratedTime) }));
	for (const q of points) {
		const dot = svg("circle", { class: q.variant === "accelerated" ? "accelerated" : "host", cx: x(Math.min(hi, Math.max(lo, q.g))), cy: y(q.t), r: 4 });
		dot.addEventListener("mousemove", (e) => tooltip(tipLines(q.variant + ", " + figure(q.g, "bytes"), figure(q.t, "time") + " a call", kinds.number(q.n) + " calls"), e));
		dot.addEventListener("mouseleave", () => tooltip(null));
		picture.append(dot);
	}
	select(picture).append("g").attr("class", "axis").attr("transform", "translate(0," + (H - bottom) + ")").call(axisBottom(x).ticks(6, (v) => figure(v, "bytes")));
	select(picture).append("g").attr("class", "axis").attr("transform", "translate(" + left + ",0)").call(axisLeft(y).ticks(5, (v) => figure(v, "time")));
	return { picture, element: pictureHolder("LogCA curves", {}, picture, el("ul", { class: "legend" }, el("li", {}, el("i", { class: "host" }), "on the host"), el("li", {}, el("i", { class: "accelerated" }), "accelerated"), a > 0 && el("li", {}, el("i", { class: "band" }), "break-even, " + range(a, b, "bytes")))) };
}

function verdict(v, calls) {
	const says = v.why_not || v.cannot_tell ? el("p", { class: "unknown" }, "Cannot tell: " + (v.why_not || v.cannot_tell))
		: el("p", {}, "Pays: ", el("strong", {}, v.pays), v.from !== null && " from " + figure(v.from, "bytes") + " (" + range(v.from_low, v.from_high, "bytes") + ")", v.to !== null && " to " + figure(v.to, "bytes"),
			v.wrong_side !== null && ". " + figure(v.wrong_side, "share") + " of its accelerated calls are on the wrong side");
	const c = v.params ? curves(v, calls) : null;
	return el("article", {}, el("h3", {}, el("bdi", {}, shortened(v.api + " " + v.name, 120))), says, c && el("div", { class: "tools" }, saveButton(() => c.picture, "logca.svg")), c && c.element);
}

export function offloadPanel(offload) {
	const columns = [
		{ key: "name", title: "call", kind: "text", value: (c) => c.api + " " + c.name },
		{ key: "calls", title: "calls", kind: "number", low: "low", high: "high" },
		{ key: "cpu_share", title: "CPU", kind: "share", low: "cpu_share_low", high: "cpu_share_high", help: "part of the target's CPU time", why: "too short to be told from the probes" },
		{ key: "bytes_in_estimate", title: "bytes in", kind: "bytes", wide: true },
		{ key: "bytes_out_estimate", title: "bytes out", kind: "bytes", wide: true },
		{ key: "median", title: "median time", kind: "time", value: (c) => c.time_ns?.median ?? null, why: "too short to be told from the probes" },
		{ key: "design", title: "design", kind: "text", wide: true, help: "sync: the caller works or spins; sync-OS: the kernel blocks it; async: it goes on" },
		{ key: "variant", title: "variant", kind: "text", wide: true, value: (c) => c.variant ?? "not marked" },
	];
	const parts = [offload.calls.length ? makeTable({ id: "offload", label: "Offload calls", columns, rows: offload.calls, search: (c) => c.api + " " + c.name + " " + (c.library || ""), sort: ["calls", true], details: sizes }).element : el("p", { class: "unknown" }, "No offload call was recorded.")];
	if (offload.verdicts.length) parts.push(el("h3", {}, "Host against accelerator"), offload.verdicts.map((v) => verdict(v, offload.calls)));
	if (offload.what_if?.length) parts.push(el("h3", {}, "What an accelerator would be worth"), plainTable("whatif", "What an accelerator would be worth", offload.what_if).element);
	return el("div", {}, parts);
}
