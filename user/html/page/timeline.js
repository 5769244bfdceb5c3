// SPDX-License-Identifier: GPL-2.0-or-later
// Time from left to right: CPU time by object, then bytes of each function. Dragging over it, or the arrow keys in
// its two fields, chooses the stretch that tables and flame graph show.
import { max } from "d3-array";
import { axisBottom } from "d3-axis";
import { brushX } from "d3-brush";
import { scaleLinear } from "d3-scale";
import { event as brushEvent, select } from "d3-selection";
import { button, el, name, pictureHolder, shortened, svg, tipLines, tooltip } from "./dom.js";
import { figure, kinds, range } from "./format.js";
import { saveButton } from "./save.js";

const LEFT = 150, RIGHT = 12, HEIGHT = 120, STRIP = 20, FUNCTIONS = 12;

export function timelinePanel(stacks, timeline, whyNoTimeline, selection) {
	const slices = stacks.slices, sliceNs = stacks.sliceNs, holder = pictureHolder("Timeline"), says = el("p", { class: "says", role: "status" }), moved = el("div", {});
	const shownObjects = stacks.objects.slice(0, 7);
	let picture, quiet = false;
	const perSlice = Array.from({ length: slices }, () => ({ by: new Float64Array(8), sum: 0, samples: 0 }));
	for (let i = 0; i < stacks.time.slice.length; i++) {
		const s = perSlice[stacks.time.slice[i]], f = stacks.data.nodes.function[stacks.time.node[i]];
		s.by[stacks.hue(stacks.object[f])] += stacks.time.weight[i];
		s.sum += stacks.time.weight[i];
		s.samples += stacks.time.samples[i];
	}
	const bytesRows = (timeline?.functions || []).map((f) => {
		const both = f.read_share.map((r, i) => (r ?? 0) + (f.written_share[i] ?? 0));
		return { name: f.name, object: f.object, both, read: f.read_share, written: f.written_share, sum: both.reduce((a, b) => a + b, 0), f };
	}).sort((a, b) => b.sum - a.sum);
	const sameClock = timeline && timeline.unit === "ns";

	const clock = (slice) => figure(slice * sliceNs, "time");
	const from = el("input", { type: "number", min: 0, max: slices, "aria-label": "From slice", on: { change: typed } });
	const to = el("input", { type: "number", min: 0, max: slices, "aria-label": "To slice", on: { change: typed } });
	function typed() {
		const a = Math.max(0, Math.min(slices, Number(from.value))), b = Math.max(0, Math.min(slices, Number(to.value)));
		selection.set(b > a ? [a, b] : null);
	}

	function draw() {
		const width = Math.max(320, holder.clientWidth || 1160), narrow = width < 600, left = narrow ? 92 : LEFT, rows = bytesRows.slice(0, FUNCTIONS);
		const height = HEIGHT + 34 + (sameClock && rows.length ? rows.length * STRIP + 26 : 0);
		const x = scaleLinear().domain([0, slices]).range([left, width - RIGHT]), y = scaleLinear().domain([0, max(perSlice, (s) => s.sum) || 1]).range([HEIGHT, 8]);
		picture = svg("svg", { class: "time", viewBox: "0 0 " + width + " " + height, width, height, role: "img", "aria-label": "CPU time by object over the recording" + (rows.length ? ", and bytes of the " + rows.length + " busiest functions" : "") });
		picture.append(svg("text", { class: "label", x: left - 10, y: 20, "text-anchor": "end" }, stacks.unit === "ns" ? "CPU time" : stacks.unit));
		perSlice.forEach((s, i) => {
			let below = 0;
			const g = svg("g", {});
			for (let h = 0; h < 8; h++) {
				if (!(s.by[h] > 0)) continue;
				const top = y(below + s.by[h]), base = y(below);
				g.append(svg("rect", { class: "hue" + h, x: (x(i) + 0.5).toFixed(2), y: top.toFixed(2), width: Math.max(0.5, x(i + 1) - x(i) - 1).toFixed(2), height: Math.max(0, base - top).toFixed(2) }));
				below += s.by[h];
			}
			picture.append(g);
		});
		const ticks = Math.max(2, Math.floor((width - left) / 110)), seconds = scaleLinear().domain([0, slices * sliceNs / 1e9]).range(x.range());
		select(picture).append("g").attr("class", "axis").attr("transform", "translate(0," + HEIGHT + ")").call(axisBottom(seconds).ticks(ticks).tickFormat((v) => Number(v.toPrecision(6)) + " s"));
		if (sameClock && rows.length) {
			const most = max(rows, (r) => max(r.both)) || 1, w = (x.range()[1] - x.range()[0]) / timeline.slices;
			picture.append(svg("text", { class: "label", x: left - 10, y: HEIGHT + 46, "text-anchor": "end" }, "bytes moved"));
			rows.forEach((r, k) => {
				const top = HEIGHT + 54 + k * STRIP;
				picture.append(svg("text", { x: left - 10, y: top + 13, "text-anchor": "end" }, shortened(r.name, narrow ? 12 : 21)));
				r.both.forEach((v, i) => {
					const level = v > 0 ? Math.max(1, Math.ceil(Math.sqrt(v / most) * 8)) : 0;
					const cell = svg("rect", { class: level ? "level" + level : "none", x: (left + i * w + 0.5).toFixed(2), y: top, width: Math.max(0.5, w - 1).toFixed(2), height: STRIP - 3, rx: 1 });
					cell.addEventListener("mousemove", (e) => tooltip(tipLines(r.name, "slice " + (i + 1) + " of " + timeline.slices, "read " + amount(r, i, "read") + ", wrote " + amount(r, i, "written")), e));
					cell.addEventListener("mouseleave", () => tooltip(null));
					picture.append(cell);
				});
			});
		}
		const brush = brushX().extent([[left, 0], [width - RIGHT, HEIGHT]]).on("end", () => {
			if (quiet || !brushEvent.sourceEvent) return;
			const s = brushEvent.selection;
			selection.set(s ? [Math.max(0, Math.floor(x.invert(s[0]))), Math.min(slices, Math.ceil(x.invert(s[1])))] : null);
		});
		const layer = select(picture).append("g").attr("class", "brush").call(brush), now = selection.range();
		if (now) {
			quiet = true;
			layer.call(brush.move, now.map(x));
			quiet = false;
		}
		holder.replaceChildren(picture);
		tell(now);
	}
	const amount = (r, i, key) => { const bytes = r.f[key === "read" ? "read_bytes" : "written_bytes"][i]; return bytes === null || bytes === undefined ? figure(r[key][i], "share") + " of all bytes" : figure(bytes, "bytes"); };

	function tell(now) {
		from.value = now ? now[0] : 0;
		to.value = now ? now[1] : slices;
		const p = stacks.part(now);
		says.replaceChildren(now ? el("strong", {}, "Shown: " + clock(now[0]) + " to " + clock(now[1])) : "All of the recording is shown; drag over the picture to choose a part",
			" \u00b7 " + kinds.number(p.count) + " samples" + (now ? " of " + kinds.number(stacks.data.samples) : ""));
		moved.replaceChildren();
		if (now) moved.append(el("p", { class: "unknown" }, "The functions, the flame graph, threads and sampled objects are of this stretch. Verdicts, flow and offload calls are of all of the recording: what they rest on is not kept by time."));
		if (!now || !sameClock || !bytesRows.length) return;
		const a = Math.floor(now[0] / slices * timeline.slices), b = Math.max(a + 1, Math.ceil(now[1] / slices * timeline.slices));
		const sum = (list) => list.slice(a, b).reduce((u, v) => u + (v ?? 0), 0);
		const rows = bytesRows.map((r) => ({ name: r.name, read: sum(r.read), written: sum(r.written) })).filter((r) => r.read + r.written > 0).slice(0, 8);
		moved.append(el("p", { class: "range" }, "Bytes in it: ", rows.map((r, i) => [i ? "; " : "", name(r.name), " read " + figure(r.read, "share") + ", wrote " + figure(r.written, "share")])));
	}
	selection.watch(draw);
	const notes = [whyNoTimeline && "Bytes over time are unknown: " + whyNoTimeline,
		timeline && !sameClock && "Bytes over time are known by instructions, not by the clock, and are in `accperf timeline`.",
		sameClock && !timeline.amounts_known && timeline.amounts_note && "Bytes: " + timeline.amounts_note + ".",
		timeline?.trust && timeline.trust.mark !== "good" && "Bytes over time are " + timeline.trust.mark + ": " + timeline.trust.reason + "; " + timeline.trust.remedy + "."].filter(Boolean);
	const legend = el("ul", { class: "legend", "aria-label": "Colours" }, shownObjects.map((o) => el("li", {}, el("i", { class: "hue" + stacks.hue(o) }), el("bdi", {}, shortened(o, 40)))));
	const element = el("div", {}, el("div", { class: "tools" }, el("label", {}, "Slices ", from), el("label", {}, "to ", to), button("All of it", () => selection.set(null)), saveButton(() => picture, "timeline.svg")),
		holder, legend, says, moved, notes.map((t) => el("p", { class: "unknown" }, t)));
	return { element, draw };
}
