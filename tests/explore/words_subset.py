#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Machine code under three readings: whatever the machines `flat` and `caches` can do, and whatever the fast engine does under them with any seed, is
allowed by `ptx`; and what the engine does under `flat` and `caches` is among what exploration of these shows. Random kernels: loads, stores, atomics of every strength, fences,
dependencies through registers and guards, over two words of memory.

usage: words_subset.py SASSEMU [--tests N] [--seeds N] [--seed S] [--keep DIR]
"""
import argparse
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

PLACES = {"x": 0x0, "y": 0x20}  # in sectors of their own
SIZE = 0x24
THREADS = [2, 2, 3]
STRONG = ["", "", ".STRONG.SM", ".STRONG.GPU", ".STRONG.GPU", ".STRONG.SYS"]
FENCES = [["MEMBAR.SC.GPU", "CCTL.IVALL"], ["MEMBAR.ALL.GPU"], ["MEMBAR.ALL.GPU", "CCTL.IVALL"], ["MEMBAR.ALL.CTA"], ["MEMBAR.SC.SYS", "CCTL.IVALL"], ["CCTL.IVALL"]]


def body(choose, number, slots):
    """Instructions of one thread; the registers that it loads go to `slots`."""
    lines, loaded = [], []
    for _ in range(choose.randint(2, 3)):
        place = choose.choice(list(PLACES))
        address = f"desc[UR4][R2.64+{PLACES[place]:#x}]"
        kind = choose.choice(["load", "load", "store", "store", "fence", "atomic"])
        if kind == "fence":
            lines += choose.choice(FENCES)
            continue
        register = 16 + len(loaded)
        if kind == "load":
            if loaded and choose.random() < 0.3:  # the address depends on an earlier load
                lines += [f"IMAD R8, R{loaded[-1]}, 0x0, RZ", "IADD3 R8, P1, R2, R8, RZ", "IADD3.X R9, PT, PT, R3, RZ, RZ, P1, !PT"]
                address = f"desc[UR4][R8.64+{PLACES[place]:#x}]"
            lines.append(f"LDG.E{choose.choice(STRONG)} R{register}, {address}")
            loaded.append(register)
        elif kind == "store":
            value = len(lines) + 10 * number + 1
            lines.append(f"MOV R12, {value:#x}")
            guard = ""
            if loaded and choose.random() < 0.5:
                if choose.random() < 0.5:
                    lines.append(f"IADD3 R12, R12, R{loaded[-1]}, RZ")
                else:
                    lines.append(f"ISETP.NE.AND P0, PT, R{loaded[-1]}, {choose.randint(0, 2):#x}, PT")
                    guard = "@P0 "
            lines.append(f"{guard}STG.E{choose.choice(STRONG)} {address}, R12")
        else:
            lines.append(f"MOV R12, {choose.randint(1, 3):#x}")
            lines.append(f"ATOMG.E.{choose.choice(['ADD', 'EXCH'])}.STRONG.{choose.choice(['GPU', 'SYS'])} PT, R{register}, {address}, R12")
            loaded.append(register)
    shown = []
    for register in loaded:
        shown.append(f"STG.E desc[UR4][R4.64+{4 * len(slots):#x}], R{register}")
        slots.append(f"P{number}:R{register}")
    return lines, shown


def kernel(seed):
    """As one kernel that shows its registers in memory; its grid and block; as a .sass test with a kernel for each thread; the registers."""
    choose = random.Random(seed)
    threads, slots = choose.choice(THREADS), []
    together = threads > 2 and choose.random() < 0.3  # two of them in one CTA, in warps of their own
    places = [(0, 0), (0, 32), (1, 0)] if together else [(t, 0) for t in range(threads)]
    text = [".target sm_90", ".kernel k", "    .param mem 8", "    .param out 8", "        S2R R0, SR_CTAID.X", "        S2R R1, SR_TID.X",
            "        ULDC.64 UR4, c[0x0][0x208]", "        LDC.64 R2, c[0x0][mem]", "        LDC.64 R4, c[0x0][out]", "        IMAD R6, R0, 0x1000, R1"]
    for n, (cta, thread) in enumerate(places):
        text += [f"        ISETP.EQ.AND P0, PT, R6, {0x1000 * cta + thread:#x}, PT", f"  @P0   BRA BODY{n}"]
    text.append("        EXIT")
    head = ["        ULDC.64 UR4, c[0x0][0x208]", "        LDC.64 R2, c[0x0][mem]"]
    threads, kernels = [], []
    for n, (cta, _) in enumerate(places):
        lines, shown = body(choose, n, slots)
        text += [f"BODY{n}:"] + ["        " + line for line in lines + shown + ["EXIT"]]
        threads.append({"id": f"P{n}", "cta": cta, "kernel": f"k{n}"})
        kernels += [f".kernel k{n}", "    .param mem 8"] + head + ["        " + line for line in lines + ["EXIT"]]
    names = slots + [f"mem[{at // 4}]" for at in PLACES.values()]
    test = {"name": f"k{seed}", "threads": threads, "locations": {"mem": {"size": SIZE}}, "condition": " || ".join(f"{n}==0" for n in names)}
    exact = "\n".join(["// litmus " + json.dumps(test), ".target sm_90"] + kernels) + "\n"
    return "\n".join(text) + "\n", max(c for c, _ in places) + 1, 33 if together else 1, exact, names


def call(*args):
    return subprocess.run(args, capture_output=True, text=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("--tests", type=int, default=60)
    p.add_argument("--seeds", type=int, default=4)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--keep", help="leave the kernels and plans there")
    a = p.parse_args()
    wrong, runs, shown = [], 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        d = a.keep or scratch
        os.makedirs(d, exist_ok=True)
        plans, tests = [], {}
        for seed in range(a.seed, a.seed + a.tests):
            text, grid, block, exact, names = kernel(seed)
            stem = os.path.join(d, f"k{seed}")
            open(stem + ".sass", "w").write(text)
            r = call(a.program, "asm", stem + ".sass", "-o", stem + ".cubin")
            if r.returncode:
                sys.exit(f"k{seed}: {r.stderr}\n{text}")
            open(stem + ".exact.sass", "w").write(exact)
            count = len(names) - len(PLACES)
            plan = {"module": f"k{seed}.cubin", "buffers": {"mem": {"bytes": SIZE}, "out": {"bytes": 4 * max(1, count)}},
                    "launches": [{"kernel": "k", "grid": [grid, 1, 1], "block": [block, 1, 1], "args": [{"buffer": "mem"}, {"buffer": "out"}]}]}
            json.dump(plan, open(stem + ".json", "w"))
            plans.append(stem + ".exact.sass")
            tests[f"k{seed}"] = (stem, names, count)

        def explored(model):
            r = call(a.program, "litmus", "--json", *(["--model", model] if model else []), *plans)
            out = {}
            for line in r.stdout.splitlines():
                t = json.loads(line)
                if t["verdict"] == "error" or not t["complete"]:
                    sys.exit(f"{t['name']} ({t['model']}): {t.get('error') or t.get('bound')}")
                out[t["name"]] = {tuple(o["state"][n] for n in tests[t["name"]][1]) for o in t["outcomes"]}
            if len(out) != len(plans):
                sys.exit(f"{model or 'ptx'}: {r.stderr}")
            return out

        exact, flat, caches = explored(""), explored("flat"), explored("caches")
        for name in tests:
            for model, of in (("flat", flat), ("caches", caches)):
                wrong += [f"{name}: the machine '{model}' shows {dict(zip(tests[name][1], s))}, which ptx does not allow" for s in of[name] - exact[name]]
            wrong += [f"{name}: 'flat' shows {s}, which 'caches' cannot" for s in flat[name] - caches[name]]

        def run(job):
            name, model, seed = job
            stem, names, count = tests[name]
            out = f"{stem}.{model.replace(':', '_').replace('=', '_')}.{seed}"
            r = call(a.program, "run", stem + ".json", "--model", model, "--seed", str(seed), "--threads", "1", "--dump", f"out={out}.o", "--dump", f"mem={out}.m")
            if r.returncode:
                return name, model, seed, r.stderr.strip()
            o, m = open(out + ".o", "rb").read(), open(out + ".m", "rb").read()
            for suffix in ".o", ".m":
                os.remove(out + suffix)
            return name, model, seed, tuple(struct.unpack_from("<I", o, 4 * i)[0] for i in range(count)) + tuple(struct.unpack_from("<I", m, at)[0] for at in PLACES.values())

        models = ["flat", "caches:policy=random", "caches:policy=adversarial"]
        jobs = [(n, m, s) for n in tests for m in models for s in range(1, a.seeds + 1)]
        seen = set()
        with ThreadPoolExecutor(2) as pool:
            for name, model, seed, state in pool.map(run, jobs):
                runs += 1
                if isinstance(state, str):
                    wrong.append(f"{name} under {model}, seed {seed}: {state}")
                    continue
                seen.add((name, state))
                if state not in exact[name]:
                    wrong.append(f"{name} under {model}, seed {seed}: the engine shows {dict(zip(tests[name][1], state))}, which ptx does not allow")
                explored_as = {"flat": flat, "caches": caches}[model.split(":")[0]]
                if state not in explored_as[name]:
                    wrong.append(f"{name} under {model}, seed {seed}: the engine shows {state}, which exploration of it does not")
        shown = len(seen)
    for line in wrong[:20]:
        print(line, file=sys.stderr)
    total = [sum(len(v) for v in of.values()) for of in (exact, flat, caches)]
    print(f"{len(tests)} kernels: {total[0]} outcomes under ptx, {total[1]} under flat, {total[2]} under caches; {runs} runs showed {shown}; {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
