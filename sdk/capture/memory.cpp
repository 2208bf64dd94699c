// SPDX-License-Identifier: Apache-2.0
// See memory.hpp.
#include "memory.hpp"

#include <algorithm>
#include <cstring>

namespace sassemu::capture {
namespace {

// Addresses of user space, above what integers and halves of floats look like.
bool may_be_address(uint64_t value) {
    return value >= uint64_t{1} << 32 && value < uint64_t{1} << 49;
}

}  // namespace

void Memory::take(const Work& work) {
    for (const Range& range : work.scratch) {
        known_.emplace(range.address, range.address + range.bytes);
        pieces_.push_back({range, {}, nullptr, {}, {}, false, true, 0});
    }
    // Variables first: to the driver they are allocations, too.
    std::set<uint64_t> modules;
    for (const Launch& launch : work.launches)
        if (!launch.move && modules.insert(launch.module).second)
            for (const std::string& name : launch.image->symbols.variables)
                if (const auto range = driver_.variable(launch, name))
                    add(*range, name, launch.image);
    find_functions();
    for (const Launch& launch : work.launches) {
        scan(launch.parameters, 4);
        if (!launch.move) continue;
        if (!word(launch.move->to)) throw Failure("a copy of its graph goes to no allocation");
        if (launch.move->bytes.empty() && !word(launch.move->from))
            throw Failure("a copy of its graph comes from no allocation");
    }
    if (options_.all)
        for (const uint64_t address : driver_.allocations()) word(address);
    // pieces_ grows meanwhile, and a piece may become part of another.
    for (size_t i = 0; i < pieces_.size(); ++i) {
        std::vector<std::byte> bytes = std::move(pieces_[i].before);
        scan(bytes, 8);
        if (pieces_[i].range.bytes) pieces_[i].before = std::move(bytes);
    }
    std::erase_if(pieces_, [](const Piece& piece) { return !piece.range.bytes; });
}

void Memory::scan(std::span<const std::byte> bytes, size_t step) {
    for (size_t at = 0; at + 8 <= bytes.size(); at += step) {
        uint64_t value;
        std::memcpy(&value, bytes.data() + at, 8);
        if (may_be_address(value)) {
            if (!word(value, step == 4) && step == 4) near(value);
        }
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

bool Memory::word(uint64_t value, bool parameter) {
    const auto next = known_.upper_bound(value);
    if (next != known_.begin() && value < std::prev(next)->second) {
        // Near the end of what was taken around another: there is more behind it.
        if (parameter)
            for (const Range& range : windowed_)
                if (value - range.address < range.bytes) add_window(range, value);
        return true;
    }
    if (nothing_.contains(value)) return false;
    const auto range = driver_.range_of(value);
    if (!range)
        nothing_.insert(value);
    else if (range->bytes > options_.max_bytes) {
        windowed_.push_back(*range);
        add_window(*range, value);
    } else
        add(*range);
    return range.has_value();
}

void Memory::near(uint64_t value) {
    constexpr uint64_t reach = 64 << 10;
    if (!live_) {
        live_ = driver_.allocations();
        std::ranges::sort(*live_);
    }
    const auto next = std::ranges::upper_bound(*live_, value);
    if (next != live_->end() && *next - value <= reach) word(*next);
    if (next == live_->begin()) return;
    const auto before = driver_.range_of(*std::prev(next));
    if (before && value - before->address <= before->bytes + reach)
        word(before->address + before->bytes - 1);
}

// Modules that nvlink made have whole addresses of functions in memory (tables of virtual
// functions); others have numbers, which mean the same everywhere.
void Memory::find_functions() {
    for (const Piece& piece : pieces_) {
        if (!piece.image) continue;
        for (const FunctionWord& word : piece.image->symbols.function_words) {
            if (word.variable != piece.variable || word.offset + 8 > piece.before.size()) continue;
            uint64_t address;
            std::memcpy(&address, piece.before.data() + word.offset, 8);
            if (address) functions_[piece.image].emplace(word.function, address);
        }
    }
}

void Memory::add(const Range& range, const std::string& variable, const Image* image) {
    if (range.array) {
        if (!arrays_.insert(range.array).second) return;
    } else if (!known_.emplace(range.address, range.address + range.bytes).second) {
        return;
    }
    Piece piece{range, variable, image, {}, {}, false, false, 0};
    constexpr uint64_t grain = 512;
    if (options_.round && range.kind == MemoryKind::device && !range.array && variable.empty())
        piece.rounded = (grain - range.bytes % grain) % grain;
    read(std::move(piece));
}

// Arenas of allocators are larger than a capsule may be. What of one is taken around several
// pointers and meets is one piece: a copy may go across.
void Memory::add_window(const Range& range, uint64_t value) {
    const uint64_t end = range.address + range.bytes;
    Range window = range;
    constexpr uint64_t grain = 512;
    const uint64_t before = value - std::min(value, options_.window),
                   after = value + options_.window + grain - 1;
    window.address = std::max(range.address, before / grain * grain);
    uint64_t window_end = std::min(end, after / grain * grain);
    for (Piece& piece : pieces_) {
        const uint64_t first = piece.range.address, last = first + piece.range.bytes;
        if (piece.range.array || !piece.variable.empty() || first > window_end ||
            last < window.address || first < range.address || last > end)
            continue;
        if (first <= window.address && last >= window_end) return;
        window.address = std::min(window.address, first);
        window_end = std::max(window_end, last);
        known_.erase(first);
        bytes_ -= piece.range.bytes;
        piece = {};  // is left out at the end
    }
    window.bytes = window_end - window.address;
    known_.emplace(window.address, window_end);
    read({window, {}, nullptr, {}, {}, false, false, 0});
}

void Memory::read(Piece piece) {
    const Range& range = piece.range;
    bytes_ += range.bytes;
    if (bytes_ > options_.max_bytes)
        throw Failure("what it can reach is more than " + std::to_string(options_.max_bytes) +
                      " bytes (max-bytes=)");
    piece.before.resize(range.bytes);
    driver_.read(range, piece.before);
    pieces_.push_back(std::move(piece));
}

void Memory::take_after() {
    for (Piece& piece : pieces_) {
        if (piece.scratch) continue;
        piece.after.resize(piece.range.bytes);
        driver_.read(piece.range, piece.after);
    }
}

void Memory::restore(std::vector<std::byte> Piece::*state) {
    for (const Piece& piece : pieces_)
        if (!piece.scratch) driver_.write(piece.range, piece.*state);
}

void Memory::compare_with_after() {
    std::vector<std::byte> now;
    for (Piece& piece : pieces_) {
        if (piece.scratch) continue;
        now.resize(piece.range.bytes);
        driver_.read(piece.range, now);
        piece.varies |= now != piece.after;
    }
}

}  // namespace sassemu::capture
