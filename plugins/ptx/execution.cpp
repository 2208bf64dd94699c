// SPDX-License-Identifier: Apache-2.0
// Reads the C structs of a graph into sets and relations. See execution.hpp.
#include "execution.hpp"

#include <algorithm>
#include <cstring>

namespace sassemu::ptx {
namespace {

bool in(uint32_t order, std::initializer_list<uint32_t> orders) {
    return std::find(orders.begin(), orders.end(), order) != orders.end();
}

bool read_edges(const SassemuEdges& edges, size_t n, Relation& into) {
    for (size_t i = 0; i < edges.count; ++i) {
        if (edges.edges[i].from >= n || edges.edges[i].to >= n) return false;
        into.add(edges.edges[i].from, edges.edges[i].to);
    }
    return true;
}

}  // namespace

bool Execution::overlaps(size_t a, size_t b) const {
    const SassemuEvent &x = events[a], &y = events[b];
    return x.bytes && y.bytes && x.location == y.location && x.first < y.first + y.bytes &&
           y.first < x.first + x.bytes;
}

bool Execution::same_range(size_t a, size_t b) const {
    const SassemuEvent &x = events[a], &y = events[b];
    return x.bytes && x.location == y.location && x.first == y.first && x.bytes == y.bytes;
}

bool Execution::same_address(size_t a, size_t b) const {
    return overlaps(a, b) && events[a].alias == events[b].alias;
}

// PTX ISA 8.5, "Scope": the threads of a CTA, a cluster, a device, the program. The host is in the
// system scope only.
bool Execution::includes(size_t a, size_t b) const {
    const SassemuEvent &x = events[a], &y = events[b];
    switch (x.scope) {
        case SASSEMU_SCOPE_CTA:
            return x.cta == y.cta;
        case SASSEMU_SCOPE_CLUSTER:
            return x.cluster == y.cluster;
        case SASSEMU_SCOPE_GPU:
            return x.gpu == y.gpu;
        case SASSEMU_SCOPE_SYS:
            return true;
        default:
            return false;
    }
}

std::optional<Execution> Execution::read(const SassemuGraph& graph, const Variant& variant) {
    if (graph.size < sizeof(SassemuGraph)) return std::nullopt;
    Execution x;
    const size_t n = x.n = graph.event_count;
    x.events.resize(n);
    for (size_t i = 0; i < n; ++i)
        std::memcpy(&x.events[i],
                    reinterpret_cast<const char*>(graph.events) + i * graph.event_size,
                    std::min(graph.event_size, sizeof(SassemuEvent)));
    for (Relation* r : {&x.po, &x.rf, &x.rmw, &x.dependency, &x.pairing, &x.spawn, &x.agent_order,
                        &x.completion, &x.chosen, &x.po_loc, &x.morally_strong})
        *r = Relation(n);
    for (Set* s : {&x.reads, &x.writes, &x.inits, &x.fences, &x.strong, &x.releasing_writes,
                   &x.acquiring_reads, &x.strong_writes, &x.strong_reads, &x.releasing_fences,
                   &x.acquiring_fences, &x.sc_fences, &x.restricted_fences})
        *s = Set(n);
    if (!read_edges(graph.address, n, x.dependency) || !read_edges(graph.data, n, x.dependency) ||
        !read_edges(graph.control, n, x.dependency) || !read_edges(graph.rmw, n, x.rmw) ||
        !read_edges(graph.pairing, n, x.pairing) || !read_edges(graph.spawn, n, x.spawn) ||
        !read_edges(graph.agent_order, n, x.agent_order) ||
        !read_edges(graph.completion, n, x.completion))
        return std::nullopt;
    x.current_ = variant.current;
    x.read_sets();
    x.read_order(variant);
    return x;
}

bool Execution::take(const SassemuReadsFrom* from, size_t count, const SassemuEdges& chose) {
    rf.clear();
    chosen.clear();
    bytes_from.clear();
    for (size_t i = 0; i < count; ++i) {
        const SassemuReadsFrom& f = from[i];
        if (f.write >= n || f.read >= n) return false;
        rf.add(f.write, f.read);
        bytes_from.push_back({f.write, f.read, f.first, f.first + f.bytes});
    }
    return read_edges(chose, n, chosen);
}

void Execution::read_sets() {
    for (size_t i = 0; i < n; ++i) {
        const SassemuEvent& e = events[i];
        const uint32_t o = e.order;
        const bool writes_something = is(i, SASSEMU_EVENT_WRITE | SASSEMU_EVENT_ARRIVE);
        const bool reads_something = is(i, SASSEMU_EVENT_READ | SASSEMU_EVENT_WAIT);
        if (is(i, SASSEMU_EVENT_READ)) reads.add(i);
        if (is(i, SASSEMU_EVENT_WRITE)) writes.add(i);
        if (is(i, SASSEMU_EVENT_INIT)) inits.add(i);
        // A one-sided proxy fence takes part in patterns like a fence of its order.
        const bool fence = is(i, SASSEMU_EVENT_FENCE | SASSEMU_EVENT_PROXY_FENCE);
        if (fence) fences.add(i);
        if (o == SASSEMU_ORDER_WEAK || is(i, SASSEMU_EVENT_INIT)) continue;
        strong.add(i);
        const bool release =
            in(o, {SASSEMU_ORDER_RELEASE, SASSEMU_ORDER_ACQ_REL, SASSEMU_ORDER_SC});
        const bool acquire =
            in(o, {SASSEMU_ORDER_ACQUIRE, SASSEMU_ORDER_ACQ_REL, SASSEMU_ORDER_SC});
        if (writes_something) strong_writes.add(i);
        // PTX ISA 8.4, "Operation types": atom is a read operation, red is none.
        const bool reduces = current_ && e.operation == SASSEMU_OPERATION_REDUCTION;
        if (reads_something && !reduces) strong_reads.add(i);
        if (writes_something && release) releasing_writes.add(i);
        if (reads_something && acquire && !reduces) acquiring_reads.add(i);
        if (fence && !writes_something && !reads_something) {
            if (release) releasing_fences.add(i);
            if (acquire) acquiring_fences.add(i);
            if (o == SASSEMU_ORDER_SC) sc_fences.add(i);
        }
        const bool one_way = is(i, SASSEMU_EVENT_PROXY_FENCE) && !e.both_ways;
        if (e.restriction || one_way || (fence && e.operation == SASSEMU_OPERATION_MBARRIER_INIT))
            restricted_fences.add(i);
    }
    memory = reads | writes;
}

void Execution::read_order(const Variant& variant) {
    for (size_t a = 0; a < n; ++a)
        for (size_t b = 0; b < n; ++b) {
            const SassemuEvent &x = events[a], &y = events[b];
            if (a == b || x.thread < 0 || y.thread < 0) continue;
            const bool one_thread = x.thread == y.thread && x.agent < 0 && y.agent < 0;
            if (one_thread && x.index < y.index) {
                po.add(a, b);
                if (same_address(a, b) && (!variant.proxies || x.proxy == y.proxy))
                    po_loc.add(a, b);
            }
            // PTX ISA 8.7.1, "Morally strong": related in program order, or each strong with a
            // scope that includes the other; the same proxy; two memory operations overlap
            // completely.
            const bool related =
                one_thread || (strong.has(a) && strong.has(b) && includes(a, b) && includes(b, a));
            if (!related) continue;
            if (variant.proxies && x.proxy != y.proxy) continue;
            if (memory.has(a) && memory.has(b) &&
                !(same_range(a, b) && (!variant.proxies || x.alias == y.alias)))
                continue;
            morally_strong.add(a, b);
        }
}

}  // namespace sassemu::ptx
