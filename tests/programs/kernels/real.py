#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launches of packages' kernels with real inputs: compiled, run, and held against references in float64.

    real.py SASSEMU OUT --flashinfer DATA --ggml GGML --cutlass SOURCE --ffi INCLUDE --flash-attn FLASH --deep-gemm DEEP
            [--arch sm_90a,...] [--match TEXT] [--jobs N] [--nvcc NVCC] [--check-sync]

DATA and SOURCE as for census.py; GGML is the folder vendor/llama.cpp/ggml of the unpacked llama-cpp-python, INCLUDE tvm_ffi/include of
apache-tvm-ffi, FLASH the folder csrc of the unpacked flash-attn, DEEP the folder deep_gemm/include of sgl-deep-gemm. Needs numpy and triton. For each launch of cases_*.py OUT/ARCH/NAME gets the module, plan.json with its files, and what the run left in the
buffers (BUFFER.got); OUT/ARCH/real.jsonl has a line per launch. On a GPU `chip.py OUT/sm_90a RESULT` runs the same plans; what it gives
(RESULT/chip.json) belongs beside this file, and is compared wherever the compiler made the same code. With --check-sync each launch is run under
check-sync too: of what is reported reports.py must tell why. page.py makes the table. Nothing of the packages is kept
elsewhere.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../../cubins"))
import cases_attention  # noqa: E402
import cases_cutlass  # noqa: E402
import cases_flashinfer  # noqa: E402
import cases_ggml  # noqa: E402
import cases_more  # noqa: E402
import record  # noqa: E402
from reports import REPORTS  # noqa: E402

try:
    with open(os.path.join(HERE, "chip.json")) as file:
        CHIP = json.load(file)
except FileNotFoundError:
    CHIP = {}
CASES = [*cases_flashinfer.CASES, *cases_attention.CASES, *cases_ggml.CASES, *cases_cutlass.CASES, *cases_more.CASES]


def folder(case):
    return re.sub(r"\W+", "_", case.name)


def module_name(case):
    return re.sub(r"\W+", "_", case.source + (" " + case.kernel if case.triton else "")) + ".cubin"


def compared(case, module, hashes):
    """What a chip left against what the emulator did."""
    chip = CHIP.get(folder(case))
    if not chip or chip.get("error") or chip["status"] != "ok":
        return f"not run: {chip.get('error') or chip['status']}" if chip else "not run"
    if chip["varies"]:
        return "varies there"
    if chip["sha256"] == hashes:  # of every buffer, whatever paths of sources the module has in it
        return "equal"
    with open(module, "rb") as f:
        return "differs" if hashlib.sha256(f.read()).hexdigest() == chip["module"] else "other code"


def source_of(arguments, case):
    """(path, options) of a case's source."""
    if ":" in case.source:
        package, file = case.source.split(":")
    else:
        package, file = "flashinfer", os.path.join(HERE, "instances", case.source)
    if package == "ggml":
        place = os.path.join(arguments.ggml, "src/ggml-cuda")
        return os.path.join(place, file), [
            "-use_fast_math",
            "-extended-lambda",
            *(f"-I{d}" for d in (f"{arguments.ggml}/include", f"{arguments.ggml}/src", place)),
        ]
    if package == "cutlass":
        return os.path.join(arguments.cutlass, file), [
            "--expt-relaxed-constexpr",
            *(f"-I{arguments.cutlass}/{d}" for d in ("include", "tools/util/include")),
        ]
    if package == "flash_attn":
        return os.path.join(HERE, "instances", file), [
            "-use_fast_math",
            "-expt-extended-lambda",
            "--expt-relaxed-constexpr",
            *(f"-I{d}" for d in (f"{HERE}/instances/torch", f"{arguments.flash_attn}/flash_attn/src", f"{arguments.flash_attn}/cutlass/include")),
        ]
    if package == "deep_gemm":
        return os.path.join(HERE, "instances", file), ["--expt-relaxed-constexpr", f"-I{arguments.deep_gemm}"]
    data = arguments.flashinfer
    includes = ("cccl/cub", "cccl/libcudacxx/include", "cccl/thrust", "include", "csrc", "cutlass/include", "cutlass/tools/util/include")
    return os.path.join(data, "csrc", file), [
        "--expt-relaxed-constexpr",
        "-DENABLE_BF16",
        "-DENABLE_FP8",
        *(f"-I{data}/{d}" for d in includes),
        f"-I{arguments.ffi}",
    ]


