#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --pid, --comm, --dso, --symbol: a part of a recording, the same on every view; report --by adds functions up.
. "$(dirname "$0")/../lib.sh"
G=$TOP/tests/golden

mkprofile a.data || exit 1
check "report --dso shows that object, in shares of the whole" bash -c "accperf report -i a.data --dso 'libz*' >z && grep -qE '^ *51.00% .* 510 +libz.* deflate_slow$' z && ! grep -q parse z"
check "... and says how much that is, of what" grep -q '^# filtered: 71.0% of the time shown (dso libz\*); shares are of the whole recording$' z
accperf report -i a.data >whole
check "... with the intervals of the whole" [ "$(grep -E 'deflate_slow$' z)" = "$(grep -E 'deflate_slow$' whole)" ]
check "... in JSON, too" bash -c "accperf report -i a.data --json --symbol 'crc32,parse' | jq -e '[.functions[].name] == [\"crc32\", \"parse\"] and (.filter.shown - 0.35 | fabs) < 1e-9 and .filter.symbol == [\"crc32\", \"parse\"]'"
check "no filter, no word of one" bash -c "! grep -q filtered whole && accperf report -i a.data --json | jq -e 'has(\"filter\") | not'"
check "a comma inside a C++ name is part of it" bash -c "accperf report -i a.data --symbol 'walk<std::map<int, \"a b\">>,parse' | grep -q 'filtered: 17.0%'"
expect_status 1 "a name that nothing has is an error" accperf report -i a.data --symbol deflat
check "... that offers the nearest" grep -q "did you mean 'deflate_slow'?" err
expect_status 1 "... of objects" accperf report -i a.data --dso libzz.so.1.2.13
check "... the nearest of these" grep -q "did you mean 'libz.so.1.2.13'?" err
expect_status 2 "--pid of no process, as of an empty pgrep, says so" accperf report -i a.data --pid ''
check "... in a sentence" grep -q 'pid names nothing' err
expect_status 2 "--pid of a name is refused" accperf report -i a.data --pid nginx

check "report --by dso adds up" bash -c "accperf report -i a.data --by dso --json | jq -e '[.groups[] | [.name, (.self * 100 | round), (.inclusive * 100 | round)]] | .[0] == [\"libz.so.1.2.13\", 71, 71] and .[1] == [\"app\", 17, 99]'"
accperf report "$G/live-forks.prof" --json --by pid >pids
pid=$(jq '.groups[0].pid' pids) two=$(jq -r '[.groups[0,1].pid] | join(" ")' pids)
check "--by pid has a row for each process" jq -e '.by == "pid" and (.groups | length) > 10 and ([.groups[].self] | add | . > .999 and . < 1.001)' pids
mkprofile places.data helper=1 places=1 || exit 1
by() { accperf report places.data --by $1 --json | jq -ce '[.groups[] | [.name, .samples]]'; }
check "--by unit, container and pod: where processes run, and who runs in none" test "$(by unit) $(by container) $(by pod)" = '[["cron.service",950],[null,50]] [[null,950],["3f2a",50]] [[null,950],["shop/cart-7d",50]]'
check "... in text" bash -c "accperf report places.data --by pod | grep -q ' 950  (none)$' && accperf report places.data --by pod | grep -q ' 50  shop/cart-7d$'"
accperf merge -o merged.data places.data places.data 2>/dev/null
check "... of merged profiles, too" bash -c "accperf report merged.data --by pod --json | jq -e '[.groups[].samples] == [1900, 100]'"
check "--pid takes several, with blanks as pgrep has them" bash -c "accperf report '$G/live-forks.prof' -p '$two' --by pid --json | jq -e '(.groups | length) == 2 and (.filter.shown - ([.groups[].self] | add) | fabs) < 1e-9'"
check "--comm takes patterns" bash -c "accperf report '$G/live-forks.prof' --comm 'fo*' --by comm --json | jq -e '[.groups[].name] == [\"forks\"]'"
check "an export of one process has its samples alone" bash -c "accperf export --collapsed -o - '$G/live-forks.prof' --pid $pid 2>/dev/null >one && accperf export --collapsed -o - '$G/live-forks.prof' >all 2>/dev/null && [ -s one ] && [ \$(wc -c <one) -lt \$(wc -c <all) ]"
check "export --csv keeps the report's shares" bash -c "accperf export --csv -o - a.data --symbol crc32 2>/dev/null | grep -q '^.crc32.,.libz.so.1.2.13.,,,0.2,' && [ \$(accperf export --csv -o - a.data --symbol crc32 2>/dev/null | wc -l) = 2 ]"
check "... and says in the file that it is a part" bash -c "accperf export --firefox -o - a.data --symbol crc32 2>/dev/null | jq -e '[.meta.extra[].entries[] | select(.label == \"Filtered\").value] == [\"20.0% of the time shown (symbol crc32)\"]'"
check "export --firefox, too, keeps the samples of that process" bash -c "accperf export --firefox -o ff.json '$G/live-forks.prof' --pid $pid 2>ff && grep -q 'filtered: .* of the time exported' ff && jq -e '[.threads[] | select(.samples.length > 0) | .pid | tostring] | unique == [\"$pid\"]' ff.json"

