// SPDX-License-Identifier: Apache-2.0
// See byte_source.hpp.
#include "emu/plan/byte_source.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "emu/base/input_file.hpp"
#include "emu/base/limits.hpp"
#include "emu/module/module.hpp"

namespace sassemu::plan {
namespace {

class FileSource : public ByteSource {
  public:
    FileSource(std::string path, int descriptor, uint64_t size)
        : ByteSource(size), path_(std::move(path)), descriptor_(descriptor) {}
    ~FileSource() override { ::close(descriptor_); }

    uint64_t zeros(uint64_t at) override {
        if (at < next_data_) return next_data_ - at;
        const off_t data = ::lseek(descriptor_, static_cast<off_t>(at), SEEK_DATA);
        if (data < 0) return errno == ENXIO ? size() - at : 0;
        next_data_ = static_cast<uint64_t>(data);
        return next_data_ - at;
    }
    Result<void> read(uint64_t at, std::span<std::byte> out) override {
        SASSEMU_TRY(process_budget().check(path_));
        while (!out.empty()) {
            const ssize_t count =
                ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(at));
            if (count < 0 && errno == EINTR) continue;
            if (count < 0)
                return make_error(ErrorCode::input, path_,
                                  std::string("cannot be read: ") + std::strerror(errno));
            if (count == 0) return make_error(ErrorCode::input, path_, "became shorter");
            at += static_cast<uint64_t>(count);
            out = out.subspan(static_cast<size_t>(count));
        }
        return {};
    }

  private:
    std::string path_;
    int descriptor_;
    uint64_t next_data_ = 0;  // found by the last look
};

class OwnedSource : public ByteSource {
  public:
    explicit OwnedSource(std::vector<uint8_t> bytes)
        : ByteSource(bytes.size()),
          bytes_(std::move(bytes)),
          span_(std::as_bytes(std::span(bytes_))) {}
    uint64_t zeros(uint64_t at) override { return span_.zeros(at); }
    Result<void> read(uint64_t at, std::span<std::byte> out) override {
        return span_.read(at, out);
    }

  private:
    std::vector<uint8_t> bytes_;
    SpanSource span_;
};

}  // namespace

uint64_t DeviceSource::zeros(uint64_t at) {
    // Of many gigabytes the search alone takes seconds: between parts of them limits are looked at.
    constexpr uint64_t part = uint64_t{4} << 30;
    if (at >= data_end_) {
        const uint64_t bytes = std::min(part, size() - at);
        const auto [begin, end] =
            knows_ ? knows_->touched(address_ + at, bytes) : std::pair(uint64_t{0}, bytes);
        zeros_end_ = at + begin;
        data_end_ = at + end;
    }
    return at < zeros_end_ ? zeros_end_ - at : 0;
}

Result<void> DeviceSource::read(uint64_t at, std::span<std::byte> out) {
    if (zeros(at) < out.size()) return gpu_.read(address_ + at, out);
    std::ranges::fill(out, std::byte{0});
    return {};
}

Result<std::unique_ptr<ByteSource>> open_byte_source(const std::string& path) {
    struct stat status {};
    // A path with a zero in it, and a file under /proc, which says no size: read_file() knows both.
    if (path.find('\0') == std::string::npos && ::stat(path.c_str(), &status) == 0 &&
        S_ISREG(status.st_mode) && status.st_size > 0) {
        SASSEMU_ASSIGN(const int opened, open_input(path));
        if (::fstat(opened, &status) == 0 && S_ISREG(status.st_mode))
            return std::unique_ptr<ByteSource>(
                new FileSource(path, opened, static_cast<uint64_t>(status.st_size)));
        ::close(opened);
    }
    SASSEMU_ASSIGN(std::vector<uint8_t> bytes, read_file(path));
    return std::unique_ptr<ByteSource>(new OwnedSource(std::move(bytes)));
}

}  // namespace sassemu::plan
