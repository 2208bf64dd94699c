#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the replay tests bite: breaks the emulator in small ways, each of which a test must notice.

  mutations.py [--build DIRECTORY] [--level v3] [NAME...]

Needs a finished build (build/release) made with Ninja; changes neither it nor the sources. For each mutation the changed file lies
in a directory that is searched before the sources, the named handlers are compiled anew for one host level, that level is linked,
and the test runs with it. Prints a line per mutation; exit code 1 if a test passed with one. About 20 seconds each.
"""
import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REPLAY, MATRIX, PUBLISHED, SPECIAL = "hardware_replay_test", "hardware_matrix_test", "hardware_published_test", "hardware_special_test"
HALF = "isa_half_test"  # against exact sums in integers
NIBBLES = "isa_nibbles_test"  # against products of bytes
QUESTIONS = "cubins/questions/plan.json"  # the test plan.sm_90.questions

# name, file, what stands there, what replaces it, handlers to compile, the test that must fail
MUTATIONS = [
    ("HMMA keeps 26 bits below the largest exponent, not 25", "emu/lanes/matrix_rule.hpp", "bytes ? sums.bytes : sums.fraction;", "bytes ? sums.bytes : sums.fraction + 1;", ["matrix_float"], MATRIX),
    ("HMMA keeps 24 bits", "emu/lanes/matrix_rule.hpp", "bytes ? sums.bytes : sums.fraction;", "bytes ? sums.bytes : sums.fraction - 1;", ["matrix_float"], MATRIX),
    ("HMMA of sm_80 keeps 25 bits, not 24", "emu/lanes/matrix_rule.hpp", "bytes ? sums.bytes : sums.fraction;", "bytes ? sums.bytes : 25;", ["matrix_float"], PUBLISHED),
    ("HMMA's floor is one lower", "emu/lanes/matrix_rule.hpp", "(half ? 4 : -108)", "(half ? 4 : -109)", ["matrix_float"], MATRIX),
    ("HMMA rounds f16 results towards zero", "emu/lanes/simd/matrix.hpp", "matrix_rounded<Rounding::rn>(v, 10, -14)", "matrix_rounded<Rounding::rz>(v, 10, -14)", ["matrix_float"], MATRIX),
    (".FTZ looks at the IEEE-rounded result", "emu/lanes/common.hpp", "kFtzPolicy = FtzPolicy::after_rounding", "kFtzPolicy = FtzPolicy::rounded_result", ["float"], REPLAY),
    (".FTZ looks at the result before rounding", "emu/lanes/common.hpp", "kFtzPolicy = FtzPolicy::after_rounding", "kFtzPolicy = FtzPolicy::before_rounding", ["float"], QUESTIONS),
    ("fp32 NaN is 7fc00000", "emu/lanes/common.hpp", "kF32Nan = 0x7fffffffu", "kF32Nan = 0x7fc00000u", ["float"], REPLAY),
    ("fp16 NaN is 7e00", "emu/lanes/common.hpp", "kF16Nan = 0x7fffu", "kF16Nan = 0x7e00u", ["conversion", "conversion_packed"], REPLAY),
    ("fp64 NaN loses its payload", "emu/lanes/common.hpp", "kF64NanPolicy = F64NanPolicy::quiet_bca", "kF64NanPolicy = F64NanPolicy::canonical", ["double"], REPLAY),
    ("F2FP rounds towards zero", "emu/isa/conversion_packed.cpp", ": L::f32x2_to_f16x2<>(b, a), mask", ": L::f32x2_to_f16x2<Rounding::rz>(b, a), mask", ["conversion_packed"], REPLAY),
    ("FADD rounds towards zero", "emu/isa/float.cpp", "return L::fadd<Rounding::rn, Ftz>(a, b);", "return L::fadd<Rounding::rz, Ftz>(a, b);", ["float"], REPLAY),
    ("HFMA2 does not move a tie to the error's side", "emu/lanes/simd/half.hpp", "return (CF)((C32)s + (C32)_mm256_sign_epi32(even, SASSEMU_I(outward)));", "return (void)even, (void)outward, s;", ["half"], HALF),
    ("RCP's bias is two lower", "emu/isa/special_functions.hpp", "+ curve.bias", "+ curve.bias - 2", ["special"], SPECIAL),
    ("MUFU's square lacks the products of one bit", "emu/lanes/simd/interpolator.hpp", "u & 0x80010204u", "u & 0x00010204u", ["special"], SPECIAL),
    ("MUFU.SQRT of -0 is 0", "emu/isa/special_functions.hpp", "root_special(x, sign(x), choose", "root_special(x, all(0), choose", ["special"], SPECIAL),
    ("FMUL.RZ rounds to nearest", "emu/isa/float.cpp", "return L::fmul<Rounding::rz>(a, b);", "return L::fmul<Rounding::rn>(a, b);", ["float"], REPLAY),
    ("IMMA.SAT of nibbles wraps", "emu/isa/matrix_integer.cpp", "if (!saturate) return r;", "if (!saturate || saturate) return r;", ["matrix_integer"], NIBBLES),
    ("IADD3 keeps the second carry of two in one predicate", "emu/isa/integer.cpp", "write_predicate(w, op->k[1], second, mask);\n    write_predicate(w, op->k[0], first, mask);", "write_predicate(w, op->k[0], first, mask);\n    write_predicate(w, op->k[1], second, mask);", ["integer"], REPLAY),
]


class Broken(Exception):
    pass


def run(command, cwd, **more):
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    return done.returncode, done.stdout


def library_command(build, level):
    code, text = run(["ninja", "-t", "commands", "lib/libsassemu_%s.so" % level], build)
    if code:
        raise Broken("no Ninja build in %s: %s" % (build, text.strip()))
    line = text.strip().splitlines()[-1]
    return line[line.index("/"):line.rindex("&&")].strip() if "&&" in line else line


def check(mutation, build, level, commands, work):
    name, path, old, new, handlers, test = mutation
    with open(os.path.join(ROOT, path)) as f:
        source = f.read()
    if source.count(old) != 1:
        raise Broken("%s: %r stands %d times in %s" % (name, old, source.count(old), path))
    overlay = os.path.join(work, "overlay")
    os.makedirs(os.path.dirname(os.path.join(overlay, path)))
    with open(os.path.join(overlay, path), "w") as f:
        f.write(source.replace(old, new))
    link = library_command(build, level)
    for handler in handlers:
        object_name = "emu/CMakeFiles/sassemu_%s.dir/isa/%s.cpp.o" % (level, handler)
        command = next(c for c in commands if object_name in c["command"])
        words = shlex.split(command["command"])
        if os.path.basename(words[0]) == "ccache":
            words = words[1:]
        original = os.path.join(ROOT, "emu", "isa", handler + ".cpp")
        mutated = os.path.join(overlay, "emu", "isa", handler + ".cpp")
        target = os.path.join(work, handler + ".o")
        words[words.index("-o") + 1] = target
        words[words.index("-c") + 1] = mutated if os.path.exists(mutated) else original
        words.insert(1, "-I" + overlay)
        code, text = run(words, command["directory"])
        if code:
            raise Broken("%s: %s does not compile\n%s" % (name, handler, text))
        link = link.replace(object_name, target)
    # The tests find their libraries beside them, in ../lib.
    shutil.copytree(os.path.join(build, "lib"), os.path.join(work, "lib"), ignore=shutil.ignore_patterns("*.a"))
    program = os.path.join("bin", "sassemu") if test == QUESTIONS else os.path.join("tests", test)
    os.mkdir(os.path.join(work, os.path.dirname(program)))
    shutil.copy(os.path.join(build, program), os.path.join(work, program))
    link = link.replace("-o lib/libsassemu_%s.so" % level, "-o " + os.path.join(work, "lib", "libsassemu_%s.so" % level))
    code, text = run(link, build, shell=True)
    if code:
        raise Broken("%s: the library does not link\n%s" % (name, text))
    if test == QUESTIONS:
        return run([os.path.join(work, program), "run", "--level", level, os.path.join(ROOT, test)], build)[0] == 1
    code, text = run([os.path.join(work, program)], build)
    return code != 0 and any(line.startswith("[  FAILED  ]") for line in text.splitlines())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--level", default="v3")
    parser.add_argument("names", nargs="*", help="parts of names; none: all")
    options = parser.parse_args()
    with open(os.path.join(options.build, "compile_commands.json")) as f:
        commands = json.load(f)
    missed = 0
    for mutation in MUTATIONS:
        if options.names and not any(n in mutation[0] for n in options.names):
            continue
        with tempfile.TemporaryDirectory() as work:
            try:
                caught = check(mutation, os.path.abspath(options.build), options.level, commands, work)
            except Broken as error:
                print(error, file=sys.stderr)
                return 2
        print("%s: %s, %s" % ("caught" if caught else "MISSED", mutation[0], mutation[5]), flush=True)
        missed += not caught
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
