#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels of public packages, each file compiled for its own architecture: does it decode as nvdisasm says, is there an opcode that does not
execute, does a derived launch end?

    census.py SASSEMU OUT [--flashinfer DATA] [--cutlass SOURCE] [--jobs N] [--seconds S] [--compile S] [--nvcc NVCC] [--nvdisasm NVDISASM] [--match TEXT] [--arch sm_90a,...]
              [--modules FOLDER] [--again] [--sample SEED]

DATA is the folder flashinfer/data of the unpacked wheel flashinfer-python, SOURCE the folder cutlass_library/source of nvidia-cutlass. A file gets
120 s (--compile). OUT/census.jsonl has a line per file and is continued when it is there; page.py makes the page's table of it. FOLDER keeps the modules, and
what is there is not compiled again; without it nothing else is kept.
"""
import argparse
import concurrent.futures
import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time

import derive
import sources
from listing import code_of


def text_of(command):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    return done.stdout, done.stderr, done.returncode


def compiled(nvcc, path, architectures, options, out, seconds, kept):
    """(architecture, "") of the first that compiles, or (None, why). `kept`.ARCHITECTURE.cubin is the module if it was compiled before."""
    why = ""
    for architecture in architectures:
        keep = f"{kept}.{architecture}.cubin"
        if kept and os.path.exists(keep):
            shutil.copy(keep, out)
            return architecture, ""
        with subprocess.Popen([nvcc, "-w", "-std=c++17", "-cubin", f"-arch={architecture}", *options, "-o", out, path],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True) as done:
            try:
                _, said = done.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(done.pid, signal.SIGKILL)  # nvcc and what it has started
                return None, f"{seconds} s for {architecture}"
        if done.returncode == 0:
            if kept:
                shutil.copy(out, keep + ".new")
                os.rename(keep + ".new", keep)
            return architecture, ""
        why = why or next((line for line in said.splitlines() if "error" in line or "fatal" in line), "failed")[:300]
    return None, why


def whole(row):
    """Whether nothing is wrong with a file that compiles."""
    return row["decodes"] and not row["unsupported"] and all(kernel["end"] in ("ended", "guessed") for kernel in row["kernels"])


def look(arguments, name, path, architectures, options):
    """The row of a file."""
    row = {"file": name}
    with tempfile.TemporaryDirectory() as folder:
        module = os.path.join(folder, "m.cubin")
        start = time.monotonic()
        kept = arguments.modules and os.path.join(arguments.modules, re.sub(r"\W", "_", name))
        architecture, row["error"] = compiled(arguments.nvcc, path, architectures, options, module, arguments.compile, kept)
        row["seconds"] = round(time.monotonic() - start, 1)
        row["arch"] = architecture or architectures[0]
        row["compiles"] = architecture is not None
        if not architecture:
            return row
        ours, complaint, _ = text_of([arguments.sassemu, "disasm", module])
        theirs, _, code = text_of([arguments.nvdisasm, "-c", module])
        ours, theirs = code_of(ours), code_of(theirs)
        row["decodes"] = ours == theirs if code == 0 else None
        row["instructions"] = len(ours)
        if code == 0 and ours != theirs:
            pair = next(((a, b) for a, b in zip(ours, theirs) if a != b), (complaint[:200], "one is longer"))
            row["first difference"] = [side.strip()[:200] for side in pair]
        missing, complaint, code = text_of([arguments.sassemu, "info", "--unsupported", module])
        info, _, _ = text_of([arguments.sassemu, "info", "--json", module])
        kernels = json.loads(info)["modules"][0]["kernels"] if info else []
        for kernel in kernels:
            missing = missing.replace(kernel["name"], "KERNEL")
        row["unsupported"] = "" if code == 0 else (missing + complaint).strip()[:1000]
        row["kernels"] = []
        for kernel in kernels:
            listing, _, _ = text_of([arguments.sassemu, "disasm", "--kernel", kernel["name"], module])
            end, line = derive.launch(arguments.sassemu, module, architecture, kernel, listing)
            row["kernels"].append({"name": kernel["name"], "end": end, "line": line})
            if len(row["kernels"]) == 8:  # instantiations of one template differ little
                break
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sassemu")
    parser.add_argument("out")
    parser.add_argument("--flashinfer")
    parser.add_argument("--cutlass")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=1e9, help="no file is begun later")
    parser.add_argument("--compile", type=int, default=120, help="seconds for a file's compiler")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--nvdisasm", default="nvdisasm")
    parser.add_argument("--again", action="store_true", help="also the files of the record that are not as they should be")
    parser.add_argument("--match", default="", help="only files whose name has this in it")
    parser.add_argument("--arch", default="", help="only files that may be meant for one of these")
    parser.add_argument("--sample", type=int, help="in an order drawn by this seed, so that a census cut short tells of all folders and sizes")
    parser.add_argument("--modules", help="a folder that keeps what was compiled")
    arguments = parser.parse_args()
    first, others = sources.cutlass(arguments.cutlass) if arguments.cutlass else ([], [])
    units = [*first, *(sources.freestanding(arguments.flashinfer) if arguments.flashinfer else []), *others]
    if arguments.sample is not None:
        random.Random(arguments.sample).shuffle(units)
    wanted = set(filter(None, arguments.arch.split(",")))
    units = [unit for unit in units if not wanted or wanted & set(unit[2])]
    os.makedirs(arguments.out, exist_ok=True)
    if arguments.modules:
        os.makedirs(arguments.modules, exist_ok=True)
    record = os.path.join(arguments.out, "census.jsonl")
    done = set()
    if os.path.exists(record):
        with open(record) as f:
            rows = [json.loads(line) for line in f]
        if arguments.again:
            rows = [row for row in rows if not row["compiles"] or whole(row)]
            with open(record, "w") as f:
                f.writelines(json.dumps(row) + "\n" for row in rows)
        done = {row["file"] for row in rows}
    units = [unit for unit in units if unit[0] not in done and arguments.match in unit[0]]
    end = time.monotonic() + arguments.seconds
    left = 0
    with open(record, "a") as f, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:

        def row_of(unit):
            return look(arguments, *unit) if time.monotonic() < end else None

        for future in concurrent.futures.as_completed([pool.submit(row_of, unit) for unit in units]):
            row = future.result()
            if row is None:
                left += 1
            else:
                f.write(json.dumps(row) + "\n")
                f.flush()
    print(f"{len(units) - left} files, {left} left for another time")


main()
