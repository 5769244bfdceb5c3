#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What ships for Kubernetes and for containers agrees with the unit, with the program, and with itself.
. "$(dirname "$0")/../lib.sh"
python3 -c 'import yaml' 2>/dev/null || { echo "needs python3-yaml"; exit 77; }
cat >judge.py <<-'EOF'
	import re, sys, yaml
	top = sys.argv[1]
	docs = {d["kind"]: d for d in yaml.safe_load_all(open(top + "/user/daemon/kubernetes.yaml"))}
	def only(o, *keys): assert set(o) <= set(keys), set(o) - set(keys)
	for d in docs.values():
	    only(d, "apiVersion", "kind", "metadata", "spec", "data"); only(d["metadata"], "name", "namespace", "labels")
	assert docs["DaemonSet"]["apiVersion"] == "apps/v1" and docs["ConfigMap"]["apiVersion"] == docs["Namespace"]["apiVersion"] == "v1"
	ns = docs["Namespace"]["metadata"]["name"]
	assert all(d["metadata"].get("namespace", ns) == ns for d in docs.values())
	s = docs["DaemonSet"]["spec"]; only(s, "selector", "template", "updateStrategy")
	labels = s["template"]["metadata"]["labels"]
	assert s["selector"]["matchLabels"].items() <= labels.items()
	p = s["template"]["spec"]
	only(p, "hostPID", "hostNetwork", "automountServiceAccountToken", "priorityClassName", "terminationGracePeriodSeconds", "tolerations", "containers", "volumes")
	assert p["hostPID"] is True and p["automountServiceAccountToken"] is False
	c, = p["containers"]
	only(c, "name", "image", "securityContext", "resources", "livenessProbe", "volumeMounts")
	x = c["securityContext"]
	only(x, "privileged", "runAsUser", "readOnlyRootFilesystem", "allowPrivilegeEscalation", "seccompProfile", "capabilities")
	assert x["readOnlyRootFilesystem"] is True and x["privileged"] is False and x["allowPrivilegeEscalation"] is False and x["capabilities"]["drop"] == ["ALL"]
	assert x["seccompProfile"] == {"type": "Unconfined"}  # RuntimeDefault refused bpf(): scripts/try-image
	unit = open(top + "/user/daemon/accperf-daemon.service").read()
	caps = {w[4:] for l in re.findall(r"(?m)^CapabilityBoundingSet=(.*)$", unit) for w in l.split()}
	assert set(x["capabilities"]["add"]) == caps, caps ^ set(x["capabilities"]["add"])
	names = [v["name"] for v in p["volumes"]]
	assert sorted(names) == sorted(m["name"] for m in c["volumeMounts"]) and len(set(names)) == len(names)
	for v in p["volumes"]: assert len(v) == 2 and (v.get("configMap", {}).get("name") == docs["ConfigMap"]["metadata"]["name"] or v["hostPath"]["path"].startswith("/"))
	text = docs["ConfigMap"]["data"]["daemon.yaml"]; open("daemon.yaml", "w").write(text)
	conf = yaml.safe_load(text)
	g = c["livenessProbe"]["httpGet"]
	assert conf["http"]["listen"] == "%s:%d" % (g["host"], g["port"]) and p["hostNetwork"]
	writable = [m["mountPath"] for m in c["volumeMounts"] if not m.get("readOnly")]
	assert writable == [conf["storage"]["folder"]], writable
EOF
check "the DaemonSet keeps to least rights, and agrees with the unit" python3 judge.py "$TOP"
trial() { sed 's|^ExecStart=/usr/bin/accperf |ExecStart=/bin/echo |' "$TOP/user/daemon/accperf-breakpoints.service" >accperf-breakpoints.service && systemd-analyze verify --man=no "$PWD/accperf-breakpoints.service" 2>&1 | tee verified && [ ! -s verified ]; }
if need systemd-analyze; then check "the unit that tries out breakpoints is sound" trial; else skip "the unit that tries out breakpoints" "systemd-analyze is not here"; fi
check "it calls what there is" bash -c 'accperf doctor --help | grep -q -- --idle && grep -q "^ExecStart=/usr/bin/accperf doctor --breakpoints --idle$" "$0/user/daemon/accperf-breakpoints.service"' "$TOP"
models=$TOP/build/k8s/node_modules
objects() { python3 -c 'import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(sys.stdin))))'; }
valid() { sed "$1" "$TOP/user/daemon/kubernetes.yaml" | objects | NODE_PATH=$models node "$TOP/tests/daemon/kubernetes.js"; }
if [ -e "$models/kubernetes-models" ] && need node; then
	check "by Kubernetes' own schemas it is one" valid ''
	check "which refuse others" bash -c "$(declare -f objects valid); "'TOP=$1 models=$2; ! valid "s/hostPID: true/hostPID: 7/" && ! valid "s/drop: .ALL./drop: ALL/" && ! valid "s/      containers:/      container:/"' _ "$TOP" "$models"
