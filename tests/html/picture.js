// SPDX-License-Identifier: GPL-2.0-or-later
// A picture of the page as a window of 1280 x 760 shows it, from one of its sections on: scripts/page-picture makes README's.
//	node picture.js PAGE.html SECTION PICTURE.png
"use strict";
const { launch } = require("./browser.js");
const [page, section, picture] = process.argv.slice(2);

(async () => {
	const browser = launch();
	try {
		const shown = await browser.open("file://" + require("path").resolve(page), { width: 1280, height: 760 });
		await shown.run(`document.getElementById(${JSON.stringify(section)}).scrollIntoView(), new Promise((done) => setTimeout(done, 500))`);
		await shown.shot(picture, false);
		if (shown.complaints.length) throw new Error(shown.complaints.join("\n"));
	} finally {
		await browser.close();
	}
})().catch((e) => {
	console.error(e.message);
	process.exitCode = 1;
});
