#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whole stacks and names for every kind of code: what a user sees of user/attr. The programs are in
# tests/stacks; nearly all of their time lies below main -> outer -> inner.
# harm: a debuginfod server that sends another file; root's questions | 1 server, 3 recordings
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] || { echo "needs root to record"; exit 77; }
export XDG_CACHE_HOME=$TMP/cache
mkdir "$XDG_CACHE_HOME"
SRC=$TOP/tests/stacks
gcc -O2 -fomit-frame-pointer -o stacks "$SRC/stacks.c" || exit 1
gcc -O2 -no-pie -fomit-frame-pointer -o stacks-fixed "$SRC/stacks.c" || exit 1
gcc -O2 -static -o stacks-static "$SRC/stacks.c" 2>/dev/null || exit 1
gcc -O2 -shared -fPIC -o library.so "$SRC/library.c" && strip library.so || exit 1

record() { accperf record -q -F 499 -o p.data "$@" 2>record.err || { cat record.err; return 1; }; }
folded() { accperf export --collapsed -i p.data -o - --inline 2>/dev/null; }
# share PATTERN: whole percent of the time whose stack, outermost first, matches
share() { folded | PATTERN=$1 awk '{ n = $NF; sum += n; if ($0 ~ ENVIRON["PATTERN"]) hit += n } END { print sum ? int(100 * hit / sum) : -1 }'; }
at_least() { local got; got=$(share "$2"); [ "$got" -ge "$1" ] || { echo "$got % match $2"; folded | sort -t' ' -k2 -n | cut -c1-300 | tail -n 5; return 1; }; }
complete() { # FILE: percent of samples with a complete stack, from the counters
	accperf report -i p.data | grep -q 'incomplete stack: [0-5]\.[0-9]%' || { accperf report -i p.data | head -n 12; return 1; }
}
CHAIN='main;outer;inner'

