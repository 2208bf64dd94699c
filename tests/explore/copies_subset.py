#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asynchronous operations and barriers on machines: what `sassemu run` shows under `flat` or `caches` with any seed and any order of agents is among what
`sassemu litmus` allows under the same model, and that, under `weak` too, is allowed by `ptx`, as is what runs under `weak` show. Random kernels of two threads, as plans that are both run and explored: copies lane by
lane with and without their groups, bulk copies both ways by mbarrier and by group, bulk reductions, st.async within a cluster, counting barriers, fences; each wait may be missing. What st.async overwrites the other thread may have read just before,
and used once or twice; somebody may have seen what became of it.

usage: copies_subset.py SASSEMU [--tests N] [--seeds N] [--seed S] [--jobs N] [--time-limit S] [--turns] [--keep DIR]
"""
import argparse
import json
import os
import random
import struct
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from words_subset import call

MODELS = {"flat": [["--agents", "eager"], ["--agents", "lazy"], ["--agents", "random"]],
          "caches": [["--model", "caches:policy=random", "--agents", "random"], ["--model", "caches:policy=adversarial", "--agents", "lazy"]],
          "weak": []}  # explored; its runs show more, and are held against ptx
WEAK_RUN = ["--model", "weak", "--agents", "random"]
WORDS = 8  # of global memory
MOST = 16  # that a thread shows
MBARRIER, SLOTS = 0x400, [0x410, 0x420]
HEAD = """.target sm_90
.kernel k
    .param mem 8
    .param out 8
    .shared 1024
        S2R R0, SR_CTAID.X
        S2R R1, SR_TID.X
        ULDC.64 UR4, c[0x0][0x208]
        LDC.64 R2, c[0x0][mem]
        LDC.64 R4, c[0x0][out]
        IMAD R6, R0, 0x1000, R1
