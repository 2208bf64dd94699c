// SPDX-License-Identifier: Apache-2.0
// See lane.hpp.
#include "emu/explore/sass/lane.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "emu/explore/sass/code.hpp"
#include "emu/machine/tensor_memory.hpp"

namespace sassemu::explore {

namespace reg = sass_register;

// What handlers are given for the engine: each function notes what was asked for.
struct SassServices {
    using Call = SassEffects::Call;
    template <class R, class W, class... A>
    using Function = R (*)(W, A...);

    static SassLane& lane(Warp& w) { return *static_cast<SassLane::Thread&>(*w.cta).lane; }
    static SassEffects& note(Warp& w, Call call) {
        SassEffects& e = lane(w).effects_;
        e.call = call;
        return e;
    }

    static const sassemu::Op* fault(Warp& w, const sassemu::Op*, uint32_t, FaultKind,
                                    const char* what, bool, uint64_t) {
        note(w, Call::fault).problem = what;
        return nullptr;
    }
    static void beyond(Warp& w, const char* why) {
        SassEffects& e = note(w, Call::fault);
        e.problem = why;
        e.unexplored = true;
    }
    static const sassemu::Op* unsupported(Warp& w, const sassemu::Op*, uint32_t) {
        beyond(w, "is not explored: sassemu does not execute it");
        return nullptr;
    }
    static const sassemu::Op* split(Warp&, const sassemu::Op* target, uint32_t,
                                    const sassemu::Op*) {
        return target;
    }
    static const sassemu::Op* jump(Warp& w, const sassemu::Op*, uint32_t,
                                   const uint64_t address[32]) {
        const sassemu::Op* to = w.cta->launch->code->at(address[lane(w).lane_]);
        if (!to) note(w, Call::fault).problem = "a jump to where no code is";
        return to;
    }
    static const sassemu::Op* yield(Warp&, const sassemu::Op* target, const sassemu::Op*) {
        return target;
    }
    static const sassemu::Op* give_way(Warp&, const sassemu::Op* op) { return op + 1; }
    static const sassemu::Op* bsync(Warp&, const sassemu::Op* op, uint32_t, uint32_t) {
        return op + 1;
    }
    static const sassemu::Op* leave_barrier(Warp&, const sassemu::Op* op, uint32_t) {
        return op + 1;
    }
    static const sassemu::Op* warpsync(Warp& w, const sassemu::Op* op, uint32_t lanes,
                                       const uint32_t want[32], Meeting) {
        note(w, Call::warpsync).lanes = want[std::countr_zero(lanes)];
        return op + 1;
    }
    static const sassemu::Op* end_collective(Warp&, const sassemu::Op* op, uint32_t) {
        return op + 1;
    }
    static const sassemu::Op* exit(Warp& w, const sassemu::Op*, uint32_t) {
        note(w, Call::exit);
        return nullptr;
    }
    static const sassemu::Op* barrier(Warp& w, const sassemu::Op* op, uint32_t,
                                      const BarrierRequest& r) {
        note(w, Call::barrier).barrier = r;
        return op + 1;
    }
    static const sassemu::Op* cluster_arrive(Warp& w, const sassemu::Op* op, uint32_t) {
        note(w, Call::cluster_arrive);
        return op + 1;
    }
    static const sassemu::Op* cluster_wait(Warp& w, const sassemu::Op* op, uint32_t) {
        note(w, Call::cluster_wait);
        return op + 1;
    }
    static std::byte* shared(Warp& w, const sassemu::Op*, uint32_t, uint32_t address, uint32_t) {
        note(w, Call::mbarrier_test).address = address;
        return reinterpret_cast<std::byte*>(&lane(w).object_);
    }
    static bool mbarrier(Warp& w, const sassemu::Op*, uint32_t, uint32_t address,
                         const MbarrierChange& c) {
        SassEffects& e = note(w, Call::mbarrier);
        e.address = address;
        e.change = c;
        return true;
    }
    static const sassemu::Op* mbarrier_wait(Warp& w, const sassemu::Op* op, const std::byte*) {
        lane(w).effects_.waited = true;
        return op + 1;
    }
    static const sassemu::Op* lane_copy(Warp& w, const sassemu::Op* op, uint32_t,
                                        const LaneCopy& c) {
        note(w, Call::lane_copy).lane = c;
        return op + 1;
    }
    static const sassemu::Op* lane_store(Warp& w, const sassemu::Op* op, uint32_t,
                                         const LaneStore& c) {
        note(w, Call::lane_store).store = c;
        return op + 1;
    }
    static const sassemu::Op* launch_dependents(Warp& w, const sassemu::Op* op, uint32_t) {
        note(w, Call::launch_dependents);
        return op + 1;
    }
    static const sassemu::Op* grid_wait(Warp& w, const sassemu::Op* op, uint32_t) {
        note(w, Call::grid_wait);
        return op + 1;
    }
    static const sassemu::Op* bulk_copy(Warp& w, const sassemu::Op* op, uint32_t,
                                        const BulkCopy& c) {
        note(w, Call::bulk_copy).bulk = c;
        return op + 1;
    }
    static const sassemu::Op* tensor_copy(Warp& w, const sassemu::Op* op, uint32_t,
                                          const TensorCopy& c) {
        note(w, Call::tensor_copy).tensor = c;
        return op + 1;
    }
    static bool arrive_after_copies(Warp& w, const sassemu::Op*, uint32_t, uint32_t address,
                                    const MbarrierChange& c) {
        SassEffects& e = note(w, Call::copies_arrive);
        e.address = address;
        e.change = c;
        return true;
    }
    static const sassemu::Op* end_copy_group(Warp& w, const sassemu::Op* op, const CopyGroup& g) {
        SassEffects& e = note(w, Call::end_group);
        e.bulk_group = g.bulk;
        e.groups = {{g.scoreboard, 0}};
        return op + 1;
    }
    static const sassemu::Op* wait_copy_groups(Warp& w, const sassemu::Op* op, uint32_t scoreboard,
                                               uint32_t left) {
        note(w, Call::wait_groups).groups.push_back({scoreboard, left});
        return op + 1;
    }
    static const sassemu::Op* multiply(Warp& w, const sassemu::Op* op,
                                       const async::WarpgroupMultiply& m) {
        note(w, Call::product).product = m;
        return op + 1;
    }
    static const sassemu::Op* product_wait(Warp& w, const sassemu::Op* op, uint32_t left) {
        note(w, Call::product_wait).left = left;
        return op + 1;
    }
    static const sassemu::Op* product_fence(Warp& w, const sassemu::Op* op) {
        note(w, Call::product_fence);
        return op + 1;
    }
    static const sassemu::Op* tensor_granules(Warp& w, const sassemu::Op* op, uint32_t,
                                              async::GranuleRequest& r) {
        using Request = async::GranuleRequest;
        auto used = static_cast<uint32_t>(lane(w).object_);
        r.result = used;
        switch (r.kind) {
            case Request::find_and_set:
                r.result = async::CtaTensorMemory::find(used, r.operand, r.aligned);
                r.done = r.result < async::TensorMemory::granules;
                if (r.done) used |= ((1u << r.operand) - 1) << r.result;
                break;
            case Request::and_:
                used &= r.operand;
                break;
            case Request::or_:
                used |= r.operand;
                break;
            case Request::compare_and_swap:
                r.done = used == r.operand;
                if (r.done) used = r.next;
                break;
        }
        lane(w).object_ = used;
        note(w, Call::tensor_granules).granules = r;
        return op + 1;
    }
    static const sassemu::Op* tensor_access(Warp& w, const sassemu::Op* op, uint32_t,
                                            const async::TensorAccess& a) {
        note(w, Call::tensor_access).tensor_access = a;
        return op + 1;
    }
    static const sassemu::Op* tensor_multiply(Warp& w, const sassemu::Op* op, uint32_t,
                                              const async::Multiply& m) {
        TensorWork& work = note(w, Call::tensor_work).tensor_work;
        work.what = m;
        if (m.disabled_lanes && !m.pair)
            std::copy_n(m.disabled_lanes, 4, work.disabled_lanes.begin());
        return op + 1;
    }
    static const sassemu::Op* tensor_move(Warp& w, const sassemu::Op* op, uint32_t,
                                          const async::TensorMove& m) {
        note(w, Call::tensor_work).tensor_work.what = m;
        return op + 1;
    }
    static const sassemu::Op* tensor_commit(Warp& w, const sassemu::Op* op, uint32_t,
                                            const async::TensorCommit& c) {
        note(w, Call::tensor_commit).tensor_commit = c;
        return op + 1;
    }
    static const sassemu::Op* sleep(Warp&, const sassemu::Op* op, uint32_t, uint64_t) {
        return op + 1;
    }
    static const sassemu::Op* access(Warp& w, const sassemu::Op* op, const Access& a) {
        lane(w).effects_.accesses.push_back(a);
        return op + 1;
    }
    static const sassemu::Op* load_reduce(Warp& w, const sassemu::Op* op, const Access& a,
                                          const LoadReduce& how) {
        if (how.type > LoadReduceType::s64) {
            beyond(w, "is not explored: it combines what is no integer");
            return nullptr;
        }
        lane(w).effects_.combine = how;
        return access(w, op, a);
    }
    static const sassemu::Op* fence(Warp&, const sassemu::Op* op, const Fence&) { return op + 1; }
    static void watch(Warp&, const std::byte*, uint32_t) {}
    static void watch_mbarrier(Warp&, const std::byte*) {}
    static uint64_t address_of(const Warp& w, const sassemu::Op* op) {
        return w.cta->launch->code->address_of(op);
    }

