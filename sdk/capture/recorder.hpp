// SPDX-License-Identifier: Apache-2.0
// Which launches are captured, and what is done around one. One launch at a time: whoever launches
// meanwhile waits.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "capsule.hpp"

namespace sassemu::capture {

class Recorder {
  public:
    // `say` gets one line for each capsule, and for each that could not be made.
    Recorder(Options options, std::string program, std::function<void(const std::string&)> say)
        : options_(std::move(options)), program_(std::move(program)), say_(std::move(say)) {}

    // Whether a launch would be captured; counts it.
    bool wanted(const Launch& launch);
    // Before it, and behind it. Neither throws; a launch that cannot be captured is said and
    // forgotten.
    void begin(Driver& driver, Work work) noexcept;
    void end(Driver& driver, bool launched) noexcept;
    void refuse(const std::string& kernel, const std::string& why) noexcept;
    // The same, of what was thrown: said once of a context that is broken and of a kernel that does
    // not end.
    void failed(Driver& driver, const std::string& kernel, const std::exception& how) noexcept;
    bool is_broken(Driver& driver) const { return broken_.contains(driver.context()); }

  private:
    struct Under {
        Work work;
        std::string kernel;  // the first
        std::unique_ptr<Memory> memory;
    };

    const Options options_;
    const std::string program_;
    const std::function<void(const std::string&)> say_;
    uint64_t seen_ = 0, index_ = 0, capsules_ = 0;
    std::map<std::pair<std::string, uint64_t>, uint64_t> of_kernel_;  // and hash of its image
    std::set<uint64_t> broken_;                                       // contexts
    std::set<std::string> stuck_;                                     // kernels that did not end
    std::unique_ptr<Under> under_;
};

}  // namespace sassemu::capture
