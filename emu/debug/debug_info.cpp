// SPDX-License-Identifier: Apache-2.0
// See debug_info.hpp. DWARF itself is read in dwarf.cpp.
#include "emu/debug/debug_info.hpp"

#include <algorithm>

#include "emu/debug/dwarf.hpp"
#include "emu/module/attributes.hpp"
#include "emu/module/byte_reader.hpp"
#include "emu/module/elf.hpp"

namespace sassemu::debug {
namespace {

// A copy that the compiler made for one kernel has its name in front.
std::string own_name(const std::string& function) {
    const size_t copy = function.starts_with('$') ? function.find('$', 1) : function.npos;
    return copy == function.npos ? function : function.substr(copy + 1);
}

}  // namespace

// Places in the code stand in the addends of .rela sections from sm_90 on; the fields themselves
// hold others then, which are wrong.
Bytes DebugInfo::relocated(const Module& module, const elf::File& file, size_t index) {
    std::vector<uint8_t>* changed = nullptr;
    const Bytes bytes = file.sections[index].bytes;
    for (size_t k = 1; k < file.sections.size(); ++k) {
        if (file.sections[k].type != elf::sht_rela || file.sections[k].info != index) continue;
        const auto records = elf::relocations(file, k, module.symbols().size(), module.file_name());
        if (!records) continue;
        for (const Relocation& r : *records) {
            const Symbol& symbol = module.symbols()[r.symbol];
            if (!module.code_section(symbol.section) || r.offset > bytes.size() ||
                bytes.size() - r.offset < 8)
                continue;
            if (!changed) changed = &owned_.emplace_back(bytes.begin(), bytes.end());
            // From the function's begin.
            const uint64_t value =
                (symbol.type == elf::stt_func ? 0 : symbol.value) + static_cast<uint64_t>(r.addend);
            for (size_t i = 0; i < 8; ++i)
                (*changed)[r.offset + i] = static_cast<uint8_t>(value >> 8 * i);
        }
    }
    return changed ? Bytes(*changed) : bytes;
}

DebugInfo DebugInfo::read(const Module& module) {
    DebugInfo out;
    const auto file = elf::parse(module.elf(), module.file_name());
    if (!file) return out;
    const auto section = [&](std::string_view name) -> Bytes {
        for (size_t k = 1; k < file->sections.size(); ++k)
            if (file->sections[k].name == name) return out.relocated(module, *file, k);
        return {};
    };
    if (section(".debug_info").empty()) return out;
    read_dwarf({section(".debug_info"), section(".debug_abbrev"), section(".debug_loc"),
                section(".debug_str")},
               out.variables_, out.inlined_);
    out.read_registers(section(".nv_debug_info_reg_sass"));
    for (const Attribute& a : module.attributes()) {
        if (a.code != eiattr::frame_size) continue;
        const auto symbol = read_at<uint32_t>(a.payload, 0),
                   bytes = read_at<uint32_t>(a.payload, 4);
        if (symbol && bytes && *symbol < module.symbols().size())
            out.frames_[module.symbols()[*symbol].name] = *bytes;
    }
    return out;
}

// For each function its name, a count, and so many of: which 32-bit part (0: the low one), the
// register's name in the PTX, where it is, and from which byte of the function to which. Found by
// comparing with code that nvcc 13.0 compiled.
void DebugInfo::read_registers(Bytes section) {
    for (ByteReader r(section); !r.at_end();) {
        auto& of = held_[std::string(r.take_c_string())];
        const auto count = r.take<uint32_t>();
        for (uint32_t k = 0; k < count && !r.failed(); ++k) {
            Held held;
            held.part = r.take<uint32_t>();
            const std::string name(r.take_c_string());
            held.where = r.take<uint32_t>();
            held.low = r.take<uint32_t>();
            held.high = r.take<uint32_t>();
            if (!r.failed() && held.part < 4) of[name].push_back(held);
        }
    }
}

std::vector<const SourceVariable*> DebugInfo::visible(const std::string& function,
                                                      uint64_t at) const {
    std::vector<const SourceVariable*> out;
    const auto of = variables_.find(own_name(function));
    if (of == variables_.end()) return out;
    for (const SourceVariable& v : of->second)
        if (at >= v.low && at < v.high) out.push_back(&v);
    std::ranges::stable_sort(out, {}, [](const SourceVariable* v) { return v->low; });
    return out;
}

std::vector<const InlinedCall*> DebugInfo::inlined(const std::string& function, uint64_t at) const {
    std::vector<const InlinedCall*> out;
    const auto of = inlined_.find(own_name(function));
    if (of == inlined_.end()) return out;
    for (const InlinedCall& call : of->second)
        if (at >= call.low && at < call.high) out.push_back(&call);
    return out;
}

std::vector<DebugInfo::Part> DebugInfo::registers(const std::string& function,
                                                  const std::string& name, uint64_t at) const {
    std::vector<Part> out;
    const auto of = held_.find(own_name(function));
    if (of == held_.end()) return out;
    const auto all = of->second.find(name);
    if (all == of->second.end()) return out;
    for (const Held& h : all->second) {
        if (at < h.low || at >= h.high) continue;
        if (out.size() <= h.part) out.resize(h.part + 1);
        const uint32_t file = h.where >> 24;
        out[h.part] = {file == 5   ? Part::File::general
                       : file == 2 ? Part::File::predicate
                                   : Part::File::other,
                       h.where & 0xffffffu};
    }
    return out;
}

const SourceVariable* DebugInfo::of_module(const std::string& name) const {
    const auto all = variables_.find("");
    if (all == variables_.end()) return nullptr;
    const auto at = std::ranges::find(all->second, name, &SourceVariable::name);
    return at == all->second.end() ? nullptr : &*at;
}

uint64_t DebugInfo::frame(const std::string& function) const {
    const auto at = frames_.find(function);
    return at == frames_.end() ? 0 : at->second;
}

}  // namespace sassemu::debug
