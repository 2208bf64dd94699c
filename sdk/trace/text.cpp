// SPDX-License-Identifier: Apache-2.0
// What a trace has beside records, in words.
#include <sassemu/memory.h>

#include <sassemu/trace.hpp>

#include "show.hpp"

namespace sassemu::trace {

namespace {

std::string who(uint32_t kind, uint32_t gpu) {
    return kind == SASSEMU_AGENT_HOST ? "the host" : "a stream of GPU " + std::to_string(gpu);
}
std::string bytes_text(uint64_t n) { return std::to_string(n) + (n == 1 ? " byte" : " bytes"); }

}  // namespace

std::string text_of(const Client& c) {
    const std::string name = who(c.kind(), c.gpu());
    if (!c.bytes()) return name + " has waited for work in streams";
    if (c.waited()) return name + " has waited for " + bytes_text(c.bytes());
    switch (c.op()) {
        case SASSEMU_LOAD:
            return name + " loads " + bytes_text(c.bytes());
        case SASSEMU_STORE:
            return name + " stores " + bytes_text(c.bytes());
        default:
            return name + " does an atomic on " + bytes_text(c.bytes());
    }
}

std::string text_of(const ModelEvent& e) {
    if (e.kind() == SASSEMU_MODEL_EVICTED)
        return "a copy of " + bytes_text(e.bytes()) + " is evicted from " + e.where();
    const std::string of = e.client() != SASSEMU_AGENT_WARP
                               ? who(e.client(), e.gpu())
                               : "launch " + std::to_string(e.launch()) + " CTA " +
                                     std::to_string(e.cta()) + " warp " + std::to_string(e.warp()) +
                                     " lane " + std::to_string(e.lane());
    return "a store of " + bytes_text(e.bytes()) + " by " + of + " is seen by " + e.where();
}

std::string name_text(const Allocation* of, uint64_t address) {
    if (!of || of->name().empty()) return "";
    const uint64_t offset = address - of->address();
    return " ('" + of->name() + "'" + (offset ? "+" + hex(offset) : "") + ")";
}

}  // namespace sassemu::trace
