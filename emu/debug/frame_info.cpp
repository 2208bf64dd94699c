// SPDX-License-Identifier: Apache-2.0
// See frame_info.hpp. The section is DWARF's (version 4, chapter 6.4). Registers are numbered
// 0x05000000 + n for R<n>. The return address is in the column that a CIE names: R<n> itself (-G),
// or one whose value is said by an expression: the begin of a section and R<n>. A kernel's is
// 0xffffffff. Found by comparing with code that nvcc 13.0 compiled.
#include "emu/debug/frame_info.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "emu/module/byte_reader.hpp"
#include "emu/module/elf.hpp"

namespace sassemu::debug {
namespace {

constexpr uint64_t general = 0x05000000, nobody = 0xffffffff;
constexpr size_t most_frame_entries = 1 << 16, most_kept = 64;

std::optional<uint32_t> general_register(uint64_t column) {
    if (column < general || column >= general + FrameInfo::registers) return std::nullopt;
    return static_cast<uint32_t>(column - general);
}

// DW_OP_addr A, DW_OP_bregx R 0, DW_OP_plus: the register.
std::optional<uint32_t> based_register(Bytes expression) {
    ByteReader r(expression);
    if (r.take<uint8_t>() != 0x03) return std::nullopt;
    r.take<uint64_t>();  // relocated: FrameReader has found what it means
    if (r.take<uint8_t>() != 0x92) return std::nullopt;
    const auto of = general_register(r.take_uleb());
    if (r.take_sleb() != 0 || r.take<uint8_t>() != 0x22) return std::nullopt;
    for (; !r.at_end();)
        if (r.take<uint8_t>() != 0x96) return std::nullopt;  // nop
    return r.failed() ? std::nullopt : of;
}

// Runs the instructions of one table up to a place.
class Machine {
  public:
    Machine(FrameInfo::Row& row, uint64_t return_column, uint64_t code_unit, int64_t data_unit)
        : row_(row), return_(return_column), code_(code_unit), data_(data_unit) {}

    // False: damaged. What is there afterwards is what holds `wanted` bytes behind the begin.
    bool run(Bytes instructions, uint64_t wanted) {
        for (ByteReader r(instructions); !r.at_end() && at_ <= wanted;)
            if (!step(r) || r.failed()) return false;
        return true;
    }
    void keep_first() { first_ = row_.rules; }
    [[nodiscard]] std::optional<uint32_t> based() const { return based_; }

  private:
    using Rule = FrameInfo::Rule;
    using Is = Rule::Is;

    void set(uint64_t column, Rule rule) {
        if (const auto n = general_register(column)) row_.rules[*n] = rule;
    }
    bool advance(uint64_t units) {
        if (units > (~uint64_t{0} - at_) / std::max<uint64_t>(code_, 1)) return false;
        at_ += units * code_;
        return true;
    }
    bool frame(uint64_t column, int64_t offset) {
        const auto n = general_register(column);
        if (!n) return false;
        row_.frame_register = *n;
        row_.frame_offset = offset;
        return true;
    }
    bool step(ByteReader& r) {
        const auto op = r.take<uint8_t>();
        const uint8_t low = op & 63;
        switch (op >> 6) {
            case 1:
                return advance(low);
            case 2:  // of a column below 64: none of ours
                r.take_uleb();
                return true;
            case 3:
                return true;
            default:
                break;
        }
        const auto offset = [&] { return static_cast<int64_t>(r.take_uleb()); };
        switch (op) {
            case 0x00:  // nop
                return true;
            case 0x02:
                return advance(r.take<uint8_t>());
            case 0x03:
                return advance(r.take<uint16_t>());
            case 0x04:
                return advance(r.take<uint32_t>());
            case 0x05: {  // offset_extended
                const uint64_t column = r.take_uleb();
                set(column, {Is::saved, scaled(offset())});
                return true;
            }
            case 0x11: {  // offset_extended_sf
                const uint64_t column = r.take_uleb();
                set(column, {Is::saved, scaled(r.take_sleb())});
                return true;
            }
            case 0x06: {  // restore_extended
                const uint64_t column = r.take_uleb();
                if (const auto n = general_register(column)) row_.rules[*n] = first_[*n];
                return true;
            }
            case 0x07:  // undefined
                set(r.take_uleb(), {Is::lost, 0});
                return true;
            case 0x08:
                set(r.take_uleb(), {Is::same, 0});
                return true;
            case 0x09: {  // register
                const uint64_t column = r.take_uleb();
                const auto from = general_register(r.take_uleb());
                set(column, from ? Rule{Is::moved, *from} : Rule{Is::lost, 0});
                return true;
            }
            case 0x0a:  // remember_state
                kept_.push_back(row_);
                return kept_.size() <= most_kept;
            case 0x0b:  // restore_state
                if (kept_.empty()) return false;
                row_ = kept_.back();
                kept_.pop_back();
                return true;
            case 0x0c: {  // def_cfa
                const uint64_t column = r.take_uleb();
                return frame(column, offset());
            }
            case 0x12: {
                const uint64_t column = r.take_uleb();
                return frame(column, scaled(r.take_sleb()));
            }
            case 0x0d:
                return frame(r.take_uleb(), row_.frame_offset);
            case 0x0e:
                row_.frame_offset = offset();
                return true;
            case 0x13:
                row_.frame_offset = scaled(r.take_sleb());
                return true;
            case 0x10:    // expression: behind a restore, of the stack pointer to come
            case 0x16: {  // val_expression
                const uint64_t column = r.take_uleb();
                const Bytes expression = r.take_bytes(r.take_uleb());
                if (op == 0x16 && column == return_) based_ = based_register(expression);
                set(column, {Is::lost, 0});
                return true;
            }
            default:
                return false;
        }
    }
    [[nodiscard]] int64_t scaled(int64_t n) const {
        return static_cast<int64_t>(static_cast<uint64_t>(n) * static_cast<uint64_t>(data_));
    }

