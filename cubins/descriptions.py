# SPDX-License-Identifier: Apache-2.0
"""What every kernel in cubins/ is launched with. plans.py turns this into the launch plans."""
from plans import (EXACT, bench, buf, close, data, f32, f64, fill, i32, launch, plan, rnd, text_bytes, u32, u64)

COLLISIONS = [space + "_%d" % width for width in (1, 2, 4, 8, 16) for space in ("global", "shared")] + ["generic_8", "strong_8"]

plan("vecadd",
     {"a": rnd("f32", 10000, 1, -1, 1), "b": rnd("f32", 10000, 2, -1, 1), "c": fill(40000, 0xcd, EXACT)},
     launch("vecadd", 40, 256, "a", "b", "c", i32(10000)))

plan("saxpy",
     {"x": rnd("f32", 16384, 3, -8, 8), "y": rnd("f32", 16384, 4, -8, 8, EXACT)},
     launch("saxpy", 16, 256, f32(1.7), "x", "y", i32(16384)))

plan("sgemm",
     {"a": rnd("f32", 256 * 256, 5, -1, 1), "b": rnd("f32", 256 * 256, 6, -1, 1), "c": rnd("f32", 256 * 256, 7, -1, 1, EXACT)},
     launch("sgemm", [4, 4], 256, i32(256), i32(256), i32(256), f32(1.25), "a", "b", f32(-0.5), "c"),
     keep=True)

plan("reduce_shared",
     {"x": rnd("f32", 40000, 8, -1, 1), "y": rnd("i32", 40000, 9), "fsum": fill(64, 0, EXACT), "imin": fill(64, 0, EXACT),
      "imax": fill(64, 0, EXACT)},
     launch("reduce_shared", 16, 256, "x", "y", "fsum", "imin", "imax", i32(40000)))

plan("reduce_shuffle",
     {"x": rnd("f32", 2048, 10, -4, 4), "down": fill(64, 0, EXACT), "butterfly": fill(16384, 0, EXACT),
      "prefix": fill(16384, 0, EXACT), "segments": fill(8192, 0, EXACT), "rotated": fill(8192, 0, EXACT)},
     launch("reduce_shuffle", 16, 128, "x", "down", "butterfly", "prefix", "segments", "rotated"))

plan("reduce_redux",
     {"x": rnd("u32", 1000, 11), "out": fill(40000, 0xcd, EXACT)},
     launch("reduce_redux", 8, 128, "x", "out", i32(1000)))

plan("reduce_atomic",
     {"x": rnd("i32", 20000, 12, -100000, 100000), "isum": fill(4, 0, EXACT), "wide": fill(8, 0, EXACT), "lo": fill(4, 0, EXACT),
      "hi": fill(4, 0, EXACT), "fsum": fill(4, 0, EXACT), "dsum": fill(8, 0, EXACT)},
     launch("reduce_atomic", 16, 256, "x", "isum", "wide", "lo", "hi", "fsum", "dsum", i32(20000)))

plan("scan",
     {"in": rnd("u32", 16384, 13, 0, 1000), "out": fill(65536, 0, EXACT), "totals": fill(256, 0, EXACT)},
     launch("scan_blocks", 64, 256, "in", "out", "totals"),
     launch("scan_totals", 1, 32, "totals", i32(64), dynamicShared=256),
     launch("scan_add", 64, 256, "out", "totals"))

plan("histogram",
     {"data": rnd("u32", 32768, 14), "bins": fill(1024, 0, EXACT)},
     launch("histogram", 16, 256, "data", "bins", i32(32768)))

plan("transpose",
     {"in": rnd("f32", 100 * 120, 15, -1, 1), "out": fill(100 * 120 * 4, 0xcd, EXACT)},
     launch("transpose", [4, 4], [32, 8], "in", "out", i32(100), i32(120)))

plan("interpreter",
     {"code": rnd("u8", 4096, 16), "start": rnd("i32", 16, 17, 0, 2000), "input": rnd("i32", 2048, 18), "out": fill(16384, 0xcd, EXACT)},
     launch("interpreter", 16, 128, "code", "start", "input", "out", i32(2048)))

plan("printf", {},
     launch("hello", 1, 32, i32(-7), f64(3.141592653589793)), stdout=True)

plan("warp_spin_lock",
     {"lock": fill(4), "counter": fill(4, 0, EXACT), "sum": fill(4, 0, EXACT)},
     launch("warp_spin_lock", 1, 32, "lock", "counter", "sum", i32(20)))

plan("cooperative",
     {"a": rnd("i32", 4096, 19, 0, 1000000, EXACT), "b": fill(16384, 0, EXACT)},
     launch("cooperative", 8, 128, "a", "b", i32(4096), i32(50), cooperative=True))

plan("mandelbrot",
     {"out": fill(256 * 128 * 2, 0, EXACT)},
     launch("mandelbrot", [8, 32], [32, 4], "out", i32(256), i32(128), f32(-2.0), f32(-1.0), f32(0.0125), i32(300)))

plan("dgemm",
     {"a": rnd("f64", 64 * 64, 20, -1, 1), "b": rnd("f64", 64 * 64, 21, -1, 1), "c": fill(64 * 64 * 8, 0, EXACT)},
     launch("dgemm", [2, 2], 256, i32(64), "a", "b", "c"))

plan("mma_exact",
     {"a": rnd("i8", 32 * 128, 301), "b": rnd("i8", 32 * 128, 302), "f16": fill(4096, 0xcd, EXACT), "half": fill(2048, 0xcd, EXACT),
      "bf16": fill(4096, 0xcd, EXACT), "tf32": fill(4096, 0xcd, EXACT), "integer": fill(4096, 0xcd, EXACT),
      "bits": fill(4096, 0xcd, EXACT), "double": fill(8192, 0xcd, EXACT), "sparse": fill(4096, 0xcd, EXACT)},
     launch("hmma_f16", [4, 2], 32, "a", "b", "f16", "half"), launch("hmma_bf16", [4, 2], 32, "a", "b", "bf16"),
     launch("hmma_tf32", [4, 2], 32, "a", "b", "tf32"), launch("imma", [4, 2], 32, "a", "b", "integer"),
     launch("bmma", [4, 4], 32, "a", "b", "bits"), launch("dmma", [4, 4], 32, "a", "b", "double"),
     launch("hmma_sparse", [4, 2], 32, "a", "b", "sparse"))

