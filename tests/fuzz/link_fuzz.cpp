// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: what comes over a connection -> frames -> a session with one registered window,
// whose neighbours must stay as they are. The first byte says how the rest is meant: 0, bytes as
// they come, in pieces; else frames (type, length, body) with their numbers and sums put right, so
// that what stands in bodies is reached. Build: cmake --preset fuzz && cmake --build --preset fuzz
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "emu/link/session.hpp"

using namespace sassemu::link;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    static constexpr size_t front = 256, window = 1024;
    alignas(16) static std::byte memory[front + window + front];
    std::fill_n(memory, front, std::byte{0xaa});
    std::fill_n(memory + front + window, front, std::byte{0xaa});
    Windows windows(4);
    (void)windows.add({0x10000, window, memory + front, "w", true, -1, false});
    SessionLimits limits;
    limits.frame_bytes = 4096;
    limits.in_flight_bytes = 16384;
    limits.requests = 8;
    Session::Time now{};
    Session session({0, 2, "job", 1}, 1, limits, windows, now);
    Session other({1, 2, "job", 2}, 0, limits, windows, now);
    message::Hello hello = other.hello();
    if (data[1] & 1) {  // a hello that was made up
        (void)hello.ParseFromArray(data + 2, static_cast<int>(std::min<size_t>(size - 2, 200)));
        if (session.check(hello)) session.connected(hello, now);
        return 0;
    }
    session.connected(hello, now);
    (void)session.drain();
    FrameParser parser(limits.frame_bytes);
    iovec out[8];
    const auto take = [&](const std::byte* bytes, size_t count) {
        while (count) {
            const auto room = parser.room();
            const size_t part = std::min(room.size(), count);
            std::memcpy(room.data(), bytes, part);
            parser.filled(part);
            bytes += part;
            count -= part;
            for (;;) {
                const auto frame = parser.next();
                if (!frame) return false;
                if (!*frame) break;
                if (!session.received(**frame, now)) return false;
            }
        }
        session.settle();
        size_t total = 0;
        for (size_t i = 0, n = session.gather(out, 8); i < n; ++i) total += out[i].iov_len;
        session.wrote(total, now);
        return session.kept_bytes() < (64 << 20);
    };
    const auto* at = reinterpret_cast<const std::byte*>(data + 2);
    size_t left = size - 2;
    for (uint64_t number = 1; left;) {
        if (!data[0]) {
            const size_t part = std::min<size_t>(left, 1 + data[1] % 64);
            if (!take(at, part)) break;
            at += part;
            left -= part;
            continue;
        }
        const auto type = static_cast<FrameType>(static_cast<uint8_t>(at[0]) % 13);
        const size_t length =
            std::min<size_t>(left - 1, left > 1 ? static_cast<uint8_t>(at[1]) : 0);
        at += std::min<size_t>(left, 2);
        left -= std::min<size_t>(left, 2);
        const size_t part = std::min(length, left);
        const bool numbered = type != FrameType::acknowledge;
        Bytes frame = make_frame(type, numbered ? number : 0, {at, part});
        seal(frame, 0);
        at += part;
        left -= part;
        number += numbered;
        if (!take(frame.data(), frame.size())) break;
    }
    for (size_t i = 0; i < front; ++i)
        if (memory[i] != std::byte{0xaa} || memory[front + window + i] != std::byte{0xaa})
            __builtin_trap();
    return 0;
}
