#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What census.py found, as the table of docs/kernels.md: page.py OUT/census.jsonl docs/kernels.md"""
import collections
import json
import sys

BEGIN, END = "<!-- census: begin (tests/programs/kernels/page.py writes it) -->", "<!-- census: end -->"


def share(part, whole):
    return f"{part} of {whole} ({100 * part / whole:.1f} %)" if whole else "none"


def table(rows):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row["file"].split()[0], row["arch"]].append(row)
    lines = ["| package | architecture | files tried | compile | of these: decode as nvdisasm | execute whole | launches derived | end | end where a guess explains it | not explained |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    every = [row for group in groups.values() for row in group]
    for name, group in [*sorted(groups.items()), (("**all**", ""), every)]:
        compiled = [row for row in group if row["compiles"]]
        kernels = [kernel for row in compiled for kernel in row["kernels"]]
        ends = collections.Counter(kernel["end"] for kernel in kernels)
        lines.append(f"| {name[0]} | {name[1]} | {len(group)} | {len(compiled)} | {share(sum(bool(row['decodes']) for row in compiled), len(compiled))} | "
                     f"{share(sum(not row['unsupported'] for row in compiled), len(compiled))} | {len(kernels)} | {ends['ended']} | {ends['guessed']} | "
                     f"{ends['unexplained'] + ends['limit']} |")
    lines.append("")
    words = sum(row.get("instructions", 0) for row in every)
    lines.append(f"{words:,} instructions in all. Files that do not compile:")
    lines.append("")
    reasons = collections.Counter(row["error"].split(": ", 1)[-1][:90] if "error" in row["error"] else row["error"] for row in every if not row["compiles"])
    lines += [f"- {count}: {reason}" for reason, count in reasons.most_common()]
    return lines


def main():
    record, page = sys.argv[1:3]
    with open(record) as f:
        rows = [json.loads(line) for line in f]
    with open(page) as f:
        text = f.read()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    with open(page, "w") as f:
        f.write(before + BEGIN + "\n" + "\n".join(table(rows)) + "\n" + END + after)


main()
