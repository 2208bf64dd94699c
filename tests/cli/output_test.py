#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the program writes, and what happens when it cannot: full disks, closed streams, signals, names with control
characters; and what it says of its own use: help, manual pages, completion, slips of the keyboard.

Not here: exit codes of runs (contract_test.py). Called with the program and the source directory.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = ROOT = ""


def cubin(kernel, arch="sm_90"):
    return os.path.join(ROOT, "cubins", kernel, arch + ".cubin")


def plan_path(kernel):
    return os.path.join(ROOT, "cubins", kernel, "plan.json")


def plan_of(kernel):
    """A plan for sm_90 that may stand elsewhere."""
    with open(plan_path(kernel)) as f:
        plan = json.load(f)
    plan.update(arch="sm_90", module=cubin(kernel))
    return plan


ARCH = ["--arch", "sm_90"]
RACE = os.path.join("cubins", "sync", "atomic_scope", "atomic.json")


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = scratch.name

    def path(self, name):
        return os.path.join(self.scratch, name)

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)
        return self.path(name)

    def check(self, code, *args, **more):
        result = subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=60, **more)
        self.assertEqual(result.returncode, code, (args, result.stdout, result.stderr))
        return result

    def check_one_line(self, code, *args, **more):
        result = self.check(code, *args, **more)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        return result.stderr


SASS = ".target sm_90a\n.kernel k\nEXIT ;\n"
MESSAGE = os.path.join("tests", "litmus", "scope.jsonl")


class StandardOutput(Case):
    def commands(self):
        word = self.write("words", "000fea0003800000000000000000794d\n")
        return [["disasm", cubin("vecadd")], ["disasm", "--json", cubin("vecadd")], ["info", cubin("vecadd")],
                ["info", "--json", cubin("vecadd")], ["isa", "FFMA"], ["disasm", "--arch", "sm_90", "--words", word],
                ["asm", "--arch", "sm_90", "--words", self.write("texts", "EXIT\n")], ["run", plan_path("vecadd"), *ARCH, "--stats"],
                ["run", plan_path("vecadd"), *ARCH, "--json"], ["litmus", self.write("t.jsonl", TEST)], ["--help"], ["--version"],
                ["plugins"], ["help", "--man"], ["completion", "bash"]]

    def test_a_full_disk_is_2_and_a_line(self):
        for command in self.commands():
            with self.subTest(command), open("/dev/full", "w") as full:
                result = subprocess.run([PROGRAM, *command], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertEqual(result.stderr, "sassemu: standard output: cannot write: No space left on device\n")

    def test_so_is_a_closed_one(self):
        for command in self.commands():
            with self.subTest(command):
                result = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', PROGRAM, *command], stderr=subprocess.PIPE, text=True,
                                        timeout=60)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertRegex(result.stderr, "^sassemu: standard output: cannot write: .*\n$")

    def test_and_a_pipe_that_nobody_reads(self):
        read, write = os.pipe()
        os.close(read)
        result = subprocess.run([PROGRAM, "disasm", cubin("sgemm")], stdout=write, stderr=subprocess.PIPE, text=True, timeout=60)
        os.close(write)
        self.assertEqual((result.returncode, result.stderr), (2, "sassemu: standard output: cannot write: Broken pipe\n"))

    def test_files_do_not_take_the_place_of_closed_streams(self):
        result = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&- 2>&- <&-', PROGRAM, "run", plan_path("vecadd"), *ARCH, "--dump",
                                 "c=" + self.path("c")], timeout=60)
        self.assertEqual(result.returncode, 2)
        self.assertEqual(os.path.getsize(self.path("c")), 40000)