"""


class Body:
    """The instructions of a thread, and the registers that it shows."""

    def __init__(self, choose, number, rank=0, stored=False):
        self.choose, self.number, self.lines, self.shown, self.copies = choose, number, [], [], False
        self.stored = stored  # what it shows at once, else at its end
        self.slots, self.mbarrier = [slot | rank << 24 for slot in SLOTS], MBARRIER | rank << 24

    def value(self):
        self.lines.append(f"MOV R12, {len(self.lines) + 64 * self.number + 1:#x}")

    def show(self, line):
        register = 16 + len(self.shown)
        self.lines.append(line % f"R{register}")
        if self.stored:
            self.lines.append(f"STG.E desc[UR4][R4.64+{self.place(len(self.shown)):#x}], R{register}")
        self.shown.append(register)

    def place(self, k):
        """In `out`, of the k-th of what it shows."""
        return 4 * (k + MOST * self.number)

    def plain(self, words=WORDS):
        place = f"desc[UR4][R2.64+{4 * self.choose.randrange(0, words, 4):#x}]"
        slot = self.choose.choice(self.slots)
        kind = self.choose.choice(["ldg", "stg", "lds", "sts", "fence"])
        if kind == "ldg":
            self.show(f"LDG.E{self.choose.choice(['', '.STRONG.GPU'])} %s, {place}")
        elif kind == "lds":
            self.lds(slot)
        elif kind == "fence":
            self.lines.append(self.choose.choice(["MEMBAR.ALL.CTA", "FENCE.VIEW.ASYNC.S"]))
        else:
            self.value()
            self.lines += [f"STG.E{self.choose.choice(['', '.STRONG.GPU'])} {place}, R12"] if kind == "stg" else [f"MOV R8, {slot:#x}", "STS [R8], R12"]

    def lds(self, slot):
        self.lines.append(f"MOV R8, {slot:#x}")
        self.show("LDS %s, [R8]")

    def expect(self, count):
        self.lines += [f"MOV R9, {count:#x}", f"UMOV UR10, {self.mbarrier:#x}", "SYNCS.ARRIVE.TRANS64 RZ, [UR10], R9"]

    def init(self):  # for one arrival
        self.lines += ["UMOV UR6, 0x1ffffe", "UMOV UR7, 0x7ffff800", f"UMOV UR8, {self.mbarrier:#x}", "SYNCS.EXCH.64 URZ, [UR8], UR6"]

    def lane_copy(self):
        self.lines += [f"MOV R8, {self.choose.choice(SLOTS):#x}", f"LDGSTS.E [R8], desc[UR4][R2.64+{4 * self.choose.randrange(0, WORDS, 4):#x}]"]
        self.copies = True

    def bulk_store(self):
        self.lines += ["ULDC.64 UR6, c[0x0][mem]", f"UMOV UR8, {self.choose.choice(SLOTS):#x}", "UMOV UR5, 0x1", f"{self.choose.choice(['UBLKCP.G.S', 'UBLKRED.G.S.ADD', 'UBLKRED.G.S.INC'])} [UR6], [UR8], UR5", "UTMACMDFLUSH"]
        if self.choose.random() < 0.6:
            self.lines += ["DEPBAR.LE SB0, 0x0"] + (["CCTL.IVALL"] if self.choose.random() < 0.5 else [])

    def wait_copies(self):
        self.lines.append("LDGDEPBAR")
        if self.choose.random() < 0.7:
            self.lines.append("DEPBAR.LE SB0, 0x0")
        self.copies = False

    def bulk_load(self):
        self.expect(16)
        self.lines += ["ULDC.64 UR6, c[0x0][mem]", f"UMOV UR8, {self.choose.choice(SLOTS):#x}", f"UMOV UR9, {MBARRIER:#x}", "UMOV UR5, 0x1", "UBLKCP.S.G [UR8], [UR6], UR5"]

    def wait(self):
        label = f"W{self.number}_{len(self.lines)}"
        self.lines += ["MOV R15, 0x0", f"UMOV UR10, {self.mbarrier:#x}", f"{label}: SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [UR10], R15", f"@!P1 BRA `({label})"]

    def barrier(self, kind):
        if kind == "sync":
            self.lines.append("BAR.SYNC.DEFER_BLOCKING 0x0")
            return
        self.lines += [f"ISETP.EQ.AND P2, PT, RZ, {self.choose.randint(0, 1):#x}, PT", f"BAR.RED.{kind}.DEFER_BLOCKING 0x0, P2"]
        if kind == "POPC":
            self.show("B2R.RESULT %s")
        else:
            self.lines.append("B2R.RESULT RZ, P3")
            self.show("SEL %s, RZ, 0x1, !P3")

    def cluster(self):
        self.lines += ["UCGABAR_ARV", "UCGABAR_WAIT"]

    def meet(self):
        """At the cluster's barrier, whose words order only what those beside them do."""
        self.lines += [line for line in ("MEMBAR.ALL.GPU", "UCGABAR_ARV", "UCGABAR_WAIT", "CCTL.IVALL") if line.startswith("U") or self.choose.random() < 0.8]

    def look(self):
        """At its slot, and at times once more at what it has found."""
        self.lds(self.slots[0])
        if self.choose.random() < 0.3:
            self.show(f"{self.choose.choice(['MOV %s, ', 'IADD3 %s, RZ, RZ, '])}R{self.shown[-1]}")
        elif self.choose.random() < 0.3:
            self.show("LDG.E %s, " + f"desc[UR4][R4.64+{self.place(len(self.shown) - 1):#x}]")

    def store_async(self):
        other = (1 - self.number) << 24
        self.lines += [f"MOV R6, {100 + self.number:#x}", f"MOV R8, {other | SLOTS[0]:#x}", f"MOV R9, {other | MBARRIER:#x}", "STAS [R8.64], R6"]


