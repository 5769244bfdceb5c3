// SPDX-License-Identifier: GPL-2.0-or-later
// What `accperf advise` says: its sentences, then each of its lists as a table.
import { el, shortened } from "./dom.js";
import { plainTable } from "./table.js";

export function verdictsPanel(advice) {
	const said = Object.entries(advice).filter(([k, v]) => typeof v === "string" && k !== "schema");
	const lists = Object.entries(advice).filter(([, v]) => Array.isArray(v) && v.length && v.every((r) => r && typeof r === "object" && !Array.isArray(r)));
	return el("div", {},
		said.length > 0 && el("dl", { class: "lines" }, said.map(([k, v]) => el("div", {}, el("dt", {}, k.replace(/_/g, " ")), el("dd", {}, shortened(v, 600))))),
		lists.map(([k, rows]) => [el("h3", {}, k.replace(/_/g, " ")), plainTable("advise-" + k, k.replace(/_/g, " "), rows).element]),
		!lists.length && el("p", { class: "unknown" }, "It names no candidate."));
}
