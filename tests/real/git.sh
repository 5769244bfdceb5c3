#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# git: what `git log -p` does, for the commits of a made history again and again; a unit is a commit.
. "$(dirname "$0")/lib.sh"
program=/usr/bin/git package=git begin=inflateInit_:9000 needs=python3 unit=commit
export GIT_DIR=repo GIT_CONFIG_GLOBAL=/dev/null
prepare() {
	git init -q --bare repo
	words 300000 3 >text
	python3 - <<'PY' | git fast-import --quiet
import random, sys
random.seed(9)
text = open("text").read().split("\n")
files = {"d%d/f%d.txt" % (i % 6, i): [random.choice(text) for _ in range(40 + 20 * i)] for i in range(30)}
out = sys.stdout
for c in range(300):
    touched = list(files) if c == 0 else random.sample(sorted(files), 3)
    out.write("commit refs/heads/master\ncommitter A <a@example.org> %d +0000\ndata 4\nedit\n" % (1700000000 + c))
    for f in touched:
        for _ in range(4 if c else 0):
            at = random.randrange(len(files[f]))
            files[f][at:at + random.randrange(3)] = [random.choice(text) for _ in range(random.randrange(3))]
        body = "\n".join(files[f]) + "\n"
        out.write("M 100644 inline %s\ndata %d\n%s\n" % (f, len(body), body))
PY
	git repack -q -a -d -f --depth=50
	git rev-list --max-parents=1 master --reverse | tail -n +2 >commits
}
diff_of() { "${@:2}" $program diff-tree -p --stdin -r < <(python3 "$HERE/feed.py" lines:commits "$1" units); }
endless() { diff_of 0 exec; }
finite() { diff_of 1200 "$@"; }
work() { cat "$dir/units"; }
drive "$@"
