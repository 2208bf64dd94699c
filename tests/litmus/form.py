# SPDX-License-Identifier: Apache-2.0
"""The litmus form of docs/litmus.md: text -> Test. Here: parsing, placement, what is no program (section 4). Not here: what operations mean."""
import os
import re
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "decoder", "gen"))
from architectures import TABLE
from condition import key, names_of

SCOPES = {"cta": 1, "cluster": 2, "gpu": 3, "sys": 4}
SPACES = {"global", "shared", "shared::cta", "shared::cluster", "tmem"}
TYPES = {k + str(n): n // 8 for k in "busf" for n in (8, 16, 32, 64)} | {"b128": 16, "b1024": 128}
ATOMICS = {"add", "sub", "exch", "cas", "inc", "dec", "and", "or", "xor", "min", "max"}
ARITHMETIC = {"mov", "add", "sub", "mul", "and", "or", "xor", "eq", "ne"}
CORPUS = ("ptx60", "ptx75-proxy", "ptx60-liveness", "ptx75-liveness")


class Refused(Exception):
    """The test is not a program; the message says why."""


class Op:
    """One operation: `kind` (a word of this file), the qualifiers that matter, and parsed operands."""

    def __init__(self, kind, text):
        self.kind, self.text = kind, text
        self.sem = self.scope = self.space = self.size = self.op = self.inst = self.label = None
        self.flags, self.operands = set(), []

    def __repr__(self):
        return self.text


class Location:
    """A name: physical object `base`, byte range, and how this name reaches it (`alias`, `proxy`)."""

    def __init__(self, name, base, first, size, alias=None, proxy="generic"):
        self.name, self.base, self.first, self.size = name, base, first, size
        self.alias, self.proxy = alias or base, proxy


def operand(text):
    text = text.strip()
    if m := re.fullmatch(r"\[(.*)\]", text):
        inner = m[1].split(",")[0].strip()  # a tensor map's coordinates do not matter here
        name, _, offset = inner.partition("+")
        return ("mem", name.strip(), int(offset or "0", 0))
    if re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)", text):
        return ("imm", int(text, 0))
    if text.startswith("&"):
        return ("imm", text)
    if text.startswith("!"):
        return ("not", text[1:].strip())
    if re.fullmatch(r"[A-Za-z_]\w*", text):
        return ("reg", text)
    raise Refused(f"operand '{text}'")


def split_operands(text):
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "[{") - (c in "]}")
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [operand(p) for p in parts if p.strip()]


# Longest prefix wins. Qualifiers behind it are words; those of `words` become flags.
FORMS = {
    "ld": "ld", "st": "st", "suld": "ld", "sust": "st", "tld": "ld", "cold": "ld", "atom": "atom", "red": "red",
    "bar.sync": "bar.sync", "bar.arrive": "bar.arrive", "bar.red": "bar.red", "barrier.cta.sync": "bar.sync",
    "barrier.cta.arrive": "bar.arrive", "barrier.cta.red": "bar.red", "barrier.cluster.arrive": "cluster.arrive",
    "barrier.cluster.wait": "cluster.wait", "mbarrier.init": "mb.init", "mbarrier.arrive": "mb.arrive",
    "mbarrier.arrive_drop": "mb.drop", "mbarrier.expect_tx": "mb.expect", "mbarrier.complete_tx": "mb.complete",
    "mbarrier.try_wait": "mb.wait", "mbarrier.test_wait": "mb.wait", "st.async": "st.async", "red.async": "red.async",
    "cp.async": "cp", "cp.async.commit_group": "cp.commit", "cp.async.wait_group": "cp.wait",
    "cp.async.wait_all": "cp.wait_all", "cp.async.mbarrier.arrive": "cp.mbarrier", "cp.async.bulk": "bulk",
    "cp.reduce.async.bulk": "bulk.reduce", "cp.async.bulk.tensor": "tensor",
    "cp.async.bulk.commit_group": "bulk.commit", "cp.async.bulk.wait_group": "bulk.wait",
    "wgmma.fence": "wgmma.fence", "wgmma.mma_async": "wgmma", "wgmma.commit_group": "wgmma.commit",
    "wgmma.wait_group": "wgmma.wait", "tcgen05.ld": "t5.ld", "tcgen05.st": "t5.st",
    "tcgen05.wait::ld": "t5.wait_ld", "tcgen05.wait::st": "t5.wait_st", "tcgen05.mma": "t5.mma",
    "tcgen05.cp": "t5.cp", "tcgen05.commit": "t5.commit", "tcgen05.fence::before_thread_sync": "t5.before",
    "tcgen05.fence::after_thread_sync": "t5.after", "tensormap.replace": "map.replace",
    "tensormap.cp_fenceproxy": "map.copy", "copy": "copy", "api.launch": "launch", "api.join": "join",
    "fence": "fence", "membar": "membar", "bra": "bra", "beq": "beq", "bne": "bne",
} | {a: a for a in ARITHMETIC}
# Qualifiers that say how much or in which shape, and change nothing here.
SHAPE = re.compile(r"aligned|sync|tile|ca|cg|weak|mbarrier::(complete_tx::bytes|arrive::one)|cta_group::[12]|\dd|\d+x\d+b?|x\d+|"
                   r"kind::\w+|m\d+n\d+k\d+|parity|global_address|L1::\w+|L2::\w+|load|store|pred|popc|bulk_group|read|"
                   r"multicast::cluster|noinc|noComplete|expect_tx|relaxed|acquire|release|acq_rel|volatile|mmio|seq_cst|"
                   r"op|tensormap::generic|nc")


