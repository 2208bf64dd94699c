"""The patterns in cubins/sync: how each is launched, what comes out, which links can be left out, and what a checker
then has to find. `rebuild` turns this into cubins, plans and expected.json."""

PATTERNS = {}


def pattern(name, buffers, *launches, archs="sm_90", ends={}, **twins):
    """`twins`: link -> findings when it is left out. `ends`: status of twins that do not end well."""
    PATTERNS[name] = {"buffers": buffers, "launches": launches, "archs": archs.split(), "ends": ends, "twins": twins}


def find(kind, first, second=None, plain=True, common=True):
    """Accesses by the marks of their lines. plain: what to find without line information (True: the same; False: nothing,
    the words are those of the correct kernel; or another kind). common=False: strict only."""
    return {"kind": kind, "marks": [first, second or first], "plain": kind if plain is True else plain, "common": common}


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


def gives(count, values, fill="0xcd"):
    return {"bytes": 4 * count, "fill": fill, "expect": {"type": "u32", "values": [v & 0xFFFFFFFF for v in values]}}


def launch(kernel, grid, block, *args, **more):
    return {"kernel": kernel, "grid": [grid, 1, 1], "block": [block, 1, 1], **more,
            "args": [a if isinstance(a, dict) else {"buffer": a} for a in args]}


def table(buffer):
    return {"tensorMap": {"buffer": buffer, "type": "u32", "dims": [32, 8], "strides": [128], "box": [32, 8]}}


RACE, PROXY, SCOPE = "data-race", "missing-proxy-fence", "scope-too-narrow"
RELEASE, ACQUIRE, ORDER = "missing-release", "missing-acquire", "no-memory-order"
REUSE, UNINITIALISED, MBARRIER = "async-reuse", "uninitialised-read", "mbarrier-protocol"
MISUSE, READ_ONLY, MAP = "barrier-misuse", "read-only-data", "missing-tensormap-fence"
ALL = "sm_75 sm_90"
D = [philox(SEED, i) * LIMIT >> 32 for i in range(1024)]

