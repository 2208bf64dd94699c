// SPDX-License-Identifier: Apache-2.0
// What a PE can do from the host and in a stream, as steps: see world.hpp. The meeting and the
// order of a reduction are those of the device's part (sdk/nvshmem), so host, streams and kernels
// of different PEs can meet.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>

#include "emu/nvshmem/world.hpp"

namespace sassemu::nvshmem {
namespace {

Steps operator+(Steps a, Steps b) {
    std::ranges::move(b, std::back_inserter(a));
    return a;
}
Steps at_once(std::function<Result<void>()> act) {
    Steps steps;
    steps.push_back({"", {}, std::move(act)});
    return steps;
}
uint32_t pe_of(const sassemu_nvshmem_team_info& team, int32_t number) {
    return static_cast<uint32_t>(team.start + number * team.stride);
}

}  // namespace

Result<void> World::check_team(const Issuer& from, int32_t number) const {
    if (team(from.pe, number)) return {};
    return Error{ErrorCode::usage, "nvshmem", "there is no team " + std::to_string(number),
                 "NVSHMEM_TEAM_WORLD, NVSHMEM_TEAM_SHARED, NVSHMEMX_TEAM_NODE or "
                 "NVSHMEMX_TEAM_SAME_MYPE_NODE"};
}

Result<void> World::copy(Local to, Local from, uint64_t bytes) {
    std::vector<std::byte> some(std::min(piece, bytes));
    for (uint64_t at = 0; at < bytes; at += some.size()) {
        const auto now = std::span(some).first(std::min<uint64_t>(some.size(), bytes - at));
        if (from.host)
            std::memcpy(now.data(), from.host + at, now.size());
        else
            SASSEMU_TRY(machine_.read(from.address + at, now));
        if (to.host)
            std::memcpy(to.host + at, now.data(), now.size());
        else
            SASSEMU_TRY(machine_.write(to.address + at, now));
    }
    return {};
}

// Of a word of 8 bytes: ADD or SWAP.
Result<void> World::change(const Issuer& from, Remote dest, uint32_t operation, uint64_t value) {
    SASSEMU_ASSIGN(const uint64_t at, offset(from.pe, dest.address, 8));
    if (dest.pe < pes() && direct(from.pe, dest.pe)) {
        const auto how = operation == SASSEMU_NVSHMEM_ADD ? HostAtomic::add : HostAtomic::exchange;
        SASSEMU_TRY(machine_.atomic(heaps_[dest.pe] + at, 8, how, value));
        return {};
    }
    Transfer t;
    t.operation = operation;
    t.from = from;
    t.to = dest.pe;
    t.remote = at;
    t.bytes = 8;
    t.value = value;
    return delivery_->issue(std::move(t));
}

Result<void> World::put_now(const Issuer& from, Remote dest, Local source, uint64_t bytes, bool nbi,
                            Signal signal) {
    SASSEMU_ASSIGN(const uint64_t at, offset(from.pe, dest.address, bytes));
    if (dest.pe >= pes())
        return Error{ErrorCode::usage, "nvshmem", "there is no PE " + std::to_string(dest.pe), ""};
    if (direct(from.pe, dest.pe)) {
        SASSEMU_TRY(copy({heaps_[dest.pe] + at}, source, bytes));
        if (!signal.operation) return {};
        return change(from, {dest.pe, signal.address}, signal.operation, signal.value);
    }
    Transfer t;
    t.from = from;
    t.to = dest.pe;
    t.remote = at;
    t.bytes = bytes;
    t.local = source;
    t.nbi = nbi;
    if (!signal.operation) return delivery_->issue(std::move(t));
    Transfer behind;
    SASSEMU_ASSIGN(behind.remote, offset(from.pe, signal.address, 8));
    behind.operation = signal.operation;
    behind.from = from;
    behind.to = dest.pe;
    behind.bytes = 8;
    behind.value = signal.value;
    return delivery_->issue(std::move(t), std::move(behind));
}

// Whether it is done; nothing: it is.
Result<std::function<bool()>> World::get_now(const Issuer& from, Local dest, Remote source,
                                             uint64_t bytes, bool nbi) {
    SASSEMU_ASSIGN(const uint64_t at, offset(from.pe, source.address, bytes));
    if (source.pe >= pes())
        return Error{ErrorCode::usage, "nvshmem", "there is no PE " + std::to_string(source.pe),
                     ""};
    if (direct(from.pe, source.pe)) {
        SASSEMU_TRY(copy(dest, {heaps_[source.pe] + at}, bytes));
        return std::function<bool()>();
    }
    Transfer t;
    t.operation = SASSEMU_NVSHMEM_GET;
    t.from = from;
    t.to = source.pe;
    t.remote = at;
    t.bytes = bytes;
    t.local = dest;
    t.nbi = nbi;
    std::function<bool()> over;
    if (!nbi) {
        const auto flag = std::make_shared<std::atomic<bool>>(false);
        t.done = [flag](uint64_t) { *flag = true; };
        over = [flag] { return flag->load(); };
    }
    SASSEMU_TRY(delivery_->issue(std::move(t)));
    return over;
}

Steps World::put(Issuer from, Remote dest, Local source, uint64_t bytes, bool nbi, Signal signal) {
    return at_once([=, this] { return put_now(from, dest, source, bytes, nbi, signal); });
}

Steps World::get(Issuer from, Local dest, Remote source, uint64_t bytes, bool nbi) {
    const auto over = std::make_shared<std::function<bool()>>();
    Steps steps = at_once([=, this]() -> Result<void> {
        SASSEMU_ASSIGN(*over, get_now(from, dest, source, bytes, nbi));
        return {};
    });
    if (!nbi)
        steps.push_back({"for a get from PE " + std::to_string(source.pe),
                         [over] { return !*over || (*over)(); },
                         {}});
    return steps;
}

Steps World::atomic(Issuer from, Remote dest, Atomic a) {
    const auto over = std::make_shared<std::atomic<bool>>(false);
    Steps steps = at_once([=, this]() -> Result<void> {
        SASSEMU_ASSIGN(const uint64_t at, offset(from.pe, dest.address, a.bytes));
        Transfer t;
        t.operation = a.operation;
        t.from = from;
        t.to = dest.pe;
        t.remote = at;
        t.bytes = a.bytes;
        t.value = a.value;
        t.compare = a.compare;
        if (dest.pe < pes() && direct(from.pe, dest.pe)) {
            SASSEMU_ASSIGN(const uint64_t old, Delivery::change(machine_, heaps_[dest.pe] + at, t));
            *over = true;
            if (a.fetched.nowhere()) return {};
            uint64_t kept = old;
            return copy(a.fetched, {0, reinterpret_cast<std::byte*>(&kept)}, a.bytes);
        }
        if (!delivery_)
            return Error{ErrorCode::usage, "nvshmem", "there is no PE " + std::to_string(dest.pe),
                         ""};
        if (a.nbi && !a.fetched.nowhere()) {
            t.fetches = t.nbi = true;
            t.local = a.fetched;
        } else if (!a.fetched.nowhere()) {
            t.done = [=, this](uint64_t old) {
                note(copy(a.fetched, {0, reinterpret_cast<std::byte*>(&old)}, a.bytes));
                *over = true;
            };
        }
        return delivery_->issue(std::move(t));
    });
    if (!a.fetched.nowhere() && !a.nbi)
        steps.push_back({"for an atomic at PE " + std::to_string(dest.pe),
                         [over] { return over->load(); },
                         {}});
    return steps;
}

Steps World::fence(Issuer from) {
    return at_once([=, this]() -> Result<void> {
        if (delivery_) delivery_->fence(from);
        return {};
    });
}

Steps World::quiet(Issuer from) {
    if (!delivery_) return {};
    const auto over = std::make_shared<std::function<bool()>>();
    Steps steps = at_once([=, this]() -> Result<void> {
        *over = delivery_->quiet(from);
        return {};
    });
    steps.push_back({"for nvshmem_quiet of PE " + std::to_string(from.pe),
                     [over] { return !*over || (*over)(); },
                     {}});
    return steps;
}

Steps World::wait(std::string what, std::function<bool()> met) {
    Steps steps;
    steps.push_back({std::move(what), std::move(met), {}});
    return steps;
}

Steps World::sync(Issuer from, int32_t number) {
    const auto found = team(from.pe, number);
    if (!found) return at_once([=, this] { return check_team(from, number); });
    const sassemu_nvshmem_team_info info = *found;
    const uint64_t own = heaps_[from.pe] + number * sizeof(sassemu_nvshmem_meeting);
    const auto* meeting =
        reinterpret_cast<const sassemu_nvshmem_meeting*>(heads_[from.pe]) + number;
    const auto now = std::make_shared<uint64_t>(0);
    Steps steps = at_once([=, this]() -> Result<void> {
        SASSEMU_ASSIGN(const uint64_t before, machine_.atomic(own, 8, HostAtomic::add, 1));
        *now = before + 1;
        return {};
    });
    int round = 0;
    for (int32_t far = 1; far < info.size; far *= 2, ++round) {
        const uint64_t word = own + offsetof(sassemu_nvshmem_meeting, arrived) + round * 8u;
        const uint32_t other = pe_of(info, (info.me + far) % info.size);
        steps.push_back({"", {}, [=, this] {
                             return change(from, {other, word}, SASSEMU_NVSHMEM_ADD, 1);
                         }});
        steps.push_back(
            {"for the others of team " + std::to_string(number) + " (PE " +
                 std::to_string(from.pe) + ", round " + std::to_string(round) + ")",
             [=] { return __atomic_load_n(&meeting->arrived[round], __ATOMIC_SEQ_CST) >= *now; },
             {}});
    }
    steps.push_back({"", {}, [=, this]() -> Result<void> {
                         if (delivery_) delivery_->met(from.pe);
                         return {};
                     }});
    return steps;
}

Steps World::barrier(Issuer from, int32_t number) { return quiet(from) + sync(from, number); }

Steps World::broadcast(Issuer from, int32_t number, uint64_t dest, uint64_t source, uint64_t bytes,
                       int32_t root) {
    return at_once([=, this]() -> Result<void> {
               SASSEMU_TRY(check_team(from, number));
               const auto info = *team(from.pe, number);
               for (int32_t i = 0; i < info.size && info.me == root; ++i)
                   SASSEMU_TRY(put_now(from, {pe_of(info, i), dest}, {source}, bytes, false, {}));
               return {};
           }) +
           barrier(from, number);
}

Steps World::fcollect(Issuer from, int32_t number, uint64_t dest, uint64_t source, uint64_t bytes) {
    return at_once([=, this]() -> Result<void> {
               SASSEMU_TRY(check_team(from, number));
               const auto info = *team(from.pe, number);
               const uint64_t to = dest + static_cast<uint64_t>(info.me) * bytes;
               for (int32_t i = 0; i < info.size; ++i)
                   SASSEMU_TRY(put_now(from, {pe_of(info, i), to}, {source}, bytes, false, {}));
               return {};
           }) +
           barrier(from, number);
}

Steps World::alltoall(Issuer from, int32_t number, uint64_t dest, uint64_t source, uint64_t bytes) {
    return at_once([=, this]() -> Result<void> {
               SASSEMU_TRY(check_team(from, number));
               const auto info = *team(from.pe, number);
               const uint64_t to = dest + static_cast<uint64_t>(info.me) * bytes;
               for (int32_t i = 0; i < info.size; ++i)
                   SASSEMU_TRY(put_now(from, {pe_of(info, i), to},
                                       {source + static_cast<uint64_t>(i) * bytes}, bytes, false,
                                       {}));
               return {};
           }) +
           barrier(from, number);
}

Steps World::reduce(Issuer from, int32_t number, uint64_t dest, uint64_t source, uint64_t count,
                    uint64_t element_bytes, Combine combine) {
    const auto found = team(from.pe, number);
    if (!found) return at_once([=, this] { return check_team(from, number); });
    const sassemu_nvshmem_team_info info = *found;
    const auto size = static_cast<uint64_t>(info.size);
    const uint64_t share = (count + size - 1) / size;
    const uint64_t begin = std::min(count, share * static_cast<uint64_t>(info.me));
    const uint64_t mine = std::min(count, begin + share) - begin, bytes = mine * element_bytes;
    struct Work {
        std::vector<std::vector<std::byte>> parts;
        std::vector<std::function<bool()>> over;
    };
    const auto work = std::make_shared<Work>();
    const uint64_t skip = begin * element_bytes;
    Steps steps =
        sync(from, number) + at_once([=, this]() -> Result<void> {
            work->parts.resize(size, std::vector<std::byte>(bytes));
            for (int32_t i = 0; i < info.size && bytes; ++i) {
                SASSEMU_ASSIGN(work->over.emplace_back(),
                               get_now(from, {0, work->parts[static_cast<size_t>(i)].data()},
                                       {pe_of(info, i), source + skip}, bytes, false));
            }
            return {};
        });
    steps.push_back({"for what is reduced",
                     [work] {
                         return std::ranges::all_of(
                             work->over, [](const auto& over) { return !over || over(); });
                     },
                     [=, this]() -> Result<void> {
                         for (size_t i = 1; i < work->parts.size(); ++i)
                             combine(work->parts[0].data(), work->parts[i].data(), mine);
                         for (int32_t i = 0; i < info.size && bytes; ++i)
                             SASSEMU_TRY(put_now(from, {pe_of(info, i), dest + skip},
                                                 {0, work->parts[0].data()}, bytes, false, {}));
                         return {};
                     }});
    return steps + barrier(from, number);
}

}  // namespace sassemu::nvshmem
