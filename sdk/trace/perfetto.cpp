// SPDX-License-Identifier: Apache-2.0
// A trace as tracks of the Perfetto UI: GPU, SM, CTA, warp, and a track per CTA for asynchronous
// operations. A nanosecond of it is a warp instruction that the CTA has issued; CTAs of an SM stand
// one behind the other, launches too.
#include <sassemu/perfetto.pb.h>
#include <sassemu/sync.h>

#include <algorithm>
#include <set>

#include "output.hpp"
#include "show.hpp"

namespace sassemu::trace {

namespace {

class Tracks {
  public:
    explicit Tracks(const std::string& path) : out_(path) {}

    uint64_t track(const std::string& name, uint64_t parent) {
        perfetto::TracePacket p;
        perfetto::TrackDescriptor& d = *p.mutable_track_descriptor();
        d.set_uuid(++tracks_);
        d.set_name(name);
        if (parent) d.set_parent_uuid(parent);
        add(p);
        return tracks_;
    }
    void event(perfetto::TrackEvent::Type type, uint64_t track, uint64_t time,
               const std::string& name = "", const char* category = "", uint64_t flow = 0,
               bool ends_flow = false) {
        perfetto::TracePacket p;
        p.set_timestamp(time);
        perfetto::TrackEvent& e = *p.mutable_track_event();
        e.set_type(type);
        e.set_track_uuid(track);
        if (!name.empty()) e.set_name(name);
        if (*category) e.add_categories(category);
        if (flow && ends_flow) e.add_terminating_flow_ids(flow);
        if (flow && !ends_flow) e.add_flow_ids(flow);
        add(p);
    }
    uint64_t finish() {
        out_.finish();
        return packets_;
    }

