# SPDX-License-Identifier: Apache-2.0
"""Why a captured launch is not equal, and whether what check-sync reports of one is a defect: the last column of docs/captured.md.

A row is Reason(kinds, kernel, why) and, where that is not enough, program= and sass=:

    kinds    one or several, between commas: a verdict of compare.py ("differs", "equal in another order", "device heap", "fault", "varies") or a kind
             of finding ("data-race", "missing-proxy-fence", ...), with " (letter)" behind it where check-sync says so by the letter only
    kernel   a pattern (*, ?, [a-z]) for the whole mangled or the whole demangled name, as "at::native::gatherMedian<*" or "nvjet_sm90_*"
    why      one sentence or two, beginning with "a defect", "no defect", "by the letter" or, for launches, with what decides the bits
    program  a pattern for the name in programs.py
    sass     a pattern for the instruction of some access of the finding, as "*LDSM*"

The first row that fits counts. `page.py ... --unexplained` lists what no row fits.
"""
import fnmatch
import typing


class Reason(typing.NamedTuple):
    kinds: str
    kernel: str
    why: str
    program: str = "*"
    sass: str = "*"


HEAP = "addresses that the GPU's malloc gave; capsules hold nothing of the device heap"

REASONS = [
    # Launches
    Reason("device heap", "*", HEAP),
    Reason("exit 3", "heap", HEAP),
    Reason("equal in another order", "*AttentionBackwardKernel*", "key blocks of a head add to one gradient in the order in which they get a lock"),
    # Findings of check-sync
]


def why(kind, names, program, sass=()):
    """The reason for what `kind` says of a kernel with these names; "" if no row fits."""
    for row in REASONS:
        if (kind in (k.strip() for k in row.kinds.split(",")) and any(fnmatch.fnmatchcase(name, row.kernel) for name in names)
                and fnmatch.fnmatchcase(program, row.program) and (row.sass == "*" or any(fnmatch.fnmatchcase(text, row.sass) for text in sass))):
            return row.why
    return ""
