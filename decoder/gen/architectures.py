#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads ../isa/architectures.isa, the one list of architectures.

    architectures.py docs FILE       writes docs/architectures.md (with --check: compares instead)
    architectures.py names           all names, one a line

As a module: FAMILIES, ARCHS, names(); emit_architectures() writes sassdec/architectures.hpp."""
import os
import re
import sys
from dataclasses import dataclass, field

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "isa", "architectures.isa")
# Keyword -> the keys that a line must have, those that it may have, and its flags.
KEYS = {
    "bank0": ("parameters ntid nctaid stack local_window envreg dynamic_shared grid_id nsmid param_window const_window",
              "shared_window total_shared nclusterid cluster_nctaid cluster_rank explicit_cluster per_cluster bank_address reserved_end reserved_1",
              "window"),
    "matrix": ("fraction bytes", "", "short_bytes one_step"),
    "family": ("value ureg bank0 matrix elf", "reserved",
               "plain_zero fp32_half bmma_xor abi90 pack_modes wgmma tcgen05 snan"),
    "arch": ("family group device shared ctas threads", "", "a f measured"),
    "device": ("sms", "", ""),
}
NAMES = {"bank0", "matrix", "family", "device"}  # keys whose value is the name of another line


@dataclass
class Row:
    kind: str
    name: str
    where: str
    of: str = ""  # device: its architecture
    flags: set = field(default_factory=set)
    values: dict = field(default_factory=dict)

    def __getitem__(self, key):
        return self.values.get(key, 0)


def read(path=PATH):
    """kind -> name -> Row, in the file's order. Mistakes are SystemExit('file:line: what')."""
    table = {kind: {} for kind in KEYS}
    with open(path, encoding="utf-8") as f:
        for number, text in enumerate(f, 1):
            words = text.partition("#")[0].split()
            if not words:
                continue
            where = f"{os.path.basename(path)}:{number}"
            need = 3 if words[0] == "device" else 2
            if words[0] not in KEYS or len(words) < need:
                raise SystemExit(f"{where}: expected one of {', '.join(KEYS)}, a name and its facts")
            row = Row(words[0], words[1], where, words[2] if need == 3 else "")
            required, optional, flags = (set(part.split()) for part in KEYS[row.kind])
            for word in words[need:]:
                key, eq, value = word.partition("=")
                if (key not in required | optional) if eq else (key not in flags):
                    raise SystemExit(f"{where}: '{word}' is nothing that a {row.kind} line says")
                if not eq:
                    row.flags.add(key)
                elif key in NAMES or "/" in value:
                    row.values[key] = value
                else:
                    try:
                        row.values[key] = int(value, 0)
                    except ValueError:
                        raise SystemExit(f"{where}: {key} needs a number") from None
            if required - set(row.values):
                raise SystemExit(f"{where}: {' '.join(sorted(required - set(row.values)))} missing")
            if row.name in table[row.kind]:
                raise SystemExit(f"{where}: {row.kind} {row.name} stands twice")
            table[row.kind][row.name] = row
    check(table)
    return table


def check(table):
    for kind in KEYS:
        for row in table[kind].values():
            for key in NAMES & set(row.values):
                if row[key] not in table[key]:
                    raise SystemExit(f"{row.where}: there is no {key} {row[key]}")
            if row.of and row.of not in table["arch"]:
                raise SystemExit(f"{row.where}: there is no arch {row.of}")
    if sorted(f["value"] for f in table["family"].values()) != list(range(len(table["family"]))):
        raise SystemExit("architectures.isa: the values of the families are not 0, 1, 2...")
    for row in table["arch"].values():
        if not re.match(r"sm_\d+$", row.name) or not re.match(r"\d+/\d+$", str(row["shared"])):
            raise SystemExit(f"{row.where}: expected arch sm_NUMBER shared=SM/CTA")


TABLE = read()
FAMILIES = list(TABLE["family"])
ARCHS = list(TABLE["arch"])


def families_with(flag):
    return frozenset(f.name for f in TABLE["family"].values() if flag in f.flags)


def uniform_bits(family):
    return TABLE["family"][family]["ureg"]


def suffixes(arch):
    return sorted(arch.flags & {"a", "f"})


def names():
    """Every name that there is: sm_75 ... sm_90 sm_90a sm_100 sm_100a sm_100f ..."""
    return [a.name + s for a in TABLE["arch"].values() for s in ["", *suffixes(a)]]


