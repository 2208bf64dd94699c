#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `sassemu litmus` says of the kernels in machines/ under each machine and under `ptx`: groups of a warp at barriers of their own, mbarriers of sm_80, launches
that overlap, wgmma, the patterns of tensor memory, bulk and tensor reductions; what of these faults; and of what is not explored the verdict `unknown`, exit code 4 and the instruction. What runs show under `flat` and `caches` is among what was explored.

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
# Each pattern of tensor memory, and each without a link: who shows that something is missing. Fences leave no word.
TENSOR = {"chain_nothing": "none", "chain_wait": "all", "chain_after": "ptx", "reload_nothing": "none", "reload_stored": "all", "turns_nothing": "none", "turns_before": "ptx", "turns_after": "ptx",
          "sum_nothing": "none", "sum_stored": "all", "sum_before": "ptx", "sum_after": "ptx", "reuse_nothing": "none", "reuse_wait": "all",
          # Pairs that the tensor core takes in order: a product and a shift, a shift and a product or a copy .4x256b; a copy and a shift are none, nor a shift and another copy.
          "shifted_nothing": "none", "shifted_wait": "all", "shifted_over": "none", "shifted_quarter": "none", "shifted_whole": "all", "copied_nothing": "none", "copied_wait": "all", "copied_after": "ptx",
          "allocation_nothing": "none", "allocation_leak": "all", "allocation_early": "all", "allocation_loaded": "ptx"}
# A race over many lanes has too many executions under `ptx`.
MANY = ["shifted_whole", "copied_wait", "copied_after"]
VERDICTS = {"none": ["forbidden"] * 4, "all": ["allowed"] * 4, "ptx": ["forbidden", "forbidden", "allowed", "allowed"]}
# Who frees too early, or never, does what has no meaning: then that is why it is allowed.
MEANINGLESS = {"tensor_allocation_leak": "tensor memory leak", "tensor_allocation_early": "unallocated tensor memory", "tensor_allocation_loaded": "unallocated tensor memory",
               "tensor_several_leak": "tensor memory leak", "tensor_several_early": "unallocated tensor memory"}
# Of a reduction: the machines of chips have no proxies.
REDUCTIONS = {"none": ["forbidden"] * 4, "all": ["allowed"] * 4, "proxies": ["forbidden", "forbidden", "allowed", "allowed"]}
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
    **{f"tensor_{kernel}": VERDICTS[shown][:3] + [None] if kernel in MANY else VERDICTS[shown] for kernel, shown in TENSOR.items()},
    "tensor_zeros": ["forbidden"] * 4,
    "statistic_least_nothing": ["forbidden"] * 4,
    "statistic_least_stored": ["allowed"] * 4,
    "statistic_floats": ["forbidden"] * 4,
    "masked_nothing": ["forbidden"] * 4,
    "masked_same": ["allowed"] * 4,
    # Two warps allocate, in either order.
    "tensor_several_nothing": ["forbidden"] * 3 + [None],
    "tensor_several_first": ["allowed"] * 3 + [None],
    "tensor_several_second": ["allowed"] * 3 + [None],
    "tensor_several_leak": ["allowed"] * 3 + [None],
    "tensor_several_early": ["allowed"] * 3 + [None],
    "tensor_allocation_other": ["forbidden"] * 4,
    **{f"reduction_{kernel}": REDUCTIONS[shown] for kernel, shown in {
        "sums_nothing": "none", "sums_fence": "proxies", "own_nothing": "none", "own_wait": "all", "own_commit": "all", "own_read": "all", "beside_cta": "proxies", "beside_gpu": "proxies",
        "beside_next": "none", "kinds_whole": "none", "kinds_apart": "none", "many": "none", "told_nothing": "none", "told_wait": "all", "tensors_nothing": "none", "tensors_wait": "all",
        "tensors_fence": "proxies"}.items()},
    # 64 and 128 threads: more than interleavings can be looked at, unless most of them are no choice.
    "words": ["forbidden", None, "forbidden", "forbidden"],
    "neighbours_nothing": ["forbidden"] * 3 + [None],
    "neighbours_barrier": ["allowed"] * 3 + [None],
    "rows_nothing": ["forbidden"] * 3 + [None],
    "rows_fence": ["forbidden", "forbidden", "allowed", None],
    "rows_commit": ["allowed"] * 3 + [None],
    "rows_after": ["forbidden", "forbidden", "allowed", None],
}
# The same without its words WARPGROUP of a kind (bits 80:79), which compilers put in where the source lacks them: WARPGROUP.ARRIVE, WARPGROUP.DEPBAR
WITHOUT = {"product_nothing": [(0, ["forbidden", "forbidden", "forbidden", "allowed"]), (2, ["allowed"] * 4)]}
UNDEFINED = "wgmma registers"
# What faults under every model: threads of a CTA, what they execute (R1: the warp, P3: it is warp 3), and why. Exploration ends with exit code 2 and the instruction.
HGMMA = "HGMMA.64x8x16.F32 R24, gdesc[UR8], RZ, !UPT, gsb0"
DESCRIPTORS = "UMOV UR8, 0x80040\nUMOV UR9, 0x10\nUMOV UR10, 0x80040\nUMOV UR11, 0x10\n"
FAULTS = [
    (96, DESCRIPTORS + HGMMA, "wgmma by a warpgroup that is not complete"),
    (128, f"@P3 EXIT\nBAR.SYNC.DEFER_BLOCKING 0x0\n{DESCRIPTORS}{HGMMA}", "wgmma by a warpgroup that is not complete"),
    (128, f"{DESCRIPTORS}@P3 BRA `(OTHER)\n{HGMMA}\nBRA `(END)\nOTHER:\n{HGMMA}\nEND:", "threads of a warpgroup execute different wgmma in this place"),
    (128, f"{DESCRIPTORS}@P3 R2UR UR10, R1\n{HGMMA}", "threads of a warpgroup give it different matrix descriptors or scale-d"),
    (128, f"{DESCRIPTORS}UMOV UR8, 0x83f00\n{HGMMA}", "the matrix descriptor of A leaves the shared memory of the CTA"),
    (128, f"{DESCRIPTORS}UMOV UR10, 0x83f00\n{HGMMA}", "the matrix descriptor of B leaves the shared memory of the CTA"),
]
# Threads may have ended when the last of their warpgroup issue.
ENDED = f"{DESCRIPTORS}{HGMMA}\nEXIT"
# Where warp 1 must not store in tensor memory.
STORED_AT = {0x200200: "faults: it reaches columns that tensor memory does not have", 0x100: "faults: lanes of tensor memory that its warp does not reach"}
SEEDS = 6