pattern("syncthreads", {"in": words(192), "out": gives(192, [D[i // 64 * 64 + (i % 64 ^ 33)] for i in range(192)])},
        launch("syncthreads", 1, 64, "in", "out"), archs=ALL,
        full=[find(RACE, "write", "read")], empty=[find(RACE, "read", "write")])
pattern("named_barriers", {"in": words(128), "out": gives(128, [D[i // 32 * 32 + 31 - i % 32] for i in range(128)])},
        launch("named_barriers", 1, 64, "in", "out"), archs=ALL,
        full=[find(RACE, "write", "read")], empty=[find(RACE, "read", "write")])
pattern("barrier_reduce",
        {"in": words(64), "out": gives(64, [D[i ^ 40] + sum(v & 1 for v in D[:64]) for i in range(64)])},
        launch("barrier_reduce", 1, 64, "in", "out"), archs=ALL, reduce=[find(RACE, "write", "read")])
pattern("tree", {"in": words(128), "out": gives(1, [sum(D[:128])])}, launch("tree", 1, 128, "in", "out"), archs=ALL,
        loaded=[find(RACE, "load", "add")], level=[find(RACE, "add", "add")])
pattern("syncwarp", {"in": words(32), "out": gives(32, [D[i ^ 9] for i in range(32)])},
        launch("syncwarp", 1, 32, "in", "out"), archs=ALL,
        warp=[find(RACE, "write", "read", plain=False, common=False)])


def scrambled(v):
    for i in range(3):
        v = v * 3 + i
    return v


pattern("syncwarp_divergent",
        {"in": words(32), "out": gives(32, [scrambled(D[i % 16]) for i in range(32)])},
        launch("syncwarp_divergent", 1, 32, "in", {"u32": 3}, "out"), archs=ALL,
        warp=[find(RACE, "write", "read", plain=False, common=False), find(UNINITIALISED, "read")])
pattern("histogram",
        {"in": words(64), "out": gives(16, [sum(v % 16 == i for v in D[:64]) for i in range(16)])},
        launch("histogram", 1, 64, "in", "out"), archs=ALL,
        zeroed=[find(RACE, "zero", "count")], counted=[find(RACE, "count", "read")])

ONE_WAY = {"in": words(32), "out": gives(32, D[:32][::-1])}
pattern("mbarrier_cta", ONE_WAY, launch("mbarrier_cta", 1, 64, "in", "out"),
        wait=[find(RACE, "write", "read")], parity=[find(RACE, "write", "read")],
        release=[find(RELEASE, "write", "read", plain=False)], acquire=[find(ACQUIRE, "write", "read", plain=False)],
        init=[find(MBARRIER, "init", "await")])
pattern("mbarrier_fences", ONE_WAY, launch("mbarrier_fences", 1, 64, "in", "out"),
        release=[find(RELEASE, "write", "read", plain=False)], acquire=[find(ACQUIRE, "write", "read", plain=False)],
        both=[find(ORDER, "write", "read", plain=False)])
pattern("mbarrier_ring", {"in": words(96), "out": gives(96, [D[i // 32 * 32 + 31 - i % 32] for i in range(96)])},
        launch("mbarrier_ring", 1, 64, "in", "out"),
        empty=[find(RACE, "read", "write")], full=[find(RACE, "write", "read")])

# Two CTAs that push to each other: CTA r gets what CTA r ^ 1 read, reversed.
PUSHED = [D[(i // 32 ^ 1) * 32 + 31 - i % 32] for i in range(64)]
TRIPLE = [D[(i // 32 ^ 1) * 32 + i % 32] * 3 for i in range(64)]
PUSH = {"in": words(64), "out": gives(64, PUSHED)}
pattern("cluster_barrier",
        {"in": words(64), "out": gives(64, [a + b for a, b in zip(PUSHED, TRIPLE)]), "side": room(64)},
        launch("cluster_barrier", 2, 32, "in", "out", "side"),
        release=[find(RELEASE, "push", "read"), find(RELEASE, "store", "read")], reuse=[find(RACE, "read", "again")])
pattern("cluster_mbarrier", PUSH, launch("cluster_mbarrier", 2, 32, "in", "out"),
        release=[find(RELEASE, "push", "read")], scope=[find(SCOPE, "push", "read", plain=RELEASE)],
        acquire=[find(ACQUIRE, "push", "read", plain=False)], wait=[find(RACE, "push", "read")])
pattern("cluster_barrier_fence", PUSH, launch("cluster_barrier_fence", 2, 32, "in", "out"),
        release=[find(RELEASE, "push", "read")], scope=[find(SCOPE, "push", "read")])
pattern("cluster_mbarrier_fence", {"in": words(64), "out": gives(128, PUSHED + TRIPLE), "side": room(64)},
        launch("cluster_mbarrier_fence", 2, 32, "in", "out", "side"),
        release=[find(RELEASE, "push", "read")],
        release_scope=[find(SCOPE, "push", "read"), find(SCOPE, "store", "load")],
        acquire=[find(ACQUIRE, "push", "read", plain=False), find(ACQUIRE, "store", "load")])
SIDE = dict(PUSH, side=room(64))
pattern("st_async", SIDE, launch("st_async", 2, 32, "in", "out", "side"),
        wait=[find(RACE, "push", "read")], expect=[find(MBARRIER, "expect"), find(RACE, "push", "read")],
        acquire=[find(ACQUIRE, "push", "read", plain=False)], release=[find(RELEASE, "store", "load")])
pattern("st_async_fence", PUSH, launch("st_async_fence", 2, 32, "in", "out"),
        acquire=[find(ACQUIRE, "push", "read", plain=False)])
pattern("st_async_ring", {"in": words(160), "out": gives(160, [D[i // 32 * 32 + 31 - i % 32] for i in range(160)])},
        launch("st_async_ring", 2, 32, "in", "out"), empty=[find(RACE, "read", "push")])
pattern("pull", {"in": words(64), "out": gives(64, D[32:64] + D[:32]), "side": room(64)},
        launch("pull", 2, 32, "in", "out", "side"),
        release=[find(RELEASE, "write", "read")], acquire=[find(ACQUIRE, "write", "read", plain=False)],
        space=[find(SCOPE, "store", "load", plain=ACQUIRE)])
pattern("mbarrier_init", {"out": gives(64, [i // 32 + i % 32 for i in range(64)])}, launch("mbarrier_init", 2, 32, "out"),
        fence=[find(MBARRIER, "init", "arrive", plain=False)])

FLAGS = {"in": words(64), "data": room(64), "flag": room(64), "out": gives(64, D[:64])}
pattern("gpu_flag", {"in": words(64), "data": room(64), "flag": room(1), "out": gives(65, D[:64][::-1] + [0])},
        launch("gpu_flag", 2, 64, "in", "data", "flag", "out"), archs="sm_90",
        gathered=[find(RACE, "write", "read")], release=[find(RELEASE, "write", "read")],
        release_scope=[find(SCOPE, "write", "read"), find(SCOPE, "set", "poll")], acquire=[find(ACQUIRE, "write", "read")],
        acquire_scope=[find(SCOPE, "write", "read", plain=ACQUIRE)], spread=[find(RACE, "write", "read")])
pattern("handshake", FLAGS, launch("handshake", 2, 64, "in", "data", "flag", "out"), archs=ALL,
        store=[find(RELEASE, "write", "read")], store_level=[find(SCOPE, "write", "read")],
        load=[find(ACQUIRE, "write", "read")], strong=[find(RACE, "set", "poll"), find(RACE, "write", "read")])
pattern("release_acquire",
        {"in": words(32), "data": room(32), "flag": room(32), "out": gives(64, D[:32] + D[:32])},
        launch("release_acquire", 2, 64, "in", "data", "flag", "out"), archs=ALL,
        release=[find(RELEASE, "write", "near"), find(RELEASE, "write", "read")], acquire=[find(ACQUIRE, "write", "read")],
        scope=[find(SCOPE, "write", "read"), find(SCOPE, "set", "poll")])
pattern("strong_data", FLAGS, launch("strong_data", 2, 64, "in", "data", "flag", "out"), archs=ALL,
        release=[find(RELEASE, "write", "read")], acquire=[find(ACQUIRE, "write", "read")])


def folded(t):
    total = 0
    for i in range(4):
        total = total * 3 + D[i * 64 + (t + 7) % 64] * 5
    return total


pattern("last_block",
        {"in": words(256), "part": room(256), "count": room(1), "out": gives(64, [folded(t) for t in range(64)])},
        launch("last_block", 4, 64, "in", "part", "count", "out"), archs=ALL,
        gathered=[find(RACE, "write", "read")], release=[find(RELEASE, "write", "read")],
        release_scope=[find(SCOPE, "write", "read")], acquire=[find(ACQUIRE, "write", "read")])
pattern("spin_lock", {"mutex": room(1), "sum": gives(1, [36], fill="0x00")}, launch("spin_lock", 8, 32, "mutex", "sum"), archs=ALL,
        acquire=[find(ACQUIRE, "add")], release=[find(RELEASE, "add")], lock=[find(RACE, "add")],
        acquire_scope=[find(SCOPE, "add", plain=ORDER), find(SCOPE, "cas", "unlock")])
pattern("grid_barrier",
        {"in": words(256), "data": room(256), "count": room(1),
         "out": gives(256, [D[(i // 64 + 1) % 4 * 64 + 63 - i % 64] + (i // 64 + 1) % 4 for i in range(256)])},
        launch("grid_barrier", 4, 64, "in", "data", "count", "out", cooperative=True), archs=ALL,
        gathered=[find(RACE, "write", "read")], release=[find(RELEASE, "write", "read")],
        acquire=[find(ACQUIRE, "write", "read")], spread=[find(RACE, "write", "read")])
pattern("atomic_scope", {"sum": gives(1, [4 * 2016], fill="0x00")}, launch("atomic_scope", 4, 64, "sum"), archs=ALL,
        scope=[find(SCOPE, "narrow")], atomic=[find(RACE, "plain")])
pattern("uninitialised",
        {"in": words(64), "out": {"bytes": 512, "expect": {
            "type": "u32", "values": [D[63 - t] * 3 + 1 for t in range(64)] + [v * 2 for v in D[:64]]}}},
        launch("uninitialised", 1, 64, "in", "out"), archs=ALL,
        shared_word=[find(UNINITIALISED, "shared")], global_word=[find(UNINITIALISED, "global")])

pattern("cp_async", {"in": words(1024), "out": gives(1024, [D[i // 256 * 256 + 255 - i % 256] for i in range(1024)])},
        launch("cp_async", 1, 64, "in", "out"), archs="sm_80 sm_90",
        wait=[find(RACE, "copy", "read")], barrier=[find(RACE, "copy", "read")])
pattern("cp_async_mbarrier", {"in": words(256), "out": gives(256, D[:256][::-1])},
        launch("cp_async_mbarrier", 1, 64, "in", "out"), copies=[find(RACE, "copy", "read")])
pattern("tma_store", {"in": words(256), "out": gives(256, [v + 1 for v in D[:256]])},
        launch("tma_store", 1, 64, "in", table("out")),
        fence=[find(PROXY, "write", "copy")], barrier=[find(RACE, "write", "copy")],
        issuer=[find(PROXY, "write", "copy", common=False)])
pattern("bulk_store", {"in": words(192), "out": gives(192, [v * 7 for v in D[:192]])},
        launch("bulk_store", 1, 64, "in", "out"),
        fence=[find(PROXY, "write", "copy")], reuse=[find(REUSE, "copy", "write")], barrier=[find(RACE, "write", "copy")])
pattern("tma_load", {"in": words(256), "out": gives(256, [D[(7 - i // 32) * 32 + i % 32] for i in range(256)])},
        launch("tma_load", 1, 64, table("in"), "out"),
        wait=[find(RACE, "copy", "read")], spread=[find(RACE, "copy", "read")], expect=[find(MBARRIER, "expect")], ends={"expect": "deadlock"})
pattern("bulk_load", {"in": words(32), "out": gives(64, [D[i - 32 ^ 31] if i >= 32 else i ^ 31 for i in range(64)])},
        launch("bulk_load", 1, 64, "in", "out"), fence=[find(PROXY, "write", "copy")], barrier=[find(RACE, "write", "copy")])
pattern("bulk_reuse", {"in": words(256), "out": gives(256, [D[i // 64 * 64 + 63 - i % 64] for i in range(256)])},
        launch("bulk_reuse", 1, 64, "in", "out"),
        empty=[find(REUSE, "read", "copy")], fence=[find(PROXY, "read", "copy", common=False)])
pattern("bulk_global", {"in": words(32), "data": room(32), "out": gives(32, [v + 9 for v in D[:32][::-1]])},
        launch("bulk_global", 1, 32, "in", "data", "out"), fence=[find(PROXY, "write", "copy")])
pattern("bulk_result", {"in": words(64), "data": room(64), "out": gives(64, [v * 3 for v in D[:64][::-1]])},
        launch("bulk_result", 1, 64, "in", "data", "out"),
        wait=[find(RACE, "copy", "read")], spread=[find(RACE, "copy", "read")])
pattern("two_launches", {"in": words(64), "data": room(64), "out": gives(64, [D[i ^ 32] + 1 for i in range(64)])},
        launch("write", 2, 32, "in", "data", "out"), launch("read", 2, 32, "data", "out"), archs=ALL,
        apart=[find(RACE, "write", "read")])
OVERLAPS = {"attributes": {"programmaticStreamSerialization": True}}
pattern("grid_dependency", {"in": words(128), "data": room(128), "out": gives(128, [D[i ^ 64] + 1 for i in range(128)])},
        launch("write", 2, 64, "in", "data"), launch("read", 2, 64, "data", "out", **OVERLAPS),
        launch("again", 2, 64, "data", **OVERLAPS),
        wait=[find(RACE, "write", "read"), find(RACE, "write", "again")], barrier=[find(RACE, "write", "read")])

pattern("sixteen_barriers", {"in": words(512), "out": gives(512, [D[i // 32 * 32 + 31 - i % 32] for i in range(512)])},
        launch("sixteen_barriers", 1, 64, "in", "out"), archs=ALL, last=[find(RACE, "write", "read")])
pattern("aligned",
        {"in": words(64), "out": gives(64, [(D[i ^ 33] - 7) * 3 if i % 2 else D[i ^ 33] + 5 + 9 for i in range(64)])},
        launch("aligned", 1, 64, "in", "out"), apart=[find(MISUSE, "odd"), find(MISUSE, "even")])
pattern("tensormap",
        {"in": words(256), "made": room(32), "out": gives(256, [D[(7 - i // 32) * 32 + i % 32] for i in range(256)])},
        launch("tensormap", 1, 64, table("in"), "made", "out"), acquire=[find(MAP, "write", "copy")])
pattern("read_only", {"in": words(64), "data": room(64), "out": gives(64, [D[i ^ 33] + 1 for i in range(64)])},
        launch("read_only", 1, 64, "in", "data", "out"), archs=ALL, coherent=[find(READ_ONLY, "write", "read")])
SURFACE = {"surface": {"buffer": "data", "format": "u32", "width": 64}}
pattern("surface", {"in": words(64), "data": room(64), "out": gives(64, [D[i ^ 33] + 1 for i in range(64)])},
        launch("write", 1, 64, "in", SURFACE, "out"), launch("read", 1, 64, SURFACE, "out"),
        apart=[find(READ_ONLY, "write", "read")])
# No bug: what tests/sync/strong_test.py finds too strong.
pattern("too_strong", {"in": words(64), "out": gives(64, [D[i ^ 1 ^ 33] + D[i ^ 33] for i in range(64)])},
        launch("too_strong", 1, 64, "in", "out"))
