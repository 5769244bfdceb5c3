// SPDX-License-Identifier: GPL-2.0-or-later
// The page as axe-core judges it, with all that can be opened open: run by tests/cli/t-html.sh, which makes the files.
//	node audit.js AXE FOLDER NAME...	prints "ok - NAME" or "not ok - NAME" a line
"use strict";
const fs = require("fs");
const { launch } = require("./browser.js");
const [axe, dir, ...names] = process.argv.slice(2), script = fs.readFileSync(axe, "utf8");
const looks = [["light", {}], ["dark", { dark: true }], ["narrow", { width: 390, height: 844 }], ["narrow and dark", { width: 390, height: 844, dark: true }]];

async function audit(browser, name, look, options) {
	const page = await browser.open("file://" + dir + "/" + name + ".html", options);
	await page.run(`for (const d of document.querySelectorAll("details")) d.open = true; [...document.querySelectorAll(".opens")].slice(0, 3).forEach((b) => b.click())`);
	await page.run(script + ";0");
	const { violations, passes } = await page.run(`axe.run(document, { resultTypes: ["violations"] }).then((r) => ({ passes: r.passes.length,
		violations: r.violations.map((v) => v.id + ": " + v.help + " " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + " " + n.failureSummary).join("\\n      ")) }))`);
	const ok = !violations.length && passes > 10;
	console.log((ok ? "ok - " : "not ok - ") + name + ", " + look + ": no barrier that axe-core knows");
	if (!ok) console.log("    " + violations.join("\n    ") + " (" + passes + " rules hold)");
	await page.close();
}

(async () => {
	const browser = launch();
	try {
		for (const name of names) for (const [look, options] of name === names[0] ? looks : [looks[0], looks[3]]) await audit(browser, name, look, options);
	} finally {
		await browser.close();
	}
})();
