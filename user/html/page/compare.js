// SPDX-License-Identifier: GPL-2.0-or-later
// Two profiles of one program: what `accperf diff` says of functions and edges, and both trees of stacks as one flame
// graph whose colour is the change. What may be noise is grey.
import { clean, el, name, shortened } from "./dom.js";
import { flamePicture } from "./flamepicture.js";
import { figure, kinds, range, wilson } from "./format.js";
import * as state from "./state.js";
import { makeTable } from "./table.js";

const MARK = { real: "told", noise: "unknown", unknown: "unknown" }, SAYS = { real: "real", noise: "may be noise", unknown: "cannot tell" };
const pill = (verdict) => el("span", { class: "mark " + (MARK[verdict] || "unknown") }, SAYS[verdict] || shortened(verdict, 40));
// Points of a hundred, with their sign.
const points = (v) => (v > 0 ? "+" : v < 0 ? "\u2212" : "") + (100 * Math.abs(v)).toFixed(2) + "\u00a0%";
const STEPS = [0.002, 0.01, 0.05];
const level = (change) => 1 + STEPS.filter((s) => Math.abs(change) >= s).length;

function changes(id, label, what, rows, first) {
	// shares of nothing are not 0
	for (const side of ["base", "other"]) if (rows.length && rows.every((r) => !r[side])) rows = rows.map((r) => ({ ...r, [side]: null, change_low: null, change_high: null }));
	const all = rows.map((r) => ({ ...r, change: r.base === null || r.other === null ? null : r.other - r.base, size: r.base === null || r.other === null ? null : Math.abs(r.other - r.base) }));
	const real = all.filter((r) => r.verdict === "real"), noise = all.filter((r) => r.verdict === "noise").length, unknown = all.length - real.length - noise;
	const both = el("input", { type: "checkbox", on: { change: () => state.set(id + ".all", both.checked ? "yes" : "no") } });
	const interval = (r) => (r.change_low === null ? "" : r.change_low === r.change_high ? "exact" : points(r.change_low) + " to " + points(r.change_high));
	const columns = [...first,
		{ key: "base", title: "before", kind: "share", low: "base_low", high: "base_high", help: "share of that profile's own total" }, { key: "other", title: "now", kind: "share", low: "other_low", high: "other_high", help: "share of this profile's own total" },
		{ key: "size", title: "change", kind: "share", value: (r) => r.size, text: (r) => r.change, why: "a profile has none of it", node: (r) => r.change === null ? el("span", { class: "unknown", title: "one of the profiles has nothing of this kind" }, "unknown") : el("span", { class: "figure" }, points(r.change), interval(r) ? el("small", { class: "range", title: "95 % interval, of this change alone" }, interval(r)) : el("small", { class: "range unknown", title: "its error is unknown" }, "interval unknown")) },
		{ key: "q", title: "q", kind: "number", wide: true, help: "of all changes with at most this q, that share is chance", why: "its error is unknown", node: (r) => (r.q === null ? el("span", { class: "unknown", title: "its error is unknown" }, "unknown") : r.q < 0.001 ? "<\u00a00.001" : r.q.toFixed(3)) },
		{ key: "verdict", title: "the change is", kind: "text", node: (r) => pill(r.verdict) }];
	const table = makeTable({ id, label, columns, rows: real, search: (r) => [r.name, r.object, r.producer, r.consumer].join(" "), sort: ["size", true], first: 15, tools: [el("label", {}, both, " also what may be noise")] });
	function choose() {
		both.checked = state.get(id + ".all", real.length ? "no" : "yes") === "yes";
		table.setRows(both.checked ? all : real);
	}
	state.watch(id + ".all", choose);
	choose();
	const says = !all.length ? "Neither profile has any " + what + "." : real.length + " of " + all.length + " " + what + " changed" + (noise ? "; of " + noise + " the change may be noise" : "") + (unknown ? "; of " + unknown + " nothing can be told, as their error is unknown" : "") + ".";
	return [el("p", {}, says), all.length > 0 && table.element];
}

// The tree in which each place is as wide as it is now, or was before.
function treeOf(nodes, width) {
	const root = { fn: -1, i: -1, sum: 1, children: [], at: new Map() }, made = [];
	for (let i = 0; i < nodes.parent.length; i++) {
		const up = nodes.parent[i] >= 0 ? made[nodes.parent[i]] : root, node = (made[i] = { fn: nodes.function[i], i, sum: nodes[width][i], children: [], at: new Map(), up });
		up.at.set(node.fn, node);
		if (node.sum > 0) up.children.push(node);
	}
	for (const node of [root, ...made]) node.children.sort((a, b) => b.sum - a.sum);
	return root;
}

