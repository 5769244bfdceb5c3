#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Schemas are closed: whatever golden outputs say in JSON has no key that its schema does not know.
. "$(dirname "$0")/../lib.sh"
python3 -c 'import jsonschema' 2>/dev/null || { skip "schemas" "python3-jsonschema is not installed"; exit 0; }
cat >judge.py <<'PY'
import collections, glob, json, re, subprocess, sys, warnings
warnings.simplefilter("ignore")
import jsonschema
validators, seen, wrong = {}, collections.Counter(), collections.Counter()
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
        if seen[name] >= int(sys.argv[2]):
            continue
        seen[name] += 1
        for e in validators[name].iter_errors(value):
            wrong[name + ": " + "/".join("*" if isinstance(p, int) else p for p in e.path) + ": " + e.message[-120:]] += 1
for name, n in sorted(seen.items()):
    print(f"{n} of {name}")
for what, n in wrong.most_common(40):
    print(f"{n} times {what}")
sys.exit(1 if wrong or len(seen) < 8 else 0)
PY
check "golden outputs have no keys that schemas do not know" python3 judge.py "$TOP/tests/golden" 6
accperf help --json-schema flow >flow.schema
check "an unknown key fails" python3 -c 'import json, jsonschema
schema = json.load(open("flow.schema"))
assert schema["additionalProperties"] is False
assert schema["properties"]["edges"]["items"]["additionalProperties"] is False'
