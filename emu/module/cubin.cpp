// SPDX-License-Identifier: Apache-2.0
// A cubin's ELF file -> ModuleData.
// Belongs here: what each section of a cubin means and in which order they are read. The
// architecture is read in identity.cpp, kernels' attributes in attributes.cpp, shared memory of
// relocatable files in shared_layout.cpp, line tables in dwarf_line.cpp. The facts were read off
// ptxas and nvlink output of CUDA 11.8, 12.3, 12.9 and 13.0.
#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>

#include "emu/module/attributes.hpp"
#include "emu/module/byte_reader.hpp"
#include "emu/module/dwarf_line.hpp"
#include "emu/module/elf.hpp"
#include "emu/module/identity.hpp"
#include "emu/module/module_data.hpp"

namespace sassemu {
namespace {

// Section types of relocatable files that, like SHT_NOBITS, occupy no file space.
constexpr std::array<std::uint32_t, 4> no_file_space = {
    0x70000007,  // .nv.global
    0x7000000a,  // .nv.shared
    0x70000015,  // .nv.shared.reserved
    0x70000009,  // .nv.local
};

constexpr std::uint8_t stt_texture = 10, stt_sampler = 11, stt_surface = 12, stt_object = 13;
constexpr std::uint8_t sto_entry = 0x10, sto_shared = 0x40;
constexpr std::uint8_t sto_managed = 0x04, visibility_mask = 0x07, visibility_internal = 1;

constexpr std::uint64_t code_alignment = 128;
constexpr std::uint64_t max_code = std::uint64_t{1} << 31U;  // one kernel's branches reach that
constexpr std::uint64_t max_data = std::uint64_t{1} << 38U;  // 256 GiB: more than any GPU has
constexpr std::uint64_t max_bank = std::uint64_t{1} << 16U;  // a constant bank is 64 KiB

enum class SectionKind : std::uint8_t { other, code, data, bank, shared };

class CubinParser {
  public:
    CubinParser(ModuleData& data, const std::string& name, char fatbin_suffix)
        : data_(data), name_(name), fatbin_suffix_(fatbin_suffix) {}

    Result<void> run() {
        SASSEMU_ASSIGN(file_, elf::parse(data_.bytes, name_, no_file_space));
        SASSEMU_TRY(read_identity(data_, file_, name_, fatbin_suffix_));
        SASSEMU_TRY(read_sections());
        SASSEMU_TRY(read_symbols());
        SASSEMU_TRY(read_relocations());
        SASSEMU_TRY(make_kernels());
        SASSEMU_TRY(read_attributes());
        if (data_.is_relocatable) {
            SASSEMU_TRY(lay_out_relocatable(data_, call_graph_));
        } else {
            finish_shared();
        }
        SASSEMU_TRY(check_kernels());
        return read_line_tables(data_, file_, name_);
    }

  private:
    Error bad(const std::string& field, std::string what, std::string hint = {}) const {
        return make_error(ErrorCode::input, name_ + ": " + field, std::move(what), std::move(hint));
    }
    std::string section_label(std::size_t index) const {
        return "section " + std::to_string(index) + " (" + std::string(file_.sections[index].name) +
               ")";
    }

    Result<void> read_sections() {
        kinds_.assign(file_.sections.size(), SectionKind::other);
        slots_.assign(file_.sections.size(), 0);
        for (std::uint32_t i = 1; i < file_.sections.size(); ++i) {
            const auto& section = file_.sections[i];
            const std::string_view name = section.name;
            if (name.starts_with(".text.") || name == ".text") {
                SASSEMU_TRY(add_code(i));
            } else if (name == ".nv.global" || name == ".nv.global.init") {
                SASSEMU_TRY(add_data(i));
            } else if (name.starts_with(".nv.constant")) {
                SASSEMU_TRY(add_bank(i));
            } else if (name.starts_with(".nv.shared.") || name == ".nv_debug.shared") {
                SASSEMU_TRY(add_shared(i));
            } else if (name == ".nv.callgraph") {
                call_graph_ = section.bytes;
            }
        }
        return {};
    }

