// SPDX-License-Identifier: Apache-2.0
// See program.hpp.
#include "emu/explore/sass/program.hpp"

#include <algorithm>

#include "emu/module/line_table.hpp"

namespace sassemu::explore {

SassProgram::SassProgram(std::unique_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
SassProgram::~SassProgram() = default;

Result<uint32_t> SassProgram::add_launch(const LaunchRequest& request) {
    Launched out;
    SASSEMU_ASSIGN(out.prepared, prepare_launch(*gpu_, request));
    out.lane = std::make_unique<SassLane>(*out.prepared);
    auto& code = codes_[out.prepared->launch.code];
    if (!code) code = std::make_unique<SassCode>(*out.prepared->launch.code);
    out.code = code.get();
    out.overlaps = request.may_overlap && !launches_.empty();
    launches_.push_back(std::move(out));
    return static_cast<uint32_t>(launches_.size() - 1);
}

uint32_t SassProgram::add_location(Test& test, Location location) {
    Name name;
    name.text = location.name;
    name.location = static_cast<uint32_t>(test.locations.size());
    name.alias = static_cast<uint32_t>(test.names.size());
    name.bytes = location.bytes;
    cuts_.push_back({0, location.bytes});
    images_.emplace_back(std::max<uint64_t>(location.bytes, 8));
    test.locations.push_back(std::move(location));
    test.names.push_back(std::move(name));
    return static_cast<uint32_t>(test.names.size() - 1);
}

Result<uint32_t> SassProgram::add_memory(Test& test, const std::string& name, uint64_t address,
                                         uint64_t bytes) {
    Location l;
    l.name = name;
    l.bytes = bytes;
    const uint32_t number = add_location(test, std::move(l));
    std::vector<uint8_t>& image = images_.back();
    SASSEMU_TRY(gpu_->read(address, std::as_writable_bytes(std::span(image.data(), bytes))));
    ranges_.push_back({address, address + bytes, number});
    return number;
}

Result<void> SassProgram::place_memory(Test& test, uint32_t name, uint64_t address) {
    const uint32_t location = test.names[name].location;
    const uint64_t bytes = test.locations[location].bytes;
    cuts_.resize(std::max<size_t>(cuts_.size(), location + 1));
    images_.resize(cuts_.size());
    if (images_[location].empty()) {
        cuts_[location] = {0, bytes};
        images_[location].resize(std::max<uint64_t>(bytes, 8));
        SASSEMU_TRY(gpu_->read(address,
                               std::as_writable_bytes(std::span(images_[location].data(), bytes))));
    }
    const bool known = std::any_of(ranges_.begin(), ranges_.end(),
                                   [&](const Memory& r) { return r.low == address; });
    // The whole location: an access may go beyond the piece that a name is.
    if (!known && test.names[name].offset == 0) ranges_.push_back({address, address + bytes, name});
    return {};
}

void SassProgram::add_shared(Test& test, uint32_t thread) {
    const Thread& t = test.threads[thread];
    const Launched& launched = launches_[threads_[thread].launch];
    const uint32_t bytes = launched.prepared->launch.shared_bytes;
    Location l;
    l.cta = t.cta;
    l.cluster = t.cluster;
    l.gpu = t.gpu;
    if (bytes && !shared_.contains(t.cta)) {
        l.name = "shared" + std::to_string(t.cta);
        l.space = SASSEMU_SPACE_SHARED_CTA;
        l.bytes = bytes;
        shared_[t.cta] = add_location(test, l);
    }
    if (launched.code->uses_tensor_memory() && !tensor_.contains(t.cta)) {
        l.name = "tensor" + std::to_string(t.cta);
        l.space = SASSEMU_SPACE_TENSOR;
        l.bytes = tensor_memory_bytes;
        tensor_[t.cta] = add_location(test, std::move(l));
    }
}

SassCode& SassProgram::code(uint32_t launch) const { return *launches_[launch].code; }

SassLane& SassProgram::lane(uint32_t thread) const {
    const SassThread& t = threads_[thread];
    SassLane& lane = *launches_[t.launch].lane;
    lane.place(t.cta, t.thread);
    return lane;
}

SassProgram::Lanes SassProgram::lanes() const {
    Lanes out;
    for (const Launched& l : launches_) out.push_back(std::make_unique<SassLane>(*l.prepared));
    return out;
}

SassLane& SassProgram::lane(const Lanes& of, uint32_t thread) const {
    const SassThread& t = threads_[thread];
    of[t.launch]->place(t.cta, t.thread);
    return *of[t.launch];
}

const SassEffects& SassProgram::run(SassLane& lane, uint32_t thread, uint32_t pc,
                                    const std::vector<uint64_t>& in, uint64_t object) const {
    const Launched& l = launches_[threads_[thread].launch];
    for (size_t k = 0; k < in.size(); ++k)
        lane.set(l.code->registers()[l.code->at(pc).reads[k]], static_cast<uint32_t>(in[k]));
    lane.set_object(object);
    CodeImage& image = l.code->image();
    return lane.run(image.at(image.options().base_address + uint64_t{pc} * 16),
                    l.code->at(pc).warpgroup);
}

uint32_t SassProgram::lanes_of_warp(uint32_t thread) const {
    const SassThread& t = threads_[thread];
    const auto threads = static_cast<uint32_t>(launch(t.launch).launch.block.count());
    return low_lanes(std::min(32u, threads - t.thread / 32 * 32));
}

int32_t SassProgram::number_of_row(uint32_t thread, uint32_t row, uint32_t word) const {
    const int32_t r = SassLane::register_of_row(row);
    return r < 0 ? -1 : code(threads_[thread].launch).number_of(static_cast<uint32_t>(r) + word);
}

uint32_t SassProgram::entry(uint32_t launch) const {
    const Launched& l = launches_[launch];
    return static_cast<uint32_t>(l.prepared->entry - l.prepared->launch.code->ops());
}

bool SassProgram::ptx_known() const {
    return !codes_.empty() && std::all_of(codes_.begin(), codes_.end(),
                                          [](const auto& c) { return c.second->has_ptx(); });
}

bool SassProgram::global(uint64_t address, uint64_t bytes, Place& out) const {
    for (const Memory& r : ranges_)
        if (address >= r.low && address < r.high && bytes <= r.high - address) {
            out = {r.name, address - r.low, bytes};
            return true;
        }
    return false;
}

std::optional<std::vector<uint64_t>> SassProgram::members(uint64_t address) const {
    for (const Object& o : objects_) {
        if (address - o.address >= o.bytes) continue;
        std::vector<uint64_t> out;
        for (const uint64_t member : o.members) out.push_back(member + (address - o.address));
        return out;
    }
    return {};
}

uint64_t SassProgram::address(const Test& test, uint32_t location) const {
    for (const Memory& r : ranges_)
        if (test.names[r.name].location == location) return r.low;
    return 0;
}

int32_t SassProgram::cta_of_rank(const Test& test, uint32_t thread, uint32_t rank) const {
    const SassThread& t = threads_[thread];
    const Launch& launch = launches_[t.launch].prepared->launch;
    const Dim3 &grid = launch.grid, &per = launch.cluster;
    if (rank >= per.count()) return -1;
    const auto x = static_cast<uint32_t>(t.cta % grid.x),
               y = static_cast<uint32_t>(t.cta / grid.x % grid.y),
               z = static_cast<uint32_t>(t.cta / grid.x / grid.y);
    const uint64_t cta =
        (x - x % per.x + rank % per.x) +
        uint64_t{grid.x} * ((y - y % per.y + rank / per.x % per.y) +
                            uint64_t{grid.y} * (z - z % per.z + rank / per.x / per.y));
    // CTAs of a launch have consecutive numbers in the test.
    return test.threads[thread].cta +
           static_cast<int32_t>(static_cast<int64_t>(cta) - static_cast<int64_t>(t.cta));
}

bool SassProgram::shared(const Test& test, uint32_t thread, uint32_t address, bool own,
                         uint64_t bytes, Place& out) const {
    const int32_t cta = own ? test.threads[thread].cta : cta_of_rank(test, thread, address >> 24);
    const auto found = shared_.find(cta);
    const uint32_t offset = address & 0xffffff;
    if (found == shared_.end() || offset + bytes > test.names[found->second].bytes) return false;
    out = {found->second, offset, bytes};
    return true;
}

bool SassProgram::tensor(const Test& test, uint32_t thread, uint32_t offset, uint64_t bytes,
                         Place& out) const {
    const auto found = tensor_.find(test.threads[thread].cta);
    if (found == tensor_.end() || offset + bytes > tensor_memory_bytes) return false;
    out = {found->second, offset, bytes};
    return true;
}

bool SassProgram::mbarrier(const Test& test, uint32_t thread, uint32_t address, Place& out) const {
    const int32_t cta = cta_of_rank(test, thread, address >> 24);
    const std::pair key{cta, address & 0xffffff};
    const auto found = mbarriers_.find(key);
    if (found == mbarriers_.end() && (address % 8 || !shared(test, thread, address, false, 8, out)))
        return false;
    if (found == mbarriers_.end()) {
        new_mbarriers_.insert(key);
        grew_ = true;
        return false;
    }
    out = {found->second};
    return true;
}

bool SassProgram::granules(int32_t cta, Place& out) const {
    const auto found = granules_.find(cta);
    if (found == granules_.end()) return false;
    out = {static_cast<uint32_t>(found->second)};
    return true;
}

bool SassProgram::cut(uint32_t location, uint64_t first, uint64_t bytes) {
    const size_t before = cuts_[location].size();
    cuts_[location].insert(first);
    cuts_[location].insert(first + bytes);
    const bool known = cuts_[location].size() == before;
    grew_ |= !known;
    return known;
}

const std::set<uint64_t>& SassProgram::reduce(uint32_t location, uint64_t first, uint64_t bytes,
                                              By by, const std::vector<Range>& met) {
    std::vector<Reduced>& known = reduced_[location];
    std::set<uint64_t>& shared = shared_words_[location];
    for (const Reduced& r : known)
        if (r.by != by) share(shared, r, first, bytes);
    if (const Reduced r{first, bytes, by}; std::ranges::find(known, r) == known.end())
        known.push_back(r);
    for (const auto& [at, count] : met) share(shared, {first, bytes, by}, at, count);
    return shared;
}

void SassProgram::touch(uint32_t location, uint64_t first, uint64_t bytes, By by) {
    const auto known = reduced_.find(location);
    if (known == reduced_.end()) return;
    for (const Reduced& r : known->second)
        if (r.by != by) share(shared_words_[location], r, first, bytes);
}

// Words of the reduction among these bytes.
void SassProgram::share(std::set<uint64_t>& shared, const Reduced& r, uint64_t first,
                        uint64_t bytes) {
    const uint64_t end = std::min(first + bytes, r.first + r.bytes);
    for (uint64_t word = std::max(first, r.first) / 4; 4 * word < end; ++word)
        grew_ |= shared.insert(word).second;
}

void SassProgram::grow(Test& test) {
    grew_ = false;
    for (const auto& [cta, offset] : new_mbarriers_) {
        const Location& memory = test.locations[test.names[shared_.at(cta)].location];
        Location l = memory;
        l.name = memory.name + "+" + std::to_string(offset);
        l.kind = LocationKind::mbarrier;
        l.bytes = 8;
        mbarriers_[{cta, offset}] = add_location(test, std::move(l));
    }
    new_mbarriers_.clear();
    for (auto& [cta, name] : granules_) {
        if (name >= 0) continue;
        Location l = test.locations[test.names[tensor_.at(cta)].location];
        l.name = "granules" + std::to_string(cta);
        l.bytes = 4;
        name = static_cast<int32_t>(add_location(test, std::move(l)));
    }
}

std::vector<std::pair<uint64_t, uint64_t>> SassProgram::ranges() const {
    std::vector<std::pair<uint64_t, uint64_t>> out;
    for (const Memory& r : ranges_) out.emplace_back(r.low, r.high);
    return out;
}

}  // namespace sassemu::explore