def kernel(seed, turns=False):
    """Text, launch, and which words of `out` it writes."""
    choose, how = random.Random(seed), random.Random(f"how {seed}")
    turns |= how.random() < 0.25  # what the one reads, the other overwrites behind a barrier
    together = not turns and choose.random() < 0.7  # in one CTA, in warps of their own; else one CTA each, in a cluster
    bodies = [Body(choose, n, 0 if together else n, how.random() < 0.5) for n in range(2)]
    if together:
        kinds = [choose.choice(["sync", "sync", "POPC", "AND", "OR"]) for _ in range(choose.randint(1, 2))]
        copies = choose.choice([["lane_copy"], ["lane_copy"], ["bulk_load"], ["bulk_store"], ["bulk_load", "bulk_store"]])
        if "bulk_load" in copies:
            bodies[0].init()
            kinds[0] = "sync"
        for segment in range(len(kinds) + 1):
            for body in bodies:
                if segment == (1 if "bulk_load" in copies else choose.randint(0, 1)) and body.number == 0:
                    for copy in copies:
                        getattr(body, copy)()
                for _ in range(choose.randint(0, 2)):
                    body.plain()
                if body.copies and choose.random() < 0.7:
                    body.wait_copies()
                if segment and "bulk_load" in copies and choose.random() < 0.6:
                    body.wait()
                    body.lds(body.slots[0])
                if segment < len(kinds):
                    body.barrier(kinds[segment])
    elif turns:
        reader, writer = bodies
        reader.init()
        reader.expect(4)
        for body in bodies:
            body.cluster()
        for _ in range(choose.randint(1, 2)):
            reader.look()
            if choose.random() < 0.3:
                reader.lines.append("FENCE.VIEW.ASYNC.S")
        if choose.random() < 0.3:
            writer.show("LDG.E %s, " + f"desc[UR4][R4.64+{reader.place(0):#x}]")
        for body in bodies:
            body.meet()
        if choose.random() < 0.3:
            writer.lines.append("FENCE.VIEW.ASYNC.S")
        writer.store_async()
        if choose.random() < 0.3:
            writer.show("LDG.E %s, " + f"desc[UR4][R4.64+{reader.place(0):#x}]")
        reader.wait()
        reader.look()
        for body in bodies:
            body.cluster()
    else:
        for body in bodies:
            body.init()
            body.expect(4)
            body.cluster()
            steps = choose.sample(["plain", "wait", "load"], 3)
            steps.insert(choose.randint(0, steps.index("wait")), "store")  # each waits for the other's
            for step in steps:
                if step == "store":
                    body.store_async()
                elif step == "plain":
                    body.plain(1)
                elif step == "wait":  # or its CTA might end before it has what is sent to it
                    body.wait()
                elif step == "load":
                    body.lds(body.slots[0])
            body.cluster()
    text = HEAD
    for n in range(2):
        text += f"        ISETP.EQ.AND P0, PT, R6, {n * (32 if together else 0x1000):#x}, PT\n  @P0   BRA `(BODY{n})\n"
    text += "        EXIT\n"
    for body in bodies:
        shown = [] if body.stored else [f"STG.E desc[UR4][R4.64+{body.place(k):#x}], R{register}" for k, register in enumerate(body.shown)]
        text += f"BODY{body.number}:\n" + "".join(f"        {line}\n" for line in body.lines + shown + ["EXIT"])
    out = [body.place(k) // 4 for body in bodies for k in range(len(body.shown))]
    launch = {"kernel": "k", "grid": [1 if together else 2, 1, 1], "block": [33 if together else 1, 1, 1], "cluster": [1 if together else 2, 1, 1],
              "args": [{"buffer": "mem"}, {"buffer": "out"}]}
    return text, launch, out or [0]


class Kernel:
    def __init__(self, program, folder, seed, turns=False):
        self.program, self.name, self.stem = program, f"c{seed}", os.path.join(folder, f"c{seed}")
        text, launch, self.out = kernel(seed, turns)
        self.names = [f"out[{k}]" for k in self.out] + [f"mem[{k}]" for k in range(WORDS)]
        open(self.stem + ".sass", "w").write(text)
        r = call(program, "asm", self.stem + ".sass", "-o", self.stem + ".cubin")
        if r.returncode:
            sys.exit(f"{self.name}: {r.stderr}\n{text}")
        json.dump({"module": self.name + ".cubin", "condition": " || ".join(f"{n}==77777" for n in self.names), "timeLimit": 20,
                   "buffers": {"mem": {"bytes": 4 * WORDS, "fill": "0x01"}, "out": {"bytes": 4 * 2 * MOST}}, "launches": [launch]}, open(self.stem + ".json", "w"))

    def explored(self, model, limit):
        """The states that can be shown, or why they are not known."""
        r = call(self.program, "litmus", "--json", "--threads", "1", "--time-limit", str(limit), *(["--model", model] if model else []), self.stem + ".json")
        t = json.loads(r.stdout.splitlines()[0]) if r.stdout else {"complete": False, "bound": r.stderr}
        if "undefined" in t or "error" in t or not t["complete"]:
            return t.get("undefined") or t.get("error") or t["bound"]
        return {tuple(o["state"][n] for n in self.names) for o in t["outcomes"]}

    def run(self, options, seed):
        where = f"{self.stem}.{seed}"
        r = call(self.program, "run", self.stem + ".json", *options, "--seed", str(seed), "--threads", "1", "--dump", f"out={where}.o", "--dump", f"mem={where}.m")
        if r.returncode:
            return r.stdout + r.stderr
        out, mem = (struct.unpack(f"<{count}I", open(where + name, "rb").read()) for name, count in ((".o", 2 * MOST), (".m", WORDS)))
        return tuple(out[k] for k in self.out) + mem


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("--tests", type=int, default=200)
    p.add_argument("--seeds", type=int, default=2)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--time-limit", type=float, default=10)
    p.add_argument("--turns", action="store_true", help="only kernels in which the one thread overwrites what the other has read; runs have to show what exploring does not")
    p.add_argument("--keep", help="leave the kernels and plans there")
    a = p.parse_args()

    def check(seed):
        k = Kernel(a.program, folder, seed, a.turns)
        exact = k.explored("", a.time_limit)
        counted, shown, sizes, wrong, more = 0, 0, {}, [], set()
        for model, all_options in MODELS.items():
            allowed = k.explored(model, a.time_limit)
            if isinstance(allowed, str):
                if "time" not in allowed:
                    wrong.append(f"{k.name} under {model}: {allowed}")
                continue
            counted += 1
            sizes[model] = len(allowed)
            if isinstance(exact, set):
                wrong += [f"{k.name}: the machine '{model}' shows {dict(zip(k.names, s))}, which ptx does not allow" for s in allowed - exact][:1]
            for options in all_options:
                for s in range(1, a.seeds + 1):
                    state = k.run(options, s)
                    shown += 1
                    if state not in allowed:
                        what = f"shows {dict(zip(k.names, state))}, which exploration does not" if isinstance(state, tuple) else state
                        wrong.append(f"{k.name} under {' '.join(options)} --seed {s}: {what}")
        for s in range(1, 4 * a.seeds + 1) if isinstance(exact, set) else ():
            state = k.run(WEAK_RUN, s)
            shown += 1
            more.add(state)
            if state not in exact:
                what = f"shows {dict(zip(k.names, state))}, which ptx does not allow" if isinstance(state, tuple) else state
                wrong.append(f"{k.name} under {' '.join(WEAK_RUN)} --seed {s}: {what}")
        if isinstance(allowed, set):
            sizes["runs"] = len(more - allowed)
        return counted, shown, isinstance(exact, set), sizes, wrong

    with tempfile.TemporaryDirectory() as scratch:
        folder = a.keep or scratch
        os.makedirs(folder, exist_ok=True)
        with ThreadPoolExecutor(a.jobs) as pool:
            results = list(pool.map(check, range(a.seed, a.seed + a.tests)))
    wrong = [w for r in results for w in r[4]]
    for line in wrong[:20]:
        print(line, file=sys.stderr)
    counted, exact = sum(r[0] for r in results), sum(r[2] for r in results)
    outcomes = ", ".join(f"{sum(r[3].get(m, 0) for r in results)} outcomes under {m}" for m in MODELS)
    late = sum(r[3].get("runs", 0) for r in results)
    runs = f"{sum(r[1] for r in results)} runs, {late} outcomes of which exploring weak has not"
    print(f"{a.tests} kernels: {counted} of {3 * a.tests} explored to the end, {outcomes}; {exact} under ptx; {runs}; {len(wrong)} wrong")
    return 1 if wrong or counted < 2.7 * a.tests or late < a.turns else 0


if __name__ == "__main__":
    sys.exit(main())