    // Stands for what nothing here provides: the instruction that asks for it is refused.
    struct Refused {
        template <class R, class W, class... A>
        constexpr operator Function<R, W, A...>() const {
            return [](W w, A...) {
                beyond(const_cast<Warp&>(w),
                       "is not explored: it needs what exploration does not have");
                return R();
            };
        }
    };
    static const Services& table() {
        static const Services services = [] {
            Services s = services_of(Refused{});
            s.fault = fault;
            s.unsupported = unsupported;
            s.split = split;
            s.jump = jump;
            s.yield = yield;
            s.give_way = give_way;
            s.bsync = bsync;
            s.leave_barrier = leave_barrier;
            s.warpsync = warpsync;
            s.end_collective = end_collective;
            s.exit = exit;
            s.barrier = barrier;
            s.cluster_arrive = cluster_arrive;
            s.cluster_wait = cluster_wait;
            s.shared = shared;
            s.mbarrier = mbarrier;
            s.mbarrier_wait = mbarrier_wait;
            s.lane_copy = lane_copy;
            s.lane_store = lane_store;
            s.launch_dependents = launch_dependents;
            s.grid_wait = grid_wait;
            s.bulk_copy = bulk_copy;
            s.tensor_copy = tensor_copy;
            s.arrive_after_copies = arrive_after_copies;
            s.end_copy_group = end_copy_group;
            s.wait_copy_groups = wait_copy_groups;
            s.warpgroup_multiply = multiply;
            s.warpgroup_wait = product_wait;
            s.warpgroup_arrive = s.warpgroup_meet = product_fence;
            s.tensor_granules = tensor_granules;
            s.tensor_access = tensor_access;
            s.multiply = tensor_multiply;
            s.tensor_move = tensor_move;
            s.commit_tensor = tensor_commit;
            s.sleep = sleep;
            s.access = access;
            s.load_reduce = load_reduce;
            s.fence = fence;
            s.watch = watch;
            s.watch_mbarrier = watch_mbarrier;
            s.address_of = address_of;
            return s;
        }();
        return services;
    }
};

SassLane::SassLane(PreparedLaunch& prepared) : launch_(prepared), warp_(std::make_unique<Warp>()) {
    Launch& launch = prepared.launch;
    launch.services = &SassServices::table();
    const size_t bytes = uint64_t{launch.rows} * row_bytes;
    rows_.reset(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)));
    if (!rows_) throw std::bad_alloc();  // caught where the suite's threads begin
    std::memset(rows_.get(), 0, bytes);
    cluster_.size = static_cast<uint32_t>(launch.cluster.count());
    for (uint32_t r = 0; r < cluster_.size && r < Cluster::most; ++r) cluster_.cta[r] = &cta_;
    cta_.launch = &launch;
    cta_.lane = this;
    cta_.cluster = &cluster_;
    cta_.threads = cta_.live_threads = static_cast<uint32_t>(launch.block.count());
    cta_.warp_count = 1;
    cta_.registers.begin(255);  // each thread is explored with a CTA of its own
    cta_.warps = warp_.get();
    cta_.shared_bytes = launch.shared_bytes;
    Warp& w = *warp_;
    w.rows = rows_.get();
    for (int k = 0; k < 8; ++k) w.base[k] = launch.base[k];
    w.base[static_cast<int>(Base::rows)] = w.rows;
    w.base[static_cast<int>(Base::uniform)] = reinterpret_cast<std::byte*>(w.uniform);
    w.cta = &cta_;
    w.paths_used = 1;
}