P=$G/live-pipeline.prof
check "flow --symbol leaves the edges of such functions" bash -c "accperf flow '$P' --symbol produce --json >f && jq -e '[.edges[] | .producer == \"produce\" or .consumer == \"produce\"] | all and length > 0' f && jq -e '.filter.shown > 0 and .filter.shown < 1' f"
bytes() { jq '[.edges[] | select(.producer == "produce" and .consumer == "transform").bytes][0]'; }
check "... with the bytes they had" [ "$(bytes <f)" = "$(accperf flow "$P" --json | bytes)" ]
flow_pid=$(accperf report "$P" --by pid --json | jq '.groups[0].pid')
check "flow, objects, timeline: the only process is all there is" bash -c "for v in flow objects timeline; do accperf \$v '$P' --pid $flow_pid --json 2>/dev/null | jq -e '.filter.shown > .999' || exit 1; done"
check "... and another one is an error or nothing" bash -c "for v in flow objects timeline; do accperf \$v '$P' --comm nginx --json && exit 1; done; true"
flow_pid=$(for pid in $(jq '.groups[].pid' pids | head -8); do accperf flow "$G/live-forks.prof" -p "$pid" --json >part 2>/dev/null && jq -e '.filter.shown < .999' part >/dev/null && echo "$pid" && break; done)
check "flow of one process of several: shares and their intervals are of the whole" bash -c "accperf flow '$G/live-forks.prof' -p $flow_pid --json 2>/dev/null | jq -e '.filter.shown as \$shown | ([.edges[].share] | add - \$shown | fabs < 1e-6) and (.edges | all(.share_high == null or .share_low <= .share and .share <= .share_high)) and ([.functions[].in_share | select(.)] | add - \$shown | fabs < 1e-6)'"
accperf flow "$G/exact-pipeline.prof" --json >fn; accperf flow "$G/exact-pipeline.prof" --by dso --json >obj
check "flow --by dso: each edge is the sum of its functions'" jq -e -n --slurpfile f fn --slurpfile o obj \
	'$f[0].edges as $f | all($o[0].edges[]; . as $e | ($e.producer | startswith("(")) or ($e.consumer | startswith("(")) or ([$f[] | select(.producer_object == $e.producer and .consumer_object == $e.consumer) | .bytes] | add) == $e.bytes) and ($o[0].edges | map(.bytes) | add) == ($f | map(.bytes) | add) and ($o[0].edges | length) < ($f | length) / 9'
accperf flow "$P" --json >fn 2>/dev/null; accperf flow "$P" --by dso --json >obj 2>/dev/null
check "... of samples, too, in shares whose interval holds them" jq -e -n --slurpfile f fn --slurpfile o obj \
	'[$f[0].edges[] | select(.producer_object == "pipeline" and .consumer_object == "pipeline") | .share] as $s | $o[0].edges[] | select(.producer == "pipeline" and .consumer == "pipeline") | (.share - ($s | add) | fabs) < 1e-9 and .share_low <= .share and .share <= .share_high'
