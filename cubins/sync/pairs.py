# SPDX-License-Identifier: Apache-2.0
"""The patterns in cubins/sync: how each is launched, what comes out, which links can be left out, and what a checker
then has to find. `rebuild` turns this into cubins, plans and expected.json."""
import re


def pattern(name, buffers, *launches, archs="sm_90", ends={}, ptx={}, only={}, source=None, device=None, **twins):
    """`twins`: link -> findings when it is left out. `ends`: status of twins that do not end well. `ptx`: verdicts of twins
    that the PTX model does not tell from the correct pattern. `only`: architectures of twins that others lack. `source`: a module of templates that has all variants. `device`: of the plan."""
    FOUND[name] = {"buffers": buffers, "launches": launches, "archs": archs.split(), "ends": ends, "ptx": ptx, "twins": twins,
                   "only": {variant: archs.split() for variant, archs in only.items()}, "source": source, "device": device}


def template(kernel, variant, path):
    """The mangled name of a kernel of library/library.cu; the links there are numbered as its enum has them."""
    with open(path) as f:
        links = re.search(r"enum \{ (.*?) \};", f.read()).group(1).split(", ")
    return "_Z%d%sILi%dEEvPKjPjS2_" % (len(kernel), kernel, links.index("none" if variant == "correct" else variant))


LETTER = "by the letter only"


def find(kind, first, second=None, plain=True, common=True, archs=None):
    """Accesses by the marks of their lines. plain: what to find without line information (True: the same; LETTER: the same, strict
    only; False: nothing, the words are those of the correct kernel; or another kind). common=False: strict only. archs: those that have it, where that is not all."""
    return {"kind": kind, "marks": [first, second or first], "common": common, "archs": archs and archs.split(),
            "plain": kind if plain in (True, LETTER) else plain, "plain_common": common and plain != LETTER}


def philox(seed, index):
    """The first word of Philox4x32-10, as cubins/README.md says."""
    k0, k1, c = seed & 0xFFFFFFFF, seed >> 32, [index & 0xFFFFFFFF, index >> 32, 0, 0]
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [p1 >> 32 ^ c[1] ^ k0, p1 & 0xFFFFFFFF, p0 >> 32 ^ c[3] ^ k1, p0 & 0xFFFFFFFF]
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    return c[0]


SEED, LIMIT = 7, 100003


def words(count):
    """The first `count` of D."""
    return {"bytes": 4 * count, "random": {"type": "u32", "seed": SEED, "low": 0, "high": LIMIT}}


def room(count, fill="0x00"):
    """Room for results or scratch; what must be in it comes from `gives`."""
    return {"bytes": 4 * count, "fill": fill}


def ones(count):
    return {"bytes": 4 * count, "random": {"type": "u32", "seed": SEED, "low": 1, "high": 2}}


def gives(values, fill="0xcd"):
    return {"bytes": 4 * len(values), **({"fill": fill} if fill else {}),
            "expect": {"type": "u32", "values": [v & 0xFFFFFFFF for v in values]}}


def launch(kernel, grid, block, *args, **more):
    return {"kernel": kernel, "grid": [grid, 1, 1], "block": [block, 1, 1], **more,
            "args": [a if isinstance(a, dict) else {"buffer": a} for a in args]}


def table(buffer, W, R):
    return {"tensorMap": {"buffer": buffer, "type": "u32", "dims": [W, R], "strides": [4 * W], "box": [W, R]}}


RACE, PROXY, SCOPE = "data-race", "missing-proxy-fence", "scope-too-narrow"
RELEASE, ACQUIRE, ORDER = "missing-release", "missing-acquire", "no-memory-order"
REUSE, UNINITIALISED, MBARRIER = "async-reuse", "uninitialised-read", "mbarrier-protocol"
MISUSE, READ_ONLY, MAP = "barrier-misuse", "read-only-data", "missing-tensormap-fence"
ALL = "sm_75 sm_90"
MODERN = "sm_80 sm_86 sm_89 sm_90 sm_100 sm_120"
D = [philox(SEED, i) * LIMIT >> 32 for i in range(2048)]
UNTOUCHED = 0xCDCDCDCD


def rows(first):
    """128 rows of 32 bytes from word `first` of D."""
    return [[w >> 8 * i & 255 for w in D[first + 8 * r:first + 8 * r + 8] for i in range(4)] for r in range(128)]


