// SPDX-License-Identifier: Apache-2.0
// Line number programs, DWARF 2 to 5 (DWARF 5 section 6.2), with NVIDIA's additions.
// Belongs here: .debug_line and .nv_debug_line_sass (same format; its lines are PTX lines and its
// file, when it names one, is a .nv_debug_ptx_txt section). Does not belong here: .debug_info.
//
// NVIDIA's additions, read off ptxas 11.8 to 13.0 output:
// - extended opcode 0x90 {uleb context, uleb name}: the following rows are inlined code; context
//   is the number (from 1, within the sequence) of the row that holds the call site, name an
//   offset into .debug_str; context 0 ends it;
// - the header of .debug_line ends with a 32-bit base that is added to those name offsets.
#include "emu/module/dwarf_line.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "emu/module/byte_reader.hpp"

namespace sassemu {
namespace {

constexpr std::uint8_t lns_copy = 1, lns_advance_pc = 2, lns_advance_line = 3, lns_set_file = 4,
                       lns_set_column = 5, lns_const_add_pc = 8, lns_fixed_advance_pc = 9;
constexpr std::uint8_t lne_end_sequence = 1, lne_set_address = 2, lne_define_file = 3,
                       lne_nvidia_inlined_call = 0x90;
constexpr std::uint64_t lnct_path = 1, lnct_directory_index = 2;
constexpr std::uint64_t form_block2 = 0x03, form_block4 = 0x04, form_data2 = 0x05,
                        form_data4 = 0x06, form_data8 = 0x07, form_string = 0x08, form_block = 0x09,
                        form_block1 = 0x0a, form_data1 = 0x0b, form_strp = 0x0e, form_udata = 0x0f,
                        form_data16 = 0x1e, form_line_strp = 0x1f;
// A row is written per instruction at most a few times; a table beyond this is malformed.
constexpr std::size_t max_rows = std::size_t{1} << 24U;

struct Sequences {
    std::vector<LineTable::Row> rows;
    std::vector<std::string> files;
    std::vector<std::string> names;
};

class LineReader {
  public:
    LineReader(const ModuleData& data, const elf::File& file, std::size_t section,
               const std::string& name)
        : data_(data),
          file_(file),
          section_(section),
          where_(name + ": section " + std::to_string(section) + " (" +
                 std::string(file.sections[section].name) + ")") {
        debug_str_ = section_bytes(".debug_str");
        line_str_ = section_bytes(".debug_line_str");
    }

    Result<Sequences> run() {
        SASSEMU_TRY(collect_addresses());
        const Bytes bytes = file_.sections[section_].bytes;
        for (std::uint64_t at = 0; at < bytes.size();) {
            ByteReader reader(bytes, at);
            const auto length = reader.take<std::uint32_t>();
            if (reader.failed() || length > reader.remaining()) {
                return bad(at, "unit_length", "the unit leaves the section");
            }
            if (length == 0) break;  // padding
            SASSEMU_TRY(read_unit(bytes.subspan(0, at + 4 + length), at + 4));
            at += 4 + std::uint64_t{length};
        }
        return std::move(out_);
    }

  private:
    Error bad(std::uint64_t at, const std::string& field, std::string what) const {
        return make_error(ErrorCode::input, where_ + " " + field + " at " + std::to_string(at),
                          std::move(what));
    }
    Bytes section_bytes(std::string_view name) const {
        for (const auto& section : file_.sections) {
            if (section.name == name) return section.bytes;
        }
        return {};
    }

