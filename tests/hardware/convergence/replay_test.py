#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The logged convergence programs, by the model (model.py) and in the emulator, against what an H100 logged.
  replay_test.py [SASSEMU] [--all] [--show NAME...]
Without SASSEMU the model alone; of the programs one in three, with --all all. Each is drawn again, assembled and run; every event (who runs,
the barrier registers, the state of every lane) must be the chip's, in the emulator where it is in the model. --show prints the events about the first difference.
"""
import argparse
import collections
import ctypes
import io
import json
import os
import struct
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../../../sdk/python")]
import gen
import model
import switches
import two
from sassemu import trace

LOG_BYTES = 0x8000
# The rule does not explain these (emu/isa/QUESTIONS.md, T11).
UNEXPLAINED = {"m_bsync_two_places", "g2_59"}
# Of programs with YIELD in divided code so many in 100 are followed to their end (with the others of these families).
FOLLOWED = {"g1": 70, "g3": 55, "t1": 35}


def archive():
    library = trace._zstd()
    with open(os.path.join(HERE, "chip.tar.zst"), "rb") as f:
        packed = f.read()
    room = ctypes.create_string_buffer(64 << 20)
    size = library.ZSTD_decompress(room, len(room), packed, len(packed))
    assert size < len(room), "chip.tar.zst is damaged"
    return tarfile.open(fileobj=io.BytesIO(room.raw[:size]))


def logs(tar, step, folder):
    """Name -> (status, events of sixteen words, whether the second warp gave up on the first)."""
    names = [line.split()[0] for line in tar.extractfile(f"list.{step}").read().decode().splitlines()]
    found = {}
    for member in tar.getnames():
        if not member.startswith(f"{folder}/res.{step}."):
            continue
        data, at = tar.extractfile(member).read(), 0
        while at < len(data):
            index, status, size = struct.unpack_from("<III", data, at)
            out = data[at + 12:at + 12 + size]
            hung = size > LOG_BYTES and struct.unpack_from("<I", out, LOG_BYTES)[0] != 0
            found[names[index]] = status, events(out), hung
            at += 12 + size
    return found


def events(data):
    found = []
    for k in range(0, min(len(data), LOG_BYTES), 64):
        words = struct.unpack_from("<16I", data, k)
        if words[0] == 0 and words[1] == 0:
            break
        found.append(words)
    return found


def seen(words):
    """What is compared of an event: site, active lanes, B0, B1, B2, B6, the state of each lane."""
    states = [sum((words[6 + bit] >> lane & 1) << bit for bit in range(5)) for lane in range(32)]
    return words[:6] + tuple(3 if s in (5, 7) else s for s in states)


def by_model(program):
    sim = model.Sim(program)
    sim.run()
    return [e[:6] + e[6] for e in sim.ev]


def by_emulator(sassemu, programs):
    """Name -> events; all programs are kernels of one module."""
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)
        texts = []
        for name, program in programs.items():
            # BMOV of MCOLLECTIVE does not execute, and is not compared; return addresses count instructions.
            text = gen.emit(program, watch=False).replace("BMOV.32 R46, MCOLLECTIVE", "MOV R46, RZ").replace(".kernel k", ".kernel " + name)
            texts.append(text.split("\n", 1)[1])
        with open(path("all.sass"), "w") as f:
            f.write(".target sm_90\n" + "\n".join(texts))
        subprocess.run([sassemu, "asm", path("all.sass"), "-o", path("all.cubin")], check=True)
        found = {}
        plan = {"module": "all.cubin", "buffers": {}, "launches": [], "expect": {"status": "ok"}}
        for name in programs:
            plan["buffers"][name] = {"bytes": LOG_BYTES, "fill": "0x00"}
            plan["launches"].append({"kernel": name, "grid": [1, 1, 1], "block": [32, 1, 1], "args": [{"buffer": name}]})
        with open(path("plan.json"), "w") as f:
            json.dump(plan, f)
        dumps = [f"--dump={name}={path(name)}.out" for name in programs]
        done = subprocess.run([sassemu, "run", path("plan.json"), "--arch", "sm_90", *dumps], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"sassemu ended with {done.returncode}: {(done.stdout + done.stderr)[-600:]}")
        for name in programs:
            with open(path(name) + ".out", "rb") as f:
                found[name] = events(f.read())
        return found


def show(event):
    groups = collections.defaultdict(int)
    for lane, state in enumerate(event[6:]):
        groups[state] |= 1 << lane
    return f"{event[0]:4d} {event[1]:08x} " + " ".join(f"{b:08x}" for b in event[2:6]) + "  " + " ".join(
        f"{s}:{m:08x}" for s, m in sorted(groups.items()))


def family(name):
    return name.split("_")[0]


def differs(want, got):
    return next((i for i in range(max(len(want), len(got))) if want[i:i + 1] != got[i:i + 1]), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sassemu", nargs="?")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--show", nargs="*", default=[])
    arguments = parser.parse_args()
    tar = archive()
    chip = logs(tar, "full", "chip") | logs(tar, "two", "chip2") | logs(tar, "switches", "chip3")
    programs = {**gen.all_programs(), **two.all_programs(), **switches.all_programs()}
    # NANOSLEEP is a matter of time; what hangs has no end to compare.
    programs = {n: p for n, p in programs.items()
                if n in chip and not chip[n][0] and not chip[n][2] and all(o[0] != "nanosleep" for o in p.ops)}
    if arguments.show:
        programs = {n: programs[n] for n in arguments.show}
    elif not arguments.all:
        programs = dict(list(programs.items())[::3])
    results = {"model": {n: by_model(p) for n, p in programs.items()}}
    if arguments.sassemu:
        # Those that the rule explains; others might go on for ever.
        explained = {n: programs[n] for n, got in results["model"].items() if got == [seen(e) for e in chip[n][1]]}
        results["emulator"] = {n: [seen(e) for e in ev] for n, ev in by_emulator(arguments.sassemu, explained).items()}
    wrong = 0
    for who, found in results.items():
        total, bad = collections.Counter(), collections.defaultdict(list)
        for name, got in found.items():
            want = [seen(e) for e in chip[name][1]]
            at = differs(want, got)
            total[family(name)] += 1
            if at is not None:
                bad[family(name)].append(name)
            if arguments.show:
                print(who, name, "first difference:", at)
                for i in range(max(0, (at or 0) - 6), (at or 0) + 4):
                    for side, log in (("chip", want), (who, got)):
                        if i < len(log):
                            print("*" if i == at else " ", f"{side:9s}", show(log[i]))
        for f, n in total.items():
            unknown = [name for name in bad[f] if name not in UNEXPLAINED]
            some = who == "model" and f in FOLLOWED
            fails = 100 * (n - len(bad[f])) < FOLLOWED[f] * n if some else bool(unknown)
            wrong += fails
            print(f"{who} {f}: {n - len(bad[f])} of {n} as the chip", *(["WRONG", *unknown[:12]] if fails else []))
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
