// SPDX-License-Identifier: Apache-2.0
// Module + Placement -> bytes ready to run; see link.hpp.
// Belongs here: the value of a symbol. Does not belong here: bit positions (relocation.cpp).
#include "emu/module/link.hpp"

#include <algorithm>
#include <unordered_map>

#include "emu/module/byte_reader.hpp"
#include "emu/module/module_data.hpp"

namespace sassemu {
namespace {

// The symbol's whole address, or a half of it: 64, ABS32_LO_32, ABS32_HI_32.
bool is_address(std::uint32_t type) { return type == 0x02 || type == 0x38 || type == 0x39; }

bool is_generic(std::uint32_t type) {
    return type == 0x03 || type == 0x04 || (type >= 0x54 && type <= 0x5b);
}

class Linker {
  public:
    Linker(const ModuleData& data, const Placement& placement)
        : data_(data), placement_(placement) {}

    Result<LinkedImage> run() {
        if (placement_.data_bases.size() != data_.data_sections.size()) {
            return make_error(ErrorCode::internal, data_.file_name,
                              "Placement::data_bases has " +
                                  std::to_string(placement_.data_bases.size()) + " entries for " +
                                  std::to_string(data_.data_sections.size()) + " data sections");
        }
        copy_bytes();
        for (const auto& relocation : data_.relocations) SASSEMU_TRY(apply(relocation));
        return std::move(image_);
    }

  private:
    void copy_bytes() {
        image_.code.assign(data_.code_image_size, 0);
        for (const auto& section : data_.code_sections) {
            std::ranges::copy(section.bytes, image_.code.begin() +
                                                 static_cast<std::ptrdiff_t>(section.code_offset));
            targets_[section.section] =
                std::span(image_.code).subspan(section.code_offset, section.bytes.size());
            bases_[section.section] = placement_.code_base + section.code_offset;
        }
        for (std::size_t i = 0; i < data_.data_sections.size(); ++i) {
            const auto& section = data_.data_sections[i];
            image_.data.emplace_back(section.init.begin(), section.init.end());
            bases_[section.section] = placement_.data_bases[i];
        }
        for (std::size_t i = 0; i < data_.data_sections.size(); ++i) {
            targets_[data_.data_sections[i].section] = image_.data[i];
        }
        for (const auto& bank : data_.constant_banks) {
            image_.banks.push_back(
                {bank.bank, bank.section, {bank.bytes.begin(), bank.bytes.end()}});
            banks_[bank.section] = bank.bank;
        }
        for (auto& bank : image_.banks) targets_[bank.section] = bank.bytes;
    }

    Result<void> apply(const Relocation& relocation) {
        const Symbol& symbol = data_.symbols[relocation.symbol];
        const std::string where = data_.file_name + ": relocation of section " +
                                  std::to_string(relocation.section) + " offset " +
                                  std::to_string(relocation.offset) + " against " + symbol.name;
        RelocationValue value;
        if (relocation_needs_value(relocation.type)) {
            SASSEMU_ASSIGN(value, value_of(symbol, relocation, where));
        }
        value.address += static_cast<std::uint64_t>(relocation.addend);
        const std::span<std::uint8_t> target = targets_[relocation.section];
        if (!relocation.has_addend && relocation.type == 2) {
            // A .rel record's addend is what the field holds. nvlink and ptxas write .rela where
            // it is not zero; only plain 64-bit words are read back here.
            value.address += read_at<std::uint64_t>(target, relocation.offset).value_or(0);
        }
        return apply_relocation(target, relocation.offset, relocation.type, value, where);
    }

    Result<RelocationValue> value_of(const Symbol& symbol, const Relocation& relocation,
                                     const std::string& where) const {
        RelocationValue value;
        switch (symbol.kind) {
            case SymbolKind::global:
                if (const auto at = placement_.variables.find(symbol.name);
                    at != placement_.variables.end()) {
                    value.address = at->second;
                    return value;
                }
                [[fallthrough]];
            case SymbolKind::section:
            case SymbolKind::kernel:
            case SymbolKind::function: {
                if (const auto at = placement_.functions.find(symbol.name);
                    at != placement_.functions.end() && !relocation.addend &&
                    is_address(relocation.type) && symbol.kind != SymbolKind::section) {
                    value.address = at->second;
                    return value;
                }
                const auto base = bases_.find(symbol.section);
                if (base != bases_.end()) {
                    value.address = base->second + symbol.value;
                    return value;
                }
                break;
            }
            case SymbolKind::shared:
                value.address = symbol.value;
                if (is_generic(relocation.type)) value.address += placement_.shared_window;
                return value;
            case SymbolKind::dynamic_shared: {
                const auto own = data_.dynamic_shared_by_section.find(relocation.section);
                value.address = own != data_.dynamic_shared_by_section.end()
                                    ? own->second
                                    : data_.dynamic_shared_address;
                if (is_generic(relocation.type)) value.address += placement_.shared_window;
                return value;
            }
            case SymbolKind::undefined_object:
            case SymbolKind::undefined_function:
                if (symbol.is_weak) return value;
                [[fallthrough]];
            case SymbolKind::texture: {
                if (!placement_.undefined) break;
                auto address = placement_.undefined(symbol);
                if (!address.ok()) return std::move(address).error().within(where);
                value.address = *address;
                return value;
            }
            default:
                break;
        }
        const auto bank = banks_.find(symbol.section);
        if (bank != banks_.end()) {
            value.address = symbol.kind == SymbolKind::section ? 0 : symbol.value;
            value.bank = bank->second;
            if (is_generic(relocation.type)) value.address += placement_.constant_window;
            return value;
        }
        return make_error(ErrorCode::input, where, "the symbol has no address",
                          "link the file with nvlink if it is defined in another one");
    }

    const ModuleData& data_;
    const Placement& placement_;
    LinkedImage image_;
    std::unordered_map<std::uint32_t, std::span<std::uint8_t>> targets_;
    std::unordered_map<std::uint32_t, std::uint64_t> bases_;
    std::unordered_map<std::uint32_t, std::uint32_t> banks_;
};

}  // namespace

Result<LinkedImage> link(const Module& module, const Placement& placement) {
    return Linker(ModuleData::of(module), placement).run();
}

}  // namespace sassemu
