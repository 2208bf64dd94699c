// SPDX-License-Identifier: Apache-2.0
// Single words that compilers seldom or never emit so, run by the whole engine: what they leave in
// two registers.
#include <gtest/gtest.h>

#include <cstring>

#include "emu/gpu.hpp"
#include "emu/module/module.hpp"
#include "emu/sass/assembled.hpp"

namespace sassemu {
namespace {

// `k` has 8 bytes of parameters and no bank 2 or 4; `wide` of the same module has a page of
// parameters.
constexpr const char* head =
    ".constant table 8\n"
    ".kernel wide\n.param out 8\n.param more 4000\n EXIT\n"
    ".kernel k\n.shared 64\n.param out 8\n LDC.64 R2, c[0x0][out]\n";

// What `body` leaves in R0 and R1, and how the launch ended.
using Pair = std::array<uint32_t, 2>;
std::pair<Pair, LaunchResult> launch(const std::string& body, bool reference, const char* arch,
                                     uint32_t threads = 1, bool clusters = false) {
    Pair out{1, 1};
    std::vector<sass::Diagnostic> diagnostics;
    const auto read =
        sass::read_sass(head + body + "\n STG.E.64 [R2.64+URZ], R0\n EXIT\n", arch, diagnostics);
    if (!read) {
        ADD_FAILURE() << diagnostics.at(0).line << ": " << diagnostics.at(0).what;
        return {out, {}};
    }
    GpuOptions options;
    options.reference = reference;
    auto gpu = Gpu::create(std::move(options));
    auto module = load_module(sass::write_cubin(*read), "words.cubin");
    EXPECT_TRUE(gpu.ok() && module.ok());
    auto id = (*gpu)->load(std::make_shared<const Module>(std::move(*module)));
    const uint64_t buffer = *(*gpu)->allocate(8, "out");
    LaunchRequest request;
    request.module = *id;
    request.kernel = "k";
    request.block = {threads, 1, 1};
    request.explicit_cluster = clusters;
    request.params.resize(8);
    std::memcpy(request.params.data(), &buffer, 8);
    auto result = (*gpu)->launch(request);
    EXPECT_TRUE(result.ok());
    EXPECT_TRUE((*gpu)->read(buffer, std::as_writable_bytes(std::span(out))));
    return {out, std::move(*result)};
}
Pair run(const std::string& body, bool reference, const char* arch = "sm_90",
         uint32_t threads = 1) {
    const auto [out, result] = launch(body, reference, arch, threads);
    EXPECT_EQ(result.status, LaunchStatus::ok) << result.message;
    return out;
}

// BRA.U is taken by all lanes of a path or by none of them: cuSOLVER's code goes on behind it with
// lanes in which the condition holds, and has them skip what is not theirs.
TEST(Words, UniformBranchesAreTakenWhereTheConditionHoldsInAllLanes) {
    const auto passed = [](const std::string& condition, bool reference) {
        const Pair out = run(" S2R R4, SR_LANEID\n MOV R5, RZ\n" + condition +
                                 "@P0 BRA.U `(over)\n MOV R5, 0x1\nover:\n"
                                 " ISETP.NE.AND P1, PT, R5, RZ, PT\n VOTE.ANY R0, PT, P1\n"
                                 " VOTE.ANY R1, PT, PT",
                             reference, "sm_90", 32);
        EXPECT_EQ(out[1], ~0u) << condition;  // nobody has left the others
        return out[0];
    };
    for (const bool reference : {false, true}) {
        EXPECT_EQ(passed(" ISETP.GE.U32.AND P0, PT, R4, RZ, PT\n", reference), 0u);
        EXPECT_EQ(passed(" ISETP.GE.U32.AND P0, PT, R4, 0x20, PT\n", reference), ~0u);
        EXPECT_EQ(passed(" ISETP.GE.U32.AND P0, PT, R4, 0x17, PT\n", reference), ~0u);
        EXPECT_EQ(passed(" ISETP.NE.U32.AND P0, PT, R4, 0x5, PT\n", reference), ~0u);
        // Lanes that are elsewhere have no say.
        const Pair part =
            run(" S2R R4, SR_LANEID\n MOV R5, RZ\n ISETP.GE.U32.AND P0, PT, R4, 0x10, PT\n"
                " BSSY B0, `(meet)\n@P0 BRA `(meet)\n ISETP.LT.U32.AND P0, PT, R4, 0x10, PT\n"
                "@P0 BRA.U `(meet)\n MOV R5, 0x1\nmeet:\n BSYNC B0\n"
                " ISETP.NE.AND P1, PT, R5, RZ, PT\n VOTE.ANY R0, PT, P1\n VOTE.ANY R1, PT, PT",
                reference, "sm_90", 32);
        EXPECT_EQ(part, (Pair{0, ~0u}));
    }
}

// As LDC does on an H200; never the host's memory. By offset and by register, of banks that the
// kernel has and that it lacks.
TEST(Words, ConstantBanksReadZerosPastTheirEnd) {
    const char* bodies[] = {
        " MOV R0, c[0x0][0x4000]\n MOV R1, c[0x0][0x7ffc]",
        " MOV R0, c[0x2][0x0]\n MOV R1, c[0x2][0x4000]",
        " MOV R0, c[0x3][0x10]\n MOV R1, c[0x3][0x7ffc]",
        " MOV R0, c[0x4][0x0]\n MOV R1, c[0x4][0x8]",
        " MOV R0, RZ\n DADD R0, RZ, c[0x3][0x10]",
        " ULDC.64 UR6, c[0x0][0xfff8]\n MOV R0, UR6\n MOV R1, UR7",
        " ULDC.64 UR6, c[0x0][0x1ff0]\n MOV R0, UR6\n MOV R1, UR7",
        " MOV R8, 0x4000\n R2UR UR8, R8\n ULDC.64 UR6, c[0x0][UR8]\n MOV R0, UR6\n MOV R1, UR7",
        " MOV R8, 0x8\n R2UR UR8, R8\n ULDC.64 UR6, c[0x3][UR8]\n MOV R0, UR6\n MOV R1, UR7",
        " MOV R8, 0xfffffffc\n R2UR UR8, R8\n ULDC.64 UR6, c[0x0][UR8]\n MOV R0, UR6\n MOV R1, UR7",
        " MOV R8, 0x4000\n LDC.64 R0, c[0x0][R8]",
        " LDC.64 R0, c[0x2][0x0]",
    };
    for (const char* body : bodies)
        for (const bool reference : {false, true})
            EXPECT_EQ(run(body, reference), (Pair{0, 0}))
                << body << (reference ? ", reference" : "");
}

TEST(Words, SyncsCasReplacesWhatItIsToldToExpect) {
    const std::string object =
        " UMOV UR10, 0x400\n UMOV UR6, 0x1ffffe\n UMOV UR7, 0x7ffff800\n SYNCS.EXCH.64 URZ, "
        "[UR10], UR6\n"
        " UMOV UR12, 0x1ffffe\n UMOV UR13, 0x7ffff800\n UMOV UR14, 0x5\n UMOV UR15, 0x6\n";
    const std::string result =
        " SYNCS.CAS.64 UR8, [UR10], UR12, UR14\n SYNCS.LD.64 UR6, [UR10]\n MOV R0, UR8\n MOV R1, "
        "UR6\n";
    EXPECT_EQ(run(object + result, false), (Pair{0x1ffffe, 5}));
    EXPECT_EQ(run(object + " UMOV UR13, 0x1\n" + result, false), (Pair{0x1ffffe, 0x1ffffe}));
}

TEST(Words, VisetOfSm107ComparesEachElement) {
    const auto set = [](const char* first, const char* second) {
        return run(std::string(" MOV R4, 0x8000ff01\n MOV R5, 0x7fff0001\n ") + first + "\n " +
                       second + "\n",
                   false, "sm_107a");
    };
    EXPECT_EQ(set("VISET.BM.GE.U32 R0, R4, R5", "VISET.BM.GE.S32 R1, R4, R5"), (Pair{~0u, 0}));
    EXPECT_EQ(set("VISET.BM.LT.U16x2 R0, R4, R5", "VISET.BM.LT.S16x2 R1, R4, R5"), (Pair{0, ~0u}));
    EXPECT_EQ(set("VISET.BM.GE.U8x4 R0, R4, R5", "VISET.BM.GE.S8x4 R1, R4, R5"),
              (Pair{0xff00ffff, 0x00ff00ff}));
    EXPECT_EQ(set("VISET.BM.EQ.U8x4 R0, R4, 0x1", "VISET.BM.T.S16x2 R1, R4, R5"),
              (Pair{0x00ff00ff, ~0u}));
}

// The parity is bit 31 of the register behind the address; the answer goes to a uniform predicate.
TEST(Words, UniformTestOfAnMbarrierOfSm107) {
    const auto ask = [](const std::string& parity, const char* wait) {
        return " UMOV UR11, " + parity + "\n USYNCS.PHASECHK.TRANS64" + wait +
               " UP0, [UR10], UR11\n USEL UR12, URZ, 0x1, !UP0\n";
    };
    const std::string init =
        " UMOV UR10, 0x400\n UMOV UR6, 0x1ffffe\n UMOV UR7, 0x7ffff800\n"
        " USYNCS.EXCH.64 URZ, [UR10], UR6\n";
    const std::string arrive = " USYNCS.ARRIVE.TRANS64.A1T0 URZ, [UR10], UR11\n";
    for (const bool over : {false, true}) {
        const std::string begin = init + (over ? arrive : "");
        const std::string both = ask("0x7fffffff", "") + " MOV R0, UR12\n" +
                                 ask("0x80000000", over ? "" : ".TRYWAIT") + " MOV R1, UR12\n";
        EXPECT_EQ(run(begin + both, false, "sm_107a"), (Pair{over, !over}));
    }
}

// None of them may run as if the modifier were not there.
TEST(Words, FormsOfSm107WithoutABehaviourAreNamed) {
    const char* lines[] = {
        "UTMALDG.1D.VALIDCHK_80000000 [UR8], [UR12]",
        "UTMALDG.2D.MULTICAST32 [UR8], [UR12], UR16",
        "UTMALDG.1D.TENSOR_GADDR [UR8], [UR12]",
        "UTMALDG.1D.TENSOR_STRIDE_SIZE_MAX256 [UR8], [UR12]",
        "UTMASTG.1D.TENSOR_GADDR [UR8], [UR12]",
        "UTMASTG.1D.COUNTED [UR8], [UR12]",
        "UTMASTG.2D.TENSOR_GADDR.TENSOR_STRIDE_SIZE_MAX256 [UR8], [UR12], UR16",
        "UBLKCP.S.G.VALIDCHK_EVERY_FF [UR8], [UR12], UR16",
        "UBLKCP.S.G.MULTICAST32 [UR8], [UR12], UR16",
        "UTCBAR.MMA_READ_SHM_A [UR8], URZ",
        "SYNCS.PHASECHK.TRANS64.PRIMARY P0, P1, RZ, [R4+URZ], R5",
        "USYNCS.PHASECHK.TRANS64.PRIMARY UP0, UP1, URZ, [UR4], UR5",
        "LDTM.STAT.SPARSIFY.U2.2TO4.x4.MAX.F32 R6, R4, tmem[UR4]",
    };
    for (const std::string line : lines) {
        const auto result = launch(" " + line, false, "sm_107a").second;
        EXPECT_EQ(result.status, LaunchStatus::unsupported) << line;
        EXPECT_NE(result.message.find(line), std::string::npos) << result.message;
    }
    // Advice to the L2 changes no result.
    EXPECT_EQ(run(" UBLKL2CCTL.PM [UR8], UR16\n UTMAL2CCTL.PM.2D.TENSOR_GADDR [UR8], [UR12]\n"
                  " MOV R0, 0x3\n MOV R1, 0x4",
                  false, "sm_107a"),
              (Pair{3, 4}));
}

TEST(Words, IntegersSideBySideOfSm120) {
    const auto sum = [](const char* a, const char* b, const char* first, const char* second) {
        return run(std::string(" MOV R4, ") + a + "\n MOV R5, " + b + "\n " + first + "\n " +
                       second + "\n",
                   false, "sm_120");
    };
    constexpr const char *add = "VIADD.S32.ISAT R0, R4, R5",
                         *subtract = "VIADD.S32.ISAT R1, R4, -R5";
    EXPECT_EQ(sum("0x7fffffff", "0x1", add, subtract), (Pair{0x7fffffff, 0x7ffffffe}));
    EXPECT_EQ(sum("0x80000000", "0x1", add, subtract), (Pair{0x80000001, 0x80000000}));
    EXPECT_EQ(sum("0x80000000", "0x80000000", add, subtract), (Pair{0x80000000, 0}));
    EXPECT_EQ(sum("0x0", "0x80000000", add, subtract), (Pair{0x80000000, 0x7fffffff}));
    EXPECT_EQ(sum("0xffff0001", "0x0001ffff", "VIADD.16x2 R0, R4, R5", "VIADD.S16x2 R1, -R4, R5"),
              (Pair{0, 0x0002fffe}));
    EXPECT_EQ(sum("0x80000000", "0x1", "VIADD.S32.ISAT R0, -R4, R5", "VIADD.S32.ISAT R1, -R5, R4"),
              (Pair{0x7fffffff, 0x80000000}));
    EXPECT_EQ(sum("0xff7f8001", "0x01017f00", "VIADD.U8x4 R0, R4, R5", "VIADD.S8x4 R1, R4, -R5"),
              (Pair{0x0080ff01, 0xfe7e0101}));
    EXPECT_EQ(sum("0xff7f8001", "0x01017f80", "VIMNMX.U8x4 R0, R4, R5, PT",
                  "VIMNMX.U8x4 R1, R4, R5, !PT"),
              (Pair{0x01017f01, 0xff7f8080}));
    EXPECT_EQ(sum("0xff7f8001", "0x01017f80", "VIMNMX.S8x4 R0, R4, R5, PT",
                  "VIMNMX.S8x4 R1, R4, R5, !PT"),
              (Pair{0xff018080, 0x017f7f01}));
}

// ptxas 13.0 emits -0x3f for 0xffffffffffffffc1, and for 0xffffffc1 a pair of registers.
TEST(Words, UniformSumsOfSm120) {
    const auto sum = [](const char* a, const char* b, const std::string& word) {
        return run(std::string(" UMOV UR6, ") + a + "\n UMOV UR7, " + b + "\n " + word +
                       "\n MOV R0, UR8\n MOV R1, RZ\n",
                   false, "sm_120")[0];
    };
    EXPECT_EQ(sum("0x7fffffff", "0x2", "UVIADD.S32.ISAT UR8, UR6, UR7"), 0x7fffffffu);
    EXPECT_EQ(sum("0x80000000", "0x1", "UVIADD.S32.ISAT UR8, UR6, -UR7"), 0x80000000u);
    EXPECT_EQ(sum("0x80000000", "0x80000000", "UVIADD.S32.ISAT UR8, -UR6, UR7"), 0u);
    EXPECT_EQ(sum("0x7fffffff", "0x2", "UVIADD.32 UR8, UR6, UR7"), 0x80000001u);
    EXPECT_EQ(sum("0xffff0001", "0x10002", "UVIADD.16x2 UR8, UR6, -UR7"), 0xfffeffffu);
    EXPECT_EQ(sum("0xff01ff80", "0x01010180", "UVIADD.U8x4 UR8, UR6, UR7"), 0x00020000u);
}

TEST(Words, SignsOfUniformRegistersAreTruthsOfAPredicate) {
    const std::string signs =
        " UMOV UR6, 0x80000000\n UMOV UR7, 0x7fffffff\n UMOV UR8, 0x80000001\n "
        "UISETP.EQ.U32.AND UP1, UPT, URZ, URZ, UPT\n ";
    const std::string result =
        "\n USEL UR9, URZ, 0x1, !UP0\n USEL UR10, URZ, 0x1, !UP2\n MOV R0, "
        "UR9\n MOV R1, UR10\n";
    // a & !b & c, and its complement; b is the sign of 7fffffff.
    for (const char* word : {"UPLOP3.LUT UP0, UP2, UR6.SIGN, UR7.SIGN, UR8.SIGN, 0x20, 0xdf",
                             "UPLOP3.LUT UP0, UP2, UP1, UR7.SIGN, UR8.SIGN, 0x20, 0xdf",
                             "UPLOP3.LUT UP0, UP2, UP1, UR7.SIGN, UP1, 0x20, 0xdf"})
        EXPECT_EQ(run(signs + word + result, false), (Pair{1, 0})) << word;
    EXPECT_EQ(run(signs + "UPLOP3.LUT UP0, UP2, UR7.SIGN, UR7.SIGN, UR8.SIGN, 0x20, 0xdf" + result,
                  false),
              (Pair{0, 1}));
}

TEST(Words, SharedCompareAndSwapOf128Bits) {
    const std::string object =
        " MOV R8, 0x1\n MOV R9, 0x2\n MOV R10, 0x3\n MOV R11, 0x4\n MOV R12, 0x5\n MOV R13, 0x6\n "
        "MOV R14, 0x7\n MOV R15, 0x8\n MOV R20, 0x400\n STS.128 [R20], R8\n ";
    for (const bool reference : {false, true}) {
        EXPECT_EQ(run(object + "ATOMS.CAS.128 R4, [R20], R8, R12\n LDS R1, [R20+0xc]\n MOV R0, R7",
                      reference),
                  (Pair{4, 8}));
        EXPECT_EQ(
            run(object + "MOV R11, 0x9\n ATOMS.CAS.128 R4, [R20], R8, R12\n LDS R1, [R20+0xc]\n "
                         "MOV R0, R7",
                reference),
            (Pair{4, 4}));
    }
}

// Lane 5 has row 1: columns 4 to 7 come from the upper half of lane 4, 20 to 23 from lane 6's.
TEST(Words, NibblesOfAMatrixBecomeBytes) {
    EXPECT_EQ(run(" S2R R6, SR_LANEID\n IMAD R6, R6, 0x11111111, RZ\n MOVM.U4TO8.M832 R8, R6\n "
                  "SHFL.IDX PT, R0, R8, 0x5, 0x1f\n SHFL.IDX PT, R1, R9, 0x5, 0x1f\n",
                  false, "sm_120", 32),
              (Pair{0x04040404, 0x06060606}));
    EXPECT_EQ(run(" S2R R6, SR_LANEID\n SHF.L.U32 R6, R6, 0x1c, RZ\n MOVM.U4TO8.M832 R8, R6\n "
                  "SHFL.IDX PT, R0, R8, 0x4, 0x1f\n SHFL.IDX PT, R1, R9, 0x5, 0x1f\n",
                  false, "sm_120", 32),
              (Pair{0, 0x06000000}));
}

TEST(Words, ImmediatesOf64BitsAreSignExtended) {
    const std::string q =
        " MOV R4, 0xffffffc0\n MOV R5, 0xffffffff\n R2UR UR4, R4\n R2UR UR5, R5\n MOV R0, 0x1\n "
        "MOV R1, 0x2\n";
    EXPECT_EQ(
        run(q + " ISETP.LT.U64.AND P0, P1, R4, -0x3f, PT\n @P0 MOV R0, 0x5\n @P1 MOV R1, 0x6\n",
            false, "sm_120"),
        (Pair{5, 2}));
    EXPECT_EQ(run(q + " UISETP.LT.U64.AND UP0, UP1, UR4, -0x41, UPT\n UMOV UR10, 0x5\n USEL UR6, "
                      "UR10, URZ, UP0\n USEL UR7, UR10, URZ, UP1\n"
                      " MOV R0, UR6\n MOV R1, UR7\n",
                  false, "sm_120"),
              (Pair{0, 5}));
    EXPECT_EQ(run(q + " IMNMX.U64 PT, PT, R0, R4, -0x41, PT, !PT\n", false, "sm_120"),
              (Pair{0xffffffbf, 0xffffffff}));
    EXPECT_EQ(
        run(q + " UIMNMX.U64 UPT, UPT, UR6, UR4, -0x41, !UPT, !UPT\n MOV R0, UR6\n MOV R1, UR7\n",
            false, "sm_120"),
        (Pair{0xffffffc0, 0xffffffff}));
}

// The value of the one lane that executes; and back from where MOV.SPILL put a uniform register.
TEST(Words, UniformRegistersAreBroadcastAndFilled) {
    EXPECT_EQ(run(" MOV R4, 0x7\n ISETP.NE.AND P0, PT, R4, RZ, PT\n @P0 R2UR.BROADCAST UR8, R4\n "
                  "UMOV UR9, 0x9\n MOV.SPILL R5, UR9\n"
                  " R2UR.FILL UR10, R5\n MOV R0, UR8\n MOV R1, UR10\n",
                  false, "sm_100"),
              (Pair{7, 9}));
}

// The uniform datapath of sm_120 and pairs of sm_100 against the same operation in vector
// registers, with special operands.
TEST(Words, FloatsOfTheUniformDatapathAndPairsAreThoseOfVectors) {
    constexpr uint32_t special[] = {0,          0x80000000, 1,          0x807fffff, 0x00800000,
                                    0x3f800000, 0xbf800001, 0x7f7fffff, 0x7f800000, 0xff800000,
                                    0x7fc00001, 0x4b000001, 0xcf000000, 0x4f7fffff, 0x33800000};
    const char* uniform[][3] = {
        {"UFADD%m UR4, UR5, -UR6", "FADD%m R4, R5, -R6", ".FTZ.RM"},
        {"UFMUL%m UR4, UR5, |UR6|", "FMUL%m R4, R5, |R6|", ".RZ"},
        {"UFFMA%m UR4, UR5, UR6, -UR5", "FFMA%m R4, R5, R6, -R5", ".RP.SAT"},
        {"UFMNMX%m UR4, UR5, UR6, UPT", "FMNMX%m R4, R5, R6, PT", ".NAN"},
        {"UFMNMX%m UR4, UR5, UR6, !UPT", "FMNMX%m R4, R5, R6, !PT", ".FTZ"},
        {"UFSEL%m UR4, UR5, |UR6|, !UPT", "FSEL%m R4, R5, |R6|, !PT", ""},
        {"UFSET.BF.LEU%m.AND UR4, UR5, UR6, UPT", "FSET.BF.LEU%m.AND R4, R5, R6, PT", ".FTZ"},
        {"UFSETP.GT%m.AND UP0, UP1, UR5, UR6, UPT\n USEL UR4, UR5, UR6, UP0",
         "FSETP.GT%m.AND P0, P1, R5, R6, PT\n SEL R4, R5, R6, P0", ".FTZ"},
        {"UF2I%m UR4, UR5", "F2I%m R4, R5", ".U32.TRUNC.NTZ"},
        {"UI2F%m UR4, UR5", "I2F%m R4, R5", ".U32.RP"},
        {"UF2F.BF16.F32 UR4, UR5", "F2F.BF16.F32 R4, R5", ""},
    };
    const auto text = [](std::string s, const char* modes) {
        if (const size_t at = s.find("%m"); at != std::string::npos) s.replace(at, 2, modes);
        return " " + s + "\n";
    };
    const auto put = [](const char* name, const std::string& at, uint32_t v) {
        return std::string(" ") + name + at + ", " + std::to_string(v) + "\n";
    };
    uint32_t n = 0;
    for (const uint32_t a : special)
        for (const auto& [u, v, modes] : uniform)
            for (const char* m : {"", modes}) {
                const uint32_t b = special[++n % std::size(special)];
                const Pair both = run(put("UMOV UR", "5", a) + put("UMOV UR", "6", b) +
                                          put("MOV R", "5", a) + put("MOV R", "6", b) + text(u, m) +
                                          text(v, m) + " MOV R0, UR4\n MOV R1, R4\n",
                                      false, "sm_120");
                ASSERT_EQ(both[0], both[1]) << u << m << " of " << std::hex << a << ", " << b;
            }
    for (const uint32_t a : special) {
        const uint32_t b = special[++n % std::size(special)], c = special[++n % std::size(special)];
        const std::string set = put("MOV R", "4", a) + put("MOV R", "5", b) + put("MOV R", "6", c) +
                                put("MOV R", "7", a);
        for (const char* m : {"", ".FTZ", ".RM"}) {
            const std::string fma = std::string("FFMA") + m, fmas = std::string("FFMA2") + m;
            EXPECT_EQ(run(set + " " + fmas + " R0, R4.F32x2.HI_LO, -R6.F32x2.LO_HI, R4.F32\n",
                          false, "sm_100"),
                      run(set + " " + fma + " R0, R4, -R7, R4\n " + fma + " R1, R5, -R6, R4\n",
                          false, "sm_100"));
            // .NP: the upper half has the other sign.
            EXPECT_EQ(
                run(set + " " + fmas +
                        " R0, R4.F32x2.HI_LO.NP, -R6.F32x2.LO_HI, "
                        "-|R4|.F32x2.LO_HI.NP\n",
                    false, "sm_100"),
                run(set + " " + fma + " R0, R4, -R7, -|R5|\n " + fma + " R1, -R5, -R6, |R4|\n",
                    false, "sm_100"));
        }
        EXPECT_EQ(run(set + " FMNMX3 R0, |R4|, R5, -R6, !PT\n FMNMX3.NAN R1, R4, R5, R6, PT\n",
                      false, "sm_100"),
                  run(set + " FMNMX R0, |R4|, R5, !PT\n FMNMX R0, R0, -R6, !PT\n FMNMX.NAN R1, R4, "
                            "R5, PT\n FMNMX.NAN R1, R1, R6, PT\n",
                      false, "sm_100"));
    }
}

// ptxas 13.0 makes VHMNMX of the one min or max of another.
TEST(Words, MinimaOfThreeHalvesAreMinimaOfTwoTwice) {
    const uint32_t special[] = {0,          0x80000000, 0x00018000, 0x7e01fc01, 0xffff7c00,
                                0xfc007fff, 0x3c00bc00, 0x7f81ff80, 0x80010001, 0x007f807f};
    for (const char* format : {"", ".BF16_V2"})
        for (const char* mode : {"", ".NAN", ".FTZ", ".FTZ.NAN"}) {
            if (*format && std::strncmp(mode, ".FTZ", 4) == 0) continue;  // HMNMX2 has none
            uint32_t n = 0;
            for (const uint32_t a : special)
                for (const uint32_t b : special) {
                    const uint32_t c = special[++n % std::size(special)];
                    const auto put = [](const char* r, uint32_t v) {
                        return std::string(" MOV R") + r + ", " + std::to_string(v) + "\n";
                    };
                    const std::string set = put("4", a) + put("5", b) + put("6", c),
                                      what = std::string(format) + mode + " ";
                    const Pair three =
                        run(set + " VHMNMX" + what + "R0, R4, -R5, |R6|, PT\n VHMNMX" + what +
                                "R1, |R4|.H0_H0, R5, R6.H1_H1, !PT\n",
                            n % 2);
                    const Pair two = run(set + " HMNMX2" + what + "R0, R4, -R5, PT\n HMNMX2" +
                                             what + "R0, R0, |R6|, PT\n HMNMX2" + what +
                                             "R1, |R4|.H0_H0, R5, !PT\n HMNMX2" + what +
                                             "R1, R1, R6.H1_H1, !PT\n",
                                         n % 2);
                    ASSERT_EQ(three, two) << what << std::hex << a << " " << b << " " << c;
                }
        }
}

TEST(Words, UsetshmszShowsNothing) {
    EXPECT_EQ(run(" MOV R0, 0x5\n STS [0x20], R0\n USETSHMSZ 0x80\n USETSHMSZ.FLUSH\n "
                  "LDS R1, [0x20]",
                  false),
              (Pair{5, 5}));
}

// The barrier, and what it lacks; bytes: cluster_test.cpp.
TEST(Words, AWaitForAnArrivalThatDoesNotComeIsADeadlock) {
    const std::string object =
        " UMOV UR8, 0x400\n UMOV UR6, 0x1ffffe\n UMOV UR7, 0x7ffff800\n MOV R4, 0x400\n"
        " MOV R5, RZ\n SYNCS.EXCH.64 URZ, [UR8], UR6\n";
    const std::string wait =
        "again:\n SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R4+URZ], R5\n@!P0 BRA `(again)\n"
        " MOV R0, 0x1\n MOV R1, 0x2";
    EXPECT_EQ(run(object + " SYNCS.ARRIVE.TRANS64.A1T0 RZ, [R4+URZ], RZ\n" + wait, false),
              (Pair{1, 2}));
    const LaunchResult result = launch(object + wait, false, "sm_90").second;
    EXPECT_EQ(result.status, LaunchStatus::deadlock);
    for (const char* part : {"mbarrier at shared address 1024", "1 of 1 arrivals pending"})
        EXPECT_NE(result.message.find(part), std::string::npos) << result.message;
}

TEST(Words, AddressesOfMapsAndBulkCopiesAreAligned) {
    const struct {
        const char *from, *word, *rule;
    } words[] = {{"0x40", "UTMACCTL.IV [UR12]", nullptr},
                 {"0x20", "UTMACCTL.IV [UR12]", "multiple of 64"},
                 {"0x20", "UTMACCTL.PF [UR12]", "multiple of 64"},
                 {"0x60", "UTMALDG.1D [UR8], [UR12]", "multiple of 64"},
                 {"0x48", "UBLKCP.S.G [UR8], [UR12], UR16", "multiples of 16"}};
    for (const auto& [from, word, rule] : words) {
        const auto [out, result] = launch(
            std::string(" UMOV UR8, 0x410\n UMOV UR9, 0x400\n UMOV UR10, URZ\n UMOV UR12, ") +
                from + "\n UMOV UR13, URZ\n UMOV UR16, 0x1\n " + word +
                "\n MOV R0, 0x1\n MOV R1, 0x2",
            false, "sm_90", 1, true);
        if (!rule) {
            EXPECT_EQ(result.status, LaunchStatus::ok) << word << result.message;
            continue;
        }
        ASSERT_EQ(result.status, LaunchStatus::fault) << word;
        EXPECT_EQ(result.fault->kind, FaultKind::misaligned_address) << word;
        const std::string report = result.fault->report();
        EXPECT_NE(report.find(rule), std::string::npos) << report;
        EXPECT_NE(report.find(std::string(word).substr(0, 7)), std::string::npos) << report;
    }
}

// What an H100 answers in a launch without clusters with error 715; in one with clusters of one CTA
// it runs them (tests/hardware/convergence/kinds.py).
TEST(Words, CopiesToSharedClusterNeedALaunchWithClusters) {
    const std::string object =
        " UMOV UR8, 0x400\n UMOV UR6, 0x1ffffe\n UMOV UR7, 0x7ffff800\n"
        " SYNCS.EXCH.64 URZ, [UR8], UR6\n MOV R4, 0x410\n MOV R5, 0x400\n MOV R6, 0x7\n"
        " STS.128 [0x420], R4\n STS.128 [0x410], R4\n"
        " UMOV UR10, 0x410\n UMOV UR11, 0x400\n UMOV UR12, 0x420\n UMOV UR13, 0x1\n";
    const struct {
        const char* word;
        uint32_t first;  // of what it writes
    } words[] = {{"STAS [R4.64], R6", 7},
                 {"REDAS.ADD [R4.64], R6", 0x417},
                 {"UBLKCP.S.S [UR10], [UR12], UR13", 0x410},
                 {"UBLKRED.S.S.ADD [UR10], [UR12], UR13", 0x820}};
    for (const auto& [word, first] : words) {
        const std::string body = object + " " + word + "\n LDS R0, [0x410]\n MOV R1, 0x2";
        const auto [none, refused] = launch(body, false, "sm_90", 1);
        ASSERT_EQ(refused.status, LaunchStatus::fault) << word;
        EXPECT_EQ(refused.fault->kind, FaultKind::illegal_instruction) << word;
        EXPECT_NE(refused.fault->what.find("give it a cluster size"), std::string::npos) << word;
        const auto [out, result] = launch(body, false, "sm_90", 1, true);
        EXPECT_EQ(result.status, LaunchStatus::ok)
            << word << result.message << (result.fault ? result.fault->report() : "");
        EXPECT_EQ(out, (Pair{first, 2})) << word;
    }
}

}  // namespace
}  // namespace sassemu
