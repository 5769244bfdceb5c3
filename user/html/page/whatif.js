// SPDX-License-Identifier: GPL-2.0-or-later
// What a device would be worth that does not exist yet: its terms on sliders, the verdict recomputed by the model of
// logca.js. The call's own figures come from `accperf advise`, or are typed in; so may the device's: `model.as` names one
// of its devices until one of o, L and A is moved.
import { curvesPanel } from "./curves.js";
import { el, shortened } from "./dom.js";
import { figure, range } from "./format.js";
import { deviceTerms, whatIfFrom, whatIfModel, whatIfRange, whatIfVerdict } from "./logca.js";
import * as state from "./state.js";

// scale "log": from the least to the most by ratios, with 0 at the left end where `zero`.
const SLIDERS = [
	{ key: "A", title: "A, computes so many times as fast", least: 0.1, most: 1e4, start: 10, kind: "times" },
	{ key: "o", title: "o, overhead of a hand-over", least: 10, most: 1e7, start: 5000, kind: "time", zero: true },
	{ key: "L", title: "L, transfer of a kB", least: 0.001, most: 100, start: 0.1, kind: "time", zero: true, shown: 1000 },
	{ key: "batch", title: "calls in one hand-over", least: 1, most: 1024, start: 1, kind: "number", whole: true },
	{ key: "resident", title: "of the bytes, already there", least: 0, most: 1, start: 0, kind: "share", linear: true },
];
const STEPS = 200;
const DEVICES = ["o", "L", "A"]; // those sliders' terms
const known = (f) => f && Number.isFinite(f.value);
const spread = (f) => ({ value: f.value, low: Number.isFinite(f.low) ? f.low : NaN, high: Number.isFinite(f.high) ? f.high : NaN });

function toValue(s, step) {
	if (s.linear) return s.least + ((s.most - s.least) * step) / STEPS;
	if (s.zero && step === 0) return 0;
	const v = s.least * (s.most / s.least) ** (step / STEPS);
	return s.whole ? Math.round(v) : Number(v.toPrecision(3));
}
function toStep(s, v) {
	if (s.linear) return Math.round(((v - s.least) / (s.most - s.least)) * STEPS);
	return v > 0 ? Math.max(0, Math.min(STEPS, Math.round((STEPS * Math.log(v / s.least)) / Math.log(s.most / s.least)))) : 0;
}

// Values without an interval stand apart from the others.
const knownInPart = (c) => Object.fromEntries(Object.entries(c.partly || {}).filter(([, f]) => known(f)));

