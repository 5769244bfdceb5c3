#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What accperf writes, and what it does with what stands there already: links, FIFOs, devices and foreign
# files receive nothing, nothing is removed that it did not make, everything is for its owner's eyes only.
# harm: links, FIFOs, devices and others' files as output of export, flow, merge, exact, record | 90 checks
# harm: what is there when `merge` fails | 3 kinds of file
# harm: `~/.valgrindrc`, `./.valgrindrc`, `$VALGRIND_OPTS` | 3
# harm: SIGKILL of the exact engine's driver | 1
. "$(dirname "$0")/../lib.sh"
[ -x "$TOP/build/mkprofile" ] || { skip outputs "build/mkprofile is not built"; exit 0; }
umask 022
"$TOP/build/mkprofile" a.data >/dev/null
echo precious >victim; cp victim precious
same() { cmp -s victim precious; }
clean() { ! find . -name '.*.[0-9a-f]*' -type f | grep .; }

# exports
for kind in collapsed pprof callgrind speedscope firefox csv; do
	ln -sf victim planted
	expect_status 1 "export --$kind over a link" timeout 20 accperf export --$kind -i a.data -o planted
	check "--$kind: the sentence says so" grep -q "symbolic link" err
	check "--$kind: what it points to is untouched" same
	rm -f planted
done
ln -s victim a.data.folded
expect_status 1 "a link under the export's own default name" accperf export --collapsed -i a.data
check "default name: untouched" same
rm a.data.folded
expect_status 0 "a new export" accperf export --collapsed -i a.data -o new.folded
check "is as private as a profile" test "$(stat -c %a new.folded)" = 600
echo old >there; chmod 666 there; ln there there.too
expect_status 0 "an export over an older file" accperf export --collapsed -i a.data -o there
check "is a new file: whoever holds the old one open sees nothing" bash -c '[ "$(cat there.too)" = old ] && [ "$(stat -c %a there)" = 600 ] && cmp there new.folded'
mkfifo pipe
expect_status 1 "an export over a FIFO ends at once" timeout 20 accperf export --collapsed -i a.data -o pipe
check "with a sentence" grep -q FIFO err
check "the FIFO stays" test -p pipe
mkdir folder
expect_status 1 "an export over a folder" accperf export --collapsed -i a.data -o folder
check "-o -" bash -c 'accperf export --collapsed -i a.data -o - 2>/dev/null | cmp - new.folded'
check "-o /dev/stdout into a pipe" bash -c 'accperf export --collapsed -i a.data -o /dev/stdout 2>/dev/null | cmp - new.folded'
check "-o /dev/stdout into a file" bash -c 'accperf export --collapsed -i a.data -o /dev/stdout >got 2>/dev/null && cmp got new.folded'
# shellcheck disable=SC2016 # the inner shell's
check "-o >(command)" bash -c 'accperf export --collapsed -i a.data -o >(cat >sub) 2>/dev/null; for i in $(seq 100); do cmp -s sub new.folded && exit 0; sleep .1; done; exit 1'
expect_status 0 "-o /dev/null" accperf export --collapsed -i a.data -o /dev/null
check "/dev/null stays what it is" test -c /dev/null

# Each option that names a file to write, of every command: through no link, and for its owner's eyes only. One that is
# new wants a row here.
G=$TOP/tests/golden
cat >writers <<END
export --pprof -i $G/live-pipeline.prof -o
export --otlp -i $G/live-pipeline.prof -o
export --collapsed -i $G/live-pipeline.prof -o
export --callgrind -i $G/live-pipeline.prof -o
export --speedscope -i $G/live-pipeline.prof -o
export --firefox -i $G/live-pipeline.prof -o
export --csv -i $G/live-pipeline.prof -o
report -i $G/live-pipeline.prof --html
advise --svg -i $G/offload-deflate.prof -o
advise --json -i $G/offload-deflate.prof -o
flow --svg -i $G/live-pipeline.prof -o
flow --dot -i $G/live-pipeline.prof -o
flow --xml -i $G/live-pipeline.prof -o
flow --json -i $G/live-pipeline.prof -o
objects --svg -i $G/live-pipeline.prof -o
objects --json -i $G/live-pipeline.prof -o
timeline --csv -i $G/live-pipeline.prof -o
timeline --svg -i $G/live-pipeline.prof -o
wall --svg -i $G/exact-pipeline.prof -o
wall --json -i $G/exact-pipeline.prof -o
scale --svg --size 1,2 $G/exact-pipeline.prof $G/exact-pipeline.prof -o
scale --json --size 1,2 $G/exact-pipeline.prof $G/exact-pipeline.prof -o
logca show --params L=1500,o=29000,C=90,A=19,beta=1.01,latency=indep --svg
merge $G/live-pipeline.prof $G/live-pipeline2.prof -o
END
while read -r -a how; do
	name=${how[0]}; case ${how[1]} in --*) name+=" ${how[1]}" ;; esac
	ln -sf victim planted
	expect_status 1 "$name over a link" timeout 60 accperf "${how[@]}" planted
	check "$name: what it points to is untouched" same
	rm -f planted
	private() { accperf "${how[@]}" planted >/dev/null 2>&1; [ -s planted ] && [ "$(stat -c %a planted)" = 600 ]; }
	check "$name: as private as a profile" private
	rm -f planted
