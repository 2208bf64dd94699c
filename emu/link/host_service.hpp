// SPDX-License-Identifier: Apache-2.0
// Serves host processes (sdk/host) at a Unix socket of this user: what they ask for is done in the
// turns of the machine's scheduler, one thing after the other. What does not belong here: the
// library on the other side (sdk/host), sockets and bytes (host_connection.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "emu/base/result.hpp"
#include "emu/plan/host_processes.hpp"

namespace sassemu::link {

struct HostServiceOptions {
    std::string address;   // unix:PATH
    uint32_t clients = 1;  // attached at the same time, at most
    // How long launches wait for the first to attach, and the run for one that says nothing once
    // the launches have ended.
    std::chrono::milliseconds patience{60'000};
    bool begin_at_once = false;  // launches wait for nobody
};

// Listens. An Error: the address, or somebody listens there.
Result<std::shared_ptr<plan::HostProcesses>> make_host_service(HostServiceOptions options);

}  // namespace sassemu::link
