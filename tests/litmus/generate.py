# SPDX-License-Identifier: Apache-2.0
"""Random small litmus programs in the form of docs/litmus.md, each a function of (seed, number). The condition names every register and location, so that outcomes show all."""
import random

SCOPES = ("cta", "cluster", "gpu", "sys")
PLACES = ([(0, 0, 0)] * 4, [(0, 0, 0), (0, 0, 1), (0, 0, 2)], [(0, 0, 0), (0, 1, 1), (0, 1, 2)], [(0, 0, 0), (0, 0, 0), (0, 0, 1)], [(0, 0, 0), (1, 0, 0), (0, 0, 1)])


class Program:
    def __init__(self, rng):
        self.rng, self.places, self.locations, self.init, self.count = rng, rng.choice(PLACES), {}, {}, 0
        self.kind, self.options, self.starts = None, None, True

    def scope(self):
        return self.rng.choice(SCOPES)

    def register(self):
        self.count += 1
        return f"r{self.count}"

    def load(self, name, sem=None):
        sem = sem or self.rng.choice(("weak", "relaxed", "acquire"))
        return f"ld.{sem}{'' if sem == 'weak' else '.' + self.scope()} {self.register()}, [{name}]"

    def store(self, name, value=None):
        sem = self.rng.choice(("weak", "relaxed", "release"))
        return f"st.{sem}{'' if sem == 'weak' else '.' + self.scope()} [{name}], {value or self.rng.randint(1, 2)}"

    def fence(self):
        return self.rng.choice((f"fence.{self.rng.choice(('sc', 'acq_rel', 'acquire', 'release'))}.{self.scope()}",) * 4 + ("membar.gl", "membar.cta"))

    def access(self, names):
        x, kind = self.rng.choice(names), self.rng.random()
        if kind < 0.4:
            return self.load(x)
        if kind < 0.8:
            return self.store(x)
        sem, op = self.rng.choice(("relaxed", "acquire", "release", "acq_rel")), self.rng.choice(("add", "exch", "cas"))
        args = {"add": "1", "exch": "2", "cas": "0, 2"}[op]
        if op == "add" and sem != "acquire" and kind > 0.88:
            return f"red.{sem}.{self.scope()}.add [{x}], 1"
        return f"atom.{sem}.{self.scope()}.{op} {self.register()}, [{x}], {args}"


def flags(p, threads):
    """Loads, stores, atomics, fences, dependencies on two or three locations."""
    names = ["x", "y", "z"][:p.rng.choice((2, 2, 3))]
    for ops in threads:
        for _ in range(p.rng.randint(1, 3)):
            if ops and p.rng.random() < 0.45:
                ops.append(p.fence())
            ops.append(p.access(names))
        if p.count and p.rng.random() < 0.3:
            ops.append(f"st.relaxed.{p.scope()} [{p.rng.choice(names)}], r{p.count}" if f"r{p.count}" in " ".join(ops) else p.load(names[0]))


def chain(p, threads):
    """Message passing from thread to thread with random strength."""
    for i, ops in enumerate(threads):
        if i:
            ops.append(p.load(f"f{i}"))
            if p.rng.random() < 0.5:
                ops.append(p.fence())
        ops.append("st.weak [x], 1" if i == 0 else p.load("x", "weak"))
        if i + 1 < len(threads):
            if p.rng.random() < 0.5:
                ops.append(p.fence())
            ops.append(p.store(f"f{i + 1}", 1))


def barriers(p, threads):
    """bar.* and barrier.cluster between weak accesses."""
    cluster = p.rng.random() < 0.4
    p.locations["s"] = {"space": "shared::cta", "cta": 0} if cluster else {}
    if cluster:
        p.places = [(0, 0, 0), (0, 0, 1), (0, 0, 1)]
    else:
        p.places = [(0, 0, 0)] * 3
    rounds = p.rng.randint(1, 2)
    reductions = [p.rng.random() < 0.4 and p.rng.choice(("popc.u32", "and.pred", "or.pred")) for _ in range(rounds)]
    for ops in threads:
        for k in range(rounds):
            ops.append(p.rng.choice((p.load("s"), f"st.weak [s], {p.rng.randint(1, 2)}", p.load("g", "weak"), "st.weak [g], 1")))
            if cluster:
                if p.rng.random() < 0.4:
                    ops.append(p.fence())
                ops += [f"barrier.cluster.arrive.{p.rng.choice(('release', 'relaxed'))}", "barrier.cluster.wait.acquire"]
            else:
                ops.append(f"bar.red.{reductions[k]} {p.register()}, 0, {p.rng.randint(0, 1)}" if reductions[k] else
                           p.rng.choice(("bar.sync 0", "bar.sync 0", f"bar.arrive 0, {len(threads)}")))
        ops.append(p.rng.choice((p.load("s"), p.load("g", "weak"), "st.weak [s], 3")))


