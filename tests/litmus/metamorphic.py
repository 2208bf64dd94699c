#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes to a program whose effect on the verdict is known, judged by `sassemu litmus`.

usage: metamorphic.py SASSEMU FILE.jsonl[.gz]... [--count N] [--seed S]

A stronger ordering, a wider scope or one more fence never turns forbidden into allowed; other names and another order of threads change nothing.
--count: that many changed programs, chosen at random over all tests (absent: all).
"""
import argparse
import random
import re
import sys
from brute_force import load
from compare import run, states

STRONGER_FENCE = {"acquire": ["acq_rel", "sc"], "release": ["acq_rel", "sc"], "acq_rel": ["sc"]}
WIDER = {"cta": "gpu", "cluster": "gpu", "gpu": "sys"}


def stronger(op):
    """The texts that are this operation, stronger."""
    out = []
    if re.search(r"sync_restrict|mbarrier_init|proxy|mmio|seq_cst", op):
        return out
    if m := re.match(r"fence\.(acquire|release|acq_rel)\.(\w+)", op):
        out += [op.replace(m[1], s, 1) for s in STRONGER_FENCE[m[1]]]
    if m := re.match(r"(fence\.\w+|(?:ld|st|atom|red)\.(?:relaxed|acquire|release|acq_rel)|mbarrier\.(?:arrive|try_wait|test_wait)\.(?:relaxed|acquire|release))\.(cta|cluster|gpu)\b", op):
        wide = WIDER[m[2]] if not op.startswith("mbarrier") else {"cta": "cluster"}.get(m[2])
        if wide:
            out.append(f"{m[1]}.{wide}{op[m.end():]}")
    for old, new in (("ld.relaxed.", "ld.acquire."), ("st.relaxed.", "st.release."), ("atom.relaxed.", "atom.acq_rel."), ("atom.acquire.", "atom.acq_rel."),
                     ("atom.release.", "atom.acq_rel."), ("ld.weak ", "ld.relaxed.sys "), ("st.weak ", "st.relaxed.sys "), ("ld.weak.", "ld.relaxed.sys."),
                     ("st.weak.", "st.relaxed.sys."), ("mbarrier.try_wait.relaxed.", "mbarrier.try_wait.acquire."), ("mbarrier.arrive.relaxed.", "mbarrier.arrive.release."),
                     ("barrier.cluster.arrive.relaxed", "barrier.cluster.arrive.release")):
        if op.startswith(old):
            out.append(new + op[len(old):])
    return out


def changed(d):
    """(what, program, kind): kind `same` or `not weaker`."""
    base = {k: v for k, v in d.items() if k in ("init", "locations", "aliases", "condition", "model", "options", "bound", "threads")}

    def with_ops(t, ops):
        return base | {"threads": [th | {"ops": ops} if i == t else th for i, th in enumerate(d["threads"])]}
    scopes = "fence.acq_rel.gpu" if d["model"] != "ptx" else "fence.acq_rel.cluster"
    for t, th in enumerate(d["threads"]):
        for i, op in enumerate(th["ops"]):
            for s in stronger(op):
                yield f"{th['id']}: {op} -> {s}", with_ops(t, th["ops"][:i] + [s] + th["ops"][i + 1:]), "not weaker"
            if i:
                yield f"{th['id']}: {scopes} before {op}", with_ops(t, th["ops"][:i] + [scopes] + th["ops"][i:]), "not weaker"
    yield "threads reversed", base | {"threads": d["threads"][::-1]}, "same"
    yield "other names", renamed(base), "same"


def renamed(d):
    ids = {th["id"]: f"T{len(d['threads']) - i}" for i, th in enumerate(d["threads"])}
    names = set(d.get("locations", {})) | {a["addr"] for a in d.get("aliases", [])} | {a["of"] for a in d.get("aliases", [])}
    for th in d["threads"]:
        for op in th["ops"]:
            names |= set(re.findall(r"\[\s*([A-Za-z_]\w*)", op)) | set(re.findall(r"&(\w+)", op))
    names |= {k for k in d.get("init", {}) if ":" not in k}
    new = {n: f"m{len(n)}_{n}" for n in names}

    def name(text, outside=True):
        text = re.sub(r"\b(" + "|".join(map(re.escape, ids)) + r")(?=:|$)", lambda m: ids[m[1]], text)
        return re.sub(r"(?<![\w:.])([A-Za-z_]\w*)(?![\w:])", lambda m: new.get(m[1], m[1]), text) if outside else text

    def operation(op):
        if re.match(r"api\.", op):
            return " ".join([op.split()[0], ids[op.split()[1]]])
        return re.sub(r"(?<=\[)\s*([A-Za-z_]\w*)|(?<=&)(\w+)", lambda m: new.get(m[1] or m[2], m[1] or m[2]), op)
    out = dict(d)
    out["threads"] = [th | {"id": ids[th["id"]], "ops": [operation(o) for o in th["ops"]]} for th in d["threads"]]
    out["condition"] = name(d["condition"])
    out["init"] = {(f"{ids[k.split(':')[0]]}:{k.split(':')[1]}" if ":" in k else new[k]): ("&" + new[v[1:]] if isinstance(v, str) else v) for k, v in d.get("init", {}).items()}
    out["locations"] = {new[k]: (v | {"of": new[v["of"]]} if "of" in v else v) for k, v in d.get("locations", {}).items()}
    out["aliases"] = [a | {"addr": new[a["addr"]], "of": new[a["of"]]} for a in d.get("aliases", [])]
    return out


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("files", nargs="+")
    p.add_argument("--count", type=int)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    tests = [d for f in a.files for d in load(f) if d["model"] in ("ptx", "ptx60", "ptx75-proxy") and d["verdict"] != "error" and "undefined" not in d]
    variants = [(d, what, v, kind) for d in tests for what, v, kind in changed(d)]
    if a.count and a.count < len(variants):
        variants = random.Random(a.seed).sample(variants, a.count)
    bases = {d["name"]: d for d, _, _, _ in variants}
    found, _ = run(a.program, [{k: v for k, v in d.items() if k != "target"} for d in bases.values()]
                   + [v | {"name": f"variant {i}"} for i, (_, _, v, _) in enumerate(variants)], 1200)
    wrong = unknown = 0
    for i, (d, what, v, kind) in enumerate(variants):
        base, after = found.get(d["name"]), found.get(f"variant {i}")
        if base is None or after is None or "error" in (base["verdict"], after["verdict"]):
            unknown += 1
            if after and "error" in after and base and base["verdict"] != "error":
                print(f"ERROR {d['name']}: {what}: {after['error']}")
            continue
        if kind == "same":
            bad = base["verdict"] != after["verdict"] or len(states(base)) != len(states(after)) or base.get("undefined") != after.get("undefined")
        else:
            bad = base["verdict"] == "forbidden" and after["verdict"] == "allowed" and not after.get("undefined")
        if bad:
            wrong += 1
            print(f"BROKEN {d['name']}: {what}: {base['verdict']} -> {after['verdict']} ({kind})")
    print(f"{len(variants)} changed programs of {len(bases)} tests, {wrong} broken, {unknown} without an answer")
    sys.exit(bool(wrong or unknown))


if __name__ == "__main__":
    main()
