// SPDX-License-Identifier: Apache-2.0
// See params.hpp. Offsets and sizes come from the kernel's own KPARAM_INFO records.
#include "emu/plan/params.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <sassemu/names.hpp>

#include "emu/async/tensor_map.hpp"

namespace sassemu::plan {
namespace {

Error mismatch(const Argument& arg, const Kernel& kernel, size_t index, std::string what,
               std::string hint = {}) {
    return make_error(ErrorCode::input, arg.where,
                      "argument " + std::to_string(index) + " of kernel '" +
                          names::demangled(kernel.name) + "' " + std::move(what),
                      std::move(hint));
}

Result<std::vector<std::byte>> integer_bytes(uint64_t bits, size_t size) {
    std::vector<std::byte> bytes(size);
    std::memcpy(bytes.data(), &bits, std::min<size_t>(size, 8));
    return bytes;
}

// The index of `word` in `words`; empty: the first.
Result<size_t> choice(const char* field, const std::string& word,
                      std::initializer_list<const char*> words) {
    size_t index = 0;
    std::string all;
    for (const char* w : words) {
        if (word == w || (word.empty() && index == 0)) return index;
        all += (index++ ? ", " : "") + std::string(w);
    }
    return Error{ErrorCode::input, field, "'" + word + "' is none of " + all, ""};
}

Result<std::array<std::byte, tensor_map_bytes>> tensor_map(const TensorMapArg& arg,
                                                           uint64_t address) {
    TensorMap map;
    SASSEMU_ASSIGN(const size_t type, choice("type", arg.type,
                                             {"u8", "u16", "u32", "i32", "u64", "i64", "f16", "f32",
                                              "f64", "bf16", "f32_ftz", "tf32", "tf32_ftz"}));
    SASSEMU_ASSIGN(const size_t interleave,
                   choice("interleave", arg.interleave, {"none", "16B", "32B"}));
    SASSEMU_ASSIGN(const size_t swizzle,
                   choice("swizzle", arg.swizzle, {"none", "32B", "64B", "128B"}));
    SASSEMU_ASSIGN(const size_t l2, choice("l2", arg.l2, {"none", "64B", "128B", "256B"}));
    SASSEMU_ASSIGN(const size_t oob, choice("oob", arg.oob, {"zero", "nan"}));
    map.type = static_cast<TensorType>(type);
    map.interleave = static_cast<TensorInterleave>(interleave);
    map.swizzle = static_cast<TensorSwizzle>(swizzle);
    map.promotion = static_cast<uint8_t>(l2);
    map.nan_fill = oob == 1;
    map.address = address;
    map.rank = static_cast<uint32_t>(arg.dims.size());
    for (size_t k = 0; k < arg.dims.size(); ++k) {
        map.size[k] = arg.dims[k];
        if (k) map.stride[k - 1] = arg.strides[k - 1];
        if (!arg.image) map.box[k] = static_cast<uint32_t>(std::min<uint64_t>(arg.box[k], ~0u));
        map.step[k] = static_cast<uint32_t>(std::min<uint64_t>(arg.element_strides[k], ~0u));
    }
    if (arg.image) {
        map.image = true;
        std::copy(arg.image->lower.begin(), arg.image->lower.end(), map.lower);
        std::copy(arg.image->upper.begin(), arg.image->upper.end(), map.upper);
        map.channels = arg.image->channels;
        map.pixels = arg.image->pixels;
    }
    return map.encode();
}

// The argument's bytes, exactly as many as its own form states.
Result<std::vector<std::byte>> argument_bytes(const Argument& arg, const Kernel& kernel,
                                              size_t index, size_t parameter_size,
                                              const ParameterSources& sources) {
    const auto map_bytes = [&](const TensorMapArg& value) -> Result<std::vector<std::byte>> {
        SASSEMU_ASSIGN(const uint64_t address, sources.buffer_address(value.buffer));
        auto map = tensor_map(value, address);
        if (!map)
            return mismatch(arg, kernel, index,
                            "is no tensor map: " + map.error().where + " " + map.error().what);
        return std::vector<std::byte>(map->begin(), map->end());
    };
    if (const auto* value = std::get_if<BufferArg>(&arg.value)) {
        SASSEMU_ASSIGN(const uint64_t address, sources.buffer_address(value->buffer));
        return integer_bytes(address + value->offset, 8);
    }
    if (const auto* value = std::get_if<ScalarArg>(&arg.value)) {
        return integer_bytes(value->bits, value->bytes);
    }
    if (const auto* value = std::get_if<BitsArg>(&arg.value)) {
        if (parameter_size < 8 && value->bits >> (8 * parameter_size) != 0) {
            return mismatch(
                arg, kernel, index,
                "has " + std::to_string(parameter_size) + " bytes, and the bits do not fit");
        }
        return integer_bytes(value->bits, parameter_size);
    }
    if (const auto* value = std::get_if<BytesArg>(&arg.value)) {
        std::vector<std::byte> bytes = value->bytes;
        for (const PointerPatch& patch : value->pointers) {
            SASSEMU_ASSIGN(uint64_t address, sources.buffer_address(patch.buffer));
            address += patch.add;
            std::memcpy(bytes.data() + patch.offset, &address, sizeof address);
        }
        for (const BytesArg::Map& map : value->maps) {
            SASSEMU_ASSIGN(const auto words, map_bytes(map.map));
            std::memcpy(bytes.data() + map.offset, words.data(), words.size());
        }
        return bytes;
    }
    if (const auto* value = std::get_if<SymbolArg>(&arg.value)) {
        auto address = sources.symbol_address(value->symbol);
        if (!address) return std::move(address).error().within(arg.where);
        return integer_bytes(*address, 8);
    }
    if (const auto* value = std::get_if<TextureArg>(&arg.value)) {
        auto handle = sources.texture_handle(*value);
        if (!handle) return std::move(handle).error().within(arg.where);
        return integer_bytes(*handle, 8);
    }
    return map_bytes(std::get<TensorMapArg>(arg.value));
}

}  // namespace

Result<std::vector<std::byte>> build_parameters(const Launch& launch, const Kernel& kernel,
                                                const ParameterSources& sources) {
    if (launch.param_bytes) {
        if (launch.param_bytes->size() != kernel.param_size) {
            return make_error(ErrorCode::input, launch.where,
                              "kernel '" + names::demangled(kernel.name) +
                                  "' takes a parameter block of " +
                                  std::to_string(kernel.param_size) + " bytes, paramBytes has " +
                                  std::to_string(launch.param_bytes->size()));
        }
        return *launch.param_bytes;
    }
    if (kernel.parameters.empty() && kernel.param_size != 0) {
        return make_error(ErrorCode::input, launch.where,
                          "kernel '" + names::demangled(kernel.name) + "' states " +
                              std::to_string(kernel.param_size) +
                              " bytes of parameters but not their layout",
                          "give the whole block as paramBytes");
    }
    if (launch.args.size() != kernel.parameters.size()) {
        return make_error(ErrorCode::input, launch.where,
                          "kernel '" + names::demangled(kernel.name) + "' takes " +
                              std::to_string(kernel.parameters.size()) +
                              " arguments, the plan has " + std::to_string(launch.args.size()));
    }
    std::vector<std::byte> block(kernel.param_size);
    for (size_t i = 0; i < launch.args.size(); ++i) {
        const Parameter& parameter = kernel.parameters[i];
        SASSEMU_ASSIGN(const std::vector<std::byte> bytes,
                       argument_bytes(launch.args[i], kernel, i, parameter.size, sources));
        if (bytes.size() != parameter.size) {
            return mismatch(launch.args[i], kernel, i,
                            "has " + std::to_string(parameter.size) + " bytes, the plan gives " +
                                std::to_string(bytes.size()));
        }
        if (uint64_t{parameter.offset} + parameter.size > block.size()) {
            return mismatch(launch.args[i], kernel, i, "lies outside the kernel's parameter block");
        }
        std::memcpy(block.data() + parameter.offset, bytes.data(), bytes.size());
    }
    return block;
}

}  // namespace sassemu::plan