def mbarriers(p, threads):
    """Arrivals and waits with random strength, one or two objects, a transaction count at times."""
    p.places = p.rng.choice(([(0, 0, 0)] * 3, [(0, 0, 1), (0, 0, 0), (0, 0, 0)]))
    p.locations |= {"b": {"space": "shared::cta", "cta": 0, "kind": "mbarrier", "count": p.rng.randint(1, 2)}, "s": {"space": "shared::cta", "cta": 0}}
    data = p.rng.choice(("s", "g"))
    for i, ops in enumerate(threads):
        remote = p.places[i][2] != 0
        scope = p.rng.choice(("cta", "cluster", "cluster"))
        if i == 0 or p.rng.random() < 0.4:
            ops.append(f"st.weak [{data}], {i + 1}" if p.rng.random() < 0.7 else p.load(data, "weak"))
            if p.rng.random() < 0.4:
                ops.append(p.rng.choice((p.fence(), "fence.release.sync_restrict::shared::cta.cluster")))
            kind = p.rng.random()
            form = "mbarrier.arrive" if kind < 0.8 else "mbarrier.arrive.expect_tx"
            ops.append(f"{form}.{p.rng.choice(('release', 'relaxed'))}.{scope} [b]" + (", 4" if kind >= 0.8 else ""))
            if kind >= 0.8:
                ops.append(f"mbarrier.complete_tx.relaxed.{scope} [b], 4")
            if kind < 0.1:
                ops.append(f"mbarrier.arrive [b]")
        if (i or p.rng.random() < 0.3) and not remote:
            wait = f"mbarrier.try_wait.{p.rng.choice(('acquire', 'relaxed'))}.{scope}"
            ops.append(f"{wait} [b], {p.rng.choice((0, 0, 0, 1))}" if p.rng.random() < 0.7 else f"{wait} {p.register()}, [b], 0")
            if p.rng.random() < 0.4:
                ops.append(p.rng.choice((p.fence(), "fence.acquire.sync_restrict::shared::cluster.cluster")))
            ops.append(p.load(data, "weak") if p.rng.random() < 0.8 else f"st.weak [{data}], 7")


def copies(p, threads):
    """Bulk copies, cp.async and st.async with their barriers, and proxy fences here and there."""
    p.places = p.rng.choice(([(0, 0, 0)] * 3, [(0, 0, 0), (0, 0, 1), (0, 0, 0)]))
    p.locations |= {"b": {"space": "shared::cta", "cta": 0, "kind": "mbarrier", "count": 1}, "s": {"space": "shared::cta", "cta": 0}}
    p.init["g"] = 5

    def proxy():
        return p.rng.choice(("fence.proxy.async", "fence.proxy.async.shared::cta", "fence.proxy.async.global", "fence.proxy.async.shared::cluster",
                             "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster", "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster"))

    def maybe(ops, what, chance=0.5):
        if p.rng.random() < chance:
            ops.append(what())
    maker = threads[0]
    kind = p.rng.choice(("load", "store", "cp", "st.async", "reuse"))
    sem = p.rng.choice(("acquire", "acquire", "relaxed"))
    reader = threads[-1]
    near = p.places[len(threads) - 1][2] == 0
    if kind in ("load", "st.async"):
        if kind == "load":
            maybe(maker, lambda: "st.weak [g], 6", 0.4)
            maybe(maker, proxy)
        maker.append("mbarrier.arrive.expect_tx.relaxed.cluster [b], 4")
        maker.append("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [g], 4, [b]" if kind == "load" else
                     "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [s], 3, [b]")
        if near:
            reader.append(f"mbarrier.try_wait.{sem}.{p.rng.choice(('cta', 'cluster'))} [b], 0")
            maybe(reader, lambda: p.fence(), 0.3)
            reader.append(p.load("s", "weak"))
            maybe(reader, proxy, 0.3)
            if p.rng.random() < 0.5:
                reader.append("st.weak [s], 8")
        else:
            reader.append(p.load("g", "weak"))
    elif kind == "store":
        maker.append("st.weak [s], 4")
        maybe(maker, proxy)
        maker.append(f"mbarrier.arrive.{p.rng.choice(('release', 'relaxed'))}.cluster [b]")
        if near:
            reader.append(f"mbarrier.try_wait.{sem}.cluster [b], 0")
            maybe(reader, proxy, 0.4)
            reader += ["cp.async.bulk.global.shared::cta.bulk_group [g], [s], 4", "cp.async.bulk.commit_group"]
            maybe(reader, lambda: f"cp.async.bulk.wait_group{p.rng.choice(('', '.read'))} 0", 0.7)
            reader.append(p.rng.choice((p.load("g", "weak"), "st.weak [s], 9")))
    elif kind == "cp":
        maybe(maker, lambda: "st.weak [g], 6", 0.4)
        maker.append("cp.async.ca.shared.global [s], [g]")
        if p.rng.random() < 0.5:
            maker.append("cp.async.mbarrier.arrive.noinc [b]")
            if near:
                reader += [f"mbarrier.try_wait.{sem}.cta [b], 0", p.load("s", "weak")]
        else:
            maybe(maker, lambda: "cp.async.commit_group", 0.7)
            maybe(maker, lambda: p.rng.choice(("cp.async.wait_group 0", "cp.async.wait_all")), 0.8)
            maker.append(p.load("s", "weak"))
    else:
        maker.append(p.load("s", "weak"))
        maybe(maker, proxy)
        maker.append(f"mbarrier.arrive.{p.rng.choice(('release', 'relaxed'))}.cluster [b]")
        if near:
            p.locations["c"] = {"space": "shared::cta", "cta": 0, "kind": "mbarrier", "count": 1}
            reader.append(f"mbarrier.try_wait.{sem}.cluster [b], 0")
            maybe(reader, proxy, 0.4)
            reader += ["mbarrier.arrive.expect_tx [c], 4", "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [g], 4, [c]"]


