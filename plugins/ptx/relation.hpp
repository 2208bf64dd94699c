// SPDX-License-Identifier: Apache-2.0
// Sets of events and relations between them, with the operators in which axioms are written. What
// belongs here: the algebra. What does not: any meaning of an event.
#pragma once

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

    // f(a, b) for every pair; a false return stops.
    template <class F>
    void each(F&& f) const {
        for (size_t a = 0; a < n_; ++a)
            for (size_t i = 0; i < row_words_; ++i)
                for (uint64_t w = row(a)[i]; w; w &= w - 1)
                    f(a, i * 64 + static_cast<size_t>(std::countr_zero(w)));
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
