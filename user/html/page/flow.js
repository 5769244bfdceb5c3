// SPDX-License-Identifier: GPL-2.0-or-later
// The flow as a map (rows write, columns read), a graph and a table; a slider leaves out small edges in all.
import { button, el, name, pictureHolder, shortened, svg, tipLines, tooltip } from "./dom.js";
import { figure, kinds, range } from "./format.js";
import { graphPanel } from "./graph.js";
import { saveButton } from "./save.js";
import * as state from "./state.js";
import { makeTable } from "./table.js";

const STEPS = [0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50];
const CELL = 30, LEFT = 170, TOP = 128;

export function flowPanel(flow, selection) {
	const amounts = flow.amounts_known, samples = flow.samples || {};
	const edges = flow.edges.map((e) => ({ ...e, certain: e.resolved ? "yes" : "no" }));
	const least = () => Number(state.get("flow.min", "0")) || 0;
	const kept = () => edges.filter((e) => !(least() > 0) || e.share * 100 >= least());

	const says = el("output", { class: "count" });
	const slider = el("input", { type: "range", min: 0, max: STEPS.length - 1, step: 1, "aria-label": "Leave out edges below this share of all bytes", on: { input: () => state.set("flow.min", STEPS[slider.value] || "") } });
	const columns = [
		{ key: "producer", title: "written by", kind: "text", node: (e) => follow(e.producer) },
		{ key: "consumer", title: "read by", kind: "text", node: (e) => follow(e.consumer) },
		amounts && { key: "bytes", title: "bytes", kind: "bytes", low: "low", high: "high" },
		{ key: "share", title: "share of all bytes", kind: "share", low: "share_low", high: "share_high" },
		{ key: "unique_bytes", title: "distinct bytes", kind: "bytes", low: "unique_low", high: "unique_high", meaning: "no fewer than samples met, no more than were read", help: "different addresses among them: what has to travel once", why: "too few samples tell which addresses", wide: true },
		edges.some((e) => e.samples !== null) && { key: "samples", title: "samples", kind: "number", help: "that bear on it", wide: true },
		{ key: "certain", title: "evidence agrees", kind: "text", help: "no: the kinds of evidence for who wrote it disagree", wide: true },
	].filter(Boolean);
	const follow = (f) => el("span", {}, button("", () => state.set("flow.q", f), { class: "link", title: "Only edges from and to it" }), "").firstChild.appendChild(name(f)).parentNode;
	const table = makeTable({ id: "flow", label: "Flow edges", columns, rows: kept(), search: (e) => e.producer + " " + e.consumer, sort: ["share", true], first: 15 });

	const map = pictureHolder("Flow map", { class: "picture scroll" });
	let picture;
	function drawMap() {
		const room = Math.max(4, Math.min(28, Math.floor((Math.max(map.clientWidth, 340) - LEFT - 84) / CELL))), size = new Map();
		for (const e of kept()) for (const f of [e.producer, e.consumer]) size.set(f, (size.get(f) || 0) + e.share);
		const names = [...size].sort((a, b) => b[1] - a[1]).slice(0, room).map(([f]) => f), at = new Map(names.map((f, i) => [f, i]));
		if (!names.length) {
			picture = null;
			map.replaceChildren(el("p", { class: "unknown" }, "No edge is that large."));
			return;
		}
		const n = names.length, w = LEFT + n * CELL + 84, h = TOP + n * CELL + 8, most = Math.max(...kept().map((e) => e.share));
		picture = svg("svg", { class: "matrix", viewBox: "0 0 " + w + " " + h, width: w, height: h, role: "img", "aria-label": "Flow map of the " + n + " largest functions: rows write, columns read. The table below has its figures." });
		names.forEach((f, i) => picture.append(
			svg("text", { x: LEFT - 8, y: TOP + i * CELL + 19, "text-anchor": "end" }, shortened(f, 24)),
			svg("text", { transform: "translate(" + (LEFT + i * CELL + 18) + " " + (TOP - 8) + ") rotate(-50)" }, shortened(f, 22))));
		for (let i = 0; i < n; i++) for (let k = 0; k < n; k++) picture.append(svg("rect", { class: "none", x: LEFT + k * CELL + 1, y: TOP + i * CELL + 1, width: CELL - 2, height: CELL - 2, rx: 3 }));
		for (const e of kept()) {
			const i = at.get(e.producer), k = at.get(e.consumer);
			if (i === undefined || k === undefined || !(e.share > 0)) continue;
			// a square root, so that small edges are seen beside the largest
			const level = Math.max(1, Math.ceil(Math.sqrt(e.share / most) * 8)), x = LEFT + k * CELL, y = TOP + i * CELL;
			const g = svg("g", { class: "level" + level }, svg("rect", { x: x + 1, y: y + 1, width: CELL - 2, height: CELL - 2, rx: 3 }),
				e.share >= 0.005 && svg("text", { x: x + CELL / 2, y: y + CELL / 2 + 4, "text-anchor": "middle" }, (100 * e.share).toFixed(0)),
				!e.resolved && svg("text", { class: "doubt", x: x + CELL - 7, y: y + 10 }, "?"));
			g.addEventListener("mousemove", (event) => tooltip(tipLines(e.producer + " \u2192 " + e.consumer, ...describe(e)), event));
			g.addEventListener("mouseleave", () => tooltip(null));
			g.addEventListener("click", () => state.set("flow.q", e.producer + " " + e.consumer));
			picture.append(g);
		}
		map.replaceChildren(picture);
	}
	const describe = (e) => [
		amounts && figure(e.bytes, "bytes") + " (" + (range(e.low, e.high, "bytes") || "interval unknown") + ")",
		figure(e.share, "share") + " of all bytes (" + (range(e.share_low, e.share_high, "share") || "interval unknown") + ")",
		e.unique_bytes !== null && figure(e.unique_bytes, "bytes") + " distinct (" + (range(e.unique_low, e.unique_high, "bytes") || "interval unknown") + ")",
		e.samples !== null && kinds.number(e.samples) + " samples of it",
		samples.loads !== null && samples.loads !== undefined && "from " + kinds.number(samples.loads) + " loads, " + kinds.number(samples.stores || 0) + " stores and " + kinds.number(samples.windows || 0) + " watch windows in all",
		!e.resolved && "the kinds of evidence for who wrote it disagree",
	];
	function draw() {
		const now = kept(), at = STEPS.findIndex((s) => s >= least());
		slider.value = at < 0 ? STEPS.length - 1 : at;
		slider.setAttribute("aria-valuetext", least() + " per cent");
		says.textContent = least() > 0 ? "from " + least() + "\u00a0%: " + now.length + " of " + edges.length + " edges" : "all " + edges.length + " edges";
		table.setRows(now);
		drawMap();
		graph.draw();
	}
	const graph = graphPanel(kept, describe);
	state.watch("flow.min", draw);
	const key = el("div", { class: "key", "aria-hidden": "true" }, "less", [1, 2, 3, 4, 5, 6, 7, 8].map((l) => el("i", { class: "level" + l })), "more; numbers are per cent of all bytes; rows write, columns read");
	const stretch = el("div", {}), whole = el("div", {}, map, key);
	function choose() {
		const r = selection.range();
		whole.classList.toggle("elsewhen", Boolean(r));
		stretch.replaceChildren(r ? el("p", { class: "unknown" }, "Of all of the recording, not of the chosen stretch: who wrote the bytes that are read is told by samples of other times, too. What each function reads and writes in the stretch stands at Time.") : "");
	}
	selection.watch(choose);
	choose();
	const element = el("div", {}, stretch,
		el("div", { class: "tools" }, el("label", { class: "slider" }, "Smallest share ", slider), says, saveButton(() => picture || map, "flow.svg")),
		whole, el("h3", {}, "As a graph"), graph.element, el("h3", {}, "As a table"), table.element,
		!amounts && flow.amounts_note && el("p", { class: "unknown" }, "Bytes: " + flow.amounts_note + "."));
	return { element, draw: draw };
}
