#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sassemu run` on damaged cubins ends with an exit code of the contract, never with a crash.

Here: whole-program robustness on a fixed, seeded set of mutants. Not here: the loader's own fuzzing.
Called with the program, the source directory and the number of mutants.
"""
import os
import random
import subprocess
import sys
import tempfile

KERNELS = ["vecadd", "scan", "printf", "switch_table", "recursion", "texture", "function_pointers"]
ALLOWED = {0, 1, 2, 3, 4, 5}  # 7 would be an internal error, a negative one a signal


def mutant(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        kind = rng.choice([0] * 12 + [1] * 4 + [2] * 3 + [3])  # mostly flips: they get furthest
        at = rng.randrange(len(data))
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at] = rng.choice([0, 1, 0x7f, 0x80, 0xff])
        elif kind == 2:
            data[at:at + 8] = rng.choice([b"\xff" * 8, b"\0" * 8, (2**63).to_bytes(8, "little")])[:len(data) - at]
        elif at > 64:
            del data[at:]
    return bytes(data)


def main():
    program, root, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    failures = 0
    seen = {}
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(count):
            rng = random.Random(number)
            kernel = rng.choice(KERNELS)
            source = os.path.join(root, "cubins", kernel)
            with open(os.path.join(source, "sm_90.cubin"), "rb") as f:
                data = mutant(f.read(), rng)
            with open(os.path.join(source, "plan.json"), "rb") as f:
                plan = f.read()
            for name, content in (("sm_90.cubin", data), ("plan.json", plan)):
                with open(os.path.join(scratch, name), "wb") as f:
                    f.write(content)
            for name in os.listdir(source):  # files that the plan's buffers come from
                if name.endswith(".bin") and not os.path.exists(os.path.join(scratch, name)):
                    os.symlink(os.path.join(source, name), os.path.join(scratch, name))
            command = [program, "run", os.path.join(scratch, "plan.json"), "--arch", "sm_90", "--max-instructions", "2000000", "--time-limit", "5"]
            result = subprocess.run(command, capture_output=True, timeout=120)
            seen[result.returncode] = seen.get(result.returncode, 0) + 1
            if result.returncode not in ALLOWED:
                failures += 1
                print("mutant %d of %s: exit code %d\n%s" % (number, kernel, result.returncode, result.stderr.decode(errors="replace")[-2000:]))
    print("%d mutants, %d failures, exit codes %s" % (count, failures, dict(sorted(seen.items()))))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
