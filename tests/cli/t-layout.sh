#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The house keeps its shape: nothing includes to its right, headers stand alone, files stay small.
. "$(dirname "$0")/../lib.sh"
cd "$TOP" || exit 1

# The house from left to right, rooms of one rank in one line. To add a room: a word here, and in README's map.
HOUSE='
include user/util
bpf kmod-free
user/measure
user/store
user/code
user/proc
user/symbol
user/attr
user/emu
user/profile
user/counts
user/volume
user/flow
user/offload
user/record user/model
user/advise
user/view
user/command
user/foreground user/html
'
declare -A RANK; n=0
while read -r rooms; do for room in $rooms; do RANK[$room]=$n; done; n=$((n + 1)); done <<<"$HOUSE"
rank() { # of a file; what stands nowhere (cli, daemon, exact, top) is right of all
	local d=${1%/*}
	RANKED=${RANK[$d]:-99}
}

includes_point_left() {
	local bad=0 f inc target
	while IFS=: read -r f inc; do
		inc=${inc#*\"}; inc=${inc%\"*}
		for target in "${f%/*}/$inc" "user/$inc" "include/$inc" "$inc"; do
			[ -f "$target" ] || continue
			rank "$f"; local from=$RANKED; rank "$target"
			if [ "$RANKED" -gt "$from" ]; then echo "$f includes $target"; bad=1; fi
			break
		done
	done < <(grep -rHE '^#include "' --include='*.[ch]' bpf kmod-free include user | sed 's/:#include /:/')
	return $bad
}
check "nothing includes to its right" includes_point_left

every_room_is_ranked() { ! git ls-files 'user/*/*' | cut -d/ -f1,2 | sort -u | grep -vxE 'user/(cli|daemon|exact|top)' | while read -r d; do [ -n "${RANK[$d]:-}" ] || echo "$d"; done | grep .; }
one_spelling() { ! git grep -nE '^#include "(\./)*(user|include)/' -- '*.c' '*.h'; }
check "what is included is spelt in one way, from the rooms' folder on" one_spelling

check "every room has its place from left to right" every_room_is_ranked

nobody_includes_the_top() { ! grep -rnE '^#include "(user/)?(cli|daemon|exact|top)/' --include='*.[ch]' bpf kmod-free include user | grep -vE '^user/(cli|daemon|exact|top)/'; }
check "cli and daemon are included by nobody" nobody_includes_the_top

one_walk() { ! grep -rnE '\bstore_next(_var)?\(' --include='*.c' user | grep -vE '^user/(store/|profile/walk\.c)'; }
check "one loop walks over a profile's sections" one_walk

one_pass() { ! grep -rnE '\bstore_rewind\(' --include='*.c' user | grep -vE '^user/(store/|profile/shared\.c:)'; }
check "no reader starts over within an open profile, but in one that processes share" one_pass

one_decoder() { ! grep -rln 'ZydisDecoder' --include='*.[ch]' user | grep -vx user/code/insn.c; }
check "one file turns bytes into a decoded instruction" one_decoder

# Bytes and strings are struct buf's; two arrays are cut to an exact size once.
one_growing_array() { ! grep -rnE '\brealloc(array)?\(' --include='*.[ch]' bpf kmod-free user | grep -vE '^user/(util/(grow\.h|buf\.c)|counts/counts_solve\.c|emu/emu_before\.c|exact/tool/)'; }
check "one header grows arrays" one_growing_array

# What is on disk keeps its number when an enumerator is put before it.
numbered() {
	! sed 's:/\*.*\*/::; s:/\*.*::' include/*.h user/store/*.h user/emu/emu.h user/symbol/symbols.h | awk '
		/^enum .*{/ { name = $2; inside = 1; sub(/.*{/, "") }
		inside {
			line = $0; sub(/}.*/, "", line)
			n = split(line, item, ",")
			for (i = 1; i <= n; i++)
				if (item[i] ~ /[A-Z]/ && item[i] !~ /=/) print name ": " item[i]
		}
		/}/ { inside = 0 }' | grep -E '^(fmt_|emu_end|heap_role|probe_apart|symbol_origin)'
}
check "enumerators of the file format state their numbers" numbered

# One mechanism stands in one place.
twice() {
	! git ls-files 'bpf/*.c' 'kmod-free/*.c' 'user/*.c' | xargs awk '
		FNR == 1 { body = "" }
		/^static .*\(/ && !/;$/ { head = $0; body = $0; lines = 0; next }
		body != "" { body = body "\n" $0; lines++ }
		/^}/ && body != "" {
			if (lines >= 5 && (body in seen) && seen[body] != FILENAME) print head ": " seen[body] ", " FILENAME
			seen[body] = FILENAME; body = ""
		}' | grep .
}
check "no function of three lines or more stands in two files, word for word" twice