else skip "Kubernetes' own schemas" "npm's kubernetes-models is not in build/k8s: scripts/deps --test --servers"; fi
check "its configuration is in order" accperf daemon --check --config daemon.yaml
apparmor() { diff <(sed -n 's/^  capability \(.*\),$/CAP_\U\1/p' "$TOP/user/daemon/accperf-daemon.apparmor" | sort) <(sed -n 's/^CapabilityBoundingSet=//p' "$TOP/user/daemon/accperf-daemon.service" "$TOP/user/daemon/accperf-daemon-debian.conf" | tr ' ' '\n' | sort); }
check "AppArmor's profile has the unit's capabilities" apparmor
# judged as a text: no kernel that enforces it was at hand
if need apparmor_parser; then check "and is one" apparmor_parser -Q -K -T "$TOP/user/daemon/accperf-daemon.apparmor"; else skip "AppArmor's profile" "apparmor_parser is not installed"; fi
packages() { ldd "$TOP/build/accperf" | awk '/=> \// { print $3 }' | xargs -r readlink -f | xargs -r -n 1 dpkg-query -S 2>/dev/null | sed 's/[:,].*//' | sort -u; }
lists_all() { local p; for p in $(packages); do case $p in libc6 | libgcc-s1 | liblzma5 | libbz2-1.0 | libtinfo6 | libgnutls30 | libp11-kit0 | libidn2-0 | libunistring2 | libtasn1-6 | libnettle8 | libhogweed6 | libgmp10 | libffi8) continue ;; esac; grep -qw -- "$p" "$TOP/user/daemon/Containerfile" || { echo "the image lacks $p"; return 1; }; done; }
if need dpkg-query; then check "the image has every library" lists_all; fi
printf 'storage: {folder: %s/s, reserve: 0}\nhttp: {listen: none}\nservices: {a: {name: nobody-%s}}\n' "$TMP" $$ >d.yaml
accperf daemon --log json --config d.yaml 2>log & daemon=$!; STARTED+=($daemon)
began() { grep -q '"event":"started"' log; }
for _ in $(seq 40); do began && break; sleep 0.25; done
kill -TERM $daemon; wait $daemon
# a look at the 5,000 processes of another test may be told, too
json() { python3 -c 'import json, re, sys; l = [json.loads(x) for x in open("log")]; assert [x["event"] for x in l if x["event"] != "scan"] == ["started", "stopped"] and all(x["level"] == "notice" and re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", x["time"]) for x in l), l'; }
check "each line of its log is JSON where that is asked for" json

# each of the unit's capabilities taken away in turn: without two of them nothing is recorded, which is said by name
unit_has=$(sed -n 's/^CapabilityBoundingSet=//p' "$TOP/user/daemon/accperf-daemon.service" | tr 'A-Z\n' 'a-z ' | sed 's/cap_//g')
if [ "$(id -u)" = 0 ] && need setpriv && need jq && setpriv --bounding-set "-all$(printf ',+%s' $unit_has)" --inh-caps=-all true 2>/dev/null && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ]; then
	start "$WORKLOADS/tightloop" --loop; target=$!
	printf 'storage: {folder: %s/caps, reserve: 0}\nhttp: {listen: none}\nlimits: {scan: 200ms, budget: 90%%, memory: 512M}\nservices: {t: {pid: %s, min_age: 0s, what: time}}\n' "$TMP" $target >caps.yaml
	without() { # CAPABILITY COMMAND...: until it is so, of a daemon with the others
		local set=-all c daemon status=1 i; for c in $unit_has; do [ $c = "$1" ] || set+=,+$c; done
		rm -rf caps; setpriv --bounding-set "$set" --inh-caps=-all accperf daemon --config caps.yaml 2>caps.log & daemon=$!; STARTED+=($daemon)
		for i in $(seq 240); do "${@:2}" && { status=0; break; }; sleep 0.25; done
		kill -TERM $daemon; wait $daemon; [ $status = 0 ] || cat caps.log; return $status
	}
	lacks() { grep -q "level=error event=recorder service=t msg=\".*$1 is missing" caps.log; }
	sampled() { local f; for f in caps/t/*; do [ "$(accperf report --fresh --json -i "$f" 2>/dev/null | jq -r '[.functions[] | select(.name == "spin_hot")] | length')" = 1 ] && return 0; done; return 1; }
	for c in nothing $unit_has; do case $c in
	bpf | perfmon) check "without CAP_${c^^} nothing is recorded, and that is said" without $c lacks "CAP_${c^^}" ;;
	*) check "without $c a daemon with the unit's other rights records" without $c sampled ;;
	esac; done
else skip "the unit's rights, each taken away" "needs root, setpriv and perf_event_paranoid below 3"; fi
