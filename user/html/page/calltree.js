// SPDX-License-Identifier: GPL-2.0-or-later
// The tree of a flame graph as a list that is opened step by step: for those who read rather than look.
import { button, el, name } from "./dom.js";

const FIRST = 12, OBVIOUS = 0.9;

// title(node), figures(node): what stands in a line. What has next to all of its parent's is opened at once.
export function callTree({ label, title, figures }) {
	const element = el("div", { class: "tree" });
	function line(node) {
		const text = [el("span", { class: "share" }, figures(node)[0]), " ", name(title(node)), " ", el("small", {}, figures(node)[1])];
		if (!node.children.length) return el("li", {}, el("span", { class: "leaf" }, text));
		const inside = el("div", {}), d = el("details", { on: { toggle: () => d.open && fill() } }, el("summary", {}, text), inside);
		const fill = () => inside.firstChild || inside.append(children(node));
		if (node.children.length === 1 && node.children[0].sum >= OBVIOUS * node.sum) {
			d.open = true;
			fill();
		}
		return el("li", {}, d);
	}
	function children(node, most = FIRST) {
		const list = el("ul", {}, node.children.slice(0, most).map(line));
		const rest = node.children.length - most;
		if (rest > 0) {
			const more = el("li", {}, button(rest + " more", () => more.replaceWith(...node.children.slice(most).map(line)), { class: "link" }));
			list.append(more);
		}
		return list;
	}
	function show(root) {
		const list = children(root);
		list.setAttribute("aria-label", label());
		element.replaceChildren(list);
	}
	return { element, show };
}
