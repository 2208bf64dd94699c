#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sassemu disasm` prints a cubin byte for byte as `nvdisasm -c` does: listing/ holds some of its listings as text, and
digests.tsv those of all cubins of the repository (cubin TAB its digest TAB the listing's digest; first 16 digits of SHA-256).

Usage: listing_test.py PROGRAM SOURCE_DIR"""
import difflib
import hashlib
import os
import subprocess
import sys


def listing(program, cubin, *options):
    return subprocess.run([program, "disasm", cubin, *options], capture_output=True, check=False)


def texts(program, source):
    folder = os.path.join(source, "tests", "cli", "listing")
    failed, seen = 0, 0
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".txt"):
            continue
        hexadecimal = name.endswith(".hex.txt")
        stem = name[:-len(".hex.txt" if hexadecimal else ".txt")]
        cubin = os.path.join(folder, stem + ".cubin")
        if not os.path.exists(cubin):
            kernel, arch = stem.rsplit(".", 1)
            cubin = os.path.join(source, "cubins", kernel, arch + ".cubin")
        run = listing(program, cubin, *(["--hex"] if hexadecimal else []))
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            want = f.read()
        got = run.stdout.decode()
        seen += 1
        if run.returncode != 0 or got != want:
            failed += 1
            print(f"{name}: exit code {run.returncode} {run.stderr.decode()}")
            print("".join(list(difflib.unified_diff(want.splitlines(True), got.splitlines(True), "nvdisasm",
                                                    "sassemu"))[:30]))
    print(f"{seen} listings, {failed} differ")
    return seen >= 7 and not failed


def digests(program, source):
    def digest(data):
        return hashlib.sha256(data).hexdigest()[:16]

    failed, seen, changed = 0, 0, 0
    with open(os.path.join(source, "tests", "cli", "listing", "digests.tsv"), encoding="utf-8") as f:
        for line in f:
            name, cubin, want = line.rstrip("\n").split("\t")
            with open(os.path.join(source, name), "rb") as c:
                if digest(c.read()) != cubin:
                    print(f"{name}: built anew since listing/rebuild.sh ran; run it")
                    changed += 1
                    continue
            seen += 1
            if digest(listing(program, os.path.join(source, name)).stdout) != want:
                print(f"{name}: the listing is not nvdisasm's")
                failed += 1
    print(f"{seen} cubins, {failed} listings differ from nvdisasm's, {changed} cubins without a listing")
    return seen >= 400 and not failed and not changed


def main():
    same_texts = texts(*sys.argv[1:])
    same_digests = digests(*sys.argv[1:])
    return 0 if same_texts and same_digests else 1


if __name__ == "__main__":
    sys.exit(main())
