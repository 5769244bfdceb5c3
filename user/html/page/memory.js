// SPDX-License-Identifier: GPL-2.0-or-later
// Objects, and threads with the cache lines that they share; of the stretch of time that is chosen, where times are known.
import { el } from "./dom.js";
import { wilson } from "./format.js";
import { makeTable } from "./table.js";

export function objectsPanel(objects, stacks, selection) {
	const rows = objects.objects.map((o) => {
		const users = (list, count) => list.map((u) => u.function).join(", ") + (count > list.length ? ", and " + (count - list.length) + " more" : "");
		return { ...o, read_by: users(o.readers, o.reader_count), written_by: users(o.writers, o.writer_count) };
	});
	if (!rows.length) return el("p", { class: "unknown" }, "No object was seen.");
	const counted = (key) => (o) => (objects.exact ? o[key] : null);
	const bytes = (key, title) => ({ key, title, kind: "bytes", low: counted(key), high: counted(key), wide: true, whyRange: "of an object's share of the accesses alone the interval is known" });
	const columns = [
		{ key: "name", title: "object", kind: "text" }, { key: "kind", title: "kind", kind: "text", wide: true },
		{ key: "share", title: "of all accesses", kind: "share", low: "share_low", high: "share_high" }, { key: "samples", title: "samples", kind: "number", wide: true, why: "counted, not sampled" },
		{ key: "size", title: "size", kind: "bytes" },
		objects.amounts_known && bytes("read_bytes", "bytes read"), objects.amounts_known && bytes("written_bytes", "bytes written"),
		{ key: "read_by", title: "read by", kind: "text", wide: true }, { key: "written_by", title: "written by", kind: "text", wide: true },
	].filter(Boolean);
	const table = makeTable({ id: "objects", label: "Objects", columns, rows, search: (o) => o.name + " " + o.kind + " " + o.read_by + " " + o.written_by, sort: ["share", true], first: 15 });
	const timed = objects.slices && stacks?.slices && stacks.unit === "ns", stretch = el("div", {});
	function choose() {
		const r = selection.range();
		if (!r || !timed) {
			table.setRows(rows);
			stretch.replaceChildren(r ? el("p", { class: "unknown" }, "Of all of the recording: " + (objects.exact ? "the exact engine counts accesses of objects without their times." : "accesses and samples have no clock in common.")) : "");
			return;
		}
		const inside = selection.within(r, { from: stacks.time.from, width: stacks.sliceNs }, objects.slices);
		const sum = (o, key) => (o.over_time ? o.over_time.slice.reduce((s, slice, i) => s + (inside[slice] ? o.over_time[key][i] : 0), 0) : 0);
		const part = rows.map((o) => ({ o, weight: sum(o, "share"), samples: sum(o, "samples") })), all = part.reduce((s, p) => s + p.weight, 0), n = part.reduce((s, p) => s + p.samples, 0);
		table.setRows(part.filter((p) => p.samples > 0).map(({ o, weight, samples }) => {
			const share = all > 0 ? weight / all : null, [low, high] = wilson(share, n);
			return { ...o, share, share_low: low, share_high: high, samples, size: o.size, read_bytes: null, written_bytes: null };
		}));
		stretch.replaceChildren(el("p", { class: "unknown" }, "Shares and samples are of the chosen stretch; who reads and writes an object is of all of the recording."));
	}
	selection.watch(choose);
	choose();
	return el("div", {}, stretch, table.element,
		!objects.amounts_known && objects.amounts_note && el("p", { class: "unknown" }, "Bytes: " + objects.amounts_note + "."),
		!objects.exact && el("p", { class: "unknown" }, "Intervals here are of the number of samples alone, those of allocation sites of what was inferred, too."));
}

