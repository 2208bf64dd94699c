// SPDX-License-Identifier: Apache-2.0
// host.h for C++20: an attachment and its buffers as values, spans, atomics like std::atomic's.
// What belongs here: forms, no behaviour of its own. Every failure but a wait's timeout is an
// exception of type Error; units, ranges and threads are as there.
#pragma once

#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "sassemu_host/host.h"

namespace sassemu::host_process {

class Error : public std::runtime_error {
  public:
    explicit Error(int status)
        : std::runtime_error(sassemu_host_error()),
          status_(static_cast<sassemu_host_status>(status)) {}
    sassemu_host_status status() const { return status_; }

  private:
    sassemu_host_status status_;
};

namespace detail {
inline void check(int status) {
    if (status != SASSEMU_HOST_OK) throw Error(status);
}
// False: the time is over.
inline bool in_time(int status) {
    if (status == SASSEMU_HOST_TIMEOUT) return false;
    check(status);
    return true;
}
template <class T>
constexpr sassemu_host_type type_of() {
    if constexpr (std::is_same_v<T, float>) return SASSEMU_HOST_F32;
    if constexpr (std::is_same_v<T, double>) return SASSEMU_HOST_F64;
    if constexpr (std::is_signed_v<T>) return sizeof(T) == 4 ? SASSEMU_HOST_S32 : SASSEMU_HOST_S64;
    return sizeof(T) == 4 ? SASSEMU_HOST_U32 : SASSEMU_HOST_U64;
}
}  // namespace detail

using Timeout = std::optional<std::chrono::nanoseconds>;  // nothing: for ever
inline int64_t nanoseconds(const Timeout& timeout) {
    return timeout ? timeout->count() : SASSEMU_HOST_FOREVER;
}

// A value in a buffer as an atomic of system scope: float, double, and integers of 4 or 8 bytes.
template <class T>
requires(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8)) class AtomicRef {
  public:
    AtomicRef(sassemu_attachment* attachment, uint32_t buffer, uint64_t offset)
        : attachment_(attachment), buffer_(buffer), offset_(offset) {}

    T load() const {
        T value;
        detail::check(sassemu_host_load(attachment_, buffer_, offset_, &value, sizeof value));
        return value;
    }
    operator T() const { return load(); }  // as std::atomic_ref has it
    void store(T value) const {
        uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof value);
        detail::check(sassemu_host_ring(attachment_, buffer_, offset_, bits, sizeof value));
    }
    T exchange(T value) const {
        if constexpr (std::is_floating_point_v<T>) {
            using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
            return std::bit_cast<T>(AtomicRef<Bits>(attachment_, buffer_, offset_)
                                        .exchange(std::bit_cast<Bits>(value)));
        } else {
            return change(SASSEMU_HOST_EXCHANGE, value);
        }
    }
    // By the bits, as std::atomic's. False: `expected` is now what was there.
    bool compare_exchange_strong(T& expected, T desired) const {
        T old;
        detail::check(sassemu_host_atomic(attachment_, buffer_, offset_, SASSEMU_HOST_COMPARE,
                                          sizeof(T) == 4 ? SASSEMU_HOST_U32 : SASSEMU_HOST_U64,
                                          sizeof(T), &expected, &desired, &old));
        const bool same = !std::memcmp(&old, &expected, sizeof old);
        expected = old;
        return same;
    }
    T fetch_add(T value) const { return change(SASSEMU_HOST_ADD, value); }
    T fetch_sub(T value) const { return change(SASSEMU_HOST_ADD, static_cast<T>(T{} - value)); }
    T fetch_min(T value) const requires std::is_integral_v<T> {
        return change(SASSEMU_HOST_MIN, value);
    }
    T fetch_max(T value) const requires std::is_integral_v<T> {
        return change(SASSEMU_HOST_MAX, value);
    }
    T fetch_and(T value) const requires std::is_integral_v<T> {
        return change(SASSEMU_HOST_AND, value);
    }
    T fetch_or(T value) const requires std::is_integral_v<T> {
        return change(SASSEMU_HOST_OR, value);
    }
    T fetch_xor(T value) const requires std::is_integral_v<T> {
        return change(SASSEMU_HOST_XOR, value);
    }
    // False: the time is over.
    bool wait(sassemu_host_test test, T value, Timeout timeout = {}) const {
        uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof value);
        return detail::in_time(sassemu_host_wait(attachment_, buffer_, offset_, sizeof value, test,
                                                 bits, nanoseconds(timeout)));
    }

  private:
    T change(sassemu_host_operator op, T value) const {
        T old;
        detail::check(sassemu_host_atomic(attachment_, buffer_, offset_, op, detail::type_of<T>(),
                                          sizeof value, &value, nullptr, &old));
        return old;
    }
    sassemu_attachment* attachment_;
    uint32_t buffer_;
    uint64_t offset_;
};

