// SPDX-License-Identifier: GPL-2.0-or-later
// The flame graph of the samples, of all of the recording or of the stretch that is chosen.
import { callTree } from "./calltree.js";
import { clean, el, shortened } from "./dom.js";
import { flamePicture } from "./flamepicture.js";
import { figure, kinds, range } from "./format.js";
import * as state from "./state.js";

export function flamePanel(stacks, selection) {
	const inverted = () => state.get("flame.up") === "leaf";
	const turn = el("input", { type: "checkbox", checked: inverted(), on: { change: () => { state.set("flame.zoom", ""); state.set("flame.up", turn.checked ? "leaf" : ""); } } });
	let part;
	const share = (weight) => (part.total > 0 ? weight / part.total : 0), interval = (s) => range(...stacks.interval(s, part), "share");
	const graph = flamePicture({
		id: "flame", what: "flame graph", tools: [el("label", {}, turn, " Inverted")],
		label: () => "Flame graph, " + (inverted() ? "functions at the top, who calls them below" : "callers at the top, what they call below") + ".",
		title: (node) => (node.fn < 0 ? "all samples" : stacks.label[node.fn]),
		describe: (node) => [node.fn >= 0 && (stacks.object[node.fn] ? clean(stacks.object[node.fn]) : "stacks too small to draw"),
			figure(share(node.sum), "share") + " of the samples (" + interval(share(node.sum)) + ")",
			!inverted() && figure(share(node.self), "share") + " itself (" + interval(share(node.self)) + ")",
			kinds.number(node.samples) + " samples"],
		colour: (node) => (node.fn < 0 ? "root" : stacks.object[node.fn] === "" ? "hue7" : "hue" + stacks.hue(stacks.object[node.fn])),
		found: (sum) => "on " + figure(share(sum), "share") + " of the stacks (" + interval(share(sum)) + ")",
	});
	const title = (node) => stacks.label[node.fn];
	const tree = callTree({
		label: () => (inverted() ? "Functions, and who calls them" : "Callers, and what they call"), title,
		figures: (node) => [figure(share(node.sum), "share"), interval(share(node.sum)) + (inverted() ? "" : "; itself " + figure(share(node.self), "share"))],
	});
	function build() {
		part = stacks.part(selection.range());
		turn.checked = inverted();
		const root = stacks.tree(part, inverted());
		graph.show(root);
		tree.show(root);
	}
	state.watch("flame.up", build);
	selection.watch(build);
	const legend = el("ul", { class: "legend", "aria-label": "Colours" },
		stacks.objects.slice(0, 7).map((o) => el("li", {}, el("i", { class: "hue" + stacks.hue(o) }), el("bdi", {}, shortened(o, 40)))),
		stacks.objects.length > 7 && el("li", {}, el("i", { class: "hue7" }), "others"));
	return { element: el("div", {}, graph.element, legend, el("h3", {}, "As a tree"), tree.element), build, draw: graph.draw };
}
