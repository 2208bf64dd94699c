# SPDX-License-Identifier: Apache-2.0
"""What the two operational models share: simple thread code (registers, branches, labels) and an exhaustive search over states."""
import re
from condition import names_of
from form import ARITHMETIC, Refused, split_operands
from runs import MASK, arithmetic


class Call:
    """One operation of an operational model."""

    def __init__(self, text):
        self.text, self.label, self.kind, self.guard = text, None, None, None
        self.words, self.operands = [], []

    def __repr__(self):
        return self.text


def parse(text, kinds):
    """`kinds`: mnemonic words -> kind, or None. Remote operands [x@1] are ("mem", name, pe or None)."""
    c = Call(text)
    if m := re.fullmatch(r"\s*(\w+):\s*", text):
        c.kind, c.label = "label", m[1]
        return c
    body = text.strip()
    if m := re.match(r"@(!?)(\w+)\s+", body):
        c.guard, body = (m[2], m[1] == ""), body[m.end():]
    m = re.fullmatch(r"(\S+)\s*(.*)", body)
    c.words, rest = m[1].split("."), m[2]
    head = c.words[0]
    if head in ("bra", "beq", "bne"):
        c.kind, parts = head, rest.split(",")
        c.label = parts[-1].strip()
        c.operands = [one(p) for p in parts[:-1]]
        return c
    if m[1] in ("api.launch", "api.join"):
        c.kind, c.label = m[1][4:], rest.strip()
        return c
    c.kind = head if head in ARITHMETIC else kinds(c.words)
    if c.kind is None:
        raise Refused(f"unknown operation '{m[1]}'")
    c.operands = [one(p) for p in rest.split(",")] if rest else []
    return c


def one(text):
    m = re.fullmatch(r"\s*\[\s*(\w+)\s*(?:@\s*(\d+))?\s*\]\s*", text)
    if m:
        return ("mem", m[1], int(m[2]) if m[2] else None)
    return split_operands(text)[0]


def value(o, regs):
    if o[0] == "imm":
        return o[1] & MASK
    return regs.get(o[1], 0)


def plain(c, th, pc, regs):
    """Arithmetic, branches and labels: the new (pc, regs), or None when c is something else."""
    k = c.kind
    if k == "label":
        return pc + 1, regs
    if k in ("bra", "beq", "bne"):
        if k == "bra" or (value(c.operands[0], regs) == value(c.operands[1], regs)) == (k == "beq"):
            if c.label not in th.labels:
                raise Refused(f"{th.id}: no label {c.label}")
            return th.labels[c.label], regs
        return pc + 1, regs
    if k in ARITHMETIC:
        b = value(c.operands[2], regs) if len(c.operands) > 2 else 0
        return pc + 1, regs | {c.operands[0][1]: arithmetic(k, value(c.operands[1], regs), b) & MASK}
    return None


def reads_of(c):
    """The registers that an operation needs before it can start."""
    skip = 1 if c.kind in ARITHMETIC or getattr(c, "has_destination", False) else 0
    return {o[1] for o in c.operands[skip:] if o[0] in ("reg", "not")} | ({c.guard[0]} if c.guard else set())


class Search:
    """Depth first over hashable states; a subclass gives `start`, `next_states(state)` and `final(state)` (outcome tuples, or None when blocked)."""

    def __init__(self, test, limit=None):
        self.test, self.executions, self.outcomes, self.undefined, self.complete = test, 0, {}, None, True
        self.names = names_of(test.d.get("condition", ""))
        self.deadline = limit

    def explore(self):
        import time
        end = time.monotonic() + self.deadline if self.deadline else None
        first = self.start()
        seen, stack = {first}, [first]
        while stack:
            state = stack.pop()
            if end and time.monotonic() > end:
                raise TimeoutError
            followers = list(self.next_states(state))
            if not followers:
                outcome = self.final(state)
                if outcome is not None:
                    self.executions += 1
                    self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
            for s in followers:
                if s not in seen:
                    seen.add(s)
                    stack.append(s)
        self.states = len(seen)
