// SPDX-License-Identifier: Apache-2.0
// Sets of events and relations between them, with the operators in which axioms are written. What
// belongs here: the algebra. What does not: any meaning of an event.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sassemu::ptx {

class Set {
  public:
    explicit Set(size_t n = 0) : n_(n), words_((n + 63) / 64) {}
    size_t size() const { return n_; }
    bool has(size_t i) const { return words_[i / 64] >> (i % 64) & 1; }
    void add(size_t i) { words_[i / 64] |= uint64_t{1} << (i % 64); }
    bool empty() const {
        for (uint64_t w : words_)
            if (w) return false;
        return true;
    }
    friend Set operator|(Set a, const Set& b) {
        for (size_t i = 0; i < a.words_.size(); ++i) a.words_[i] |= b.words_[i];
        return a;
    }
    friend Set operator&(Set a, const Set& b) {
        for (size_t i = 0; i < a.words_.size(); ++i) a.words_[i] &= b.words_[i];
        return a;
    }
    friend Set operator-(Set a, const Set& b) {
        for (size_t i = 0; i < a.words_.size(); ++i) a.words_[i] &= ~b.words_[i];
        return a;
    }

  private:
    friend class Relation;
    size_t n_;
    std::vector<uint64_t> words_;
};

class Relation {
  public:
    explicit Relation(size_t n = 0) : n_(n), row_words_((n + 63) / 64), words_(n * row_words_) {}

    size_t size() const { return n_; }
    bool has(size_t a, size_t b) const { return row(a)[b / 64] >> (b % 64) & 1; }
    void add(size_t a, size_t b) { row(a)[b / 64] |= uint64_t{1} << (b % 64); }
    void remove(size_t a, size_t b) { row(a)[b / 64] &= ~(uint64_t{1} << (b % 64)); }

    bool empty() const {
        for (uint64_t w : words_)
            if (w) return false;
        return true;
    }

    void clear() { std::fill(words_.begin(), words_.end(), 0); }

    // f(a, b) for every pair.
    template <class F>
    void each(F&& f) const {
        for (size_t a = 0; a < n_; ++a) each_of(a, [&](size_t b) { f(a, b); });
    }
    // f(b) for every b that a is related to; with `others` only where they have the pair as well.
    template <class F, class... Others>
    void each_of(size_t a, F&& f, const Others&... others) const {
        for (size_t i = 0; i < row_words_; ++i)
            for (uint64_t w = (row(a)[i] & ... & others.row(a)[i]); w; w &= w - 1)
                f(i * 64 + static_cast<size_t>(std::countr_zero(w)));
    }
    bool any_of(size_t a) const {
        for (size_t i = 0; i < row_words_; ++i)
            if (row(a)[i]) return true;
        return false;
    }
    // a is related to all that b is related to in `other` as well.
    void join(size_t a, const Relation& other, size_t b) { join(a, other.row(b)); }
    // The same of what a is related to in both.
    void join_both(size_t a, const Relation& x, const Relation& y) {
        for (size_t i = 0; i < row_words_; ++i) row(a)[i] |= x.row(a)[i] & y.row(a)[i];
    }
    // Of a relation that is transitive: a is related to b, and it stays transitive. `grown` gets
    // all that is new by way of it.
    void close_with(size_t a, size_t b, Relation* grown = nullptr) {
        if (has(a, b) && !grown) return;
        const auto lead = [&](size_t x) {
            for (Relation* r : {this, grown}) {
                if (!r) continue;
                r->add(x, b);
                r->join(x, row(b));
            }
        };
        for (size_t x = 0; x < n_; ++x)
            if (x != a && has(x, a)) lead(x);
        lead(a);
    }

    friend Relation operator|(Relation a, const Relation& b) {
        for (size_t i = 0; i < a.words_.size(); ++i) a.words_[i] |= b.words_[i];
        return a;
    }
    friend Relation operator&(Relation a, const Relation& b) {
        for (size_t i = 0; i < a.words_.size(); ++i) a.words_[i] &= b.words_[i];
        return a;
    }
    friend Relation operator-(Relation a, const Relation& b) {
        for (size_t i = 0; i < a.words_.size(); ++i) a.words_[i] &= ~b.words_[i];
        return a;
    }
    Relation& operator|=(const Relation& b) { return *this = std::move(*this) | b; }

    // a ; b
    friend Relation operator*(const Relation& a, const Relation& b) {
        Relation out(a.n_);
        for (size_t x = 0; x < a.n_; ++x)
            for (size_t i = 0; i < a.row_words_; ++i)
                for (uint64_t w = a.row(x)[i]; w; w &= w - 1)
                    out.join(x, b.row(i * 64 + static_cast<size_t>(std::countr_zero(w))));
        return out;
    }

    Relation inverse() const {
        Relation out(n_);
        each([&](size_t a, size_t b) { out.add(b, a); });
        return out;
    }

    // r+
    Relation closure() const {
        Relation out = *this;
        for (size_t k = 0; k < n_; ++k)
            for (size_t a = 0; a < n_; ++a)
                if (out.has(a, k)) out.join(a, out.row(k));
        return out;
    }

    // [from] ; r ; [to]
    Relation within(const Set& from, const Set& to) const {
        Relation out(n_);
        for (size_t a = 0; a < n_; ++a)
            if (from.has(a))
                for (size_t i = 0; i < row_words_; ++i) out.row(a)[i] = row(a)[i] & to.words_[i];
        return out;
    }

    // An event that is related to itself, or size() when there is none.
    size_t reflexive_at() const {
        for (size_t a = 0; a < n_; ++a)
            if (has(a, a)) return a;
        return n_;
    }

  private:
    const uint64_t* row(size_t a) const { return words_.data() + a * row_words_; }
    uint64_t* row(size_t a) { return words_.data() + a * row_words_; }
    void join(size_t a, const uint64_t* other) {
        for (size_t i = 0; i < row_words_; ++i) row(a)[i] |= other[i];
    }

    size_t n_, row_words_;
    std::vector<uint64_t> words_;
};

// A relation that is transitive and grows by pairs; kept both ways, so that little is looked at.
class Order : public Relation {
  public:
    explicit Order(size_t n = 0) : Relation(n), back_(n) {}
    explicit Order(const Relation& closed) : Relation(closed), back_(closed.inverse()) {}

    void close_with(size_t a, size_t b) {
        if (has(a, b)) return;
        add(a, b);
        join(a, *this, b);
        back_.each_of(a, [&](size_t x) { join(x, *this, a); });
        back_.add(b, a);
        back_.join(b, back_, a);
        each_of(b, [&](size_t y) { back_.join(y, back_, b); });
    }

  private:
    Relation back_;
};

// [s]: each event of the set related to itself.
inline Relation identity(const Set& s) {
    Relation out(s.size());
    for (size_t i = 0; i < s.size(); ++i)
        if (s.has(i)) out.add(i, i);
    return out;
}
// r? : r or nothing.
inline Relation optional(const Relation& r) {
    Relation out = r;
    for (size_t i = 0; i < r.size(); ++i) out.add(i, i);
    return out;
}

}  // namespace sassemu::ptx
