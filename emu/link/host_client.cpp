// SPDX-License-Identifier: Apache-2.0
// See host_client.hpp.
#include "emu/link/host_client.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "emu/base/descriptor_message.hpp"
#include "emu/base/limits.hpp"

namespace sassemu::link {

namespace {

template <class A, class B>
constexpr bool same(A ours, B theirs) {
    return static_cast<int>(ours) == static_cast<int>(theirs);
}
static_assert(same(plan::BufferKind::host, SASSEMU_HOST_PINNED) &&
              same(plan::BufferKind::managed, SASSEMU_HOST_MANAGED) &&
              same(plan::BufferKind::peer, SASSEMU_HOST_PEER) &&
              same(plan::BufferKind::symmetric, SASSEMU_HOST_SYMMETRIC));
static_assert(same(AtomicOp::add, SASSEMU_HOST_ADD) && same(AtomicOp::inc, SASSEMU_HOST_INC) &&
              same(AtomicOp::and_, SASSEMU_HOST_AND) && same(AtomicOp::cas, SASSEMU_HOST_COMPARE));
static_assert(same(AtomicType::s64, SASSEMU_HOST_S64) && same(AtomicType::f32, SASSEMU_HOST_F32) &&
              same(AtomicType::f16x2_rn, SASSEMU_HOST_F16X2_RN) &&
              same(AtomicType::b128, SASSEMU_HOST_B128));
static_assert(same(ValueTest::at_least, SASSEMU_HOST_AT_LEAST) &&
              same(ValueTest::not_equal, SASSEMU_HOST_NOT_EQUAL));

Error wrong(ErrorCode code, std::string where, std::string what) {
    return Error{code, std::move(where), std::move(what), ""};
}

}  // namespace

int status_of(const Error& error) {
    switch (error.code) {
        case ErrorCode::usage:
            return SASSEMU_HOST_USAGE;
        case ErrorCode::input:
        case ErrorCode::not_found:
            return SASSEMU_HOST_OUTSIDE;
        case ErrorCode::system:
            return SASSEMU_HOST_SYSTEM;
        default:
            return SASSEMU_HOST_REFUSED;
    }
}

void HostClient::send(const sassemu_wire_answer& head, std::span<const std::byte> payload,
                      int descriptor) {
    sassemu_wire_answer whole = head;
    whole.payload = static_cast<uint32_t>(payload.size());
    connection.answer(whole, payload, descriptor);
    (void)connection.flush();  // if nobody takes it, that is seen where nobody asks
}

void HostClient::fail(int status, const std::string& why) {
    sassemu_wire_answer head{};
    head.status = status;
    send(head, std::as_bytes(std::span(why)).first(std::min<size_t>(why.size(), 500)));
}

Result<void> HostWindows::add(OutsideMemory& memory, const plan::Buffer& buffer, uint32_t gpu,
                              uint64_t address, bool direct) {
    One one{buffer.name, static_cast<uint32_t>(buffer.kind), gpu, address, buffer.bytes, {}, 0,
            false};
    direct_ = direct;
    // Those of NVSHMEM lie in the middle of a heap.
    if (direct && buffer.kind != plan::BufferKind::symmetric) {
        one.memory = Descriptor(::memfd_create("sassemu", MFD_CLOEXEC | MFD_ALLOW_SEALING));
        if (one.memory.number() >= 0) {
            SASSEMU_TRY(memory.back(address, one.memory.number()));
            // Nobody who has it can take bytes away.
            ::fcntl(one.memory.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
        }
    }
    all_.push_back(std::move(one));
    return {};
}

Result<HostWindows::One*> HostWindows::find(uint32_t id) {
    if (id == 0 || id > all_.size())
        return wrong(ErrorCode::not_found, "buffer " + std::to_string(id), "does not exist");
    One& one = all_[id - 1];
    if (one.gone)
        return wrong(ErrorCode::not_found, "buffer '" + one.name + "'", "has been taken back");
    return &one;
}

Result<uint64_t> HostWindows::bytes_at(uint32_t id, uint64_t offset, uint64_t bytes) {
    SASSEMU_ASSIGN(const One* one, find(id));
    if (offset <= one->bytes && bytes <= one->bytes - offset) return one->address + offset;
    return wrong(ErrorCode::not_found, "buffer '" + one->name + "'",
                 std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                     " are outside: it has " + std::to_string(one->bytes));
}

std::string HostWindows::place(const sassemu_wire_request& request) const {
    return "buffer '" + all_[request.window - 1].name + "' at " + std::to_string(request.offset);
}

Result<std::optional<ValueCondition>> HostWindows::condition(const sassemu_wire_request& request) {
    if (request.what != SASSEMU_WIRE_WAIT) return std::optional<ValueCondition>();
    SASSEMU_ASSIGN(const uint64_t address, bytes_at(request.window, request.offset, request.bytes));
    if ((request.bytes != 4 && request.bytes != 8) || address % request.bytes ||
        request.op > SASSEMU_HOST_NOT_EQUAL)
        return wrong(ErrorCode::usage, place(request),
                     "4 or 8 bytes are waited for, at an aligned address, with one of five tests");
    return std::optional(ValueCondition{address, static_cast<uint32_t>(request.bytes),
                                        static_cast<ValueTest>(request.op), request.operand[0]});
}

Result<Answer> HostWindows::perform(Machine& machine, OutsideMemory& memory, HostClient& client) {
    const sassemu_wire_request& request = client.request.head;
    const std::span<const std::byte> data = client.request.payload;
    Answer answer;
    switch (request.what) {
        case SASSEMU_WIRE_LIST:
            return list(request.offset);
        case SASSEMU_WIRE_MAP:
            return map(client);
        case SASSEMU_WIRE_REGISTER:
            return register_memory(machine, memory, client);
        case SASSEMU_WIRE_UNREGISTER:
            return unregister(machine, client);
        default:
            break;
    }
    if (request.bytes > SASSEMU_WIRE_PIECE)
        return wrong(ErrorCode::limit, "request", "a piece has at most 1 MiB");
    SASSEMU_ASSIGN(const uint64_t at, bytes_at(request.window, request.offset, request.bytes));
    const bool block = request.what == SASSEMU_WIRE_READ || request.what == SASSEMU_WIRE_WRITE ||
                       request.what == SASSEMU_WIRE_COPY;
    if (block && !request.bytes) return answer;
    switch (request.what) {
        case SASSEMU_WIRE_READ:
            answer.payload.resize(request.bytes);
            SASSEMU_TRY(machine.read(at, answer.payload));
            return answer;
        case SASSEMU_WIRE_WRITE:
            if (data.size() != request.bytes) break;
            SASSEMU_TRY(machine.write(at, data));
            return answer;
        case SASSEMU_WIRE_VALUE:
            if (request.bytes > 8 || at % std::max<uint64_t>(request.bytes, 1)) break;
            SASSEMU_TRY(machine.write(
                at, std::as_bytes(std::span(&request.operand[0], 1)).first(request.bytes)));
            return answer;
        case SASSEMU_WIRE_COPY: {
            SASSEMU_ASSIGN(const uint64_t from,
                           bytes_at(request.from_window, request.from_offset, request.bytes));
            std::vector<std::byte> bytes(request.bytes);
            SASSEMU_TRY(machine.read(from, bytes));
            SASSEMU_TRY(machine.write(at, bytes));
            return answer;
        }
        case SASSEMU_WIRE_ATOMIC: {
            if (request.op > SASSEMU_HOST_COMPARE || request.type > SASSEMU_HOST_B128) break;
            OutsideMemory::Atomic what;
            what.op = static_cast<AtomicOp>(request.op);
            what.type = static_cast<AtomicType>(request.type);
            what.bytes = static_cast<uint32_t>(request.bytes);
            std::copy_n(request.operand, 2, what.operand);
            std::copy_n(request.swap, 2, what.swap);
            SASSEMU_TRY(memory.update(at, what, answer.head.value).within(place(request)));
            return answer;
        }
        default:
            break;
    }
    return wrong(ErrorCode::usage, "request " + std::to_string(request.what),
                 "is none of the host protocol");
}

Answer HostWindows::list(uint64_t from) const {
    Answer answer;
    const auto put = [&](const void* data, size_t bytes) {
        const auto* at = static_cast<const std::byte*>(data);
        answer.payload.insert(answer.payload.end(), at, at + bytes);
    };
    uint64_t shown = 0;
    for (size_t i = 0; i < all_.size(); ++i) {
        const One& one = all_[i];
        if (one.gone || shown++ < from) continue;
        sassemu_wire_window window{static_cast<uint32_t>(i + 1),
                                   one.kind,
                                   one.gpu,
                                   one.memory.number() >= 0,
                                   one.address,
                                   one.bytes,
                                   static_cast<uint32_t>(one.name.size()),
                                   0};
        if (answer.payload.size() + sizeof window + one.name.size() > SASSEMU_WIRE_PIECE) break;
        put(&window, sizeof window);
        put(one.name.data(), one.name.size());
    }
    return answer;
}

Result<Answer> HostWindows::map(HostClient& client) {
    SASSEMU_ASSIGN(const One* one, find(client.request.head.window));
    if (one->memory.number() < 0)
        return wrong(ErrorCode::unsupported, "buffer '" + one->name + "'",
                     direct_ ? "its memory is not shared; load, store, read and write reach it"
                             : "under a memory model or with plugins each access has to be seen; "
                               "load, store, read and write reach it");
    client.reaches = true;
    Answer answer;
    answer.head.value[0] = one->address % 4096;
    answer.descriptor = one->memory.number();
    return answer;
}

Result<Answer> HostWindows::register_memory(Machine& machine, OutsideMemory& memory,
                                            HostClient& client) {
    const sassemu_wire_request& request = client.request.head;
    const std::string name(reinterpret_cast<const char*>(client.request.payload.data()),
                           client.request.payload.size());
    const std::string where = "memory '" + name + "'";
    if (name.empty() || name.size() > 255 || !request.bytes || request.bytes > uint64_t{1} << 40 ||
        request.offset % 4096)
        return wrong(ErrorCode::usage, where,
                     "1 to 2^40 bytes are registered, at a multiple of 4096, with a name");
    const auto mine = [&](const One& one) { return one.owner == client.number && !one.gone; };
    if (static_cast<size_t>(std::ranges::count_if(all_, mine)) >= most_registered)
        return wrong(ErrorCode::limit, where,
                     "a host process registers at most " + std::to_string(most_registered));
    SASSEMU_TRY(process_budget().room_for(request.bytes, where));
    Descriptor& bytes = client.request.descriptor;
    if (direct_ && !is_sealed(bytes.number()))
        return wrong(ErrorCode::usage, where, "came without bytes, or they might become fewer");
    SASSEMU_ASSIGN(
        const uint64_t address,
        machine.allocate_host(request.bytes, name + " of " + client.name(), request.offset));
    if (direct_) {
        const auto backed = memory.back(address, bytes.number());
        if (!backed) {
            (void)machine.release(address);
            return backed.error();
        }
        client.reaches = true;
    } else {
        bytes.close();
    }
    all_.push_back({name, SASSEMU_HOST_REGISTERED, 0, address, request.bytes, std::move(bytes),
                    client.number, false});
    Answer answer;
    answer.head.value[0] = all_.size();
    answer.head.value[1] = address;
    return answer;
}

Result<Answer> HostWindows::unregister(Machine& machine, HostClient& client) {
    SASSEMU_ASSIGN(One * one, find(client.request.head.window));
    if (one->owner != client.number)
        return wrong(ErrorCode::usage, "buffer '" + one->name + "'",
                     "is not what this process has registered");
    SASSEMU_TRY(machine.release(one->address));
    one->gone = true;
    one->memory.close();
    return Answer{};
}

void HostWindows::release_all(Machine& machine, uint32_t owner) {
    for (One& one : all_) {
        if (one.owner != owner || one.gone) continue;
        (void)machine.release(one.address);
        one.gone = true;
        one.memory.close();
    }
}

}  // namespace sassemu::link
