// SPDX-License-Identifier: Apache-2.0
// How far the run under way has come, for whoever shows it meanwhile. One for the process, as the
// budget is (limits.hpp): engines count what has ended, turn by turn, and nobody waits for anybody.
// Nothing else belongs here; what a run did is in its LaunchStats.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace sassemu {

struct Progress {
    std::atomic<std::uint64_t> ctas{0};               // ended, of all GPUs
    std::atomic<std::uint64_t> warp_instructions{0};  // issued
    std::atomic<std::uint64_t> expected{0};           // CTAs of all launches; 0: not known
    std::atomic<std::chrono::steady_clock::rep> begun{0};

    // A run begins, with so many CTAs.
    void begin(std::uint64_t ctas_of_all) noexcept {
        ctas = warp_instructions = 0;
        expected = ctas_of_all;
        begun = std::chrono::steady_clock::now().time_since_epoch().count();
    }
};

[[nodiscard]] Progress& process_progress() noexcept;

}  // namespace sassemu
