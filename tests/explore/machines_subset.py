#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One machine per name: what `sassemu run` shows under a model with any seed is among what `sassemu litmus` allows under the same model.
Random kernels of three threads, mostly in three CTAs: several words in a sector, loads and stores of all strengths and through the texture path, atomics,
fences, operations on caches; at most 12 accesses each. A kernel that is not explored to its end is not counted.

usage: machines_subset.py SASSEMU [--example memory_model.so] [--tests N] [--seeds N] [--seed S] [--jobs N] [--time-limit S]
"""
import argparse
import random
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
        kernel = words.Kernel(a.program, folder, seed)
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