# stripped zlib, no frame pointers: the stack reaches main, the name comes from .eh_frame
check "records a program in Debian's zlib" record -- "$WORKLOADS/zchain" --rounds 130
check "at least 95 % of the stacks reach main through the three functions" at_least 95 'main;chain_outer;chain_middle;chain_inner;'
check "and are complete" complete
check "zlib without a symbol is named by function bounds" at_least 30 'libz\.so\.[0-9.]*\+0x[0-9a-f]+ '
bounds_agree() { # every such name is the start of a function in readelf's eyes, or lies within none (start-up code)
	local lib ranges name
	lib=$(ldd "$WORKLOADS/zchain" | awk '/libz/ { print $3 }')
	ranges=$(readelf --debug-dump=frames "$lib" | sed -nE 's/.*pc=([0-9a-f]+)\.\.([0-9a-f]+).*/\1 \2/p')
	[ "$(wc -l <<<"$ranges")" -gt 50 ] || { echo "readelf finds no functions"; return 1; }
	for name in $(folded | grep -oE 'libz\.so[0-9.]*\+0x[0-9a-f]+' | sort -u); do # 16 digits each: they sort as text
		awk -v a="$(printf %016x "0x${name##*+0x}")" '"" a == "" $1 { begins = 1 } "" a > "" $1 && "" a < "" $2 { within = 1 }
			END { exit !begins && within }' <<<"$ranges" || { echo "$name lies in a function that begins elsewhere"; return 1; }
	done
}
check "which are those that readelf finds" bounds_agree
never_unknown() { ! folded | grep -i unknown; }
check "nothing is called unknown" never_unknown

for program in stacks stacks-fixed stacks-static; do
	check "$program: records" record -- "./$program" plain 0.5
	check "$program: whole stacks" at_least 95 "_start;.*$CHAIN;burn"
	check "$program: signal handler" record -- "./$program" signal 0.5
	check "$program: through the handler into what it interrupted" at_least 90 "$CHAIN;interrupted;.*;on_signal;burn"
done
check "alternate signal stack: records" record -- ./stacks altstack 0.5
check "alternate signal stack: the handler, and where it was entered" at_least 90 'kill[^;]*;[^;]*;on_signal;burn'
check "alternate signal stack: said to be incomplete" bash -c 'accperf report -i p.data | grep -qE "incomplete stack: (9[0-9]|100)"'
check "a large array, hardly used: records" record -- ./stacks hollow 0.5
check "a large array, hardly used: stacks go on behind the pages that are not there" at_least 95 "_start;.*$CHAIN;hollow;burn"
pages_are_counted() { accperf report --json -i p.data | jq -e '[.counters[]? | select(.name | test("not present, passed over")) | .value] | add > 0' >/dev/null || { accperf report --json -i p.data | jq -c '.counters'; return 1; }; }
check "a large array, hardly used: the pages are counted" pages_are_counted
check "a large array, all of it used: records" record -- ./stacks wide 0.5
check "a large array, all of it used: stacks go on behind it" at_least 95 "_start;.*$CHAIN;wide;(burn|memset)"
check "150 levels: records" record -- ./stacks deep 0.5
check "150 levels: none is missing" at_least 95 "$CHAIN;(dive;)+burn"
levels() { folded | awk '{ n = gsub(/dive;/, ""); if (n == 151) ok += $NF; sum += $NF } END { exit !(ok > .9 * sum) }'; }
check "150 levels: all counted" levels
check "20,000 levels: records" record -- ./stacks abyss 0.5
check "20,000 levels: the innermost are kept, said to be incomplete" bash -c 'accperf report -i p.data | grep -qE "incomplete stack: (9[0-9]|100)"'
check "vdso: records" record -- ./stacks vdso 0.5
check "vdso: named, with its callers" at_least 50 "$CHAIN;clock_loop;[^;]*clock_gettime;__vdso_clock_gettime"
check "system call: records" record -- ./stacks read 0.5
check "system call: a node of its own, under its callers" at_least 50 "$CHAIN;read_loop;[^;]*read;\[kernel:read\]"
check "fork without exec: records" record -- ./stacks fork 0.5
check "fork without exec: the child's stacks are whole" at_least 90 "$CHAIN;forked;burn"
check "threads: records" record -- "$WORKLOADS/nthreads" --seconds 0.5
check "threads: stacks end at the thread's start" complete

# names from a debuginfod server, if the user's environment names one; what dwz has moved to a common file
if need python3; then
	gcc -g -O2 -fomit-frame-pointer -o fetched "$SRC/stacks.c" || exit 1
	id=$(readelf -n fetched | awk '/Build ID/ { print $3 }')
	mkdir -p "srv/buildid/$id" && objcopy --only-keep-debug fetched "srv/buildid/$id/debuginfo" && strip fetched
	python3 -u -m http.server 0 --bind 127.0.0.1 -d srv >port 2>&1 & STARTED+=($!)
	for i in $(seq 100); do grep -q port port && break; sleep 0.1; done
	url=http://127.0.0.1:$(sed -n 's/.* port \([0-9]*\).*/\1/p' port)
	check "stripped, no debuginfod: records" record -- ./fetched plain 0.5
	check "stripped, no debuginfod: no names, and nothing is asked" bash -c '! accperf report -i p.data | grep -qw burn && ! grep -q GET port'
	if [ "$(id -u)" = 0 ]; then # it observes everybody's programs
		DEBUGINFOD_URLS=$url DEBUGINFOD_CACHE_PATH=$PWD/fetched.cache check "debuginfod: root records" record -- ./fetched plain 0.5
		check "debuginfod: root asks only if told to" bash -c '! grep -q GET port'
	fi
	export ACCPERF_DEBUGINFOD=1
	# the file of another program: a server may be wrong
	gcc -g -O2 -DOTHER -Wl,--build-id=sha1 -o other "$SRC/stacks.c" -Wl,--defsym=other_one=1 && mv "srv/buildid/$id/debuginfo" right &&
		objcopy --only-keep-debug other "srv/buildid/$id/debuginfo" || exit 1
	DEBUGINFOD_URLS=$url DEBUGINFOD_CACHE_PATH=$PWD/wrong.cache check "debuginfod: another file is sent: records" record -- ./fetched plain 0.5
	check "debuginfod: ... and not believed" bash -c 'grep -q GET port && ! accperf report -i p.data | grep -qw burn'
	mv right "srv/buildid/$id/debuginfo"
	DEBUGINFOD_URLS=$url DEBUGINFOD_CACHE_PATH=$PWD/fetched.cache check "debuginfod: records" record -- ./fetched plain 0.5
	check "debuginfod: names" at_least 90 "$CHAIN;burn"
	unset ACCPERF_DEBUGINFOD
else
	skip "debuginfod" "python3 is not installed"
fi
if need dwz; then
	gcc -g -O2 -o shared-a "$SRC/stacks.c" && gcc -g -O2 -o shared-b "$SRC/stacks.c" && dwz -m common.debug shared-a shared-b || exit 1
	check "dwz: records" record -- ./shared-a plain 0.5
	check "dwz: names and source" bash -c 'accperf report --json -i p.data | jq -e ".functions[] | select(.name == \"burn\") | .file | endswith(\"stacks.c\")" >/dev/null'
else
	skip "dwz" "dwz is not installed"
fi

# code that no file holds
# what is looked at after its end cannot be read any more: on a busy machine enough to be told, with status 3
ends_first() { record -- ./stacks jit 0.5 || grep -q 'in code that cannot be read' record.err; }
check "JIT: records, and the program ends before the recording" ends_first
check "JIT: named by its perf map, with callers on both sides" at_least 90 "$CHAIN;jit;jitted_caller;jitted loop"
./stacks jit 6 & STARTED+=($!); jit=$!
sleep 0.3
chown nobody "/tmp/perf-$jit.map"
check "JIT: a map of another user's: records" accperf record -F 499 -o p.data -p $jit --duration 0.5s
grep -q 'process [0-9]* *: if its runtime can write /tmp/perf-' "$TMP/check.log" && said=yes || said=no
check "JIT: ... the recording says what would name it" [ $said = yes ]
check "JIT: ... and so does the report" bash -c "accperf report -i p.data | grep -q '^# hint: .* /tmp/perf-$jit.map, let it'"
check "JIT: ... is not believed" bash -c '! accperf report -i p.data | grep -q jitted'
kill $jit; wait $jit 2>/dev/null; rm -f "/tmp/perf-$jit.map"

# files that are not what they were
cp library.so late.so
check "a library loaded late and deleted at once: records" record -- ./stacks dlopen 0.5 "$PWD/late.so"
check "... is unwound and named all the same" at_least 90 "$CHAIN;loaded;library_entry;late\.so\+0x[0-9a-f]+;burn"
cp library.so late.so; ./stacks dlopen 5 "$PWD/late.so" & STARTED+=($!); late=$!
sleep 0.3
cp "$(ldd stacks | awk '/libc.so/ { print $3 }')" late.so # another file by the same name
check "a library replaced before the recording: records" record -p $late --duration 0.5s
check "... the mapped one is used, not the new one" at_least 90 "$CHAIN;loaded;library_entry;late\.so\+0x[0-9a-f]+;burn"
kill $late; wait $late 2>/dev/null
cp stacks moved; ./moved plain 5 & STARTED+=($!); moved=$!
sleep 0.2; cp stacks-static moved.new; mv moved.new moved
check "a program replaced while it runs: records" record -p $moved --duration 0.5s
check "... keeps its names" at_least 90 "_start;.*$CHAIN;burn"
kill $moved; wait $moved 2>/dev/null

# a mount namespace with a root of its own, on a file system that is not mounted here
if unshare -mpf true 2>/dev/null; then
	mkdir root
	cat >inside <<-'END'
		mount -t tmpfs none root && mkdir -p root/app root/tmp root/proc || exit 1
		cp stacks library.so root/app
		ldd stacks | grep -oE '/[^ ]+' | while read -r f; do mkdir -p "root$(dirname "$f")"; cp "$f" "root$f"; done
		exec chroot root /app/stacks "$@"
	END
	unshare -mpf sh ./inside dlopen 6 /app/library.so & STARTED+=($!); outer=$!
	sleep 0.7
	check "container: records" record -p "$(pgrep -P $outer)" --duration 0.5s
	check "container: files are read in its own root" at_least 90 "$CHAIN;loaded;library_entry;library\.so\+0x[0-9a-f]+;burn"
	check "container: which is not ours" test ! -e root/app
	kill "$(pgrep -P $outer)"; wait $outer 2>/dev/null
	unshare -mpf sh ./inside jit 6 & STARTED+=($!); outer=$!
	sleep 0.7
	check "container: JIT: records" record -p "$(pgrep -P $outer)" --duration 0.5s
	check "container: JIT: the map has the pid that the program knows" at_least 90 'jit;jitted_caller;jitted loop'
	kill "$(pgrep -P $outer)"; wait $outer 2>/dev/null
else
	skip "container" "this kernel or container allows no namespaces"
fi

# inlining, lambdas, the cache
if need g++; then
	g++ -O2 -g -o inline "$SRC/inline.cc" || exit 1
	inline_folded() { accperf export --collapsed -i p.data -o - --inline | awk '/run\(int\);.*operator\(\).*;middle<[^;]*;innermost/ { n += $NF } { sum += $NF } END { exit !(n > .5 * sum) }'; }
	check "C++: records" record -- ./inline 0.5
	check "C++: inlined functions below a lambda" inline_folded
	objcopy --only-keep-debug inline inline.debug && strip -g inline && objcopy --add-gnu-debuglink=inline.debug inline || exit 1
	check "separate debug file: records" record -- ./inline 0.5
	check "separate debug file: inlined functions below a lambda" inline_folded
	rm inline.debug # what was named before, the cache still knows
	check "cache: records" record -- ./inline 0.5
	check "cache: names without debug information" at_least 20 'middle<|innermost'
	files=("$XDG_CACHE_HOME"/accperf/symbols/*)
	check "cache: for the owner's eyes only" test "$(stat -c %a "$XDG_CACHE_HOME/accperf" "${files[0]}" | tr '\n' ' ')" = "700 600 "
	for f in "${files[@]}"; do head -c 100 "$f" >short; printf 'xxxx' | dd of="$f" bs=1 seek=60 conv=notrunc status=none; done
	check "cache: damaged: records" record -- ./inline 0.5
	check "cache: damaged: ignored, names from the symbol table" at_least 90 'main;.*operator\(\)\(unsigned long\) const '
else
	skip "C++" "no g++"
fi
