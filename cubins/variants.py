#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kernels here as nvcc makes them with other flags: each is built, run, and held against the same expectation.

  variants.py SASSEMU OUT [--variants V,...] [--archs A,...] [--jobs N] [--limit S] [--build-only | --run-only] [NAME...]
  variants.py SASSEMU --kept                   those that are kept in variants.tar.xz (part of ./test)
  variants.py --keep OUT                       makes variants.tar.xz of a folder that was built

Variants: G (-G), O0 and O1 (of ptxas), regs32 (--maxrregcount 32), rdc (-rdc=true, device-linked), fast_math. Without --archs sm_90 and
sm_90a, and G all that the plans list. NAME: a folder; bench, or sync (its correct patterns); none: all. OUT/VARIANT/NAME
holds the cubins, plans, and what a run said (OUT/results.tsv; a run that is named there is not repeated). What has other results or faults by these
flags is in variants.json, with the reason and what an H200 gave for the same cubins. Exit code 1 where anything else differs that EXPLAINED does not name. nvcc 13.0; minutes for one variant, an hour for all.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import glob
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import shlex
import struct
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
STAGE = "/tmp/sassemu-cubins"
KEPT = os.path.join(HERE, "variants.tar.xz")
FLAGS = {"G": "-G", "O0": "-Xptxas -O0", "O1": "-Xptxas -O1", "regs32": "--maxrregcount 32", "rdc": "-rdc=true", "fast_math": "-use_fast_math"}
# What is known to differ, and was not run on a chip: (variant, plan, architecture), each a pattern.
EXPLAINED = [
    ([("G", "bench/attention", "*"), ("G", "bench/gemm_e4m3", "*")], "extern shared memory is not aligned, as in variants.json"),
    ([("fast_math", "attention/*", "*")], "approximate functions"),
]
# What is kept: cubins of a variant, by kernel and architecture.
SAMPLE = [(variant, name, arch) for variant, names, archs in (
    ("G", "atomics black_scholes collisions constant_table convergence function_pointers hmma_gemm interpreter keccak malloc printf recursion sha256 string_match "
          "tma_gemm virtual_calls warp_spin_lock", "sm_90"),
    ("G", "wgmma_gemm", "sm_90a"),
    ("G", "constant_table function_pointers virtual_calls", "sm_75 sm_80 sm_86 sm_89 sm_100 sm_120"),
    ("G", "atomics vote_match", "sm_75 sm_80 sm_120"),
    ("O0", "convergence dgemm scan sgemm", "sm_90"),
    ("O1", "radix_sort spmv", "sm_90"),
    ("regs32", "hgemm keccak sgemm sha256", "sm_90"),
    ("rdc", "constant_table function_pointers recursion virtual_calls", "sm_90"),
    ("fast_math", "black_scholes ieee nbody", "sm_90"),
) for name in names.split() for arch in archs.split()]

Row = collections.namedtuple("Row", "variant plan arch cubin code seconds said")  # a line of results.tsv
Build = collections.namedtuple("Build", "variant name arch cubin command")


# --- building -------------------------------------------------------------------------------------------------------

def commands(names):
    """(name, arch, cubin's name in its folder, nvcc command without -o) of all kernels, as the rebuild scripts have them."""
    found = []
    for line in subprocess.run([os.path.join(HERE, "rebuild"), "-n", *[n for n in names if n != "sync"]], check=True, capture_output=True,
                               text=True).stdout.splitlines() if names != ["sync"] else []:
        words = shlex.split(line)
        if "-DBUGS" in words:
            continue
        at = words.index("-o")
        out = os.path.relpath(words[at + 1], HERE)
        found.append((os.path.dirname(out), arch_of(words), os.path.basename(out), words[:at] + words[at + 2:]))
    if not names or "sync" in names:
        found += sync_commands()
    return found


def arch_of(words):
    return next(w for w in words if w.startswith("-arch="))[6:]


def sync_commands():
    path = os.path.join(HERE, "sync", "rebuild")
    sys.path.insert(0, os.path.join(HERE, "sync"))
    loader = importlib.machinery.SourceFileLoader("sync_rebuild", path)
    rebuild = importlib.util.module_from_spec(importlib.util.spec_from_loader("sync_rebuild", loader))
    loader.exec_module(rebuild)
    found = {}
    for name, p in sorted(rebuild.pairs.PATTERNS.items()):
        module = p["source"] or name
        for arch in p["only"].get("correct", p["archs"]):
            cubin = "%s.%s.cubin" % (module if p["source"] else "correct", arch)
            words = rebuild.nvcc("", module, None if p["source"] else "correct", arch, False, rebuild.pairs.FULL)
            at = words.index("-o")
            words = words[:at] + words[at + 2:-1] + ["-I" + STAGE + "/sync", os.path.join(HERE, "sync", words[-1])]
            found["sync/" + module, cubin] = ("sync/" + module, arch, cubin, words)
    return list(found.values())


