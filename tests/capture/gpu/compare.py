#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Captures launches of programs.py on a machine with a GPU and replays each capsule: is it bit-equal?

    compare.py SASSEMU libsassemu_capture.so OUT [--per-kernel 4] [--count 250] [--seconds 300] [--jobs N] [--captures N] [--check-sync SECONDS] [PROGRAM...]

Every launch is run three times on the GPU; buffers that held something else after some run are not compared. With --check-sync each is run
under check-sync too, at most so many seconds. OUT gets results.tsv and check-sync.jsonl (a line as soon as it is known), from which page.py
makes docs/captured.md, the log of each program, and what is to be looked at: capsules that did not replay equal, one of each finding of
check-sync, small ones only (they hold code of others: they are not to be kept), and of a large one the listing of its kernels.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MOST_FINDINGS = 40  # of a launch
KEPT_BYTES, ALL_KEPT_BYTES = 3 << 20, 64 << 20

FINDING = ("kind", "as_commonly_relied_on", "count", "kernel", "order", "missing")
ACCESS = ("does", "thread", "proxy", "space", "address", "bytes", "before", "after", "function", "pc", "sass", "file", "line")

EVERY_LAUNCH = {"native_textures"}  # its launches differ by their textures, not by their kernels

ORDERS = [["--threads", "4"]] * 3 + [["--plugin", "profile:memory=0", "--seed", hex(schedule << 56 | n)] for schedule in range(1, 5) for n in range(1, 5)]


def replay(sassemu, folder, limit):
    """One row: index, kernel, hash of the code, warp instructions, verdict, remark."""
    with open(os.path.join(folder, "plan.json")) as f:
        plan = json.load(f)
    digest = hashlib.sha256()
    for module in plan["modules"]:
        with open(os.path.join(folder, module), "rb") as f:
            digest.update(f.read())
    kernel = "+".join(launch["kernel"] for launch in plan["launches"] if "kernel" in launch)
    row = [str(plan["capsule"]["launch"]), kernel, digest.hexdigest()[:12], "0"]
    everything = {**plan["buffers"], **plan.get("globals", {})}
    compared = sum("expect" in entry for entry in everything.values())
    done = subprocess.run([sassemu, "run", os.path.join(folder, "plan.json"), "--json", "--threads", "1", "--memory-limit", "8G", "--time-limit", str(limit)],
                          capture_output=True, text=True)
    try:
        report = json.loads(done.stdout)
        row[3] = str(sum(launch.get("warp_instructions", 0) for launch in report["launches"]))
        said = [launch.get("message") or json.dumps(launch.get("fault")) for launch in report["launches"] if launch.get("status") not in ("ok", "not-run")]
    except (ValueError, KeyError):
        said = []
    # What the order of CTAs decides came in some order on the GPU, too: with several threads they run side by side here, and with a plugin a seed has a schedule.
    if done.returncode == 1:
        for order in ORDERS:
            if subprocess.run([sassemu, "run", os.path.join(folder, "plan.json"), *order, "--memory-limit", "8G", "--time-limit", str(limit)],
                              capture_output=True).returncode == 0:
                return row + ["equal in another order", "CTAs one after the other give other bits"]
    words = {0: "equal", 1: "differs", 3: "fault", 4: "limit", 5: "unsupported", 2: "refused"}
    verdict = words.get(done.returncode, "exit %d" % done.returncode)
    if verdict == "equal" and plan["capsule"].get("varies"):
        verdict = "equal but for what varies" if compared else "varies"
    remark = ""
    if done.returncode and plan["capsule"].get("heap"):
        # What the GPU's malloc gave is not captured, and the emulator's gives other addresses.
        return row + ["device heap", "%s: its module calls malloc or free, and capsules hold nothing of the device heap" % verdict]
    if done.returncode:
        lines = said or (done.stderr.strip() or done.stdout.strip()).splitlines()
        remark = " ".join(lines)[:300].replace("\t", " ")
    return row + [verdict, remark]


def checked(sassemu, folder, limit):
    """What check-sync says of a capsule: how it ended, and what it reports."""
    report = os.path.join(folder, "check-sync.json")
    began = time.monotonic()
    done = subprocess.run([sassemu, "check-sync", os.path.join(folder, "plan.json"), "--json", report, "--threads", "1", "--memory-limit", "8G",
                           "--time-limit", str(limit)], capture_output=True, text=True, errors="replace")
    row = {"seconds": round(time.monotonic() - began, 2), "findings": []}
    # The verdict on its results is run's: without a finding check-sync says the same.
    row["end"] = {0: "silent", 1: "silent", 6: "found", 4: "limit"}.get(done.returncode, "exit %d" % done.returncode)
    if row["end"] not in ("silent", "found"):
        row["said"] = (done.stderr.strip() + " " + done.stdout.strip())[-300:]
    if os.path.exists(report):
        with open(report) as f:
            found = json.load(f)["findings"]
        row["found"] = len(found)
        for finding in found[:MOST_FINDINGS]:
            accesses = [{key: access[key] for key in ACCESS if key in access} for access in finding["accesses"]]
            row["findings"].append({**{key: finding[key] for key in FINDING if key in finding}, "accesses": accesses})
        row["end"] = "found" if found else row["end"]
    return row


