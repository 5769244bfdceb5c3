# SPDX-License-Identifier: GPL-2.0-or-later
"""OTLP profiles of opentelemetry-proto 1.11.0, read by field numbers and held to the rules of the project's own checker
(open-telemetry/sig-profiling, profcheck: indices in range, element 0 empty, no duplicates, nothing that no sample
reaches, samples of one shape, ids of 16 bytes), and to those of this program: one sample per stack and attributes.

    otlp.py FILE        one JSON object that says what is in it, or an AssertionError
"""
import json, sys

def fields(b):
    """The fields of a message: a list of (number, value); value an int, or bytes."""
    at, out = 0, []
    def varint():
        nonlocal at
        v = shift = 0
        while True:
            c = b[at]; at += 1; v |= (c & 127) << shift; shift += 7
            if c < 128: return v
    while at < len(b):
        tag = varint(); kind = tag & 7
        assert tag >> 3, "field 0"
        if kind == 0: v = varint()
        elif kind == 1: v = int.from_bytes(b[at:at + 8], "little"); at += 8
        elif kind == 2:
            n = varint(); v = b[at:at + n]; at += n
            assert len(v) == n, "cut off"
        else: raise AssertionError("kind %d" % kind)
        out.append((tag >> 3, v))
    return out

def read(b, known):
    """known: field -> (name, kind); kind: 'int', 'text', 'bytes', or a dict for a message; a list of one: repeated."""
    m = {n: [] if isinstance(k, list) else None for n, k in known.values()}
    for f, v in fields(b):
        assert f in known, "unknown field %d" % f
        name, kind = known[f]
        many = isinstance(kind, list); k = kind[0] if many else kind
        if k == "packed":
            at = 0
            while at < len(v):
                n = shift = 0
                while True:
                    c = v[at]; at += 1; n |= (c & 127) << shift; shift += 7
                    if c < 128: break
                m[name].append(n)
            continue
        if k == "text": v = v.decode("utf-8")
        elif isinstance(k, dict): v = read(v, k)
        elif k == "int": assert isinstance(v, int), name
        if many: m[name].append(v)
        else:
            assert m[name] is None, name + " twice"
            m[name] = v
    return m

ANY = {1: ("text", "text"), 3: ("number", "int")}
PAIR = {1: ("key", "text"), 2: ("value", ANY)}
TYPE = {1: ("type", "int"), 2: ("unit", "int")}
SAMPLE = {1: ("stack", "int"), 2: ("attributes", ["packed"]), 3: ("link", "int"), 4: ("values", ["packed"]), 5: ("times", ["packed"])}
PROFILE = {1: ("type", TYPE), 2: ("samples", [SAMPLE]), 3: ("time", "int"), 4: ("duration", "int"), 5: ("period_type", TYPE),
           6: ("period", "int"), 7: ("id", "bytes"), 8: ("dropped", "int"), 11: ("attributes", ["packed"])}
SCOPE = {1: ("scope", {1: ("name", "text"), 2: ("version", "text")}), 2: ("profiles", [PROFILE]), 3: ("schema", "text")}
RESOURCE = {1: ("resource", {1: ("attributes", [PAIR])}), 2: ("scopes", [SCOPE]), 3: ("schema", "text")}
LINE = {1: ("function", "int"), 2: ("line", "int"), 3: ("column", "int")}
DICTIONARY = {
    1: ("mappings", [{1: ("start", "int"), 2: ("limit", "int"), 3: ("offset", "int"), 4: ("file", "int"), 5: ("attributes", ["packed"])}]),
    2: ("locations", [{1: ("mapping", "int"), 2: ("address", "int"), 3: ("lines", [LINE]), 4: ("attributes", ["packed"])}]),
    3: ("functions", [{1: ("name", "int"), 2: ("system", "int"), 3: ("file", "int"), 4: ("start", "int")}]),
    4: ("links", [{1: ("trace", "bytes"), 2: ("span", "bytes")}]),
    5: ("strings", ["text"]),
    6: ("attributes", [{1: ("key", "int"), 2: ("value", ANY), 3: ("unit", "int")}]),
    7: ("stacks", [{1: ("locations", ["packed"])}]),
}
DATA = {1: ("resources", [RESOURCE]), 2: ("dictionary", DICTIONARY)}

