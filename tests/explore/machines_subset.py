#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One machine per name: what `sassemu run` shows under a model with any seed is among what `sassemu litmus` allows under the same model.
Random kernels of three threads, mostly in three CTAs: several words in a sector, loads and stores of all strengths and through the texture path, atomics,
fences, operations on caches; at most 12 accesses each. A kernel that is not explored to its end is not counted.

usage: machines_subset.py SASSEMU [--example memory_model.so] [--tests N] [--seeds N] [--seed S] [--jobs N] [--time-limit S]
"""
import argparse
import json
import os
import random
import struct
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import words_subset as words

words.PLACES = {"x": 0x0, "y": 0x4, "z": 0x20}
words.SIZE = 0x24
words.THREADS = [3]
LOADS = ["", "", "", ".STRONG.SM", ".STRONG.GPU", ".STRONG.SYS", ".CONSTANT"]
STORES = ["", "", ".STRONG.SM", ".STRONG.GPU", ".STRONG.SYS"]
ORDERS = [["MEMBAR.SC.GPU"], ["MEMBAR.SC.GPU", "CCTL.IVALL"], ["MEMBAR.ALL.GPU"], ["MEMBAR.SC.CTA"], ["MEMBAR.SC.VC"], ["MEMBAR.SC.SYS", "CCTL.IVALL"], ["CCTL.IVALL"],
          ["CCTL.E.IV [R2]"], ["MEMBAR.SC.CTA.IVALLD"], ["MEMBAR.SC.CTA.IVALLT"], ["MEMBAR.SC.CTA.IVALLTD"]]
MOST = 4  # accesses of a thread


def body(choose, number, slots):
    lines, loaded, accesses = [], [], 0
    while accesses < choose.randint(2, MOST):
        place = choose.choice(list(words.PLACES))
        address = f"desc[UR4][R2.64+{words.PLACES[place]:#x}]"
        kind = choose.choice(["load", "load", "store", "store", "order", "atomic"])
        register = 16 + len(loaded)
        if kind == "order":
            lines += choose.choice(ORDERS)
            accesses += 1  # they take part in the states
            continue
        accesses += 1
        if kind == "load":
            lines.append(f"LDG.E{choose.choice(LOADS)} R{register}, {address}")
            loaded.append(register)
            continue
        lines.append(f"MOV R12, {len(lines) + 10 * number + 1:#x}")
        if kind == "store":
            lines.append(f"STG.E{choose.choice(STORES)} {address}, R12")
        else:
            lines.append(f"ATOMG.E.{choose.choice(['ADD', 'EXCH'])}.STRONG.{choose.choice(['GPU', 'SYS'])} PT, R{register}, {address}, R12")
            loaded.append(register)
    shown = []
    for register in loaded:
        shown.append(f"STG.E desc[UR4][R4.64+{4 * len(slots):#x}], R{register}")
        slots.append(f"P{number}:R{register}")
    return lines, shown


words.body = body


class Kernel:
    def __init__(self, program, folder, seed):
        text, grid, block, exact, self.names = words.kernel(seed)
        self.name, self.stem = f"k{seed}", os.path.join(folder, f"k{seed}")
        self.count = len(self.names) - len(words.PLACES)
        open(self.stem + ".sass", "w").write(text)
        open(self.stem + ".exact.sass", "w").write(exact)
        r = words.call(program, "asm", self.stem + ".sass", "-o", self.stem + ".cubin")
        if r.returncode:
            sys.exit(f"{self.name}: {r.stderr}\n{text}")
        json.dump({"module": self.name + ".cubin", "buffers": {"mem": {"bytes": words.SIZE}, "out": {"bytes": 4 * max(1, self.count)}},
                   "launches": [{"kernel": "k", "grid": [grid, 1, 1], "block": [block, 1, 1], "args": [{"buffer": "mem"}, {"buffer": "out"}]}]}, open(self.stem + ".json", "w"))

    def explored(self, program, model, limit):
        """All that can be shown; None: not explored to the end."""
        r = words.call(program, "litmus", "--json", "--threads", "1", "--time-limit", str(limit), "--model", model, self.stem + ".exact.sass")
        t = json.loads(r.stdout.splitlines()[0]) if r.stdout else {"verdict": "error", "error": r.stderr}
        if t["verdict"] == "error":
            return t.get("error")
        return {tuple(o["state"][n] for n in self.names) for o in t["outcomes"]} if t["complete"] else None

    def run(self, program, model, seed):
        out = f"{self.stem}.{seed}"
        r = words.call(program, "run", self.stem + ".json", "--model", model, "--seed", str(seed), "--threads", "1", "--dump", f"out={out}.o", "--dump", f"mem={out}.m")
        if r.returncode:
            return r.stderr.strip()
        o, m = open(out + ".o", "rb").read(), open(out + ".m", "rb").read()
        os.remove(out + ".o")
        os.remove(out + ".m")
        return tuple(struct.unpack_from("<I", o, 4 * i)[0] for i in range(self.count)) + tuple(struct.unpack_from("<I", m, at)[0] for at in words.PLACES.values())

    def remove(self):
        for end in ".sass", ".exact.sass", ".cubin", ".json":
            os.remove(self.stem + end)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("--example", help="the plugin of sdk/example/memory_model, as a file")
    p.add_argument("--tests", type=int, default=500)
    p.add_argument("--seeds", type=int, default=2)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--time-limit", type=float, default=10)
    a = p.parse_args()
    models = {"flat": ["flat"], "caches": ["caches:policy=random", "caches:policy=adversarial"]}
    if a.example:
        models[a.example] = [a.example]

    def check(seed):
        kernel = Kernel(a.program, folder, seed)
        counted, shown, wrong = True, 0, []
        for model, tempers in models.items():
            allowed = kernel.explored(a.program, model, a.time_limit)
            if isinstance(allowed, str):
                wrong.append(f"{kernel.name} under {model}: {allowed}")
                continue
            if allowed is None:
                counted = False
                continue
            for temper in tempers:
                for s in range(1, a.seeds + 1):
                    state = kernel.run(a.program, temper, s)
                    shown += 1
                    if isinstance(state, str):
                        wrong.append(f"{kernel.name} under {temper}, seed {s}: {state}")
                    elif state not in allowed:
                        wrong.append(f"{kernel.name} under {temper}, seed {s}: shows {dict(zip(kernel.names, state))}, which exploration does not")
        kernel.remove()
        return counted, shown, wrong

    with tempfile.TemporaryDirectory() as folder:
        with ThreadPoolExecutor(a.jobs) as pool:
            results = list(pool.map(check, range(a.seed, a.seed + a.tests)))
    wrong = [w for r in results for w in r[2]]
    for line in wrong[:20]:
        print(line, file=sys.stderr)
    counted = sum(r[0] for r in results)
    print(f"{a.tests} kernels under {len(models)} models, {counted} explored to the end; {sum(r[1] for r in results)} runs; {len(wrong)} wrong")
    return 1 if wrong or counted < 0.9 * a.tests else 0


if __name__ == "__main__":
    sys.exit(main())
