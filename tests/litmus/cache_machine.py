# SPDX-License-Identifier: Apache-2.0
"""The machine of docs/litmus.md, section 7: incoherent L1 and texture caches, virtual channels, links. An exhaustive search of its states."""
import re
from form import Refused
from machine import Search, parse, plain, reads_of, value

LEVELS = {"CTA": 1, "SM": 1, "VC": 2, "GL": 3, "GPU": 3, "SYS": 4}


def kinds(words):
    head = words[0]
    if head in ("LD", "ST", "TLD", "PRELOAD", "MEMBAR", "CCTL", "CCTLT", "ATOM"):
        return head
    return None


def parse_sass(text):
    """SPA 5.0 syntax: a guard before, &req=, &rd= and ?WAITn behind."""
    body = text
    for annotation in re.findall(r"[&?]\S+", text):
        if annotation.startswith("?"):
            m = re.fullmatch(r"\?(?:sched>=)?WAIT(\d+)", annotation)
            if not m or ("MEMBAR" in text and int(m[1]) < 5):
                raise Refused(f"'{text}': a MEMBAR waits at least WAIT5")
        elif not re.fullmatch(r"&(req|rd)=(\{[0-5](,[0-5])*\}|[0-5])", annotation):
            raise Refused(f"'{text}': annotation '{annotation}'")
        body = body.replace(annotation, "")
    c = parse(body, kinds)
    c.has_destination = c.kind in ("LD", "TLD", "ATOM")
    words = c.words[1:]
    if c.kind == "MEMBAR":
        c.level = LEVELS.get(words[0] if words else None)
        c.empties = {"IVALLD": "D", "IVALLT": "T", "IVALLTD": "DT"}.get(words[1], "?") if len(words) > 1 else ""
        if c.level is None or c.empties == "?":
            raise Refused(f"'{text}': no such MEMBAR")
    if c.kind == "CCTL" and words not in (["IV"], ["IVALL"]) or c.kind == "CCTLT" and words != ["IVALL"]:
        raise Refused(f"'{text}': no such cache operation")
    c.bypass = c.kind == "LD" and ("CV" in words or "STRONG" in words and words[-1] in ("GPU", "SYS"))
    return c


