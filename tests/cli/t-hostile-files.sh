#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Files of a target, and files that a profile names, made to harm: nothing hangs, no device is opened, memory
# stays small, and no file speaks for another.
# harm: split DWARF behind a FIFO | 1 | its inlining
# harm: a debug link, a profile that names a device | 4 commands, by strace
# harm: a file server that falls silent: to five kinds of request, with code or data of the target mapped
# harm: Ctrl-C while a child looks for names | 1 child, stopped | names not found by then
# harm: ELF notes, symbol tables, tables of names of a gigabyte, in probed files, too; 400 MB in a compressed table
#   | 5 files | 16 MB of memory
# harm: a faked build-id; a file of another user | 2 programs, 1 id
. "$(dirname "$0")/../lib.sh"
SRC=$TOP/tests/stacks
export XDG_CACHE_HOME=$TMP/cache
mkdir -p "$XDG_CACHE_HOME"
for tool in python3 objcopy strace; do need $tool || { skip "hostile files" "$tool is not installed"; exit 0; }; done
[ "$(id -u)" = 0 ] || { skip "hostile files" "needs root"; exit 0; }

# A minute is for machines under load: without the cure these end never, or by the memory that they take.
record() { timeout -s KILL 60 accperf record --quiet --no-accesses --no-windows --no-syscalls --counts off -o p.data "$@"; local s=$?; [ $s = 0 ] || [ $s = 3 ]; }
named() { accperf report -i p.data | grep -qw "$1"; }
cat >spin.c <<'END'
#ifndef NAME
#define NAME busy_here
#endif
static volatile unsigned long n;
__attribute__((noipa)) static void NAME(void) { for (int i = 0; i < 1000000; i++) n += i; }
#include <time.h>
int main(void) { while (clock() < CLOCKS_PER_SEC / 2) NAME(); return 0; }
END

# split DWARF whose other half is a FIFO: libdw would open it and wait
mkdir split && cd split && gcc -g -O1 -gsplit-dwarf -c ../spin.c -o spin.o && gcc -o spin spin.o && rm -f spin.dwo && mkfifo spin.dwo || exit 1
check "split DWARF behind a FIFO: the recording ends" record -- ./spin
check "split DWARF behind a FIFO: named by the symbol table" named busy_here
cd ..

# edit FILE SECTION SIZE|FLAGS VALUE: what a section's header claims
cat >edit.py <<'END'
import struct, sys
path, want, what, value = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4], 0)
f = open(path, "r+b"); d = f.read()
shoff, = struct.unpack_from("<Q", d, 0x28); entsize, count, names = struct.unpack_from("<HHH", d, 0x3a)
text, = struct.unpack_from("<Q", d, shoff + names * entsize + 0x18)
for i in range(count):
    at = shoff + i * entsize
    name, = struct.unpack_from("<I", d, at)
    if d[text + name:d.index(b"\0", text + name)].decode() == want:
        old, = struct.unpack_from("<Q", d, at + (0x20 if what == "size" else 8))
        f.seek(at + (0x20 if what == "size" else 8)); f.write(struct.pack("<Q", value if what == "size" else old | value))
        sys.exit(0)
sys.exit("no section " + want)
END
# The most memory that a command or any of its children had; its own status is not asked for.
cat >most.py <<'END'
import resource, subprocess, sys
if subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL).returncode not in (0, 3): sys.exit("it failed")
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print("most memory:", most, "KB"); sys.exit(most >= int(sys.argv[1]))
END
small() { python3 most.py 300000 timeout -s KILL 60 accperf record --quiet --no-accesses --no-windows --no-syscalls --counts off -o p.data "${@:2}" -- "$1"; }

# a file of 20 KB on the disk that claims sections of a gigabyte
gcc -g -O1 -o plain spin.c && cp plain note && cp plain table && strip -g table || exit 1
python3 edit.py note .note.gnu.build-id size 0x40000000 && truncate -s 1200M note || exit 1
check "a note of a gigabyte: little memory" small ./note
for s in .symtab .strtab .dynsym .dynstr; do python3 edit.py table $s size 0x3ffffff0 || exit 1; done
truncate -s 1200M table
check "symbol tables of a gigabyte: little memory" small ./table
check "... and still a profile" named table
for t in .shstrtab .dynstr; do
	cp plain probed && python3 edit.py probed $t size 0x3ffffff0 && truncate -s 1200M probed || exit 1
	check "$t of a gigabyte in a file that is probed: little memory" small ./probed --offload-probe 'probed:busy_here(bytes=arg0)'
	check "... and its calls are counted" bash -c 'accperf offload -i p.data --json | jq -e "[.calls[].counted_calls] | add > 0"'
