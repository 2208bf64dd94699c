// SPDX-License-Identifier: Apache-2.0
// A machine some of whose memory other processes reach. What belongs here: what the link asks of
// it. Nothing else does.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emu/base/result.hpp"

namespace sassemu {

class OutsideMemory {
  public:
    virtual ~OutsideMemory() = default;
    // The bytes of an allocation are from now on those of the file (a memfd), whose size is set if
    // it is empty; what was in them is gone. Where they are in this process. Before anything runs.
    virtual Result<std::byte*> back(uint64_t address, int descriptor) = 0;
    // Whether somebody outside may change memory: as long as one may, no deadlock is declared.
    virtual void outside_may_act(bool may) = 0;
    struct Progress {
        bool parked = false;  // nothing can go on, unless somebody outside changes memory
        uint64_t epoch = 0;   // changes whenever something has run
        uint64_t looks = 0;   // how often, in this epoch, all that is waited for was looked at
    };
    virtual Progress progress() = 0;
};

}  // namespace sassemu