    // The operand of DW_LNE_set_address is filled by a relocation against the function; the
    // name base by one against .debug_str.
    Result<void> collect_addresses() {
        std::unordered_map<std::uint32_t, std::uint64_t> code_offsets;
        for (const auto& code : data_.code_sections) {
            code_offsets[code.section] = code.code_offset;
        }
        for (std::size_t i = 1; i < file_.sections.size(); ++i) {
            const auto& section = file_.sections[i];
            if ((section.type != elf::sht_rel && section.type != elf::sht_rela) ||
                section.info != section_) {
                continue;
            }
            SASSEMU_ASSIGN(const auto records,
                           elf::relocations(file_, i, data_.symbols.size(), where_));
            for (const auto& record : records) {
                const Symbol& symbol = data_.symbols[record.symbol];
                const auto addend = static_cast<std::uint64_t>(record.addend);
                const auto code = code_offsets.find(symbol.section);
                if (code != code_offsets.end()) {
                    addresses_[record.offset] = code->second + symbol.value + addend;
                }
                if (symbol.section < file_.sections.size() &&
                    file_.sections[symbol.section].name == ".debug_str") {
                    string_bases_[record.offset] = symbol.value + addend;
                }
            }
        }
        return {};
    }

    struct Unit {
        std::uint16_t version = 0;
        std::uint8_t address_size = 8;
        std::uint8_t minimum_length = 1;
        std::int8_t line_base = 0;
        std::uint8_t line_range = 1;
        std::uint8_t opcode_base = 1;
        std::vector<std::uint8_t> operands;    // per standard opcode, from opcode 1
        std::vector<std::string> directories;  // as the unit numbers them
        std::vector<std::uint32_t> files;      // the unit's numbers -> out_.files
        std::uint64_t name_base = 0;           // added to offsets into .debug_str
        bool has_names = false;
    };

    // `bytes` ends with the unit, `at` is just behind unit_length.
    Result<void> read_unit(Bytes bytes, std::uint64_t at) {
        ByteReader reader(bytes, at);
        Unit unit;
        unit.version = reader.take<std::uint16_t>();
        if (reader.failed() || unit.version < 2 || unit.version > 5) {
            return bad(at, "version", std::to_string(unit.version) + " is not DWARF 2 to 5");
        }
        if (unit.version >= 5) {
            unit.address_size = reader.take<std::uint8_t>();
            reader.skip(1);  // segment selector size
        }
        const auto header_length = reader.take<std::uint32_t>();
        if (reader.failed() || header_length > reader.remaining()) {
            return bad(at, "header_length", "the header leaves the unit");
        }
        const std::uint64_t program = reader.position() + header_length;
        ByteReader header(bytes.subspan(0, program), reader.position());
        unit.minimum_length = header.take<std::uint8_t>();
        if (unit.version >= 4) header.skip(1);  // maximum operations per instruction
        header.skip(1);                         // default is_stmt
        unit.line_base = header.take<std::int8_t>();
        unit.line_range = header.take<std::uint8_t>();
        unit.opcode_base = header.take<std::uint8_t>();
        if (header.failed() || unit.line_range == 0 || unit.opcode_base == 0) {
            return bad(at, "header", "truncated, or line_range or opcode_base is zero");
        }
        for (unsigned i = 1; i < unit.opcode_base; ++i) {
            unit.operands.push_back(header.take<std::uint8_t>());
        }
        if (unit.version >= 5) {
            SASSEMU_TRY(read_tables_v5(header, unit));
        } else {
            read_tables(header, unit);
        }
        if (header.failed()) return bad(at, "file table", "truncated");
        if (header.remaining() >= 4) {
            const std::uint64_t position = header.position();
            const auto base = string_bases_.find(position);
            unit.name_base = header.take<std::uint32_t>();
            if (base != string_bases_.end()) unit.name_base += base->second;
            // nvlink 13.0 joins the .debug_str sections but leaves the base of every unit at 0:
            // right for the first unit only. No name is better than a wrong one.
            unit.has_names = base != string_bases_.end() || unit.name_base != 0 || is_first_unit_;
        }
        is_first_unit_ = false;
        return run_program(ByteReader(bytes, program), unit);
    }

