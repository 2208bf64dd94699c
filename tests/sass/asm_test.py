# SPDX-License-Identifier: Apache-2.0
"""`sassemu asm` as a user meets it: a file becomes a cubin that runs and lists back; --words and its errors; exit codes."""
import json, os, struct, subprocess, sys, tempfile

program, data = sys.argv[1:3]
failed = 0


def run(*args, text=""):
    return subprocess.run([program, *args], input=text, capture_output=True, text=True)


def check(what, got, want):
    global failed
    if got != want:
        failed += 1
        print(f"{what}:\n  got  {got!r}\n  want {want!r}")


with tempfile.TemporaryDirectory() as tmp:
    def path(name): return os.path.join(tmp, name)

    def build(source, name):
        r = run("asm", source, "-o", path(name))
        check(f"asm {source}", (r.returncode, r.stderr), (0, ""))
        return path(name)

    # A kernel that reads parameters, memory and shared memory.
    floats = lambda f: struct.pack("<256f", *map(f, range(256)))
    open(path("a"), "wb").write(floats(lambda i: i * 0.5))
    open(path("b"), "wb").write(floats(lambda i: i * 2.0))
    cubin = build(os.path.join(data, "add.sass"), "add.cubin")
    r = run("run", cubin, "--grid", "2", "--block", "128", "--arg", "buffer=1024", "--arg", "file=" + path("a"),
            "--arg", "file=" + path("b"), "--arg", "i32=250", "--dump", "arg0=" + path("out"))
    check("run add", r.returncode, 0)
    check("sums", open(path("out"), "rb").read(), floats(lambda i: i * 2.5 if i < 250 else 0))

    # The MEMBAR page's example, under every way of running.
    cubin = build(os.path.join(data, "membar_page.sass"), "page.cubin")
    for options in ([], ["--reference"], ["--deterministic"]):
        r = run("run", cubin, "--grid", "1", "--block", "1", "--arg", "buffer=512", "--dump", "arg0=" + path("page"), *options)
        check(f"run page {options}", r.returncode, 0)
        words = struct.unpack("<128I", open(path("page"), "rb").read())
        check("page's data and flag", (words[0], words[64], sum(words)), (7, 1, 8))
    listing = run("disasm", cubin).stdout
    check("fused marks in the listing", listing.count(".fused"), 3)

    # What the listing says assembles to what was listed: instructions and marks.
    code = [l.split("*/")[1].split(";")[0] if "*/" in l else ".fused" for l in listing.split("\n") if "*/" in l or ".fused" in l]
    labels = {f".L_x_{i}" for i in range(9)}
    lines = [l for l in listing.split("\n") if "*/" in l or ".fused" in l or l.rstrip(":") in labels]
    open(path("again.sass"), "w").write(".target sm_90\n.kernel produce\n.param 8\n" + "\n".join(lines) + "\n")
    again = build(path("again.sass"), "again.cubin")
    relisted = run("disasm", again).stdout
    check("listing of the listing", [l for l in relisted.split("\n") if "*/" in l or ".fused" in l],
          [l for l in listing.split("\n") if "*/" in l or ".fused" in l])

    # With --exact even the bits come back: those of a kernel that nvcc built.
    nvcc = os.path.join(data, "..", "..", "..", "cubins", "sgemm", "sm_90.cubin")
    exact = run("disasm", "--exact", nvcc).stdout
    code = [l for l in exact.split("\n") if "*/" in l]
    open(path("exact.sass"), "w").write(".target sm_90\n.kernel sgemm\n.registers 128\n" + "\n".join(code) + "\n")
    again = build(path("exact.sass"), "exact.cubin")
    words = lambda file: [r["word"] for r in json.loads(run("disasm", "--json", file).stdout)[0]["sections"][0]["instructions"]]
    check("bits of the exact listing", words(again)[:len(words(nvcc))], words(nvcc))

    # Mistakes.
    open(path("bad.sass"), "w").write(".target sm_90\n.kernel k\n  FADD R0, R1\n  FOO\n")
    r = run("asm", path("bad.sass"), "-o", path("bad.cubin"))
    check("bad file", (r.returncode, r.stderr.replace(tmp, "T"), os.path.exists(path("bad.cubin"))),
          (2, "T/bad.sass:3:14: error: an operand is missing here, not the end of the line\n"
              "T/bad.sass:4:3: error: sm_90 has no instruction 'FOO'\n", False))
    check("no output", run("asm", path("bad.sass")).returncode, 2)
    check("no file", run("asm", path("none.sass"), "-o", path("x")).returncode, 2)
    check("no arch", run("asm", "--words", "-").returncode, 2)

r = run("asm", "--arch", "sm_90", "--words", "-", text="EXIT\nMEMBAR.GL.IVALLD\nBRA 0x100\t80\nFOO\n")
check("words", (r.returncode, r.stdout.split("\n")),
      (0, ["03ffde0003800000000000000000794d", "<error: two words>", "03ffde000380000000000000001c7947",
           "<error: column 1: sm_90 has no instruction 'FOO'>", ""]))
exact = run("disasm", "--arch", "sm_90", "--exact", "--words", "-", text="000fe200000001000000000400117301\n").stdout
check("exact back", run("asm", "--arch", "sm_90", "--exact", "--words", "-", text=exact).stdout, "000fe200000001000000000400117301\n")
sys.exit(1 if failed else 0)