export function threadsPanel(stacks, sharing, whyNoSharing, selection) {
	const threads = stacks.threads;
	const moved = new Map((sharing?.threads || []).map((t) => [t.pid + "/" + t.tid, t]));
	const rows = threads.map((t) => {
		const m = moved.get(t.pid + "/" + t.tid) || {};
		return { ...t, comm: t.comm ?? "unknown", bytes_in: m.in ?? null, in_low: m.in_low ?? null, in_high: m.in_high ?? null, bytes_out: m.out ?? null, out_low: m.out_low ?? null, out_high: m.out_high ?? null };
	});
	const bytes = rows.some((r) => r.bytes_in !== null || r.bytes_out !== null);
	const columns = [
		{ key: "comm", title: "process", kind: "text" }, { key: "pid", title: "pid", kind: "number", node: (r) => String(r.pid) }, { key: "tid", title: "thread", kind: "number", node: (r) => String(r.tid) },
		{ key: "share", title: "of all time", kind: "share", low: "low", high: "high" }, { key: "samples", title: "samples", kind: "number" },
		bytes && { key: "bytes_in", title: "bytes in", kind: "bytes", low: "in_low", high: "in_high", wide: true }, bytes && { key: "bytes_out", title: "bytes out", kind: "bytes", low: "out_low", high: "out_high", wide: true },
	].filter(Boolean);
	const edges = (sharing?.thread_edges || []).map((e) => ({ ...e, from: e.producer, to: e.consumer }));
	const lines = (sharing?.shared_lines || []).map((l) => ({ ...l, where: (l.object || "unknown") + (l.offset !== null ? "+" + l.offset : ""), at: "0x" + l.address.toString(16), users: l.threads.map((t) => t.function + " (" + t.tid + ")").join(", "), samples: l.threads.reduce((s, t) => s + t.samples, 0) }));
	const table = rows.length && makeTable({ id: "threads", label: "Threads", columns, rows, search: (t) => t.comm + " " + t.pid + " " + t.tid, sort: ["share", true], first: 15 }), stretch = el("div", {});
	function choose() {
		const r = selection.range();
		stretch.replaceChildren(r ? el("p", { class: "unknown" }, "Times are of the chosen stretch; bytes and cache lines are of all of the recording: who wrote what another thread reads takes all of it to tell.") : "");
		if (!table) return;
		if (!r) return table.setRows(rows);
		const inside = (t, key) => (t.slice || []).reduce((s, slice, i) => s + (slice >= r[0] && slice < r[1] ? t[key][i] : 0), 0);
		const part = rows.map((t) => ({ t, weight: inside(t, "slice_weight"), samples: inside(t, "slice_samples") })), all = part.reduce((s, p) => s + p.weight, 0), n = part.reduce((s, p) => s + p.samples, 0);
		table.setRows(part.filter((p) => p.samples > 0).map(({ t, weight, samples }) => {
			const share = weight / all, [low, high] = wilson(share, n);
			return { ...t, share, low, high, samples, bytes_in: null, in_low: null, in_high: null, bytes_out: null, out_low: null, out_high: null };
		}));
	}
	selection.watch(choose);
	choose();
	return el("div", {}, stretch,
		table ? table.element : el("p", { class: "unknown" }, "No thread has a sample of its own."),
		edges.length > 0 && [el("h3", {}, "Bytes between threads"), makeTable({ id: "crossing", label: "Bytes between threads", rows: edges, search: (e) => e.from + " " + e.to, sort: ["share", true], first: 10, columns: [
			{ key: "from", title: "written by", kind: "text" }, { key: "to", title: "read by", kind: "text" },
			{ key: "bytes", title: "bytes", kind: "bytes", low: "low", high: "high", why: sharing.amounts_note }, { key: "share", title: "share", kind: "share", low: "share_low", high: "share_high" }] }).element],
		sharing && [el("h3", {}, "Falsely shared cache lines"), lines.length ? makeTable({ id: "lines", label: "Falsely shared cache lines", rows: lines, search: (l) => l.where + " " + l.users, sort: ["pairs", true], first: 10, columns: [
			{ key: "where", title: "object", kind: "text" }, { key: "at", title: "line", kind: "text", wide: true }, { key: "users", title: "used by", kind: "text" }, { key: "pairs", title: "times seen", kind: "number" }, { key: "samples", title: "samples", kind: "number" }] }).element : el("p", { class: "unknown" }, "None was seen.")],
		!sharing && el("p", { class: "unknown" }, "Bytes between threads are unknown: " + whyNoSharing));
}
