#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Correct programs that use cooperative groups, cuda::, CUB and Thrust, under check-sync: 0 reports. Those over CUB and Thrust are built here, for every
architecture, with and without -lineinfo; those over cooperative groups and cuda:: are the patterns of cubins/sync/library.

    programs.py SASSEMU OUT [--toolkit DIR] [--mutants] [--write] [--archs sm_90,...] [NAME-PART...]

OUT: a folder for what is built (kept from one call to the next; never committed). --toolkit: a CUDA toolkit with its CCCL headers
(default: nvcc's). --mutants: each barrier, fence and invalidation is replaced by NOP in turn; one that gives wrong results, or a fault
or deadlock, in some run must be found. --write: docs/programs.md anew.
"""
import argparse
import concurrent.futures
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
sys.path.insert(0, os.path.join(ROOT, "cubins", "sync"))
sys.path.insert(0, os.path.join(ROOT, "tests", "sync"))
from pairs import SEED, LIMIT, philox
import thrust_programs

ARCHS = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]
U32 = 0xFFFFFFFF
D = [philox(SEED, i) * LIMIT >> 32 for i in range(2048)]
T, ITEMS = 64, 4
N = T * ITEMS
PROGRAMS = {}


def running(values, start=0):
    out, total = [], start
    for v in values:
        total += v
        out.append(total)
    return out


def program(name, values, *launches, data=1, offset=0):
    """`values`: what `out` begins with; None: not looked at. `launches`: (kernel, CTAs, threads); default: one CTA of 64."""
    PROGRAMS[name] = {"values": values, "launches": launches or ((name, 1, T),), "data": data}


scans = [v + sum(D[k * T:(k + 1) * T]) for k in (0, 1) for v in running(D[k * T:(k + 1) * T])]
for how in ("raking", "memoize", "warps"):
    program("block_scan_" + how, scans)
for how in ("raking", "commutative", "warps"):
    program("block_reduce_" + how, [sum(D[:T]), sum(D[T:2 * T])])
for how in ("transpose", "warps"):
    program("block_load_" + how, [D[i] + i // ITEMS for i in range(N)])
program("block_exchange", D[:N])
program("block_radix_sort", [D[i] * 3 + i for i in sorted(range(N), key=lambda i: D[i])])
program("block_radix_rank", sorted(D[:N], key=lambda v: v & 15))
program("block_merge_sort", sorted(D[:N]))
for how in ("sort", "atomic"):
    program("block_histogram_" + how, [sum(v % 32 == b for v in D[:N]) for b in range(32)])
program("block_discontinuity", [int(i == 0 or (D[i] ^ D[i - 1]) & 1) for i in range(T)])
program("block_adjacent_difference", [D[0]] + [D[i] - D[i - 1] & U32 for i in range(1, T)])
program("block_shuffle", [D[(i + 5) % T] for i in range(T)])
program("warp_scan", [v for k in range(0, T, 16) for v in running(D[k:k + 16])])
program("warp_scan_odd", [4 * v + i + 1 for k in range(0, 44, 11) for i, v in enumerate(running(D[k:k + 11]))])
program("warp_reduce_odd", [sum(D[k:k + 11]) for k in range(0, 44, 11)])
program("warp_merge_sort", [v for k in range(0, N, 64) for v in sorted(D[k:k + 64])])
program("warp_exchange", D[:N])
longs = [(D[2 * i] | D[2 * i + 1] << 32) for i in range(500)]
program("device_scan", [v & U32 for v in running(D[:1000])], ("begin_word", 1, 64), ("device_scan", 4, T), data=1024)
program("device_scan_long", [w for v in running(longs) for w in (v & U32, v >> 32 & U32)], ("begin_long", 1, 64), ("device_scan_long", 2, T), data=1024)
program("device_scan_struct", [w & U32 for t in zip(*[running(D[k:990:3]) for k in range(3)]) for w in t], ("begin_struct", 1, 64), ("device_scan_struct", 2, T), data=1024)
odd = [v for v in D[:1000] if v & 1]
program("device_select", odd + [None] * (1000 - len(odd)) + [len(odd)], ("begin_word", 1, 64), ("device_select", 4, T), data=1024)
program("device_reduce_by_key", D[:1000] + D[1000:2000] + [1000], ("begin_runs", 1, 64), ("device_reduce_by_key", 4, T), data=1024)
program("radix_sort", sorted(D[:1000], key=lambda v: v & 1023), ("radix_histogram", 4, T), ("radix_starts", 2, 32), ("radix_first", 4, T), ("radix_second", 4, T), data=2048)


def is_thrust(name):
    return name in thrust_programs.NAMES


def cubin(out, name, arch, kind):
    return os.path.join(out, "%s.%s.%s.cubin" % ("thrust" if is_thrust(name) else "cub", arch, kind))


def plan(program_, out, name, arch, module):
    if is_thrust(name):
        return thrust_programs.plan(program_, out, name, arch, module)
    p = PROGRAMS[name]
    known = [i for i, v in enumerate(p["values"]) if v is None]
    values = [v & U32 if v is not None else 0 for v in p["values"]]
    out = {"bytes": 4 * max(len(values), 4), "fill": "0x00"}
    if not known:
        out["expect"] = {"type": "u32", "values": values + [0] * (4 - len(values))}
    return {"arch": arch, "module": module, "timeLimit": 60,
            "buffers": {"in": {"bytes": 4 * len(D), "random": {"type": "u32", "seed": SEED, "low": 0, "high": LIMIT}},
                        "data": {"bytes": 4 * p["data"] + 4096, "fill": "0x00"}, "out": out},
            "launches": [{"kernel": k, "grid": [g, 1, 1], "block": [b, 1, 1], "args": [{"buffer": x} for x in ("in", "data", "out")]} for k, g, b in p["launches"]],
            "expect": {"status": "ok"}}


def build(toolkit, out, archs, names):
    nvcc = os.path.join(toolkit, "bin", "nvcc") if toolkit else "nvcc"
    source = os.path.join(HERE, "cub.cu")

    def made(job):
        arch, kind, thrust = job
        if thrust:
            return thrust_programs.build(nvcc, out, arch, kind)
        to = os.path.join(out, "cub.%s.%s.cubin" % (arch, kind))
        if os.path.exists(to) and os.path.getmtime(to) > os.path.getmtime(source):
            return True
        flags = ["-O3", "-std=c++17", "-cubin", "-arch=" + arch, *(["-lineinfo"] if kind == "line" else []), "-diag-suppress", "20054"]
        return not subprocess.run([nvcc, *flags, "-o", to, source]).returncode

    jobs = [(arch, kind, thrust) for thrust in sorted({is_thrust(n) for n in names}) for arch in archs for kind in ("plain", "line")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        if not all(pool.map(made, jobs)):
            sys.exit("nvcc failed")


def check(program_, path, seeds=3):
    report = path + ".report"
    if os.path.exists(report):
        os.remove(report)
    end = subprocess.run([program_, "check-sync", path, "--json", report, "--seeds", str(seeds)], capture_output=True, text=True)
    if not os.path.exists(report):
        return None, end.returncode, end.stdout + end.stderr
    with open(report) as f:
        return json.load(f)["findings"], end.returncode, end.stdout


# ---- mutants --------------------------------------------------------------------------------------------------------

ORDERS = re.compile(r"(@!?U?P\w+ +)?(BAR\.|WARPSYNC|MEMBAR|CCTL\.IVALL)")
NOP = 0x7918
RUNS = [["--seed", "1"], ["--seed", "2"]] + [["--model", "weak", "--seed", str(seed)] for seed in range(1, 5)]


def sections(image):
    """name -> (offset, bytes) of a 64-bit ELF"""
    at, = struct.unpack_from("<Q", image, 0x28)
    size, count, names = struct.unpack_from("<HHH", image, 0x3a)
    headers = [struct.unpack_from("<IIQQQQ", image, at + k * size) for k in range(count)]
    text = headers[names][4]
    return {image[text + h[0]:image.index(b"\0", text + h[0])].decode(): (h[4], h[5]) for h in headers}


def barriers_of(program_, cubin, kernels):
    """(kernel, pcs, text) of each word that orders. The WARPSYNC.ALL in front of a BAR is a part of that barrier."""
    listing = subprocess.run([program_, "disasm", cubin], capture_output=True, text=True).stdout
    found, function, gathers = [], "", None
    for line in listing.splitlines():
        m = re.match(r"\.text\.(\w+):", line)
        if m:
            function = m.group(1)
        m = re.match(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?) *;", line)
        if not m:
            continue
        pc, text = int(m.group(1), 16), m.group(2)
        if function in kernels and ORDERS.match(text):
            if gathers == pc - 16 and "BAR." in text:
                found[-1] = (function, (pc - 16, pc), text)
            else:
                found.append((function, (pc,), text))
        gathers = pc if text == "WARPSYNC.ALL" else None
    return found


def executed(program_, path):
    """(kernel, pc) of the instructions that a run comes to"""
    with tempfile.TemporaryDirectory() as work:
        counts = os.path.join(work, "counts.json")
        subprocess.run([program_, "run", path, "--plugin", "profile:memory=0,json=" + counts], capture_output=True, check=True)
        with open(counts) as f:
            kernels = json.load(f)["kernels"]
    return {(k["functions"][f], pc) for k in kernels for f, pc, n in zip(*(k["instructions"][c] for c in ("function", "pc", "issued"))) if n}


def said(found):
    return {(f["kind"], f["as_commonly_relied_on"], *((a["function"], a["pc"]) for a in f["accesses"])) for f in found or []}


def run(program_, path, options):
    end = subprocess.run([program_, "run", path, "--time-limit", "20", *options], capture_output=True, text=True)
    return end.returncode, end.stdout + end.stderr


def goes_wrong(end, text):
    """Wrong results, a fault or a deadlock; a limit of time says nothing, for the host may be slow."""
    return end != 0 and not (end == 4 and "time limit" in text)


def mutant(program_, out, name, arch, plan_, known, kernel, pcs):
    """-> whether some run shows it; whether check-sync, where one does, says more than of the program itself"""
    with open(cubin(out, name, arch, "line"), "rb") as f:
        image = bytearray(f.read())
    for pc in pcs:
        at = sections(image)[".text." + kernel][0] + pc
        high, = struct.unpack_from("<Q", image, at + 8)
        struct.pack_into("<QQ", image, at, NOP, high >> 41 << 41)  # what schedules it stays
    with tempfile.TemporaryDirectory() as work:
        with open(os.path.join(work, "mutant.cubin"), "wb") as f:
            f.write(image)
        path = os.path.join(work, "plan.json")
        absolute = lambda b: dict(b, file=os.path.abspath(os.path.join(out, b["file"]))) if "file" in b else b
        with open(path, "w") as f:
            json.dump(dict(plan_, module="mutant.cubin", timeLimit=100, buffers={n: absolute(b) for n, b in plan_["buffers"].items()}), f)
        if not any(goes_wrong(*run(program_, path, options)) for options in RUNS):
            return False, False
        for seeds in (3, 30):  # which way a program goes, and what races then, is the schedule's
            found, end, text = check(program_, path, seeds)
            if said(found) - known or (end != 6 and goes_wrong(end, text)):
                return True, True
    return True, False


def mutants(program_, out, arch, names):
    """rows of the table: program, mutants, those that a run shows, those of them that are found; and what is missed"""
    rows, missed = [], []
    for name in names:
        correct = plan(program_, out, name, arch, "")
        words = barriers_of(program_, cubin(out, name, arch, "line"), list(dict.fromkeys(l["kernel"] for l in correct["launches"] if "kernel" in l)))
        path = os.path.join(out, "%s.%s.line.json" % (name, arch))
        reached, known = executed(program_, path), said(check(program_, path)[0])
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda w: mutant(program_, out, name, arch, correct, known, *w[:2]) if (w[0], w[1][-1]) in reached else (False, False), words))
        rows.append((name, len(words), sum(s for s, _ in results), sum(f for _, f in results)))
        missed += ["%s: %s at 0x%x of %s" % (name, text, pcs[-1], kernel) for (kernel, pcs, text), (shown, found) in zip(words, results) if shown and not found]
    return rows, missed


# ---- the page -------------------------------------------------------------------------------------------------------

HEAD = """# Correct programs over libraries

Programs over CUB and Thrust, built by `tests/programs/sync/programs.py SASSEMU OUT` with nvcc 13.0 and the CCCL headers of its toolkit, and run under
`check-sync --seeds 3`, with -lineinfo and without: there is nothing to report where the table says so. Those over Thrust are host programs, whose launches a stand-in for the CUDA
runtime writes down as plans. (Programs over cooperative groups and `cuda::` are the patterns
`cg_*` and `cuda_*` of `cubins/sync`, which `./test` runs: [testing.md](testing.md).) Neither the headers nor what is built of them is kept here. The command
keeps its results in OUT, and `--write` makes this page of them.

"silent": no report, and the results are right. "letter": what is reported is wrong by the letter only.
A merge sort looks one element beyond its run, into shared memory that nobody has written, and drops it: what it finds there is followed, and does not count as read.
CUB's selection loads the prefix of its tile by one LDS.128, whose first words nobody has written: no code reads the registers that they come into, so they count as not read.
A mutant is the sm_90 code with one BAR (and the WARPSYNC.ALL in front of it), WARPSYNC, MEMBAR or CCTL.IVALL replaced by NOP. "Shown": one of two runs, or of four under `weak`,
gives wrong results, a fault or a deadlock; "found": check-sync (where three schedules show nothing, with `--seeds 30`) reports something of such a mutant that it does not report of the program. Where only lanes of one warp lack the barrier that is
a report by the letter. Empty: not measured.
"""


def page(results):
    archs = [a for a in ARCHS if any(k.split(" ")[1:2] == [a] for k in results["checked"])]
    lines = [HEAD, "| program | " + " | ".join(archs) + " | mutants | shown | found |", "|" + "---|" * (len(archs) + 4)]
    total = [0, 0, 0]
    for name in [*PROGRAMS, *thrust_programs.NAMES]:
        cells = []
        for arch in archs:
            both = {results["checked"].get("%s %s %s" % (name, arch, kind)) for kind in ("plain", "line")}
            cells.append(both.pop() or "" if len(both) == 1 else ", ".join(sorted(map(str, both))))
        counts = results["mutants"].get(name)
        total = [a + b for a, b in zip(total, counts)] if counts else total
        lines.append("| " + " | ".join([name, *cells, *(map(str, counts) if counts else ["", "", ""])]) + " |")
    lines.append("| **together** |" + " |" * len(archs) + " %d | %d | %d |" % tuple(total))
    if results["missed"]:
        lines += ["", "Shown and not found:", "", *("- " + m for m in results["missed"])]
    return "\n".join(lines) + "\n"


def verdict(found, end):
    if found is None or end not in (0, 6):
        return "exit code %d" % end
    common = sorted({f["kind"] for f in found if f["as_commonly_relied_on"]})
    return ", ".join(common) if common else "letter" if found else "silent"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("out")
    p.add_argument("names", nargs="*")
    p.add_argument("--toolkit")
    p.add_argument("--archs", default=",".join(ARCHS))
    p.add_argument("--mutants", action="store_true")
    p.add_argument("--write", action="store_true")
    a = p.parse_args()
    os.makedirs(a.out, exist_ok=True)
    kept = os.path.join(a.out, "results.json")
    results = {"checked": {}, "mutants": {}, "missed": []}
    if os.path.exists(kept):
        with open(kept) as f:
            results = json.load(f)
    names = [n for n in [*PROGRAMS, *thrust_programs.NAMES] if not a.names or any(x in n for x in a.names)]
    build(a.toolkit, a.out, a.archs.split(","), names)
    paths = {}
    for arch in a.archs.split(","):
        for kind in ("plain", "line"):
            for name in names:
                path = paths[name, arch, kind] = os.path.join(a.out, "%s.%s.%s.json" % (name, arch, kind))
                with open(path, "w") as f:
                    json.dump(plan(a.program, a.out, name, arch, os.path.basename(cubin(a.out, name, arch, kind))), f)
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for key, (found, end, text) in zip(paths, pool.map(lambda path: check(a.program, path), paths.values())):
            said = results["checked"]["%s %s %s" % key] = verdict(found, end)
            if said not in ("silent", "letter"):
                bad += 1
                print(*key, said, text[-2000:], flush=True)
    if a.mutants:
        for name in names:
            rows, missed = mutants(a.program, a.out, "sm_90", [name])
            results["mutants"][name] = rows[0][1:]
            results["missed"] = [m for m in results["missed"] if not m.startswith(name + ":")] + missed
    with open(kept, "w") as f:
        json.dump(results, f, indent=1)
    if a.write:
        with open(os.path.join(ROOT, "docs", "programs.md"), "w") as f:
            f.write(page(results))
    print("%d programs, %d reports, %d mutants missed" % (len(names), bad, len(results["missed"])))
    return 1 if bad or results["missed"] else 0


if __name__ == "__main__":
    sys.exit(main())