    Result<void> add_code(std::uint32_t index) {
        const auto& section = file_.sections[index];
        if (section.bytes.size() % 16 != 0 || section.bytes.size() != section.size) {
            return bad(section_label(index) + " sh_size",
                       std::to_string(section.size) + " bytes of code are no whole number of " +
                           "16-byte instructions");
        }
        const std::uint64_t start =
            (data_.code_image_size + code_alignment - 1) / code_alignment * code_alignment;
        if (start + section.size > max_code) {
            return bad(section_label(index) + " sh_size", "more than 2 GiB of code");
        }
        slots_[index] = data_.code_sections.size();
        data_.code_sections.push_back({index, std::string(section.name), start, section.bytes});
        data_.code_image_size = start + section.size;
        kinds_[index] = SectionKind::code;
        return {};
    }

    Result<void> add_data(std::uint32_t index) {
        const auto& section = file_.sections[index];
        const std::uint64_t alignment = std::max<std::uint64_t>(section.alignment, 1);
        if ((alignment & (alignment - 1)) != 0 || alignment > 65536) {
            return bad(section_label(index) + " sh_addralign",
                       std::to_string(alignment) + " is no power of two up to 65536");
        }
        if (section.size > max_data) {
            return bad(section_label(index) + " sh_size",
                       std::to_string(section.size) + " bytes are more than 256 GiB");
        }
        data_.data_sections.push_back(
            {index, std::string(section.name), section.size, alignment, section.bytes});
        kinds_[index] = SectionKind::data;
        return {};
    }

    // ".nv.constant3" or ".nv.constant0.kernel".
    Result<void> add_bank(std::uint32_t index) {
        const auto& section = file_.sections[index];
        std::string_view rest = section.name.substr(std::string_view(".nv.constant").size());
        std::uint32_t bank = 0;
        const auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), bank);
        rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
        if (status != std::errc{} || bank > 31 || (!rest.empty() && rest[0] != '.')) {
            data_.notes.push_back(section_label(index) + ": constant section of unknown purpose");
            return {};
        }
        if (section.bytes.size() > max_bank) {
            return bad(section_label(index) + " sh_size",
                       std::to_string(section.bytes.size()) +
                           " bytes do not fit a constant bank of 64 KiB");
        }
        slots_[index] = data_.constant_banks.size();
        data_.constant_banks.push_back({index, bank, std::string(section.name),
                                        rest.empty() ? "" : std::string(rest.substr(1)),
                                        section.bytes});
        kinds_[index] = SectionKind::bank;
        return {};
    }

    Result<void> add_shared(std::uint32_t index) {
        const auto& section = file_.sections[index];
        const std::uint64_t alignment = std::max<std::uint64_t>(section.alignment, 1);
        if (section.size > max_shared) {
            return bad(section_label(index) + " sh_size",
                       std::to_string(section.size) + " bytes are more than 256 KiB");
        }
        if ((alignment & (alignment - 1)) != 0 || alignment > 65536) {
            return bad(section_label(index) + " sh_addralign",
                       std::to_string(alignment) + " is no power of two up to 65536");
        }
        kinds_[index] = SectionKind::shared;
        if (section.name.starts_with(".nv.shared.reserved.")) return {};
        data_.shared_sections.push_back(
            {index, std::string(section.name), 0, section.size, alignment, 0});
        return {};
    }

    SymbolKind kind_of(const elf::RawSymbol& raw) const {
        const std::uint8_t type = raw.type();
        if (type == stt_texture || type == stt_sampler || type == stt_surface) {
            return SymbolKind::texture;
        }
        if (raw.section == 0 || raw.section >= kinds_.size()) {
            if (type == elf::stt_func) return SymbolKind::undefined_function;
            if (type != elf::stt_object && type != stt_object) return SymbolKind::none;
            return (raw.other & 0xe0U) == sto_shared ? SymbolKind::dynamic_shared
                                                     : SymbolKind::undefined_object;
        }
        if (type == elf::stt_section) return SymbolKind::section;
        switch (kinds_[raw.section]) {
            case SectionKind::code:
                if (type != elf::stt_func) return SymbolKind::other;
                return (raw.other & sto_entry) != 0 ? SymbolKind::kernel : SymbolKind::function;
            case SectionKind::data:
                return SymbolKind::global;
            case SectionKind::bank:
                return SymbolKind::constant;
            case SectionKind::shared:
                return SymbolKind::shared;
            case SectionKind::other:
                break;
        }
        return SymbolKind::other;
    }

