# SPDX-License-Identifier: Apache-2.0
"""The hall of bugs: for each public report the kernel here that models it, how it is launched, what comes out, which links the
report found missing, and what has to be found. `rebuild` makes hall.tar.xz of it, hall_test.py looks, docs/bugs.md tells."""
import collections
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SYNC = os.path.join(HERE, "..", "..", "cubins", "sync")
sys.path.insert(0, SYNC)
import pairs
from pairs import SEED, LIMIT, philox, room, launch

D = [philox(SEED, i) * LIMIT >> 32 for i in range(4096)]  # what a plan's "in" holds
U32 = 0xFFFFFFFF

Bug = collections.namedtuple("Bug", "name reports story arch plan wrong notes")
# kind, how the words of its accesses begin, whether it is wrong by what is commonly relied on, what is found where the cubin keeps no
# PTX ("": nothing), how the run ends
Wrong = collections.namedtuple("Wrong", "found plain common ends")
BUGS = []


def words(count):
    return pairs.words(count)


def gives(values, fill="0xcd"):
    return pairs.gives(values, fill)


def wrong(found, plain=None, common=True, ends="ok"):
    return Wrong(found, found.split()[0] if plain is None else plain, common, ends)


def bug(name, reports, story, arch, buffers, *launches, more={}, notes=[], **links):
    plan = {"arch": arch, "timeLimit": 20, **more, "buffers": buffers, "launches": launches}
    BUGS.append(Bug(name, reports, story, arch, plan, links, notes))


def variants(b):
    """name -> plan: the repaired kernel, then each as reported."""
    out = {}
    for variant in ["repaired", *b.wrong]:
        buffers = {k: dict(v) for k, v in b.plan["buffers"].items()}
        if variant != "repaired":
            for buffer in buffers.values():
                buffer.pop("expect", None)
        ends = "ok" if variant == "repaired" else b.wrong[variant].ends
        out[variant] = dict(b.plan, module=variant + ".cubin", buffers=buffers, expect={"status": ends})
        if "condition" in b.plan:
            out[variant]["verdict"] = "forbidden" if variant == "repaired" else "allowed"
    return out


def link(report):
    repository, number = report.split("#")
    return "[%s](https://github.com/%s/issues/%s)" % (report.replace("#", " #"), repository, number)


# ---- what tensor cores make of bytes --------------------------------------------------------------------------------

