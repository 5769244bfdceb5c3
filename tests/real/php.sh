#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# php: a page is built from a table of records: sorted, filtered, escaped, encoded, parsed again; a unit is a page.
. "$(dirname "$0")/lib.sh"
program=/usr/bin/php package=php8.2-cli begin=getrusage:5 needs="" unit=page held_out=yes
prepare() {
	cat >page.php <<'PHP'
<?php
function records($n, $s) {
	$out = [];
	for ($i = 0; $i < $n; $i++) {
		$s = ($s * 69069 + 12345) & 0xffffffff;
		$out[] = ['id' => $i, 'name' => "user & <" . ($s >> 16) % 997 . ">", 'score' => ($s >> 8) % 1000];
	}
	return $out;
}
function page($rows) {
	usort($rows, fn($a, $b) => $b['score'] <=> $a['score'] ?: strcmp($a['name'], $b['name']));
	$html = '';
	foreach (array_filter($rows, fn($r) => $r['score'] > 200) as $r)
		$html .= '<li class="' . ($r['id'] % 2 ? 'odd' : 'even') . '">' . htmlspecialchars($r['name']) . ': ' . number_format($r['score'] / 7, 2) . "</li>\n";
	$again = json_decode(json_encode($rows), true);
	preg_match_all('/<li class="odd">([^<]*)/', $html, $m);
	return strlen($html) + count($again) + count($m[1]) + crc32($html);
}
for ($i = 0; $i < (int)$argv[1]; $i++) {
	getrusage();
	$sum = page(records(1500, $i % 5));
}
echo $sum, "\n";
PHP
}
endless() { exec $program -n page.php 100000000; }
finite() { "$@" $program -n page.php 16; }
drive "$@"
