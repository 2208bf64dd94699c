// SPDX-License-Identifier: Apache-2.0
// Tensor memory as warps see it: the layouts of its loads and stores cell by cell, its allocation,
// the rules whose breach ends the launch, and what CTAs leave to each other (nothing).
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>

#include "emu/gpu.hpp"
#include "emu/module/module.hpp"
#include "emu/sass/assembled.hpp"

namespace sassemu {
namespace {

constexpr uint32_t lanes = 128, columns = 512;

struct Launched {
    LaunchResult result;
    std::vector<uint32_t> out;
};

// Four warps run `body`. R0: thread; R2: address of the thread's word of the `words`; UR4:
// descriptor of global memory; UR9: the warp's first lane as an address.
Launched run(const std::string& body, size_t words, uint32_t grid = 1, GpuOptions options = {}) {
    Launched r;
    r.out.resize(words);
    std::vector<sass::Diagnostic> diagnostics;
    const auto read = sass::read_sass(
        ".target sm_100a\n.kernel k\n.param out 8\n.shared 4096\n S2R R0, SR_TID.X\n LDC.64 R2, "
        "c[0x0][out]\n LDCU.64 UR4, c[0x0][0x358]\n"
        " IMAD.WIDE.U32 R2, R0, 0x4, R2\n LOP3.LUT R4, R0, 0x60, RZ, 0xc0, !PT\n SHF.L.U32 R4, R4, "
        "0x10, RZ\n R2UR UR9, R4\n" +
            body + "\n EXIT\n",
        {}, diagnostics);
    if (!read) {
        ADD_FAILURE() << diagnostics.at(0).line << ": " << diagnostics.at(0).what;
        return r;
    }
    auto gpu = Gpu::create(std::move(options));
    auto module = load_module(sass::write_cubin(*read), "tensor.cubin");
    EXPECT_TRUE(gpu.ok() && module.ok());
    auto id = (*gpu)->load(std::make_shared<const Module>(std::move(*module)));
    const uint64_t buffer = *(*gpu)->allocate(words * 4, "out");
    LaunchRequest request;
    request.module = *id;
    request.kernel = "k";
    request.grid = {grid, 1, 1};
    request.block = {lanes, 1, 1};
    request.limits.max_warp_instructions = 1'000'000;
    request.params.resize(8);
    std::memcpy(request.params.data(), &buffer, 8);
    auto result = (*gpu)->launch(request);
    EXPECT_TRUE(result.ok()) << result.error().what;
    r.result = std::move(*result);
    EXPECT_TRUE((*gpu)->read(buffer, std::as_writable_bytes(std::span(r.out))));
    return r;
}
Launched good(const std::string& body, size_t words, uint32_t grid = 1, GpuOptions options = {}) {
    Launched r = run(body, words, grid, std::move(options));
    EXPECT_EQ(r.result.status, LaunchStatus::ok)
        << r.result.message << (r.result.fault ? r.result.fault->report() : "") << "\n"
        << body;
    return r;
}

std::string hex(uint32_t v) {
    char text[16];
    std::snprintf(text, sizeof text, "0x%x", v);
    return text;
}

constexpr const char* allocate_all = " UMOV UR8, 0xffff\n UTCATOMSWS.OR URZ, UR8\n";

// ---- layouts

// The figures of the PTX ISA ("Data movement shape"), read the other way round: who holds the cell
// in this row and word.
struct Holder {
    uint32_t thread, reg;
};
struct Shape {
    const char* name;
    uint32_t rows, words, registers;  // of .x1
    Holder (*holder)(uint32_t row, uint32_t word);
};
const Shape shapes[] = {
    {"", 32, 1, 1,
     [](uint32_t row, uint32_t word) {
         return Holder{row, word};
     }},
    {".16dp64bit", 16, 2, 1,
     [](uint32_t row, uint32_t word) {
         return Holder{row % 8 * 4 + word % 2 * 2 + row / 8, word / 2};
     }},
    {".16dp128bit", 16, 4, 2,
     [](uint32_t row, uint32_t word) {
         return Holder{row % 8 * 4 + word % 4, word / 4 * 2 + row / 8};
     }},
    {".16dp256bit", 16, 8, 4,
     [](uint32_t row, uint32_t word) {
         return Holder{row % 8 * 4 + word % 8 / 2, word / 8 * 4 + row / 8 * 2 + word % 2};
     }},
    {".16dp32bit_t0_t15", 16, 1, 1,
     [](uint32_t row, uint32_t word) {
         return Holder{row, word};
     }},
    {".16dp32bit_t16_t31", 16, 1, 1,
     [](uint32_t row, uint32_t word) {
         return Holder{row + 16, word};
     }},
};

uint32_t pattern(uint32_t lane, uint32_t column) { return (lane * columns + column) * 0x9e3779b1; }
constexpr uint32_t untouched = 0x5a5a5a5a;
uint32_t stored(uint32_t thread, uint32_t reg) { return (thread * 128 + reg + 7) * 0x85ebca6b; }

// One form: what a load puts where, and what a store changes, at a column and a half of the warp's
// lanes.
void check(const Shape& s, uint32_t count, bool halves, uint32_t column, uint32_t half,
           bool reference) {
    const uint32_t registers = s.registers * count, words = s.words * count,
                   width = words * (halves ? 2 : 1);
    const std::string form = std::string(s.name) + (count > 1 ? ".x" + std::to_string(count) : "");
    const std::string at = "tmem[UR9+" + hex(half << 20 | column) + "]";
    SCOPED_TRACE(form + (halves ? " of halves" : "") + " at column " + std::to_string(column));
    std::string body = allocate_all;
    // Every cell of the memory has its number times a constant.
    body +=
        " IMAD.U32 R10, R0, 0x200, RZ\n IMAD.U32 R10, R10, 0x9e3779b1, RZ\n UMOV UR10, UR9\n "
        "UIADD3 UR11, UPT, UPT, UR9, 0x200, URZ\n"
        "FILL: STTM tmem[UR10], R10\n IADD3 R10, PT, PT, R10, 0x9e3779b1, RZ\n UIADD3 UR10, UPT, "
        "UPT, UR10, 0x1, URZ\n"
        " UISETP.NE.U32.AND UP0, UPT, UR10, UR11, UPT\n BRA.U UP0, `(FILL)\n";
    for (uint32_t r = 0; r < registers; ++r)
        body += " MOV R" + std::to_string(100 + r) + ", " + hex(untouched) + "\n";
    body += " LDTM" + form + (halves ? ".PACK16BIT" : "") + " R100, " + at + "\n";
    for (uint32_t r = 0; r < registers; ++r)
        body += " STG.E desc[UR4][R2.64+" + hex(r * lanes * 4) + "], R" + std::to_string(100 + r) +
                "\n";
    for (uint32_t r = 0; r < registers; ++r)
        body += " IMAD.U32 R12, R0, 0x80, RZ\n IADD3 R12, PT, PT, R12, " + hex(r + 7) +
                ", RZ\n IMAD.U32 R" + std::to_string(100 + r) + ", R12, 0x85ebca6b, RZ\n";
    body +=
        " STTM" + form + (halves ? ".EXPAND16BIT " : " ") + at + ", R100\n FENCE.VIEW.ASYNC.T\n";
    // The whole memory, behind the registers.
    body +=
        " IADD3 R2, P0, PT, R2, 0x10000, RZ\n IADD3.X R3, PT, PT, R3, RZ, RZ, P0, !PT\n UMOV UR10, "
        "UR9\n"
        "DUMP: LDTM R10, tmem[UR10]\n STG.E desc[UR4][R2.64], R10\n IADD3 R2, P0, PT, R2, 0x200, "
        "RZ\n"
        " IADD3.X R3, PT, PT, R3, RZ, RZ, P0, !PT\n UIADD3 UR10, UPT, UPT, UR10, 0x1, URZ\n"
        " UISETP.NE.U32.AND UP0, UPT, UR10, UR11, UPT\n BRA.U UP0, `(DUMP)\n";
    GpuOptions options;
    options.reference = reference;
    const Launched r = good(body, 128 * lanes + columns * lanes, 1, std::move(options));

    std::vector<uint32_t> loaded(registers * lanes, untouched), memory(columns * lanes);
    for (uint32_t lane = 0; lane < lanes; ++lane)
        for (uint32_t c = 0; c < columns; ++c) memory[c * lanes + lane] = pattern(lane, c);
    for (uint32_t warp = 0; warp < 4; ++warp)
        for (uint32_t row = 0; row < s.rows; ++row)
            for (uint32_t word = 0; word < words; ++word) {
                const Holder h = s.holder(row, word);
                const uint32_t lane = warp * 32 + half * 16 + row, thread = warp * 32 + h.thread;
                uint32_t& value = loaded[h.reg * lanes + thread];
                const uint32_t c = column + word * (halves ? 2 : 1), next = stored(thread, h.reg);
                if (halves) {
                    value = (pattern(lane, c) & 0xffff) | pattern(lane, c + 1) << 16;
                    memory[c * lanes + lane] = next & 0xffff;
                    memory[(c + 1) * lanes + lane] = next >> 16;
                } else {
                    value = pattern(lane, c);
                    memory[c * lanes + lane] = next;
                }
            }
    for (uint32_t i = 0; i < registers * lanes; ++i)
        ASSERT_EQ(r.out[i], loaded[i]) << "register " << i / lanes << " of thread " << i % lanes;
    for (uint32_t i = 0; i < columns * lanes; ++i)
        ASSERT_EQ(r.out[128 * lanes + i], memory[i])
            << "lane " << i % lanes << ", column " << i / lanes;
    ASSERT_LE(column + width, columns);
}

TEST(TensorMemory, EveryLayoutHasItsPlaces) {
    uint32_t turn = 0;
    for (const Shape& s : shapes)
        for (uint32_t count = 1; count * s.registers <= 128; count *= 2)
            for (const bool halves : {false, true}) {
                const uint32_t width = s.words * count * (halves ? 2 : 1);
                if (width > columns) continue;
                ++turn;
                check(s, count, halves, turn * 37 % (columns - width + 1),
                      s.rows == 16 ? turn % 2 : 0, turn % 5 == 0);
                if (HasFatalFailure()) return;
            }
    EXPECT_EQ(turn, 90u);  // no form is left out by mistake
}

// ---- allocation

// As compilers clear sums.
TEST(TensorMemory, RzIsAnyNumberOfZeros) {
    std::string body = allocate_all;
    for (uint32_t r = 0; r < 32; ++r) body += " MOV R" + std::to_string(100 + r) + ", 0x7\n";
    body +=
        " STTM.x32 tmem[UR9+0x40], R100\n STTM.x16 tmem[UR9+0x40], RZ\n"
        " LDTM.x32 R100, tmem[UR9+0x40]\n";
    for (uint32_t r = 0; r < 32; ++r)
        body += " STG.E desc[UR4][R2.64+" + hex(r * lanes * 4) + "], R" + std::to_string(100 + r) +
                "\n";
    const Launched r = good(body, 32 * lanes);
    for (uint32_t i = 0; i < 32 * lanes; ++i) ASSERT_EQ(r.out[i], i < 16 * lanes ? 0u : 7u) << i;
}

TEST(TensorMemory, GranulesAreFoundSetAndFreed) {
    struct Step {
        const char* what;
        uint32_t operand, next, result;
        int found;  // -1: the instruction has no predicate
    };
    const Step steps[] = {
        {"FIND_AND_SET.ALIGN", 1, 0, 0, 1},   // 0001
        {"FIND_AND_SET.ALIGN", 4, 0, 4, 1},   // 00f1
        {"FIND_AND_SET", 2, 0, 1, 1},         // 00f7
        {"FIND_AND_SET.ALIGN", 8, 0, 8, 1},   // fff7
        {"FIND_AND_SET.ALIGN", 2, 0, 16, 0},  // only bit 3 is free
        {"AND", 0xff0f, 0, 0xfff7, -1},       // ff07
        {"FIND_AND_SET.ALIGN", 4, 0, 4, 1},   // ff77 - not at 3, where it would begin unaligned
        {"AND", 0xfffe, 0, 0xfff7, -1},       // fff6
        {"FIND_AND_SET.ALIGN", 1, 0, 0, 1},   // fff7
        {"CAS", 0xffff, 0x1, 0xfff7, 0},      // not that
        {"CAS", 0xfff7, 0x10, 0xfff7, 1},     // 0010
        {"OR", 0x8001, 0, 0x10, -1},          // 8011
        {"FIND_AND_SET.ALIGN", 16, 0, 16, 0}, {"AND", 0, 0, 0x8011, -1},
        {"FIND_AND_SET.ALIGN", 16, 0, 0, 1},
    };
    std::string body = " ISETP.NE.U32.AND P0, PT, R0, RZ, PT\n @P0 EXIT\n";
    uint32_t at = 0;
    for (const Step& s : steps) {
        const std::string what = s.what;
        body +=
            " UMOV UR20, " + hex(s.operand) + "\n UMOV UR21, " + hex(s.next) +
            "\n UISETP.NE.U32.AND UP1, UPT, URZ, URZ, UPT\n UTCATOMSWS." + what +
            (what == "CAS" ? " UP1, UR22, UR20, UR21"
             : s.found < 0 ? " UR22, UR20"
                           : " UP1, UR22, UR20") +
            "\n MOV R6, UR22\n USEL UR23, UR20, URZ, UP1\n MOV R7, UR23\n STG.E desc[UR4][R2.64+" +
            hex(at) + "], R6\n STG.E desc[UR4][R2.64+" + hex(at + 4) + "], R7\n";
        at += 8;
    }
    const Launched r = good(body, std::size(steps) * 2);
    for (size_t i = 0; i < std::size(steps); ++i) {
        EXPECT_EQ(r.out[2 * i], steps[i].result) << "step " << i;
        EXPECT_EQ(r.out[2 * i + 1], steps[i].found == 1 ? steps[i].operand : 0) << "step " << i;
    }
}

TEST(TensorMemory, EachCtaFindsItEmptyAndZero) {
    // Reads before it writes, with every column allocated by itself, from which it may not free
    // any.
    const Launched r =
        good(std::string(" UMOV UR8, 0x10\n ISETP.GE.U32.AND P0, PT, R0, 0x20, PT\n @P0 BRA `(L)\n "
                         "UTCATOMSWS.FIND_AND_SET.ALIGN UP0, UR8, UR8\n") +
                 "L: BAR.SYNC.DEFER_BLOCKING 0x0\n LDTM R10, tmem[UR9+0x1ff]\n S2R R6, "
                 "SR_CTAID.X\n SHF.L.U32 R6, R6, 0x9, RZ\n"
                 " IADD3 R2, P0, PT, R2, R6, RZ\n IADD3.X R3, PT, PT, R3, RZ, RZ, P0, !PT\n STG.E "
                 "desc[UR4][R2.64], R10\n"
                 " MOV R11, 0x77\n STTM tmem[UR9+0x1ff], R11\n LDTM R12, tmem[UR9+0x1ff]\n IADD3 "
                 "R12, PT, PT, R12, R10, RZ\n"
                 " STG.E desc[UR4][R2.64], R12\n",
             12 * lanes, 12);
    for (const uint32_t v : r.out) ASSERT_EQ(v, 0x77u);
}

// ---- the tensor core, at its own time

// Words 100, 101, ... at 0x400 and 200, 201, ... at 0xc00: 32 rows of 16 bytes each. The object at
// 0x800 expects an arrival. UR12 and UR14: descriptors of both. Then thread 0 goes on, the others
// at L.
const std::string sources =
    std::string(allocate_all) +
    " MOV R10, 0x7\n STTM tmem[UR9], R10\n IADD3 R12, PT, PT, R0, 0x64, "
    "RZ\n IADD3 R13, PT, PT, R0, 0xc8, RZ\n SHF.L.U32 R14, R0, 0x2, RZ\n"
    " STS [R14+0x400], R12\n STS [R14+0xc00], R13\n UMOV UR10, 0x800\n "
    "UMOV UR6, 0x1ffffe\n UMOV UR7, 0x7ffff800\n"
    " UMOV UR12, 0x40\n UMOV UR13, 0x4008\n UMOV UR14, 0xc0\n UMOV UR15, "
    "0x4008\n ISETP.NE.U32.AND P1, PT, R0, RZ, PT\n "
    "BSSY.RECONVERGENT B0, `(I)\n @P1 BRA `(I)\n SYNCS.EXCH.64 URZ, [UR10], "
    "UR6\nI: BSYNC.RECONVERGENT B0\n FENCE.VIEW.ASYNC.S\n "
    "BAR.SYNC.DEFER_BLOCKING 0x0\n BSSY.RECONVERGENT B0, `(L)\n @P1 BRA `(L)\n";

TEST(TensorMemory, TheTensorCoreIsDoneOnceACommitSaysSo) {
    std::set<uint32_t> early;
    const auto each = [&](AgentOrder order, uint64_t seed) {
        GpuOptions options;
        options.agents = order;
        options.seed = seed;
        const Launched r =
            good(sources +
                     " UTCCP.T.S.4x32dp128bit tmem[URZ], gdesc[UR12]\n UTCCP.T.S.4x32dp128bit "
                     "tmem[URZ], gdesc[UR14]\n UTCBAR [UR10], URZ\n"
                     "L: BSYNC.RECONVERGENT B0\n BAR.SYNC.DEFER_BLOCKING 0x0\n LDTM R20, "
                     "tmem[UR9]\n STG.E "
                     "desc[UR4][R2.64], R20\n MOV R15, RZ\n"
                     "W: SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR10], R15\n @!P0 BRA `(W)\n LDTM "
                     "R20, tmem[UR9]\n STG.E desc[UR4][R2.64+0x200], R20\n",
                 2 * lanes, 1, std::move(options));
        // The second copy is over the first, whatever the order.
        for (uint32_t t = 0; t < lanes; ++t) ASSERT_EQ(r.out[lanes + t], 200 + t % 32 * 4) << t;
        early.insert(r.out[0]);
        if (order != AgentOrder::random) EXPECT_EQ(r.out[0], order == AgentOrder::lazy ? 7u : 200u);
    };
    each(AgentOrder::eager, 1);
    each(AgentOrder::lazy, 1);
    for (uint64_t seed = 1; seed <= 24; ++seed) each(AgentOrder::random, seed);
    EXPECT_EQ(early, (std::set<uint32_t>{7, 100, 200}));
}

// ---- what ends a launch

void expect_fault(const std::string& body, FaultKind kind, std::initializer_list<const char*> parts,
                  AgentOrder agents = AgentOrder::eager) {
    GpuOptions options;
    options.agents = agents;
    const Launched r = run(body, lanes, 1, std::move(options));
    ASSERT_EQ(r.result.status, LaunchStatus::fault) << r.result.message << body;
    EXPECT_EQ(r.result.fault->kind, kind);
    for (const char* part : parts)
        EXPECT_NE(r.result.fault->report().find(part), std::string::npos)
            << part << "\n"
            << r.result.fault->report();
}

TEST(TensorMemory, OnlyWhatIsAllocatedIsReached) {
    const std::string half = " UMOV UR8, 0xff00\n UTCATOMSWS.OR URZ, UR8\n";
    good(half + " LDTM.x32 R100, tmem[UR9+0x100]\n STTM.x128 tmem[UR9+0x180], R100\n", lanes);
    expect_fault(half + " LDTM.x32 R100, tmem[UR9+0xff]\n", FaultKind::out_of_bounds,
                 {"columns 255 to 286 of tensor memory are not allocated", "LDTM.x32"});
    expect_fault(half + " STTM.16dp64bit.x2 tmem[UR9+0x1fd], R100\n", FaultKind::out_of_bounds,
                 {"columns 509 to 512", "STTM"});
    expect_fault(" LDTM R10, tmem[UR9]\n", FaultKind::out_of_bounds, {"columns 0 to 0"});
    expect_fault(half + " UMOV UR8, 0x7fff\n UTCATOMSWS.AND URZ, UR8\n LDTM R10, tmem[UR9+0x1e0]\n",
                 FaultKind::use_after_free, {"columns 480 to 480"});
}

TEST(TensorMemory, AWarpReachesItsLanesOnly) {
    const std::string all = allocate_all;
    expect_fault(all + " ISETP.LT.U32.AND P0, PT, R0, 0x60, PT\n @P0 EXIT\n LDTM R10, tmem[URZ]\n",
                 FaultKind::out_of_bounds,
                 {"lanes 0 to 31 of tensor memory: warp 3 reaches lanes 96 to 127", "warp 3"});
    expect_fault(all + " LDTM.16dp128bit R10, tmem[UR9+0x200000]\n", FaultKind::out_of_bounds,
                 {"lanes 32 to 47"});
    expect_fault(all + " LDTM R10, tmem[UR9+0x100000]\n", FaultKind::out_of_bounds,
                 {"lanes 16 to 47"});
    expect_fault(all + " LDTM.16dp64bit R10, tmem[UR9+0x80000]\n", FaultKind::misaligned_address,
                 {"lanes 8 to 23", "multiple of 16"});
}

TEST(TensorMemory, NoMoreThanThereIsIsAllocated) {
    for (const char* count : {"0x0", "0x11"})
        expect_fault(
            std::string(" UMOV UR8, ") + count + "\n UTCATOMSWS.FIND_AND_SET.ALIGN UP0, UR8, UR8\n",
            FaultKind::other, {"columns of tensor memory, which has 32 to 512 to give"});
}

TEST(TensorMemory, TheTensorCoreReachesWhatIsAllocatedWhenItWorks) {
    const std::string copy = " UTCCP.T.S.4x32dp128bit tmem[URZ+0x1c0], gdesc[UR12]\n",
                      freed = " UMOV UR8, 0xbfff\n UTCATOMSWS.AND URZ, UR8\n";
    for (const AgentOrder agents : {AgentOrder::eager, AgentOrder::lazy})
        expect_fault(sources + freed + copy + "L: NOP\n", FaultKind::use_after_free,
                     {"the tensor core uses columns 448 to 479", "have been freed", "UTCCP"},
                     agents);
    good(sources + copy + freed + "L: NOP\n", lanes);
    expect_fault(sources + copy + freed + "L: NOP\n", FaultKind::use_after_free,
                 {"the tensor core uses columns 448 to 479", "UTCCP"}, AgentOrder::lazy);
    expect_fault(sources + " UMOV UR12, 0x3ff0\n UTCCP.T.S tmem[URZ], gdesc[UR12]\nL: NOP\n",
                 FaultKind::other, {"leaves shared memory"});
}

// What the PTX ISA has no such form of.
TEST(TensorMemory, ForbiddenProductsSaySo) {
    const auto with = [](const char* instruction, const char* descriptor) {
        return sources + " UMOV UR17, " + descriptor + "\n " + instruction +
               " gdesc[UR12], gdesc[UR14], tmem[URZ], tmem[UR16], idesc[UR17], UPT\nL: NOP\n";
    };
    // M of 128 and N of 64, f32; bit 2: sparse, bits 1..0: a selector.
    expect_fault(with("UTCQMMA", "0x8100015"), FaultKind::other, {"sparsity selector", "UTCQMMA"});
    expect_fault(with("UTCHMMA.WS", "0x8120010"), FaultKind::other, {"invalid N", "UTCHMMA.WS"});
    expect_fault(with("UTCHMMA.2CTA", "0x4100010"), FaultKind::other,
                 {"invalid M for cta_group::2", "UTCHMMA.2CTA"});
    expect_fault(with("UTCHMMA.2CTA.WS", "0x8100010"), FaultKind::illegal_instruction,
                 {"UTCHMMA.2CTA.WS"});
}

// The loop of tcgen05.alloc: it sleeps between its tries.
const std::string allocation_loop =
    "A: UMOV UR8, 0x10\n UTCATOMSWS.FIND_AND_SET.ALIGN UP0, UR8, UR8\n BRA.U UP0, `(GOT)\n "
    "NANOSLEEP 0x64\n BRA `(A)\nGOT: NOP\n";

TEST(TensorMemory, AnAllocationWaitsUntilColumnsAreFreed) {
    // Warps take turns: each has all of it for a while.
    const Launched r = good(allocation_loop +
                                " MOV R10, 0x1\n STTM tmem[UR9], R10\n NANOSLEEP 0x100\n LDTM R10, "
                                "tmem[UR9]\n STG.E desc[UR4][R2.64], R10\n"
                                " UTCATOMSWS.AND URZ, URZ\n",
                            lanes);
    for (const uint32_t v : r.out) ASSERT_EQ(v, 1u);
}

TEST(TensorMemory, APathThatWaitsForColumnsLeavesTheOtherAlone) {
    // Half of a warp waits for what the other half frees; UR8, UR20 and UP0 are used by both.
    const Launched r =
        good(" ISETP.GE.U32.AND P0, PT, R0, 0x20, PT\n @P0 EXIT\n" + allocation_loop +
                 " ISETP.GE.U32.AND P0, PT, R0, 0x10, PT\n @P0 BRA `(B)\n"
                 "T: UMOV UR8, 0x3\n UTCATOMSWS.FIND_AND_SET UP0, UR20, UR8\n BRA.U UP0, `(F)\n "
                 "NANOSLEEP 0x64\n BRA `(T)\n"
                 "F: MOV R10, UR20\n BRA `(E)\n"
                 "B: UMOV UR20, 0x55\n UISETP.EQ.U32.AND UP0, UPT, URZ, URZ, UPT\n NANOSLEEP 0x64\n"
                 " USEL UR21, UR20, URZ, UP0\n MOV R10, UR21\n UMOV UR8, 0x200\n UMOV UR21, 0xff\n "
                 "UTCATOMSWS.AND URZ, UR21\n"
                 "E: STG.E desc[UR4][R2.64], R10\n",
             32);
    for (uint32_t t = 0; t < 32; ++t) ASSERT_EQ(r.out[t], t < 16 ? 8u : 0x55u) << t;
}

TEST(TensorMemory, AnAllocationThatNothingCanGrantIsADeadlock) {
    const Launched r = run(allocation_loop, lanes);
    ASSERT_EQ(r.result.status, LaunchStatus::deadlock) << r.result.message;
    EXPECT_NE(r.result.message.find(
                  "waits for columns of tensor memory; allocated, a bit for 32 of them: 0xffff"),
              std::string::npos)
        << r.result.message;
    EXPECT_NE(r.result.message.find("UTCATOMSWS.FIND_AND_SET"), std::string::npos);
}

}  // namespace
}  // namespace sassemu