def tensors(p, threads):
    """tcgen05 with its waits and fences, wgmma with its groups."""
    p.places = [(0, 0, 0)] * 3
    p.locations |= {"d": {"space": "tmem", "cta": 0}, "s": {"space": "shared::cta", "cta": 0}, "b": {"space": "shared::cta", "cta": 0, "kind": "mbarrier", "count": 1}}
    p.init |= {"s": 2, "d": 1}

    def maybe(ops, what, chance=0.6):
        if p.rng.random() < chance:
            ops.append(what)
    a, z = threads[0], threads[-1]
    first = p.rng.choice(("st", "ld", "mma", "wgmma", "cp"))
    if first == "wgmma":
        maybe(a, "st.weak [s], 4", 0.5)
        maybe(a, "fence.proxy.async.shared::cta", 0.5)
        maybe(a, "wgmma.fence", 0.7)
        a += [f"wgmma.mma_async {p.register()}, [s]", "wgmma.commit_group"]
        maybe(a, "wgmma.wait_group 0", 0.7)
        a.append(p.rng.choice(("mbarrier.arrive [b]", "st.weak [s], 6")))
        if "mbarrier.arrive [b]" in a:
            z += ["mbarrier.try_wait [b], 0", "st.weak [s], 7"]
        return
    a.append({"st": "tcgen05.st [d], 5", "ld": f"tcgen05.ld {p.register()}, [d]", "mma": "tcgen05.mma [d], [s]", "cp": "tcgen05.cp [d], [s]"}[first])
    if first in ("mma", "cp") and p.rng.random() < 0.6:
        a.append("tcgen05.commit [b]")
    else:
        maybe(a, "tcgen05.wait::" + p.rng.choice(("st", "ld", first if first in ("st", "ld") else "st")))
        maybe(a, "tcgen05.fence::before_thread_sync")
        a.append(f"mbarrier.arrive.{p.rng.choice(('release', 'relaxed'))}.cta [b]")
    z.append(f"mbarrier.try_wait.{p.rng.choice(('acquire', 'relaxed'))}.cta [b], 0")
    maybe(z, "tcgen05.fence::after_thread_sync")
    z.append(p.rng.choice(("tcgen05.st [d], 6", f"tcgen05.ld {p.register()}, [d]", "tcgen05.mma [d], [s]", "tcgen05.mma [d], [d]", "st.weak [s], 7")))


def sizes(p, threads):
    """Overlapping accesses of 1, 2 and 4 bytes."""
    forms = (("u32", "x"), ("u16", "x"), ("u16", "x+2"), ("u8", "x+1"))
    for ops in threads:
        for _ in range(p.rng.randint(1, 3)):
            kind, where = p.rng.choice(forms)
            strong = p.rng.random() < 0.5
            if p.rng.random() < 0.5:
                ops.append(f"st.{'relaxed.gpu' if strong else 'weak'}.{kind} [{where}], {p.rng.randint(1, 250)}")
            else:
                ops.append(f"ld.{'relaxed.gpu' if strong else 'weak'}.{kind} {p.register()}, [{where}]")
    if p.rng.random() < 0.7:
        p.places = [(0, 0, 0)] * 3
        for ops in threads:
            ops.insert(p.rng.randint(0, len(ops)), "bar.sync 0")