    std::uint32_t add_file(std::string path) {
        const auto known = file_numbers_.find(path);
        if (known != file_numbers_.end()) return known->second;
        const auto number = static_cast<std::uint32_t>(out_.files.size());
        file_numbers_[path] = number;
        out_.files.push_back(std::move(path));
        return number;
    }
    std::uint32_t add_name(std::string_view text) {
        const auto [entry, is_new] = name_numbers_.try_emplace(
            std::string(text), static_cast<std::uint32_t>(out_.names.size()));
        if (is_new) out_.names.emplace_back(text);
        return entry->second;
    }
    static std::string join(const std::vector<std::string>& directories, std::uint64_t index,
                            std::string_view file) {
        if (file.starts_with('/') || index >= directories.size() || directories[index].empty()) {
            return std::string(file);
        }
        return directories[index] + "/" + std::string(file);
    }

    // DWARF 2 to 4: directory 0 is the compilation directory, which is not recorded.
    void read_tables(ByteReader& header, Unit& unit) {
        unit.directories.emplace_back();
        while (!header.failed()) {
            const auto directory = header.take_c_string();
            if (header.failed() || directory.empty()) break;
            unit.directories.emplace_back(directory);
        }
        unit.files.push_back(LineTable::no_context);  // numbers start at 1
        while (!header.failed()) {
            const auto path = header.take_c_string();
            if (header.failed() || path.empty()) break;
            const auto directory = header.take_uleb();
            header.take_uleb();  // modification time
            header.take_uleb();  // length
            unit.files.push_back(add_file(join(unit.directories, directory, path)));
        }
    }

    // DWARF 5: both tables describe their own columns.
    Result<void> read_tables_v5(ByteReader& header, Unit& unit) {
        for (const bool is_file : {false, true}) {
            const auto format_count = header.take<std::uint8_t>();
            std::vector<std::pair<std::uint64_t, std::uint64_t>> format;
            for (unsigned i = 0; i < format_count; ++i) {
                const auto content = header.take_uleb();
                format.emplace_back(content, header.take_uleb());
            }
            const auto count = header.take_uleb();
            if (header.failed() || count > header.remaining() || (format.empty() && count != 0)) {
                return bad(header.position(), "entry format", "truncated or empty");
            }
            for (std::uint64_t i = 0; i < count && !header.failed(); ++i) {
                std::string path;
                std::uint64_t directory = 0;
                for (const auto& [content, form] : format) {
                    std::uint64_t number = 0;
                    std::string_view text;
                    SASSEMU_TRY(take_form(header, form, number, text));
                    if (content == lnct_path) path = text;
                    if (content == lnct_directory_index) directory = number;
                }
                if (is_file) {
                    unit.files.push_back(add_file(join(unit.directories, directory, path)));
                } else {
                    unit.directories.push_back(std::move(path));
                }
            }
        }
        return {};
    }

    Result<void> take_form(ByteReader& header, std::uint64_t form, std::uint64_t& number,
                           std::string_view& text) const {
        const auto string_at = [&](Bytes strings) {
            text = c_string_at(strings, header.take<std::uint32_t>()).value_or("");
        };
        switch (form) {
            case form_string:
                text = header.take_c_string();
                break;
            case form_strp:
                string_at(debug_str_);
                break;
            case form_line_strp:
                string_at(line_str_);
                break;
            case form_udata:
                number = header.take_uleb();
                break;
            case form_data1:
                number = header.take<std::uint8_t>();
                break;
            case form_data2:
                number = header.take<std::uint16_t>();
                break;
            case form_data4:
                number = header.take<std::uint32_t>();
                break;
            case form_data8:
                number = header.take<std::uint64_t>();
                break;
            case form_data16:
                header.skip(16);
                break;
            case form_block:
                header.skip(header.take_uleb());
                break;
            case form_block1:
                header.skip(header.take<std::uint8_t>());
                break;
            case form_block2:
                header.skip(header.take<std::uint16_t>());
                break;
            case form_block4:
                header.skip(header.take<std::uint32_t>());
                break;
            default:
                return bad(header.position(), "entry format",
                           "form " + std::to_string(form) + " is not known");
        }
        return {};
    }

