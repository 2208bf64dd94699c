// SPDX-License-Identifier: Apache-2.0
// See compare.hpp.
#include "emu/plan/compare.hpp"

#include <cmath>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "emu/base/limits.hpp"
#include "emu/plan/sha256.hpp"

namespace sassemu::plan {
namespace {

bool close_enough(const Expectation& expect, ElementType type, uint64_t got, uint64_t expected) {
    if (got == expected) return true;
    const double a = element_to_double(type, got), b = element_to_double(type, expected);
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    if (std::isinf(a) || std::isinf(b)) return a == b;
    return std::abs(a - b) <= expect.atol + expect.rtol * std::abs(b);
}

void compare_elements(Comparison& result, uint64_t first, std::span<const std::byte> got,
                      std::span<const std::byte> expected, const Expectation& expect) {
    const size_t size = element_size(result.type);
    if (std::memcmp(got.data(), expected.data(), got.size()) == 0) return;
    for (uint64_t i = 0; i < got.size() / size; ++i) {
        const uint64_t a = load_bits(result.type, got.data() + i * size);
        const uint64_t b = load_bits(result.type, expected.data() + i * size);
        if (a == b || (expect.has_tolerance && close_enough(expect, result.type, a, b))) continue;
        ++result.different;
        if (result.first.size() < most_differences) result.first.push_back({first + i, a, b});
    }
}

Result<void> compare_pieces(Comparison& result, ByteSource& got, ByteSource& expected,
                            const Expectation& expect) {
    std::vector<std::byte> a(std::min<uint64_t>(got.size(), ByteSource::piece)), b(a.size());
    for (uint64_t at = 0, size; at < got.size(); at += size) {
        SASSEMU_TRY(process_budget().check(expect.where));
        size = std::min(got.zeros(at), expected.zeros(at)) / a.size() * a.size();
        if (size > 0) continue;
        size = std::min<uint64_t>(got.size() - at, a.size());
        SASSEMU_TRY(got.read(at, std::span(a).first(size)));
        SASSEMU_TRY(expected.read(at, std::span(b).first(size)));
        compare_elements(result, at / element_size(result.type), std::span(a).first(size),
                         std::span(b).first(size), expect);
    }
    return {};
}

Result<std::shared_ptr<ByteSource>> expected_bytes(const Expectation& expect) {
    if (expect.file.empty())
        return std::shared_ptr<ByteSource>(std::make_shared<SpanSource>(expect.values));
    if (expect.open_file) return expect.open_file;
    auto file = open_byte_source(expect.file);
    if (!file) return std::move(file).error().within(expect.where);
    return std::shared_ptr<ByteSource>(std::move(*file));
}

Result<void> open(std::optional<Expectation>& expect) {
    if (!expect || expect->file.empty()) return {};
    SASSEMU_ASSIGN(expect->open_file, expected_bytes(*expect));
    return {};
}

}  // namespace

Result<void> open_expectations(Plan& plan) {
    for (Buffer& buffer : plan.buffers) SASSEMU_TRY(open(buffer.expect));
    for (Global& global : plan.globals) SASSEMU_TRY(open(global.expect));
    return {};
}

Result<Comparison> compare(const std::string& name, ByteSource& got, const Expectation& expect) {
    Comparison result;
    result.name = name;
    result.typed = expect.type.has_value();
    result.type = expect.type.value_or(ElementType::u8);
    result.tolerant = expect.has_tolerance;
    result.elements = got.size() / element_size(result.type);
    if (!expect.sha256.empty()) {
        SASSEMU_ASSIGN(const std::string hash, sha256_hex(got));
        if (hash != expect.sha256) {
            result.got_hash = hash;
            result.expected_hash = expect.sha256;
        }
        return result;
    }
    SASSEMU_ASSIGN(const std::shared_ptr<ByteSource> expected, expected_bytes(expect));
    if (expected->size() != got.size() || got.size() % element_size(result.type) != 0) {
        return make_error(ErrorCode::input, expect.where,
                          "'" + name + "' has " + std::to_string(got.size()) +
                              " bytes, its expectation " + std::to_string(expected->size()) +
                              (expect.file.empty() ? "" : " (" + expect.file + ")"));
    }
    SASSEMU_TRY(compare_pieces(result, got, *expected, expect));
    return result;
}

}  // namespace sassemu::plan
