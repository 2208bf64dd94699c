# SPDX-License-Identifier: Apache-2.0
"""Every way one thread alone can run, when each read may return any value of its location: traces of events (docs/litmus.md, section 3).

Here: the operations' events, agents, dependencies. Not here: which traces fit together (axioms.py)."""
import itertools
from form import Refused

MASK = (1 << 64) - 1


class Event:
    """kind: R W (accesses), F (thread fence), P (proxy fence), A (arrival), Q (wait let through), N (any other point of the thread)."""
    __slots__ = ("kind", "th", "op", "sem", "scope", "proxy", "base", "alias", "first", "size", "atoms", "values", "dep", "agent",
                 "ins", "outs", "done", "t5", "restrict", "space", "bar", "rmw", "red", "mb", "info", "no", "before", "after", "implicit")

    def __init__(self, kind, th, op, **kw):
        self.kind, self.th, self.op = kind, th, op
        self.sem = self.scope = self.base = self.alias = self.agent = self.restrict = self.space = self.bar = self.rmw = self.mb = self.info = self.t5 = None
        self.first = self.size = 0
        self.proxy, self.atoms, self.values, self.red, self.before, self.after, self.implicit = "generic", (), (), False, False, False, False
        self.dep, self.ins, self.outs, self.done = set(), [], [], []
        for k, v in kw.items():
            setattr(self, k, v)

    def __repr__(self):
        return f"{self.kind}:{self.th.id}:{self.op.text if self.op else 'init'}{list(self.values)}"


class Trace:
    def __init__(self):
        self.events, self.registers, self.bars, self.clusters, self.api = [], {}, [], [], []


class Cut(Exception):
    pass


class Need(Exception):
    def __init__(self, options):
        self.options = options


def arithmetic(kind, a, b):
    return {"mov": lambda: a, "add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b, "and": lambda: a & b, "or": lambda: a | b,
            "xor": lambda: a ^ b, "eq": lambda: int(a == b), "ne": lambda: int(a != b), "exch": lambda: b, "min": lambda: min(a, b),
            "max": lambda: max(a, b), "inc": lambda: 0 if a >= b else a + 1, "dec": lambda: b if a == 0 or a > b else a - 1}[kind]()


class Runner:
    def __init__(self, test, domain):
        self.test, self.domain, self.atoms, self.complete = test, domain, test.atoms, True

    def traces(self, th, limit=20000):
        """All traces of one thread, by replaying choice lists depth first."""
        found, stack = [], [[]]
        while stack:
            choices = stack.pop()
            try:
                found.append(Run(self, th, choices).run())
            except Need as need:
                stack.extend(choices + [o] for o in need.options)
            except Cut:
                pass
            if len(found) + len(stack) > limit:
                raise TimeoutError("too many traces")
        return found