void SassLane::place(uint64_t cta, uint32_t thread) {
    Launch& launch = launch_.launch;
    const Dim3 &grid = launch.grid, &per = launch.cluster;
    cta_.linear = cta;
    cta_.id = {static_cast<uint32_t>(cta % grid.x), static_cast<uint32_t>(cta / grid.x % grid.y),
               static_cast<uint32_t>(cta / grid.x / grid.y)};
    cta_.rank = cta_.id.x % per.x + per.x * (cta_.id.y % per.y + per.y * (cta_.id.z % per.z));
    cta_.sm = cta % launch.device->sms;
    Warp& w = *warp_;
    w.index = static_cast<uint8_t>(thread / 32);
    lane_ = thread % 32;
    w.active = w.live = uint32_t{1} << lane_;
    w.exists = low_lanes(std::min(32u, cta_.threads - thread / 32 * 32));
}

void SassLane::set(uint32_t index, uint32_t value) {
    Warp& w = *warp_;
    const uint32_t bit = uint32_t{1} << lane_;
    if (index < reg::predicate) {
        w.row(register_row(index))[lane_] = value;
    } else if (index < reg::uniform) {
        uint32_t& p = w.p[index - reg::predicate];
        p = value ? p | bit : p & ~bit;
    } else if (index < reg::uniform_predicate) {
        w.uniform[index - reg::uniform] = value;
    } else if (index < reg::reduced) {
        w.p[8 + index - reg::uniform_predicate] = value ? ~0u : 0u;
    }
}

