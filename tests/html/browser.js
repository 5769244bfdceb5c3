// SPDX-License-Identifier: GPL-2.0-or-later
// Drives headless Chromium over its DevTools protocol, through a pipe: no package, no port.
//
//	const page = await (await launch()).open("file:///tmp/report.html", { width: 1280, height: 900, dark: false });
//	await page.run("document.title"); await page.shot("page.png"); page.complaints; await page.close();
//
// `before`: a script that runs before the page's. `complaints`: what the console, the page's script or its policy had to say. Nothing outlives launch()'s process.
"use strict";
const { spawn } = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");

function launch(program = process.env.CHROMIUM || "chromium") {
	const home = fs.mkdtempSync(path.join(os.tmpdir(), "accperf-browser."));
	const child = spawn(program, ["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions", "--disable-background-networking", "--hide-scrollbars", "--force-color-profile=srgb", "--user-data-dir=" + home, "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
	const to = child.stdio[3], from = child.stdio[4], waiting = new Map(), listeners = [];
	let next = 0, rest = [];
	const ended = new Promise((done) => child.on("exit", done));
	child.on("error", (e) => { for (const w of waiting.values()) w.reject(e); });
	ended.then(() => { for (const w of waiting.values()) w.reject(new Error("the browser ended")); });
	from.on("data", (chunk) => {
		let at;
		while ((at = chunk.indexOf(0)) >= 0) {
			const m = JSON.parse(Buffer.concat([...rest, chunk.subarray(0, at)]).toString());
			rest = [];
			chunk = chunk.subarray(at + 1);
			const w = waiting.get(m.id);
			if (w) {
				waiting.delete(m.id);
				if (m.error) w.reject(new Error(w.method + ": " + m.error.message));
				else w.resolve(m.result);
			} else {
				for (const l of listeners) l(m);
			}
		}
		if (chunk.length) rest.push(chunk);
	});
	const send = (method, params = {}, sessionId) => new Promise((resolve, reject) => {
		waiting.set(++next, { resolve, reject, method });
		to.write(JSON.stringify({ id: next, method, params, sessionId }) + "\0");
	});

	async function open(url, { width = 1280, height = 900, dark = false, script = true, media = "", before = "", drawn = true } = {}) {
		const { targetId } = await send("Target.createTarget", { url: "about:blank" });
		const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
		const call = (method, params) => send(method, params, sessionId), complaints = [];
		let loaded;
		listeners.push((m) => {
			if (m.sessionId !== sessionId) return;
			if (m.method === "Runtime.consoleAPICalled" && m.params.type !== "log") complaints.push(m.params.args.map((a) => a.value ?? a.description).join(" "));
			if (m.method === "Runtime.exceptionThrown") complaints.push(m.params.exceptionDetails.exception?.description || m.params.exceptionDetails.text);
			if (m.method === "Log.entryAdded" && m.params.entry.level !== "info") complaints.push(m.params.entry.text);
			if (m.method === "Network.requestWillBeSent" && !/^(file|blob|data):/.test(m.params.request.url)) complaints.push("asked for " + m.params.request.url);
			if (m.method === "Page.javascriptDialogOpening") complaints.push("a dialog: " + m.params.message);
			if (m.method === "Page.loadEventFired" && loaded) loaded();
		});
		for (const domain of ["Page", "Runtime", "Log", "Network"]) await call(domain + ".enable");
		await call("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
		await call("Emulation.setEmulatedMedia", { media, features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
		await call("Performance.enable", { timeDomain: "threadTicks" });
		if (!script) await call("Emulation.setScriptExecutionDisabled", { value: true });
		if (before) await call("Page.addScriptToEvaluateOnNewDocument", { source: before });
		const load = new Promise((done) => (loaded = done));
		await call("Page.navigate", { url });
		await load;
		// a page of ours draws what is not on the screen when it has nothing else to do
		if (script && drawn) await call("Runtime.evaluate", { awaitPromise: true, expression: `new Promise((done) => { const d = document.documentElement.dataset, look = () => (!d.ready || d.drawn ? done() : setTimeout(look, 5)); look(); })` });
		return {
			complaints, call,
			async run(expression) {
				const r = await call("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
				if (r.exceptionDetails) throw new Error((r.exceptionDetails.exception?.description || r.exceptionDetails.text) + " in " + expression);
				return r.result.value;
			},
			// Seconds of CPU that the page's thread took since it was opened: other programs' load does not count.
			async cpu() {
				const { metrics } = await call("Performance.getMetrics");
				return metrics.find((m) => m.name === "TaskDuration").value;
			},
			// The whole page, or what is in the window.
			async shot(file, whole = true) {
				const { cssContentSize: s } = await call("Page.getLayoutMetrics");
				const clip = whole ? { x: 0, y: 0, width, height: Math.min(s.height, 12000), scale: 1 } : undefined;
				const { data } = await call("Page.captureScreenshot", { format: "png", captureBeyondViewport: whole, clip });
				fs.writeFileSync(file, Buffer.from(data, "base64"));
			},
			async key(key) {
				for (const type of ["keyDown", "keyUp"]) await call("Input.dispatchKeyEvent", { type, key, code: key, windowsVirtualKeyCode: { Enter: 13, Escape: 27, ArrowDown: 40, ArrowUp: 38, ArrowLeft: 37, ArrowRight: 39, Tab: 9 }[key], text: key === "Enter" ? "\r" : undefined });
			},
			async drag(x1, y1, x2, y2) {
				const at = (type, x, y) => call("Input.dispatchMouseEvent", { type, x, y, button: "left", buttons: 1, clickCount: 1 });
				await at("mousePressed", x1, y1);
				await at("mouseMoved", (x1 + x2) / 2, (y1 + y2) / 2);
				await at("mouseMoved", x2, y2);
				await at("mouseReleased", x2, y2);
			},
			close: () => send("Target.closeTarget", { targetId }),
		};
	}
	async function close() {
		send("Browser.close").catch(() => {});
		const late = setTimeout(() => child.kill("SIGKILL"), 5000);
		await ended;
		clearTimeout(late);
		fs.rmSync(home, { recursive: true, force: true });
	}
	return { open, close };
}
module.exports = { launch };