done <writers
# tested above or by their own tests: profiles being recorded (record, exact, import, top), the catalogue (t-calibrate), the tour's page, which is report's
# (t-demo), branches for BOLT, which want a recording (t-branches); fleet sends what is there
listed() {
	local c word
	for c in $(accperf help --list); do
		case $c in record | exact | import | top | calibrate | tour | fleet) continue ;; esac
		for word in $(accperf "$c" --help | sed -nE 's/^ +(-o, )?(--(output|svg|html|csv|dot|xml|pprof|otlp|collapsed|callgrind|speedscope|firefox|bolt)) .*/\2/p'); do
			case $word in --bolt) continue ;; --output) word=-o ;; esac
			grep -qE "^$c .*$word( |$)" writers || { echo "no row for $c $word"; return 1; }
		done
	done
}
check "no option that names a file to write is without its row" listed

# profiles: merge, import, record
cp a.data b.data; chmod 600 b.data
expect_status 1 "merge that fails" accperf merge -o b.data a.data missing.data
check "leaves the file that was there" cmp b.data a.data
check "under its own name alone" test ! -e b.data.old
for special in link fifo; do
	rm -f m.data
	case $special in link) ln -s victim m.data ;; fifo) mkfifo m.data ;; esac
	expect_status 1 "merge over a $special" timeout 20 accperf merge -o m.data a.data missing.data
	check "merge over a $special: it is still there" test -h m.data -o -p m.data
	expect_status 1 "merge of what is there over a $special" timeout 20 accperf merge -o m.data a.data a.data
	check "merge, $special: still there" test -h m.data -o -p m.data
done
check "merge: what the link points to is untouched" same
if mknod node c 1 3 2>/dev/null; then
	expect_status 1 "merge over a device" timeout 20 accperf merge -o node a.data missing.data
	check "the device is still there" test -c node
	expect_status 1 "merge of good files over a device" timeout 20 accperf merge -o node a.data a.data
	check "the device is there yet" test -c node
else
	skip "merge over a device" "no device may be made here"
fi
rm -f m.data; echo rubbish >m.data
expect_status 0 "merge over an older file" accperf merge -o m.data a.data a.data
check "which is kept as .old" test "$(cat m.data.old)" = rubbish
rm -f m.data m.data.old; ln -s victim m.data.old; echo older >m.data
expect_status 1 "where .old is a link" accperf merge -o m.data a.data a.data
check "nothing is moved over it" bash -c 'test -h m.data.old && [ "$(cat m.data)" = older ]'
check "and it is not followed" same
"$TOP/build/mkprofile" made.data >/dev/null
: >empty.data; chmod 666 empty.data; exec 9<empty.data
"$TOP/build/mkprofile" empty.data >/dev/null
check "a profile does not land in another's open file" bash -c '! [ -s /proc/self/fd/9 ]'
exec 9<&-
check "but in a private one" test "$(stat -c %a empty.data)" = 600
rm -f pipe.data; mkfifo pipe.data
expect_status 1 "a profile over a FIFO ends at once" timeout 20 "$TOP/build/mkprofile" pipe.data
check "a failed import leaves no file" bash -c 'head -c 3000 /dev/urandom >bad.perf; accperf import -o im.data bad.perf 2>/dev/null; test ! -e im.data'
check "nothing temporary stays" clean

