// SPDX-License-Identifier: Apache-2.0
// See setup.hpp. Where a plan's buffers lie and what they hold before the first launch.
#include <algorithm>
#include <span>

#include "emu/base/limits.hpp"
#include "emu/nvshmem/world.hpp"
#include "emu/plan/byte_source.hpp"
#include "emu/plan/host_processes.hpp"
#include "emu/plan/setup.hpp"

namespace sassemu::plan {

namespace {

// The copies of a symmetric buffer, one after the other.
class CopiesSource final : public ByteSource {
  public:
    CopiesSource(std::vector<DeviceSource> copies, uint64_t bytes)
        : ByteSource(copies.size() * bytes), copies_(std::move(copies)), bytes_(bytes) {}
    uint64_t zeros(uint64_t at) override {
        return std::min(copies_[at / bytes_].zeros(at % bytes_), bytes_ - at % bytes_);
    }
    Result<void> read(uint64_t at, std::span<std::byte> out) override {
        while (!out.empty()) {
            const auto now = out.first(std::min<uint64_t>(out.size(), bytes_ - at % bytes_));
            SASSEMU_TRY(copies_[at / bytes_].read(at % bytes_, now));
            at += now.size();
            out = out.subspan(now.size());
        }
        return {};
    }

  private:
    std::vector<DeviceSource> copies_;
    const uint64_t bytes_;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> Setup::bytes_of(const Buffer& buffer) {
    SASSEMU_ASSIGN(Gpu * gpu, gpu_of(buffer));
    if (buffer.kind != BufferKind::symmetric)
        return std::unique_ptr<ByteSource>(
            std::make_unique<DeviceSource>(*gpu, addresses_.at(buffer.name), buffer.bytes));
    std::vector<DeviceSource> copies;
    for (uint32_t pe = 0; pe < world_->pes(); ++pe) {
        SASSEMU_ASSIGN(gpu, this->gpu(pe));
        copies.emplace_back(*gpu, address_on(buffer.name, pe), buffer.bytes);
    }
    return std::unique_ptr<ByteSource>(
        std::make_unique<CopiesSource>(std::move(copies), buffer.bytes));
}

// A file has the bytes of one copy, or of all of them; random numbers go on from copy to copy.
Result<void> Setup::fill_copies(const Buffer& buffer) {
    const uint32_t pes = world_->pes();
    std::vector<std::byte> all;
    if (!buffer.contents.file.empty()) {
        auto file = read_file(buffer.contents.file);
        if (!file) return std::move(file).error().within(buffer.where);
        if (file->size() == buffer.bytes * pes) {
            const auto bytes = std::as_bytes(std::span(*file));
            all.assign(bytes.begin(), bytes.end());
        }
    } else if (buffer.contents.random) {
        SASSEMU_TRY(process_budget().room_for(2 * buffer.bytes * pes, buffer.where));
        all.resize(buffer.bytes * pes);
        fill_random(*buffer.contents.random, all);
    }
    for (uint32_t pe = 0; pe < pes; ++pe) {
        SASSEMU_ASSIGN(Gpu * gpu, this->gpu(pe));
        const uint64_t at = address_on(buffer.name, pe);
        SASSEMU_TRY(all.empty()
                        ? fill(*gpu, buffer.contents, buffer.where, at, buffer.bytes, true)
                        : gpu->write(at, std::span(all).subspan(pe * buffer.bytes, buffer.bytes)));
    }
    return {};
}

Result<void> Setup::place_buffers() {
    // Buffers with an address of their own come first: nothing may be in their way.
    // Multicast objects last: what they stand for has to be there.
    for (const int turn : {0, 1, 2}) {
        for (const Buffer& buffer : plan_.buffers) {
            if (turn != (buffer.kind == BufferKind::multicast ? 2 : buffer.address ? 0 : 1))
                continue;
            auto address = allocate(buffer);
            if (!address) return std::move(address).error().within(buffer.where);
            addresses_.emplace(buffer.name, *address);
            if (turn == 2) continue;
            if (options_.ranks)
                SASSEMU_TRY(options_.ranks
                                ->add(*machine_, options_.ranks->rank_of(home(buffer)), *address,
                                      buffer.bytes, buffer.name)
                                .within(buffer.where));
            if (options_.host) SASSEMU_TRY(show_host(buffer).within(buffer.where));
        }
    }
    for (const Buffer& buffer : plan_.buffers) {
        if (!mine(home(buffer)) || buffer.kind == BufferKind::multicast) continue;
        SASSEMU_ASSIGN(Gpu * gpu, gpu_of(buffer));
        SASSEMU_TRY(buffer.kind == BufferKind::symmetric
                        ? fill_copies(buffer)
                        : fill(*gpu, buffer.contents, buffer.where, addresses_.at(buffer.name),
                               buffer.bytes, true));
    }
    for (const Buffer& buffer : plan_.buffers) {
        if (!mine(home(buffer))) continue;
        const bool copies = buffer.kind == BufferKind::symmetric;
        const uint32_t end = copies ? world_->pes() : buffer.gpu + 1;
        for (uint32_t on = copies ? 0 : buffer.gpu; on < end && !buffer.pointers.empty(); ++on) {
            SASSEMU_ASSIGN(Gpu * gpu, this->gpu(on));
            for (const PointerPatch& patch : buffer.pointers) {
                const uint64_t value = address_on(patch.buffer, on) + patch.add;
                SASSEMU_TRY(gpu->write(address_on(buffer.name, on) + patch.offset,
                                       std::as_bytes(std::span(&value, 1))));
            }
        }
    }
    return {};
}

// Host processes get bytes themselves where nobody has to see each access.
Result<void> Setup::show_host(const Buffer& buffer) {
    const bool direct = options_.gpu.model == "flat" && !hooks_;
    const bool copies = buffer.kind == BufferKind::symmetric;
    for (uint32_t on = 0; on < (copies ? world_->pes() : 1); ++on)
        SASSEMU_TRY(options_.host->add(*machine_, buffer, copies ? on : home(buffer),
                                       address_on(buffer.name, on), direct));
    return {};
}

Result<uint64_t> Setup::allocate(const Buffer& buffer) {
    if (buffer.kind == BufferKind::symmetric) {
        for (uint32_t pe = 1; pe < world_->pes(); ++pe)
            SASSEMU_TRY(world_->allocate(pe, buffer.bytes));
        return world_->allocate(0, buffer.bytes);
    }
    if (buffer.kind == BufferKind::multicast) {
        std::vector<uint64_t> members;
        for (const std::string& name : buffer.of) {
            const bool copies = find_buffer(name)->kind == BufferKind::symmetric;
            for (uint32_t pe = 0; pe < (copies ? world_->pes() : 1); ++pe)
                members.push_back(address_on(name, pe));
        }
        return machine_->allocate_multicast(members, buffer.bytes, buffer.name, buffer.address);
    }
    const uint32_t owner = home(buffer);
    const std::string name =
        mine(owner) ? buffer.name
                    : buffer.name + " of rank " + std::to_string(options_.ranks->rank_of(owner));
    if (machine_ && buffer.kind == BufferKind::peer)
        return machine_->allocate_shared(buffer.gpu, buffer.bytes, name, buffer.address);
    if (machine_ && buffer.kind != BufferKind::device)
        return machine_->allocate_host(buffer.bytes, name, buffer.address);
    SASSEMU_ASSIGN(Gpu * gpu, this->gpu(buffer.gpu));
    SASSEMU_ASSIGN(const uint64_t address, gpu->allocate(buffer.bytes, name, buffer.address));
    if (buffer.heap) SASSEMU_TRY(gpu->give_to_heap(address));
    return address;
}

Result<void> Setup::fill(Gpu& gpu, const Contents& contents, const Where& where, uint64_t address,
                         uint64_t bytes, bool zero_otherwise) {
    if (!contents.file.empty()) {
        auto file = read_file(contents.file);
        if (!file) return std::move(file).error().within(where);
        if (file->size() != bytes) {
            return make_error(ErrorCode::input, where,
                              contents.file + " has " + std::to_string(file->size()) + " bytes, " +
                                  std::to_string(bytes) + " are wanted");
        }
        return gpu.write(address, std::as_bytes(std::span(*file)));
    }
    if (contents.random) {
        if (bytes % element_size(contents.random->type) != 0) {
            return make_error(ErrorCode::input, where,
                              std::to_string(bytes) + " bytes are no whole number of " +
                                  std::string(element_name(contents.random->type)) + " elements");
        }
        SASSEMU_TRY(process_budget().room_for(2 * bytes, where));
        std::vector<std::byte> values(bytes);
        fill_random(*contents.random, values);
        return gpu.write(address, values);
    }
    if (contents.fill) {
        // Zeros that a device buffer starts with anyway are not written: they would take
        // memory.
        if (*contents.fill != 0) SASSEMU_TRY(process_budget().room_for(bytes, where));
        return gpu.fill(address, bytes, *contents.fill);
    }
    if (!zero_otherwise) return {};
    return gpu.fill(address, bytes, 0);
}

}  // namespace sassemu::plan
