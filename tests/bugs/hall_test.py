#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The hall of bugs: check-sync finds what each public report found, by kind and by the words of the accesses, with the PTX that the
cubin keeps and (as bugs.py says) without, in less than a minute; it is silent on the repaired kernel, which gives its results.

    hall_test.py SASSEMU ROOT [--write] [NAME...]     --write: docs/bugs.md anew; else it is held against what is found, times aside
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time

import bugs

LIMIT = 60  # seconds to find a bug
AGENTS = ["eager", "lazy", "random"]
# Of the repaired kernel; the last two are not for multicast objects.
RUNS = [[], ["--agents", "lazy"], ["--model", "caches:policy=adversarial", "--seed", "3"], ["--model", "weak", "--agents", "random", "--seed", "5"]]


def check_sync(program, plan, *options):
    """-> findings, text, exit code, seconds"""
    with tempfile.TemporaryDirectory() as work:
        report = os.path.join(work, "report.json")
        began = time.monotonic()
        end = subprocess.run([program, "check-sync", os.path.basename(plan), "--json", report, *options], cwd=os.path.dirname(plan), capture_output=True, text=True)
        seconds = time.monotonic() - began
        findings = json.load(open(report))["findings"] if os.path.exists(report) else None
    return findings, end.stdout, end.returncode, seconds


def seen(findings):
    """kind and opcodes of each, with whether it is wrong by what is commonly relied on"""
    without_guard = lambda sass: re.sub(r"^@!?U?P\w+ ", "", sass)
    return [([f["kind"]] + [without_guard(a["sass"]) for a in f["accesses"]], f["as_commonly_relied_on"]) for f in findings]


def fits(found, want, common):
    return any(c == common and len(f) == len(want) and f[0] == want[0] and all(re.match(w + r"\b", a) for w, a in zip(want[1:], f[1:])) for f, c in found)


def look(program, folder, b):
    """-> rows of the table, reports, what is said besides, problems"""
    rows, texts, more, problems = [], {}, [], []
    for variant, plan in bugs.variants(b).items():
        repaired = variant == "repaired"
        name = "%s/%s" % (b.name, variant)
        path = os.path.join(folder, b.name, variant + ".json")
        plain_path = os.path.join(folder, "plain", b.name, variant + ".json")
        runs = [(path, agents) for agents in AGENTS] + [(plain_path, "eager")]
        for at, agents in runs:
            found, text, end, seconds = check_sync(program, at, "--agents", agents)
            place = "%s%s --agents %s" % (name, "" if at == path else " (no PTX)", agents)
            if found is None:
                problems.append("%s: no report, exit code %d: %s" % (place, end, text[-300:]))
                continue
            if repaired:
                if found or end:
                    problems.append("%s: exit code %d, found %s" % (place, end, seen(found)))
                continue
            w = b.wrong[variant]
            want = w.found.split() if at == path else w.plain.split()
            if not want:
                if found:
                    problems.append("%s: found %s" % (place, seen(found)))
            elif at == path and not fits(seen(found), want, w.common):
                problems.append("%s: exit code %d, wanted %s, found %s" % (place, end, want, seen(found)))
            elif at != path and not any(f[0] == want[0] for f, _ in seen(found)):
                problems.append("%s: exit code %d, wanted %s, found %s" % (place, end, want, seen(found)))
            if seconds > LIMIT:
                problems.append("%s: %.0f s" % (place, seconds))
            if (at, agents) == runs[0]:
                texts[variant] = re.split(r"^check-sync: too-strong|^%s\.json:" % variant, text, flags=re.M)[0]  # without how the run went
                rows.append([", ".join(bugs.link(r) for r in b.reports), "`%s`" % b.name, variant, want[0] + ("" if w.common else " (by the letter)"),
                             w.plain.split()[0] if w.plain else "nothing", "%.2f" % seconds])
        if repaired:
            for options in RUNS[:2] if any(x.get("kind") == "multicast" for x in plan["buffers"].values()) else RUNS:
                end = subprocess.run([program, "run", path, *options], capture_output=True, text=True)
                if end.returncode:
                    problems.append("%s: run %s: exit code %d: %s" % (name, " ".join(options), end.returncode, end.stdout[:300]))
    for note in b.notes:
        text, wrong = note(program, os.path.join(folder, b.name))
        more.append(text)
        problems += wrong
    return rows, texts, more, problems


HEAD = """# Bugs that others have reported

Small kernels of our own, each modelled on a public report: with the defect, and repaired (`tests/bugs/kernels`). check-sync reports the defect
in less than a minute, under every order of the agents, and is silent on the repaired kernel, which gives its results in every run. What
it says is below, word for word. Made by `tests/bugs/hall_test.py SASSEMU . --write`; the test `bugs_hall` holds it to that.

To try one: `tar xf tests/bugs/hall.tar.xz`, then `sassemu check-sync cluster_scope/scope.json` (`repaired.json` beside it).

"Without PTX" is what is found in the same machine code where the cubin keeps no PTX (no `-lineinfo`). Seconds are of the whole command,
on one of two cores of a busy machine.
"""
COLUMNS = ["report", "kernel", "defect", "found", "without PTX", "seconds"]


def page(results):
    lines = [HEAD, "| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    lines += ["| " + " | ".join(r) + " |" for rows, _, _ in results.values() for r in rows]
    for b in bugs.BUGS:
        rows, texts, more = results[b.name]
        lines += ["", "## " + b.name, "", "%s: %s" % (", ".join(bugs.link(r) for r in b.reports), b.story)]
        for variant, text in texts.items():
            lines += ["", "`sassemu check-sync %s/%s.json`:" % (b.name, variant), "", "```", text.strip(), "```"]
        lines += [x for m in more for x in ("", m)]
    return "\n".join(lines) + "\n"


def lasting(text):
    """What does not change from run to run: the table without its seconds, and what is said besides reports."""
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    return re.sub(r"\| [\d.]+ \|$", "|", text, flags=re.M)


def main():
    program, root = os.path.abspath(sys.argv[1]), sys.argv[2]
    names = [a for a in sys.argv[3:] if not a.startswith("-")]
    chosen = [b for b in bugs.BUGS if not names or b.name in names]
    results, problems = {}, []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        with tarfile.open(os.path.join(bugs.HERE, "hall.tar.xz")) as tar:
            tar.extractall(folder)
        for b, (rows, texts, more, wrong) in zip(chosen, pool.map(lambda b: look(program, folder, b), chosen)):
            results[b.name] = rows, texts, more
            problems += wrong
    if names:
        for rows, texts, more in results.values():
            print("\n".join([*map(" | ".join, rows), *texts.values(), *more]))
    else:
        path = os.path.join(root, "docs", "bugs.md")
        made = page(results)
        if "--write" in sys.argv:
            with open(path, "w") as f:
                f.write(made)
        with open(path) as f:
            if lasting(f.read()) != lasting(made):
                problems.append("docs/bugs.md says something else: run hall_test.py SASSEMU . --write")
    for problem in problems:
        print(problem)
    print("%d kernels, %d defects, %d problems" % (len(results), sum(len(r[0]) for r in results.values()), len(problems)))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
