#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Other formats: Accel-Sim's, read by a parser that is written from its description and refuses what Accel-Sim would;
Perfetto's, read by field numbers."""
import collections
import ctypes
import json
import os
import re
import signal
import stat
import struct
import subprocess
import unittest

import perfetto_file
from common import PROGRAM, ROOT, Case, records, trace
from perfetto_file import END

HEADER = ["kernel name", "kernel id", "grid dim", "block dim", "shmem", "nregs", "binary version", "cuda stream id",
          "shmem base_addr", "local mem base_addr", "nvbit version", "accelsim tracer version", "enable lineinfo"]


TMA = ("UTMALDG", "UTMASTG", "UTMAPF", "UTMAREDG", "UBLKCP", "UBLKPF", "UBLKRED")


def instruction(line, version=5):
    """One line -> (pc, mask, destination, opcode, sources, width, addresses by lane, immediate, transfer)."""
    words = line.split(" ")
    take = iter(words)
    pc, mask = int(next(take), 16), next(take)
    assert len(mask) == 8 and len(words[0]) >= 4, line
    mask = int(mask, 16)
    count = int(next(take))
    assert count in (0, 1), line
    destination = [next(take) for _ in range(count)]
    opcode = next(take)
    assert re.fullmatch(r"[A-Z][A-Z0-9_.x]*", opcode), line
    count = int(next(take))
    assert count <= 4, line
    sources = [next(take) for _ in range(count)]
    assert all(re.fullmatch(r"R([0-9]{1,2}|1[0-9]{2}|2[0-4][0-9]|25[0-5])", r) for r in destination + sources), line
    if version == 6 and "GMMA" in opcode:
        assert next(take) in ("0", "1") and re.fullmatch(r"\d+x\d+x\d+", opcode.split(".")[1]), line
    width, addresses, transfer = int(next(take)), {}, None
    if version == 6 and opcode.split(".")[0] in TMA:
        transfer = {"mbarrier": int(next(take), 16), "multicast": int(next(take))}
        if transfer["multicast"]:
            transfer["ctas"] = int(next(take), 16)
        transfer["bytes"], transfer["outside"] = int(next(take)), int(next(take))
        assert next(take) == "3", line
        transfer["addresses"] = [int(next(take), 16) for _ in range(int(next(take)))]
    elif width:
        lanes, form = trace.lanes_of(mask), int(next(take))
        assert lanes, line
        if form == 0:
            addresses = {lane: int(next(take), 16) for lane in lanes}
        else:
            assert form == 1 and lanes == list(range(lanes[0], lanes[0] + len(lanes))) and len(lanes) >= 2, line
            base, stride = int(next(take), 16), int(next(take))
            addresses = {lane: base + stride * k for k, lane in enumerate(lanes)}
    immediate = int(next(take))
    if version == 6:
        if opcode.startswith("BAR"):
            immediate = immediate, int(next(take))
        assert next(take) == "NoVal", line
    assert next(take, None) is None, line
    return pc, mask, destination, opcode, sources, width, addresses, immediate, transfer


def header_of(lines):
    """The lines of a header, up to the one that begins with #."""
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
    return header


