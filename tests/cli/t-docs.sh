#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Documents teach one thing each: short, no wider than a screen, with tables that are what the data say, and no name of a
# file that is not there.
. "$(dirname "$0")/../lib.sh"
cd "$TOP" || exit 1

# what teaches; what is looked up (store/SECTIONS*.md) or read beside its tables (model/MEASURED.md) may be longer
taught=(user/flow/FLOW.md user/counts/COUNTS.md user/proc/STACKS.md user/model/LOGCA.md user/store/FORMAT.md
	kmod-free/README.md user/offload/OFFLOAD.md user/daemon/OPERATING.md user/emu/BRANCHES.md README.md)
short() { wc -l "${taught[@]}" | awk '$2 != "total" && $1 > ($2 == "README.md" ? 155 : 130) { print; bad = 1 } END { exit bad }'; }
check "documents have at most 130 lines, the first one, whose map has a line a room, 155" short
# "Made by `scripts/NAME`", and that script names it: as long as its tables are
made_by_script() {
	local script; script=$(sed -nE '1,5s/.*Made by `(scripts\/[a-z-]+)`.*/\1/p' "$1")
	[ -n "$script" ] && grep -q "$(basename "$1")" "$script"
}
others_short() {
	local bad=0 doc
	while read -r doc; do
		[ "$(wc -l <"$doc")" -le 130 ] || [ "$doc" = README.md ] || made_by_script "$doc" || { echo "$doc: $(wc -l <"$doc") lines"; bad=1; }
	done < <(git ls-files '*.md')
	return $bad
}
check "so has every other document that no script makes" others_short
# every section has its heading in the reference, with its number, or stands so in the header that declares its record
described() {
	local bad=0 name number
	while read -r name number; do
		grep -qhE "^( \*|##) .*\b$name \($number\)" user/store/SECTIONS*.md user/store/*.h || { echo "$name ($number)"; bad=1; }
	done < <(sed -n '/^enum fmt_section {/,/^}/s/^\t\(FMT_[A-Z_]*\) = \([0-9]*\),.*/\1 \2/p' include/format.h)
	return $bad
}
check "each section of a profile is described" described
# what a line of the daemon's log asks for is in the operator's page, and no line that there is not
said() { cat user/daemon/*.c user/cli/daemon.c | tr '\n' ' ' | grep -oE '\bsay(_[a-z]+)?\([^";]*"[a-z-]+"' | sed 's/.*"\(.*\)"/\1/' | sort -u; }
explained() { sed -n '/^| event/,/^$/p' user/daemon/OPERATING.md | cut -d'|' -f2 | grep -oE '`[a-z-]+`' | tr -d '`' | sort -u; }
events() { [ "$(said | wc -l)" -gt 20 ] && diff <(said) <(explained); }
check "each event of the daemon's log is explained to its operator" events
narrow() { ! awk 'length > 160 && !/^\|/ && !/^!\[/ && !/^<!-- table/ { print FILENAME ": " FNR ": " length " columns" }' "${taught[@]}" | grep .; }
check "lines of prose have at most 160 columns" narrow
need python3 && check "tables are what tests/results says" scripts/tables --check
need python3 && check "what must come to no harm is what the tests say" scripts/harm --check
# a table that no script writes is somebody's word
measured() {
	local bad=0 f script
	for f in tests/results/*.tsv; do
		script=$(sed -nE '1s/^# (as )?(scripts\/[a-z-]+).*/\2/p' "$f")
		[ -n "$script" ] && [ -x "$script" ] && grep -qE "tests/results|results\.py|\.tsv" "$script" || { echo "$f: $(head -n 1 "$f" | cut -c 1-100)"; bad=1; }
	done
	return $bad
}
check "every measured table names the script that writes it" measured

# files named in `...` exist, beside the document or below the root
named() {
	local bad=0 doc f
	for doc in "${taught[@]}"; do
		while read -r f; do
			[ -e "$(dirname "$doc")/$f" ] || [ -e "$f" ] || [ -e "user/$f" ] || [ -n "$(git ls-files "*/$f" | head -n 1)" ] || { echo "$doc names $f"; bad=1; }
		done < <(grep -oE '`[A-Za-z0-9_./-]+\.(c|h|md|sh|tsv|bpf\.c|bpf\.h)`' "$doc" | tr -d '`' | grep -v NAME | sort -u) # a place to fill in
	done
	return $bad
}
check "files that documents name are there" named

# what a recorder takes of a CPU stands in one table, and in the manual
own() { awk -F'[{},]' -v of="$1" '/^\t\{ "(low|default|high)"/ { v = $of * 100; sub(/^0/, "", v); t = t (n++ == 2 ? " or " : n > 1 ? ", " : "") v } END { print t }' user/record/effort.c; }
manual() { accperf help record | tr -s ' \n' ' ' | grep -qF -- "$1 % of a CPU"; }
check "the manual says what bursts take of a CPU ($(own 6))" manual "$(own 6)"
check "and segments ($(own 7))" manual "$(own 7)"