    FrameInfo::Row& row_;
    const uint64_t return_, code_;
    const int64_t data_;
    uint64_t at_ = 0;
    std::array<Rule, FrameInfo::registers> first_{};
    std::vector<FrameInfo::Row> kept_;
    std::optional<uint32_t> based_;
};

}  // namespace

struct FrameReader {
    const Module& module;
    Bytes section;
    std::unordered_map<uint64_t, uint64_t> places;  // what relocations make of a field: code offset

    struct Common {
        uint64_t code_unit = 1, return_column = 0;
        int64_t data_unit = 1;
        Bytes instructions;
        std::optional<uint64_t> base;
    };

    void find_places(const elf::File& file, size_t index) {
        for (size_t k = 1; k < file.sections.size(); ++k) {
            const elf::Section& s = file.sections[k];
            if ((s.type != elf::sht_rel && s.type != elf::sht_rela) || s.info != index) continue;
            const auto records =
                elf::relocations(file, k, module.symbols().size(), module.file_name());
            if (!records) continue;
            for (const Relocation& r : *records) {
                const Symbol& symbol = module.symbols()[r.symbol];
                const CodeSection* code = module.code_section(symbol.section);
                if (!code) continue;
                const uint64_t addend = r.has_addend
                                            ? static_cast<uint64_t>(r.addend)
                                            : read_at<uint64_t>(section, r.offset).value_or(0);
                places[r.offset] = code->code_offset + symbol.value + addend;
            }
        }
    }
    [[nodiscard]] std::optional<uint64_t> place(uint64_t field) const {
        const auto at = places.find(field);
        return at == places.end() ? std::nullopt : std::optional(at->second);
    }

    void read(std::vector<FrameInfo::Entry>& out) const {
        std::map<uint64_t, Common> commons;  // by where they stand
        for (ByteReader r(section); r.remaining() > 4 && out.size() < most_frame_entries;) {
            const uint64_t begin = r.position();
            uint64_t length = r.take<uint32_t>();
            const bool wide = length == 0xffffffff;
            if (wide) length = r.take<uint64_t>();
            if (r.failed() || length > r.remaining()) return;
            const uint64_t end = r.position() + length;
            ByteReader e(section.first(end), r.position());
            r.skip(length);
            const uint64_t id = wide ? e.take<uint64_t>() : e.take<uint32_t>();
            if (id == (wide ? ~uint64_t{0} : uint64_t{0xffffffff})) {
                if (auto common = read_common(e)) commons[begin] = *common;
                continue;
            }
            const auto of = commons.find(id);
            const auto from = place(e.position());
            e.take<uint64_t>();
            const auto size = e.take<uint64_t>();
            if (e.failed() || of == commons.end() || !from || size > module.code_image_size())
                continue;
            const Common& c = of->second;
            out.push_back({*from, *from + size, c.code_unit, c.data_unit, c.return_column,
                           c.instructions, e.take_bytes(e.remaining()), c.base});
        }
    }

    [[nodiscard]] std::optional<Common> read_common(ByteReader& e) const {
        Common c;
        const auto version = e.take<uint8_t>();
        const std::string_view extra = e.take_c_string();
        if (version < 1 || version > 4 || !extra.empty()) return std::nullopt;
        if (version == 4) e.take<uint16_t>();  // sizes of addresses and segments
        c.code_unit = e.take_uleb();
        c.data_unit = e.take_sleb();
        c.return_column = version == 1 ? e.take<uint8_t>() : e.take_uleb();
        const uint64_t from = e.position();
        c.instructions = e.take_bytes(e.remaining());
        if (e.failed()) return std::nullopt;
        // The address in the expression of the return address.
        for (uint64_t k = 0; k < c.instructions.size() && !c.base; ++k) c.base = place(from + k);
        return c;
    }
};

FrameInfo FrameInfo::read(const Module& module) {
    FrameInfo out;
    const auto file = elf::parse(module.elf(), module.file_name());
    if (!file) return out;
    for (size_t k = 1; k < file->sections.size(); ++k) {
        if (file->sections[k].name != ".debug_frame") continue;
        FrameReader reader{module, file->sections[k].bytes, {}};
        reader.find_places(*file, k);
        reader.read(out.entries_);
    }
    std::ranges::stable_sort(out.entries_, {}, &Entry::begin);
    return out;
}

std::optional<FrameInfo::Row> FrameInfo::at(uint64_t code_offset) const {
    auto e = std::ranges::upper_bound(entries_, code_offset, {}, &Entry::begin);
    if (e == entries_.begin() || code_offset >= (--e)->end) return std::nullopt;
    Row row;
    Machine machine(row, e->return_column, e->code_unit, e->data_unit);
    if (!machine.run(e->first, ~uint64_t{0})) return std::nullopt;
    machine.keep_first();
    if (!machine.run(e->rest, code_offset - e->begin)) return std::nullopt;
    if (e->return_column == nobody) return row;
    const auto direct = general_register(e->return_column);
    const auto based = machine.based();
    if (!direct && !(based && e->base)) return std::nullopt;
    row.is_called = true;
    row.return_register = direct ? *direct : *based;
    if (!direct) row.return_base = e->base;
    return row;
}

}  // namespace sassemu::debug
