#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Figures of Kim & Edwards as views: the walls, the matrix, the call tree with flow, growth over sizes.
. "$(dirname "$0")/../lib.sh"
[ -e "$TOP/build/exact/accperf-amd64-linux" ] || { skip "walls" "built without valgrind"; exit 0; }
for tool in jq xmllint; do need $tool || { skip "walls" "$tool is not installed"; exit 0; }; done
for side in 16 32 64; do
	accperf exact -q --functions read_ppm,iter_rot,write_ppm --callees --stack include -o $side.data -- "$WORKLOADS/rotate" iter $side >/dev/null
done

accperf wall --json -i 32.data >wall.json
check "wall: as its schema says" valid wall wall.json
check "wall: shares of one whole" jq -e '(.compute.value + .local.value + .global.value) as $all | .compute.value as $computed |
	(.curves[] | select(.view == "memory") | .share.value * $all - $computed | fabs < 0.001) and
	([.curves[] | select(.view == "local") | .share.value] | add - 1 | fabs < 1e-9)' wall.json
accperf wall --json --functions read_ppm,iter_rot,write_ppm -i 32.data >three.json
check "wall: a shared store saves what functions read of each other" jq -e '[.curves[] | select(.functions | length == 3) | .share.value] | .[1] > .[0] + 0.005' three.json
check "wall: selected functions compute with what they call" jq -e '[.curves[] | select(.label == "write_ppm") | .share.value] | .[0] > 0.1' three.json
accperf wall --svg -i 32.data >wall.svg
check "wall: a picture" xmllint --noout wall.svg
expect_status 1 "wall: no such function" accperf wall --functions iter_rto -i 32.data
check "wall: the nearest is offered" grep -q "did you mean 'iter_rot'" err
expect_status 1 "wall: a function twice" accperf wall --functions 'iter_rot,iter_*' -i 32.data
expect_status 1 "wall: a profile that knows nothing of computation" accperf wall -i "$TOP/tests/golden/live-pipeline.prof"
expect_status 2 "wall: a list that names nothing" accperf wall --functions , -i 32.data

accperf flow --view matrix --semantics ke --stack include --json -i 32.data >matrix.json
check "matrix: as its schema says" valid matrix matrix.json
check "matrix: rows read, columns wrote" jq -e '(.functions | index("iter_rot")) as $i | (.functions | index("read_ppm")) as $r | .bytes[$i][$r] == 4112' matrix.json
check "matrix: by computation, the most first" jq -e '.compute[:-1] | . == (sort | reverse)' matrix.json
accperf flow --view matrix --svg -i 32.data >matrix.svg
check "matrix: a picture" xmllint --noout matrix.svg
accperf flow --view tree --json -i 32.data >tree.json
check "tree: as its schema says" valid tree tree.json
check "tree: pixels from path to path" jq -e '(.paths | map({(.name): .id}) | add) as $id | [.edges[] | select(.producer == $id.iter_rot and .consumer == $id.write_ppm) | .bytes] == [4096]' tree.json
accperf flow --view tree --svg -i 32.data >tree.svg
check "tree: a picture" xmllint --noout tree.svg
expect_status 1 "tree: a profile without one" accperf flow --view tree -i "$TOP/tests/golden/exact-pipeline.prof"
accperf flow --view tree --json -i "$TOP/tests/golden/live-pipeline.prof" >live.json 2>/dev/null
check "tree: of a live recording it is as its schema says" valid tree live.json
check "... shares of its edges are 1 together, what nobody counted is unknown" jq -e '
	.sampled and ([.edges[].share] | add - 1 | fabs < 1e-6) and all(.paths[]; .calls == null and .compute == null)' live.json
check "... and paths hang together as the program calls" jq -e '
	(.paths | map({key: (.id | tostring), value: .}) | from_entries) as $p | [.paths[] | select(.name == "transform") | $p[.parent | tostring].name] == ["main"]' live.json
