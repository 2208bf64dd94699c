#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One test explored by several threads: what is reported does not depend on their number, limits and signals hold, and threads that cannot be made are
done without.

    threads_test.py SASSEMU [--seed N] [--tests N] [--measure]

`--measure`: the times of large tests with one thread and with two, of this host.
"""
import argparse
import glob
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time

from scale_test import LOCK, mixed

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LITMUS, HERE = os.path.join(ROOT, "tests/litmus"), os.path.join(ROOT, "tests/explore")
THREADS = (1, 2, 3, 8)


def columns(threads, condition, model="ptx", **more):
    return {"name": "large", "model": model, "init": {}, "condition": condition, "threads": [{"id": f"P{i}", "cta": i, "ops": ops} for i, ops in enumerate(threads)], **more}


def adds(threads, each):
    return columns([[f"atom.relaxed.gpu.add r{k}, [x], 1" for k in range(each)]] * threads, f"x!={threads * each}")


def lock(threads):
    """A ticket lock in machine code, a thread in each CTA."""
    body = """        ULDC.64 UR4, c[0x0][0x208]
        MOV R2, c[0x0][ticket]
        MOV R3, c[0x0][ticket+4]
        MOV R4, c[0x0][serving]
        MOV R5, c[0x0][serving+4]
        MOV R6, c[0x0][data]
        MOV R7, c[0x0][data+4]
        MOV R12, 0x1
        ATOMG.E.ADD.STRONG.GPU PT, R8, desc[UR4][R2.64], R12
  WAIT: LDG.E.STRONG.GPU R9, desc[UR4][R4.64]
        ISETP.NE.AND P0, PT, R9, R8, PT
  @P0   BRA `(WAIT)
        CCTL.IVALL
        LDG.E R10, desc[UR4][R6.64]
        IADD3 R10, R10, 0x1, RZ
        STG.E desc[UR4][R6.64], R10
        MEMBAR.ALL.GPU
        ERRBAR
        IADD3 R11, R8, 0x1, RZ
        STG.E.STRONG.GPU desc[UR4][R4.64], R11
        EXIT
"""
    return (f'// litmus {{"name": "lock", "condition": "data!={threads}", "verdict": "forbidden", "threads": ['
            + ", ".join(f'{{"id": "P{i}", "cta": {i}, "kernel": "lock"}}' for i in range(threads))
            + "]}\n.target sm_90\n.kernel lock\n    .param ticket 8\n    .param serving 8\n    .param data 8\n" + body)


def stores(threads, each):
    """Plain stores and loads of caches, all of different words and lines."""
    return columns([[f"ST [{'xyzw'[(i + j) % 4]}], {j + 1}" if (i + j) % 2 else f"LD r{j}, [{'xyzw'[(i + j) % 4]}]" for j in range(each)] for i in range(threads)], "P0:r0==9", "caches")


def json_of(program, arguments, threads):
    r = subprocess.run([program, "litmus", "--json", "--witness", "--threads", str(threads), *arguments], capture_output=True, text=True)
    reports = [json.loads(line) for line in r.stdout.splitlines()]
    for report in reports:
        report.pop("seconds", None)
    return r.returncode, reports, r.stderr


def tests_of(folder):
    """Name: file, arguments. Each is large enough for several threads."""
    out = {}
    for name, content, more in (("3 x 3 fetch-adds", adds(3, 3), []), ("4 x 4 accesses to 4 words", columns(mixed(4, 4), "P0:r1==3"), []),
                                ("ticket lock of 2, caches", lock(2), ["--model", "caches"]), ("ticket lock of 3, flat", lock(3), ["--model", "flat"]),
                                ("3 x 3 accesses, caches", stores(3, 3), []), ("message, weak", columns(mixed(3, 3), "P0:r1==3"), ["--model", "weak"])):
        path = os.path.join(folder, f"{len(out)}.{'sass' if isinstance(content, str) else 'jsonl'}")
        with open(path, "w") as f:
            f.write(content if isinstance(content, str) else json.dumps(content) + "\n")
        out[name] = [path, *more]
    return out


def drawn(choose, count, folder):
    """Of the project's own tests some of each file, under their own model and under each machine."""
    out = {}
    for path in sorted(glob.glob(os.path.join(LITMUS, "*.jsonl"))):
        with open(path) as f:
            lines = [line for line in f if line.startswith("{")]
        some = os.path.join(folder, os.path.basename(path))
        with open(some, "w") as f:
            f.writelines(choose.sample(lines, min(count, len(lines))))
        out[os.path.basename(path)] = [some]
        if os.path.basename(path) == "scope.jsonl":
            out["scope.jsonl, weak"] = [some, "--model", "weak"]
    code = sorted(glob.glob(os.path.join(HERE, "data/*.sass")) + glob.glob(os.path.join(HERE, "plans/*.json")))
    for path in choose.sample(code, min(count, len(code))):
        for model in ("flat", "caches", "weak", "ptx"):
            out[f"{os.path.basename(path)}, {model}"] = [path, "--model", model]
    return out


def stopped(program, arguments, how):
    """Something that ends the search of a large test in the middle: within half a second (four, on a busy host), and what was found is said."""
    begun = time.monotonic()
    child = subprocess.Popen([program, "litmus", "--json", "--threads", "3", *arguments, *(["--time-limit", "1"] if how == "time" else []),
                              *(["--memory-limit", "150M"] if how == "memory" else [])], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if how == "signal":
        time.sleep(1)
        child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=120)
    spent = time.monotonic() - begun
    report = json.loads(out.splitlines()[0])
    wrong = []
    if child.returncode != (130 if how == "signal" else 4):
        wrong.append(f"exit code {child.returncode}: {err[-300:]}")
    if report["complete"] or report["verdict"] == "forbidden" or not report["executions"] + report.get("states", 0):
        wrong.append(f"complete {report['complete']}, {report['verdict']}, {report['executions']} executions")
    if how != "memory" and spent > 5:
        wrong.append(f"{spent:.1f} s")
    return [f"{' '.join(arguments)}: ended by {how}: {w}" for w in wrong]


def without_threads(program, arguments):
    """As a user whom the host gives no more threads; those that there are do it."""
    def few():
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
            os.setuid(65534)
        else:
            resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
    return subprocess.run([program, "litmus", "--json", "--threads", "8", *arguments], capture_output=True, text=True, preexec_fn=few)


def measure(program, folder):
    """Wall time of one test with one thread and with two: the least of three; of what cannot be seen through, executions in a time."""
    large = {"4 x 3 fetch-adds, ptx": (adds(4, 3), [], None), "4 x 6 accesses to 4 words, ptx": (columns(mixed(4, 6), "P0:r1==99"), [], 4),
             "ticket lock of 3, caches": (lock(3), ["--model", "caches"], None), "ticket lock of 5, caches": (lock(5), ["--model", "caches"], None),
             "3 x 5 accesses, caches": (stores(3, 5), [], None), "3 x 4 accesses, weak": (columns(mixed(3, 4), "P0:r1==99"), ["--model", "weak"], None)}
    for name, (content, more, limit) in large.items():
        path = os.path.join(folder, f"m.{'sass' if isinstance(content, str) else 'jsonl'}")
        with open(path, "w") as f:
            f.write(content if isinstance(content, str) else json.dumps(content) + "\n")
        rates = {}
        for threads in (1, 2) * 3:
            begun = time.monotonic()
            r = subprocess.run([program, "litmus", "--json", "--threads", str(threads), "--time-limit", str(limit or 300), path, *more], capture_output=True, text=True)
            spent = time.monotonic() - begun
            report = json.loads(r.stdout)
            rates[threads] = max(rates.get(threads, 0), report["executions"] / spent if limit else 1 / spent)
        one, two = rates[1], rates[2]
        shown = f"{one:,.0f} and {two:,.0f} executions a second" if limit else f"{1 / one:.2f} and {1 / two:.2f} s"
        print(f"{name}: {shown} with one thread and with two, x{two / one:.2f} ({report.get('states', report['executions']):,} {'states' if 'states' in report else 'executions'})", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--tests", type=int, default=4, help="of each file")
    p.add_argument("--measure", action="store_true")
    a = p.parse_args()
    program = os.path.abspath(a.program)
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        if a.measure:
            return measure(program, folder)
        large = tests_of(folder)
        for name, arguments in {**large, **drawn(random.Random(a.seed), a.tests, folder)}.items():
            code, reports, text = json_of(program, arguments, 1)
            if not reports:
                wrong.append(f"{name}: exit code {code}: {text[-300:]}")
            for threads in THREADS[1:]:
                if json_of(program, arguments, threads) != (code, reports, text):
                    wrong.append(f"{name}: {threads} threads report something else than one (--seed {a.seed})")
            if name in large:
                print(f"{name}: {reports[0]['verdict']}, {reports[0]['executions']} executions, {reports[0].get('states', 0)} states")
        big = os.path.join(folder, "big.jsonl")
        with open(big, "w") as f:
            f.write(json.dumps(columns(mixed(4, 6), "P0:r1==99")) + "\n")
        states = os.path.join(folder, "states.jsonl")
        with open(states, "w") as f:
            f.write(json.dumps(stores(4, 8)) + "\n")
        for path in (big, states):
            for how in ("time", "signal"):
                wrong += stopped(program, [path], how)
        wrong += stopped(program, [states], "memory")
        for name in ("3 x 3 fetch-adds", "ticket lock of 2, caches"):
            r = without_threads(program, large[name])
            if r.returncode != 0 or json.loads(r.stdout)["verdict"] != "forbidden":
                wrong.append(f"{name}: without threads: exit code {r.returncode}: {r.stderr[-300:]}")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
