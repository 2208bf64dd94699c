// SPDX-License-Identifier: Apache-2.0
// Other clients of memory that run beside a kernel: a copy engine, the front end, the host. What
// belongs here: their programs. How each sees memory is the hierarchy's.
#pragma once

#include <sassemu/plugin.hpp>

#include <string_view>
#include <vector>

#include "hierarchy.hpp"

namespace caches {

// A program of another client: waits for a value in memory, then copies bytes, both as its channel
// sees memory.
struct ClientProgram {
    Station sees = Station::gpu;
    uint64_t flag = 0, from = 0, to = 0, bytes = 0;
    uint32_t value = 0;
    bool done = false;
};

class Clients {
  public:
    // FLAG:VALUE:FROM:TO:BYTES of `ce`, `fe` or `host`.
    void add(std::string_view key, std::string_view text) {
        ClientProgram c;
        c.sees = key == "host" ? Station::sys : Station::gpu;
        uint64_t part[5];
        for (uint64_t& p : part) {
            const size_t colon = text.find(':');
            p = sassemu::Start::parse(key, text.substr(0, colon));
            text = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
        }
        if (!text.empty())
            throw std::invalid_argument("option '" + std::string(key) + "' has five numbers");
        c.flag = part[0];
        c.value = static_cast<uint32_t>(part[1]);
        c.from = part[2];
        c.to = part[3];
        c.bytes = part[4];
        all_.push_back(c);
    }
    bool empty() const { return all_.empty(); }
    std::string key() const {
        std::string text;
        for (const ClientProgram& c : all_) text += static_cast<char>(c.done);
        return text;
    }
    void begin() {  // of a launch
        for (ClientProgram& c : all_) c.done = false;
    }
    // Those that see their flag act. What they write is in L2, and in no cache of an SM.
    void look(const Hierarchy& hierarchy, Memory& memory) {
        for (ClientProgram& c : all_) {
            uint32_t now = 0;
            if (c.done ||
                !hierarchy.client_read(memory, c.sees, c.flag, reinterpret_cast<uint8_t*>(&now),
                                       4) ||
                now != c.value)
                continue;
            c.done = true;
            std::vector<uint8_t> bytes(c.bytes);
            if (hierarchy.client_read(memory, c.sees, c.from, bytes.data(),
                                      static_cast<unsigned>(c.bytes)))
                memory.write(c.to, bytes.data(), static_cast<unsigned>(c.bytes));
        }
    }

  private:
    std::vector<ClientProgram> all_;
};

}  // namespace caches
