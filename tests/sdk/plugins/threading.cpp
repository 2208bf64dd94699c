// SPDX-License-Identifier: Apache-2.0
// A memory model that looks whether its calls overlap as it declared: never (serial), never for one
// SM (per-sm), never for one CTA (free). Built three times, with KIND.
#include <sassemu/plugin.hpp>

#include <atomic>
#include <string>

namespace {

class Threading : public sassemu::Plugin {
  public:
    static constexpr auto name = "threading", summary = "counts calls that overlap";
    static constexpr uint32_t threading = KIND;
    static constexpr uint32_t spaces =
        SASSEMU_SPACE_BIT(SASSEMU_GLOBAL) | SASSEMU_SPACE_BIT(SASSEMU_GENERIC);
    using Plugin::Plugin;

    int issue(const sassemu_access& a) {
        const sassemu_cta_info cta = info(info(a.warp).cta);
        const uint64_t key = KIND == SASSEMU_SERIAL   ? 0
                             : KIND == SASSEMU_PER_SM ? cta.sm
                                                      : cta.linear;
        std::atomic<int>& here = inside_[key % slots];
        // Two CTAs may share a slot of `free`: then a clash says nothing, so it keeps to few.
        const bool counts = key < slots;
        if (counts && here.fetch_add(1) != 0) ++clashes_;
        for (int i = 0; i < 200; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
        if (counts) here.fetch_sub(1);
        ++calls_;
        return SASSEMU_DONE;
    }
    void launch_end(sassemu_launch) {
        print("threading: " + std::to_string(clashes_) + " clashes, " +
              (calls_ ? "called" : "never called") + "\n");
    }

  private:
    static constexpr uint64_t slots = 4096;
    std::atomic<int> inside_[slots] = {};
    std::atomic<uint64_t> clashes_{0}, calls_{0};
};

}  // namespace

SASSEMU_PLUGIN(Threading)
