# SPDX-License-Identifier: Apache-2.0
"""What the tests of check-mem have in common: runs a kernel of a module or of .sass text, and gives the findings."""
import json
import os
import subprocess


def check(program, folder, module, kernel, out=256, block=64, args=None, buffers=None, options=(), arch="sm_90", **plan):
    """(exit code, findings, output) of check-mem on one launch, whose first buffer is `out`."""
    body = {"arch": arch, "module": os.path.relpath(module, folder), "timeLimit": 30, "limits": {"heap": 1 << 20},
            "buffers": {"out": {"bytes": out}, **(buffers or {})},
            "launches": [{"kernel": kernel, "grid": [1, 1, 1], "block": [block, 1, 1],
                          "args": args or [{"buffer": "out"}], **plan}]}
    path, report = os.path.join(folder, "plan.json"), os.path.join(folder, "report.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(body, f)
    if os.path.exists(report):
        os.remove(report)
    # What is dumped, the host reads.
    dump = "out=" + os.path.join(folder, "out.bin")
    end = subprocess.run([program, "check-mem", path, "--json", report, "--dump", dump, *options], capture_output=True,
                         text=True, timeout=120, check=False)
    findings = None
    if os.path.exists(report):
        with open(report, encoding="utf-8") as f:
            findings = json.load(f)["findings"]
    return end.returncode, findings, end.stdout + end.stderr


def assemble(program, folder, text):
    source, cubin = os.path.join(folder, "k.sass"), os.path.join(folder, "k.cubin")
    with open(source, "w", encoding="utf-8") as f:
        f.write(text)
    done = subprocess.run([program, "asm", source, "-o", cubin], capture_output=True, text=True, timeout=60,
                          check=False)
    if done.returncode:
        raise ValueError(done.stdout + done.stderr + text)
    return cubin