    Result<void> read_symbols() {
        std::size_t table = 0;
        for (std::size_t i = 1; i < file_.sections.size(); ++i) {
            if (file_.sections[i].type == elf::sht_symtab) table = i;
        }
        if (table == 0) return bad("section headers", "no symbol table", "is the cubin stripped?");
        SASSEMU_ASSIGN(const auto raw_symbols, elf::symbols(file_, table, name_));
        data_.symbols.reserve(raw_symbols.size());
        for (const auto& raw : raw_symbols) {
            Symbol symbol;
            symbol.name = raw.name;
            symbol.kind = kind_of(raw);
            symbol.section = raw.section;
            symbol.value = raw.value;
            symbol.size = raw.size;
            symbol.type = raw.type();
            symbol.other = raw.other;
            symbol.is_global = raw.binding() != elf::stb_local;
            symbol.is_weak = raw.binding() == elf::stb_weak;
            SASSEMU_TRY(place_symbol(symbol, static_cast<std::uint32_t>(data_.symbols.size())));
            data_.symbols.push_back(std::move(symbol));
        }
        std::ranges::stable_sort(data_.functions, {}, &Function::code_offset);
        return {};
    }

    // Checks the symbol against its section and enters functions, variables and textures.
    Result<void> place_symbol(const Symbol& symbol, std::uint32_t index) {
        const std::string label = "symbol " + std::to_string(index) + " (" + symbol.name + ")";
        if (symbol.kind == SymbolKind::texture) {
            using Kind = TextureReference::Kind;
            data_.texture_references.push_back({symbol.name, index,
                                                symbol.type == stt_texture   ? Kind::texture
                                                : symbol.type == stt_sampler ? Kind::sampler
                                                                             : Kind::surface});
            return {};
        }
        const bool sized = symbol.kind == SymbolKind::kernel ||
                           symbol.kind == SymbolKind::function ||
                           symbol.kind == SymbolKind::global || symbol.kind == SymbolKind::constant;
        if (!sized) return {};
        const std::uint64_t limit = file_.sections[symbol.section].size;
        if (symbol.value > limit || symbol.size > limit - symbol.value) {
            return bad(label + " st_value/st_size", std::to_string(symbol.size) + " bytes at " +
                                                        std::to_string(symbol.value) + " leave " +
                                                        section_label(symbol.section) + " of " +
                                                        std::to_string(limit) + " bytes");
        }
        if (symbol.kind == SymbolKind::kernel || symbol.kind == SymbolKind::function) {
            if (symbol.value % 16 != 0) {
                return bad(label + " st_value", "code at " + std::to_string(symbol.value) +
                                                    " is not on an instruction boundary");
            }
            const CodeSection& code = data_.code_sections[slots_[symbol.section]];
            data_.functions.push_back({symbol.name, index, symbol.section, symbol.value,
                                       code.code_offset + symbol.value, symbol.size,
                                       symbol.kind == SymbolKind::kernel});
            return {};
        }
        // Compiler's own names ("k.const_opt.0.12", "_param") have internal visibility.
        if ((symbol.other & visibility_mask) == visibility_internal) return {};
        if (symbol.type == elf::stt_notype) return {};
        Variable variable;
        variable.name = symbol.name;
        variable.space = symbol.kind == SymbolKind::global ? Space::global : Space::constant;
        variable.symbol = index;
        variable.section = symbol.section;
        variable.offset = symbol.value;
        variable.size = symbol.size;
        variable.is_managed = (symbol.other & visibility_mask) == sto_managed;
        if (const auto init =
                slice(file_.sections[symbol.section].bytes, symbol.value, symbol.size)) {
            variable.init = *init;
        }
        if (symbol.kind == SymbolKind::constant &&
            data_.constant_banks[slots_[symbol.section]].bank != 3) {
            return {};
        }
        data_.variables.push_back(std::move(variable));
        return {};
    }

    Result<void> read_relocations() {
        for (std::size_t i = 1; i < file_.sections.size(); ++i) {
            const auto& section = file_.sections[i];
            if (section.type != elf::sht_rel && section.type != elf::sht_rela) continue;
            SASSEMU_ASSIGN(const auto records,
                           elf::relocations(file_, i, data_.symbols.size(), name_));
            if (records.empty()) continue;
            const std::uint32_t target = records.front().section;
            const SectionKind kind = kinds_[target];
            if (kind != SectionKind::code && kind != SectionKind::data &&
                kind != SectionKind::bank) {
                continue;  // debug sections: dwarf_line.cpp looks at those it needs
            }
            const std::uint64_t limit = file_.sections[target].bytes.size();
            for (const auto& record : records) {
                if (record.offset >= limit) {
                    return bad(section_label(i) + " r_offset",
                               std::to_string(record.offset) + " is outside " +
                                   section_label(target) + " of " + std::to_string(limit) +
                                   " bytes");
                }
                data_.relocations.push_back(record);
            }
        }
        std::ranges::stable_sort(data_.relocations, [](const auto& a, const auto& b) {
            return std::pair(a.section, a.offset) < std::pair(b.section, b.offset);
        });
        return {};
    }

