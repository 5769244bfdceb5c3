// SPDX-License-Identifier: GPL-2.0-or-later
// How the page shows a figure (user/html/page/format.js), without a browser: run by tests/cli/t-html.sh.
//	node figures.mjs FOLDER		prints "ok - NAME" or "not ok - NAME" a line
class Node {
	constructor(text) { this.textContent = text; }
	setAttribute(name, value) { this[name] = value; }
	append(child) { this.textContent += child.textContent; }
}
globalThis.document = { createElement: () => new Node(""), createTextNode: (text) => new Node(text) };
const { cell } = await import(process.argv[2] + "/format.mjs");

function check(name, got, want) {
	const text = got.textContent.replace(/\u00a0/g, " ");
	console.log((text === want ? "ok - " : "not ok - ") + name);
	if (text !== want) console.log("    " + JSON.stringify([text, want]));
}
check("a figure with its interval", cell(300, 200, 400, "bytes"), "300 B200–400 B");
check("two ends without a value between them", cell(null, 119, 245, "bytes"), "119–245 B");
check("... only the upper one", cell(null, null, 245, "bytes"), "at most 245 B");
check("... only the lower one", cell(null, 119, null, "bytes"), "at least 119 B");
check("... of which the lower is none", cell(null, 0, 245, "bytes"), "at most 245 B");
check("nothing known", cell(null, null, null, "bytes"), "unknown");
check("... nor more than that it is no less than nothing", cell(null, 0, null, "bytes"), "unknown");
