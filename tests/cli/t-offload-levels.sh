# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The level of compression of a call, by its argument or by what its object was set to, and -x at that level alone.
. "$(dirname "$0")/../lib.sh"

cat >levels.py <<'END'
import ctypes, random, sys, time, zlib
data = bytes(i * i % 251 for i in range(30000))
if sys.argv[1] == 'zlib':
    for level, times in ((1, 40), (6, 20), (-1, 10), (9, 10)):
        for _ in range(times):
            c = zlib.compressobj(level); c.compress(data); c.flush()
    for _ in range(20):  # its copy is at its level
        c = zlib.compressobj(1); d = c.copy(); d.compress(data); d.flush()
elif sys.argv[1] == 'kept':
    streams = [zlib.compressobj(3), zlib.compressobj(7)]; print('made', flush=True)
    while True:
        for s in streams: s.compress(data); s.flush(zlib.Z_SYNC_FLUSH); time.sleep(.002)
elif sys.argv[1] == 'sizes':
    text = bytes(random.Random(1).choices(b'abcdefgh', k=2000 << 6)); packed = [zlib.compress(text[:2000 << i], 1) for i in range(7)]
    for n in range(7 * 12):
        for level, times in ((1, 6), (6, 3), (9, 1)):
            for _ in range(times): zlib.compress(text[:2000 << n % 7], level)
        zlib.decompress(packed[n % 7])
else:
    z = ctypes.CDLL('libzstd.so.1'); P = ctypes.c_void_p; S = ctypes.c_size_t
    z.ZSTD_compress.argtypes = [P, S, P, S, ctypes.c_int]; z.ZSTD_createCCtx.restype = P
    z.ZSTD_compress2.argtypes = [P, P, S, P, S]; z.ZSTD_freeCCtx.argtypes = [P]
    z.ZSTD_CCtx_setParameter.argtypes = [P, ctypes.c_int, ctypes.c_int]
    out = ctypes.create_string_buffer(60000)
    for level, times in ((1, 30), (0, 10), (3, 10)):
        for _ in range(times): z.ZSTD_compress(out, 60000, data, len(data), level)
    for i in range(40):  # every second one is as it was made, in most cases where the one before was
        c = z.ZSTD_createCCtx()
        if i % 2: z.ZSTD_CCtx_setParameter(c, 101, 20)
        else: z.ZSTD_CCtx_setParameter(c, 100, 1)
        z.ZSTD_compress2(c, out, 60000, data, len(data)); z.ZSTD_freeCCtx(c)
END
# catalogue LEVEL NAME: an accelerator that was measured at that level
catalogue() { echo "{\"schema\":\"accperf.accelerators/1\",\"accelerators\":[{\"name\":\"$2\",\"device\":\"a card, level $1\",\"unit\":\"ns\",\"params\":{\"L\":0,\"o\":2000,\"C\":2,\"A\":10,\"beta\":1,\"latency\":\"indep\"}}]}"; }
# parts DATA LEVEL NAME CALL: of its calls, those at that level, at others, at none that was seen
parts() { catalogue "$2" "$3" >cat.json; accperf offload -i "$1" -x "$3" --catalogue cat.json --json 2>/dev/null | jq -c ".what_if[] | select(.name == \"$4\") | [.same_level, .other_level, .no_level | . * 1000 | round]"; }

python3 -c 'import ctypes; ctypes.CDLL("libz.so.1")' || { skip "levels" "no libz.so.1"; exit 0; }
accperf record -q -o z.data --offload zlib --offload-exact -- python3 levels.py zlib 2>err.txt
status=$?
if [ $status != 0 ] && grep -q 'not allowed\|no uprobes' err.txt; then echo "no probes here: $(head -n 1 err.txt)"; exit 77; fi
# two calls a stream
check "zlib: 60 of 100 streams are at level 1, the rest at others" [ "$(parts z.data 1 deflate/card deflate)" = '[600,400,0]' ]
check "... 30 at level 6: ten were told the usual one" [ "$(parts z.data 6 deflate/card deflate)" = '[300,700,0]' ]
check "... its usual one may be named in the catalogue, too" [ "$(parts z.data -1 deflate/card deflate)" = '[300,700,0]' ]
check "... none at level 4: nothing is compared, and that is the answer" bash -c "[ \"$(parts z.data 4 deflate/card deflate)\" = '[0,1000,0]' ] && accperf offload -i z.data -x deflate/card --catalogue cat.json | grep -q 'no call was seen at level 4'"
catalogue 1 deflate/card >cat.json
accperf offload -i z.data -x deflate/card --catalogue cat.json --json >one.json 2>/dev/null
catalogue 6 deflate/card >cat.json
accperf offload -i z.data -x deflate/card --catalogue cat.json --json >six.json 2>/dev/null
check "... calls, and CPU time spent, are of those at its level" jq -e -n --slurpfile a one.json --slurpfile b six.json \
	'$a[0].what_if[0] as $one | $b[0].what_if[0] as $six | [$a[0].calls[] | select(.name == "deflate")] as $d | ($d | map(.counted_calls) | add) == 200 and $one.calls == 120 and $six.calls == 60 and $one.spent_ns + $six.spent_ns < ($d | map(.host_cpu_ns) | add)'
check "its calls are told level by level: counts, sizes and times of each" jq -e \
	'[.calls[] | select(.name == "deflate")] | sort_by(.level) | map([.level, .counted_calls, (.histogram | map(.calls) | add)]) == [[1, 120, 120], [6, 60, 60], [9, 20, 20]]' one.json
