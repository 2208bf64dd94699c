#!/usr/bin/env python3
"""`sassemu disasm` prints a cubin byte for byte as `nvdisasm -c` does: listing/ holds its listings.

Usage: listing_test.py PROGRAM SOURCE_DIR"""
import difflib
import os
import subprocess
import sys


def main():
    program, source = sys.argv[1:]
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
        run = subprocess.run([program, "disasm", cubin] + (["--hex"] if hexadecimal else []), capture_output=True,
                             text=True, check=False)
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            want = f.read()
        seen += 1
        if run.returncode != 0 or run.stdout != want:
            failed += 1
            print(f"{name}: exit code {run.returncode} {run.stderr}")
            print("".join(list(difflib.unified_diff(want.splitlines(True), run.stdout.splitlines(True), "nvdisasm",
                                                    "sassemu"))[:30]))
    print(f"{seen} listings, {failed} differ")
    return 1 if failed or seen < 7 else 0


if __name__ == "__main__":
    sys.exit(main())
