// SPDX-License-Identifier: Apache-2.0
// PMIx, by which launchers (mpirun, srun) and the processes that they start know of each other:
// what the link needs of it. The system's libpmix.so.2 is loaded when it is first used; no other
// part of the program knows of it. What does not belong here: what the ranks tell each other
// (launcher.cpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "emu/base/result.hpp"

namespace sassemu::link {

class Pmix {
  public:
    // An Error: this program was built without PMIx, there is no library, or nobody answers.
    static Result<std::unique_ptr<Pmix>> connect();
    virtual ~Pmix() = default;

    std::string job;  // the namespace: no other job of the launcher's has it
    uint32_t rank = 0, ranks = 0;
    bool one_node = false;  // all ranks share this one's

    // For get() of all ranks, once they have come to a fence.
    virtual Result<void> put(const std::string& key, const std::string& value) = 0;
    // All ranks have come to as many fences as this one. An Error of code `limit`: not in time.
    virtual Result<void> fence(std::chrono::milliseconds patience) = 0;
    // An Error also: the rank has put no such thing so far.
    virtual Result<std::string> get(uint32_t rank, const std::string& key) = 0;
};

}  // namespace sassemu::link
