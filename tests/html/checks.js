// SPDX-License-Identifier: GPL-2.0-or-later
// The page in a browser, against what the commands print: run by tests/cli/t-html.sh, which makes the files.
//	node checks.js FOLDER [PART]	prints "ok - NAME" or "not ok - NAME" a line
"use strict";
const fs = require("fs");
const { launch } = require("./browser.js");
const dir = process.argv[2], url = (name) => "file://" + dir + "/" + name, json = (name) => JSON.parse(fs.readFileSync(dir + "/" + name));

function check(name, ok, why) {
	console.log((ok ? "ok - " : "not ok - ") + name);
	if (!ok) console.log("    " + String(why ?? "").slice(0, 1500));
}
const same = (name, got, want) => check(name, JSON.stringify(got) === JSON.stringify(want), "got " + JSON.stringify(got) + ", wanted " + JSON.stringify(want));
const percent = (v) => (v !== 0 && Math.abs(v) < 0.0001 ? "< 0.01" : (100 * v).toFixed(2)) + " %";
// What a table shows, by row and column, with plain spaces.
const table = (id, n = 3) => `[...document.querySelectorAll("#${id}-table tbody tr:not(.details)")].slice(0, ${n}).map((r) => [...r.cells].map((c) => c.innerText.replace(/\\u00a0/g, " ").trim()))`;
const type = (label, text) => `{ const i = document.querySelector('[aria-label="${label}"]'); i.value = ${JSON.stringify(text)}; i.dispatchEvent(new Event("input")); }`;
const press = (id, title) => `[...document.querySelectorAll("#${id}-table th button")].find((b) => b.textContent === "${title}").click()`;
const count = (id) => `document.querySelector("#${id}-table .count").textContent`;
// Figures that no interval stands under, unknown ones left out: by table and column.
const BARE = `[...new Set([...document.querySelectorAll(".table table")].flatMap((t) => { const heads = [...t.tHead.rows[0].cells].map((c) => c.innerText); return [...t.tBodies[0].rows].flatMap((r) => [...r.cells].flatMap((c, i) => (c.querySelector(".figure") && !c.querySelector(".range") && !["samples", "size", ""].includes(heads[i]) ? [t.caption.textContent + ": " + heads[i]] : []))); }))]`;
// The least contrast of a figure with its cell of the flow map, over the levels.
const CONTRAST = `(() => {
	const of = (text) => text.match(/[0-9.]+/g).slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)), light = (text) => { const [r, g, b] = of(text); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	return Math.min(...[1, 2, 3, 4, 5, 6, 7, 8].map((level) => {
		const made = (name, parent) => parent.appendChild(document.createElementNS("http://www.w3.org/2000/svg", name)), g = made("g", document.querySelector(".matrix"));
		g.setAttribute("class", "level" + level);
		const [a, b] = ["rect", "text"].map((name) => light(getComputedStyle(made(name, g)).fill)).sort((x, y) => y - x);
		g.remove();
		return (a + 0.05) / (b + 0.05);
	}));
})()`;
const span = (row, key) => (100 * row[key + "_low"]).toFixed(2) + "\u2013" + percent(row[key + "_high"]);
const fraction = (s) => s.split("\n")[0];

