#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Real containers, which come and go: podman's with crun, in a hierarchy of control groups of our own. Their ids and inner
# numbers are told, and what runs in them has names though its files are not ours.
[ -n "${INNER:-}" ] || ! unshare --mount true 2>/dev/null || INNER=1 exec unshare --mount --propagation private bash "$0"
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] && [ -n "${INNER:-}" ] || { echo "needs root and mount namespaces"; exit 77; }
need jq && need python3 && need cc || { echo "needs jq, python3 and a compiler"; exit 77; }
need podman && need crun || { echo "podman and crun are not installed"; exit 77; }
umount -R /sys/fs/cgroup 2>/dev/null; mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null || { echo "no cgroup2 can be mounted"; exit 77; }
# Where root may not raise limits crun gives up, though nothing here needs them raised.
printf '#include <stddef.h>\n#include <sys/resource.h>\nint setrlimit(__rlimit_resource_t r, const struct rlimit *l) { return 0; }\nint setrlimit64(__rlimit_resource_t r, const struct rlimit64 *l) { return 0; }\n' >limits.c
cc -shared -fPIC -w -D_GNU_SOURCE -o limits.so limits.c
printf '#!/bin/sh\nLD_PRELOAD=%s/limits.so exec crun "$@"\n' "$TMP" >crun; chmod +x crun
name=inside$$; mkdir -p root/bin; cp "$WORKLOADS/tightloop" root/bin/$name
for l in $(ldd "$WORKLOADS/tightloop" | grep -o '/lib[^ ]*'); do mkdir -p "root${l%/*}"; cp -L "$l" "root$l"; done
pod() { podman --root "$TMP/pod" --runroot "$TMP/podrun" --storage-driver vfs --cgroup-manager cgroupfs --runtime "$TMP/crun" "$@"; }
run() { pod run -d --name $1 --network none --pids-limit 0 --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --ulimit memlock=65536:65536 --log-driver k8s-file --rootfs "$TMP/root" /bin/$name --loop 2>err.$1; }
away() { for c in $(pod ps -aq 2>/dev/null); do pod rm -t 0 -f $c >/dev/null 2>&1; done; }
daemon=; trap 'away; [ -z "$daemon" ] || kill -9 $daemon 2>/dev/null; cleanup' EXIT
id=$(run first); [ ${#id} = 64 ] || { echo "podman runs no container here: $(tail -n 1 err.first)"; exit 77; }
port=$((20000 + ($$ + 19000) % 12000))
cat >d.yaml <<-EOF
	storage: {folder: $TMP/store, reserve: 0}
	limits: {budget: 90%, scan: 200ms}
	http: {listen: "127.0.0.1:$port"}
	services: {web: {container: "*", name: $name, min_age: 0s, what: time}}
	EOF
accperf daemon --config d.yaml 2>log & daemon=$!
check "a container's process is recorded, with the number that it has inside" within 30 grep -qE 'event=recording service=web msg="recording process [0-9]+ \([0-9]+ is 1 in its container\)"' log
has() { python3 -c 'import sys, urllib.request as u; sys.stdout.write(u.urlopen(sys.argv[1], timeout=20).read().decode())' "http://127.0.0.1:$port/metrics" >m && grep -qE "$1" m; }
if grep -aq 'libmicrohttpd\.so' "$TOP/build/accperf"; then check "its id is told" within 20 has "^accperf_processes\{service=\"web\",unit=\"\",container=\"$id\",pod=\"\"\} 1"; fi
told() { accperf report --json -i "$1" 2>/dev/null | jq -e --arg id "$2" '.labels.container == $id and .samples > 3 and ([.functions[].name] | index("spin_hot") != null)'; }
profiles_of() { local f; for f in store/web/*; do told "$f" $1 >/dev/null && return 0; done; return 1; }
check "its profile has the id, and names of functions that only it has the file of" within 30 profiles_of $id
# a service that restarts all the time, in a new container each
for i in 1 2 3 4; do pod rm -t 0 -f -a >/dev/null 2>&1; last=$(run again$i); sleep 1; done
check "what restarts in containers that come and go is recorded" within 40 profiles_of $last
check "without an error" bash -c '! grep -E "level=err" log'
away; kill -TERM $daemon; wait $daemon; status=$?; daemon=
check "the daemon ends in order" test $status = 0
