#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A target chooses the names of its functions, files and threads. None of their bytes acts on a terminal, and
# every export stays what it says it is: read back by other programs' parsers.
# harm: names with escapes, newlines, formulas, invalid UTF-8, 100 KB | 13 formats, each by its parser; 6 views, 6
#   messages
# harm: a pager under sudo; signals that cannot be read | 1
. "$(dirname "$0")/../lib.sh"
need python3 || { skip "hostile names" "python3 is not installed"; exit 0; }
"$TOP/build/mkprofile" h.data hostile=1 || { fail "a profile with hostile names"; exit 0; }
cp h.data i.data

cat >names.py <<'END'
import csv, gzip, io, json, sys, unicodedata
from xml.dom import minidom
what, path = sys.argv[1:]
raw = open(path, 'rb').read()
if what == 'pprof':
    raw = gzip.decompress(raw)
def harmless(text, allowed='\n\t'):
    for c in text:
        if c not in allowed and (unicodedata.category(c) in ('Cc', 'Cf', 'Zl', 'Zp', 'Cs') or ord(c) & 0xfffe == 0xfffe):
            sys.exit('%r is in %r' % (c, text[:200]))
def varint(b, p):
    v = s = 0
    while True:
        v |= (b[p] & 127) << s; s += 7; p += 1
        if b[p - 1] < 128: return v, p
if what == 'pprof':
    p, strings = 0, 0
    while p < len(raw):
        tag, p = varint(raw, p)
        n, p = varint(raw, p)
        if tag & 7 == 2:
            if tag >> 3 == 6: harmless(raw[p:p + n].decode('utf-8')); strings += 1
            p += n
    assert strings > 20
    sys.exit(0)
text = raw.decode('utf-8')
harmless(text, '\n\t\r' if what == 'csv' else '\n\t')
assert len(text) > 500, text
if what == 'json':
    json.loads(text)
elif what == 'json-names': # JSON keeps what it can: escaped, not replaced
    names = [f['name'] for f in json.loads(text)['functions']]
    for n in ('esc\x1b]0;owned\x07\x1b[2J', 'c1\x9b31m', 'two\nlines\r\nthree\x0bfour', '<script>alert(1)</script>&amp;', 'broken\ufffd\ufffd\ufffd', 'bidi\u202e\u2066txt\u2069', 'x' * 65536):
        assert n in names, (n[:50], [m[:30] for m in names])
elif what in ('xml', 'svg'):
    d = minidom.parseString(raw)
    assert not d.getElementsByTagName('script')
    if what == 'xml':
        names = [f.getAttribute('name') for f in d.getElementsByTagName('function')]
        assert '<script>alert(1)</script>&amp;' in names and '"double" \'single\' \\back\\' in names, names
elif what == 'csv':
    rows = list(csv.reader(io.StringIO(text, newline=''), strict=True))
    assert all(len(r) == len(rows[0]) for r in rows), [len(r) for r in rows]
    number = lambda f: f.replace('.', '').replace('e', '').replace('-', '').replace('+', '').isdigit()
    bad = [f for r in rows for f in r if f[:1] in ('=', '+', '-', '@') and not number(f)]
    assert not bad, bad
    assert "'=HYPERLINK(\"http://x\")" in [f for r in rows for f in r]
elif what == 'folded':
    for l in text.splitlines():
        frames, n = l.rsplit(' ', 1)
        int(n); assert frames.count(';') == 1, l[:200]
elif what == 'callgrind':
    for l in text.splitlines():
        assert l == '' or l[0] in '#0123456789' or l.split('=')[0] in ('ob', 'fl', 'fn', 'cob', 'cfi', 'cfn', 'calls') or l.split(':')[0] in ('version', 'creator', 'cmd', 'desc', 'positions', 'events', 'summary'), l[:200]
END
export_of() { # KIND OPTION...
	local kind=$1; shift
	expect_status 0 "$*: is written" accperf "$@" -o out.$kind
	check "$*: a parser takes it, no byte acts" python3 names.py "$kind" out.$kind
}
export_of csv export --csv -i h.data
export_of folded export --collapsed -i h.data
export_of callgrind export --callgrind -i h.data
export_of pprof export --pprof -i h.data
export_of json export --speedscope -i h.data
export_of json export --firefox -i h.data
export_of json flow --json -i h.data
export_of xml flow --xml -i h.data --min-share 0
export_of dot flow --dot -i h.data --min-share 0.001
export_of csv timeline --csv -i h.data
export_of svg timeline --svg -i h.data
export_of json timeline --json -i h.data
if need dot; then
	export_of svg flow --svg -i h.data --min-share 0.001
	check "dot finds nothing to complain of" bash -c '[ -z "$(dot -Tsvg out.dot 2>&1 >drawn.svg)" ] && python3 names.py svg drawn.svg'
else
	skip "dot reads flow --dot" "graphviz is not installed"
