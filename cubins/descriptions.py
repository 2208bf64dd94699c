"""What every kernel in cubins/ is launched with. plans.py turns this into the launch plans."""
from plans import (EXACT, bench, close, data, f32, f64, fill, i32, launch, plan, rnd, text_bytes, u32, u64)

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
     {"in": rnd("u32", 32768, 13, 0, 1000), "out": fill(131072, 0, EXACT), "totals": fill(512, 0, EXACT)},
     launch("scan_blocks", 128, 256, "in", "out", "totals"),
     launch("scan_totals", 1, 64, "totals", i32(128), dynamicShared=512),
     launch("scan_add", 128, 256, "out", "totals"))

plan("histogram",
     {"data": rnd("u32", 32768, 14), "bins": fill(1024, 0, EXACT)},
     launch("histogram", 16, 256, "data", "bins", i32(32768)))

plan("transpose",
     {"in": rnd("f32", 200 * 120, 15, -1, 1), "out": fill(200 * 120 * 4, 0xcd, EXACT)},
     launch("transpose", [7, 4], [32, 8], "in", "out", i32(200), i32(120)))

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
     {"out": fill(256 * 160 * 2, 0, EXACT)},
     launch("mandelbrot", [8, 40], [32, 4], "out", i32(256), i32(160), f32(-2.0), f32(-1.0), f32(0.0125), i32(300)))

plan("dgemm",
     {"a": rnd("f64", 96 * 96, 20, -1, 1), "b": rnd("f64", 96 * 96, 21, -1, 1), "c": fill(96 * 96 * 8, 0, EXACT)},
     launch("dgemm", [3, 3], 256, i32(96), "a", "b", "c"))

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
     {"body": rnd("f32", 4 * 512, 29, 0, 1), "velocity": rnd("f32", 4 * 512, 30, -0.1, 0.1, close("f32", 1e-4, 1e-5)),
      "next": fill(8192, 0, close("f32", 1e-4, 1e-5))},
     launch("nbody", 4, 128, "body", "velocity", "next", i32(512), f32(0.001), f32(0.01)))

plan("black_scholes",
     {"price": rnd("f32", 4000, 31, 5, 30), "strike": rnd("f32", 4000, 32, 1, 100), "years": rnd("f32", 4000, 33, 0.25, 10),
      "call": fill(16000, 0, close("f32", 1e-4, 1e-4)), "put": fill(16000, 0, close("f32", 1e-4, 1e-4))},
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
