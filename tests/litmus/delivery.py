# SPDX-License-Identifier: Apache-2.0
"""The delivery machine of docs/litmus.md, section 6: symmetric memory, puts, gets and atomics on their way, fence and quiet. An exhaustive search of its states."""
import re
from form import Refused
from machine import Search, parse, plain, reads_of, value

CALLS = {"nvshmem_p": "put", "nvshmem_put": "put", "nvshmem_put_nbi": "put_nbi", "nvshmem_g": "get", "nvshmem_get": "get", "nvshmem_get_nbi": "get_nbi",
         "nvshmem_amo_add": "amo", "nvshmem_amo_add_nbi": "amo", "nvshmem_amo_fetch_add": "fetch", "nvshmem_amo_fetch_add_nbi": "fetch_nbi", "st": "put", "ld": "ld",
         "nvshmem_fence": "fence", "nvshmem_quiet": "quiet", "nvshmemx_quiet_on_stream": "stream_quiet", "nvshmem_wait_until": "wait", "nvshmem_test": "test",
         "nvshmem_barrier_all": "barrier", "fence": "order", "membar": "order", "bar": "bar"}


def parse_call(text):
    c = parse(text, lambda words: CALLS.get(words[0]))
    c.has_destination = c.kind in ("ld", "get", "fetch", "test") and c.operands[0][0] == "reg"
    if c.kind in ("wait", "test") and (len(c.words) != 2 or c.words[1] not in ("eq", "ne")):
        raise Refused(f"'{text}': .eq or .ne")
    return c


