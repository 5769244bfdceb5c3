// SPDX-License-Identifier: GPL-2.0-or-later
// What `accperf advise` says: a row for each candidate and what could take it, the verdict first; then why not.
import { el, name, shortened } from "./dom.js";
import { figure, kinds, range } from "./format.js";
import * as state from "./state.js";
import { makeTable } from "./table.js";

const MARK = { offload: "good", batch: "good", switch: "weak", idle: "weak" };
const pill = (verdict) => el("span", { class: "mark " + (MARK[verdict] || "unknown") }, shortened(verdict || "unknown", 40));
const part = (f, key) => (f && typeof f === "object" ? f[key] : key === "value" && typeof f === "number" ? f : null);
// KEY, KEY_low and KEY_high of a figure with its interval.
const spread = (row, key, f) => Object.assign(row, { [key]: part(f, "value"), [key + "_low"]: part(f, "low"), [key + "_high"]: part(f, "high") });

function rowOf(c, o) {
	const row = { candidate: c.name, accelerator: o ? [o.accelerator, o.design].filter(Boolean).join(", ") : "", verdict: o ? o.verdict : "unknown", says: (o ? o.text : c.reason) || "", functions: (c.functions || []).join(" ") };
	for (const key of ["share_of_time", "calls_per_s", "ns_per_call", "bytes_in", "bytes_out", "ops_per_byte"]) spread(row, key, c[key] || c.partly?.[key]);
	for (const key of ["process_speedup", "speedup", "g1"]) spread(row, key, o ? o[key] || o.partly?.[key] : null);
	return row;
}

export function verdictsPanel(advice) {
	const candidates = advice.candidates || [], judged = candidates.filter((c) => c.options?.length), others = candidates.filter((c) => !c.options?.length);
	const rows = judged.flatMap((c) => c.options.map((o) => rowOf(c, o)));
	const share = { key: "share_of_time", title: "share of time", kind: "share", low: "share_of_time_low", high: "share_of_time_high" };
	const says = { key: "says", title: "why", kind: "text", node: (r) => el("span", { class: "why" }, shortened(r.says, 500)) };
	const columns = [
		{ key: "candidate", title: "candidate", kind: "text", node: (r) => el("span", { class: "stacked" }, name(r.candidate), el("small", {}, shortened(r.accelerator, 80))) },
		{ key: "verdict", title: "verdict", kind: "text", node: (r) => pill(r.verdict) },
		says,
		{ key: "process_speedup", title: "process faster by", kind: "times", low: "process_speedup_low", high: "process_speedup_high", why: "not told; see why" },
		{ key: "g1", title: "pays from", kind: "bytes", low: "g1_low", high: "g1_high", wide: true, meaning: "90 % interval", why: "between which ends it lies, where they are known; see why" },
		share,
		{ key: "calls_per_s", title: "calls", kind: "rate", low: "calls_per_s_low", high: "calls_per_s_high", wide: true, why: "nothing counted its calls" },
		{ key: "ns_per_call", title: "time of a call", kind: "time", low: "ns_per_call_low", high: "ns_per_call_high", wide: true, why: "nothing timed its calls" },
	];
	// One kind of verdict at a time, where there are several.
	const kindsOf = [...new Set(rows.map((r) => r.verdict))].sort(), chosen = () => (kindsOf.includes(state.get("verdicts.only")) ? state.get("verdicts.only") : "");
	const only = el("select", { "aria-label": "Only this verdict", on: { change: () => state.set("verdicts.only", only.value) } }, el("option", { value: "" }, "all verdicts"), kindsOf.map((v) => el("option", { value: v }, v)));
	const search = (r) => r.candidate + " " + r.accelerator + " " + r.verdict + " " + r.says + " " + r.functions;
	const rest = others.map((c) => rowOf(c, null));
	const table = rows.length && makeTable({ id: "verdicts", label: "Verdicts", columns, rows, search, sort: ["share_of_time", true], first: 12, tools: kindsOf.length > 1 ? [only] : [] });
	function choose() {
		only.value = chosen();
		if (table) table.setRows(chosen() ? rows.filter((r) => r.verdict === chosen()) : rows);
	}
	state.watch("verdicts.only", choose);
	choose();
	return el("div", {},
		table ? table.element : el("p", { class: "unknown" }, "No candidate can be judged; below is why."),
		rest.length > 0 && el("details", { open: !rows.length && rest.length < 12 }, el("summary", {}, kinds.number(rest.length) + " functions that cannot be judged, the largest with " + figure(rest[0].share_of_time, "share") + " of the time" + (range(rest[0].share_of_time_low, rest[0].share_of_time_high, "share") ? " (" + range(rest[0].share_of_time_low, rest[0].share_of_time_high, "share") + ")" : "")),
			makeTable({ id: "unjudged", label: "Functions that cannot be judged", rows: rest, search, sort: ["share_of_time", true], first: 12, columns: [{ key: "candidate", title: "function", kind: "text" }, share, says] }).element));
}
