#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# accperf exact on programs that end badly and on what it cannot run: what was measured until then is
# written and marked, the status is passed on, the reason is one sentence.
. "$(dirname "$0")/../lib.sh"
[ -e "$TOP/build/exact/accperf-amd64-linux" ] || { skip "exact, bad input" "built without valgrind"; exit 0; }
need jq || { skip "exact, bad input" "jq is not installed"; exit 0; }
cc -O1 -g -o crash "$TOP/tests/exact/crash.c" 2>cc.log || { fail "the crashing program builds"; cat cc.log; exit 0; }

filled() { # what fill wrote and sum read is in the profile
	[ "$(accperf flow -i "$1" --json 2>/dev/null | jq '[.edges[] | select(.producer == "fill" and .consumer == "sum") | .bytes] | add')" = "$2" ]
}
ends() { # HOW STATUS SENTENCE
	rm -f bad.data
	expect_status "$2" "$1: the status is passed on" accperf exact -o bad.data -- ./crash "$1"
	cp err said
	check "$1: what was measured before is there" filled bad.data 400
	if [ -n "$3" ]; then
		check "$1: stderr says why" grep -q "$3" said
		check "$1: the file says it is incomplete" grep -q incomplete said
	else
		check "$1: nothing is called incomplete" bash -c '! grep -q incomplete said'
	fi
	check "$1: no temporary files stay" bash -c '[ -z "$(ls bad.data.* 2>/dev/null | grep -v "\.old$")" ]'
}
ends segv 139 "signal 11"
ends abort 134 "signal 6"
ends ud2 132 "signal 4"
ends avx512 132 "unhandled instruction bytes"
ends kill 137 "signal 9"
ends exec 0 "replaced itself"
check "exec: the other program ran" grep -q hello out
ends exit7 7 ""
ends fork 3 ""
ends oom 1 "memory ran out"
expect_status 0 "a program that closes every descriptor does not hurt" accperf exact -q -o close.data -- ./crash closeall
check "and is measured to its end" filled close.data 800

# killed from outside: the last checkpoint remains
accperf exact -q -o spin.data -- ./crash spin >spin.out 2>spin.err & driver=$!
for _ in $(seq 100); do [ -s spin.out ] && break; sleep 0.1; done
written() { # to files without a name, which only the driver's descriptors show
	local f sum=0
	for f in /proc/"$driver"/fd/*; do case $(readlink "$f") in *"(deleted)") sum=$((sum + $(stat -Lc %s "$f"))) ;; esac; done
	echo $sum
}
before=$(written) # a checkpoint after the program has said that it spins, and whole
for _ in $(seq 300); do now=$(written); sleep 0.2; [ "$now" -gt "$before" ] && [ "$now" = "$(written)" ] && break; done
tool=$(ps -o pid= --ppid "$driver" | tr -d ' ')
kill -9 "$tool"
wait "$driver"; status=$?
check "SIGKILL from outside: status 137" [ "$status" = 137 ]
check "SIGKILL from outside: a checkpoint is there" bash -c '[ "$(accperf flow -i spin.data --json 2>/dev/null | jq "[.edges[] | select(.producer == \"fill\") | .bytes] | add")" -ge 400 ]'
check "SIGKILL from outside: said so" grep -q "checkpoint" spin.err

expect_status 2 "no command is wrong usage" accperf exact
expect_status 2 "a chunk of 3 is wrong usage" accperf exact --chunk 3 -- true
expect_status 2 "windows without samples is wrong usage" accperf exact --emit-windows 5 -- true
expect_status 1 "a missing program" accperf exact -- ./nonesuch
check "a missing program: a sentence" grep -q "no such program" err
expect_status 1 "a directory" accperf exact -- "$TMP"
echo "not a program" >plain; chmod +x plain
expect_status 1 "a text file" accperf exact -- ./plain
check "a text file: a sentence" grep -q "neither an ELF" err
chmod -x plain
expect_status 1 "no execute permission" accperf exact -- ./plain
printf '\177ELF\001\001\001\0\0\0\0\0\0\0\0\0\002\0\003\0' >elf32; chmod +x elf32
expect_status 1 "a 32-bit program" accperf exact -- ./elf32
check "a 32-bit program: a sentence" grep -q "32-bit" err
printf '\177ELF\002\001\001\0\0\0\0\0\0\0\0\0\002\0\267\0' >elfarm; chmod +x elfarm
expect_status 1 "a program of another machine" accperf exact -- ./elfarm
check "another machine: a sentence" grep -q "another machine" err
printf '#!/bin/sh\nexit 6\n' >script; chmod +x script
expect_status 6 "a script runs, its interpreter is measured" accperf exact -q -o script.data -- ./script
mkdir empty
ACCPERF_EXACT_DIR=$TMP/empty expect_status 1 "without the tool" accperf exact -- true
check "without the tool: which package to install" grep -q "apt install valgrind" err
ln -s "$TOP/build/exact/accperf-amd64-linux" empty/; ln -s /nonexistent/default.supp empty/default.supp
ACCPERF_EXACT_DIR=$TMP/empty expect_status 1 "with dangling links to valgrind" accperf exact -- true
check "dangling links: which package to install" grep -q "install valgrind" err
expect_status 1 "an output that cannot be written" accperf exact -o /nonexistent/x.data -- true
expect_status 1 "--dump-log of no log" accperf exact --dump-log ./crash