    struct State {
        std::uint64_t address = 0;
        std::uint64_t file = 1;
        std::int64_t line = 1;
        std::uint64_t column = 0;
        std::uint32_t context = LineTable::no_context;
        std::uint32_t function = LineTable::no_context;
        std::size_t first_row = 0;  // of this sequence
        bool placed = false;        // the address came from a known function
    };

    void emit(const State& state, const Unit& unit, bool end) {
        LineTable::Row row;
        row.code_offset = state.address;
        row.file = state.file < unit.files.size() ? unit.files[state.file] : LineTable::no_context;
        row.line =
            state.line > 0 && state.line <= 0x7fffffff ? static_cast<std::uint32_t>(state.line) : 0;
        row.column = static_cast<std::uint32_t>(std::min<std::uint64_t>(state.column, 0xffffffff));
        row.context = state.context;
        row.function = state.function;
        row.end_of_sequence = end;
        out_.rows.push_back(row);
    }

    Result<void> run_program(ByteReader reader, const Unit& unit) {
        State state;
        state.first_row = out_.rows.size();
        while (!reader.at_end()) {
            const std::uint64_t at = reader.position();
            if (out_.rows.size() > max_rows) return bad(at, "program", "too many rows");
            const auto opcode = reader.take<std::uint8_t>();
            if (opcode >= unit.opcode_base) {
                const unsigned adjusted = opcode - unit.opcode_base;
                state.address += std::uint64_t{adjusted / unit.line_range} * unit.minimum_length;
                state.line += unit.line_base + static_cast<int>(adjusted % unit.line_range);
                emit(state, unit, false);
            } else if (opcode == 0) {
                SASSEMU_TRY(extended(reader, unit, state));
            } else {
                standard(reader, unit, state, opcode);
            }
            if (reader.failed()) return bad(at, "program", "truncated");
        }
        if (!state.placed) out_.rows.resize(state.first_row);
        return {};
    }

    void standard(ByteReader& reader, const Unit& unit, State& state, std::uint8_t opcode) {
        switch (opcode) {
            case lns_copy:
                emit(state, unit, false);
                return;
            case lns_advance_pc:
                state.address += reader.take_uleb() * unit.minimum_length;
                return;
            case lns_advance_line: {
                // Hostile operands may be anything: wrap instead of overflowing.
                const auto step = static_cast<std::uint64_t>(reader.take_sleb());
                state.line =
                    static_cast<std::int64_t>(static_cast<std::uint64_t>(state.line) + step);
                return;
            }
            case lns_set_file:
                state.file = reader.take_uleb();
                return;
            case lns_set_column:
                state.column = reader.take_uleb();
                return;
            case lns_const_add_pc:
                state.address += std::uint64_t{(255U - unit.opcode_base) / unit.line_range} *
                                 unit.minimum_length;
                return;
            case lns_fixed_advance_pc:
                state.address += reader.take<std::uint16_t>();
                return;
            default:  // flags we do not use, and opcodes of later versions: skip the operands
                for (unsigned i = 0; i < unit.operands[opcode - 1U]; ++i) reader.take_uleb();
        }
    }