check "... of one object" bash -c "accperf flow '$G/live-zlib.prof' --by dso --dso 'libz*' --json 2>/dev/null | jq -e '(.edges | length) > 1 and all(.edges[]; [.producer, .consumer] | any(startswith(\"libz\"))) and .filter.shown > .9'"
expect_status 2 "... what is of functions does not go with it" accperf flow "$P" --by dso --inclusive
expect_status 2 "... nor are there flows by process" accperf flow "$P" --by comm
check "objects --symbol: accesses of that function" bash -c "accperf objects '$P' --symbol produce --json | jq -e '(.objects | length) > 0 and ([.objects[].readers[].function] | all(. == \"produce\")) and ([.functions[].name] == [\"produce\"])'"
check "... whose shares, over all functions, make the whole; also of one that only writes" bash -c "accperf objects '$P' --json | jq -r '.functions[].name' | while read -r f; do accperf objects '$P' --symbol \"\$f\" --json; done | jq -se 'length > 3 and all(.filter.shown > 0) and ([.[].objects[].share] | add - 1 | fabs < 1e-6) and ([.[].filter.shown] | add - 1 | fabs < 1e-6)'"
shares() { accperf timeline "$P" --json "$@" | jq -c '.functions[] | select(.name == "produce") | [.read_share[], .written_share[] | . * 1e6 | round]'; }
check "timeline --symbol: the shares of the whole" [ "$(shares --symbol produce)" = "$(shares)" ]
check "timeline --symbol: its line" bash -c "accperf timeline '$P' --symbol 'pro*' --json | jq -e '[.functions[].name] == [\"produce\"] and .filter.shown < 1'"
check "counts --symbol: its row" bash -c "accperf counts '$G/counts.prof' --symbol 'crc*' --json 2>/dev/null | jq -e '[.functions[].name] == [\"crc32\"] and .filter.of == \"instructions\"'"
check "offload --symbol: its calls" bash -c "accperf offload '$G/offload-deflate.prof' --symbol deflate --json 2>/dev/null | jq -e '[.calls[].name] == [\"deflate\"]'"
echo '{"schema":"accperf.accelerators/1","accelerators":[{"name":"mine","unit":"ns","params":{"L":0,"o":20000,"C":2,"A":10,"beta":1,"latency":"indep"}}]}' >cat.json
what_if() { accperf offload "$G/offload-deflate.prof" --symbol "$1" -x mine=deflate --catalogue cat.json --json 2>/dev/null | jq -c '[.what_if[].name]'; }
check "... and nothing of the others in what if" [ "$(what_if deflate) $(what_if adler32)" = '["deflate"] []' ]
sed "s/\"mine\"/\"aes-gcm\/scalar\"/" cat.json >aes.json
check "what if a cipher went to AES instructions: it may run on them already" bash -c "accperf offload '$G/offload-crypt.prof' -x aes-gcm/scalar=EVP_CipherUpdate --catalogue aes.json --json 2>/dev/null | jq -e '[.what_if[].note | test(\"may run on them already\")] == [true]'"
check "... and a compressor elsewhere: only at its level" bash -c "accperf offload '$G/offload-deflate.prof' -x mine=deflate --catalogue cat.json --json 2>/dev/null | jq -e '.what_if[0].note | test(\"for calls at that level\")'"
check "diff --symbol: changes of that function, with the q of all" bash -c "accperf diff '$P' '$G/live-forks.prof' --all --json --symbol produce 2>/dev/null >d; accperf diff '$P' '$G/live-forks.prof' --all --json 2>/dev/null >all; jq -e '(.edges | length) > 0 and all(.edges[]; .producer == \"produce\" or .consumer == \"produce\") and .filter.of == \"bytes\"' d && [ \"\$(jq -c '.edges[0]' d)\" = \"\$(jq -c '[.edges[] | select(.producer == \"produce\" or .consumer == \"produce\")][0]' all)\" ]"
expect_status 1 "... that neither profile has is an error" accperf diff "$P" "$P" --symbol prodduce
check "... that offers the nearest" grep -q "did you mean 'produce'" err
check "advise --symbol: candidates and reasons of that function" bash -c "accperf advise '$P' --json --symbol produce >a 2>/dev/null; accperf advise '$P' --json >all 2>/dev/null; jq -e '(.candidates | length) > 0 and all(.candidates[]; .functions | index(\"produce\")) and .filter.symbol == [\"produce\"]' a && [ \$(jq '.candidates | length' a) -lt \$(jq '.candidates | length' all) ]"
check "... in text" bash -c "accperf advise '$P' --symbol produce 2>/dev/null | grep -q '^# filtered: .* of the time shown (symbol produce)'"
expect_status 2 "... not of a picture" accperf advise "$P" --symbol produce --svg -o x.svg
expect_status 1 "counted by function: --pid is refused" accperf objects "$G/exact-objects.prof" --pid 1
expect_status 1 "counts --comm of no process of the recording is an error" accperf counts "$G/counts.prof" --comm x
mkprofile two.data counts=1 helper=1 || exit 1
expect_status 3 "counts --comm of one of two processes: executions are of both, so it is refused" accperf counts two.data --comm app
check "... in a sentence with what to do" grep -q 'counted executions by function, for all its processes together: leave out --pid and --comm, or record such processes alone' err
check "... and no figures" [ ! -s out ]
expect_status 3 "... --pid, in JSON, too" accperf counts two.data --pid 4242 --json
check "... no figures there" [ ! -s out ]
expect_status 0 "of both it is as without" accperf counts two.data --comm 'app,helper'
same() { # command and options that choose the only process there is: all figures are as without
	local file=$1 pid
	shift
	pid=$(accperf report "$file" --by pid --json 2>/dev/null | jq -r '.groups[0].pid')
	cmp <(accperf "$@" "$file" --pid "$pid" --json 2>/dev/null | jq 'del(.filter)') <(accperf "$@" "$file" --json 2>/dev/null | jq .) &&
		accperf "$@" "$file" --pid "$pid" --json 2>/dev/null | jq -e '.filter.pid | length == 1'
}
check "counts --pid of the only process: as without" same "$G/counts.prof" counts -n 1000
check "offload --pid of the only process: as without" same "$G/offload-deflate.prof" offload
check "advise --pid of the only process: as without" same "$G/offload-deflate.prof" advise
check "wall --pid of the only process: as without" same "$G/live-kv.prof" wall
expect_status 1 "wall --pid of what was counted by function is refused" accperf wall "$G/exact-pipeline.prof" --pid 1
check "wall --symbol: of all cost the same, and of functions those" bash -c "accperf wall '$G/exact-pipeline.prof' --json >all; accperf wall '$G/exact-pipeline.prof' --symbol 'trans*' --json | jq -e --slurpfile all all '.compute == \$all[0].compute and (.curves[0] == \$all[0].curves[0]) and ([.curves[] | select(.view == \"functions\").label] == [\"transform\"]) and .filter.of == \"cost\" and .filter.shown > .1 and .filter.shown < .9'"
check "... which, over all functions, make the whole" bash -c "accperf report '$G/exact-pipeline.prof' --json --columns flow | jq -r '.functions[].name' | sort -u | while read -r f; do accperf wall '$G/exact-pipeline.prof' --symbol \"\$f\" --json 2>/dev/null; done | jq -se '[.[].filter.shown] | add > .99 and add < 1.001'"
for v in offload advise; do
	expect_status 1 "$v --pid of no process of the recording is an error" accperf $v "$G/offload-deflate.prof" --pid 1
