#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# On a terminal of 80 columns no view has a row that is wider, and names that are cut stay distinct.
. "$(dirname "$0")/../lib.sh"
need python3 || { skip "80 columns" "python3 is not installed"; exit 0; }
unset COLUMNS
cat >terminal.py <<'END'
import collections, fcntl, os, pty, re, struct, subprocess, sys, termios, unicodedata
distinct, cmd = sys.argv[1], sys.argv[2:]
m, s = pty.openpty()
fcntl.ioctl(s, termios.TIOCSWINSZ, struct.pack('HHHH', 50, 80, 0, 0))
p = subprocess.Popen(cmd, stdout=s, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                     env=dict(os.environ, PAGER='cat', ACCPERF_PAGER='cat', TERM='xterm'))
os.close(s)
out = b''
while True:
    try:
        d = os.read(m, 65536)
    except OSError:
        break
    if not d:
        break
    out += d
p.wait()
if p.returncode not in (0, 3):
    sys.exit(0 if distinct == 'any' else f'status {p.returncode}: {p.stderr.read()[:300]}')
plain = re.sub('\033\\[[0-9;]*m', '', out.decode('utf-8').replace('\r\n', '\n'))
wide = [l for l in plain.split('\n') if sum(not unicodedata.combining(c) for c in l) > 80]
if wide:
    sys.exit('wider than 80: ' + repr(wide[:3]))
if distinct == 'rows':
    # without the figures: it is the names that must differ
    rows = collections.Counter(re.sub(r'(?<!\S)([-+0-9.,%?]+|[kKMG]?B)(?!\S)', '', l) for l in plain.split('\n') if '..' in l and not l.startswith('#'))
    twice = [l for l, n in rows.items() if n > 1]
    if not rows or twice:
        sys.exit('equal rows: ' + repr(twice[:3]) if rows else 'no name was cut: ' + plain)
END
fits() { python3 terminal.py "$@"; }

cat >long.cc <<'END'
#include <map>
#include <vector>
namespace analytics { namespace storage { namespace detail {
template <typename T, int N> struct fixed_window_transformation {
	__attribute__((noinline)) static T apply_to_all(const std::vector<T> &in, std::vector<T> &out) {
		T s{};
		for (unsigned i = N; i < in.size(); i++) { out[i] = in[i] / T(2) + in[i - N]; s += out[i]; }
		return s;
	}
	__attribute__((noinline)) static T apply_to_all(const std::vector<T> &in, std::vector<T> &out, int stride) {
		T s{};
		for (unsigned i = N; i < in.size(); i += stride) { out[i] = in[i] / T(2) + in[i - N]; s += out[i]; }
		return s;
	}
};
}}}
template <typename T, int N> double both(int n) {
	std::vector<T> a(n), b(n);
	using window = analytics::storage::detail::fixed_window_transformation<T, N>;
	return window::apply_to_all(a, b) + window::apply_to_all(b, a) + window::apply_to_all(a, b, 2);
}
int main() {
	std::map<int, double> m;
	for (int i = 1; i < 40; i++) m[i] = both<double, 1>(40 * i) + both<double, 12>(40 * i) + both<float, 3>(40 * i) + both<long, 3>(40 * i);
	return m.size() == 1;
}
END
if need g++ && g++ -O1 -o long long.cc && accperf exact -q -o cpp.data -- ./long; then
	for view in report flow; do
		# shellcheck disable=SC2086 # words
		check "C++: $view: no wide row, no two alike" fits rows accperf $view -i cpp.data
	done
	for view in "flow --view matrix" "flow --inclusive" wall; do
		# shellcheck disable=SC2086 # words
		check "C++: $view: no wide row" fits any accperf $view -i cpp.data
	done
else
	skip "names of C++ in 80 columns" "no g++, or no exact engine"
fi
G=$TOP/tests/golden
mkprofile h.data hostile=1
all() { # PROFILE VIEW...
	local p=$1 view; shift
	for view in "$@"; do
		# shellcheck disable=SC2086 # words
		check "$(basename "$p"): $view: no wide row" fits any accperf $view -i "$p"
	done
}
all "$G/live-pipeline.prof" "flow --threads" "flow --inclusive" timeline objects "report --columns all" wall
all "$G/counts-bursts.prof" report counts "flow --sort unique"
all "$G/offload-deflate.prof" offload advise
all h.data report flow "flow --view matrix"
check "diff: no wide row" fits any accperf diff "$G/live-pipeline.prof" "$G/live-pipeline2.prof"
check "compare: no wide row" fits any accperf compare "$G/live-pipeline.prof" "$G/live-pipeline2.prof"
check "annotate: no wide row" fits any accperf annotate scale -i "$G/live-pipeline.prof"

# what any view says of any profile in golden/: a number with its unit, and then a blank
cat >together.awk <<'END'
/^==== accperf/ { text = !/ export | --(json|svg|xml|csv|dot|html)/; view = $0; next }
text && /(^| )([0-9.,]+( ?(ns|us|ms|s|%|[KMGT]?B))|[0-9.]+[KMG%])[0-9.+-]/ { print view; print; bad = 1 }
text { lines++ }
END { exit bad || lines < 1000 }
END
if need zstdcat; then
	check "no column runs into the next, in any view of any profile" sh -c 'zstdcat "$0"/*.txt.zst | awk -f together.awk' "$G"
	check "... which is seen where it does" sh -c 'printf "==== accperf offload\n17.5 us0.000908\n" | awk -f together.awk | grep -q "us0"'
else
	skip "columns that run together" "no zstdcat"
fi
accperf flow --inclusive --json -i "$G/live-zlib.prof" >inclusive.json
read -r in out <<<"$(jq -r '[.functions[] | select(.name == "deflate").inclusive | .in_share, .out_share | . * 1000 | round / 10] | join(" ")' inclusive.json)"
check "--inclusive: parts of all bytes, where amounts are unknown" sh -c 'accperf flow --stdio --inclusive -i "$0/live-zlib.prof" >inclusive && grep -Eq "^deflate +$1 % +(\+-[0-9]+%|>999%) +$2 %" inclusive && grep -q "^read: all bytes that they load" inclusive' "$G" "$in" "$out"
check "offload: one screen of 40 lines, whatever was recorded" sh -c 'for p in "$0"/offload-*.prof; do accperf offload --stdio -i "$p" 2>/dev/null | awk -v p="$p" "END { if (NR > 40) { print p, NR; exit 1 } }" || exit; done' "$G"
check "offload: no figure has an exponent" sh -c 'for p in "$0"/offload-*.prof; do accperf offload --stdio -i "$p" 2>/dev/null | grep -E "[0-9]e[+-][0-9]" && exit 1; done; true' "$G"
