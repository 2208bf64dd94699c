#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Litmus tests placed on two GPUs and the host: every way to put the threads of a one-GPU test there. A verdict may
change by what a scope reaches, and by nothing else:

mirrored   GPUs and host threads are to `.gpu` and `.sys` what clusters are to `.cluster` and `.gpu`: the test on one
           GPU, a cluster in place of each, has the same outcomes
monotone   further apart scopes reach less: nothing that was possible becomes impossible
sys        with `.sys` everywhere the place does not matter: the outcomes are those on one GPU; where every scope of
           the test reaches all of it, its verdict is the stated one
brute      the second checker (brute_force.py) has the same outcomes
machines   what `flat` and `caches` do with it in SASS is among what `ptx` allows

usage: placements.py SASSEMU FILE.jsonl[.gz]... [--brute N] [--machines N] [--seed S] [--keep FILE]

--brute, --machines: of so many placements, drawn by the seed. Exit 1 when one of these does not hold.
"""

import argparse
import gzip
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import brute_force

SCOPE = re.compile(r"\.(cta|cluster|gpu|sys)\b")
OF_HOST = re.compile(r"(ld|st|atom|red|fence\.(sc|acq_rel|acquire|release)|mov|bra|beq|bne|add|\w+:)\b")
PROXIES = re.compile(r"fence\.proxy|sust|suld|tld|cold")
SCOPES = ("cta", "cluster", "gpu", "sys")


def read(path):
    with gzip.open(path, "rt") if path.endswith(".gz") else open(path) as f:
        for line in f:
            if line.strip() and not line.startswith("//"):
                d = json.loads(line)
                d.setdefault("model", "ptx")
                for t in d.get("threads", []):
                    t.setdefault("gpu", 0)
                    t.setdefault("cta", 0)
                yield d


def taken(d):
    """One GPU, global memory, threads that a condition is asked of."""
    words = " ".join(o for t in d["threads"] for o in t["ops"])
    return (
        "liveness" not in d["model"]
        and d["model"].startswith("ptx")
        and d.get("verdict") in ("allowed", "forbidden")
        and len({t["gpu"] for t in d["threads"]}) == 1
        and not any(d.get(k) for k in ("locations", "options", "target", "undefined"))
        and all(set(t) <= {"id", "gpu", "cta", "ops"} for t in d["threads"])
        and not re.search(r"cluster|async|mbarrier|tensormap|tcgen|wgmma|volatile|mmio|membar", words)
    )


def placements(d):
    """Each a place per thread: 0, 1 (a GPU) or "host". Threads that meet at a barrier stay together."""
    threads = d["threads"]
    meets = any(o.startswith("bar") for t in threads for o in t["ops"])
    units = (
        [[i for i, t in enumerate(threads) if t["cta"] == c] for c in sorted({t["cta"] for t in threads})]
        if meets
        else [[i] for i in range(len(threads))]
    )
    for where in itertools.product((0, 1, "host"), repeat=len(units)):
        gpus = [w for w in where if w != "host"]
        if not gpus or gpus[0] != 0 or set(where) == {0}:
            continue  # the GPUs are alike; all on one is the test itself
        if any(
            w == "host" and not all(OF_HOST.match(o) for i in unit for o in threads[i]["ops"])
            for w, unit in zip(where, units)
        ):
            continue
        yield [dict((i, w) for w, unit in zip(where, units) for i in unit)[i] for i in range(len(threads))]


def rescoped(ops, how):
    return [SCOPE.sub(lambda m: "." + how[m[1]], o) for o in ops]


def placed(d, where):
    threads = []
    for t, w in zip(d["threads"], where):
        threads.append(
            {"id": t["id"], "kind": "host", "ops": t["ops"]} if w == "host" else t | {"gpu": w, "cta": t["cta"]}
        )
    return {**d, "name": f"{d['name']} on {','.join(map(str, where))}", "threads": threads}


def mirrored(d, where):
    """On one GPU: a cluster for each GPU and for each thread of the host. A CTA's threads that went to different places
    are not one CTA any more."""
    threads = []
    for i, (t, w) in enumerate(zip(d["threads"], where)):
        cta, cluster = (100 + i, 100 + i) if w == "host" else (t["cta"] + 10 * w, w)
        threads.append(
            {
                "id": t["id"],
                "gpu": 0,
                "cta": cta,
                "cluster": cluster,
                "ops": rescoped(t["ops"], {"cta": "cta", "gpu": "cluster", "sys": "gpu"}),
            }
        )
    return {**d, "name": d["name"] + " mirrored", "threads": threads}


def everywhere(d, name):
    """With `.sys` in place of every scope."""
    return {
        **d,
        "name": name,
        "threads": [{**t, "ops": rescoped(t["ops"], dict.fromkeys(SCOPES, "sys"))} for t in d["threads"]],
    }


def reaches_all(d):
    scopes = {m[1] for t in d["threads"] for o in t["ops"] for m in SCOPE.finditer(o)}
    return "cta" not in scopes or len({t["cta"] for t in d["threads"]}) == 1


def run(program, tests, *options):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as f:
        for d in tests:
            f.write(
                json.dumps(
                    {
                        k: v
                        for k, v in d.items()
                        if k in ("name", "threads", "init", "locations", "aliases", "condition", "model", "options")
                    }
                )
                + "\n"
            )
        f.flush()
        r = subprocess.run([program, "litmus", f.name, "--json", *options], capture_output=True, text=True)
    found = {}
    for line in r.stdout.splitlines():
        o = json.loads(line)
        found[o["name"]] = o
    return found


def states(o):
    return {tuple(sorted(x["state"].items())) for x in o["outcomes"]}


# ---- machine code
SASS_SCOPE = {"cta": "SM", "gpu": "GPU", "sys": "SYS"}
SASS_LEVEL = {"cta": "CTA", "gpu": "GPU", "sys": "SYS"}


def word(op, registers, locations):
    """The SASS that ptxas makes of it; None: not among what is tried here."""
    m = re.fullmatch(
        r"(ld|st|atom|fence)\.(weak|relaxed|acquire|release|acq_rel|sc)(?:\.(cta|gpu|sys))?(?:\.(add|exch))?(?: (.*))?",
        op,
    )
    if not m:
        return None
    kind, order, scope, how, rest = m.groups()
    operands = [x.strip() for x in rest.split(",")] if rest else []
    level, strong = SASS_LEVEL.get(scope), "" if order == "weak" else f".STRONG.{SASS_SCOPE[scope]}"
    after = ["CCTL.IVALL"] if order in ("acquire", "acq_rel", "sc") and scope != "cta" else []
    if kind == "fence":
        return [f"MEMBAR.{'SC' if order == 'sc' else 'ALL'}.{level}"] + after
    before = [f"MEMBAR.ALL.{level}"] if order in ("release", "acq_rel") else []

    def address(x):
        name = x.strip("[]")
        locations.add(name)
        return f"desc[UR4][{name}.64]"

    def operand(x, to):
        return f"MOV {to}, {registers[x]}" if x in registers else f"MOV {to}, {int(x):#x}"

    def result(x):
        return registers.setdefault(x, f"R{16 + len(registers)}")

    if kind == "ld":
        return [f"LDG.E{strong} {result(operands[0])}, {address(operands[1])}"] + after
    if kind == "st":
        return before + [operand(operands[1], "R12"), f"STG.E{strong} {address(operands[0])}, R12"]
    value = operand(operands[2], "R12")
    return (
        before
        + [
            value,
            f"ATOMG.E.{how.upper()}.STRONG.{SASS_SCOPE[scope]} PT, {result(operands[0])}, {address(operands[1])}, R12",
        ]
        + after
    )


def sass(d, where, choose):
    """The placed test as a .sass file; None: it has what has no such words. Also the names in the condition, as the
    file has them."""
    if d.get("aliases"):
        return None
    renamed, kernels, threads, all_locations = {}, [], [], set()
    for t, w in zip(d["threads"], where):
        if w == "host":
            if not all(re.match(r"(ld|st|atom|red|fence)\.", o) for o in t["ops"]):
                return None
            threads.append({"id": t["id"], "kind": "host", "ops": t["ops"]})
            continue
        registers, locations, lines = {}, set(), []
        for op in t["ops"]:
            words = word(op, registers, locations)
            if words is None:
                return None
            lines += words
        for k, name in enumerate(sorted(locations)):
            lines = [re.sub(rf"\[{name}\.64\]", f"[R{2 * k + 2}.64]", line) for line in lines]
        head = ["ULDC.64 UR4, c[0x0][0x208]"] + [
            f"LDC.64 R{2 * k + 2}, c[0x0][{name}]" for k, name in enumerate(sorted(locations))
        ]
        kernels += (
            [f".kernel k{t['id']}"]
            + [f"    .param {name} 8" for name in sorted(locations)]
            + ["        " + x for x in head + lines + ["EXIT"]]
        )
        threads.append({"id": t["id"], "gpu": w, "cta": t["cta"], "kernel": f"k{t['id']}"})
        renamed |= {f"{t['id']}:{name}": f"{t['id']}:{r}" for name, r in registers.items()}
        all_locations |= locations
    if len(all_locations) > 4 or any(v and ":" not in k for k, v in d.get("init", {}).items()):
        return None
    for name in re.findall(r"(?<![:\w])[a-z]\w*(?![:\w])", d["condition"]):
        all_locations.add(name)
    for t in threads:
        for op in t.get("ops", []):
            all_locations |= set(re.findall(r"\[(\w+)\]", op))
    test = {
        "name": "t",
        "threads": threads,
        "locations": {x: {"home": choose.choice((0, 1, "host"))} for x in sorted(all_locations)},
        "condition": re.sub(r"\w+:\w+", lambda m: renamed.get(m[0], m[0]), d["condition"]),
    }
    return "\n".join(["// litmus " + json.dumps(test), ".target sm_90"] + kernels) + "\n", {
        v: k for k, v in renamed.items()
    }


def machines(program, d, where, allowed, seed):
    """What is wrong; None: not tried."""
    made = sass(d, where, random.Random(seed))
    if not made:
        return None
    text, names = made
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "t.sass")
        open(path, "w").write(text)
        wrong, shown = [], {}
        for model in "flat", "caches", "caches:relaxed=1":
            r = subprocess.run(
                [program, "litmus", "--json", "--threads", "1", "--time-limit", "20", "--model", model, path],
                capture_output=True,
                text=True,
            )
            o = json.loads(r.stdout.splitlines()[0]) if r.stdout else {"verdict": "error", "error": r.stderr}
            if o["verdict"] == "error":
                return [f"{d['name']} ({model}): {o.get('error')}\n{text}"]
            shown[model] = {tuple(sorted((names.get(k, k), v) for k, v in x["state"].items())) for x in o["outcomes"]}
            wrong += [
                f"{d['name']} on {where}: '{model}' shows {dict(s)}, which ptx does not allow\n{text}"
                for s in sorted(shown[model] - allowed)
            ]
            if not o["complete"]:
                return wrong
    for less, more in ("flat", "caches"), ("caches", "caches:relaxed=1"):
        wrong += [
            f"{d['name']} on {where}: '{less}' shows {dict(s)}, which '{more}' cannot\n{text}"
            for s in sorted(shown[less] - shown[more])
        ]
    return wrong


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("files", nargs="+")
    p.add_argument("--brute", type=int, default=0)
    p.add_argument("--machines", type=int, default=0)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--keep", help="writes the placed tests there")
    a = p.parse_args()
    originals = [d for f in a.files for d in read(f) if taken(d)]
    all_placed = [(d, where, placed(d, where)) for d in originals for where in placements(d)]
    if a.keep:
        open(a.keep, "w").write("".join(json.dumps(t) + "\n" for _, _, t in all_placed))
    found = run(
        a.program,
        originals
        + [everywhere(d, d["name"] + " sys") for d in originals]
        + [t for _, _, t in all_placed]
        + [everywhere(t, t["name"] + " sys") for _, _, t in all_placed],
    )
    # Clusters are newer than the corpora's models: the same axioms in `ptx`.
    plain = [
        x
        for x in all_placed
        if not any(
            re.match(r"fence\.proxy\.(surface|texture|constant)|(ld|st)\.seq_cst", o)
            for t in x[2]["threads"]
            for o in t["ops"]
        )
    ]
    images = run(
        a.program,
        [t for _, _, t in plain] + [mirrored(d, where) | {"name": t["name"] + " mirrored"} for d, where, t in plain],
        "--model",
        "ptx",
    )
    wrong, stated = [], 0

    def expect(holds, name, why):
        if not holds:
            wrong.append(f"{name}: {why}")

    for d, where, t in all_placed:
        name = t["name"]
        o, s = found.get(name), found.get(name + " sys")
        if not o or not s or "error" in (o["verdict"], s["verdict"]) or not (o["complete"] and s["complete"]):
            wrong.append(f"{name}: {o and o.get('error')} {s and s.get('error')}")
            continue
        before, sys_before = found[d["name"]], found[d["name"] + " sys"]
        expect(states(before) <= states(o), name, "what was possible on one GPU is not any more")
        if not any(PROXIES.match(x) for th in d["threads"] for x in th["ops"]):  # proxies are of a CTA
            expect(states(s) == states(sys_before), name, "the place matters although every scope is .sys")
            if reaches_all(d):
                stated += 1
                expect(
                    s["verdict"] == d["verdict"],
                    name,
                    f"every scope reaches all of it: {s['verdict']}, stated is {d['verdict']}",
                )
    for d, where, t in plain:
        o, m = images.get(t["name"]), images.get(t["name"] + " mirrored")
        if not o or not m or "error" in (o["verdict"], m["verdict"]):
            wrong.append(f"{t['name']}: {o and o.get('error')} {m and m.get('error')}")
        else:
            expect(states(o) == states(m), t["name"], f"not as with clusters for GPUs: {states(o) ^ states(m)}")
    choose = random.Random(a.seed)
    tried = choose.sample(all_placed, min(a.brute, len(all_placed)))
    for d, where, t in tried:
        expect(
            {tuple(sorted(x["state"].items())) for x in brute_force.explore(t, 60).get("outcomes", [])}
            == states(found[t["name"]]),
            t["name"],
            "the brute force differs",
        )
    runs = 0
    if a.machines:
        # As they are, and with `.sys` everywhere, where machines may show least.
        drawn = []
        for d, where, t in choose.sample(plain, min(8 * a.machines, len(plain))):
            drawn.append((d, where, images[t["name"]]))
            drawn.append((everywhere(d, d["name"] + " sys"), where, found[t["name"] + " sys"]))
        with ThreadPoolExecutor(2) as pool:
            jobs = (
                pool.submit(machines, a.program, d, where, states(o), k)
                for k, (d, where, o) in enumerate(drawn)
                if sass(d, where, random.Random(k))
            )
            for job in list(itertools.islice(jobs, a.machines)):
                runs += 1
                wrong += job.result()
    for line in wrong[:20]:
        print(line, file=sys.stderr)
    print(
        f"{len(originals)} tests in {len(all_placed)} placements, {len(plain)} with clusters in place of GPUs, "
        f"{stated} of a stated verdict, {len(tried)} by brute force, "
        f"{runs} on machines; {len(wrong)} wrong"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