    Result<void> extended(ByteReader& reader, const Unit& unit, State& state) {
        const std::uint64_t at = reader.position();
        const auto length = reader.take_uleb();
        if (reader.failed() || length == 0 || length > reader.remaining()) {
            return bad(at, "extended opcode", "leaves the unit");
        }
        const std::uint64_t start = reader.position();
        const auto opcode = reader.take<std::uint8_t>();
        switch (opcode) {
            case lne_end_sequence:
                emit(state, unit, true);
                if (!state.placed) out_.rows.resize(state.first_row);
                state = State{};
                state.first_row = out_.rows.size();
                break;
            case lne_set_address: {
                const std::uint64_t operand = reader.position();
                const std::uint64_t written =
                    length - 1 == 4 ? reader.take<std::uint32_t>() : reader.take<std::uint64_t>();
                const auto known = addresses_.find(operand);
                state.placed = known != addresses_.end();
                state.address = state.placed ? known->second + written : written;
                break;
            }
            case lne_define_file:
                break;
            case lne_nvidia_inlined_call: {
                const auto context = reader.take_uleb();
                const auto name = reader.take_uleb();
                set_context(state, unit, context, name);
                break;
            }
            default:
                break;
        }
        if (reader.failed()) return bad(at, "extended opcode", "truncated");
        const std::uint64_t used = reader.position() - start;
        if (used < length) reader.skip(length - used);
        return {};
    }

    void set_context(State& state, const Unit& unit, std::uint64_t context, std::uint64_t name) {
        state.context = LineTable::no_context;
        state.function = LineTable::no_context;
        const std::uint64_t rows = out_.rows.size() - state.first_row;
        if (context == 0 || context > rows) return;
        state.context = static_cast<std::uint32_t>(state.first_row + context - 1);
        if (!unit.has_names) return;
        if (const auto text = c_string_at(debug_str_, unit.name_base + name)) {
            state.function = add_name(*text);
        }
    }

    const ModuleData& data_;
    const elf::File& file_;
    std::size_t section_;
    std::string where_;
    Bytes debug_str_, line_str_;
    std::unordered_map<std::uint64_t, std::uint64_t> addresses_;     // operand -> code offset
    std::unordered_map<std::uint64_t, std::uint64_t> string_bases_;  // name base -> .debug_str
    std::unordered_map<std::string, std::uint32_t> file_numbers_, name_numbers_;
    bool is_first_unit_ = true;
    Sequences out_;
};

// .nv_debug_ptx_txt[.hash]: lines ended by NUL.
std::vector<std::string_view> split_ptx(Bytes bytes) {
    std::vector<std::string_view> lines;
    for (std::uint64_t at = 0; at < bytes.size();) {
        const auto line = c_string_at(bytes, at);
        if (!line) break;
        lines.push_back(*line);
        at += line->size() + 1;
    }
    return lines;
}

}  // namespace

Result<void> read_line_tables(ModuleData& data, const elf::File& file, const std::string& name) {
    std::map<std::string_view, std::uint32_t> text_numbers;
    std::vector<std::vector<std::string_view>> texts;
    for (const auto& section : file.sections) {
        if (!section.name.starts_with(".nv_debug_ptx_txt")) continue;
        text_numbers[section.name] = static_cast<std::uint32_t>(texts.size());
        texts.push_back(split_ptx(section.bytes));
    }
    for (std::size_t i = 1; i < file.sections.size(); ++i) {
        const bool is_source = file.sections[i].name == ".debug_line";
        const bool is_ptx = file.sections[i].name == ".nv_debug_line_sass";
        if (!is_source && !is_ptx) continue;
        SASSEMU_ASSIGN(Sequences sequences, LineReader(data, file, i, name).run());
        if (is_source) {
            data.lines.set_source(std::move(sequences.rows), std::move(sequences.files),
                                  std::move(sequences.names));
            continue;
        }
        // A file, where one is named, is a text section; else there is only one text.
        for (auto& row : sequences.rows) {
            std::uint32_t text = texts.empty() ? LineTable::no_context : 0;
            if (row.file < sequences.files.size()) {
                const auto found = text_numbers.find(sequences.files[row.file]);
                if (found != text_numbers.end()) text = found->second;
            }
            row.file = text;
        }
        data.lines.set_ptx(std::move(sequences.rows), texts);
    }
    return {};
}

}  // namespace sassemu
