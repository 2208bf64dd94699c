#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the emulator with a GPU of compute capability 9.0 on many operands: every word of the record that runs.

  verify.py DIRECTORY [--program PATH] [--warps N] [--first WARP] [--only REGEX] [--self LEVEL]

Needs the program hardware-verify (built for a machine like this one), nvcc and the driver. Writes DIRECTORY/words.tsv, a
line per word, and DIRECTORY/verified.tsv, a line per instruction with its modifiers: words, operand tuples (one lane of
one warp each), warps that differ, how the results are spread over zero, subnormal, normal, infinite, NaN (read in the number
format of the mnemonic), and the first mismatch in full. Exit code 1 if anything differs.
Here: images, faults, the table. Not here: the comparison (verify_main.cpp), the slots (slots.py).
"""
import argparse
import copy
import os
import re
import subprocess
import sys
import tempfile
import time

import slots

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def run_image(options, words, work, out):
    """Runs words (hex); a word that takes the GPU's context along is found by halving."""
    listed, image = os.path.join(work, "words"), os.path.join(work, "image.cubin")
    with open(listed, "w") as f:
        f.write("\n".join(words) + "\n")
    command = [options.program, "--words", listed, "--warps", str(options.warps), "--first", str(options.first)]
    if options.self:
        command += ["--self", options.self]
    else:
        with open(image, "wb") as f:
            f.write(slots.image_of([int(w, 16) for w in words]))
        command += ["--image", image, "--hash", os.path.join(work, "hash.cubin")]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=options.limit)
        code, text, error = done.returncode, done.stdout, done.stderr.strip()
    except subprocess.TimeoutExpired:
        code, text, error = 3, "", "more than %d s" % options.limit
    if code == 0:
        out += [line.split("\t") for line in text.splitlines()]
    elif len(words) == 1:
        out.append([words[0], "?", "0", "0", "0", "0", "0", "0", "0", "not run: " + error])
    else:
        half = len(words) // 2
        run_image(options, words[:half], work, out)
        run_image(options, words[half:], work, out)


def mnemonic(sass):
    return re.sub(r"^@\S+ ", "", sass).split(" ")[0]


def table(lines):
    """Lines of words.tsv -> (mnemonic -> [words, tuples, mismatches, spread[5], first]), words that did not run."""
    rows, unable = {}, []
    for word, sass, tuples, mismatches, *rest in lines:
        if int(tuples) == 0:
            unable.append((word, sass, rest[5]))
            continue
        row = rows.setdefault(mnemonic(sass), [0, 0, 0, [0] * 5, ""])
        row[0] += 1
        row[1] += int(tuples)
        row[2] += int(mismatches)
        row[3] = [a + int(b) for a, b in zip(row[3], rest[:5])]
        if int(mismatches) and not row[4]:
            row[4] = "%s (%s): %s" % (sass, word, rest[5])
    return rows, unable


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "release", "bin", "hardware-verify"))
    parser.add_argument("--record", default=os.path.join(HERE, "record.bin.zst"))
    parser.add_argument("--warps", type=int, default=31744, help="operand sets per word, a multiple of 512 (31744: a million tuples)")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", default="", help="a regular expression over the mnemonic with its modifiers")
    parser.add_argument("--self", default="", help="a level of the emulator in the place of the GPU")
    parser.add_argument("--limit", type=int, default=120, help="seconds per image")
    options = parser.parse_args()
    begin = time.monotonic()
    words = subprocess.run([options.program, "--list", options.record], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    lines = []
    with tempfile.TemporaryDirectory() as work:
        if options.only:
            small = copy.copy(options)
            small.warps, small.self = 512, "v2"
            known = []
            for i in range(0, len(words), slots.SLOTS):
                run_image(small, words[i:i + slots.SLOTS], work, known)
            words = [line[0] for line in known if re.search(options.only, mnemonic(line[1]))]
        if not options.self:
            subprocess.run(["nvcc", "-arch=sm_90", "-std=c++17", "-cubin", "-o", os.path.join(work, "hash.cubin"),
                            os.path.join(HERE, "verify_hash.cu")], check=True)
        for i in range(0, len(words), slots.SLOTS):
            run_image(options, words[i:i + slots.SLOTS], work, lines)
            print("%d of %d words, %.0f s" % (min(i + slots.SLOTS, len(words)), len(words), time.monotonic() - begin), flush=True)
    os.makedirs(options.directory, exist_ok=True)
    with open(os.path.join(options.directory, "words.tsv"), "w") as f:
        f.writelines("\t".join(line) + "\n" for line in lines)
    rows, unable = table(lines)
    with open(os.path.join(options.directory, "verified.tsv"), "w") as f:
        f.write("# instruction\twords\ttuples\twarps that differ\tzero\tsubnormal\tnormal\tinfinite\tNaN\tfirst mismatch\n")
        for name, row in sorted(rows.items()):
            f.write("\t".join([name] + [str(v) for v in row[:3] + row[3]] + [row[4]]).rstrip("\t") + "\n")
    wrong = [name for name, row in rows.items() if row[2]]
    print("%d instructions with modifiers, %d words, %d tuples, %d warps differ, %d words did not run" % (
        len(rows), sum(r[0] for r in rows.values()), sum(r[1] for r in rows.values()), sum(r[2] for r in rows.values()), len(unable)))
    for name in sorted(wrong):
        print("differs: %s: %s" % (name, rows[name][4]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
