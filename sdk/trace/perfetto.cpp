// SPDX-License-Identifier: Apache-2.0
// A trace as tracks of the Perfetto UI: GPUs with their launches, SMs, CTAs and warps
// (perfetto_cta.cpp), streams and memory model, and the host. A nanosecond of it is a warp
// instruction: in launches that are timed one of all that was recorded; else one that the CTA has
// issued, and then CTAs of an SM stand one behind the other, launches too.
#include "perfetto.hpp"

#include <sassemu/memory.h>

#include <algorithm>

#include "show.hpp"

namespace sassemu::trace {

namespace {

class Page {
  public:
    Page(const Reader& trace, const std::string& path)
        : out_(path), trace_(trace), owners_(trace), blocks_(by_cta(trace)) {
        for (const Launch& l : trace.launches()) timed_ |= l.timed();
    }
    uint64_t write() {
        uint64_t now = 0;
        for (const Launch& launch : trace_.launches()) {
            clients(launch.time(), now);
            now = std::max(now, write(launch, now));
        }
        clients(~uint64_t{0}, now);
        for (const ModelEvent& e : trace_.model_events())
            out_.instant(below(e.gpu(), "memory model"), e.time(),
                         text_of(e) + name_text(owners_.find(e.address(), e.time()), e.address()),
                         "model");
        return out_.finish();
    }

  private:
    uint64_t gpu(uint32_t number) {
        uint64_t& t = gpus_[number];
        if (!t) t = out_.track("GPU " + std::to_string(number), 0);
        return t;
    }
    uint64_t below(uint32_t number, const std::string& name) {
        const uint64_t parent = gpu(number);
        uint64_t& t = below_[{number, name}];
        if (!t) t = out_.track(name, parent);
        return t;
    }

    uint64_t write(const Launch& launch, uint64_t now) {
        std::map<uint32_t, uint64_t> free;  // when each SM is
        uint64_t begin = ~uint64_t{0}, end = launch.timed() ? 0 : now;
        for (auto at = blocks_.lower_bound({launch.id(), 0});
             at != blocks_.end() && at->first.first == launch.id(); ++at) {
            const auto cta = trace_.ctas().find(at->first);
            const uint32_t sm = cta == trace_.ctas().end() ? 0 : cta->second.sm();
            const uint64_t track = below(launch.gpu(), "SM " + std::to_string(sm));
            uint64_t& time = free.try_emplace(sm, now).first->second;
            CtaPlace place{out_, trace_, owners_, launch, at->first.second, track, time};
            time = write_cta(place, at->second);
            begin = std::min(begin, place.begin);
            end = std::max(end, time);
        }
        if (begin > end) return end;  // nothing of it was recorded
        const uint64_t own = out_.track("launch " + std::to_string(launch.id()), gpu(launch.gpu()));
        out_.begin(own, begin, launch.kernel(), "launch");
        out_.end(own, end);
        return end;
    }

    // Those before `until`.
    void clients(uint64_t until, uint64_t now) {
        const auto& all = trace_.clients();
        for (; next_client_ < all.size() && all[next_client_].time() <= until; ++next_client_) {
            const Client& c = all[next_client_];
            const bool host = c.kind() == SASSEMU_AGENT_HOST;
            if (host && !host_) host_ = out_.track("host", 0);
            out_.instant(host ? host_ : below(c.gpu(), "streams"), timed_ ? c.time() : now,
                         text_of(c) + name_text(owners_.find(c.address(), c.time()), c.address()),
                         "client");
        }
    }

    Tracks out_;
    const Reader& trace_;
    const Owners owners_;
    const std::map<std::pair<uint64_t, uint64_t>, std::vector<size_t>> blocks_;
    bool timed_ = false;
    size_t next_client_ = 0;
    uint64_t host_ = 0;
    std::map<uint32_t, uint64_t> gpus_;
    std::map<std::pair<uint32_t, std::string>, uint64_t> below_;
};

}  // namespace

uint64_t write_perfetto(const Reader& trace, const std::string& path) {
    return Page(trace, path).write();
}

}  // namespace sassemu::trace
