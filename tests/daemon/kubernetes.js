// SPDX-License-Identifier: GPL-2.0-or-later
// Holds Kubernetes objects, a JSON list on stdin, against the schemas of npm's kubernetes-models; a line for each that is
// not one, and status 1 then.
const kinds = { DaemonSet: 'apps/v1', ConfigMap: 'v1', Namespace: 'v1' };
for (const object of JSON.parse(require('fs').readFileSync(0, 'utf8'))) {
	const Model = require(`kubernetes-models/${kinds[object.kind]}/${object.kind}`)[object.kind];
	try {
		new Model(object).validate();
	} catch (e) {
		console.log(object.kind, e.message);
		process.exitCode = 1;
	}
}