done

# 400 MB of zeros, compressed, as unwind table that nobody needs
python3 - <<'END' || exit 1
import struct, zlib
c = zlib.compressobj(1); zero = bytes(1 << 20)
open("bomb", "wb").write(struct.pack("<IIQQ", 1, 0, 400 << 20, 8) + b"".join(c.compress(zero) for _ in range(400)) + c.flush())
END
objcopy --add-section .debug_frame=bomb --set-section-flags .debug_frame=readonly,debug plain packed && python3 edit.py packed .debug_frame flags 0x800 || exit 1
check "compressed unwind table: little memory" small ./packed
check "compressed unwind table: not needed for names" named busy_here
check "compressed unwind table: it is said that debug information was refused" bash -c 'accperf report --json -i p.data | grep -q "\"files with damaged debug information\",\"value\":[1-9]"'

# opened is what was looked at: strace shows a path without O_PATH where it was not
only_looked_at() { # PATH: of all that was traced
	grep -q "$1" trace || { echo "nobody looked at $1"; return 1; }
	! grep "$1" trace | grep -v O_PATH
}
ln -s /dev/zero device.debug
cp plain linked && strip -g linked && : >empty && cp empty device && rm device && objcopy --remove-section .gnu_debuglink linked 2>/dev/null
python3 - <<'END' || exit 1
import zlib
open("link", "wb").write(b"device.debug\0\0\0\0" + zlib.crc32(b"").to_bytes(4, "little"))
END
objcopy --add-section .gnu_debuglink=link --set-section-flags .gnu_debuglink=readonly linked || exit 1
check "debug link to a device: records" timeout -s KILL 60 strace -o trace -e trace=open,openat,openat2 accperf record --quiet --no-accesses --no-windows --no-syscalls --counts off -o p.data -- ./linked
check "debug link to a device: it is not opened" only_looked_at device.debug

# a profile that names a device
cat >walk.c <<'END'
static volatile unsigned long table[1 << 20];
__attribute__((noipa)) static void walk(void) { for (int i = 1; i < 1 << 20; i++) table[i] = table[i - 1] + 1; }
#include <time.h>
int main(void) { while (clock() < CLOCKS_PER_SEC) walk(); return 0; }
END
gcc -g -O1 -o mine walk.c || exit 1
check "a profile of a file: records" timeout -s KILL 60 accperf record --quiet --no-windows --counts off -o named.data -- ./mine
rm mine && ln -s /dev/zero mine
for command in flow objects report; do
	check "a profile names a device: $command ends" timeout -s KILL 60 strace -o trace -e trace=open,openat,openat2 accperf $command -i named.data
	check "a profile names a device: $command does not open it" bash -c '! grep "/mine\"" trace | grep -v O_PATH'
	grep -q '/mine"' trace && looked=1
done

check "a profile names a device: somebody wanted it" test "${looked:-0}" = 1

# two programs with one build-id, the wrong one first
id=0x00112233445566778899aabbccddeeff00112233
gcc -g -O1 -Wl,--build-id=$id -DNAME=busy_honest -o honest spin.c && gcc -g -O1 -Wl,--build-id=$id -DNAME=busy_liar_ -o liar spin.c || exit 1
check "faked build-id: the liar is recorded" record -- ./liar
check "faked build-id: ... by its name" named busy_liar_
check "faked build-id: the other is recorded" record -- ./honest
check "faked build-id: ... by its own name" named busy_honest
rm -rf "$XDG_CACHE_HOME/accperf"
chown nobody liar
check "a file of another user: records" record -- ./liar
check "a file of another user: nothing is remembered of it" bash -c '! ls "$XDG_CACHE_HOME/accperf/symbols" | grep -q ^00112233'