    Result<void> make_kernels() {
        for (std::uint32_t i = 0; i < data_.functions.size(); ++i) {
            const Function& function = data_.functions[i];
            if (!function.is_kernel) continue;
            Kernel kernel;
            kernel.name = function.name;
            kernel.function = i;
            kernel.symbol = function.symbol;
            kernel.section = function.section;
            kernel.code_offset = function.code_offset;
            kernel.code_size = function.size;
            // Older toolkits have no EIATTR_REGCOUNT and NUM_BARRIERS; then the section header
            // says it: registers in the top byte of sh_info, barriers from bit 20 of sh_flags.
            const auto& section = file_.sections[function.section];
            kernel.registers = section.info >> 24U;
            kernel.barriers = (section.flags >> 20U) & 0x1fU;
            data_.kernels.push_back(std::move(kernel));
        }
        std::unordered_map<std::string_view, Kernel*> by_name;
        for (auto& kernel : data_.kernels) by_name[kernel.name] = &kernel;
        for (const auto& bank : data_.constant_banks) {
            const auto found = by_name.find(bank.kernel);
            if (found == by_name.end()) continue;
            if (bank.bank == 0) found->second->constant0 = bank.bytes;
            if (bank.bank == 2) found->second->constant2 = bank.bytes;
        }
        return {};
    }

    Result<void> read_attributes() {
        std::unordered_map<std::string_view, Kernel*> by_name;
        std::unordered_map<std::uint32_t, Kernel*> by_symbol;
        for (auto& kernel : data_.kernels) {
            by_name[kernel.name] = &kernel;
            by_symbol[kernel.symbol] = &kernel;
        }
        for (std::size_t i = 1; i < file_.sections.size(); ++i) {
            const auto& section = file_.sections[i];
            if (!section.name.starts_with(".nv.info")) continue;
            const std::string where = name_ + ": " + section_label(i);
            SASSEMU_ASSIGN(auto attributes, parse_attributes(section.bytes, where, true));
            for (const auto& attribute : attributes) {
                if (!attribute.name.empty()) continue;
                data_.notes.push_back(section_label(i) + ": attribute of unknown number " +
                                      std::to_string(attribute.code));
            }
            if (section.name == ".nv.info") {
                data_.attributes = std::move(attributes);
                continue;
            }
            const auto found = by_name.find(section.name.substr(9));
            if (found == by_name.end()) continue;  // of a device function
            found->second->attributes = std::move(attributes);
            SASSEMU_TRY(apply_kernel_attributes(*found->second, data_.symbols.size(), where));
        }
        for (std::size_t i = 1; i < file_.sections.size(); ++i) {
            if (file_.sections[i].name != ".nv.sassemu.fused") continue;
            SASSEMU_TRY(read_fused(i, by_symbol));
        }
        for (const auto& attribute : data_.attributes) {
            SASSEMU_TRY(apply_module_attribute(attribute, by_symbol));
        }
        return {};
    }

    // .nv.sassemu.fused: {u32 kernel's symbol, u32 section offset of the instruction} repeated.
    Result<void> read_fused(std::size_t index,
                            const std::unordered_map<std::uint32_t, Kernel*>& by_symbol) {
        for (ByteReader reader(file_.sections[index].bytes); !reader.at_end();) {
            const auto symbol = reader.take<std::uint32_t>();
            const auto offset = reader.take<std::uint32_t>();
            const auto found = by_symbol.find(symbol);
            if (reader.failed() || found == by_symbol.end() || offset % 16 != 0) {
                return bad(section_label(index), "malformed record");
            }
            found->second->fused_offsets.push_back(offset);
        }
        return {};
    }