# the exact engine
[ -e "$TOP/build/exact/accperf-amd64-linux" ] || { skip "exact's files" "built without valgrind"; exit 0; }
mkdir home x; cat >fds.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(void) { for (int i = 3; i < 64; i++) if (fcntl(i, F_GETFD) >= 0) printf("%d\n", i); return 0; }
END
cc -O1 -o fds fds.c
printf -- '--leak-check=full\n' | tee home/.valgrindrc >x/.valgrindrc; chmod 644 home/.valgrindrc x/.valgrindrc
HOME=$TMP/home expect_status 0 "exact with a ~/.valgrindrc for other tools" accperf exact -q -o e.data -- ./fds
./fds >alone
check "the program finds no descriptor of the engine" cmp out alone
VALGRIND_OPTS=--leak-check=full expect_status 0 "exact with VALGRIND_OPTS" accperf exact -q -o e.data -- true
expect_status 0 "exact with a ./.valgrindrc" bash -c 'cd x && accperf exact -q -o e.data -- true'
expect_status 0 "exact's logs" accperf exact -q -o e.data --txfers t.log --bxfers b.log --tfunction f.log -- true
check "are private" test "$(stat -c %a t.log b.log f.log e.data | tr -d '\n')" = 600600600600
check "and readable" bash -c 'accperf exact --dump-log b.log | cmp - t.log && test -s t.log && test -s f.log'
for how in --dot --svg --json; do
	[ $how = --svg ] && ! need dot && { skip "flow --svg -o" "graphviz is not installed"; continue; }
	ln -sf victim flow.out
	expect_status 1 "flow $how -o over a link" accperf flow -i e.data $how -o flow.out
	check "flow $how: untouched" same
	rm -f flow.out
	expect_status 0 "flow $how -o" accperf flow -i e.data $how -o flow.out
	check "flow $how: private" test -s flow.out -a "$(stat -c %a flow.out)" = 600
done
ln -sf victim l.log; ln -sf victim l.data
printf '#!/bin/sh\n: >ran\n' >runs; chmod +x runs
expect_status 1 "exact over a link" accperf exact -q -o l.data -- ./runs
expect_status 1 "a text log over a link" accperf exact -q -o e.data --txfers l.log -- ./runs
check "is told before the program is run" test ! -e ran
expect_status 1 "a log over a link" accperf exact -q -o e.data --bxfers l.log -- true
check "the log's link: untouched" same
# the shell becomes accperf: its pid, and so every name that was made of it, is known beforehand
mkdir pids; plant() { for s in stream log; do ln -sf ../victim "pids/e.data.$s.$BASHPID"; done; ln -sf ../victim "pids/t.bin.$BASHPID"; cd pids && exec accperf exact -q -o e.data --txfers t -- true; }
(plant) >/dev/null 2>&1
check "links under names that could be guessed: untouched" same
check "exact leaves nothing temporary" clean

cat >spin.c <<'END'
#include <stdio.h>
#include <unistd.h>
int main(void) { printf("%d\n", (int)getpid()); fflush(stdout); for (volatile int i = 0;; i++) ; }
END
cc -O1 -o spin spin.c; mkdir killed; cp spin killed
(cd killed && exec accperf exact -q -o k.data --txfers t.log -- ./spin >../spun 2>/dev/null) & driver=$!
STARTED+=("$driver")
for _ in $(seq 300); do [ -s spun ] && break; sleep 0.1; done
engine=$(cat spun)
kill -9 "$driver"; wait "$driver" 2>/dev/null
gone() { for _ in $(seq 100); do [ -d "/proc/$1" ] && [ "$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null)" != Z ] || return 0; sleep 0.1; done; return 1; }
check "SIGKILL of accperf ends the engine" gone "$engine"
[ -n "$engine" ] && kill -9 "$engine" 2>/dev/null
# shellcheck disable=SC2012 # the names are our own
check "and leaves no file behind" test "$(ls -A killed)" = spin

# What is learnt of this machine is kept, also for services, which have no HOME, and before there is a cache folder.
kept() { [ -d "$1/accperf" ] || { ls -la "$1"; return 1; }; }
XDG_CACHE_HOME=$TMP/not-yet accperf record -q -o kept.data -- "$WORKLOADS/tightloop" --seconds 0.5 2>/dev/null
check "a cache folder that is named but not there is made" kept "$TMP/not-yet"
if unshare -m true 2>/dev/null; then
	in_var() { unshare -m bash -c 'mount -t tmpfs none /var/cache && env -u HOME -u XDG_CACHE_HOME '"$(command -v accperf)"' record -q -o kept.data -- "$WORKLOADS/tightloop" --seconds 0.5 2>/dev/null; [ -d /var/cache/accperf ]'; }
	export WORKLOADS
	check "a service of root without HOME keeps it in /var/cache" in_var
else
	skip "a service of root without HOME" "no mount namespaces here"
fi
