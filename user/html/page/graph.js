// SPDX-License-Identifier: GPL-2.0-or-later
// The flow as a graph: functions are circles, arrows lead from who wrote to who read. The wheel and the buttons zoom,
// dragging moves, a click or the list below follows a function's producers and consumers.
import { forceCenter, forceCollide, forceLink, forceManyBody, forceSimulation } from "d3-force";
import { select } from "d3-selection";
import { zoom, zoomIdentity } from "d3-zoom";
import { button, el, name, pictureHolder, shortened, svg, tipLines, tooltip } from "./dom.js";
import { figure, range } from "./format.js";
import { saveButton } from "./save.js";
import * as state from "./state.js";

const NODES = 60, EDGES = 200, HEIGHT = 520, STEPS = 200;

// An arc, so that the edges there and back are told apart; an edge to itself is a loop.
function arc(a, b) {
	if (a === b) return "M" + (a.x - 4).toFixed(1) + " " + (a.y - a.r).toFixed(1) + "c-22 -34 30 -34 8 0";
	const dx = b.x - a.x, dy = b.y - a.y, d = Math.hypot(dx, dy) || 1, from = a.r / d, to = (b.r + 7) / d;
	const x1 = a.x + dx * from, y1 = a.y + dy * from, x2 = b.x - dx * to, y2 = b.y - dy * to;
	return "M" + x1.toFixed(1) + " " + y1.toFixed(1) + "Q" + ((x1 + x2) / 2 - dy * 0.14).toFixed(1) + " " + ((y1 + y2) / 2 + dx * 0.14).toFixed(1) + " " + x2.toFixed(1) + " " + y2.toFixed(1);
}

// Functions that no edge holds drift away: all of them are brought into the picture.
function fit(nodes, width) {
	const edge = 44, x = nodes.map((d) => d.x), y = nodes.map((d) => d.y), left = Math.min(...x), top = Math.min(...y);
	const high = Math.min(1.3, (HEIGHT - 2 * edge) / (Math.max(...y) - top || 1));
	// names are wide, and so is the page: more room to the sides than up and down
	const wide = Math.min(3 * high, (width - 2 * edge) / (Math.max(...x) - left || 1));
	const dx = (width - wide * (Math.max(...x) - left)) / 2, dy = (HEIGHT - high * (Math.max(...y) - top)) / 2;
	for (const d of nodes) {
		d.x = dx + wide * (d.x - left);
		d.y = dy + high * (d.y - top);
	}
}

// Where each name fits, below its circle or above; undefined: it would cover a name that comes before it.
function placeNames(nodes) {
	const taken = nodes.map((d) => ({ x: d.x - d.r * 0.7, y: d.y - d.r * 0.7, right: d.x + d.r * 0.7, bottom: d.y + d.r * 0.7 }));
	for (const d of nodes) {
		const half = 3.3 * shortened(d.f, 22).length;
		for (const y of [d.r + 13, -d.r - 4]) {
			const box = { x: d.x - half, y: d.y + y - 10, right: d.x + half, bottom: d.y + y + 2 };
			if (taken.some((o) => box.x < o.right && o.x < box.right && box.y < o.bottom && o.y < box.bottom)) continue;
			taken.push(box);
			d.nameAt = y;
			break;
		}
	}
}