def aliases(p, threads):
    """Two virtual addresses of one location."""
    for ops in threads:
        for _ in range(p.rng.randint(1, 3)):
            ops.append(p.access(["x", "y"]))
            if p.rng.random() < 0.5:
                ops.append(p.rng.choice(("fence.proxy.alias", p.fence())))


def maps(p, threads):
    """tensormap.replace, its fences on either side, and tensor copies through the map."""
    p.places = p.rng.choice(([(0, 0, 0)] * 3, [(0, 0, 0), (0, 1, 1), (0, 0, 0)]))
    last = len(threads) - 1
    cta = p.places[last][2]
    p.locations |= {"m": {"kind": "tensormap"}, "s": {"space": "shared::cta", "cta": cta}, "b": {"space": "shared::cta", "cta": cta, "kind": "mbarrier", "count": 1}}
    p.init |= {"m": "&x", "x": 1, "y": 2}
    a, z, joined = threads[0], threads[-1], p.rng.random() < 0.8

    def maybe(ops, what, chance=0.7):
        if p.rng.random() < chance:
            ops.append(what)
    a.append("tensormap.replace.tile.global_address.global.b1024.b64 [m], &y")
    maybe(a, f"fence.proxy.tensormap::generic.release.{p.scope()}")
    if joined:
        a.append(f"st.{p.rng.choice(('release', 'relaxed'))}.gpu [f1], 1")
        z += [f"ld.{p.rng.choice(('acquire', 'relaxed'))}.gpu {p.register()}, [f1]"]
    maybe(z, f"fence.proxy.tensormap::generic.acquire.{p.scope()} [m], 128")
    z += ["mbarrier.arrive.expect_tx [b], 4", "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], [m, {0}], [b]",
          "mbarrier.try_wait [b], 0", p.load("s", "weak")]


def clients(p, threads):
    """The host, a copy engine, launches and joins, several GPUs."""
    p.places = [(0, 0, 0), (1, 0, 0), (0, 1, 1)]
    p.kind = p.rng.choice(("host", "host", "ce", None))
    chain(p, threads)
    if p.kind == "host" and p.rng.random() < 0.5:
        p.starts = False
        threads[-1].insert(p.rng.randint(0, len(threads[-1])), "api.launch P0")
        if p.rng.random() < 0.6:
            threads[-1].insert(p.rng.randint(threads[-1].index("api.launch P0") + 1, len(threads[-1])), "api.join P0")
    if p.kind == "ce" and p.rng.random() < 0.5:
        threads[-1].append("copy [y], [x]")


def loops(p, threads):
    """Spins, and compare-and-swap until it succeeds."""
    for i, ops in enumerate(threads):
        kind = p.rng.random()
        if kind < 0.35:
            r = p.register()
            ops += [f"L{i}:", f"ld.{p.rng.choice(('relaxed', 'acquire'))}.{p.scope()} {r}, [f1]", f"beq {r}, 0, L{i}", p.load("x", "weak")]
        elif kind < 0.65:
            r = p.register()
            ops += [f"L{i}:", f"atom.{p.rng.choice(('relaxed', 'acquire', 'acq_rel'))}.gpu.cas {r}, [x], {p.rng.randint(0, 1)}, 2", f"bne {r}, {p.rng.randint(0, 1)}, L{i}",
                    "st.weak [y], 1"]
        else:
            ops += [p.rng.choice(("st.weak [x], 1", "st.relaxed.gpu [x], 1")), p.fence(), f"st.{p.rng.choice(('relaxed', 'release'))}.{p.scope()} [f1], 1"]


def caches(p, threads):
    """SASS: stores, loads of every strength, barriers of every level, invalidates, on one or more SMs, a copy engine or the host at times."""
    names = ["x", "y"]
    levels = ("CTA", "VC", "GL", "SYS")

    def barrier():
        return f"MEMBAR.{p.rng.choice(levels)}{p.rng.choice(('', '', '', '.IVALLD', '.IVALLT', '.IVALLTD'))}"
    for ops in threads:
        for _ in range(p.rng.randint(1, 3)):
            x = p.rng.choice(names)
            ops.append(p.rng.choice((f"ST [{x}], {p.rng.randint(1, 2)}", f"LD {p.register()}, [{x}]", f"LD.CV {p.register()}, [{x}]", f"TLD {p.register()}, [{x}]",
                                     f"LD.STRONG.{p.rng.choice(('CTA', 'GPU'))} {p.register()}, [{x}]", f"ATOM.ADD {p.register()}, [{x}], 1", f"PRELOAD [{x}]")))
            if p.rng.random() < 0.5:
                ops.append(p.rng.choice((barrier(), barrier(), barrier(), f"CCTL.IV [{x}]", "CCTL.IVALL", "CCTLT.IVALL")))
    p.kind = p.rng.choice((None, None, "ce", "host"))


