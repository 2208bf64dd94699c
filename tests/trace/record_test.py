#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recording and reading: both readers agree, values are those of the run, filters leave out what they say, files that
are cut, damaged or cannot be written do no harm."""
import collections
import ctypes
import json
import os
import random
import struct
import resource
import shutil
import signal
import struct
import subprocess
import time
import unittest

from common import PROGRAM, ROOT, Case, key, records, small, trace

RZ = 255


class Recording(Case):
    def test_every_instruction_once_in_both_readers(self):
        path = self.record("sgemm", "t", run=("--stats=" + self.path("stats"),))
        with open(self.path("stats"), encoding="utf-8") as f:
            counted = json.load(f)["warp_instructions"]
        stat = json.loads(self.sassemu(0, "trace", "stat", "--json", path).stdout)
        with trace.Trace(path) as t:
            self.assertFalse(t.truncated)
            opcodes, threads, accesses, numbers = collections.Counter(), 0, 0, collections.Counter()
            for r in t.records():
                opcodes[r.instruction["opcode"]] += 1
                threads += bin(r.lanes).count("1")
                accesses += len(r.accesses)
                self.assertEqual(r.number, numbers[r.cta, r.warp])
                numbers[r.cta, r.warp] += 1
            self.assertEqual(len(t.ctas), 4)
            self.assertEqual(t.ends[1]["status"], "ok")
        self.assertEqual(sum(opcodes.values()), counted)
        self.assertEqual(stat["warpInstructions"], counted)
        self.assertEqual(stat["opcodes"], dict(opcodes))
        self.assertEqual((stat["threadInstructions"], stat["accesses"]), (threads, accesses))
        self.assertLess(stat["bytesPerWarpInstruction"], 2)

    def test_show_says_what_python_reads(self):
        path = self.record("vecadd", "t", "values=1", "registers=1")
        lines = [x for x in self.sassemu(0, "trace", "show", path).stdout.splitlines() if x.startswith("launch 1 CTA")]
        want = [f"launch {r.launch} CTA {r.cta} warp {r.warp} #{r.number} {r.lanes:08x} "
                + (f"of {r.active:08x} " if r.active != r.lanes else "") + f"{r.pc:04x}  {r.instruction['text']}"
                for r in records(path)]
        self.assertEqual(lines, want)
        some = self.sassemu(0, "trace", "show", path, "--cta", "1", "--warp", "2", "--limit", "3").stdout.splitlines()
        some = [x for x in some if x.startswith("launch 1 CTA")]
        self.assertEqual(some, [x for x in want if x.startswith("launch 1 CTA 1 warp 2 ")][:3])

    def test_registers_and_values_fit_together(self):
        """A register is read as it was written last; loads and stores carry what their registers have."""
        known, loads, checked = {}, 0, 0
        for r in records(self.record("sgemm", "t", "values=1", "registers=1", "cta=3", run=("--deterministic",))):
            lanes = trace.lanes_of(r.lanes)
            for name, words in r.before.items():
                if isinstance(words, list):
                    for lane, word in zip(lanes, words):
                        checked += (r.warp, name, lane) in known
                        self.assertEqual(known.get((r.warp, name, lane), word), word, (r.instruction["text"], name))
            for name, words in (r.after or {}).items():
                if isinstance(words, list):
                    known.update({(r.warp, name, lane): word for lane, word in zip(lanes, words)})
            for a in r.accesses:
                if r.instruction["opcode"] not in ("LDG", "LDS", "STS", "STG") or not a.values:
                    continue
                loads += 1
                operands = [o["index"] for o in r.instruction["operand"] if o["kind"] == 0]
                is_load = r.instruction["opcode"].startswith("LD")
                data = operands[0] if is_load else operands[-1]
                if data == RZ:
                    continue
                file = r.after if is_load else r.before
                for k in range(a.bytes // 4):
                    for lane, word in zip(lanes, file[f"R{data + k}"]):
                        if a.lanes >> lane & 1:
                            self.assertEqual(a.values[lane][k], word, r.instruction["text"])
        self.assertGreater(loads, 100)
        self.assertGreater(checked, 10000)

    def test_filters_leave_out_what_they_say(self):
        full = records(self.record("sgemm", "full"))
        whole = collections.Counter(map(key, full))
        pcs = sorted({r.pc for r in full})
        low, high = pcs[len(pcs) // 4], pcs[len(pcs) // 2]
        order = collections.defaultdict(list)
        for r in full:
            order[r.cta, r.warp].append(r)
        window = collections.Counter(key(r) for warp in order.values() for r in warp[5:11])
        for options, kept in (
                (("cta=1-2",), lambda r: 1 <= r.cta <= 2), (("warp=2",), lambda r: r.warp == 2),
                ((f"pc={low:#x}-{high:#x}",), lambda r: low <= r.pc <= high),
                (("opcode=FFMA", "opcode=LDS"), lambda r: r.instruction["opcode"] in ("FFMA", "LDS")),
                (("group=load", "warp=0-1"), lambda r: r.instruction["effect"] == 1 and r.warp < 2),
                (("kernel=sgemm", "launch=1"), lambda r: True)):
            got = collections.Counter(map(key, records(self.record("sgemm", "part", *options))))
            self.assertEqual(got, collections.Counter(key(r) for r in full if kept(r)), options)
        self.assertEqual(records(self.record("sgemm", "part", "launch=2-", code=6)), [])  # which is said
        got = records(self.record("sgemm", "part", "window=5-10"))
        self.assertEqual(collections.Counter(map(key, got)), window)
        self.assertGreater(len(whole), 0)

    def test_deterministic_bytes(self):
        runs = [self.record("sgemm", f"t{n}", "values=1", f"threads={n}", run=("--deterministic",)) for n in (0, 1, 3)]
        contents = []
        for path in runs:
            with open(path, "rb") as f:
                contents.append(f.read())
        self.assertEqual(contents[0], contents[1])
        self.assertEqual(contents[0], contents[2])

    def test_memory_is_bounded(self):
        def run(plan, *options):
            before = os.fork()
            if before == 0:
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, 1)
                os.execv(PROGRAM, [PROGRAM, "run", plan, "--arch", "sm_90", *options])
            usage = os.wait4(before, 0)
            self.assertEqual(usage[1], 0)
            return usage[2].ru_maxrss * 1024
        plan = os.path.join(ROOT, "cubins", "sgemm", "plan.json")
        plain = run(plan)
        traced = run(plan, "--plugin", "trace:registers=1,values=1,file=" + self.path("t"))
        self.assertLess(traced - plain, 250 << 20)
        # 119 million warp instructions.
        long = os.path.join(ROOT, "cubins", "bench", "ffma.json")
        self.assertLess(run(long, "--plugin", "trace:file=" + self.path("t")), 300 << 20)
        with trace.Trace(self.path("t")) as t:
            self.assertGreater(sum(block[4] for block in t.blocks), 100000000)

    def test_instructions_that_no_lane_executes(self):
        plain = records(self.record("bfs", "plain", run=("--deterministic",)))
        with_them = records(self.record("bfs", "all", "skipped=1", run=("--deterministic", "--stats=" + self.path("s"))))
        self.assertEqual([key(r) for r in with_them if r.lanes], [key(r) for r in plain])
        skipped = [r for r in with_them if not r.lanes]
        with open(self.path("s"), encoding="utf-8") as f:
            self.assertEqual(len(skipped), json.load(f)["guard_false"])
        self.assertTrue(skipped)
        self.assertTrue(all(r.active and r.instruction["text"].startswith("@") for r in skipped))


class BesideTheWarps(Case):
    """The host, several GPUs, and the memory model."""

    def test_the_host(self):
        path = self.record("", "t", "values=1", plan=os.path.join(ROOT, "cubins", "flight", "doorbell.json"),
                           run=("--deterministic",))
        with trace.Trace(path) as t:
            names = {a["address"]: a["name"] for a in t.allocations}
            steps = [(c["op"], c["waited"], names.get(c["address"]), int.from_bytes(c["value"], "little"))
                     for c in t.clients if c["time"] and c["bytes"]]
            times, sizes = [c["time"] for c in t.clients], [c["bytes"] for c in t.clients]
            # The kernel's loads of the bell, and the store by which it has answered.
            bells = [(r.time, a.values[0][0]) for r in t.records() for a in r.accesses
                     if names.get(a.addresses.get(0)) == "bell" and a.values]
            done = [r.time for r in t.records() for a in r.accesses
                    if names.get(a.addresses.get(0)) == "done" and r.instruction["opcode"] in ("ST", "STG")]
        load, store, atomic = 0, 1, 2
        self.assertEqual(times, sorted(times))
        self.assertEqual(steps[:4], [(store, 0, "value", 5), (atomic, 0, "bell", 1), (load, 1, "done", 1),
                                     (load, 0, "answer", 15)])
        # What was first stands first: the bell rings, the kernel sees it, it answers, the host sees that.
        at = [time for time, c in zip(times, sizes) if time and c]
        heard = min(time for time, value in bells if value == 1)
        self.assertTrue(at[1] <= heard < done[0] < at[2], (at, heard, done))

    def test_peers(self):
        path = self.record("", "t", plan=os.path.join(ROOT, "cubins", "flight", "two_gpus.json"), run=("--threads", "2"))
        stat = json.loads(self.sassemu(0, "trace", "stat", "--json", path).stdout)
        with trace.Trace(path) as t:
            gpus = {x["id"]: x["gpu"] for x in t.launches}
            homes = {a["name"]: a["gpu"] for a in t.allocations}
            self.assertEqual((homes["ball"], homes["message"]), (-1, 0))
            by = {a["address"] >> 16: a["name"] for a in t.allocations}
            to_host = [r for r in t.records() for a in r.accesses if by.get(min(a.addresses.values()) >> 16) == "ball"]
            to_peer = [r for r in t.records() for a in r.accesses
                       if by.get(min(a.addresses.values()) >> 16) == "message" and gpus[r.launch] == 1]
        self.assertEqual((stat["hostAccesses"], stat["peerAccesses"]), (len(to_host), len(to_peer)))
        self.assertTrue(to_peer and to_host)

    def test_the_memory_model(self):
        """A store passes the stations in order, none before it is executed; each load that was put off gets its values,
        once for each lane."""
        path = self.record("", "t", "values=1", plan=os.path.join(ROOT, "cubins", "peers", "handshake.json"),
                           run=("--model", "caches", "--seed", "7"))
        stations = ["its CTA", "its SM", "its GPU (L2)", "other clients of its GPU", "the system"]
        with trace.Trace(path) as t:
            passed, stored, open_loads, loads = collections.defaultdict(list), {}, {}, 0
            for e in t.model_events:
                if e["kind"] == 0 and e["launch"]:
                    passed[e["launch"], e["cta"], e["warp"], e["lane"], e["address"]].append((e["time"], e["where"]))
            for block in range(len(t.blocks)):
                made, events = t.read(t.blocks[block])
                for r in made:
                    for a in r.accesses:
                        if a.op == 1:
                            for lane, address in a.addresses.items():
                                stored.setdefault((r.launch, r.cta, r.warp, lane, address), r.time)
                        elif a.op == 0 and a.space in (0, 4) and not a.values:
                            key = r.launch, r.cta, r.warp, r.instruction["id"]
                            open_loads[key] = open_loads.get(key, 0) + bin(a.lanes).count("1")
                            loads += 1
                for e in events:
                    if e["loaded"]:
                        key = t.blocks[block][2], t.blocks[block][3], e["loaded"]["warp"], e["loaded"]["instruction"]
                        lanes = bin(e["loaded"]["lanes"]).count("1")
                        open_loads[key] -= lanes
                        self.assertEqual(len(e["loaded"]["value"]) % lanes, 0)
                        self.assertTrue(e["loaded"]["value"])
        self.assertTrue(passed and loads)
        self.assertEqual(set(open_loads.values()), {0})
        for key, way in passed.items():
            order = [stations.index(where) for _, where in way]
            self.assertTrue(all(a < b or b == 0 for a, b in zip(order, order[1:])), way)
            self.assertGreaterEqual(way[0][0], stored[key])


class Refusing(Case):
    def test_options(self):
        for options, words in (("", "file"), ("file=x,group=nothing", "group"), ("file=x,cta=5-2", "cta"),
                               ("file=x,level=0", "level"),
                               ("file=x,registers=1,skipped=1", "skipped"), ("file=" + self.path("no/such/t"), "no/such/t")):
            done = self.sassemu(2, "run", os.path.join(ROOT, "cubins", "vecadd", "plan.json"), "--arch", "sm_90",
                                "--plugin", "trace" + (":" + options if options else ""))
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertIn(words, done.stderr)

    def test_filters_that_nothing_meets_are_said(self):
        for options, words in (("kernel=saxpy,kernel=vecadd", "trace: unknown-kernel: no launch of 'saxpy'; there were: vecadd"),
                               ("source=vecadd.cu", "trace: nothing-to-record: no instruction of the code is what these "
                                "filters want: source=vecadd.cu; source lines are in cubins that were compiled with -lineinfo"),
                               ("lines=1-99,cta=0", "want: cta=0 lines=1-99; source lines"),
                               ("opcode=LGD", "want: opcode=LGD\n"), ("pc=0x100000", "want: pc=0x100000\n"),
                               ("cta=99999", "nothing that was executed is what these filters want: cta=99999\n"),
                               ("warp=50", "want: warp=50\n"), ("launch=7", "want: launch=7\n"),
                               ("window=1000000-", "want: window=1000000-\n")):
            done = self.sassemu(6, "run", os.path.join(ROOT, "cubins", "vecadd", "plan.json"), "--arch", "sm_90",
                                "--plugin", f"trace:file={self.path('t')},{options}")
            self.assertIn(words, done.stdout)
            self.assertEqual(done.stdout.count("trace: "), 1, done.stdout)

    def test_a_file_is_for_one_run(self):
        plan = os.path.join(ROOT, "cubins", "vecadd", "plan.json")  # for several architectures
        for setting in ("trace:file=", "profile:memory=0,json="):
            said = self.sassemu(2, "run", plan, "--plugin", setting + self.path("f")).stderr
            self.assertIn("a file is for one run", said)
            self.assertFalse(os.path.exists(self.path("f")))

    def test_full_disk(self):
        done = self.sassemu(2, "run", os.path.join(ROOT, "cubins", "vecadd", "plan.json"), "--arch", "sm_90",
                            "--plugin", "trace:file=/dev/full")
        self.assertIn("/dev/full", done.stdout + done.stderr)

        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        done = self.sassemu(6, "run", os.path.join(ROOT, "cubins", "sgemm", "plan.json"), "--arch", "sm_90",
                            "--plugin", "trace:file=" + self.path("t"), preexec_fn=small_files)
        self.assertIn("trace-lost", done.stdout)
        self.assertEqual(os.listdir(self.folder), [])

    def test_cut_at_every_byte(self):
        path = self.record("vecadd", "t", "cta=0-1", "warp=0")
        with open(path, "rb") as f:
            whole = f.read()
        full = [(key(r), r.instruction["text"]) for r in records(path)]
        counts = []
        for size in range(len(whole)):
            with open(self.path("cut"), "wb") as f:
                f.write(whole[:size])
            if size == 0:
                self.assertRaises(trace.Error, trace.Trace, self.path("cut"))
                continue
            with trace.Trace(self.path("cut")) as t:
                self.assertTrue(t.truncated, size)
                got = [(key(r), r.instruction["text"]) for r in t.records()]
            self.assertEqual(got, full[:len(got)])
            counts.append(len(got))
            if size % 97 == 0:
                done = self.sassemu(2, "trace", "stat", "--json", self.path("cut"))
                self.assertEqual(json.loads(done.stdout)["warpInstructions"], len(got))
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(counts, sorted(counts))
        self.assertEqual(counts[-1], len(full))

    def test_a_cut_trace_is_converted_on_request_alone(self):
        path = self.record("vecadd", "t", "cta=0-1", "warp=0")
        with open(path, "rb") as f:
            whole = f.read()
        with open(self.path("cut"), "wb") as f:
            f.write(whole[:len(whole) // 2])
        for format in ("perfetto", "accel-sim", "accel-sim-6"):
            convert = "trace", "convert", "--to", format, "-o", self.path("out"), self.path("cut")
            done = self.sassemu(2, *convert)
            self.assertRegex(done.stderr, r"^sassemu: .*cut: ends too early: .* are converted by --partial\n$")
            self.assertFalse(os.path.exists(self.path("out")))
            done = self.sassemu(2, *convert, "--partial")
            self.assertRegex(done.stderr, r"^sassemu: .*cut: ends too early: only .* are read\n$")
            self.assertTrue(os.path.exists(self.path("out")))
            shutil.rmtree(self.path("out"), ignore_errors=True)
            if os.path.exists(self.path("out")):
                os.remove(self.path("out"))

    def test_nothing_to_show_is_said(self):
        path = self.record("vecadd", "t", "cta=0-1", "warp=0")
        done = self.sassemu(2, "trace", "show", path, "--launch", "77", "--warp", "3")
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"^sassemu: .*: has no warp instruction of launch 77, warp 3; `sassemu trace stat` "
                                      r"lists its launches\n$")
        self.assertIn("\nlaunch 1 CTA 0 warp 0 #", self.sassemu(0, "trace", "show", path, "--launch", "1").stdout)

    def test_the_time_limit_ends_every_action(self):
        path = self.record("", "t", plan=self.plan("sgemm", lambda plan: plan["launches"][0].update(repeat=20)))
        for action in (("show",), ("stat",), ("compare", path), ("convert", "--to", "perfetto", "-o", self.path("p")),
                       ("convert", "--to", "accel-sim", "-o", self.path("folder"))):
            begin = time.monotonic()
            done = self.sassemu(4, "trace", *action, path, "--time-limit", "0.1")
            self.assertEqual(done.stderr, "sassemu: trace: the time limit of 0.1 s is reached; raise --time-limit if it is "
                                          "not stuck\n")
            self.assertLess(time.monotonic() - begin, 2)
        self.assertFalse(os.path.exists(self.path("p")))

    def test_damage_is_one_line(self):
        path = self.record("vecadd", "t", "values=1", "registers=1", "cta=0")
        with open(path, "rb") as f:
            whole = f.read()
        chance = random.Random(5)
        for _ in range(60):
            bad = bytearray(whole)
            for _ in range(chance.randint(1, 4)):
                bad[chance.randrange(len(bad))] = chance.randrange(256)
            with open(self.path("bad"), "wb") as f:
                f.write(bad)
            done = self.sassemu_any("trace", "show", self.path("bad"))
            self.assertIn(done.returncode, (0, 2))
            self.assertLessEqual(done.stderr.count("\n"), 2, done.stderr)
            try:
                records(self.path("bad"))
            except trace.Error:
                pass
        for name in ("/dev/null", self.folder, self.path("none"), os.path.join(ROOT, "README.md")):
            done = self.sassemu(2, "trace", "stat", name)
            self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1), done.stderr)

    def rewritten(self, path, of_block=lambda text: text, of_index=lambda rows: None):
        """The same trace with other bytes in its blocks, or an index that says something else."""
        zstd = ctypes.CDLL("libzstd.so.1")
        for name in ("ZSTD_getFrameContentSize", "ZSTD_compressBound", "ZSTD_compress", "ZSTD_decompress"):
            getattr(zstd, name).restype = ctypes.c_size_t
        with trace.Trace(path) as t, open(path, "rb") as f:
            rows, whole, at = [], f.read(), len(trace.FIRST)
            end = struct.unpack("<Q", whole[-16:-8])[0]
            index = trace._message(whole[end + 8:-16], trace.INDEX)
            frames = []
            for size, *others in zip(index["size"], index["launch"], index["cta"], index["records"]):
                frame, at = whole[at:at + size], at + size
                room = ctypes.create_string_buffer(zstd.ZSTD_getFrameContentSize(frame, ctypes.c_size_t(len(frame))))
                zstd.ZSTD_decompress(room, ctypes.c_size_t(len(room)), frame, ctypes.c_size_t(len(frame)))
                text = of_block(room.raw)
                out = ctypes.create_string_buffer(zstd.ZSTD_compressBound(ctypes.c_size_t(len(text))))
                size = zstd.ZSTD_compress(out, ctypes.c_size_t(len(out)), text, ctypes.c_size_t(len(text)), 1)
                frames.append(out.raw[:size])
                rows.append([size, *others])
            self.assertFalse(t.truncated)
        of_index(rows)

        def varint(value):
            return (bytes([value & 127 | 128]) + varint(value >> 7)) if value > 127 else bytes([value])
        body = b""
        for number in range(4):
            packed = b"".join(varint(row[number]) for row in rows)
            body += bytes([number + 1 << 3 | 2]) + varint(len(packed)) + packed
        start = trace.FIRST + b"".join(frames)
        body += struct.pack("<Q", len(start)) + trace.END_MARK
        with open(self.path("rewritten"), "wb") as f:
            f.write(start + struct.pack("<II", trace.LAST_MAGIC, len(body)) + body)
        return self.path("rewritten")

    def test_an_index_that_lies_is_named(self):
        path = self.record("vecadd", "t", "cta=0-3")

        def block(rows, number):
            return [row for row in rows if row[3]][number]
        self.assertEqual(self.sassemu(0, "trace", "stat", self.rewritten(path)).stderr, "")
        for change in (lambda rows: block(rows, 0).__setitem__(1, 7), lambda rows: block(rows, 1).__setitem__(2, 0),
                       lambda rows: block(rows, 1).__setitem__(3, 5), lambda rows: block(rows, 0).__setitem__(3, 0)):
            lies = self.rewritten(path, of_index=change)
            for action in (("stat",), ("show",), ("convert", "--to", "accel-sim", "-o", self.path("folder")),
                           ("convert", "--to", "accel-sim-6", "-o", self.path("folder")), ("convert", "--to", "perfetto", "-o", self.path("p"))):
                done = self.sassemu(2, "trace", *action, lies)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertIn("the index", done.stderr)
            with self.assertRaisesRegex(trace.Error, "the index"):
                records(lies)

    def test_text_of_a_trace_is_escaped(self):
        path = self.record("vecadd", "t", "cta=0")
        bad = self.rewritten(path, lambda text: text.replace(b"sm_90", b"\x1b[31m").replace(b"\x02ok", b"\x02\x1bc").replace(b"MOV", b"\x1b]0"))
        for action in ("show", "stat"):
            out = self.sassemu(0, "trace", action, bad).stdout
            self.assertNotIn("\x1b", out)
            self.assertIn("\\x1b", out)

    def sassemu_any(self, *args):
        return subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=60, check=False)


class Comparing(Case):
    def test_first_difference(self):
        def other_seed(plan):
            small(plan)
            plan["buffers"]["b"]["random"]["seed"] = 77
        same = self.plan("sgemm", small, "same.json")
        other = self.plan("sgemm", other_seed, "other.json")
        a = self.record("", "a", "registers=1", "cta=2", plan=same)
        b = self.record("", "b", "registers=1", "cta=2", plan=same, run=("--threads", "1"))
        c = self.record("", "c", "registers=1", "cta=2", plan=other)
        self.assertEqual(self.sassemu(0, "trace", "compare", a, b).stdout, "")
        line = self.sassemu(1, "trace", "compare", a, c).stdout
        self.assertEqual(line.count("\n"), 1)
        want = next((x, y) for x, y in zip(records(a), records(c)) if x.after != y.after or x.before != y.before)[0]
        self.assertIn("kernel sgemm (launch 1), CTA (0,1,0), warp ", line)
        self.assertRegex(line, r"pc 0x[0-9a-f]+ \(.*LDG.*\): R\d+( of lane \d+)? after it is 0x\w+ and 0x\w+")
        self.assertTrue(want.instruction["opcode"].startswith("LDG"))
        self.sassemu(0, "trace", "compare", a, c, "--ignore", "register")
        self.sassemu(0, "trace", "compare", "--ignore", "register", a, c)
        self.sassemu(0, "trace", "compare", "--ignore", "register", a, "--ignore", "pc", c)
        short = self.record("", "short", "registers=1", "cta=2", "window=0-9", plan=same)
        self.assertIn("first trace only", self.sassemu(1, "trace", "compare", a, short).stdout)
        self.sassemu(2, "trace", "compare", a)


if __name__ == "__main__":
    unittest.main()