export function graphPanel(kept, describe) {
	const holder = pictureHolder("Flow graph"), around = el("div", { class: "around" }), count = el("span", { class: "count" });
	const pick = el("select", { "aria-label": "Follow a function", on: { change: () => state.set("flow.node", pick.value) } });
	let picture, scale, layer;
	const by = (factor) => button(factor > 1 ? "+" : "\u2212", () => scale && select(picture).call(scale.scaleBy, factor), { "aria-label": factor > 1 ? "Zoom in" : "Zoom out" });

	function follow(title, list, key) {
		return el("div", {}, el("h4", {}, title), list.length ? el("ul", {}, list.slice(0, 12).map((e) => el("li", {}, (() => { const b = button("", () => state.set("flow.node", e[key]), { class: "link" }); b.append(name(e[key])); return b; })(), el("span", {}, figure(e.share, "share"), " ", el("small", {}, range(e.share_low, e.share_high, "share")))))) : el("p", { class: "unknown" }, "none of this size"));
	}
	function draw() {
		const all = kept().filter((e) => e.share > 0), size = new Map();
		for (const e of all) for (const f of [e.producer, e.consumer]) size.set(f, (size.get(f) || 0) + e.share);
		const names = [...size].sort((a, b) => b[1] - a[1]).slice(0, NODES).map(([f]) => f), at = new Map(names.map((f, i) => [f, i]));
		const edges = all.filter((e) => at.has(e.producer) && at.has(e.consumer)).sort((a, b) => b.share - a.share).slice(0, EDGES);
		const chosen = state.get("flow.node"), width = Math.max(320, holder.clientWidth || 1160), most = Math.max(...edges.map((e) => e.share), 1e-9), largest = Math.max(...size.values(), 1e-9);
		count.textContent = names.length + " of " + size.size + " functions, " + edges.length + " of " + all.length + " edges";
		pick.replaceChildren(el("option", { value: "" }, "all functions"), ...names.map((f) => el("option", { value: f }, shortened(f, 60))));
		pick.value = at.has(chosen) ? chosen : "";
		const nodes = names.map((f) => ({ f, r: 6 + 16 * Math.sqrt(size.get(f) / largest) })), links = edges.filter((e) => e.producer !== e.consumer).map((e) => ({ source: at.get(e.producer), target: at.get(e.consumer), share: e.share }));
		const run = forceSimulation(nodes).force("link", forceLink(links).distance(110).strength((l) => 0.15 + 0.5 * Math.sqrt(l.share / most))).force("apart", forceManyBody().strength(-420).distanceMax(300)).force("room", forceCollide((d) => d.r + 16)).force("middle", forceCenter(width / 2, HEIGHT / 2)).stop();
		for (let i = 0; i < STEPS; i++) run.tick();
		fit(nodes, width);
		const near = new Set(chosen ? edges.filter((e) => e.producer === chosen || e.consumer === chosen).flatMap((e) => [e.producer, e.consumer]) : []);
		const far = (f) => at.has(chosen) && f !== chosen && !near.has(f);
		placeNames([...nodes].sort((a, b) => far(a.f) - far(b.f)));
		picture = svg("svg", { class: "graph", viewBox: "0 0 " + width + " " + HEIGHT, width, height: HEIGHT, role: "img", "aria-label": "Flow graph of the " + names.length + " largest functions; arrows lead from who wrote to who read; a name that would cover another is left out. The table below has its figures." },
			svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 2, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" }, svg("path", { class: "tip", d: "M0 0L8 4L0 8z" }))));
		layer = svg("g", {});
		picture.append(layer);
		for (const e of edges) {
			const a = nodes[at.get(e.producer)], b = nodes[at.get(e.consumer)], level = Math.max(2, Math.ceil(Math.sqrt(e.share / most) * 8));
			const line = svg("path", { class: "edge stroke" + level + (at.has(chosen) && e.producer !== chosen && e.consumer !== chosen ? " far" : "") + (e.resolved ? "" : " doubt"), d: arc(a, b), "stroke-width": (1 + 6 * Math.sqrt(e.share / most)).toFixed(1), "marker-end": a === b ? null : "url(#arrow)" });
			line.addEventListener("mousemove", (event) => tooltip(tipLines(e.producer + " \u2192 " + e.consumer, ...describe(e)), event));
			line.addEventListener("mouseleave", () => tooltip(null));
			layer.append(line);
		}
		for (const d of nodes) {
			const g = svg("g", { class: "node" + (d.f === chosen ? " chosen" : "") + (far(d.f) ? " far" : ""), transform: "translate(" + d.x.toFixed(1) + " " + d.y.toFixed(1) + ")" }, svg("circle", { r: d.r.toFixed(1) }), d.nameAt !== undefined && svg("text", { y: d.nameAt.toFixed(1), "text-anchor": "middle" }, shortened(d.f, 22)));
			g.addEventListener("mousemove", (event) => tooltip(tipLines(d.f, figure(all.filter((e) => e.producer === d.f).reduce((s, e) => s + e.share, 0), "share") + " of all bytes written here", figure(all.filter((e) => e.consumer === d.f).reduce((s, e) => s + e.share, 0), "share") + " read here"), event));
			g.addEventListener("mouseleave", () => tooltip(null));
			g.addEventListener("click", () => state.set("flow.node", d.f === chosen ? "" : d.f));
			layer.append(g);
		}
		scale = zoom().scaleExtent([0.3, 8]).on("zoom", () => layer.setAttribute("transform", "translate(" + zoomNow().x + " " + zoomNow().y + ") scale(" + zoomNow().k + ")"));
		const zoomNow = () => picture.__zoom || zoomIdentity;
		select(picture).call(scale);
		holder.replaceChildren(picture);
		around.replaceChildren(...(at.has(chosen) ? [follow("written by", all.filter((e) => e.consumer === chosen).sort((a, b) => b.share - a.share), "producer"), follow("read by", all.filter((e) => e.producer === chosen).sort((a, b) => b.share - a.share), "consumer")] : []));
	}
	state.watch("flow.node", draw);
	const element = el("div", {}, el("div", { class: "tools" }, el("label", {}, "Follow ", pick), count, by(1.5), by(1 / 1.5), button("Whole graph", () => select(picture).call(scale.transform, zoomIdentity)), saveButton(() => picture, "flow-graph.svg")), holder, around);
	return { element, draw };
}
