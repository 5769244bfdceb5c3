# SPDX-License-Identifier: GPL-2.0-or-later
# awk [-v only=REGEX] -f compare.awk LACKEY EXACT: lines `different KIND ...` for whatever disagrees, and a summary of
# what was compared; `only` limits it to functions that match. Rules: README.md, "What may differ".
BEGIN { FS = OFS = "\t" }

# Functions without a name in the program's own file: [file] in both.
function clean(name, object) { return name == "(unknown)" || name == "" ? "[" object "]" : name }
# Code that runs before main and sees where and how it was started.
function startup(name) { return name ~ /^\[(ld-linux|ld-2|vgpreload)/ }
function pseudo(name) { return name ~ /^\(/ }

FNR == 1 { side++ }
$1 == "total" { for (i = 2; i <= 6; i++) total[side, i] = $i }
$1 == "fn" && (!pseudo($2) || $2 == "(unknown)") {
	name = clean($2, $3)
	# unique addresses do not add up over the functions of a library, nor do calls inside of it
	for (i = 4; i <= 12; i++) if (i <= 8 || name !~ /^\[/) fn[side, name, i] += $i
	names[name] = 1
}
$1 == "quad" || $1 == "ke" {
	p = clean($2, $3); c = clean($4, $5)
	# the kernel as a reader: only the two calls that lackey's side knows
	if (c ~ /^\(kernel/ && c != "(kernel:write)" && c != "(kernel:pwrite64)") next
	# code that is not selected has no invocation of its own
	if (c == "(outside)") next
	# what the kernel put on the stack for a signal handler: lackey's text does not show it
	if (p == "(kernel:signal)") handler[c] = 1
	key = $1 OFS p OFS c
	edge[side, key] += $6
	if ($1 == "quad") { unique[side, key] += $7; folded[key] = folded[key] || p ~ /^\[/ || c ~ /^\[/ }
	keys[key] = 1
}
END {
	split("instructions loads stores load_bytes store_bytes in in_uma out_uma calls", what, " ")
	for (i = 2; i <= 6; i++) {
		off = total[1, i] > 0 ? (total[2, i] - total[1, i]) / total[1, i] : 1
		printf "total %s: lackey %d exact %d (%+.3f %%)\n", what[i - 1], total[1, i], total[2, i], 100 * off
	}
	for (name in names) {
		if (only != "" && name !~ only) continue
		for (i = 4; i <= 12; i++) {
			a = fn[1, name, i] + 0; b = fn[2, name, i] + 0
			if (startup(name)) { start[1, i] += a; start[2, i] += b; continue }
			compared++
			counted[1, i] += a; counted[2, i] += b
			if (a != b && !((b - a) / (a + 1) < 0.001 && (a - b) / (a + 1) < 0.001))
				print "different count", name, what[i - 3], "lackey " a, "exact " b
		}
	}
	for (key in keys) {
		split(key, part, OFS)
		if (startup(part[2]) && (startup(part[3]) || pseudo(part[3]))) continue
		if (pseudo(part[2]) && startup(part[3])) continue
		if (pseudo(part[2]) && part[3] in handler) continue
		if (only != "" && (part[2] !~ only || part[3] !~ only)) continue
		a = edge[1, key] + 0; b = edge[2, key] + 0
		edges++
		bytes[part[1]] += a
		if (a != b) print "different " part[1], part[2], part[3], "lackey " a, "exact " b
		else if (part[1] == "quad" && !folded[key] && unique[1, key] != unique[2, key])
			print "different unique", part[2], part[3], "lackey " unique[1, key], "exact " unique[2, key]
	}
	printf "compared %d counts, %d edges, %d bytes (quad), %d chunks (ke)\n", compared, edges, bytes["quad"], bytes["ke"]
	for (i = 4; i <= 8; i++)
		printf "outside start-up %s: lackey %d exact %d\n", what[i - 3], counted[1, i], counted[2, i]
}