HEADER = """// Generated from decoder/isa/architectures.isa by decoder/gen/architectures.py; edit that.
// SPDX-License-Identifier: Apache-2.0
// The list of architectures as constants: names, table families, and in what chips differ.
#pragma once
#include <cstdint>
#include <string_view>

#include "sassdec/sassdec.h"

namespace sassdec {

// Byte offsets of the fields of constant bank 0; 0xffff: the architecture has no such field.
struct Bank0Layout {
    std::uint16_t %(bank0)s;
    bool %(bank0_flags)s;  // param_window points to the parameters, not to the bank
};

// How the tensor cores add products (emu/isa/MATRIX.md).
struct MatrixSums {
    std::uint8_t %(matrix)s;  // bits kept below the largest exponent; of elements of 8 bits
    bool %(matrix_flags)s;
};

struct Family {
    const char* name;
    sassdec_arch id;
    Bank0Layout bank0;
    MatrixSums matrix;
    std::uint16_t reserved_shared;  // bytes at shared address 0 that are the system's
    std::uint8_t elf_flags;         // low byte of a cubin's e_flags
    bool %(family_flags)s;
};

struct Architecture {
    std::uint16_t sm;
    bool a, f;  // whether there are names with these suffixes
    std::uint8_t group;
    const Family* family;
    const char* device;  // the default profile
    std::uint32_t shared_per_sm, shared_per_cta;  // bytes
    std::uint32_t ctas_per_sm, threads_per_sm;
    bool measured;  // results were recorded on such a chip
};

struct Device {
    const char* name;
    std::uint16_t sm;
    std::uint32_t sms;
};

"""

FUNCTIONS = """
// nullptr: there is no such chip.
constexpr const Architecture* find_architecture(unsigned sm) {
    for (const Architecture& a : architectures)
        if (a.sm == sm) return &a;
    return nullptr;
}

// The chip of a number that is in the list; of another number the facts of the last chip below it.
constexpr const Architecture& architecture(unsigned sm) {
    const Architecture* best = architectures;
    for (const Architecture& a : architectures)
        if (a.sm <= sm) best = &a;
    return *best;
}

// "sm_90a", "SM90a", "compute_90a" or "90a". nullptr: not one of the names. *suffix: 0, 'a' or 'f'.
constexpr const Architecture* find_architecture(std::string_view name, char* suffix = nullptr) {
    for (const std::string_view prefix : {"sm_", "SM_", "compute_", "SM", "sm"})
        if (name.substr(0, prefix.size()) == prefix) {
            name.remove_prefix(prefix.size());
            break;
        }
    char tail = 0;
    if (!name.empty() && (name.back() == 'a' || name.back() == 'f')) {
        tail = name.back();
        name.remove_suffix(1);
    }
    if (name.empty() || name.size() > 3 || name[0] == '0') return nullptr;
    unsigned sm = 0;
    for (const char c : name) {
        if (c < '0' || c > '9') return nullptr;
        sm = sm * 10 + static_cast<unsigned>(c - '0');
    }
    const Architecture* found = find_architecture(sm);
    if (!found || (tail == 'a' && !found->a) || (tail == 'f' && !found->f)) return nullptr;
    if (suffix) *suffix = tail;
    return found;
}

}  // namespace sassdec
"""


def struct(row):
    """A row's values in the order of KEYS, as a C++ initialiser."""
    required, optional, flags = (part.split() for part in KEYS[row.kind])
    values = [hex(row.values.get(key, 0xffff)) if row.kind == "bank0" else str(row[key]) for key in required + optional]
    return "{" + ", ".join(values + [str(f in row.flags).lower() for f in flags]) + "}"


def hint():
    """The names in one line: what an error says about a name that is none."""
    by_suffix = {}
    for a in TABLE["arch"].values():
        by_suffix.setdefault("".join(suffixes(a)), []).append(a.name)
    text = {"": "", "a": " (also with a)", "af": " (also with a or f)"}
    return "known: " + "; ".join(" ".join(found) + text[s] for s, found in by_suffix.items())


