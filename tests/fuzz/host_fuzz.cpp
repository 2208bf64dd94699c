// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: what a host process sends to a run (--listen). The input is cut into requests:
// two bytes say what one asks for and how its fields are drawn, so that windows, offsets and sizes
// are often right; or it goes to the socket as it is. Memory that is registered comes with a
// descriptor of each kind. Run: host_fuzz -max_total_time=600 corpus/ tests/fuzz/corpus/link
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "emu/base/descriptor_message.hpp"
#include "emu/link/host_client.hpp"
#include "emu/machine.hpp"

using namespace sassemu;
using namespace sassemu::link;

namespace {

// A machine with one buffer in host memory and one of a GPU.
struct Host {
    explicit Host(bool direct) {
        GpuOptions options;
        options.threads = 1;
        options.heap_bytes = 4096;
        machine = std::move(*Machine::create(std::move(options), {*device_profile("h100")}));
        memory = &dynamic_cast<OutsideMemory&>(*machine);
        add("host", plan::BufferKind::host, *machine->allocate_host(4096, "host"), direct);
        add("gpu", plan::BufferKind::device, *(*machine->gpu(0))->allocate(100, "gpu"), direct);
    }
    void add(const char* name, plan::BufferKind kind, uint64_t address, bool direct) {
        plan::Buffer buffer;
        buffer.name = name;
        buffer.kind = kind;
        buffer.bytes = kind == plan::BufferKind::host ? 4096 : 100;
        if (!windows.add(*memory, buffer, 0, address, direct)) __builtin_trap();
    }
    std::unique_ptr<Machine> machine;
    OutsideMemory* memory = nullptr;
    HostWindows windows;
};

class Input {
  public:
    Input(const std::uint8_t* data, std::size_t size) : at_(data), left_(size) {}
    bool any() const { return left_; }
    std::uint8_t byte() { return left_ ? (--left_, *at_++) : 0; }
    std::uint64_t word() {
        std::uint64_t v = 0;
        for (int k = 0; k < 8; ++k) v = v << 8 | byte();
        return v;
    }
    // Small and right, at the edge, or anything.
    std::uint64_t number(std::uint64_t edge) {
        switch (const auto how = byte(); how % 4) {
            case 0:
                return how / 4;
            case 1:
                return edge - how / 4 % 8;
            case 2:
                return std::uint64_t{how} * 16;
            default:
                return word();
        }
    }

  private:
    const std::uint8_t* at_;
    std::size_t left_;
};

int descriptor_of(std::uint8_t kind) {
    if (kind % 4 == 0) return -1;
    if (kind % 4 == 1) return ::open("/dev/null", O_RDWR | O_CLOEXEC);
    const int memory = ::memfd_create("host", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (::ftruncate(memory, 4096 * (kind / 4 % 3))) __builtin_trap();
    if (kind % 4 == 2) ::fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | (kind & 64 ? F_SEAL_WRITE : 0));
    return memory;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 4) return 0;
    Input bytes(data, size);
    const auto how = bytes.byte();
    Host host(how & 1);
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends)) return 0;
    const Descriptor other(ends[0]);
    HostClient client{Descriptor(ends[1])};
    client.number = 1;
    for (int requests = 0; bytes.any() && requests < 64; ++requests) {
        if (how & 2) {
            std::uint8_t piece[300];
            const std::size_t count = 1 + bytes.byte();
            for (std::size_t k = 0; k < count; ++k) piece[k] = bytes.byte();
            (void)send_with(other.number(), std::as_bytes(std::span(piece, count)), -1);
        } else {
            sassemu_wire_request request{};
            request.what = bytes.byte() % 16;
            request.window = static_cast<std::uint32_t>(bytes.number(3));
            request.from_window = bytes.byte() % 4;
            request.offset = bytes.number(4096);
            request.from_offset = bytes.number(100);
            request.bytes = bytes.number(4096);
            request.op = bytes.byte() % 16;
            request.type = bytes.byte() % 16;
            request.operand[0] = bytes.word();
            request.timeout = static_cast<std::int64_t>(bytes.number(0));
            std::byte payload[256];
            request.payload = bytes.byte();
            for (std::uint32_t k = 0; k < request.payload; ++k)
                payload[k] = std::byte{bytes.byte()};
            const Descriptor passed(descriptor_of(bytes.byte()));
            (void)send_with(other.number(), std::as_bytes(std::span(&request, 1)), passed.number());
            (void)send_with(other.number(), std::span(payload, request.payload), -1);
        }
        if (!client.connection.receive()) break;
        if (!requests && (how & 4) && client.connection.hello())
            client.connection.welcome(0, SASSEMU_HOST_OK, "");
        for (;;) {
            auto request = client.connection.request();
            if (!request || !*request) break;
            client.request = std::move(**request);
            const auto condition = host.windows.condition(client.request.head);
            if (condition && *condition) {
                (void)host.windows.place(client.request.head);
                (void)host.memory->look(**condition);
                continue;
            }
            auto answer = host.windows.perform(*host.machine, *host.memory, client);
            if (answer)
                client.send(answer->head, answer->payload, answer->descriptor);
            else
                client.fail(status_of(answer.error()), answer.error().message());
        }
        std::byte said[4096];
        while (::recv(other.number(), said, sizeof said, MSG_DONTWAIT) > 0) {
        }
    }
    host.windows.release_all(*host.machine, client.number);
    return 0;
}
