#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the fast engine shows is among what exploration allows: straight-line litmus tests become kernels (one warp per thread), run under many seeds and delays.

usage: fast_subset.py SASSEMU FILE.jsonl... [--seeds N] [--limit N]
"""
import argparse
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

SCOPES = {"cta": "SM", "cluster": "GPU", "gpu": "GPU", "sys": "SYS"}
STRIDE = 256  # each location in a line of its own


class Unfit(Exception):
    """Not a straight-line test of 4-byte global locations."""


def fence(kind, scope):
    level = {"cta": "CTA", "gpu": "GPU", "cluster": "GPU", "sys": "SYS"}[scope]
    out = [f"MEMBAR.{kind}.{level}"]
    return out if scope == "cta" else out + ["CCTL.IVALL"]


def lowered(op, places, registers):
    """One PTX operation as ptxas lowers it (the table of the reference on memory ordering)."""
    def reg(name):
        if not re.fullmatch(r"r\d+", name):
            raise Unfit
        return f"R{registers.setdefault(name, 16 + len(registers))}"

    def address(name):
        if name not in places:
            raise Unfit
        return f"desc[UR4][R2.64+{places[name] * STRIDE:#x}]"

    def value(text):
        return ([], reg(text)) if text in registers else ([f"MOV R12, {int(text, 0):#x}"], "R12")
    if m := re.fullmatch(r"(ld|st)\.(\w+)(?:\.(\w+))? (.*)", op):
        kind, sem, scope, rest = m.groups()
        sem, scope = ("relaxed", "sys") if sem == "volatile" else (sem, scope)
        if sem not in ("weak", "relaxed", "acquire", "release") or sem != "weak" and scope not in SCOPES:
            raise Unfit
        strong = "" if sem == "weak" else ".STRONG." + SCOPES[scope]
        if kind == "ld":
            m = re.fullmatch(r"(r\d+), \[(\w+)\]", rest) or fail()
            after = ["CCTL.IVALL"] if sem == "acquire" and scope != "cta" else []
            return [f"LDG.E{strong} {reg(m[1])}, {address(m[2])}"] + after
        m = re.fullmatch(r"\[(\w+)\], (\w+)", rest) or fail()
        move, v = value(m[2])
        return (fence("ALL", scope)[:1] if sem == "release" else []) + move + [f"STG.E{strong} {address(m[1])}, {v}"]
    if m := re.fullmatch(r"fence\.(sc|acq_rel)\.(\w+)", op):
        return fence("SC" if m[1] == "sc" else "ALL", m[2])
    if m := re.fullmatch(r"atom\.(\w+)\.(\w+)\.(add|exch) (r\d+), \[(\w+)\], (\w+)", op):
        sem, scope, what, d, where, v = m.groups()
        move, v = value(v)
        out = (fence("ALL", scope)[:1] if sem in ("release", "acq_rel") else []) + move
        out.append(f"ATOMG.E.{what.upper()}.STRONG.{SCOPES[scope]} PT, {reg(d)}, {address(where)}, {v}")
        return out + (["CCTL.IVALL"] if sem in ("acquire", "acq_rel") and scope != "cta" else [])
    raise Unfit


def fail():
    raise Unfit


def kernel(test):
    """The test as SASS text, with (grid, block, places of locations, register slots)."""
    if test.get("aliases") or test.get("locations") or test["verdict"] == "error" or test.get("undefined"):
        raise Unfit
    names = sorted({n for t in test["threads"] for op in t["ops"] for n in re.findall(r"\[(\w+)\]", op)})
    places, slots, bodies, ctas = {n: i for i, n in enumerate(names)}, {}, [], []
    for t in test["threads"]:
        if t.get("kind", "thread") != "thread" or t.get("gpu", 0) != 0 or t.get("cluster") is not None:
            raise Unfit
        registers, lines = {}, []
        for k, v in test.get("init", {}).items():
            if k.startswith(t["id"] + ":"):
                lines.append(f"MOV R{registers.setdefault(k.split(':')[1], 16 + len(registers))}, {v:#x}")
        for op in t["ops"]:
            lines += lowered(op, places, registers)
        for name, r in registers.items():
            slot = slots[f"{t['id']}:{name}"] = len(slots)
            lines.append(f"STG.E desc[UR4][R4.64+{4 * slot:#x}], R{r}")
        bodies.append(lines)
        ctas.append(t.get("cta", 0))
    grid = max(ctas) + 1
    warps = [ctas[:i].count(c) for i, c in enumerate(ctas)]
    text = [".target sm_90", ".kernel litmus", "    .param mem 8", "    .param out 8"] + [f"    .param delay{i} 4" for i in range(len(bodies))]
    text += ["        S2R R0, SR_CTAID.X", "        S2R R1, SR_TID.X", "        ULDC.64 UR4, c[0x0][0x208]", "        MOV R2, c[0x0][mem]", "        MOV R3, c[0x0][mem+4]",
             "        MOV R4, c[0x0][out]", "        MOV R5, c[0x0][out+4]", "        IMAD R6, R0, 0x1000, R1"]
    for i, (c, w) in enumerate(zip(ctas, warps)):
        text += [f"        ISETP.EQ.AND P0, PT, R6, {c * 0x1000 + 32 * w:#x}, PT", f"  @P0   BRA BODY{i}"]
    text.append("        EXIT")
    for i, lines in enumerate(bodies):
        text += [f"BODY{i}:", f"        MOV R7, c[0x0][delay{i}]", f"WAIT{i}:", "        IADD3 R7, R7, -0x1, RZ", "        ISETP.GT.AND P0, PT, R7, RZ, PT", f"  @P0   BRA WAIT{i}"]
        text += ["        " + line for line in lines] + ["        EXIT"]
    return "\n".join(text) + "\n", grid, 32 * (max(warps) + 1), places, slots


def run(program, *args):
    return subprocess.run([program, *args], capture_output=True, text=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("files", nargs="+")
    p.add_argument("--seeds", type=int, default=6)
    p.add_argument("--limit", type=int, default=40)
    a = p.parse_args()
    tests = [json.loads(line) for f in a.files for line in open(f)]
    fit, wrong, outcomes = 0, 0, 0
    for test in tests:
        try:
            text, grid, block, places, slots = kernel(test)
        except Unfit:
            continue
        if fit == a.limit:
            break
        fit += 1
        with tempfile.TemporaryDirectory() as d:
            def path(name):
                return os.path.join(d, name)
            # All registers and all of memory are asked about, so that outcomes compare as a whole.
            everything = " || ".join(f"{n}==0" for n in [*slots, *places])
            json.dump({k: test[k] for k in ("threads", "init") if k in test} | {"name": test["name"], "model": "ptx", "condition": everything}, open(path("t.jsonl"), "w"))
            exact = json.loads(run(a.program, "litmus", path("t.jsonl"), "--json").stdout)
            allowed = {tuple(o["state"][n] for n in [*slots, *places]) for o in exact["outcomes"]}
            open(path("t.sass"), "w").write(text)
            r = run(a.program, "asm", path("t.sass"), "-o", path("t.cubin"))
            if r.returncode:
                sys.exit(f"{test['name']}: {r.stderr}\n{text}")
            memory = bytearray(STRIDE * max(1, len(places)))
            for n, i in places.items():
                struct.pack_into("<I", memory, STRIDE * i, test.get("init", {}).get(n, 0))
            open(path("mem.bin"), "wb").write(memory)
            choose, seen = random.Random(test["name"]), set()
            for seed in range(1, a.seeds + 1):
                delays = [f"--arg=i32={choose.choice((0, 0, 3, 40, 400, 4000))}" for _ in test["threads"]]
                r = run(a.program, "run", path("t.cubin"), "--kernel", "litmus", "--grid", f"{grid},1,1", "--block", str(block), "--arg=file=" + path("mem.bin"),
                        "--arg=buffer=256", *delays, "--seed", str(seed), "--threads", "2", "--dump", "arg0=" + path("m"), "--dump", "arg1=" + path("o"))
                if r.returncode:
                    sys.exit(f"{test['name']}: exit {r.returncode}: {r.stderr}")
                out, mem = open(path("o"), "rb").read(), open(path("m"), "rb").read()
                seen.add(tuple(struct.unpack_from("<I", out, 4 * i)[0] for i in slots.values()) + tuple(struct.unpack_from("<I", mem, STRIDE * i)[0] for i in places.values()))
            outcomes += len(seen)
            for state in seen - allowed:
                wrong += 1
                print(f"{test['name']}: the engine shows {dict(zip([*slots, *places], state))}, which is not allowed", file=sys.stderr)
    print(f"{fit} tests ran, {outcomes} outcomes, {wrong} of them not allowed")
    return 1 if wrong or not fit else 0


if __name__ == "__main__":
    sys.exit(main())
