// SPDX-License-Identifier: Apache-2.0
// NVSHMEM's own rules where PEs reach each other's memory directly. Puts are stores there, and both
// nvshmem_fence() and nvshmem_quiet() are fences; but a fence only keeps what goes to one PE in
// order, so data at one PE may still be on its way when a flag at another has been seen. What
// belongs here: that. What is no order at all is a race, found as any other.
#include "checker.hpp"

namespace check_sync {

// Whose memory it is: a GPU's number, or SASSEMU_OF_HOST.
int32_t Checker::home_of(uint64_t address) const {
    sassemu_allocation a{};
    a.size = sizeof a;
    return host.find_allocation(session, address, &a) == 0 ? a.gpu : SASSEMU_OF_HOST;
}

void Checker::nvshmem_fence(Warp& w, uint32_t lanes, uint32_t insn) {
    order_.nvshmem_fence(w, lanes, insn, [&](Component who) {
        return who < first_mbarrier && who / 4 < names_.size() &&
               names_[who / 4].cta == w.place.cta;
    });
}

// Somebody reads a flag: what its writer had sent there before, in order, has come.
void Checker::arrived(const Channel& flag, uint64_t word) {
    View all;
    for (const Edge& e : flag.edges) all = View::joined(all, e.gives[sys][sent]);
    if (all.empty()) return;
    View& here = arrived_[home_of(word)];
    here = View::joined(here, all);
}

// Whether a kernel has written memory of another GPU.
bool Checker::is_put(const Stamp& writer, uint64_t address) const {
    if (!writer.who || writer.who >= first_mbarrier || writer.who % 4 ||
        writer.who / 4 >= names_.size())
        return false;
    const ThreadName& name = names_[writer.who / 4];
    if (name.launch || name.gpu >= of_streams) return false;
    const int32_t home = home_of(address);
    return home != SASSEMU_OF_HOST && home != static_cast<int32_t>(name.gpu);
}

// Whether it has to be looked at, wherever the bytes are.
bool Checker::sent_only(const Stamp& s, const Touch& t) const {
    return nvshmem_ && !t.shared && s.who != t.warp->threads() &&
           !t.group->now[delivered].covers(s.who, s.lanes, s.epoch);
}

bool Checker::on_its_way(const Stamp& s, const Touch& t) const {
    if (!sent_only(s, t) || !is_put(s, t.address)) return false;
    const auto at = arrived_.find(home_of(t.address));
    return at == arrived_.end() || !at->second.covers(s.who, s.lanes, s.epoch);
}

// The repair in the words of the library.
void Checker::advise_nvshmem(Finding& f, const Stamp& earlier, const Touch& t) const {
    const ThreadName& name = names_[earlier.who / 4];
    f.first.action = "puts";
    if (t.warp->place.gpu == name.gpu) return;
    switch (f.kind) {
        case FindingKind::data_race:
            f.repair =
                "nvshmem_wait_until() or nvshmem_signal_wait_until() on a flag that the "
                "writer sets behind the put, before the data are read";
            break;
        case FindingKind::missing_release:
            f.repair =
                "nvshmem_fence() between the put and the flag (to the same PE; else "
                "nvshmem_quiet()), or both by nvshmem_put_signal()";
            break;
        case FindingKind::missing_acquire:
        case FindingKind::no_memory_order:
            f.repair =
                "nvshmem_wait_until() or nvshmem_signal_wait_until() in place of the loop "
                "that reads the flag" +
                std::string(f.kind == FindingKind::missing_acquire
                                ? ""
                                : ", and nvshmem_fence() before it is set");
            break;
        default:
            break;
    }
}

}  // namespace check_sync