# What a source includes before all else, the build has compiled alone.
included_first() { git ls-files 'bpf/*.c' 'kmod-free/*.c' 'user/*.c' | xargs awk 'FNR == 1 { over = 0 } /^#include/ && !over { over = 1; if ($2 ~ /^"/) { gsub(/"/, "", $2); print $2 } }'; }
headers_stand_alone() {
	local bad=0 h
	included_first | sed -E 's:^(include|user)/::' | sort -u >"$TMP/first"
	for h in $(git ls-files 'include/*.h' 'user/*.h' 'kmod-free/*.h' | grep -v '^user/exact/' | sed -E 's:^(include|user)/(.*):\2 &:; t; s:.*:& &:' | sort | join -v 1 - "$TMP/first" | cut -d' ' -f2); do
		cc -std=gnu11 -fsyntax-only -D_GNU_SOURCE -Iinclude -Iuser -I. -Ibuild/include -x c "$h" 2>"$TMP/h" || { echo "$h"; head -3 "$TMP/h"; bad=1; }
	done
	return $bad
}
check "every header compiles alone" headers_stand_alone

small_files() { ! git ls-files '*.c' '*.h' 'scripts/*' | xargs wc -l | awk '$2 != "total" && $1 > 1000' | grep .; }
check "no source file has more than a thousand lines" small_files

# What the formatter lays out is its business; other versions than Debian 12's lay out otherwise.
sources() { git ls-files '*.c' '*.h' | grep -v vmlinux; }
if clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
	formatted() { ! sources | xargs -P 2 -n 40 clang-format --dry-run 2>&1 | grep ' warning: ' | cut -d: -f1 | sort -u | grep .; }
	check "all code is as the formatter lays it out" formatted
else
	skip "all code is as the formatter lays it out" "clang-format 14 is not here (apt-get install clang-format)"
fi
# A string is kept whole, so that it is found; the formatter cannot break it.
narrow() { ! sources | xargs expand -t 8 | awk 'length > 120 && !/"/ && !/\\$/' | grep .; }
check "no line of code has more than 120 columns, but for strings and macros" narrow

# More than 80 lines or six parameters: with a reason beside it ("shape: WHY").
check "no function has an ill shape without a reason" scripts/shape

# A newcomer who searches for a name finds one thing.
check "static functions of one name in different files do the same" scripts/shape --names
check "what a header declares, more than one file names" scripts/shape --unshared
check "what no product code uses is not there, or for tests and says so" scripts/shape --unused
check "no eight lines of the product stand in two places" scripts/shape --alike 8
check "a folder that has grown says why (tests/results/growth.tsv)" scripts/shape --growth --check
check "numbers have their unit and reason beside them" scripts/shape --constants
check "every header says who includes it, every source without one what it holds, and comments name what is there" scripts/shape --heads
check "no circle of files uses each other, but where a comment says why" scripts/shape --cycles

licensed() {
	! git ls-files '*.c' '*.h' '*.sh' '*.py' '*.js' '*.css' '*.mk' '*.proto' '*.cl' scripts Makefile | xargs awk '
		FNR == 1 { if (NR > 1 && !found) print file; found = 0; file = FILENAME }
		FNR <= 5 && /SPDX-License-Identifier: GPL-2.0-or-later/ { found = 1 }
		END { if (!found) print file }' | grep .
}
check "every source names its licence" licensed

folders() { ! git ls-files | grep / | cut -d/ -f1 | sort -u | grep -vE '^(bpf|user|kmod-free|include|tests|scripts|\.ci)$'; }
scripts_parse() { { grep -lE -m 1 '^#(!| shellcheck).*bash' scripts/*; ls tests/cli/*.sh tests/*.sh; } | xargs -P 2 -n 1 bash -n; }
check "bash can read every script" scripts_parse
if need python3; then
	pythons_parse() { { git ls-files '*.py'; grep -lE -m 1 '^#!.*python3' scripts/*; } | python3 -c 'import sys; [compile(open(f.strip()).read(), f.strip(), "exec") for f in sys.stdin]'; }
	check "this machine's Python can read every one of its own" pythons_parse
fi
check "no other top-level folder" folders
files() { ! git ls-files | grep -v / | grep -vxE '\.clang-format|\.git-blame-ignore-revs|\.gitignore|COPYING|Makefile|README\.md'; }
check "nor another file beside them" files

if need jq; then
	asserts_nothing() { echo '{"a":1}' | bash -c 'jq -e ".a == 1"' && ! bash -c "true | jq -e ." && true | jq .; }
	check "an assertion about the output of a silent command fails" asserts_nothing
fi
# 5,000 processes of one test lost one now and then, by the pid of another test's that had ended
ends_its_own() {
	sleep 60 & local other=$! ours inner
	bash -c '. "$1"; STARTED+=("$2"); sleep 60 & STARTED+=($!); (sleep 60 & echo $! >inner; wait) & within 9 test -s inner; STARTED+=($(cat inner)); echo "${STARTED[@]}" >"$3"' - "$TOP/tests/lib.sh" $other "$TMP/pids"
	read -r _ ours inner <"$TMP/pids"
	gone() { ! kill -0 "$ours" 2>/dev/null && ! kill -0 "$inner" 2>/dev/null; }
	kill $other && within 9 gone
}
check "a test ends its own processes, and nobody else's" ends_its_own
