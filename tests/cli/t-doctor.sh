#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `accperf doctor` against what other programs say of the same machine, and with rights taken away.
. "$(dirname "$0")/../lib.sh"
root() { [ "$(id -u)" = 0 ]; }
programs() { bpftool prog list 2>/dev/null | grep -c accperf_try; }

accperf doctor >text 2>text.err; status=$?
check "status 0 or 3" [ $status = 0 -o $status = 3 ]
accperf doctor --json >json 2>/dev/null
check "the JSON parses and names its schema" jq -e '.schema == "accperf.doctor/1"' json
feature() { jq -r --arg n "$1" --arg k "$2" '.features[] | select(.name == $n) | .[$k]' "${3:-json}"; }
usable=$(jq '[.engines[] | select(.name != "exact") | .usable] | any' json)
check "status 3 exactly when nothing can be recorded" [ "$usable" = "$([ $status = 0 ] && echo true || echo false)" ]

check "paranoid is the kernel's" bash -c "jq -r '.features[] | select(.name == \"perf-paranoid\").detail' json | grep -q \"^\$(cat /proc/sys/kernel/perf_event_paranoid)\""
check "BTF is as the file system has it" [ "$(feature btf state)" = "$([ -r /sys/kernel/btf/vmlinux ] && echo yes || echo no)" ]
check "tracefs is as the file system has it" [ "$(feature tracefs state)" = "$([ -r /sys/kernel/tracing/events ] && echo yes || echo no)" ]
check "every capability of this process is named as the kernel has it" bash -c '
	caps=$((0x$(sed -n "s/^CapEff:[[:space:]]*//p" /proc/self/status)))
	held=$(jq -r ".features[] | select(.name == \"capabilities\").detail" json | sed "s/;.*//")
	for p in CAP_SYS_ADMIN:21 CAP_SYS_PTRACE:19 CAP_PERFMON:38 CAP_BPF:39 CAP_SYS_RESOURCE:24; do
		want=$((caps >> ${p#*:} & 1)); has=0; case "$held " in *"${p%:*} "*) has=1 ;; esac
		[ $want = $has ] || { echo "$p: $want $has"; exit 1; }
	done'
if need perf && root; then
	perf stat -x, -e instructions:u true 2>perf.out
	there=$(grep -q '^[0-9]' perf.out && echo yes || echo no)
	check "hardware counters: perf says $there too" [ "$(feature pmu state)" = "$there" ]
else
	skip "hardware counters as perf sees them" "no perf, or not root"
fi
if root && need gdb; then
	cat >w.c <<-C
		volatile int x; int main(void) { for (int i = 0; i < 3; i++) x = i; return 0; }
	C
	gcc -g -O0 -o w w.c
	hw=$(gdb -nx -batch -ex 'break main' -ex run -ex 'watch x' -ex continue ./w 2>&1 | grep -c '^Hardware watchpoint.*: x' || true)
	check "hardware breakpoints: as gdb finds them ($hw)" [ "$(feature hw-breakpoints state)" = "$([ "$hw" -gt 1 ] && echo yes || echo no)" ]
else
	skip "hardware breakpoints as gdb sees them" "no gdb, or not root"
fi
if root && need gdb && [ "$(feature hw-breakpoints state)" = yes ]; then
	# a debugger's four hardware breakpoints on this very process leave none for the self-test
	gdb -nx -batch -ex 'break main' -ex run \
		-ex 'hbreak pager_save' -ex 'hbreak opts_help' -ex 'hbreak cli_usage' -ex 'hbreak export_find' -ex continue \
		--args "$TOP/build/accperf" doctor --json 2>/dev/null | grep '^{' >taken.json
	check "hardware breakpoints taken by a debugger: no, and says so" bash -c "jq -r '.features[] | select(.name == \"hw-breakpoints\") | .state + \" \" + .detail' taken.json | grep -q '^no all slots are taken'"
fi
if root && unshare -m true 2>/dev/null; then
	unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf 2>/dev/null; mount -t tmpfs none /sys/kernel/tracing; mount -t tmpfs none /sys/kernel/debug
		mkdir -p /sys/kernel/security; mount -t tmpfs none /sys/kernel/security && echo "none integrity [confidentiality]" >/sys/kernel/security/lockdown
		exec "$0" doctor --json' "$TOP/build/accperf" >hidden.json 2>/dev/null; status=$?
	check "no BTF: no, with its remedy, and nothing can be recorded" bash -c "[ $status = 3 ] && jq -e '.features[] | select(.name == \"btf\") | .state == \"no\" and (.enable | test(\"CONFIG_DEBUG_INFO_BTF\"))' hidden.json && jq -e '.engines[] | select(.name == \"soft\") | .usable == false' hidden.json"
	check "no tracefs: the mount command" bash -c "jq -e '.features[] | select(.name == \"tracefs\") | .state == \"no\" and .enable == \"sudo mount -t tracefs tracefs /sys/kernel/tracing\"' hidden.json"
	if [ -d /sys/kernel/security ]; then
		check "lockdown: no, with what to boot" bash -c "jq -e '.features[] | select(.name == \"lockdown\") | .state == \"no\" and .detail == \"confidentiality\" and (.enable | test(\"lockdown=\"))' hidden.json"
	else
		skip "lockdown" "this kernel has no /sys/kernel/security to cover"
	fi
else
	skip "features hidden from it" "unshare is not allowed here"
fi
check "a self-test gives its figures" bash -c 's=$(jq -r ".features[] | select(.name == \"hw-breakpoints\")" json); jq -e "(.state != \"yes\") or (.detail | test(\"10 of 10 stores, 10 of 10 loads, 10 of 10 calls\"))" <<<"$s"'
check "what is missing has a command that enables it" jq -e '[.features[] | select(.state == "no" or .state == "unknown") | select(.enable == null) | select(.detail | test("^not an? .* processor$") | not)] == []' json
check "what is missing says what follows" jq -e '[.features[] | select(.state == "no") | select(.means == null) | select(.detail | test("^not an? .* processor$") | not)] == []' json
check "the text has every feature" bash -c 'jq -r ".features[].title" json | while read -r t; do grep -qF "$t" text || { echo "$t"; exit 1; }; done'
check "the text keeps to 100 columns, commands apart" awk '!/to enable:/ && length($0) > 100 { print; exit 1 }' text
check "two runs agree" bash -c 'accperf doctor --json 2>/dev/null | jq -S "[.features[] | {name, state}]" >second; jq -S "[.features[] | {name, state}]" json | cmp - second'
root && need bpftool && check "no BPF program is left" [ "$(programs)" = 0 ]

accperf version --json >version
check "version and doctor list the same features" bash -c 'diff <(jq -c "[.features[] | select(.group == \"source\" or .group == \"view\") | {name, built}]" json) <(jq -c ".features" version)'
check "version names them in its text" bash -c 'accperf version >v; jq -r ".features[].name" version | while read -r n; do grep -qw -- "$n" v || { echo "$n"; exit 1; }; done'

if root; then
	cp "$TOP/build/accperf" ./nobody-accperf; chmod 755 . nobody-accperf
	setpriv --reuid=65534 --regid=65534 --clear-groups ./nobody-accperf doctor --json >nobody.json 2>nobody.err; status=$?
	check "nobody: BPF is refused" [ "$(feature bpf state nobody.json)" = no ]
	check "... the remedy is setcap on this very file" bash -c "jq -r '.features[] | select(.name == \"bpf\").enable' nobody.json | grep -q 'sudo setcap cap_bpf,cap_perfmon+ep $TMP/nobody-accperf'"
	check "... nothing can be recorded: status 3, said on stderr" bash -c "[ $status = 3 ] && grep -q 'nothing can be recorded' nobody.err"
	check "... and who may run it" bash -c "jq -r '.features[] | select(.name == \"bpf\").enable' nobody.json | grep -q 'chgrp GROUP $TMP/nobody-accperf.*chmod 0750 $TMP/nobody-accperf.*setcap'"
	chgrp 65534 nobody-accperf; chmod 0750 nobody-accperf
	if need setcap && setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep ./nobody-accperf 2>/dev/null; then
		setpriv --reuid=65534 --regid=65534 --clear-groups ./nobody-accperf doctor --json >capped.json 2>/dev/null
		check "the remedy works: as nobody with these capabilities BPF loads" [ "$(feature bpf state capped.json)" = "$(feature bpf state)" ]
		check "... and the timer delivers kernel time" [ "$(feature timer state capped.json)" = "$(feature timer state)" ]
	else
		skip "setcap as the remedy" "file capabilities are not available here"
	fi
	setpriv --bounding-set=-all --inh-caps=-all accperf doctor --json >bare.json 2>/dev/null
	check "root without capabilities: told to change the container" bash -c "jq -r '.features[] | select(.name == \"bpf\").enable' bare.json | grep -q -- '--cap-add BPF'"
	if unshare -pf --mount-proc true 2>/dev/null; then
		unshare -pf --mount-proc "$TOP/build/accperf" doctor --json >ns.json 2>/dev/null
		check "a pid namespace is noticed" bash -c "jq -r '.features[] | select(.name == \"container\").detail' ns.json | grep -q 'pid namespace'"
	else
		skip "a pid namespace is noticed" "unshare is not allowed here"
	fi
else
	skip "rights taken away" "not root"
fi
check "doctor and version list the same sources" [ "$(jq -c '[.sources[].name]' json)" = "$(accperf version --json | jq -c .sources)" ]
check "those of processors can be asked for" bash -c 'for s in $(jq -r ".sources[] | select(.account == \"hardware records\").name" json); do accperf record --help | grep -q -- "--engine .*|$s" || { echo $s; exit 1; }; done'
check "one that does not work says what is missing" jq -e '[.sources[] | select(.works | not) | select(.detail == null)] == []' json
