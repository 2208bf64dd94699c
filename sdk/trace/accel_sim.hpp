// SPDX-License-Identifier: Apache-2.0
// Lines of Accel-Sim's traces. Not installed.
#pragma once

#include <sassemu/host.h>

#include <map>
#include <sassemu/trace.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sassemu::trace::accel_sim {

constexpr uint64_t sector = 32;  // bytes

// What of a line an instruction decides alone.
struct Words {
    std::string registers_and_opcode, end;
    bool tma = false;  // a Transfer stands where others have their addresses
};
Words words_of(const Instruction& i, unsigned version);

// What a bulk or tensor copy moved.
struct Transfer {
    uint32_t mbarrier = 0;  // shared address of the object that is told of its completion
    bool multicast = false;
    std::map<uint32_t, uint64_t> written;  // bytes of shared memory, by the rank of the CTA
    // Of global memory: address and bytes. For several CTAs they are read once.
    std::set<std::pair<uint64_t, uint64_t>> ranges;
};
// By warp and number of the record. `blocks` are those of one CTA.
using Transfers = std::map<std::pair<uint32_t, uint64_t>, Transfer>;
Transfers transfers_of(const Reader& trace, uint64_t launch, const std::vector<size_t>& blocks);

std::string header(const Launch& l, unsigned version);
std::string dims(const Dim3& d);
// Without its end.
std::string line(const Record& r, const Words& w, const LaunchEnd& end, const Transfer* transfer);

}  // namespace sassemu::trace::accel_sim
