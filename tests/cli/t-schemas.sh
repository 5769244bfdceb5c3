#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Schemas are closed: whatever golden outputs say in JSON has no key that its schema does not know.
. "$(dirname "$0")/../lib.sh"
python3 -c 'import jsonschema' 2>/dev/null || { skip "schemas" "python3-jsonschema is not installed"; exit 0; }
cat >judge.py <<'PY'
import collections, glob, json, re, subprocess, sys, warnings
warnings.simplefilter("ignore")
import jsonschema
validators, seen, wrong, met = {}, collections.Counter(), collections.Counter(), collections.defaultdict(set)

def keys(value, path, to):
    """Every key and the kind of what it holds; an output that has none but known ones is not judged again."""
    if isinstance(value, dict):
        for k, v in value.items():
            to.add(path + "/" + (k if not k.isdigit() else "*"))
            keys(v, path + "/" + k, to)
    elif isinstance(value, list):
        for v in value[:50]:
            keys(v, path + "/*", to)
    else:
        to.add(path + ":" + type(value).__name__)
    return to

for path in sorted(glob.glob(sys.argv[1] + "/*.txt.zst")):
    text = subprocess.run(["zstd", "-dcq", path], capture_output=True, check=True).stdout.decode(errors="replace")
    for line in text.splitlines():
        if not line.startswith('{"schema":"accperf.'):
            continue
        value = json.loads(line)
        name = re.match(r"accperf\.([a-z-]+)/1", value["schema"]).group(1)
        if name not in validators:
            schema = json.loads(subprocess.run(["accperf", "help", "--json-schema", name], capture_output=True, check=True).stdout)
            validators[name] = jsonschema.Draft7Validator(schema)
        own = keys(value, "", set())
        if own <= met[name]:
            continue
        met[name] |= own
        seen[name] += 1
        for e in validators[name].iter_errors(value):
            wrong[name + ": " + "/".join("*" if isinstance(p, int) else p for p in e.path) + ": " + e.message[-120:]] += 1
for name, n in sorted(seen.items()):
    print(f"{n} of {name}")
for what, n in wrong.most_common(40):
    print(f"{n} times {what}")
sys.exit(1 if wrong or len(seen) < 8 else 0)
PY
check "golden outputs have no keys that schemas do not know" python3 judge.py "$TOP/tests/golden"
check "an unknown key fails in every schema: each object lists what it may hold" python3 -c '
import json, subprocess, sys
def told(text): return subprocess.run(["accperf", "help", "--json-schema", text], capture_output=True, check=True, text=True).stdout
def walk(s, path):
    if isinstance(s, list):
        for i, v in enumerate(s): yield from walk(v, path + "/%d" % i)
    if not isinstance(s, dict): return
    kind = s.get("type")
    if kind == "object" or isinstance(kind, list) and "object" in kind or isinstance(s.get("properties"), dict) and kind:
        of_one_kind = isinstance(s.get("additionalProperties"), dict) and "properties" not in s and (
            s.get("propertyNames") or path.rpartition("/")[2] in ("labels", "base_labels", "other_labels")) # a user names labels
        if not of_one_kind and (s.get("additionalProperties") is not False or not s.get("properties")): yield path or "/"
    for k, v in s.items(): yield from walk(v, path + "/" + k)
names = told("list").split()
found = [n + " " + at for n in names for at in walk(json.loads(told(n)), "")]
print("\n".join(found))
sys.exit(1 if found or len(names) < 25 else 0)'
