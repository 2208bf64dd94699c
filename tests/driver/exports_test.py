#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library exports the functions of the table and nothing else, and needs no library that a program may have in
another version; it can be loaded late.

    exports_test.py LIBRARY TABLE
"""
import re
import subprocess
import sys

library, table = sys.argv[1:]
wanted = set()
for line in open(table, encoding="utf-8"):
    match = re.match(r"(\w+) = \w+ \d+(?: (ptds|ptsz) \d+)?", line)
    if match:
        wanted.add(match[1])
        if match[2]:
            wanted.add(f"{match[1]}_{match[2]}")
listed = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
exported = {line.split()[-1].split("@")[0] for line in listed.splitlines()}
wrong = sorted(exported ^ wanted)
dynamic = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
# Debian has no archive of oneTBB: libtbb.so.12 is needed, and shared with a program that has it (docs/driver.md).
unwelcome = [name for name in needed if re.match(r"lib(stdc\+\+|gcc_s|protobuf|zstd|lz4|boost)", name)]
# What is loaded late finds little room in the threads' blocks.
headers = subprocess.run(["readelf", "-lW", library], check=True, capture_output=True, text=True).stdout
room = max([int(line.split()[5], 16) for line in headers.splitlines() if line.split()[:1] == ["TLS"]], default=0)
if wrong or unwelcome or room > 512:
    sys.exit(f"exported and not in the table, or the other way round: {wrong[:20]}; needs {unwelcome}; {room} bytes a thread")
print(len(exported), "symbols; needs", needed)
