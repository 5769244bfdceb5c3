# SPDX-License-Identifier: GPL-2.0-or-later
"""Many containers, as control groups tell them: `boxes.py GROUP COUNT COMM`. Each line on stdin replaces so many of them by
new ones; the end of stdin ends all. Says `ready` when they are there, and how many were lost."""
import ctypes, os, signal, sys, time

group, count, comm = sys.argv[1], int(sys.argv[2]), sys.argv[3]
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
prctl = ctypes.CDLL(None).prctl
prctl(15, comm.encode())  # PR_SET_NAME, which children have, too
boxes, made, lost = {}, 0, 0


def begin():
    global made
    made += 1
    folder = f"{group}/docker-{made:064x}.scope"
    os.mkdir(folder)
    pid = os.fork()
    if not pid:
        prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with open(folder + "/cgroup.procs", "w") as f:
            f.write("0")
        while True:
            signal.pause()
    boxes[pid] = folder


def remove(folder):
    """A group is busy until the kernel has done with who ended in it: on a busy machine for some time."""
    until = time.monotonic() + 60
    while True:
        try:
            return os.rmdir(folder)
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.001)


def end(pid):
    global lost
    folder = boxes.pop(pid)
    if os.waitpid(pid, os.WNOHANG)[0]:
        lost += 1  # nobody but us should end one
    else:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    remove(folder)


os.mkdir(group)
try:
    for _ in range(count):
        begin()
    print("ready", flush=True)
    for line in sys.stdin:
        for pid in list(boxes)[:int(line)]:
            end(pid)
            begin()
        print("replaced", flush=True)
finally:
    for pid in list(boxes):
        end(pid)
    remove(group)
print(f"lost {lost}", flush=True)