def side_by_side(first):
    """The same words, in shared memory as a descriptor of tensor.h has them: 8 rows of 16 bytes, then their other halves."""
    halves = [h for row in rows(first) for h in (row[:16], row[16:])]
    return [halves[r // 8 * 16 + r % 8] + halves[r // 8 * 16 + 8 + r % 8] for r in range(128)]


FOUND = {}


def patterns(W, R, FEW):
    """W: threads of what is a warp, or a warp's part in it; R: rows of a tile; FEW: CTAs of what takes several."""
    FOUND.clear()
    H = max(W // 2, 1)
    pattern("syncthreads", {"in": words(6 * W), "out": gives([D[i // (2 * W) * 2 * W + (i % (2 * W) ^ (W | 1))] for i in range(6 * W)])},
            launch("syncthreads", 1, 2 * W, "in", "out"), archs=ALL,
            full=[find(RACE, "write", "read")], empty=[find(RACE, "read", "write")])
    pattern("named_barriers", {"in": words(4 * W), "out": gives([D[i // W * W + W - 1 - i % W] for i in range(4 * W)])},
            launch("named_barriers", 1, 32 + W, "in", "out"), archs=ALL,
            full=[find(RACE, "write", "read")], empty=[find(RACE, "read", "write")])
    pattern("barrier_reduce",
            {"in": words(2 * W), "out": gives([D[i ^ (W | W // 4)] + sum(v & 1 for v in D[:2 * W]) for i in range(2 * W)])},
            launch("barrier_reduce", 1, 2 * W, "in", "out"), archs=ALL, reduce=[find(RACE, "write", "read")],
            mixed=[find(MISUSE, "mixed")])
    # Where bits are cut off nothing else happens; elsewhere it is a fault.
    OLD, NEW = "sm_75 sm_80", "sm_90 sm_100 sm_120"
    pattern("register_barriers",
            {"in": words(W), "out": gives(D[:W][::-1])},
            launch("register_barriers", 1, 32 + W, "in", {"u32": 5}, {"u32": 32 + W}, {"u32": 21}, {"u32": 4096 + 32 + W}, "out"),
            archs=OLD + " " + NEW,
            full=[find(RACE, "write", "read")],
            number=[find(MISUSE, "arrive"), find(MISUSE, "sync")], count=[find(MISUSE, "arrive"), find(MISUSE, "sync")],
            beyond=[find(MISUSE, "arrive")], most=[find(MISUSE, "arrive")],
            only={"number": NEW, "count": OLD, "beyond": OLD, "most": NEW}, ends={"beyond": "fault:barrier-misuse", "most": "fault:barrier-misuse"})
    pattern("tree", {"in": words(4 * W), "out": gives([sum(D[:4 * W])])}, launch("tree", 1, 4 * W, "in", "out"), archs=ALL,
            loaded=[find(RACE, "load", "add")], level=[find(RACE, "add", "add")])
    pattern("syncwarp", {"in": words(W), "out": gives([D[i ^ (W // 4 + 1)] for i in range(W)])},
            launch("syncwarp", 1, W, "in", "out"), archs=ALL,
            warp=[find(RACE, "write", "read", plain=False, common=False)])

    pattern("warp_volatile", {"in": words(W), "out": gives([sum(D[:W])])}, launch("warp_volatile", 1, W, "in", "out"), archs=ALL,
            warp=[find(RACE, "store", "load", plain=False, common=False)])

    def scrambled(v):
        for i in range(3):
            v = v * 3 + i
        return v

    pattern("syncwarp_divergent",
            {"in": words(W), "out": gives([scrambled(D[i % H]) for i in range(W)])},
            launch("syncwarp_divergent", 1, W, "in", {"u32": 3}, "out"), archs=ALL,
            warp=[find(RACE, "write", "read", plain=False, common=False), find(UNINITIALISED, "read")])
    pattern("histogram",
            {"in": words(2 * W), "out": gives([sum(v % H == i for v in D[:2 * W]) for i in range(H)])},
            launch("histogram", 1, 2 * W, "in", "out"), archs=ALL,
            zeroed=[find(RACE, "zero", "count")], counted=[find(RACE, "count", "read")])

    ONE_WAY = {"in": words(W), "out": gives(D[:W][::-1])}
    pattern("mbarrier_cta", ONE_WAY, launch("mbarrier_cta", 1, 2 * W, "in", "out"),
            wait=[find(RACE, "write", "read")], parity=[find(RACE, "write", "read")],
            release=[find(RELEASE, "write", "read", plain=False)], acquire=[find(ACQUIRE, "write", "read", plain=False)],
            init=[find(MBARRIER, "init", "await")])
    pattern("mbarrier_fences", ONE_WAY, launch("mbarrier_fences", 1, 2 * W, "in", "out"),
            release=[find(RELEASE, "write", "read", plain=False)], acquire=[find(ACQUIRE, "write", "read", plain=False)],
            both=[find(ORDER, "write", "read", plain=False)])
    pattern("mbarrier_ring", {"in": words(3 * W), "out": gives([D[i // W * W + W - 1 - i % W] for i in range(3 * W)])},
            launch("mbarrier_ring", 1, 2 * W, "in", "out"),
            empty=[find(RACE, "read", "write")], full=[find(RACE, "write", "read")])

    pattern("mbarrier_poll", {"in": words(4 * W), "out": gives([D[i // W * W + W - 1 - i % W] for i in range(4 * W)])},
            launch("mbarrier_poll", 1, 2 * W, "in", "out"), archs=MODERN,
            empty=[find(RACE, "read", "write")], full=[find(RACE, "write", "read")], init=[find(MBARRIER, "init", "await")])

    # Two CTAs that push to each other: CTA r gets what CTA r ^ 1 read, reversed.
    PUSHED = [D[(i // W ^ 1) * W + W - 1 - i % W] for i in range(2 * W)]
    TRIPLE = [D[(i // W ^ 1) * W + i % W] * 3 for i in range(2 * W)]
    PUSH = {"in": words(2 * W), "out": gives(PUSHED)}
    pattern("cluster_barrier",
            {"in": words(2 * W), "out": gives([a + b for a, b in zip(PUSHED, TRIPLE)]), "side": room(2 * W)},
            launch("cluster_barrier", 2, W, "in", "out", "side"),
            release=[find(RELEASE, "push", "read"), find(RELEASE, "store", "read")], reuse=[find(RACE, "read", "again")])
    pattern("cluster_mbarrier", PUSH, launch("cluster_mbarrier", 2, W, "in", "out"),
            release=[find(RELEASE, "push", "read")], scope=[find(SCOPE, "push", "read", plain=RELEASE)],
            acquire=[find(ACQUIRE, "push", "read", plain=False)], wait=[find(RACE, "push", "read")])
    pattern("cluster_barrier_fence", PUSH, launch("cluster_barrier_fence", 2, W, "in", "out"),
            release=[find(RELEASE, "push", "read")], scope=[find(SCOPE, "push", "read")])
    pattern("cluster_mbarrier_fence", {"in": words(2 * W), "out": gives(PUSHED + TRIPLE), "side": room(2 * W)},
            launch("cluster_mbarrier_fence", 2, W, "in", "out", "side"),
            release=[find(RELEASE, "push", "read")],
            release_scope=[find(SCOPE, "push", "read"), find(SCOPE, "store", "load")],
            acquire=[find(ACQUIRE, "push", "read", plain=False), find(ACQUIRE, "store", "load")])
    SIDE = dict(PUSH, side=room(2 * W))
    pattern("st_async", SIDE, launch("st_async", 2, W, "in", "out", "side"),
            wait=[find(RACE, "push", "read")], expect=[find(MBARRIER, "expect"), find(RACE, "push", "read")],
            acquire=[find(ACQUIRE, "push", "read", plain=False)], release=[find(RELEASE, "store", "load")],
            scope=[find(SCOPE, "push", "read", plain=False)])
    pattern("st_async_fence", PUSH, launch("st_async_fence", 2, W, "in", "out"),
            acquire=[find(ACQUIRE, "push", "read", plain=False)])
    pattern("st_async_ring", {"in": words(5 * W), "out": gives([D[i // W * W + W - 1 - i % W] for i in range(5 * W)])},
            launch("st_async_ring", 2, W, "in", "out"), empty=[find(REUSE, "read", "push")], fence=[])
    pattern("pull", {"in": words(2 * W), "out": gives(D[W:2 * W] + D[:W]), "side": room(2 * W)},
            launch("pull", 2, W, "in", "out", "side"),
            release=[find(RELEASE, "write", "read")], acquire=[find(ACQUIRE, "write", "read", plain=False)],
            space=[find(SCOPE, "store", "load", plain=ACQUIRE)])
    pattern("cluster_cp_async", {"in": words(2 * W), "out": gives([D[(i // W ^ 1) * W + W - 1 - i % W] for i in range(2 * W)])},
            launch("cluster_cp_async", 2, W, "in", "out"),
            group=[find(RACE, "copy", "read")], release=[find(RELEASE, "copy", "read")], scope=[find(SCOPE, "copy", "read", plain=RELEASE)],
            acquire=[find(SCOPE, "copy", "read", plain=False)], wait=[find(RACE, "copy", "read")])
    pattern("mbarrier_init", {"out": gives([i // W + i % W for i in range(2 * W)])}, launch("mbarrier_init", 2, W, "out"),
            fence=[find(MBARRIER, "init", "arrive", plain=False)])

    FLAGS = {"in": words(2 * W), "data": room(2 * W), "flag": room(2 * W), "out": gives(D[:2 * W])}
    pattern("gpu_flag", {"in": words(2 * W), "data": room(2 * W), "flag": room(1), "out": gives(D[:2 * W][::-1] + [0])},
            launch("gpu_flag", 2, 2 * W, "in", "data", "flag", "out"), archs="sm_90",
            gathered=[find(RACE, "write", "read")], release=[find(RELEASE, "write", "read")],
            release_scope=[find(SCOPE, "write", "read"), find(SCOPE, "set", "poll")], acquire=[find(ACQUIRE, "write", "read")],
            acquire_scope=[find(SCOPE, "write", "read", plain=ACQUIRE)], spread=[find(RACE, "write", "read")])
    pattern("strong_gathered", {"in": words(2 * W), "data": room(2 * W), "flag": room(1), "out": gives(D[:2 * W][::-1] + [0])},
            launch("strong_gathered", 2, 2 * W, "in", "data", "flag", "out"), archs="sm_90",
            gathered=[find(RACE, "write", "read")], release=[find(RELEASE, "write", "read")],
            acquire=[find(ACQUIRE, "write", "read")], spread=[find(RACE, "write", "read")])
    pattern("handshake", FLAGS, launch("handshake", 2, 2 * W, "in", "data", "flag", "out"), archs=ALL, ptx={"strong": "forbidden"},
            store=[find(RELEASE, "write", "read")], store_level=[find(SCOPE, "write", "read")],
            load=[find(ACQUIRE, "write", "read")], strong=[find(RACE, "set", "poll", plain=LETTER), find(RACE, "write", "read", plain=False)])
    pattern("release_acquire",
            {"in": words(W), "data": room(W), "flag": room(W), "out": gives(D[:W] + D[:W])},
            launch("release_acquire", 2, 2 * W, "in", "data", "flag", "out"), archs=ALL,
            release=[find(RELEASE, "write", "near"), find(RELEASE, "write", "read")], acquire=[find(ACQUIRE, "write", "read")],
            scope=[find(SCOPE, "write", "read"), find(SCOPE, "set", "poll")])
    pattern("strong_data", FLAGS, launch("strong_data", 2, 2 * W, "in", "data", "flag", "out"), archs=ALL,
            release=[find(RELEASE, "write", "read")], acquire=[find(ACQUIRE, "write", "read")])

    def folded(t):
        total = 0
        for i in range(FEW):
            total = total * 3 + D[i * 2 * W + (t + 7) % (2 * W)] * 5
        return total

    pattern("last_block",
            {"in": words(FEW * 2 * W), "part": room(FEW * 2 * W), "count": room(1), "out": gives([folded(t) for t in range(2 * W)])},
            launch("last_block", FEW, 2 * W, "in", "part", "count", "out"), archs=ALL,
            gathered=[find(RACE, "write", "read")], release=[find(RELEASE, "write", "read")],
            release_scope=[find(SCOPE, "write", "read")], acquire=[find(ACQUIRE, "write", "read")])
    pattern("fenced_block",
            {"in": words(FEW * 2 * W), "part": room(FEW * 2 * W), "count": room(1), "out": gives([folded(t) for t in range(2 * W)])},
            launch("fenced_block", FEW, 2 * W, "in", "part", "count", "out"), archs="sm_80 sm_90",
            gathered=[find(RACE, "write", "read")], release=[find(RELEASE, "write", "read")], weaker=[find(ORDER, "write", "read")],
            acquire=[find(ACQUIRE, "write", "read")], spread=[find(RACE, "last", "look")])
    PREFIX = [sum(D[:(i + 1) * W]) for i in range(FEW)]
    pattern("look_back", {"in": words(FEW * W), "words": room(2 * FEW), "values": room(2 * FEW), "out": gives(PREFIX)},
            launch("look_back", FEW, W, "in", "words", "values", "out"), archs="sm_80 sm_90",
            ptx={"scope": "forbidden"}, scope=[find(SCOPE, "publish", "look")], apart=[find(ORDER, "publish", "fetch")])
    pattern("look_back_wide",
            {"in": words(FEW), "words": room(8 * FEW), "out": gives([sum(D[:i + 1]) for i in range(FEW)])},
            launch("look_back_wide", FEW, 1, "in", "words", "out"), archs="sm_80 sm_90", apart=[find(ORDER, "value", "fetch")])
    pattern("spin_lock", {"mutex": room(1), "sum": gives([FEW * (2 * FEW + 1)], fill="0x00")}, launch("spin_lock", 2 * FEW, W, "mutex", "sum"), archs=ALL,
            acquire=[find(ACQUIRE, "add")], release=[find(RELEASE, "add")], lock=[find(RACE, "add")],
            acquire_scope=[find(SCOPE, "add", plain=ORDER), find(SCOPE, "cas", "unlock")])
    pattern("grid_barrier",
            {"in": words(FEW * 2 * W), "data": room(FEW * 2 * W), "count": room(1),
             "out": gives([D[(i // (2 * W) + 1) % FEW * 2 * W + 2 * W - 1 - i % (2 * W)] + (i // (2 * W) + 1) % FEW
                           for i in range(FEW * 2 * W)])},
            launch("grid_barrier", FEW, 2 * W, "in", "data", "count", "out", cooperative=True), archs=ALL,
            gathered=[find(RACE, "write", "read")], release=[find(RELEASE, "write", "read")],
            acquire=[find(ACQUIRE, "write", "read")], spread=[find(RACE, "write", "read")])
    pattern("own_acquire", FOUND["grid_barrier"]["buffers"],
            launch("own_acquire", FEW, 2 * W, "in", "data", "count", "out", cooperative=True), archs="sm_80 sm_90",
            gathered=[find(RACE, "write", "read")], release=[find(RELEASE, "write", "read")],
            acquire=[find(ACQUIRE, "write", "read")], spread=[find(RACE, "write", "read")])
    pattern("atomic_scope", {"sum": gives([FEW * W * (2 * W - 1)], fill="0x00")}, launch("atomic_scope", FEW, 2 * W, "sum"), archs=ALL,
            scope=[find(SCOPE, "narrow")], atomic=[find(RACE, "plain")])
    pattern("uninitialised",
            {"in": words(2 * W), "out": gives([D[2 * W - 1 - t] * (1 if 2 * W - 1 - t == 9 % (2 * W) else 3) + 1 for t in range(2 * W)] + [0 if t == 9 % (2 * W) else v * 2 for t, v in enumerate(D[:2 * W])], fill=None)},
            launch("uninitialised", 1, 2 * W, "in", "out"), archs=ALL,
            shared_word=[find(UNINITIALISED, "shared", common=False)])

    pattern("cp_async", {"in": words(32 * W), "out": gives([D[i // (8 * W) * 8 * W + 8 * W - 1 - i % (8 * W)] for i in range(32 * W)])},
            launch("cp_async", 1, 2 * W, "in", "out"), archs="sm_80 sm_90",
            wait=[find(RACE, "copy", "read")], barrier=[find(RACE, "copy", "read")])
    pattern("cp_async_mbarrier", {"in": words(8 * W), "out": gives(D[:8 * W][::-1])},
            launch("cp_async_mbarrier", 1, 2 * W, "in", "out"), copies=[find(RACE, "copy", "read")])
    pattern("cp_async_arrive", {"in": words(8 * W), "out": gives(D[:8 * W][::-1])},
            launch("cp_async_arrive", 1, 2 * W, "in", "out"), archs=MODERN,
            copies=[find(RACE, "copy", "read")], wait=[find(RACE, "copy", "read")])
    pattern("tma_store", {"in": words(R * W), "out": gives([v + 1 for v in D[:R * W]])},
            launch("tma_store", 1, 2 * W, "in", table("out", W, R)), ptx={"issuer": "forbidden"},
            fence=[find(PROXY, "write", "copy")], barrier=[find(RACE, "write", "copy")],
            issuer=[find(PROXY, "write", "copy", common=False)])
    pattern("bulk_store", {"in": words(6 * W), "out": gives([v * 7 for v in D[:6 * W]])},
            launch("bulk_store", 1, 2 * W, "in", "out"),
            fence=[find(PROXY, "write", "copy")], reuse=[find(REUSE, "copy", "write")], barrier=[find(RACE, "write", "copy")],
            leave=[find(REUSE, "copy")], ptx={"leave": "forbidden"})
    pattern("tma_load", {"in": words(R * W), "out": gives([D[(R - 1 - i // W) * W + i % W] for i in range(R * W)])},
            launch("tma_load", 1, 2 * W, table("in", W, R), "out"),
            wait=[find(RACE, "copy", "read")], spread=[find(RACE, "copy", "read")], expect=[find(MBARRIER, "expect")], ends={"expect": "deadlock"}, ptx={"expect": "forbidden"})
    pattern("bulk_load", {"in": words(W), "out": gives([D[i - W ^ W - 1] if i >= W else i ^ W - 1 for i in range(2 * W)])},
            launch("bulk_load", 1, 2 * W, "in", "out"), fence=[find(PROXY, "write", "copy")], barrier=[find(RACE, "write", "copy")])
    pattern("bulk_reuse", {"in": words(8 * W), "out": gives([D[i // (2 * W) * 2 * W + 2 * W - 1 - i % (2 * W)] for i in range(8 * W)])},
            launch("bulk_reuse", 1, 2 * W, "in", "out"),
            empty=[find(REUSE, "read", "copy")], fence=[find(PROXY, "read", "copy", common=False)])
    pattern("bulk_global", {"in": words(W), "data": room(W), "out": gives([v + 9 for v in D[:W][::-1]])},
            launch("bulk_global", 1, W, "in", "data", "out"), fence=[find(PROXY, "write", "copy")])
    pattern("bulk_result", {"in": words(2 * W), "data": room(2 * W), "out": gives([v * 3 for v in D[:2 * W][::-1]])},
            launch("bulk_result", 1, 2 * W, "in", "data", "out"),
            wait=[find(RACE, "copy", "read")], spread=[find(RACE, "copy", "read")])
    pattern("bulk_reduce", {"in": words(3 * W), "data": room(W + 1), "out": gives([sum(D[t::W][:3]) + 3 for t in range(W)])},
            launch("bulk_reduce", 3, W, "in", "data", "out"), fence=[find(PROXY, "write", "copy")],
            wait=[find(RACE, "copy", "read")], read=[find(RACE, "copy", "read", plain=False)],
            release=[find(RELEASE, "copy", "read", plain=SCOPE)], acquire=[find(ACQUIRE, "copy", "read")])
    # Tensor memory. Rows of 32 bytes, the first 16 of which are B too; a thread adds up four of its row's products.
    def multiplied(a, b=rows(0)):
        return [sum(f * sum(x * y for x, y in zip(row, b[n])) for n, f in enumerate([1, 3, 5, 7])) for row in a]

    TENSOR = dict(archs="sm_100a")
    pattern("tensor_operands", {"in": words(1024), "out": gives(multiplied(rows(0)))},
            launch("tensor_operands", 1, 128, "in", "out"), **TENSOR,
            fence=[find(PROXY, "write", "mma")], barrier=[find(RACE, "write", "mma")], wait=[find(RACE, "mma", "read")],
            after=[find(ORDER, "mma", "read", plain=False, common=False)])
    pattern("tensor_store", {"in": words(1024), "out": gives(multiplied([row[:16] * 2 for row in rows(0)]))},
            launch("tensor_store", 1, 128, "in", "out"), **TENSOR,
            wait=[find(PROXY, "store", "mma")], barrier=[find(RACE, "store", "mma"), find(UNINITIALISED, "mma")],
            before=[find(ORDER, "store", "mma", plain=False, common=False)],
            after=[find(ORDER, "store", "mma", plain=False, common=False)])
    pattern("tensor_reload", {"in": words(512), "out": gives([sum(f * D[4 * t + i] for i, f in enumerate([1, 3, 5, 7])) for t in range(128)])},
            launch("tensor_reload", 1, 128, "in", "out"), **TENSOR,
            load=[find(REUSE, "load", "again", plain=False)], store=[find(PROXY, "first", "load"), find(PROXY, "first", "again")])
    pattern("tensor_turns", {"in": words(1024), "out": gives([2 * v for v in multiplied(rows(0))])},
            launch("tensor_turns", 1, 128, "in", "out"), **TENSOR,
            barrier=[find(RACE, "mma", "again"), find(UNINITIALISED, "again")],
            before=[find(ORDER, "mma", "again", plain=False, common=False)],
            after=[find(ORDER, "mma", "again", plain=False, common=False)])
    pattern("tensor_ring", {"in": words(2048), "out": gives(multiplied(side_by_side(1024), side_by_side(0)))},
            launch("tensor_ring", 1, 128, "in", "out"), **TENSOR,
            full=[find(RACE, "copy", "mma"), find(REUSE, "copy", "mma")], empty=[find(REUSE, "mma", "copy")])
    # D of 64 x 8: a thread has two columns of two rows. B are the first rows of what there is.
    def warpgroup(*parts):
        def of(t):
            cells = [(t // 32 * 16 + t % 32 // 4 + e // 2 * 8, t % 4 * 2 + e % 2) for e in range(4)]
            return sum(f * sum(x * y for a, b in parts for x, y in zip(a[r], b[c])) for f, (r, c) in zip([1, 3, 5, 7], cells))
        return gives([of(t) for t in range(128)])

    WARPGROUP = dict(archs="sm_90a")
    pattern("wgmma_operands", {"in": words(512), "out": warpgroup((rows(0), rows(0)))}, launch("wgmma_operands", 1, 128, "in", "out"), **WARPGROUP,
            fence=[find(PROXY, "write", "mma")], barrier=[find(RACE, "write", "mma")])
    pattern("wgmma_cp_async", {"in": words(512), "out": warpgroup((rows(0), rows(0)))}, launch("wgmma_cp_async", 1, 128, "in", "out"), **WARPGROUP,
            wait=[find(RACE, "copy", "mma")], fence=[find(PROXY, "copy", "mma", common=False)], barrier=[find(RACE, "copy", "mma")])
    pattern("wgmma_ring", {"in": words(1024), "out": warpgroup((side_by_side(0), side_by_side(0)), (side_by_side(512), side_by_side(0)))},
            launch("wgmma_ring", 1, 160, "in", "out"), **WARPGROUP,
            full=[find(RACE, "copy", "mma")], warp=[find(RACE, "copy", "mma")], wait=[find(REUSE, "mma", "copy")])
    pattern("wgmma_reload", {"in": words(1024), "out": warpgroup((rows(0), rows(0)), (rows(512), rows(0)))},
            launch("wgmma_reload", 1, 128, "in", "out"), **WARPGROUP,
            wait=[find(REUSE, "first", "write")], fence=[find(PROXY, "write", "again")], barrier=[find(RACE, "write", "again")])
    pattern("tensor_pair", {"in": words(1024), "out": gives([sum(f * D[4 * t + i] for i, f in enumerate([1, 3, 5, 7])) for t in range(256)])},
            launch("tensor_pair", 2, 128, "in", "out"), **TENSOR,
            fence=[find(PROXY, "write", "copy")], barrier=[find(RACE, "write", "copy")], wait=[find(RACE, "copy", "read")],
            after=[find(ORDER, "copy", "read", plain=False, common=False)])
    # There is room for 8 of the 16 CTAs: the work of the others is handed over.
    pattern("work_queue", {"in": words(32 * W), "out": gives([v + 1 for v in D[:32 * W]])},
            launch("work_queue", 16, 2 * W, "in", "out"), archs="sm_100 sm_120", device={"sms": 1, "residentCtas": 8},
            wait=[find(RACE, "ask", "read")], empty=[find(REUSE, "read", "ask")], fence=[find(PROXY, "read", "ask", common=False)])
    pattern("two_launches", {"in": words(2 * W), "data": room(2 * W), "out": gives([D[i ^ W] + 1 for i in range(2 * W)])},
            launch("write", 2, W, "in", "data", "out"), launch("read", 2, W, "data", "out"), archs=ALL,
            apart=[find(RACE, "write", "read")])
    OVERLAPS = {"attributes": {"programmaticStreamSerialization": True}}
    pattern("grid_dependency", {"in": words(128), "data": room(128), "out": gives([D[i ^ 64] + 1 for i in range(128)])},
            launch("write", 2, 64, "in", "data"), launch("read", 2, 64, "data", "out", **OVERLAPS),
            launch("again", 2, 64, "data", **OVERLAPS),
            wait=[find(RACE, "write", "read"), find(RACE, "write", "again")], barrier=[find(RACE, "write", "read")])

    pattern("sixteen_barriers", {"in": words(16 * W), "out": gives([D[i // W * W + W - 1 - i % W] for i in range(16 * W)])},
            launch("sixteen_barriers", 1, 32 + W, "in", "out"), archs=ALL, last=[find(RACE, "write", "read")])
    pattern("aligned",
            {"in": words(64), "out": gives([UNTOUCHED if i % 32 >= W else (D[i ^ 33] - 7) * 3 if i % 2 else D[i ^ 33] + 5 + 9
                                            for i in range(64)])},
            launch("aligned", 1, 32 + W, "in", "out"), apart=[find(MISUSE, "odd"), find(MISUSE, "even")], ends={"apart": "deadlock"})
    pattern("tensormap",
            {"in": words(R * W), "made": room(32), "out": gives([D[(R - 1 - i // W) * W + i % W] for i in range(R * W)])},
            launch("tensormap", 1, 2 * W, table("in", W, R), "made", "out"), acquire=[find(MAP, "write", "copy")],
            release=[find(MAP, "write", "copy")])
    pattern("read_only", {"in": words(2 * W), "data": room(2 * W), "out": gives([D[i ^ (W | 1)] + 1 for i in range(2 * W)])},
            launch("read_only", 1, 2 * W, "in", "data", "out"), archs=ALL, coherent=[find(READ_ONLY, "write", "read")])
    SURFACE = {"surface": {"buffer": "data", "format": "u32", "width": 64}}
    pattern("surface", {"in": words(64), "data": room(64), "out": gives([D[i ^ 33] + 1 for i in range(64)])},
            launch("write", 1, 64, "in", SURFACE, "out"), launch("read", 1, 64, SURFACE, "out"),
            apart=[find(READ_ONLY, "write", "read")])
    # The library's: cooperative groups and the cuda:: headers.
    if W == FULL["W"]:
        library(W, FEW)

    # No bug: what tests/sync/strong_test.py finds too strong.
    pattern("too_strong", {"in": words(2 * W), "out": gives([D[i ^ 1 ^ (W | 1)] + D[i ^ (W | 1)] for i in range(2 * W)])},
            launch("too_strong", 1, 2 * W, "in", "out"))
    pattern("too_strong_fences", {"in": words(1), "data": room(1), "flags": room(3), "out": gives([D[0]])},
            launch("too_strong_fences", 2, W, "in", "data", "flags", "out"))

    return dict(FOUND)


def library(W, FEW):
    EVERY = "sm_75 " + MODERN

    def made(name, grid, block, count, values, archs=EVERY, scratch=2 * W + 1, data=room, fill="0xcd", more={}, **twins):
        pattern(name, {"in": words(count), "data": data(scratch), "out": gives(values, fill)},
                launch(name, grid, block, "in", "data", "out", **more), archs=archs, source="library", **twins)

    def swapped(count):
        return [D[i // (2 * W) * 2 * W + (i % (2 * W) ^ (W | 1))] for i in range(count)]

    def reversed_by(size, count):
        return [D[i // size * size + size - 1 - i % size] for i in range(count)]

    made("cg_block", 1, 2 * W, 6 * W, swapped(6 * W), full=[find(RACE, "write", "read")], empty=[find(RACE, "read", "write")])
    made("cg_block_split", 1, 2 * W, 2 * W, [a + D[i ^ 1] & 0xFFFFFFFF for i, a in enumerate(swapped(2 * W))])
    made("cg_tile", 1, 2 * W, 2 * W, [D[i ^ 9] for i in range(2 * W)],
         full=[find(RACE, "tile_write", "tile_read", plain=False, common=False)])
    # From sm_80 on its barriers are in shared memory that is reserved for the system.
    made("cg_wide_tile", 1, 4 * W, 8 * W, swapped(8 * W),
         full=[find(RACE, "wide_write", "wide_read")], empty=[find(RACE, "wide_read", "wide_write")])
    odd = [i for i in range(W) if D[i] & 1]
    made("cg_coalesced", 1, W, W, [D[odd[len(odd) - 1 - odd.index(i)]] if i in odd else 0 for i in range(W)],
         full=[find(RACE, "coalesced_write", "coalesced_read", plain=False, common=False)])
    made("cg_grid", FEW, 2 * W, FEW * 2 * W,
         [D[(c + 1) % FEW * 2 * W + 2 * W - 1 - t] + i for i in range(2) for c in range(FEW) for t in range(2 * W)],
         scratch=FEW * 2 * W, more={"cooperative": True}, full=[find(RACE, "grid_write", "grid_read")], empty=[find(RACE, "grid_read", "grid_write")])
    made("cg_cluster", 2, W, 2 * W, [D[(i // W ^ 1) * W + W - 1 - i % W] for i in range(2 * W)], archs="sm_90 sm_100 sm_120",
         more={"cluster": [2, 1, 1]}, full=[find(RACE, "cluster_write", "cluster_read")], empty=[find(RACE, "cluster_read", "cluster_again")])
    made("cg_memcpy", 1, 2 * W, 8 * W, reversed_by(8 * W, 8 * W), wait=[find(RACE, "memcpy", "memcpy_read")])
    made("cuda_barrier", 1, 2 * W, 6 * W, swapped(6 * W),
         full=[find(RACE, "barrier_write", "barrier_read")], empty=[find(RACE, "barrier_read", "barrier_write")])
    made("cuda_barrier_parity", 1, 2 * W, W, reversed_by(W, W), wait=[find(RACE, "parity_write", "parity_read")])
    made("cuda_barrier_copy", 1, 2 * W, 8 * W, reversed_by(8 * W, 8 * W), wait=[find(RACE, "copy", "copy_read")])
    made("cuda_pipeline", 1, 2 * W, 32 * W, reversed_by(8 * W, 32 * W),
         full=[find(RACE, "pipe_copy", "pipe_read")], empty=[find(RACE, "pipe_read", "pipe_copy")],
         # For sm_90 ptxas gives the arrivals of producer_commit() the line of consumer_release().
         wait=[find(RACE, "pipe_first", "pipe_read"), find(MBARRIER, "pipe_copy", archs="sm_100 sm_120"),
               find(MBARRIER, "pipe_release", archs="sm_90")], only={"wait": "sm_90 sm_100 sm_120"})
    made("cuda_pipeline_roles", 1, 2 * W, 16 * W, reversed_by(4 * W, 16 * W),
         full=[find(RACE, "role_copy", "role_read")], empty=[find(RACE, "role_read", "role_copy")])
    # On sm_75 the thread copies by itself, and a wait of its own says nothing that the order of the program does not.
    made("cuda_pipeline_thread", 1, 2 * W, 8 * W, reversed_by(8 * W, 8 * W),
         wait=[find(RACE, "thread_copy", "thread_read")], full=[find(RACE, "thread_copy", "thread_read")], only={"wait": MODERN})
    made("cuda_atomic_ref", 2, 2 * W, 2 * W, reversed_by(2 * W, 2 * W),
         full=[find(RACE, "ref_write", "ref_read")], release=[find(RELEASE, "ref_write", "ref_read")],
         acquire=[find(ACQUIRE, "ref_write", "ref_read")], empty=[find(RACE, "ref_write", "ref_read")])
    made("cuda_atomic_wait", 2, 2 * W, 2 * W, reversed_by(2 * W, 2 * W), wait=[find(RACE, "wait_write", "wait_read")])
    made("cuda_semaphore", FEW, W, FEW, [sum(D[:FEW])], data=ones, fill="0x00", lock=[find(RACE, "turn")])
    made("cuda_latch", 1, 2 * W, 2 * W, swapped(2 * W), wait=[find(RACE, "latch_write", "latch_read")])


def defines(W, R, FEW):
    """Of the sources: in small kernels a tensor map is copied by fewer threads."""
    return ["-DW=%d" % W, "-DR=%d" % R, "-DPART=%s" % ("uint32_t" if W >= 16 else "uint4")]


FULL = dict(W=32, R=8, FEW=4)
PATTERNS = patterns(**FULL)
# Small enough for exploration. A bulk copy has at least 16 bytes, a row of a tensor too.
UNEXPLORED = {**{name: "made of headers" for name, p in PATTERNS.items() if p["source"]}, "grid_dependency": "launches follow one another whole", "surface": "surfaces are not explored",
              "work_queue": "clusterlaunchcontrol is not explored",
              "register_barriers": "its twins break the rules of barriers, which is no order",
              **{name: "tests/explore/machines/tensor.cu has its patterns in the small"
                 for name in PATTERNS if name.startswith("tensor_")},
              "bulk_reduce": "ptx takes minutes for it (tests/explore/machines has smaller ones)",
              "cluster_cp_async": "cp_async_mbarrier and cluster_mbarrier, of which it is made, are",
              **{name: "tests/explore/machines/products.cu has its links in the small" for name in PATTERNS if name.startswith("wgmma_")}}
SMALL = {name: dict(W=1, R=2, FEW=2) for name in PATTERNS if name not in UNEXPLORED}
for name, W in {"syncwarp": 2, "syncwarp_divergent": 2, "histogram": 2, "aligned": 2, "st_async": 2, "bulk_store": 2, "bulk_reuse": 2,
                "bulk_result": 2, "warp_volatile": 4, "tma_store": 4, "tma_load": 4, "tensormap": 4, "bulk_load": 4, "bulk_global": 4}.items():
    SMALL[name]["W"] = W
SMALL["spin_lock"]["FEW"] = 1


def small(name):
    return patterns(**SMALL[name])[name]
