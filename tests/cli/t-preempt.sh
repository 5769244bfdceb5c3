#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# BPF programs that can be preempted hold the CPU while they run, or keep nothing there: by disassembly of what was built;
# and, where this kernel lets its preemption model be switched, counts that stay exact under each.
# harm: a BPF program that is preempted | 19 programs disassembled; two threads of one CPU in a storm of signals,
#   10,000 calls, by the model in force and `full`, `lazy` where they can be switched
. "$(dirname "$0")/../lib.sh"

objdump=$(command -v llvm-objdump || command -v llvm-objdump-14)
if [ -n "$objdump" ]; then
	cat >guarded.py <<'PY'
import re, subprocess, sys
FRAME = 64 # bytes; from here on Linux 6.13 gives a program of a uprobe the CPU's stack, not its task's
bad = programs = 0
for path in sys.argv[2:]:
    section = name = None
    frame, holds, frees = {}, {}, {}
    for line in subprocess.run([sys.argv[1], "-d", "-r", path], capture_output=True, text=True, check=True).stdout.splitlines():
        if m := re.match(r"Disassembly of section (.*):$", line):
            section = m[1]
        elif (m := re.match(r"[0-9a-f]+ <(.*)>:$", line)) and not m[1].startswith("LBB"):
            name = (section, m[1])
            frame[name], holds[name], frees[name] = 0, False, False
        elif name:
            for m in re.finditer(r"\(r10 - (0x[0-9a-f]+|\d+)\)", line):
                frame[name] = max(frame[name], int(m[1], 0))
            if m := re.search(r"\tr\d+ \+= (-0x[0-9a-f]+|-\d+)$", line):
                frame[name] = max(frame[name], -int(m[1], 0))
            if m := re.search(r"\tcall (0x[0-9a-f]+|\d+)$", line): # include/control.h: KERNEL_FUNCTION()
                holds[name] |= int(m[1], 0) == 0x4acc0000
                frees[name] |= int(m[1], 0) == 0x4acc0001
    deepest = max([f for (s, _), f in frame.items() if s == ".text"], default=0)
    for (s, n), own in sorted(frame.items()):
        if not re.match(r"uprobe|raw_tp|tp/|tp_btf|fentry|kprobe", s):
            continue
        programs += 1
        if holds[s, n] and frees[s, n]:
            continue
        if holds[s, n] != frees[s, n] or max(own, deepest) >= FRAME or "--all" in sys.argv:
            bad += 1
            print(f"{path}: {n} ({s}): frame of {max(own, deepest)} bytes, CPU held {holds[s, n]}, released {frees[s, n]}")
