#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What exploration of machines leaves out is in order with nothing: each kernel shows the same with `--every-order`, where all that is left out is tried. Random
kernels of two or three threads, in one CTA or in several, over two sectors of global memory: each word is one thread's own, or written by one, or by nobody, or
by all; loads and stores of one and two words, weak and strong, atomics, fences, invalidations, barriers, and a bulk copy each way behind all of them. Beside
these, every so often, one of machines_subset.py and one of copies_subset.py.

usage: every_order_test.py SASSEMU [--tests N] [--seed S] [--jobs N] [--time-limit S] [--models M,M] [--keep DIR]
"""
import argparse
import json
import os
import random
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import copies_subset
import machines_subset

WORDS, MBARRIER, SLOT = 12, 0x400, 0x410
USED = [0, 1, 2, 3, 8, 9, 10, 11]
ORDERS = [["MEMBAR.ALL.GPU"], ["MEMBAR.ALL.GPU"], ["MEMBAR.SC.GPU", "CCTL.IVALL"], ["CCTL.IVALL"], ["MEMBAR.ALL.CTA"], ["MEMBAR.SC.CTA.IVALLD"]]


class Body:
    """The instructions of a thread. What it loads goes into one word, which it shows."""

    def __init__(self, choose, number, words):
        self.choose, self.number, self.words = choose, number, words
        self.lines, self.loads = ["MOV R16, 0x0"], 0

    def join(self, register):
        self.lines.append(f"IMAD R16, R16, 0x11, {register}")
        self.loads += 1

    def access(self):
        choose = self.choose
        kind = choose.choices(["load", "store", "order", "atomic"], [9, 9, 3, 0.5])[0]
        if kind == "order":
            self.lines += choose.choice(ORDERS)
            return
        mine = [w for w, (reader, writer) in self.words.items() if (reader if kind == "load" else writer) in (self.number, "all")]
        if not mine:
            return
        word = choose.choice(mine)
        wide = kind != "atomic" and word % 2 == 0 and word + 1 in mine and choose.random() < 0.4
        strong = choose.choice([".STRONG.GPU", ".STRONG.SYS", ".STRONG.SM"]) if choose.random() < 0.1 else ""
        what = f".E{'.64' if wide else ''}{strong}"
        address = f"desc[UR4][R2.64+{4 * word:#x}]"
        if kind == "load":
            self.lines.append(f"LDG{what} R18, {address}")
            self.join("R18")
            if wide:
                self.join("R19")
            return
        self.lines += [f"MOV R{12 + k}, {len(self.lines) + 100 * self.number + k:#x}" for k in range(1 + wide)]
        self.lines.append(f"STG{what} {address}, R12" if kind == "store" else f"ATOMG.E.ADD.STRONG.GPU PT, R18, {address}, R12")
        if kind == "atomic":
            self.join("R18")

    def init(self):  # for one arrival
        self.lines += ["UMOV UR6, 0x1ffffe", "UMOV UR7, 0x7ffff800", f"UMOV UR8, {MBARRIER:#x}", "SYNCS.EXCH.64 URZ, [UR8], UR6"]

    def place(self, at=None):
        return ["LDC.64 R8, c[0x0][mem]", f"IADD3 R8, R8, {self.choose.choice([0, 32]) if at is None else at:#x}, RZ", "R2UR UR6, R8", "R2UR UR7, R9"]

    def load(self, word):
        self.lines.append(f"LDG.E R18, desc[UR4][R2.64+{4 * word:#x}]")
        self.join("R18")

    def store(self, word):
        self.lines += [f"MOV R12, {len(self.lines) + 100 * self.number:#x}", f"STG.E desc[UR4][R2.64+{4 * word:#x}], R12"]

    def copy_in(self, at=None):
        self.lines += ["MOV R9, 0x10", f"UMOV UR10, {MBARRIER:#x}", "SYNCS.ARRIVE.TRANS64 RZ, [UR10], R9", *self.place(at), f"UMOV UR8, {SLOT:#x}", f"UMOV UR9, {MBARRIER:#x}", "UMOV UR5, 0x1", "UBLKCP.S.G [UR8], [UR6], UR5"]

    def copied(self, word=None):
        self.lines += ["MOV R15, 0x0", f"UMOV UR10, {MBARRIER:#x}", f"W{self.number}: SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [UR10], R15", f"@!P1 BRA `(W{self.number})", f"MOV R8, {SLOT + 4 * (self.choose.randrange(4) if word is None else word):#x}", "LDS R18, [R8]"]
        self.join("R18")

    def copy_out(self):
        self.lines += [*self.place(), f"UMOV UR8, {SLOT:#x}", "UMOV UR5, 0x1", "UBLKCP.G.S [UR6], [UR8], UR5", "UTMACMDFLUSH"]
        if self.choose.random() < 0.7:
            self.lines.append("DEPBAR.LE SB0, 0x0")


def hand_over(choose, to, by):
    """What the one stores before a barrier, or behind it, the other loads or copies; with and without a fence, and what is in its cache of the sector before."""
    maybe = lambda chance: choose.random() < chance
    word, copied = choose.randrange(4), maybe(0.7)
    if copied:
        to.init()
    for _ in range(choose.randint(0, 1)):
        to.load(choose.choice([word, 3 - word]))
    if maybe(0.3):
        by.load(word)
    by.store(word)
    for fence in ([], ["MEMBAR.ALL.GPU"])[maybe(0.4)], ["BAR.SYNC.DEFER_BLOCKING 0x0"], ([], ["MEMBAR.ALL.GPU"])[maybe(0.4)]:
        by.lines += fence
    to.lines.append("BAR.SYNC.DEFER_BLOCKING 0x0")
    if maybe(0.3):
        to.store(3 - word)
    if copied:
        to.copy_in(0)
        to.copied(word)
    if not copied or maybe(0.4):
        to.load(word)


def kernel(seed):
    """Text, grid and block."""
    choose = random.Random(seed)
    count = choose.choice([2, 2, 2, 3])
    together = choose.random() < 0.6
    places = [(0, 32 * n) if together else (n, 0) for n in range(count)]
    if not together and count == 3 and choose.random() < 0.5:
        places = [(0, 0), (0, 32), (1, 0)]
    shared = choose.choice([0, 0.2, 0.4])
    words = {}
    for w in USED:
        who = choose.randrange(count)
        words[w] = choose.choices([("all", "all"), ("all", who), ("all", None), (who, who)], [shared, 0.3, 0.1, 0.5])[0]
    bodies = [Body(choose, n, words) for n in range(count)]
    hands = together and count == 2 and choose.random() < 0.5
    copies = choose.choice([None, "in", "in", "out"]) if together and not hands else None
    if copies == "in":
        bodies[0].init()
    if hands:
        hand_over(choose, *bodies)
    segments = choose.randint(1, 2) if together else 0
    for segment in range(0 if hands else segments + 1):
        for body in bodies:
            for _ in range(choose.randint(1, 4 - segments if count == 2 else 2)):
                body.access()
            if copies and segment == segments and body.number == 0:
                body.copy_in() if copies == "in" else body.copy_out()
            if copies == "in" and segment == segments and choose.random() < 0.7:
                body.copied()
            if segment < segments:
                if choose.random() < 0.4:
                    body.lines.append("MEMBAR.ALL.GPU")
                body.lines.append("BAR.SYNC.DEFER_BLOCKING 0x0")
    text = [".target sm_90", ".kernel k", "    .param mem 8", "    .param out 8", "    .shared 2048", "        S2R R0, SR_CTAID.X", "        S2R R1, SR_TID.X", "        ULDC.64 UR4, c[0x0][0x208]",
            "        LDC.64 R2, c[0x0][mem]", "        LDC.64 R4, c[0x0][out]", "        IMAD R6, R0, 0x1000, R1"]
    for n, (cta, thread) in enumerate(places):
        text += [f"        ISETP.EQ.AND P0, PT, R6, {0x1000 * cta + thread:#x}, PT", f"  @P0   BRA `(BODY{n})"]
    text.append("        EXIT")
    for body in bodies:
        show = [f"STG.E desc[UR4][R4.64+{4 * body.number:#x}], R16"] if body.loads else []
        text += [f"BODY{body.number}:"] + ["        " + line for line in body.lines + show + ["EXIT"]]
    return "\n".join(text) + "\n", places[-1][0] + 1, max(t for _, t in places) + 1


class Kernel:
    def __init__(self, program, folder, seed):
        self.name, self.stem, self.end = f"e{seed}", os.path.join(folder, f"e{seed}"), ".json"
        self.names = [f"out[{n}]" for n in range(3)] + [f"mem[{w}]" for w in range(WORDS)]
        text, grid, block = kernel(seed)
        with open(self.stem + ".sass", "w", encoding="utf-8") as f:
            f.write(text)
        r = machines_subset.words.call(program, "asm", self.stem + ".sass", "-o", self.stem + ".cubin")
        if r.returncode:
            sys.exit(f"{self.name}: {r.stderr}\n{text}")
        with open(self.stem + ".json", "w", encoding="utf-8") as f:
            json.dump({"module": self.name + ".cubin", "condition": " || ".join(f"{n}==77777" for n in self.names),
                       "buffers": {"mem": {"bytes": 4 * WORDS, "fill": "0x01"}, "out": {"bytes": 12}},
                       "launches": [{"kernel": "k", "grid": [grid, 1, 1], "block": [block, 1, 1], "args": [{"buffer": "mem"}, {"buffer": "out"}]}]}, f)


def explored(program, k, model, limit, options):
    """The states that are shown (None: not all are known) and how many were looked at."""
    r = machines_subset.words.call(program, "litmus", "--json", "--threads", "1", "--time-limit", str(limit), "--model", model, *options, k.stem + getattr(k, "end", ".exact.sass"))
    t = json.loads(r.stdout.splitlines()[0]) if r.stdout else {"error": r.stderr}
    if "error" in t:
        sys.exit(f"{k.name} under {model}: {t['error']}")
    if not t["complete"] and "time" not in t["bound"]:
        sys.exit(f"{k.name} under {model}: {t['bound']}")
    return ({tuple(o["state"][n] for n in k.names) for o in t["outcomes"]} if t["complete"] else None), t.get("states", 0)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("--tests", type=int, default=100)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--time-limit", type=float, default=10)
    p.add_argument("--models", default="caches,flat")
    p.add_argument("--keep", help="leave the kernels and plans there")
    a = p.parse_args()

    def check(seed):
        kernels = [Kernel(a.program, folder, seed)]
        if seed % 4 == 0:
            kernels.append(machines_subset.words.Kernel(a.program, folder, seed))
        if seed % 4 == 2:
            kernels.append(copies_subset.Kernel(a.program, folder, seed))
            kernels[-1].end = ".json"
        out = []
        for k in kernels:
            for model in a.models.split(","):
                every, every_states = explored(a.program, k, model, a.time_limit, ["--every-order"])
                if every is None:
                    continue
                some, states = explored(a.program, k, model, 4 * a.time_limit, [])
                wrong = ""
                if some is None:
                    wrong = "is not explored to the end"
                elif some != every:
                    wrong = f"lacks {sorted(every - some)[:2]}, has {sorted(some - every)[:2]} beyond"
                out.append((states, every_states, wrong and f"{k.name} under {model}: {wrong}"))
        return out

    with tempfile.TemporaryDirectory() as scratch:
        folder = a.keep or scratch
        os.makedirs(folder, exist_ok=True)
        with ThreadPoolExecutor(a.jobs) as pool:
            results = [r for all in pool.map(check, range(a.seed, a.seed + a.tests)) for r in all]
    wrong = [w for _, _, w in results if w]
    for line in wrong[:20]:
        print(line, file=sys.stderr)
    print(f"{len(results)} explorations: {sum(r[0] for r in results)} states, {sum(r[1] for r in results)} in every order; {len(wrong)} wrong")
    return 1 if wrong or len(results) < a.tests else 0


if __name__ == "__main__":
    sys.exit(main())
