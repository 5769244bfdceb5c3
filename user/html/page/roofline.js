// SPDX-License-Identifier: GPL-2.0-or-later
// Functions under the most that one core of this machine can do, as `accperf advise --roofline` has them.
import { axisBottom, axisLeft } from "d3-axis";
import { scaleLog } from "d3-scale";
import { select } from "d3-selection";
import { el, pictureHolder, shortened, svg, tipLines, tooltip } from "./dom.js";
import { figure, kinds, range } from "./format.js";
import { saveButton } from "./save.js";
import { makeTable } from "./table.js";

const W = 760, H = 360, LEFT = 76, BOTTOM = 46, SHOWN = 40;
const roofAt = (roof, level, x) => Math.min(roof.ops_per_s, x * level.bytes_per_s);

function picture(roof) {
	const dots = roof.functions.filter((f) => f.ops_per_byte > 0 && f.ops_per_s > 0).slice(0, SHOWN);
	const x = scaleLog().base(2).domain([Math.min(1 / 64, ...dots.map((f) => f.ops_per_byte / 2)), Math.max(64, ...dots.map((f) => f.ops_per_byte * 2))]).range([LEFT, W - 14]);
	const y = scaleLog().domain([Math.min(1e7, ...dots.map((f) => f.ops_per_s / 2)), Math.max(1e10, ...(roof.ops_per_s ? [roof.ops_per_s * 1.5] : []), ...dots.map((f) => f.ops_per_s * 2))]).range([H - BOTTOM, 14]);
	const image = svg("svg", { class: "curves", viewBox: "0 0 " + W + " " + H, width: W, height: H, role: "img", "aria-label": "Operations a second over operations a byte: the roof by level of memory, and functions. The table below has the figures." });
	const [from, to] = x.domain(), grid = Array.from({ length: 97 }, (_, i) => from * (to / from) ** (i / 96));
	roof.levels.forEach((level, i) => image.append(svg("path", { class: "roof" + i, d: "M" + grid.map((v) => x(v).toFixed(1) + " " + y(Math.max(y.domain()[0], roofAt(roof, level, v))).toFixed(1)).join("L") })));
	for (const f of dots) {
		const dot = svg("circle", { class: "placed", cx: x(f.ops_per_byte).toFixed(1), cy: y(f.ops_per_s).toFixed(1), r: 5 });
		dot.addEventListener("mousemove", (e) => tooltip(tipLines(f.name, figure(f.ops_per_byte) + " operations a byte", figure(f.ops_per_s, "rate") + " operations (" + (range(f.ops_per_s_low, f.ops_per_s_high, "rate") || "interval unknown") + ")", "bound by: " + f.bound), e));
		dot.addEventListener("mouseleave", () => tooltip(null));
		image.append(dot, svg("text", { x: (x(f.ops_per_byte) + 8).toFixed(1), y: (y(f.ops_per_s) + 4).toFixed(1) }, shortened(f.name, 22)));
	}
	select(image).append("g").attr("class", "axis").attr("transform", "translate(0," + (H - BOTTOM) + ")").call(axisBottom(x).ticks(8, (v) => (v < 1 ? "1/" + Math.round(1 / v) : String(v))));
	select(image).append("g").attr("class", "axis").attr("transform", "translate(" + LEFT + ",0)").call(axisLeft(y).ticks(5, (v) => figure(v, "rate")));
	image.append(svg("text", { x: (LEFT + W) / 2, y: H - 8, "text-anchor": "middle" }, "operations a byte"));
	return image;
}

export function rooflinePanel(roof) {
	const known = roof.functions.filter((f) => f.ops_per_s > 0 && f.ops_per_byte > 0).length, image = picture(roof);
	const columns = [
		{ key: "name", title: "function", kind: "text" },
		{ key: "ops_per_byte", title: "ops/byte", kind: "number", low: "ops_per_byte_low", high: "ops_per_byte_high", whyRange: "too little of its code was read", help: "arithmetic and logical instructions a byte loaded and stored, the stack's left out" },
		{ key: "ops_per_s", title: "operations", kind: "rate", low: "ops_per_s_low", high: "ops_per_s_high", why: "takes amounts, which record --counts auto measures" },
		{ key: "part_of_roof", title: "of the roof", kind: "share", low: "part_of_roof_low", high: "part_of_roof_high", wide: true, help: "of what the nearest cache would allow", why: "its operations a second or the roof are unknown" },
		{ key: "bound", title: "bound by", kind: "text", help: "depends: on the level that its bytes come from, which no sample tells" },
	];
	return el("div", {},
		roof.machine ? el("p", {}, "One core of this machine: ", el("strong", {}, figure(roof.ops_per_s, "rate")), " arithmetic and logical instructions. The machine: ", el("bdi", {}, shortened(roof.machine, 160)), ".")
			: el("p", { class: "unknown" }, "The roof is unknown: " + roof.why_no_roof + "."),
		(roof.machine || known > 0) && [el("div", { class: "tools" }, saveButton(() => image, "roofline.svg")), pictureHolder("Roofline", {}, image),
			el("ul", { class: "legend", "aria-label": "Colours" }, roof.levels.map((l, i) => el("li", {}, el("i", { class: "roof" + i }), "bytes from " + figure(l.bytes, "bytes") + ": " + figure(l.bytes_per_s / 1e9) + " GB/s")))],
		roof.functions.length ? makeTable({ id: "roofline", label: "Functions under the roof", columns, rows: roof.functions, search: (f) => f.name + " " + f.object + " " + f.bound, sort: [known ? "ops_per_s" : "ops_per_byte", true], first: 12 }).element
			: el("p", { class: "unknown" }, "No function's operations a byte are known: record where bursts can see the code, or `accperf exact`."),
		roof.functions.length > known && el("p", { class: "unknown" }, kinds.number(roof.functions.length - known) + " of " + kinds.number(roof.functions.length) + " functions are not in the picture: their operations a second are unknown."));
}
