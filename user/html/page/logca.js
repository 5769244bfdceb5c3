// SPDX-License-Identifier: GPL-2.0-or-later
// The two times of the model, as user/model/logca.c has them; times in ns, sizes in bytes.
export const hostTime = (p, g) => (p.t0 || 0) + p.C * g ** p.beta;
export const acceleratedTime = (p, g) => p.o + (p.kind === "dep" ? p.L * g : p.L) + (p.A === null ? 0 : (p.C * g ** p.beta) / p.A);

// Where a parameter that is ten times better gives at least 1.2 times the speed-up (C: ten times the work a byte), as
// logca_cut() has it: at most two stretches [from, to] of [lo, hi]. A speed-up that is smooth changes its mind at most
// twice, so eight looks an octave and bisection between them suffice.
const IMPROVE = 10, RATIO = 1.2, LOOKS = 8, STEPS = 60;
const improved = { L: (p) => ({ ...p, L: p.L / IMPROVE }), o: (p) => ({ ...p, o: p.o / IMPROVE }), C: (p) => ({ ...p, C: p.C * IMPROVE }), A: (p) => (p.A === null ? p : { ...p, A: p.A * IMPROVE }) };
const speedup = (p, g) => hostTime(p, g) / acceleratedTime(p, g);
export const LETTERS = ["o", "L", "A", "C"];
export const counts = (p, letter, g) => speedup(improved[letter](p), g) / speedup(p, g) >= RATIO;
export function cut(p, letter, lo, hi) {
	const n = Math.max(1, Math.ceil(Math.log2(hi / lo) * LOOKS)), at = (i) => (i === n ? hi : lo * (hi / lo) ** (i / n)), found = [];
	let from = counts(p, letter, lo) ? lo : null;
	for (let i = 1; i <= n; i++) {
		const on = from !== null, now = counts(p, letter, at(i));
		if (now === on) continue;
		let a = at(i - 1), b = at(i);
		for (let k = 0; k < STEPS; k++) {
			const middle = Math.sqrt(a * b);
			if (counts(p, letter, middle) === on) a = middle;
			else b = middle;
		}
		if (on) found.push([from, a]);
		from = on ? null : b;
	}
	if (from !== null) found.push([from, hi]);
	return found;
}

// A call of `bytes` that takes `ns` here, handed to a device: o for each hand-over of `batch` calls, L for each byte
// that is not there already, the computation A times as fast, or of B for each byte to the power of beta whatever it
// takes here. As acceleratedTime() of one whose o is o / batch, whose L is L (1 - resident), and whose host computes
// all of ns.
const faster = ({ ns, bytes }, { A, B, beta }) => (B > 0 ? ns / (B * bytes ** beta) : A);
export function whatIf({ ns, bytes, share }, device) {
	const { o, L, batch, resident } = device;
	const there = o / batch + L * bytes * (1 - resident) + ns / faster({ ns, bytes }, device), speedup = ns / there;
	return { ns: there, speedup, process: share === null ? null : 1 / (1 - share + share / speedup) };
}
// With intervals: the corners that are worst and best for the device, whose own terms may have such corners, too:
// device.worst and device.best lie over what it has. A figure: { value, low, high }.
const corner = (device, which) => ({ ...device, ...device[which] });
export function whatIfRange(call, device) {
	const at = (key, which) => whatIf({ ns: call.ns[key[0]], bytes: call.bytes[key[1]], share: call.share ? call.share[key[0]] : null }, corner(device, which));
	const value = at(["value", "value"]), low = at(["low", "high"], "worst"), high = at(["high", "low"], "best");
	const figure = (k) => ({ value: value[k], low: low[k], high: high[k] });
	return { ns: { value: value.ns, low: Math.min(low.ns, high.ns), high: Math.max(low.ns, high.ns) }, speedup: figure("speedup"), process: call.share ? figure("process") : null };
}
// As `accperf advise` says it: on no guess, where the interval spans 1.
export function whatIfVerdict(call, device) {
	const now = whatIfRange(call, device), single = whatIfRange(call, { ...device, batch: 1 });
	if (!Number.isFinite(now.speedup.value) || !Number.isFinite(now.speedup.low) || !Number.isFinite(now.speedup.high)) return "unknown";
	if (single.speedup.low > 1) return "offload";
	if (now.speedup.low > 1) return "batch";
	return now.speedup.high < 1 ? "keep" : "unknown";
}
// The same as parameters of the model: a call's time in proportion to its size.
export const whatIfModel = ({ ns, bytes }, device) => ({ kind: "dep", t0: 0, beta: 1, C: ns / bytes, o: device.o / device.batch, L: device.L * (1 - device.resident), A: faster({ ns, bytes }, device) });
// The size from which on it pays; Infinity: from none. With intervals as above.
export function whatIfFrom(call, device) {
	const of = (ns, bytes, which) => { const p = whatIfModel({ ns, bytes }, corner(device, which)), gain = p.C - p.C / p.A - p.L; return Number.isFinite(p.C) ? (gain > 0 ? p.o / gain : Infinity) : NaN; };
	return { value: of(call.ns.value, call.bytes.value), low: of(call.ns.high, call.bytes.low, "best"), high: of(call.ns.low, call.bytes.high, "worst") };
}
// The terms of a device of `accperf advise --json` as those above, with its corners; null where it lacks one. What it
// takes for a call whatever the size is part of o, and goes with a batch's hand-over.
export function deviceTerms({ o, L, L_per, A, B, beta }) {
	if (!o || !L || (!A && !B)) return null;
	const at = (key, faster) => {
		const of = (f, k = key) => (Number.isFinite(f[k]) ? f[k] : f.value), call = L_per === "call";
		return { o: of(o) + (call ? of(L) : 0), L: call ? 0 : of(L), ...(B ? { B: of(B), beta, A: Infinity } : { A: of(A, faster) }) };
	};
	return { ...at("value", "value"), worst: at("high", "low"), best: at("low", "high") };
}
