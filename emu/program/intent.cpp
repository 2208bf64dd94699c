// SPDX-License-Identifier: Apache-2.0
// The reader behind intent.hpp: splits an opcode at its dots and looks at the parts. Defaults and
// meanings: PTX ISA 9, "Memory Consistency Model" and the descriptions of the instructions.
#include "emu/program/intent.hpp"

#include <algorithm>
#include <vector>

namespace sassemu {

namespace {

using Parts = std::vector<std::string_view>;

bool has(const Parts& parts, std::string_view part) {
    return std::ranges::find(parts, part) != parts.end();
}

uint32_t space_bit(AccessSpace space) { return 1u << static_cast<unsigned>(space); }

// The opcode of a line: behind labels, braces and a guard, up to a blank or ';'.
std::string_view opcode_of(std::string_view line) {
    if (const size_t comment = line.find("//"); comment != std::string_view::npos)
        line = line.substr(0, comment);
    const auto skip = [&] {
        const size_t at = line.find_first_not_of(" \t\r{}");
        line = at == std::string_view::npos ? std::string_view() : line.substr(at);
    };
    skip();
    for (size_t colon; (colon = line.find(':')) != std::string_view::npos;) {
        // A label ends with one colon; "shared::cta" is part of an opcode.
        const size_t blank = line.find_first_of(" \t;");
        if (colon > blank || (colon + 1 < line.size() && line[colon + 1] == ':')) break;
        line = line.substr(colon + 1);
        skip();
    }
    if (line.starts_with("@")) {
        const size_t blank = line.find_first_of(" \t");
        line = blank == std::string_view::npos ? std::string_view() : line.substr(blank);
        skip();
    }
    line = line.substr(0, line.find_first_of(" \t;"));
    return line.starts_with(".") ? std::string_view() : line;
}

Parts split(std::string_view opcode) {
    Parts parts;
    for (;;) {
        const size_t dot = opcode.find('.');
        parts.push_back(opcode.substr(0, dot));
        if (dot == std::string_view::npos) return parts;
        opcode = opcode.substr(dot + 1);
    }
}

void read_order(const Parts& parts, Intent& out) {
    struct Name {
        std::string_view text;
        Ordering ordering;
    };
    static constexpr Name names[] = {
        {"weak", Ordering::weak},          {"relaxed", Ordering::relaxed},
        {"acquire", Ordering::acquire},    {"release", Ordering::release},
        {"acq_rel", Ordering::acq_rel},    {"sc", Ordering::sc},
        {"volatile", Ordering::volatile_}, {"mmio", Ordering::mmio}};
    for (const Name& n : names)
        if (has(parts, n.text)) out.ordering = n.ordering;
}

void read_scope(const Parts& parts, Intent& out) {
    struct Name {
        std::string_view text;
        MemScope scope;
    };
    static constexpr Name names[] = {{"cta", MemScope::cta},
                                     {"cluster", MemScope::cluster},
                                     {"gpu", MemScope::gpu},
                                     {"gl", MemScope::gpu},
                                     {"sys", MemScope::sys}};
    // The first part is the instruction: barrier.cluster is no scope.
    for (size_t i = 1; i < parts.size(); ++i)
        for (const Name& n : names)
            if (parts[i] == n.text && !(i == 1 && parts[0] == "barrier")) out.scope = n.scope;
}

void read_spaces(const Parts& parts, Intent& out) {
    for (const std::string_view p : parts) {
        if (p.starts_with("global")) out.spaces |= space_bit(AccessSpace::global);
        if (p.starts_with("shared")) out.spaces |= space_bit(AccessSpace::shared);
        if (p.starts_with("local")) out.spaces |= space_bit(AccessSpace::local);
        if (p.starts_with("const")) out.spaces |= space_bit(AccessSpace::constant);
    }
}

void read_restriction(const Parts& parts, Intent& out) {
    for (const std::string_view p : parts) {
        if (p == "sync_restrict::shared::cta") out.restriction = IntentRestrict::shared_cta;
        if (p == "sync_restrict::shared::cluster") out.restriction = IntentRestrict::shared_cluster;
        if (p == "mbarrier_init") out.restriction = IntentRestrict::mbarrier_init;
    }
}

Proxy proxy_named(std::string_view name) {
    if (name.starts_with("async")) return Proxy::async;
    if (name.starts_with("tensormap")) return Proxy::tensormap;
    return Proxy::generic;  // alias too: both sides are generic
}

// fence.proxy.KIND, fence.proxy.TO::FROM, membar.proxy.KIND.
void read_proxy(const Parts& parts, Intent& out) {
    out.kind = IntentKind::proxy_fence;
    const std::string_view kind = parts.size() > 2 ? parts[2] : std::string_view();
    const size_t colons = kind.find("::");
    const bool one_way = colons != std::string_view::npos && kind.substr(colons + 2) == "generic";
    out.to_proxy = proxy_named(kind.substr(0, one_way ? colons : std::string_view::npos));
    out.both_ways = !one_way;
    if (!one_way) out.ordering = Ordering::acq_rel;
}

bool one_of(std::string_view text, std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, text) != names.end();
}

}  // namespace