async function figures(browser) {
	const report = json("a.report.json"), flow = json("a.flow.json"), page = await browser.open(url("a.html"));
	check("the page puts itself together", await page.run("document.documentElement.dataset.ready > 0 && !document.getElementById('static')"));
	same("each figure has an interval, but what was counted", await page.run(BARE), []);
	const bySelf = report.functions.slice().sort((a, b) => b.self - a.self);
	let rows = await page.run(table("functions", 5));
	same("functions: self as report --json has it, largest first", rows.map((r) => fraction(r[1])), bySelf.slice(0, 5).map((f) => percent(f.self)));
	same("... with its interval", rows[0][1].split("\n")[1], (100 * bySelf[0].low).toFixed(2) + "–" + percent(bySelf[0].high));
	same("... and samples", rows.slice(0, 3).map((r) => r[3]), bySelf.slice(0, 3).map((f) => String(f.samples)));
	await page.run(press("functions", "inclusive"));
	rows = await page.run(table("functions", 4));
	same("a click on a heading sorts", rows.map((r) => fraction(r[2])), report.functions.map((f) => f.inclusive).sort((a, b) => b - a).slice(0, 4).map(percent));
	await page.run(press("functions", "inclusive"));
	rows = await page.run(table("functions", 2));
	same("... and the other way round", rows.map((r) => fraction(r[2])), report.functions.map((f) => f.inclusive).sort((a, b) => a - b).slice(0, 2).map(percent));
	const word = bySelf[1].name.slice(0, 5), hits = report.functions.filter((f) => (f.name + " " + f.object).toLowerCase().includes(word.toLowerCase())).length;
	await page.run(type("Search Functions", word));
	same("search leaves the rows that have it", await page.run(count("functions")), hits + " of " + report.functions.length + " rows");
	check("the state is in the fragment", await page.run(`location.hash.includes("functions.q=${word}") && location.hash.includes("functions.sort=inclusive")`));
	await page.run(type("Search Functions", ""));

	same("flow: all edges at first", await page.run(count("flow")), flow.edges.length + " rows");
	const slide = (i) => `{ const s = document.querySelector(".slider input"); s.value = ${i}; s.dispatchEvent(new Event("input")); }`;
	await page.run(slide(7));
	const min = json("a.flow-1.json");
	same("the slider at 1 % shows what flow --min-share 1 does", await page.run(count("flow")), min.edges.length + " rows");
	rows = await page.run(table("flow", 3));
	const large = min.edges.slice().sort((a, b) => b.share - a.share).slice(0, 3);
	same("... with its figures", rows.map((r) => [r[0], r[1], fraction(r[2])]), large.map((e) => [e.producer, e.consumer, percent(e.share)]));
	check("the map shows them, too", await page.run(`[...document.querySelectorAll(".matrix g")].length`) === min.edges.filter((e) => e.share > 0).length);
	await page.run(`document.querySelector(".matrix g").dispatchEvent(new MouseEvent("mousemove", { clientX: 300, clientY: 300 }))`);
	check("pointing at a cell tells interval and samples", await page.run(`/of all bytes \\(.*–.*\\)/.test(document.querySelector(".tooltip").innerText) && /from \\d+ loads, \\d+ stores/.test(document.querySelector(".tooltip").innerText)`));
	const pointed = await page.run(`document.querySelector(".tooltip").innerText`), edge = flow.edges.find((e) => pointed.startsWith(e.producer + " \u2192 " + e.consumer + "\n"));
	check("... samples of its own, too", edge?.samples > 0 && pointed.replace(/\u202f/g, "").includes("\n" + edge.samples + " samples of it"), pointed);
	same("the graph shows them as arrows", await page.run(`document.querySelectorAll(".graph .edge").length`), min.edges.filter((e) => e.share > 0).length);
	check("... all of them in the picture", await page.run(`(() => { const b = document.querySelector(".graph").getBoundingClientRect(); return [...document.querySelectorAll(".graph circle")].every((c) => { const r = c.getBoundingClientRect(); return r.left >= b.left && r.right <= b.right && r.top >= b.top && r.bottom <= b.bottom; }); })()`));
	await page.run(`document.querySelector(".graph .edge").dispatchEvent(new MouseEvent("mousemove", { clientX: 300, clientY: 300 }))`);
	check("... with interval and samples", await page.run(`/of all bytes \\(.*–.*\\)/.test(document.querySelector(".tooltip").innerText)`));
	await page.run(`document.querySelector(".graph .node").dispatchEvent(new MouseEvent("click"))`);
	const at = await page.run(`new URLSearchParams(location.hash.slice(1)).get("flow.node")`);
	const listed = await page.run(`[...document.querySelectorAll("#flow .around > div")].map((d) => [...d.querySelectorAll("li button")].map((b) => b.textContent))`);
	same("... a click follows its producers and consumers", listed, [min.edges.filter((e) => e.consumer === at && e.share > 0).sort((a, b) => b.share - a.share).slice(0, 12).map((e) => e.producer), min.edges.filter((e) => e.producer === at && e.share > 0).sort((a, b) => b.share - a.share).slice(0, 12).map((e) => e.consumer)]);
	await page.run(`document.querySelector('[aria-label="Zoom in"]').click()`);
	check("... and a button zooms", await page.run(`/scale\\(1\\.5\\)/.test(document.querySelector(".graph > g").getAttribute("transform"))`));
	const intervals = await page.run(`[...document.querySelectorAll("#objects .range")].map((r) => r.textContent)`);
	check("sampled objects have intervals", intervals.length > 0 && !intervals.includes("exact") && intervals.every((r) => /\u2013/.test(r)), intervals.join(" "));
	const objects = json("a.objects.json"), clock = await page.run(`JSON.parse(document.getElementById("data").textContent).parts.stacks.data.time`);
	const inside = (s) => { const t = objects.slices.from + (s + 0.5) * objects.slices.width; return t >= clock.from + 20 * clock.slice_ns && t < clock.from + 50 * clock.slice_ns; };
	const used = objects.objects.map((o) => [o.name, o.over_time.slice.reduce((n, s, i) => n + (inside(s) ? o.over_time.samples[i] : 0), 0)]).filter((o) => o[1] > 0);
	await page.run(`for (const [i, label] of [[20, "From slice"], [50, "To slice"]]) { const f = document.querySelector('[aria-label="' + label + '"]'); f.value = i; f.dispatchEvent(new Event("change")); }`);
	same("a stretch of time: objects have the samples of it", (await page.run(table("objects", 50))).map((r) => [r[0], Number(r[3])]).sort(), used.sort());
	check("... the flow is grey, and why is said", await page.run(`!!document.querySelector("#flow .elsewhen") && /not of the chosen stretch/.test(document.getElementById("flow").innerText)`));
	const bytesOf = `[...document.querySelectorAll("#functions-table tbody tr")].map((r) => [...r.cells].slice(4).map((c) => c.innerText.replace(/\\u00a0/g, " ").trim()))`;
	check("... bytes of functions are not said to be the stretch's", (await page.run(bytesOf)).flat().every((t) => t === "unknown") && (await page.run(`document.querySelector("#functions > div > div").innerText`)).includes("all of the recording only"));
	await page.run(`[...document.querySelectorAll("#time button")].find((b) => b.textContent === "All of it").click()`);
	const part = bySelf.map((f) => flow.functions.find((g) => g.name === f.name && g.object === f.object)).find((g) => g?.in_share > 0), parts = (await page.run(table("functions", 99))).find((r) => r[0].startsWith(part.name));
	check("functions: parts of the bytes have their intervals", parts.includes(percent(part.in_share) + "\n" + (100 * part.in_share_low).toFixed(2) + "\u2013" + percent(part.in_share_high)), JSON.stringify([parts, part]));
	check("... what no sample has is not said to be exact", !(await page.run(`document.getElementById("functions-table").innerText`)).includes("exact"));
	same("... and all of it again", [await page.run(count("objects")), await page.run(`!!document.querySelector("#flow .elsewhen")`)], [objects.objects.length + " rows", false]);
	await page.run(`{ const s = document.querySelector('[aria-label="Candidate"]'); s.value = "own"; s.dispatchEvent(new Event("change")); } ${type("Time of a call in ns", "100000")} ${type("Bytes of a call", "1000")}`);
	const says = async () => (await page.run(`document.getElementById("model-says").innerText`)).replace(/\u00a0/g, " ");
	check("what if: o 5 us, L 0.1 ns a byte, A 10", (await says()).startsWith("offload this call: 100 µs a call here, 15.1 µs there: 6.62× as fast"), await says());
	await page.run(`{ const s = document.getElementById("model-o"); s.value = 200; s.dispatchEvent(new Event("input")); }`);
	check("... the verdict changes with a slider", (await says()).startsWith("keep"), await says());
	await page.run(`{ const s = document.getElementById("model-batch"); s.value = 200; s.dispatchEvent(new Event("input")); }`);
	check("... and with the batch", (await says()).startsWith("batch"), await says());
	// the sliders as on a device: its terms are those that advise --json prints
	const device = json("c.advise.json").devices.find((d) => d.o && d.L && d.B), there = device.o.value + device.L.value * (device.L_per === "byte" ? 1000 : 1) + device.B.value * 1000 ** device.beta;
	const choose = (name) => `{ const s = document.querySelector('[aria-label="Sliders as on a device"]'); s.value = ${JSON.stringify(name)}; s.dispatchEvent(new Event("change")); }`;
	const inNs = (text) => { const m = /here, ([\d.]+) (ns|µs|ms|s)\b/.exec(text); return m ? m[1] * { ns: 1, "µs": 1e3, ms: 1e6, s: 1e9 }[m[2]] : NaN; };
	await page.run(`{ const s = document.getElementById("model-batch"); s.value = 0; s.dispatchEvent(new Event("input")); }` + choose(device.name));
	check("the sliders as on a device: a call takes what its terms say", Math.abs(inNs(await says()) / there - 1) < 0.01, [await says(), there]);
	check("... it is in the page's address, and its terms are told", await page.run(`new URLSearchParams(location.hash.slice(1)).get("model.as") === ${JSON.stringify(device.name)} && /^As on .*interval/.test(document.getElementById("model-terms").innerText)`));
	await page.run(`{ const s = document.getElementById("model-L"); s.value = 0; s.dispatchEvent(new Event("input")); }`);
	check("... moved by hand, the others stay", Math.abs(inNs(await says()) / (device.o.value + (device.L_per === "byte" ? 0 : device.L.value) + device.B.value * 1000 ** device.beta) - 1) < 0.01 && await page.run(`document.querySelector('[aria-label="Sliders as on a device"]').value === ""`), await says());
	check("... devices that lack a term say which", await page.run(`[...document.querySelectorAll('[aria-label="Sliders as on a device"] option:disabled')].length`) === json("c.advise.json").devices.filter((d) => !d.o || !d.L || (!d.A && !d.B)).length);
	await page.run(`navigator.clipboard.writeText = (t) => { window.copied = t; return Promise.resolve(); }; [...document.querySelectorAll("#functions-table button")].find((b) => b.textContent === "Copy as CSV").click()`);
	check("CSV has every row, with its interval", await page.run(`copied.trim().split("\\r\\n").length === ${report.functions.length + 1} && copied.startsWith('"function","self","self low","self high"')`), await page.run("copied"));
	check("nothing is said on the console, nothing is asked for", page.complaints.length === 0, page.complaints.join("\n"));
	await page.close();
}