// A buffer of the plan, or registered memory. Good as long as its attachment.
class Buffer {
  public:
    Buffer(sassemu_attachment* attachment, const sassemu_host_buffer& about)
        : attachment_(attachment), about_(about) {}

    uint32_t id() const { return about_.id; }
    const char* name() const { return about_.name; }
    uint64_t address() const { return about_.address; }
    uint64_t bytes() const { return about_.bytes; }
    uint32_t gpu() const { return about_.gpu; }
    sassemu_host_kind kind() const { return static_cast<sassemu_host_kind>(about_.kind); }
    bool shared() const { return about_.shared; }

    // Its own bytes, where they may be had; `T` aligned as the buffer is.
    template <class T = std::byte>
    std::span<T> map() const {
        void* at = nullptr;
        detail::check(sassemu_host_map(attachment_, about_.id, &at));
        return {static_cast<T*>(at), static_cast<size_t>(about_.bytes / sizeof(T))};
    }
    template <class T>
    requires std::is_trivially_copyable_v<T>
    void read(std::span<T> to, uint64_t offset = 0) const {
        detail::check(
            sassemu_host_read(attachment_, about_.id, offset, to.data(), to.size_bytes()));
    }
    template <class T>
    requires std::is_trivially_copyable_v<T>
    void write(std::span<T> from, uint64_t offset = 0) const {
        detail::check(
            sassemu_host_write(attachment_, about_.id, offset, from.data(), from.size_bytes()));
    }
    // 1, 2, 4, 8 or 16 bytes, aligned.
    template <class T>
    requires std::is_trivially_copyable_v<T> T load(uint64_t offset = 0)
    const {
        T value;
        detail::check(sassemu_host_load(attachment_, about_.id, offset, &value, sizeof value));
        return value;
    }
    template <class T>
    requires std::is_trivially_copyable_v<T>
    void store(const T& value, uint64_t offset = 0) const {
        detail::check(sassemu_host_store(attachment_, about_.id, offset, &value, sizeof value));
    }
    void copy_from(const Buffer& from, uint64_t bytes, uint64_t offset = 0,
                   uint64_t from_offset = 0) const {
        detail::check(
            sassemu_host_copy(attachment_, about_.id, offset, from.about_.id, from_offset, bytes));
    }
    template <class T>
    AtomicRef<T> atomic(uint64_t offset = 0) const {
        return {attachment_, about_.id, offset};
    }

  private:
    sassemu_attachment* attachment_;
    sassemu_host_buffer about_;
};

// Detaches where it ends.
class Attachment {
  public:
    struct Options {
        bool hold = false;                     // launches wait for begin()
        std::chrono::nanoseconds patience{0};  // for an emulator that does not listen yet
    };
    explicit Attachment(const std::string& address) : Attachment(address, Options()) {}
    Attachment(const std::string& address, const Options& options) {
        const sassemu_host_options o{sizeof o, options.hold, options.patience.count()};
        detail::check(sassemu_host_attach(address.c_str(), &o, &attachment_));
    }
    Attachment(Attachment&& other) noexcept
        : attachment_(std::exchange(other.attachment_, nullptr)) {}
    Attachment& operator=(Attachment&& other) noexcept {
        std::swap(attachment_, other.attachment_);
        return *this;
    }
    ~Attachment() { sassemu_host_detach(attachment_); }

    void begin() { detail::check(sassemu_host_begin(attachment_)); }
    std::span<const sassemu_host_buffer> buffers() const {
        const sassemu_host_buffer* list = nullptr;
        size_t count = 0;
        detail::check(sassemu_host_buffers(attachment_, &list, &count));
        return {list, count};
    }
    Buffer operator[](const std::string& name) const {
        sassemu_host_buffer about;
        detail::check(sassemu_host_find(attachment_, name.c_str(), &about));
        return {attachment_, about};
    }
    // Memory of this process that kernels reach until it is taken back, or the attachment ends.
    Buffer add_memory(const std::string& name, uint64_t bytes, uint64_t address = 0) {
        sassemu_host_buffer about;
        detail::check(
            sassemu_host_register(attachment_, name.c_str(), bytes, address, &about, nullptr));
        return {attachment_, about};
    }
    void remove_memory(const Buffer& buffer) {
        detail::check(sassemu_host_unregister(attachment_, buffer.id()));
    }
    // How the launches ended ("ok", "deadlock", ...); nothing: the time is over.
    std::optional<std::string> finish(Timeout timeout = {}) {
        const char* outcome = nullptr;
        if (!detail::in_time(sassemu_host_finish(attachment_, nanoseconds(timeout), &outcome)))
            return {};
        return outcome;
    }
    sassemu_attachment* get() const { return attachment_; }

  private:
    sassemu_attachment* attachment_ = nullptr;
};

}  // namespace sassemu::host_process
