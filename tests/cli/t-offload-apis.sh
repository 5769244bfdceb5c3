# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every row of the table of offload APIs, under each name of its twins: calls and bytes equal to the
# program's own. OpenSSL, zlib, zstd, ISA-L, OpenCL, DPDK and libipsec-mb by the real libraries, the others by a library of
# ours that has their names and prototypes.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/offloads.sh"

# figures FILE: what accperf saw, a line a function; own JSON: what the program says
figures() {
	accperf offload -i "$1" --json | jq -r '.calls[]|[.api+" "+.name, .counted_calls, .bytes_in//0, .bytes_out//0, .work_items//0, .async, .open, .late]|map(tostring)|join(" ")' | sort
}
own() { jq -r 'to_entries[]|[.key, .value.calls, .value.in, .value.out, .value.items, .value.async, 0, 0]|map(tostring)|join(" ")' "$1" | sort; }
# recorded NAME APIS COMMAND...: into NAME.data, the program's own account into NAME.json
recorded() {
	local name=$1 apis=$2; shift 2
	accperf record -q -F 997 -o "$name.data" --offload "$apis" --offload-exact -- "$@" >"$name.json" 2>"$name.err" && jq -e 'length > 0' "$name.json" >/dev/null && return 0
	cat "$name.err"; return 1
}
# table [API...]: "API FUNCTION" of each row, of all APIs or these
table() {
	awk -v only=" $* " 'match($0, /offload_row [a-z_]+_rows/) { api = substr($0, RSTART + 12, RLENGTH - 17); gsub("_", "-", api) }
		only != "  " && !index(only, " " api " ") { next }
		{ while (match($0, /(CALL|SUBMIT|WAIT|MARK)\("[A-Za-z0-9_]+"/)) { split(substr($0, RSTART, RLENGTH), f, "\""); print api, f[2]; $0 = substr($0, RSTART + RLENGTH) } }' "$TOP"/user/offload/api_*.c
}
missing() { # rows of the table that no program here called
	table >rows.txt
	[ "$(wc -l <rows.txt)" -gt 100 ] && ! grep -vxFf called.txt rows.txt
}

recorded own markers "$W/off_own" plain 1
if grep -q 'not allowed\|no uprobes' own.err; then echo "no probes here: $(head -n 1 own.err)"; exit 77; fi

mocked=(cuda cudart hip level-zero zlib qatzip qpl vaapi kcapi)
mkdir lib
for name in libcuda.so.1 libcudart.so.12 libamdhip64.so.5 libze_loader.so.1 libz-ng.so.2 libqatzip.so.3 libqpl.so.1 libva.so.2 libkcapi.so.1; do cp "$W/off_everylib" lib/$name; done
export LD_LIBRARY_PATH=$PWD/lib
check "CUDA driver and runtime, HIP, Level Zero, zlib-ng, QATzip, QPL, VA-API, libkcapi: called" recorded every auto "$W/off_every" "${mocked[@]}"
unset LD_LIBRARY_PATH
own every.json >every.own; figures every.data >every.seen
for api in "${mocked[@]}"; do
	check "$api: calls, bytes, work items of every function and name; each wait completes its own" \
		diff <(grep "^$api " every.own) <(grep "^$api " every.seen)
done

accperf offload -i every.data --all >every.text 2>/dev/null
check "graph launches are counted, and said not to be resolved" bash -c '[ "$(grep -A9 -E "^(cuda|cudart|hip) .*GraphLaunch" every.text | grep -c "what it holds is not resolved")" -ge 3 ]'

# By the libraries themselves. They call their functions for purposes of their own, too (a MAC's key, a
# stream's first checksum): what the program did is told by where it was called from.
if openssl genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out key.pem 2>key.err; then
	check "OpenSSL, zlib, zstd, ISA-L: called" recorded real openssl,zlib,zstd,isal "$W/off_real" key.pem
	accperf offload -i real.data --json >real.seen
	by_site() { # API: calls and bytes from the program; of those with no other caller, in and out apart
		diff <(jq -r --arg a "$1" 'to_entries[]|select(.key|startswith($a+" "))|"\(.key) \(.value.calls) \(.value.in+.value.out)"' real.json | sort) \
			<(jq -r --arg a "$1" '.calls[]|select(.api==$a)|[.sites[]|select(.object=="off_real")]as $s|"\(.api) \(.name) \([$s[].calls]|add) \([$s[].bytes]|add)"' real.seen | sort) &&
			jq -e -n --arg a "$1" --slurpfile own real.json --slurpfile seen real.seen \
				'[$seen[0].calls[]|select(.api==$a)|$own[0][.api+" "+.name] as $o|select(.counted_calls==$o.calls)|.bytes_in==$o.in and .bytes_out==$o.out and .open==0]|length>0 and all'
	}
	for api in openssl zlib zstd isal; do
		grep -q "\"$api " real.json || { skip "$api" "its library is not here"; continue; }
		check "$api: calls and bytes of every function, nested ones once" by_site $api
	done
	check "a stream that had no room has not failed" jq -e '[.calls[]|select(.api=="zlib" and .name=="inflate").failed]==[0]' real.seen
else
	skip "OpenSSL, zlib, zstd, ISA-L" "no RSA key: $(head -n 1 key.err)"
fi

"$W/off_vulkan" 1 >/dev/null 2>&1
if [ $? = 0 ]; then
	check "Vulkan: called" recorded vk vulkan "$W/off_vulkan" 20
	own vk.json | cut -d ' ' -f 1-7 >vk.own; figures vk.data | grep -E ' vkQueueSubmit2? ' | cut -d ' ' -f 1-7 >vk.seen
	check "Vulkan: each submission completed by its fence, its queue or its device" diff vk.own vk.seen
	printf 'vulkan %s\n' vkQueueWaitIdle vkDeviceWaitIdle vkWaitForFences vkGetFenceStatus >called.txt
else
	skip "Vulkan" "no device that computes (mesa-vulkan-drivers has one in software)"
	table vulkan >called.txt
fi

for driver in compress_zlib compress_isal; do
	if "$W/off_dpdk" $driver 1 >/dev/null 2>&1; then
		check "DPDK's compressdev, $driver: called" recorded dpdk compressdev "$W/off_dpdk" $driver 200
		own dpdk.json | cut -d ' ' -f 1-4,7,8 >dpdk.own; figures dpdk.data | grep ' rte_compressdev_enqueue_burst ' | cut -d ' ' -f 1-4,7,8 >dpdk.seen
		check "$driver: bursts and their bytes; each completed by the poll that took it back" diff dpdk.own dpdk.seen
		printf 'compressdev %s\n' rte_compressdev_enqueue_burst rte_compressdev_dequeue_burst >>called.txt
	else
		skip "DPDK's compressdev, $driver" "$("$W/off_dpdk" $driver 1 2>&1 | tail -n 1)"
		printf 'compressdev %s\n' rte_compressdev_enqueue_burst rte_compressdev_dequeue_burst >>called.txt
	fi
done

# Its functions have no names: the table that points to them is filled once the device runs, so it runs before.
cryptodev() { # DRIVER: records 200 bursts
	: >"$1.ready"
	"$W/off_cryptodev" "$1" 200 "$PWD/$1.go" >"$1.json" 2>"$1.ready" & local target=$!; STARTED+=($target)
	until grep -q ready "$1.ready"; do kill -0 $target || return 1; sleep 0.1; done
	accperf record -q -F 997 -o "$1.data" --offload cryptodev --offload-exact -p $target 2>"$1.err" & local recording=$!; STARTED+=($recording)
	begun "$1.data" || return 1
	touch "$1.go"; wait $target $recording
}
for driver in crypto_openssl crypto_aesni_mb; do
	printf 'cryptodev %s\n' rte_cryptodev_enqueue_burst rte_cryptodev_dequeue_burst >>called.txt
	if "$W/off_cryptodev" $driver 1 >/dev/null 2>no.err; then
		check "DPDK's cryptodev, $driver: called" cryptodev $driver
		own $driver.json | cut -d ' ' -f 1-4,7 >dev.own; figures $driver.data | grep ' rte_cryptodev_enqueue_burst ' | cut -d ' ' -f 1-4,7 >dev.seen
		check "$driver: bursts and their bytes, what is to be ciphered or authenticated; each completed" diff dev.own dev.seen
	else
		skip "DPDK's cryptodev, $driver" "$(tail -n 1 no.err)"
	fi
done

printf 'ipsec-mb %s\n' submit_job submit_job_nocheck flush_job get_completed_job >>called.txt
if "$W/off_ipsecmb" 1 >/dev/null 2>no.err; then
	# the library tries itself out at the start, by the same functions
	check "libipsec-mb: called" recorded jobs ipsec-mb "$W/off_ipsecmb" 400
	accperf offload -i jobs.data --json >jobs.seen
	check "libipsec-mb: jobs and their bytes; each completed by the call that handed it back, of those not checked as many later as in the program" \
		jq -e -n --slurpfile own jobs.json --slurpfile seen jobs.seen '[$own[0] | to_entries[] | .key as $k | .value as $o | $seen[0].calls[] | select(.api+" "+.name == $k) |
			[.sites[] | select(.object == "off_ipsecmb")] as $s | ($s | map(.calls) | add) == $o.calls and ($s | map(.bytes) | add) == $o.in and .open == 0 and
			($k != "ipsec-mb submit_job_nocheck" or .async == $o.async)] | length == 2 and all'
