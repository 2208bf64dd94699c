// SPDX-License-Identifier: Apache-2.0
// One CTA as tracks: its warps, its barriers and mbarrier objects phase by phase, and a track for
// each asynchronous operation that is under way beside another.
#include <sassemu/sync.h>

#include <algorithm>
#include <bit>
#include <map>

#include "perfetto.hpp"
#include "show.hpp"

namespace sassemu::trace {

namespace {

const char* sync_name(const Sync& s) {
    switch (s.kind()) {
        case SASSEMU_SYNC_BARRIER_ARRIVE:
            return s.waits() ? "barrier: wait" : "barrier: arrive";
        case SASSEMU_SYNC_CLUSTER_ARRIVE:
            return "cluster barrier: arrive";
        case SASSEMU_SYNC_CLUSTER_WAIT:
            return "cluster barrier: passed";
        case SASSEMU_SYNC_MBARRIER_INIT:
            return "mbarrier: init";
        case SASSEMU_SYNC_MBARRIER_ARRIVE:
            return s.phase() == s.phase_after() ? "mbarrier: arrive"
                                                : "mbarrier: arrive, phase over";
        case SASSEMU_SYNC_MBARRIER_TEST:
            return s.passed() ? "mbarrier: passed" : "mbarrier: not yet";
        case SASSEMU_SYNC_MBARRIER_INVALIDATE:
            return "mbarrier: invalidate";
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

class CtaTracks {
  public:
    explicit CtaTracks(CtaPlace& place)
        : p_(place),
          out_(place.out),
          own_(out_.track("CTA " + std::to_string(place.cta), place.sm_track)),
          now_(place.begin) {}

    uint64_t write(const std::vector<size_t>& blocks) {
        for (const size_t block : blocks) write(p_.trace.read(block));
        if (!begun_) return now_;
        for (const auto& [id, f] : flights_) out_.end(f.track, now_);
        for (const auto& [warp, track] : waiting_) out_.end(track, now_);
        for (const auto& [key, phase] : phases_)
            if (phase.open) out_.end(phase.track, now_);
        out_.end(own_, now_);
        return now_;
    }

  private:
    struct Phase {  // of a barrier or an mbarrier object
        uint64_t track = 0, flow = 0, count = 0;
        uint32_t parity = 0;
        bool open = false;
    };
    struct Flight {
        uint64_t track;
        uint32_t kind;
    };

    uint64_t warp(uint32_t index) {
        uint64_t& t = warps_[index];
        if (!t) t = out_.track("warp " + std::to_string(index), own_);
        return t;
    }
    uint64_t group(const char* name) {
        uint64_t& t = groups_[name];
        if (!t) t = out_.track(name, own_);
        return t;
    }
    void start(uint64_t at) {
        if (begun_) return;
        begun_ = true;
        p_.begin = now_ = at;
        out_.begin(own_, at, place_text(p_.trace, p_.launch.id(), p_.cta), "cta");
    }

    void write(const RecordBlock& b) {
        auto e = b.events.begin();
        const auto events_up_to = [&](size_t records) {
            for (; e != b.events.end() && e->records() <= records; ++e) {
                start(now_);
                const size_t before = std::min<size_t>(e->records(), b.records.size());
                last_ = before ? &b.records[before - 1] : nullptr;
                if (e->has_sync()) sync(e->sync());
                if (e->has_async()) async(e->async());
                if (e->has_fault())
                    out_.instant(warp(e->fault().warp()), now_,
                                 e->fault().kind() + ": " + e->fault().what(), "fault");
                if (e->has_loaded())
                    out_.instant(warp(e->loaded().warp()), now_, "a load has its value", "model");
            }
        };
        const bool timed = p_.launch.timed();
        for (size_t k = 0; k < b.records.size();) {
            const Record& first = b.records[k];
            events_up_to(k);
            start(timed ? first.time : p_.begin + first.clock);
            size_t last = k;
            const size_t next = e == b.events.end() ? b.records.size() : e->records();
            while (last + 1 < b.records.size() && last + 1 < std::max(next, k + 1) &&
                   b.records[last + 1].warp == first.warp &&
                   b.records[last + 1].clock == b.records[last].clock + 1 &&
                   (!timed || b.records[last + 1].time == b.records[last].time + 1))
                ++last;
            const uint64_t from = std::max(timed ? first.time : p_.begin + first.clock, now_);
            const uint64_t t = warp(first.warp);
            out_.begin(t, from,
                       last == k ? hex(first.instruction->pc()) + " " + first.instruction->text()
                                 : hex(first.instruction->pc()) + " to " +
                                       hex(b.records[last].instruction->pc()),
                       "warp");
            if (p_.launch.in_flight())
                for (size_t n = k; n <= last; ++n) abroad(b.records[n], from + (n - k));
            now_ = from + (last - k + 1);
            out_.end(t, now_);
            k = last + 1;
        }
        events_up_to(b.records.size());
    }

    // Accesses to memory of a peer or of the host.
    void abroad(const Record& r, uint64_t time) {
        for (const MemoryAccess& m : r.accesses) {
            const int32_t home = home_of(p_.owners, m, r.time, p_.launch);
            if (home == static_cast<int32_t>(p_.launch.gpu()) || !m.lanes) continue;
            const uint64_t at = m.addresses[static_cast<size_t>(std::countr_zero(m.lanes))];
            out_.instant(warp(r.warp), time,
                         r.instruction->opcode() +
                             (home < 0 ? " to the host's memory"
                                       : " to memory of GPU " + std::to_string(home)) +
                             name_text(p_.owners.find(at, r.time), at),
                         "peer");
        }
    }

    // ---- barriers

    Phase& phase(const char* kind, const std::string& name, uint32_t parity = 0) {
        Phase& p = phases_[name];
        if (!p.track) p.track = out_.track(name, group(kind));
        if (p.open && p.parity != parity) over(p);  // ended elsewhere in the cluster
        if (!p.open) {
            p.open = true;
            p.parity = parity;
            p.flow = out_.new_flow();
            out_.begin(p.track, now_, "phase " + std::to_string(p.count++), "phase", {p.flow});
        }
        return p;
    }
    void over(Phase& p) {
        out_.end(p.track, now_, {p.flow});
        p.open = false;
    }

    void sync(const Sync& s) {
        const char* const what = sync_name(s);
        const auto tell = [&](uint64_t flow) {
            if (what && s.warp()) out_.instant(warp(s.warp() - 1), now_, what, "sync", {flow});
        };
        switch (s.kind()) {
            case SASSEMU_SYNC_BARRIER_ARRIVE: {
                const std::string name = "barrier " + std::to_string(s.id());
                Phase& p = phase("barriers", name);
                tell(p.flow);
                if (!s.waits() || !s.warp()) return;
                const uint64_t track = warp(s.warp() - 1);
                if (waiting_.emplace(std::pair(name, s.warp() - 1), track).second)
                    out_.begin(track, now_, "waits at " + name, "wait");
                return;
            }
            case SASSEMU_SYNC_BARRIER_COMPLETE: {
                const std::string name = "barrier " + std::to_string(s.id());
                over(phase("barriers", name));
                for (auto at = waiting_.begin(); at != waiting_.end();) {
                    const bool its = at->first.first == name;
                    if (its) out_.end(at->second, now_);
                    at = its ? waiting_.erase(at) : std::next(at);
                }
                return;
            }
            case SASSEMU_SYNC_CLUSTER_ARRIVE:
                return tell(phase("barriers", "cluster barrier").flow);
            case SASSEMU_SYNC_CLUSTER_COMPLETE:
                over(phase("barriers", "cluster barrier"));
                return;
            case SASSEMU_SYNC_MBARRIER_INIT:
            case SASSEMU_SYNC_MBARRIER_ARRIVE:
            case SASSEMU_SYNC_MBARRIER_TEST: {
                const std::string name =
                    "mbarrier " + hex(s.address()) +
                    (s.owner() == p_.cta ? "" : " of CTA " + std::to_string(s.owner()));
                if (s.kind() == SASSEMU_SYNC_MBARRIER_TEST) {
                    // What has ended the phase leads to who has waited for it.
                    tell(s.passed() ? ended_[name] : 0);
                    return;
                }
                Phase& p = phase("mbarriers", name, s.phase());
                tell(p.flow);
                if (s.agent())
                    out_.instant(p.track, now_, "an asynchronous operation arrives", "sync",
                                 {flow_of(s.agent())});
                if (s.kind() == SASSEMU_SYNC_MBARRIER_INIT || s.phase() == s.phase_after()) return;
                ended_[name] = p.flow;
                over(p);
                phase("mbarriers", name, s.phase_after());
                return;
            }
            default:
                tell(0);
        }
    }

    // ---- asynchronous operations

    uint64_t flow_of(uint64_t id) const { return p_.launch.id() << 40 | id; }

    void async(const Async& a) {
        if (a.step() == SASSEMU_ASYNC_ISSUE) {
            auto& idle = idle_[a.agent_kind()];
            if (idle.empty())
                idle.push_back(out_.track(agent_name(a.agent_kind()), group("asynchronous")));
            std::string name = agent_name(a.agent_kind());
            if (last_ && last_->warp == a.warp()) name = mnemonic(last_->instruction->text());
            out_.instant(warp(a.warp()), now_, "issue", "async", {flow_of(a.id())});
            out_.begin(idle.back(), now_, name, "async", {flow_of(a.id())});
            flights_[a.id()] = {idle.back(), a.agent_kind()};
            idle.pop_back();
        } else if (a.step() == SASSEMU_ASYNC_COMPLETE) {
            const auto at = flights_.find(a.id());
            if (at == flights_.end()) return;
            out_.end(at->second.track, now_, {flow_of(a.id()), true});
            idle_[at->second.kind].push_back(at->second.track);
            flights_.erase(at);
        }
    }
    static std::string mnemonic(const std::string& text) {
        const size_t at = text.starts_with('@') ? text.find(' ') + 1 : 0;
        return text.substr(at, text.find_first_of(" ;", at) - at);
    }

    CtaPlace& p_;
    Tracks& out_;
    const uint64_t own_;
    uint64_t now_;
    bool begun_ = false;
    const Record* last_ = nullptr;  // in front of the event at hand
    std::map<uint32_t, uint64_t> warps_;
    std::map<std::string, uint64_t> groups_;
    std::map<std::string, Phase> phases_;
    std::map<std::string, uint64_t> ended_;  // flow of the last phase that ended
    std::map<std::pair<std::string, uint32_t>, uint64_t> waiting_;
    std::map<uint64_t, Flight> flights_;
    std::map<uint32_t, std::vector<uint64_t>> idle_;  // tracks by kind
};

}  // namespace

uint64_t write_cta(CtaPlace& place, const std::vector<size_t>& blocks) {
    return CtaTracks(place).write(blocks);
}

}  // namespace sassemu::trace