async function pictures(browser) {
	const page = await browser.open(url("b.html")), report = json("b.report.json");
	const wide = await page.run(`[...document.querySelectorAll(".flame g")].map((g) => g.textContent)`);
	check("the flame graph has all that is wide enough", ["deflate_slow", "crc32", "main"].every((n) => wide.some((t) => t.startsWith(n.slice(0, 6)))), wide.join(" "));
	const branch = async () => (await page.run(`[...document.querySelectorAll(".tree li")].map((li) => li.querySelector(".name").textContent + " " + li.querySelector(".share").textContent.replace(/\u00a0/g, " "))`));
	check("the call tree begins with the roots, and opens what is obvious", (await branch())[0].startsWith("main 99.00 %"), (await branch()).join("\n"));
	await page.run(`[...document.querySelectorAll(".tree summary")].filter((s) => /^70|^99/.test(s.textContent) && !s.parentNode.open).forEach((s) => s.click())`);
	await page.run(`new Promise((done) => setTimeout(done, 50))`);
	await page.run(`[...document.querySelectorAll(".tree summary")].filter((s) => /^70/.test(s.textContent) && !s.parentNode.open).forEach((s) => s.click())`);
	await page.run(`new Promise((done) => setTimeout(done, 50))`);
	const branched = await branch();
	check("... a click opens the next step, with its shares", ["compress_file 70.00 %", "deflate_slow 50.00 %", "crc32 20.00 %"].every((want) => branched.includes(want)), branched.join("\n"));
	await page.run(type("Search the flame graph", "deflate"));
	const share = report.functions.find((f) => f.name === "deflate_slow").self;
	check("search tells what part of the stacks has it", (await page.run(`document.querySelector("#flame .count").textContent`)).replace(/\u00a0/g, " ").startsWith("on " + percent(share)));
	await page.run(type("Search the flame graph", ""));
	await page.run(`document.querySelector("svg.flame").focus()`);
	for (const k of ["ArrowDown", "ArrowDown", "Enter"]) await page.key(k);
	check("arrow keys and Enter zoom", await page.run(`location.hash.includes("flame.zoom=") && document.querySelectorAll(".flame .ancestor").length === 2`), await page.run("location.hash"));
	await page.key("Escape");
	check("Escape zooms out", await page.run(`document.querySelectorAll(".flame .ancestor").length === 0`));
	await page.run(`document.querySelector("#flame input[type=checkbox]").click()`);
	const first = await page.run(`document.querySelectorAll(".flame g")[1].textContent`);
	check("inverted, the hottest leaf comes first", first.startsWith("deflate_slow"), first);
	await page.run(`document.querySelector("#flame input[type=checkbox]").click()`);

	// half of the time: what the samples in order say, which another command prints
	const ff = json("b.firefox.json"), s = ff.shared, leaves = new Map();
	const all = ff.threads.flatMap((t) => t.samples.time.map((time, i) => ({ time, name: s.stringArray[s.funcTable.name[s.frameTable.func[s.stackTable.frame[t.samples.stack[i]]]]] })));
	const begin = Math.min(...all.map((x) => x.time)), end = Math.max(...all.map((x) => x.time));
	for (const x of all) if ((x.time - begin) / (end - begin) < 0.5) leaves.set(x.name, (leaves.get(x.name) || 0) + 1);
	const box = await page.run(`(() => { document.getElementById("time").scrollIntoView(); const b = document.querySelector(".brush .overlay").getBoundingClientRect(); return { x: b.x, y: b.y, w: b.width, h: b.height }; })()`);
	await page.drag(box.x + 1, box.y + 40, box.x + box.w / 2 - 2, box.y + 50);
	check("dragging over time chooses a stretch", await page.run(`location.hash.includes("time=0-60")`), await page.run("location.hash"));
	const rows = await page.run(table("functions", 50)), got = rows.filter((r) => Number(r[3]) > 0).map((r) => [r[0].split("\n")[0], Number(r[3])]);
	same("... and the table counts the samples of it", got.sort(), [...leaves].sort());
	const shot = await page.run(`document.querySelectorAll(".flame g")[0].dispatchEvent(new MouseEvent("mousemove", { clientX: 9, clientY: 9 })), document.querySelector(".tooltip").innerText`);
	const samples = [...leaves.values()].reduce((a, b) => a + b, 0);
	check("... and the flame graph is of them", shot.includes(samples + " samples"), shot + " wanted " + samples);
	const threads = await page.run(table("threads", 50));
	same("... and the threads' samples, too", threads.reduce((n, r) => n + Number(r[4]), 0), samples);
	check("a picture is saved with its colours in it", await page.run(`(async () => { let blob; const make = URL.createObjectURL; URL.createObjectURL = (b) => { blob = b; return make(b); };
		HTMLAnchorElement.prototype.click = () => {}; [...document.querySelectorAll("#flame button")].find((b) => b.textContent === "Save as SVG").click();
		const text = await blob.text(), d = new DOMParser().parseFromString(text, "image/svg+xml"); return !d.querySelector("parsererror") && !text.includes("var(") && !!d.querySelector("rect[fill^=rgb]"); })()`));
	check("nothing is said on the console", page.complaints.length === 0, page.complaints.join("\n"));
	await page.close();

	const linked = await browser.open(url("b.html") + "#at=flame&functions.q=crc&functions.sort=-samples&time=0-60");
	same("a link leads to what was shown", await linked.run(`[document.querySelector('[aria-label="Search Functions"]').value, document.querySelectorAll("#functions-table tbody tr").length, document.querySelector("#functions-table th[aria-sort]").textContent, Math.abs(document.getElementById("flame").getBoundingClientRect().top) < 120]`), ["crc", 1, "samples", true]);
	await linked.close();
}

