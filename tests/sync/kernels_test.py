#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check-sync on the kernels of cubins/ that have twins: silent on the kernel, and each link that a twin lacks is found.

    kernels_test.py SASSEMU ROOT [NAME-PART...]

A line `BUG(link)  // kind OPCODE...` of the source says what is found: the kind, and how the words of the two accesses begin.
`BUG(link)  // none: why`: other links order the same, and nothing is found.
Further: registers of wgmma, of which no compiler leaves a link out: words of a pattern are replaced by NOP.
"""
import glob
import json
import lzma
import os
import re
import struct
import subprocess
import sys
import tempfile


def check(program, plan, agents):
    report = plan + ".report"
    if os.path.exists(report):
        os.remove(report)
    end = subprocess.run([program, "check-sync", plan, "--json", report, "--agents", agents, "--time-limit", "100"], capture_output=True, text=True)
    if not os.path.exists(report):
        return None, end.stdout + end.stderr
    with open(report) as f:
        found = json.load(f)["findings"]
    return {(x["kind"], *[re.sub(r"^@!?U?P\w+ ", "", a["sass"]) for a in x["accesses"]]) for x in found if x["as_commonly_relied_on"]}, end.returncode


def fits(found, want):
    return any(f[0] == want[0] and len(f) == len(want) and all(re.match(w + r"\b", a) for w, a in zip(want[1:], f[1:])) for f in found)


def twins(program, root, name, work):
    """-> problems, twins"""
    folder = os.path.join(root, "cubins", name)
    with open(os.path.join(folder, name + ".cu")) as f:
        bugs = re.findall(r"^BUG\((\w+)\)  // (.*)$", f.read(), re.M)
    with open(os.path.join(folder, "plan.json")) as f:
        plan = json.load(f)
    problems = []
    for buffer in plan["buffers"].values():
        buffer.pop("expect", None)
        if "file" in buffer:
            buffer["file"] = os.path.join(folder, buffer["file"])
    for arch in plan["arch"]:
        cubin = os.path.join(work, "%s.%s.cubin" % (name, arch))
        with lzma.open(os.path.join(folder, "bugs.%s.cubin.xz" % arch)) as f, open(cubin, "wb") as out:
            out.write(f.read())
        for link, want in [(None, "none: correct"), *bugs]:
            clean = want.startswith("none: ")
            entry = dict(plan["launches"][0], **({"kernel": "BUG_" + link} if link else {}))
            path = os.path.join(work, "plan.json")
            with open(path, "w") as f:
                json.dump(dict(plan, arch=arch, module=os.path.basename(cubin), launches=[entry], timeLimit=20), f)
            for agents in ("eager", "lazy", "random"):
                found, end = check(program, path, agents)
                place = "%s %s %s %s" % (name, arch, link or "as it is", agents)
                if found is None:
                    problems.append("%s: no report: %s" % (place, end[-500:]))
                elif clean and (found or end):
                    problems.append("%s: exit code %s, found %s" % (place, end, found))
                elif not clean and not (fits(found, want.split()) if agents == "eager" else found):
                    problems.append("%s: exit code %s, wanted %s, found %s" % (place, end, want, found))
    return problems, len(bugs) * len(plan["arch"])


NOP = 0x7918
WORDS = {  # of WARPGROUP: bits 80:79 of the word
    "wgmma_gemm/plan.json": [(0, ("missing-wgmma-fence", "", "HGMMA")), (2, ("data-race", "HGMMA", ""))],
    "sync/wgmma_reload/correct.json": [(2, ("data-race", "IGMMA", ""))]}


def without_words(program, root, work):
    problems, count = [], 0
    for name, cases in WORDS.items():
        path = os.path.join(root, "cubins", name)
        with open(path) as f:
            plan = json.load(f)
        with open(os.path.join(os.path.dirname(path), plan["module"].replace("{arch}", "sm_90a")), "rb") as f:
            image = f.read()
        for kind, want in cases:
            words = bytearray(image)
            for at in range(0, len(words) - 15, 8):
                low, high = struct.unpack_from("<QQ", words, at)
                if low & 0xfff == 0x9c5 and high >> 15 & 3 == kind:
                    struct.pack_into("<QQ", words, at, NOP, high >> 41 << 41)  # what schedules it stays
            with open(os.path.join(work, "words.cubin"), "wb") as f:
                f.write(words)
            for buffer in plan["buffers"].values():
                buffer.pop("expect", None)
            path = os.path.join(work, "words.json")
            with open(path, "w") as f:
                json.dump(dict(plan, arch="sm_90a", module="words.cubin"), f)
            count += 1
            found, end = check(program, path, "eager")
            if found is None or not fits(found, want):
                problems.append("%s without the WARPGROUP of kind %d: exit code %s, wanted %s, found %s" % (name, kind, end, want, found))
    return problems, count


def main():
    program, root, parts = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3:]
    names = sorted(os.path.basename(os.path.dirname(path)) for path in glob.glob(os.path.join(root, "cubins", "*", "bugs.*.xz")))
    problems, bugs = [], 0
    with tempfile.TemporaryDirectory() as work:
        for name in names:
            if parts and not any(part in name for part in parts):
                continue
            more, count = twins(program, root, name, work)
            problems, bugs = problems + more, bugs + count
        if not parts or "words" in parts:
            more, count = without_words(program, root, work)
            problems, bugs = problems + more, bugs + count
    for problem in problems:
        print(problem[:1500])
    print("%d twins, %d problems" % (bugs, len(problems)))
    return 1 if problems or not bugs else 0


if __name__ == "__main__":
    sys.exit(main())
