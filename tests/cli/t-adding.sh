#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Adding to the house, as README and the headers tell it: an access source, a flow estimator, an offload API, a section of
# a profile and a command. Each is one new file, whose template is in tests/adding, and one row; nothing else is touched, and all the
# rest follows: help, man page, completion, doctor, JSON.
. "$(dirname "$0")/../lib.sh"
need "${CC:-gcc}" && need make || { echo "needs a compiler"; exit 77; }
[ -f "$TOP/build/libaccperf.a" ] || { echo "needs the objects of a build"; exit 77; }

T=$TMP/tree
mkdir "$T"
tar -C "$TOP" --exclude=./.git --exclude=./build/{unit,workloads,fuzz,asan,exact,man} --exclude=./tests/{golden,fuzz} -cf - . | tar -C "$T" -xf -
accperf=$T/build/accperf

# The README's table has the steps: what is added, the template, where it goes, the row's file, the header that tells all.
steps() { sed -n '/^| to add | begin with/,/^$/p' "$TOP/README.md" | sed '1,2d; s/[`|]/ /g' | awk -v k="$1" 'index($0, " " k " ") { sub(" " k " ", ""); print }'; }
# add KIND AFTER LINE: the template where it belongs, under the name demo, and the line after the first one that has AFTER
add() {
	local template to in header
	read -r template to in header < <(steps "$1")
	[ -n "$header" ] || { echo "README has no steps for $1"; return 1; }
	to=${to/NAME/demo}
	cp "$TOP/$template" "$T/$to" && echo "new $to" >>"$TMP/expected"
	# the header tells the same
	for name in "$template" "$(dirname "$to")/" "$in"; do
		[ "$name" = none ] || [ "$name" = "$header" ] || tr '\n' ' ' <"$TOP/$header" | sed 's/ \* / /g' | grep -qF -- "$name" || { echo "$header does not say $name"; return 1; }
	done
	[ "$in" != none ] || return 0
	# not by -v: of a backslash there awks make different things
	AFTER=$2 LINE=$3 awk '{ print } !done && index($0, ENVIRON["AFTER"]) { print ENVIRON["LINE"]; done = 1 } END { exit !done }' "$T/$in" >"$TMP/row" &&
		cat "$TMP/row" >"$T/$in" && echo "row $in" >>"$TMP/expected"
}
check "access source: a file and a row, as README and header say" add "access source" 'X(ibs)' $'\tX(demo) \\'
check "flow estimator: likewise" add "flow estimator" 'X(fused)' $'\tX(demo) \\'
check "offload API: likewise" add "offload API" 'X(vaapi' $'\tX(demo, "demo") \\'
check "section of a profile: likewise" add "section of a profile" 'FMT_COUNTS_BURST = 85,' $'\tFMT_DEMO = 95, /* struct fmt_demo */'
check "command: a file" add "command"
# the file keeps its time where what was appended concerns nobody who is compiled already
touch -r "$TOP/include/format.h" "$T/include/format.h"
nothing_else() {
	(cd "$TOP" && find . -type f -not -path './.git' -not -path './.git/*' -not -path './build/*' -not -path './tests/golden/*' -not -path './tests/fuzz/*' | sort) >"$TMP/before"
	(cd "$T" && find . -type f -not -path './.git' -not -path './build/*' | sort) | comm -13 "$TMP/before" - | sed 's:^\./:new :' >"$TMP/changed"
	while read -r f; do
		cmp -s "$TOP/$f" "$T/$f" && continue
		[ "$(diff "$TOP/$f" "$T/$f" | grep -c '^[<>]')" = 1 ] && diff "$TOP/$f" "$T/$f" | grep -q '^>' && echo "row ${f#./}" || echo "more than a row: $f"
	done <"$TMP/before" >>"$TMP/changed"
	diff <(sort "$TMP/expected") <(sort "$TMP/changed")
}
check "five files and four rows are all that was touched" nothing_else
build() { timeout 300 make -C "$T" -j2 WERROR=1 build/accperf; }
check "builds without a warning" build
[ -x "$accperf" ] && "$accperf" demo --help >/dev/null 2>&1 || { fail "what was added is in it"; exit 1; }

