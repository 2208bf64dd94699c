#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random programs (generate.py), compiled, compared, packed.
  programs.py make FIRST END ARCH DIRECTORY      PTX and cubins of the seeds, and DIRECTORY/list (needs ptxas 13.0)
  programs.py compare LIST ONE OTHER             the programs whose outputs differ: results of record (all of ONE.*) and emulate
  programs.py pack LIST DIRECTORY RESULT OUT     a sample for the test: OUT, to be compressed by zstd -19
"""
import glob
import os
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import generate


def make(first, end, arch, directory):
    os.makedirs(directory, exist_ok=True)

    def one(seed):
        if generate.level(seed) > int("".join(c for c in arch if c.isdigit())):
            return None
        text, grid, block = generate.program(seed, arch)
        name = f"{directory}/{seed}"
        with open(name + ".ptx", "w") as f:
            f.write(text)
        done = subprocess.run(["ptxas", "-arch=" + arch, f"-O{generate.optimisation(seed)}", name + ".ptx", "-o", name + ".cubin"],
                              capture_output=True, text=True)
        if done.returncode:
            print(seed, done.stderr[:200], file=sys.stderr)
            return None
        return f"{seed} {seed}.cubin k {grid} {block} {grid * block * 32} {seed} d"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        lines = [x for x in pool.map(one, range(int(first), int(end))) if x]
    with open(directory + "/list", "w") as f:
        f.write("\n".join(lines) + "\n")


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


def compare(path, one, other):
    lines, a, b = lines_of(path), results(one), results(other)
    differ = [lines[i][0] for i in range(len(lines)) if i not in a or a[i] != b.get(i)]
    print(f"{len(lines)} programs, {len(differ)} differ", *differ)
    return bool(differ)


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
    command = {"make": make, "compare": compare, "pack": pack}.get(sys.argv[1] if len(sys.argv) > 1 else "")
    sys.exit(command(*sys.argv[2:]) if command else __doc__)
