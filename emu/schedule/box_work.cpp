// SPDX-License-Identifier: Apache-2.0
// Copies of boxes, fills and stamps in streams. What does not belong here: copies of plain ranges
// between ranks (stream_work.cpp).
#include <algorithm>
#include <chrono>
#include <cstring>

#include "emu/memory/device_heap.hpp"
#include "emu/memory/host_access.hpp"
#include "emu/plugin/hooks.hpp"
#include "emu/schedule/stream_work.hpp"

namespace sassemu {

namespace {

// Bytes that are moved in a turn.
constexpr uint64_t at_once = 1 << 20;

// Between two places that others may use meanwhile: an aligned 8 bytes are one access.
void copy_bytes(std::byte* to, const std::byte* from, uint64_t bytes) {
    if ((reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from)) % 8 == 0) {
        host::each_piece(reinterpret_cast<uintptr_t>(to), bytes, [&](size_t at, auto value) {
            host::store(to + at, host::load<decltype(value)>(from + at));
        });
        return;
    }
    std::byte piece[4096];
    for (uint64_t at = 0; at < bytes; at += sizeof piece) {
        const uint64_t count = std::min<uint64_t>(bytes - at, sizeof piece);
        host::read(piece, from + at, count);
        host::write(to + at, piece, count);
    }
}

// Something of rows that is done piece by piece, of which none crosses the end of a row.
class RowWork : public Work {
  public:
    RowWork(StreamMemory memory, Hooks* hooks, uint32_t gpu, uint64_t width, uint64_t rows)
        : memory_(memory),
          hooks_(hooks),
          who_{SASSEMU_AGENT_COPY_ENGINE, gpu},
          width_(width),
          rows_(width ? rows : 0) {}
    bool take(Turn&) override {
        if (over_ || busy_) return false;
        if (row_ >= rows_) {
            over_ = true;
            return false;
        }
        return busy_ = true;
    }
    void run(Turn&) noexcept override {
        memory_.host.hold();
        for (uint64_t moved = 0; moved < at_once && row_ < rows_ && !missing_;) {
            const uint64_t bytes = std::min(width_ - column_, at_once);
            missing_ = !piece(row_, column_, bytes);
            moved += bytes;
            column_ += bytes;
            if (column_ < width_) continue;
            column_ = 0;
            ++row_;
        }
        memory_.host.let_go();
    }
    void put(Turn&) override {
        busy_ = false;
        if (missing_) {
            const Extent& e = memory_.host.find(wrong_);
            result_.fault.emplace().kind =
                was_freed(e, wrong_) ? FaultKind::use_after_free : FaultKind::out_of_bounds;
            result_.fault->what = std::string(name()) + ": " + memory_.host.describe(wrong_);
            end(LaunchStatus::fault, result_.fault->what);
        } else if (row_ >= rows_) {
            host::fence();
            over_ = true;
        }
    }
    bool over() const override { return over_ && !busy_; }
    LaunchResult finish() override { return std::move(result_); }
    void end(LaunchStatus status, std::string message) override {
        if (over_) return;
        over_ = true;
        result_.status = status;
        result_.message = std::move(message);
    }
    std::string waits() const override { return std::string(name()) + "\n"; }

  protected:
    virtual bool piece(uint64_t row, uint64_t column, uint64_t bytes) = 0;
    virtual const char* name() const = 0;
    // Null: nobody has these bytes; then wrong_ says which.
    std::byte* at(uint64_t address, uint64_t bytes) {
        const Extent& e = memory_.host.find(address);
        if (e.holds(address, bytes)) return e.host + (address - e.lo);
        wrong_ = address;
        return nullptr;
    }
    StreamMemory memory_;
    Hooks* const hooks_;
    const Client who_;

  private:
    const uint64_t width_, rows_;
    uint64_t row_ = 0, column_ = 0, wrong_ = 0;
    bool over_ = false, busy_ = false, missing_ = false;
    LaunchResult result_;
};

class CopyBox final : public RowWork {
  public:
    CopyBox(StreamMemory memory, Hooks* hooks, uint32_t gpu, const BoxCopy& box)
        : RowWork(memory, hooks, gpu, packed(box) ? box.width * box.height * box.depth : box.width,
                  packed(box) ? 1 : box.height * box.depth),
          box_(box) {
        for (CopySide* side : {&box_.to, &box_.from}) {
            if (!side->pitch) side->pitch = box.width;
            if (!side->slice) side->slice = side->pitch * box.height;
        }
    }

