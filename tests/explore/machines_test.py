#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `sassemu litmus` says of the kernels in machines/ under each machine and under `ptx`: groups of a warp at barriers of their own, mbarriers of sm_80, launches
that overlap, wgmma, the patterns of tensor memory; and of what is not explored the verdict `unknown`, exit code 4 and the instruction. What runs show under `flat` and `caches` is among what was explored.

    machines_test.py SASSEMU
"""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "machines")
MODELS = ["flat", "caches", "weak", "ptx"]
NO_PTX = "ATOMS.ARRIVE.64|ARRIVES.LDGSTSBAR"
# plan: the verdict under each, or of what is not explored a part of its text
PLANS = {
    "groups": ["forbidden"] * 4,
    "counters": ["forbidden", "forbidden", NO_PTX, NO_PTX],
    "counters.line": ["forbidden", "forbidden", "forbidden", NO_PTX],
    "counters_no_wait": ["allowed", "allowed", NO_PTX, NO_PTX],
    "counters_no_wait.line": ["allowed", "allowed", "allowed", NO_PTX],
    "counted_copies": ["forbidden", "forbidden", NO_PTX, NO_PTX],
    "counted_copies.line": ["forbidden", "forbidden", "forbidden", NO_PTX],
    "overlap": ["forbidden"] * 4,
    "overlap_no_wait": ["allowed"] * 4,
    "product_nothing": ["forbidden"] * 4,
    "product_proxy_fence": ["forbidden", "forbidden", "allowed", "allowed"],
    "product_full": ["allowed"] * 4,
    "product_wait": ["allowed"] * 4,
    **{f"tensor_{kernel}": ["UTCATOMSWS"] * 3 + [verdict]
       for kernel, verdict in [("chain_nothing", "forbidden"), ("chain_wait", "allowed"), ("chain_after", "allowed"), ("reload_nothing", "forbidden"), ("reload_stored", "allowed"),
                               ("turns_nothing", "forbidden"), ("turns_before", "allowed"), ("turns_after", "allowed"),
                               ("sum_nothing", "forbidden"), ("sum_stored", "allowed"), ("sum_before", "allowed"), ("sum_after", "allowed"),
                               ("reuse_nothing", "forbidden"), ("reuse_wait", "allowed")]},
}
# The same without its words WARPGROUP of a kind (bits 80:79), which compilers put in where the source lacks them: WARPGROUP.ARRIVE, WARPGROUP.DEPBAR
WITHOUT = {"product_nothing": [(0, ["forbidden", "forbidden", "forbidden", "allowed"]), (2, ["allowed"] * 4)]}
UNDEFINED = "wgmma registers"
SEEDS = 6


def states_of_runs(program, path, model, names):
    for seed in range(1, SEEDS + 1):
        with tempfile.TemporaryDirectory() as work:
            dump = os.path.join(work, "out")
            r = subprocess.run([program, "run", path, *(["--model", model] if model != "flat" else []), "--agents", "random", "--seed", str(seed), "--threads", "1", "--dump", "out=" + dump],
                               capture_output=True, text=True)
            if r.returncode:
                yield seed, r.stdout + r.stderr
                continue
            words = open(dump, "rb").read()
        yield seed, {n: struct.unpack_from("<I", words, 4 * int(re.search(r"\d+", n)[0]))[0] for n in names}


def without_words(program, work):
    wrong = []
    for name, cases in WITHOUT.items():
        with open(os.path.join(HERE, name + ".json")) as f:
            plan = json.load(f)
        with open(os.path.join(HERE, plan["module"]), "rb") as f:
            image = f.read()
        for kind, verdicts in cases:
            words = bytearray(image)
            for at in range(0, len(words) - 15, 8):
                low, high = struct.unpack_from("<QQ", words, at)
                if low & 0xfff == 0x9c5 and high >> 15 & 3 == kind:
                    struct.pack_into("<QQ", words, at, 0x7918, high >> 41 << 41)  # NOP; what schedules it stays
            with open(os.path.join(work, "words.cubin"), "wb") as f:
                f.write(words)
            path = os.path.join(work, "words.json")
            with open(path, "w") as f:
                json.dump(dict(plan, module="words.cubin"), f)
            for model, wanted in zip(MODELS, verdicts):
                report, code = explore(program, path, model)
                if (report["verdict"], code, report.get("undefined", "")) != (wanted, 0, UNDEFINED if model == "ptx" else ""):
                    wrong.append(f"{name} without the WARPGROUP of kind {kind} under {model}: {report}, exit code {code}")
    return wrong


def explore(program, path, model):
    r = subprocess.run([program, "litmus", "--json", "--time-limit", "60", *(["--model", model] if model != "ptx" else []), path], capture_output=True, text=True)
    return (json.loads(r.stdout.splitlines()[0]) if r.stdout else {"verdict": r.stderr}), r.returncode


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as work:
        wrong = without_words(program, work)
    for plan, verdicts in PLANS.items():
        path = os.path.join(HERE, plan + ".json")
        for model, wanted in zip(MODELS, verdicts):
            where = f"{plan} under {model}"
            report, code = explore(program, path, model)
            if wanted not in ("allowed", "forbidden"):
                if (report["verdict"], code) != ("unknown", 4) or not re.search(f"'[^']*({wanted})[^']*' is not explored", report["bound"]):
                    wrong.append(f"{where}: {report}, exit code {code}")
                continue
            if report["verdict"] != wanted or code or not report["complete"]:
                wrong.append(f"{where}: {report}, exit code {code}")
                continue
            if model in ("weak", "ptx") or not report["outcomes"]:
                continue
            explored = [o["state"] for o in report["outcomes"]]
            for seed, state in states_of_runs(program, path, model, explored[0]):
                if state not in explored:
                    wrong.append(f"{where}: a run with seed {seed} shows {state}, which was not explored")
    for line in wrong:
        print(line)
    print(f"{len(PLANS)} plans, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
