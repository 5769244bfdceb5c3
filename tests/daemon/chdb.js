// SPDX-License-Identifier: GPL-2.0-or-later
// What of ClickHouse's HTTP `accperf fleet` speaks, before npm's chdb, which is a current engine in process.
//   node chdb.js PORT FOLDER
const http = require('http'), { Session } = require('chdb');
const session = new Session(process.argv[3]);
session.query('CREATE DATABASE IF NOT EXISTS fleet');
http.createServer((req, res) => {
	const pieces = [];
	req.on('data', (p) => pieces.push(p));
	req.on('end', () => {
		const query = new URL(req.url, 'http://localhost').searchParams.get('query'), body = Buffer.concat(pieces).toString();
		try {
			const answer = session.query('USE fleet; ' + (query ? query + '\n' : '') + body, 'TabSeparated');
			res.writeHead(200);
			res.end(answer);
		} catch (e) {
			res.writeHead(400);
			res.end(String(e.message));
		}
	});
}).listen(Number(process.argv[2]), '127.0.0.1');
