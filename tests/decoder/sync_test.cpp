// SPDX-License-Identifier: Apache-2.0
// The words that PTX synchronisation becomes, in cubins compiled by sync/make.py: exactly these, in
// this order. What a fence orders is judged by the engine; that it is there, and spelt like this,
// is judged here.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "sassdec/sassdec.h"

namespace {

template <class T>
T read(const std::vector<char>& file, std::size_t at) {
    T value{};
    if (at + sizeof value <= file.size()) std::memcpy(&value, file.data() + at, sizeof value);
    return value;
}

bool orders_or_synchronises(const sassdec_insn& insn) {
    const std::string name = sassdec_mnemonic(&insn);
    for (const char* prefix :
         {"MEMBAR", "ERRBAR", "CGAERRBAR", "CCTL", "FENCE", "UCGABAR", "UTMACCTL"}) {
        if (name.rfind(prefix, 0) == 0) return true;
    }
    return false;
}

// Kernel -> "MEMBAR.SC.GPU; ERRBAR": the .text.KERNEL sections of an ELF64 file.
std::map<std::string, std::string> synchronisation(const std::string& arch) {
    std::ifstream in(SASSDEC_TEST_DATA "/../sync/sync." + arch + ".cubin", std::ios::binary);
    const std::vector<char> file((std::istreambuf_iterator<char>(in)),
                                 std::istreambuf_iterator<char>());
    const auto table = read<std::uint64_t>(file, 40);
    const auto count = read<std::uint16_t>(file, 60), names = read<std::uint16_t>(file, 62);
    const auto strings = read<std::uint64_t>(file, table + 64 * names + 24);
    std::map<std::string, std::string> found;
    for (unsigned i = 0; i < count; ++i) {
        const std::size_t header = table + 64 * i;
        const char* name = file.data() + strings + read<std::uint32_t>(file, header);
        if (std::strncmp(name, ".text.", 6) != 0) continue;
        std::string& text = found[name + 6];
        const auto begin = read<std::uint64_t>(file, header + 24),
                   size = read<std::uint64_t>(file, header + 32);
        for (std::uint64_t at = 0; at < size; at += SASSDEC_INSN_BYTES) {
            const std::uint64_t word[2] = {read<std::uint64_t>(file, begin + at),
                                           read<std::uint64_t>(file, begin + at + 8)};
            sassdec_insn insn;
            EXPECT_EQ(sassdec_decode(sassdec_arch_from_name(arch.c_str()), word, at, &insn),
                      SASSDEC_OK)
                << name;
            if (!orders_or_synchronises(insn)) continue;
            char line[200];
            sassdec_format(&insn, nullptr, line, sizeof line);
            text += (text.empty() ? "" : "; ") + std::string(line);
        }
    }
    return found;
}

void expect(const std::string& arch, const std::map<std::string, std::string>& wanted) {
    const auto found = synchronisation(arch);
    EXPECT_EQ(found.size(), wanted.size());
    for (const auto& [kernel, text] : wanted) {
        ASSERT_TRUE(found.contains(kernel)) << kernel;
        EXPECT_EQ(found.at(kernel), text) << arch << " " << kernel;
    }
}

std::map<std::string, std::string> plain_fences(const std::string& error_barrier) {
    const std::string tail = "; " + error_barrier + "; CCTL.IVALL";
    return {{"fence_sc_cta", "MEMBAR.SC.CTA"},
            {"membar_cta", "MEMBAR.SC.CTA"},
            {"fence_sc_gpu", "MEMBAR.SC.GPU" + tail},
            {"membar_gl", "MEMBAR.SC.GPU" + tail},
            {"fence_sc_sys", "MEMBAR.SC.SYS" + tail},
            {"membar_sys", "MEMBAR.SC.SYS" + tail},
            {"fence_acq_rel_cta", "MEMBAR.ALL.CTA"},
            {"fence_acq_rel_gpu", "MEMBAR.ALL.GPU" + tail},
            {"fence_acq_rel_sys", "MEMBAR.ALL.SYS" + tail}};
}

TEST(Synchronisation, TuringAndAmpere) {
    auto wanted = plain_fences("ERRBAR");
    wanted["proxy_alias"] = "MEMBAR.SC.GPU; CCTL.IVALL";
    expect("sm_75", wanted);
    wanted["proxy_alias"] = "MEMBAR.SC.SYS; MEMBAR.SC.GPU; CCTL.IVALL";
    expect("sm_80", wanted);
}

TEST(Synchronisation, HopperAndBlackwell) {
    const std::string errors = "ERRBAR; CGAERRBAR";
    auto wanted = plain_fences(errors);
    wanted["proxy_alias"] = "MEMBAR.SC.GPU; MEMBAR.SC.SYS; CCTL.IVALL";
    // The scope `cluster` is spelt like `gpu`.
    wanted["fence_sc_cluster"] = wanted["fence_sc_gpu"];
    wanted["fence_acq_rel_cluster"] = wanted["fence_acq_rel_gpu"];
    wanted["fence_release_cta"] = "MEMBAR.ALL.CTA";
    wanted["fence_release_cluster"] = wanted["fence_release_gpu"] = "MEMBAR.ALL.GPU; " + errors;
    wanted["fence_release_sys"] = "MEMBAR.ALL.SYS; " + errors;
    wanted["fence_acquire_cta"] = "";
    wanted["fence_acquire_cluster"] = wanted["fence_acquire_gpu"] = wanted["fence_acquire_sys"] =
        "CCTL.IVALL";
    wanted["proxy_async"] = wanted["proxy_async_shared_cluster"] =
        "MEMBAR.ALL.GPU; FENCE.VIEW.ASYNC.S";
    wanted["proxy_async_shared_cta"] = "MEMBAR.ALL.CTA; FENCE.VIEW.ASYNC.S";
    wanted["proxy_async_global"] = "FENCE.VIEW.ASYNC.G";
    wanted["tensormap_release"] = "MEMBAR.ALL.GPU; " + errors;
    wanted["tensormap_acquire"] = "UTMACCTL.IV [UR4]";
    wanted["cluster_arrive_release"] = "MEMBAR.ALL.GPU; " + errors + "; UCGABAR_ARV";
    wanted["cluster_arrive_relaxed"] = "UCGABAR_ARV";
    wanted["cluster_wait"] = "UCGABAR_WAIT; CCTL.IVALL";
    expect("sm_90a", wanted);
    // Here the descriptor may also be in the cache of uniform constant loads.
    wanted["tensormap_acquire"] = "CCTL.E.C.LDCU.IV.DEEP [UR4]; UTMACCTL.IV [UR4]";
    wanted["tcgen05_wait_st"] = "FENCE.VIEW.ASYNC.T";
    expect("sm_100a", wanted);
}

}  // namespace
