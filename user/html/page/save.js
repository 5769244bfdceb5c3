// SPDX-License-Identifier: GPL-2.0-or-later
// Tables as CSV, pictures as SVG: what leaves the page.
import { announce, button, clean } from "./dom.js";

// No spreadsheet takes a name for a formula.
export function csvField(v) {
	if (v === null || v === undefined) return "";
	if (typeof v === "number") return String(v);
	const text = clean(v);
	return '"' + (/^[=+\-@\t\r]/.test(text) ? "'" : "") + text.replace(/"/g, '""') + '"';
}
export const csv = (rows) => rows.map((row) => row.map(csvField).join(",") + "\r\n").join("");

function copyBySelection(text) {
	const area = document.createElement("textarea");
	area.value = text;
	document.body.append(area);
	area.select();
	const done = document.execCommand("copy");
	area.remove();
	return done;
}
export const copyButton = (rows) => {
	const b = button("Copy as CSV", async () => {
		const text = csv(rows());
		let done = true;
		try {
			await navigator.clipboard.writeText(text);
		} catch {
			done = copyBySelection(text);
		}
		b.textContent = done ? "Copied" : "The browser refused";
		announce(done ? "The table is copied as CSV" : "The browser refused to copy");
		setTimeout(() => (b.textContent = "Copy as CSV"), 1500);
	});
	return b;
};

// A picture by itself has no style sheet: what it computed goes into attributes.
const KEPT = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight", "text-anchor"];
export function standalone(picture) {
	const copy = picture.cloneNode(true), box = picture.getBoundingClientRect();
	const from = [picture, ...picture.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
	from.forEach((element, i) => {
		const style = getComputedStyle(element);
		to[i].removeAttribute("class");
		to[i].removeAttribute("tabindex");
		to[i].removeAttribute("style");
		for (const key of KEPT) to[i].setAttribute(key, style.getPropertyValue(key));
		if (style.display === "none") to[i].setAttribute("display", "none");
	});
	copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
	copy.setAttribute("width", Math.round(box.width));
	copy.setAttribute("height", Math.round(box.height));
	const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
	for (const [k, v] of Object.entries({ width: "100%", height: "100%", fill: getComputedStyle(document.body).backgroundColor })) ground.setAttribute(k, v);
	copy.prepend(ground);
	return new XMLSerializer().serializeToString(copy);
}
export const saveButton = (picture, file) =>
	button("Save as SVG", () => {
		const a = document.createElement("a"), url = URL.createObjectURL(new Blob([standalone(picture())], { type: "image/svg+xml" }));
		a.setAttribute("href", url);
		a.download = file;
		a.click();
		setTimeout(() => URL.revokeObjectURL(url), 10000);
	});