class Files(Case):
    def limited(self, blocks, *args):
        """With a limit on the size of files, in blocks of 512 bytes: as good as a full disk."""
        return subprocess.run(["sh", "-c", 'ulimit -f %d; exec "$0" "$@"' % blocks, PROGRAM, *args], capture_output=True, text=True,
                              timeout=60)

    def test_asm_keeps_the_old_file(self):
        source, out = self.write("k.sass", SASS), self.write("k.cubin", "old")
        os.chmod(out, 0o640)
        result = self.limited(1, "asm", source, "-o", out)
        self.assertEqual((result.returncode, result.stderr.count("\n")), (2, 1), result.stderr)
        with open(out) as f:
            self.assertEqual(f.read(), "old")
        self.check(0, "asm", source, "-o", out)
        self.assertEqual(os.stat(out).st_mode & 0o7777, 0o640)
        self.assertEqual(sorted(os.listdir(self.scratch)), ["k.cubin", "k.sass"])
        self.check_one_line(2, "asm", source, "-o", "/dev/full")

    def test_reports_of_a_checker(self):
        plan = os.path.join(ROOT, RACE)
        clean = plan_path("vecadd")
        for option in ("--json", "--sarif"):
            out = self.write("report", "old")
            result = self.limited(1, "check-sync", plan, *ARCH, option, out)
            with open(out) as f:
                self.assertEqual(f.read(), "old")
            self.assertIn("report", result.stdout)
            # Nothing found: what is left is the report that could not be written.
            result = self.check(2, "check-sync", clean, *ARCH, option, self.path("no/such/folder"))
            self.assertIn("plugin 'check-sync': %s: cannot create: No such file" % self.path("no/such/folder"), result.stdout)
            self.check(0, "check-sync", clean, *ARCH, option, out)
            with open(out) as f:
                json.load(f)
            self.assertEqual(os.listdir(self.scratch), ["report"])

    def test_findings_count_for_more_than_a_lost_report(self):
        bad = os.path.join(ROOT, RACE)
        code = subprocess.run([PROGRAM, "check-sync", bad, *ARCH], capture_output=True, timeout=60).returncode
        self.assertEqual(code, 6)
        self.check(6, "check-sync", bad, *ARCH, "--json", self.path("no/such/folder"))

    def test_a_plan_that_cannot_be_read_does_not_hide_findings(self):
        bad = os.path.join(ROOT, RACE)
        result = self.check(6, "check-sync", "gone.json", bad, *ARCH)
        self.assertIn("gone.json", result.stderr)

    def test_a_fault_counts_for_more_than_lost_statistics(self):
        plan = plan_of("fault_wild")
        plan["expect"] = {"status": "ok"}
        for buffer in plan["buffers"].values():
            buffer.pop("expect", None)
        self.check(3, "run", self.write("p.json", json.dumps(plan)), "--stats=" + self.path("no/such"))

    def test_signals_end_a_run_in_order(self):
        """Those of a write that is under way: run_plan_test.cpp."""
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            bench = os.path.join(ROOT, "cubins", "bench", "ffma.json")
            process = subprocess.Popen([PROGRAM, "run", bench, "--reference", "--progress"], text=True, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
            self.assertIn("launch 1/", process.stderr.readline())
            process.send_signal(number)
            out, _ = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130, out)
            self.assertIn("interrupted", out)


TEST = ('{"name": "one", "model": "ptx", "threads": [{"id": "P0", "cta": 0, "gpu": 0, "ops": ["st.weak [x], 1"]}], '
        '"init": {}, "condition": "x==1"}\n')


