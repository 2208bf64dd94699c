#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random programs (generate.py), compiled, compared, packed.
  programs.py make FIRST END ARCH DIRECTORY [divided]    PTX and cubins of the seeds, and DIRECTORY/list (needs ptxas 13.0); divided: of divided.py
  programs.py fresh FIRST END DIRECTORY RECORD EMULATE   for each release, on a machine with a GPU of sm_90: makes the programs of divided.py of seeds that nobody has
                                                 run, runs them there (RECORD: record.cpp, built) and in the emulator (EMULATE: hardware-programs), and compares
  programs.py compare LIST ONE OTHER             the programs whose outputs differ: results of record (all of ONE.*) and emulate
  programs.py table LIST ONE OTHER [LIST ...]    the same of several lists as a table by kind (docs/figures.md)
  programs.py orders LIST DIRECTORY SASSEMU RESULT...    how many outcomes programs have in several orders: results of emulate with seed=0, 1, ...
  programs.py across DIRECTORY ARCH ...          what programs of several architectures (DIRECTORY/ARCH/list, DIRECTORY/ARCH.SEED of emulate with
                                                 seed=0 to 7) give beside the first one's, as a table
  programs.py pack LIST DIRECTORY RESULT OUT     a sample for the test: OUT, to be compressed by zstd -19
