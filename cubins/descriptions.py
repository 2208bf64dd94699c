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

plan("switch_table",
     {"code": rnd("u8", 4096, 16), "start": rnd("i32", 16, 17, 0, 2000), "input": rnd("i32", 2048, 18), "out": fill(16384, 0xcd, EXACT)},
     launch("switch_table", 16, 128, "code", "start", "input", "out", i32(2048)))

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