  private:
    void add(perfetto::TracePacket& p) {
        p.set_trusted_packet_sequence_id(1);
        perfetto::Trace one;  // traces may be joined byte by byte
        *one.add_packet() = std::move(p);
        out_.write(one.SerializeAsString());
        ++packets_;
    }
    Output out_;
    uint64_t tracks_ = 0, packets_ = 0;
};

const char* sync_name(const Sync& s) {
    switch (s.kind()) {
        case SASSEMU_SYNC_BARRIER_ARRIVE:
            return s.waits() ? "barrier: wait" : "barrier: arrive";
        case SASSEMU_SYNC_BARRIER_COMPLETE:
            return "barrier: phase over";
        case SASSEMU_SYNC_CLUSTER_ARRIVE:
            return "cluster barrier: arrive";
        case SASSEMU_SYNC_CLUSTER_WAIT:
            return "cluster barrier: passed";
        case SASSEMU_SYNC_CLUSTER_COMPLETE:
            return "cluster barrier: phase over";
        case SASSEMU_SYNC_MBARRIER_INIT:
            return "mbarrier: init";
        case SASSEMU_SYNC_MBARRIER_ARRIVE:
            return s.phase() == s.phase_after() ? "mbarrier: arrive"
                                                : "mbarrier: arrive, phase over";
        case SASSEMU_SYNC_MBARRIER_TEST:
            return s.passed() ? "mbarrier: passed" : "mbarrier: not yet";
        case SASSEMU_SYNC_GROUP_COMMIT:
            return "group: commit";
        case SASSEMU_SYNC_GROUP_WAIT:
            return "group: wait";
        default:
            return nullptr;
    }
}

const char* agent_name(uint32_t kind) {
    switch (kind) {
        case SASSEMU_AGENT_TMA:
            return "bulk copy";
        case SASSEMU_AGENT_TENSOR:
            return "tensor core";
        case SASSEMU_AGENT_LDGSTS:
            return "LDGSTS";
        default:
            return "asynchronous";
    }
}

// One CTA from time `begin` on; when it ends.
uint64_t write_cta(Tracks& out, const Reader& trace, const std::vector<size_t>& blocks,
                   uint64_t launch, uint64_t cta, uint64_t sm_track, uint64_t begin) {
    using perfetto::TrackEvent;
    const uint64_t own = out.track("CTA " + std::to_string(cta), sm_track);
    uint64_t end = begin, async_track = 0;
    std::map<uint32_t, uint64_t> warps;
    const auto warp_track = [&](uint32_t warp) {
        uint64_t& t = warps[warp];
        if (!t) t = out.track("warp " + std::to_string(warp), own);
        return t;
    };
    out.event(TrackEvent::TYPE_SLICE_BEGIN, own, begin, place_text(trace, launch, cta), "cta");
    std::map<uint64_t, uint64_t> flights;  // asynchronous operations under way, and their tracks
    std::vector<uint64_t> idle;
    for (const size_t block : blocks) {
        const RecordBlock b = trace.read(block);
        auto e = b.events.begin();
        const auto events_up_to = [&](size_t records) {
            for (; e != b.events.end() && e->records() <= records; ++e) {
                const uint64_t flow = e->has_async() ? launch << 40 | e->async().id()
                                      : e->has_sync() && e->sync().agent()
                                          ? launch << 40 | e->sync().agent()
                                          : 0;
                if (e->has_sync()) {
                    const char* const what = sync_name(e->sync());
                    if (!what) continue;
                    out.event(TrackEvent::TYPE_INSTANT,
                              e->sync().warp() ? warp_track(e->sync().warp() - 1) : own, end, what,
                              "sync", flow);
                } else if (e->has_fault()) {
                    out.event(TrackEvent::TYPE_INSTANT, warp_track(e->fault().warp()), end,
                              e->fault().kind() + ": " + e->fault().what(), "fault");
                } else if (e->async().step() == SASSEMU_ASYNC_ISSUE) {
                    if (!async_track) async_track = out.track("asynchronous", own);
                    if (idle.empty())
                        idle.push_back(out.track(agent_name(e->async().agent_kind()), async_track));
                    out.event(TrackEvent::TYPE_INSTANT, warp_track(e->async().warp()), end, "issue",
                              "async", flow);
                    out.event(TrackEvent::TYPE_SLICE_BEGIN, idle.back(), end,
                              agent_name(e->async().agent_kind()), "async", flow);
                    flights[e->async().id()] = idle.back();
                    idle.pop_back();
                } else if (e->async().step() == SASSEMU_ASYNC_COMPLETE) {
                    const auto at = flights.find(e->async().id());
                    if (at == flights.end()) continue;
                    out.event(TrackEvent::TYPE_SLICE_END, at->second, end, "", "", flow, true);
                    idle.push_back(at->second);
                    flights.erase(at);
                }
            }
        };
        for (size_t k = 0; k < b.records.size();) {
            events_up_to(k);
            const Record& first = b.records[k];
            size_t last = k;
            const size_t next = e == b.events.end() ? b.records.size() : e->records();
            while (last + 1 < b.records.size() && last + 1 < std::max(next, k + 1) &&
                   b.records[last + 1].warp == first.warp &&
                   b.records[last + 1].clock == b.records[last].clock + 1)
                ++last;
            const uint64_t from = std::max(begin + first.clock, end);
            end = from + (last - k + 1);
            const std::string text =
                last == k ? hex(first.instruction->pc()) + " " + first.instruction->text()
                          : hex(first.instruction->pc()) + " to " +
                                hex(b.records[last].instruction->pc());
            const uint64_t t = warp_track(first.warp);
            out.event(TrackEvent::TYPE_SLICE_BEGIN, t, from, text, "warp");
            out.event(TrackEvent::TYPE_SLICE_END, t, end);
            k = last + 1;
        }
        events_up_to(b.records.size());
    }
    for (const auto& [id, t] : flights) out.event(TrackEvent::TYPE_SLICE_END, t, end);
    out.event(TrackEvent::TYPE_SLICE_END, own, end);
    return end;
}

}  // namespace

uint64_t write_perfetto(const Reader& trace, const std::string& path) {
    Tracks out(path);
    std::map<uint32_t, uint64_t> gpus;
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> sms;
    const auto blocks = by_cta(trace);
    uint64_t now = 0;
    for (const Launch& launch : trace.launches()) {
        uint64_t& gpu = gpus[launch.gpu()];
        if (!gpu) gpu = out.track("GPU " + std::to_string(launch.gpu()), 0);
        std::map<uint32_t, uint64_t> times;  // when each SM is free
        uint64_t end = now;
        for (auto at = blocks.lower_bound({launch.id(), 0});
             at != blocks.end() && at->first.first == launch.id(); ++at) {
            const auto cta = trace.ctas().find(at->first);
            const uint32_t sm = cta == trace.ctas().end() ? 0 : cta->second.sm();
            uint64_t& track = sms[{launch.gpu(), sm}];
            if (!track) track = out.track("SM " + std::to_string(sm), gpu);
            uint64_t& time = times.try_emplace(sm, now).first->second;
            time = write_cta(out, trace, at->second, launch.id(), at->first.second, track, time);
            end = std::max(end, time);
        }
        now = end;
    }
    return out.finish();
}

}  // namespace sassemu::trace
