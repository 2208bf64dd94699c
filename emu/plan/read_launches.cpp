// SPDX-License-Identifier: Apache-2.0
// The plan reader's part for launches and their arguments.
#include <bit>

#include "emu/plan/read_parts.hpp"

namespace sassemu::plan {
namespace {

Result<Dim3> read_dim3(const Field& field) {
    SASSEMU_ASSIGN(const std::vector<uint64_t> list, field.unsigned_list(1, 3));
    Dim3 dim;
    uint32_t* const axes[3] = {&dim.x, &dim.y, &dim.z};
    for (size_t i = 0; i < list.size(); ++i) {
        if (list[i] == 0 || list[i] > INT32_MAX) {
            return field.item(i).error("must be from 1 to 2147483647");
        }
        *axes[i] = static_cast<uint32_t>(list[i]);
    }
    return dim;
}

}  // namespace

namespace {

Result<std::vector<int32_t>> read_corner(const Field& field, size_t count) {
    SASSEMU_TRY(field.array());
    if (field.node->items.size() != count)
        return field.error("a corner of " + std::to_string(count) + " numbers is wanted");
    std::vector<int32_t> corner;
    for (size_t i = 0; i < count; ++i) {
        SASSEMU_ASSIGN(const int64_t read, field.item(i).signed_number(INT32_MIN, INT32_MAX));
        corner.push_back(static_cast<int32_t>(read));
    }
    return corner;
}

Result<TensorMapArg::Image> read_image(const Field& field, size_t rank) {
    SASSEMU_TRY(field.object({"lower", "upper", "channels", "pixels"}));
    if (rank < 3) return field.error("images have 3 to 5 dimensions");
    TensorMapArg::Image image;
    SASSEMU_ASSIGN(const Field lower, required(field, "lower"));
    SASSEMU_ASSIGN(image.lower, read_corner(lower, rank - 2));
    SASSEMU_ASSIGN(const Field upper, required(field, "upper"));
    SASSEMU_ASSIGN(image.upper, read_corner(upper, rank - 2));
    for (const auto& [name, target] :
         {std::pair{"channels", &image.channels}, {"pixels", &image.pixels}}) {
        SASSEMU_ASSIGN(const Field value, required(field, name));
        SASSEMU_ASSIGN(const uint64_t read, value.unsigned_number(UINT32_MAX));
        *target = static_cast<uint32_t>(read);
    }
    return image;
}

Result<TensorMapArg> read_tensor_map(const Field& field) {
    SASSEMU_TRY(field.object({"buffer", "type", "dims", "strides", "box", "im2col",
                              "elementStrides", "interleave", "swizzle", "l2", "oob"}));
    TensorMapArg arg;
    SASSEMU_ASSIGN(const Field buffer, required(field, "buffer"));
    SASSEMU_ASSIGN(arg.buffer, buffer.string());
    SASSEMU_ASSIGN(const Field type, required(field, "type"));
    SASSEMU_ASSIGN(arg.type, type.string());
    SASSEMU_ASSIGN(const Field dims, required(field, "dims"));
    SASSEMU_ASSIGN(arg.dims, dims.unsigned_list(1, 5));
    const size_t rank = arg.dims.size();
    SASSEMU_ASSIGN(const Field strides, required(field, "strides"));
    SASSEMU_ASSIGN(arg.strides, strides.unsigned_list(rank - 1, rank - 1));
    if (const Field image = field.member("im2col")) {
        if (field.member("box")) return image.error("a map has a box or is one of images");
        SASSEMU_ASSIGN(arg.image, read_image(image, rank));
    } else {
        SASSEMU_ASSIGN(const Field box, required(field, "box"));
        SASSEMU_ASSIGN(arg.box, box.unsigned_list(rank, rank));
    }
    arg.element_strides.assign(rank, 1);
    if (const Field steps = field.member("elementStrides")) {
        SASSEMU_ASSIGN(arg.element_strides, steps.unsigned_list(rank, rank));
    }
    for (const auto& [name, target] : {std::pair{"interleave", &arg.interleave},
                                       {"swizzle", &arg.swizzle},
                                       {"l2", &arg.l2},
                                       {"oob", &arg.oob}}) {
        if (const Field word = field.member(name)) {
            SASSEMU_ASSIGN(*target, word.string());
        }
    }
    return arg;
}

Result<ScalarArg> read_scalar(const Field& field, std::string_view form) {
    ScalarArg arg;
    arg.form = form;
    const ElementType type = *element_type(form);
    arg.bytes = static_cast<uint32_t>(element_size(type));
    SASSEMU_ASSIGN(const std::string text, field.number_text());
    const bool hex = text.starts_with("0x") || text.starts_with("0X");
    if (element_is_float(type) && hex) {
        return field.error("'" + text + "' is no decimal number",
                           "a bit pattern is {\"bits\": ...}");
    }
    const auto bits = parse_element(type, text);
    if (!bits) return field.error("'" + text + "' does not fit into " + std::string(form));
    arg.bits = *bits;
    return arg;
}

Result<std::vector<Argument>> read_arguments(const Field& field) {
    SASSEMU_TRY(field.array());
    std::vector<Argument> args;
    for (size_t i = 0; i < field.node->items.size(); ++i) {
        SASSEMU_ASSIGN(Argument arg, read_argument(field.item(i)));
        args.push_back(std::move(arg));
    }
    return args;
}

// Launch attributes change when and where a launch runs, never its results.
Result<std::map<std::string, std::string>> read_attributes(const Field& field) {
    SASSEMU_TRY(
        field.object({"programmaticStreamSerialization", "priority", "clusterSchedulingPolicy"}));
    std::map<std::string, std::string> attributes;
    if (const Field flag = field.member("programmaticStreamSerialization")) {
        SASSEMU_ASSIGN(const bool on, flag.boolean());
        attributes["programmaticStreamSerialization"] = on ? "true" : "false";
    }
    if (const Field priority = field.member("priority")) {
        SASSEMU_ASSIGN(const int64_t level, priority.signed_number(INT32_MIN, INT32_MAX));
        attributes["priority"] = std::to_string(level);
    }
    if (const Field policy = field.member("clusterSchedulingPolicy")) {
        SASSEMU_TRY(policy.one_of({"default", "spread", "loadBalancing"}));
        attributes["clusterSchedulingPolicy"] = policy.node->text;
    }
    return attributes;
}

Result<std::vector<BytesArg::Map>> read_maps(const Field& maps, uint64_t bytes) {
    std::vector<BytesArg::Map> all;
    if (!maps) return all;
    SASSEMU_TRY(maps.array());
    for (size_t i = 0; i < maps.node->items.size(); ++i) {
        const Field field = maps.item(i);
        SASSEMU_TRY(field.object({"offset", "tensorMap"}));
        BytesArg::Map one;
        one.where = field.where();
        SASSEMU_ASSIGN(const Field offset, required(field, "offset"));
        SASSEMU_ASSIGN(one.offset, offset.unsigned_number());
        if (bytes < tensor_map_bytes || one.offset > bytes - tensor_map_bytes)
            return offset.error("a tensor map at offset " + std::to_string(one.offset) +
                                " does not fit into " + std::to_string(bytes) + " bytes");
        SASSEMU_ASSIGN(const Field map, required(field, "tensorMap"));
        SASSEMU_ASSIGN(one.map, read_tensor_map(map));
        all.push_back(std::move(one));
    }
    return all;
}

}  // namespace

Result<Argument> read_argument(const Field& field) {
    SASSEMU_TRY(
        field.object({"buffer", "offset", "i32", "u32", "i64", "u64", "f32", "f64", "bits", "bytes",
                      "pointers", "tensorMaps", "symbol", "texture", "surface", "tensorMap"}));
    const Field buffer = field.member("buffer"), offset = field.member("offset");
    const Field bytes = field.member("bytes"), pointers = field.member("pointers"),
                maps = field.member("tensorMaps");
    const size_t forms =
        field.node->members.size() - (offset ? 1 : 0) - (pointers ? 1 : 0) - (maps ? 1 : 0);
    if (forms != 1 || (offset && !buffer) || ((pointers || maps) && !bytes)) {
        return field.error(
            "an argument has exactly one form",
            "{\"buffer\": NAME, \"offset\": N}, {\"bytes\": HEX, \"pointers\": [...], "
            "\"tensorMaps\": [...]}, or one of i32, u32, i64, u64, f32, f64, bits, symbol, "
            "texture, surface, tensorMap");
    }
    Argument arg;
    arg.where = field.where();
    if (buffer) {
        BufferArg value;
        SASSEMU_ASSIGN(value.buffer, buffer.string());
        if (offset) {
            SASSEMU_ASSIGN(value.offset, offset.unsigned_number());
        }
        arg.value = std::move(value);
        return arg;
    }
    if (bytes) {
        BytesArg value;
        SASSEMU_ASSIGN(value.bytes, bytes.hex_bytes());
        SASSEMU_ASSIGN(value.pointers, read_pointers(field, value.bytes.size()));
        SASSEMU_ASSIGN(value.maps, read_maps(maps, value.bytes.size()));
        arg.value = std::move(value);
        return arg;
    }
    const std::string& form = field.node->members.front().name;
    const Field value = field.member(form);
    if (form == "bits") {
        SASSEMU_ASSIGN(const uint64_t bits, value.unsigned_number());
        arg.value = BitsArg{bits};
    } else if (form == "symbol") {
        SASSEMU_ASSIGN(auto symbol, value.string());
        arg.value = SymbolArg{std::move(symbol)};
    } else if (form == "texture" || form == "surface") {
        SASSEMU_ASSIGN(auto texture, read_texture(value, form == "surface"));
        arg.value = std::move(texture);
    } else if (form == "tensorMap") {
        SASSEMU_ASSIGN(auto map, read_tensor_map(value));
        arg.value = std::move(map);
    } else {
        SASSEMU_ASSIGN(auto scalar, read_scalar(value, form));
        arg.value = std::move(scalar);
    }
    return arg;
}

Result<Launch> read_launch(const Field& field) {
    SASSEMU_TRY(field.object({"kernel", "module", "grid", "block", "cluster", "dynamicShared",
                              "cooperative", "repeat", "gpu", "args", "paramBytes", "attributes",
                              "stream", "after", "event", "copy", "writeValue", "waitValue"}));
    Launch launch;
    launch.where = field.where();
    SASSEMU_TRY(read_stream_fields(field, launch));
    if (launch.operation.index()) return launch;
    SASSEMU_ASSIGN(const Field kernel, required(field, "kernel"));
    SASSEMU_ASSIGN(launch.kernel, kernel.string());
    SASSEMU_ASSIGN(const Field grid, required(field, "grid"));
    SASSEMU_ASSIGN(launch.grid, read_dim3(grid));
    SASSEMU_ASSIGN(const Field block, required(field, "block"));
    SASSEMU_ASSIGN(launch.block, read_dim3(block));
    if (const Field cluster = field.member("cluster")) {
        SASSEMU_ASSIGN(launch.cluster, read_dim3(cluster));
        launch.has_cluster = true;
    }
    if (const Field cooperative = field.member("cooperative")) {
        SASSEMU_ASSIGN(launch.cooperative, cooperative.boolean());
    }
    struct Number {
        std::string_view name;
        uint32_t* target;
        uint64_t least;
    };
    for (const Number& number : {Number{"module", &launch.module, 0},
                                 {"dynamicShared", &launch.dynamic_shared, 0},
                                 {"repeat", &launch.repeat, 1},
                                 {"gpu", &launch.gpu, 0}}) {
        if (const Field value = field.member(number.name)) {
            SASSEMU_ASSIGN(const uint64_t read, value.unsigned_number(UINT32_MAX, number.least));
            *number.target = static_cast<uint32_t>(read);
        }
    }
    launch.everywhere = !field.member("gpu") && !field.member("stream");
    const Field args = field.member("args"), raw = field.member("paramBytes");
    if (args && raw) return raw.error("args and paramBytes exclude each other");
    if (args) {
        SASSEMU_ASSIGN(launch.args, read_arguments(args));
    }
    if (raw) {
        SASSEMU_ASSIGN(launch.param_bytes, raw.hex_bytes());
    }
    if (const Field attributes = field.member("attributes")) {
        SASSEMU_ASSIGN(launch.attributes, read_attributes(attributes));
    }
    return launch;
}

}  // namespace sassemu::plan