plan("hmma_gemm",
     {"a": rnd("f16", 128 * 128, 311, -1, 1), "b": rnd("f16", 128 * 128, 312, -1, 1), "c": fill(65536, 0xcd, EXACT),
      "ab": rnd("bf16", 128 * 128, 313, -1, 1), "bb": rnd("bf16", 128 * 128, 314, -1, 1), "cb": fill(65536, 0xcd, EXACT),
      "at": rnd("f32", 64 * 64, 315, -1, 1), "bt": rnd("f32", 64 * 64, 316, -1, 1), "ct": fill(16384, 0xcd, EXACT)},
     launch("gemm_f16", [2, 2], 128, i32(128), "a", "b", "c"), launch("gemm_bf16", [2, 2], 128, i32(128), "ab", "bb", "cb"),
     launch("gemm_tf32", [8, 4], 32, i32(64), "at", "bt", "ct"))

plan("hgemm",
     {"a": rnd("f16", 128 * 128, 22, -1, 1), "b": rnd("f16", 128 * 128, 23, -1, 1), "c": fill(128 * 128 * 2, 0, EXACT)},
     launch("hgemm", [4, 8], 256, i32(128), "a", "b", "c"))

plan("bitonic",
     {"keys": rnd("u32", 8192, 24, check=EXACT), "pairs": rnd("i64", 1024, 25, check=EXACT)},
     launch("bitonic", 8, 512, "keys"),
     launch("bitonic_warp", 8, 128, "pairs"))

