// SPDX-License-Identifier: Apache-2.0
// A plan of which several things run at once: puts its launches into their streams, does the steps
// of the host meanwhile, and waits for all. What does not belong here: GPUs, buffers and arguments
// (run_plan.cpp).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "emu/machine.hpp"
#include "emu/plan/plan.hpp"

namespace sassemu::plan {

class InFlight {
  public:
    struct Parts {
        Machine& machine;
        const Plan& plan;
        std::function<uint64_t(const Place&)> address;
        std::span<const LaunchRequest> requests;  // one for each launch; other operations: empty
        std::function<void(const std::string&)> progress, note;
        // A check of the host's: compares and reports.
        std::function<Result<void>(const std::string& name, const CheckBytes&)> check;
        std::function<bool(uint32_t gpu)> mine;  // false: another rank runs what is there
    };
    explicit InFlight(Parts parts) : parts_(std::move(parts)) {}

    struct Ended {
        size_t launch;  // in the plan
        Finished how;
    };
    struct Outcome {
        std::vector<Ended> ended;  // the first to end first
        std::string host_failed;   // why the host's steps went no further; empty: they are done
        bool host_lacks = false;   // since memory that they touch is there no more
    };
    // An Error: a launch was refused.
    Result<Outcome> run();

  private:
    Result<StreamId> stream_of(const std::string& name, uint32_t gpu);
    Result<void> put(size_t index);
    Result<void> step(const HostStep& step);
    uint64_t address(const Place& place) const { return parts_.address(place); }

    const Parts parts_;
    std::unordered_map<std::string, StreamId> streams_;
    std::unordered_map<std::string, EventId> events_;
    std::vector<std::pair<size_t, OperationId>> operations_;
};

}  // namespace sassemu::plan
