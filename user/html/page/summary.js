// SPDX-License-Identifier: GPL-2.0-or-later
// What was recorded, what it cost, what was lost, and how far to trust it.
import { el, name, shortened } from "./dom.js";
import { figure, kinds } from "./format.js";
import { makeTable } from "./table.js";

const fact = (title, text, small, grey) => el("div", {}, el("dt", {}, title), el("dd", { class: grey ? "unknown" : "" }, text, small && el("small", {}, small)));
const MARK = { good: "good", weak: "weak", "do not use": "bad" };

export function trustMark(trust) {
	if (!trust) return el("span", { class: "mark unknown" }, "not judged");
	return el("span", { class: "mark " + (MARK[trust.mark] || "") }, trust.mark);
}
export const trustLine = (trust) => trust && trust.mark !== "good" && el("p", { class: "trust " + MARK[trust.mark] }, trustMark(trust), " ", clip(trust.reason), trust.remedy && el("span", {}, ". What helps: ", clip(trust.remedy)));
const clip = (t) => shortened(t || "", 400);

export function summaryPanel(report, recorded, parts, file) {
	const cost = report.cost || {}, began = recorded?.began_realtime_ns ? new Date(recorded.began_realtime_ns / 1e6) : null;
	const slowed = cost.target_slowdown;
	const counters = report.counters || [], losses = counters.filter((c) => (c.loss || c.in_part) && c.value > 0);
	const facts = el("dl", { class: "facts" },
		fact("Duration", figure(report.duration_ns, "time"), null, report.duration_ns === null),
		report.samples === null ? fact("Counted", "every instruction", "exact engine") : fact("Samples", kinds.number(report.samples), recorded?.rate_hz ? Math.round(recorded.rate_hz) + " Hz" : null),
		fact("Lost", report.lost === null ? "unknown" : kinds.number(report.lost), losses.length ? losses.length + (losses.length === 1 ? " kind" : " kinds") + ", below" : null, report.lost === null),
		fact("Target slowed by", figure(slowed, "share"), [slowed !== null && "estimated, its error is unknown", cost.own_cpu_ns !== null && cost.own_cpu_ns !== undefined && "own CPU " + figure(cost.own_cpu_ns, "time")].filter(Boolean).join("; ") || null, slowed === null),
		fact("Without a name", figure(report.unnamed, "share"), "of the samples", report.unnamed === null),
		fact("Stacks cut short", figure(report.incomplete_stacks, "share"), "of the samples", report.incomplete_stacks === null));
	const lines = [
		recorded?.command && ["Command", el("code", {}, el("bdi", {}, shortened(recorded.command, 400)))],
		["Engine", shortened(report.engine ?? "unknown", 80) + (report.bias === "time" ? ", drawn by a timer: shares are of CPU time" : "")],
		began && ["Began", began.toISOString().replace("T", " ").slice(0, 19) + " UTC"],
		recorded?.host && ["Machine", el("bdi", {}, shortened([recorded.host, recorded.kernel, recorded.arch].filter(Boolean).join(", "), 200))],
		report.breakpoints && ["Breakpoints", shortened(report.breakpoints, 300)],
		["Profile", name(file)],
	].filter(Boolean);
	const trusts = [["report", "Time"], ["flow", "Flow"], ["objects", "Objects"], ["timeline", "Over time"], ["offload", "Offload calls"]].map(([part, title]) => {
		const p = parts[part], d = p?.data;
		return el("li", {}, el("span", { class: "what" }, title), d ? trustMark(d.trust) : el("span", { class: "mark unknown" }, "unknown"),
			el("span", { class: "why" }, d ? (d.trust && d.trust.mark !== "good" ? clip(d.trust.reason) + (d.trust.remedy ? ". What helps: " + clip(d.trust.remedy) : "") : "") : clip(p?.note || "not in this profile")));
	});
	const warned = [report.recovery, recorded?.incomplete].filter(Boolean).map((t) => el("p", { class: "trust weak" }, clip(t)));
	const counted = counters.length && el("details", {}, el("summary", {}, "What the recorder counted" + (losses.length ? ": " + losses.map((c) => kinds.number(c.value) + " " + shortened(c.name, 80)).slice(0, 3).join("; ") : "")),
		makeTable({ id: "counters", label: "Counters", rows: counters.map((c) => ({ ...c, what: c.loss ? "loss" : c.in_part ? "in part" : "" })), search: (r) => r.name, sort: ["value", true], first: 12,
			columns: [{ key: "name", title: "counter", kind: "text" }, { key: "value", title: "count", kind: "number" }, { key: "what", title: "kind", kind: "text" }] }).element);
	return el("div", {}, warned, facts, el("div", { class: "two" }, el("dl", { class: "lines" }, lines.map(([k, v]) => el("div", {}, el("dt", {}, k), el("dd", {}, v)))), el("div", {}, el("h3", {}, "How far to trust it"), el("ul", { class: "trusts" }, trusts))), counted);
}
