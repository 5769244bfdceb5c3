#!/usr/bin/env bash
# Documents teach one thing each: short, no wider than a screen, with tables that are what the data say, and no name of a
# file that is not there.
. "$(dirname "$0")/../lib.sh"
cd "$TOP" || exit 1

taught=(user/flow/FLOW.md user/counts/COUNTS.md user/proc/STACKS.md kmod-free/README.md README.md)
short() { wc -l "${taught[@]}" | awk '$2 != "total" && $1 > 140 { print; bad = 1 } END { exit bad }'; }
check "documents have at most 140 lines" short
narrow() { ! awk 'length > 160 && !/^\|/ && !/^!\[/ && !/^<!-- table/ { print FILENAME ": " FNR ": " length " columns" }' user/flow/FLOW.md user/counts/COUNTS.md kmod-free/README.md | grep .; }
check "lines of prose have at most 160 columns" narrow
need python3 && check "tables are what tests/results says" scripts/tables --check

# files named in `...` exist, beside the document or below the root
named() {
	local bad=0 doc f
	for doc in "${taught[@]}"; do
		while read -r f; do
			[ -e "$(dirname "$doc")/$f" ] || [ -e "$f" ] || [ -e "user/$f" ] || [ -n "$(git ls-files "*/$f" | head -n 1)" ] || { echo "$doc names $f"; bad=1; }
		done < <(grep -oE '`[A-Za-z0-9_./-]+\.(c|h|md|sh|tsv|bpf\.c|bpf\.h)`' "$doc" | tr -d '`' | sort -u)
	done
	return $bad
}
check "files that documents name are there" named
