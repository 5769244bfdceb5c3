// SPDX-License-Identifier: GPL-2.0-or-later
// Elements are made here and nowhere else: text goes in as text, so no name can become markup.
const SVG = "http://www.w3.org/2000/svg";
// Attributes that could name code or another place are nobody's to set.
const FORBIDDEN = /^(on|href$|src|srcdoc|style$|action)/i;

function fill(element, attributes, children) {
	for (const [name, value] of Object.entries(attributes || {})) {
		if (value === null || value === undefined || value === false) continue;
		if (name === "on") {
			for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
		} else if (FORBIDDEN.test(name)) {
			throw new Error("attribute " + name);
		} else {
			element.setAttribute(name, value === true ? "" : value);
		}
	}
	for (const child of children.flat(3)) {
		if (child === null || child === undefined || child === false) continue;
		element.append(typeof child === "object" ? child : document.createTextNode(String(child)));
	}
	return element;
}

export const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

// A place in this page: the only link there is.
export function anchor(id, text) {
	const a = el("a", {}, text);
	a.setAttribute("href", "#at=" + encodeURIComponent(id));
	return a;
}

// Text from a target: what cannot be seen, or turns the direction of writing, is shown as a mark.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufdd0-\ufdef\ufffe\uffff]|\udb40[\udc00-\udc7f]/g;
export const clean = (text) => String(text).replace(HIDDEN, "\ufffd");
const LONGEST = 300;
export function shortened(text, most = LONGEST) {
	const t = clean(text);
	return t.length > most ? t.slice(0, most - 1) + "\u2026" : t;
}
// Isolated, so that a name in another script leaves the line as it was.
export const name = (text, attributes) => el("bdi", { class: "name", title: shortened(text, 1000), ...attributes }, shortened(text));

export const button = (text, handler, attributes) => el("button", { type: "button", ...attributes, on: { click: handler } }, text);

// Where a picture stands: it may be wider than its place, so keys can scroll it.
export const pictureHolder = (label, attributes, ...children) => el("div", { class: "picture", tabindex: "0", role: "group", "aria-label": label, ...attributes }, ...children);

// What a screen reader is told when something changed.
let live;
export function announce(text) {
	if (!live) document.body.append(live = el("div", { class: "hidden", role: "status", "aria-live": "polite" }));
	live.textContent = text;
}

let tip;
export function tooltip(content, event) {
	if (!tip) document.body.append(tip = el("div", { class: "tooltip", role: "tooltip", hidden: true }));
	tip.hidden = !content;
	if (!content) return;
	tip.replaceChildren(...content);
	const box = tip.getBoundingClientRect();
	const x = Math.min(event.clientX + 14, window.innerWidth - box.width - 8);
	const below = event.clientY + 16;
	tip.style.left = Math.max(8, x) + "px";
	tip.style.top = (below + box.height > window.innerHeight ? Math.max(8, event.clientY - box.height - 12) : below) + "px";
}
export const tipLines = (title, ...lines) => [el("strong", {}, el("bdi", {}, shortened(title, 200))), ...lines.filter(Boolean).map((l) => el("div", {}, l))];
