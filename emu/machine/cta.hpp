// SPDX-License-Identifier: Apache-2.0
// The state of one CTA and of the launch that it belongs to. One worker runs a CTA at a time, so
// nothing here but Launch needs atomics.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "emu/gpu.hpp"
#include "emu/machine/extent.hpp"
#include "emu/machine/register_pool.hpp"
#include "emu/machine/tensor_memory.hpp"
#include "emu/machine/warp.hpp"
#include "emu/machine/warpgroups.hpp"

namespace sassemu {

struct Launch;
struct Services;
class AddressSpace;
class CodeImage;
class Hooks;
class LaunchHost;
class MemoryModel;
class TextureTable;

// CTA barrier 0..15. Warps are counted; see schedule/barrier.cpp.
struct Barrier {
    uint32_t expected = 0;   // threads; 0 = every live thread of the CTA
    uint32_t arrived = 0;    // threads
    uint32_t warps = 0;      // arrivals of warps, of whichever lanes
    uint32_t waiting = 0;    // paths parked in at_bar
    uint32_t reduce = 0;     // BAR.RED: threads whose predicate was true
    bool open = false;       // somebody has arrived in this phase
    uint32_t mask[32] = {};  // per warp: lanes that arrived in this phase
};

struct Cta;

// What plugins know an asynchronous operation by; no id: they do not.
struct Issued {
    uint64_t id = 0;
    uint64_t sequence = 0;  // LDGSTS: of its load
};

// The CTAs that run together and reach each other's shared memory; one where none was asked for.
// One worker runs a cluster at a time. Limits: PTX ISA, "Cluster"; 16 where a kernel allows more
// than 8.
struct Cluster {
    static constexpr uint32_t most = 16;
    uint32_t size = 1;
    uint64_t index = 0;   // in the grid
    bool open = false;    // somebody has arrived at its barrier in this phase
    Cta* cta[most] = {};  // by rank: x fastest
    Issued told;          // plugins know the operation that is issued next
};

struct Cta {
    Launch* launch = nullptr;
    Cluster* cluster = nullptr;
    uint32_t rank = 0;  // in the cluster; bits 31..24 of its shared addresses
    Dim3 id;
    uint64_t linear = 0;  // x fastest
    uint32_t warp_count = 0;
    uint32_t threads = 0;
    uint32_t live_threads = 0;
    uint32_t shared_bytes = 0;  // static + dynamic + reserved
    std::byte* shared = nullptr;
    Warp* warps = nullptr;
    Extent last;                 // the extent of the last global access: a one-entry TLB
    uint32_t next_warp = 0;      // round robin
    uint32_t barriers_open = 0;  // bit per barrier
    bool triggered = false;      // has executed griddepcontrol.launch_dependents
    uint64_t sequence = 0;       // port tokens
    uint64_t slices = 0;
    uint64_t sm = 0;
    uint64_t virtual_time = 0;  // nanoseconds slept, beyond the clock
    Barrier barrier[16];
    uint32_t barrier_result[32] = {};    // per warp: count of the last BAR.RED
    uint32_t barrier_expected[32] = {};  // per warp: threads of that barrier
    // The cluster's barrier. Per warp: lanes that arrived and whose phase is not over; lanes that
    // arrived and have not waited since.
    uint32_t cluster_arrived[32] = {};
    uint32_t cluster_owed[32] = {};
    RegisterPool registers;
    std::unique_ptr<async::CtaTensorMemory> tensor;  // null until something uses it
    std::unique_ptr<async::Warpgroups> warpgroups;   // likewise

    // %clock: warp instructions issued by this CTA so far (architecture, decision 14).
    uint64_t clock() const {
        uint64_t sum = virtual_time;
        for (uint32_t i = 0; i < warp_count; ++i) sum += warps[i].issued + warps[i].guard_false;
        return sum;
    }
    // For programs it may stand still while a loop is watched: what goes round all the same without
    // a change waits for memory, and looks at the time beside (schedule/slice.cpp).
    std::optional<uint64_t> stopped_at;
    bool looked_at_clock = false;  // while it stood
    uint64_t time() const { return stopped_at ? *stopped_at : clock(); }
};

// Everything that the CTAs of one launch share. Filled by schedule/, read by handlers.
struct Launch {
    const Services* services = nullptr;
    AddressSpace* space = nullptr;
    CodeImage* code = nullptr;
    TextureTable* textures = nullptr;
    MemoryModel* model = nullptr;  // null: the flat model, inlined
    Hooks* hooks = nullptr;        // plugins; null: none
    LaunchHost* host = nullptr;
    const StateFill* fill = nullptr;
    const DeviceProfile* device = nullptr;
    Dim3 grid, block, cluster;
    bool in_clusters = false;       // it was launched as clusters, be they of one CTA
    const std::byte* base[8] = {};  // constant banks, as Warp::base
    BankBytes bank_bytes{};
    uint32_t rows = 0;            // register rows per warp, zero and sink rows included
    uint32_t registers = 0;       // that have a row
    uint32_t warp_registers = 0;  // per thread, that a warp begins with
    uint32_t shared_bytes = 0;
    uint32_t dynamic_shared = 0;
    uint32_t tensor_partition = 0;  // of reserved shared memory, of the compiler's code for tcgen05
    uint32_t local_bytes = 0;       // per thread
    uint32_t arch = 90;
    uint64_t id = 0;                // %gridid
    uint64_t start_ns = 0;          // %globaltimer base
    std::atomic<bool> stop{false};  // fault, limit or interrupt: everybody leaves
    // Reported by every worker now and then: on a line of its own, since all read the rest.
    alignas(64) std::atomic<uint64_t> issued{0};
};

}  // namespace sassemu