def wanted(options):
    found = commands(options.names)
    for variant in options.variants:
        for name, arch, cubin, command in found:
            if options.archs and arch not in options.archs:
                continue
            if not options.archs and variant != "G" and arch not in ("sm_90", "sm_90a"):
                continue
            yield Build(variant, name, arch, cubin, command)


def instead(command, variant):
    """The command without a level of optimisation that the source asks for where the variant has one."""
    text = " ".join(command)
    for level in ("-Xcicc -O0", "-Xptxas -O0") if variant in ("G", "O0", "O1") else ():
        text = text.replace(level, "")
    return shlex.split(text)


def build(job, out):
    """Builds a cubin into OUT/VARIANT/NAME; what nvcc said where it failed, else nothing."""
    folder = os.path.join(out, job.variant, job.name)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, job.cubin)
    if os.path.exists(path):
        return ""
    with tempfile.TemporaryDirectory() as scratch:
        made = os.path.join(scratch, "made.cubin")
        steps = [instead(job.command, job.variant) + shlex.split(FLAGS[job.variant]) + ["-o", made]]
        if job.variant == "rdc":
            linked = os.path.join(scratch, "linked.cubin")
            steps.append(["nvcc", "-arch=" + job.arch, "-dlink", "-cubin", "-o", linked, made])
            made = linked
        for step in steps:
            ran = subprocess.run(step, cwd=STAGE, capture_output=True, text=True)
            if ran.returncode:
                return (ran.stderr or ran.stdout).strip().splitlines()[-1][:200]
        os.replace(made, path) if os.stat(scratch).st_dev == os.stat(folder).st_dev else copy(made, path)
    return ""


def copy(source, target):
    with open(source, "rb") as f, open(target, "wb") as g:
        g.write(f.read())


# --- running --------------------------------------------------------------------------------------------------------

def plans(job):
    """The plans of a cubin, by file name, as text."""
    folder = os.path.join(HERE, job.name)
    if job.name == "sync/library":
        found = [p for p in glob.glob(os.path.join(HERE, "sync", "*", "correct.json"))]
    elif job.name.startswith("sync/"):
        found = [os.path.join(folder, "correct.json")]
    else:
        found = glob.glob(os.path.join(folder, "*.json"))
    for path in sorted(found):
        with open(path) as f:
            text = f.read()
        module = re.search(r'"module": "([^"]*)"', text)
        archs = re.search(r'"arch": (\[[^]]*\]|"[^"]*")', text)
        if module and archs and '"%s"' % job.arch in archs.group(1) and os.path.basename(module.group(1)).replace("{arch}", job.arch) == job.cubin:
            yield path, text, module.group(1)


def run(job, out, sassemu, limit):
    """The rows of the plans of a cubin."""
    rows = []
    folder = os.path.join(out, job.variant, job.name)
    for path, text, module in plans(job):
        own = os.path.join(folder, os.path.splitext(job.cubin)[0])
        os.makedirs(own, exist_ok=True)
        link(folder, os.path.dirname(path), own, job.cubin)
        # Modules of other architectures (a plan with several GPUs) are the committed ones.
        text = text.replace('"module": "%s"' % module, '"module": "%s"' % os.path.basename(module))
        text = re.sub(r'"timeLimit": \d+', '"timeLimit": %d' % limit, text)
        stem = os.path.basename(os.path.dirname(path)) if job.name == "sync/library" else os.path.basename(path)[:-5]
        text = as_on_chip(text, "%s/%s/%s" % (job.variant, job.name, stem))
        plan = os.path.join(own, stem + ".json")
        with open(plan, "w") as f:
            f.write(text)
        begun = time.monotonic()
        try:
            ran = subprocess.run([sassemu, "run", plan, "--arch", job.arch], capture_output=True, text=True, errors="replace", timeout=limit + 60)
            code, said = ran.returncode, ran.stderr + ran.stdout
        except subprocess.TimeoutExpired:
            code, said = 124, "did not end"
        if code:
            with open(plan[:-5] + ".txt", "w") as f:
                f.write(said)
        rows.append(Row(job.variant, "%s/%s" % (job.name, stem), job.arch, job.cubin, str(code), "%.1f" % (time.monotonic() - begun), gist(said) if code else ""))
    return rows


def as_on_chip(text, name):
    """The plan with the chip's results for this variant, where they are others."""
    with open(os.path.join(HERE, "variants.json")) as f:
        other = json.load(f).get(name)
    if not other:
        return text
    plan = json.loads(text)
    for key, buffer in plan["buffers"].items():
        if "status" in other:
            buffer.pop("expect", None)
        elif key in other["buffers"]:
            buffer["expect"] = {"sha256": other["buffers"][key]}
    plan["expect"]["status"] = other.get("status", plan["expect"]["status"])
    return json.dumps(plan)


def link(folder, source, own, cubin):
    """What lies beside a plan, with the cubin that was built in its place."""
    for name in os.listdir(source):
        target = os.path.join(own, name)
        if not name.endswith(".json") and name != cubin and not os.path.lexists(target):
            os.symlink(os.path.join(source, name), target)
    if not os.path.lexists(os.path.join(own, cubin)):
        os.symlink(os.path.join(folder, cubin), os.path.join(own, cubin))