uint32_t SassLane::get(uint32_t index) const {
    const Warp& w = *warp_;
    if (index < reg::predicate) return w.row(register_row(index))[lane_];
    if (index < reg::uniform) return w.p[index - reg::predicate] >> lane_ & 1;
    if (index < reg::uniform_predicate) return w.uniform[index - reg::uniform];
    if (index < reg::reduced) return w.p[8 + index - reg::uniform_predicate] >> lane_ & 1;
    return 0;
}

uint32_t SassLane::row(uint32_t row) const { return warp_->row(row)[lane_]; }

int32_t SassLane::register_of_row(uint32_t row) {
    const uint32_t index = row / row_bytes;
    return index < first_register_row ? -1 : static_cast<int32_t>(index - first_register_row);
}

const SassEffects& SassLane::run(const sassemu::Op* op, bool whole) {
    effects_ = {};
    Warp& w = *warp_;
    w.p[7] = w.p[15] = ~0u;
    w.quantum_end = ~uint64_t{0};
    w.stop = Stop::none;
    w.current = 0;
    w.paths[0] = Path{};
    w.paths[0].lanes = w.active;
    std::memset(w.row(zero_row), 0, 4 * row_bytes);
    effects_.next = op->fn[whole](op, w, w.active);
    effects_.object = object_;
    return effects_;
}

}  // namespace sassemu::explore
