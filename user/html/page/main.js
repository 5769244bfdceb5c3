// SPDX-License-Identifier: GPL-2.0-or-later
// Puts the page together: one section for each part of the data that is there, and a reason where it is not.
// To show a new part: a row in sections() below.
import { anchor, button, el, name } from "./dom.js";
import { comparePanel } from "./compare.js";
import { flamePanel } from "./flame.js";
import { flowPanel } from "./flow.js";
import { kinds } from "./format.js";
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
const unknown = (text) => el("p", { class: "unknown" }, text || "The profile does not tell.");

// Rows: id, title, what makes the panel, the part whose trust stands above it.
function sections(file, parts) {
	const unpacked = new Map(), here = (part) => Boolean(parts[part]?.data);
	const data = (part) => unpacked.get(part) ?? unpacked.set(part, here(part) ? unpack(parts[part].data) : null).get(part);
	const why = (part) => parts[part]?.note || "this accperf has no such command";
	const report = data("report"), raw = data("stacks");
	let made;
	const stacks = () => (made ??= raw?.nodes.parent.length ? makeStacks(raw) : null);
	const selection = makeSelection(raw?.time.slices || 0);
	const noStacks = report.unit === "instructions" && report.samples === null ? "The exact engine counts by function: it keeps no stacks and no time." : "The profile holds no sample.";
	const rest = (part, list, what) => parts[part]?.left_out?.[list] > 0 && unknown("The " + kinds.number(parts[part].left_out[list]) + " smallest " + what + " are left out here; `accperf " + part + " --json` has them.");
	const beside = (panel, more) => (more ? { ...panel, element: el("div", {}, panel.element, more) } : panel);
	const still = (element) => ({ element, draw() {} }), no = (part) => still(unknown(why(part)));
	return [
		["summary", "Summary", () => still(summaryPanel(report, raw?.recorded, parts, file))],
		here("diff") && ["compare", "What changed", () => beside(comparePanel(data("diff"), parts.diff.note, data("stack_diff"), parts.stack_diff?.note), rest("diff", "edges", "changes of edges"))],
		parts.advise && ["verdicts", "Verdicts", () => (here("advise") ? beside(still(verdictsPanel(data("advise"))), rest("advise", "candidates", "candidates")) : no("advise")), "advise"],
		parts.advise && ["model", "What if", () => whatIfPanel(data("advise"))],
		["functions", "Functions", () => (report.functions.length ? beside(still(functionsPanel(report, data("flow"), stacks(), selection, why("flow"))), rest("report", "functions", "functions")) : still(unknown("The profile holds no function."))), "report"],
		["flame", "Flame graph", () => (stacks() ? flamePanel(stacks(), selection) : still(unknown(noStacks)))],
		["flow", "Flow", () => (data("flow") ? (data("flow").edges.length ? beside(flowPanel(data("flow"), selection), rest("flow", "edges", "edges")) : still(unknown("No edge was seen."))) : no("flow")), "flow"],
		["time", "Time", () => (stacks()?.slices ? timelinePanel(stacks(), data("timeline"), here("timeline") ? "" : why("timeline"), selection) : still(unknown(noStacks)))],
		["objects", "Objects", () => (data("objects") ? beside(still(objectsPanel(data("objects"), stacks(), selection)), rest("objects", "objects", "objects")) : no("objects")), "objects"],
		["threads", "Threads", () => (raw ? beside(still(threadsPanel(raw, data("sharing"), why("sharing"), selection)), rest("stacks", "threads", "threads")) : no("stacks"))],
		parts.roofline && ["roof", "Roofline", () => (data("roofline") ? still(rooflinePanel(data("roofline"))) : no("roofline"))],
		["offload", "Offload calls", () => (data("offload")?.calls.length ? still(offloadPanel(data("offload"))) : no("offload")), "offload"],
	].filter(Boolean).map(([id, title, make, judged]) => ({ id, title, make, trust: () => judged && (judged !== "offload" || data("offload")?.calls.length) && data(judged)?.trust, heading: el("h2", { id: id + "-title" }, title) }));
}

// One section after the other: what is first on the screen at once, the rest when the browser has nothing else to do,
// so that the page answers before all of it is drawn. What is asked for is drawn when it is asked for.
const idle = window.requestIdleCallback ? (f) => requestIdleCallback(f, { timeout: 200 }) : (f) => setTimeout(f, 0);
const waiting = [];
function buildNext() {
	const s = waiting.shift(), panel = s.make(), trust = s.trust();
	s.place.append(...[trust && trustLine(trust), panel.element].filter(Boolean));
	redraw.push(panel);
	(panel.build || panel.draw)();
	if (!waiting.length) document.documentElement.dataset.drawn = Math.round(performance.now());
}
const buildUntil = (id) => { while (waiting.some((s) => s.id === id)) buildNext(); };
const buildAll = () => { while (waiting.length) buildNext(); };
const buildWhenIdle = () => idle(() => {
	if (waiting.length) buildNext();
	if (waiting.length) buildWhenIdle();
});

function goTo(smooth) {
	buildUntil(state.get("at"));
	const at = document.getElementById(state.get("at"));
	if (!at) return;
	at.scrollIntoView({ behavior: smooth && !matchMedia("(prefers-reduced-motion: reduce)").matches ? "smooth" : "auto" });
	for (const a of document.querySelectorAll("nav a")) a.toggleAttribute("aria-current", a.hash === "#at=" + at.id);
}

function start() {
	const { file, version, parts: packed } = JSON.parse(document.getElementById("data").textContent);
	const all = sections(file, packed), app = document.getElementById("app"), trust = unpack(packed.report.data.trust);
	const link = button("Copy link", async () => {
		await navigator.clipboard?.writeText(location.href).catch(() => {});
		link.textContent = "Copied";
		setTimeout(() => (link.textContent = "Copy link"), 1500);
	});
	app.append(
		el("a", { class: "skip", id: "skip" }, "Skip to the summary"),
		el("header", { class: "top" }, el("div", {}, el("h1", {}, name(file)), el("p", {}, "accperf " + version)), el("div", { class: "right" }, el("span", { class: "count" }, "times: "), trustMark(trust), link)),
		el("nav", { "aria-label": "Sections" }, all.map((s) => anchor(s.id, s.title))),
		el("main", { id: "main", tabindex: "-1" }, all.map((s) => (s.place = el("section", { id: s.id, "aria-labelledby": s.id + "-title" }, s.heading)))));
	const skip = document.getElementById("skip"), main = app.querySelector("main");
	skip.setAttribute("href", "#main");
	skip.addEventListener("click", (e) => { e.preventDefault(); main.focus(); });
	document.getElementById("static").remove();
	app.hidden = false;
	waiting.push(...all);
	do buildNext(); while (waiting.length && all[all.length - waiting.length].place.getBoundingClientRect().top < window.innerHeight);
	state.watch("at", () => goTo(true));
	goTo(false);
	// On paper nothing can be opened.
	const closed = () => [...document.querySelectorAll("details:not([open])")].filter((d) => !d.closest(".tree"));
	let opened = [];
	window.addEventListener("beforeprint", () => (buildAll(), opened = closed()).forEach((d) => (d.open = true)));
	window.addEventListener("afterprint", () => opened.forEach((d) => (d.open = false)));
	let width = window.innerWidth, later;
	window.addEventListener("resize", () => {
		if (width === window.innerWidth) return;
		width = window.innerWidth;
		clearTimeout(later);
		later = setTimeout(() => redraw.forEach((panel) => panel.draw()), 100);
	});
	document.documentElement.dataset.ready = Math.round(performance.now());
	buildWhenIdle();
}

start();
