#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs `accperf top -p PID` in a pseudo-terminal and looks at what it draws. tests/cli/t-top.sh starts it.

A small terminal emulator is enough: what is asked of a screen is whether a text is on it. To add a check: a line in
main(), with a text that must appear (seen()) within the time that a busy machine may need.
"""
import fcntl, os, pty, re, select, signal, struct, subprocess, sys, termios, time

PID = sys.argv[1]
LONGEST = 40


def told(ok, name):
    print(("ok - " if ok else "not ok - ") + name, flush=True)


class Top:
    def __init__(self, width, height, *args, term="xterm-256color", env=None):
        self.master, self.slave = pty.openpty()
        self.size(width, height)
        self.before = termios.tcgetattr(self.slave)
        self.text = ""
        e = dict(os.environ, TERM=term, LC_ALL="C.UTF-8", **(env or {}))
        e.pop("COLUMNS", None), e.pop("LINES", None)
        self.p = subprocess.Popen(["accperf", "top", "-p", PID, "-d", "200ms", "--offload", "none", *args], stdin=self.slave,
                                  stdout=self.slave, stderr=self.slave, env=e, start_new_session=True,
                                  preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def size(self, width, height):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def pump(self, seconds=0.05):
        if select.select([self.master], [], [], seconds)[0]:
            try:
                self.text += os.read(self.master, 65536).decode(errors="replace")
            except OSError:
                pass

    def seen(self, pattern, seconds=LONGEST):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.pump()
            plain = re.sub(r"\x1b(\[[0-9;?]*[a-zA-Z]|[()].|[=>])", " ", self.text)
            if re.search(pattern, plain):
                return True
        return False

    def within(self, width, height):
        """A refresh sends the cursor nowhere else; what was drawn for the size before may come first."""
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            self.text = ""
            for _ in range(20):
                self.pump()
            at = re.findall(r"\x1b\[(\d+)(?:;(\d+))?H", self.text) + [(r, 1) for r in re.findall(r"\x1b\[(\d+)d", self.text)]
            if at and max(int(r) for r, _ in at) <= height and max(int(c or 1) for _, c in at) <= width:
                return True
        return False

    def press(self, keys):
        self.text = ""
        os.write(self.master, keys.encode())

    def ended(self):
        end = time.monotonic() + LONGEST
        while self.p.poll() is None and time.monotonic() < end:
            self.pump()
        for _ in range(5):
            self.pump(0.02)
        return self.p.poll() is not None

    def restored(self):
        ok = termios.tcgetattr(self.slave) == self.before and "\x1b[?1049l" in self.text
        os.close(self.master), os.close(self.slave)
        return ok


def programs():
    r = subprocess.run(["bpftool", "prog", "show"], capture_output=True, text=True)
    return set(re.findall(r"^(\d+): ", r.stdout, re.M)) if r.returncode == 0 else None


def left(before):
    """Programs that came since and that nobody holds, or somebody who was told of our target: others record, too."""
    others = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if PID.encode() in open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0"):
                continue
            for fd in os.listdir(f"/proc/{pid}/fdinfo"):
                others |= set(re.findall(r"^prog_id:\s*(\d+)", open(f"/proc/{pid}/fdinfo/{fd}").read(), re.M))
        except OSError:
            pass  # it has ended
    return programs() - before - others


def main():
    before = programs()
    t = Top(80, 24)
    told(t.seen(r"accperf top +process " + PID), "80x24: the head is drawn at once")
    told(t.seen(r"checksum_batch|deflate|libz|madvise|parse_records"), "functions appear")
    t.press("/batch\n")
    told(t.seen(r"no function with|checksum_batch|receive_batch"), "a filter")
    t.press("\x1b")
    t.press("t")
    told(t.seen(r"TID"), "threads")
    t.press("?")
    told(t.seen(r"PgUp"), "help")
    t.text = ""
    t.size(120, 40)
    os.kill(t.p.pid, signal.SIGWINCH)
    told(t.seen(r"PgUp"), "drawn again in the new size")
    t.press("?f")
    for width, height in (300, 100), (80, 24):
        t.text = ""
        t.size(width, height)
        os.kill(t.p.pid, signal.SIGWINCH)
        told(t.seen("FUNCTION") and t.within(width, height), f"{width}x{height}: drawn, and within the screen")
    t.size(30, 5)
    os.kill(t.p.pid, signal.SIGWINCH)
    told(t.seen(r"too small"), "too small a terminal is told so")
    t.size(100, 30)
    os.kill(t.p.pid, signal.SIGWINCH)
    t.press("f")
    told(t.seen(r"VERDICT"), "and functions again")
    t.press("w")
    told(t.seen(r"accperf report"), "w saves")
    r = subprocess.run(["accperf", "report", "--json", "-i", "accperf-top.data"], capture_output=True, text=True)
    told(r.returncode == 0 and '"samples":' in r.stdout, "a profile that ended in order: " + r.stderr.strip())
    t.press("q")
    told(t.ended() and t.p.returncode in (0, 3), "q ends it")
    told(t.restored(), "the terminal is as it was")
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGSEGV):  # the last one's recorder ends by itself
        t = Top(80, 24, env={"NO_COLOR": "1"})
        t.seen("FUNCTION")
        t.text, coloured = "", re.search(r"\x1b\[(3[0-7]|38)", t.text)
        os.kill(t.p.pid, sig)
        told(t.ended() and not coloured, sig.name + " ends it; NO_COLOR is heeded")
        told(t.restored(), sig.name + ": the terminal is as it was")
    t = Top(80, 24, term="dumb")
    told(t.ended() and t.p.returncode == 2 and "--batch" in t.text, "a dumb terminal is told of --batch")
    if before is not None:
        end, still = time.monotonic() + LONGEST, left(before)
        while still and time.monotonic() < end:  # one that is just being taken away has no holder either
            time.sleep(0.2)
            still &= left(before)
        told(not still, "no BPF object is left")


main()
