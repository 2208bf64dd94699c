// SPDX-License-Identifier: Apache-2.0
// `sassemu info`: text and JSON; see describe.hpp.
#include "emu/module/describe.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "emu/base/text.hpp"
#include "emu/module/line_table.hpp"

namespace sassemu {
namespace {

std::string_view container_name(Container container) {
    switch (container) {
        case Container::cubin:
            return "cubin";
        case Container::fatbin:
            return "fatbin";
        case Container::executable:
            return "executable";
    }
    return "cubin";
}

std::string_view compression_name(ImageInfo::Compression compression) {
    switch (compression) {
        case ImageInfo::Compression::none:
            return "none";
        case ImageInfo::Compression::lz4:
            return "lz4";
        case ImageInfo::Compression::zstd:
            return "zstd";
    }
    return "none";
}

std::string_view reference_name(TextureReference::Kind kind) {
    switch (kind) {
        case TextureReference::Kind::texture:
            return "texture";
        case TextureReference::Kind::surface:
            return "surface";
        case TextureReference::Kind::sampler:
            return "sampler";
    }
    return "texture";
}

std::string image_kind(const ImageInfo& image) {
    if (image.is_elf) return "cubin";
    return image.kind == 1 ? "ptx" : "kind " + std::to_string(image.kind);
}

std::string text_of(Extent3 extent) {
    return std::to_string(extent.x) + "x" + std::to_string(extent.y) + "x" +
           std::to_string(extent.z);
}

nlohmann::json json_of(const std::optional<Extent3>& extent) {
    if (!extent) return nullptr;
    return {extent->x, extent->y, extent->z};
}

// Attributes of the kernel whose number has no name.
std::vector<unsigned> unknown_attributes(const Kernel& kernel) {
    std::vector<unsigned> list;
    for (const auto& attribute : kernel.attributes) {
        if (attribute.name.empty()) list.push_back(attribute.code);
    }
    return list;
}

void describe_kernel(std::ostringstream& out, const Module& module, const Kernel& kernel) {
    out << "kernel " << shown(kernel.name) << "\n"
        << "  code: " << kernel.code_size << " bytes at " << kernel.code_offset << "\n"
        << "  registers: " << kernel.registers << "\n"
        << "  shared: " << kernel.shared_static << " bytes";
    if (kernel.shared_reserved != 0) out << " (" << kernel.shared_reserved << " reserved)";
    out << "\n  local: frame " << kernel.frame_size << ", stack at least " << kernel.min_stack_size
        << " bytes\n"
        << "  barriers: " << kernel.barriers << "\n";
    if (kernel.max_threads) out << "  max threads: " << text_of(*kernel.max_threads) << "\n";
    if (kernel.required_threads) {
        out << "  required threads: " << text_of(*kernel.required_threads) << "\n";
    }
    if (kernel.cluster) {
        out << "  cluster: " << text_of(*kernel.cluster)
            << (kernel.explicit_cluster ? " (set by the kernel)" : "") << "\n";
    }
    if (kernel.max_cluster_rank) out << "  max cluster rank: " << *kernel.max_cluster_rank << "\n";
    out << "  parameters: " << kernel.param_size << " bytes at c[0x0][0x" << std::hex
        << kernel.param_base << std::dec << "]\n";
    for (const auto& parameter : kernel.parameters) {
        out << "    " << parameter.ordinal << ": " << parameter.size << " bytes at "
            << parameter.offset << "\n";
    }
    if (!kernel.externs.empty()) {
        out << "  calls:";
        for (const auto symbol : kernel.externs) {
            out << " " << shown(module.symbols()[symbol].name);
        }
        out << "\n";
    }
    for (const unsigned code : unknown_attributes(kernel)) {
        out << "  attribute of unknown number " << code << "\n";
    }
}

}  // namespace

std::string describe(const Module& module) {
    std::ostringstream out;
    out << shown(module.file_name()) << ": " << container_name(module.container()) << " for "
        << module.arch().name() << (module.is_relocatable() ? ", relocatable" : "") << "\n";
    if (!module.tool_version().empty()) out << "made by: " << shown(module.tool_version()) << "\n";
    const LineTable& lines = module.lines();
    out << "line table: " << (lines.has_source() ? "source" : "no source")
        << (lines.has_ptx() ? ", PTX" : "") << "\n";
    for (const auto& kernel : module.kernels()) describe_kernel(out, module, kernel);
    for (const auto& function : module.functions()) {
        if (function.is_kernel) continue;
        out << "function " << shown(function.name) << ": " << function.size << " bytes at "
            << function.code_offset << "\n";
    }
    for (const auto& variable : module.variables()) {
        out << (variable.space == Space::constant ? "constant "
                : variable.is_managed             ? "managed "
                                                  : "global ")
            << shown(variable.name) << ": " << variable.size << " bytes"
            << (variable.init.empty() ? "" : ", initialised") << "\n";
    }
    for (const auto& reference : module.texture_references()) {
        out << reference_name(reference.kind) << " " << shown(reference.name) << "\n";
    }
    for (const auto& note : module.notes()) out << "note: " << shown(note) << "\n";
    return out.str();
}

std::string describe(const std::vector<ImageInfo>& images) {
    std::ostringstream out;
    for (const auto& image : images) {
        out << "container " << image.container << " image " << image.index << ": "
            << image_kind(image) << " " << image.arch.name() << ", " << image.size << " bytes";
        if (image.compression != ImageInfo::Compression::none) {
            out << " (" << compression_name(image.compression) << ", " << image.stored_size
                << " stored)";
        }
        if (!image.name.empty()) out << ", " << shown(image.name);
        out << "\n";
    }
    return out.str();
}

nlohmann::json describe_json(const Module& module) {
    using nlohmann::json;
    json kernels = json::array();
    for (const auto& kernel : module.kernels()) {
        json parameters = json::array();
        for (const auto& parameter : kernel.parameters) {
            parameters.push_back({{"ordinal", parameter.ordinal},
                                  {"offset", parameter.offset},
                                  {"bytes", parameter.size}});
        }
        json externs = json::array();
        for (const auto symbol : kernel.externs) {
            externs.push_back(shown(module.symbols()[symbol].name));
        }
        json attributes = json::array();
        for (const auto& attribute : kernel.attributes) {
            json entry = {{"number", attribute.code}};
            if (!attribute.name.empty()) entry["name"] = attribute.name;
            if (attribute.format == 2 || attribute.format == 3) entry["value"] = attribute.value;
            if (attribute.format == 4) entry["bytes"] = attribute.payload.size();
            attributes.push_back(std::move(entry));
        }
        kernels.push_back({{"name", shown(kernel.name)},
                           {"codeOffset", kernel.code_offset},
                           {"codeBytes", kernel.code_size},
                           {"registers", kernel.registers},
                           {"sharedStatic", kernel.shared_static},
                           {"sharedReserved", kernel.shared_reserved},
                           {"frameBytes", kernel.frame_size},
                           {"minStackBytes", kernel.min_stack_size},
                           {"stackIsBounded", kernel.stack_is_bounded},
                           {"barriers", kernel.barriers},
                           {"maxThreads", json_of(kernel.max_threads)},
                           {"requiredThreads", json_of(kernel.required_threads)},
                           {"cluster", json_of(kernel.cluster)},
                           {"explicitCluster", kernel.explicit_cluster},
                           {"paramBase", kernel.param_base},
                           {"paramBytes", kernel.param_size},
                           {"parameters", std::move(parameters)},
                           {"externs", std::move(externs)},
                           {"attributes", std::move(attributes)}});
        if (kernel.max_cluster_rank) kernels.back()["maxClusterRank"] = *kernel.max_cluster_rank;
    }
    json functions = json::array();
    for (const auto& function : module.functions()) {
        if (function.is_kernel) continue;
        functions.push_back({{"name", shown(function.name)},
                             {"codeOffset", function.code_offset},
                             {"codeBytes", function.size}});
    }
    json variables = json::array();
    for (const auto& variable : module.variables()) {
        variables.push_back({{"name", shown(variable.name)},
                             {"space", variable.space == Space::constant ? "constant" : "global"},
                             {"bytes", variable.size},
                             {"initialised", !variable.init.empty()},
                             {"managed", variable.is_managed}});
    }
    json references = json::array();
    for (const auto& reference : module.texture_references()) {
        references.push_back(
            {{"name", shown(reference.name)}, {"kind", reference_name(reference.kind)}});
    }
    json notes = json::array();
    for (const auto& note : module.notes()) notes.push_back(shown(note));
    return {{"file", shown(module.file_name())},
            {"container", container_name(module.container())},
            {"arch", module.arch().name()},
            {"relocatable", module.is_relocatable()},
            {"tool", shown(module.tool_version())},
            {"sourceLines", module.lines().has_source()},
            {"ptxLines", module.lines().has_ptx()},
            {"codeBytes", module.code_image_size()},
            {"kernels", std::move(kernels)},
            {"functions", std::move(functions)},
            {"variables", std::move(variables)},
            {"textureReferences", std::move(references)},
            {"notes", std::move(notes)}};
}

nlohmann::json describe_json(const std::vector<ImageInfo>& images) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& image : images) {
        list.push_back({{"container", image.container},
                        {"index", image.index},
                        {"kind", image_kind(image)},
                        {"arch", image.arch.name()},
                        {"compression", compression_name(image.compression)},
                        {"storedBytes", image.stored_size},
                        {"bytes", image.size},
                        {"name", shown(image.name)}});
    }
    return list;
}

}  // namespace sassemu
