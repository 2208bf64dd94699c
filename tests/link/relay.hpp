// SPDX-License-Identifier: Apache-2.0
// A relay between two processes of the link, which harms what it carries: frames are held, lost,
// doubled, swapped, changed, cut off, from a seed. For tests only.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace link_test {

struct Harm {  // of 1000 frames each
    int hold = 0, drop = 0, twice = 0, swap = 0, flip = 0, cut = 0;
};

class Relay {
  public:
    // Paths of Unix sockets: where it listens, and whom it calls for every connection.
    Relay(std::string here, std::string there, Harm harm, uint64_t seed);
    ~Relay();
    uint64_t frames() const { return frames_; }
    uint64_t harmed() const { return harmed_; }
    // Ends all connections there are; with false, until it is called with true, there are no new
    // ones.
    void cut(bool reconnects);

  private:
    void accept();
    void carry(int from, int to, uint64_t seed);
    void send(int to, const std::vector<std::byte>& bytes);

    const std::string here_, there_;
    const Harm harm_;
    const uint64_t seed_;
    int listens_;
    std::mutex mutex_;
    std::vector<int> open_;
    std::vector<std::thread> threads_;
    std::atomic<uint64_t> frames_{0}, harmed_{0};
    std::atomic<bool> end_{false}, refuses_{false};
    std::thread accepts_;
};

}  // namespace link_test
