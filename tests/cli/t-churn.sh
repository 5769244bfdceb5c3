#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A target that maps code for hours, in seconds: the recording goes on and what comes afterwards has its name.
# harm: 160,000 mappings of code in one process | 160,000
. "$(dirname "$0")/../lib.sh"

[ "$(id -u)" = 0 ] || { skip "code that comes and goes" "needs root"; exit 0; }

expect_status 0 "160,000 executable mappings, one after the other, end no recording" \
	accperf record -q --no-windows --counts off --no-syscalls -o churn.data -- "$WORKLOADS/mapchurn" 160000 1
check "what ran after them has its name" sh -c 'accperf report --json -i churn.data | jq -e "[.functions[]|select(.name==\"afterwards\")|.self.percent? // .self]|length > 0"'
check "and lists that grew too long were read afresh" sh -c 'accperf report --json -i churn.data |
	jq -e ".counters[]|select(.name==\"lists of mappings read afresh, as they had grown too long\")|.value > 0"'

# Programs that begin and end as fast as they can, while a recording begins and ends as the daemon's do: each is some
# thirty records of process life, and rings hold a tenth of a second of them.
need cc || { skip "process life beside programs that begin and end" "needs cc"; exit 0; }
cc -O2 -x c -o storm - <<-'EOF' || exit 1
	#include <sys/wait.h>
	#include <unistd.h>
	int main(void)
	{
		for (alarm(60);;) {
			pid_t pid = fork();
			if (!pid) {
				execl("/bin/true", "true", (char *)0);
				_exit(1);
			}
			waitpid(pid, 0, 0);
		}
	}
EOF
start ./storm; start ./storm
start "$WORKLOADS/kv" --loop; kv=$!
lost=0
for _ in 1 2 3; do
	accperf record -q -p $kv --effort low --offload auto --ring-size 4M --duration 500ms -o lost.data 2>/dev/null
	lost=$((lost + $(accperf report --json -i lost.data 2>/dev/null | jq '[.counters[] | select(.name == "side-band records lost") | .value] | add // 0')))
done
check "beside thousands of programs that begin and end a recording that begins loses nothing ($lost records)" test $lost -le 1000