def states_of_runs(program, path, model, names):
    buffers = sorted({n.split("[")[0] for n in names})
    for seed in range(1, SEEDS + 1):
        with tempfile.TemporaryDirectory() as work:
            r = subprocess.run([program, "run", path, *(["--model", model] if model != "flat" else []), "--agents", "random", "--seed", str(seed), "--threads", "1", *(x for b in buffers for x in ("--dump", f"{b}={os.path.join(work, b)}"))],
                               capture_output=True, text=True)
            if r.returncode:
                yield seed, r.stdout + r.stderr
                continue
            words = {b: open(os.path.join(work, b), "rb").read() for b in buffers}
        yield seed, {n: struct.unpack_from("<I", words[n.split("[")[0]], 4 * int(re.search(r"\d+", n)[0]))[0] for n in names}


def changed(work, name, change):
    """The path of a plan whose module's words, pairs of 64 bits, are as `change` makes them."""
    with open(os.path.join(HERE, name + ".json")) as f:
        plan = json.load(f)
    with open(os.path.join(HERE, plan["module"]), "rb") as f:
        words = bytearray(f.read())
    for at in range(0, len(words) - 15, 8):
        struct.pack_into("<QQ", words, at, *change(*struct.unpack_from("<QQ", words, at)))
    with open(os.path.join(work, "words.cubin"), "wb") as f:
        f.write(words)
    path = os.path.join(work, "words.json")
    with open(path, "w") as f:
        json.dump(dict(plan, module="words.cubin"), f)
    return path


def without_words(program, work):
    wrong = []
    for name, cases in WITHOUT.items():
        for kind, verdicts in cases:
            nop = lambda low, high: (0x7918, high >> 41 << 41) if low & 0xfff == 0x9c5 and high >> 15 & 3 == kind else (low, high)  # what schedules it stays
            path = changed(work, name, nop)
            for model, wanted in zip(MODELS, verdicts):
                report, code = explore(program, path, model)
                if (report["verdict"], code, report.get("undefined", "")) != (wanted, 0, UNDEFINED if model == "ptx" else ""):
                    wrong.append(f"{name} without the WARPGROUP of kind {kind} under {model}: {report}, exit code {code}")
    return wrong


