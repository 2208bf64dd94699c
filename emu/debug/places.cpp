// SPDX-License-Identifier: Apache-2.0
// See places.hpp.
#include "emu/debug/places.hpp"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sassemu/names.hpp>

namespace sassemu::debug {
namespace {

std::optional<uint64_t> number(std::string_view text) {
    int base = 10;
    if (text.starts_with("0x") || text.starts_with("0X")) {
        base = 16;
        text.remove_prefix(2);
    }
    uint64_t v = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v, base);
    if (error != std::errc() || end != text.data() + text.size() || text.empty())
        return std::nullopt;
    return v;
}

// "a/b/saxpy.cu" is meant by "saxpy.cu" and by "b/saxpy.cu".
bool means(std::string_view file, std::string_view wanted) {
    if (!file.ends_with(wanted)) return false;
    return file.size() == wanted.size() || wanted.starts_with('/') ||
           file[file.size() - wanted.size() - 1] == '/';
}

}  // namespace

void Places::add(std::shared_ptr<const Module> module) {
    if (std::ranges::find(modules_, module) == modules_.end())
        modules_.push_back(std::move(module));
}

const DebugInfo& Places::info(const Module* module) const {
    const auto known = info_.find(module);
    if (known != info_.end()) return known->second;
    return info_.emplace(module, DebugInfo::read(*module)).first->second;
}

const FrameInfo& Places::frame_info(const Module* module) const {
    const auto known = frame_info_.find(module);
    if (known != frame_info_.end()) return known->second;
    return frame_info_.emplace(module, FrameInfo::read(*module)).first->second;
}

Result<std::vector<CodePlace>> Places::find(std::string_view text, const CodePlace& here) const {
    const std::string where = "'" + std::string(text) + "'";
    std::vector<CodePlace> found;
    if (text.empty()) {
        if (here.module) found.push_back(here);
        if (found.empty())
            return make_error(ErrorCode::usage, "location", "nothing runs here to mean");
        return found;
    }
    if (text.starts_with('@')) {  // as address() has it
        const auto at = number(text.substr(1));
        const uint64_t index = at ? *at >> 32 : 0, offset = at ? *at & 0xffffffffu : 0;
        if (!index || index > modules_.size() || offset % 16 ||
            offset >= modules_[index - 1]->code_image_size())
            return make_error(ErrorCode::not_found, where, "no instruction has this address");
        return std::vector{CodePlace{modules_[index - 1].get(), offset}};
    }
    const bool is_address = text.starts_with('*');
    if (is_address) text.remove_prefix(1);
    // An offset in the section at hand.
    if (const auto offset = number(text); offset && is_address) {
        const Function* f = here.module ? here.module->function_at(here.offset) : nullptr;
        const CodeSection* s = f ? here.module->code_section(f->section) : nullptr;
        if (!s) return make_error(ErrorCode::usage, where, "no function runs here", "*NAME+OFFSET");
        if (*offset % 16 || *offset >= s->bytes.size())
            return make_error(ErrorCode::not_found, where,
                              "no instruction of '" + f->name + "' begins there",
                              "offsets are multiples of 16");
        return std::vector{CodePlace{here.module, s->code_offset + *offset}};
    }
    // A line.
    std::string_view file, line = text;
    std::string file_here;
    if (const size_t colon = text.rfind(':');
        colon != text.npos && number(text.substr(colon + 1))) {
        file = text.substr(0, colon);
        line = text.substr(colon + 1);
    } else if (number(text) && here.module) {
        file_here = frames(here).front().file;
        file = file_here;
        if (file.empty())
            return make_error(ErrorCode::not_found, where,
                              "the code at hand has no line table (compile with -lineinfo)",
                              "FILE:LINE, NAME or *OFFSET");
    }
    if (const auto wanted = number(line); wanted && !file.empty()) {
        bool any_lines = false, known_file = false;
        // The first place of the line in each function, and of each inlined copy.
        for (const auto& module : modules_) {
            const LineTable& table = module->lines();
            uint32_t best = 0;
            std::map<std::pair<const Function*, uint32_t>, uint64_t> first;
            any_lines |= table.has_source();
            for (const LineTable::Row& row : table.rows()) {
                if (row.end_of_sequence || row.line < *wanted || (best && row.line > best) ||
                    row.file >= table.files().size() || !means(table.files()[row.file], file))
                    continue;
                known_file = true;
                const auto info = table.find(row.code_offset);
                if (!info || !info->source || info->source->line != row.line ||
                    !means(info->source->file, file))
                    continue;
                if (row.line != best) first.clear();
                best = row.line;
                const std::pair key(module->function_at(row.code_offset), row.context);
                const auto [at, is_new] = first.emplace(key, row.code_offset);
                if (!is_new) at->second = std::min(at->second, row.code_offset);
            }
            for (const auto& [key, offset] : first) found.push_back({module.get(), offset});
        }
        if (!found.empty()) return found;
        if (!any_lines)
            return make_error(ErrorCode::not_found, where,
                              "the modules have no line tables (compile with -lineinfo)",
                              "NAME or *NAME+OFFSET");
        return make_error(ErrorCode::not_found, where,
                          known_file ? "no code comes from this line or those behind it"
                                     : "no code comes from this file, or not from there on");
    }
    // A function.
    std::string_view name = text;
    uint64_t offset = 0;
    if (const size_t plus = text.rfind('+'); plus != text.npos)
        if (const auto add = number(text.substr(plus + 1))) {
            name = text.substr(0, plus);
            offset = *add;
        }
    std::string known;
    size_t names = 0;
    const bool exact = std::ranges::any_of(modules_, [&](const auto& module) {
        return std::ranges::any_of(module->functions(),
                                   [&](const Function& f) { return f.name == name; });
    });
    for (const auto& module : modules_)
        for (const Function& f : module->functions()) {
            if (exact ? f.name == name : names::means(f.name, name)) {
                if (offset % 16 || offset >= f.size)
                    return make_error(
                        ErrorCode::not_found, where,
                        "no instruction of '" + f.name + "' begins there",
                        "it has " + std::to_string(f.size) + " bytes, 16 for each instruction");
                found.push_back({module.get(), f.code_offset + offset});
            }
            if (f.is_kernel && ++names <= 8) known += (known.empty() ? "" : ", ") + f.name;
        }
    if (!found.empty()) return found;
    return make_error(ErrorCode::not_found, where, "there is no such function or line",
                      known.empty() ? "" : "kernels: " + known);
}

