// SPDX-License-Identifier: GPL-2.0-or-later
// The two times of the model, as user/model/logca.c has them; times in ns, sizes in bytes.
export const hostTime = (p, g) => (p.t0 || 0) + p.C * g ** p.beta;
export const acceleratedTime = (p, g) => p.o + (p.kind === "dep" ? p.L * g : p.L) + (p.A === null ? 0 : (p.C * g ** p.beta) / p.A);

// A call of `bytes` that takes `ns` here, handed to a device: o for each hand-over of `batch` calls, L for each byte
// that is not there already, the computation A times as fast. As acceleratedTime() of one whose o is o / batch, whose
// L is L (1 - resident), and whose host computes all of ns.
export function whatIf({ ns, bytes, share }, { o, L, A, batch, resident }) {
	const there = o / batch + L * bytes * (1 - resident) + ns / A, speedup = ns / there;
	return { ns: there, speedup, process: share === null ? null : 1 / (1 - share + share / speedup) };
}
// With intervals: the corners that are worst and best for the device. A figure: { value, low, high }.
export function whatIfRange(call, device) {
	const at = (key) => whatIf({ ns: call.ns[key[0]], bytes: call.bytes[key[1]], share: call.share ? call.share[key[0]] : null }, device);
	const value = at(["value", "value"]), low = at(["low", "high"]), high = at(["high", "low"]);
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