def nvshmem(p, threads):
    """Puts, gets, atomics and stores toward two PEs, fences and quiets, waits and plain loads of the target."""
    p.locations |= {n: {"symmetric": True} for n in ("x", "y", "f")}
    p.init["y"] = 7
    p.places = p.rng.choice(([(0, 0, 0), (1, 0, 0), (2, 0, 0)], [(0, 0, 0), (1, 0, 0), (0, 1, 1)]))
    for i, ops in enumerate(threads):
        for _ in range(p.rng.randint(1, 2) if i != 1 else p.rng.randint(0, 1)):
            x, pe = p.rng.choice(("x", "f")), p.rng.choice((1, 1, 0))
            ops.append(p.rng.choice((f"nvshmem_p [{x}@{pe}], 1", f"nvshmem_put [{x}@{pe}], [y]", f"nvshmem_put_nbi [{x}@{pe}], [y]", f"nvshmem_g {p.register()}, [{x}@{pe}]",
                                     f"nvshmem_get_nbi [y], [{x}@{pe}]", f"nvshmem_amo_add [{x}@{pe}], 1", f"nvshmem_amo_fetch_add {p.register()}, [{x}@{pe}], 1",
                                     f"nvshmem_amo_fetch_add_nbi [y], [{x}@{pe}], 1", f"st [{x}@{pe}], 3")))
            if p.rng.random() < 0.5:
                ops.append(p.rng.choice(("nvshmem_fence", "nvshmem_quiet", "fence.acq_rel.sys")))
        if i == 1:
            ops += p.rng.choice((["nvshmem_wait_until.ne [f], 0"], [f"nvshmem_test.ne {p.register()}, [f], 0"], [f"ld {p.register()}, [f]"])) + [f"ld {p.register()}, [x]"]
    if p.rng.random() < 0.3:
        p.options = {"transport": "ib"}


KINDS = {"flags": flags, "chain": chain, "barriers": barriers, "mbarriers": mbarriers, "copies": copies, "tensors": tensors, "sizes": sizes, "aliases": aliases, "maps": maps, "clients": clients, "loops": loops, "caches": caches, "nvshmem": nvshmem}


def program(seed, number, kind=None):
    rng = random.Random(f"{seed}/{number}")
    kind = kind or sorted(KINDS)[number % len(KINDS)]
    p = Program(rng)
    threads = [[] for _ in range(rng.choice((2, 2, 2, 3) if kind not in ("chain",) else (2, 3)))]
    KINDS[kind](p, threads)
    d = {"name": f"random/{seed}/{number}/{kind}", "model": kind if kind in ("caches", "nvshmem") else "ptx", "threads": [], "init": p.init, "locations": p.locations,
         "aliases": [{"addr": "y", "proxy": "generic", "of": "x"}] if kind == "aliases" else []}
    for i, ops in enumerate(threads):
        gpu, cluster, cta = p.places[i % len(p.places)]
        d["threads"].append({"id": f"P{i}", "cta": cta, "gpu": gpu, "cluster": cluster, "ops": ops})
    if p.kind:
        d["threads"][-1] |= {"kind": p.kind}
    if not p.starts:
        d["threads"][0] |= {"start": False}
    names = []
    for t in d["threads"]:
        for op in t["ops"]:
            for word in op.replace(",", " ").replace("[", " ").replace("]", " ").replace("+", " ").replace("@", "  ").split()[1:]:
                name = f"{t['id']}:{word}" if word[0] == "r" and word[1:].isdigit() else word
                if name not in names and (":" in name or name in ("x", "y", "z", "g", "s", "d", "f1", "f2")):
                    names.append(name)
    names = [n for n in names if not (kind == "aliases" and n == "y")]
    d["condition"] = " && ".join(f"{n}==0" for n in names) or "x==0"
    if kind == "nvshmem":
        names = [n if ":" in n else f"{n}@1" for n in names]
        d["condition"] = " && ".join(f"{n}==0" for n in names) or "x@1==0"
    if p.options:
        d["options"] = p.options
    elif d["model"] == "ptx" and rng.random() < 0.25:
        d["options"] = {"reading": "relied"}
    return d