def kernel(path):
    """A .traceg file -> (header, {CTA: {warp: [instruction]}})."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    assert text.endswith("\n")
    lines = iter(text.split("\n"))
    header = header_of(lines)
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


def unpacked(frame):
    library = trace._zstd()
    size = library.ZSTD_getFrameContentSize(frame, len(frame))
    assert size < 1 << 30
    room = ctypes.create_string_buffer(size or 1)
    assert library.ZSTD_decompress(room, size, frame, len(frame)) == size
    return room.raw[:size].decode()


def container(path):
    """A .tracez file, by its index -> (header, {CTA: {warp: [instruction]}}). Every byte is accounted for."""
    with open(path, "rb") as f:
        data = f.read()
    end = data.index(b"\0")
    assert data[:end].endswith(b"\n")
    header = header_of(data[:end].decode().split("\n"))
    dictionary, most = struct.unpack_from("<II", data, end + 1)
    assert (dictionary, most) == (0, 2048)
    at = struct.unpack("<Q", data[-8:])[0]
    position = end + 9  # where the next warp must begin

    def number(form="<I"):
        nonlocal at
        value, = struct.unpack_from(form, data, at)
        at += struct.calcsize(form)
        return value
    index, ctas = at, {}
    for _ in range(number()):
        place, cluster, member = ([number() for _ in range(3)] for _ in range(3))
        rank, count = number(), number()
        warps = ctas[tuple(place)] = {"cluster": (cluster, member, rank)}
        for warp in range(count):
            lines, pieces, offset = number(), number(), number("<Q")
            counts = [number() for _ in range(pieces)]
            assert offset == position and sum(counts) == lines
            assert all(c == most for c in counts[:-1]) and all(1 <= c <= most for c in counts)
            assert struct.unpack_from("<II", data, position) == (lines, pieces)
            position += 8
            warps[warp] = []
            for c in counts:
                size, = struct.unpack_from("<I", data, position)
                text = unpacked(data[position + 4:position + 4 + size])
                position += 4 + size
                assert text.count("\n") == c - 1
                warps[warp] += [instruction(line, 6) for line in text.split("\n")]
    assert position == index and at == len(data) - 8
    return header, ctas


def lanes_of(mask):
    return [n for n in range(32) if mask >> n & 1]


class AccelSim(Case):
    def converted(self, name, *options, to="accel-sim", run=()):
        path = self.record(name, "t", *options, run=run)
        self.sassemu(0, "trace", "convert", path, "--to", to, "-o", self.path("out"))
        with open(self.path("out/kernelslist.g"), encoding="utf-8") as f:
            commands = f.read().splitlines()
        return path, commands

    def check(self, name, version, *options, run=()):
        """All lines, against the trace and the count of the run. Returns the commands and the lines of each warp."""
        run += ("--stats=" + self.path("stats"),)
        path, commands = self.converted(name, *options, to="accel-sim" if version == 5 else "accel-sim-6", run=run)
        kernels = [c for c in commands if c.startswith("kernel")]
        ending, read = ("traceg", kernel) if version == 5 else ("tracez", container)
        for c in commands:
            self.assertRegex(c, r"^(kernel-\d+\.%s|MemcpyHtoD,0x[0-9a-f]{16},\d+)$" % ending)
        warps_of_all, lines = [], 0
        with trace.Trace(path) as t:
            self.assertEqual(len(kernels), len(t.launches))
            for launch, file in zip(t.launches, kernels):
                header, ctas = read(os.path.join(self.path("out"), file))
                self.assertEqual((header["kernel name"], header["binary version"], header["accelsim tracer version"]),
                                 (launch["kernel"], "90", str(version)))
                want = collections.defaultdict(list)
                for r in t.records(launch=launch["id"]):
                    want[r.cta, r.warp].append(r)
                places = {n: tuple(c["id"][d] for d in "xyz") for (of, n), c in t.ctas.items() if of == launch["id"]}
                self.assertEqual(list(ctas), [places[n] for n in sorted(places)])
                for (of, n), c in t.ctas.items():
                    if of == launch["id"] and version == 6:
                        grid = [launch["cluster"][d] for d in "xyz"]
                        self.assertEqual(ctas[places[n]].pop("cluster"),
                                         ([a // b for a, b in zip(places[n], grid)],
                                          [a % b for a, b in zip(places[n], grid)], c["rank"]))
                for (cta, warp), all_of in want.items():
                    got = ctas[places[cta]][warp]
                    self.assertEqual([(i[0], i[1]) for i in got], [(r.pc, r.lanes) for r in all_of])
                    lines += len(got)
                    warps_of_all.append(got)
                    for i, r in zip(got, all_of):
                        self.assertIn(i[3], r.instruction["text"].split(" "))
                        self.assertTrue(i[3].startswith(r.instruction["opcode"]))
                        named = [a for a in r.accesses if a.space in (0, 1)]
                        if named and not i[8]:
                            a = next((a for a in named if a.space == 0), named[0])
                            one = next(iter(a.addresses.values()))  # for a lane that reads nothing
                            self.assertEqual((i[5], i[6]), (a.bytes, {n: a.addresses.get(n, one) for n in lanes_of(r.lanes)}))
        with open(self.path("stats"), encoding="utf-8") as f:
            counted = json.load(f)
        self.assertEqual(lines, counted["warp_instructions"]
                         + (counted["guard_false"] if "skipped=1" in options else 0))
        return commands, warps_of_all

    def test_hgemm(self):
        commands, _ = self.check("hgemm", 5)
        self.assertTrue(any(c.startswith("MemcpyHtoD") for c in commands[:-1]))

    def test_lanes_that_copy_no_bytes(self):
        """Of cp.async; and the addresses of rows that LDSM loads, which some lanes have: the simulator wants a width."""
        _, warps = self.check("cp_async_gemm", 5)
        self.assertTrue(any(i[3].startswith("LDGSTS") and len(set(i[6].values())) < len(i[6]) for lines in warps for i in lines))
        _, warps = self.check("mma_exact", 5)
        self.assertTrue(all(i[5] for lines in warps for i in lines if i[3].startswith("LDSM")))

    def test_stencil_in_version_6(self):
        self.check("stencil", 6, "skipped=1")

    def test_instructions_that_no_lane_executes(self):
        _, warps = self.check("bfs", 5, "skipped=1")
        self.assertTrue(any(i[1] == 0 for lines in warps for i in lines))

    def test_spins_are_kept(self):
        """Every round of a wait has its lines: of a lock that another CTA has, and of an mbarrier."""
        for name, version, opcode, run in (("ticket_lock", 5, "LD", ()), ("ticket_lock", 6, "LD", ()),
                                           ("tma_gemm", 6, "SYNCS.PHASECHK", ("--agents", "lazy"))):
            with self.subTest(name=name, version=version):
                _, warps = self.check(name, version, run=run + ("--threads", "1"))
                rounds = [collections.Counter(i[0] for i in lines if i[3].startswith(opcode)) for lines in warps]
                self.assertGreater(max(n for r in rounds for n in r.values()), 1)

    def test_copies_of_the_tensor_memory_accelerator(self):
        """What a UTMALDG moves is there: the bytes, the sectors of global memory, the object that is told."""
        _, warps = self.check("tma_gemm", 6)
        transfers = [i for lines in warps for i in lines if i[3].startswith("UTMALDG")]
        self.assertTrue(transfers)
        for i in transfers:
            self.assertGreater(i[8]["bytes"] + i[8]["outside"], 0)
            self.assertEqual(len(set(i[8]["addresses"])), len(i[8]["addresses"]))
            self.assertTrue(all(a % 32 == 0 for a in i[8]["addresses"]))
            self.assertGreaterEqual(32 * len(i[8]["addresses"]), i[8]["bytes"])
            self.assertGreater(i[8]["mbarrier"], 0)

    def test_refusals(self):
        path = self.record("vecadd", "t", "addresses=0")
        for args in (("-o", self.path("out")), ("-o", os.path.join(path, "x")), ()):
            done = self.sassemu(2, "trace", "convert", path, "--to", "accel-sim", *args)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(os.listdir(self.folder), ["t"])


class Perfetto(Case):
    def converted(self, *record, run=(), **more):
        path = self.record(*record, run=("--deterministic",) + run, **more)
        self.sassemu(0, "trace", "convert", path, "--to", "perfetto", "-o", self.path("p"))
        return path, *perfetto_file.read(self.path("p"))

    def test_tracks(self):
        path, tracks, events = self.converted("sgemm", "t")
        covered, begun = 0, {}
        for track, now, e in events:
            if e.get("categories") == "warp":
                begun[track] = now
            elif e["type"] == END and track in begun:
                covered += now - begun.pop(track)
        self.assertEqual(covered, len(records(path)))
        depth = {name.split(" ")[0] for name, _ in tracks.values()}
        self.assertLessEqual({"GPU", "SM", "CTA", "warp", "launch", "host", "barriers"}, depth)
        levels = {"warp": "CTA", "CTA": "SM", "SM": "GPU", "launch": "GPU", "barrier": "barriers", "barriers": "CTA"}
        for name, parent in tracks.values():
            above = levels.get(name.split(" ")[0])
            self.assertEqual(tracks[parent][0].split(" ")[0] if parent else None, above)

    def phases(self, tracks, events, kind):
        """Of tracks of this kind: the phases in order, and by flow how many events there are on each track."""
        phases, flows = collections.defaultdict(list), collections.defaultdict(collections.Counter)
        for track, now, e in events:
            if tracks[track][0].startswith(kind + " ") and e.get("categories") == "phase":
                phases[track].append(int(e["name"].split(" ")[1]))
            if e.get("flow_ids", 0) >> 63:
                flows[e["flow_ids"]][tracks[track][0]] += 1
        return phases, flows

    def test_barriers(self):
        """Each phase of a barrier is a slice of its track, and a flow joins all warps that arrive; each of them waits in a
        slice of its own, in which nothing else of it runs."""
        path, tracks, events = self.converted("sgemm", "t")
        phases, flows = self.phases(tracks, events, "barrier")
        self.assertEqual(len(phases), 4)
        for numbers in phases.values():
            self.assertEqual(numbers, list(range(len(numbers))))
        arrivals = sum(r.instruction["opcode"] == "BAR" for r in records(path))
        waits = [e for _, _, e in events if e.get("categories") == "wait"]
        self.assertEqual(len(waits), arrivals)
        self.assertEqual(sum(n for f in flows.values() for t, n in f.items() if t.startswith("warp ")), arrivals)
        self.assertTrue(all(f["barrier 0"] == 2 and sum(f.values()) == 2 + 8 for f in flows.values()), flows)

    def test_mbarrier_phases(self):
        _, tracks, events = self.converted("tma_gemm", "t", run=("--agents", "lazy"))
        phases, flows = self.phases(tracks, events, "mbarrier")
        self.assertTrue(phases)
        for numbers in phases.values():
            self.assertEqual(numbers, list(range(len(numbers))))
        # Who has waited for a phase is joined to who ended it.
        passed = {e["flow_ids"] for _, _, e in events if e.get("name") == "mbarrier: passed" and "flow_ids" in e}
        self.assertTrue(passed)
        for flow in passed:
            self.assertTrue(any(track.startswith("mbarrier ") for track in flows[flow]), flows[flow])

    def test_flows(self):
        """A copy is a slice of a track of its own, named as its instruction; a flow leads to it from its issue and ends
        where it ends."""
        _, tracks, events = self.converted("tma_gemm", "t", run=("--agents", "lazy"))
        begun, ended = collections.Counter(), collections.Counter()
        for track, _, e in events:
            if not e.get("flow_ids", 1 << 63) >> 63:
                begun[e["flow_ids"]] += 1
            if "terminating_flow_ids" in e:
                ended[e["terminating_flow_ids"]] += 1
                self.assertEqual(tracks[tracks[track][1]][0], "asynchronous")
        self.assertTrue(begun)
        self.assertEqual(set(begun), set(ended))
        self.assertEqual(set(ended.values()), {1})
        self.assertGreaterEqual(min(begun.values()), 2)
        names = {e.get("name", "").split(".")[0] for _, _, e in events}
        self.assertTrue({"mbarrier: init", "UTMALDG", "issue"} <= names, names)

    def test_the_tensor_core(self):
        plan = self.plan("wgmma_gemm", lambda plan: plan.update(arch="sm_90a"))
        _, _, events = self.converted("", "t", "cta=0", plan=plan, run=("--agents", "lazy"))
        self.assertTrue(any(e.get("categories") == "async" and e["name"].startswith("HGMMA.") for _, _, e in events))

    def test_gpus_and_the_host(self):
        """One line of time for all of a machine: what one has done before another stands before it."""
        plan = os.path.join(ROOT, "cubins", "flight", "two_gpus.json")
        path, tracks, events = self.converted("", "t", plan=plan)
        self.assertEqual({n for n, parent in tracks.values() if not parent}, {"GPU 0", "GPU 1", "host"})
        at = collections.defaultdict(list)
        for track, now, e in events:
            if e.get("categories") == "warp":
                while tracks[track][1]:
                    track = tracks[track][1]
                at[tracks[track][0]].append(now)
        self.assertTrue(min(at["GPU 0"]) < max(at["GPU 1"]) and min(at["GPU 1"]) < max(at["GPU 0"]))
        abroad = {(e["name"].split(" ")[0], e["name"].split("(")[-1]) for _, _, e in events
                  if e.get("categories") == "peer"}
        self.assertTrue(any(where == "'ball')" for _, where in abroad), abroad)
        with trace.Trace(path) as t:
            times = [r.time for r in t.records()]
        self.assertEqual(sorted(times), list(range(len(times))))

    def test_the_memory_model(self):
        plan = os.path.join(ROOT, "cubins", "peers", "handshake.json")
        _, tracks, events = self.converted("", "t", plan=plan,
                                           run=("--model", "caches", "--seed", "7"))
        names = [e["name"] for t, _, e in events if tracks[t][0] == "memory model"]
        self.assertTrue(any("is seen by the system" in n for n in names), names)

    def test_full_disk(self):
        path = self.record("vecadd", "t")
        self.assertIn("/dev/full", self.sassemu(2, "trace", "convert", path, "--to", "perfetto", "-o",
                                                "/dev/full").stderr)


class Files(Case):
    def test_a_replaced_file_keeps_its_mode_and_a_link_stays(self):
        path = self.record("vecadd", "t")
        real, link = self.path("p"), self.path("link")
        with open(real, "w", encoding="utf-8") as f:
            f.write("old")
        os.chmod(real, 0o640)
        os.symlink(real, link)
        self.sassemu(0, "trace", "convert", path, "--to", "perfetto", "-o", link)
        self.assertTrue(os.path.islink(link))
        self.assertEqual(stat.S_IMODE(os.stat(real).st_mode), 0o640)
        self.assertGreater(os.path.getsize(real), 3)
        self.assertEqual(sorted(os.listdir(self.folder)), ["link", "p", "t"])

    def test_a_process_that_is_ended_leaves_the_old_file_and_no_other(self):
        path = self.record("", "t", plan=self.plan("sgemm", lambda plan: plan["launches"][0].update(repeat=20)))
        files = self.path("t"), self.path("p"), self.path("plan.json")
        with open(self.path("p"), "w", encoding="utf-8") as f:
            f.write("old")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, None):
            limit = () if number else ("--time-limit", "0.1")
            process = subprocess.Popen([PROGRAM, "trace", "convert", path, "--to", "perfetto", "-o", self.path("p"), *limit],
                                       stderr=subprocess.DEVNULL)
            opened = False  # a write has begun
            while process.poll() is None and not opened:
                try:
                    opened = any(os.readlink(f"/proc/{process.pid}/fd/{fd}").startswith(self.folder + "/") and
                                 not os.readlink(f"/proc/{process.pid}/fd/{fd}").endswith("/t")
                                 for fd in os.listdir(f"/proc/{process.pid}/fd"))
                except OSError:
                    continue
            self.assertTrue(opened)
            if number:
                process.send_signal(number)
            self.assertEqual(process.wait(60), 130 if number else 4)
            self.assertEqual(sorted(os.listdir(self.folder)), sorted(map(os.path.basename, files)))
            with open(self.path("p"), encoding="utf-8") as f:
                self.assertEqual(f.read(), "old")


if __name__ == "__main__":
    unittest.main()