def compiler(arguments, case, architecture, out):
    """The command that compiles a case's source."""
    if case.triton:
        file = case.source.split(":")[1]
        root = os.path.join(arguments.flashinfer, "../..") if "/" in file else os.path.join(HERE, "instances")
        return [sys.executable, os.path.join(HERE, "triton_module.py"), root, file, case.kernel, architecture, out, json.dumps(case.triton)]
    path, options = source_of(arguments, case)
    return [arguments.nvcc, "-w", "-std=c++17", "-cubin", f"-arch={architecture}", *options, "-o", out, path]


def compiled(arguments, case, architecture):
    """The module of a case's source; compiled once."""
    module = os.path.join(arguments.out, architecture, module_name(case))
    if not os.path.exists(module):
        os.makedirs(os.path.dirname(module), exist_ok=True)
        done = subprocess.run(compiler(arguments, case, architecture, module + ".new"), capture_output=True, text=True, errors="replace")
        if done.returncode:
            return None, done.stderr[-1000:] if case.triton else done.stderr[:1000]
        if case.triton:
            with open(module + ".json", "w") as f:
                f.write(done.stdout)
        os.rename(module + ".new", module)
    return module, ""


def prepare(arguments, case, architecture):
    """Writes the case's folder. (the plan, the inputs' bytes by name), or why not."""
    module, why = compiled(arguments, case, architecture)
    if module is None:
        return None, why
    info = json.loads(subprocess.run([arguments.sassemu, "info", "--json", module], capture_output=True, text=True, check=True).stdout)
    kernel = next((k["name"] for k in info["modules"][0]["kernels"] if re.search(case.kernel, k["name"])), None)
    if kernel is None:
        return None, f"no kernel has {case.kernel} in its name: " + " ".join(k["name"] for k in info["modules"][0]["kernels"])[:2000]
    place = os.path.join(arguments.out, architecture, folder(case))
    os.makedirs(place, exist_ok=True)
    buffers, inputs = {}, {}
    for at, (name, buffer) in enumerate(case.buffers.items()):
        entry = {"bytes": buffer.bytes()}
        if buffer.data is not None:
            entry["file"] = f"{name}.bin"
            with open(os.path.join(place, entry["file"]), "wb") as f:
                f.write(buffer.data.tobytes())
        elif buffer.low is not None:
            entry["random"] = {
                "type": buffer.type,
                "seed": int(hashlib.sha256(f"{case.name} {at}".encode()).hexdigest()[:8], 16),
                "low": buffer.low,
                "high": buffer.high,
            }
        else:
            entry["fill"] = "0xcd"
        buffers[name] = entry
        inputs[name] = record.contents(entry, entry["bytes"], place)
    launch = {
        "kernel": kernel,
        "grid": [*case.grid, 1, 1][:3],
        "block": [*case.block, 1, 1][:3],
        "args": [{"buffer": a} if isinstance(a, str) else a for a in case.args],
        "dynamicShared": case.shared,
    }
    if case.cluster:
        launch["cluster"] = [*case.cluster, 1, 1][:3]
    if case.triton:
        with open(module + ".json") as f:
            launch["dynamicShared"] = json.load(f)["shared"]
        launch["args"] += [{"u64": 0}] * 2  # no scratch memory, nobody profiles
    plan = {"arch": architecture, "module": "../" + os.path.basename(module), "timeLimit": 60, "buffers": buffers, "launches": [launch]}
    with open(os.path.join(place, "plan.json"), "w") as f:
        json.dump(plan, f, indent=1)
    return place, inputs


