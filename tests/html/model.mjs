// SPDX-License-Identifier: GPL-2.0-or-later
// The page's LogCA (user/html/page/logca.js) against what `accperf logca show --json` prints: run by
// tests/cli/t-html.sh, which makes the files.
//	node model.mjs FOLDER NAME...	prints "ok - NAME" or "not ok - NAME" a line
import { readFileSync } from "node:fs";
const [dir, ...names] = process.argv.slice(2), json = (name) => JSON.parse(readFileSync(dir + "/model-" + name + ".json"));
const { acceleratedTime, counts, cut, hostTime, whatIf, whatIfFrom, whatIfModel } = await import(dir + "/logca.mjs");

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
