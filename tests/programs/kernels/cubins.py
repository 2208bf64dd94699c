#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The census of shipped cubins: does every instruction word decode as nvdisasm says, does every cubin execute whole?

    cubins.py BIN OUT SOURCE... [--jobs N] [--nvdisasm NVDISASM] [--listings N] [--seed S] [--match TEXT]

BIN is build/release/bin with sassemu, sassdec-words and isa-coverage. A SOURCE is a wheel or a folder with .cubin files in it, as
flashinfer-cubin of PyPI has them (pip download --no-deps flashinfer-cubin); nvdisasm is that of nvidia-cuda-nvdisasm 13.5.37. Distinct words are
asked for once. N cubins drawn by the seed are loaded as well: compared line by line with `nvdisasm -c`, and put to `sassemu info --unsupported`.
OUT/words.tsv gets the words that differ or do not execute (architecture, word, ours, nvdisasm's, why), OUT/cubins.tsv the cubins that have such words or
differ, OUT/forms.tsv how many distinct words each mnemonic with its modifiers has. Ends with 1 if a word decodes otherwise than nvdisasm says or a word
is refused as one that nobody emits.
"""
import argparse
import collections
import concurrent.futures
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "decoder"))
import oracle  # noqa: E402
from listing import code_of  # noqa: E402

CHUNK = 200000  # words in one question
NEVER = re.compile(r"no PTX|no compiler|compilers do not")  # reasons that a word of a census cubin refutes


def cubins(sources):
    """(name, how to read it) of every cubin."""
    for source in sources:
        if os.path.isdir(source):
            for folder, _, files in sorted(os.walk(source)):
                for name in sorted(files):
                    if name.endswith(".cubin"):
                        path = os.path.join(folder, name)
                        yield os.path.relpath(path, source), lambda path=path: open(path, "rb").read()
        else:
            wheel = zipfile.ZipFile(source)
            for name in wheel.namelist():
                if name.endswith(".cubin"):
                    yield name, lambda name=name, wheel=wheel: wheel.read(name)


def code_words(data):
    """The architecture's number, and the words of all sections with code."""
    flags = struct.unpack_from("<I", data, 48)[0]
    table, = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    words = []
    for k in range(count):
        _, kind, section_flags, _, at, length = struct.unpack_from("<IIQQQQ", data, table + k * size)
        if kind == 1 and section_flags & 4:
            words += (data[o:o + 16] for o in range(at, at + length - 15, 16))
    return (flags >> 8 if data[7] == 0x41 else flags) & 255, words


def ask(program, lines):
    return subprocess.run(program, input="".join(lines), stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


def judge(arguments, arch, words):
    """(word, our text, nvdisasm's or None, why it does not execute or "") of each word; `pc` is its place in the chunk."""
    name = arch + "a"
    for at in range(0, len(words), CHUNK):
        chunk = [int.from_bytes(word, "little") for word in words[at:at + CHUNK]]
        theirs = oracle.ask(arch, chunk)
        ours = ask([os.path.join(arguments.bin, "sassdec-words"), "disasm", "--arch", name, "--words", "-"],
                   ("%032x %x\n" % (word, 16 * i) for i, word in enumerate(chunk)))
        runs = ask([os.path.join(arguments.bin, "isa-coverage")], ("%s\t%032x\n" % (name, word) for word in chunk))
        for word, our, their, run in zip(chunk, ours, theirs, runs, strict=True):
            why = run.split("\t")[2]
            yield word, re.sub(" {2,}", " ", our), their and re.sub(r'\s*\(\*"SpillRefill"\*\)$', "", their), "" if why == "yes" else why


def loaded(arguments, name, read):
    """What `sassemu info --unsupported` says of a cubin, and the first line that nvdisasm prints otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.cubin")
        with open(path, "wb") as f:
            f.write(read())
        done = subprocess.run([os.path.join(arguments.bin, "sassemu"), "info", "--unsupported", path], capture_output=True, text=True,
                              errors="replace", check=False)
        said = "" if done.returncode == 0 else (done.stdout + done.stderr).strip().replace(path, "CUBIN") or "exit code %d" % done.returncode
        ours, theirs = (code_of(subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stdout)
                        for command in ([os.path.join(arguments.bin, "sassemu"), "disasm", path], [arguments.nvdisasm, "-c", path]))
        differs = ""
        if not theirs or ours != theirs:
            differs = next(("%s | %s" % pair for pair in zip(ours, theirs) if pair[0] != pair[1]),
                           "%d lines, nvdisasm's are %d" % (len(ours), len(theirs)))
        return name, said, differs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("out")
    parser.add_argument("sources", nargs="+")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--nvdisasm", default=os.environ.get("NVDISASM", "nvdisasm"))
    parser.add_argument("--listings", type=int, default=100, help="cubins that are loaded")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--match", default="", help="only cubins whose name has this in it")
    arguments = parser.parse_args()
    os.environ["NVDISASM"] = arguments.nvdisasm
    os.makedirs(arguments.out, exist_ok=True)
    found = [(name, read) for name, read in cubins(arguments.sources) if arguments.match in name]
    distinct, of_arch, instructions = collections.defaultdict(set), collections.Counter(), collections.Counter()
    for _, read in found:
        sm, words = code_words(read())
        arch = "sm_%d" % sm
        of_arch[arch] += 1
        instructions[arch] += len(words)
        distinct[arch].update(words)

    rows, forms, bad = [], collections.Counter(), collections.defaultdict(dict)
    print("| architecture | cubins | instructions | distinct words | otherwise than nvdisasm | not executed |\n|---|---|---|---|---|---|")
    wrong = 0
    for arch in sorted(distinct):
        differ = refused = 0
        for word, our, their, why in judge(arguments, arch, sorted(distinct[arch])):
            forms[arch, re.sub(r"^@\S+ ", "", our).split(" ")[0]] += 1
            same = our == their or (their is None and our.startswith("<undecodable"))
            differ += not same
            refused += why != ""
            if not same or why or their is None:
                rows.append((arch, "%032x" % word, our, their or "-", why))
                bad[arch][word.to_bytes(16, "little")] = our
                wrong += not same or their is None or bool(NEVER.search(why))
        print("| %s | %s | %s | %s | %d | %d |" % (arch, *(format(n, ",") for n in (of_arch[arch], instructions[arch], len(distinct[arch]))),
                                                   differ, refused), flush=True)
    with open(os.path.join(arguments.out, "words.tsv"), "w", encoding="utf-8") as f:
        f.writelines("\t".join(row) + "\n" for row in rows)
    with open(os.path.join(arguments.out, "forms.tsv"), "w", encoding="utf-8") as f:
        f.writelines("%s\t%s\t%d\n" % (*form, n) for form, n in sorted(forms.items()))

    partial = 0
    with open(os.path.join(arguments.out, "cubins.tsv"), "w", encoding="utf-8") as f:
        for name, read in found if bad else ():
            sm, words = code_words(read())
            known = bad["sm_%d" % sm]
            texts = sorted({known[word] for word in words if word in known})
            if texts:
                partial += 1
                f.write("%s\t%s\n" % (name, "; ".join(texts)))
        sample = random.Random(arguments.seed).sample(found, min(arguments.listings, len(found)))
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for name, said, differs in pool.map(lambda one: loaded(arguments, *one), sample):
                if said or differs:
                    wrong += differs != ""
                    f.write("%s\t%s\t%s\n" % (name, said.replace("\n", "; "), differs))
    print("%d of %d cubins have only words that execute; %d were loaded and compared line by line" % (len(found) - partial, len(found), len(sample)))
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
