#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# accperf counts on profiles with a known answer (tests/mkprofile.c, counts=1), without recording.
. "$(dirname "$0")/../lib.sh"
make_profile() { "$TOP/build/mkprofile" "$@"; }
# of FUNCTION FILTER: a figure of the JSON document
of() { jq -r --arg f "$1" ".functions[] | select(.name == \$f) | $2" "${3:-counts.json}"; }

export XDG_CACHE_HOME=$TMP

make_profile known.data counts=1
expect_status 0 "counts of a profile that has some" accperf counts -i known.data
check "a loop's trip count is shown" grep -qE 'loop \+0x40 +65\.5k .* trips .* trip count of 240' out
check "callers stand below" grep -qE '< compress_file +1\.00' out
check "no line is wider than 80 columns" awk 'length > 80 && !/windows/ { exit 1 }' out
accperf counts -i known.data --json >counts.json
accperf help --json-schema counts >schema.json
check "JSON follows its schema" python3 -c 'import json,sys,jsonschema; jsonschema.validate(json.load(open(sys.argv[2])), json.load(open(sys.argv[1])))' schema.json counts.json
check "crc32 runs 2000 times a second" jq -en "$(of crc32 .per_second.value) | . > 1600 and . < 2500"
check "... inside its interval" jq -en "$(of crc32 .per_second.low) < 2000 and $(of crc32 .per_second.high) > 2000"
check "its loop ran 65536 times each" [ "$(of crc32 '.loops[0] | "\(.trips.value | round) \(.how)"')" = "65536 trip count" ]
check "deflate_slow runs 64 times for each run of its caller" jq -en "$(of deflate_slow .per_second.value) / $(of compress_file .per_second.value) | . > 50 and . < 80"
check "counts decide against time: crc32 executes more in less time" jq -en "$(of crc32 .share.value) > $(of deflate_slow .share.value) and $(of crc32 .time) < $(of deflate_slow .time)"
# 65536 * 4 + 15 and 64 * (258 * 10 + 20), for each run of compress_file
check "... 1.577 times as much, within a third" jq -en "$(of crc32 .share.value) / $(of deflate_slow .share.value) | . > 1.577 / 1.33 and . < 1.577 * 1.33"
check "what has no counts keeps its time share, marked" [ "$(of parse .how)" = "time share" ]
check "what is not known is null" [ "$(of parse .per_second.value)" = null ]
check "instructions per call" jq -en "$(of crc32 .instructions_per_call) | . > 200000 and . < 330000"
check "... as far off as how often it runs, and its share, at least" jq -en "$(of crc32 .instructions_per_call_low) as \$low | $(of crc32 .instructions_per_call_high) as \$high | \$low < 262159 and \$high > 262159 and \$high / \$low >= $(of crc32 .per_second.high) / $(of crc32 .per_second.low)"
check "... also in text" bash -c 'accperf counts -i known.data | grep -qE "^ *[0-9.]+% +[0-9.x%]+ +[0-9.]+% +[0-9.]+k? +[0-9.x%]+ +[0-9.]+k +[0-9.x%]+ .* crc32$"'
# a stranger reads below what the words of the column `how` mean, of those alone that stand there
check "... the text ends with the words of how" bash -c 'accperf counts -i known.data | sed -n "/^how  /,\$p" >how.txt && grep -qE "^ +trip count: [a-z]" how.txt && ! grep -q "segments:" how.txt'
check "shares add up to one" jq -e '[.functions[].share.value] | add | . > 0.999 and . < 1.001' counts.json
whole='[.functions[].share | select(.high != null)] | length > 0 and all(.low >= 0 and .low <= .value and .high >= .value and .high <= 1)'
check "no share's interval reaches beyond the whole" jq -e "$whole" counts.json
check "... of a recording that hardly knows" bash -c 'accperf counts -i "$TOP/tests/golden/live-counts.prof" --json | jq -e "$1"' - "$whole"
accperf counts -i known.data --function crc32 >one.txt
expect_status 1 "--function of one that is not there" accperf counts -i known.data --function crc23
check "... offers the nearest" grep -q "did you mean 'crc32'?" err
check "... and shows nothing" test ! -s out
check "--function shows that one" bash -c 'grep -q crc32 one.txt && ! grep -q parse one.txt'

make_profile lie.data counts=1 lie=1
accperf counts -i lie.data --json >lie.json
check "a ratio at odds with the time of all below it is not believed" [ "$(jq '.links.not_believed' lie.json)" = 1 ]
check "... that link, and no trip count" jq -e '[.functions[] | (.loops[], .callers[]) | select(.believed | not) | .how] == ["ratio"]' lie.json
check "... and time decides below it" [ "$(of deflate_slow .how lie.json)" = "time share" ]
check "... so that its share is near its time's" jq -en "$(of deflate_slow .share.value lie.json) | . > 0.4"

# of one loop the windows saw 258 turns each time, of another 5 whenever it was entered
trips() { of "$1" "[.loops[] | select(.address == \"$2\")][0] | \"\(.trips.value | round) \(.how)\"" bursts.json; }
burst() { make_profile bursts.data counts=1 "$@"; accperf counts -i bursts.data --counts-cache off --json >bursts.json; }
burst bursts=258
check "where bursts agree a trip count stays one" [ "$(trips deflate_slow 0x4990)" = "258 trip count" ]
check "... of what is not always entered, too" [ "$(trips crc32 0x20a0)" = "5 trip count" ]
burst bursts=2580
check "where bursts saw ten times as many, windows saw too little" jq -en "$(of deflate_slow .loops[0].trips.value bursts.json) | . > 2500 and . < 2660"
check "... which is shown as what bursts saw" [ "$(of deflate_slow .loops[0].how bursts.json)" = replay ]
check "... of what is not always entered, too" [ "$(jq -n "$(of crc32 '[.loops[] | select(.address == "0x20a0")][0].trips.value' bursts.json) | round")" = 25 ]
burst bursts=2580 whole=1
check "unless their activations were cut off by the bursts' ends" [ "$(trips deflate_slow 0x4990)" = "258 trip count" ]

make_profile none.data
expect_status 3 "a profile without counts is status 3" accperf counts -i none.data
check "... with a sentence on how to get them" grep -q -- '--counts auto' err
expect_status 1 "no such file" accperf counts -i missing.data
expect_status 2 "-n 0 is wrong usage" accperf counts -i known.data -n 0
head -c 3000 known.data >torn.data
accperf counts -i torn.data >torn.txt 2>&1
check "a torn file is told or shown in part, never a crash" [ $? -le 3 ]

mkdir -m 0777 open; chmod 0777 open
expect_status 1 "a cache folder that others may write to is refused" accperf counts -i known.data --counts-cache open
expect_status 0 "... and not needed" accperf counts -i known.data --counts-cache off
expect_status 0 "a cache folder is made" accperf counts -i known.data --counts-cache made
check "... for its owner alone" [ "$(stat -c %a made)" = 700 ]
