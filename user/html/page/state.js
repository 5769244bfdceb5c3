// SPDX-License-Identifier: GPL-2.0-or-later
// What the page shows now is in the URL's fragment, so that a link leads there.
const values = new URLSearchParams(location.hash.slice(1));
const watchers = new Map();

export const get = (key, otherwise = "") => values.get(key) ?? otherwise;
export function set(key, value) {
	if (value === "" || value === null || value === undefined) values.delete(key);
	else values.set(key, value);
	const hash = "#" + values;
	if (hash !== location.hash) history.replaceState(null, "", hash === "#" ? location.pathname + location.search : hash);
	for (const watcher of watchers.get(key) || []) watcher();
}
export function watch(key, watcher) {
	if (!watchers.has(key)) watchers.set(key, []);
	watchers.get(key).push(watcher);
}
// Someone pasted another link, or clicked one of ours: only what differs is told.
window.addEventListener("hashchange", () => {
	const now = new URLSearchParams(location.hash.slice(1)), changed = [];
	// a link to a section leaves the rest as it is
	if ([...now.keys()].join() === "at") {
		set("at", now.get("at"));
		return;
	}
	for (const key of new Set([...values.keys(), ...now.keys()])) if (values.get(key) !== now.get(key)) changed.push(key);
	for (const key of [...values.keys()]) values.delete(key);
	for (const [key, value] of now) values.set(key, value);
	for (const key of changed) for (const watcher of watchers.get(key) || []) watcher();
});
