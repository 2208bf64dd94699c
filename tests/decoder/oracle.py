#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks nvdisasm about instruction words, thousands at a time, and writes test vectors from its answers.

    oracle.py whole OUT [NAME...]      writes the whole sets into the folder OUT (all, or those named):
        mutations    damaged words of data/own.tsv and data/compiled.tsv.gz: 20,000 for each table family
        sweep        every value of every modifier field and predicate of every entry
        named        combinations of modifiers of instructions that compiled code hardly shows
        random       random words of every form: registers, immediates, modifiers, signs, schedules
    oracle.py sample OUT               takes from OUT the sample that is committed in data/
    oracle.py text ARCH WORD...        what it prints

SASSDEC_VECTORS=OUT decoder_test judges the whole sets in place of the sample. The rows are
`arch TAB word TAB pc TAB text`; text `-` where nvdisasm rejects the word or prints nothing. Runs of blanks are one blank:
nvdisasm aligns the numbers of nameless registers to a column. Seeds are fixed: the same nvdisasm gives the same files (those
committed are from 13.0). NVDISASM names the program; it is not needed to run the tests."""
import collections
import glob
import gzip
import hashlib
import os
import random
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
DECODER = os.path.join(HERE, "..", "..", "decoder")
NAMES = {"sm_75": "SM75", "sm_80": "SM80", "sm_86": "SM86", "sm_89": "SM89", "sm_90": "SM90a", "sm_100": "SM100a",
         "sm_103": "SM103a", "sm_110": "SM110a", "sm_120": "SM120a"}
NOP = 0x000fc000000000000000000000007918
LINE = re.compile(rb"^\s*/\*([0-9a-f]+)\*/\s+(.*?)\s*;\s*$")
ADDRESS = re.compile(rb"at address 0x([0-9a-f]+)")


def ask(arch, words, base=0):
    """One file of words. An illegal word makes nvdisasm print addresses instead of text: it is replaced, and the
    rest is asked again. Later errors may hide behind earlier ones."""
    if not words:
        return []
    live, bad = list(words), set()
    program = os.environ.get("NVDISASM", "nvdisasm")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "words.bin")
        while True:
            with open(path, "wb") as f:
                f.write(b"".join(w.to_bytes(16, "little") for w in live))
            run = subprocess.run([program, "-b", NAMES[arch], "-base", hex(base), "-ndf", "-c", path], capture_output=True, check=False)
            if run.returncode == 0 and run.stdout:
                break
            found = {(int(a, 16) - base) // 16 for a in ADDRESS.findall(run.stderr)} - bad
            if not found:  # it failed without saying where
                if len(words) == 1:
                    return [None]
                half = len(words) // 2
                return ask(arch, words[:half], base) + ask(arch, words[half:], base + 16 * half)
            bad |= found
            for i in found:
                live[i] = NOP
    out = [None] * len(words)
    for line in run.stdout.splitlines():
        m = LINE.match(line)
        i = (int(m[1], 16) - base) // 16 if m else len(out)
        if i < len(out) and i not in bad:
            out[i] = re.sub(" {2,}", " ", m[2].decode("latin1"))
    return out


def write(path, rows):
    """rows: (arch, words). Words of one architecture stand at consecutive addresses, as they were asked."""
    total = 0
    with gzip.GzipFile(path, "wb", 9, mtime=0) as f:
        for arch, words in rows:
            for i, (w, t) in enumerate(zip(words, ask(arch, words))):
                f.write(f"{arch}\t{w:032x}\t{i * 16:x}\t{'-' if t is None else t}\n".encode())
            total += len(words)
            print(f"{arch}: {len(words)} words", flush=True)
    print(f"{path}: {total} words, {os.path.getsize(path)} bytes")


def valid_words():
    words = collections.defaultdict(list)
    for name, opener in (("own.tsv", open), ("compiled.tsv.gz", gzip.open)):
        with opener(os.path.join(HERE, "data", name), "rt", encoding="utf-8") as f:
            for line in f:
                arch, word = line.split("\t")[:2]
                words[arch].append(int(word, 16))
    return words


def mutate(word, r):
    """Half of the time one bit, else a field of 2 to 8 bits anywhere gets a random value."""
    if r.random() < 0.5:
        return word ^ 1 << r.randrange(128)
    width = r.randrange(2, 9)
    at = r.randrange(0, 129 - width)
    return word & ~(((1 << width) - 1) << at) | r.getrandbits(width) << at


def mutations():
    valid = valid_words()
    for arch in NAMES:
        r = random.Random("mutations " + arch)
        yield arch, sorted(mutate(r.choice(valid[arch]), r) for _ in range(20000))


def set_bits(word, bits, value):
    for i, b in enumerate(reversed(bits)):
        word = word & ~(1 << b) | (value >> i & 1) << b
    return word


def base_word(form):
    """Fixed bits, RZ, PT and a plain schedule."""
    word = 0x000fe2 << 104 | 7 << 12
    for o in form.operands:
        if o.kind == "reg" and o.enum_bits:
            word = set_bits(word, o.enum_bits, (1 << o.length) - 1)
        elif o.kind == "reg" and o.pos != 0xff:
            word |= ((1 << o.length) - 1) << o.pos
        elif o.kind == "pred" and "comp" not in o.flags:
            word |= 7 << o.pos
    return word & ~form.mask | form.value


def described():
    sys.path.insert(0, os.path.join(DECODER, "gen"))
    from isa_model import expand
    from isa_parse import FAMILIES, Parser
    parser = Parser()
    files = glob.glob(os.path.join(DECODER, "isa", "*.isa"))
    for f in sorted(files, key=lambda f: (os.path.basename(f) != "common.isa", f)):
        parser.parse_file(f, os.path.basename(f))
    return expand(parser.finish()), FAMILIES


def sweep():
    forms, families = described()
    for arch in families:
        words, seen = [], set()
        for form in forms:
            if form.family != arch or (form.entry.where, form.mask) in seen:
                continue  # one operand form of an entry shows its modifiers
            seen.add((form.entry.where, form.mask))
            word = base_word(form)
            words.append(word)
            for f in form.fields:
                if f.enum is not None and 0 < len(f.bits) <= 6:
                    words += [set_bits(word, f.bits, v) for v in range(1, 1 << len(f.bits))]
            for o in form.operands:
                for bit in (o.neg, o.abs, o.inv):
                    if bit != 0xff:
                        words.append(word | 1 << bit)
        yield arch, sorted(set(words))


NAMED = ("CCTL CCTLT CCTLL MEMBAR FENCE BAR UTMAREDG UTMALDG UTMASTG UTMAPF UBLKCP UBLKRED UBLKPF REDAS STAS UTCSHIFT UTCBAR LDTM "
         "STTM TEX TLD TLD4 TXQ TXD SULD SUST SUATOM SURED SYNCS UCGABAR_ARV ARRIVES LDGSTS USETSHMSZ UGETNEXTWORKID USETMAXREG "
         "WARPGROUP ELECT REDUX CREDUX MATCH FHADD FHFMA").split()
COMBINATIONS = 160  # of one form; where there are more, as many at random, beside each value of each field


def named():
    forms, families = described()
    for arch in families:
        r = random.Random(arch)
        words = set()
        for form in forms:
            if form.family != arch or form.entry.mnemonic.split(".")[0] not in NAMED:
                continue
            fields = [f for f in form.fields if f.enum is not None and 0 < len(f.bits) <= 6]
            base, total = base_word(form), 1 << sum(len(f.bits) for f in fields)
            for f in fields:
                words.update(set_bits(base, f.bits, v) & ~form.mask | form.value for v in range(1 << len(f.bits)))
            for k in range(min(total, COMBINATIONS)):
                word, choice = base, k if total <= COMBINATIONS else r.getrandbits(64)
                for f in fields:
                    word = set_bits(word, f.bits, choice & ((1 << len(f.bits)) - 1))
                    choice >>= len(f.bits)
                words.add(word & ~form.mask | form.value)
        yield arch, sorted(words)


RANDOM = 6  # words of each form
IMMEDIATES = (0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0x7fffffff, 0x42c80000, 0x3dcccccd,
              0x3c003c00, 0x7c007c00, 0xfc00fe00, 0x3f803f80, 0x80008000, 0x00010001)


def number(r, width):
    """Often an extreme, a power of two or something sparse."""
    top = (1 << width) - 1
    if width == 32 and r.random() < 0.5:
        return r.choice(IMMEDIATES)
    return r.choice((0, 1, top, top >> 1, top - (top >> 1), 1 << r.randrange(width), r.getrandbits(width),
                     r.getrandbits(width) & r.getrandbits(width)))


def register(r, width):
    top = (1 << width) - 1
    return r.choice((top, top, 0, 1, 2, 4, 6, top - 1, r.getrandbits(width), r.getrandbits(width)))


def put(word, at, width, value):
    mask = (1 << width) - 1
    return word & ~(mask << at) | (value & mask) << at


def random_operand(o, word, r):
    if o.kind in ("mem", "const"):
        for at, width in ((o.pos, o.length), (o.ureg, o.ureg_len), (o.desc, o.ureg_len)):
            if at != 0xff:
                word = put(word, at, width, register(r, width))
        if o.enum_bits:
            word = set_bits(word, o.enum_bits, number(r, len(o.enum_bits)))
        elif o.off_len:
            word = put(word, o.off, o.off_len, number(r, o.off_len))
        if o.bank != 0xff and r.random() < 0.5:
            word = put(word, o.bank, o.bank_len, r.getrandbits(o.bank_len))
    elif o.enum_bits:
        value = r.choice(list(o.enum.values)) if o.kind == "enum" else number(r, len(o.enum_bits))
        word = set_bits(word, o.enum_bits, value)
    elif o.kind in ("reg", "pred") and o.pos != 0xff and (o.kind == "reg" or r.random() < 0.5):
        word = put(word, o.pos, o.length, register(r, o.length))
    elif o.kind in ("imm", "fimm", "bar", "sb", "list"):
        word = put(word, o.pos, o.length, number(r, o.length))
    for bit in (o.neg, o.abs, o.inv):
        if bit != 0xff and r.random() < 0.3:
            word |= 1 << bit
    if o.reuse != 0xff and r.random() < 0.2:
        word |= 1 << o.reuse
    return word


def random_word(form, r):
    word = base_word(form)
    if r.random() < 0.3:
        word = put(word, 12, 4, r.getrandbits(4))
    if r.random() < 0.5:  # stall and yield, barriers, waits
        word = put(word, 105, 5, r.getrandbits(5))
        for at in (110, 113):
            word = put(word, at, 3, r.choice((7, 7, 7, 0, 3, 5)))
        word = put(word, 116, 6, r.choice((0, 0, r.getrandbits(6))))
    sparse = r.random() < 0.5
    for f in form.fields:
        if f.bits and not (sparse and 0 in f.enum.values and r.random() < 0.6):
            word = set_bits(word, f.bits, r.choice(list(f.enum.values)))
    for o in form.operands:
        word = random_operand(o, word, r)
    return word & ~form.mask | form.value


def random_words():
    forms, families = described()
    for arch in families:
        r = random.Random(arch)
        yield arch, sorted({random_word(f, r) for f in forms if f.family == arch for _ in range(RANDOM)})


WHOLE = {"mutations": mutations, "sweep": sweep, "named": named, "random": random_words}
ONE_IN = {"mutations": 8, "sweep": 5, "named": 6, "random": 4}  # 2 MB together


def shows(arch, text, pairs):
    """What of the description a text shows: its mnemonic, each modifier, each pair of them."""
    mnemonic, *modifiers = re.sub(r"^@!?U?P\w+ ", "", text).split(" ")[0].split(".")
    found = [(arch, mnemonic)] + [(arch, mnemonic, m) for m in modifiers]
    return found + [(arch, mnemonic, a, b) for a in modifiers for b in modifiers if pairs and a < b]


def sample(folder):
    """Rows that show a modifier for the first time, and of the others a part that depends on the row alone."""
    for name, one_in in ONE_IN.items():
        seen, kept = set(), []
        with gzip.open(os.path.join(folder, name + ".tsv.gz"), "rt", encoding="utf-8") as f:
            for line in f:
                arch, word, _, text = line.rstrip("\n").split("\t")
                found = set(shows(arch, text, name == "named")) if text != "-" else set()
                drawn = int(hashlib.sha256((arch + word).encode()).hexdigest()[:8], 16) % one_in == 0
                if drawn or not found <= seen:
                    kept.append(line)
                seen |= found
        path = os.path.join(HERE, "data", name + ".tsv.gz")
        with gzip.GzipFile(path, "wb", 9, mtime=0) as f:
            f.write("".join(kept).encode())
        print(f"{path}: {len(kept)} words, {os.path.getsize(path)} bytes")


def main():
    mode, rest = sys.argv[1:2], sys.argv[2:]
    if mode == ["whole"] and rest and set(rest[1:]) <= set(WHOLE):
        os.makedirs(rest[0], exist_ok=True)
        for name in rest[1:] or WHOLE:
            write(os.path.join(rest[0], name + ".tsv.gz"), WHOLE[name]())
    elif mode == ["sample"] and len(rest) == 1:
        sample(rest[0])
    elif mode == ["text"] and len(rest) > 1:
        for text in ask(rest[0], [int(w, 16) for w in rest[1:]]):
            print(text)
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