def words_alone(program, work):
    """Machines of chips judge words: without the PTX they say the same of tensor memory; the others say that they lack it."""
    wrong = []
    for kernel, shown in TENSOR.items():
        with open(os.path.join(HERE, f"tensor_{kernel}.json")) as f:
            plan = dict(json.load(f), module="words.cubin")
        with open(os.path.join(HERE, "tensor.cubin"), "rb") as f:
            module = f.read()
        with open(os.path.join(work, "words.cubin"), "wb") as f:
            f.write(module.replace(b".nv_debug_ptx_txt\0", b".no_debug_ptx_txt\0"))
        path = os.path.join(work, "words.json")
        with open(path, "w") as f:
            json.dump(plan, f)
        for model, wanted in zip(MODELS, VERDICTS[shown][:2] + [None] * 2):
            report, code = explore(program, path, model)
            undefined = MEANINGLESS.get(f"tensor_{kernel}", "") if wanted == "allowed" else ""
            if wanted and (report["verdict"], code, report["complete"], report.get("undefined", "")) != (wanted, 0, True, undefined) or not wanted and "without its PTX" not in report.get("bound", ""):
                wrong.append(f"tensor_{kernel} without its PTX under {model}: {report}, exit code {code}")
    return wrong


def faults(program, work):
    wrong = []
    for threads, body, what in [*FAULTS, (128, ENDED, None)]:
        source, module, path = (os.path.join(work, "fault." + ending) for ending in ("sass", "cubin", "json"))
        with open(source, "w") as f:
            f.write(".target sm_90a\n.kernel k\n.param out 8\n.shared 4096\nS2R R0, SR_TID.X\nSHF.R.U32.HI R1, RZ, 0x5, R0\nISETP.EQ.U32.AND P3, PT, R1, 0x3, PT\n" + body + "\nWARPGROUP.DEPBAR.LE gsb0, 0x0\nEXIT\n")
        subprocess.run([program, "asm", source, "-o", module], check=True)
        with open(path, "w") as f:
            json.dump({"arch": "sm_90a", "module": "fault.cubin", "condition": "out[0]==0", "buffers": {"out": {"bytes": 4}},
                       "launches": [{"kernel": "k", "grid": [1, 1, 1], "block": [threads, 1, 1], "args": [{"buffer": "out"}]}]}, f)
        for model in MODELS:
            report, code = explore(program, path, model)
            if what is None:
                if (report["verdict"], code, report["complete"]) != ("allowed", 0, True):
                    wrong.append(f"a warpgroup of which some have ended under {model}: {report}, exit code {code}")
            elif (report["verdict"], code) != ("error", 2) or f"'{HGMMA}' faults: {what}" not in report["error"]:
                wrong.append(f"{what} under {model}: {report}, exit code {code}")
    for address, what in STORED_AT.items():
        path = changed(work, "tensor_sum_nothing", lambda low, high: (low & (1 << 40) - 1 | address << 40, high) if low & 0xfff == 0x9ed else (low, high))
        for model in MODELS:
            report, code = explore(program, path, model)
            if (report["verdict"], code) != ("error", 2) or f"'STTM tmem[{address:#x}], " not in report["error"] or what not in report["error"]:
                wrong.append(f"{what} under {model}: {report}, exit code {code}")
    return wrong


def explore(program, path, model):
    r = subprocess.run([program, "litmus", "--json", "--time-limit", "60", *(["--model", model] if model != "ptx" else []), path], capture_output=True, text=True)
    return (json.loads(r.stdout.splitlines()[0]) if r.stdout else {"verdict": r.stderr}), r.returncode


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as work:
        wrong = without_words(program, work) + words_alone(program, work) + faults(program, work)
    for plan, verdicts in PLANS.items():
        path = os.path.join(HERE, plan + ".json")
        shown = {}  # by machines; ptx comes last
        for model, wanted in zip(MODELS, verdicts):
            where = f"{plan} under {model}"
            if wanted is None:  # it takes too long
                continue
            report, code = explore(program, path, model)
            if wanted not in ("allowed", "forbidden"):
                if (report["verdict"], code) != ("unknown", 4) or not re.search(f"'[^']*({wanted})[^']*' is not explored", report["bound"]):
                    wrong.append(f"{where}: {report}, exit code {code}")
                continue
            undefined = MEANINGLESS.get(plan, "") if wanted == "allowed" else ""
            if report["verdict"] != wanted or code or not report["complete"] or (undefined or report.get("undefined") in MEANINGLESS.values()) and report.get("undefined", "") != undefined:
                wrong.append(f"{where}: {report}, exit code {code}")
                continue
            shown[model] = {tuple(sorted(o["state"].items())) for o in report["outcomes"]}
            if model == "ptx" and "undefined" not in report:
                wrong += [f"{plan} under {machine} shows {state}, which ptx does not allow" for machine, states in shown.items() for state in states - shown["ptx"]]
            if model in ("weak", "ptx") or not report["outcomes"] or plan in MEANINGLESS:
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
