// SPDX-License-Identifier: Apache-2.0
// Memory of several processes, each of which has a machine of its own. What belongs here: what
// threads do to memory of another process, and what other processes know of this one's. What does
// not: what they do to memory here, which is done by the host (machine.cpp).
//
// No process knows what each thread of another has learnt. So all threads of the others are one
// here, which knows whatever somebody has released to the system: nobody outside can have learnt
// more. What a thread reads elsewhere with the system's scope may tell it all that is known there.
// Both are more order than PTX has, so what is shown stays within it.
//
// A store to memory of another process waits here, and those to different bytes pass each other,
// until its thread, or one that may know of it, releases to the system: all are sent then.
#include <algorithm>

#include "machine.hpp"

namespace weak {

// From other processes, by a strong read.
void Machine::learn(Actor& a, const Order& o) const {
    if (!o.strong || o.reach != sys) return;
    join(a.acquirable[sys], outside_);
    if (o.acquires) join(a.now, outside_);
}

void Machine::begins(const Who& who, const Order& o) {
    Actor& a = actor(who);
    if (who.place.host || (o.sc && o.reach == sys)) join(a.now, outside_);
    learn(a, std::exchange(a.asked, Order{}));
}

void Machine::ends(const Who& who, const Order& o) {
    const Actor& a = actor(who);
    if (!a.agent && (who.place.host || (o.releases && o.reach == sys)))
        join(outside_, *snapshot(a, who.thread), 1);
}

bool Machine::waits(const Order& o) const {
    return !posted_.empty() && o.releases && o.reach == sys;
}
bool Machine::waits(const Access& a, bool elsewhere) const {
    if (waits(a.order)) return true;
    return elsewhere && std::ranges::any_of(posted_, [&](const Posted& p) {
               return p.overlaps(a.address, a.bytes);
           });
}

// The value is the one that its owner has found for it. Whose write from here that was is not
// known: all count.
void Machine::load_elsewhere(Memory& m, const Access& a, uint8_t* value) {
    m.read(a.address, value, a.bytes);
    if (a.via == Via::async) return;
    Actor& self = actor(a.who);
    for (const Edge& e : elsewhere_[granule_of(a.address)])
        if (a.order.strong) take(self, e, a.order, a.order.acquires);
    learn(self, a.order);
    acquire(self, a.order);
}

void Machine::store_elsewhere(const Access& a, const uint8_t* value) {
    if (a.order.strong) give(actor(a.who), a, elsewhere_[granule_of(a.address)]);
    Posted& p = posted_.emplace_back(Posted{a.who.thread, a.address, a.bytes, {}});
    std::copy_n(value, a.bytes, p.value.begin());
}

// An atomic operation, which is performed right after this; what it has read its thread knows with
// its next operation.
void Machine::change_elsewhere(const Access& a) {
    if (a.via == Via::async) return;
    Actor& self = actor(a.who);
    Edges& edges = elsewhere_[granule_of(a.address)];
    for (const Edge& e : Edges(edges))
        if (a.order.strong) take(self, e, a.order, a.order.acquires);
    acquire(self, a.order);
    if (a.order.strong) give(self, a, edges);
    self.asked = a.order;
}

// Stores to the same bytes stay in their order.
std::vector<size_t> Machine::sendable() const {
    std::vector<size_t> out;
    for (size_t i = 0; i < posted_.size(); ++i)
        if (std::none_of(posted_.begin(), posted_.begin() + static_cast<std::ptrdiff_t>(i),
                         [&](const Posted& before) {
                             return before.overlaps(posted_[i].address, posted_[i].bytes);
                         }))
            out.push_back(i);
    return out;
}

void Machine::send(Memory& m, size_t store) {
    const Posted p = posted_[store];
    posted_.erase(posted_.begin() + static_cast<std::ptrdiff_t>(store));
    m.write(p.address, p.value.data(), p.bytes);
}

}  // namespace weak
