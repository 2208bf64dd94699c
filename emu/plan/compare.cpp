// SPDX-License-Identifier: Apache-2.0
// See compare.hpp.
#include "emu/plan/compare.hpp"

#include <cmath>
#include <cstring>

#include "emu/module/module.hpp"
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

void compare_elements(Comparison& result, std::span<const std::byte> got,
                      std::span<const std::byte> expected, const Expectation& expect) {
    const size_t size = element_size(result.type);
    result.elements = got.size() / size;
    if (std::memcmp(got.data(), expected.data(), got.size()) == 0) return;
    for (uint64_t i = 0; i < result.elements; ++i) {
        const uint64_t a = load_bits(result.type, got.data() + i * size);
        const uint64_t b = load_bits(result.type, expected.data() + i * size);
        if (a == b || (expect.has_tolerance && close_enough(expect, result.type, a, b))) continue;
        ++result.different;
        if (result.first.size() < most_differences) result.first.push_back({i, a, b});
    }
}

Result<void> read_values(std::optional<Expectation>& expect) {
    if (!expect || expect->file.empty()) return {};
    auto file = read_file(expect->file);
    if (!file) return std::move(file).error().within(expect->where);
    const auto bytes = std::as_bytes(std::span(*file));
    expect->values.assign(bytes.begin(), bytes.end());
    expect->has_values = true;
    expect->file.clear();
    return {};
}

}  // namespace

Result<void> read_expectations(Plan& plan) {
    for (Buffer& buffer : plan.buffers) SASSEMU_TRY(read_values(buffer.expect));
    for (Global& global : plan.globals) SASSEMU_TRY(read_values(global.expect));
    return {};
}

Result<Comparison> compare(const std::string& name, std::span<const std::byte> got,
                           const Expectation& expect) {
    Comparison result;
    result.name = name;
    result.typed = expect.type.has_value();
    result.type = expect.type.value_or(ElementType::u8);
    result.tolerant = expect.has_tolerance;
    if (!expect.sha256.empty()) {
        result.elements = got.size() / element_size(result.type);
        const std::string hash = sha256_hex(got);
        if (hash != expect.sha256) {
            result.got_hash = hash;
            result.expected_hash = expect.sha256;
        }
        return result;
    }
    std::vector<uint8_t> file;
    std::span<const std::byte> expected = expect.values;
    if (!expect.file.empty()) {
        auto read = read_file(expect.file);
        if (!read) return std::move(read).error().within(expect.where);
        file = std::move(read).value();
        expected = std::as_bytes(std::span(file));
    }
    if (expected.size() != got.size() || got.size() % element_size(result.type) != 0) {
        return make_error(ErrorCode::input, expect.where,
                          "'" + name + "' has " + std::to_string(got.size()) +
                              " bytes, its expectation " + std::to_string(expected.size()) +
                              (expect.file.empty() ? "" : " (" + expect.file + ")"));
    }
    compare_elements(result, got, expected, expect);
    return result;
}

}  // namespace sassemu::plan
