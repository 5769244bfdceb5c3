// SPDX-License-Identifier: GPL-2.0-or-later
// The table of functions: time, bytes, computation, and who is around each of them.
import { button, el, name, svg } from "./dom.js";
import { cell, figure, wilson } from "./format.js";
import * as state from "./state.js";
import { makeTable } from "./table.js";

// A bar with its interval as a whisker.
function bar(share, low, high, most) {
	const w = 90, x = (v) => (Math.min(1, Math.max(0, v / most)) * (w - 2) + 1).toFixed(1);
	return svg("svg", { class: "bar", viewBox: "0 0 " + w + " 14", width: w, height: 14, "aria-hidden": "true" },
		svg("rect", { class: "ground", x: 0, y: 4, width: w, height: 6, rx: 3 }),
		svg("rect", { class: "value", x: 0, y: 4, width: Math.max(1, x(share)), height: 6, rx: 3 }),
		low !== null && high !== null && low !== high && svg("path", { class: "whisker", d: "M" + x(low) + " 7H" + x(high) + "M" + x(low) + " 3.5v7M" + x(high) + " 3.5v7" }));
}

const NO_SAMPLE = "no sample met it, which is not to be nothing";
const list = (title, rows, shown) => el("div", {}, el("h3", {}, title),
	rows.length ? el("ul", {}, rows.slice(0, 8).map(shown), rows.length > 8 && el("li", { class: "unknown" }, rows.length - 8 + " more")) : el("p", { class: "unknown" }, "none seen"));