async function compared(browser) {
	const page = await browser.open(url("m.html")), diff = json("m.diff.json"), real = diff.functions.filter((f) => f.verdict === "real");
	const signed = (v) => (v > 0 ? "+" : v < 0 ? "\u2212" : "") + (100 * Math.abs(v)).toFixed(2) + " %", largest = (list) => list.slice().sort((a, b) => Math.abs(b.other - b.base) - Math.abs(a.other - a.base));
	let rows = await page.run(table("changed", 50));
	same("compared: what really changed, as diff --json has it", rows.map((r) => [fraction(r[0]), fraction(r[3]), r[5]]), largest(real).map((f) => [f.name, signed(f.other - f.base), "real"]));
	await page.run(`document.querySelector("#changed-table input[type=checkbox]").click()`);
	rows = await page.run(table("changed", 50));
	same("... and what may be noise when asked for", [rows.length, rows[0][5]], [diff.functions.length, "may be noise"]);
	check("... which a link keeps", await page.run(`location.hash.includes("changed.all=yes")`));
	const colours = await page.run(`[...document.querySelectorAll("#compare .flame g")].map((g) => g.getAttribute("class"))`);
	check("the flame graph colours what changed, and leaves noise grey", colours.filter((c) => c === "same").length >= 5 && colours.filter((c) => c === "more3").length >= 3 && colours.filter((c) => c.startsWith("less")).join() === "less4", colours.join(" "));
	await page.run(`document.querySelector("#compare .flame .more3").dispatchEvent(new MouseEvent("mousemove", { clientX: 300, clientY: 300 }))`);
	check("... pointing at it tells both shares and how sure it is", await page.run(`/% [(][^)]*%[)] before, .*% [(][^)]*%[)] now: [+].*real .q /s.test(document.querySelector(".tooltip").innerText.replace(/\u00a0/g, " "))`), await page.run(`document.querySelector(".tooltip").innerText`));
	same("before and now have the intervals that diff --json prints", (await page.run(table("changed", 1)))[0].slice(1, 3), ["base", "other"].map((side) => percent(diff.functions[0][side]) + "\n" + span(diff.functions[0], side)));
	same("... each figure has one, but what was counted", await page.run(BARE), []);
	check("no edges: it says so", await page.run(`/Neither profile has any edges/.test(document.getElementById("compare").innerText)`));
	check("nothing is said on the console", page.complaints.length === 0, page.complaints.join("\n"));
	await page.close();
}

