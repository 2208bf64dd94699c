#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Other formats: Accel-Sim's, read by a parser that is written from its description and refuses what Accel-Sim would;
Perfetto's, read by field numbers."""
import collections
import os
import re
import unittest

from common import Case, records, trace

HEADER = ["kernel name", "kernel id", "grid dim", "block dim", "shmem", "nregs", "binary version", "cuda stream id",
          "shmem base_addr", "local mem base_addr", "nvbit version", "accelsim tracer version", "enable lineinfo"]


def instruction(line):
    """One line of version 5 -> (pc, mask, destination, opcode, sources, width, addresses by lane, immediate)."""
    words = line.split(" ")
    take = iter(words)
    pc, mask = int(next(take), 16), next(take)
    assert len(mask) == 8 and len(words[0]) >= 4, line
    mask = int(mask, 16)
    count = int(next(take))
    assert count in (0, 1), line
    destination = [next(take) for _ in range(count)]
    opcode = next(take)
    assert re.fullmatch(r"[A-Z][A-Z0-9_.]*", opcode), line
    count = int(next(take))
    assert count <= 4, line
    sources = [next(take) for _ in range(count)]
    assert all(re.fullmatch(r"R([0-9]{1,2}|1[0-9]{2}|2[0-4][0-9]|25[0-5])", r) for r in destination + sources), line
    width, addresses = int(next(take)), {}
    if width:
        lanes, form = trace.lanes_of(mask), int(next(take))
        assert lanes, line
        if form == 0:
            addresses = {lane: int(next(take), 16) for lane in lanes}
        else:
            assert form == 1 and lanes == list(range(lanes[0], lanes[0] + len(lanes))) and len(lanes) >= 2, line
            base, stride = int(next(take), 16), int(next(take))
            addresses = {lane: base + stride * k for k, lane in enumerate(lanes)}
    immediate = int(next(take))
    assert next(take, None) is None, line
    return pc, mask, destination, opcode, sources, width, addresses, immediate


