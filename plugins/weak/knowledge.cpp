// SPDX-License-Identifier: Apache-2.0
#include "knowledge.hpp"

#include <algorithm>
#include <unordered_map>

namespace weak {

namespace {

bool by_thread(const View::Entry& a, const View::Entry& b) {
    return a.first < b.first || (a.first == b.first && a.second > b.second);
}

// Of each thread the last that is known; they are sorted up to `middle`, and so are the others.
void reduce(std::vector<View::Entry>& entries, size_t middle) {
    const auto at = entries.begin() + static_cast<std::ptrdiff_t>(middle);
    std::inplace_merge(entries.begin(), at, entries.end(), by_thread);
    const auto same = [](const View::Entry& a, const View::Entry& b) { return a.first == b.first; };
    entries.erase(std::unique(entries.begin(), entries.end(), same), entries.end());
}

}  // namespace

Stamp View::of(Thread t) const {
    if (!entries_) return 0;
    const auto at = std::lower_bound(entries_->begin(), entries_->end(), t,
                                     [](const Entry& e, Thread x) { return e.first < x; });
    return at != entries_->end() && at->first == t ? at->second : 0;
}

void View::put(std::vector<Entry> entries) {
    entries_ = std::make_shared<const std::vector<Entry>>(std::move(entries));
}

void View::add(Thread t, Stamp s) {
    if (!s || of(t) >= s) return;
    std::vector<Entry> now = entries_ ? *entries_ : std::vector<Entry>{};
    const auto at = std::lower_bound(now.begin(), now.end(), t,
                                     [](const Entry& e, Thread x) { return e.first < x; });
    if (at != now.end() && at->first == t)
        at->second = s;
    else
        now.insert(at, {t, s});
    put(std::move(now));
}

bool View::includes(const std::vector<Entry>& other) const {
    if (other.empty()) return true;
    if (!entries_ || entries_->size() < other.size()) return false;
    auto at = entries_->begin();
    for (const Entry& e : other) {
        while (at != entries_->end() && at->first < e.first) ++at;
        if (at == entries_->end() || at->first != e.first || at->second < e.second) return false;
    }
    return true;
}

void View::join(const View& other) {
    if (entries_ == other.entries_ || !other.entries_) return;
    if (other.includes(*this)) {
        entries_ = other.entries_;
        return;
    }
    if (includes(other)) return;
    std::vector<Entry> now = *entries_;
    now.insert(now.end(), other.entries_->begin(), other.entries_->end());
    reduce(now, entries_->size());
    put(std::move(now));
}

void View::join(const std::vector<const View*>& views, std::vector<Entry> entries) {
    std::erase_if(entries, [](const Entry& e) { return !e.second; });
    if (!std::ranges::is_sorted(entries, by_thread)) std::ranges::sort(entries, by_thread);
    reduce(entries, entries.size());
    std::vector<View> distinct;
    const auto take = [&](const View& v) {
        if (!v.entries_ ||
            std::ranges::find(distinct, v.identity(), &View::identity) != distinct.end())
            return;
        distinct.push_back(v);
        const size_t before = entries.size();
        entries.insert(entries.end(), v.entries_->begin(), v.entries_->end());
        reduce(entries, before);
    };
    take(*this);
    for (const View* v : views) take(*v);
    // What one of them knows already stays one for all.
    const auto same =
        std::ranges::find_if(distinct, [&](const View& v) { return *v.entries_ == entries; });
    if (same != distinct.end())
        entries_ = same->entries_;
    else if (!entries.empty())
        put(std::move(entries));
}

void join(Knowledge& to, const Knowledge& from) {
    for (uint32_t r = 0; r < rules; ++r) to[r].join(from[r]);
}

namespace {

Thread thread_of(const Edge& e) {
    for (const auto& g : e.gives)
        if (g) return g->thread;
    return 0;
}
bool gives(const Edge& e) {
    return std::ranges::any_of(e.gives, [](const auto& g) { return !!g; });
}

// Of one thread with the same reach the later one knows all that the one before it does.
bool covers(const Edge& later, const Edge& e) {
    if (later.reach != e.reach || later.threads != e.threads || thread_of(later) != thread_of(e))
        return false;
    for (uint32_t d = 0; d < reaches; ++d)
        if (e.gives[d] && !later.gives[d]) return false;
    return true;
}

}  // namespace

void add_edge(Edges& to, const Edge& edge) {
    if (!gives(edge)) return;
    const auto same = std::ranges::find_if(to, [&](const Edge& e) { return covers(edge, e); });
    if (same == to.end())
        to.push_back(edge);
    else
        *same = edge;
}

void add_edges(Edges& to, const Edges& from) {
    std::unordered_map<Thread, size_t> last;
    for (size_t i = 0; i < to.size(); ++i) last[thread_of(to[i])] = i;
    const size_t own = to.size();
    for (const Edge& e : from) {  // those before
        const auto at = last.find(thread_of(e));
        if (gives(e) && (at == last.end() || at->second >= own || !covers(to[at->second], e)))
            to.push_back(e);
    }
}

}  // namespace weak
