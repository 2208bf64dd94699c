// SPDX-License-Identifier: Apache-2.0
// Opening a trace, its index, and blocks to records. Every number of the file is checked.
#include <fcntl.h>
#include <sassemu/memory.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sassemu/trace.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <set>

#include "frames.hpp"

namespace sassemu::trace {

Reader::Reader(const std::string& path, std::function<void()> before_block)
    : path_(path), before_block_(std::move(before_block)) {
    file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info {};
    if (file_ < 0 || ::fstat(file_, &info) != 0) bad(std::strerror(errno));
    try {
        if (!S_ISREG(info.st_mode)) bad("is not a regular file");
        bytes_ = static_cast<uint64_t>(info.st_size);
        const std::string first = first_frame();
        const std::string head = frame(0, std::min<uint64_t>(bytes_, first.size()));
        if (head != first.substr(0, head.size()) || head.empty())
            bad("is no trace of sassemu (version 1)");
        if (!read_index()) scan();
        check_places();
    } catch (...) {
        ::close(file_);
        throw;
    }
}

Reader::~Reader() { ::close(file_); }

void Reader::bad(const std::string& what) const { throw Error(path_ + ": " + what); }

std::string Reader::frame(uint64_t offset, uint64_t size) const {
    if (before_block_) before_block_();
    std::string bytes(size, '\0');
    for (size_t done = 0; done < size;) {
        const ssize_t n =
            ::pread(file_, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) bad(std::strerror(errno));
        if (n == 0) bad("became shorter while it was read");
        done += static_cast<size_t>(n);
    }
    return bytes;
}

Trace Reader::parsed(const std::string& frame, uint64_t offset) const {
    const std::string at = "block at byte " + std::to_string(offset) + ": ";
    const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
    if (size > most_block_bytes) bad(at + "is no block of a trace");
    std::string bytes(size, '\0');
    const size_t done = ZSTD_decompress(bytes.data(), size, frame.data(), frame.size());
    if (ZSTD_isError(done) || done != size) bad(at + "does not decompress");
    Trace one;
    if (!one.ParseFromString(bytes) || one.block_size() != 1) bad(at + "is not as in trace.proto");
    return one;
}

// Definitions are kept, records are found again by the index.
void Reader::define(Trace&& one) {
    Block& b = *one.mutable_block(0);
    if (b.has_records()) bad("the index hides a block with records");
    if (b.has_header()) header_ = b.header();
    for (Instruction& i : *b.mutable_instruction()) {
        if (i.id() != instructions_.size())
            bad("instruction " + std::to_string(i.id()) + " is out of order");
        instructions_.push_back(std::make_unique<Instruction>(std::move(i)));
    }
    if (b.has_launch()) launches_.push_back(b.launch());
    if (b.has_launch_end()) ends_[b.launch_end().id()] = b.launch_end();
    if (b.has_cta()) {
        constexpr uint32_t most_warps = 64;  // of a CTA, twice what any architecture has
        if (b.cta().warps() > most_warps)
            bad("a CTA of " + std::to_string(b.cta().warps()) + " warps");
        ctas_[{b.cta().launch(), b.cta().linear()}] = b.cta();
    }
    if (b.has_copy()) copies_[launches_.size()].push_back(b.copy());
    if (b.has_allocation()) allocations_.push_back(b.allocation());
    for (Client& c : *b.mutable_outside()->mutable_client()) clients_.push_back(std::move(c));
    for (ModelEvent& e : *b.mutable_outside()->mutable_model())
        model_events_.push_back(std::move(e));
}

const std::vector<Copy>& Reader::copies(uint64_t before_launch) const {
    static const std::vector<Copy> none;
    const auto at = copies_.find(before_launch);
    return at == copies_.end() ? none : at->second;
}

bool Reader::read_index() {
    const uint64_t first = frame_head + mark_bytes;
    if (bytes_ < first + frame_head + end_bytes) return false;
    const std::string end = frame(bytes_ - end_bytes, end_bytes);
    if (end.substr(8) != end_mark) return false;
    const uint64_t at = get(end.data(), 8);
    if (at < first || at > bytes_ - end_bytes - frame_head) return false;
    const std::string head = frame(at, frame_head);
    const uint64_t size = bytes_ - at - frame_head;
    if (get(head.data(), 4) != last_magic || get(head.data() + 4, 4) != size) return false;
    Index index;
    if (!index.ParseFromString(frame(at + frame_head, size - end_bytes))) return false;
    const int n = index.size_size();
    if (index.launch_size() != n || index.cta_size() != n || index.records_size() != n)
        return false;
    uint64_t offset = first;
    for (int i = 0; i < n; ++i) {
        if (index.size(i) > at - offset) return false;
        offset += index.size(i);
    }
    if (offset != at) return false;
    offset = first;
    for (int i = 0; i < n; offset += index.size(i++)) {
        if (index.records(i))
            blocks_.push_back(
                {offset, index.size(i), index.launch(i), index.cta(i), index.records(i)});
        else
            define(parsed(frame(offset, index.size(i)), offset));
    }
    for (const BlockPlace& b : blocks_)
        if (!ctas_.contains({b.launch, b.cta}))
            bad("the index names CTA " + std::to_string(b.cta) + " of launch " +
                std::to_string(b.launch) + ", which never began");
    return true;
}

// What converts a trace goes by launches and CTAs: a block of another would be left out in silence.
void Reader::check_places() const {
    std::set<uint64_t> launches;
    for (const Launch& l : launches_) launches.insert(l.id());
    for (const BlockPlace& b : blocks_)
        if (!launches.contains(b.launch) || !ctas_.contains({b.launch, b.cta}))
            bad("block at byte " + std::to_string(b.offset) + ": CTA " + std::to_string(b.cta) +
                " of launch " + std::to_string(b.launch) +
                " is not in the trace; the index may be damaged");
}

// Without an index: frame after frame, until one is not whole. Neither a frame nor a piece that is
// read here is larger than a block may be.
void Reader::scan() {
    truncated_ = true;
    uint64_t at = frame_head + mark_bytes;
    std::string piece;
    for (uint64_t look = uint64_t{1} << 20; at < bytes_;) {
        piece = frame(at, std::min(look, bytes_ - at));
        if (piece.size() >= 4 && get(piece.data(), 4) == last_magic) return;
        const size_t size = ZSTD_findFrameCompressedSize(piece.data(), piece.size());
        if (ZSTD_isError(size)) {
            if (piece.size() == bytes_ - at || look > most_block_bytes) return;
            look *= 4;
            continue;
        }
        Trace one = parsed(piece.substr(0, size), at);
        if (one.block(0).has_records()) {
            const Records& r = one.block(0).records();
            uint64_t records = static_cast<uint64_t>(r.more_size());
            for (const uint32_t more : r.more()) records += more;
            blocks_.push_back({at, size, r.launch(), r.cta(), records});
        } else {
            define(std::move(one));
        }
        at += size;
        look = uint64_t{1} << 20;
    }
}

RecordBlock Reader::read(size_t index) const {
    const BlockPlace& place = blocks_.at(index);
    const Trace one = parsed(frame(place.offset, place.size), place.offset);
    if (!one.block(0).has_records()) bad("the index names a block without records");
    RecordBlock block = decoded(one.block(0).records());
    if (block.launch != place.launch || block.cta != place.cta ||
        block.records.size() != place.records)
        bad("the index says something else of the block at byte " + std::to_string(place.offset) +
            " than the block itself");
    return block;
}

RecordBlock Reader::decoded(const Records& r) const {
    const auto check = [&](bool good, const char* what) {
        if (!good) bad(std::string("a block of CTA ") + std::to_string(r.cta()) + ": " + what);
    };
    RecordBlock b{r.launch(), r.cta(), {}, {r.event().begin(), r.event().end()}};
    const int runs = r.step_size();
    check(r.more_size() == runs && r.lanes_size() == runs && r.waiting_size() == runs,
          "columns of runs differ in length");
    const int slices = r.slice_warp_size();
    const bool timed = r.slice_time_size() > 0;
    check(r.slice_runs_size() == slices && r.slice_first_size() == slices &&
              r.slice_clock_size() == slices && (!timed || r.slice_time_size() == slices),
          "columns of slices differ in length");
    struct Last {
        int64_t id = -1;
        uint32_t lanes = 0;
    };
    std::map<uint32_t, Last> warps;
    int at = 0;
    uint64_t time = 0;
    for (int s = 0; s < slices; ++s) {
        Last& last = warps[r.slice_warp(s)];
        if (timed) time += r.slice_time(s);
        check(r.slice_runs(s) <= static_cast<uint32_t>(runs - at), "slices have too many runs");
        uint64_t in_slice = 0;
        for (const int end = at + static_cast<int>(r.slice_runs(s)); at < end; ++at) {
            last.id += int64_t{r.step(at)} + 1;
            last.lanes ^= r.lanes(at);
            check(
                last.id >= 0 && static_cast<uint64_t>(last.id) + r.more(at) < instructions_.size(),
                "names an instruction that is not there");
            check(b.records.size() + r.more(at) < most_records, "has too many records");
            for (uint32_t k = 0; k <= r.more(at); ++k, ++in_slice)
                b.records.push_back({r.slice_warp(s),
                                     r.slice_first(s) + in_slice,
                                     r.slice_clock(s) + in_slice,
                                     timed ? time + in_slice : 0,
                                     instructions_[static_cast<size_t>(last.id) + k].get(),
                                     last.lanes | r.waiting(at),
                                     last.lanes,
                                     {},
                                     {},
                                     {},
                                     false});
            last.id += r.more(at);
        }
    }
    check(at == runs, "slices have too few runs");
    const size_t n = b.records.size();

    const int accesses = r.access_record_size();
    check(r.access_op_size() == accesses && r.access_bytes_size() == accesses &&
              r.access_lanes_size() == accesses && r.access_form_size() == accesses,
          "columns of accesses differ in length");
    const bool with_values = r.access_words_size() > 0;
    check(!with_values ||
              (r.access_words_size() == accesses && r.access_result_words_size() == accesses),
          "columns of values differ in length");
    std::map<const Instruction*, std::pair<uint32_t, std::array<uint64_t, 32>>> shapes;
    int64_t address = 0, word = 0, result = 0;
    uint64_t record = 0;
    for (int a = 0; a < accesses; ++a) {
        record += r.access_record(a);
        check(record < b.records.size(), "an access without its record");
        Record& of = b.records[record];
        MemoryAccess m{r.access_op(a) & 15,
                       r.access_op(a) >> 4,
                       r.access_bytes(a),
                       r.access_lanes(a) ^ of.lanes,
                       {},
                       {},
                       {}};
        const auto lanes = static_cast<uint32_t>(std::popcount(m.lanes));
        const uint32_t form = r.access_form(a);
        const int64_t needed = lanes == 0 ? 0 : form == 1 ? lanes : form == 0 && lanes > 1 ? 2 : 1;
        check(address + needed <= r.access_address_size(), "too few addresses");
        const auto next = [&] {
            return static_cast<uint64_t>(r.access_address(static_cast<int>(address++)));
        };
        // By lane, the lanes that access counted: the last access of the instruction.
        auto& [shape_lanes, shape] = shapes[of.instruction];
        check(form < 2 || (form == 2 && shape_lanes == lanes), "names a form that is not there");
        const uint64_t moved = lanes ? next() : 0;
        const uint64_t stride = form == 0 && lanes > 1 ? next() : 0;
        if (lanes) {
            const uint64_t before = shape[0];
            shape[0] += moved;
            for (uint32_t k = 1; k < lanes; ++k)
                shape[k] = form == 2 ? shape[k] - before + shape[0]
                                     : shape[k - 1] + (form == 1 ? next() : stride);
            shape_lanes = lanes;
        }
        size_t k = 0;
        for (uint32_t rest = m.lanes; rest; rest &= rest - 1)
            m.addresses[static_cast<size_t>(std::countr_zero(rest))] = shape[k++];
        const auto words = [&](uint32_t each, const auto& from, int64_t& next,
                               std::vector<uint32_t>& to) {
            const int64_t count = int64_t{each} * lanes;
            check(next + count <= from.size(), "too few values");
            to.assign(from.begin() + next, from.begin() + next + count);
            next += count;
        };
        if (with_values) {
            words(r.access_words(a), r.access_value(), word, m.values);
            words(r.access_result_words(a), r.access_result(), result, m.results);
        }
        of.accesses.push_back(std::move(m));
    }
    if (r.has_after_size() == 0) return b;

    check(static_cast<size_t>(r.has_after_size()) == n, "columns of registers differ in length");
    int64_t before = 0, after = 0;
    const auto take = [&](const Record& of, bool written, const auto& from, int64_t& next,
                          std::vector<uint32_t>& to) {
        const Instruction& i = *of.instruction;
        const int64_t rows = written ? i.written_register_size() : i.read_register_size();
        const int64_t single = written ? i.written_uniform_size() + i.written_predicate_size()
                                       : i.read_uniform_size() + i.read_predicate_size();
        const int64_t count = rows * std::popcount(of.lanes) + single;
        check(next + count <= from.size(), "too few registers");
        to.assign(from.begin() + next, from.begin() + next + count);
        next += count;
    };
    for (size_t k = 0; k < n; ++k) {
        Record& of = b.records[k];
        take(of, false, r.before(), before, of.before);
        of.has_after = r.has_after(static_cast<int>(k)) != 0;
        if (of.has_after) take(of, true, r.after(), after, of.after);
    }
    return b;
}

Owners::Owners(const Reader& trace) {
    for (const Allocation& a : trace.allocations()) {
        if (!a.released()) {
            longest_ = std::max(longest_, a.bytes());
            lives_.emplace(a.address(), Life{&a, ~uint64_t{0}});
            continue;
        }
        const auto [begin, end] = lives_.equal_range(a.address());
        for (auto at = begin; at != end; ++at)
            if (at->second.end == ~uint64_t{0}) at->second.end = a.time();
    }
}

const Allocation* Owners::find(uint64_t address, uint64_t time) const {
    for (auto at = lives_.upper_bound(address); at != lives_.begin();) {
        --at;
        const Allocation& a = *at->second.of;
        if (address - a.address() >= longest_) return nullptr;
        if (address - a.address() < a.bytes() && a.time() <= time && time <= at->second.end)
            return &a;
    }
    return nullptr;
}

int32_t home_of(const Owners& owners, const MemoryAccess& m, uint64_t time, const Launch& launch) {
    const bool global = m.space == SASSEMU_GLOBAL || m.space == SASSEMU_GENERIC;
    const Allocation* const of =
        global && m.lanes
            ? owners.find(m.addresses[static_cast<size_t>(std::countr_zero(m.lanes))], time)
            : nullptr;
    return of ? of->gpu() : static_cast<int32_t>(launch.gpu());
}

std::map<std::pair<uint64_t, uint64_t>, std::vector<size_t>> by_cta(const Reader& reader) {
    std::map<std::pair<uint64_t, uint64_t>, std::vector<size_t>> all;
    for (size_t i = 0; i < reader.blocks().size(); ++i)
        all[{reader.blocks()[i].launch, reader.blocks()[i].cta}].push_back(i);
    return all;
}

std::vector<RegisterName> register_names(const Instruction& i, bool written, uint32_t lanes) {
    std::vector<RegisterName> all;
    const auto each = static_cast<uint32_t>(std::popcount(lanes));
    for (const uint32_t r : written ? i.written_register() : i.read_register())
        all.push_back({"R" + std::to_string(r), each});
    for (const uint32_t r : written ? i.written_uniform() : i.read_uniform())
        all.push_back({"UR" + std::to_string(r), 1});
    for (const uint32_t p : written ? i.written_predicate() : i.read_predicate())
        all.push_back({p < 8 ? "P" + std::to_string(p) : "UP" + std::to_string(p - 8), 1});
    return all;
}

}  // namespace sassemu::trace
