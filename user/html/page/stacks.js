// SPDX-License-Identifier: GPL-2.0-or-later
// The tree of stacks: weights of a stretch of time, shares of functions, the tree from the leaves.
import { wilson } from "./format.js";

export function makeStacks(data) {
	const { parent, function: fn, weight, samples } = data.nodes, n = parent.length;
	const label = data.functions.name, object = data.functions.object, time = data.time;
	// samples that all weigh the same carry no weights
	if (time.weight_each !== null && time.weight_each !== undefined) time.weight = time.samples.map((n) => n * time.weight_each);
	const totals = { weight: data.weight, samples: data.samples, effective: data.effective ?? Infinity };
	// Of recursion, the outermost activation counts.
	const outermost = new Uint8Array(n);
	for (let i = 0; i < n; i++) {
		let up = parent[i];
		while (up >= 0 && fn[up] !== fn[i]) up = parent[up];
		outermost[i] = up < 0 ? 1 : 0;
	}

	// What each node weighs in slices [from, to); without a range, in all of the recording.
	function part(range) {
		if (!range) return { self: weight, samples, total: totals.weight, count: totals.samples, effective: totals.effective };
		const self = new Float64Array(n), seen = new Float64Array(n);
		let total = 0, count = 0;
		for (let i = 0; i < time.slice.length; i++) {
			if (time.slice[i] < range[0] || time.slice[i] >= range[1]) continue;
			self[time.node[i]] += time.weight[i];
			seen[time.node[i]] += time.samples[i];
			total += time.weight[i];
			count += time.samples[i];
		}
		return { self, samples: seen, total, count, effective: count };
	}

	function functions(p) {
		const rows = new Map(), up = Float64Array.from(p.self);
		for (let i = n - 1; i >= 0; i--) if (parent[i] >= 0) up[parent[i]] += up[i];
		for (let i = 0; i < n; i++) {
			let row = rows.get(fn[i]);
			if (!row) rows.set(fn[i], (row = { fn: fn[i], name: label[fn[i]], object: object[fn[i]], self: 0, inclusive: 0, samples: 0 }));
			row.self += p.self[i];
			row.samples += p.samples[i];
			if (outermost[i]) row.inclusive += up[i];
		}
		return rows;
	}

	// Nodes as a tree: { fn, self, sum, samples, children }. From the leaves: who calls whom hangs above it.
	function tree(p, inverted) {
		const make = (f) => ({ fn: f, self: 0, sum: 0, samples: 0, children: [], at: new Map() });
		const root = { ...make(-1), sum: p.total, samples: p.count };
		const child = (up, f) => {
			let c = up.at.get(f);
			if (!c) {
				up.at.set(f, (c = make(f)));
				c.up = up;
				up.children.push(c);
			}
			return c;
		};
		if (inverted) {
			for (let i = 0; i < n; i++) {
				if (!(p.self[i] > 0)) continue;
				let at = root;
				for (let k = i; k >= 0; k = parent[k]) {
					at = child(at, fn[k]);
					at.sum += p.self[i];
					at.samples += p.samples[i];
				}
				at.self += p.self[i];
			}
		} else {
			const made = [];
			for (let i = 0; i < n; i++) {
				const at = (made[i] = child(parent[i] >= 0 ? made[parent[i]] : root, fn[i]));
				at.self += p.self[i];
				at.sum += p.self[i];
				at.samples += p.samples[i];
			}
			for (let i = n - 1; i >= 0; i--) if (parent[i] >= 0) {
				made[parent[i]].sum += made[i].sum;
				made[parent[i]].samples += made[i].samples;
			}
		}
		const order = [root];
		for (let k = 0; k < order.length; k++) {
			order[k].children = order[k].children.filter((c) => c.sum > 0).sort((a, b) => b.sum - a.sum);
			order.push(...order[k].children);
		}
		return root;
	}

	// Who is next to a function on the stack: below it (callers) or above it (callees), with shares of all samples.
	function neighbours(f, p, callers) {
		const sums = new Map(), up = Float64Array.from(p.self);
		for (let i = n - 1; i >= 0; i--) if (parent[i] >= 0) up[parent[i]] += up[i];
		for (let i = 0; i < n; i++) {
			const mine = callers ? fn[i] === f && parent[i] >= 0 : parent[i] >= 0 && fn[parent[i]] === f;
			if (!mine) continue;
			const other = callers ? fn[parent[i]] : fn[i];
			sums.set(other, (sums.get(other) || 0) + up[i]);
		}
		return [...sums].map(([other, w]) => ({ name: label[other], object: object[other], share: p.total > 0 ? w / p.total : null })).filter((x) => x.share > 0).sort((a, b) => b.share - a.share);
	}

	// Objects by weight, the largest first: what colours stand for.
	const weights = new Map();
	for (let i = 0; i < n; i++) weights.set(object[fn[i]], (weights.get(object[fn[i]]) || 0) + weight[i]);
	const objects = [...weights].sort((a, b) => b[1] - a[1]).map(([o]) => o).filter((o) => o !== "");
	const at = new Map();
	for (let f = 0; f < label.length; f++) at.set(label[f] + "\n" + object[f], f);
	return { data, n, label, object, part, functions, tree, neighbours, objects, unit: data.unit, slices: time.slices, sliceNs: time.slice_ns, time, indexOf: (name, of) => at.get(name + "\n" + of), hue: (o) => { const i = objects.indexOf(o); return i < 0 || i > 6 ? 7 : i; }, interval: (share, p) => wilson(share, p.effective) };
}