def reported(sassemu, plan):
    """The kinds of what check-sync reports of a plan; None: it did not come to an end."""
    report = os.path.join(os.path.dirname(plan), "check-sync.json")
    if os.path.exists(report):
        os.remove(report)
    done = subprocess.run([sassemu, "check-sync", plan, "--json", report], capture_output=True, text=True)
    if done.returncode not in (0, 6):
        return None
    with open(report) as f:
        return sorted({found["kind"] + ("" if found["as_commonly_relied_on"] else " (letter)") for found in json.load(f)["findings"]})


def launched(arguments, case, architecture):
    """The row of a case."""
    row = {"name": case.name, "arch": architecture, "package": case.source.split(":")[0].replace("_", "-") if ":" in case.source else "flashinfer"}
    place, inputs = prepare(arguments, case, architecture)
    if place is None:
        return {**row, "error": inputs}
    dumps = [option for name in case.buffers for option in ("--dump", f"{name}={place}/{name}.got")]
    done = subprocess.run([arguments.sassemu, "run", os.path.join(place, "plan.json"), "--json", *dumps], capture_output=True, text=True)
    if done.returncode:
        return {**row, "error": (done.stderr + done.stdout)[-1500:]}
    report = json.loads(done.stdout)
    row["instructions"] = report["stats"]["warp_instructions"]
    got = {}
    for name in case.buffers:
        with open(os.path.join(place, f"{name}.got"), "rb") as f:
            got[name] = f.read()
    row["sha256"] = {name: hashlib.sha256(held).hexdigest() for name, held in got.items()}
    if architecture == "sm_90a":
        row["chip"] = compared(case, os.path.join(place, "..", module_name(case)), row["sha256"])
    if case.reference:
        values = types.SimpleNamespace(**{name: buffer.values(inputs[name]) for name, buffer in case.buffers.items()})
        wanted = case.reference(values)
        row["distance"] = {name: round(case.buffers[name].distance(got[name], *wanted[name]), 4) for name in wanted}
    if arguments.check_sync:
        row["check_sync"] = reported(arguments.sassemu, os.path.join(place, "plan.json"))
        row["reported"] = REPORTS.get(case.name, "")
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sassemu")
    parser.add_argument("out")
    parser.add_argument("--flashinfer", required=True)
    parser.add_argument("--ggml", required=True)
    parser.add_argument("--cutlass", required=True)
    parser.add_argument("--ffi", required=True)
    parser.add_argument("--flash-attn", required=True)
    parser.add_argument("--deep-gemm", required=True)
    parser.add_argument("--arch", default="sm_90a,sm_100a,sm_120a")
    parser.add_argument("--match", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--check-sync", action="store_true")
    arguments = parser.parse_args()
    arguments.out = os.path.abspath(arguments.out)
    failed = 0
    for architecture in arguments.arch.split(","):
        cases = [case for case in CASES if architecture in case.architectures and arguments.match in case.name]
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            list(pool.map(lambda case: compiled(arguments, case, architecture), {case.source: case for case in cases}.values()))
            rows = list(pool.map(lambda case: launched(arguments, case, architecture), cases))
        with open(os.path.join(arguments.out, architecture, "real.jsonl"), "w") as f:
            f.writelines(json.dumps(row) + "\n" for row in rows)
        for row in rows:
            wrong = "error" in row or row.get("chip") == "differs" or any(part > 1 for part in row.get("distance", {}).values())
            if "check_sync" in row:  # what is reported, and only that, is what reports.py tells of
                wrong = wrong or row["check_sync"] is None or bool(row["check_sync"]) != bool(row["reported"])
            failed += wrong
            print("WRONG" if wrong else "ok   ", architecture, row["name"], row.get("distance", ""), row.get("error", ""), row.get("chip", ""), row.get("check_sync", ""))
    return failed > 0


sys.exit(main())