function flameOf(diff) {
	const { nodes, functions } = diff, before = () => state.get("change.width") === "before";
	const known = (share, samples) => figure(share, "share") + " (" + range(...wilson(share, samples), "share") + ")";
	const turn = el("input", { type: "checkbox", on: { change: () => state.set("change.width", turn.checked ? "before" : "") } });
	const graph = flamePicture({
		id: "change", what: "flame graph of the change", tools: [el("label", {}, turn, " Width as before")],
		label: () => "Flame graph of both profiles, callers at the top; as wide as " + (before() ? "it was before" : "it is now") + "; coloured by the change.",
		title: (n) => (n.fn < 0 ? "all samples" : functions.name[n.fn]),
		describe: (n) => (n.fn < 0 ? [kinds.number(diff.base_samples) + " samples before, " + kinds.number(diff.samples) + " now"]
			: [functions.object[n.fn] ? clean(functions.object[n.fn]) : "stacks too small to draw", known(nodes.base[n.i], diff.base_samples) + " before, " + known(nodes.share[n.i], diff.samples) + " now: " + points(nodes.share[n.i] - nodes.base[n.i]),
				SAYS[nodes.verdict[n.i]] + (nodes.q[n.i] === null ? ": it may be among the stacks too small to draw" : " (q " + (nodes.q[n.i] < 0.001 ? "below 0.001" : nodes.q[n.i].toFixed(3)) + ")"),
				kinds.number(nodes.base_count[n.i]) + " samples before, " + kinds.number(nodes.count[n.i]) + " now"]),
		colour: (n) => (n.fn < 0 ? "root" : nodes.verdict[n.i] !== "real" ? "same" : (nodes.share[n.i] > nodes.base[n.i] ? "more" : "less") + level(nodes.share[n.i] - nodes.base[n.i])),
		found: (sum) => "on " + figure(sum, "share") + " of the stacks",
	});
	const build = () => { turn.checked = before(); graph.show(treeOf(nodes, before() ? "base" : "share")); };
	state.watch("change.width", build);
	const steps = ["below 0.2", "from 0.2", "from 1", "from 5"];
	const legend = el("ul", { class: "legend", "aria-label": "Colours" }, [4, 3, 2, 1].map((l) => el("li", {}, el("i", { class: "less" + l }), "less, " + steps[l - 1] + " %")), el("li", {}, el("i", { class: "same" }), "may be noise, or unknown"), [1, 2, 3, 4].map((l) => el("li", {}, el("i", { class: "more" + l }), "more, " + steps[l - 1] + " %")));
	return { element: el("div", {}, graph.element, legend), build, draw: graph.draw };
}

export function comparePanel(diff, note, stackDiff, whyNoStacks) {
	const graph = stackDiff && flameOf(stackDiff);
	const file = (path) => name(path.slice(path.lastIndexOf("/") + 1));
	const element = el("div", {},
		el("p", {}, "Before: ", file(diff.base), "; now: ", file(diff.other), ". Shares are of each profile's own total."),
		note && el("p", { class: "trust weak" }, shortened(note, 400)),
		diff.edges.length > 0 && el("p", {}, "The flow changed by " + figure(diff.tv, "share") + " (total variation; where nothing changes, chance makes " + (diff.tv_noise === null ? "nobody knows how much" : figure(diff.tv_noise, "share") + " in the mean") + ")" + (diff.base_bytes !== null && diff.other_bytes !== null ? "; bytes: " + figure(diff.base_bytes, "bytes") + " before, " + figure(diff.other_bytes, "bytes") + " now" : "") + "."),
		el("h3", {}, "Functions, by time"), changes("changed", "Changed functions", "functions", diff.functions, [{ key: "name", title: "function", kind: "text", node: (r) => el("span", { class: "stacked" }, name(r.name), el("small", {}, name(r.object))) }]),
		el("h3", {}, "Stacks"), graph ? graph.element : el("p", { class: "unknown" }, "The stacks cannot be compared: " + (whyNoStacks || "a profile keeps none") + "."),
		el("h3", {}, "Edges of the flow, by bytes"), changes("moved", "Changed edges", "edges", diff.edges, [{ key: "producer", title: "written by", kind: "text" }, { key: "consumer", title: "read by", kind: "text" }]),
		el("p", { class: "unknown" }, "real: q is 0.05 or less, of all changes called real one in twenty is chance; the same judgement as `accperf diff`. A share that grows need not take longer: something else may have become faster."));
	return { element, build: graph ? graph.build : () => {}, draw: graph ? graph.draw : () => {} };
}
