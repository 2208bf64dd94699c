#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Inputs for run_fuzz, from the words of tests/decoder/data/compiled.tsv.gz.

    run_seeds.py ROOT OUT [INPUTS]
"""
import gzip
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "decoder", "gen"))
from architectures import TABLE

ARCHS = sorted(TABLE["family"], key=lambda f: TABLE["family"][f]["value"])  # as enum sassdec_arch



def main():
    root, out, count = sys.argv[1], sys.argv[2], int((sys.argv + [2000])[3])
    words = {}
    with gzip.open(os.path.join(root, "tests", "decoder", "data", "compiled.tsv.gz"), "rt") as f:
        for line in f:
            arch, word = line.split("\t")[:2]
            words.setdefault(arch, []).append(bytes.fromhex(word)[::-1])
    draw = random.Random(1)
    known = [i for i, arch in enumerate(ARCHS) if arch in words]
    os.makedirs(out, exist_ok=True)
    for n in range(count):
        arch = known[n % len(known)]
        head = bytes([arch, draw.randrange(256), draw.randrange(128), draw.randrange(256)])
        with open(os.path.join(out, "%05d" % n), "wb") as f:
            f.write(head + b"".join(draw.choices(words[ARCHS[arch]], k=draw.randrange(1, 12))))


if __name__ == "__main__":
    sys.exit(main())
