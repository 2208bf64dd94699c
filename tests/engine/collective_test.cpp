// SPDX-License-Identifier: Apache-2.0
// WARPSYNC at different places: what meets, what a collective runs and where its lanes go on, lane
// for lane as an H200 answers (each case was run there; "hangs" is a launch that did not end,
// "illegal" one that ended in error 715).
#include <gtest/gtest.h>

#include <cstring>

#include "emu/gpu.hpp"
#include "emu/module/module.hpp"
#include "emu/sass/assembled.hpp"

namespace sassemu {
namespace {

constexpr uint32_t all = 0xffffffff;

// What some lanes saw: whose code the collective ran, with whom, and the same where they went on.
struct Seen {
    uint32_t lanes, body, together, site, afterwards;
};
enum class End { ok, hangs, illegal };
struct Case {
    const char* name;
    std::string body;  // R1: the lane, P0: of the lower half, R10: all lanes
    std::vector<Seen> seen = {};
    End end = End::ok;
};

// A WARPSYNC whose lanes go on at Ln, with `inside` before its ENDCOLLECTIVE.
std::string site(const std::string& n, const std::string& inside = "",
                 const std::string& sync = "WARPSYNC.COLLECTIVE R10,") {
    return " " + sync + " `(L" + n + ")\n MOV R4, " + n + "\n VOTE.ANY R5, PT, PT\n" + inside +
           " ENDCOLLECTIVE\nL" + n + ":\n MOV R6, " + n + "\n VOTE.ANY R7, PT, PT\n BRA `(END)\n";
}
std::string sides(const std::string& not_p0, const std::string& p0) {
    return " @P0 BRA `(A)\n" + not_p0 + "A:\n" + p0;
}
const std::string two_sites = sides(site("2"), site("1"));
std::string both_sites(const std::string& inside, const std::string& other) {
    return sides(site("2", inside), site("1", other));
}

LaunchResult run(const std::string& text, const char* arch, bool reference,
                 uint32_t (&out)[32][4]) {
    std::vector<sass::Diagnostic> diagnostics;
    const auto read = sass::read_sass(".kernel k\n.param out 8\n" + text, arch, diagnostics);
    if (!read) {
        ADD_FAILURE() << diagnostics.at(0).line << ": " << diagnostics.at(0).what;
        return {};
    }
    GpuOptions options;
    options.reference = reference;
    auto gpu = Gpu::create(std::move(options));
    auto module = load_module(sass::write_cubin(*read), "collective.cubin");
    auto id = (*gpu)->load(std::make_shared<const Module>(std::move(*module)));
    const uint64_t buffer = *(*gpu)->allocate(sizeof out, "out");
    LaunchRequest request;
    request.module = *id;
    request.kernel = "k";
    request.block = {32, 1, 1};
    request.limits.max_warp_instructions = 1'000'000;
    request.params.resize(8);
    std::memcpy(request.params.data(), &buffer, 8);
    auto result = (*gpu)->launch(request);
    EXPECT_TRUE(result.ok() && (*gpu)->read(buffer, std::as_writable_bytes(std::span(out))));
    return *result;
}

const Case cases[] = {
    // The code of those that come last runs; at a branch the smaller side goes first, of equal ones
    // the one that falls through.
    {"halves", two_sites, {{0xffff, 1, all, 1, 0xffff}, {0xffff0000, 1, all, 2, 0xffff0000}}},
    {"one_lane",
     " ISETP.EQ.AND P0, PT, R1, 0x5, PT\n" + two_sites,
     {{0xffffffdf, 2, all, 2, 0xffffffdf}, {0x20, 2, all, 1, 0x20}}},
    {"all_but_one",
     " ISETP.NE.AND P0, PT, R1, 0x5, PT\n" + two_sites,
     {{0xffffffdf, 1, all, 1, 0xffffffdf}, {0x20, 1, all, 2, 0x20}}},
    {"three",
     " ISETP.EQ.AND P1, PT, R1, 0x3, PT\n ISETP.LT.U32.AND P0, PT, R1, 0xa, PT\n @P1 BRA `(B)\n" +
         sides(site("3"), site("2")) + "B:\n" + site("1"),
     {{0x3f7, 3, all, 2, 0x3f7}, {8, 3, all, 1, 8}, {0xfffffc00, 3, all, 3, 0xfffffc00}}},
    {"same_place",
     " LOP3.LUT R11, R1, 0x1, RZ, 0xc0, !PT\n ISETP.NE.AND P1, PT, R11, RZ, PT\n @P1 BRA `(A)\n "
     "NOP\nA:\n" +
         site("1"),
     {{0x55555555, 1, all, 1, 0x55555555}, {0xaaaaaaaa, 1, all, 1, 0xaaaaaaaa}}},
    {"together", site("1"), {{all, 1, all, 1, all}}},
    {"own_target",
     " WARPSYNC.COLLECTIVE R10, `(FAR)\n MOV R4, 0x1\n VOTE.ANY R5, PT, PT\n ENDCOLLECTIVE\n MOV "
     "R6, 0x1\n VOTE.ANY R7, PT, PT\n BRA `(END)\nFAR:\n",
     {{all, 1, all, 1, all}}},
    // Only the lanes that are named, and live.
    {"subset",
     " ISETP.GT.AND P2, PT, R1, 0x7, PT\n MOV R10, 0xff\n ISETP.LT.AND P0, PT, R1, 0x4, PT\n @P2 "
     "BRA `(END)\n" +
         two_sites,
     {{0xf, 1, 0xff, 1, 0xf}, {0xf0, 1, 0xff, 2, 0xf0}, {0xffffff00, 0, 0, 0, 0}}},
    {"exited",
     " @!P0 EXIT\n ISETP.LT.U32.AND P0, PT, R1, 0x4, PT\n" + two_sites,
     {{0xf, 2, 0xffff, 1, 0xf}, {0xfff0, 2, 0xffff, 2, 0xfff0}}},
    {"waits_for_exit",
     " @P0 BRA `(END)\n" + site("1"),
     {{0xffff, 0, 0, 0, 0}, {0xffff0000, 1, 0xffff0000, 1, 0xffff0000}}},
    {"two_masks",
     " MOV R10, 0xffff0000\n @P0 MOV R10, 0xffff\n" + two_sites,
     {{0xffff, 1, 0xffff, 1, 0xffff}, {0xffff0000, 2, 0xffff0000, 2, 0xffff0000}}},
    {"octets",
     " SHF.R.U32.HI R11, RZ, 0x3, R1\n SHF.L.U32 R11, R11, 0x3, RZ\n MOV R12, 0xff\n SHF.L.U32 "
     "R10, R12, R11, RZ\n" +
         site("1"),
     {{0xff, 1, 0xff, 1, 0xff},
      {0xff00, 1, 0xff00, 1, 0xff00},
      {0xff000000, 1, 0xff000000, 1, 0xff000000}}},
    {"all",
     sides(site("2", "", "WARPSYNC.COLLECTIVE.ALL"), site("1", "", "WARPSYNC.COLLECTIVE.ALL")),
     {{0xffff, 1, all, 1, 0xffff}, {0xffff0000, 1, all, 2, 0xffff0000}}},
    // What does not meet.
    {"all_against_a_mask",
     sides(site("2", "", "WARPSYNC.COLLECTIVE.ALL"), site("1")),
     {},
     End::hangs},
    {"against_plain", sides(site("2"), " WARPSYNC R10\n"), {}, End::hangs},
    {"plain", sides(" WARPSYNC.ALL\n BRA `(END)\n", " WARPSYNC.ALL\n"), {}, End::hangs},
    {"plain_mask", sides(" WARPSYNC R10\n BRA `(END)\n", " WARPSYNC R10\n"), {}, End::hangs},
    {"plain_two_and_one",
     sides(" WARPSYNC.ALL\n WARPSYNC.ALL\n BRA `(END)\n", " WARPSYNC.ALL\n"),
     {},
     End::hangs},
    {"aligned_barriers",
     sides(" WARPSYNC.ALL\n BAR.SYNC.DEFER_BLOCKING 0x0\n BRA `(END)\n",
           " WARPSYNC.ALL\n BAR.SYNC.DEFER_BLOCKING 0x0\n"),
     {},
     End::hangs},
    {"barriers",
     sides(" BAR.SYNC.DEFER_BLOCKING 0x0\n BRA `(END)\n", " BAR.SYNC.DEFER_BLOCKING 0x0\n"),
     {{all, 0, 0, 0, 0}}},
    // What a collective may not hold (barrier_of_some, nested and return are assumed).
    {"no_collective", " ENDCOLLECTIVE\n", {}, End::illegal},
    {"guarded",
     " @P0 WARPSYNC.COLLECTIVE R10, `(L1)\n MOV R4, 0x1\n ENDCOLLECTIVE\nL1:\n",
     {},
     End::illegal},
    {"branch",
     both_sites(" @P0 BRA `(X)\n NOP\nX:\n", " @P0 BRA `(Y)\n NOP\nY:\n"),
     {},
     End::illegal},
    {"barrier_of_some",
     both_sites(" @P0 BAR.SYNC.DEFER_BLOCKING 0x0\n", " @P0 BAR.SYNC.DEFER_BLOCKING 0x0\n"),
     {},
     End::illegal},
    {"nested", both_sites(" WARPSYNC.ALL\n", " WARPSYNC.ALL\n"), {}, End::illegal},
    {"return", both_sites(" RET.ABS.NODEC R4 0x0\n", " RET.ABS.NODEC R4 0x0\n"), {}, End::illegal},
    {"exit", both_sites(" @P0 EXIT\n", " @P0 EXIT\n"), {}, End::illegal},
    {"yield", both_sites(" YIELD\n", " YIELD\n"), {}, End::illegal},
    {"jump", both_sites(" BRA `(END)\n", " BRA `(END)\n"), {}, End::illegal},
};

TEST(Collective, AsMeasured) {
    for (const bool reference : {false, true})
        for (const Case& c : cases) {
            SCOPED_TRACE(std::string(c.name) + (reference ? ", reference" : ""));
            uint32_t out[32][4] = {};
            const LaunchResult result =
                run(" S2R R1, SR_LANEID\n LDC.64 R2, c[0x0][out]\n MOV R9, 0x10\n IMAD.WIDE.U32 "
                    "R2, R1, R9, R2\n MOV R10, 0xffffffff\n"
                    " MOV R4, 0x0\n MOV R5, 0x0\n MOV R6, 0x0\n MOV R7, 0x0\n ISETP.LT.U32.AND P0, "
                    "PT, R1, 0x10, PT\n" +
                        c.body + "END:\n STG.E.128 [R2.64+URZ], R4\n EXIT\n",
                    "sm_90", reference, out);
            switch (c.end) {
                case End::ok:
                    EXPECT_EQ(result.status, LaunchStatus::ok) << result.message;
                    break;
                case End::hangs:
                    EXPECT_EQ(result.status, LaunchStatus::deadlock);
                    break;
                case End::illegal:
                    ASSERT_TRUE(result.fault);
                    EXPECT_EQ(result.fault->kind, FaultKind::illegal_instruction)
                        << result.fault->report();
            }
            for (const Seen& s : c.seen)
                for (uint32_t lane = 0; lane < 32; ++lane)
                    if (s.lanes >> lane & 1) {
                        const uint32_t expected[4] = {s.body, s.together, s.site, s.afterwards};
                        for (int i = 0; i < 4; ++i)
                            EXPECT_EQ(out[lane][i], expected[i])
                                << "lane " << lane << ", value " << i;
                    }
        }
}

}  // namespace
}  // namespace sassemu