class Explorer(Search):
    """State: (threads, flying, memory, spread). threads: per thread (pc, registers, loads not performed, epoch, started).
    flying: (number, thread, epoch, kind, destination (name, pe), payload). memory: ((name, pe, viewer), value). spread (ib): (name, pe, viewer, value, order)."""

    def start(self):
        test = self.test
        self.ib = test.options.get("transport", "nvlink") == "ib"
        named = re.findall(r"@\s*(\d+)", " ".join(o for t in test.d["threads"] for o in t["ops"]) + " ".join(test.d.get("init", {})) + test.d["condition"])
        self.pes = sorted({t.gpu for t in test.threads} | {int(n) for n in named})
        for th in test.threads:
            th.labels = {c.label: i for i, c in enumerate(th.ops) if c.kind == "label"}
        init = test.d.get("init", {})
        memory = {(n, pe, viewer): init.get(f"{n}@{pe}", init.get(n, 0)) for n in test.objects for pe in self.pes for viewer in self.pes}
        threads = tuple((0, tuple(sorted((k.split(":")[1], v) for k, v in init.items() if k.startswith(t.id + ":"))), (), 0, t.start) for t in test.threads)
        return threads, frozenset(), frozenset(memory.items()), ()

    @staticmethod
    def where(o, th):
        return o[1], th.gpu if o[2] is None else o[2]

    def store(self, memory, spread, name, pe, v):
        """A delivery: the PE itself sees it now; the others too (NVLink), or later (InfiniBand)."""
        m = dict(memory)
        for viewer in self.pes:
            if viewer == pe or not self.ib:
                m[name, pe, viewer] = v
        if self.ib:
            spread += tuple((name, pe, viewer, v) for viewer in self.pes if viewer != pe)
        return frozenset(m.items()), spread

    def may_arrive(self, flying, d):
        """Order of delivery: fences per PE, and stores to the same bytes."""
        number, t, epoch, kind, dest, _ = d
        for e in flying:
            if e[1] == t and e[0] < number and e[3] not in ("get_nbi", "value") and e[4][1] == dest[1] and (e[2] < epoch or e[4] == dest):
                return False
        return True

    def next_states(self, state):
        threads, flying, memory, spread = state
        self.flying_now, m = flying, dict(memory)
        seen_spread = set()
        for i, (name, pe, viewer, v) in enumerate(spread):
            if (name, pe, viewer) not in seen_spread:
                seen_spread.add((name, pe, viewer))
                yield threads, flying, frozenset((m | {(name, pe, viewer): v}).items()), spread[:i] + spread[i + 1:]
        for d in flying:
            number, t, epoch, kind, dest, payload = d
            th, rest = self.test.threads[t], flying - {d}
            if kind == "get_nbi":  # payload: the remote source; read now, written to the local destination later
                name, pe = payload
                yield threads, rest | {(number, t, epoch, "value", dest, m[name, pe, th.gpu])}, memory, spread
            elif kind == "value":
                yield threads, rest, *self.store(memory, spread, *dest, payload)
            else:
                if kind == "put_nbi":  # the source may be read before the delivery
                    yield threads, rest | {(number, t, epoch, "put", dest, m[payload[0], payload[1], th.gpu])}, memory, spread
                if self.may_arrive(flying, d):
                    name, pe = dest
                    if kind == "put":
                        yield threads, rest, *self.store(memory, spread, name, pe, payload)
                    elif kind == "amo":
                        yield threads, rest, *self.store(memory, spread, name, pe, m[name, pe, pe] + payload)
                    elif kind == "fetch_nbi":
                        yield threads, rest | {(number, t, epoch, "value", payload[1], m[name, pe, pe])}, *self.store(memory, spread, name, pe, m[name, pe, pe] + payload[0])
        if self.at_barrier(threads):
            yield tuple((pc + 1,) + t[1:] if pc < len(th.ops) and th.ops[pc].kind == "barrier" else (pc,) + t[1:]
                        for th, t in zip(self.test.threads, threads) for pc in [t[0]]), flying, memory, spread
        for cta in {th.cta for th in self.test.threads}:
            all_here = [i for i, th in enumerate(self.test.threads) if th.cta == cta]
            if all(self.at_bar(i, threads[i]) for i in all_here):
                yield tuple((t[0] + (i in all_here),) + t[1:] for i, t in enumerate(threads)), flying, memory, spread
        for t, th in enumerate(self.test.threads):
            yield from self.step(state, t, th, m)

    def at_bar(self, i, state):
        """It stands at bar.sync, its loads are performed, and what it has stored in its own PE's memory is there."""
        th, (pc, _, loads, _, started) = self.test.threads[i], state
        return (started and pc < len(th.ops) and th.ops[pc].kind == "bar" and not loads
                and not any(d[1] == i and d[4][1] == th.gpu and d[3] not in ("get_nbi", "value") for d in self.flying_now))

    def at_barrier(self, threads):
        """Every PE's caller has arrived with nothing on its way (each was quiet before: checked in step by quiet)."""
        callers = [i for i, th in enumerate(self.test.threads) if any(c.kind == "barrier" for c in th.ops)]
        return bool(callers) and all(threads[i][4] and threads[i][0] < len(self.test.threads[i].ops) and self.test.threads[i].ops[threads[i][0]].kind == "barrier"
                                     and not threads[i][2] and self.is_quiet(i) for i in callers)

    def is_quiet(self, t):
        return not any(d[1] == t for d in self.flying_now)

    def step(self, state, t, th, m):
        threads, flying, memory, spread = state
        pc, regs, loads, epoch, started = threads[t]
        if not started:
            return
        r = dict(regs)

        def go(flying=flying, memory=memory, spread=spread, pc=pc + 1, loads=loads, epoch=epoch, others=(), **written):
            new = list(threads)
            new[t] = (pc, tuple(sorted((r | written).items())), loads, epoch, True)
            for k in others:
                new[k] = new[k][:4] + (True,)
            return tuple(new), flying, memory, spread

        def mine_to(where):
            return any(d[1] == t and d[4] == where and d[3] not in ("get_nbi", "value") for d in flying)
        for i, (reg, where) in enumerate(loads):
            if not any(x[1] == where for x in loads[:i]) and not mine_to(where):
                yield go(pc=pc, loads=loads[:i] + loads[i + 1:], **{reg: m[where[0], where[1], th.gpu]})
        if pc == len(th.ops):
            return
        c = th.ops[pc]
        if reads_of(c) & {reg for reg, _ in loads}:
            return
        if c.kind in ("label", "bra", "beq", "bne") or plain(c, th, pc, r):
            new_pc, new_regs = plain(c, th, pc, r)
            yield go(pc=new_pc, **new_regs)
            return
        k, o = c.kind, c.operands
        number = 1 + max([d[0] for d in flying], default=0)

        def fly(kind, dest, payload):
            return go(flying=flying | {(number, t, epoch, kind, dest, payload)})
        if k == "put":
            dest = self.where(o[0], th)
            if o[1][0] != "mem":
                yield fly("put", dest, value(o[1], r))
            elif not mine_to(self.where(o[1], th)):
                name, pe = self.where(o[1], th)
                yield fly("put", dest, m[name, pe, th.gpu])
        elif k == "put_nbi":
            yield fly("put_nbi", self.where(o[0], th), self.where(o[1], th))
        elif k == "get_nbi":
            yield fly("get_nbi", self.where(o[0], th), self.where(o[1], th))
        elif k == "get":
            name, pe = self.where(o[1], th)
            if not mine_to((name, pe)):
                if o[0][0] == "reg":
                    yield go(**{o[0][1]: m[name, pe, th.gpu]})
                else:
                    mem, sp = self.store(memory, spread, *self.where(o[0], th), m[name, pe, th.gpu])
                    yield go(memory=mem, spread=sp)
        elif k == "amo":
            yield fly("amo", self.where(o[0], th), value(o[1], r))
        elif k == "fetch_nbi":
            yield fly("fetch_nbi", self.where(o[1], th), (value(o[2], r), self.where(o[0], th)))
        elif k == "fetch":
            dest = self.where(o[1], th)
            if self.may_arrive(flying, (number, t, epoch, "amo", dest, 0)):
                old = m[dest[0], dest[1], dest[1]]
                mem, sp = self.store(memory, spread, *dest, old + value(o[2], r))
                yield go(memory=mem, spread=sp, **{o[0][1]: old})
        elif k == "ld":
            yield go(loads=loads + ((o[0][1], self.where(o[1], th)),)) if o[0][1] not in {x[0] for x in loads} else go(pc=pc)
        elif k == "fence":
            yield go(epoch=epoch + 1)
        elif k == "quiet":
            if self.is_quiet(t):
                yield go()
        elif k == "stream_quiet":
            launched = {x.label for x in th.ops[:pc] if x.kind == "launch"}
            if not any(self.test.threads[d[1]].id in launched for d in flying):
                yield go()
        elif k in ("wait", "test"):
            i = 0 if k == "wait" else 1
            where = self.where(o[i], th)
            holds = (m[where[0], where[1], th.gpu] == value(o[i + 1], r)) == (c.words[1] == "eq")
            if k == "test" and not holds:
                yield go(**{o[0][1]: 0})
            elif holds and not loads and not mine_to(where):
                yield go(**({o[0][1]: 1} if k == "test" else {}))
        elif k == "order":
            if not loads:
                yield go()
        elif k == "launch":
            yield go(others=[x for x, other in enumerate(self.test.threads) if other.id == c.label])
        elif k == "join":
            x = next(x for x, other in enumerate(self.test.threads) if other.id == c.label)
            if threads[x][4] and threads[x][0] == len(self.test.threads[x].ops) and not threads[x][2]:
                yield go()

    def final(self, state):
        threads, flying, memory, spread = state
        if flying or spread or any(t[0] < len(th.ops) or t[2] for th, t in zip(self.test.threads, threads)):
            return None
        m, out = dict(memory), []
        for n in self.names:
            if n[0] == "reg":
                k = next(i for i, th in enumerate(self.test.threads) if th.id == n[1])
                out.append(dict(threads[k][1]).get(n[2], 0))
            else:
                pe = n[3] if n[3] is not None else 0
                out.append(m[n[1], pe, pe])
        return tuple(out)
