#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `accperf annotate` on a program that is compiled here, with samples planted in its loop.
. "$(dirname "$0")/../lib.sh"

cat >prog.c <<'C'
#include <stdio.h>
static __attribute__((noipa)) long churn(const int *p, long n)
{
	long sum = 0;
	for (long i = 0; i < n; i++)
		sum = sum * p[i] + 1; /* the hot line */
	return sum;
}
int main(int argc, char **argv) { int a[4] = { argc, 2, 3, 4 }; printf("%ld\n", churn(a, 4)); return 0; }
C
gcc -g -O1 -Wl,--build-id -o prog prog.c || exit 1
id=$(readelf -n prog | sed -n 's/.*Build ID: //p')
# the loop's own instruction: what multiplies
hot=0x$(objdump -d prog | awk '/<churn>:/ { on = 1 } on && /imul/ { sub(":", "", $1); print $1; exit }')
mkprofile p.data elf="$PWD/prog" id="$id" addr="$hot"
expect_status 0 "annotate FUNCTION FILE" accperf annotate churn p.data
expect_status 0 "annotate FILE FUNCTION, the order of the other commands" accperf annotate p.data churn --stdio
cp out text
check "the hot line stands above its instruction" bash -c 'grep -A 9 "the hot line" text | grep -qE "100.0% .*imul"'
check "the file is named" grep -q "^-- $PWD/prog.c" text
check "it is said that time skids" grep -q 'time skids' text
check "what is missing is said" bash -c 'grep -q "no executions: " text && grep -q "no bytes: " text'
check "a jump's target is an offset, as rows are" grep -qE 'j[a-z]+ \+0x' text
expect_status 0 "annotate -i FILE FUNCTION, Intel's syntax" accperf annotate -i p.data churn --syntax intel --stdio
check "... has it" grep -qE 'imul (r|e)[a-z]+, ' out
expect_status 2 "two files are wrong usage" accperf annotate churn p.data -i q.data
expect_status 2 "no function is wrong usage" accperf annotate -i p.data
expect_status 1 "a function that is not there" accperf annotate chrun p.data
check "... the nearest is offered" grep -q "did you mean 'churn'?" err
expect_status 0 "--json" accperf annotate churn p.data --json
check "JSON: the hot instruction, its line and loop" jq -e '.precise == false and (.function | .samples == 1000 and .share.value == 1 and .read == null)
	and (.instructions | max_by(.share.value) | .line == 6 and .loop != null and (.text | startswith("imul")) and .runs_per_entry.value == null)
	and any(.source[].lines[]; .line == 6 and (.text | contains("the hot line")) and .samples == 1000)' out
if python3 -c 'import jsonschema' 2>/dev/null; then
	accperf help --json-schema annotate >schema.json
	check "JSON: as its schema says" python3 -c 'import json, jsonschema; jsonschema.validate(json.load(open("out")), json.load(open("schema.json")))'
fi
# no tool of the machine is needed for it
check "it is the same without a path to other programs" bash -c 'a=$(command -v accperf) && PATH=/nowhere "$a" annotate churn p.data --stdio >alone && cmp text alone'
mkdir moved; mv prog.c moved/
check "source elsewhere: --source" bash -c 'accperf annotate churn p.data --source "$PWD/moved" | grep -q "the hot line"'
check "source gone: said, and its lines numbered" bash -c 'accperf annotate churn p.data >gone && grep -q "not shown: No such file" gone && grep -q "^ *6:" gone'
mv moved/prog.c . && touch -d '+1 hour' prog.c
check "source that is younger than the code: said" bash -c 'accperf annotate churn p.data | grep -q "younger than the code"'
# as Go's are: without a build-id the file's contents tell whether it is still what ran
gcc -g -O1 -Wl,--build-id=none -o bare prog.c || exit 1
at=0x$(objdump -d bare | awk '/<churn>:/ { on = 1 } on && /imul/ { sub(":", "", $1); print $1; exit }')
mkprofile b.data elf="$PWD/bare" addr="$at" content=1
expect_status 0 "a program without a build-id" accperf annotate "bare+$at" b.data
check "... has its instructions" grep -qE "100.0% .*imul" out
mkprofile u.data elf="$PWD/bare" addr="$at"
expect_status 3 "... but not where the recording did not tell its contents" accperf annotate "bare+$at" u.data
printf x >>bare
expect_status 3 "... nor when they have changed" accperf annotate "bare+$at" b.data
check "... which is said" grep -q "is not what ran: it has changed since" err
rm prog.c && mkfifo prog.c
check "a FIFO in the place of the source is not opened" timeout 10 bash -c 'accperf annotate churn p.data | grep -q "no regular file"'
rm prog
expect_status 3 "the program is gone: addresses alone" env XDG_CACHE_HOME="$PWD/none" accperf annotate "prog+$hot" p.data
check "... with their time, and the reason" bash -c 'grep -qE "100.0% .*\+0x0" out && grep -q "no instructions of" err'
# known functions of a file that is not there
mkprofile k.data
expect_status 3 "code that is not there" accperf annotate crc32 k.data
expect_status 1 "a function that is inlined everywhere" accperf annotate is_space k.data
check "... is told by what it was inlined into" grep -q "inlined, into 'parse'" err
