# SPDX-License-Identifier: GPL-2.0-or-later
# What python3 runs for scripts/accuracy-counts: the same work every round, in pure Python.
#   script.py ROUNDS
import sys


def sieve(n):
    flags = bytearray([1]) * (n + 1)
    for i in range(2, int(n ** 0.5) + 1):
        if flags[i]:
            flags[i * i :: i] = bytes(len(range(i * i, n + 1, i)))
    return sum(flags) - 2


def words(n):
    seed, out = 12345, []
    for _ in range(n):
        seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
        out.append("w%d" % (seed % 997))
    return out


def count(items):
    table = {}
    for w in items:
        table[w] = table.get(w, 0) + 1
    return sorted(table.items(), key=lambda kv: (-kv[1], kv[0]))[:10]


class Node:
    def __init__(self, key):
        self.key, self.left, self.right = key, None, None

    def insert(self, key):
        at = self
        while key != at.key:
            side = "left" if key < at.key else "right"
            child = getattr(at, side)
            if child is None:
                setattr(at, side, Node(key))
                return
            at = child

    def depth(self):
        return 1 + max(self.left.depth() if self.left else 0, self.right.depth() if self.right else 0)


def tree(n):
    root, seed = Node(500), 99
    for _ in range(n):
        seed = (seed * 69069 + 1) & 0xFFFFFFFF
        root.insert(seed >> 12 & 4095)
    return root.depth()


def nbody(steps):
    x, v = [0.0, 1.0, 5.2, 9.5], [0.0, 6.28, 2.75, 2.04]
    for _ in range(steps):
        for i in range(1, 4):
            v[i] -= 0.001 * 39.5 / (x[i] * x[i])
            x[i] += 0.001 * v[i] + 0.01
    return "%.3f" % sum(x)


for _ in range(int(sys.argv[1])):
    result = (sieve(20000), count(words(4000))[0], tree(1200), nbody(1200))
print(result)
