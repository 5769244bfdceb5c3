// SPDX-License-Identifier: GPL-2.0-or-later
// A table that sorts, searches and copies. A column: { key, title, kind, low, high, why, text, node, help }.
//   kind "text": row[key] as text; else a kind of format.js, with its interval where low and high name keys.
//   low, high: keys of row, or functions of it. why: of what is unknown, a text or a function that tells it now; whyRange:
//   of an interval that is unknown; meaning: of the interval, if it is not one of 95 %. node(row): what stands in the cell
//   instead.
import { announce, clean, el, name, button } from "./dom.js";
import { cell } from "./format.js";
import { copyButton } from "./save.js";
import * as state from "./state.js";

const FIRST = 25;
const value = (column, row) => (column.value ? column.value(row) : row[column.key]);
// undefined: it has none; null: unknown
const end = (key, row) => (!key ? undefined : (typeof key === "function" ? key(row) : row[key]) ?? null);

function compare(column, falling) {
	return (a, b) => {
		const x = value(column, a), y = value(column, b);
		// what is unknown stands last in any order
		if (x === null || x === undefined || y === null || y === undefined) return (x === null || x === undefined) - (y === null || y === undefined);
		const d = typeof x === "string" ? x.localeCompare(y) : x - y;
		return falling ? -d : d;
	};
}

export function makeTable({ id, label, columns, rows, search, sort, details, tools = [], first = FIRST }) {
	let all = rows, shown = [], limit = first;
	const [sortKey, sortFalling] = sort || [columns[0].key, false];
	const body = el("tbody"), count = el("span", { class: "count" }), more = el("div", { class: "more" });
	const input = el("input", { type: "search", placeholder: "Search", "aria-label": "Search " + label, value: state.get(id + ".q"), on: { input: () => state.set(id + ".q", input.value) } });
	const heads = columns.map((c) => {
		const b = button(c.title, () => {
			const now = current(), falling = now.column === c ? !now.falling : c.kind !== "text";
			state.set(id + ".sort", (falling ? "-" : "") + c.key);
			announce(label + " sorted by " + c.title + (falling ? ", largest first" : ""));
		}, { title: c.help });
		return el("th", { scope: "col", class: (c.kind === "text" ? "name" : "") + (c.wide ? " wide" : "") }, b);
	});
	const current = () => {
		const wish = state.get(id + ".sort", (sortFalling ? "-" : "") + sortKey), falling = wish.startsWith("-");
		const column = columns.find((c) => c.key === (falling ? wish.slice(1) : wish));
		return column ? { column, falling } : { column: columns.find((c) => c.key === sortKey), falling: sortFalling };
	};
	function line(row) {
		const cells = columns.map((c) => {
			const content = c.node ? c.node(row) : c.kind === "text" ? (value(c, row) === null || value(c, row) === undefined ? el("span", { class: "unknown" }, "unknown") : name(value(c, row))) : cell(value(c, row), end(c.low, row), end(c.high, row), c.kind, { why: typeof c.why === "function" ? c.why() : c.why, whyRange: c.whyRange, meaning: c.meaning });
			return el("td", { class: (c.kind === "text" ? "name" : "") + (c.wide ? " wide" : "") }, content);
		});
		const tr = el("tr", {}, cells);
		if (details) {
			const open = button("", () => {
				const next = tr.nextSibling?.classList.contains("details") ? tr.nextSibling : null;
				open.setAttribute("aria-expanded", !next);
				if (next) next.remove();
				else tr.after(el("tr", { class: "details" }, el("td", { colspan: columns.length }, details(row))));
			}, { class: "opens", "aria-expanded": "false", "aria-label": "Details of " + clean(value(columns[0], row)).slice(0, 80) });
			cells[0].prepend(open);
			cells[0].classList.add("opening");
		}
		return tr;
	}
	function draw() {
		const { column, falling } = current(), wanted = state.get(id + ".q").toLowerCase();
		if (input.value.toLowerCase() !== wanted) input.value = state.get(id + ".q");
		shown = wanted && search ? all.filter((r) => search(r).toLowerCase().includes(wanted)) : all.slice();
		shown.sort(compare(column, falling));
		heads.forEach((th, i) => (columns[i] === column ? th.setAttribute("aria-sort", falling ? "descending" : "ascending") : th.removeAttribute("aria-sort")));
		body.replaceChildren(...shown.slice(0, limit).map(line));
		count.textContent = shown.length === all.length ? all.length + " rows" : shown.length + " of " + all.length + " rows";
		more.replaceChildren(...(shown.length > limit ? [button("Show all " + shown.length, () => { limit = Infinity; draw(); })] : []));
	}
	const data = () => [columns.flatMap((c) => (c.low ? [c.title, c.title + " low", c.title + " high"] : [c.title])),
		...shown.map((r) => columns.flatMap((c) => { const v = c.text ? c.text(r) : value(c, r); return c.low ? [v, end(c.low, r), end(c.high, r)] : [v]; }))];
	state.watch(id + ".q", () => { limit = first; draw(); });
	state.watch(id + ".sort", draw);
	draw();
	const element = el("div", { class: "table", id: id + "-table" },
		el("div", { class: "tools" }, search && input, count, tools, copyButton(data)),
		el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table: " + label },
			el("table", {}, el("caption", { class: "hidden" }, label), el("thead", {}, el("tr", {}, heads)), body)), more);
	return { element, draw, setRows: (r) => { all = r; draw(); }, shown: () => shown, data };
}

// Any list of like objects: keys are columns, KEY_low and KEY_high the interval of KEY.
export function plainTable(id, label, rows) {
	const keys = Object.keys(rows[0]).filter((k) => rows.some((r) => r[k] === null || typeof r[k] !== "object"));
	const bound = (k) => /_(low|high)$/.test(k) && keys.includes(k.replace(/_(low|high)$/, ""));
	const kind = (k) => (rows.some((r) => typeof r[k] === "string") ? "text" : /share|probability/.test(k) ? "share" : /_ns$|_ns_/.test(k) ? "time" : /bytes/.test(k) ? "bytes" : "number");
	const columns = keys.filter((k) => !bound(k)).map((k) => ({
		key: k, title: k.replace(/_/g, " "), kind: kind(k),
		value: (r) => (typeof r[k] === "boolean" ? (r[k] ? "yes" : "no") : r[k]),
		...(keys.includes(k + "_low") ? { low: k + "_low", high: k + "_high" } : {}),
	})).map((c) => (rows.some((r) => typeof r[c.key] === "boolean") ? { ...c, kind: "text" } : c));
	return makeTable({ id, label, columns, rows, search: (r) => columns.map((c) => r[c.key]).join(" "), sort: [columns[0].key, false] });
}
