#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An allocation that fails, each in turn, and a disk that fills up: never a signal, an exit code of the table, a line that
says why, and files whole or not at all. failing_calls_test.py SASSEMU FAILING_CALLS.so WORKERS_SHORT_OF_MEMORY
[STEP]"""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM, PRELOAD, WORKERS = sys.argv[1:4]
# Allocations of one kind follow each other by the thousand: all of the first, then every so many.
TRIES = int(sys.argv[4]) if len(sys.argv) > 4 else 60
SASS = ".target sm_90\n.kernel k\n.param out 8\n MOV R1, R2\n EXIT\n"


def execute(arguments, **environment):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, timeout=100, stdin=subprocess.DEVNULL,
                          env={**os.environ, "LD_PRELOAD": PRELOAD, **environment})


def count(arguments):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open("/dev/null", os.O_RDWR), 1)
        os.dup2(1, 2)
        os.dup2(writer, 9)
        os.execve(PROGRAM, [PROGRAM, *arguments], {**os.environ, "LD_PRELOAD": PRELOAD})
    os.close(writer)
    os.waitpid(pid, 0)
    with os.fdopen(reader) as file:
        return int(file.read().split()[-1])


def main():
    folder = tempfile.mkdtemp()
    source, cubin = os.path.join(folder, "k.sass"), os.path.join(folder, "k.cubin")
    with open(source, "w") as file:
        file.write(SASS)
    with open(os.path.join(ROOT, "tests/litmus", sorted(
            n for n in os.listdir(os.path.join(ROOT, "tests/litmus")) if n.endswith(".jsonl"))[0]), "rb") as file:
        line = next(line for line in file if line.startswith(b"{"))
    litmus = os.path.join(folder, "t.jsonl")
    with open(litmus, "wb") as file:
        file.write(line)
    subprocess.run([PROGRAM, "asm", source, "-o", cubin], check=True)
    with open(cubin, "rb") as file:
        good = file.read()
    commands = [["run", os.path.join(ROOT, "cubins/saxpy/plan.json"), "--arch", "sm_90", "--threads", "2"], ["disasm", cubin],
                ["litmus", litmus, "--threads", "2"], ["asm", source, "-o", os.path.join(folder, "o.cubin")]]
    complaints = []
    for command in commands:
        total = count(command)
        for at in sorted({1 + i * total // TRIES for i in range(TRIES)}):
            for mode in ({}, {"FAIL_ON": "1"}):
                result = execute(command, FAIL_AT=str(at), **mode)
                what = f"{command[0]}: allocation {at} of {total}{' and all after' if mode else ''}"
                # glibc itself ends a process whose thread cannot register a destructor.
                if result.returncode == -6 and b"failed to register TLS destructor" in result.stderr:
                    continue
                if not 0 <= result.returncode <= 6:
                    complaints.append(f"{what}: exit code {result.returncode}: {result.stderr[-200:]!r}")
                elif result.returncode != 0 and not result.stderr and not result.stdout:
                    complaints.append(f"{what}: exit code {result.returncode} without a word")
    for at in range(1, 10 * TRIES, 10):
        for mode in ({}, {"FAIL_ON": "1"}):
            code = subprocess.run([WORKERS], timeout=100, stderr=subprocess.DEVNULL,
                                  env={**os.environ, "LD_PRELOAD": PRELOAD, "FAIL_AT": str(at), **mode}).returncode
            if code not in (0, 2):
                complaints.append(f"workers: allocation {at}{' and all after' if mode else ''}: exit code {code}")
    output = os.path.join(folder, "w.cubin")
    for number in range(1, 4):
        with open(output, "wb") as file:
            file.write(b"before")
        result = execute(["asm", source, "-o", output], FAIL_WRITE=str(number))
        with open(output, "rb") as file:
            left = file.read()
        if left != (good if result.returncode == 0 else b"before") or result.returncode not in (0, 2):
            complaints.append(f"write {number} fails: exit code {result.returncode}, {len(left)} bytes left")
    if execute(["asm", source, "-o", output], SHORT_WRITES="1").returncode != 0 or open(output, "rb").read() != good:
        complaints.append("short writes")
    print("\n".join(complaints[:40]))
    return len(complaints) != 0


sys.exit(main())