class Names(Case):
    def test_control_characters_are_shown_escaped(self):
        name = "a\x1b[31m\n\x7fb\u009bc.cubin"
        for command in ("info", "disasm", "run"):
            line = self.check_one_line(2, command, self.path(name))
            self.assertIn("a\\x1b[31m\\n\\x7fb\\xc2\\x9bc.cubin", line)
        shutil.copy(cubin("vecadd"), self.path(name))
        self.assertIn("a\\x1b[31m\\n\\x7fb", self.check(0, "info", self.path(name)).stdout)
        self.write(name, "EXIT")
        result = self.check(2, "asm", self.path(name), "-o", self.path("x"))
        self.assertNotRegex(result.stderr, "[\x00-\x09\x0b-\x1f\x7f-\x9f]")
        # Names inside a module too: the kernel's stands in several string tables.
        with open(cubin("vecadd"), "rb") as f:
            module = f.read().replace(b"vecadd", b"v\x1b\x07a\x9bd")
        with open(self.path("m.cubin"), "wb") as f:
            f.write(module)
        for command in (["info"], ["disasm"], ["disasm", "--source"]):
            result = subprocess.run([PROGRAM, *command, self.path("m.cubin")], capture_output=True, timeout=60)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(b"v\\x1b\\x07a\\x9bd", result.stdout)
            self.assertNotRegex(result.stdout, b"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
        result = subprocess.run([PROGRAM, "run", self.path("m.cubin")], capture_output=True, timeout=60)
        self.assertIn(b"v\\x1b\\x07a\\x9bd", result.stderr)

    def test_a_zero_in_a_path_is_an_error(self):
        plan = {"module": "m\0n", "launches": [{"kernel": "k", "grid": [1], "block": [1]}]}
        self.assertIn("module: must not hold a zero character",
                      self.check_one_line(2, "run", self.write("p.json", json.dumps(plan))))


class Usage(Case):
    def test_slips_are_named(self):
        plan = plan_path("vecadd")
        for args, what, meant in ((["rnu", plan], "there is no subcommand 'rnu'", "did you mean run?"),
                                  (["chek-sync", plan], "there is no subcommand 'chek-sync'", "did you mean check-sync?"),
                                  (["run", plan, "--time-limt", "3"], "run: there is no option '--time-limt'", "did you mean --time-limit?"),
                                  (["run", plan, "--time=3"], "there is no option '--time'", "did you mean --time-limit?"),
                                  (["run", plan, "--krenel", "k"], "there is no option '--krenel'", "did you mean --kernel?"),
                                  (["disasm", cubin("vecadd"), "--kernel", "vecad"], "there is no kernel or function 'vecad'",
                                   "did you mean vecadd?"),
                                  (["help", "infp"], "there is no subcommand 'infp'", "did you mean info?"),
                                  (["xyzzy"], "there is no subcommand 'xyzzy'", ""),
                                  (["info", "a", "b"], "'b' is one argument too many", ""),
                                  (["run", plan, "--threads", "many"], "many", ""),
                                  (["run", plan, "--time-limit", "nan"], "--time-limit: 'nan' is no time from 1e-09 to 1e+09 seconds", ""),
                                  (["disasm", plan, "--time-limit", "0"], "--time-limit: '0' is no time", ""),
                                  (["run", plan, "--memory-limit", "0"], "--memory-limit: '0' is no number above 0", ""),
                                  (["litmus", plan, "--time-limit", "-inf"], "--time-limit: '-inf' is no time from 0.001", ""),
                                  (["run"], "FILE", "")):
            line = self.check_one_line(2, *args)
            self.assertIn(what, line)
            self.assertIn(meant, line)
            self.assertEqual("did you mean" in line, bool(meant), line)

    def test_every_help_has_the_exit_codes(self):
        help_text = self.check(0, "--help").stdout
        commands = re.findall(r"^  ([a-z-]+) ", help_text.split("Subcommands:")[1].split("Exit codes:")[0], re.M)
        self.assertIn("check-sync", commands)
        for command in commands:
            text = self.check(0, command, "--help").stdout
            for code in (0, 1, 2, 3, 4, 5, 6, 7, 130):
                self.assertRegex(text, r"\n  %d +\w" % code)
            self.assertIn("130, 7, 3, 4, 5, 6, 2, 1", text)
            self.assertEqual(self.check(0, "help", command).stdout.split("Usage")[0], text.split("Usage")[0])
            # What --help shows is in the manual page, and in every completion.
            options = set(re.findall(r"(--[a-z][a-z-]+)", text.split("Exit codes:")[0].split("Usage")[1]))
            page = self.check(0, "help", command, "--man").stdout.replace("\\-", "-")
            for option in options:
                self.assertIn(option, page)
            if shutil.which("groff"):
                warnings = subprocess.run(["groff", "-man", "-ww", "-Tutf8"], input=page, capture_output=True, text=True).stderr
                self.assertEqual(warnings, "")
        for shell in ("bash", "zsh", "fish"):
            text = self.check(0, "completion", shell).stdout
            for word in commands + ["time-limit", "sarif"]:
                self.assertIn(word, text)

    def test_bash_completes(self):
        script = self.write("c", self.check(0, "completion", "bash").stdout)

        def complete(*words):
            code = '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sassemu; printf "%s\\n" "${COMPREPLY[@]}"'
            out = subprocess.run(["bash", "-c", code, script, *words], capture_output=True, text=True, timeout=60)
            self.assertEqual(out.stderr, "")
            return out.stdout.split()
        self.assertEqual(complete("sassemu", "dis"), ["disasm"])
        self.assertEqual(complete("sassemu", "run", "--time"), ["--time-limit"])
        self.assertEqual(sorted(complete("sassemu", "run", "--agents", "")), ["eager", "lazy", "random"])
        self.assertEqual(complete("sassemu", "info", script), [script])
        self.assertEqual(complete("sassemu", "info", "--sarif"), [])


class Forms(Case):
    def test_disasm_of_one_kernel(self):
        whole = self.check(0, "disasm", cubin("virtual_calls")).stdout
        names = re.findall(r"^\t\.section\t\.text\.(\S+?),", whole, re.M)
        self.assertGreater(len(names), 1)
        for name in names:
            part = self.check(0, "disasm", cubin("virtual_calls"), "--kernel", name).stdout
            self.assertEqual(re.findall(r"^\t\.section\t\.text\.(\S+?),", part, re.M), [name])
            start = part.index("//------")
            self.assertIn(part[start:].strip(), whole)
            rows = json.loads(self.check(0, "disasm", "--json", cubin("virtual_calls"), "--kernel", name).stdout)
            self.assertEqual([s["section"] for s in rows[0]["sections"]], [".text." + name])

    def test_a_plan_from_standard_input(self):
        with open(plan_path("vecadd")) as f:
            text = f.read()
        result = self.check(0, "run", "-", *ARCH, input=text, cwd=os.path.dirname(plan_path("vecadd")))
        self.assertIn("standard input: sm_90", result.stdout)
        # Read once, run on each of its architectures.
        everywhere = self.check(0, "run", "-", "--json", input=text, cwd=os.path.dirname(plan_path("vecadd"))).stdout
        self.assertEqual([json.loads(line)["arch"] for line in everywhere.splitlines()], json.loads(text)["arch"])
        self.assertRegex(self.check_one_line(2, "run", "-", input="{nonsense"), "standard input:1:[23]:")

    def test_run_json(self):
        report = json.loads(self.check(0, "run", plan_path("vecadd"), *ARCH, "--json", "--stats").stdout)
        self.assertEqual((report["status"], report["exitCode"]), ("ok", 0))
        self.assertEqual(report["launches"][0]["kernel"], "vecadd")
        self.assertGreater(report["stats"]["warp_instructions"], 0)
        self.assertTrue(all(c["equal"] for c in report["comparisons"]))
        plan = plan_of("vecadd")
        plan["$schema"] = "https://example.org/plan.schema.json"
        plan["buffers"]["c"]["expect"] = {"values": [0] * 10000, "type": "f32"}
        report = json.loads(self.check(1, "run", self.write("p.json", json.dumps(plan)), "--json").stdout)
        different = report["comparisons"][0]
        self.assertFalse(different["equal"])
        self.assertEqual(different["first"][0]["expectedBits"], "0x00000000")
        streams = os.path.join(ROOT, "cubins", "flight", "streams.json")
        report = json.loads(self.check(0, "run", streams, "--json").stdout)
        self.assertEqual((report["rank"], report["ranks"]), (0, 1))
        with open(streams, encoding="utf-8") as f:
            plan = json.load(f)
        for launch, said in zip(plan["launches"], report["launches"], strict=True):
            stream = launch.get("stream")
            gpu = plan["streams"].get(stream, {}).get("gpu", launch.get("gpu", 0))
            self.assertEqual((said["stream"], said["gpu"]), (stream, gpu))
        report = json.loads(self.check(0, "run", plan_path("fault_wild"), *ARCH, "--json").stdout)
        self.assertEqual(report["launches"][0]["fault"]["kind"], report["status"].split(":")[1])
        result = self.check(0, "run", plan_path("printf"), *ARCH, "--json")
        json.loads(result.stdout)
        self.assertNotEqual(result.stderr, "")  # what the kernel prints

    def test_plugins(self):
        text = self.check(0, "plugins").stdout
        self.assertRegex(text, r"check-sync: .*\n  observer; ABI \d+\.\d+; /.*check-sync\.so\n    json=FILE  ")
        listed = {p["name"]: p for p in json.loads(self.check(0, "plugins", "--json").stdout)}
        self.assertIn("memory model", listed["caches"]["roles"])
        self.assertIn("consistency model", listed["ptx"]["roles"])
        self.assertIn("policy", [o["key"] for o in listed["caches"]["options"]])
        self.assertIn("there is no such plugin", self.check(2, "plugins", "nosuch").stderr)
        self.assertEqual(self.check(0, "plugins", listed["caches"]["path"]).stdout.split(":")[0], "caches")

    def test_comments_and_notes_that_do_not_end(self):
        for tail, place, what in (("  /* open\n", "4:3", "this comment does not end"),
                                  ("EXIT ; (*\"open\n", "4:8", "this note does not end")):
            result = self.check(2, "asm", self.write("k.sass", SASS + tail), "-o", self.path("k"))
            self.assertIn("k.sass:%s: error: %s" % (place, what), result.stderr)
            self.assertFalse(os.path.exists(self.path("k")))


if __name__ == "__main__":
    PROGRAM, ROOT = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:])