check "in words" bash -c "accperf offload -i z.data -x deflate/card --catalogue cat.json | grep -q 'level 6: 30.0 % of its calls, compared; other levels 70.0 %, level not seen 0.0 %'"
check "an old file, which has no levels: all are compared, and that is said" bash -c "accperf offload '$TOP/tests/golden/offload-deflate.prof' -x deflate/card --catalogue cat.json --json 2>/dev/null | jq -e '.what_if[0] | .same_level == null and .calls > 0 and (.note | test(\"theirs is not recorded\"))'"

# streams that were made before anybody looked
python3 levels.py kept >kept.pids & kept=$!; STARTED+=($kept); until grep -q . kept.pids; do sleep .1; done
accperf record -q -p $kept --duration 2s --offload zlib -o kept.data 2>/dev/null
check "zlib: of a process that is attached to, too: a stream says its level itself" bash -c 'accperf offload -i kept.data --json 2>/dev/null | jq -e "[.calls[] | select(.name == \"deflate\") | .level] | sort == [3, 7]"'
kill $kept; wait $kept 2>/dev/null

if python3 -c 'import ctypes; ctypes.CDLL("libzstd.so.1")' 2>/dev/null; then
	accperf record -q -o zstd.data --offload zstd --offload-exact -- python3 levels.py zstd 2>err.txt
	check "zstd: by its argument; 20 of 50 at level 3, of which ten were told 0" [ "$(parts zstd.data 3 zstd/card ZSTD_compress)" = '[400,600,0]' ]
	check "... by its context; one that is made anew where a former one was has not that one's level" [ "$(parts zstd.data 1 zstd/card ZSTD_compress2)" = '[500,0,500]' ]
else
	skip "zstd's levels" "no libzstd.so.1"
fi

# the same calls of seven sizes at three levels: nothing is fitted or judged across levels
accperf record -q -o sizes.data --offload zlib --offload-exact -- python3 levels.py sizes 2>err.txt
verdicts() { catalogue "$1" deflate/card >cat.json; accperf advise -i sizes.data --catalogue cat.json --json 2>/dev/null | jq -c '[.candidates[] | select(.name == "deflate")] | sort_by(.level) | map([.level, (.part_of_calls * 50 | round * 2), (.options[0] | [.speedup != null, (.text | test("measured at level"))])])'; }
check "advise: each level is judged by itself, beside a device of level 1 those at level 1 alone" [ "$(verdicts 1)" = '[[1,60,[true,false]],[6,30,[false,true]],[9,10,[false,true]]]' ]
check "... beside one of level 9 those at level 9" [ "$(verdicts 9)" = '[[1,60,[false,true]],[6,30,[false,true]],[9,10,[true,false]]]' ]
check "... of their time each has its part, and all have no more than the whole" bash -c "accperf advise -i sizes.data --json | jq -e '[.candidates[] | select(.name == \"deflate\") | .share_of_time.value] | length == 3 and add <= 1 and min > 0'"
check "... in words" bash -c "accperf advise -i sizes.data --all | grep -q 'deflate (libz.*level 1 (60.[0-4]% of its calls)'"
check "... a set takes all its calls" bash -c "accperf advise -i sizes.data --set s=deflate --json | jq -e '[.candidates[] | select(.name == \"s\")][0].calls_per_s.value as \$all | [.candidates[] | select(.name == \"deflate\") | .calls_per_s.value] | (add - \$all | fabs) < 1e-6 * \$all'"
catalogue 1 deflate/card >cat.json
check "advise: a level that was not seen is not compared" bash -c "accperf advise -i '$TOP/tests/golden/offload-deflate.prof' --catalogue cat.json --json 2>/dev/null | jq -e '[.candidates[] | select(.name == \"deflate\")][0] | .level == null and .options[0].verdict == \"unknown\" and .options[0].speedup == null and (.options[0].text | test(\"level 1.*was not seen\"))'"
check "logca: most calls are at level 1, and their share is said" bash -c "accperf logca fit sizes.data --host deflate --accelerated inflate --resamples 0 --json 2>/dev/null | jq -e '.notes | any(test(\"level 1 alone.*: 60.[0-4] % of the host variant\"))'"
check "... --level chooses" bash -c "accperf logca fit sizes.data --host deflate --accelerated inflate --resamples 0 --level 6 --json 2>/dev/null | jq -e '.notes | any(test(\"level 6 alone.*: 29.. % of the host variant\"))'"
expect_status 1 "... one at which there was no call" accperf logca fit sizes.data --host deflate --accelerated inflate --level 4
expect_status 2 "... --level is a number" accperf logca fit sizes.data --host deflate --accelerated inflate --level high

# logca takes the filters of all reading commands
logca() { accperf logca fit sizes.data --host deflate --accelerated inflate --resamples 0 "$@"; }
pid=$(accperf report sizes.data --by pid --json 2>/dev/null | jq '.groups[0].pid')
logca --json 2>/dev/null | jq -c '[.A, .C, .o, .beta, .from_bytes]' >all.txt; logca --json -p "$pid" --comm 'python*' --dso 'libz*' --symbol deflate,inflate 2>/dev/null | jq -c '[.A, .C, .o, .beta, .from_bytes]' >same.txt
check "logca: --pid, --comm, --dso and --symbol that take all" bash -c "grep -q '[1-9]' all.txt && cmp all.txt same.txt"
expect_status 1 "... of another process there are none" logca --comm nginx
check "... and that is said" grep -q 'no offload calls of such processes' err
expect_status 1 "... nor of another function" logca --symbol deflate
check "... what is missing, too" grep -q 'accelerated variant that --dso and --symbol take (it has: deflate' err
expect_status 1 "... a catalogue's entry has no processes" accperf logca show --device ultrasparc-t2/aes --pid 1