done
check "advise --pid: such a process as though recorded alone" bash -c "accperf advise '$G/live-forks.prof' --pid $pid 2>/dev/null >part; grep -q '^# filtered: [0-9.]*% of the time shown (pid $pid); shares are of these processes alone$' part && ! grep -q '^# filtered: 100' part"
check "diff --comm: of one process in both, that part is compared" bash -c "accperf diff '$G/live-forks.prof' '$G/live-forks.prof' --pid $flow_pid --json 2>/dev/null | jq -e '.filter.shown < .999 and ([.functions[].base] | add | . > .99 and . < 1.01)'"
E=$G/exact-pipeline.prof
check "compare --symbol lists that function's edges; what is judged is of all" bash -c "accperf compare '$E' '$P' --json >all 2>/dev/null; accperf compare '$E' '$P' --symbol 'prod*' --json >part 2>/dev/null; jq -e --slurpfile all all '.tv == \$all[0].tv and (.offenders | length > 0 and all(.producer == \"produce\" or .consumer == \"produce\")) and .filter.shown > .1 and .filter.shown < .9' part"
check "... as many as are asked for" bash -c "accperf compare '$E' '$P' --symbol 'prod*' -n 2 --json 2>/dev/null | jq -e '.offenders | length == 2'"
check "... in text" bash -c "accperf compare '$E' '$P' --symbol 'prod*' 2>/dev/null | grep -q '^filtered: .* of the true bytes shown (symbol prod\*); shares are of the whole recording$'"
expect_status 1 "... that neither has is an error" accperf compare "$E" "$P" --symbol prodduce
check "... with the nearest" grep -q "did you mean 'produce'" err
check "compare --pid: of that process in both" bash -c "accperf compare '$G/live-forks.prof' '$G/live-forks.prof' --pid $flow_pid --json 2>/dev/null | jq -e '.tv == 0 and .filter.shown < .999'"
expect_status 1 "... the exact engine does not tell processes apart" accperf compare "$E" "$E" --comm 'pipe*'
scale_of() { accperf scale --size 1,2 "$E" "$E" --json "$@" 2>/dev/null; }
check "scale --symbol lists that function and its edges, in parts of all" bash -c "$(declare -f scale_of); E='$E'; scale_of >all; scale_of --symbol transform >part; jq -e --slurpfile all all '([.parts[].name] == [\"transform\"]) and .parts[0] == (\$all[0].parts[] | select(.name == \"transform\")) and (.powers | length > 1 and all(.name == \"transform\" or .reader == \"transform\")) and .filter.of == \"computation\" and .filter.shown > 0 and .filter.shown < 1' part"
check "... in text, with how many more of these" bash -c "accperf scale --size 1,2 '$E' '$E' --symbol transform -n 1 >t 2>/dev/null; grep -q '^filtered: .* of the computation shown (symbol transform)' t && ! grep -q produce.*compute t && grep -q ' more; --rows N lists more' t"
expect_status 2 "... not in a picture" accperf scale --size 1,2 "$E" "$E" --symbol transform --svg -o x.svg
expect_status 1 "... that no profile has is an error" accperf scale --size 1,2 "$E" "$E" --symbol transfrom
check "annotate --symbol names the function, FILE is the operand" bash -c "cp '$P' here.prof; accperf annotate --symbol produce here.prof >a1 2>/dev/null; accperf annotate produce -i here.prof >a2 2>/dev/null; [ -s a1 ] && cmp a1 a2"
check "... and is told again for that file alone" bash -c "cp '$P' there.prof; accperf annotate --symbol produce there.prof 2>/dev/null | cmp - <(accperf annotate produce -i there.prof 2>/dev/null); cp '$G/live-zlib.prof' there.prof; ! accperf annotate --symbol produce there.prof 2>/dev/null"
expect_status 2 "... one function at a time" accperf annotate --symbol produce --symbol transform here.prof
check "export --stdio is -o -, each time" bash -c "for i in 1 2; do accperf export --collapsed --stdio '$P' 2>/dev/null | cmp - <(accperf export --collapsed -o - '$P' 2>/dev/null) || exit 1; done"
expect_status 2 "... and no file besides" accperf export --collapsed --stdio -o x "$P"
check "--stdio is taken by all that print tables" bash -c "for v in report flow objects timeline; do accperf \$v --stdio '$P' >/dev/null 2>&1 || exit 1; done; accperf counts --stdio '$G/counts.prof' >/dev/null 2>&1 && accperf offload --stdio '$G/offload-deflate.prof' >/dev/null 2>&1"
# what is known of the whole alone, as bursts' writers are, is known of a part that is the whole
for prof in live-jpeg live-turns live-zlib; do
	check "flow --pid of the only process of $prof: as without" same "$G/$prof.prof" flow