def emit_architectures():
    """The text of sassdec/architectures.hpp."""
    def list_of(kind, part):
        return ", ".join(" ".join(KEYS[kind][p] for p in part).split())

    out = [HEADER % {"bank0": list_of("bank0", (0, 1)), "bank0_flags": list_of("bank0", (2,)), "matrix": list_of("matrix", (0,)),
                     "matrix_flags": list_of("matrix", (2,)), "family_flags": list_of("family", (2,))}]
    out.append("// By enum sassdec_arch.\ninline constexpr Family families[] = {\n")
    for f in sorted(TABLE["family"].values(), key=lambda f: f["value"]):
        flags = ", ".join(str(x in f.flags).lower() for x in KEYS["family"][2].split())
        out.append(f'    {{"{f.name}", SASSDEC_{f.name.upper()},\n     {struct(TABLE["bank0"][f["bank0"]])},\n'
                   f'     {struct(TABLE["matrix"][f["matrix"]])}, {f["reserved"]}, {f["elf"]}, {flags}}},\n')
    out.append("};\n")
    for f in TABLE["family"].values():
        out.append(f"static_assert(SASSDEC_{f.name.upper()} == {f['value']});\n")
    out.append(f"static_assert(SASSDEC_ARCH_COUNT == {len(FAMILIES)});\n"
               "// In the order that `sm_90+` and `sm_89-` mean in the ISA description.\n"
               "inline constexpr sassdec_arch family_order[] = {" + ", ".join("SASSDEC_" + f.upper() for f in FAMILIES) + "};\n\n"
               "inline constexpr Architecture architectures[] = {\n")
    for a in TABLE["arch"].values():
        shared = [f"{n} * 1024" for n in a["shared"].split("/")]
        out.append(f'    {{{a.name[3:]}, {str("a" in a.flags).lower()}, {str("f" in a.flags).lower()}, {a["group"]}, '
                   f'&families[SASSDEC_{a["family"].upper()}], "{a["device"]}", {shared[0]}, {shared[1]}, {a["ctas"]}, {a["threads"]}, {str("measured" in a.flags).lower()}}},\n')
    out.append("};\n\ninline constexpr Device devices[] = {\n")
    for d in TABLE["device"].values():
        out.append(f'    {{"{d.name}", {d.of[3:]}, {d["sms"]}}},\n')
    out.append(f'}};\n\n// What an error says beside an unknown name.\ninline constexpr const char* known_architectures =\n    "{hint()}";\n')
    return "".join(out) + FUNCTIONS


def document():
    """The text of docs/architectures.md."""
    out = ["<!-- Generated by decoder/gen/architectures.py docs; edit decoder/isa/architectures.isa. -->\n# Architectures\n\n"
           "These names are known to `disasm`, `asm`, `isa`, `run`, `.target` and a plan's `arch`; all others are refused. Written `sm_90a`, `SM90a`,\n"
           "`compute_90a` or `90a`. Code runs on a chip of its group whose number is not below its own, `a` code on its own number only.\n\n"
           "| names | decoded as | group | default device | SMs | shared memory of an SM, a CTA (KiB) | CTAs, threads of an SM |\n|---|---|---|---|---|---|---|\n"]
    for a in TABLE["arch"].values():
        every = ", ".join([a.name + s for s in ["", *suffixes(a)]])
        out.append(f"| {every} | {a['family']} | {a['group']} | {a['device']} | {TABLE['device'][a['device']]['sms']} | "
                   f"{a['shared'].replace('/', ', ')} | {a['ctas']}, {a['threads']} |\n")
    out.append("\nA plan's `device` may name one of these profiles: " +
               ", ".join(f"{d.name} ({d.of}, {d['sms']} SMs)" for d in TABLE["device"].values()) +
               ".\n\n| family | uniform registers | parameters at | constant bank 0 | matrix sums | reserved shared memory | "
               "features |\n|---|---|---|---|---|---|---|\n")
    for f in TABLE["family"].values():
        features = " ".join(x for x in KEYS["family"][2].split() if x in f.flags)
        out.append(f"| {f.name} | {(1 << f['ureg']) - 1} | {TABLE['bank0'][f['bank0']]['parameters']:#x} | {f['bank0']} | {f['matrix']} | "
                   f"{f['reserved']} | {features} |\n")
    out.append("\nWhat of this is measured, published or assumed: emu/isa/ARCHITECTURES.md. The words of the last column, and how to add an\n"
               "architecture: decoder/isa/README.md and decoder/isa/architectures.isa.\n")
    return "".join(out)


def main():
    arguments = [a for a in sys.argv[1:] if a != "--check"]
    if arguments == ["names"]:
        print("\n".join(names()))
        return 0
    if len(arguments) != 2 or arguments[0] != "docs":
        print(__doc__, file=sys.stderr)
        return 2
    path = arguments[1]
    if "--check" not in sys.argv:
        with open(path, "w", encoding="utf-8") as f:
            f.write(document())
        return 0
    with open(path, encoding="utf-8") as f:
        if f.read() == document():
            return 0
    print(f"{path} is not what decoder/isa/architectures.isa says; run decoder/gen/architectures.py docs {path}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
