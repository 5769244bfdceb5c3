// SPDX-License-Identifier: GPL-2.0-or-later
// Puts the page together: one section for each part of the data that is there, and a reason where it is not.
// To show a new part: a row in sections() below.
import { anchor, button, el, name } from "./dom.js";
import { comparePanel } from "./compare.js";
import { flamePanel } from "./flame.js";
import { flowPanel } from "./flow.js";
import { functionsPanel } from "./functions.js";
import { objectsPanel, threadsPanel } from "./memory.js";
import { offloadPanel } from "./offload.js";
import { rooflinePanel } from "./roofline.js";
import { makeSelection } from "./selection.js";
import { makeStacks } from "./stacks.js";
import * as state from "./state.js";
import { summaryPanel, trustLine, trustMark } from "./summary.js";
import { timelinePanel } from "./timeline.js";
import { unpack } from "./unpack.js";
import { verdictsPanel } from "./verdicts.js";
import { whatIfPanel } from "./whatif.js";

const redraw = [];
const keep = (panel) => {
	redraw.push(panel);
	return panel.element;
};
const unknown = (text) => el("p", { class: "unknown" }, text || "The profile does not tell.");

function sections(file, parts) {
	const data = (part) => parts[part]?.data || null, why = (part) => parts[part]?.note || "this accperf has no such command";
	const report = data("report"), flow = data("flow"), offload = data("offload"), objects = data("objects");
	const raw = data("stacks"), stacks = raw && raw.nodes.parent.length ? makeStacks(raw) : null;
	const selection = makeSelection(stacks?.slices || 0);
	const noStacks = report.unit === "instructions" && report.samples === null ? "The exact engine counts by function: it keeps no stacks and no time." : "The profile holds no sample.";
	const rest = (part, what) => parts[part]?.left_out > 0 && unknown("The " + parts[part].left_out + " smallest " + what + " are left out here; `accperf " + part + " --json` has them.");
	const beside = (panel, more) => (more ? el("div", {}, panel, more) : panel);
	return [
		["summary", "Summary", summaryPanel(report, raw?.recorded, parts, file)],
		data("diff") && ["compare", "What changed", beside(keep(comparePanel(data("diff"), parts.diff.note, data("stack_diff"), parts.stack_diff?.note)), rest("diff", "changes of edges"))],
		parts.advise && ["verdicts", "Verdicts", data("advise") ? verdictsPanel(data("advise")) : unknown(why("advise")), data("advise")?.trust],
		parts.advise && ["model", "What if", keep(whatIfPanel(data("advise")))],
		["functions", "Functions", report.functions.length ? functionsPanel(report, flow, stacks, selection, why("flow")) : unknown("The profile holds no function."), report.trust],
		["flame", "Flame graph", stacks ? keep(flamePanel(stacks, selection)) : unknown(noStacks)],
		["flow", "Flow", flow ? (flow.edges.length ? beside(keep(flowPanel(flow, selection)), rest("flow", "edges")) : unknown("No edge was seen.")) : unknown(why("flow")), flow?.trust],
		["time", "Time", stacks?.slices ? keep(timelinePanel(stacks, data("timeline"), data("timeline") ? "" : why("timeline"), selection)) : unknown(noStacks)],
		["objects", "Objects", objects ? beside(objectsPanel(objects, stacks, selection), rest("objects", "objects")) : unknown(why("objects")), objects?.trust],
		["threads", "Threads", raw ? threadsPanel(raw, data("sharing"), why("sharing"), selection) : unknown(why("stacks"))],
		parts.roofline && ["roof", "Roofline", data("roofline") ? rooflinePanel(data("roofline")) : unknown(why("roofline"))],
		["offload", "Offload calls", offload ? (offload.calls.length ? offloadPanel(offload) : unknown(why("offload"))) : unknown(why("offload")), offload?.calls.length ? offload.trust : null],
	].filter(Boolean);
}

function goTo(smooth) {
	const at = document.getElementById(state.get("at"));
	if (!at) return;
	at.scrollIntoView({ behavior: smooth && !matchMedia("(prefers-reduced-motion: reduce)").matches ? "smooth" : "auto" });
	for (const a of document.querySelectorAll("nav a")) a.toggleAttribute("aria-current", a.hash === "#at=" + at.id);
}

function start() {
	const { file, version, parts: packed } = JSON.parse(document.getElementById("data").textContent);
	const parts = unpack(packed), all = sections(file, parts), app = document.getElementById("app"), trust = parts.report.data.trust;
	const link = button("Copy link", async () => {
		await navigator.clipboard?.writeText(location.href).catch(() => {});
		link.textContent = "Copied";
		setTimeout(() => (link.textContent = "Copy link"), 1500);
	});
	app.append(
		el("a", { class: "skip", id: "skip" }, "Skip to the summary"),
		el("header", { class: "top" }, el("div", {}, el("h1", {}, name(file)), el("p", {}, "accperf " + version)), el("div", { class: "right" }, el("span", { class: "count" }, "times: "), trustMark(trust), link)),
		el("nav", { "aria-label": "Sections" }, all.map(([id, title]) => anchor(id, title))),
		el("main", { id: "main", tabindex: "-1" }, all.map(([id, title, panel, mark]) => el("section", { id, "aria-labelledby": id + "-title" }, el("h2", { id: id + "-title" }, title), mark && trustLine(mark), panel))));
	const skip = document.getElementById("skip"), main = app.querySelector("main");
	skip.setAttribute("href", "#main");
	skip.addEventListener("click", (e) => { e.preventDefault(); main.focus(); });
	document.getElementById("static").remove();
	app.hidden = false;
	for (const panel of redraw) (panel.build || panel.draw)();
	state.watch("at", () => goTo(true));
	goTo(false);
	// On paper nothing can be opened.
	const closed = () => [...document.querySelectorAll("details:not([open])")].filter((d) => !d.closest(".tree"));
	let opened = [];
	window.addEventListener("beforeprint", () => (opened = closed()).forEach((d) => (d.open = true)));
	window.addEventListener("afterprint", () => opened.forEach((d) => (d.open = false)));
	let width = window.innerWidth, later;
	window.addEventListener("resize", () => {
		if (width === window.innerWidth) return;
		width = window.innerWidth;
		clearTimeout(later);
		later = setTimeout(() => redraw.forEach((panel) => panel.draw()), 100);
	});
	document.documentElement.dataset.ready = Math.round(performance.now());
}

start();
