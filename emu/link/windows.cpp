// SPDX-License-Identifier: Apache-2.0
// See windows.hpp.
#include "emu/link/windows.hpp"

#include <fcntl.h>

#include <cstring>
#include <mutex>

#include "emu/machine/outside.hpp"
#include "emu/memory/host_access.hpp"
#include "emu/memory/perform.hpp"

namespace sassemu::link {

namespace {

// What lies at a multiple of its size is touched at once, as the kernels of this process do:
// `few(at, bytes)` for 1, 2 or 4 bytes, `many` for all that fill whole words of 8.
template <class Few, class Many>
void in_pieces(const std::byte* at, size_t bytes, Few&& few, Many&& many) {
    const auto place = reinterpret_cast<uintptr_t>(at);
    for (size_t done = 0; done < bytes;) {
        const size_t left = bytes - done, in_word = (place + done) % 8;
        if (!in_word && left >= 8) {
            many(done, left / 8 * 8);
            done += left / 8 * 8;
            continue;
        }
        size_t piece = 4;
        while (piece > left || in_word % piece) piece /= 2;
        few(done, static_cast<unsigned>(piece));
        done += piece;
    }
}

}  // namespace

Result<uint32_t> Windows::add(const Window& window) {
    const std::unique_lock lock(mutex_);
    if (!window.bytes || window.address + window.bytes < window.address)
        return Error{ErrorCode::usage, "window '" + window.name + "'",
                     std::to_string(window.bytes) + " bytes are no window", ""};
    if (windows_.size() >= most_)
        return Error{ErrorCode::limit, "window '" + window.name + "'",
                     "a process registers at most " + std::to_string(most_), ""};
    windows_.emplace(++last_, window);
    return last_;
}

Result<void> Windows::remove(uint32_t id) {
    const std::unique_lock lock(mutex_);
    if (windows_.erase(id)) return {};
    return Error{ErrorCode::usage, "window " + std::to_string(id), "is not registered", ""};
}

std::vector<std::pair<uint32_t, Window>> Windows::all() const {
    const std::shared_lock lock(mutex_);
    return {windows_.begin(), windows_.end()};
}

int Windows::descriptor(uint32_t id) const {
    const std::shared_lock lock(mutex_);
    const auto found = windows_.find(id);
    if (found == windows_.end() || found->second.descriptor < 0) return -1;
    return ::fcntl(found->second.descriptor, F_DUPFD_CLOEXEC, 0);
}

template <class F>
Status Windows::within(uint32_t id, uint64_t offset, uint64_t bytes, bool write, F&& f) const {
    const std::shared_lock lock(mutex_);
    const auto found = windows_.find(id);
    if (found == windows_.end()) return Status::no_window;
    const Window& window = found->second;
    if (offset > window.bytes || bytes > window.bytes - offset) return Status::outside;
    if (write && !window.writable) return Status::read_only;
    return f(window);
}

Status Windows::put(uint32_t id, uint64_t offset, std::span<const std::byte> bytes) {
    return within(id, offset, bytes.size(), true, [&](const Window& window) {
        std::byte* const at = window.host + offset;
        if (window.seen) {
            window.seen->write(window.address + offset, bytes);
            return Status::ok;
        }
        in_pieces(
            at, bytes.size(),
            [&](size_t done, unsigned piece) {
                uint64_t value = 0;
                std::memcpy(&value, bytes.data() + done, piece);
                host::store_bytes(at + done, piece, value);
            },
            [&](size_t done, size_t piece) { host::write(at + done, bytes.data() + done, piece); });
        return Status::ok;
    });
}

Status Windows::get(uint32_t id, uint64_t offset, std::span<std::byte> bytes) const {
    return within(id, offset, bytes.size(), false, [&](const Window& window) {
        const std::byte* const at = window.host + offset;
        if (window.seen) {
            window.seen->read(window.address + offset, bytes);
            return Status::ok;
        }
        in_pieces(
            at, bytes.size(),
            [&](size_t done, unsigned piece) {
                const uint64_t value = host::load_bytes(at + done, piece);
                std::memcpy(bytes.data() + done, &value, piece);
            },
            [&](size_t done, size_t piece) { host::read(bytes.data() + done, at + done, piece); });
        return Status::ok;
    });
}

Status Windows::atomic(const AtomicBody& what, uint64_t old[2]) {
    const auto op = static_cast<AtomicOp>(what.op);
    const auto type = static_cast<AtomicType>(what.type);
    if (!atomic_exists(op, type, what.bytes)) return Status::no_such_operation;
    return within(what.window, what.offset, what.bytes, true, [&](const Window& window) {
        std::byte* const at = window.host + what.offset;
        if (reinterpret_cast<uintptr_t>(at) % what.bytes) return Status::misaligned;
        if (window.seen) {
            const FarMemory::Change change{op,
                                           type,
                                           what.bytes,
                                           {what.operand[0], what.operand[1]},
                                           {what.swap[0], what.swap[1]}};
            window.seen->update(window.address + what.offset, change, old);
            return Status::ok;
        }
        bool changed = false;
        const host::Wide was =
            update_at(at, op, type, what.bytes, {what.operand[0], what.operand[1]},
                      {what.swap[0], what.swap[1]}, changed);
        old[0] = was.lo;
        old[1] = was.hi;
        return Status::ok;
    });
}

}  // namespace sassemu::link
