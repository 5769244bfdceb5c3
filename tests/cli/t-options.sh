#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Options and operands as people type them: in any order, mistyped, with the file to read as an operand.
. "$(dirname "$0")/../lib.sh"
mkprofile a.data
mkprofile b.data

expect_status 0 "report reads the file it is given" accperf report b.data --json
cp out given
accperf report -i b.data --json >wanted 2>/dev/null
check "as with -i" cmp -s given wanted
expect_status 2 "two files to read are one too many" accperf report b.data -i a.data
check "and both are named" grep -q 'b.data.*a.data' "$TMP/err"
expect_status 2 "and so are two operands" accperf report a.data b.data
check "the second is named" grep -q "'b.data' is one argument too many" "$TMP/err"
# Every command that reads a profile, by its own table: the file with -i, as an operand, and options around it.
P=$TOP/tests/golden/exact-pipeline.prof
same() { # WANTED-STATUS COMMAND...: says what the first form said
	local want=$1; shift
	"$@" >given 2>given.err
	[ $? = "$want" ] && cmp given wanted && cmp given.err wanted.err
}
for c in $(accperf help --list); do
	accperf "$c" --help | grep -q -- ' --input FILE' || continue
	case $c in export) words=--collapsed more=(-o -) ;; annotate) words=produce more=(--json) ;; *) words='' more=(--json) ;; esac
	# shellcheck disable=SC2086 # words
	set -- accperf $c $words
	"$@" -i "$P" "${more[@]}" >wanted 2>wanted.err; want=$?
	check "$c: FILE is -i FILE" same $want "$@" "$P" "${more[@]}"
	check "$c: options before FILE, and --" same $want "$@" "${more[@]}" -- "$P"
	check "$c: -i behind other options" same $want "$@" "${more[@]}" "--input=$P"
	"$@" -i nosuch.data >wanted 2>wanted.err; want=$?
	check "$c: a file that is not there is an error, however it is named" bash -c "[ $want = 1 ]"
	check "$c: ... in the same words" same $want "$@" nosuch.data
	expect_status 2 "$c: two files are one too many" "$@" "$P" -i nosuch.data
done
# shellcheck disable=SC2016 # a shell of its own
check "annotate of a file alone asks for a function" bash -c 'accperf annotate "$1" 2>&1 | grep -q "accperf annotate FUNCTION $1"' - "$P"
# shellcheck disable=SC2016
check "... and takes both in either order" bash -c 'for both in "$1 nosuch" "nosuch $1"; do accperf annotate $both 2>&1 | grep -q "$1 has no function .nosuch" || exit 1; done' - "$P"
for c in compare diff; do
	accperf $c --json "$P" "$P" >wanted 2>wanted.err; want=$?
	check "$c: options behind the files" same $want accperf $c "$P" "$P" --json
	check "$c: options between the files" same $want accperf $c "$P" --json "$P"
done

expect_status 0 "options may follow operands" accperf merge a.data b.data -o m.data
check "the output is there" test -s m.data
expect_status 0 "or stand between them" accperf merge a.data -o m2.data b.data
check "and the output is there, too" test -s m2.data
cp a.data ./-odd.data
expect_status 0 "-- ends the options" accperf report --json -- -odd.data
expect_status 2 "without it the file is an option" accperf report --json -odd.data
expect_status 2 "after it nothing is an option" accperf report -- a.data --json

meant() { # WANTED COMMAND...
	local want=$1; shift
	"$@" >out 2>err
	[ $? = 2 ] && grep -q -- "did you mean $want?" err || { cat err; return 1; }
}
check "a command with letters swapped" meant '`accperf record`' accperf recrod -p 1
check "help for such a command" meant '`accperf report`' accperf help reprot
check "an option with a letter too many" meant --duration accperf record --durration 3
check "an option's beginning" meant --percent-limit accperf report --percent 3
check "a negation" meant --no-children accperf report --no-chldren
accperf flow --per prodcue -i "$P" >out 2>err
check "a function whose calls are to be counted" grep -q "did you mean 'produce'?" err
same_view() { accperf flow --rows 2 -i "$P" >behind 2>&1; accperf --rows 2 flow -i "$P" >before 2>&1; accperf --rows=2 -i "$P" flow >apart 2>&1; cmp behind before && cmp behind apart && grep -q produce behind; }
check "options before the command are its own" same_view
expect_status 2 "... without a command they are wrong usage" accperf --rows 2
expect_status 1 "... and what stands behind -- is not looked at" accperf record -q -o /nowhere/own.data -- echo record
for word in xyzzy q; do
	accperf "$word" >out 2>err
	check "'$word' is like no command" bash -c '! grep -q "did you mean" err'
done
expect_status 2 "a switch with a value" accperf record --windows off -- true
check "... says how it is turned off" grep -q -- "--windows takes no value: it is --windows or --no-windows" err
accperf report --xyzzyq >out 2>err
check "an option like no other" bash -c '! grep -q "did you mean" err'

# several processes
expect_status 2 "an empty list of processes, as of a pgrep that found none" accperf record -p "" --duration 0.1s
check "says so" grep -q 'pgrep.*none matched' "$TMP/err"
expect_status 2 "pgrep without quotes" accperf record -p 1 2 3
check "is told the quotes" grep -q -- '-p 1,2' "$TMP/err"
for list in 1,,2 ,1 1, "1 x" 1-2; do
	expect_status 2 "'$list' is no list of processes" accperf record -p "$list" --duration 0.1s
done
expect_status 2 "a letter that is no option" accperf record -d 3s
check "... those that begin so are offered" grep -q -- "did you mean --data-page-size or --duration?" err
expect_status 2 "a letter that no option begins with" accperf record -9
check "... none is offered" bash -c '! grep -q "did you mean" err'
