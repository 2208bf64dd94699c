// SPDX-License-Identifier: Apache-2.0
// See filter.hpp.
#include "filter.hpp"

#include <algorithm>
#include <iterator>
#include <sassemu/names.hpp>

namespace tracing {

namespace {

// The order is that of enum sassemu_effect_kind.
constexpr const char* groups[] = {"compute",  "load",  "store",       "atomic",
                                  "reduce",   "fence", "cache",       "barrier",
                                  "mbarrier", "async", "convergence", "control"};

// "5", "5-", "5-9"
Range range(const char* key, std::string_view text) {
    Range r;
    if (text.empty()) return r;
    const size_t dash = text.find('-');
    r.low = r.high = sassemu::Start::parse(key, text.substr(0, dash));
    if (dash == std::string_view::npos) return r;
    const std::string_view high = text.substr(dash + 1);
    r.high = high.empty() ? Range{}.high : sassemu::Start::parse(key, high);
    if (r.high < r.low)
        throw std::invalid_argument("option '" + std::string(key) + "': '" + std::string(text) +
                                    "' ends before it begins");
    return r;
}

}  // namespace

Filter::Filter(const sassemu::Start& start) {
    const auto take = [&](const char* key, Range& to) { to = range(key, start.value(key)); };
    take("launch", launches_);
    take("cta", cta);
    take("warp", warp);
    take("pc", pc_);
    take("lines", lines_);
    take("window", window);
    const auto all = [&](const char* key, std::vector<std::string>& to) {
        for (const std::string_view v : start.values(key)) to.emplace_back(v);
    };
    all("kernel", kernels_);
    all("opcode", opcodes_);
    all("source", sources_);
    const std::vector<std::string_view> named = start.values("group");
    if (!named.empty()) groups_ = 0;
    for (const std::string_view name : named) {
        const auto* const at = std::find(std::begin(groups), std::end(groups), name);
        if (at == std::end(groups)) {
            std::string known;
            for (const char* g : groups) known += std::string(known.empty() ? "" : " ") + g;
            throw std::invalid_argument("option 'group': '" + std::string(name) +
                                        "' is none of: " + known);
        }
        groups_ |= 1u << (at - std::begin(groups));
    }
    for (const char* key :
         {"kernel", "launch", "cta", "warp", "pc", "source", "lines", "opcode", "group", "window"})
        for (const std::string_view v : start.values(key))
            words.push_back(std::string(key) + "=" + std::string(v));
}

bool Filter::launch(const sassemu_launch_info& l) const {
    return launches_.has(l.id) && sassemu::names::selects(kernels_, l.kernel);
}

bool Filter::insn(const sassemu::Plugin& plugin, sassemu_insn i) const {
    const sassemu_host& host = plugin.host;
    if (!pc_.has(host.insn_pc(i))) return false;
    // "LOP3" is also the "LOP3.LUT" of the description.
    const std::string_view opcode = host.insn_opcode(i);
    const auto named = [&](const std::string& name) {
        return opcode.starts_with(name) &&
               (opcode.size() == name.size() || opcode[name.size()] == '.');
    };
    if (!opcodes_.empty() && std::none_of(opcodes_.begin(), opcodes_.end(), named)) return false;
    if (groups_ != ~0u && !(groups_ >> plugin.effect(i).kind & 1)) return false;
    if (!needs_lines()) return true;
    sassemu_source s{};
    s.size = sizeof s;
    for (uint32_t depth = 0; host.insn_source(i, depth, &s) == 0; ++depth) {
        const std::string_view file = s.file ? s.file : "";
        const bool from = sources_.empty() ||
                          std::any_of(sources_.begin(), sources_.end(),
                                      [&](const std::string& n) { return file.ends_with(n); });
        if (from && lines_.has(s.line)) return true;
    }
    return false;
}

}  // namespace tracing
