// SPDX-License-Identifier: GPL-2.0-or-later
// A tree as a flame graph: width is a node's part of the root. Arrow keys walk, Enter zooms, Escape zooms out.
// Nodes: { fn, sum, children, up, at }. The owner tells what they are called, their colour and their figures.
import { announce, button, clean, el, shortened, svg, tipLines, tooltip } from "./dom.js";
import { saveButton } from "./save.js";
import * as state from "./state.js";

const ROW = 20, LEAST = 0.6, LETTER = 6.6;

// label(): of the picture; title(node), describe(node): texts; colour(node): classes; found(sum, node): what a search tells.
export function flamePicture({ id, what, label, title, describe, colour, found, tools = [] }) {
	const holder = el("div", { class: "picture" }), says = el("p", { class: "says" }, "\u00a0"), count = el("span", { class: "count" });
	const input = el("input", { type: "search", placeholder: "Search", "aria-label": "Search the " + what, value: state.get(id + ".q"), on: { input: () => state.set(id + ".q", input.value) } });
	const reset = button("Zoom out", () => state.set(id + ".zoom", ""));
	let picture, root, current = null, bars = [];

	// A path of function numbers leads back to the same place.
	const path = (node) => { const p = []; for (let at = node; at && at.fn >= 0; at = at.up) p.unshift(at.fn); return p.join("."); };
	function find(text) {
		let at = root;
		for (const f of text ? text.split(".") : []) at = at && at.at.get(Number(f));
		return at || root;
	}
	function focus(node, speak) {
		current = node;
		says.replaceChildren(el("strong", {}, el("bdi", {}, shortened(title(node), 120))), " \u00b7 " + describe(node).filter(Boolean).join(" \u00b7 "));
		for (const b of bars) b.g.classList.toggle("current", b.node === node);
		if (speak) announce(clean(title(node)).slice(0, 120) + ", " + describe(node).filter(Boolean).join(", "));
	}
	const zoom = (node) => state.set(id + ".zoom", path(node));

	function place(zoomed, width) {
		const above = [];
		for (let at = zoomed.up; at; at = at.up) above.unshift(at);
		const placed = above.map((node, depth) => ({ node, x: 0, w: width, depth, ancestor: true }));
		const scale = zoomed.sum > 0 ? width / zoomed.sum : 0, queue = [{ node: zoomed, x: 0, depth: above.length }];
		for (let k = 0; k < queue.length; k++) {
			const { node, x, depth } = queue[k];
			placed.push({ node, x, w: node.sum * scale, depth });
			let next = x;
			for (const child of node.children) {
				const w = child.sum * scale;
				if (w >= LEAST) queue.push({ node: child, x: next, depth: depth + 1 });
				next += w;
			}
		}
		return placed;
	}
	function draw() {
		const width = Math.max(280, holder.clientWidth || 1160), wanted = state.get(id + ".q").toLowerCase();
		const zoomed = find(state.get(id + ".zoom")), placed = place(zoomed, width), height = (Math.max(...placed.map((p) => p.depth)) + 1) * ROW + 2;
		picture = svg("svg", { class: "flame", viewBox: "0 0 " + width + " " + height, width, height, role: "img", tabindex: "0", "aria-label": label() + " Arrow keys walk through it, Enter zooms, Escape zooms out." });
		const hit = (node) => wanted && node.fn >= 0 && title(node).toLowerCase().includes(wanted);
		bars = placed.map(({ node, x, w, depth, ancestor }) => {
			const most = Math.floor((w - 8) / LETTER), text = most >= 3 ? shortened(title(node), most) : "";
			const g = svg("g", { class: colour(node) + (ancestor ? " ancestor" : "") + (wanted ? (hit(node) ? " hit" : " miss") : "") },
				svg("rect", { x: x.toFixed(2), y: depth * ROW + 1, width: Math.max(0.5, w - (w > 3 ? 1 : 0.2)).toFixed(2), height: ROW - 1, rx: w > 8 ? 2 : 0 }),
				text && svg("text", { x: (x + 5).toFixed(2), y: depth * ROW + 15 }, text));
			g.addEventListener("click", () => { focus(node); zoom(node); });
			g.addEventListener("mousemove", (e) => tooltip(tipLines(title(node), ...describe(node)), e));
			g.addEventListener("mouseleave", () => tooltip(null));
			picture.append(g);
			return { node, g, depth };
		});
		picture.addEventListener("keydown", keys);
		const old = holder.firstChild, focused = old && old === document.activeElement;
		holder.replaceChildren(picture);
		if (focused) picture.focus();
		reset.disabled = zoomed === root;
		if (current) focus(bars.some((b) => b.node === current) ? current : zoomed);
		let sum = 0;
		const walk = [root];
		while (wanted && walk.length) {
			const node = walk.pop();
			if (hit(node)) sum += node.sum;
			else walk.push(...node.children);
		}
		count.textContent = wanted ? found(sum) : "";
	}
	function keys(e) {
		const node = current || find(state.get(id + ".zoom")), siblings = node.up ? node.up.children : [node], i = siblings.indexOf(node);
		const to = { ArrowDown: node.children[0], ArrowUp: node.up, ArrowRight: siblings[i + 1], ArrowLeft: siblings[i - 1] };
		if (e.key in to) {
			if (to[e.key]) focus(to[e.key], true);
		} else if (e.key === "Enter") {
			zoom(node);
		} else if (e.key === "Escape") {
			state.set(id + ".zoom", "");
		} else {
			return;
		}
		e.preventDefault();
	}
	function show(tree) {
		root = tree;
		current = null;
		says.textContent = "\u00a0";
		draw();
	}
	state.watch(id + ".q", () => { input.value = state.get(id + ".q"); draw(); });
	state.watch(id + ".zoom", draw);
	const element = el("div", {}, el("div", { class: "tools" }, input, count, tools, reset, saveButton(() => picture, id + ".svg")), holder, says);
	return { element, show, draw };
}
