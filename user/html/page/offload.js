// SPDX-License-Identifier: GPL-2.0-or-later
// Offload calls, their sizes, and the LogCA curves fitted to them.
import { curvesPanel } from "./curves.js";
import { el, pictureHolder, shortened, svg } from "./dom.js";
import { figure, kinds, range } from "./format.js";
import { saveButton } from "./save.js";
import { makeTable, plainTable } from "./table.js";

const NINETY = "90 % interval";

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
	const p = verdict.params, lo = Math.max(1, p.from_bytes), hi = Math.max(p.to_bytes, lo * 2);
	const points = calls.filter((c) => c.api === verdict.api && c.name === verdict.name).flatMap((c) => (c.histogram || []).filter((b) => b.calls > 0 && b.bytes > 0).map((b) => ({ g: b.bytes / b.calls, t: b.mean_ns, n: b.calls, variant: c.variant })));
	const all = points.reduce((n, q) => n + q.n, 0), panel = curvesPanel(() => ({ p, lo, hi, points: points.filter((q) => q.t > 0), sizes: points.map((q) => ({ g: q.g, share: q.n / all })), band: [verdict.from_low, verdict.from_high] }));
	panel.draw();
	return panel;
}

function verdict(v, calls) {
	const says = v.why_not || v.cannot_tell ? el("p", { class: "unknown" }, "Cannot tell: " + (v.why_not || v.cannot_tell))
		: el("p", {}, "Pays: ", el("strong", {}, v.pays), v.from !== null && " from " + figure(v.from, "bytes") + " (" + range(v.from_low, v.from_high, "bytes") + ")", v.to !== null && " to " + figure(v.to, "bytes"),
			v.wrong_side !== null && ". " + figure(v.wrong_side, "share") + " of its accelerated calls are on the wrong side");
	const c = v.params ? curves(v, calls) : null;
	return el("article", {}, el("h3", {}, el("bdi", {}, shortened(v.api + " " + v.name, 120))), says, c && el("div", { class: "tools" }, saveButton(c.picture, "logca.svg")), c && c.element);
}

export function offloadPanel(offload) {
	const columns = [
		{ key: "name", title: "call", kind: "text", value: (c) => c.api + " " + c.name },
		{ key: "calls", title: "calls", kind: "number", low: "low", high: "high", meaning: NINETY },
		{ key: "cpu_share", title: "CPU", kind: "share", low: "cpu_share_low", high: "cpu_share_high", help: "part of the target's CPU time", why: "too short to be told from the probes" },
		{ key: "bytes_in_estimate", title: "bytes in", kind: "bytes", low: "bytes_in_estimate_low", high: "bytes_in_estimate_high", wide: true, meaning: NINETY, why: "its arguments do not tell", whyRange: "none of the calls that were seen took any, or too few tell" },
		{ key: "bytes_out_estimate", title: "bytes out", kind: "bytes", low: "bytes_out_estimate_low", high: "bytes_out_estimate_high", wide: true, meaning: NINETY, why: "its arguments do not tell", whyRange: "none of the calls that were seen took any, or too few tell" },
		{ key: "median", title: "median time", kind: "time", value: (c) => c.time_ns?.median ?? null, low: (c) => c.time_ns?.median_low ?? null, high: (c) => c.time_ns?.median_high ?? null, meaning: NINETY, whyRange: "too few calls were timed", why: "too short to be told from the probes" },
		{ key: "design", title: "design", kind: "text", wide: true, help: "sync: the caller works or spins; sync-OS: the kernel blocks it; async: it goes on" },
		{ key: "variant", title: "variant", kind: "text", wide: true, value: (c) => c.variant ?? "not marked" },
	];
	const parts = [offload.calls.length ? makeTable({ id: "offload", label: "Offload calls", columns, rows: offload.calls, search: (c) => c.api + " " + c.name + " " + (c.library || ""), sort: ["calls", true], details: sizes }).element : el("p", { class: "unknown" }, "No offload call was recorded.")];
	if (offload.verdicts.length) parts.push(el("h3", {}, "Host against accelerator"), offload.verdicts.map((v) => verdict(v, offload.calls)));
	if (offload.what_if?.length) parts.push(el("h3", {}, "What an accelerator would be worth"), plainTable("whatif", "What an accelerator would be worth", offload.what_if).element);
	return el("div", {}, parts);
}