// What stands when the page answers, and what all of it takes of a CPU: of such as does LOOP in a tenth of a second.
const LOOP = `{ let x = 0; for (let i = 0; i < 4e7; i++) x = (x + i * i) % 1000003; window.loop = x; }`;
async function quick(browser) {
	const page = await browser.open(url("large.html"), { before: `new MutationObserver((_, o) => { if (document.documentElement.dataset.ready) { o.disconnect(); window.atReady = [...document.querySelectorAll("main section")].filter((s) => s.children.length > 1).map((s) => s.id); } }).observe(document, { attributes: true, subtree: true, attributeFilter: ["data-ready"] });` });
	const all = await page.cpu();
	await page.run(LOOP);
	const loop = await page.cpu() - all;
	check("500 functions and 5,000 edges: drawn within a second of a CPU that does the loop in 0.1 s", all < 10 * loop, all + " s, a loop " + loop + " s");
	const first = await page.run("atReady"), every = await page.run(`[...document.querySelectorAll("main section")].map((s) => s.id)`);
	check("... and answers when what is on the screen stands", first.length > 0 && first.length <= 4 && first.every((id, i) => id === every[i]), first.join(" ") + " of " + every.join(" "));
	same("... the rest comes by itself", await page.run(count("flow")), "5000 rows");
	const names = await page.run(`[...document.querySelectorAll(".graph .node text")].map((t) => { const r = t.getBoundingClientRect(); return [r.left, r.right, r.top, r.bottom]; })`);
	const covered = names.filter((a, i) => names.some((b, k) => k < i && a[0] + 2 < b[1] && b[0] + 2 < a[1] && a[2] + 4 < b[3] && b[2] + 4 < a[3]));
	check("the graph's names do not cover each other, and there are many", names.length >= 15 && !covered.length, names.length + " names, " + covered.length + " over others");
	same("nothing is said on the console", page.complaints, []);
	await page.close();
	const linked = await browser.open(url("large.html") + "#at=offload", { before: "window.requestIdleCallback = () => {};", drawn: false });
	check("a link draws what it leads to, and all above it", await linked.run(`[...document.querySelectorAll("main section")].every((s) => s.children.length > 1)`));
	await linked.close();
}