def rows(first, count, size):
    """`count` rows of `size` bytes from word `first` of D."""
    data = [w >> 8 * i & 255 for w in D[first:first + count * size // 4] for i in range(4)]
    return [data[r * size:(r + 1) * size] for r in range(count)]


def dot(x, y):
    return sum(a * b for a, b in zip(x, y))


def weigh(four):
    return sum(f * v for f, v in zip([1, 3, 5, 7], four))


def pair_product():
    a = [rows(0, 128, 32), rows(1152, 128, 32)]
    b = rows(1024, 16, 32) + rows(2176, 16, 32)
    return [weigh([dot(row, b[n]) for n in (14, 15, 16, 17)]) for half in a for row in half]


def product(a, b):
    return [weigh([dot(row, b[n]) for n in range(4)]) for row in a]


def warpgroup_8(parts):
    """64 x 8: a thread has two columns of two rows."""
    def of(t):
        cells = [(t // 32 * 16 + t % 32 // 4 + e // 2 * 8, t % 4 * 2 + e % 2) for e in range(4)]
        return weigh([sum(dot(a[r], b[c]) for a, b in parts) for r, c in cells])
    return [of(t) for t in range(128)]


def sparse_product():
    a, b = rows(0, 64, 32), rows(512, 64, 64)
    def cell(r, c):
        return sum(a[r][2 * g] * b[c][4 * g] + a[r][2 * g + 1] * b[c][4 * g + 1] for g in range(16))
    def of(t):
        return sum((i + 1) * cell(t // 32 * 16 + t % 32 // 4 + i // 2 % 2 * 8, i // 4 * 8 + t % 4 * 2 + i % 2) for i in range(32))
    return [of(t) for t in range(128)]


def table(buffer, width, height, box):
    return {"tensorMap": {"buffer": buffer, "type": "u32", "dims": [width, height], "strides": [4 * width], "box": box}}


# ---- the hall ---------------------------------------------------------------------------------------------------------

bug("cluster_scope", ["NVIDIA/cutlass#3324"],
    "cp.async fills both CTAs' shared memory, one thread has the tensor cores of both multiply it, and the barrier between the CTAs has the "
    "default scope, .cta.",
    "sm_100a", {"in": words(2304), "out": gives(pair_product())}, launch("cluster_scope", 2, 160, "in", "out"),
    scope=wrong("scope-too-narrow LDGSTS UTCIMMA", "missing-release"))
bug("pair_alloc", ["NVIDIA/cutlass#3316", "triton-lang/triton#10735", "tile-ai/tilelang#2644"],
    "tcgen05.alloc for a pair of CTAs before anything says that the other CTA has begun. (Of the list #2644 it is candidate C12.)",
    "sm_100a", {"in": words(1024), "out": gives([weigh(D[4 * t:4 * t + 4]) for t in range(256)])}, launch("pair_alloc", 2, 128, "in", "out"),
    begun=wrong("peer-not-ready SYNCS"))
bug("pair_free", ["NVIDIA/cutlass#3435"],
    "tcgen05.dealloc for a pair of CTAs before the other CTA's tcgen05.alloc is over; on eight B300 every launch failed.",
    "sm_100a", {"in": words(256), "out": gives(D[:256])}, launch("pair_free", 2, 128, "in", "out"),
    met=wrong("peer-not-ready UTCATOMSWS", "", ends="fault:cluster"))
bug("peer_scales", ["NVIDIA/cutlass#3647", "NVIDIA/cutlass#3643"],
    "Scale factors are copied to tensor memory from both CTAs' shared memory; nobody has waited for the other CTA's bulk copy (observed), and "
    "its threads release what they wrote at scope .cta (scope).",
    "sm_100a", {"in": words(2048), "out": gives([weigh(D[4 * t:4 * t + 4]) + 11 * weigh(D[1024 + 4 * t:1028 + 4 * t]) for t in range(256)])},
    launch("peer_scales", 2, 128, "in", "out"),
    observed=wrong("data-race UBLKCP UTCCP"), scope=wrong("scope-too-narrow STS UTCCP", "missing-proxy-fence"))
bug("map_of_loads", ["deepseek-ai/DeepGEMM#343"],
    "A tensor map in global memory is changed for the next group while loads that use it are in flight.",
    "sm_90a", {"in": words(256), "made": room(32), "out": gives(D[:128][::-1] + D[128:256][::-1])},
    launch("map_of_loads", 1, 32, table("in", 16, 8, [16, 8]), "made", "in", "out"),
    done=wrong("async-reuse UTMALDG ATOMG"))
bug("map_of_stores", ["NVIDIA/cutlass#2162"],
    "The same of the stores of an epilogue: no wait for their group before the map is changed.",
    "sm_90a", {"in": words(256), "made": room(32), "out": gives(D[:128][::-1] + D[128:256][::-1])},
    launch("map_of_stores", 1, 32, table("out", 16, 8, [16, 8]), "made", "in", "out"),
    done=wrong("async-reuse UTMASTG ATOMG"))
OVERLAPS = {"attributes": {"programmaticStreamSerialization": True}}
bug("pdl_wait", ["NVIDIA/cutlass#2760"],
    "The warp that loads does not execute griddepcontrol.wait, others of the kernel do.",
    "sm_90", {"in": words(128), "data": room(128), "out": gives([D[i // 64 * 64 ^ 64 | 63 - i % 64] + 1 for i in range(128)])},
    launch("produce", 2, 64, "in", "data"), launch("consume", 2, 96, "data", "out", **OVERLAPS),
    wait=wrong("data-race STG UBLKCP"))
bug("pdl_compiled_out", ["flashinfer-ai/flashinfer#2708"],
    "A macro that was not set removes griddepcontrol from kernels that are launched to overlap.",
    "sm_120", {"in": words(128), "scaled": room(128), "product": room(128), "out": gives([D[i ^ 65] * 15 + 1 for i in range(128)])},
    launch("quantize", 2, 64, "in", "scaled"), launch("multiply", 2, 64, "scaled", "product", **OVERLAPS),
    launch("normalize", 2, 64, "product", "out", **OVERLAPS),
    enabled=wrong("data-race STG LDG"))
GPUS = [0, 1]
bug("relaxed_spin", ["NVIDIA/cutlass#3117"],
    "A relaxed spin on a flag, then multimem.ld_reduce of what it announces. PTX orders nothing there; an engineer of NVIDIA answers that the "
    "chip does, for what an acquire adds is to empty L1, which multimem passes by. Both are right about their machine.",
    "sm_90", {**{"in%d" % g: dict(words(64), gpu=g) for g in GPUS}, **{"x%d" % g: dict(room(64), gpu=g) for g in GPUS},
              "x": {"bytes": 256, "kind": "multicast", "of": ["x%d" % g for g in GPUS]}, **{"met%d" % g: dict(room(1), gpu=g) for g in GPUS},
              "met": {"bytes": 4, "kind": "multicast", "of": ["met%d" % g for g in GPUS]},
              **{"out%d" % g: dict(gives([2 * v for v in D[:64]]), gpu=g) for g in GPUS}},
    *[launch("relaxed_spin", 1, 64, "in%d" % g, "x%d" % g, "x", "met", "met%d" % g, {"u32": len(GPUS)}, "out%d" % g, gpu=g) for g in GPUS],
    more={"gpus": len(GPUS)},
    acquire=wrong("missing-acquire STG LDGMC"))


def both_verdicts(program, folder):
    """What `ptx` and the machine `caches` say of the relaxed spin; nothing where the build cannot explore (it has no level v2)."""
    said = {}
    for model in ("ptx", "caches"):
        end = subprocess.run([program, "litmus", *([] if model == "ptx" else ["--model", model]), "acquire.json"], cwd=folder, capture_output=True, text=True)
        said[model] = next((v for v in ("allowed", "forbidden") if "(%s): %s" % (model, v) in end.stdout or (model == "ptx" and "1 test: 1 " + v in end.stdout)), end.stderr)
    text = ("`sassemu litmus relaxed_spin_peers/acquire.json` explores all of it: can a GPU see the signal and miss the data? By `ptx`: allowed. By the machine "
            "`caches` (`--model caches`), whose L1 answers no strong load: forbidden.")
    right = said == {"ptx": "allowed", "caches": "forbidden"} or "host level" in str(said)
    return text, [] if right else ["relaxed_spin_peers: litmus says %s" % said]


bug("relaxed_spin_peers", ["NVIDIA/cutlass#3117"],
    "The same for exploration: a thread a GPU, and a strong load of the other GPU's part where the report has multimem.ld_reduce.",
    "sm_90", {**{"%s%d" % (name, g): {"bytes": 4, "gpu": g} for name in ("x", "met") for g in GPUS},
              **{"out%d" % g: dict(gives([7]), gpu=g) for g in GPUS}},
    *[launch("relaxed_spin_peers", 1, 1, "x%d" % g, "x%d" % (1 - g), "met%d" % (1 - g), "met%d" % g, "out%d" % g, gpu=g) for g in GPUS],
    more={"gpus": len(GPUS), "peers": True, "condition": "out0!=7 || out1!=7"}, notes=[both_verdicts],
    acquire=wrong("missing-acquire STG LDG"))
bug("tensor_fences", ["NVIDIA/cutlass#2974"],
    "A question: is tcgen05.fence::before_thread_sync missing in code that everybody ships? By the letter it is, and nothing that is commonly "
    "relied on fails without it: the report says so, and is none with `--verdict common`.",
    "sm_100a", {"in": words(1152), "out": gives([3 * v for v in product(rows(0, 128, 32), rows(1024, 16, 32))])},
    launch("tensor_fences", 1, 128, "in", "out"),
    before=wrong("no-memory-order LDTM UTCIMMA", "", common=False))
bug("sparse_fence", ["tile-ai/tilelang#2634"],
    "Operands of a sparse wgmma are stored by threads, with no fence.proxy.async; 29,000 runs on an H100 showed nothing.",
    "sm_90a", {"in": words(1536), "out": gives(sparse_product())}, launch("sparse_fence", 1, 128, "in", "out"),
    fence=wrong("missing-proxy-fence STS IGMMA"))
bug("ws_loop_back", ["tile-ai/tilelang#2613"],
    "An operand that two warpgroups share is staged for the next turn of the loop with no barrier at the end of this one.",
    "sm_90a", {"in": words(1152), "out": gives([v for g in (0, 1) for v in warpgroup_8(
        [(rows(128, 64, 32), rows(64 * g, 8, 32)), (rows(640, 64, 32), rows(64 * g, 8, 32))])])},
    launch("ws_loop_back", 1, 256, "in", "out"),
    back=wrong("async-reuse IGMMA STS"))
bug("unaligned_rows", ["tile-ai/tilelang#2567"],
    "Rows whose size no bulk copy takes are loaded by threads, and the mbarrier still waits for their bytes: the kernel hangs at such sizes.",
    "sm_90", {"in": words(318), "out": gives([D[i] + D[256 + i % 62] for i in range(256)])}, launch("unaligned_rows", 1, 64, "in", {"u32": 62}, "out"),
    bytes=wrong("mbarrier-protocol SYNCS", ends="deadlock"))
bug("lamport", ["flashinfer-ai/flashinfer#3053"],
    "An all-reduce whose data announce themselves: a mailbox is emptied one epoch too early, when the other rank may have filled it, and the "
    "spin never ends.",
    "sm_90", {"in": words(256), "mail": room(192, "0x80"), "out": gives([sum((e + 1) * (D[(r * 4 + e) * 32 + t] + D[((r ^ 1) * 4 + e) * 32 + t]) for e in range(4))
                                                                   for r in (0, 1) for t in range(32)])},
    launch("lamport", 2, 32, "in", "mail", {"u32": 4}, "out"),
    stage=wrong("data-race STG STG"))
bug("early_return", ["vllm-project/vllm#26026"],
    "Warps without work arrive at a named barrier and do not wait; at the next tile they may arrive again in the same phase.",
    "sm_90", {"in": words(256), "out": gives([D[63 - t] * 3 for t in range(64)] + [pairs.UNTOUCHED] * 128 + [D[192 + 9 - t] * 3 if t < 10 else 0 for t in range(64)])},
    launch("early_return", 1, 96, "in", {"u32": 64 | 10 << 24}, {"u32": 4}, "out"),
    wait=wrong("barrier-misuse BAR"))
bug("box_bytes", ["mirage-project/mirage#705"],
    "The box of a tensor map brings more bytes than the mbarrier expects.",
    "sm_90", {"in": words(512), "out": gives([D[(15 - i // 16) * 32 + k * 16 + 15 - i % 16] for k in (0, 1) for i in range(256)])},
    launch("box_bytes", 1, 64, table("in", 32, 16, [16, 16]), {"u32": 16}, "out"),
    box=wrong("mbarrier-protocol SYNCS", ends="deadlock"))
bug("bounds", ["marin-community/marin#8870"],
    "In a grouped GEMM with cluster launch control the warps that multiply read the groups' bounds without waiting for the kernel that "
    "writes them (wait); and work is asked for again after the answer was that there is none (tail), which PTX leaves undefined.",
    "sm_100", {"in": words(1024), "bounds": room(4), "out": gives([D[c * 64 + t] + D[c % 4] % 4 + 1 if t // 8 < D[c % 4] % 4 + 1 else 0
                                                                   for c in range(16) for t in range(64)])},
    launch("route", 1, 32, "in", "bounds"), launch("grouped", 16, 96, "in", "bounds", "out", **OVERLAPS),
    more={"device": {"sms": 1, "residentCtas": 8}},
    wait=wrong("data-race STG LDG"), tail=wrong("work-queue-misuse UGETNEXTWORKID"))
bug("moved_loads", ["HazyResearch/ThunderKittens#209"],
    "The wait for an mbarrier lacks the \"memory\" clobber, and a compiler moves loads across it. The order of the source is right; what is wrong "
    "stands in the machine code alone, and that is what is judged. (nvcc 13.0 leaves the load of this kernel where it is, so its source has it "
    "where the report found it.)",
    "sm_90", {"in": words(128), "out": gives([D[63 - t] + 2 * D[127 - t] for t in range(64)])}, launch("moved_loads", 1, 96, "in", "out"),
    moved=wrong("data-race UBLKCP LDS"))