std::optional<Intent> read_intent(std::string_view ptx_line) {
    const std::string_view opcode = opcode_of(ptx_line);
    if (opcode.empty()) return std::nullopt;
    const Parts parts = split(opcode);
    Intent out;
    out.opcode = opcode;
    out.line = ptx_line;
    read_order(parts, out);
    read_scope(parts, out);
    read_spaces(parts, out);
    read_restriction(parts, out);
    const std::string_view name = parts[0],
                           second = parts.size() > 1 ? parts[1] : std::string_view();
    if (name == "fence" || name == "membar") {
        if (second == "proxy") {
            read_proxy(parts, out);
            return out;
        }
        out.kind = IntentKind::fence;
        if (name == "membar")
            out.ordering = Ordering::sc;  // a synonym of fence.sc
        else if (out.ordering == Ordering::weak)
            out.ordering = Ordering::acq_rel;
    } else if (name == "mbarrier") {
        out.kind = IntentKind::mbarrier;
        const bool waits = one_of(second, {"test_wait", "try_wait"});
        if (out.ordering == Ordering::weak && (waits || one_of(second, {"arrive", "arrive_drop"})))
            out.ordering = waits ? Ordering::acquire : Ordering::release;
        if (out.ordering == Ordering::weak && one_of(second, {"expect_tx", "complete_tx"}))
            out.ordering = Ordering::relaxed;
        if (out.scope == MemScope::none && second != "init" && second != "inval")
            out.scope = MemScope::cta;
    } else if (name == "bar" || name == "barrier") {
        out.kind = IntentKind::barrier;
        out.aligned = name == "bar" ? second != "warp" : has(parts, "aligned");
        if (second == "cluster") {
            out.scope = MemScope::cluster;
            if (out.ordering == Ordering::weak)
                out.ordering = has(parts, "wait") ? Ordering::acquire : Ordering::release;
        } else {
            out.scope = MemScope::cta;
            out.ordering = has(parts, "arrive") ? Ordering::release : Ordering::acq_rel;
        }
    } else if (one_of(name, {"cp", "wgmma", "tcgen05", "tensormap"}) ||
               (one_of(name, {"st", "red"}) && second == "async")) {
        out.kind = IntentKind::async;
        if (has(parts, "bulk") || name == "wgmma" || name == "tcgen05" || second == "async")
            out.to_proxy = Proxy::async;
        if (name == "cp" && second == "async" && !has(parts, "bulk")) out.to_proxy = Proxy::generic;
        // st.async and red.async: a weak store; the report to the mbarrier has release at cluster
        // scope.
        if (one_of(name, {"st", "red"}) && out.ordering == Ordering::weak)
            out.scope = MemScope::cluster;
    } else if (one_of(name, {"ld", "st", "atom", "red", "ldu", "multimem", "tex", "tld4", "suld",
                             "sust", "sured"})) {
        out.kind = IntentKind::access;
        if (one_of(name, {"atom", "red"}) && out.ordering == Ordering::weak)
            out.ordering = Ordering::relaxed;
        if (one_of(name, {"atom", "red"}) && out.scope == MemScope::none) out.scope = MemScope::gpu;
        if (out.ordering == Ordering::volatile_ || has(parts, "cv")) out.scope = MemScope::sys;
        if (out.ordering == Ordering::mmio && out.scope == MemScope::none)
            out.scope = MemScope::sys;
        if (one_of(name, {"tex", "tld4"}) || has(parts, "nc"))
            out.from_proxy = out.to_proxy = Proxy::texture;
        if (one_of(name, {"suld", "sust", "sured"})) out.from_proxy = out.to_proxy = Proxy::surface;
    }
    return out;
}

}  // namespace sassemu
