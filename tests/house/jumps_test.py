#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A handler that goes on with the next one (go_on in emu/isa/isa.hpp) leaves no frame behind: the compiler has made a jump of every
such call. A frame each would be the length of straight guest code on the host's stack.

    jumps_test.py LEVEL_LIBRARY ...
"""
import re
import shutil
import subprocess
import sys

COUNTS = re.compile(r"\t(?:add|inc)q +(?:\$0x1,)?0x98\(%r\w+\)$")  # ++Warp::issued
GOES = re.compile(r"\t(?:notrack )?(call|jmp) +\*")


def look(library):
    text = subprocess.run(["objdump", "-d", "-C", "--no-show-raw-insn", library], check=True, capture_output=True, text=True).stdout
    jumps, calls, counted, function = 0, set(), False, ""
    for line in text.splitlines():
        if line.endswith(">:"):
            function, counted = line.split(" ", 1)[1], False
        elif COUNTS.search(line):
            counted = True
        elif counted and (go := GOES.search(line)):
            counted = False
            if go[1] == "jmp":
                jumps += 1
            elif not re.search(r"::run(_checked)?\(", function):
                calls.add(function)
    return jumps, calls


def main():
    if not shutil.which("objdump"):
        print("skipped: there is no objdump (Debian: binutils)")
        return 77
    bad = False
    for library in sys.argv[1:]:
        jumps, calls = look(library)
        print(f"{library}: {jumps} handlers jump to the next, {len(calls)} call it")
        for function in sorted(calls):
            print("  ", function)
        bad |= bool(calls) or jumps < 500
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