check "... and how far it may be trusted" jq -e '.trust.mark | length > 0' live.json
matrix_of_time() { # all amounts are unknown in it
	local of=$TOP/tests/golden/live-kv.prof
	accperf flow --view matrix --json -i "$of" >matrix.json 2>/dev/null; valid matrix matrix.json &&
		jq -e '(.compute | all(. == null)) and ([.compute_shares[] | values] | length > 0 and (add - 1 | fabs < 1e-6))' matrix.json &&
		accperf flow --view matrix --stdio -i "$of" 2>/dev/null | awk '/^ +computation/ { for (i = 2; i <= NF; i++) if ($i ~ /%$/) all += $i; else if ($i != "?") exit 1 }
			END { print all; exit !(all > 99 && all < 101) }'
}
check "matrix: where amounts are unknown, computation is in parts of all, too" matrix_of_time
check "... in text, too" sh -c 'accperf flow --view tree -i "$1" 2>/dev/null | grep -q "estimated: reads by their stacks"' - "$TOP/tests/golden/live-pipeline.prof"
expect_status 2 "a view and another form" accperf flow --view tree --xml -i 32.data

accperf scale --size 256,1024,4096 --json 16.data 32.data 64.data >scale.json
check "scale: as its schema says" valid scale scale.json
check "scale: words between steps grow as the pixels" jq -e '[.powers[] | select(.of == "edge" and .name == "iter_rot" and .reader == "write_ppm")][0] | .power - 1 | fabs < 0.001' scale.json
check "scale: with an interval" jq -e '[.powers[] | select(.of == "compute" and .name == "write_ppm")][0] | .low < .power and .power < .high and .power > 0.9' scale.json
accperf scale -n 10000 --size 1234567,12345678.5 16.data 32.data >scale.txt
check "scale: sizes of any length stand apart" awk '/^part of all/ { n++; if (NF != 8) { print; exit 1 } } END { exit n != 2 }' scale.txt
check "... and counts, exactly, below the size they are of" awk '/^iter_rot -> write_ppm .* 1,024 +4,096$/ { n++ } END { exit n != 1 }' scale.txt
accperf scale --svg 16.data 32.data >scale.svg
check "scale: a picture" xmllint --noout scale.svg
expect_status 1 "scale: another program" accperf scale 16.data "$TOP/tests/golden/exact-pipeline.prof"
check "scale: said so" grep -q "another program" err
expect_status 2 "scale: sizes that are not the profiles'" accperf scale --size 1,2,3 16.data 32.data
expect_status 1 "scale: sizes that do not ascend" accperf scale --size 2,1 16.data 32.data

# Four times as many functions take hardly more than four times the CPU time: sixteen times would be a search in all
# for each. How long that is on a machine of its own, tests do not judge.
LIMIT=60 # seconds of CPU: for what hangs
cpu() { # COMMAND...: its CPU time in seconds
	local TIMEFORMAT='%U %S'
	{ time (ulimit -t $LIMIT; accperf "$@" >/dev/null 2>&1 || echo failed); } 2>&1 | awk '/failed/ { exit 1 } { print $1 + $2 }'
}
no_square() { # COMMAND...: FEW in it stands for the profiles, of which there are two sizes
	local few many
	# a machine that others use slows one of two runs at times, a square both of each pair
	for _ in 1 2 3; do
		few=$(cpu "${@//FEW/few}") && many=$(cpu "${@//FEW/many}") && echo "$few s, $many s" || return
		awk -v a="$few" -v b="$many" 'BEGIN { exit !(b < 10 * (a > .02 ? a : .02)) }' && return
	done
	return 1
}
"$TOP/build/mkprofile" few-wide.data wide=500
"$TOP/build/mkprofile" many-wide.data wide=2000
for view in "flow --view matrix" "flow --view matrix --svg --top 100" "flow --view tree" "flow --view tree --svg" wall "wall --svg"; do
	# shellcheck disable=SC2086
	check "$view of 2,000 functions" no_square $view -i FEW-wide.data
done
cp few-wide.data few-wider.data
cp many-wide.data many-wider.data
check "scale of 2,000 functions" no_square scale --size 1,2 FEW-wide.data FEW-wider.data

for many in few:500 many:2000; do
	"$TOP/build/mkprofile" "${many%:*}.data" stacks="${many#*:}" functions="${many#*:}" samples=$((${many#*:} * 10)) accesses=$((${many#*:} * 20))
	"$TOP/build/mkprofile" "${many%:*}-other.data" stacks="${many#*:}" functions="${many#*:}" samples=$((${many#*:} * 10)) accesses=$((${many#*:} * 20)) seed=7
done
for view in flow "flow --inclusive" "flow --threads" "flow --view matrix" "flow --view tree" "report --columns flow" objects timeline; do
	# shellcheck disable=SC2086
	check "$view of 2,000 functions from samples" no_square $view --fresh -i FEW.data
done
check "diff of 2,000 functions from samples" no_square diff --fresh FEW.data FEW-other.data