"""
import glob
import os
import re
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import divided
import generate


def make(first, end, arch, directory, kind=None):
    os.makedirs(directory, exist_ok=True)
    draw = divided if kind == "divided" else generate

    def one(seed):
        if draw.level(seed) > int("".join(c for c in arch if c.isdigit())):
            return None
        text, grid, block = draw.program(seed, arch)
        name = f"{directory}/{seed}"
        with open(name + ".ptx", "w") as f:
            f.write(text)
        done = subprocess.run(["ptxas", "-arch=" + arch, f"-O{draw.optimisation(seed)}", name + ".ptx", "-o", name + ".cubin"],
                              capture_output=True, text=True)
        if done.returncode:
            print(seed, done.stderr[:200], file=sys.stderr)
            return None
        return f"{seed} {seed}.cubin k {grid} {block} {grid * block * 32} {seed} d"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        lines = [x for x in pool.map(one, range(int(first), int(end))) if x]
    with open(directory + "/list", "w") as f:
        f.write("\n".join(lines) + "\n")


def fresh(first, end, directory, record, emulate):
    make(first, end, "sm_90", directory, "divided")
    at = lambda name: f"{directory}/{name}"
    subprocess.run([record, at("list"), directory, at("chip"), "6"], check=True)
    subprocess.run([emulate, at("list"), directory, at("here")], check=True)
    return compare(at("list"), at("chip"), at("here"))


def results(path):
    """Number in the list -> (status, output)."""
    found = {}
    for name in [path] if os.path.exists(path) else glob.glob(path + ".*"):
        with open(name, "rb") as f:
            data = f.read()
        at = 0
        while at < len(data):
            index, status, size = struct.unpack_from("<III", data, at)
            found[index] = status, data[at + 12:at + 12 + size]
            at += 12 + size
    return found


def lines_of(path):
    with open(path) as f:
        return [line.split() for line in f]


def equal(a, b):
    """Two results: the same output, or neither ran to its end (it hangs on the chip, and is a deadlock here)."""
    return a is not None and b is not None and (a == b or (a[0] != 0 and b[0] != 0))


def compared(path, one, other):
    """(seed, whether it is equal) of each program of a list."""
    lines, a, b = lines_of(path), results(one), results(other)
    return [(int(line[0]), equal(a.get(i), b.get(i))) for i, line in enumerate(lines)]


def compare(path, one, other):
    found = compared(path, one, other)
    differ = [seed for seed, same in found if not same]
    print(f"{len(found)} programs, {len(differ)} differ", *differ)
    return bool(differ)


def table(*of):
    kinds = ["arithmetic, memory, collectives", "the same", "divided control flow", "calls", "recursion, each lane as deep as it likes",
             "barriers, in branches too", "warp matrix instructions", "who runs together (activemask)"]
    found = [x for i in range(0, len(of), 3) for x in compared(*of[i:i + 3])]
    print("| kind | programs | equal |\n|---|---|---|")
    for kind, name in enumerate(kinds):
        same = [x for seed, x in found if seed % generate.KINDS == kind]
        print(f"| {kind}: {name} | {len(same)} | {sum(same)} |")
    print(f"| all | {len(found)} | {sum(same for _, same in found)} |")


def orders(path, directory, sassemu, *of):
    """What a program asks to be together, what ptxas left of it, and in how many ways it ends."""
    found = [results(one) for one in of]
    print(f"| seed | kind | ptxas | bar.warp.sync of all lanes in the PTX | WARPSYNC in the code | exchanges of lanes in the code | outcomes in {len(of)} orders |")
    print("|---|---|---|---|---|---|---|")
    for i, (seed, file, *_) in enumerate(lines_of(path)):
        with open(f"{directory}/{seed}.ptx") as f:
            asked = f.read().count("bar.warp.sync 0xffffffff")
        code = subprocess.run([sassemu, "disasm", f"{directory}/{file}"], capture_output=True, text=True, check=True).stdout
        left, exchanges = len(re.findall(r"\bWARPSYNC\b", code)), len(re.findall(r"\b(?:VOTEU?|SHFL|MATCH|REDUX)\.", code))
        outcomes = len({one.get(i) for one in found})
        print(f"| {seed} | {int(seed) % generate.KINDS} | -O{generate.optimisation(int(seed))} | {asked} | {left} | {exchanges} | {outcomes} |")


def across(directory, *architectures):
    """A program whose result depends on the order of its paths, on either architecture, is not held against another's; products of matrices round as the architecture does."""
    found = {}  # of each architecture: seed -> its results in eight orders
    for arch in architectures:
        orders = [results(f"{directory}/{arch}.{n}") for n in range(8)]
        found[arch] = {int(line[0]): [one.get(i) for one in orders] for i, line in enumerate(lines_of(f"{directory}/{arch}/list"))}
    first = found[architectures[0]]
    print(f"| architecture | programs | as of {architectures[0]} | products of matrices | several outcomes in 8 orders | others |\n|---|---|---|---|---|---|")
    for arch in architectures[1:]:
        differ = [s for s in found[arch] if s % generate.KINDS != 7 and not equal(found[arch][s][0], first[s][0])]
        matrices = [s for s in differ if s % generate.KINDS == 6]
        several = [s for s in differ if s not in matrices and max(len(set(found[arch][s])), len(set(first[s]))) > 1]
        others = sorted(set(differ) - set(matrices) - set(several))
        programs = sum(s % generate.KINDS != 7 for s in found[arch])
        print(f"| {arch} | {programs} | {programs - len(differ)} | {len(matrices)} | {len(several)} ({', '.join(map(str, several))}) | {', '.join(map(str, others)) or 'none'} |")


def fnv(data):
    h = 0xcbf29ce484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return h


def pack(path, directory, result, out):
    outputs, lines = results(result), lines_of(path)
    with open(out, "wb") as f:
        f.write(b"SASSPRG1" + struct.pack("<I", len(lines)))
        for i, (_, file, _, grid, block, size, seed, _) in enumerate(lines):
            with open(f"{directory}/{file}", "rb") as g:
                cubin = g.read()
            f.write(struct.pack("<IIIIIQ", int(seed), int(grid), int(block), int(size), len(cubin), fnv(outputs[i][1])) + cubin)


if __name__ == "__main__":
    command = {"make": make, "fresh": fresh, "compare": compare, "table": table, "orders": orders, "across": across, "pack": pack}.get(sys.argv[1] if len(sys.argv) > 1 else "")
    sys.exit(command(*sys.argv[2:]) if command else __doc__)
