#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Machine code under four readings: whatever the machines `flat`, `caches` and `weak` can do, and whatever the fast engine does under them with any seed, is
allowed by `ptx`; what `flat` can do the others can; and what the engine does under a machine is among what exploration of these shows. Random kernels: loads, stores, atomics of every strength, fences,
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
FENCES = [["MEMBAR.SC.GPU", "CCTL.IVALL"], ["MEMBAR.SC.GPU"], ["MEMBAR.ALL.GPU"], ["MEMBAR.ALL.GPU", "CCTL.IVALL"], ["MEMBAR.ALL.CTA"], ["MEMBAR.SC.SYS", "CCTL.IVALL"], ["CCTL.IVALL"]]


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


class Kernel:
    """A random kernel as files: a plan to run, a test to explore."""

    def __init__(self, program, folder, seed):
        text, grid, block, exact, self.names = kernel(seed)
        self.name, self.stem = f"k{seed}", os.path.join(folder, f"k{seed}")
        self.count = len(self.names) - len(PLACES)
        open(self.stem + ".sass", "w").write(text)
        open(self.stem + ".exact.sass", "w").write(exact)
        r = call(program, "asm", self.stem + ".sass", "-o", self.stem + ".cubin")
        if r.returncode:
            sys.exit(f"{self.name}: {r.stderr}\n{text}")
        json.dump({"module": self.name + ".cubin", "buffers": {"mem": {"bytes": SIZE}, "out": {"bytes": 4 * max(1, self.count)}},
                   "launches": [{"kernel": "k", "grid": [grid, 1, 1], "block": [block, 1, 1], "args": [{"buffer": "mem"}, {"buffer": "out"}]}]}, open(self.stem + ".json", "w"))

    def explored(self, program, model, limit):
        """All that can be shown under the model (none: the test's own); None: not explored to the end."""
        asked = ["--model", model] if model else []
        r = call(program, "litmus", "--json", "--threads", "1", "--time-limit", str(limit), *asked, self.stem + ".exact.sass")
        t = json.loads(r.stdout.splitlines()[0]) if r.stdout else {"verdict": "error", "error": r.stderr}
        if t["verdict"] == "error":
            return t.get("error")
        return {tuple(o["state"][n] for n in self.names) for o in t["outcomes"]} if t["complete"] else None

    def run(self, program, model, seed):
        out = f"{self.stem}.{seed}"
        r = call(program, "run", self.stem + ".json", "--model", model, "--seed", str(seed), "--threads", "1", "--dump", f"out={out}.o", "--dump", f"mem={out}.m")
        if r.returncode:
            return r.stderr.strip()
        o, m = open(out + ".o", "rb").read(), open(out + ".m", "rb").read()
        os.remove(out + ".o")
        os.remove(out + ".m")
        return tuple(struct.unpack_from("<I", o, 4 * i)[0] for i in range(self.count)) + tuple(struct.unpack_from("<I", m, at)[0] for at in PLACES.values())

    def remove(self):
        for end in ".sass", ".exact.sass", ".cubin", ".json":
            os.remove(self.stem + end)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("--tests", type=int, default=60)
    p.add_argument("--seeds", type=int, default=4)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--keep", help="leave the kernels and plans there")
    a = p.parse_args()
    models = {"flat": ["flat"], "caches": ["caches:policy=random", "caches:policy=adversarial"], "weak": ["weak", "weak:policy=adversarial"]}

    def check(seed):
        k = Kernel(a.program, folder, seed)
        allowed = {model: k.explored(a.program, model, 60) for model in ("", *models)}
        for model, states in allowed.items():
            if not isinstance(states, set):
                return 0, set(), {}, [f"{k.name} ({model or 'ptx'}): {states or 'not explored to the end'}"]
        exact, flat = allowed[""], allowed["flat"]
        wrong = [f"{k.name}: the machine '{model}' shows {dict(zip(k.names, s))}, which ptx does not allow" for model in models for s in allowed[model] - exact]
        wrong += [f"{k.name}: 'flat' shows {s}, which '{model}' cannot" for model in models for s in flat - allowed[model]]
        runs, shown = 0, set()
        for model, temper, s in ((m, t, s) for m in models for t in models[m] for s in range(1, a.seeds + 1)):
            state = k.run(a.program, temper, s)
            runs += 1
            where = f"{k.name} under {temper}, seed {s}"
            if isinstance(state, str):
                wrong.append(f"{where}: {state}")
                continue
            shown.add(state)
            if state not in exact:
                wrong.append(f"{where}: the engine shows {dict(zip(k.names, state))}, which ptx does not allow")
            if state not in allowed[model]:
                wrong.append(f"{where}: the engine shows {state}, which exploration of it does not")
        return runs, shown, {model: len(states) for model, states in allowed.items()}, wrong

    with tempfile.TemporaryDirectory() as scratch:
        folder = a.keep or scratch
        os.makedirs(folder, exist_ok=True)
        with ThreadPoolExecutor(2) as pool:
            results = list(pool.map(check, range(a.seed, a.seed + a.tests)))
    wrong = [w for r in results for w in r[3]]
    runs, shown = sum(r[0] for r in results), sum(len(r[1]) for r in results)
    for line in wrong[:20]:
        print(line, file=sys.stderr)
    total = [sum(r[2].get(model, 0) for r in results) for model in ("", *models)]
    print(f"{a.tests} kernels: {total[0]} outcomes under ptx, {total[1]} under flat, {total[2]} under caches, {total[3]} under weak; {runs} runs showed {shown}; {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