async function model(browser) {
	const page = await browser.open(url("fitted.html")), m = json("fitted.model.json"), shown = await page.run(`document.querySelector("#offload article .curves + *, #offload article").innerText.replace(/\u00a0/g, " ")`);
	const bars = (at) => page.run(`(() => { const b = document.querySelector("${at} .curves").getBoundingClientRect(); return [...document.querySelectorAll("${at} .curves .counts")].map((r) => [(r.getBoundingClientRect().left - b.left - 92) / 514, (r.getBoundingClientRect().right - b.left - 92) / 514]); })()`);
	const lo = 64, hi = 1048576, want = ["o", "L", "A", "C"].flatMap((l) => m.cut[l].filter((c) => c[1] > lo && c[0] < hi)).map((c) => c.map((g) => Math.log2(Math.min(hi, Math.max(lo, g)) / lo) / Math.log2(hi / lo)));
	const got = await bars("#offload article");
	check("fitted curves: a strip for each parameter over the sizes at which it counts", got.length === want.length && got.every((g, i) => g.every((v, k) => Math.abs(v - want[i][k]) < 0.01)), JSON.stringify([got, want]));
	check("... in words, too, and the sizes seen", /What limits it, by size: overhead \(o\) .*bandwidth \(L\) from .*computation \(A\)/.test(shown) && (await page.run(`document.querySelectorAll("#offload article .curves .seen").length`)) > 1, shown);
	const before = await bars("#model");
	await page.run(`{ const s = document.getElementById("model-A"); s.value = 200; s.dispatchEvent(new Event("input")); }`);
	check("what if: its strips move with a slider", JSON.stringify(await bars("#model")) !== JSON.stringify(before));
	same("nothing is said on the console", page.complaints, []);
	await page.close();
}

