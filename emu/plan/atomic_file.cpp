// SPDX-License-Identifier: Apache-2.0
// See atomic_file.hpp.
#include "emu/plan/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace sassemu::plan {
namespace {

Error system_error(const std::string& path, const std::string& verb, int number) {
    return make_error(ErrorCode::system, path, "cannot " + verb + ": " + std::strerror(number));
}

// The file under construction: closed and removed unless it was renamed into place.
class TemporaryFile {
  public:
    explicit TemporaryFile(std::string path) : path_(std::move(path)) {
        descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile() {
        if (descriptor_ >= 0) ::close(descriptor_);
        if (opened() && !renamed_) ::unlink(path_.c_str());
    }
    bool opened() const { return descriptor_ != -1; }

    // errno of the first failure, or 0.
    int write_all(std::span<const std::byte> bytes) {
        while (!bytes.empty()) {
            const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) return errno;
            bytes = bytes.subspan(static_cast<size_t>(count));
        }
        const int closed = ::close(descriptor_);
        descriptor_ = closed_;
        return closed == 0 ? 0 : errno;
    }
    int rename_to(const std::string& target) {
        if (::rename(path_.c_str(), target.c_str()) != 0) return errno;
        renamed_ = true;
        return 0;
    }

  private:
    static constexpr int closed_ = -2;
    std::string path_;
    int descriptor_ = -1;
    bool renamed_ = false;
};

}  // namespace

Result<void> write_file_atomically(const std::string& path, std::span<const std::byte> bytes) {
    struct stat status {};
    std::string target = path;
    if (::stat(path.c_str(), &status) == 0) {
        if (!S_ISREG(status.st_mode)) {
            return make_error(ErrorCode::system, path, "is not a regular file, not replaced");
        }
        // Follow a link: its target is what gets replaced.
        std::error_code ignored;
        const auto canonical = std::filesystem::canonical(path, ignored);
        if (!ignored) target = canonical.string();
    }
    TemporaryFile file(target + ".sassemu-tmp." + std::to_string(::getpid()));
    if (!file.opened()) return system_error(path, "create", errno);
    if (const int number = file.write_all(bytes)) return system_error(path, "write", number);
    if (const int number = file.rename_to(target)) return system_error(path, "replace", number);
    return {};
}

}  // namespace sassemu::plan