class Explorer(Search):
    """State: (threads, own, pending, views, copies). threads: per thread (pc, registers, window of operations not performed).
    own: stores performed at the SM, not in its channel: (location, value, thread number). pending: (location, value, time, view, thread) still to reach a view.
    views: ((location, view), (time, value)). copies: (cache, sm, location, value)."""

    def start(self):
        for raw, th in zip(self.test.d["threads"], self.test.threads):
            th.labels = {c.label: i for i, c in enumerate(th.ops) if c.kind == "label"}
            th.sm = (th.gpu, raw.get("sm", raw.get("cta", 0))) if th.kind == "thread" else (th.kind, th.id)
            th.view = ("sm", th.gpu) if th.kind == "thread" else ("ce", th.gpu) if th.kind == "ce" else ("host", 0)
        self.all_views = sorted({t.view for t in self.test.threads})
        init = self.test.d.get("init", {})
        views = frozenset(((n, v), (0, init.get(n, 0))) for n in self.test.objects for v in self.all_views)
        threads = tuple((0, tuple(sorted((k.split(":")[1], v) for k, v in init.items() if k.startswith(t.id + ":"))), ()) for t in self.test.threads)
        return threads, (), frozenset(), views, frozenset()

    def level_of(self, th, view):
        if view == th.view:
            return 2
        return 3 if view[1] == th.gpu and "host" not in (view[0], th.view[0]) else 4

    def next_states(self, state):
        threads, own, pending, views, copies = state
        # stores on their way
        first_at = set()
        for i, (name, v, t) in enumerate(own):
            th = self.test.threads[t]
            if (th.sm, name) in first_at:
                continue
            first_at.add((th.sm, name))
            yield threads, own[:i] + own[i + 1:], *self.to_channel(pending, views, name, v, t), copies
        for p in pending:
            name, v, time, view, t = p
            if not any(q[0] == name and q[3] == view and q[2] < time for q in pending):
                yield threads, own, pending - {p}, self.into(views, name, view, time, v), copies
        for t, (pc, regs, window) in enumerate(threads):
            th = self.test.threads[t]
            # fetch
            if pc < len(th.ops):
                c, r = th.ops[pc], dict(regs)
                awaited = {th.ops[w].operands[0][1] for w in window if th.ops[w].has_destination}
                if not (reads_of(c) & awaited):
                    if c.guard and bool(r.get(c.guard[0], 0)) != c.guard[1]:
                        yield self.with_thread(state, t, (pc + 1, regs, window))
                        continue
                    moved = plain(c, th, pc, r)
                    if moved:
                        yield self.with_thread(state, t, (moved[0], tuple(sorted(moved[1].items())), window))
                    elif len(window) < 6 and not (c.has_destination and c.operands[0][1] in awaited):
                        # an operation's operands are read when it is fetched
                        bound = tuple(value(o, r) if o[0] == "imm" or o[0] == "reg" and not (c.has_destination and j == 0) else None for j, o in enumerate(c.operands))
                        yield self.with_thread(state, t, (pc + 1, regs, window + (pc,))) if all(o[0] != "reg" for o in c.operands[1:]) else \
                            self.with_thread(state, t, (pc + 1, tuple(sorted((r | {f"#{pc}": bound}).items(), key=str)), window + (pc,)))
            # perform
            for i, w in enumerate(window):
                c = th.ops[w]
                if all(self.may_pass(th.ops[e], c) for e in window[:i]):
                    yield from self.perform(state, t, i, c, w)

    def with_thread(self, state, t, new):
        threads = state[0]
        return (threads[:t] + (new,) + threads[t + 1:],) + state[1:]

    @staticmethod
    def may_pass(earlier, later):
        if earlier.kind in ("MEMBAR", "CCTL", "CCTLT") or later.kind in ("MEMBAR", "CCTL", "CCTLT"):
            return False
        where = [next((o[1] for o in c.operands if o[0] == "mem"), None) for c in (earlier, later)]
        return where[0] != where[1]

    @staticmethod
    def into(views, name, view, time, v):
        old = next(x for x in views if x[0] == (name, view))
        return (views - {old}) | {((name, view), (time, v))} if old[1][0] < time else views

    def to_channel(self, pending, views, name, v, t):
        """A store reaches its own channel's view and sets out for the others; it takes its place in the location's order."""
        th = self.test.threads[t]
        time = 1 + max([x[1][0] for x in views if x[0][0] == name] + [p[2] for p in pending if p[0] == name])
        views = self.into(views, name, th.view, time, v)
        return pending | {(name, v, time, view, t) for view in self.all_views if view != th.view}, views

    def seen(self, state, th, name):
        """What an SM's (or client's) accesses see below the caches."""
        mine = [v for n, v, t in state[1] if n == name and self.test.threads[t].sm == th.sm]
        return mine[-1] if mine else next(x[1][1] for x in state[3] if x[0] == (name, th.view))

    def perform(self, state, t, i, c, w):
        threads, own, pending, views, copies = state
        th = self.test.threads[t]
        pc, regs, window = threads[t]
        r = dict(regs)
        bound = r.pop(f"#{w}", None)
        window = window[:i] + window[i + 1:]

        def done(own=own, pending=pending, views=views, copies=copies, **written):
            new = (pc, tuple(sorted((r | written).items(), key=str)), window)
            return threads[:t] + (new,) + threads[t + 1:], own, pending, views, copies
        name = next((o[1] for o in c.operands if o[0] == "mem"), None)
        cached = th.kind == "thread"
        if c.kind in ("LD", "TLD", "PRELOAD"):
            cache = "T" if c.kind == "TLD" else "D"
            into = {} if c.kind == "PRELOAD" else {c.operands[0][1]: None}
            if cached and not c.bypass:
                for x in copies:
                    if x[:3] == (cache, th.sm, name):
                        yield done(**{k: x[3] for k in into})
            v = self.seen(state, th, name)
            left = copies
            if cached and not c.bypass:
                left = frozenset(x for x in copies if x[:3] != (cache, th.sm, name)) | {(cache, th.sm, name, v)}
            yield done(copies=left, **{k: v for k in into})
        elif c.kind == "ST":
            v = bound[1] if bound else value(c.operands[1], r)
            left = frozenset(x[:3] + (v,) if x[:3] == ("D", th.sm, name) else x for x in copies)
            yield done(own=own + ((name, v, t),), copies=left)
        elif c.kind == "ATOM":
            if not any(n == name and self.test.threads[x].sm == th.sm for n, _, x in own):
                # It is performed where the location is, on its newest value, which not all need to see yet.
                old = max([x[1] for x in views if x[0][0] == name] + [(p[2], p[1]) for p in pending if p[0] == name])[1]
                v = bound[2] if bound else value(c.operands[2], r)
                p, vs = self.to_channel(pending, views, name, old + v if "ADD" in c.words else v, t)
                yield done(pending=p, views=vs, **{c.operands[0][1]: old})
        elif c.kind == "MEMBAR":
            if c.level >= 2 and any(x == t for _, _, x in own):
                return
            if any(p[4] == t and self.level_of(th, p[3]) <= c.level for p in pending):
                return
            yield done(copies=frozenset(x for x in copies if not (x[1] == th.sm and x[0] in c.empties)))
        else:
            one = c.words[1] == "IV"
            cache = "T" if c.kind == "CCTLT" else "D"
            yield done(copies=frozenset(x for x in copies if not (x[0] == cache and x[1] == th.sm and (not one or x[2] == name))))

    def final(self, state):
        threads, own, pending, views, _ = state
        if own or pending or any(pc < len(th.ops) or window for th, (pc, _, window) in zip(self.test.threads, threads)):
            return None
        out = []
        for n in self.names:
            if n[0] == "reg":
                k = next(i for i, th in enumerate(self.test.threads) if th.id == n[1])
                out.append(dict(threads[k][1]).get(n[2], 0))
            else:
                out.append(max(x[1] for x in views if x[0][0] == n[1])[1])
        return tuple(out)
