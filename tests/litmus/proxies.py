# SPDX-License-Identifier: Apache-2.0
"""Proxy-preserved base causality (8.9.5) between two overlapping accesses, and the order of tensor memory (9.7.16.6)."""
from relation import bits, closure


def linked(g, i, j):
    """Is i ordered before j, both accesses to common bytes?"""
    x, y = g.events[i], g.events[j]
    if x.t5 and y.t5 and x.proxy == "tensor":
        return tensor(g, i, j)
    key = g.key_of(i, y.proxy)
    reach = g.reach_of(key)
    if y.proxy == "tensormap" and x.proxy == "generic":
        return tensormap(g, reach, i, j)
    if not g.base(reach, i, j):
        return False
    if g.agent[i] and g.agent[j] and x.agent == y.agent and g.off[i] == g.off[j]:
        return True
    if g.test.model == "ptx60":
        return True
    if g.test.model == "ptx75-proxy":
        return chain(g, reach, i, j)
    same_address = x.alias == y.alias
    if same_address and (x.proxy == y.proxy == "generic" or x.proxy != "generic"):
        return True  # rule 1; or an agent whose completion carried the implicit fence
    if x.proxy == y.proxy and x.proxy != "generic" and same_address and x.th.cta == y.th.cta:
        return True  # rule 2
    fences = [f for f in range(g.inits, g.n) if g.events[f].kind in "PF" and g.events[f].info in ("alias", "async")]

    def between(a, b):
        return g.base(reach, a, b)
    for f in fences:
        if not between(i, f):
            continue
        kind = g.events[f].info
        if kind == "alias" and not same_address:
            if y.proxy == "generic" and between(f, j):
                return True
            if y.proxy == "async" and any(g.events[h].info == "async" and between(f, h) and between(h, j) and reaches(g, h, x, y) for h in fences):
                return True
        elif kind == "async" and same_address and y.proxy == "async" and between(f, j) and reaches(g, f, x, y):
            return True
    return False


def reaches(g, f, x, y):
    """Does the async proxy fence f cover the object, and stand in the right CTA?"""
    fence, o = g.events[f], g.test.objects[x.base]
    space = fence.space
    if space == "global" and o["space"] != "global":
        return False
    if space == "shared::cta" and not (o["space"] == "shared::cta" and o["owner"] == fence.th.cta):
        return False
    if space == "shared::cluster" and o["space"] != "shared::cta":
        return False
    return g.x.relied or fence.kind == "F" or fence.th.cta == y.th.cta  # a one-way fence says itself on which side it stands


def tensormap(g, reach, i, j):
    """generic -> tensormap: the release fence after i, the acquire fence of the address before j, the one before the other."""
    ev, y = g.events, g.events[j]
    for a in range(g.inits, g.n):
        if ev[a].info != "map.acquire" or ev[a].base != y.base or ev[a].first != y.first or ev[a].alias != y.alias:
            continue
        if not g.base(reach, a, j) or not (g.x.relied or ev[a].th.cta == y.th.cta):
            continue
        for r in range(g.inits, g.n):
            if ev[r].info != "map.release" or not g.base(reach, i, r) or not g.ms[r] >> a & 1:
                continue
            if reach[r] >> a & 1:
                return True
            for w in bits(g.po[r]):
                if ev[w].kind in "WA" and g.strong(ev[w]):
                    seen = g.obs[w] if ev[w].kind == "W" else g.pairing[w] & g.ms[w]
                    if any(g.po[q] >> a & 1 and g.strong(ev[q]) and not ev[q].red for q in bits(seen)):
                        return True
    return False


PIPELINED = {("cp", "mma"), ("mma", "mma")}


def tensor(g, i, j):
    """Two accesses to tensor memory (docs/litmus.md, section 3, rule 8): directly, or through others of the same bytes."""
    seen, left = {i}, [i]
    while left:
        at = left.pop()
        for k in bits(g.overlaps[at]):
            if k not in seen and g.events[k].t5 and g.events[k].proxy == "tensor" and before(g, at, k):
                if k == j:
                    return True
                seen.add(k)
                left.append(k)
    return False


def before(g, i, j):
    """The rules themselves, of two accesses to common bytes."""
    ev = g.events
    x, y = ev[i], ev[j]
    same_thread = x.th is y.th
    if same_thread and x.agent == y.agent:
        return i < j
    issue_x, issue_y = g.off[i] + x.agent, g.off[j] + y.agent
    pipelined = (x.t5, y.t5) in PIPELINED and x.th.cta == y.th.cta
    if same_thread and pipelined and issue_x < issue_y:
        return True
    done = [(g.off[i] + d, ev[g.off[i] + d].before) for d in x.done]
    if same_thread and x.t5 in ("ld", "st") and any(g.po[d] >> issue_y & 1 for d, _ in done):
        return True
    if pipelined:
        done.append((issue_x, False))
    if g.x.relied:
        reach = g.reach_of(g.key_of(i))
        if any(reach[d] >> issue_y & 1 for d, _ in done):
            return True
    path = execution(g)
    afters = [a for a in range(g.inits, g.n) if ev[a].after and ev[a].th is y.th and g.po[a] >> issue_y & 1]
    for d, is_before in done:
        starts = [d] if is_before else [b for b in bits(g.po[d]) if ev[b].before and not g.agent[b]]
        if any(path[s] >> a & 1 for s in starts for a in afters):
            return True
    return False


def execution(g):
    """Program order, and every synchronization whether it orders memory or not."""
    if getattr(g, "execution_of", None) is not g.pairing:
        rel = [g.po[k] | g.pairing[k] if g.node[k] else 0 for k in range(g.n)]
        for a, b, _, _ in g.edges:
            rel[a] |= 1 << b
        g.execution_path, g.execution_of, g.execution_edges = closure(rel), g.pairing, g.edges
    elif g.execution_edges is not g.edges:
        g.execution_of = None
        return execution(g)
    return g.execution_path


def chain(g, reach, i, j):
    """PTX 7.5 with the proxies of ISCA'22: proxy -> generic address -> (alias) -> generic address -> proxy, each fence in the CTA of its access."""
    ev = g.events
    x, y = ev[i], ev[j]
    same = x.alias == y.alias
    if same and (x.proxy == y.proxy and (x.proxy == "generic" or x.th.cta == y.th.cta)):
        return True
    need = []
    if x.proxy != "generic":
        need.append((x.proxy, x.th.cta))
    if not same:
        need.append(("alias", None))
    if y.proxy != "generic":
        need.append((y.proxy, y.th.cta))
    fences = [f for f in range(g.inits, g.n) if ev[f].kind == "P"]

    def go(at, rest):
        if not rest:
            return bool(reach[at] >> j & 1)
        kind, cta = rest[0]
        return any(ev[f].info == kind and (cta is None or ev[f].th.cta == cta) and reach[at] >> f & 1 and go(f, rest[1:]) for f in fences)
    return go(i, need)
