# SPDX-License-Identifier: Apache-2.0
"""Work of any length for the tests of limits and signals: kernels whose CTAs run as many warp instructions as are asked for, plans
and files over them, and what must be left of a command that was stopped. Nothing here stops anything."""
import json
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LENGTHS = (10, 1000, 100_000, 10_000_000)  # warp instructions of a CTA
MANY = 1 << 30  # CTAs: longer than anybody waits

SASS = """.target sm_90
.kernel work
.param data 8
.param n 4
 ULDC.64 UR4, c[0x0][0x208]
 MOV R2, c[0x0][data]
 MOV R3, c[0x0][data+4]
 S2R R1, SR_CTAID.X
 STG.E desc[UR4][R2.64], R1
 MOV R0, c[0x0][n]
L: IADD3 R0, R0, -0x1, RZ
 ISETP.GT.AND P0, PT, R0, RZ, PT
 @P0 BRA `(L)
 EXIT
.kernel touches
.param data 8
.param n 4
 MOV R0, RZ
T: STL [R0], R0
 IADD3 R0, R0, 0x80, RZ
 ISETP.LT.U32.AND P0, PT, R0, 0x80000, PT
 @P0 BRA `(T)
 EXIT
"""


class Works:
    """Files in a folder of the test's."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        sass, self.cubin = os.path.join(folder, "works.sass"), os.path.join(folder, "works.cubin")
        with open(sass, "w") as file:
            file.write(SASS)
        subprocess.run([program, "asm", sass, "-o", self.cubin], check=True, stdin=subprocess.DEVNULL)

    def put(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def launch(self, length, ctas=MANY, kernel="work", **more):
        return {"kernel": kernel, "grid": [ctas, 1, 1], "block": [32, 1, 1],
                "args": [{"buffer": "data"}, {"i32": max(1, (length - 7) // 3)}], **more}

    def plan(self, name, launches, **more):
        plan = {"module": self.cubin, "arch": "sm_90", "buffers": {"data": {"bytes": 4096}}, "launches": launches, **more}
        return self.put(name + ".json", json.dumps(plan))

    def endless(self, length, **more):
        """CTAs of this length. All write one word first: a data race."""
        return self.plan(f"endless{length}", [self.launch(length)], **more)

    def straight(self, length):
        """CTAs of as many instructions without a branch, each of which has its own word of code. The plan; straight_code() makes the code."""
        self.straight_length = length
        launch = {"kernel": "straight", "grid": [MANY, 1, 1], "block": [32, 1, 1], "args": [{"buffer": "data"}]}
        return self.plan("straight", [launch], module=os.path.join(self.folder, "straight.cubin"))

    def straight_code(self):
        """Seconds, so only for whoever runs it."""
        cubin = os.path.join(self.folder, "straight.cubin")
        if not os.path.exists(cubin):
            text = ".target sm_90\n.kernel straight\n.param data 8\n ULDC.64 UR4, c[0x0][0x208]\n MOV R2, c[0x0][data]\n MOV R3, c[0x0][data+4]\n"
            text += " IADD3 R0, R0, 0x1, RZ\n STG.E desc[UR4][R2.64], R0\n" * (self.straight_length // 2) + " EXIT\n"
            subprocess.run([self.program, "asm", self.put("straight.sass", text), "-o", cubin], check=True, stdin=subprocess.DEVNULL)

    def repeats(self, length):
        """Launches of one CTA."""
        return self.plan(f"repeats{length}", [self.launch(length, 1, repeat=10_000_000)])

    def touches(self):
        """Half a gigabyte of local memory for each CTA."""
        launch = self.launch(0, 64, "touches")
        launch["block"] = [1024, 1, 1]
        return self.plan("touches", [launch], limits={"stack": 512 << 10})

    def flight(self, length):
        """Grids in two streams, and copies in a third."""
        copy = {"copy": {"to": {"buffer": "b"}, "from": {"buffer": "a"}, "bytes": 16 << 20}, "stream": "c"}
        buffers = {"data": {"bytes": 4096}, "a": {"bytes": 16 << 20}, "b": {"bytes": 16 << 20}}
        launches = [self.launch(length, stream=name) for name in ("s", "t")]
        return self.plan(f"flight{length}", [copy] * 1000 + launches, buffers=buffers, streams={name: {} for name in "stc"})

    def copies(self):
        """Nothing but copies, of streams."""
        copy = {"copy": {"to": {"buffer": "b"}, "from": {"buffer": "a"}, "bytes": 16 << 20}, "stream": "s"}
        return self.plan("copies", [copy] * 5000, buffers={"a": {"bytes": 16 << 20}, "b": {"bytes": 16 << 20}}, streams={"s": {}})

    def hashed(self):
        """A short launch, and then a hash of many gigabytes of zeros."""
        buffers = {"data": {"bytes": 4096}, "much": {"bytes": 1 << 36, "expect": {"sha256": "0" * 64}}}
        return self.plan("hashed", [self.launch(10, 4)], buffers=buffers)

    def explored(self, model):
        """Litmus tests with more to look at than anybody has time for."""
        names = ("one", "two", "three")
        if model == "flat":
            threads = ",".join('{"id":"P%d","cta":%d,"kernel":"k"}' % (t, t) for t in range(12))
            words = "".join(f"LDG.E R{8 + i}, desc[UR4][R2.64]\nSTG.E desc[UR4][R2.64], R8\n" for i in range(8))
            return [self.put(name + ".sass", '// litmus {"name":"%s","threads":[%s],"condition":"x==9"}\n' % (name, threads) +
                             ".target sm_90\n.kernel k\n.param x 8\nULDC.64 UR4, c[0x0][0x208]\nMOV R2, c[0x0][x]\n"
                             "MOV R3, c[0x0][x+4]\n" + words + "EXIT\n") for name in names]
        operations = {"caches": ["ST [x], 1", "ST [y], 2", "LD r0, [x]", "LD r1, [y]", "ST [z], 3"],
                      "ptx": ["st.relaxed.gpu [x], 1", "ld.relaxed.gpu r0, [y]", "st.relaxed.gpu [y], 2", "ld.relaxed.gpu r1, [x]"]}
        threads = [{"id": f"P{t}", "cta": t, "gpu": 0, "ops": operations[model]} for t in range(10)]
        lines = [{"name": name, "model": model, "condition": "x==9", "init": {}, "threads": threads} for name in names]
        return [self.put(model + ".jsonl", "".join(json.dumps(line) + "\n" for line in lines))]