def kernel(path):
    """A .traceg file -> (header, {CTA: {warp: [instruction]}})."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    assert text.endswith("\n")
    lines = iter(text.split("\n"))
    header = {}
    for line in lines:
        if line.startswith("#"):
            assert line.startswith("#traces format = ")
            break
        if line:
            name, value = line[1:].split(" = ")
            assert line[0] == "-"
            header[name] = value
    assert list(header) == HEADER
    ctas, warps, left = {}, None, 0
    for line in lines:
        if left:
            warps[max(warps)].append(instruction(line))
            left -= 1
        elif line == "#BEGIN_TB":
            assert warps is None
            warps = {}
        elif line == "#END_TB":
            warps = None
        elif line.startswith("thread block = "):
            ctas[tuple(map(int, line[15:].split(",")))] = warps
        elif line.startswith("warp = "):
            warps[int(line[7:])] = []
        elif line.startswith("insts = "):
            left = int(line[8:])
        else:
            assert line == "", line
    assert warps is None and left == 0
    return header, ctas


class AccelSim(Case):
    def converted(self, name, *options):
        path = self.record(name, "t", *options)
        self.sassemu(0, "trace", "convert", path, "--to", "accel-sim", "-o", self.path("out"))
        with open(self.path("out/kernelslist.g"), encoding="utf-8") as f:
            commands = f.read().splitlines()
        return path, commands

    def check(self, name):
        path, commands = self.converted(name)
        kernels = [c for c in commands if c.startswith("kernel")]
        for c in commands:
            self.assertRegex(c, r"^(kernel-\d+\.traceg|MemcpyHtoD,0x[0-9a-f]{16},\d+)$")
        with trace.Trace(path) as t:
            self.assertEqual(len(kernels), len(t.launches))
            for launch, file in zip(t.launches, kernels):
                header, ctas = kernel(os.path.join(self.path("out"), file))
                self.assertEqual((header["kernel name"], header["binary version"], header["accelsim tracer version"]),
                                 (launch["kernel"], "90", "5"))
                want = collections.defaultdict(list)
                for r in t.records(launch=launch["id"]):
                    want[r.cta, r.warp].append(r)
                places = {n: tuple(c["id"][d] for d in "xyz") for (of, n), c in t.ctas.items() if of == launch["id"]}
                self.assertEqual(list(ctas), [places[n] for n in sorted(places)])
                for (cta, warp), all_of in want.items():
                    got = ctas[places[cta]][warp]
                    self.assertEqual([(i[0], i[1]) for i in got], [(r.pc, r.lanes) for r in all_of])
                    for i, r in zip(got, all_of):
                        self.assertIn(i[3], r.instruction["text"].split(" "))
                        self.assertTrue(i[3].startswith(r.instruction["opcode"]))
                        named = [a for a in r.accesses if a.space in (0, 1) and a.lanes == r.lanes]
                        if named:
                            a = next((a for a in named if a.space == 0), named[0])
                            self.assertEqual((i[5], i[6]), (a.bytes, a.addresses))
        return commands

    def test_sgemm(self):
        commands = self.check("sgemm")
        self.assertTrue(any(c.startswith("MemcpyHtoD") for c in commands[:-1]))

    def test_refusals(self):
        path = self.record("vecadd", "t", "addresses=0")
        for args in (("-o", self.path("out")), ("-o", os.path.join(path, "x")), ()):
            done = self.sassemu(2, "trace", "convert", path, "--to", "accel-sim", *args)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(os.listdir(self.folder), ["t"])


EVENT = {9: ("type", "u"), 11: ("track_uuid", "u"), 22: ("categories", ["str"]), 23: ("name", "str"),
         47: ("flow_ids", "bytes"), 48: ("terminating_flow_ids", "bytes")}
TRACK = {1: ("uuid", "u"), 2: ("name", "str"), 5: ("parent_uuid", "u")}
PACKET = {8: ("timestamp", "u"), 10: ("trusted_packet_sequence_id", "u"), 11: ("track_event", EVENT),
          60: ("track_descriptor", TRACK)}


class Perfetto(Case):
    def test_tracks(self):
        path = self.record("sgemm", "t", run=("--deterministic",))
        self.sassemu(0, "trace", "convert", path, "--to", "perfetto", "-o", self.path("p"))
        del EVENT[47], EVENT[48]  # fixed64; what flows are is in the other fields
        with open(self.path("p"), "rb") as f:
            packets = trace._message(f.read(), {1: ("packet", [PACKET])})["packet"]
        tracks, open_slices, times, covered = {}, collections.Counter(), {}, 0
        begun = {}
        for p in packets:
            if p["track_descriptor"]:
                d = p["track_descriptor"]
                self.assertNotIn(d["uuid"], tracks)
                self.assertTrue(d["parent_uuid"] == 0 or d["parent_uuid"] in tracks)
                tracks[d["uuid"]] = d["name"], d["parent_uuid"]
                continue
            e, now = p["track_event"], p["timestamp"]
            self.assertIn(e["track_uuid"], tracks)
            self.assertGreaterEqual(now, times.get(e["track_uuid"], 0))
            times[e["track_uuid"]] = now
            open_slices[e["track_uuid"]] += {1: 1, 2: -1, 3: 0}[e["type"]]
            self.assertIn(open_slices[e["track_uuid"]], (0, 1))
            if tracks[e["track_uuid"]][0].startswith("warp ") and e["type"] in (1, 2):
                if e["type"] == 1:
                    begun[e["track_uuid"]] = now
                else:
                    covered += now - begun[e["track_uuid"]]
        self.assertEqual(set(open_slices.values()), {0})
        self.assertEqual(covered, len(records(path)))
        depth = {name.split(" ")[0] for name, _ in tracks.values()}
        self.assertLessEqual({"GPU", "SM", "CTA", "warp"}, depth)

    def test_full_disk(self):
        path = self.record("vecadd", "t")
        self.assertIn("/dev/full", self.sassemu(2, "trace", "convert", path, "--to", "perfetto", "-o",
                                                "/dev/full").stderr)


if __name__ == "__main__":
    unittest.main()