def check(b):
    d = read(b, DATA)
    dic = d["dictionary"]
    used = {t: {0} for t in dic}
    def ref(table, i):
        i = i or 0
        assert 0 <= i < len(dic[table]), (table, i, len(dic[table]))
        used[table].add(i)
        return dic[table][i]
    def attributes(of):
        keys = [dic["strings"][ref("attributes", i)["key"] or 0] for i in of]
        assert 0 not in of and len(keys) == len(set(keys)), keys
        return {dic["strings"][dic["attributes"][i]["key"]]: next(v for v in dic["attributes"][i]["value"].values() if v is not None) for i in of}
    for t, rows in dic.items():
        assert rows, t + " is empty"
        first = rows[0]
        assert first == "" or not any(v for v in first.values()), (t, first)
        seen = [json.dumps(r, sort_keys=True, default=lambda v: v.hex()) for r in rows]
        assert len(seen) == len(set(seen)), "twice in " + t
    assert d["resources"]
    said = {"resource": {}, "places": [], "types": {}, "frames": {}, "build_ids": 0, "functions": {}, "attributes": {}}
    ids = set()
    for r in d["resources"]:
        pairs = {a["key"]: a["value"]["text"] for a in r["resource"]["attributes"]}
        assert len(pairs) == len(r["resource"]["attributes"]) and pairs.get("service.name")
        said["resource"] = pairs
        said["places"].append([pairs.get("container.id"), pairs.get("k8s.pod.name"), 0])
        assert r["scopes"]
        for s in r["scopes"]:
            assert s["scope"]["name"] == "accperf" and s["profiles"]
            for p in s["profiles"]:
                assert len(p["id"]) == 16 and any(p["id"]) and p["id"] not in ids; ids.add(p["id"])
                kind = "%s/%s" % (ref("strings", p["type"]["type"]), ref("strings", p["type"]["unit"]))
                if p["period_type"]: ref("strings", p["period_type"]["type"]), ref("strings", p["period_type"]["unit"])
                said["attributes"].update(attributes(p["attributes"]))
                keys, total = set(), 0
                for x in p["samples"]:
                    ref("stacks", x["stack"])
                    a = attributes(x["attributes"])
                    assert "process.pid" in a
                    assert len(x["values"]) == 1 and not x["times"] and x["link"] is None
                    key = (x["stack"], tuple(sorted(x["attributes"])))
                    assert key not in keys; keys.add(key)
                    total += x["values"][0]
                    locations = dic["stacks"][x["stack"] or 0]["locations"]
                    if locations and kind.startswith(("cpu", "instructions", "accesses")):
                        lines = dic["locations"][locations[0]]["lines"]
                        if lines:
                            f = dic["strings"][dic["functions"][lines[0]["function"] or 0]["name"] or 0]
                            said["functions"][f] = said["functions"].get(f, 0) + x["values"][0]
                said["types"][kind] = said["types"].get(kind, 0) + total
                said["places"][-1][2] += total if kind == "samples/count" else 0
    for i, s in enumerate(dic["stacks"]):
        assert 0 not in s["locations"] and (i == 0 or s["locations"])
        if i in used["stacks"]:
            for l in s["locations"]: ref("locations", l)
    for i in sorted(used["locations"] - {0}):
        l = dic["locations"][i]
        m = ref("mappings", l["mapping"])
        for t in attributes(l["attributes"]).values(): said["frames"][t] = said["frames"].get(t, 0) + 1
        for line in l["lines"]: ref("functions", line["function"])
    for i in sorted(used["mappings"] - {0}):
        m = dic["mappings"][i]
        ref("strings", m["file"]); said["build_ids"] += "process.executable.build_id.gnu" in attributes(m["attributes"])
        assert not m["limit"] or (m["start"] or 0) < m["limit"]
    for i in used["functions"]:
        for k in ("name", "system", "file"): ref("strings", dic["functions"][i][k])
    for i in used["attributes"]: ref("strings", dic["attributes"][i]["key"]), ref("strings", dic["attributes"][i]["unit"])
    for t, rows in dic.items():
        assert used[t] == set(range(len(rows))), "nothing reaches %s %s" % (t, sorted(set(range(len(rows))) - used[t])[:5])
    return said

if __name__ == "__main__":
    print(json.dumps(check(open(sys.argv[1], "rb").read())))
