// SPDX-License-Identifier: Apache-2.0
// See atomic_file.hpp.
#include "emu/plan/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "emu/base/limits.hpp"

namespace sassemu::plan {
namespace {

Error system_error(const std::string& path, const std::string& verb, int number) {
    return make_error(ErrorCode::system, path, "cannot " + verb + ": " + std::strerror(number));
}

// errno of the first failure, or 0.
int write_piece(int descriptor, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return errno;
        bytes = bytes.subspan(static_cast<size_t>(count));
    }
    return 0;
}

Result<void> write_all(const std::string& path, int descriptor, ByteSource& bytes) {
    // Holes are made in a regular file (others cannot be cut, and a sandbox has no fstat) that ends
    // here, and where writes go to the place they are told.
    const off_t here = ::lseek(descriptor, 0, SEEK_CUR);
    const bool sparse = here >= 0 && ::lseek(descriptor, 0, SEEK_END) == here &&
                        !(::fcntl(descriptor, F_GETFL) & O_APPEND) &&
                        ::ftruncate(descriptor, here) == 0;
    if (here >= 0 && ::lseek(descriptor, here, SEEK_SET) != here)
        return system_error(path, "seek in", errno);
    std::vector<std::byte> piece(std::min<uint64_t>(bytes.size(), ByteSource::piece));
    int number = 0;
    for (uint64_t at = 0, size; at < bytes.size() && number == 0; at += size) {
        size = sparse ? bytes.zeros(at) : 0;
        if (size >= piece.size()) {
            if (::lseek(descriptor, static_cast<off_t>(size), SEEK_CUR) < 0) number = errno;
            continue;
        }
        size = std::min<uint64_t>(bytes.size() - at, piece.size());
        const std::span part = std::span(piece).first(size);
        SASSEMU_TRY(process_budget().check(path));
        SASSEMU_TRY(bytes.read(at, part));
        number = write_piece(descriptor, part);
    }
    // Zeros at the end are there when the file is as long.
    if (number == 0 && sparse && ::ftruncate(descriptor, ::lseek(descriptor, 0, SEEK_CUR)) != 0)
        number = errno;
    if (number != 0) return system_error(path, "write", number);
    return {};
}

// The names of temporary files, where a signal handler finds them: each stands here before its file
// is made, and is of random digits, so that it is nobody else's.
struct Name {
    enum : int { unused, changing, set };
    std::atomic<int> state{unused};
    char path[PATH_MAX];
};
static_assert(std::atomic<int>::is_always_lock_free);
std::array<Name, 8> names;  // one for each write that may be under way

// The file under construction: closed and removed unless it was renamed into place.
class TemporaryFile {
  public:
    explicit TemporaryFile(const std::filesystem::path& directory) {
        constexpr int attempts = 100;  // 64 random bits: one is enough, if they are random
        std::random_device random;
        for (int i = 0; i < attempts && descriptor_ < 0; ++i) {
            const uint64_t digits = uint64_t{random()} << 32 | random();
            char text[40];
            std::snprintf(text, sizeof text, ".sassemu-tmp.%016llx",
                          static_cast<unsigned long long>(digits));
            path_ = (directory / text).string();
            publish();
            descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            error_ = descriptor_ < 0 ? errno : 0;
            if (descriptor_ < 0) retract();
            if (error_ != EEXIST) break;
        }
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile() {
        if (descriptor_ >= 0) ::close(descriptor_);
        if (error_ == 0 && !renamed_) ::unlink(path_.c_str());
        retract();
    }
    int error() const { return error_; }  // errno of opening it, or 0

    // The owner and the mode of the file to be replaced. Only a privileged process can give files
    // away; the mode comes second, since a change of the owner drops bits of it.
    int resemble(const struct stat& old) {
        if (::fchown(descriptor_, old.st_uid, old.st_gid) != 0) {
        }
        return ::fchmod(descriptor_, old.st_mode & 07777) == 0 ? 0 : errno;
    }
    Result<void> write_and_close(const std::string& shown, ByteSource& bytes) {
        SASSEMU_TRY(write_all(shown, descriptor_, bytes));
        const int closed = ::close(std::exchange(descriptor_, -1));
        if (closed != 0) return system_error(shown, "write", errno);
        return {};
    }
    int rename_to(const std::string& target) {
        if (::rename(path_.c_str(), target.c_str()) != 0) return errno;
        renamed_ = true;
        return 0;
    }

    const std::string& path() const { return path_; }
    // The descriptor, which is the caller's now, and so is what becomes of the file; a signal
    // handler still finds its name.
    int release() {
        renamed_ = true;
        published_ = nullptr;
        return std::exchange(descriptor_, -1);
    }

  private:
    void publish() {
        if (path_.size() >= sizeof Name::path) return;  // open() will refuse it
        for (Name& name : names) {
            int unused = Name::unused;
            if (!name.state.compare_exchange_strong(unused, Name::changing)) continue;
            std::memcpy(name.path, path_.c_str(), path_.size() + 1);
            name.state = Name::set;
            published_ = &name;
            return;
        }
    }
    void retract() {
        if (published_ != nullptr) published_->state = Name::unused;
        published_ = nullptr;
    }

    std::string path_;
    int descriptor_ = -1, error_ = 0;
    bool renamed_ = false;
    Name* published_ = nullptr;
};

// Where a chain of symbolic links ends, whether there is a file or not.
std::filesystem::path link_target(std::filesystem::path path) {
    namespace fs = std::filesystem;
    constexpr int most_links = 40;  // as the kernel has it
    std::error_code error;
    for (int i = 0; i < most_links && fs::is_symlink(fs::symlink_status(path, error)); ++i) {
        const fs::path to = fs::read_symlink(path, error);
        if (error) break;
        path = path.parent_path() / to;  // an absolute one replaces it all
    }
    return path;
}

Result<void> write_in_place(const std::string& path, ByteSource& bytes) {
    // Without O_NONBLOCK a FIFO that nobody reads would be waited for.
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) return system_error(path, "open", errno);
    ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
    const Result<void> written = write_all(path, descriptor, bytes);
    if (::close(descriptor) != 0 && written) return system_error(path, "write", errno);
    return written;
}

// The temporary file for what will stand at `path`, where a chain of links may lead to `target`.
Result<std::unique_ptr<TemporaryFile>> open_beside(const std::string& path, std::string& target) {
    struct stat old {};
    const bool replaces = ::stat(path.c_str(), &old) == 0;
    if (replaces && !S_ISREG(old.st_mode))
        return make_error(ErrorCode::system, path, "is not a regular file, not replaced");
    const std::filesystem::path end = link_target(path);
    std::error_code ignored;
    if (std::filesystem::is_symlink(std::filesystem::symlink_status(end, ignored)))
        return system_error(path, "open", ELOOP);
    target = end.string();
    auto file = std::make_unique<TemporaryFile>(end.parent_path());
    if (file->error() != 0) return system_error(path, "create", file->error());
    if (replaces)
        if (const int number = file->resemble(old)) return system_error(path, "create", number);
    return file;
}

// The N of "/dev/fd/N"; -1: it is another path.
int own_descriptor(std::string_view path) {
    constexpr std::string_view folder = "/dev/fd/";
    int number = -1;
    if (!path.starts_with(folder)) return -1;
    const char* const end = path.data() + path.size();
    const auto read = std::from_chars(path.data() + folder.size(), end, number);
    return read.ec == std::errc{} && read.ptr == end ? number : -1;
}

Result<void> write_descriptor(const std::string& path, int descriptor, ByteSource& bytes) {
    const Result<void> written = write_all(path, descriptor, bytes);
    if (!written) {
        [[maybe_unused]] const int emptied = ::ftruncate(descriptor, 0);
    }
    return written;
}

}  // namespace

Result<Replacement> open_replacement(const std::string& path) {
    Replacement file;
    SASSEMU_ASSIGN(const auto temporary, open_beside(path, file.target));
    file.temporary = temporary->path();
    file.descriptor = temporary->release();
    return file;
}

Result<void> write_file_atomically(const std::string& path, ByteSource& bytes) {
    if (const int own = own_descriptor(path); own >= 0) return write_descriptor(path, own, bytes);
    struct stat old {};
    if (::stat(path.c_str(), &old) == 0 && (S_ISCHR(old.st_mode) || S_ISFIFO(old.st_mode)))
        return write_in_place(path, bytes);
    std::string target;
    SASSEMU_ASSIGN(const auto file, open_beside(path, target));
    SASSEMU_TRY(file->write_and_close(path, bytes));
    if (const int number = file->rename_to(target)) return system_error(path, "replace", number);
    return {};
}

void remove_temporary_files() noexcept {
    for (const Name& name : names)
        if (name.state == Name::set) ::unlink(name.path);
}

}  // namespace sassemu::plan
