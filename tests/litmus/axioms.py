# SPDX-License-Identifier: Apache-2.0
"""One choice of traces and everything that may still be chosen in it: sources of reads, phases, Fence-SC, coherence; and the axioms of PTX chapter 8.

Here: the models ptx, ptx60, ptx75-proxy. Not here: how threads run (runs.py), which runs are
put together (candidates.py)."""
import itertools
from phases import assignments, ordered
from proxies import linked
from relation import bits, closure, cyclic
from runs import Event


def init_value(test, base):
    return test.d.get("init", {}).get(base, 0)


class Graph:
    """One choice of traces: everything that does not depend on who reads from whom, then with_rf."""

    def __init__(self, explorer, traces):
        self.x, self.test, self.traces = explorer, explorer.test, traces
        self.events, self.offset = [], []
        for base, cells in self.test.atoms.items():
            value = init_value(self.test, base)
            e = Event("W", None, None, base=base, alias=base, first=0, size=self.test.objects[base]["size"], atoms=tuple(range(len(cells))),
                      values=(value,) if isinstance(value, str) else tuple((value >> 8 * f) & ((1 << 8 * s) - 1) for f, s in cells))
            self.events.append(e)
        self.inits = len(self.events)
        for t in traces:
            self.offset.append(len(self.events))
            self.events.extend(t.events)
        self.n = n = len(self.events)
        self.off = [0] * self.inits
        for t, o in zip(traces, self.offset):
            self.off += [o] * len(t.events)
        ev = self.events
        self.agent = [e.agent is not None for e in ev]
        self.c_node = [self.agent[i] and ev[i].kind == "A" for i in range(n)]
        self.node = [i >= self.inits and (not self.agent[i] or self.c_node[i]) for i in range(n)]
        self.po = [0] * n
        for t, o in zip(traces, self.offset):
            later = 0
            for e in reversed(t.events):
                i = o + e.no
                if not self.agent[i]:
                    self.po[i] = later
                    later |= 1 << i
        self.writers, self.read_atoms = {}, []
        for i, e in enumerate(ev):
            for a, v in zip(e.atoms, e.values):
                if e.kind == "W":
                    self.writers.setdefault((e.base, a), []).append(i)
                elif e.kind == "R":
                    self.read_atoms.append((i, (a, v)))
        self.rmw = {i: self.off[i] + e.rmw for i, e in enumerate(ev) if e.rmw is not None}
        self.overlaps = [0] * n
        acc = [i for i in range(n) if ev[i].kind in "RW"]
        for i in acc:
            for j in acc:
                if i != j and ev[i].base == ev[j].base and set(ev[i].atoms) & set(ev[j].atoms):
                    self.overlaps[i] |= 1 << j
        self.strength()
        self.patterns()

    def strength(self):
        """8.7: morally strong pairs."""
        n, ev, proxies = self.n, self.events, self.test.model != "ptx60"
        self.ms = [0] * n
        for i in range(self.inits, n):
            for j in range(self.inits, n):
                if i == j:
                    continue
                a, b = ev[i], ev[j]
                if not (self.po[i] >> j & 1 or self.po[j] >> i & 1):
                    if not (a.scope and b.scope and a.th.reached(a.scope, b.th) and b.th.reached(b.scope, a.th)):
                        continue
                if a.kind in "RW" and b.kind in "RW":
                    if proxies and (a.proxy != b.proxy or a.alias != b.alias):  # another virtual address is like another proxy (8.6)
                        continue
                    if not (a.base == b.base and a.first == b.first and a.size == b.size):
                        continue
                self.ms[i] |= 1 << j

    def strong(self, e):
        return e.scope is not None and e.sem != "weak"

    def patterns(self):
        """8.8: release patterns (first, write), acquire patterns (read, last), with the restrictions of the fence in them."""
        ev = self.events
        self.releases, self.acquires = [], []
        for i in range(self.inits, self.n):
            e = ev[i]
            later = [j for j in bits(self.po[i]) if self.strong(ev[j]) and ev[j].kind in "WA"] if not self.agent[i] else []
            if e.kind in "WA" and e.sem == "release" and self.strong(e):
                self.releases.append((i, i, None))
                for j in later:
                    same = self.overlaps[i] >> j & 1 if e.kind == "W" else e.bar == ev[j].bar and ev[j].kind == "A"
                    if same:
                        self.releases.append((i, j, None))
            if e.kind == "F" and e.sem in ("sc", "acq_rel", "release"):
                self.releases += [(i, j, e.restrict) for j in later]
            if e.kind in "RQ" and self.strong(e) and not e.red:
                if e.sem == "acquire":
                    self.acquires.append((i, i, None))
                for j in bits(self.po[i]):
                    f = ev[j]
                    if f.kind == "F" and f.sem in ("sc", "acq_rel", "acquire"):
                        self.acquires.append((i, j, f.restrict))
                    elif f.kind in "RQ" and f.sem == "acquire" and not f.red and (self.overlaps[i] >> j & 1 if e.kind == "R" and f.kind == "R" else e.kind == f.kind == "Q" and e.bar == f.bar):
                        self.acquires.append((i, j, None))

    # with a choice of sources
    def with_rf(self, sources):
        ev, n = self.events, self.n
        self.rf = [0] * n
        for (r, _), w in zip(self.read_atoms, sources):
            self.rf[w] |= 1 << r
        self.source = list(zip(((r, a) for r, (a, _) in self.read_atoms), sources))
        self.dep = [0] * n
        for i in range(self.inits, n):
            for d in ev[i].dep:
                self.dep[self.off[i] + d] |= 1 << i
        both = [a | b for a, b in zip(self.rf, self.dep)]
        if cyclic(both):  # 8.10.4 no thin air
            return
        # observation order (8.9.2)
        step = [self.rf[w] & self.ms[w] for w in range(n)]
        self.obs = [0] * n
        for w in range(n):
            todo, seen = step[w], 0
            while todo:
                r = (todo & -todo).bit_length() - 1
                todo &= todo - 1
                if seen >> r & 1:
                    continue
                seen |= 1 << r
                if r in self.rmw:
                    todo |= step[self.rmw[r]]
            self.obs[w] = seen
        for pairing, order in self.pairings(both):
            self.with_pairing(pairing, order)

    def pairings(self, both):
        """Which arrivals let which waits through: [(arrival -> waits), execution order]. bar and barrier.cluster are fixed, mbarriers are not."""
        ev, n = self.events, self.n
        fixed = [0] * n
        instances, clusters = {}, {}
        for t, o in zip(self.traces, self.offset):
            for b in t.bars:
                instances.setdefault(b["inst"], []).append((o + b["A"], None if b["Q"] is None else o + b["Q"]))
            for cluster, k, no, kind in t.clusters:
                clusters.setdefault((cluster, k), []).append((o + no, kind))
        for members in instances.values():
            for a, _ in members:
                for _, q in members:
                    if q is not None:
                        fixed[a] |= 1 << q
        for (cluster, k), members in clusters.items():
            for a, kind in members:
                if kind == "A":
                    for (c2, k2), others in clusters.items():
                        if c2 == cluster and k2 >= k:
                            for q, kind2 in others:
                                if kind2 == "Q":
                                    fixed[a] |= 1 << q
        self.api = self.api_edges()
        exec_order = [x | y | z for x, y, z in zip(both, fixed, self.api)]
        if cyclic(exec_order):
            return
        objects = sorted({e.base for e in ev if e.mb})
        if not objects:
            yield fixed, exec_order
            return
        for combo in itertools.product(*(assignments(self, b) for b in objects)):
            pairing, order = list(fixed), list(exec_order)
            for one in combo:
                for a, q in one.pairs:
                    pairing[a] |= 1 << q
                    order[a] |= 1 << q
            if cyclic(order):
                continue
            self.combo = combo
            yield pairing, order

    def api_edges(self):
        edges = [0] * self.n
        for t, o in zip(self.traces, self.offset):
            for what, name, no in t.api:
                k = next(i for i, th in enumerate(self.test.threads) if th.id == name)
                for e in self.traces[k].events:
                    i = self.offset[k] + e.no
                    if what == "join":
                        edges[i] |= 1 << (o + no)
                    elif not self.agent[i]:
                        edges[o + no] |= 1 << i
        return edges

    def with_pairing(self, pairing, order):
        ev, n = self.events, self.n
        self.pairing = pairing
        # 8.9.4: release pattern -> acquire pattern; edges carry the restrictions that X or Y must meet
        edges = []
        for first, w, keep in self.releases:
            seen = self.obs[w] if ev[w].kind == "W" else pairing[w] & self.ms[w]
            for r, last, want in self.acquires:
                if seen >> r & 1 and (self.ms[first] >> last & 1):
                    edges.append((first, last, keep, want))
        for i, row in enumerate(self.api):
            for j in bits(row):
                if not self.agent[i] and not self.agent[j]:
                    edges.append((i, j, None, None))
        fences = [i for i in range(self.inits, n) if ev[i].kind == "F" and ev[i].sem == "sc"]
        self.with_sc(edges, [(a, b) for a, b in itertools.combinations(fences, 2) if self.ms[a] >> b & 1], order)

    def with_sc(self, edges, open_pairs, order):
        """8.9.3: every way to order morally strong fence.sc that base causality leaves open."""
        base = self.reach(edges, None)
        todo = []
        for a, b in open_pairs:
            ab, ba = base[a] >> b & 1, base[b] >> a & 1
            if ab and ba:
                return
            if not ab and not ba:
                todo.append((a, b))
        if todo:
            a, b = todo[0]
            self.with_sc(edges + [(a, b, None, None)], open_pairs, order)
            self.with_sc(edges + [(b, a, None, None)], open_pairs, order)
            return
        self.with_base(edges, order)

    def reach(self, edges, key):
        """Base causality among the events that order passes through, along edges that cover the object `key`."""
        rel = [self.po[i] if self.node[i] else 0 for i in range(self.n)]
        for a, b, keep, want in edges:
            if covers(keep, key) and covers(want, key):
                rel[a] |= 1 << b
        for i in range(self.n):
            if self.c_node[i] and self.events[i].info == "thread":
                rel[self.off[i] + self.events[i].agent] |= 1 << i
        return closure(rel)

    def key_of(self, i, toward="generic"):
        """What a restricted fence asks of an access and of the one that it is ordered before (in the proxy `toward`)."""
        e = self.events[i]
        o = self.test.objects.get(e.base) if e.base else None
        return (o["space"] if o else None, o["owner"] if o else None, e.th.index if e.mb and e.mb[0] == "init" and e.th else None, toward)

    def base(self, reach, i, j):
        """Base causality between any two events (agents take order in by `ins` and give it by `outs`, but not through)."""
        ev = self.events
        froms = [i] if not self.agent[i] or self.c_node[i] else [self.off[i] + o for o in ev[i].outs]
        tos = [j] if not self.agent[j] or self.c_node[j] else [self.off[j] + o for o in ev[j].ins]
        own = self.agent[i] and self.agent[j] and ev[i].agent == ev[j].agent and self.off[i] == self.off[j]
        if own:
            return i < j
        same = not (froms == [i] and tos == [j])
        joined = self.api[i] & 1 << j if self.agent[i] else 0
        if self.agent[i] and self.api[i]:
            froms = froms + list(bits(self.api[i]))
        return bool(joined) or any(reach[f] >> t & 1 or same and f == t for f in froms for t in tos)

    def with_base(self, edges, order):
        ev, n = self.events, self.n
        self.edges, reaches = edges, {}

        def reach_of(key):
            if key not in reaches:
                reaches[key] = self.reach(edges, key)
            return reaches[key]
        self.reach_of = reach_of
        full = reach_of(None)
        undefined = None
        if any(e.mb for e in ev):
            verdict = ordered(self, order, full)
            if verdict is False:
                return
            undefined = verdict or None
        # 8.9.5 causality, between overlapping accesses only: no axiom asks about others
        ppbc = [0] * n
        for i in range(self.inits, n):
            for j in bits(self.overlaps[i]):
                if j >= self.inits and linked(self, i, j):
                    ppbc[i] |= 1 << j
        cause = list(ppbc)
        for w in range(self.inits, n):
            for z in bits(self.obs[w]):
                cause[w] |= ppbc[z]
        self.cause = cause
        # 8.10.6, the part without coherence
        for w in range(n):
            if any(cause[r] >> w & 1 for r in bits(self.rf[w])):
                return
        writes = [i for i in range(n) if ev[i].kind == "W"]
        wmask = sum(1 << i for i in writes)
        co = [0] * n
        for i in writes:
            co[i] = (self.overlaps[i] & wmask if i < self.inits else cause[i] & self.overlaps[i] & wmask)
        pairs = [(a, b) for a, b in itertools.combinations(writes[:], 2) if self.ms[a] >> b & 1 and self.overlaps[a] >> b & 1]
        self.with_co(closure(co), pairs, writes, undefined)

    def with_co(self, co, pairs, writes, undefined):
        if any(co[i] >> i & 1 for i in writes) or any(co[i] & ((1 << self.inits) - 1) for i in writes):
            return
        for a, b in pairs:
            if not (co[a] >> b & 1 or co[b] >> a & 1):
                for x, y in ((a, b), (b, a)):
                    more = list(co)
                    more[x] |= 1 << y
                    self.with_co(closure(more), pairs, writes, undefined)
                return
        if self.axioms(co):
            race = self.mixed_race()
            self.x.found(self.states(co, writes), undefined or race)

    def axioms(self, co):
        ev, n = self.events, self.n
        fr = [0] * n
        for (r, a), w in self.source:
            for v in bits(co[w]):
                if a in ev[v].atoms and ev[v].base == ev[r].base:
                    fr[r] |= 1 << v
        for r in range(n):
            own = self.rmw.get(r)
            if own is not None:
                fr[r] &= ~(1 << own)
            for v in bits(fr[r]):
                if self.cause[v] >> r & 1:  # 8.10.6
                    return False
                if own is not None and self.ms[r] >> v & 1 and self.ms[own] >> v & 1 and co[v] >> own & 1:  # 8.10.3, RMW
                    return False
                if self.ms[v] >> r & 1 and self.rf[v] >> r & 1:  # 8.10.3, single-copy atomicity
                    return False
        # 8.10.5 sequential consistency per location, per virtual address and proxy
        per = [0] * n
        for i in range(self.inits, n):
            e = ev[i]
            if e.kind not in "RW":
                continue
            for j in bits((self.rf[i] | co[i] | fr[i] | self.po[i]) & self.ms[i] & self.overlaps[i]):
                if ev[j].alias == e.alias and ev[j].proxy == e.proxy:
                    per[i] |= 1 << j
            if i in self.rmw:
                per[i] |= 1 << self.rmw[i]
        return not cyclic(per)

    def mixed_race(self):
        ev = self.events
        for i in range(self.inits, self.n):
            for j in bits(self.overlaps[i]):
                if j > i and "W" in ev[i].kind + ev[j].kind and (ev[i].first, ev[i].size) != (ev[j].first, ev[j].size):
                    if not (self.cause[i] >> j & 1 or self.cause[j] >> i & 1):
                        return "mixed-size race"
        return None

    def states(self, co, writes):
        """Final values of the condition's names; one state per choice of coherence-maximal writes."""
        choices = []
        for name in self.x.names:
            if name[0] == "reg":
                value = 0
                for t in self.traces:
                    value = t.registers.get(f"{name[1]}:{name[2]}", value)
                choices.append([value if value != 0 or f"{name[1]}:{name[2]}" in {k for t in self.traces for k in t.registers}
                                else self.test.d.get("init", {}).get(f"{name[1]}:{name[2]}", 0)])
                continue
            l = self.test.locations[name[1]]
            first, size = (l.first + name[2][0], name[2][1]) if name[2] else (l.first, l.size)
            cells = self.test.atoms[l.base]
            per_atom = []
            for a, (f, s) in enumerate(cells):
                if f >= first and f + s <= first + size:
                    ws = [w for w in writes if self.events[w].base == l.base and a in self.events[w].atoms]
                    last = [w for w in ws if not any(co[w] >> v & 1 for v in ws)]
                    per_atom.append([(f - first, self.events[w].values[self.events[w].atoms.index(a)]) for w in last])
            values = set()
            for pick in itertools.product(*per_atom):
                values.add(pick[0][1] if isinstance(pick[0][1], str) else sum(v << 8 * f for f, v in pick))
            choices.append(sorted(values, key=str))
        return list(itertools.product(*choices))


def covers(restriction, key):
    """Does a restricted fence order an access to the object `key` = (space, owner, initialising thread, proxy of the later access)?"""
    if restriction is None:
        return True
    if key is None:
        return False
    space, owner, init, toward = key
    if restriction[-1] == "async" and toward != "async":
        return False
    return {"cta": lambda: space == "shared::cta" and owner == restriction[1], "shared": lambda: space == "shared::cta",
            "init": lambda: init == restriction[1]}[restriction[0]]()