print(programs, "programs that can be preempted")
sys.exit(bad > 0 or programs < 10)
PY
	check "every program with a frame of 64 bytes and more holds the CPU" python3 guarded.py "$objdump" "$TOP"/build/bpf/*.bpf.o
	# the check itself: a program that holds nothing is found
	printf '%s\n' '#include <linux/types.h>' '#include <linux/bpf.h>' '#include <bpf/bpf_helpers.h>' \
		'SEC("uprobe") int open_one(void *ctx) { volatile char a[96]; for (int i = 0; i < 96; i++) a[i] = i; return a[5]; }' >open.c
	if clang -g -O2 -target bpf -mcpu=v3 -I"/usr/include/$(cc -print-multiarch)" -c -o open.bpf.o open.c; then
		check "one that does not is found" bash -c "python3 guarded.py '$objdump' open.bpf.o | grep -q 'open_one.*CPU held False'"
	fi
else
	skip "every program holds the CPU" "no llvm-objdump"
fi
if [ -n "$objdump" ]; then
	# Before Linux 6.10 nothing holds the CPU: memory of the CPU's has a flag, taken in one step (an exchange: e1)
	flags() { "$objdump" -d "$TOP/build/bpf/$1.bpf.o" | awk -v f="<$2>:" '/^[0-9a-f]+ <[^L].*>:$/ { on = index($0, f) } on && /(c3|db) .. .. .. e1 00 00 00/ { n++ } END { exit !n }'; }
	check "AF_ALG's registers are taken by one system call" flags offload offload_alg_enter
	check "and so is its call" flags offload alg_complete
	check "and what a system call is told in" flags sysio on_exit
fi
plain() { ! grep -nE '(->[a-z_]+|\*v|\])(\+\+| \+= 1);' "$TOP"/bpf/*.bpf.[ch] | grep -vE 'r->shift\+\+|s->pages\+\+'; }
check "no counter is a plain increment" plain
# Globals of its own would need code of their own to be read, named and zeroed. What counts something else passes.
one_way() { ! grep -nE '(ADD\(|__sync_fetch_and_add\(&)[a-z_]+(\[|,)' "$1"/*.bpf.[ch] | grep -vE 'define ADD|ADD\(counters\[|&(signals|alg_used),|ADD\((ended|sums|away_rows)\['; }
check "all programs count in one way" one_way "$TOP/bpf"

# exact MODEL: two threads of one CPU call a probed function in a storm of signals whose handler calls it, too, while the
# timer samples them and system calls are observed; then the records of system calls, each known, beside who makes others.
exact() {
	local pid name
	taskset -c 0 accperf record -q -F 997 --no-windows --counts off --offload-exact -o own.data --offload-probe 'off_own:encode(bytes=arg2)' \
		-- "$WORKLOADS/off_own" storm 5000 >own.json 2>own.err
	accperf offload -i own.data --json >calls.json
	check "$1: every call is counted" jq -e --slurpfile own own.json '($own[0].calls > 10000) and ([.calls[].counted_calls] | add) +
		([.counters[] | select(.name == "offload: nested calls, counted with their outermost") | .value] | add // 0) == $own[0].calls' calls.json
	# the recorder has to share that CPU, and on a slow one its ring fills: then each tick is stored or counted as lost
	check "$1: every tick of the timer is a sample, or counted as lost" bash -c 'accperf report --json -i own.data | jq -e "
		def of(\$n): [.counters[] | select(.name == \$n) | .value] | add // 0;
		.samples > 10 and .samples == of(\"samples sent\") and of(\"ticks\") == .samples + of(\"samples lost: ring full\")"'
	[ -x "$TOP/build/unit/u-sysio" ] || { skip "$1: system calls" "build/unit/u-sysio is not built"; return; }
	taskset -c 0 dd if=/dev/zero of=/dev/null bs=64 status=none & pid=$!; STARTED+=($pid)
	for name in every_shape children_come_and_go room_is_made strangers one_thread; do
		check "$1: system calls: $name" taskset -c 0 "$TOP/build/unit/u-sysio" $name
	done
	kill $pid; wait $pid 2>/dev/null
}
[ "$(id -u)" = 0 ] || { skip "counts under each preemption model" "not root"; exit 0; }
exact "as the kernel is"

# The models, where the kernel allows.
model=/sys/kernel/debug/sched/preempt
[ -r $model ] || mount -t debugfs none /sys/kernel/debug 2>/dev/null && mounted=1
now=$(sed -n 's/.*(\([a-z]*\)).*/\1/p' $model 2>/dev/null)
if [ -z "$now" ] || ! echo "$now" >$model 2>/dev/null; then
	[ -z "${mounted:-}" ] || umount /sys/kernel/debug
	skip "counts under each preemption model" "this kernel's model cannot be switched ($(uname -r))"; exit 0
fi
restore() { echo "$now" >$model; [ -z "${mounted:-}" ] || umount /sys/kernel/debug; }
trap 'restore; cleanup' EXIT
for m in full lazy; do
	echo $m >$model 2>/dev/null || { skip "counts under '$m'" "this kernel has no such model"; continue; }
	exact "$m"
done