export function whatIfPanel(advice) {
	const usable = (advice?.candidates || []).map((c) => ({ ...c, ...knownInPart(c) })).filter((c) => known(c.ns_per_call) && known(c.bytes_in));
	const select = el("select", { "aria-label": "Candidate", on: { change: () => state.set("model.of", select.value) } }, usable.map((c, i) => el("option", { value: String(i) }, shortened(c.name, 80))), el("option", { value: "own" }, "a call of your own"));
	const typed = { ns: el("input", { type: "number", min: 0, "aria-label": "Time of a call in ns", on: { input: () => state.set("model.ns", typed.ns.value) } }), bytes: el("input", { type: "number", min: 0, "aria-label": "Bytes of a call", on: { input: () => state.set("model.bytes", typed.bytes.value) } }) };
	const own = el("span", {}, el("label", {}, "ns a call ", typed.ns), " ", el("label", {}, "bytes a call ", typed.bytes));
	const devices = (advice?.devices || []).map((d) => ({ ...d, terms: deviceTerms(d) })), named = () => devices.find((d) => d.terms && d.name === state.get("model.as"));
	const as = el("select", { "aria-label": "Sliders as on a device", on: { change: () => state.set("model.as", as.value) } }, el("option", { value: "" }, "no device's"), devices.filter((d) => d.terms).map((d) => el("option", { value: d.name }, shortened(d.name, 60) + (d.elsewhere ? " (measured elsewhere)" : ""))),
		devices.filter((d) => !d.terms).map((d) => el("option", { value: d.name, disabled: true }, shortened(d.name, 60) + ": not known " + shortened(d.lacks || "", 80))));
	const terms = el("p", { class: "unknown", id: "model-terms" });
	const verdict = el("p", { class: "says", role: "status", id: "model-says" });
	const rows = SLIDERS.map((s) => {
		const says = el("output", { class: "count" });
		const input = el("input", { type: "range", min: 0, max: STEPS, step: 1, "aria-label": s.title, id: "model-" + s.key, on: { input: () => { if (DEVICES.includes(s.key)) byHand(); const v = toValue(s, Number(input.value)); state.set("model." + s.key, v === s.start ? "" : String(v)); } } });
		return { s, input, says, element: el("div", { class: "slide" }, el("label", { for: "model-" + s.key }, s.title), input, says) };
	});
	const value = (s) => { const v = Number(state.get("model." + s.key, s.start)); return Number.isFinite(v) && v >= s.least * (s.zero ? 0 : 1) ? Math.min(v, s.most) : s.start; };
	function call() {
		const c = usable[Number(state.get("model.of", usable.length ? "0" : "own"))];
		if (c) return { name: c.name, ns: spread(c.ns_per_call), bytes: spread(c.bytes_in), share: known(c.share_of_time) ? spread(c.share_of_time) : null, sizes: c.sizes || [] };
		const ns = Number(state.get("model.ns")) || NaN, bytes = Number(state.get("model.bytes"));
		return { name: "this call", ns: { value: ns, low: ns, high: ns }, bytes: { value: bytes, low: bytes, high: bytes }, share: null, sizes: [] };
	}
	function device() {
		const set = Object.fromEntries(SLIDERS.map((s) => [s.key, value(s)])), d = named();
		return d ? { ...set, ...d.terms } : set;
	}
	// Of a device whose computation is known by its bytes: how many times as fast it is at this call.
	const times = (of, d) => (d.B > 0 ? of.ns.value / (d.B * of.bytes.value ** d.beta) : d.A);
	// Its terms stay on the sliders when one of them is moved.
	function byHand() {
		if (!named()) return;
		const d = device(), of = call();
		for (const s of SLIDERS.filter((s) => DEVICES.includes(s.key))) state.set("model." + s.key, String(Math.min(s.key === "A" ? times(of, d) : d[s.key], s.most)));
		state.set("model.as", "");
	}
	// Around the sizes that were seen, and where it would pay.
	const curves = curvesPanel(() => {
		const of = call(), now = device(), from = whatIfFrom(of, now), g = of.bytes.value;
		if (!(g > 0) || !(of.ns.value > 0)) return null;
		const around = [g, ...of.sizes.map((s) => s.bytes), ...(Number.isFinite(from.value) && from.value >= 1 ? [from.value] : [])].filter((v) => v > 0);
		return { p: whatIfModel({ ns: of.ns.value, bytes: g }, now), lo: Math.max(1, Math.min(...around) / 16), hi: Math.max(...around) * 16, band: [from.low, from.high],
			points: of.sizes.filter((s) => s.bytes > 0 && s.host_ns > 0).map((s) => ({ g: s.bytes, t: s.host_ns, variant: "host" })), sizes: of.sizes.filter((s) => s.bytes > 0).map((s) => ({ g: s.bytes, share: s.share })) };
	});
	const start = Object.fromEntries(SLIDERS.map((s) => [s.key, s.start]));
	function drawAll() {
		draw(device());
		curves.draw();
	}
	function draw(device) {
		const of = call(), result = whatIfRange(of, device), judged = whatIfVerdict(of, device), before = whatIfVerdict(of, start), from = whatIfFrom(of, device);
		select.value = state.get("model.of", usable.length ? "0" : "own");
		own.hidden = select.value !== "own";
		if (typed.ns.value !== state.get("model.ns")) typed.ns.value = state.get("model.ns");
		if (typed.bytes.value !== state.get("model.bytes")) typed.bytes.value = state.get("model.bytes");
		const chosen = named();
		as.value = chosen ? chosen.name : "";
		terms.hidden = !chosen;
		if (chosen) terms.textContent = "As on " + shortened(chosen.device || chosen.name, 80) + (chosen.elsewhere ? ", measured elsewhere" : "") + (chosen.B ? "; computation there: " + figure(chosen.B.value * 1000 ** chosen.beta, "time") + " for a kB, whatever it takes here" : "") + "; with the intervals of its terms, without its queue.";
		for (const r of rows) {
			const v = r.s.key === "A" ? times(of, device) : device[r.s.key];
			r.input.value = toStep(r.s, v);
			r.says.textContent = figure(v * (r.s.shown || 1), r.s.kind);
			r.input.setAttribute("aria-valuetext", r.says.textContent);
		}
		const told = (f, kind) => figure(f.value, kind) + (range(f.low, f.high, kind) && range(f.low, f.high, kind) !== "exact" ? " (" + range(f.low, f.high, kind) + ")" : "");
		verdict.replaceChildren(...[el("strong", { class: "mark " + ({ offload: "good", batch: "good" }[judged] || "unknown") }, judged), " ",
			Number.isFinite(result.speedup.value) ? [el("bdi", {}, shortened(of.name, 80)), ": " + told(of.ns, "time") + " a call here, " + told(result.ns, "time") + " there: " + told(result.speedup, "times") + " as fast",
				result.process ? ", the process " + told(result.process, "times") : "", ". ",
				from.value === Infinity ? "It pays at no size" : from.value >= 1 ? "It pays from " + told(from, "bytes") + " on" : "It pays at any size", before !== judged ? "; where the sliders stood at first: " + before + "." : "."]
				: "the time of a call is not known" + (usable.length ? "" : "; nothing counted and timed the calls of any candidate, so type figures in")].flat());
	}
	for (const key of ["of", "as", "ns", "bytes", ...SLIDERS.map((s) => s.key)]) state.watch("model." + key, drawAll);
	const element = el("div", {}, el("div", { class: "tools" }, el("label", {}, "Candidate ", select), own, devices.length > 0 && el("label", {}, "sliders as on ", as)), terms, el("div", { class: "slides" }, rows.map((r) => r.element)), verdict, curves.element,
		el("p", { class: "unknown" }, "LogCA: o for each hand-over, L for each byte, computation A times as fast; no queue; a call's time in proportion to its size. unknown: the interval spans 1, or a figure is missing."));
	return { element, draw: drawAll };
}
