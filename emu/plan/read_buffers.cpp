// SPDX-License-Identifier: Apache-2.0
// The plan reader's part for memory: buffers, globals, their initial contents and expectations.
#include <cmath>

#include "emu/plan/read_parts.hpp"

namespace sassemu::plan {

Result<ElementType> read_type(const Field& field) {
    SASSEMU_ASSIGN(const std::string name, field.string());
    const auto type = element_type(name);
    if (!type) return field.error("unknown type '" + name + "'", "one of: " + element_names());
    return *type;
}

Result<std::vector<std::byte>> read_values(const Field& field, ElementType type) {
    SASSEMU_TRY(field.array());
    const size_t size = element_size(type);
    std::vector<std::byte> bytes(field.node->items.size() * size);
    for (size_t i = 0; i < field.node->items.size(); ++i) {
        const Field item = field.item(i);
        SASSEMU_ASSIGN(const std::string text, item.number_text());
        const auto bits = parse_element(type, text);
        if (!bits) return item.error("'" + text + "' is no " + std::string(element_name(type)));
        store_bits(type, *bits, bytes.data() + i * size);
    }
    return bytes;
}

namespace {

constexpr uint64_t most_bytes = uint64_t{1} << 40;

// A bound of an integer range, sign-extended to 64 bits; `extra` is 1 for the exclusive end.
Result<uint64_t> read_bound(const Field& field, ElementType type, uint64_t extra) {
    const unsigned width = 8 * static_cast<unsigned>(element_size(type));
    if (element_is_signed(type)) {
        const int64_t most = width == 64 ? INT64_MAX : (int64_t{1} << (width - 1)) - 1;
        const int64_t least = -most - 1;
        SASSEMU_ASSIGN(
            const int64_t value,
            field.signed_number(least, width == 64 ? most : most + static_cast<int64_t>(extra)));
        return static_cast<uint64_t>(value);
    }
    const uint64_t most = width == 64 ? UINT64_MAX : (uint64_t{1} << width) - 1 + extra;
    return field.unsigned_number(most);
}

Result<RandomSpec> read_random(const Field& field) {
    SASSEMU_TRY(field.object({"type", "seed", "low", "high"}));
    RandomSpec spec;
    SASSEMU_ASSIGN(const Field type, required(field, "type"));
    SASSEMU_ASSIGN(spec.type, read_type(type));
    SASSEMU_ASSIGN(const Field seed, required(field, "seed"));
    SASSEMU_ASSIGN(spec.seed, seed.unsigned_number());
    const Field low = field.member("low"), high = field.member("high");
    if (element_is_float(spec.type)) {
        if (low) {
            SASSEMU_ASSIGN(spec.low, low.number());
        }
        if (high) {
            SASSEMU_ASSIGN(spec.high, high.number());
        }
        if (!(spec.low <= spec.high) || !std::isfinite(spec.low) || !std::isfinite(spec.high)) {
            return field.error("low and high must be finite, and low not above high");
        }
        return spec;
    }
    spec.whole_range = !low && !high;
    if (spec.whole_range) return spec;
    if (!low || !high) return field.error("an integer range needs both low and high");
    SASSEMU_ASSIGN(spec.integer_low, read_bound(low, spec.type, 0));
    SASSEMU_ASSIGN(const uint64_t end, read_bound(high, spec.type, 1));
    const bool ordered = element_is_signed(spec.type)
                             ? static_cast<int64_t>(spec.integer_low) < static_cast<int64_t>(end)
                             : spec.integer_low < end;
    if (!ordered) return field.error("low must be below high, which is exclusive");
    spec.integer_span = end - spec.integer_low;
    return spec;
}

// The fields file, fill and random of a buffer or a global.
Result<Contents> read_contents(const Field& field) {
    Contents contents;
    const Field file = field.member("file"), fill = field.member("fill"),
                random = field.member("random");
    if (int{bool(file)} + int{bool(fill)} + int{bool(random)} > 1) {
        return field.error("file, fill and random exclude each other");
    }
    if (file) {
        SASSEMU_ASSIGN(const std::string path, file.string());
        contents.file = resolve_path(*field.file, path);
    }
    if (fill) {
        SASSEMU_ASSIGN(const uint64_t value, fill.unsigned_number(255));
        contents.fill = static_cast<uint8_t>(value);
    }
    if (random) {
        SASSEMU_ASSIGN(contents.random, read_random(random));
    }
    return contents;
}

Result<Expectation> read_expectation(const Field& field) {
    SASSEMU_TRY(field.object({"file", "sha256", "values", "type", "rtol", "atol"}));
    Expectation expect;
    expect.where = field.where();
    const Field file = field.member("file"), hash = field.member("sha256"),
                values = field.member("values"), type = field.member("type"),
                rtol = field.member("rtol"), atol = field.member("atol");
    if (int{bool(file)} + int{bool(hash)} + int{bool(values)} != 1) {
        return field.error("an expectation has exactly one of file, sha256 and values");
    }
    if (type) {
        SASSEMU_ASSIGN(expect.type, read_type(type));
    }
    if (file) {
        SASSEMU_ASSIGN(const std::string path, file.string());
        expect.file = resolve_path(*field.file, path);
    }
    if (hash) {
        SASSEMU_ASSIGN(const auto digest, hash.hex_bytes());
        if (digest.size() != 32) return hash.error("a SHA-256 has 64 hex digits");
        expect.sha256 = hash.node->text;
        for (char& c : expect.sha256) {
            if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
        }
    }
    if (values) {
        if (!expect.type) return field.error("values need a type", "one of: " + element_names());
        SASSEMU_ASSIGN(expect.values, read_values(values, *expect.type));
        expect.has_values = true;
    }
    if (rtol || atol) {
        expect.has_tolerance = true;
        if (!expect.type || !element_is_float(*expect.type)) {
            return field.error("a tolerance needs a floating type: f16, bf16, f32 or f64");
        }
        if (hash) return field.error("a hash cannot be compared with a tolerance");
    }
    for (const auto& [tolerance, target] : {std::pair{rtol, &expect.rtol}, {atol, &expect.atol}}) {
        if (!tolerance) continue;
        SASSEMU_ASSIGN(*target, tolerance.number());
        if (!(*target >= 0)) return tolerance.error("a tolerance is not negative");
    }
    return expect;
}

Result<PointerPatch> read_pointer(const Field& field, uint64_t bytes) {
    SASSEMU_TRY(field.object({"offset", "buffer", "add"}));
    PointerPatch patch;
    patch.where = field.where();
    SASSEMU_ASSIGN(const Field offset, required(field, "offset"));
    SASSEMU_ASSIGN(patch.offset, offset.unsigned_number());
    if (bytes < 8 || patch.offset > bytes - 8) {
        return offset.error("an address at offset " + std::to_string(patch.offset) +
                            " does not fit into " + std::to_string(bytes) + " bytes");
    }
    SASSEMU_ASSIGN(const Field buffer, required(field, "buffer"));
    SASSEMU_ASSIGN(patch.buffer, buffer.string());
    if (const Field add = field.member("add")) {
        SASSEMU_ASSIGN(patch.add, add.unsigned_number());
    }
    return patch;
}

}  // namespace

Result<std::vector<PointerPatch>> read_pointers(const Field& holder, uint64_t bytes) {
    std::vector<PointerPatch> patches;
    const Field pointers = holder.member("pointers");
    if (!pointers) return patches;
    SASSEMU_TRY(pointers.array());
    for (size_t i = 0; i < pointers.node->items.size(); ++i) {
        SASSEMU_ASSIGN(PointerPatch patch, read_pointer(pointers.item(i), bytes));
        patches.push_back(std::move(patch));
    }
    return patches;
}

Result<Buffer> read_buffer(const Field& field, const std::string& name) {
    SASSEMU_TRY(field.object({"bytes", "file", "fill", "random", "pointers", "address", "kind",
                              "gpu", "of", "heap", "expect"}));
    Buffer buffer;
    buffer.where = field.where();
    buffer.name = name;
    SASSEMU_ASSIGN(const Field bytes, required(field, "bytes"));
    SASSEMU_ASSIGN(buffer.bytes, bytes.unsigned_number(most_bytes, 1));
    SASSEMU_ASSIGN(buffer.contents, read_contents(field));
    if (buffer.contents.random && buffer.bytes % element_size(buffer.contents.random->type) != 0) {
        return field.error(std::to_string(buffer.bytes) + " bytes are no whole number of " +
                           std::string(element_name(buffer.contents.random->type)) + " elements");
    }
    SASSEMU_ASSIGN(buffer.pointers, read_pointers(field, buffer.bytes));
    if (const Field address = field.member("address")) {
        SASSEMU_ASSIGN(buffer.address, address.unsigned_number(UINT64_MAX, 1));
    }
    if (const Field kind = field.member("kind")) {
        SASSEMU_ASSIGN(const size_t index, kind.one_of({"device", "host", "managed", "peer",
                                                        "symmetric", "multicast"}));
        buffer.kind = static_cast<BufferKind>(index);
    }
    const bool multicast = buffer.kind == BufferKind::multicast;
    if (const Field of = field.member("of"); multicast || of) {
        if (!multicast) return of.error("is for multicast objects, whose members it lists");
        if (!of) return field.error("a multicast object needs `of`, the buffers it stands for");
        SASSEMU_TRY(of.array());
        for (size_t i = 0; i < of.node->items.size(); ++i) {
            SASSEMU_ASSIGN(std::string member, of.item(i).string());
            buffer.of.push_back(std::move(member));
        }
        for (const char* const name : {"file", "fill", "random", "pointers", "gpu", "expect"})
            if (const Field other = field.member(name))
                return other.error("a multicast object has no bytes of its own");
    }
    if (const Field gpu = field.member("gpu")) {
        SASSEMU_ASSIGN(const uint64_t number, gpu.unsigned_number(UINT32_MAX));
        buffer.gpu = static_cast<uint32_t>(number);
    }
    if (const Field heap = field.member("heap")) {
        SASSEMU_ASSIGN(buffer.heap, heap.boolean());
        if (buffer.heap && buffer.kind != BufferKind::device)
            return heap.error("blocks of the device heap are memory of kind device");
    }
    if (const Field expect = field.member("expect")) {
        SASSEMU_ASSIGN(buffer.expect, read_expectation(expect));
        // Of a symmetric one there may be a list for each PE; who counts them checks it.
        if (buffer.expect->has_values && buffer.kind != BufferKind::symmetric &&
            buffer.expect->values.size() != buffer.bytes) {
            return expect.error("the values take " + std::to_string(buffer.expect->values.size()) +
                                " bytes, the buffer has " + std::to_string(buffer.bytes));
        }
        if (buffer.expect->type && buffer.bytes % element_size(*buffer.expect->type) != 0) {
            return expect.error(std::to_string(buffer.bytes) + " bytes are no whole number of " +
                                std::string(element_name(*buffer.expect->type)) + " elements");
        }
    }
    return buffer;
}

Result<Global> read_global(const Field& field, const std::string& name) {
    SASSEMU_TRY(field.object({"symbol", "module", "file", "fill", "random", "address", "expect"}));
    Global global;
    global.where = field.where();
    global.name = global.symbol = name;
    if (const Field symbol = field.member("symbol")) {
        SASSEMU_ASSIGN(global.symbol, symbol.string());
    }
    if (const Field module = field.member("module")) {
        SASSEMU_ASSIGN(const uint64_t index, module.unsigned_number(UINT32_MAX));
        global.module = static_cast<uint32_t>(index);
    }
    if (const Field address = field.member("address")) {
        SASSEMU_ASSIGN(global.address, address.unsigned_number(UINT64_MAX, 1));
    }
    SASSEMU_ASSIGN(global.contents, read_contents(field));
    if (const Field expect = field.member("expect")) {
        SASSEMU_ASSIGN(global.expect, read_expectation(expect));
    }
    return global;
}

}  // namespace sassemu::plan