def listings(sassemu, folder, out):
    """The code of a capsule's kernels."""
    with open(os.path.join(folder, "plan.json")) as f:
        plan = json.load(f)
    with open(out, "w") as f:
        for launch in plan["launches"]:
            if "kernel" not in launch:
                continue
            module = plan["modules"][launch.get("module", 0)]
            subprocess.run([sassemu, "disasm", "--kernel", launch["kernel"], os.path.join(folder, module)], stdout=f, stderr=f)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("sassemu")
    args.add_argument("library")
    args.add_argument("out")
    args.add_argument("--per-kernel", type=int, default=4)
    args.add_argument("--count", type=int, default=250)
    args.add_argument("--seconds", type=float, default=300)
    args.add_argument("--repeat", type=int, default=3, help="runs of a launch on the GPU")
    args.add_argument("--more", default="", help="more of SASSEMU_CAPTURE, as kernel=gemm,window=16M")
    args.add_argument("--limit", type=float, default=20)
    args.add_argument("--check-sync", type=float, metavar="SECONDS")
    args.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 2), help="replays at once")
    args.add_argument("--captures", type=int, default=4, help="programs at once")
    args.add_argument("programs", nargs="*")
    o = args.parse_intermixed_args()  # the programs may stand before or behind options
    end = time.monotonic() + o.seconds
    python = sys.executable
    names = o.programs or subprocess.run([python, os.path.join(HERE, "programs.py")], capture_output=True, text=True, check=True).stdout.split()
    os.makedirs(os.path.join(o.out, "logs"), exist_ok=True)
    kept = os.path.join(o.out, "kept")
    os.makedirs(kept, exist_ok=True)
    lock, rows, room, known = threading.Lock(), [], [ALL_KEPT_BYTES], set()
    results, reports = (open(os.path.join(o.out, name), "w") for name in ("results.tsv", "check-sync.jsonl"))
    replays = concurrent.futures.ThreadPoolExecutor(o.jobs)

    def one(name, folder):
        row, report = ["", os.path.basename(folder), "", "0", "not replayed", "no time"], None
        if time.monotonic() < end:
            try:  # what is wrong with one capsule is a row
                row = replay(o.sassemu, folder, min(o.limit, end - time.monotonic()))
            except Exception as e:
                row[5] = str(e)
        if o.check_sync and time.monotonic() < end:
            try:
                report = checked(o.sassemu, folder, min(o.check_sync, end - time.monotonic()))
            except Exception as e:
                report = {"end": "failed", "said": str(e), "findings": []}
        look = row[4] not in ("varies", "not replayed") and not row[4].startswith("equal")
        small = sum(os.stat(os.path.join(folder, f)).st_blocks * 512 for f in os.listdir(folder))
        with lock:
            rows.append([name] + row)
            results.write("\t".join(rows[-1]) + "\n")
            results.flush()
            if report:
                report = {"program": name, "launch": row[0], "kernel": row[1], "code": row[2], "instructions": int(row[3]), **report}
                reports.write(json.dumps(report) + "\n")
                reports.flush()
                what = (row[1], *sorted({(f["kind"], *(a["pc"] for a in f["accesses"])) for f in report["findings"]}))
                look = look or report["end"] not in ("silent", "limit") and what not in known
                known.add(what)
            keep = look and small < min(KEPT_BYTES, room[0])
            room[0] -= small if keep else 0
        if keep:
            shutil.move(folder, os.path.join(kept, name + "-" + os.path.basename(folder)))
        elif look:
            listings(o.sassemu, folder, os.path.join(kept, name + "-" + os.path.basename(folder) + ".sass"))
        shutil.rmtree(folder, ignore_errors=True)

    def capture(name):
        work = os.path.join(o.out, "work", name)
        env = dict(os.environ, CUDA_INJECTION64_PATH=os.path.abspath(o.library),
                   SASSEMU_CAPTURE="dir=%s,count=%d,per-kernel=%d,repeat=%d,max-bytes=256M,window=1M,%s"
                   % (work, o.count, 0 if name in EVERY_LAUNCH else o.per_kernel, o.repeat, o.more))
        if time.monotonic() > end - 30:
            return "nothing: no time"
        with open(os.path.join(o.out, "logs", name + ".log"), "w") as log:
            process = subprocess.Popen([python, os.path.join(HERE, "programs.py"), name], env=env, stdout=log, stderr=log, start_new_session=True)
            done, ended = set(), None
            while True:
                # Capsules are replayed, and go, while the program runs.
                now = {f for f in os.listdir(work) if not f.startswith(".")} if os.path.isdir(work) else set()
                for folder in sorted(now - done):
                    replays.submit(one, name, os.path.join(work, folder))
                done |= now
                if ended is not None:
                    return ended
                ended = process.poll()
                if ended is None and (len(done) >= o.count or time.monotonic() > end - 15):
                    os.killpg(process.pid, signal.SIGKILL)
                    ended = "%d capsules" % len(done)
                time.sleep(0.2)

    with concurrent.futures.ThreadPoolExecutor(o.captures) as captures:
        for name, ended in zip(names, captures.map(capture, names)):
            print(name, "ended with", ended, flush=True)
    replays.shutdown()
    results.close()
    reports.close()
    with open(os.path.join(o.out, "results.tsv"), "w") as f:
        for row in sorted(rows):
            f.write("\t".join(row) + "\n")
    count = {}
    for row in rows:
        count[row[5]] = count.get(row[5], 0) + 1
    print(len(rows), "launches:", count)
    shutil.rmtree(os.path.join(o.out, "work"), ignore_errors=True)


if __name__ == "__main__":
    main()