class Run:
    def __init__(self, runner, th, choices):
        self.r, self.test, self.th, self.choices, self.used = runner, runner.test, th, choices, 0
        self.t = Trace()
        self.regs, self.rdep, self.ctrl = {}, {}, frozenset()
        self.open, self.groups, self.bulk_open, self.bulk_groups, self.w_open, self.w_groups = [], [], [], [], [], []
        self.t5 = {"ld": [], "st": [], "async": []}
        self.count = {}
        for k, v in self.test.d.get("init", {}).items():
            if k.startswith(th.id + ":"):
                self.regs[k.split(":")[1]] = v

    def choose(self, options):
        if self.used == len(self.choices):
            raise Need(options)
        self.used += 1
        return self.choices[self.used - 1]

    # values
    def value(self, o):
        if o[0] == "imm":
            return (o[1] & MASK if isinstance(o[1], int) else o[1]), frozenset()
        if o[0] == "not":
            return int(not self.regs.get(o[1], 0)), self.rdep.get(o[1], frozenset())
        return self.regs.get(o[1], 0), self.rdep.get(o[1], frozenset())

    def put(self, o, value, dep):
        self.regs[o[1]], self.rdep[o[1]] = value, frozenset(dep)

    # events
    def add(self, kind, op, dep=(), **kw):
        e = Event(kind, self.th, op, **kw)
        e.dep = set(dep) | self.ctrl
        e.no = len(self.t.events)
        self.t.events.append(e)
        return e

    def place(self, name, offset=0, size=None):
        if name not in self.test.locations:
            raise Refused(f"unknown location {name}")
        l = self.test.locations[name]
        first, size = l.first + offset, size or l.size - offset
        if offset + size > l.size:
            raise Refused(f"access outside of {name}")
        atoms = tuple(i for i, (f, s) in enumerate(self.r.atoms[l.base]) if f >= first and f + s <= first + size)
        return dict(base=l.base, alias=l.alias, first=first, size=size, atoms=atoms, proxy=l.proxy)

    def parts(self, where, value):
        if isinstance(value, str):
            return (value,)
        cells = self.r.atoms[where["base"]]
        return tuple((value >> 8 * (cells[a][0] - where["first"])) & ((1 << 8 * cells[a][1]) - 1) for a in where["atoms"])

    def whole(self, where, parts):
        if any(isinstance(p, str) for p in parts):
            return parts[0]
        cells = self.r.atoms[where["base"]]
        return sum(p << 8 * (cells[a][0] - where["first"]) for a, p in zip(where["atoms"], parts))

    def read(self, op, where, dep=(), **kw):
        """A read event with a guessed value; returns (event, value)."""
        parts = self.choose([tuple(c) for c in itertools.product(*(sorted(self.r.domain[where["base"], a], key=str) for a in where["atoms"]))])
        e = self.add("R", op, dep, values=parts, **(where | kw))
        return e, self.whole(where, parts)

    def write(self, op, where, value, dep=(), **kw):
        return self.add("W", op, dep, values=self.parts(where, value), **(where | kw))

    def modify(self, op, where, name, args, dep, sem, scope, red=False, **kw):
        """An atomic read and write; returns (value read, read event)."""
        acq = "acquire" if sem in ("acquire", "acq_rel") else "relaxed"
        rel = "release" if sem in ("release", "acq_rel") else "relaxed"
        r, old = self.read(op, where, dep, sem=acq, scope=scope, red=red, **kw)
        if name == "cas":
            if old != args[0]:
                return old, r
            new, wdep = args[1], set(dep) | {r.no}
        else:
            new, wdep = arithmetic(name, old, args[0]) & ((1 << 8 * where["size"]) - 1), set(dep) | (set() if name == "exch" else {r.no})
        w = self.write(op, where, new, wdep, sem=rel, scope=scope, **kw)
        r.rmw = w.no
        return old, r

    def run(self):
        ops, pc, loops, visited = self.th.ops, 0, {}, {}
        if not self.th.start:
            self.ctrl = frozenset({self.add("N", None, info="start").no})
        while pc < len(ops):
            op = ops[pc]
            if op.kind == "label":
                visited[op.label] = (len(self.t.events), {k for k in self.regs}, dict(self.regs))
            elif op.kind in ("bra", "beq", "bne"):
                taken = True
                if op.kind != "bra":
                    (a, da), (b, db) = self.value(op.operands[0]), self.value(op.operands[1])
                    self.ctrl |= da | db
                    taken = (a == b) == (op.kind == "beq")
                if taken:
                    target = self.th.labels.get(op.label)
                    if target is None:
                        raise Refused(f"{self.th.id}: no label {op.label}")
                    if target <= pc:
                        self.back(op.label, loops, visited)
                    pc = target
                    continue
            else:
                self.step(op)
            pc += 1
        self.t.registers = {f"{self.th.id}:{k}": v for k, v in self.regs.items()}
        return self.t

    def back(self, label, loops, visited):
        """A backward branch: a loop that only read is the same as one that read once (spin); others are bounded."""
        first, _, _ = visited.get(label, (0, None, None))
        since = self.t.events[first:]
        if all(e.kind == "R" and e.rmw is None or e.kind == "Q" and e.mb and not e.info for e in since):
            raise Cut
        loops[label] = loops.get(label, 0) + 1
        if loops[label] > self.test.bound:
            self.r.complete = False
            raise Cut

    # one operation
    def step(self, op):
        k, o = op.kind, op.operands
        if k in ("mov", "add", "sub", "mul", "and", "or", "xor", "eq", "ne"):
            (a, da), (b, db) = self.value(o[1]), self.value(o[2]) if len(o) > 2 else (0, frozenset())
            self.put(o[0], arithmetic(k, a, b) & MASK, da | db)
        elif k == "ld":
            where = self.place(o[1][1], o[1][2], op.size)
            if op.sem == "seq_cst":
                self.add("F", op, sem="sc", scope=op.scope)
            sem = {"volatile": "relaxed", "mmio": "relaxed", "seq_cst": "acquire"}.get(op.sem, op.sem)
            e, v = self.read(op, where, sem=sem, scope=op.scope)
            self.put(o[0], v, {e.no})
        elif k == "st":
            where = self.place(o[0][1], o[0][2], op.size)
            if op.sem == "seq_cst":
                self.add("F", op, sem="sc", scope=op.scope)
            v, d = self.value(o[1])
            self.write(op, where, v, d, sem={"volatile": "relaxed", "mmio": "relaxed", "seq_cst": "relaxed"}.get(op.sem, op.sem), scope=op.scope)
        elif k in ("atom", "red"):
            i = 1 if k == "atom" else 0
            where = self.place(o[i][1], o[i][2], op.size)
            args, dep = zip(*(self.value(x) for x in o[i + 1:]))
            old, r = self.modify(op, where, op.op, args, frozenset().union(*dep), op.sem, op.scope, red=k == "red")
            if k == "atom":
                self.put(o[0], old, {r.no})
        elif k == "copy":
            src, dst = self.place(o[1][1], o[1][2]), self.place(o[0][1], o[0][2])
            r, v = self.read(op, src, sem="weak")
            self.write(op, dst, v, {r.no}, sem="weak")
        elif k == "fence":
            restrict = {"shared::cta": ("cta", self.th.cta), "shared::cluster": ("shared",)}.get(op.space)
            if op.op == "mbarrier_init":
                restrict = ("init", self.th.index)
            if op.op == "async::generic":  # one way: only toward later accesses in the async proxy
                restrict += ("async",)
            e = self.add("F", op, sem=op.sem, scope=op.scope, restrict=restrict)
            if op.op == "async::generic":
                e.space, e.info = op.space, "async"
        elif k == "proxy":
            self.add("P", op, info=op.op, space=op.space)
        elif k in ("map.release", "map.acquire"):
            where = self.place(o[0][1], o[0][2], 1) if o else {}
            self.add("P", op, info=k, scope=op.scope, sem=op.sem, base=where.get("base"), first=where.get("first", 0), alias=where.get("alias"))
        elif k.startswith("bar."):
            self.barrier(op)
        elif k in ("cluster.arrive", "cluster.wait"):
            key = (self.th.cluster, k)
            n = self.count[key] = self.count.get(key, -1) + 1
            e = self.add("A" if k == "cluster.arrive" else "Q", op, sem=op.sem or "acquire", scope="cluster", bar=("cluster", self.th.cluster))
            self.t.clusters.append((self.th.cluster, n, e.no, e.kind))
            if e.kind == "Q":
                self.ctrl |= {e.no}
        elif k.startswith("mb."):
            self.mbarrier(op)
        elif k in ("launch", "join"):
            e = self.add("N", op, info=k)
            self.t.api.append((k, op.label, e.no))
            if k == "join":
                self.ctrl |= {e.no}
        else:
            self.agents(op)

    def barrier(self, op):
        o, red = op.operands, op.kind == "bar.red"
        o = o[1:] if red else o
        pred = o[-1] if red else None
        o = o[:-1] if red else o
        (a, da) = self.value(o[0])
        count, dc = self.value(o[1]) if len(o) > 1 else (None, frozenset())
        key = (self.th.cta, a)
        n = self.count[key] = self.count.get(key, -1) + 1
        inst = (self.th.cta, a, ("inst", op.inst) if op.inst is not None else n)
        p, dp = self.value(pred) if red else (0, frozenset())
        arrive = self.add("A", op, da | dc | dp, sem="release", scope="cta", bar=("bar", inst))
        entry = {"inst": inst, "lanes": 1 if self.test.corpus else self.th.lanes, "count": count, "A": arrive.no, "Q": None, "pred": p, "result": None, "op": op.op}
        if op.kind != "bar.arrive":
            q = self.add("Q", op, sem="acquire", scope="cta", bar=("bar", inst))
            entry["Q"] = q.no
            self.ctrl |= {q.no}
            if red:
                sums = {0}
                for t in self.test.threads:
                    sums |= {s + t.lanes for s in sums} if t.cta == self.th.cta else set()
                entry["result"] = self.choose(sorted(sums) if op.op == "popc" else [0, 1])
                self.put(op.operands[0], entry["result"], {q.no})
        self.t.bars.append(entry)

    def mbarrier(self, op):
        k, o = op.kind, op.operands
        if k == "mb.wait":
            dest = o[0] if o[0][0] == "reg" else None
            where = self.place(*o[-2][1:])
            parity, d = self.value(o[-1])
            result = self.choose([0, 1]) if dest else 1
            q = self.add("Q", op, d, sem=op.sem, scope=op.scope, bar=("mb", where["base"]), base=where["base"], info=result, mb=("wait", parity & 1, result))
            if dest:
                self.put(dest, result, {q.no})
            elif result:
                self.ctrl |= {q.no}
            return
        where = self.place(*o[0][1:])
        n, d = self.value(o[1]) if len(o) > 1 else (1, frozenset())
        if k in ("mb.arrive", "mb.drop"):
            tx, n = (n, 1) if "expect_tx" in op.flags else (0, n)
            self.add("A", op, d, sem=op.sem, scope=op.scope, bar=("mb", where["base"]), base=where["base"],
                     mb=("arrive", n, tx, n if k == "mb.drop" else 0))
        else:
            self.add("N", op, d, base=where["base"], alias=where["alias"], mb=({"mb.init": "init", "mb.expect": "tx", "mb.complete": "tx"}[k], -n if k == "mb.complete" else n))

    # agents
    def issue(self, op, dep=()):
        return self.add("N", op, dep, info="issue")

    def complete(self, op, i, mb, scope, where, parts, release="own"):
        """The agent's operation on an mbarrier, after the events `parts`."""
        c = self.add("A", op, i.dep | {i.no} | {p.no for p in parts}, sem="release", scope=scope, bar=("mb", where["base"]), base=where["base"],
                     mb=mb, agent=i.no, info=release)
        for p in parts:
            p.outs.append(c.no)
        return c

    def transfer(self, op, dst, src, proxy, red=None):
        """An agent that reads src and writes dst; returns (issue, [read, write])."""
        i = self.issue(op)
        kw = dict(agent=i.no, ins=[i.no], proxy=proxy)
        r, v = self.read(op, src, {i.no}, sem="weak", **kw)
        if red:
            old, m = self.modify(op, dst, red, (v,), {i.no, r.no}, "relaxed", "gpu", red=True, **kw)
            parts = [r, m, self.t.events[m.rmw]]
        else:
            parts = [r, self.write(op, dst, v, {i.no, r.no}, sem="weak", **kw)]
        return i, parts

    @staticmethod
    def reads_source(e):
        """Not what a reduction finds at its destination."""
        return e.kind == "R" and e.rmw is None

    def observe(self, node, groups, reads_only=False):
        for e in itertools.chain(*groups):
            if not reads_only or self.reads_source(e):
                e.outs.append(node.no)

    def wait(self, op, groups, n, reads_only=False):
        q = self.add("N", op, info="wait_group")
        done = groups[:len(groups) - n] if n else groups[:]
        self.observe(q, done, reads_only)
        q.dep |= {e.no for g in done for e in g if not reads_only or self.reads_source(e)}
        self.ctrl |= {q.no}

    def agents(self, op):
        k, o = op.kind, op.operands
        if k == "cp":
            i, parts = self.transfer(op, self.place(*o[0][1:]), self.place(*o[1][1:]), "generic")
            self.open.append(parts)
        elif k == "cp.commit":
            self.groups.append(sum(self.open, []))
            self.open = []
        elif k == "cp.wait":
            self.wait(op, self.groups, o[0][1])
        elif k == "cp.wait_all":
            self.wait(op, self.groups + self.open, 0)
        elif k == "cp.mbarrier":
            where, i = self.place(*o[0][1:]), self.issue(op)
            if "noinc" not in op.flags:
                i.mb, i.base = ("inc", 1), where["base"]
            self.complete(op, i, ("arrive", 1, 0, 0), "cta", where, sum(self.groups + self.open, []))
        elif k in ("bulk", "bulk.reduce"):
            self.bulk(op)
        elif k == "tensor":
            self.tensor(op)
        elif k == "bulk.commit":
            self.bulk_groups.append(sum(self.bulk_open, []))
            self.bulk_open = []
        elif k == "bulk.wait":
            self.wait(op, self.bulk_groups, o[0][1], "read" in op.flags)
        elif k in ("st.async", "red.async"):
            where, bar, (v, d) = self.place(*o[0][1:], op.size), self.place(*o[2][1:]), self.value(o[1])
            i = self.issue(op, d)
            kw = dict(agent=i.no, ins=[i.no], proxy="async")
            if k == "st.async":
                parts = [self.write(op, where, v, d | {i.no}, sem="weak", **kw)]
            else:
                _, m = self.modify(op, where, op.op, (v,), d | {i.no}, "relaxed", "cluster", red=True, **kw)
                parts = [m, self.t.events[m.rmw]]
            self.complete(op, i, ("tx", -where["size"]), "cluster", bar, parts, self.test.options.get("st_async", "own"))
        elif k == "wgmma.fence":
            self.add("N", op, info="wgmma.fence")
        elif k == "wgmma":
            i, value = self.issue(op), 1
            ins = [e.no for e in self.t.events if e.info == "wgmma.fence" or e.kind == "P" and e.info == "async" and e.space in (None, "shared::cta", "shared::cluster")][-1:]
            for x in o[1:]:
                e, v = self.read(op, self.place(*x[1:]), {i.no}, sem="weak", agent=i.no, ins=ins, proxy="async")
                value *= v
                self.w_open.append(e)
            self.put(o[0], value & MASK, {e.no for e in self.w_open})
        elif k == "wgmma.commit":
            self.w_groups.append(self.w_open)
            self.w_open = []
        elif k == "wgmma.wait":
            self.wait(op, self.w_groups, o[0][1])
        elif k == "map.replace":
            self.write(op, self.place(*o[0][1:]), *self.value(o[1]), sem="weak")
        elif k == "map.copy":
            r, v = self.read(op, self.place(*o[1][1:]), sem="weak")
            self.write(op, self.place(*o[0][1:]), v, {r.no}, sem="weak")
            self.add("P", op, info="map.release", scope=op.scope, sem="release")
        elif k.startswith("t5."):
            self.tcgen05(op)
        else:
            raise Refused(f"'{op.text}' has no meaning here")

    def bulk(self, op):
        o, red = op.operands, op.op if op.kind == "bulk.reduce" else None
        i, parts = self.transfer(op, self.place(*o[0][1:]), self.place(*o[1][1:]), "async", red)
        if "bulk_group" in op.flags:
            self.bulk_open.append(parts)
        else:
            self.complete(op, i, ("tx", -o[2][1]), "cluster", self.place(*o[3][1:]), parts)

    def tensor(self, op):
        load = "bulk_group" not in op.flags
        o = op.operands
        i = self.issue(op)
        kw = dict(agent=i.no, ins=[i.no])
        m, address = self.read(op, self.place(*(o[1] if load else o[0])[1:]), {i.no}, sem="weak", **(kw | {"proxy": "tensormap"}))
        m.proxy = "tensormap"
        if not isinstance(address, str):
            raise Refused(f"'{op.text}': the tensor map holds no address")
        src, dst = (self.place(address[1:]), self.place(*o[0][1:])) if load else (self.place(*o[1][1:]), self.place(address[1:]))
        r, v = self.read(op, src | {"proxy": "async"}, {i.no, m.no}, sem="weak", **kw)
        w = self.write(op, dst | {"proxy": "async"}, v, {i.no, m.no, r.no}, sem="weak", **kw)
        if load:
            self.complete(op, i, ("tx", -dst["size"]), "cluster", self.place(*o[2][1:]), [m, r, w])
        else:
            self.bulk_open.append([m, r, w])

    def tcgen05(self, op):
        k, o = op.kind, op.operands
        if k == "t5.before":
            self.add("N", op, before=True)
        elif k == "t5.after":
            self.add("N", op, after=True)
        elif k in ("t5.wait_ld", "t5.wait_st"):
            q = self.add("N", op, info="wait")
            for e in self.t5[k[-2:]]:
                e.done.append(q.no)
                q.dep.add(e.no)
            self.ctrl |= {q.no}
        elif k == "t5.commit":
            i = self.issue(op)
            c = self.complete(op, i, ("arrive", 1, 0, 0), "cluster", self.place(*o[0][1:]), self.t5["async"])
            c.before = True
            for e in self.t5["async"]:
                e.done.append(c.no)
        else:
            d = self.value(o[1])[1] if k == "t5.st" else frozenset()
            i = self.issue(op, d)
            kw, what = dict(agent=i.no, ins=[i.no], sem="weak", t5=k[3:]), "async" if k in ("t5.mma", "t5.cp") else k[3:]

            def proxy(where):
                return {"proxy": "tensor" if self.test.objects[where["base"]]["space"] == "tmem" else "async"}
            made, value = [], 1
            if k == "t5.ld":
                where = self.place(*o[1][1:])
                e, v = self.read(op, where, {i.no}, **(kw | proxy(where)))
                self.put(o[0], v, {e.no})
                made = [e]
            else:
                if k == "t5.st":
                    value = self.value(o[1])[0]
                for x in o[1:] if k != "t5.st" else []:
                    where = self.place(*x[1:])
                    e, v = self.read(op, where, {i.no}, **(kw | proxy(where)))
                    value *= v
                    made.append(e)
                where = self.place(*o[0][1:])
                made.append(self.write(op, where, value & MASK, d | {i.no} | {e.no for e in made}, **(kw | proxy(where))))
            self.t5[what].extend(made)
