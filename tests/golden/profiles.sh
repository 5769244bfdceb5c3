# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by `scripts/golden record`: how each profile of this folder was made.

W=$TOP/build/workloads MK=$TOP/build/mkprofile

# place PROGRAM...: the programs and their libraries in $FROM, with the dynamic linker there. Debug information has
# the name of this checkout's folder: a name of the same length takes its place.
place() {
	local p lib neutral
	neutral=/opt/source$(printf '%*s' "${#TOP}" '' | tr ' ' _); neutral=${neutral:0:${#TOP}}
	for p in "$@"; do
		sed "s#/lib64/ld-linux-x86-64.so.2#$FROM/ld-linux-x86-64.so.2#; s#$TOP#$neutral#g" "$W/$p" >"$FROM/$p" && chmod +x "$FROM/$p"
		for lib in $(ldd "$W/$p" 2>/dev/null | grep -oE '/[^ ]+'); do [ -e "$FROM/${lib##*/}" ] || cp -L "$lib" "$FROM/"; done
	done
}
# live NAME OPTIONS... -- COMMAND...; exact NAME OPTIONS... -- COMMAND...
live() { local n=$1; shift; wanted "$n" || return 0; note "$n" "$ACCPERF" record -q -o "$GOLDEN/$n.prof" --counts-cache off "$@"; }
exact() { local n=$1; shift; wanted "$n" || return 0; note "$n" "$ACCPERF" exact -q -o "$GOLDEN/$n.prof" "$@"; }
made() { local n=$1; shift; wanted "$n" || return 0; note "$n" "$MK" "$GOLDEN/$n.prof" "$@"; }
note() { local n=$1 status; shift; rm -f "$GOLDEN/$n.prof"; "$@" >"$TMP/log" 2>&1; status=$?; rm -f "$GOLDEN/$n.prof.old"; chmod 644 "$GOLDEN/$n.prof"; [ $status = 0 ] || { echo "$n: status $status"; tail -n 3 "$TMP/log"; }; }
WANTED=
wanted() { [ -z "$WANTED" ] || [[ " $WANTED " == *" $1 "* ]]; }

record_made() {
	made known
	made lossy loss=7 level=3
	made killed end=0 threads=3
	made nocost cost=0
	made raw raw=1 samples=200
	made random stacks=150 samples=800 threads=4
	made exact-made exact=1
	made counts counts=1
	made counts-lie counts=1 lie=640
	made counts-bursts counts=1 bursts=258
	made counts-whole counts=1 bursts=20 whole=2 lie=640
	made hostile hostile=1
	made hostile-selfish hostile=2
	made pebs hw=pebs
	made ibs hw=ibs
	made spe hw=spe samples=100
	! wanted torn || { "$MK" "$TMP/torn" samples=2000 && head -c $(($(stat -c %s "$TMP/torn") * 8 / 10)) "$TMP/torn" >"$GOLDEN/torn.prof"; }
	made empty samples=0
}
record_live() {
	place tightloop pipeline jpeg syscalls zlibuse tpipe kv nthreads rewrites forks counted turns mallocs wide zchain xml sharing execs bwt
	live live-timer --no-accesses --counts off -- "$FROM/tightloop" --seconds 1
	live live-low --effort low -- "$FROM/zchain" --seconds 1
	live live-pipeline --counts off -- "$FROM/pipeline" --seconds 1.5
	live live-pipeline2 --counts off -- "$FROM/pipeline" --seconds 1
	live live-jpeg --effort high -- "$FROM/jpeg" --seconds 1
	live live-counts --counts on --effort high --no-accesses -- "$FROM/counted" --seconds 1.5
	live live-turns --counts on --effort high -- "$FROM/turns" --seconds 1
	live live-syscalls --counts off -- "$FROM/syscalls" --seconds 1
	live live-zlib --effort high -- "$FROM/zlibuse" --seconds 1
	live live-threads --counts off -- "$FROM/tpipe" --seconds 1
	live live-nthreads --no-windows --timers threads -- "$FROM/nthreads" --seconds 1
	live live-sharing --counts off --watch-length 4 -- "$FROM/sharing" --seconds 1
	live live-forks --counts off -- "$FROM/forks" --seconds 1
	live live-kv --effort high -- "$FROM/kv" --seconds 1
	live live-wide --no-accesses -- "$FROM/wide" --seconds 1
	! wanted live-jit || record_jit
}
record_jit() { # code without a file that a perf map names
	"$FROM/rewrites" --seconds 30 & local pid=$!
	sleep 0.3
	grep -E 'xp 00000000 00:00 0 *$' /proc/$pid/maps | while read -r range _; do
		printf '%s %x jit_%s\n' "${range%-*}" $((0x${range#*-} - 0x${range%-*})) "${range%-*}"
	done >/tmp/perf-$pid.map
	live live-jit --counts off --duration 1s -p $pid
	kill $pid; rm -f /tmp/perf-$pid.map
}
record_offload() {
	local lib
	place off_deflate off_crypt off_opencl off_every off_everylib off_cuda off_own off_uring off_paced off_libcuda
	for lib in /usr/lib/x86_64-linux-gnu/lib{z.so.1,crypto.so.3}; do cp -L $lib "$FROM/"; done
	mkdir -p "$FROM/mock"
	for lib in libcudart.so.12 libamdhip64.so.5 libze_loader.so.1 libz-ng.so.2 libqatzip.so.3 libqpl.so.1 libva.so.2 libkcapi.so.1 libcuda.so.1; do cp "$FROM/off_everylib" "$FROM/mock/$lib"; done
	live offload-deflate --offload zlib --offload-exact -- "$FROM/off_deflate" 200 20000
	live offload-budget --offload zlib,openssl --counts off -- "$FROM/off_crypt" 60000
	live offload-crypt --offload openssl --offload-exact --counts off -- "$FROM/off_crypt" 1200 20
	LD_LIBRARY_PATH=$FROM/mock:$FROM live offload-every --offload auto --offload-exact -- "$FROM/off_every" cuda cudart hip level-zero zlib qatzip qpl vaapi kcapi
	cp "$FROM/off_libcuda" "$FROM/mock/libcuda.so.1"
	LD_LIBRARY_PATH=$FROM/mock:$FROM live offload-cuda --offload cuda --offload-exact -- "$FROM/off_cuda"
	live offload-marker --offload markers --offload-exact -- "$FROM/off_own" marker 400
	live offload-probe --offload none --offload-exact --offload-probe "$FROM/off_own:encode(bytes=arg3)" -- "$FROM/off_own" plain 200
	live offload-uring --offload auto --offload-exact -- "$FROM/off_uring" 300 4096
	# libisal's assembler cuts most stacks short
	! wanted offload-cut && ! wanted offload-level || { place offloadable; cp -L /usr/lib/x86_64-linux-gnu/libisal.so.2 "$FROM/"; }
	LD_LIBRARY_PATH=$FROM live offload-cut -F 99 --effort high --no-accesses --offload none --counts off --offload-probe "$FROM/offloadable:job(bytes=arg2,host)" -- "$FROM/offloadable" deflate accelerated 300000 whole
	# at the catalogue's level, which is seen
	LD_LIBRARY_PATH=$FROM live offload-level -F 99 --effort high --offload zlib --no-accesses --counts off -- "$FROM/offloadable" deflate host 120000 whole
	live offload-paced --offload zlib --counts off -- "$FROM/off_paced" 800 1.5
}
record_exact() {
	mkdir "$FROM/exact" && cp -L "$TOP/build/exact/"{accperf-amd64-linux,default.supp,vgpreload_core-amd64-linux.so} "$FROM/exact/"
	export ACCPERF_EXACT_DIR=$FROM/exact
	place rotate pipeline jpeg planted xcalls tpipe kv xml off_deflate
	exact exact-pipeline -- "$FROM/pipeline" 2000
	exact exact-samples --emit-samples 3000:7 --emit-windows 20 --emit-census 2 -- "$FROM/pipeline" 2000
	exact exact-census --emit-samples 8000:3 --emit-census 2 -- "$FROM/kv" 300
	exact exact-threads --emit-samples 6000:2 --emit-windows 20 -- "$FROM/tpipe" 200
	exact exact-objects --objects --emit-samples 2000:1 -- "$FROM/planted"
	exact exact-calls -- "$FROM/xcalls" 3
	exact exact-slices --slice 200000 --cycles -- "$FROM/jpeg" 64
	exact exact-candidate --candidate rotate_recursive,main --chunk 8 -- "$FROM/rotate" 64
	exact exact-main --attribute main --semantics quad --no-unique -- "$FROM/xml" 60
	exact exact-timer --emit-timer 20000 --cycles --stack include -- "$FROM/jpeg" 64
}
record_import() {
	local skx=${ACCPERF_SHARED:-$TOP/../shared}/perfdata/skx-load-latency.weight_struct.perf.data
	# the recording's path is stored
	! wanted import-skx || { cp "$skx" "$FROM/skx.data" && (cd "$FROM" && note import-skx "$ACCPERF" import -q --no-kernel -o "$GOLDEN/import-skx.prof" skx.data); }
	place tightloop
	if wanted import-perf; then
		(cd "$FROM" && perf record -q -g -B -N -e cpu-clock -F 499 -o perf.data -- ./tightloop --seconds 1 >/dev/null &&
			note import-perf "$ACCPERF" import -q -o "$GOLDEN/import-perf.prof" perf.data)
	fi
}
record_merge() {
	local n
	for n in "merge-exact exact-pipeline exact-samples" "merge-timer live-timer live-low" "merge-made known lossy counts"; do
		# shellcheck disable=SC2086
		set -- $n; n=$1; shift
		! wanted "$n" || (cd "$GOLDEN" && note "$n" "$ACCPERF" merge -f -w 2 -o "$n.prof" "${@/%/.prof}")
	done
}
record_profiles() {
	# the host's name is stored
	[ "${ACCPERF_GOLDEN_UTS:-}" ] || exec env ACCPERF_GOLDEN_UTS=1 unshare -u -- sh -c 'hostname golden && exec "$@"' sh "$0" record "$@"
	[ ! -e "$FROM" ] || { echo "$FROM is there already" >&2; return 1; }
	mkdir "$FROM" || return 1
	trap 'rm -rf "$FROM" "$TMP"' EXIT
	WANTED=$*
	export LD_LIBRARY_PATH=$FROM ACCPERF_BREAKPOINTS=on XDG_CACHE_HOME=$TMP/cache
	cp -L /lib64/ld-linux-x86-64.so.2 "$FROM/"
	record_made; record_live; record_offload; record_exact; record_import; record_merge
}
