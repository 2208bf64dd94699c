// SPDX-License-Identifier: Apache-2.0
// What instructions of the tensor cores, of tensor memory, of bulk and tensor copies and of
// mbarriers must not say, and where they must not reach: each ends the launch with a fault that
// names the rule and the instruction, or is named as what is not executed.
#include <gtest/gtest.h>

#include <cstring>

#include "emu/async/tensor_map.hpp"
#include "emu/gpu.hpp"
#include "emu/module/module.hpp"
#include "emu/sass/assembled.hpp"

namespace sassemu {
namespace {

// How the launch of a warp with `lines` ends. `out`: a buffer that begins with these bytes.
std::string ending(const std::string& arch, const std::string& lines,
                   std::vector<std::byte> bytes = std::vector<std::byte>(256), bool freed = false) {
    std::vector<sass::Diagnostic> diagnostics;
    const auto read = sass::read_sass(
        ".kernel k\n.shared 8192\n.param out 8\n " + lines + "\n EXIT\n", arch, diagnostics);
    if (!read) return std::to_string(diagnostics.at(0).line) + ": " + diagnostics.at(0).what;
    auto gpu = Gpu::create({});
    auto module = load_module(sass::write_cubin(*read), "refusals.cubin");
    EXPECT_TRUE(gpu.ok() && module.ok());
    LaunchRequest request;
    request.module = *(*gpu)->load(std::make_shared<const Module>(std::move(*module)));
    request.kernel = "k";
    request.block = {32, 1, 1};
    const uint64_t out = *(*gpu)->allocate(bytes.size(), "out");
    EXPECT_TRUE((*gpu)->write(out, bytes));
    if (freed) {
        EXPECT_TRUE((*gpu)->release(out));
    }
    request.params.resize(8);
    std::memcpy(request.params.data(), &out, 8);
    const auto result = (*gpu)->launch(request);
    EXPECT_TRUE(result.ok()) << result.error().what;
    return result->fault ? result->fault->report() : result->message;
}
void expect_ending(const std::string& ends, const std::string& says, const std::string& line) {
    EXPECT_NE(ends.find(says), std::string::npos) << line << "\n" << ends;
    EXPECT_NE(ends.find(line.substr(0, line.find(' '))), std::string::npos) << ends;
}

TEST(Refusals, FormsThatThereAreNot) {
    const std::tuple<const char*, const char*, const char*> forms[] = {
        {"sm_103a", "LDTM.STAT.x2.MAX.INVALID3 R6, R4, tmem[UR4]", "LDTM.STAT of an invalid type"},
        {"sm_103a", "LDTM.STAT.x2.MAXABS R6, R4, tmem[UR4]", "integers with a modifier of floats"},
        {"sm_103a", "LDTM.STAT.INVALID0.MAX.F32 R6, R4, tmem[UR4]", "LDTM.STAT of one register"},
        {"sm_103a", "LDTM.STAT.x2.MAX.F32 R6, RZ, tmem[UR4]", "LDTM to RZ"},
        {"sm_100a", "LDTM RZ, tmem[UR4]", "LDTM to RZ"},
        {"sm_100a", "LDTM.INVALID7 R4, tmem[UR4]", "loaded and stored in no such layout"},
        {"sm_100a", "STTM.INVALID7 tmem[UR4], R4", "loaded and stored in no such layout"},
        {"sm_100a", "UTCCP.T.S.INVALID1 tmem[URZ], gdesc[UR12]", "UTCCP of an invalid kind"},
        {"sm_100a", "UTCCP.T.S.INVALID3 tmem[URZ], gdesc[UR12]", "UTCCP of an invalid kind"},
        {"sm_100a", "UTCSHIFT.???0 tmem[URZ]", "UTCSHIFT of an invalid direction"},
        {"sm_100a", "UTCBAR.A0TX [UR10], URZ", "a commit with .A0TX, .WAKEUP or a count"},
        {"sm_100a", "UTCBAR.WAKEUP [UR10], URZ", "a commit with .A0TX, .WAKEUP or a count"},
        {"sm_100a", "UTCBAR [UR10], UR4", "a commit with .A0TX, .WAKEUP or a count"},
        {"sm_100a", "UTCHMMA gdesc[UR12], gdesc[UR14], tmem[URZ], tmem[URZ], idesc[URZ], UPT",
         "its descriptor in URZ"},
        {"sm_100a",
         "UTCHMMA.2CTA.WS gdesc[UR12], gdesc[UR14], tmem[URZ], tmem[UR16], idesc[UR17], UPT",
         "a weight-stationary multiplication by two CTAs"},
        {"sm_100a",
         "UTCHMMA.ASHIFT tmem[UR12].A_KEEP, gdesc[UR14], tmem[URZ], tmem[UR16], idesc[UR17], UPT",
         ".ASHIFT that keeps A in the collector"},
        {"sm_120a", "OMMA.SF.16864.F32.E2M1.E2M1.UE4M3 R4, R8, R12, R4, R16, R17, UR4",
         "OMMA.SF of UE4M3 scales without .4X"},
        {"sm_90a", "HGMMA.64x8x16.F32 R24, gdesc[UR8], RZ, !UPT, INVALID3",
         "wgmma with an invalid scoreboard"},
        {"sm_90a", "HGMMA.64x8x8.F32 R24, gdesc[UR8], RZ, !UPT",
         "wgmma with a shape that its elements do not have"},
        {"sm_90a", "HGMMA.64x8x16.F16.BF16 R24, gdesc[UR8], RZ, !UPT",
         "HGMMA with an f16 result of another type"},
        {"sm_90a", "HGMMA.64x8x8.F32.TF32 R24, gdesc[UR8].tnspB, RZ, !UPT",
         "HGMMA with a transposed matrix of 32-bit elements"},
        {"sm_90a", "HGMMA.SP.64x8x32.F32 R24, gdesc[UR8], RZ, !UPT, R20, 0x2",
         "wgmma with an invalid sparsity selector"},
        {"sm_90a", "QGMMA.SP.64x8x64.F32.E4M3.E4M3 R24, gdesc[UR8], RZ, !UPT, R20, 0x1",
         "wgmma with an invalid sparsity selector"},
        {"sm_90a", "BGMMA.64x8x256.???0.POPC R24, gdesc[UR8], RZ, !UPT",
         "BGMMA of another operation than .AND.POPC"},
        {"sm_90a", "WARPGROUP.DEPBAR.???0 gsb0, 0x0", "another kind than .LE gsb0"},
        {"sm_90a", "UTMALDG.INVALID5 [UR8], [UR12]", "a tensor copy of an invalid dimension"},
        {"sm_90a", "UTMALDG.2D.IM2COL [UR8], [UR12], UR16",
         "a copy of pixels of less than three dimensions"},
        {"sm_100a", "UTMALDG.3D.GATHER4 [UR8], [UR12]",
         "a copy of four rows of other than two dimensions"},
        {"sm_100a", "UTMALDG.2D.INVALID6 [UR8], [UR12]", "a tensor copy of an invalid mode"},
        {"sm_90a", "UBLKCP.G.G [UR8], [UR12], UR16", "a bulk copy from global to global memory"},
        {"sm_100a", "UBLKCP.S.G.DST_G_BYTE_MASK [UR8], [UR12], UR16",
         "a bulk copy of masked bytes that is not to global memory"},
        {"sm_90a", "UBLKRED.G.S.MIN.F32.RN [UR8], [UR12], UR16", "no such bulk reduction"},
        {"sm_90a", "UBLKRED.S.S.ADD.F32.RN [UR8], [UR12], UR16", "no such bulk reduction"},
        {"sm_90a", "UBLKRED.G.S.ADD.INVALID9 [UR8], [UR12], UR16", "an invalid source or type"},
        {"sm_90a", "UBLKRED.G.???0.ADD [UR8], [UR12], UR16", "an invalid source or type"},
        {"sm_90a", "SYNCS.CAS.64 UR6, [UR10], UR18, UR20", "do not begin at a multiple of four"},
        {"sm_90a", "SYNCS.ARRIVE.TRANS64.INVALID7 RZ, [R4+URZ], R5",
         "a count of an arrival that no PTX becomes"},
        {"sm_107a", "SYNCS.PHASECHK.TRANS64.CONDITIONAL P0, [R4+URZ], R5", "a conditional wait"},
        {"sm_107a", "USYNCS.ARRIVE.TRANS64.TMASK UR6, [UR10], UR11",
         "a token with a mask of lanes"},
        {"sm_90a", "ATOMS.ARRIVE.???1 R4, [R4+URZ]", "an object that is not 64 bits"},
        {"sm_90a", "ARRIVES.LDGSTSBAR.64.INVALID3 [R4+URZ]", "ARRIVES of an invalid kind"},
    };
    for (const auto& [arch, line, says] : forms) expect_ending(ending(arch, line), says, line);
}

// Shared memory ends at 0x2400. UR12: the address of `out`.
const std::string out = "ULDC.64 UR12, c[0x0][out]\n ", object = "UMOV UR9, 0x800\n ";

TEST(Refusals, PlacesOfCopies) {
    const auto copy = [](const char* to, const char* units) {
        return out + object + "UMOV UR8, " + to + "\n UMOV UR16, " + units +
               "\n UBLKCP.S.G [UR8], [UR12], UR16";
    };
    expect_ending(ending("sm_90a", copy("0x408", "0x1")),
                  "a bulk copy's addresses are multiples of 16", "UBLKCP.S.G ");
    expect_ending(ending("sm_90a", copy("0x400", "0x11")), "the copy leaves global memory",
                  "UBLKCP.S.G ");
    expect_ending(ending("sm_90a", copy("0x23f0", "0x2")),
                  "the copy of 32 bytes leaves the shared memory of the CTA: offset 0x23f0; ",
                  "UBLKCP.S.G ");
    expect_ending(ending("sm_90a", copy("0x400", "0x1"), std::vector<std::byte>(256), true),
                  "the copy uses memory that was freed", "UBLKCP.S.G ");
}

TEST(Refusals, TensorMaps) {
    const auto load = [](const std::string& form, const std::vector<std::byte>& map,
                         const char* beyond = "0x0") {
        return ending(
            "sm_90a",
            out + object + "UMOV UR8, 0x400\n UIADD3 UR12, UR12, " + beyond + ", URZ\n " + form,
            map);
    };
    TensorMap m;
    m.rank = 3;
    for (uint32_t k = 0; k < 3; ++k) m.size[k] = 32;
    m.stride[0] = 128, m.stride[1] = 4096;
    m.box[0] = 4;
    const auto boxes = *m.encode();
    m.image = true, m.channels = 4;
    const auto pixels = *m.encode();
    const std::vector<std::byte> of_boxes(boxes.begin(), boxes.end()),
        of_pixels(pixels.begin(), pixels.end());
    const auto changed = [&](size_t at, std::byte value) {
        std::vector<std::byte> map = of_boxes;
        map[at] = value;
        return map;
    };
    const std::string tile = "UTMALDG.3D [UR8], [UR12]",
                      column = "UTMALDG.3D.IM2COL [UR8], [UR12], UR16";
    expect_ending(load(tile, of_boxes, "0x20"), "a tensor map lies at a multiple of 64", tile);
    expect_ending(load("UTMACCTL.PF [UR12]", of_boxes, "0x20"),
                  "a tensor map to prefetch lies at a multiple of 64", "UTMACCTL.PF ");
    expect_ending(load(tile, of_boxes, "0x80"), "the copy leaves global memory", tile);
    expect_ending(load(column, of_boxes), "a copy of pixels (im2col) by a tensor map of boxes",
                  column);
    expect_ending(load(tile, of_pixels), "a copy of a box by a tensor map of pixels (im2col)",
                  tile);
    expect_ending(load("UTMALDG.2D [UR8], [UR12]", of_boxes),
                  "2 coordinates, the tensor map a rank of 3", "UTMALDG.2D ");
    // As a program may have written them: a field that is none, and a rule.
    expect_ending(load(tile, changed(8, std::byte{0xff})), "tensor map: rank is not 1 to 5", tile);
    expect_ending(load(tile, changed(0, std::byte{8})),
                  "tensor map: globalAddress is not a multiple of 16", tile);
}

TEST(Refusals, Mbarriers) {
    const auto made = [](const std::string& lines) {
        return ending("sm_90a",
                      "UMOV UR20, 0x800\n UMOV UR6, 0x1ffffe\n UMOV UR7, 0x7ffff800\n"
                      " SYNCS.EXCH.64 URZ, [UR20], UR6\n MOV R4, 0x800\n " +
                          lines);
    };
    expect_ending(ending("sm_90a", "UMOV UR20, 0x800\n SYNCS.EXCH.64 URZ, [UR20], URZ"),
                  "no valid mbarrier object: mbarrier.init takes a count of 1 to 2^20-1",
                  "SYNCS.EXCH.64 ");
    expect_ending(
        made("MOV R5, 0xfffff\n SYNCS.ARRIVE.TRANS64.A0TR RZ, [R4+URZ], R5"),
        "the transaction count leaves -(2^20-1) .. 2^20-1: mbarrier in phase 0, 1 of 1 arrivals",
        "SYNCS.ARRIVE.TRANS64.A0TR ");
    expect_ending(made("SYNCS.ARRIVE.TRANS64.A1T0 RZ, [R4+URZ], RZ"),
                  "more arrivals than the phase still expects", "SYNCS.ARRIVE.TRANS64.A1T0 ");
}

TEST(Refusals, ScalesAndPairs) {
    // Bytes of a word of scales: two or four of them are one operand.
    const std::string of_two = "OMMA.SF.16864.F32.E2M1.E2M1.E8 R4, R8, R12, R4, R16, R17, UR4",
                      of_four =
                          "OMMA.SF.16864.F32.E2M1.E2M1.UE4M3.4X R4, R8, R12, R4, R16, R17, UR4";
    expect_ending(ending("sm_120a", "UMOV UR4, 0x1\n " + of_two),
                  "OMMA.SF selects another byte of scales than 0 and 2", of_two);
    expect_ending(ending("sm_120a", "UMOV UR4, 0x1\n " + of_four),
                  "OMMA.SF.4X selects another byte of scales than 0", of_four);
    expect_ending(
        ending("sm_100a", "UMOV UR8, 0x1\n UTCATOMSWS.2CTA.FIND_AND_SET.ALIGN UP0, UR8, UR8"),
        "the cluster has no other CTA to this one's pair", "UTCATOMSWS.2CTA.FIND_AND_SET.ALIGN ");
}

}  // namespace
}  // namespace sassemu