def gist(said):
    """The line that says most."""
    lines = [line.strip() for line in said.splitlines() if line.strip()] or [""]
    for sign in ("what:", " differ", "expected", "limit", "error"):
        for line in lines:
            if sign in line and not line.startswith("note:"):
                return line[:160].replace("\t", " ")
    return lines[0][:160]


def explanation(row):
    return next((why for patterns, why in EXPLAINED for v, p, a in patterns
                 if fnmatch.fnmatch(row.variant, v) and fnmatch.fnmatch(row.plan, p) and fnmatch.fnmatch(row.arch, a)), None)


def work(job, options):
    said = ""
    if not options.run_only:
        said = build(job, options.out)
    if said or not os.path.exists(os.path.join(options.out, job.variant, job.name, job.cubin)):
        return [Row(job.variant, job.name, job.arch, job.cubin, "nvcc", "0", said or "not built")]
    return [] if options.build_only else run(job, options.out, options.sassemu, options.limit)


def judge(rows):
    """Prints what differs, and says whether each is explained and each explanation is needed."""
    good, used = True, collections.Counter()
    for row in rows:
        why = explanation(row)
        if row.code == "0" and why:
            print("equal, though it is explained: %s %s %s (%s)" % (row.variant, row.plan, row.arch, why))
            good = False
        elif row.code != "0" and not why:
            print("differs: %s %s %s: exit code %s: %s" % (row.variant, row.plan, row.arch, row.code, row.said))
            good = False
        elif why:
            used[why] += 1
    for why, count in used.items():
        print("%d explained: %s" % (count, why))
    equal = sum(row.code == "0" for row in rows)
    print("%d runs, %d equal, %d explained, %d differ" % (len(rows), equal, sum(used.values()), len(rows) - equal - sum(used.values())))
    return good


# --- what is kept ---------------------------------------------------------------------------------------------------

def without_debug_text(image):
    """The PTX and the tables of registers that -G adds are most of such a file; here their sections are empty."""
    image = bytearray(image)
    table, = struct.unpack_from("<Q", image, 40)
    size, count, names = struct.unpack_from("<HHH", image, 58)
    strings, = struct.unpack_from("<Q", image, table + names * size + 24)
    for k in range(count):
        at = table + k * size
        name, kind = struct.unpack_from("<II", image, at)
        begin, length = struct.unpack_from("<QQ", image, at + 24)
        if kind != 8 and bytes(image[strings + name:strings + name + 10]) == b".nv_debug_":
            image[begin:begin + length] = bytes(length)
            struct.pack_into("<Q", image, at + 32, 0)
    return bytes(image)


def keep(out):
    with tarfile.open(KEPT, "w:xz", preset=9) as tar:
        for variant, name, arch in SAMPLE:
            path = "%s/%s/%s.cubin" % (variant, name, arch)
            with open(os.path.join(out, path), "rb") as f:
                image = without_debug_text(f.read())
            member = tarfile.TarInfo(path)
            member.size = len(image)
            tar.addfile(member, io.BytesIO(image))


def run_kept(sassemu):
    with tempfile.TemporaryDirectory() as out, tarfile.open(KEPT) as tar:
        jobs = []
        for member in tar.getmembers():
            variant, rest = member.name.split("/", 1)
            name, cubin = os.path.split(rest)
            path = os.path.join(out, member.name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as f:
                f.write(tar.extractfile(member).read())
            jobs.append(Build(variant, name, cubin.split(".")[-2], cubin, None))
        rows = [row for job in jobs for row in run(job, out, sassemu, 60)]
        return judge(rows) and len(rows) >= len(jobs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sassemu", nargs="?")
    parser.add_argument("out", nargs="?")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--variants", type=lambda s: s.split(","), default=list(FLAGS))
    parser.add_argument("--archs", type=lambda s: s.split(","), default=[])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--run-only", action="store_true")
    parser.add_argument("--kept", action="store_true")
    parser.add_argument("--keep")
    options = parser.parse_intermixed_args()
    if options.keep:
        keep(options.keep)
        return 0
    if options.kept:
        return 0 if run_kept(options.sassemu) else 1
    if not options.out:
        parser.error("SASSEMU and OUT are needed")
    os.makedirs(options.out, exist_ok=True)
    options.out = os.path.abspath(options.out)
    results = os.path.join(options.out, "results.tsv")
    rows = []
    if os.path.exists(results):
        with open(results) as f:
            rows = [Row(*line.rstrip("\n").split("\t")) for line in f]
    known = {(row.variant, os.path.dirname(row.plan), row.cubin) for row in rows}
    jobs = [job for job in wanted(options) if (job.variant, job.name, job.cubin) not in known]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool, open(results, "a") as log:
        for made in pool.map(lambda job: work(job, options), jobs):
            rows += made
            log.writelines("\t".join(row) + "\n" for row in made)
            log.flush()
    return 0 if options.build_only or judge(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