# the source
check "source: record can be asked for it" bash -c "$accperf record --help | grep -q -- '--engine .*|demo'"
check "source: the man page has it" bash -c "$accperf help --man record | grep -q '|demo'"
check "source: doctor lists it, and that it works" bash -c "$accperf doctor 2>/dev/null | grep -q '^  yes  *demo  *a demonstration'"
check "source: so does its JSON" bash -c "$accperf doctor --json 2>/dev/null | jq -e '.sources[] | select(.name == \"demo\") | .works and .detail == \"there, and silent\"'"
check "source: version, too" bash -c "$accperf version --json | jq -e '.sources | index(\"demo\")'"

# the estimator
golden=$TOP/tests/golden/live-pipeline.prof
check "estimator: flow, diff and compare take it" bash -c "for c in flow diff compare; do $accperf \$c --help | grep -q 'exact|stored|fused|demo|' || exit 1; done"
check "estimator: the man page has it" bash -c "$accperf help --man flow | grep -q 'fused|demo'"
check "estimator: it runs, and nobody is known" bash -c "$accperf flow -i $golden --estimator demo --json | jq -e '[.edges[].producer] | unique == [\"(unknown)\"]'"

# the API
check "API: record lists it" bash -c "$accperf record --offload help | grep -q '^demo  *a demonstration of how to add an API  *libdemo'"
check "API: help names it" bash -c "$accperf record --help | grep -q 'some of .*vaapi, demo, '"
check "API: the man page has it" bash -c "$accperf help --man record | grep -q 'vaapi, demo, '"
expect_status 2 "API: others are refused" "$accperf" record --offload demonstration -- true
if [ "$(id -u)" = 0 ] && printf 'int demo_encode(const char *b, unsigned long n)\n{\n\tfor (unsigned long i = 0; i < n; i++)\n\t\t((volatile const char *)b)[i];\n\treturn 0;\n}\n' >d.c &&
	printf 'int demo_encode(const char *, unsigned long);\nint main(void)\n{\n\tstatic char b[4096];\n\n\tfor (int i = 0; i < 1000; i++)\n\t\tdemo_encode(b, sizeof(b));\n}\n' >m.c &&
	"${CC:-gcc}" -shared -fPIC -o libdemo.so d.c && "${CC:-gcc}" -o caller m.c -L. -ldemo -Wl,-rpath,"$PWD"; then
	"$accperf" record -q -o api.data --offload demo --offload-exact -- ./caller 2>record.log
	if grep -q 'not allowed\|no uprobes' record.log; then skip "API: its calls are seen" "no probes here"; else
		check "API: its calls are seen, with their bytes, in JSON" bash -c "$accperf offload -i api.data --json | jq -e '.calls[] | select(.api == \"demo\") | .name == \"demo_encode\" and .counted_calls == 1000 and .bytes_in == 4096000'"
		check "API: and in text" bash -c "$accperf offload -i api.data | grep -q demo_encode"
	fi
else
	skip "API: its calls are seen" "needs root to record"
fi

# the section, and the command that reads it
check "section: written" "$accperf" demo --write x.data
check "section: read again" bash -c "$accperf demo -i x.data --json | jq -e '.sum == 42'"
check "section: what does not know it goes by" bash -c "accperf report -i x.data 2>&1 | grep -vi damaged"
check "command: help lists it" bash -c "$accperf help | grep -q '^ *demo  *a demonstration of how to add a command'"
check "command: it has a man page" bash -c "$accperf help --man demo | grep -q 'Adds the numbers up'"
check "command: and a schema" bash -c "$accperf help --json-schema demo | jq -e '.properties.sum'"
check "command: completion has it" bash -c "$accperf help --completion bash | grep -q demo"
