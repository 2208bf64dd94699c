// SPDX-License-Identifier: Apache-2.0
// Writing tracks and what is on them. Not installed. What belongs here: packets. What does not:
// which tracks there are (perfetto.cpp, perfetto_cta.cpp).
#pragma once

#include <sassemu/perfetto.pb.h>

#include <string>

#include "output.hpp"

namespace sassemu::trace {

struct Flow {
    uint64_t id = 0;  // 0: none
    bool ends = false;
};

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
    // Events with one number are joined by arrows in the order of time.
    uint64_t new_flow() { return uint64_t{1} << 63 | ++flows_; }

    void begin(uint64_t track, uint64_t time, const std::string& name, const char* category,
               Flow flow = {}) {
        event(perfetto::TrackEvent::TYPE_SLICE_BEGIN, track, time, name, category, flow);
    }
    void end(uint64_t track, uint64_t time, Flow flow = {}) {
        event(perfetto::TrackEvent::TYPE_SLICE_END, track, time, "", "", flow);
    }
    void instant(uint64_t track, uint64_t time, const std::string& name, const char* category,
                 Flow flow = {}) {
        event(perfetto::TrackEvent::TYPE_INSTANT, track, time, name, category, flow);
    }
    uint64_t finish() {
        out_.finish();
        return packets_;
    }

  private:
    void event(perfetto::TrackEvent::Type type, uint64_t track, uint64_t time,
               const std::string& name, const char* category, Flow flow) {
        perfetto::TracePacket p;
        p.set_timestamp(time);
        perfetto::TrackEvent& e = *p.mutable_track_event();
        e.set_type(type);
        e.set_track_uuid(track);
        if (!name.empty()) e.set_name(name);
        if (*category) e.add_categories(category);
        if (flow.id && flow.ends) e.add_terminating_flow_ids(flow.id);
        if (flow.id && !flow.ends) e.add_flow_ids(flow.id);
        add(p);
    }
    void add(perfetto::TracePacket& p) {
        p.set_trusted_packet_sequence_id(1);
        perfetto::Trace one;  // traces may be joined byte by byte
        *one.add_packet() = std::move(p);
        out_.write(one.SerializeAsString());
        ++packets_;
    }
    Output out_;
    uint64_t tracks_ = 0, packets_ = 0, flows_ = 0;
};

// One CTA: what it is drawn with, and where.
struct CtaPlace {
    Tracks& out;
    const Reader& trace;
    const Owners& owners;
    const Launch& launch;
    uint64_t cta, sm_track;
    uint64_t begin;  // of launches that are not timed
};
// Returns when it ends; `begin` becomes when it began.
uint64_t write_cta(CtaPlace& place, const std::vector<size_t>& blocks);

}  // namespace sassemu::trace
