#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every command line of README.md and docs/*.md that begins with `sassemu` or `./sassemu` in a block of code.

    commands.py BUILD SOURCE [WORD]      WORD: only lines that have it

A line is to end with 0, or with the code that ENDS states. Words in capitals, and files that a reader has himself, have
the values that prepare() gives them. What cannot be run here stands in EXCEPTIONS, with the reason.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

# The plan is of one architecture, as a reader's is; other names: prepare().
PLACEHOLDERS = {"PLAN": "plan/plan.json", "[OPTIONS]": "--stats", "PROGRAM": "./saxpy", "ARGS": ""}
ENDS = {  # part of a line: its exit code (docs/exit-codes.md)
    "cubins/sync/atomic_scope/atomic.json --arch sm_90": 6,
    "trace compare before.trace after.trace": 1,
    "--undefined scratch": 6,  # PLAN has no such buffer, which is a finding
}
EXCEPTIONS = {  # part of a line: why it is not run
    "--listen unix:/tmp/s": "the other side is a program of the reader's (tests/host runs both)",
    "--peer tcp:a:4000": "needs hosts a and b (tests/link/netns_test.py has two)",
    "ring_64mib.json": "3 GB and 13 s of processor time",
}
MOST_EXCEPTIONS = 8
MORE = [  # what a newcomer tries that stands in sentences
    "sassemu --version",
    "sassemu help run --man",
    "sassemu completion bash",
    "sassemu plugins",
    "sassemu run PLAN --reference",
    "cd plan && sassemu run - --json < plan.json",
    "sassemu litmus tests/explore/data/message.sass",
    "sassemu litmus cubins/peers/doorbell.json",
    "sassemu asm k.sass -o again.cubin",
]
KERNEL = """// p[i] = i for i < n
.target sm_90
.kernel k
    .param p 8
    .param n 4
        S2R R0, SR_CTAID.X
        S2R R1, SR_TID.X
        IMAD R0, R0, c[0x0][0x0], R1
        ISETP.GE.AND P0, PT, R0, c[0x0][n], PT
  @P0   EXIT
        ULDC.64 UR4, c[0x0][0x208]
        MOV R3, 0x4
        IMAD.WIDE R4, R0, R3, c[0x0][p]
        STG.E desc[UR4][R4.64], R0
        EXIT
"""


def commands(source):
    """(file:line, command) in blocks of code: fenced, or indented by four."""
    for path in [os.path.join(source, "README.md")] + sorted(glob.glob(os.path.join(source, "docs", "*.md"))):
        fenced = False
        with open(path, encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                if line.lstrip().startswith("```"):
                    fenced = not fenced
                    continue
                found = re.match(r"\s*(?:\$ )?((?:\./)?sassemu .*)", line)
                if found and (fenced or line.startswith("    ")):
                    yield "%s:%d" % (os.path.relpath(path, source), number), found[1]


def joined(lines):
    """A line that leaves a process behind is run with the next."""
    before = ""
    for where, command in lines:
        bare = re.sub(r"\s+#.*", "", command)
        before += bare + "\n"
        if not bare.endswith("&"):
            yield where, before
            before = ""
    if before:
        yield where, before


def substituted(command):
    for word, value in PLACEHOLDERS.items():
        command = re.sub(r"(?<![\w.])%s(?![\w.])" % re.escape(word), value, command)
    return command


def prepare(folder, source, environment):
    """The folder that lines are run in: three below one that has the tree's folders, as build/release/bin is."""
    inside = os.path.join(folder, "build", "release", "bin")
    os.makedirs(inside)
    for name in ("cubins", "tests", "sdk", "docs"):
        os.symlink(os.path.join(source, name), os.path.join(folder, name))
        os.symlink(os.path.join(source, name), os.path.join(inside, name))
    os.symlink(shutil.which("sassemu", path=environment["PATH"]), os.path.join(inside, "sassemu"))
    os.makedirs(os.path.join(inside, "capsules"))
    os.symlink(os.path.join(source, "cubins", "saxpy"), os.path.join(inside, "capsules", "000000-saxpy"))
    os.makedirs(os.path.join(inside, "src"))
    for name, text in (("k.sass", KERNEL), ("known.txt", ""), ("script", "info position\n")):
        with open(os.path.join(inside, name), "w", encoding="utf-8") as f:
            f.write(text)
    shutil.copy("/bin/true", os.path.join(inside, "saxpy"))  # a program; that it calls CUDA, tests/runtime tries
    shutil.copytree(os.path.join(source, "cubins", "saxpy"), os.path.join(inside, "plan"))
    plan = os.path.join(inside, "plan", "plan.json")
    with open(plan, encoding="utf-8") as f:
        described = json.load(f)
    with open(plan, "w", encoding="utf-8") as f:
        json.dump(dict(described, arch="sm_90"), f)
    for command in ("sassemu asm k.sass -o K.cubin", "sassemu run PLAN --plugin trace:file=before.trace",
                    "sassemu run cubins/saxpy/plan.json --arch sm_80 --plugin trace:file=after.trace"):
        subprocess.run(substituted(command), shell=True, cwd=inside, env=environment, check=True, stdout=subprocess.DEVNULL)
    return inside


def install(build, source, folder):
    prefix = os.path.join(folder, "prefix")
    for command in (["cmake", "--install", build, "--prefix", prefix],
                    [os.path.join(prefix, "bin", "sassemu"), "run", os.path.join(source, "cubins", "vecadd", "plan.json"), "--reference"]):
        end = subprocess.run(command, capture_output=True, text=True, check=False)
        if end.returncode:
            return "%s: %d\n%s%s" % (" ".join(command), end.returncode, end.stdout[-2000:], end.stderr[-2000:])
    return ""


def main():
    build, source = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    only = sys.argv[3] if len(sys.argv) > 3 else ""
    started, bad, ran = time.monotonic(), 0, 0
    assert len(EXCEPTIONS) <= MOST_EXCEPTIONS
    lines = list(joined(commands(source))) + [("commands.py", command) for command in MORE]
    unused = [part for part in list(EXCEPTIONS) + list(ENDS) if not any(part in command for _, command in lines)]
    if unused and not only:
        print("no line has: " + ", ".join(unused))
        bad += 1
    with tempfile.TemporaryDirectory(prefix="sassemu-commands-") as folder:
        environment = dict(os.environ, PATH=os.path.join(build, "bin") + os.pathsep + os.environ["PATH"])
        inside = prepare(folder, source, environment)
        for where, command in lines:
            if only not in command or any(part in command for part in EXCEPTIONS):
                continue
            wanted = next((code for part, code in ENDS.items() if part in command), 0)
            script = "trap '[ -z \"$(jobs -p)\" ] || wait' EXIT\n" + substituted(command)
            try:
                end = subprocess.run(["bash", "-c", script], cwd=inside, env=environment, stdin=subprocess.DEVNULL,
                                     capture_output=True, text=True, errors="replace", timeout=60, check=False)
                code, text = end.returncode, end.stdout[-1000:] + end.stderr[-2000:]
            except subprocess.TimeoutExpired:
                code, text = "no end in 60 s", ""
            ran += 1
            if code != wanted:
                bad += 1
                print("%s: %s%s, not %d\n%s" % (where, command, code, wanted, text), flush=True)
        if not only and (wrong := install(build, source, folder)):
            bad += 1
            print(wrong)
    print("%d command lines and an installation, %d wrong, %.0f s" % (ran, bad, time.monotonic() - started))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
