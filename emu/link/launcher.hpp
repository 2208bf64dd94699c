// SPDX-License-Identifier: Apache-2.0
// A rank that a launcher (mpirun, srun) has started: how it learns its number and where the others
// listen. What does not belong here: how it talks to the launcher (pmix.hpp).
#pragma once

#include <chrono>
#include <memory>

#include "emu/link/link.hpp"

namespace sassemu::link {

class Launcher {
  public:
    // Whether a launcher has started this process: its environment says so.
    static bool present();
    // An Error also: another process of the job has the same rank.
    static Result<std::unique_ptr<Launcher>> join(
        std::chrono::milliseconds patience = LinkOptions{}.patience);
    // Waits until the others are through as well, or some seconds: a launcher ends all ranks when
    // one has ended badly, and each should have said before what it has to say.
    virtual ~Launcher() = default;

    virtual uint32_t rank() const = 0;
    virtual uint32_t ranks() const = 0;
    // Sets rank, addresses and security, and puts the job in front of the job's name. Where all
    // ranks share a node they listen at Unix sockets, otherwise at free ports of TCP, with a key
    // that rank 0 makes. All ranks call it equally often; an Error: one of them does not come.
    virtual Result<void> introduce(LinkOptions& options) = 0;
};

}  // namespace sassemu::link