// With -G the line table names no inlined function; the variables' section does.
void Places::add_inlined(const CodePlace& place, std::vector<SourceFrame>& out) const {
    const Function* f = place.module->function_at(place.offset);
    if (!f) return;
    const auto calls = info(place.module).inlined(f->name, place.offset - f->code_offset);
    const auto begin = place.module->lines().find(f->code_offset);
    for (size_t k = calls.size(); k--;) {
        out.back().function = names::demangled(calls[k]->function);
        SourceFrame caller;
        // The file of the function is known by its first line, of one inlined in between it is not.
        if (!k && calls[k]->same_file && calls[k]->line && begin && begin->source) {
            caller.file = begin->source->file;
            caller.line = calls[k]->line;
        }
        out.push_back(std::move(caller));
    }
}

std::vector<SourceFrame> Places::frames(const CodePlace& place) const {
    std::vector<SourceFrame> out;
    const auto info =
        place.module ? place.module->lines().find(place.offset) : std::optional<LineInfo>();
    if (info && info->source) {
        const auto frame = [](const SourceLocation& l) {
            return SourceFrame{names::demangled(l.function), std::string(l.file), l.line};
        };
        out.push_back(frame(*info->source));
        for (const SourceLocation& at : info->inlined_at) out.push_back(frame(at));
    } else {
        out.emplace_back();
    }
    if (out.size() == 1 && !out[0].file.empty()) add_inlined(place, out);
    out.back().function = function(place);
    for (SourceFrame& f : out)
        if (f.function.empty()) f.function = "(inlined)";
    return out;
}

std::string Places::function(const CodePlace& place) const {
    const Function* f = place.module ? place.module->function_at(place.offset) : nullptr;
    return f ? names::demangled(f->name) : "?";
}

uint64_t Places::pc(const CodePlace& place) const {
    if (!place.module) return place.offset;
    for (const CodeSection& s : place.module->code_sections())
        if (place.offset >= s.code_offset && place.offset - s.code_offset < s.bytes.size())
            return place.offset - s.code_offset;
    return place.offset;
}

uint64_t Places::address(const CodePlace& place) const {
    for (size_t k = 0; k < modules_.size(); ++k)
        if (modules_[k].get() == place.module) return (uint64_t{k} + 1) << 32 | place.offset;
    return 0;
}

std::string Places::name(const CodePlace& place) const {
    const Function* f = place.module ? place.module->function_at(place.offset) : nullptr;
    char text[32];
    std::snprintf(text, sizeof text, "+0x%04" PRIx64,
                  f ? place.offset - f->code_offset : place.offset);
    return (f ? f->name : std::string("?")) + text;
}

sassdec_insn Places::decoded(const CodePlace& place) const {
    sassdec_insn insn{};
    uint64_t word[2] = {};
    if (place.module)
        for (const CodeSection& s : place.module->code_sections())
            if (place.offset >= s.code_offset &&
                place.offset - s.code_offset + 16 <= s.bytes.size())
                std::memcpy(word, s.bytes.data() + (place.offset - s.code_offset), 16);
    if (place.module)
        sassdec_decode(sassdec_arch_from_name(place.module->arch().name().c_str()), word, pc(place),
                       &insn);
    return insn;
}

std::string Places::sass(const CodePlace& place) const {
    const sassdec_insn insn = decoded(place);
    char text[512];
    if (!place.module || sassdec_format(&insn, nullptr, text, sizeof text) < 0) return "";
    return text;
}

std::pair<uint64_t, uint64_t> Places::extent(const CodePlace& place) const {
    const Function* f = place.module ? place.module->function_at(place.offset) : nullptr;
    if (f) return {f->code_offset, f->code_offset + f->size};
    return {place.offset, place.offset + 16};
}

}  // namespace sassemu::debug