def prefix_of(words):
    for n in range(min(4, len(words)), 0, -1):
        if ".".join(words[:n]) in FORMS:
            return n
    raise Refused(f"unknown operation '{'.'.join(words)}'")


def parse(text):
    """One line of `ops` -> Op (kind "label" for `L:`)."""
    if m := re.fullmatch(r"\s*(\w+):\s*", text):
        op = Op("label", text)
        op.label = m[1]
        return op
    body, _, inst = text.partition("@inst=")
    m = re.fullmatch(r"\s*(\S+)\s*(.*)", body.strip())
    words, rest = m[1].split("."), m[2]
    n = prefix_of(words)
    op = Op(FORMS[".".join(words[:n])], text)
    op.inst = int(inst) if inst else None
    if op.kind in ("bra", "beq", "bne"):
        head, _, op.label = rest.rpartition(" ") if op.kind == "bra" else rest.rpartition(",")
        op.label = op.label.strip()
        op.operands = split_operands(head) if op.kind != "bra" else []
        return op
    if op.kind in ("launch", "join"):
        op.label = rest.strip()
        return op
    op.operands = split_operands(rest)
    op.mnemonic = ".".join(words[:n])
    quals = words[n:]
    if op.kind in ("fence", "membar"):
        return fence(op, quals)
    if op.kind in ARITHMETIC:
        return op
    for q in quals:
        if q in SCOPES:
            op.scope = q
        elif q in SPACES:
            op.space = (op.space or []) + [q]
        elif q in TYPES:
            op.size = TYPES[q]
        elif q in ATOMICS and op.kind in ("atom", "red", "red.async", "bulk.reduce", "bar.red"):
            op.op = q
        elif SHAPE.fullmatch(q):
            op.flags.add(q)
        else:
            raise Refused(f"'{text}': qualifier '.{q}' is unknown here")
        if q in ("weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "mmio", "seq_cst"):
            op.sem = "mmio" if op.sem == "mmio" else q
    return check(op)


def check(op):
    """What ptxas rejects whatever the target, and defaults."""
    k, s, t = op.kind, op.sem, op.text

    def no(why):
        raise Refused(f"'{t}': {why}")
    if k == "ld":
        op.sem = s = s or "weak"
        if s in ("release", "acq_rel"):
            no(f"a load cannot be .{s}")
    if k == "st":
        op.sem = s = s or "weak"
        if s in ("acquire", "acq_rel"):
            no(f"a store cannot be .{s}")
    if k in ("ld", "st"):
        if s in ("volatile", "mmio"):
            op.scope = "sys"
        if s == "weak" and op.scope:
            no("a weak access has no scope")
        if s in ("relaxed", "acquire", "release", "seq_cst") and not op.scope:
            no("a scope is missing")
    if k in ("atom", "red"):
        op.sem, op.scope = s or "relaxed", op.scope or "gpu"
        if k == "red" and s == "acquire":
            no("a reduction cannot be .acquire")
        if not op.op:
            no("the atomic operator is missing")
    if k.startswith("bar."):
        a = op.operands[1] if k == "bar.red" else op.operands[0]
        if a[0] == "imm" and not 0 <= a[1] <= 15:
            no("barriers are numbered 0..15")
        if k == "bar.arrive" and len(op.operands) < 2 and op.inst is None:
            no("bar.arrive needs a thread count")
        if k == "bar.red":
            op.op = "popc" if "popc" in op.flags else op.op
    if k == "cluster.wait" and s in ("relaxed", "release"):
        no("barrier.cluster.wait is .acquire")
    if k == "cluster.arrive":
        if s == "acquire":
            no("an arrival cannot be .acquire")
        op.sem = s or "release"
    if k in ("mb.arrive", "mb.drop"):
        if s == "acquire":
            no("an arrival cannot be .acquire")
        op.sem, op.scope = s or "release", op.scope or "cta"
    if k == "mb.wait":
        if s == "release":
            no("a wait cannot be .release")
        if op.space and "shared::cluster" in op.space:
            no("a wait names an mbarrier of its own CTA")
        op.sem, op.scope = s or "acquire", op.scope or "cta"
    return op


def fence(op, q):
    """fence and membar in all of PTX's forms -> kinds fence, proxy, map.release, map.acquire."""
    def no(why):
        raise Refused(f"'{op.text}': {why}")
    word = ".".join(q)
    if op.kind == "membar":
        op.membar = True
        if word in ("cta", "gl", "sys"):
            op.kind, op.sem, op.scope = "fence", "sc", {"gl": "gpu"}.get(word, word)
            return op
        if word == "proxy.alias":
            op.kind, op.op = "proxy", "alias"
            return op
        no("no such membar")
    if any("op_restrict" in w for w in q):
        no("op_restrict is written fence.mbarrier_init.release.cluster")
    if word == "mbarrier_init.release.cluster":
        op.sem, op.scope, op.op = "release", "cluster", "mbarrier_init"
        return op
    one_way = None
    if len(q) >= 2 and q[0] == "proxy":
        kind = q[1]
        if kind in ("tensormap::generic", "async::generic"):
            one_way, q = kind, q[2:]
        else:
            if kind in ("alias", "texture", "surface", "constant") and len(q) == 2:
                op.kind, op.op = "proxy", kind
                return op
            if kind == "async" and (len(q) == 2 or (len(q) == 3 and q[2] in ("global", "shared::cta", "shared::cluster"))):
                op.kind, op.op = "proxy", "async"
                op.space = q[2] if len(q) == 3 else None
                return op
            no("no such proxy fence")
    restrict = [w for w in q if w.startswith("sync_restrict::")]
    rest = [w for w in q if w not in restrict]
    op.sem, op.scope = ("acq_rel", rest[0]) if len(rest) == 1 else rest if len(rest) == 2 else (None, None)
    if op.sem not in ("sc", "acq_rel", "acquire", "release") or op.scope not in SCOPES:
        no("no such fence")
    if one_way == "tensormap::generic":
        if restrict or op.sem not in ("acquire", "release"):
            no("no such proxy fence")
        if op.sem == "acquire" and (len(op.operands) != 2 or op.operands[1] != ("imm", 128)):
            no("the size must be 128")
        op.kind = "map." + op.sem
        return op
    if restrict:
        want = {"acquire": "shared::cluster", "release": "shared::cta"}.get(op.sem)
        if len(restrict) != 1 or restrict[0] != f"sync_restrict::{want}":
            no(".sync_restrict::shared::cta goes with .release, ::shared::cluster with .acquire")
        if op.scope != "cluster":
            no("a .sync_restrict fence has .cluster scope")
        op.space = want
    if one_way == "async::generic":
        if not restrict:
            no("async::generic needs .sync_restrict")
        op.op = "async::generic"
    return op


def variants(feature):
    """The names with a suffix of the architectures that have a feature."""
    return {a.name + s for a in TABLE["arch"].values() if feature in TABLE["family"][a["family"]].flags for s in a.flags}


def minimum(op):
    """The form's minimum target (section 4): (number, exact architectures or None)."""
    k, t = op.kind, op.text
    if k.startswith("t5."):
        return 100, variants("tcgen05")
    if k.startswith("wgmma"):
        return 90, variants("wgmma")
    if k in ("map.replace", "map.copy"):
        return 90, variants("abi90")
    if k in ("map.release", "map.acquire", "cluster.arrive", "cluster.wait", "st.async", "red.async", "bulk", "bulk.reduce",
             "tensor", "bulk.commit", "bulk.wait", "mb.expect", "mb.complete") or op.scope == "cluster":
        return 90, None
    spaces = op.space if isinstance(op.space, list) else [op.space]
    if "shared::cluster" in spaces or k == "mb.wait" and "try_wait" in t:
        return 90, None
    if k == "fence":
        return (90 if op.sem in ("acquire", "release") else 70 if not getattr(op, "membar", 0) else 20 if op.scope == "sys" else 0), None
    if k == "proxy":
        return (90 if op.op == "async" else 60 if getattr(op, "membar", 0) else 70), None
    if k in ("mb.arrive", "mb.drop", "mb.wait") and (op.sem == "relaxed" or re.search(r"\.(cta|cluster)(\.|\s)", t.replace("shared::cta", ""))
                                                     or "expect_tx" in op.flags):
        return 90, None
    if k.startswith("mb.") or k == "cp" or k.startswith("cp."):
        return 80, None
    if k in ("ld", "st", "atom", "red") and op.sem in ("relaxed", "acquire", "release", "acq_rel", "mmio", "seq_cst") and not (
            k in ("atom", "red") and op.sem == "relaxed" and "relaxed" not in t):
        return 70, None
    return 0, None


class Thread:
    def __init__(self, d, index):
        self.id, self.index = d["id"], index
        self.kind, self.gpu = d.get("kind", "thread"), d.get("gpu", 0)
        self.lanes, self.start = d.get("lanes", 1), d.get("start", True)
        if self.kind == "thread":
            self.cta = (self.gpu, d.get("cta", 0))
            self.cluster = (self.gpu, d["cluster"]) if "cluster" in d else (self.gpu, "of cta", d.get("cta", 0))
        else:  # a client of its own
            self.cta = self.cluster = (self.kind, self.id)
        self.place = (self.cta, self.cluster, ("host", self.id) if self.kind in ("host", "stream") else self.gpu, None)
        self.ops = []

    def reached(self, scope, other):
        """Does `scope`, written by this thread, include `other`?"""
        n = SCOPES[scope] - 1
        return self is other or self.place[n] == other.place[n]


class Test:
    def __init__(self, d):
        self.d, self.name, self.model = d, d["name"], d.get("model", "ptx")
        self.options = d.get("options", {})
        self.bound = d.get("bound", 2)
        self.threads = [Thread(t, i) for i, t in enumerate(d["threads"])]
        self.corpus, self.ptx = self.model in CORPUS, self.model in CORPUS + ("ptx",)
        self.places()
        target = d.get("target")
        for th, raw in zip(self.threads, d["threads"]):
            for i, text in enumerate(raw["ops"]):
                try:
                    op = self.parser()(text)
                    if not self.ptx:
                        th.ops.append(op)
                        continue
                    if op.kind == "proxy" and op.op in ("texture", "surface", "constant") and self.model != "ptx75-proxy":
                        raise Refused(f"'{text}': no such proxy fence")
                    if op.sem == "seq_cst" and self.model != "ptx75-proxy":
                        raise Refused(f"'{text}': no .seq_cst in PTX")
                    if target:
                        self.need(op, target)
                    self.spaces(th, op)
                except Refused as e:
                    raise Refused(f"{th.id} op {i}: {e}") from None
                th.ops.append(op)
            th.labels = {o.label: i for i, o in enumerate(th.ops) if o.kind == "label"}

    def parser(self):
        if self.ptx:
            return parse
        if self.model == "nvshmem":
            from delivery import parse_call
            return parse_call
        if self.model == "caches":
            from cache_machine import parse_sass
            return parse_sass
        raise Refused(f"no model '{self.model}'")

    def need(self, op, target):
        least, exact = minimum(op)
        number = int(re.match(r"sm_(\d+)", target)[1])
        if exact is not None and target not in exact:
            names = min(exact, key=lambda n: (len(n), n))
            raise Refused(f"'{op.text}' needs {names}, the target is {target}")
        if number < least:
            raise Refused(f"'{op.text}' needs sm_{least}, the target is {target}")

    def places(self):
        d, self.objects, self.locations = self.d, {}, {}
        declared = d.get("locations", {})
        for name, l in declared.items():
            if "of" in l:
                continue
            kind = l.get("kind", "data")
            size = l.get("size", {"mbarrier": 8, "tensormap": 128}.get(kind, 4))
            space = l.get("space", "global")
            owner = (l.get("gpu", 0), l.get("cta", 0)) if space != "global" else None
            self.objects[name] = {"space": space, "owner": owner, "kind": kind, "size": size, "count": l.get("count")}
            self.locations[name] = Location(name, name, 0, size)
        for name, l in declared.items():
            if "of" in l:
                whole = self.locations[l["of"]]
                self.locations[name] = Location(name, whole.base, whole.first + l.get("offset", 0), l["size"], whole.alias)
        names = {n for n in d.get("init", {}) if ":" not in n}
        for t in d["threads"]:
            for text in t["ops"]:
                names |= {m for m in re.findall(r"\[\s*([A-Za-z_]\w*)", text)} | set(re.findall(r"&(\w+)", text))
        for v in d.get("init", {}).values():
            if isinstance(v, str):
                names.add(v[1:])
        aliases = {a["addr"]: a for a in d.get("aliases", [])}
        for name in sorted(names):
            if name not in self.locations and name not in aliases:
                self.objects[name] = {"space": "global", "owner": None, "kind": "data", "size": 4, "count": None}
                self.locations[name] = Location(name, name, 0, 4)

        def resolve(name):
            if name in self.locations:
                return self.locations[name]
            a = aliases[name]
            if a["of"] not in aliases and a["of"] not in self.locations:
                self.objects[a["of"]] = {"space": "global", "owner": None, "kind": "data", "size": 4, "count": None}
                self.locations[a["of"]] = Location(a["of"], a["of"], 0, 4)
            of = resolve(a["of"])
            generic = a["proxy"] == "generic"
            self.locations[name] = Location(name, of.base, of.first, of.size, name if generic else of.alias, a["proxy"])
            return self.locations[name]
        for name in aliases:
            resolve(name)
        for n in names_of(d.get("condition", "nontermination")):
            if n[0] == "mem" and n[1] not in self.locations or n[0] == "reg" and n[1] not in {t["id"] for t in d["threads"]}:
                raise Refused(f"the condition names '{key(n)}', which is neither a register nor a location")

    def spaces(self, th, op):
        """A state space that is written must be the location's; shared memory is reached inside its cluster."""
        for o in op.operands:
            if o[0] != "mem" or o[1] not in self.locations:
                continue
            obj = self.objects[self.locations[o[1]].base]
            if obj["space"] == "shared::cta":
                clusters = {t.cta: t.cluster for t in self.threads}
                if obj["owner"] != th.cta and clusters.get(obj["owner"]) != th.cluster:
                    raise Refused(f"'{op.text}': {o[1]} is shared memory outside of the thread's cluster")
                if op.kind == "mb.wait" and obj["owner"] != th.cta:
                    raise Refused(f"'{op.text}': a wait names an mbarrier of its own CTA")
            if op.kind == "map.acquire" and obj["space"] != "global":
                raise Refused(f"'{op.text}': the address must be in global memory")
            if op.kind in ("ld", "st", "atom", "red") and op.space:
                own = {"global": {"global"}, "shared::cta": {"shared::cluster"} | ({"shared", "shared::cta"} if obj["owner"] == th.cta else set())}
                if op.space[0] not in own.get(obj["space"], set()):
                    raise Refused(f"'{op.text}': {o[1]} is not in .{op.space[0]} of this thread")