  private:
    // Rows one after the other on both sides are one.
    static bool packed(const BoxCopy& b) {
        const auto plain = [&](const CopySide& s) {
            const uint64_t pitch = s.pitch ? s.pitch : b.width;
            return (pitch == b.width || b.height * b.depth == 1) &&
                   (b.depth == 1 || !s.slice || s.slice == pitch * b.height);
        };
        return plain(b.to) && plain(b.from);
    }
    uint64_t place(const CopySide& side, uint64_t row, uint64_t column) const {
        return side.address + row / box_.height * side.slice + row % box_.height * side.pitch +
               column;
    }
    bool piece(uint64_t row, uint64_t column, uint64_t bytes) override {
        const uint64_t to = place(box_.to, row, column), from = place(box_.from, row, column);
        std::byte* const target = box_.to.own ? reinterpret_cast<std::byte*>(to) : at(to, bytes);
        const std::byte* const source =
            box_.from.own ? reinterpret_cast<const std::byte*>(from) : at(from, bytes);
        if (!target || !source) return false;
        if (hooks_) return hooked(target, source, to, from, bytes);
        copy_bytes(target, source, bytes);
        return true;
    }
    // Plugins and models see both sides.
    bool hooked(std::byte* target, const std::byte* source, uint64_t to, uint64_t from,
                uint64_t bytes) {
        std::byte part[4096];
        for (uint64_t i = 0; i < bytes; i += sizeof part) {
            const uint64_t count = std::min<uint64_t>(sizeof part, bytes - i);
            if (box_.from.own)
                std::memcpy(part, source + i, count);
            else if (!hooks_->client_reads(who_, from + i, part, count))
                host::read(part, source + i, count);
            if (box_.to.own)
                std::memcpy(target + i, part, count);
            else if (!hooks_->client_writes(who_, to + i, part, count))
                host::write(target + i, part, count);
        }
        if (!box_.from.own) hooks_->client_access(who_, SASSEMU_LOAD, from, bytes);
        if (!box_.to.own) hooks_->client_access(who_, SASSEMU_STORE, to, bytes);
        return true;
    }
    const char* name() const override { return "copy"; }
    BoxCopy box_;
};

class Fill final : public RowWork {
  public:
    Fill(StreamMemory memory, Hooks* hooks, uint32_t gpu, const RowFill& rows)
        : RowWork(memory, hooks, gpu, rows.width, rows.height), rows_(rows) {
        for (size_t i = 0; i < sizeof pattern_; ++i)
            pattern_[i] = static_cast<std::byte>(rows.value >> i % rows.element * 8);
    }

  private:
    bool piece(uint64_t row, uint64_t column, uint64_t bytes) override {
        const uint64_t address = rows_.address + row * rows_.pitch + column;
        std::byte* const target = at(address, bytes);
        if (!target) return false;
        for (uint64_t i = 0; i < bytes; i += sizeof pattern_) {
            const uint64_t count = std::min<uint64_t>(sizeof pattern_, bytes - i);
            if (!hooks_ || !hooks_->client_writes(who_, address + i, pattern_, count))
                host::write(target + i, pattern_, count);
        }
        if (hooks_) hooks_->client_access(who_, SASSEMU_STORE, address, bytes);
        return true;
    }
    const char* name() const override { return "fill"; }
    const RowFill rows_;
    std::byte pattern_[4096];
};

class Stamp final : public Work {
  public:
    Stamp(std::function<uint64_t()> time, std::shared_ptr<EventTime> when)
        : time_(std::move(time)), when_(std::move(when)) {}
    bool take(Turn&) override {
        if (over_) return false;
        when_->virtual_ns = time_();
        when_->host_ns = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                               std::chrono::nanoseconds(1));
        over_ = true;
        return false;
    }
    bool over() const override { return over_; }
    LaunchResult finish() override { return std::move(result_); }
    void end(LaunchStatus status, std::string message) override {
        if (over_) return;
        over_ = true;
        result_.status = status;
        result_.message = std::move(message);
    }
    std::string waits() const override { return "records an event\n"; }

  private:
    const std::function<uint64_t()> time_;
    const std::shared_ptr<EventTime> when_;
    bool over_ = false;
    LaunchResult result_;
};

class Told final : public Work {
  public:
    Told(std::unique_ptr<Work> work, std::function<void(const LaunchResult&)> told)
        : work_(std::move(work)), told_(std::move(told)) {}
    bool begin() override { return work_->begin(); }
    bool take(Turn& turn) override { return work_->take(turn); }
    void run(Turn& turn) noexcept override { work_->run(turn); }
    void put(Turn& turn) override { work_->put(turn); }
    bool over() const override { return work_->over(); }
    LaunchResult finish() override {
        LaunchResult result = work_->finish();
        told_(result);
        return result;
    }
    bool waits_for_others() const override { return work_->waits_for_others(); }
    bool settle() override { return work_->settle(); }
    bool may_act() const override { return work_->may_act(); }
    bool lets_in() const override { return work_->lets_in(); }
    void check_limits() override { work_->check_limits(); }
    void end(LaunchStatus status, std::string message) override {
        work_->end(status, std::move(message));
    }
    std::string waits() const override { return work_->waits(); }
    uint32_t most_workers() const override { return work_->most_workers(); }

  private:
    const std::unique_ptr<Work> work_;
    const std::function<void(const LaunchResult&)> told_;
};

}  // namespace

std::unique_ptr<Work> box_copy_work(StreamMemory memory, Hooks* hooks, uint32_t gpu,
                                    const BoxCopy& box) {
    return std::make_unique<CopyBox>(memory, hooks, gpu, box);
}
std::unique_ptr<Work> fill_work(StreamMemory memory, Hooks* hooks, uint32_t gpu,
                                const RowFill& rows) {
    return std::make_unique<Fill>(memory, hooks, gpu, rows);
}
std::unique_ptr<Work> stamp_work(std::function<uint64_t()> time, std::shared_ptr<EventTime> when) {
    return std::make_unique<Stamp>(std::move(time), std::move(when));
}
std::unique_ptr<Work> told_work(std::unique_ptr<Work> work,
                                std::function<void(const LaunchResult&)> told) {
    return std::make_unique<Told>(std::move(work), std::move(told));
}

}  // namespace sassemu