export function functionsPanel(report, flow, stacks, selection, whyNoFlow) {
	const flowOf = new Map((flow?.functions || []).map((f) => [f.name + "\n" + f.object, f]));
	const shares = flow && !flow.amounts_known, exact = report.functions.every((f) => f.low === f.self && f.high === f.self) && report.functions.some((f) => f.self > 0);
	const base = report.functions.map((f) => {
		const flows = flowOf.get(f.name + "\n" + f.object), low = {};
		// what no sample has is not known to be nothing; what was counted is exact
		for (const key of flow ? ["in", "out"] : []) if (f[key] === 0 || flow.engine === "exact") low[key + "_low"] = low[key + "_high"] = flow.engine === "exact" ? f[key] : null;
		return { ...f, ...low, in_part: flows?.in_share ?? null, in_part_low: flows?.in_share_low ?? null, in_part_high: flows?.in_share_high ?? null, out_part: flows?.out_share ?? null, out_part_low: flows?.out_share_low ?? null, out_part_high: flows?.out_share_high ?? null };
	});
	const most = Math.max(...base.map((f) => f.self), 0.01), any = (key) => base.some((f) => f[key] !== null && f[key] !== undefined);
	// What has no time of its own is unknown of a stretch.
	const WHOLE = ["in", "out", "in_part", "out_part", "ops_per_byte", "calls"], ofAll = Object.fromEntries(WHOLE.flatMap((key) => [key, key + "_low", key + "_high"]).map((key) => [key, null]));
	const notByTime = () => selection.range() && "not kept by time; what it reads and writes in the stretch stands at Time";
	const columns = [
		{ key: "name", title: "function", kind: "text", help: "name, and the object that it lies in", node: (r) => el("span", { class: "stacked" }, button("", () => { state.set("flame.q", r.name); document.getElementById("flame").scrollIntoView(); }, { class: "link", title: "Find it in the flame graph" }), el("small", { class: "name" }, el("bdi", {}, name(r.object)))) },
		{ key: "self", title: "self", kind: "share", low: "low", high: "high", help: "share of samples with this function at the leaf, and its 95 % interval", node: (r) => el("span", { class: "barred" }, bar(r.self, r.low, r.high, most), cell(r.self, r.low, r.high, "share")) },
		{ key: "inclusive", title: "inclusive", kind: "share", low: "inclusive_low", high: "inclusive_high", help: "share of samples with it anywhere on the stack" },
		{ key: "samples", title: "samples", kind: "number", wide: true, help: "samples with it at the leaf", why: "counted, not sampled" },
		any("in") && { key: "in", title: "bytes in", kind: "bytes", low: "in_low", high: "in_high", wide: true, whyRange: NO_SAMPLE, why: notByTime, help: "bytes that it reads" },
		any("out") && { key: "out", title: "bytes out", kind: "bytes", low: "out_low", high: "out_high", wide: true, whyRange: NO_SAMPLE, why: notByTime, help: "bytes of its own that anyone reads" },
		shares && !any("in") && any("in_part") && { key: "in_part", title: "of bytes read", kind: "share", low: "in_part_low", high: "in_part_high", wide: true, whyRange: NO_SAMPLE, why: notByTime, help: "its part of all bytes read; amounts are unknown" },
		shares && !any("in") && any("out_part") && { key: "out_part", title: "of bytes written", kind: "share", low: "out_part_low", high: "out_part_high", wide: true, whyRange: NO_SAMPLE, why: notByTime, help: "its part of all bytes that are read later" },
		any("ops_per_byte") && { key: "ops_per_byte", title: "ops/byte", kind: "number", low: "ops_per_byte_low", high: "ops_per_byte_high", wide: true, whyRange: "no sample of it computes, or it goes by execution counts, which tell no interval", why: notByTime, help: "arithmetic and logical instructions per byte loaded and stored" },
		any("calls") && { key: "calls", title: "calls", kind: "number", low: (r) => (exact ? r.calls : null), high: (r) => (exact ? r.calls : null), wide: true, why: notByTime, whyRange: "the counts' own intervals stand at `accperf counts`" },
	].filter(Boolean);
	columns[0].node = ((inner) => (r) => { const n = inner(r); n.firstChild.append(name(r.name)); return n; })(columns[0].node);

	function details(row) {
		const f = stacks?.indexOf(row.name, row.object), p = stacks?.part(selection.range());
		const ends = (edges, other) => edges.slice().sort((a, b) => b.share - a.share).map((e) => ({ label: e[other], text: e.bytes === null ? figure(e.share, "share") + " of all bytes" : figure(e.bytes, "bytes") }));
		const edges = flow?.edges || [];
		const entry = (r) => el("li", {}, name(r.label ?? r.name), " ", el("span", { class: "range" }, r.text ?? figure(r.share, "share")));
		return el("div", { class: "around" },
			f !== undefined ? [list("Called by", stacks.neighbours(f, p, true), entry), list("Calls", stacks.neighbours(f, p, false), entry)] : el("p", { class: "unknown" }, "No stacks tell who calls it."),
			flow ? [list("Reads what was written by", ends(edges.filter((e) => e.consumer === row.name && e.consumer_object === row.object), "producer"), entry), list("Its bytes are read by", ends(edges.filter((e) => e.producer === row.name && e.producer_object === row.object), "consumer"), entry)] : el("p", { class: "unknown" }, whyNoFlow));
	}
	const table = makeTable({ id: "functions", label: "Functions", columns, rows: base, search: (r) => r.name + " " + r.object, sort: ["self", true], details });
	function build() {
		const r = selection.range();
		stretch.replaceChildren(r && WHOLE.some(any) ? el("p", { class: "unknown" }, "Time is of the chosen stretch; bytes, operations and calls are known of all of the recording only.") : "");
		if (!r) return table.setRows(base);
		const p = stacks.part(r), seen = new Map([...stacks.functions(p).values()].map((f) => [f.name + "\n" + f.object, f]));
		const interval = (v) => wilson(v, p.effective);
		table.setRows(base.map((f) => {
			const now = seen.get(f.name + "\n" + f.object), self = now ? now.self / p.total : 0, inclusive = now ? now.inclusive / p.total : 0;
			const [low, high] = interval(self), [ilow, ihigh] = interval(inclusive);
			return { ...f, ...ofAll, self, low, high, inclusive, inclusive_low: ilow, inclusive_high: ihigh, samples: now ? now.samples : 0 };
		}).filter((f) => f.inclusive > 0));
	}
	const notes = [], stretch = el("div", {});
	if (stacks) selection.watch(build);
	if (selection.range()) build();
	if (!flow) notes.push("Bytes in and out are unknown: " + whyNoFlow);
	else if (shares && flow.amounts_note) notes.push("Bytes: " + flow.amounts_note + ".");
	return el("div", {}, stretch, table.element, notes.map((n) => el("p", { class: "unknown" }, n)));
}
