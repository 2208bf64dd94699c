// SPDX-License-Identifier: Apache-2.0
// See in_flight.hpp.
#include "emu/plan/in_flight.hpp"

#include <algorithm>

#include "emu/base/limits.hpp"

namespace sassemu::plan {
namespace {

template <class... F>
struct Overloaded : F... {
    using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

bool stopped() { return process_budget().stopped() != Budget::Stop::none; }

}  // namespace

Result<StreamId> InFlight::stream_of(const std::string& name, uint32_t gpu) {
    if (name.empty()) return StreamId{gpu, 0};
    if (name == "perThread") return parts_.machine.thread_stream(gpu);
    return streams_.at(name);
}

Result<void> InFlight::put(size_t index) {
    const Launch& launch = parts_.plan.launches[index];
    SASSEMU_ASSIGN(const StreamId stream, stream_of(launch.stream, launch.gpu));
    for (const std::string& event : launch.after)
        SASSEMU_TRY(parts_.machine.wait_event(stream, events_.at(event)));
    const auto one = [&]() -> Result<OperationId> {
        return std::visit(
            Overloaded{[&](std::monostate) {
                           return parts_.machine.launch(stream, parts_.requests[index]);
                       },
                       [&](const CopyBytes& c) {
                           return parts_.machine.copy(stream, address(c.to), address(c.from),
                                                      c.to.bytes);
                       },
                       [&](const WriteValue& w) {
                           return parts_.machine.write_value(
                               stream, address(w.at), static_cast<uint32_t>(w.at.bytes), w.value);
                       },
                       [&](const WaitValue& w) {
                           return parts_.machine.wait_value(
                               stream,
                               {address(w.at), static_cast<uint32_t>(w.at.bytes), w.test, w.value});
                       }},
            launch.operation);
    };
    for (uint32_t run = 0; run < launch.repeat && !stopped(); ++run) {
        SASSEMU_ASSIGN(const OperationId operation, one());
        operations_.emplace_back(index, operation);
    }
    if (launch.event.empty()) return {};
    if (!events_.contains(launch.event))
        events_.emplace(launch.event, parts_.machine.create_event());
    return parts_.machine.record(events_.at(launch.event), stream);
}

Result<void> InFlight::step(const HostStep& step) {
    const auto noted = [&](const Place& at, ElementType type, const std::byte* bytes) {
        std::string text =
            step.name + " of '" + at.buffer + "' at " + std::to_string(at.offset) + ":";
        for (uint64_t i = 0; i < at.bytes; i += element_size(type))
            text += " " + element_text(type, load_bits(type, bytes + i));
        parts_.note(text);
    };
    return std::visit(
        Overloaded{
            [&](const WriteBytes& w) { return parts_.machine.write(address(w.at), w.values); },
            [&](const WaitValue& w) {
                return parts_.machine.wait_until(
                    {address(w.at), static_cast<uint32_t>(w.at.bytes), w.test, w.value});
            },
            [&](const ReadElements& r) -> Result<void> {
                std::vector<std::byte> bytes(r.at.bytes);
                SASSEMU_TRY(parts_.machine.read(address(r.at), bytes));
                noted(r.at, r.type, bytes.data());
                return {};
            },
            [&](const AtomicValue& a) -> Result<void> {
                SASSEMU_ASSIGN(
                    const uint64_t old,
                    parts_.machine.atomic(address(a.at), static_cast<uint32_t>(a.at.bytes), a.op,
                                          a.value, a.compare));
                noted(a.at, a.at.bytes == 4 ? ElementType::u32 : ElementType::u64,
                      reinterpret_cast<const std::byte*>(&old));
                return {};
            },
            [&](const CopyBytes& c) -> Result<void> {
                std::vector<std::byte> piece(std::min<uint64_t>(c.to.bytes, 1 << 20));
                for (uint64_t at = 0; at < c.to.bytes; at += piece.size()) {
                    SASSEMU_TRY(process_budget().check("copy"));
                    piece.resize(std::min<uint64_t>(piece.size(), c.to.bytes - at));
                    SASSEMU_TRY(parts_.machine.read(address(c.from) + at, piece));
                    SASSEMU_TRY(parts_.machine.write(address(c.to) + at, piece));
                }
                return {};
            },
            [&](const CheckBytes& c) { return parts_.check(step.name, c); },
            [&](const Sleep& s) { return parts_.machine.sleep(s.nanoseconds); },
            [&](const Synchronize& s) -> Result<void> {
                if (!s.event.empty()) return parts_.machine.synchronize(events_.at(s.event));
                if (s.stream.empty()) return parts_.machine.synchronize();
                return parts_.machine.synchronize(streams_.at(s.stream));
            }},
        step.what);
}

Result<InFlight::Outcome> InFlight::run() {
    for (const auto& [name, stream] : parts_.plan.streams) {
        SASSEMU_ASSIGN(
            const StreamId id,
            parts_.machine.create_stream(stream.gpu, {name, stream.priority, stream.non_blocking}));
        streams_.emplace(name, id);
    }
    Outcome outcome;
    Result<void> refused;
    for (size_t i = 0; i < parts_.plan.launches.size() && refused && !stopped(); ++i) {
        if (!parts_.mine(parts_.plan.launches[i].gpu)) continue;
        parts_.progress("launch " + std::to_string(i + 1) + "/" +
                        std::to_string(parts_.plan.launches.size()) + ": " +
                        parts_.plan.launches[i].kernel);
        refused = put(i).within(parts_.plan.launches[i].where);
    }
    if (!refused) parts_.machine.interrupt();
    for (const HostStep& one : parts_.plan.host) {
        if (!refused || !outcome.host_failed.empty() || !parts_.mine(0)) break;
        if (const Result<void> in_time = process_budget().check(one.name); !in_time) {
            outcome.host_failed = in_time.error().message();
            break;
        }
        parts_.progress(one.name);
        const Result<void> done = step(one);
        if (done) continue;
        outcome.host_failed = one.name + ": " + done.error().message();
        outcome.host_lacks = done.error().code != ErrorCode::limit;
    }
    for (const auto& [index, operation] : operations_) {
        auto how = parts_.machine.result(operation);
        if (how) outcome.ended.push_back({index, std::move(*how)});
    }
    if (!refused) return refused.error();
    std::ranges::stable_sort(outcome.ended, {}, [](const Ended& e) { return e.how.order; });
    return outcome;
}

}  // namespace sassemu::plan
