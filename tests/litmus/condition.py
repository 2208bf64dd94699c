# SPDX-License-Identifier: Apache-2.0
"""The condition's language: names and evaluation (docs/litmus.md, section 1)."""
import re

TOKEN = re.compile(r"\s*(&&|\|\||==|!=|!|\(|\)|&\w+|-?0x[0-9a-fA-F]+|-?\d+|[A-Za-z_]\w*(?::\w+)?(?:@\d+)?(?:\[\d+:\d+\])?)")


def tokens(text):
    found, at = [], 0
    while at < len(text.rstrip()):
        m = TOKEN.match(text, at)
        if not m:
            raise ValueError(f"condition: '{text[at:]}'")
        found.append(m[1])
        at = m.end()
    return found


def name(token):
    """("reg", thread, register) or ("mem", name, (offset, bytes) or None, pe or None)."""
    m = re.fullmatch(r"([A-Za-z_]\w*)(?::(\w+))?(?:@(\d+))?(?:\[(\d+):(\d+)\])?", token)
    if m[2]:
        return ("reg", m[1], m[2])
    return ("mem", m[1], (int(m[4]), int(m[5])) if m[4] else None, int(m[3]) if m[3] else None)


def names_of(text):
    if text.startswith("nontermination"):
        return []
    found = []
    for t in tokens(text):
        if re.match(r"[A-Za-z_]", t) and name(t) not in found:
            found.append(name(t))
    return sorted(found, key=str)


def key(n):
    """How the output's `state` spells a name."""
    if n[0] == "reg":
        return f"{n[1]}:{n[2]}"
    return n[1] + (f"@{n[3]}" if n[3] is not None else "") + (f"[{n[2][0]}:{n[2][1]}]" if n[2] else "")


def evaluate(text, state):
    """`state`: {name: value}."""
    ts, at = tokens(text), 0

    def peek():
        return ts[at] if at < len(ts) else None

    def take():
        nonlocal at
        at += 1
        return ts[at - 1]

    def value():
        t = take()
        if t.startswith("&"):
            return t
        return int(t, 0) if re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)", t) else state[name(t)]

    def atom():
        if peek() == "!":
            take()
            return not atom()
        if peek() == "(":
            take()
            v = either()
            take()
            return v
        left = value()
        if peek() in ("==", "!="):
            return (take() == "==") == (left == value())
        return bool(left)

    def both():
        v = atom()
        while peek() == "&&":
            take()
            v = atom() and v
        return v

    def either():
        v = both()
        while peek() == "||":
            take()
            v = both() or v
        return v
    return either()
