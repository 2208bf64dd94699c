// SPDX-License-Identifier: Apache-2.0
// What a run rests on: the evidence of the instructions in its kernels, and a hash by which two
// runs can be told to be the same one (docs/fidelity.md). What does not belong here: which of them
// were executed, and what became of their results (the plugin fidelity).
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "emu/base/result.hpp"
#include "emu/evidence/evidence.hpp"
#include "emu/plan/byte_source.hpp"
#include "emu/plan/plan.hpp"
#include "emu/plan/run_plan.hpp"

namespace sassemu {
class Module;
struct Kernel;
}  // namespace sassemu

namespace sassemu::plan {

// The sections that a kernel's code lies in, and the functions that these refer to: how many
// instructions of each class. Padding behind the last branch is counted as it stands there.
class EvidenceCount {
  public:
    void add(const Module& module, const Kernel& kernel, const std::string& arch);
    const EvidenceCounts& counts() const { return counts_; }

  private:
    std::set<std::pair<const Module*, uint32_t>> seen_;  // sections
    EvidenceCounts counts_{};
};

// Collects what makes a run what it is, a line each; the hash is the SHA-256 of these lines.
class RunHash {
  public:
    void add(std::string_view key, std::string_view value);
    Result<void> add(std::string_view key, ByteSource& bytes);  // their SHA-256
    Result<std::string> end() const;                            // 64 hex digits

  private:
    std::string lines_;
};

// What is known before the first launch.
Result<void> add_inputs(RunHash& hash, const Plan& plan, const RunOptions& options);

}  // namespace sassemu::plan
