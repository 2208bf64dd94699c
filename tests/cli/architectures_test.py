# SPDX-License-Identifier: Apache-2.0
"""Every architecture name at every entry: all 29 that nvdisasm 13.5 knows are accepted by disasm, asm, isa, .target, run --arch and
a plan's arch, all others are refused there with one line. Arguments: program, source root."""
import json
import os
import subprocess
import sys
import tempfile

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), sys.argv[2]
# Written out here, so that a line that is lost from decoder/isa/architectures.isa shows.
KNOWN = ("sm_75 sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_90a sm_100 sm_100a sm_100f sm_101 sm_101a sm_101f sm_103 sm_103a sm_103f "
         "sm_107 sm_107a sm_107f sm_110 sm_110a sm_110f sm_120 sm_120a sm_120f sm_121 sm_121a sm_121f").split()
UNKNOWN = ["sm_70", "sm_72", "sm_76", "sm_80a", "sm_89f", "sm_90f", "sm_90b", "sm_90aa", "sm_102", "sm_107b", "sm_130", "sm_1000",
           "sm_090", "sm_", "sm90_", "90x", "sm_90 ", "nonsense"]
failures = []


def run(*args, text=""):
    return subprocess.run([PROGRAM, *args], input=text, capture_output=True, text=True, timeout=60)


def entries(name, folder):
    """(what, result of the entry) for one name."""
    yield "disasm --arch", run("disasm", "--arch", name, "--words", "-", text="000fea0003800000000000000000794d\n")
    yield "asm --arch", run("asm", "--arch", name, "--words", "-", text="EXIT\n")
    yield "isa --arch", run("isa", "EXIT", "--arch", name)
    source, cubin, plan = (os.path.join(folder, "k." + end) for end in ("sass", "cubin", "json"))
    with open(source, "w") as f:
        f.write(".target %s\n.kernel k\n EXIT\n" % name)
    if name == name.strip():  # blanks end a word there
        yield ".target", run("asm", source, "-o", cubin)
    if name in KNOWN:
        base = name.rstrip("af")
        yield "info", run("info", cubin)
    else:
        base = "sm_90"
        cubin = os.path.join(ROOT, "cubins", "vecadd", "sm_90.cubin")
    yield "disasm FILE --arch", run("disasm", cubin, "--arch", name)
    launch = {"kernel": "k" if name in KNOWN else "vecadd", "grid": [1, 1, 1], "block": [32, 1, 1], "args": []}
    with open(plan, "w") as f:
        json.dump({"arch": name, "module": cubin, "launches": [launch]}, f)
    yield "a plan's arch", run("run", plan)
    with open(plan, "w") as f:
        json.dump({"arch": base, "module": cubin, "launches": [launch]}, f)
    yield "run --arch", run("run", plan, "--arch", name)
    target = {"name": "t", "target": name, "threads": [{"id": "P0", "ops": ["st.relaxed.gpu [x], 1"]}], "condition": "x==1"}
    if name not in ("sm_70", "sm_72"):  # a target of PTX, which a litmus test may have
        test = os.path.join(os.path.dirname(plan), "target.jsonl")
        with open(test, "w") as f:
            f.write(json.dumps(target) + "\n")
        yield "a litmus test's target", run("litmus", test)


def check(name, what, result, accepted):
    where = "%s %r" % (what, name)
    if accepted:
        if result.returncode != 0 or result.stderr:
            failures.append("%s: exit code %d, %s" % (where, result.returncode, result.stderr.strip() or result.stdout.strip()))
        if what == "disasm --arch" and result.stdout != "EXIT\n" and result.stdout.strip() != "EXIT":
            failures.append("%s: %s" % (where, result.stdout))
        if what == "info" and name not in result.stdout:
            failures.append("%s: another name: %s" % (where, result.stdout.split("\n")[0]))
    else:
        said = (result.stderr + result.stdout if what == "a litmus test's target" else result.stderr).strip()
        # Behind it what the command says of the file, and of all files.
        lines = {".target": 3, "a litmus test's target": 4}.get(what, 1)
        if result.returncode == 0 or not 1 <= len(said.split("\n")) <= lines or not said:
            failures.append("%s is not refused with one line: exit code %d, %r" % (where, result.returncode, said))


def main():
    sys.path.insert(0, os.path.join(ROOT, "decoder", "gen"))
    import architectures
    if architectures.names() != KNOWN:
        failures.append("architectures.isa has other names: %s" % " ".join(set(architectures.names()) ^ set(KNOWN)))
    with open(os.path.join(ROOT, "docs", "architectures.md")) as f:
        if f.read() != architectures.document():
            failures.append("docs/architectures.md is out of date; run decoder/gen/architectures.py docs docs/architectures.md")
    with tempfile.TemporaryDirectory() as folder:
        for name in KNOWN + UNKNOWN:
            for what, result in entries(name, folder):
                check(name, what, result, name in KNOWN)
    print("\n".join(failures) or "%d names accepted, %d refused, everywhere" % (len(KNOWN), len(UNKNOWN)))
    return bool(failures)


sys.exit(main())