else
	skip "libipsec-mb" "$(tail -n 1 no.err)"
fi

"$W/off_producer" 1 >/dev/null 2>&1
if [ $? = 0 ]; then
	accperf record -q -F 997 -o seq.data --offload-probe "$W/off_producer:producer(bytes=arg4,ok=size,accelerated,name=producer)" \
		--offload-exact -- "$W/off_producer" 400 >seq.json 2>seq.err
	accperf offload -i seq.data --json >seq.seen 2>/dev/null
	check "zstd's sequence producer: calls, bytes, and those that zstd had to do itself" \
		jq -e -n --slurpfile own seq.json --slurpfile seen seq.seen '$own[0].producer as $o | $seen[0].calls[] | select(.name=="producer") |
			.counted_calls==$o.calls and .bytes_in==$o.in and .failed==$o.failed and $o.failed>0'
	check "advise tells their share" bash -c "accperf advise -i seq.data --stdio 2>/dev/null | grep -q '25% of its calls failed, and fall back to the host'"
else
	skip "zstd's sequence producer" "zstd is older than 1.5.4"
fi

"$W/off_opencl" rows >/dev/null 2>&1
if [ $? != 77 ]; then
	check "OpenCL, what is no plain buffer: called" recorded cl opencl "$W/off_opencl" rows
	own cl.json >cl.own; figures cl.data | grep -v ' clWaitForEvents ' | cut -d ' ' -f 1-7 >cl.seen
	check "OpenCL: calls, bytes, items; half of them blocking" diff <(cut -d ' ' -f 1-7 cl.own) cl.seen
	# those of off_opencl's plain run, counted in t-offload
	printf 'opencl %s\n' clEnqueueWriteBuffer clEnqueueReadBuffer clEnqueueNDRangeKernel clFinish clWaitForEvents >>called.txt
	# what a device cannot do it cannot be asked for
	for f in clEnqueueWriteImage clEnqueueReadImage clEnqueueSVMMemcpy; do grep -q $f cl.json || echo "opencl $f" >>called.txt; done
else
	skip "OpenCL" "no device"
	table opencl >>called.txt
fi
[ -s real.json ] || table openssl zlib zstd isal >>called.txt
grep -q '"isal ' real.json 2>/dev/null || table isal >>called.txt
for f in every real cl vk; do [ -s $f.json ] && jq -r 'keys[]' $f.json; done >>called.txt
check "no row of the table was left out" missing
