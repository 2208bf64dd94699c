// SPDX-License-Identifier: Apache-2.0
// .nv.info records; see attributes.hpp.
// A record is {u8 format, u8 number, u16 value or payload size}. Payload layouts were read off
// probes compiled with CUDA 11.8 to 13.0.
#include "emu/module/attributes.hpp"

#include <algorithm>

#include "emu/module/byte_reader.hpp"
#include "emu/module/names.hpp"

namespace sassemu {
namespace {

// A payload that is a list of 32-bit words.
Result<std::vector<std::uint32_t>> words(const Attribute& attribute, const std::string& where) {
    if (attribute.payload.size() % 4 != 0) {
        return make_error(ErrorCode::input, where + " " + std::string(attribute.name),
                          "payload of " + std::to_string(attribute.payload.size()) +
                              " bytes is no list of 32-bit words");
    }
    std::vector<std::uint32_t> list;
    for (ByteReader reader(attribute.payload); !reader.at_end();) {
        list.push_back(reader.take<std::uint32_t>());
    }
    return list;
}

Error short_payload(const Attribute& attribute, const std::string& where, std::size_t expected) {
    return make_error(ErrorCode::input, where + " " + std::string(attribute.name),
                      "payload of " + std::to_string(attribute.payload.size()) +
                          " bytes, expected at least " + std::to_string(expected));
}

Result<Extent3> extent(const Attribute& attribute, const std::string& where) {
    if (attribute.payload.size() < 12) return short_payload(attribute, where, 12);
    ByteReader reader(attribute.payload);
    Extent3 result;
    result.x = reader.take<std::uint32_t>();
    result.y = reader.take<std::uint32_t>();
    result.z = reader.take<std::uint32_t>();
    if (result.x == 0 || result.y == 0 || result.z == 0) {
        return make_error(ErrorCode::input, where + " " + std::string(attribute.name),
                          "a dimension is zero");
    }
    return result;
}

// KPARAM_INFO:    {u32 index, u16 ordinal, u16 offset, u32 bits}, size = bits >> 18, the address
//                 space of a pointer in bits 8-11.
// KPARAM_INFO_V2: {u32 index, u16 ordinal, u16 offset, u32 bits}, size = low 24 bits: for
//                 kernels with more than 4 KiB of parameters, whose sizes need more bits.
Result<Parameter> parameter(const Attribute& attribute, const std::string& where) {
    if (attribute.payload.size() < 12) return short_payload(attribute, where, 12);
    ByteReader reader(attribute.payload, 4);
    Parameter result;
    result.ordinal = reader.take<std::uint16_t>();
    result.offset = reader.take<std::uint16_t>();
    const auto bits = reader.take<std::uint32_t>();
    if (attribute.code == eiattr::kparam_info) {
        result.size = bits >> 18U;
        result.space = (bits >> 8U) & 0xfU;
    } else {
        result.size = bits & 0xffffffU;
        result.space = bits >> 24U;
    }
    return result;
}

}  // namespace

// INDIRECT_BRANCH_TARGETS: {u32 offset, u32 0, u32 n, u32 targets[n]} repeated.
Result<std::vector<IndirectBranch>> indirect_branches(const Attribute& attribute,
                                                      const std::string& where) {
    std::vector<IndirectBranch> result;
    for (ByteReader reader(attribute.payload); !reader.at_end();) {
        IndirectBranch branch;
        branch.offset = reader.take<std::uint32_t>();
        reader.skip(4);
        const auto count = reader.take<std::uint32_t>();
        if (reader.failed() || count > reader.remaining() / 4) {
            return make_error(ErrorCode::input, where + " " + std::string(attribute.name),
                              "truncated list of branch targets");
        }
        for (std::uint32_t i = 0; i < count; ++i) {
            branch.targets.push_back(reader.take<std::uint32_t>());
        }
        result.push_back(std::move(branch));
    }
    return result;
}

Result<std::vector<Attribute>> parse_attributes(Bytes bytes, const std::string& where, bool named) {
    std::vector<Attribute> result;
    for (ByteReader reader(bytes); !reader.at_end();) {
        const std::uint64_t start = reader.position();
        Attribute attribute;
        attribute.format = reader.take<std::uint8_t>();
        attribute.code = reader.take<std::uint8_t>();
        if (named) attribute.name = attribute_name(attribute.code);
        const auto value = reader.take<std::uint16_t>();
        const std::string at = where + " record at " + std::to_string(start);
        if (reader.failed()) return make_error(ErrorCode::input, at, "truncated");
        switch (attribute.format) {
            case 1:
                break;
            case 2:
                attribute.value = value & 0xffU;
                break;
            case 3:
                attribute.value = value;
                break;
            case 4:
                attribute.payload = reader.take_bytes(value);
                break;
            default:
                return make_error(ErrorCode::input, at,
                                  "unknown format " + std::to_string(attribute.format));
        }
        if (reader.failed()) {
            return make_error(ErrorCode::input, at,
                              "payload of " + std::to_string(value) + " bytes leaves the section");
        }
        result.push_back(attribute);
    }
    return result;
}

Result<void> apply_kernel_attributes(Kernel& kernel, std::size_t symbol_count,
                                     const std::string& where) {
    for (const auto& attribute : kernel.attributes) {
        switch (attribute.code) {
            case eiattr::ctaidz_used:
                kernel.uses_ctaid_z = true;
                break;
            case eiattr::max_threads: {
                SASSEMU_ASSIGN(kernel.max_threads, extent(attribute, where));
                break;
            }
            case eiattr::reqntid: {
                SASSEMU_ASSIGN(kernel.required_threads, extent(attribute, where));
                break;
            }
            case eiattr::cta_per_cluster: {
                SASSEMU_ASSIGN(kernel.cluster, extent(attribute, where));
                break;
            }
            case eiattr::explicit_cluster:
                kernel.explicit_cluster = true;
                break;
            case eiattr::blocks_are_clusters:
                kernel.blocks_are_clusters = true;
                break;
            case eiattr::max_cluster_rank: {
                SASSEMU_ASSIGN(const auto list, words(attribute, where));
                if (list.empty()) return short_payload(attribute, where, 4);
                kernel.max_cluster_rank = list[0];
                break;
            }
            case eiattr::param_cbank: {
                if (attribute.payload.size() < 8) return short_payload(attribute, where, 8);
                ByteReader reader(attribute.payload, 4);
                kernel.param_base = reader.take<std::uint16_t>();
                kernel.param_size = reader.take<std::uint16_t>();
                break;
            }
            case eiattr::cbank_param_size:
                kernel.param_size = std::max(kernel.param_size, attribute.value);
                break;
            case eiattr::kparam_info:
            case eiattr::kparam_info_v2: {
                SASSEMU_ASSIGN(const auto found, parameter(attribute, where));
                kernel.parameters.push_back(found);
                break;
            }
            case eiattr::maxreg_count:
                kernel.max_registers = attribute.value;
                break;
            case eiattr::num_barriers:
                kernel.barriers = attribute.value;
                break;
            case eiattr::crs_stack_size: {
                SASSEMU_ASSIGN(const auto list, words(attribute, where));
                if (!list.empty()) kernel.crs_stack_size = list[0];
                break;
            }
            case eiattr::externs: {
                SASSEMU_ASSIGN(kernel.externs, words(attribute, where));
                for (const auto symbol : kernel.externs) {
                    if (symbol < symbol_count) continue;
                    return make_error(ErrorCode::input, where + " EIATTR_EXTERNS",
                                      "symbol " + std::to_string(symbol) + " does not exist");
                }
                break;
            }
            case eiattr::exit_instr_offsets: {
                SASSEMU_ASSIGN(kernel.exit_offsets, words(attribute, where));
                break;
            }
            case eiattr::coop_group_instr_offsets: {
                SASSEMU_ASSIGN(kernel.coop_group_offsets, words(attribute, where));
                break;
            }
            case eiattr::coop_group_mask_regids: {
                SASSEMU_ASSIGN(kernel.coop_group_mask_registers, words(attribute, where));
                break;
            }
            case eiattr::int_warp_wide_instr_offsets: {
                SASSEMU_ASSIGN(kernel.warp_wide_offsets, words(attribute, where));
                break;
            }
            case eiattr::syscall_offsets: {
                SASSEMU_ASSIGN(kernel.syscall_offsets, words(attribute, where));
                break;
            }
            case eiattr::indirect_branch_targets: {
                SASSEMU_ASSIGN(kernel.indirect_branches, indirect_branches(attribute, where));
                break;
            }
            default:
                break;
        }
    }
    std::ranges::stable_sort(kernel.parameters, {}, &Parameter::ordinal);
    return {};
}

}  // namespace sassemu
