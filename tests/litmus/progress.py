# SPDX-License-Identifier: Apache-2.0
"""The liveness models: may a program fail to terminate, with every resident thread scheduled again and again and every write seen in the end?

Sequentially consistent states suffice for that question as long as coherence is total: with memory fairness a thread that runs for ever reads what is
last. Programs in which two threads write one location weakly are left out: such writes may be unordered, and each spin may keep reading another one.
Not terminating is a state without a way on, or a set of states in which the run can stay while every thread that has not ended moves."""
from form import Refused
from runs import MASK, arithmetic


class Explorer:
    def __init__(self, test, limit=None):
        self.test, self.names, self.outcomes, self.undefined, self.complete, self.executions = test, [], {}, None, True, 0

    def racing(self):
        writers = {}
        for th in self.test.threads:
            for op in th.ops:
                if op.kind == "st" and op.sem == "weak":
                    writers.setdefault(self.base(op.operands[0]), set()).add(th.id)
        return any(len(w) > 1 for w in writers.values())

    def explore(self):
        if self.racing():
            raise TimeoutError("racing writes")
        start = (tuple(0 for _ in self.test.threads), tuple(self.registers(t) for t in self.test.threads), self.memory(), frozenset())
        graph, stack = {}, [start]
        while stack:
            s = stack.pop()
            if s in graph:
                continue
            graph[s] = [(t, n) for t in range(len(self.test.threads)) for n in self.step(s, t)]
            stack.extend(n for _, n in graph[s])
            if len(graph) > 200000:
                raise TimeoutError("too many states")
        self.executions = len(graph)
        self.verdict = "allowed" if any(self.stuck(s, graph) for s in graph) or any(self.stays(c, graph) for c in components(graph)) else "forbidden"

    def registers(self, th):
        return tuple(sorted((k.split(":")[1], v) for k, v in self.test.d["init"].items() if k.startswith(th.id + ":")))

    def memory(self):
        return tuple(sorted((n, self.test.d["init"].get(n, 0)) for n in self.test.objects))

    def ended(self, s, t):
        return s[0][t] == len(self.test.threads[t].ops)

    def stuck(self, s, graph):
        return not graph[s] and not all(self.ended(s, t) for t in range(len(self.test.threads)))

    def stays(self, component, graph):
        inside = [(t, n) for s in component for t, n in graph[s] if n in component]
        moves = {t for t, _ in inside}
        return bool(inside) and all(t in moves or any(self.ended(s, t) or not any(x == t for x, _ in graph[s]) for s in component)
                                    for t in range(len(self.test.threads)))

    def step(self, s, t):
        pcs, regs, memory, arrived = s
        th, r, m = self.test.threads[t], dict(regs[t]), dict(memory)
        if self.ended(s, t):
            return
        op, pc = th.ops[pcs[t]], pcs[t] + 1
        o = op.operands

        def value(x):
            return x[1] & MASK if x[0] == "imm" else r.get(x[1], 0)
        if op.kind in ("bra", "beq", "bne"):
            if op.kind == "bra" or (value(o[0]) == value(o[1])) == (op.kind == "beq"):
                pc = th.labels[op.label]
        elif op.kind in ("mov", "add", "sub", "mul", "and", "or", "xor", "eq", "ne"):
            r[o[0][1]] = arithmetic(op.kind, value(o[1]), value(o[2]) if len(o) > 2 else 0) & MASK
        elif op.kind == "ld":
            r[o[0][1]] = m[self.base(o[1])]
        elif op.kind == "st":
            m[self.base(o[0])] = value(o[1])
        elif op.kind in ("atom", "red"):
            i = op.kind == "atom"
            x = self.base(o[i])
            old, args = m[x], [value(a) for a in o[i + 1:]]
            m[x] = (args[1] if old == args[0] else old) if op.op == "cas" else arithmetic(op.op, old, args[0]) & 0xffffffff
            if i:
                r[o[0][1]] = old
        elif op.kind in ("bar.sync", "bar.arrive"):
            key = (th.cta, value(o[0]), op.inst)
            arrived |= {(key, t, pcs[t])}
            needed = value(o[1]) if len(o) > 1 else 0
            if op.kind == "bar.sync" and sum(a[0] == key for a in arrived) < needed:
                if arrived == s[3]:
                    return
                pc = pcs[t]  # has arrived, waits
        elif op.kind not in ("label", "fence", "proxy"):
            raise Refused(f"'{op.text}' has no meaning here")
        yield pcs[:t] + (pc,) + pcs[t + 1:], regs[:t] + (tuple(sorted(r.items())),) + regs[t + 1:], tuple(sorted(m.items())), arrived

    def base(self, o):
        return self.test.locations[o[1]].base


def components(graph):
    """Strongly connected components (Tarjan, without recursion)."""
    index, low, on, stack, out = {}, {}, set(), [], []
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(graph[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on.add(root)
        while work:
            v, edges = work[-1]
            for _, w in edges:
                if w not in index:
                    index[w] = low[w] = len(index)
                    stack.append(w)
                    on.add(w)
                    work.append((w, iter(graph[w])))
                    break
                if w in on:
                    low[v] = min(low[v], index[w])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[v])
                if low[v] == index[v]:
                    one = set()
                    while True:
                        w = stack.pop()
                        on.discard(w)
                        one.add(w)
                        if w == v:
                            break
                    out.append(one)
    return out