done
# who names a function wants to see it, whatever time it takes of its own
accperf report a.data --json | jq -r '[.functions[] | select(.self == 0 and .inclusive > 0.5)][0].name' >above
check "report --symbol of a function without time of its own has its row" bash -c "[ -s above ] && f=\$(cat above) && accperf report a.data --symbol \"\$f\" >shown && grep -qF \" \$f\" shown && ! grep -q 'not shown' shown"
check "... unless a limit says otherwise" bash -c "! accperf report a.data --symbol \"\$(cat above)\" --percent-limit 1 | grep -v '^#' | grep -qF \" \$(cat above)\""
check "--dso takes a file with its folders" bash -c "accperf report a.data --dso /usr/lib/x86_64-linux-gnu/libz.so.1.2.13 | grep -q 'filtered: 71.0% of the time shown (dso libz.so.1.2.13)'"
none=$(comm -23 <(accperf report "$G/live-zlib.prof" --json 2>/dev/null | jq -r '.functions[] | select(.self > 0).name' | sort) <(accperf objects "$G/live-zlib.prof" --json -n 1000 2>/dev/null | jq -r '.functions[].name, .objects[].readers[].function, .objects[].writers[].function' | sort) | head -n 1)
check "objects --symbol of a function without accesses: the filter left none, it does not say that there are none" bash -c "[ -n '$none' ] && accperf objects '$G/live-zlib.prof' --symbol '$none' 2>why; grep -q 'no sampled access is of the processes and functions that were asked for' why"