async function filtered(browser) {
	const page = await browser.open(url("c.html")), wanted = json("c.advise.json").candidates.flatMap((c) => (c.options || []).map((o) => o.verdict)).filter((v) => v === "keep").length;
	await page.run(`{ const s = document.querySelector('[aria-label="Only this verdict"]'); s.value = "keep"; s.dispatchEvent(new Event("change")); }`);
	const rows = await page.run(table("verdicts", 999));
	check("verdicts: only those of one kind, as many as advise --json has", wanted > 0 && (await page.run(count("verdicts"))) === wanted + " rows" && rows.every((r) => r[1] === "keep") && (await page.run(`location.hash.includes("verdicts.only=keep")`)), wanted + " " + JSON.stringify(rows.slice(0, 3)));
	await page.close();
}

// Threads, roofline and offload calls have the figures that `flow --threads`, `advise --roofline` and `offload` print.
async function others(browser) {
	const sharing = json("t.sharing.json"), roof = json("t.roofline.json"), page = await browser.open(url("t.html")), near = (text, v) => Math.abs(parseFloat(text) / v - 1) < 0.006;
	const byShare = sharing.thread_edges.slice().sort((a, b) => b.share - a.share);
	same("threads: who wrote what another read, as flow --threads has it", (await page.run(table("crossing", 4))).map((r) => fraction(r[3])), byShare.slice(0, 4).map((e) => percent(e.share)));
	same("... all of it", await page.run(count("crossing")), byShare.length + " rows");
	same("roofline: every function of advise --roofline", await page.run(count("roofline")), roof.functions.length + " rows");
	const known = roof.functions.filter((f) => f.ops_per_byte > 0), rows = await page.run(table("roofline", 4)), named = (r) => known.filter((f) => f.name === r[0].trim());
	check("... with its operations a byte", rows.length === 4 && rows.every((r) => named(r).some((f) => near(r[1], f.ops_per_byte))), JSON.stringify(rows));
	await page.run(type("Search Functions under the roof", known[0].name));
	same("each figure has an interval, but what was counted: threads, roofline", await page.run(BARE), []);
	check("... and a search", parseInt(await page.run(count("roofline"))) < roof.functions.length);
	same("nothing is said on the console", page.complaints, []);
	await page.close();

	const calls = json("c.offload.json").calls.slice().sort((a, b) => b.calls - a.calls), second = await browser.open(url("c.html"));
	const shown = await second.run(table("offload", 9));
	same("offload calls: as many rows, as many calls, as offload has", shown.map((r) => r[1].split("\n")[0].replace(/\D/g, "")), calls.slice(0, 9).map((c) => String(c.calls)));
	await second.run(`document.querySelector("#offload-table .opens").click()`);
	const bars = await second.run(`[...document.querySelectorAll("#offload-table .details svg.sizes text")].map((t) => t.textContent).filter((t) => /calls,/.test(t)).map((t) => t.split(" calls")[0].replace(/\\D/g, ""))`);
	check("... bytes and median times with their intervals", shown.every((r) => [3, 4, 5].every((i) => /^unknown$|exact|\u2013|at least/.test(r[i]))), JSON.stringify(shown));
	same("... a click opens its sizes", bars, calls[0].histogram.map((b) => String(b.calls)));
	same("each figure has an interval, but what was counted: offload calls", await second.run(BARE), []);
	await second.close();
}

