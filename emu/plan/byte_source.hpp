// SPDX-License-Identifier: Apache-2.0
// Bytes that are read piece by piece: a buffer or a file may be far larger than the memory that is
// there, when most of it is zeros that nobody has touched. What belongs here: where such bytes come
// from. What does not: what is done with them (compare.hpp, atomic_file.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include "emu/base/pages.hpp"
#include "emu/base/result.hpp"
#include "emu/gpu.hpp"

namespace sassemu::plan {

class ByteSource {
  public:
    static constexpr size_t piece = 1 << 20;  // bytes that are best read at a time

    explicit ByteSource(uint64_t size) : size_(size) {}
    virtual ~ByteSource() = default;
    uint64_t size() const { return size_; }
    // How many bytes from `at` on are known to be zeros without a look at them.
    virtual uint64_t zeros(uint64_t at) = 0;
    virtual Result<void> read(uint64_t at, std::span<std::byte> out) = 0;

  private:
    uint64_t size_;
};

class SpanSource : public ByteSource {
  public:
    explicit SpanSource(std::span<const std::byte> bytes)
        : ByteSource(bytes.size()), bytes_(bytes) {}
    uint64_t zeros(uint64_t) override { return 0; }
    Result<void> read(uint64_t at, std::span<std::byte> out) override {
        if (!out.empty()) std::memcpy(out.data(), bytes_.data() + at, out.size());
        return {};
    }

  private:
    std::span<const std::byte> bytes_;
};

// Device memory, while nothing runs.
class DeviceSource : public ByteSource {
  public:
    DeviceSource(Gpu& gpu, uint64_t address, uint64_t bytes)
        : ByteSource(bytes),
          gpu_(gpu),
          knows_(dynamic_cast<TouchedMemory*>(&gpu)),
          address_(address) {}
    uint64_t zeros(uint64_t at) override;
    Result<void> read(uint64_t at, std::span<std::byte> out) override;

  private:
    Gpu& gpu_;
    TouchedMemory* knows_;  // null: all of it is read
    uint64_t address_;
    uint64_t zeros_end_ = 0, data_end_ = 0;  // of the stretch of zeros and the one after it
};

// A file: a regular one stays open and is read when it is asked for, another is read at once.
// Errors are of kind `input` and name the path.
Result<std::unique_ptr<ByteSource>> open_byte_source(const std::string& path);

}  // namespace sassemu::plan
