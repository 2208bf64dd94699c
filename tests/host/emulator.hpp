// SPDX-License-Identifier: Apache-2.0
// A real `sassemu run` for a test: its plan, its socket, how it ended.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "sdk/host/include/sassemu_host/host.hpp"

namespace test {

using namespace sassemu::host_process;
using namespace std::chrono_literals;
constexpr auto long_enough = 60s;  // until something is taken for hanging

// A folder that goes with the test.
class Folder {
  public:
    Folder();
    ~Folder();
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  private:
    std::string path_;
};

// A plan of one launch of a kernel of cubins/ (flight, peers) for sm_90.
std::string plan_of(const Folder& folder, const std::string& cubin, const std::string& kernel,
                    const std::string& buffers, const std::string& args);

class Emulator {
  public:
    Emulator(const Folder& folder, const std::string& plan, std::vector<std::string> more = {});
    ~Emulator();
    Emulator(const Emulator&) = delete;
    const std::string& address() const { return address_; }
    pid_t pid() const { return pid_; }
    // An attachment; begun: launches do not wait for it.
    Attachment attach(bool hold = false) const {
        return Attachment(address_, {.hold = hold, .patience = long_enough});
    }
    // Waits for its end: the exit code (128 + signal), and what it printed. A hang ends it: -1.
    int end();
    const std::string& output() const { return output_; }
    void signal(int number) const;

  private:
    std::string address_, output_, file_;
    pid_t pid_ = -1;
};

}  // namespace test
