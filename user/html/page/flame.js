// SPDX-License-Identifier: GPL-2.0-or-later
// Flame graph: width is the share of samples. Arrow keys walk, Enter zooms, Escape zooms out.
import { announce, button, clean, el, shortened, svg, tipLines, tooltip } from "./dom.js";
import { figure, kinds, range } from "./format.js";
import { saveButton } from "./save.js";
import * as state from "./state.js";

const ROW = 20, LEAST = 0.6, LETTER = 6.6;

export function flamePanel(stacks, selection) {
	const holder = el("div", { class: "picture" }), says = el("p", { class: "says" }, "\u00a0");
	const found = el("span", { class: "count" });
	const input = el("input", { type: "search", placeholder: "Search", "aria-label": "Search the flame graph", value: state.get("flame.q"), on: { input: () => state.set("flame.q", input.value) } });
	const inverted = () => state.get("flame.up") === "leaf";
	const turn = el("input", { type: "checkbox", checked: inverted(), on: { change: () => { state.set("flame.zoom", ""); state.set("flame.up", turn.checked ? "leaf" : ""); } } });
	const reset = button("Zoom out", () => state.set("flame.zoom", ""));
	let picture, part, root, current = null, bars = [];

	// A path of function numbers leads back to the same place.
	const path = (node) => { const p = []; for (let at = node; at && at.fn >= 0; at = at.up) p.unshift(at.fn); return p.join("."); };
	function find(text) {
		let at = root;
		for (const f of text ? text.split(".") : []) at = at && at.at.get(Number(f));
		return at || root;
	}
	const title = (node) => (node.fn < 0 ? "all samples" : stacks.label[node.fn]);
	function describe(node) {
		const share = part.total > 0 ? node.sum / part.total : 0, self = part.total > 0 ? node.self / part.total : 0;
		return [node.fn >= 0 && (stacks.object[node.fn] ? clean(stacks.object[node.fn]) : "stacks too small to draw"),
			figure(share, "share") + " of the samples (" + range(...stacks.interval(share, part), "share") + ")",
			!inverted() && figure(self, "share") + " itself (" + range(...stacks.interval(self, part), "share") + ")",
			kinds.number(node.samples) + " samples"];
	}
	function focus(node, speak) {
		current = node;
		says.replaceChildren(el("strong", {}, el("bdi", {}, shortened(title(node), 120))), " \u00b7 " + describe(node).filter(Boolean).join(" \u00b7 "));
		for (const b of bars) b.g.classList.toggle("current", b.node === node);
		if (speak) announce(clean(title(node)).slice(0, 120) + ", " + describe(node).filter(Boolean).join(", "));
	}
	const zoom = (node) => state.set("flame.zoom", path(node));

	function draw() {
		const width = Math.max(280, holder.clientWidth || 1160), wanted = state.get("flame.q").toLowerCase();
		const zoomed = find(state.get("flame.zoom"));
		const above = [];
		for (let at = zoomed.up; at; at = at.up) above.unshift(at);
		const placed = above.map((node, depth) => ({ node, x: 0, w: width, depth, ancestor: true }));
		const scale = zoomed.sum > 0 ? width / zoomed.sum : 0, queue = [{ node: zoomed, x: 0, depth: above.length }];
		let deepest = above.length;
		for (let k = 0; k < queue.length; k++) {
			const { node, x, depth } = queue[k], w = node.sum * scale;
			placed.push({ node, x, w, depth });
			deepest = Math.max(deepest, depth);
			let next = x;
			for (const child of node.children) {
				const cw = child.sum * scale;
				if (cw >= LEAST) queue.push({ node: child, x: next, depth: depth + 1 });
				next += cw;
			}
		}
		const height = (deepest + 1) * ROW + 2;
		picture = svg("svg", { class: "flame", viewBox: "0 0 " + width + " " + height, width, height, role: "img", tabindex: "0",
			"aria-label": "Flame graph, " + (inverted() ? "functions at the top, who calls them below" : "callers at the top, what they call below") + ". Arrow keys walk through it, Enter zooms, Escape zooms out." });
		const hit = (node) => wanted && node.fn >= 0 && stacks.label[node.fn].toLowerCase().includes(wanted);
		bars = placed.map(({ node, x, w, depth, ancestor }) => {
			const most = Math.floor((w - 8) / LETTER), text = most >= 3 ? shortened(title(node), most) : "";
			const hue = node.fn < 0 ? "root" : stacks.object[node.fn] === "" ? "hue7" : "hue" + stacks.hue(stacks.object[node.fn]);
			const g = svg("g", { class: hue + (ancestor ? " ancestor" : "") + (wanted ? (hit(node) ? " hit" : " miss") : "") },
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
		match(hit, wanted);
	}
	function match(hit, wanted) {
		let sum = 0;
		const walk = [root];
		while (wanted && walk.length) {
			const node = walk.pop();
			if (hit(node)) sum += node.sum;
			else walk.push(...node.children);
		}
		const share = part.total > 0 ? sum / part.total : 0;
		found.textContent = wanted ? "on " + figure(share, "share") + " of the stacks (" + range(...stacks.interval(share, part), "share") + ")" : "";
	}
	function keys(e) {
		const node = current || find(state.get("flame.zoom")), siblings = node.up ? node.up.children : [node], i = siblings.indexOf(node);
		const to = { ArrowDown: node.children[0], ArrowUp: node.up, ArrowRight: siblings[i + 1], ArrowLeft: siblings[i - 1] };
		if (e.key in to) {
			if (to[e.key]) focus(to[e.key], true);
		} else if (e.key === "Enter") {
			zoom(node);
		} else if (e.key === "Escape") {
			state.set("flame.zoom", "");
		} else {
			return;
		}
		e.preventDefault();
	}
	function build() {
		part = stacks.part(selection.range());
		root = stacks.tree(part, inverted());
		turn.checked = inverted();
		current = null;
		says.textContent = "\u00a0";
		draw();
	}
	state.watch("flame.q", () => { input.value = state.get("flame.q"); draw(); });
	state.watch("flame.zoom", draw);
	state.watch("flame.up", build);
	selection.watch(build);
	const legend = el("ul", { class: "legend", "aria-label": "Colours" },
		stacks.objects.slice(0, 7).map((o) => el("li", {}, el("i", { class: "hue" + stacks.hue(o) }), el("bdi", {}, shortened(o, 40)))),
		stacks.objects.length > 7 && el("li", {}, el("i", { class: "hue7" }), "others"));
	const element = el("div", {}, el("div", { class: "tools" }, input, found, el("label", {}, turn, " Inverted"), reset, saveButton(() => picture, "flame.svg")), holder, says, legend);
	return { element, build, draw };
}