    // REGCOUNT, FRAME_SIZE and MIN_STACK_SIZE: {symbol, value} in the file-level .nv.info.
    Result<void> apply_module_attribute(
        const Attribute& attribute, const std::unordered_map<std::uint32_t, Kernel*>& by_symbol) {
        const auto symbol = read_at<std::uint32_t>(attribute.payload, 0);
        const auto value = read_at<std::uint32_t>(attribute.payload, 4);
        const bool counted = attribute.code == eiattr::regcount ||
                             attribute.code == eiattr::frame_size ||
                             attribute.code == eiattr::min_stack_size;
        if (!counted) return {};
        if (!symbol || !value || *symbol >= data_.symbols.size()) {
            return bad(".nv.info " + std::string(attribute.name), "malformed record");
        }
        const auto found = by_symbol.find(*symbol);
        if (found == by_symbol.end()) return {};
        if (attribute.code == eiattr::regcount) found->second->registers = *value;
        if (attribute.code == eiattr::frame_size) found->second->frame_size = *value;
        if (attribute.code == eiattr::min_stack_size) {
            // All ones: "stack size cannot be statically determined".
            found->second->stack_is_bounded = *value != 0xffffffff;
            found->second->min_stack_size = *value == 0xffffffff ? 0 : *value;
        }
        return {};
    }

    void finish_shared() {
        std::unordered_map<std::string_view, const SharedSection*> by_name;
        for (const auto& section : data_.shared_sections) by_name[section.name] = &section;
        for (auto& kernel : data_.kernels) {
            kernel.shared_reserved = reserved_shared(data_.arch);
            kernel.shared_static = kernel.shared_reserved;
            const auto found = by_name.find(".nv.shared." + kernel.name);
            if (found == by_name.end()) continue;
            kernel.shared_static =
                std::max(kernel.shared_static, static_cast<std::uint32_t>(found->second->size));
            kernel.shared_alignment = static_cast<std::uint32_t>(found->second->alignment);
        }
    }

    Result<void> check_kernels() {
        for (auto& kernel : data_.kernels) {
            kernel.min_stack_size = std::max(kernel.min_stack_size, kernel.frame_size);
            const std::string label = "kernel " + kernel.name;
            // 0: of a kernel that uses none (one that only returns).
            if (kernel.registers > 256) {
                return bad(label + " EIATTR_REGCOUNT",
                           std::to_string(kernel.registers) + " registers, expected at most 256");
            }
            if (kernel.barriers > 16) {
                return bad(label + " EIATTR_NUM_BARRIERS",
                           std::to_string(kernel.barriers) + " barriers, expected at most 16");
            }
            // 512 KiB per thread is the architectural limit (CUDA Programming Guide, "Technical
            // specifications per compute capability").
            if (kernel.min_stack_size > 512 * 1024) {
                return bad(label + " EIATTR_MIN_STACK_SIZE",
                           std::to_string(kernel.min_stack_size) +
                               " bytes of local memory, expected at most 512 KiB");
            }
            if (std::uint64_t{kernel.param_base} + kernel.param_size > max_bank) {
                return bad(label + " EIATTR_PARAM_CBANK",
                           "parameters at " + std::to_string(kernel.param_base) + ", " +
                               std::to_string(kernel.param_size) +
                               " bytes, leave constant bank 0 of 64 KiB");
            }
            for (const auto& parameter : kernel.parameters) {
                if (std::uint64_t{parameter.offset} + parameter.size <= kernel.param_size) continue;
                return bad(label + " EIATTR_KPARAM_INFO",
                           "parameter " + std::to_string(parameter.ordinal) + " (" +
                               std::to_string(parameter.size) + " bytes at " +
                               std::to_string(parameter.offset) + ") leaves the " +
                               std::to_string(kernel.param_size) + " parameter bytes");
            }
        }
        return {};
    }

    ModuleData& data_;
    const std::string& name_;
    char fatbin_suffix_;
    elf::File file_;
    std::vector<SectionKind> kinds_;
    std::vector<std::size_t> slots_;  // section -> position in the list of its kind
    Bytes call_graph_;
};

}  // namespace

Result<Module> parse_cubin(std::vector<std::uint8_t> bytes, const std::string& name,
                           Container container, char fatbin_suffix) {
    auto data = std::make_shared<ModuleData>();
    data->file_name = name;
    data->container = container;
    data->bytes = std::move(bytes);
    SASSEMU_TRY(CubinParser(*data, name, fatbin_suffix).run());
    return ModuleData::wrap(std::move(data));
}

}  // namespace sassemu
