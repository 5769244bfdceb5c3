#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# scripts/growth: a leak of 2 MB an hour is found in 45 minutes of what comes and goes, and none where none is.
. "$(dirname "$0")/../lib.sh"
need python3 || { echo "needs python3"; exit 77; }
# an hour of a recorder: 5.3 MB and 200 KB of scatter, 1 MB more once it is warm, and 2 MB in profiles now and then
recorder() { python3 - "$@" <<-'EOF'
	import math, random, sys
	leak, seed = float(sys.argv[1]), int(sys.argv[2])
	random.seed(seed)
	for t in range(0, 3600, 20):
	    print(t, 5300 + 1000 * (1 - math.exp(-t / 240)) + random.gauss(0, 200) + 2000 * (random.random() < .1) + leak * t / 3600)
	EOF
}
# an hour of turns of three services, a new recorder each, of 10, 13 and 16 MB and 1 MB of scatter, looked at five times
turns() { python3 - "$@" <<-'EOF'
	import random, sys
	leak, seed = float(sys.argv[1]), int(sys.argv[2])
	random.seed(seed)
	for turn in range(51):
	    who, kb = turn % 3, 10000 + 3000 * (turn % 3) + random.gauss(0, 1000)
	    for i in range(5):
	        t = turn * 70 + i * 10
	        print(t, kb * (.3 + .15 * i if i < 4 else 1) + leak * t / 3600, who, turn)
	EOF
}
# an hour of turns that fill their tables within a minute, and last the longer the later they begin, as a busy machine has
# them: of equal age they are equal, but for the leak
ages() { python3 - "$@" <<-'EOF'
	import math, random, sys
	leak, seed = float(sys.argv[1]), int(sys.argv[2])
	random.seed(seed)
	for turn in range(48):
	    who, kb = turn % 3, 12000 + 2000 * (turn % 3) + random.gauss(0, 300)
	    for i in range(4 + turn // 4 + random.randrange(4)):
	        age = 3 + 5 * i
	        print(turn * 75 + age, kb * (1 - math.exp(-age / 15)) + leak * turn * 75 / 3600, who, turn, age)
	EOF
}
# an hour of turns that write the faster the later they begin, and hold as much as goes with what they wrote
states() { python3 - "$@" <<-'EOF'
	import math, random, sys
	leak, seed = float(sys.argv[1]), int(sys.argv[2])
	random.seed(seed)
	for turn in range(48):
	    who, kb = turn % 3, 12000 + 2000 * (turn % 3) + random.gauss(0, 300)
	    for age in range(20, 75, 5):
	        wrote = age * (1 + turn / 24) * 1000
	        print(turn * 75 + age, kb * (1 - math.exp(-wrote / 60000)) + leak * turn * 75 / 3600, who, turn, age, int(wrote))
	EOF
}
no_states() { states "$@" | cut -d' ' -f1-5; }
# an hour of a daemon of 1.7 MB: from half an hour on others start thousands of processes for two of each five minutes
crowds() { python3 - "$@" <<-'EOF'
	import random, sys
	leak, seed = float(sys.argv[1]), int(sys.argv[2])
	random.seed(seed)
	for t in range(0, 3600, 10):
	    print(t, 1700 + random.gauss(0, 10) + 800 * (t > 1800 and t % 300 < 180) + leak * t / 3600)
	EOF
}
grew_least() { local n=0 s; for s in 1 2 3 4; do "$1" "$2" $s | "$TOP/scripts/growth" --least >said; [ $? = 1 ] && n=$((n + 1)); done; [ $n = "$3" ] && { [ $n = 4 ] || grep -q 'at most that' said; } || { echo "$n of 4"; cat said; return 1; }; }
no_ages() { ages "$@" | cut -d' ' -f1-4; }
grew() { local n=0 s; for s in 1 2 3 4 5 6 7 8; do "$1" "$2" $s | "$TOP/scripts/growth" >said; [ $? = 1 ] && grep -q ': grew' said && n=$((n + 1)); done; [ $n -ge "$3" ] && [ $n -le "$4" ] || { echo "$n of 8"; cat said; return 1; }; }
check "a recorder's leak of 2 MB an hour is found each time" grew recorder 2000 8 8
check "of nothing, none is" grew recorder 0 0 0
check "half a megabyte is no more than half a megabyte" grew recorder 450 0 1
check "a leak from turn to turn is found, though recorders differ by megabytes" grew turns 2000 7 8
check "where turns differ and do not grow, none is" grew turns 0 0 0
check "where turns get longer from turn to turn, none is: they are compared at equal ages" grew ages 0 0 0
check "and a leak of 3 MB an hour is found among them" grew ages 3000 7 8
check "which their medians would take for a leak" grew no_ages 0 7 8
check "of turns that write faster and faster none is said to grow: they are compared where they wrote as much" grew states 0 0 0
check "a leak of 3 MB an hour is found among them" grew states 3000 7 8
check "which their ages would take for a leak" grew no_states 0 7 8
check "what others start for a moment is no growth where the least counts" grew_least crowds 0 0
check "a leak of 1 MB an hour is, beside it" grew_least crowds 1000 4
tight() { recorder 0 5 | sed 's/\.[0-9]*$//' | awk '{ print $1, 6300 }' | "$TOP/scripts/growth" >said && grep -q 'at most that' said; }
check "what is still is told to be" tight
few() { printf '1000 5\n1001 6\n' | "$TOP/scripts/growth" --warm 0; [ $? = 2 ]; }
check "of two looks nothing is said" few