fi
"$TOP/build/mkprofile" self.data hostile=2
accperf flow --dot -i self.data -o out.dot 2>/dev/null
check "DOT: no colour is more than full, where one function passes all" bash -c 'grep -q fillcolor out.dot && ! grep -oE "fillcolor=\"[^\"]*\"" out.dot | tr -d "\"" | cut -d= -f2 | awk "{ for (i = 1; i <= 3; i++) if (\$i > 1) print }" | grep .'
report_json() { accperf report --json -i h.data >r.json; python3 names.py json r.json && python3 names.py json-names r.json; }
check "report --json: names are escaped, not lost" report_json
for v in "report -i h.data" "report -i h.data --per-thread" "flow -i h.data" "timeline -i h.data" "diff h.data i.data" "counts -i h.data"; do
	# shellcheck disable=SC2086 # words
	accperf $v >view.txt 2>view.err </dev/null; s=$?
	[ $s = 0 ] || [ $s = 3 ] || { skip "$v" "no such view of this profile"; continue; }
	check "$v: no byte acts" python3 - view.txt <<'END'
import sys, unicodedata
t = open(sys.argv[1], 'rb').read().decode('utf-8')
bad = [c for c in t if c != '\n' and unicodedata.category(c) in ('Cc', 'Cf', 'Zl', 'Zp')]
sys.exit('%r' % bad[:10] if bad else 0)
END
done

# messages: the name of a file that is not there, of a program, of a profile that is none
odd=$(printf 'odd\033]0;owned\007\302\233\377\342\200\256\nline')
quiet_err() { ! LC_ALL=C grep -qP '[^\n\x20-\x7e]' err && [ "$(wc -l <err)" = 1 ]; }
for c in "report -i" "flow -i" "import" "export --csv -i" "merge -o o.data" "exact --"; do
	# shellcheck disable=SC2086 # words
	accperf $c "$odd" >/dev/null 2>err
	check "$c: an odd name in a message is one plain line" quiet_err
done
cp h.data "$odd"
check "a view says where it is from" bash -c 'accperf flow -i "$1" 2>/dev/null | LC_ALL=C grep -P "[\x00-\x09\x0b-\x1f\x7f]" && exit 1; exit 0' sh "$odd"

# a log of the exact engine, made by hand: a function whose name clears the screen
python3 - <<'END'
import struct
n = b'clear\x1b[2J\xc2\x9b\tobj\xff'
open('f.bin', 'wb').write(struct.pack('<IHHII', 0x474c454b, 1, 1, 0, 0) + struct.pack('<II', 7, len(n)) + n)
END
check "exact --dump-log: no byte acts" bash -c '[ "$(accperf exact --dump-log f.bin)" = "$(printf "7\tclear?[2J?\tobj?")" ]'

# a pager that is run for sudo's user gives no shell away
cat >pager.py <<'END'
import os, pty, sys
os.environ.update(PAGER='echo "secure:$LESSSECURE."; cat >/dev/null', TERM='dumb')
os.environ.pop('ACCPERF_PAGER', None); os.environ.pop('LESSSECURE', None)
if sys.argv[1] == 'sudo': os.environ['SUDO_UID'] = '1000'
else: os.environ.pop('SUDO_UID', None)
out = b''
def read(fd):
    global out
    d = os.read(fd, 4096); out += d; return d
pty.spawn(['accperf', 'report', '-i', 'h.data'], read, lambda fd: b'')
sys.exit(0 if (b'secure:1.' in out) == (sys.argv[1] == 'sudo') and b'secure:' in out else repr(out[:300]))
END
if [ "$(id -u)" = 0 ]; then
	check "under sudo the pager is told to be secure" python3 pager.py sudo
	check "otherwise it is not" python3 pager.py plain
fi

# live: a library whose name sets the terminal's title, mapped by the target and told of by the recorder
zlib=$(ldconfig -p 2>/dev/null | awk '$1 == "libz.so.1" && /x86-64/ { print $NF; exit }')
[ "$(id -u)" = 0 ] && [ -n "$zlib" ] || { skip "a mapped file's name" "needs root to record, and zlib"; exit 0; }
cat >maps.c <<'END'
#include <dlfcn.h>
#include <unistd.h>
int main(int argc, char **argv) { return argc < 2 || !dlopen(argv[1], RTLD_NOW) || sleep(argc); }
END
cc -o maps maps.c -ldl
named=./$(printf 'libz.so.1\033]0;owned\007\302\233')
cp "$zlib" "$named"
for more in "" "3 4 5" "3 4 5 6 7 8 9 10"; do # a busy machine may look at a target's files late
	# shellcheck disable=SC2086 # words
	accperf record --no-windows --counts off --offload-probe 'libz.so*:nonesuch(bytes=arg1)' -o z.data -- ./maps "$named" $more >/dev/null 2>err
	grep -q "owned.* has no function" err && break
done
check "the recorder tells of a mapped file" grep -q "owned.* has no function 'nonesuch'" err
check "and no byte of its name acts" bash -c '! LC_ALL=C grep -P "[^\n\x20-\x7e]" err'

# A C++ function is found by what stands before its parameters, as views shorten it
by_short_name() { accperf "$@" '=HYPERLINK' -i h.data >said 2>&1; ! grep -q 'accperf: error' said && grep -qF '=HYPERLINK("http://x")' said || { cat said; return 1; }; }
for how in "report --symbol" "report --callers" "flow --symbol" "flow --per"; do check "$how takes a name without its parameters" by_short_name $how; done