# Ctrl-C while names are sought, by a child that does not end: what is left is named by its offset
end_naming() {
	local recorder child comm seen=0 stopped='' i
	accperf record --no-accesses --no-windows --no-syscalls --counts off -o p.data -- ./plain 2>stopped.err & recorder=$!
	for ((i = 0; i < 300000; i++)); do
		read -r -a children 2>/dev/null <"/proc/$recorder/task/$recorder/children" || [ -n "${children[*]:-}" ] || children=()
		[ -d "/proc/$recorder" ] || break
		for child in "${children[@]}"; do
			comm=''
			read -r comm 2>/dev/null <"/proc/$child/comm"
			[ "$comm" = plain ] && seen=1
			[ $seen = 1 ] && [ "$comm" = accperf ] && kill -STOP "$child" 2>/dev/null && stopped=$child && break 2
		done
	done
	if [ -z "$stopped" ]; then wait $recorder; return 77; fi
	kill -INT $recorder
	for ((i = 0; i < 300; i++)); do [ "$(ps -o stat= -p $recorder | cut -c1)" = Z ] || [ ! -d /proc/$recorder ] && break; sleep 0.1; done
	kill -KILL "$stopped" 2>/dev/null # the recorder has done that
	[ $i -lt 300 ] || { echo "the recorder went on"; kill -KILL $recorder; }
	wait $recorder
}
end_naming >ended.log 2>&1; ended=$?
if [ $ended = 77 ]; then skip "Ctrl-C ends naming" "no child was met"; else
	check "Ctrl-C ends naming: the recording is whole" test $ended = 0 -o $ended = 3
	check "Ctrl-C ends naming: it is said" grep -q "names were not looked up to the end" stopped.err
	# unless the child that was met was of a later file
	check "Ctrl-C ends naming: offsets instead" bash -c 'accperf report -i p.data 2>report.err | grep -Eq "plain\+0x|busy_here" && ! grep -q "did not end in order" report.err'
fi

# a library on a file system whose server falls silent once it is mapped: whatever it is asked for, it does not answer
cat >served.c <<'END'
__attribute__((noipa)) unsigned long busy_served(unsigned long n) { for (int i = 0; i < 1000000; i++) n = n * 3 + 1; return n; }
END
cat >serves.c <<'END'
#include <stdio.h>
#include <unistd.h>
unsigned long busy_served(unsigned long);
static volatile unsigned long n;
__attribute__((noipa)) static void busy_here(void) { for (int i = 0; i < 1000000; i++) n += i; }
int main(void)
{
	n = busy_served(n);
	FILE *f = fopen("silent.new", "w"); fputs("1 3 14 15 17", f); fclose(f); rename("silent.new", "silent"); /* enum fuse_opcode */
	usleep(100000);
	f = fopen("ready", "w"); fprintf(f, "%d", getpid()); fclose(f);
	while (access("enough", F_OK)) { busy_here(); n = busy_served(n); }
	puts("whole"); return 0;
}
END
mkdir mnt && gcc -g -O1 -shared -fPIC -Wl,-soname,libserved.so -o libserved.so served.c && gcc -g -O1 -o serves serves.c -L. -lserved -Wl,-rpath,"$PWD/mnt" &&
	gcc -O1 -o unanswering "$TOP/tests/fixtures/unanswering.c" || { fail "a server that falls silent: it is built"; exit 0; }
unshare -m ./unanswering mnt libserved.so libserved.so ./serves >served.out 2>served.err & server=$!
for ((i = 0; i < 300; i++)); do [ -s ready ] || [ ! -d /proc/$server ] && break; sleep 0.1; done
if [ -s ready ]; then
	observe_silent() { timeout -s KILL 60 accperf record --no-accesses --no-windows --no-syscalls --counts off -o p.data -p "$(cat ready)" --duration 0.5s 2>silent.err; local s=$?; cat silent.err; [ $s = 3 ]; }
	check "a file server that falls silent: the recording ends, with status 3" observe_silent
	check "... what it lacks is said, with the remedy" grep -q "did not answer.*local disk" silent.err
	check "... and counted" bash -c 'accperf report --json -i p.data | grep -q "did not answer\",\"value\":[1-9]"'
	check "... what lies on disks is named" named busy_here
	touch enough; wait $server; status=$?
	# while the server lives its kernel lets nobody go who waits for an answer
	check "... once the server has ended, nothing is left that waits for it" bash -c 'for i in {1..100}; do pgrep -f "accperf record.*p.data -p $(cat ready)" || exit 0; sleep 0.1; done; exit 1'
	check "... the target has come to no harm" bash -c "[ $status = 0 ] && grep -q whole served.out"
else
	wait $server; skip "a file server that falls silent" "$(cat served.err)"
fi
