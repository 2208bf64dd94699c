// SPDX-License-Identifier: Apache-2.0
// See memory.hpp.
#include "memory.hpp"

#include <cstring>

namespace sassemu::capture {
namespace {

// Addresses of user space, above what integers and halves of floats look like.
bool may_be_address(uint64_t value) {
    return value >= uint64_t{1} << 32 && value < uint64_t{1} << 49;
}

}  // namespace

void Memory::take(const std::vector<Launch>& launches) {
    // Variables first: to the driver they are allocations, too.
    std::set<uint64_t> modules;
    for (const Launch& launch : launches)
        if (modules.insert(launch.module).second)
            for (const std::string& name : launch.image->symbols.variables)
                if (const auto range = driver_.variable(launch, name))
                    add(*range, name, launch.image);
    for (const Launch& launch : launches) scan(launch.parameters, 4);
    if (options_.all)
        for (const uint64_t address : driver_.allocations()) word(address);
    // pieces_ grows meanwhile; the bytes of a piece stay where they are.
    for (size_t i = 0; i < pieces_.size(); ++i) scan(std::span(pieces_[i].before), 8);
}

void Memory::scan(std::span<const std::byte> bytes, size_t step) {
    for (size_t at = 0; at + 8 <= bytes.size(); at += step) {
        uint64_t value;
        std::memcpy(&value, bytes.data() + at, 8);
        if (may_be_address(value)) word(value);
        // Handles of textures are small numbers; only parameters are searched for them.
        else if (step == 4 && value && !textures_.contains(value))
            if (const auto object = driver_.texture(value)) {
                if (!object->refused.empty()) throw Failure(object->refused);
                textures_.emplace(value, *object);
                if (object->memory.array)
                    add(object->memory);
                else
                    word(object->address);
            }
    }
}

void Memory::word(uint64_t value) {
    const auto next = known_.upper_bound(value);
    if (next != known_.begin() && value < std::prev(next)->second) return;
    constexpr uint64_t grain = 256;  // allocations begin at its multiples
    if (nothing_.contains(value / grain)) return;
    if (const auto range = driver_.range_of(value))
        add(*range);
    else
        nothing_.insert(value / grain);
}

void Memory::add(const Range& range, const std::string& variable, const Image* image) {
    if (range.array) {
        if (!arrays_.insert(range.array).second) return;
    } else if (!known_.emplace(range.address, range.address + range.bytes).second) {
        return;
    }
    bytes_ += range.bytes;
    if (bytes_ > options_.max_bytes)
        throw Failure("what it can reach is more than " + std::to_string(options_.max_bytes) +
                      " bytes (max-bytes=)");
    Piece piece{range, variable, image, {}, {}, false};
    piece.before.resize(range.bytes);
    driver_.read(range, piece.before);
    pieces_.push_back(std::move(piece));
}

void Memory::take_after() {
    for (Piece& piece : pieces_) {
        piece.after.resize(piece.range.bytes);
        driver_.read(piece.range, piece.after);
    }
}

void Memory::restore(std::vector<std::byte> Piece::*state) {
    for (const Piece& piece : pieces_) driver_.write(piece.range, piece.*state);
}

void Memory::compare_with_after() {
    std::vector<std::byte> now;
    for (Piece& piece : pieces_) {
        now.resize(piece.range.bytes);
        driver_.read(piece.range, now);
        piece.varies |= now != piece.after;
    }
}

}  // namespace sassemu::capture