async function hostile(browser) {
	const names = json("hostile.report.json").functions.map((f) => f.name), page = await browser.open(url("hostile.html"));
	const shown = await page.run(`[...document.querySelectorAll("#functions-table .more button")].forEach((b) => b.click()), [...document.querySelectorAll("#functions-table tbody tr")].length`);
	same("hostile names: every function has its row", shown, names.length);
	check("... no element comes from a name", await page.run(`!document.querySelector("#app script, #app img, #app iframe, #app object, #app style") && !document.querySelector("[onerror], [onclick], [onload]") && document.scripts.length === 2`));
	check("... nothing turns the direction of writing or hides", await page.run(`!/[\\u0000-\\u0008\\u007f-\\u009f\\u200b-\\u200f\\u202a-\\u202e\\u2066-\\u2069]/.test(document.getElementById("app").textContent)`));
	await page.run(`navigator.clipboard.writeText = (t) => { window.copied = t; return Promise.resolve(); }; [...document.querySelectorAll("#functions-table button")].find((b) => b.textContent === "Copy as CSV").click()`);
	check("... no field of the CSV is a formula", await page.run(`!/(^|,)"?[=+@]/m.test(copied) && !/(^|,)"-/m.test(copied)`));
	check("... nothing ran, nothing was asked for", page.complaints.length === 0 && (await page.run("typeof window.owned === 'undefined'")), page.complaints.join("\n"));
	await page.close();
}

async function forms(browser) {
	for (const [name, options] of [["390 pixels wide", { width: 390 }], ["dark", { dark: true }], ["print", { media: "print" }]]) {
		const page = await browser.open(url("a.html"), options);
		check(name + ": no wider than the window", (await page.run("document.documentElement.scrollWidth")) <= (options.width || 1280));
		const contrast = await page.run(CONTRAST);
		check(name + ": figures of the flow map stand out from all its levels", contrast >= 4.5, contrast);
		if (options.dark) check("dark: the ground is dark", await page.run(`getComputedStyle(document.body).backgroundColor === "rgb(20, 23, 26)"`));
		if (options.media) check("print: no buttons stand about", await page.run(`[...document.querySelectorAll(".tools button")].every((b) => getComputedStyle(b).display === "none")`));
		check(name + ": every control and picture has a name", await page.run(`[...document.querySelectorAll("button, input, svg[role=img], [tabindex='0']")].every((e) => (e.getAttribute("aria-label") || e.textContent.trim() || e.closest("label")?.textContent || e.id))`));
		check(name + ": nothing is said on the console", page.complaints.length === 0, page.complaints.join("\n"));
		await page.close();
	}
	const plain = await browser.open(url("b.html"), { script: false }), doc = await plain.call("DOM.getDocument", { depth: -1 });
	const text = (await plain.call("DOM.getOuterHTML", { nodeId: doc.root.nodeId })).outerHTML, body = text.slice(text.indexOf('id="static"'), text.indexOf('id="app"'));
	check("without a script: tables with their intervals, and a flame graph", /<td class="name"><bdi>deflate_slow<\/bdi><\/td>/.test(body) && /51\.00 % <span class="range">/.test(body) && /<svg class="flame"/.test(body) && /<title>crc32 \[app\] 20\.00 %/.test(body.replace(/libz\.so\.1\.2\.13/g, "app")), body.slice(0, 600));
	await plain.close();
}

(async () => {
	const browser = launch();
	try {
		for (const part of [quick, figures, pictures, compared, model, filtered, others, hostile, forms].filter((part) => !process.argv[3] || part.name === process.argv[3])) {
			try {
				await part(browser);
			} catch (e) {
				check(part.name + " runs to its end", false, e.stack);
			}
		}
	} finally {
		await browser.close();
	}
})();
