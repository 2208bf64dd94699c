// SPDX-License-Identifier: Apache-2.0
// See relay.hpp.
#include "relay.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "emu/link/frame.hpp"

namespace link_test {

namespace {

sockaddr_un address_of(const std::string& path) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::strncpy(at.sun_path, path.c_str(), sizeof at.sun_path - 1);
    return at;
}

}  // namespace

Relay::Relay(std::string here, std::string there, Harm harm, uint64_t seed)
    : here_(std::move(here)),
      there_(std::move(there)),
      harm_(harm),
      seed_(seed),
      listens_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    ::unlink(here_.c_str());
    const sockaddr_un at = address_of(here_);
    if (::bind(listens_, reinterpret_cast<const sockaddr*>(&at), sizeof at) ||
        ::listen(listens_, 16))
        std::abort();
    accepts_ = std::thread([this] { accept(); });
}

Relay::~Relay() {
    end_ = true;
    ::shutdown(listens_, SHUT_RDWR);
    accepts_.join();
    cut(false);
    for (std::thread& thread : threads_) thread.join();
    for (const int socket : open_) ::close(socket);
    ::close(listens_);
    ::unlink(here_.c_str());
}

void Relay::cut(bool reconnects) {
    refuses_ = !reconnects;
    const std::lock_guard guard(mutex_);
    for (const int socket : open_) ::shutdown(socket, SHUT_RDWR);
}

void Relay::accept() {
    for (uint64_t count = 0; !end_; ++count) {
        const int from = ::accept4(listens_, nullptr, nullptr, SOCK_CLOEXEC);
        if (from < 0) continue;
        const int to = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const sockaddr_un at = address_of(there_);
        const std::lock_guard guard(mutex_);
        open_.push_back(from);
        open_.push_back(to);
        if (refuses_ || ::connect(to, reinterpret_cast<const sockaddr*>(&at), sizeof at)) {
            ::shutdown(from, SHUT_RDWR);
            continue;
        }
        threads_.emplace_back([=, this] { carry(from, to, seed_ + 2 * count); });
        threads_.emplace_back([=, this] { carry(to, from, seed_ + 2 * count + 1); });
    }
}

void Relay::send(int to, const std::vector<std::byte>& bytes) {
    for (size_t done = 0; done < bytes.size();) {
        const ssize_t count = ::send(to, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
        if (count <= 0) return;
        done += static_cast<size_t>(count);
    }
}

void Relay::carry(int from, int to, uint64_t seed) {
    std::mt19937_64 random(seed * 0x9e3779b97f4a7c15u + 1);
    const auto happens = [&](int per_mille) {
        const bool does = static_cast<int>(random() % 1000) < per_mille;
        harmed_ += does;
        return does;
    };
    std::vector<std::byte> bytes, held;
    const auto end = [&] {
        ::shutdown(from, SHUT_RDWR);
        ::shutdown(to, SHUT_RDWR);
    };
    for (;;) {
        std::byte buffer[65536];
        const ssize_t count = ::recv(from, buffer, sizeof buffer, 0);
        if (count <= 0) return end();
        bytes.insert(bytes.end(), buffer, buffer + count);
        size_t at = 0;
        while (bytes.size() - at >= sassemu::link::header_bytes) {
            uint32_t body;
            std::memcpy(&body, bytes.data() + at + 24, sizeof body);
            const size_t size = sassemu::link::header_bytes + size_t{body};
            if (bytes.size() - at < size) break;
            std::vector<std::byte> frame(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                                         bytes.begin() + static_cast<std::ptrdiff_t>(at + size));
            at += size;
            ++frames_;
            if (happens(harm_.hold))
                std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
            if (happens(harm_.drop)) continue;
            if (happens(harm_.flip))
                frame[random() % size] ^= static_cast<std::byte>(1u << random() % 8);
            if (happens(harm_.cut)) {
                frame.resize(random() % size);
                send(to, frame);
                return end();
            }
            if (held.empty() && happens(harm_.swap)) {
                held = std::move(frame);
                continue;
            }
            if (happens(harm_.twice)) send(to, frame);
            send(to, frame);
            send(to, std::exchange(held, {}));
        }
        bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
    }
}

}  // namespace link_test