plan("radix_sort",
     {"keys": rnd("u32", 16384, 26, check=EXACT), "values": rnd("u32", 16384, 27, check=EXACT), "keys2": fill(65536), "values2": fill(65536),
      "counts": fill(65536)},
     *[l for shift in (0, 8, 16, 24)
       for odd in [shift // 8 & 1]
       for l in (launch("radix_count", 64, 256, "keys2" if odd else "keys", "counts", i32(shift)),
                 launch("radix_scan", 1, 256, "counts", i32(16384)),
                 launch("radix_scatter", 64, 256, *(["keys2", "values2", "keys", "values"] if odd else ["keys", "values", "keys2", "values2"]),
                        "counts", i32(shift)))])

plan("stencil",
     {"in": rnd("f32", 64 * 48 * 16, 28, -1, 1), "out": fill(64 * 48 * 16 * 4, 0, EXACT)},
     launch("stencil", [2, 6], [32, 8], "in", "out", i32(64), i32(48), i32(16), f32(0.4), f32(0.1)))

plan("nbody",
     {"body": rnd("f32", 4 * 512, 29, 0, 1), "velocity": rnd("f32", 4 * 512, 30, -0.1, 0.1, EXACT),
      "next": fill(8192, 0, EXACT)},
     launch("nbody", 4, 128, "body", "velocity", "next", i32(512), f32(0.001), f32(0.01)))

plan("black_scholes",
     {"price": rnd("f32", 4000, 31, 5, 30), "strike": rnd("f32", 4000, 32, 1, 100), "years": rnd("f32", 4000, 33, 0.25, 10),
      "call": fill(16000, 0, EXACT), "put": fill(16000, 0, EXACT)},
     launch("black_scholes", 16, 256, "price", "strike", "years", "call", "put", i32(4000), f32(0.02), f32(0.3)))

plan("bfs",
     {"degree": rnd("u8", 2048, 34, 0, 6), "row": fill(2049 * 4), "edge": rnd("i32", 2048 * 5, 35, 0, 2048),
      "distance": fill(8192, 0xff, EXACT), "queue": fill(16384), "counts": fill(256, 0, EXACT)},
     launch("graph_rows", 1, 1, "degree", "row", i32(2048)),
     launch("bfs_start", 1, 1, "distance", "queue", "counts", i32(5)),
     *[launch("bfs_level", 4, 128, "row", "edge", "distance", "queue", "counts", i32(2048), i32(level)) for level in range(20)])

plan("spmv",
     {"degree": rnd("u8", 1000, 36, 0, 60), "row": fill(1001 * 4), "column": rnd("i32", 60000, 37, 0, 1000), "value": rnd("f32", 60000, 38, -1, 1),
      "x": rnd("f32", 1000, 39, -1, 1), "y": fill(4000, 0, EXACT), "value64": rnd("f64", 60000, 40, -1, 1),
      "x64": rnd("f64", 1000, 41, -1, 1), "y64": fill(8000, 0, EXACT)},
     launch("spmv_rows", 1, 1, "degree", "row", i32(1000)),
     launch("spmv_scalar", 8, 128, "row", "column", "value", "x", "y", i32(1000)),
     launch("spmv_warp", 250, 128, "row", "column", "value64", "x64", "y64", i32(1000)))

plan("string_match",
     {"text": rnd("u8", 32768, 42, 97, 100), "hits": fill(4096, 0, EXACT), "count": fill(4, 0, EXACT), "ends": fill(4096, 0, EXACT)},
     launch("match_naive", 128, 256, "text", "hits", "count", i32(32768), i32(5)),
     launch("match_bitap", 8, 128, "text", "ends", i32(32768), i32(5), i32(32)))

plan("sha256",
     {"message": rnd("u32", 16 * 3 * 512, 43), "digest": fill(512 * 32, 0, EXACT)},
     launch("sha256", 4, 128, "message", "digest", i32(3)))

plan("keccak",
     {"message": rnd("u64", 16 * 512, 44), "digest": fill(512 * 32, 0, EXACT)},
     launch("keccak", 4, 128, "message", "digest"))

plan("xorwow",
     {"seeds": rnd("u32", 1024, 45), "words": fill(16384, 0, EXACT), "uniform": fill(4096, 0, EXACT)},
     launch("xorwow", 8, 128, "seeds", "words", "uniform", i32(100)))

plan("philox",
     {"out": fill(16384, 0, EXACT), "inside": fill(4, 0, EXACT)},
     launch("philox", 8, 128, "out", "inside", u64("0x299f31d0a4093822"), i32(32)))

plan("switch_table",
     {"input": rnd("u32", 2000, 46), "out": fill(8000, 0xcd, EXACT)},
     launch("switch_table", 16, 128, "input", "out", u32(2000), u32(40)))

plan("recursion",
     {"out": fill(64 * 16, 0, EXACT), "lists": rnd("i32", 64 * 32, 47, check=EXACT)},
     launch("recursion", 1, 64, "out", "lists", i32(200)), limits={"stack": 32768})

plan("function_pointers",
     {"which": rnd("i32", 4, 48, 0, 5), "x": rnd("i32", 1000, 49), "out": fill(12000, 0, EXACT)},
     launch("choose", 1, 4, "which"),
     launch("function_pointers", 8, 128, "x", "out", i32(1000)))

plan("virtual_calls",
     {"slots": fill(512 * 32), "seed": rnd("u32", 512, 50), "out": fill(2048, 0, EXACT)},
     launch("build", 4, 128, "slots", "seed"),
     launch("virtual_calls", 4, 128, "slots", "out"))

plan("cta_handshake",
     {"flag": fill(4, 0, EXACT), "message": rnd("u32", 64, 51, check=EXACT), "trace": fill(16 * 10 * 4, 0, EXACT),
      "ball": fill(4), "data": fill(8), "seen": fill(8, 0, EXACT)},
     launch("cta_handshake", 16, 64, "flag", "message", "trace", i32(10)),
     launch("ping_pong", 2, 32, "ball", "data", "seen", i32(50)))

plan("ticket_lock",
     {"ticket": fill(4, 0, EXACT), "serving": fill(4, 0, EXACT), "total": fill(4, 0, EXACT), "entered": fill(256, 0, EXACT),
      "broken": fill(4, 0, EXACT)},
     launch("ticket_lock", 8, 256, "ticket", "serving", "total", "entered", "broken", i32(8)))

plan("grid_sync",
     {"in": rnd("i32", 5000, 52), "partial": fill(4096), "out": fill(20000, 0, EXACT)},
     launch("grid_sync", 8, 128, "in", "partial", "out", i32(5000), cooperative=True))

plan("dp4a",
     {"a": rnd("i32", 1000, 53), "b": rnd("i32", 1000, 54), "out": fill(24000, 0, EXACT)},
     launch("dp4a", 8, 128, "a", "b", "out", i32(1000)))

plan("vote_match",
     {"x": rnd("u32", 512, 55), "out": fill(512 * 64, 0, EXACT)},
     launch("vote_match", 4, 128, "x", "out"))

plan("divided_sync",
     {"x": rnd("u32", 512, 131), "shuffled": fill(512 * 24, 0, EXACT), "voted": fill(512 * 16, 0, EXACT), "met": fill(512 * 12, 0, EXACT)},
     launch("shuffles", 4, 128, "x", "shuffled"), launch("votes", 4, 128, "x", "voted"), launch("barriers", 4, 128, "x", "met"))

plan("int64",
     {"a": rnd("i64", 400, 56), "b": rnd("i64", 400, 57), "out": fill(64000, 0, EXACT)},
     launch("int64", 4, 128, "a", "b", "out", i32(400)))

plan("int128",
     {"a": rnd("u64", 512, 58), "b": rnd("u64", 512, 59), "out": fill(256 * 24 * 8, 0, EXACT)},
     launch("int128", 2, 128, "a", "b", "out", i32(256)))

plan("byte_short",
     {"b": rnd("i8", 512, 60), "h": rnd("u16", 512, 61), "out": fill(4096, 0, EXACT), "bytes": fill(1536, 0, EXACT),
      "shorts": fill(1024, 0, EXACT), "wide": fill(8192, 0, EXACT)},
     launch("byte_short", 4, 128, "b", "h", "out", "bytes", "shorts", "wide"))

plan("constant_table",
     {"x": rnd("i32", 1000, 62), "out": fill(4000, 0, EXACT), "weighted": fill(8000, 0, EXACT)},
     launch("constant_table", 8, 128, "x", "out", "weighted", i32(1000)),
     globals={"given": rnd("i32", 64, 63), "state": {"check": EXACT}})

PARAMETERS = {"bytes": b"".join((1000 * i).to_bytes(4, "little") for i in range(32)).hex()}
plan("generic_pointers",
     {"in": rnd("i32", 64, 641, 0, 100000), "out": fill(256, 0xcd, EXACT), "weights": fill(512, 0xcd, EXACT), "far": fill(192),
      "kept": fill(128, 0xcd, EXACT), "words": fill(4 * 384, 0xcd, EXACT), "met": fill(256, 0xcd, EXACT)},
     launch("read", 1, 32, "in", "out", "weights", PARAMETERS, i32(0x1b6d)),
     launch("read", 1, 32, "in", {"buffer": "out", "offset": 128}, {"buffer": "weights", "offset": 256}, PARAMETERS, i32(0x2c94)),
     launch("read_kept", 1, 32, "kept"),
     *[launch("change", 3, 64, "in", "far", {"buffer": "words", "offset": 384 * which}, i32(which)) for which in range(4)],
     launch("meet", 1, 64, "met", i32(2)),
     globals={"given": rnd("i32", 64, 642)})

plan("assert",
     {"x": rnd("i32", 128, 64, 0, 100), "bad": fill(512, 0x7f)},
     launch("checked", 2, 64, "x", i32(100)),
     launch("checked", 2, 64, "bad", i32(100)), status="assert")

plan("trap", {"out": fill(512)}, launch("trap", 2, 64, "out", i32(77)), status="trap")

plan("fault_wild", {"good": fill(128)}, launch("fault_wild", 1, 32, "good", u64("0x10000")), status="fault:out-of-bounds")

plan("fault_misaligned",
     {"in": fill(4096), "out": fill(512)},
     launch("fault_misaligned", 1, 32, "in", "out", i32(1)), status="fault:misaligned-address")

plan("dynamic_shared",
     {"in": rnd("i32", 4000, 65), "out": fill((4000 + 4) * 8, 0, EXACT), "large": fill(2 * 256 * 4, 0, EXACT)},
     launch("dynamic_shared", 4, 128, "in", "out", i32(1000), dynamicShared=14000),
     launch("large_shared", 2, 256, "large", i32(14000), dynamicShared=56000))


def texture(buffer, format, width, height=0, **more):
    spec = {"buffer": buffer, "format": format, "width": width}
    if height:
        spec["height"] = height
    spec.update(more)
    return {"texture": spec}


def surface(buffer, format, width, height=0, **more):
    return {"surface": texture(buffer, format, width, height, **more)["texture"]}


plan("texture",
     {"line": rnd("f32", 100, 66, -1, 1), "plane": rnd("f32", 48 * 32, 67, -1, 1), "bytes": rnd("u8", 48 * 32 * 4, 68),
      "halves": rnd("u16", 48 * 32 * 2, 69), "out1": fill(800, 0, EXACT), "out2": fill(64 * 40 * 16, 0, EXACT)},
     launch("texture_1d", 2, 128, texture("line", "f32", 100, addressMode=["clamp"]), "out1", i32(200)),
     launch("texture_2d", [2, 10], [32, 4],
            texture("plane", "f32", 48, 32, addressMode=["border", "clamp"]),
            texture("bytes", "u8", 48, 32, channels=4, addressMode=["clamp", "border"]),
            texture("halves", "u16", 48, 32, channels=2, readMode="normalized", addressMode=["clamp", "clamp"]),
            texture("plane", "f32", 48, 32, normalizedCoords=True, addressMode=["wrap", "mirror"]),
            "out2", i32(64)))

plan("texture_linear",
     {"line": rnd("f32", 64, 70, 0, 1), "plane": rnd("f32", 24 * 16, 71, 0, 1), "bytes": rnd("u8", 24 * 16, 72),
      "out": fill(64 * 32 * 12, 0, EXACT)},
     launch("texture_linear", [2, 8], [32, 4],
            texture("line", "f32", 64, filter="linear", addressMode=["clamp"]),
            texture("plane", "f32", 24, 16, filter="linear", addressMode=["clamp", "border"]),
            texture("bytes", "u8", 24, 16, filter="linear", readMode="normalized", normalizedCoords=True, addressMode=["mirror", "wrap"]),
            "out", i32(64), i32(32)))

plan("surface",
     {"in": rnd("u8", 40 * 24 * 4, 73), "out": fill(40 * 24 * 8, 0xcd, EXACT), "line": rnd("i16", 40, 74, -1000, 1000, EXACT)},
     launch("surface", [5, 6], [8, 4], surface("in", "u8", 40, 24, channels=4), surface("out", "u32", 40, 24, channels=2),
            surface("line", "i16", 40), i32(40), i32(24)))

plan("named_barriers",
     {"in": rnd("u32", 4 * 20 * 64, 75), "out": fill(1024, 0, EXACT), "votes": rnd("u32", 512, 76), "reduced": fill(2048, 0, EXACT)},
     launch("named_barriers", 4, 128, "in", "out", i32(20)),
     launch("barrier_reduce", 4, 128, "votes", "reduced"))

plan("malloc",
     {"out": fill(512, 0, EXACT), "second": fill(256, 0, EXACT)},
     launch("allocate", 2, 64, "out"),
     launch("use_and_free", 1, 64, "second"), limits={"heap": 8388608})

plan("atomics",
     {"x": rnd("u32", 1024, 77), "global": fill(1024, 0, EXACT), "shared": fill(8 * 1024, 0, EXACT), "generic": fill(64, 0, EXACT)},
     launch("atomics_start", 1, 1, "global"),
     launch("atomics_global", 8, 128, "global", "x"),
     launch("atomics_settle", 1, 1, "global"),
     launch("atomics_shared", 8, 128, "shared", "x"),
     launch("atomics_generic", 4, 128, "generic"))

plan("atomics128",
     {"cell": fill(16, 0, EXACT), "x": rnd("u32", 256, 78)},
     launch("atomics128", 4, 64, "cell", "x"))

plan("ieee",
     {"a": rnd("u32", 580, 79), "b": rnd("u32", 580, 80), "out": fill(64960, 0, EXACT)},
     launch("ieee", 5, 128, "a", "b", "out", i32(580)))

plan("half2",
     {"a": rnd("u32", 1000, 81), "b": rnd("u32", 1000, 82), "out": fill(48000, 0, EXACT)},
     launch("half_pairs", 8, 128, "a", "b", "out", i32(1000)))

# The operations and operands of questions/cases.py.
plan("questions",
     {"cases": data("cases.bin", text_bytes("questions/cases.bin")), "out": fill(text_bytes("questions/cases.bin") // 4, 0, EXACT)},
     launch("questions", (text_bytes("questions/cases.bin") // 32 + 63) // 64, 64, "cases", "out", i32(text_bytes("questions/cases.bin") // 32)))
plan("cp_async_gemm",
     {"a": rnd("f32", 128 * 128, 401, -1, 1), "b": rnd("f32", 128 * 128, 402, -1, 1), "c": fill(65536, 0xcd, EXACT),
      "bytes": rnd("u8", 1024, 403), "sizes": fill(3072, 0, EXACT)},
     launch("gemm", [2, 2], 256, i32(128), "a", "b", "c"), launch("sizes", 1, 64, "bytes", "sizes"))

plan("cluster_reduce",
     {"in": rnd("u32", 24 * 128, 404), "out": fill(24 * 512, 0, EXACT), "pairs": fill(24 * 512, 0, EXACT),
      "a": rnd("f32", 6 * 1024, 405, -1, 1), "b": rnd("f32", 6 * 1024, 406, -1, 1), "dots": fill(24, 0, EXACT),
      "where": fill(6 * 4 * 2 * 64, 0, EXACT), "alone": fill(5 * 64, 0, EXACT)},
     launch("push_pull", 24, 128, "in", "out", cluster=[8, 1, 1]), launch("push_pull", 24, 128, "in", "pairs", cluster=[2, 1, 1]),
     launch("split_k", 24, 64, "a", "b", "dots"),
     launch("where", [6, 4, 2], 1, "where", cluster=[3, 2, 1]), launch("where", 5, 1, "alone"))

CONVERGENCE = ["branches", "loops", "switches", "calls", "returns", "gotos", "atomics", "together"]
plan("convergence",
     {**{name: fill(4 * 64, 0, EXACT) for name in CONVERGENCE}, "sums": fill(16 * 64, 0, EXACT)},
     *(launch(name, 1, 64, name, *(["sums"] if name == "atomics" else [])) for name in CONVERGENCE))

# arrive_and_reduce ends with an illegal instruction, half_arrives_half_waits not at all: tests/engine/barrier_test.cpp.
ARRIVALS = ["twice_of_two", "twice_of_three", "arrive_and_sync_of_two", "arrive_and_sync_of_three", "halves_arrive", "half_arrives_twice",
            "all_arrive_half_waits"]
plan("arrivals", {name: fill(24, 0xff, EXACT) for name in ARRIVALS}, *(launch(name, 1, 128, name) for name in ARRIVALS))

plan("cluster_ring",
     {"stores": fill(16 * 512, 0, EXACT), "bulk": fill(16 * 512, 0, EXACT), "sums": fill(4 * 16, 0, EXACT)},
     launch("stores", 16, 128, "stores", i32(37), cluster=[4, 1, 1]), launch("bulk", 16, 128, "bulk", i32(38), cluster=[8, 1, 1]),
     launch("reduce", 16, 128, "sums", cluster=[4, 1, 1]))



def tensor(buffer, type, size, dims, box, **more):
    """A map of a two-dimensional tensor whose rows follow each other in units of 16 bytes."""
    pitch = (dims[0] * size + 15) // 16 * 16
    return {"tensorMap": {"buffer": buffer, "type": type, "dims": dims, "strides": [pitch], "box": box, **more}}


plan("tma_gemm",
     {"a": rnd("f32", 128 * 128, 408, -1, 1), "b": rnd("f32", 128 * 128, 409, -1, 1), "c": fill(65536, 0xcd, EXACT),
      "d": fill(65536, 0xcd, EXACT), "in": rnd("u32", 100 * 60, 410), "out": fill(100 * 60 * 4, 0xcd, EXACT)},
     launch("gemm", [2, 2], 256, i32(128), tensor("a", "f32", 4, [128, 128], [16, 64]), tensor("b", "f32", 4, [128, 128], [64, 16], l2="128B"), "c"),
     launch("gemm_multicast", [2, 2], 256, i32(128), tensor("a", "f32", 4, [128, 128], [16, 32]), tensor("b", "f32", 4, [128, 128], [64, 16]), "d"),
     launch("transpose", [4, 2], 128, tensor("in", "u32", 4, [100, 60], [32, 32], swizzle="128B"),
            tensor("out", "u32", 4, [60, 100], [32, 32], swizzle="128B")))

plan("hmma_pipeline",
     {"a": fill(256 * 512), "b": fill(256 * 512), "c": fill(256 * 1024, 0xcd, EXACT), "d": fill(256 * 1024, 0xcd, EXACT),
      "phases": fill(160 * 4, 0, EXACT)},
     launch("numbers", 256, 256, "a", u32(411)), launch("numbers", 256, 256, "b", u32(412)), launch("groups", [4, 4], 128, i32(256), "a", "b", "c"), launch("barriers", [4, 4], 256, i32(256), "a", "b", "d"),
     launch("phases", 1, 32, "phases", u32(9)))

SWIZZLES = {16: "none", 32: "32B", 64: "64B", 128: "128B"}
plan("tma_hmma",
     {"a": rnd("f16", 256 * 256, 413, -1, 1), "b": rnd("f16", 256 * 256, 414, -1, 1), "c": fill(256 * 1024, 0xcd, EXACT),
      "in": rnd("u32", 100 * 60, 415), **{"out%d" % span: fill(100 * 60 * 4, 0xcd, EXACT) for span in SWIZZLES}},
     launch("gemm", [4, 4], 160, i32(256), tensor("a", "f16", 2, [256, 256], [64, 64], swizzle="128B"),
            tensor("b", "f16", 2, [256, 256], [64, 64], swizzle="128B"), "c", dynamicShared=65536),
     *[launch("transpose%d" % span, [-(-400 // span), -(-240 // span)], 128,
              tensor("in", "u32", 4, [100, 60], [span // 4] * 2, swizzle=swizzle),
              tensor("out%d" % span, "u32", 4, [60, 100], [span // 4] * 2, swizzle=swizzle)) for span, swizzle in SWIZZLES.items()])

plan("wgmma_gemm",
     {"a": rnd("bf16", 128 * 512, 418, -1, 1), "b": rnd("bf16", 512 * 128, 419, -1, 1), "c": fill(128 * 512, 0xcd, EXACT),
      "a8": rnd("u8", 128 * 1024, 420, 0, 0x60), "b8": rnd("u8", 128 * 1024, 421, 0, 0x60), "c8": fill(128 * 512, 0xcd, EXACT)},
     launch("gemm_bf16", [2, 2], 160, i32(512), tensor("a", "bf16", 2, [512, 128], [64, 64], swizzle="128B"),
            tensor("b", "bf16", 2, [128, 512], [64, 64], swizzle="128B"), "c", dynamicShared=65536),
     launch("gemm_e4m3", [2, 2], 160, i32(1024), tensor("a8", "u8", 1, [1024, 128], [128, 64], swizzle="128B"),
            tensor("b8", "u8", 1, [1024, 128], [128, 64], swizzle="128B"), "c8", dynamicShared=65536))

def persistent(kernel, type, size, elements, a, b, c, steps, result, b_blocks=1):
    """All types of the warpgroup's tensor core: 256 rows, 3 tiles of 64 columns, `steps` of 128 bytes of A along k."""
    def rows(buffer, count, box, blocks=1):
        return tensor(buffer, type, size, [steps * blocks * elements, count], [elements, box], swizzle="128B")
    return launch(kernel, 4, 384, rows(a, 256, 128), rows(b, 192, 32, b_blocks), tensor(c, result, 4, [192, 256], [64, 64]), "metadata", i32(steps), i32(3),
                  dynamicShared=4 * (16384 + b_blocks * 8192) + 32768)


PERSISTENT = {"f16": ("f16", 2, 64), "tf32": ("f32", 4, 32), "e4m3": ("u8", 1, 128), "e5m2": ("u8", 1, 128), "s8": ("u8", 1, 128), "b1": ("u8", 1, 128)}
RESULT = 192 * 256 * 4
plan("wgmma_persistent",
     {"a_bf16": rnd("bf16", 256 * 320, 430, -1, 1), "b_bf16": rnd("bf16", 192 * 320, 431, -1, 1),
      "a_f16": rnd("f16", 256 * 320, 432, -1, 1), "b_f16": rnd("f16", 192 * 320, 433, -1, 1),
      "a_tf32": rnd("f32", 256 * 160, 434, -1, 1), "b_tf32": rnd("f32", 192 * 160, 435, -1, 1),
      "a_e4m3": rnd("u8", 256 * 640, 436, 0, 0x78), "b_e4m3": rnd("u8", 192 * 640, 437, 0x80, 0xf8),
      "a_e5m2": rnd("u8", 256 * 640, 438, 0, 0x78), "b_e5m2": rnd("u8", 192 * 640, 439, 0x80, 0xf8),
      "a_s8": rnd("i8", 256 * 640, 440), "b_s8": rnd("i8", 192 * 640, 441), "a_b1": rnd("u8", 256 * 640, 442), "b_b1": rnd("u8", 192 * 640, 443),
      "a_sparse": rnd("f16", 256 * 320, 444, -1, 1), "b_sparse": rnd("f16", 192 * 640, 445, -1, 1), "metadata": rnd("u32", 4 * 5 * 4 * 128, 446),
      **{name: fill(RESULT, 0xcd, EXACT) for name in ["c_bf16", *["c_" + t for t in PERSISTENT], "c_sparse"]}},
     persistent("bf16", "bf16", 2, 64, "a_bf16", "b_bf16", "c_bf16", 5, "f32"),
     *[persistent(t, *PERSISTENT[t], "a_" + t, "b_" + t, "c_" + t, 5, "i32" if t in ("s8", "b1") else "f32") for t in PERSISTENT],
     persistent("sparse_f16", "f16", 2, 64, "a_sparse", "b_sparse", "c_sparse", 5, "f32", 2))

plan("stream_k",
     {"a": rnd("bf16", 128 * 512, 450, -1, 1), "b": rnd("bf16", 192 * 512, 451, -1, 1), "c": fill(128 * 192 * 4, 0xcd, EXACT)},
     launch("stream_k", 8, 160, tensor("a", "bf16", 2, [512, 128], [64, 64], swizzle="128B"), tensor("b", "bf16", 2, [512, 192], [64, 64], swizzle="128B"),
            "c", i32(8), i32(3), dynamicShared=5 * 16384))

plan("attention",
     {"q": rnd("bf16", 256 * 64, 452, -2, 2), "k": rnd("bf16", 320 * 64, 453, -2, 2), "v": rnd("bf16", 320 * 64, 454, -1, 1),
      "o": fill(256 * 64 * 4, 0xcd, EXACT)},
     launch("attention", 2, 384, *[tensor(x, "bf16", 2, [64, n], [64, box], swizzle="128B") for x, n, box in (("q", 256, 128), ("k", 320, 64), ("v", 320, 64))],
            "o", i32(5), f32(0.1803369), dynamicShared=6 * 8192))

plan("split_k",
     {"a": rnd("bf16", 128 * 512, 470, -1, 1), "b": rnd("bf16", 128 * 512, 471, -1, 1), "c": fill(128 * 128 * 4, 0, EXACT),
      "a8": rnd("i8", 128 * 2048, 472), "b8": rnd("i8", 128 * 2048, 473), "c8": rnd("i32", 128 * 128, 474, check=EXACT)},
     launch("bf16", [2, 2, 2], 160, tensor("a", "bf16", 2, [512, 128], [64, 64], swizzle="128B"), tensor("b", "bf16", 2, [512, 128], [64, 64], swizzle="128B"),
            tensor("c", "f32", 4, [128, 128], [64, 64]), i32(4), dynamicShared=8 * 8192),
     launch("s8", [2, 2, 4], 160, tensor("a8", "u8", 1, [2048, 128], [128, 64], swizzle="128B"),
            tensor("b8", "u8", 1, [2048, 128], [128, 64], swizzle="128B"), tensor("c8", "i32", 4, [128, 128], [64, 64]), i32(4), dynamicShared=8 * 8192))

# Two images of 10 x 14, filters of 3 x 3.
plan("convolution",
     {"in": rnd("bf16", 2 * 10 * 14 * 64, 475, -1, 1), "filters": rnd("bf16", 64 * 9 * 64, 476, -1, 1), "out": fill(280 * 256, 0xcd, EXACT)},
     launch("convolution", 5, 160,
            {"tensorMap": {"buffer": "in", "type": "bf16", "dims": [64, 14, 10, 2], "strides": [128, 14 * 128, 140 * 128],
                           "im2col": {"lower": [-1, -1], "upper": [-1, -1], "channels": 64, "pixels": 64}, "swizzle": "128B"}},
            tensor("filters", "bf16", 2, [9 * 64, 64], [64, 64], swizzle="128B"), "out", i32(280), i32(10), i32(14), i32(3), i32(3), i32(1),
            dynamicShared=6 * 8192))

# Problems of 50, 128 and 100 rows, k of 256, 64 and 192.
PROBLEMS = [(50, 256), (128, 64), (100, 192)]
plan("grouped_gemm",
     {**{name + str(i): rnd("bf16", rows * k, 455 + 2 * i + (name == "b"), -1, 1)
         for i, (m, k) in enumerate(PROBLEMS) for name, rows in (("a", m), ("b", 64))},
      **{"c%d" % i: fill(m * 256, 0xcd, EXACT) for i, (m, k) in enumerate(PROBLEMS)},
      "problems": buf({"bytes": 32 * len(PROBLEMS), "file": "problems.bin",
                       "pointers": [{"offset": 32 * i + 8 * j, "buffer": "abc"[j] + str(i)} for i in range(len(PROBLEMS)) for j in range(3)]}, None),
      "maps": fill(2 * 2 * 128)},
     launch("grouped_gemm", 2, 160, tensor("a0", "bf16", 2, [64, 64], [64, 64], swizzle="128B"), "problems", i32(len(PROBLEMS)), "maps", dynamicShared=6 * 8192))

plan("tensormap_replace",
     {"in": rnd("u32", 64 * 12, 416), "made": fill(5 * 128), "out": fill(5 * 512, 0, EXACT)},
     launch("replaced", 5, 32, tensor("in", "f32", 4, [8, 8], [4, 4], swizzle="128B"), "made", "in", u32(64), u32(10), "out"))

plan("dependent_launch",
     {"in": rnd("u32", 64 * 256, 417), "a": fill(64 * 1024, 0, EXACT), "b": fill(64 * 1024, 0, EXACT)},
     *[launch("stage", 64, 256, "in" if i == 0 else "ab"[(i + 1) % 2], "ab"[i % 2], u32(64 * 256), u32(i),
              attributes={"programmaticStreamSerialization": True}) for i in range(6)])

plan("bulk_copy",
     {"in": rnd("u32", 4 * 9 * 512, 407), "out": fill(4 * 9 * 2048, 0, EXACT), "tiles": fill(16 * 1024, 0, EXACT)},
     launch("pipeline", 4, 128, "in", "out", i32(9)), launch("multicast", 16, 256, "in", "tiles"))

ACCESSES = ("shared_load1 shared_load2 shared_load4 shared_load8 shared_load16 shared_store1 shared_store2 shared_store4 "
            "shared_store8 shared_store16 global_load1 global_load2 global_load4 global_load8 global_load16 global_constant16 "
            "global_store1 global_store4 global_store8 global_store16 generic_shared8 generic_global8 shared_add shared_max "
            "shared_exchange shared_reduce shared_count shared_cas4 shared_cas8 shared_exchange8 shared_float global_add "
            "global_exchange global_reduce global_reduce8 global_reduce16 global_cas8 matrix_load1 matrix_load2 matrix_load4 "
            "matrix_load4_trans matrix_store1 matrix_store2 matrix_store4 copy4 copy8 copy16 copy16_cached copy4_from copy16_from").split()
plan("accesses",
     {"patterns": data("patterns.bin", 128 * 64), "in": rnd("u32", 4096, 428), "out": fill(1 << 14), "sums": fill(128)},
     *[launch("k_" + name, 1, 32, {"buffer": "patterns", "offset": 2048 * four}, "in", "out", "sums")
       for name in ACCESSES for four in range(4)])

bench("ffma", {"out": fill(64 * 256 * 4, 0, EXACT)}, launch("ffma_chains", 64, 256, "out", f32(0.5), f32(0.125), i32(900)))
bench("integer", {"out": fill(64 * 256 * 4, 0, EXACT)}, launch("integer", 64, 256, "out", u32(0x9e3779b9), i32(1400)))
bench("dfma", {"out": fill(64 * 256 * 8, 0, EXACT)}, launch("dfma", 64, 256, "out", f64(0.5), f64(0.125), i32(1200)))
bench("hfma2", {"out": fill(64 * 256 * 4, 0, EXACT)}, launch("hfma2", 64, 256, "out", f32(0.25), f32(0.125), i32(600)))
bench("hmma", {"out": fill(64 * 256 * 4, 0, EXACT)}, launch("hmma", 64, 256, "out", f32(0.015625), i32(40)))
MUFU = ["reciprocal", "root_reciprocal", "root", "power", "logarithm", "sine", "cosine", "tangent", "reciprocal_high", "root_reciprocal_high"]
bench("mufu", {name: fill(64 * 256 * (8 if name.endswith("high") else 4), 0, EXACT) for name in MUFU},
      *[launch(name, 64, 256, name, i32(60)) for name in MUFU])
bench("shared", {"out": fill(64 * 256 * 4, 0, EXACT)}, launch("shared", 64, 256, "out", i32(2000)))
bench("global",
      {"a": rnd("u32", 1 << 20, 90, check=EXACT), "b": fill(4 << 20, 0, EXACT)},
      launch("global", 64, 256, "a", "b", i32(16384), i32(700)))
bench("gather",
      {"table": rnd("u32", 1 << 24, 91, 0, 1 << 24), "out": fill(256 * 256 * 4, 0, EXACT)},
      launch("gather", 256, 256, "table", "out", i32(120)))
bench("divergent", {"out": fill(64 * 256 * 4, 0, EXACT)}, launch("divergent", 64, 256, "out", i32(200)))
bench("small_ctas",
      {"in": rnd("u32", 1 << 16, 92), "out": fill(400000 * 4, 0, EXACT)},
      launch("small_ctas", 400000, 64, "in", "out", u32(0xffff)))
for name, turns in (("bf16", 60), ("e4m3", 60), ("s8", 600)):
    bench("wgmma_" + name, {"out": fill(8 * 64 * 128 * 4, 0, EXACT)}, launch("wgmma_" + name, 8, 128, "out", i32(turns)), source="wgmma")
# 1024 x 1024 x 1024.
bench("gemm_e4m3",
      {"a": rnd("u8", 1 << 20, 480, 0, 120), "b": rnd("u8", 1 << 20, 481, 128, 248), "c": fill(4 << 20, 0xcd, EXACT)},
      launch("gemm_e4m3", [8, 8], 384, *[tensor(x, "u8", 1, [1024, 1024], [128, 128], swizzle="128B") for x in "ab"], "c", i32(1024), i32(8),
             dynamicShared=8 * 16384), source="wgmma")
# A sequence of 2,048; the scale is log2(e) / sqrt(128).
bench("attention",
      {**{x: rnd("bf16", 2048 * 128, 482 + i, -2, 2) for i, x in enumerate("qkv")}, "o": fill(2048 * 128 * 4, 0xcd, EXACT)},
      launch("attention", 16, 384, *[tensor(x, "bf16", 2, [128, 2048], [64, 64], swizzle="128B") for x in "qkv"], "o", i32(32), f32(0.12751743),
             dynamicShared=6 * 16384))

plan("tensor_core",
     {"a": rnd("i8", 4 * 128 * 320, 420, -8, 8), "b": rnd("i8", 4 * 64 * 320, 421, -8, 8), "ring": fill(4 * 128 * 64 * 4, 0xcd, EXACT),
      "a8": rnd("i8", 128 * 64, 422), "b8": rnd("i8", 32 * 64, 423), "bytes": fill(128 * 32 * 4, 0xcd, EXACT),
      "small": rnd("i8", 128 * 64, 424, -2, 3), "left": rnd("i8", 64 * 64, 425, -2, 3), "right": rnd("i8", 64 * 64, 426, -2, 3),
      "chain": fill(128 * 64 * 4, 0xcd, EXACT), "in": rnd("u32", 128 * 8 + 32 * 4, 427), "copies": fill(128 * 12 * 4, 0xcd, EXACT),
      "pair": fill(2 * 128 * 16 * 4, 0xcd, EXACT)},
     launch("ring", 4, 128, "a", "b", "ring", u32(5)),
     launch("bytes", 1, 128, "a8", "b8", "bytes"),
     launch("chain", 1, 128, "small", "left", "right", "chain"),
     launch("copies", 1, 128, "in", "copies"),
     launch("pair", 2, 128, "a8", "b8", "pair"))

plan("byte_matrices",
     {"in": rnd("u32", 128, 490), "loaded": fill(12 * 4 * 32 * 4, 0xcd, EXACT), "stored": fill(3 * 512, 0xcd, EXACT)},
     launch("load", 1, 32, "in", "loaded"),
     launch("store", 1, 32, "in", "stored"))

# What no chip at hand runs. Numbers are of a few bits, so that every sum is exact (verify.py): bf16 of 1 to 1.5 and -1 to -1.5,
# e4m3 and ue4m3 of 0.5 to 1.9, ue8m0 of 0.5 to 2, any e2m1.
plan("pair_gemm",
     {"a": rnd("u16", 512 * 192, 480, 0x3f80, 0x3fc0), "b": rnd("u16", 256 * 192, 481, 0xbf80, 0xbfc0), "c": fill(512 * 256 * 4, 0xcd, EXACT)},
     launch("pair_gemm", 8, 256, tensor("a", "bf16", 2, [192, 512], [64, 128], swizzle="128B"), tensor("b", "bf16", 2, [192, 256], [64, 64], swizzle="128B"),
            "c", i32(3), i32(2), i32(256), dynamicShared=3 * 24576),
     device={"sms": 2, "residentCtas": 1})  # one pair, which has the tiles of all
SCALED = {"a": rnd("u8", 128 * 512, 482, 0x30, 0x40), "b": rnd("u8", 256 * 512, 483, 0xb0, 0xc0), "sa": rnd("u8", 128 * 16, 484, 126, 129),
          "sb": rnd("u8", 256 * 16, 485, 126, 129), "c": fill(128 * 256 * 4, 0xcd, EXACT),
          "a4": rnd("u8", 128 * 512, 486), "b4": rnd("u8", 256 * 512, 487), "sa4": rnd("u8", 128 * 64, 488, 0x30, 0x40),
          "sb4": rnd("u8", 256 * 64, 489, 0x30, 0x40), "c4": fill(128 * 256 * 4, 0xcd, EXACT)}
for name, grid, block, rows, columns, more in (("scaled_gemm", [2, 1], 128, 128, 128, {"swizzle": "128B"}), ("block_gemm", [8, 2], 160, 64, 32, {})):
    plan(name, SCALED,
         *[launch(kernel, grid, block, tensor("a" + n, "u8", 1, [512, 128], [128, rows], **more), tensor("b" + n, "u8", 1, [512, 256], [128, columns], **more),
                  "sa" + n, "sb" + n, "c" + n, i32(4), **({"dynamicShared": 6 * 16384} if more else {})) for kernel, n in (("mxfp8", ""), ("nvfp4", "4"))])

plan("collisions",
     {"x": rnd("u32", 128 * 64, 201), "found": fill(128 * 128, 0, EXACT), "found_shared": fill(128 * 128, 0, EXACT), "exchanged": fill(1 << 18, 0, EXACT),
      "exchanged_shared": fill(1 << 18, 0, EXACT), "sums": fill(1 << 18, 0, EXACT),
      **{name: fill(1 << 18, 0, EXACT) for name in COLLISIONS}},
     *[launch(name, 128, 32, "x", name) for name in COLLISIONS],
     launch("exchange", 128, 32, "x", "exchanged", "found"), launch("exchange_shared", 128, 32, "x", "exchanged_shared", "found_shared"),
     launch("add", 128, 32, "x", "sums"))

plan("matrix_collisions",
     {"x": rnd("u32", 128 * 64, 202), **{name: fill(1 << 18, 0, EXACT) for name in ("one", "two", "four", "transposed")}},
     *[launch(name, 128, 32, "x", name) for name in ("one", "two", "four", "transposed")])
