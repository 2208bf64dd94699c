# SPDX-License-Identifier: Apache-2.0
"""mbarrier objects: which operation falls into which phase, what each wait saw, and whether one order explains it (docs/litmus.md, section 2)."""
from relation import closure


class Assignment:
    """base, phase {update: phase}, seen {wait: phase}, bad (a count went below zero), pairs (arrival, wait that it let through)."""


def steps(state, mb):
    """(pending, expected, tx, phase) after one update."""
    pending, expected, tx, phase = state
    kind = mb[0]
    if kind == "init":
        return (mb[1], mb[1], 0, 0)
    if kind == "tx":
        tx += mb[1]
    elif kind == "inc":
        pending += mb[1]
    else:
        pending -= mb[1]
        tx += mb[2]
        expected -= mb[3]
    if pending == 0 and tx == 0:
        return (expected, expected, 0, phase + 1)
    return (pending, expected, tx, phase)


def operations(g, base):
    updates = [i for i in range(g.inits, g.n) if g.events[i].base == base and g.events[i].mb and g.events[i].mb[0] != "wait"]
    waits = [i for i in range(g.inits, g.n) if g.events[i].base == base and g.events[i].mb and g.events[i].mb[0] == "wait"]
    return updates, waits


def first_state(g, base):
    count = g.test.objects[base]["count"]
    return (count or 0, count or 0, 0, 0)


def earlier_in_thread(g, a, b):
    """a comes before b on one object by program order (an agent's operation: after what precedes its issue)."""
    at = g.off[b] + g.events[b].agent if g.c_node[b] else b
    return a != b and bool(g.po[a] >> at & 1) or a == at and a != b


def assignments(g, base):
    """Distinct (phase of every update, phase that every wait saw), over all orders of the updates. Where a count falls below zero
    nothing after it has a meaning: the remaining operations get the phase None."""
    ev = g.events
    updates, waits = operations(g, base)
    must = {u: [v for v in updates if earlier_in_thread(g, v, u) or (ev[v].mb[0] == "init" and v != u)] for u in updates}
    found, seen = {}, set()

    def go(done, state):
        key = (frozenset(done.items()), state)
        if key in seen:
            return
        seen.add(key)
        if len(done) == len(updates):
            found[frozenset(done.items()), state[3]] = False
            return
        for u in updates:
            if u not in done and all(v in done for v in must[u]):
                after = steps(state, ev[u].mb)
                if after[0] < 0:
                    rest = {v: None for v in updates if v not in done}
                    found[frozenset((rest | done | {u: state[3]}).items()), state[3]] = True
                else:
                    go(done | {u: state[3]}, after)
    go({}, first_state(g, base))
    result, arrivals = [], {u for u in updates if ev[u].kind == "A"}
    for (phases, last), bad in found.items():
        def choose(rest, seen_by):
            if not rest:
                one = Assignment()
                one.base, one.phase, one.seen, one.bad = base, dict(phases), dict(seen_by), bad
                one.pairs = [(u, q) for q, p in seen_by.items() if ev[q].mb[2] and p is not None
                             for u, k in one.phase.items() if k is not None and k < p and u in arrivals]
                result.append(one)
                return
            q = rest[0]
            _, parity, wanted = ev[q].mb
            for p in range(last + 1):
                if int((p & 1) != parity) == wanted:
                    choose(rest[1:], seen_by | {q: p})
            if bad:
                choose(rest[1:], seen_by | {q: None})
        choose(waits, {})
    return result


def ordered(g, order, full):
    """False: no order of the operations explains the phases; else None, or the text of what is undefined."""
    ev, n, undefined = g.events, g.n, None
    edges = list(order)
    extra = 0
    for one in g.combo:
        members = list(one.phase) + list(one.seen)
        for a in members:
            for b in members:
                at = g.off[b] + ev[b].agent if g.c_node[b] else b
                if a != b and (earlier_in_thread(g, a, b) or full[a] >> at & 1):
                    edges[a] |= 1 << b
        timed = {u: k for u, k in (one.phase | one.seen).items() if k is not None}
        for u in members:
            if u not in timed:  # after everything that has a meaning
                for v in timed:
                    edges[v] |= 1 << u
        top = max([*timed.values(), 0])
        nodes = [len(edges) + k for k in range(top + 1)]  # nodes[k]: completion of phase k
        edges += [0] * (top + 1)
        for k in range(top):
            edges[nodes[k]] |= 1 << nodes[k + 1]
        for u, k in timed.items():
            if u in one.phase or any(k == p for p in one.phase.values()):
                edges[u] |= 1 << nodes[k]
            if k:
                edges[nodes[k - 1]] |= 1 << u
        extra += top + 1
        if one.bad:
            undefined = "mbarrier count"
        inits = [u for u in one.phase if ev[u].mb[0] == "init"]
        if not inits and g.test.objects[one.base]["count"] is None:
            undefined = "uninitialised mbarrier"
        for i in inits:
            reach = g.reach_of(g.key_of(i))
            for b in members:
                at = g.off[b] + ev[b].agent if g.c_node[b] else b
                if b != i and not (reach[i] >> at & 1):
                    undefined = "uninitialised mbarrier"
    all_edges = closure(edges)
    if any(row >> i & 1 for i, row in enumerate(all_edges)):
        return False
    for one in g.combo:
        if not explains(g, one, all_edges):
            return False
    return undefined


def explains(g, one, edges):
    """Some order of the updates and waits that respects the edges gives exactly these phases and sights."""
    when = {u: k for u, k in (one.phase | one.seen).items() if k is not None}
    members, dead = list(when), set()

    def go(done, state):
        if len(done) == len(members):
            return True
        if (done, state) in dead:
            return False
        for u in members:
            if u not in done and state[3] == when[u] and not any(edges[v] >> u & 1 for v in members if v not in done and v != u):
                if go(done | {u}, state if u in one.seen else steps(state, g.events[u].mb)):
                    return True
        dead.add((done, state))
        return False
    return go(frozenset(), first_state(g, one.base))
