// SPDX-License-Identifier: Apache-2.0
// The plan reader's part for what runs at once: GPUs, streams, what is put into them besides
// kernels, and the steps of the host.
#include <algorithm>
#include <set>

#include "emu/plan/buffers_by_name.hpp"
#include "emu/plan/read_parts.hpp"

namespace sassemu::plan {
namespace {

Result<uint32_t> read_gpu(const Field& field) {
    SASSEMU_ASSIGN(const uint64_t gpu, field.unsigned_number(Machine::most_gpus - 1));
    return static_cast<uint32_t>(gpu);
}

// `buffer`, `offset` and `pe` of an object; `bytes` are filled in by who knows them.
Result<Place> read_place(const Field& field, uint64_t bytes) {
    Place place;
    SASSEMU_ASSIGN(const Field buffer, required(field, "buffer"));
    SASSEMU_ASSIGN(place.buffer, buffer.string());
    if (const Field offset = field.member("offset")) {
        SASSEMU_ASSIGN(place.offset, offset.unsigned_number());
    }
    if (const Field pe = field.member("pe")) {
        SASSEMU_ASSIGN(place.pe, read_gpu(pe));
    }
    place.bytes = bytes;
    return place;
}

// An integer of 4 or 8 bytes: u32 if nothing else is said.
Result<uint32_t> read_word(const Field& field) {
    const Field type = field.member("type");
    if (!type) return uint32_t{4};
    SASSEMU_ASSIGN(const size_t which, type.one_of({"u32", "i32", "u64", "i64"}));
    return which < 2 ? uint32_t{4} : uint32_t{8};
}

Result<uint64_t> read_bits(const Field& field, uint32_t bytes) {
    SASSEMU_ASSIGN(const std::string text, field.number_text());
    const auto type = text.starts_with("-") ? (bytes == 4 ? ElementType::i32 : ElementType::i64)
                                            : (bytes == 4 ? ElementType::u32 : ElementType::u64);
    const auto bits = parse_element(type, text);
    if (!bits)
        return field.error("'" + text + "' does not fit into " + std::to_string(bytes) + " bytes");
    return *bits;
}

Result<WaitValue> read_wait(const Field& field, bool of_host) {
    SASSEMU_TRY(field.object({"buffer", "offset", "pe", "type", "test", "value"}));
    WaitValue wait;
    SASSEMU_ASSIGN(const uint32_t bytes, read_word(field));
    SASSEMU_ASSIGN(wait.at, read_place(field, bytes));
    if (const Field test = field.member("test")) {
        SASSEMU_ASSIGN(const size_t which, of_host ? test.one_of({">=", "==", "&", "nor", "!="})
                                                   : test.one_of({">=", "==", "&", "nor"}));
        wait.test = static_cast<ValueTest>(which);
    }
    SASSEMU_ASSIGN(const Field value, required(field, "value"));
    SASSEMU_ASSIGN(wait.value, read_bits(value, bytes));
    return wait;
}

Result<CopyBytes> read_copy(const Field& field) {
    SASSEMU_TRY(field.object({"to", "from", "bytes"}));
    SASSEMU_ASSIGN(const Field bytes, required(field, "bytes"));
    SASSEMU_ASSIGN(const uint64_t count, bytes.unsigned_number(uint64_t{1} << 40, 1));
    SASSEMU_ASSIGN(const Field to, required(field, "to"));
    SASSEMU_ASSIGN(const Field from, required(field, "from"));
    SASSEMU_TRY(to.object({"buffer", "offset", "pe"}));
    SASSEMU_TRY(from.object({"buffer", "offset", "pe"}));
    CopyBytes copy;
    SASSEMU_ASSIGN(copy.to, read_place(to, count));
    SASSEMU_ASSIGN(copy.from, read_place(from, count));
    return copy;
}

// type and values, at the end of the place.
Result<std::vector<std::byte>> read_typed(const Field& field, ElementType& type, Place& at) {
    SASSEMU_TRY(field.object({"buffer", "offset", "pe", "type", "values"}));
    SASSEMU_ASSIGN(const Field name, required(field, "type"));
    SASSEMU_ASSIGN(type, read_type(name));
    SASSEMU_ASSIGN(const Field list, required(field, "values"));
    SASSEMU_ASSIGN(std::vector<std::byte> values, read_values(list, type));
    if (values.empty()) return list.error("the list of values is empty");
    SASSEMU_ASSIGN(at, read_place(field, values.size()));
    return values;
}

Result<AtomicValue> read_atomic(const Field& field) {
    SASSEMU_TRY(field.object({"buffer", "offset", "pe", "type", "op", "value", "compare"}));
    AtomicValue atomic;
    SASSEMU_ASSIGN(const uint32_t bytes, read_word(field));
    SASSEMU_ASSIGN(atomic.at, read_place(field, bytes));
    SASSEMU_ASSIGN(const Field op, required(field, "op"));
    SASSEMU_ASSIGN(const size_t which,
                   op.one_of({"add", "exchange", "and", "or", "xor", "min", "max", "compare"}));
    atomic.op = static_cast<HostAtomic>(which);
    SASSEMU_ASSIGN(const Field value, required(field, "value"));
    SASSEMU_ASSIGN(atomic.value, read_bits(value, bytes));
    const Field compare = field.member("compare");
    if (bool(compare) != (atomic.op == HostAtomic::compare))
        return field.error("`compare` belongs to the operation compare, and to no other");
    if (compare) {
        SASSEMU_ASSIGN(atomic.compare, read_bits(compare, bytes));
    }
    return atomic;
}

Result<HostStep> read_step(const Field& field, size_t index) {
    SASSEMU_TRY(field.object(
        {"write", "waitUntil", "read", "atomic", "copy", "check", "sleep", "synchronize"}));
    if (field.node->members.size() != 1)
        return field.error("a step of the host does exactly one thing",
                           "write, waitUntil, read, atomic, copy, check, sleep or synchronize");
    HostStep step;
    step.where = field.where();
    const std::string& word = field.node->members.front().name;
    step.name = "host[" + std::to_string(index) + "]: " + word;
    const Field what = field.member(word);
    if (word == "write") {
        WriteBytes write;
        SASSEMU_ASSIGN(write.values, read_typed(what, write.type, write.at));
        step.what = std::move(write);
    } else if (word == "waitUntil") {
        SASSEMU_ASSIGN(step.what, read_wait(what, true));
    } else if (word == "read") {
        SASSEMU_TRY(what.object({"buffer", "offset", "pe", "type", "count"}));
        ReadElements read;
        SASSEMU_ASSIGN(const Field type, required(what, "type"));
        SASSEMU_ASSIGN(read.type, read_type(type));
        uint64_t count = 1;
        if (const Field number = what.member("count")) {
            SASSEMU_ASSIGN(count, number.unsigned_number(64, 1));
        }
        SASSEMU_ASSIGN(read.at, read_place(what, count * element_size(read.type)));
        step.what = std::move(read);
    } else if (word == "atomic") {
        SASSEMU_ASSIGN(step.what, read_atomic(what));
    } else if (word == "copy") {
        SASSEMU_ASSIGN(step.what, read_copy(what));
    } else if (word == "check") {
        CheckBytes check;
        ElementType type = ElementType::u8;
        SASSEMU_ASSIGN(check.expect.values, read_typed(what, type, check.at));
        check.expect.has_values = true;
        check.expect.type = type;
        check.expect.where = what.where();
        step.what = std::move(check);
    } else if (word == "sleep") {
        SASSEMU_ASSIGN(const uint64_t time, what.unsigned_number(uint64_t{1} << 50));
        step.what = Sleep{time};
    } else {
        SASSEMU_TRY(what.object({"stream", "event"}));
        Synchronize wait;
        if (const Field stream = what.member("stream")) {
            SASSEMU_ASSIGN(wait.stream, stream.string());
        }
        if (const Field event = what.member("event")) {
            SASSEMU_ASSIGN(wait.event, event.string());
        }
        if (!wait.stream.empty() && !wait.event.empty())
            return what.error("waits for a stream or for an event, not for both");
        step.what = std::move(wait);
    }
    return step;
}

Result<void> read_gpus(const Field& field, Plan& plan) {
    if (field.node->kind != JsonNode::Kind::array) {
        SASSEMU_ASSIGN(const uint64_t count, field.unsigned_number(Machine::most_gpus, 1));
        plan.gpus.resize(count);
        for (GpuOfPlan& gpu : plan.gpus) gpu = {field.where(), plan.device, ""};
        return {};
    }
    if (field.node->items.empty()) return field.error("the list of GPUs is empty");
    if (field.node->items.size() > Machine::most_gpus)
        return field.error("at most " + std::to_string(Machine::most_gpus) + " GPUs");
    for (size_t i = 0; i < field.node->items.size(); ++i) {
        const Field item = field.item(i);
        GpuOfPlan gpu;
        gpu.where = item.where();
        SASSEMU_ASSIGN(gpu.device, read_device(item, &gpu.arch));
        plan.gpus.push_back(std::move(gpu));
    }
    return {};
}

Result<void> read_nvshmem(const Field& field, Plan& plan, uint32_t gpus) {
    SASSEMU_TRY(field.object({"pes", "heap", "node", "delivery", "transport"}));
    NvshmemOfPlan nvshmem;
    nvshmem.where = field.where();
    nvshmem.pes = gpus ? gpus : static_cast<uint32_t>(std::max<size_t>(plan.gpus.size(), 1));
    if (const Field pes = field.member("pes"); pes && !gpus) {
        SASSEMU_ASSIGN(const uint64_t count, pes.unsigned_number(Machine::most_gpus, 1));
        nvshmem.pes = static_cast<uint32_t>(count);
    }
    if (plan.gpus.empty()) plan.gpus.resize(nvshmem.pes, {field.where(), plan.device, ""});
    if (nvshmem.pes > plan.gpus.size())
        return field.error(std::to_string(nvshmem.pes) + " PEs need a GPU each, and there are " +
                           std::to_string(plan.gpus.size()));
    // What the buffers take, if nothing is said.
    for (const Buffer& buffer : plan.buffers)
        if (buffer.kind == BufferKind::symmetric)
            nvshmem.heap += (buffer.bytes + 255) & ~uint64_t{255};
    if (const Field heap = field.member("heap")) {
        SASSEMU_ASSIGN(nvshmem.heap, heap.unsigned_number(uint64_t{1} << 40, 1));
    }
    if (const Field node = field.member("node")) {
        SASSEMU_ASSIGN(const uint64_t count, node.unsigned_number(Machine::most_gpus, 1));
        if (nvshmem.pes % count)
            return node.error(std::to_string(nvshmem.pes) +
                              " PEs are no whole number of nodes of " + std::to_string(count));
        nvshmem.node = static_cast<uint32_t>(count);
    }
    if (const Field delivery = field.member("delivery")) {
        SASSEMU_ASSIGN(const size_t which, delivery.one_of({"direct", "proxy"}));
        nvshmem.proxy = which == 1;
    }
    if (const Field transport = field.member("transport")) {
        SASSEMU_ASSIGN(const size_t which, transport.one_of({"nvlink", "nvlink+ib"}));
        nvshmem.infiniband = which == 1;
        if (nvshmem.node && !nvshmem.infiniband)
            return transport.error("PEs of several nodes are joined by InfiniBand: nvlink+ib");
    }
    plan.nvshmem = nvshmem;
    return {};
}

// A launch that says neither where nor in which stream runs on every PE.
Result<void> launch_on_all_pes(Plan& plan) {
    std::vector<Launch> launches;
    for (Launch& launch : plan.launches) {
        if (!launch.everywhere) {
            launches.push_back(std::move(launch));
            continue;
        }
        if (!launch.event.empty() && plan.nvshmem->pes > 1)
            return make_error(ErrorCode::input, launch.where,
                              "records event '" + launch.event + "' on every PE",
                              "say on which GPU it runs");
        for (uint32_t pe = 0; pe < plan.nvshmem->pes; ++pe) {
            launches.push_back(launch);
            launches.back().gpu = pe;
        }
    }
    plan.launches = std::move(launches);
    return {};
}

Result<void> check_symmetric(const Plan& plan, Buffer& buffer) {
    if (!plan.nvshmem)
        return make_error(ErrorCode::input, buffer.where,
                          "symmetric memory is of NVSHMEM, which the plan does not have",
                          "`nvshmem` says how many PEs there are");
    if (buffer.gpu || buffer.address)
        return make_error(ErrorCode::input, buffer.where,
                          "every PE has a copy, at the same place of its heap: `gpu` and `address` "
                          "do not go with `kind`");
    if (!buffer.expect || !buffer.expect->has_values) return {};
    std::vector<std::byte>& values = buffer.expect->values;
    const uint64_t all = buffer.bytes * plan.nvshmem->pes;
    if (values.size() != buffer.bytes && values.size() != all)
        return make_error(ErrorCode::input, buffer.expect->where,
                          "the values take " + std::to_string(values.size()) +
                              " bytes, a copy has " + std::to_string(buffer.bytes) +
                              " and all copies have " + std::to_string(all));
    const std::vector<std::byte> one = values;
    while (values.size() < all) values.insert(values.end(), one.begin(), one.end());
    return {};
}

Result<void> read_peers(const Field& field, Plan& plan) {
    if (field.node->kind != JsonNode::Kind::array) {
        SASSEMU_ASSIGN(plan.all_peers, field.boolean());
        return {};
    }
    for (size_t i = 0; i < field.node->items.size(); ++i) {
        SASSEMU_ASSIGN(const auto pair, field.item(i).unsigned_list(2, 2));
        for (const uint64_t gpu : pair)
            if (gpu >= plan.gpus.size())
                return field.item(i).error("there is no GPU " + std::to_string(gpu));
        plan.peers.emplace_back(pair[0], pair[1]);
    }
    return {};
}

// Whether the place lies in a buffer of the plan, and a word of it is aligned.
Result<void> check_place(const Plan& plan, const BuffersByName& buffers, const Where& where,
                         const Place& place, bool word) {
    const auto found = buffers.find(place.buffer);
    if (found == buffers.end())
        return make_error(ErrorCode::input, where, "there is no buffer '" + place.buffer + "'");
    const Buffer& buffer = *found->second;
    if (place.offset > buffer.bytes || place.bytes > buffer.bytes - place.offset)
        return make_error(ErrorCode::input, where,
                          std::to_string(place.bytes) + " bytes at offset " +
                              std::to_string(place.offset) + " are beyond buffer '" + buffer.name +
                              "' of " + std::to_string(buffer.bytes) + " bytes");
    if (place.pe && (buffer.kind != BufferKind::symmetric || place.pe >= plan.nvshmem->pes))
        return make_error(
            ErrorCode::input, where,
            "buffer '" + buffer.name + "' has no copy on PE " + std::to_string(place.pe));
    if (buffer.kind == BufferKind::multicast)
        return make_error(
            ErrorCode::input, where,
            "'" + buffer.name +
                "' is a multicast object, which kernels alone reach, by multimem instructions");
    if (word && (place.offset + buffer.address) % place.bytes)
        return make_error(ErrorCode::input, where,
                          "offset " + std::to_string(place.offset) + " is no multiple of " +
                              std::to_string(place.bytes));
    return {};
}

template <class What>
Result<void> check_places(const Plan& plan, const BuffersByName& buffers, const Where& where,
                          const What& what) {
    if constexpr (requires { what.from; }) {
        SASSEMU_TRY(check_place(plan, buffers, where, what.to, false));
        return check_place(plan, buffers, where, what.from, false);
    } else if constexpr (requires { what.at; }) {
        return check_place(
            plan, buffers, where, what.at, requires { what.value; });
    } else {
        return {};
    }
}

Result<void> check_launch(const Plan& plan, Launch& launch, const std::set<std::string>& events) {
    for (const std::string& event : launch.after)
        if (!events.contains(event))
            return make_error(ErrorCode::input, launch.where,
                              "waits for event '" + event + "', which nothing before it records");
    if (launch.stream.empty() || launch.stream == "perThread") return {};
    const auto stream = plan.streams.find(launch.stream);
    if (stream == plan.streams.end())
        return make_error(ErrorCode::input, launch.where,
                          "there is no stream '" + launch.stream + "'",
                          "name it in the plan's `streams`");
    if (launch.gpu != 0 && launch.gpu != stream->second.gpu)
        return make_error(ErrorCode::input, launch.where,
                          "stream '" + launch.stream + "' is of GPU " +
                              std::to_string(stream->second.gpu) + ", not of GPU " +
                              std::to_string(launch.gpu));
    launch.gpu = stream->second.gpu;
    return {};
}

Error no_gpu(const Where& where, uint32_t gpu, size_t count) {
    return make_error(
        ErrorCode::input, where,
        "there is no GPU " + std::to_string(gpu) + ": the plan has " + std::to_string(count),
        "`gpus` says how many there are");
}

}  // namespace

Result<void> read_stream_fields(const Field& field, Launch& launch) {
    if (const Field stream = field.member("stream")) {
        SASSEMU_ASSIGN(launch.stream, stream.string());
    }
    if (const Field event = field.member("event")) {
        SASSEMU_ASSIGN(launch.event, event.string());
    }
    if (const Field after = field.member("after")) {
        SASSEMU_TRY(after.array());
        for (size_t i = 0; i < after.node->items.size(); ++i) {
            SASSEMU_ASSIGN(std::string event, after.item(i).string());
            launch.after.push_back(std::move(event));
        }
    }
    if (const Field copy = field.member("copy")) {
        SASSEMU_ASSIGN(launch.operation, read_copy(copy));
        launch.kernel = "copy";
    } else if (const Field wait = field.member("waitValue")) {
        SASSEMU_ASSIGN(launch.operation, read_wait(wait, false));
        launch.kernel = "waitValue";
    } else if (const Field write = field.member("writeValue")) {
        SASSEMU_TRY(write.object({"buffer", "offset", "pe", "type", "value"}));
        WriteValue to;
        SASSEMU_ASSIGN(const uint32_t bytes, read_word(write));
        SASSEMU_ASSIGN(to.at, read_place(write, bytes));
        SASSEMU_ASSIGN(const Field value, required(write, "value"));
        SASSEMU_ASSIGN(to.value, read_bits(value, bytes));
        launch.operation = std::move(to);
        launch.kernel = "writeValue";
    }
    if (!launch.operation.index()) return {};
    SASSEMU_TRY(field.object({launch.kernel, "stream", "after", "event", "gpu"}));
    if (const Field gpu = field.member("gpu")) {
        SASSEMU_ASSIGN(launch.gpu, read_gpu(gpu));
    }
    return {};
}

Result<void> read_in_flight(const Field& root, Plan& plan, uint32_t gpus) {
    if (const Field field = root.member("gpus")) {
        if (gpus && field.node->kind == JsonNode::Kind::array)
            return field.error("lists its GPUs, and --gpus asks for " + std::to_string(gpus));
        SASSEMU_TRY(read_gpus(field, plan));
    }
    if (gpus) plan.gpus.assign(gpus, {plan.device_where, plan.device, ""});
    if (const Field field = root.member("nvshmem")) SASSEMU_TRY(read_nvshmem(field, plan, gpus));
    if (const Field peers = root.member("peers")) SASSEMU_TRY(read_peers(peers, plan));
    if (const Field streams = root.member("streams")) {
        if (streams.node->kind != JsonNode::Kind::object) return streams.wrong_kind("an object");
        for (const JsonNode::Member& member : streams.node->members) {
            const Field field = streams.member(member.name);
            SASSEMU_TRY(field.object({"gpu", "priority", "nonBlocking"}));
            if (member.name == "perThread")
                return field.error("'perThread' is the default stream of the plan's host thread");
            StreamOfPlan stream;
            stream.where = field.where();
            if (const Field gpu = field.member("gpu")) {
                SASSEMU_ASSIGN(stream.gpu, read_gpu(gpu));
            }
            if (const Field priority = field.member("priority")) {
                SASSEMU_ASSIGN(const int64_t level, priority.signed_number(INT32_MIN, INT32_MAX));
                stream.priority = static_cast<int32_t>(level);
            }
            if (const Field flag = field.member("nonBlocking")) {
                SASSEMU_ASSIGN(stream.non_blocking, flag.boolean());
            }
            plan.streams.emplace(member.name, std::move(stream));
        }
    }
    if (const Field host = root.member("host")) {
        SASSEMU_TRY(host.array());
        for (size_t i = 0; i < host.node->items.size(); ++i) {
            SASSEMU_ASSIGN(HostStep step, read_step(host.item(i), i));
            plan.host.push_back(std::move(step));
        }
    }
    plan.in_flight = gpus || plan.nvshmem || root.member("gpus") || root.member("peers") ||
                     root.member("streams") || root.member("host");
    return {};
}

namespace {

// Its members are memory of GPUs, and large enough.
Result<void> check_multicast(Plan& plan, const BuffersByName& buffers, const Buffer& buffer) {
    plan.in_flight = true;
    if (buffer.of.empty())
        return make_error(ErrorCode::input, buffer.where, "a multicast object without members");
    for (const std::string& name : buffer.of) {
        const auto member = buffers.find(name);
        const auto wrong = [&](const std::string& what) {
            return make_error(ErrorCode::input, buffer.where, "`of`: '" + name + "' " + what);
        };
        if (member == buffers.end()) return wrong("is no buffer");
        const Buffer& of = *member->second;
        if (of.kind != BufferKind::device && of.kind != BufferKind::peer &&
            of.kind != BufferKind::symmetric)
            return wrong("is not memory of GPUs");
        if (of.bytes < buffer.bytes)
            return wrong("has " + std::to_string(of.bytes) + " bytes, fewer than the object");
    }
    return {};
}

}  // namespace

Result<void> check_in_flight(Plan& plan) {
    const size_t gpus = std::max<size_t>(plan.gpus.size(), 1);
    const BuffersByName buffers = buffers_by_name(plan);
    if (plan.nvshmem) SASSEMU_TRY(launch_on_all_pes(plan));
    for (Buffer& buffer : plan.buffers) {
        if (buffer.kind == BufferKind::symmetric) SASSEMU_TRY(check_symmetric(plan, buffer));
        if (buffer.kind == BufferKind::multicast)
            SASSEMU_TRY(check_multicast(plan, buffers, buffer));
        if (buffer.gpu >= gpus) return no_gpu(buffer.where, buffer.gpu, gpus);
        if (buffer.gpu && (buffer.kind == BufferKind::host || buffer.kind == BufferKind::managed))
            return make_error(ErrorCode::input, buffer.where,
                              "memory of the host is of no GPU: `gpu` does not go with `kind`");
    }
    for (const auto& [name, stream] : plan.streams)
        if (stream.gpu >= gpus) return no_gpu(stream.where, stream.gpu, gpus);
    std::set<std::string> events;
    for (Launch& launch : plan.launches) {
        SASSEMU_TRY(check_launch(plan, launch, events));
        if (launch.gpu >= gpus) return no_gpu(launch.where, launch.gpu, gpus);
        plan.in_flight |=
            launch.operation.index() || !launch.stream.empty() || !launch.event.empty();
        if (!launch.event.empty()) events.insert(launch.event);
        SASSEMU_TRY(std::visit(
            [&](const auto& what) { return check_places(plan, buffers, launch.where, what); },
            launch.operation));
    }
    for (const HostStep& step : plan.host) {
        SASSEMU_TRY(std::visit(
            [&](const auto& what) { return check_places(plan, buffers, step.where, what); },
            step.what));
        const auto* wait = std::get_if<Synchronize>(&step.what);
        if (!wait) continue;
        if (!wait->stream.empty() && !plan.streams.contains(wait->stream))
            return make_error(ErrorCode::input, step.where,
                              "there is no stream '" + wait->stream + "'");
        if (!wait->event.empty() && !events.contains(wait->event))
            return make_error(ErrorCode::input, step.where,
                              "no launch records event '" + wait->event + "'");
    }
    return {};
}

}  // namespace sassemu::plan
