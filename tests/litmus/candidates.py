# SPDX-License-Identifier: Apache-2.0
"""Which traces are put together: every run of every thread (runs.py), every source of every read; what is consistent, and its outcomes (axioms.py)."""
import itertools
import time
from axioms import Graph, init_value
from condition import names_of
from runs import Runner


class Explorer:
    """All outcomes of one test. `outcomes`: {state (tuple in the order of names): count}."""

    def __init__(self, test, limit=None):
        self.test, self.deadline = test, time.monotonic() + limit if limit else None
        self.executions, self.outcomes, self.undefined, self.complete = 0, {}, None, True
        self.relied = test.options.get("reading") == "relied"
        self.names = names_of(test.d.get("condition", ""))

    def explore(self):
        test = self.test
        test.atoms = atoms_of(test)
        domain = {}
        for base, cells in test.atoms.items():
            for a, (first, size) in enumerate(cells):
                value = init_value(test, base)
                domain[base, a] = {value if isinstance(value, str) else (value >> 8 * first) & ((1 << 8 * size) - 1)}
        writes = sum(o.kind not in ("label", "bra", "beq", "bne", "fence") for t in test.threads for o in t.ops)
        for _ in range(writes + 2):  # values spread at most once per writing operation
            runner = Runner(test, {k: frozenset(v) for k, v in domain.items()})
            traces, before = [], sum(map(len, domain.values()))
            for th in test.threads:
                traces.append(runner.traces(th))
                self.check_time()
                for t in traces[-1]:
                    for e in t.events:
                        if e.kind == "W":
                            for a, v in zip(e.atoms, e.values):
                                domain[e.base, a].add(v)
            if sum(map(len, domain.values())) == before:
                break
        self.complete = runner.complete
        for chosen in itertools.product(*traces):
            self.check_time()
            self.candidates(chosen)

    def check_time(self):
        if self.deadline and time.monotonic() > self.deadline:
            raise TimeoutError

    # one choice of traces
    def candidates(self, traces):
        if not barriers_met(self, traces):
            return
        g = Graph(self, traces)
        choices = []
        for r, i in g.read_atoms:
            choices.append([w for w in g.writers[g.events[r].base, i[0]] if g.events[w].values[g.events[w].atoms.index(i[0])] == i[1] and w != g.rmw.get(r)])
            if not choices[-1]:
                return
        for rf in itertools.product(*choices):
            self.check_time()
            g.with_rf(rf)

    def found(self, state_choices, undefined=None):
        self.executions += 1
        if undefined:
            self.undefined = undefined
        for state in state_choices:
            self.outcomes[state] = self.outcomes.get(state, 0) + 1


def atoms_of(test):
    """Cuts each object at every boundary of every access to it: nothing smaller is ever observed."""
    cuts = {b: {0, o["size"]} for b, o in test.objects.items()}
    for l in test.locations.values():
        cuts[l.base] |= {l.first, l.first + l.size}
    for th in test.threads:
        for op in th.ops:
            for o in op.operands:
                if o[0] == "mem" and o[1] in test.locations:
                    l = test.locations[o[1]]
                    first = l.first + o[2]
                    cuts[l.base] |= {first, first + op.size if op.size and op.kind in ("ld", "st", "atom", "red", "st.async", "red.async") else l.first + l.size}
    for base, first, size in slices(test):
        cuts[base] |= {first, first + size}
    return {b: [(x, y - x) for x, y in zip(sorted(c), sorted(c)[1:])] for b, c in cuts.items()}


def slices(test):
    for n in names_of(test.d.get("condition", "")):
        if n[0] == "mem" and n[1] in test.locations and n[2]:
            l = test.locations[n[1]]
            yield l.base, l.first + n[2][0], n[2][1]


def barriers_met(explorer, traces):
    """bar.*: every instance is complete, reductions have their result. Corpus models: absent counts are always met."""
    test, instances = explorer.test, {}
    for t in traces:
        for b in t.bars:
            instances.setdefault(b["inst"], []).append(b)
    for inst, bs in instances.items():
        if len({b["op"] for b in bs}) > 1:  # 9.7.13: .red is not to be mixed with .sync or .arrive on an active barrier
            explorer.undefined = "barrier mix"
            return False
        lanes = sum(b["lanes"] for b in bs)
        counts = {b["count"] for b in bs}
        everyone = sum(t.lanes for t in test.threads if t.cta == inst[0])
        for n in counts:
            n = (lanes if test.corpus else everyone) if n is None else n
            if lanes > n:
                if test.corpus:
                    raise TimeoutError("quorum")
                explorer.undefined = "barrier count"
                return False
            if lanes < n:
                if any(b["Q"] is not None for b in bs):
                    return False
        width = {id(b): b["lanes"] for b in bs}
        total = sum(width[id(b)] for b in bs if b["pred"])
        for b in bs:
            if b["result"] is not None:
                preds = [bool(x["pred"]) for x in bs]
                if b["result"] != {"popc": total, "and": int(all(preds)), "or": int(any(preds))}[b["op"]]:
                    return False
    return True
