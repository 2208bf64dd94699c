# SPDX-License-Identifier: Apache-2.0
"""Launches that are derived from a module alone: what a kernel takes is known by sizes, what it means is guessed.

A parameter of 8 bytes is the address of a buffer of zeros of its own, of 4 bytes a small number, of 128 bytes (or their array) tensor maps of
such a buffer, anything else zeros. A run shows that the kernel's instructions execute and that their faults have names; its result means nothing.
"""
import json
import os
import re
import subprocess

BUFFER = 16 << 20  # bytes; they cost what a kernel touches
MOST_CTAS = 16  # of a cluster
NUMBERS = [1, 128, 0]  # what parameters of 4 bytes hold, one attempt each
# Faults that a guessed argument explains: an address behind its buffer, a map of another shape than the instruction wants, a check of the
# kernel's own, sizes that divide badly.
GUESSED = re.compile(r"out of bounds|illegal address|not mapped|no allocation|outside|misaligned|tensor map|trap|assert|dimension|box|descriptor", re.I)


def ranks(listing):
    """How many dimensions the tensor copies of a kernel have, the most frequent first."""
    found = re.findall(r"UTMA(?:LDG|STG|REDG|PF)\S*?\.([1-5])D", listing)
    return sorted(set(map(int, found)), key=lambda rank: -found.count(str(rank))) or [2]


def tensor_map(buffer, rank):
    dims = [64, 128, 8, 4, 2][:rank] if rank > 1 else [4096]
    strides, bytes_ = [], 2 * dims[0]
    for dim in dims[1:]:
        strides.append(bytes_)
        bytes_ *= dim
    return {"tensorMap": {"buffer": buffer, "type": "bf16", "dims": dims, "strides": strides, "box": [*dims[:2], 1, 1, 1][:rank] if rank > 1 else [256],
                          "swizzle": "128B" if rank > 1 else "none"}}


def plan(module, architecture, kernel, number, rank, shared, ctas):
    """`ctas`: of the cluster, where the kernel leaves that to who launches it."""
    buffers, args = {}, []
    for parameter in kernel["parameters"]:
        size = parameter["bytes"]
        name = f"p{parameter['ordinal']}"
        if size == 8:
            buffers[name] = {"bytes": BUFFER, "fill": "0x00"}
            args.append({"buffer": name})
        elif size == 4:
            args.append({"i32": number})
        elif size == 128:
            buffers[name] = {"bytes": BUFFER, "fill": "0x00"}
            args.append(tensor_map(name, rank))
        else:
            args.append({"bytes": "00" * size})
    threads = kernel["requiredThreads"] or kernel["maxThreads"] or [128, 1, 1]
    cluster = kernel["cluster"] or [ctas, 1, 1]
    launch = {"kernel": kernel["name"], "grid": cluster, "block": threads, "args": args, "dynamicShared": shared}
    if ctas > 1 or kernel["cluster"] and not kernel["explicitCluster"]:
        launch["cluster"] = cluster
    return {"arch": architecture, "module": os.path.basename(module), "timeLimit": 20, "buffers": buffers, "launches": [launch],
            "expect": {"status": "ok"}}


def launch(sassemu, module, architecture, kernel, listing):
    """(how a derived launch ended, its line): "ended", "guessed" where a guess explains the end, "limit", "unexplained"."""
    most = 99 if architecture.startswith("sm_12") else 227
    ctas = 2 if not kernel["cluster"] and ".2CTA" in listing else 1
    shared = max(0, (most << 10) - kernel["sharedStatic"] - 1024)
    best = ("unexplained", "no attempt")
    order = ["ended", "guessed", "limit", "unexplained"]
    file = f"{module}.{abs(hash(kernel['name']))}.json"
    for rank in ranks(listing):
        for number in NUMBERS:
            while True:
                with open(file, "w") as f:
                    json.dump(plan(module, architecture, kernel, number, rank, shared, ctas), f)
                done = subprocess.run([sassemu, "run", file, "--threads", "1", "--memory-limit", "3G", "--time-limit", "20"], capture_output=True, text=True)
                # The kernel counts on more CTAs: a cluster is a launch's affair.
                if kernel["cluster"] or ctas == MOST_CTAS or not re.search(r"rank \d+ of a cluster of", done.stdout + done.stderr):
                    break
                ctas *= 2
            text = (done.stderr + done.stdout).replace(kernel["name"], "KERNEL").replace(module, "MODULE").strip()
            line = next((line for line in text.splitlines() if re.search(r"fault|deadlock|limit|error|sassemu:|not executed", line)), text[-300:])
            if done.returncode == 0:
                end = "ended"
            elif done.returncode == 3 or (done.returncode == 4 and "deadlock" in text):
                end = "guessed" if done.returncode == 4 or GUESSED.search(text) else "unexplained"
            elif done.returncode == 4:
                end = "limit"
            else:
                end = "unexplained"
            if order.index(end) < order.index(best[0]) or best[1] == "no attempt":
                best = (end, f"{done.returncode} {line[:300]}")
            if end == "ended":
                os.remove(file)
                return best
    os.remove(file)
    return best
