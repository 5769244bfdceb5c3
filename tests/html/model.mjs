// SPDX-License-Identifier: GPL-2.0-or-later
// The page's LogCA (user/html/page/logca.js) against what `accperf logca show --json` prints: run by
// tests/cli/t-html.sh, which makes the files.
//	node model.mjs FOLDER NAME...	prints "ok - NAME" or "not ok - NAME" a line
import { readFileSync } from "node:fs";
const [dir, ...names] = process.argv.slice(2), json = (name) => JSON.parse(readFileSync(dir + "/model-" + name + ".json"));
const { acceleratedTime, counts, cut, deviceTerms, hostTime, whatIf, whatIfFrom, whatIfModel, whatIfRange } = await import(dir + "/logca.mjs");

function check(name, ok, why) {
	console.log((ok ? "ok - " : "not ok - ") + name);
	if (!ok) console.log("    " + JSON.stringify(why));
}
const near = (a, b, by = 1e-9) => Math.abs(a / b - 1) < by || (a === 0 && b === 0);

for (const name of names) {
	const m = json(name), sizes = Object.entries(m.speedup);
	const bad = sizes.filter(([g, s]) => !near(hostTime(m, +g) / acceleratedTime(m, +g), s));
	check("the page's LogCA is the program's: " + name, !bad.length && sizes.length >= 10, bad);
	const got = Object.fromEntries(Object.keys(m.cut).map((l) => [l, cut(m, l, m.from_bytes, m.to_bytes)]));
	check("... where a parameter counts, too", Object.entries(m.cut).every(([l, want]) => want.length === got[l].length && want.every((w, i) => w.every((v, k) => near(v, got[l][i][k], 1e-6)))), [got, m.cut]);
	const letters = m.regions.flatMap(([from, to, want]) => [from, to].map((g) => [want, ["L", "o", "C", "A"].filter((l) => counts(m, l, g)).join("")]));
	check("... and so its regions", letters.length && letters.every(([want, has]) => want === has), letters);
}
readFileSync(dir + "/whatif", "utf8").trim().split("\n").forEach((line, i) => {
	const [ns, bytes, o, L, A, batch, resident] = line.trim().split(" ").map(Number), m = json("whatif-" + i), device = { o, L, A, batch, resident };
	const got = whatIf({ ns, bytes, share: 0.5 }, device), want = m.speedup[bytes], exact = (v) => ({ value: v, low: v, high: v });
	const from = whatIfFrom({ ns: exact(ns), bytes: exact(bytes) }, device).value, p = whatIfModel({ ns, bytes }, device);
	check("what if: " + line.trim(), near(got.speedup, want) && near(got.process, 1 / (0.5 + 0.5 / want)), [got, want]);
	check("... it pays from where the curves cross", m.g1.length ? near(from, m.g1[0], 1e-6) : from === Infinity || from < m.from_bytes, [from, m.g1]);
	check("... its curves are the same", near(hostTime(p, bytes), ns) && near(acceleratedTime(p, bytes), got.ns), [hostTime(p, bytes), acceleratedTime(p, bytes), got.ns]);
});

// A device whose computation is known by its bytes is one of that many times as fast, at each size; its corners are
// those of its terms; without a term there is none.
const f = (value, low = value, high = value) => ({ value, low, high }), call = { ns: f(1e5), bytes: f(4096), share: null }, once = { batch: 1, resident: 0 };
const byte = deviceTerms({ o: f(800, 700, 1000), L: f(0.1), L_per: "byte", A: null, B: f(0.5, 0.4, 0.7), beta: 0.98 }), fixed = deviceTerms({ o: f(800), L: f(50, 40, 60), L_per: "call", A: f(9.6, 4.8, 19.2), B: null, beta: null });
const takes = (o, L, x) => o + L * 4096 + x, got = [whatIfRange(call, { ...byte, ...once }).ns, whatIfRange(call, { ...fixed, ...once }).ns];
const want = [f(takes(800, 0.1, 0.5 * 4096 ** 0.98), takes(700, 0.1, 0.4 * 4096 ** 0.98), takes(1000, 0.1, 0.7 * 4096 ** 0.98)), f(850 + 1e5 / 9.6, 840 + 1e5 / 19.2, 860 + 1e5 / 4.8)];
check("a device's terms and their intervals", got.every((g, i) => ["value", "low", "high"].every((k) => near(g[k], want[i][k]))), [got, want]);
check("... without one of them there is no device", [{ o: null }, { L: null }, { A: null, B: null }].every((without) => deviceTerms({ o: f(1), L: f(1), L_per: "call", A: f(2), B: null, beta: 1, ...without }) === null));
