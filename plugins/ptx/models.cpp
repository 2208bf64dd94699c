// SPDX-License-Identifier: Apache-2.0
// The PTX memory models as the SDK's `consistency` role: the table of variants and the C functions.
// What belongs here: the border. What does not: the model (derived.cpp, axioms.cpp).
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>

#include "axioms.hpp"
#include "models.hpp"

namespace sassemu::ptx {
namespace {

//                          name           proxies po-is-causal obs;po-loc sc-per-loc current
constexpr Variant ptx60 = {
    "ptx60", "the PTX memory consistency model as of PTX ISA 6.0", false, false, true, true, false};
constexpr Variant ptx75 = {
    "ptx75-proxy", "PTX ISA 7.5: with proxies and virtual aliases", true, true, false, false,
    false};
constexpr Variant ptx = {
    "ptx", "the current text: clusters, async and tensormap proxies, mbarriers",
    true,  true,
    false, true,
    true};

struct Model {
    const Variant* variant;
    Options options;
};

bool read_options(std::string_view text, Options& options, char* error, size_t error_bytes) {
    while (!text.empty()) {
        const size_t comma = text.find(',');
        const std::string_view one = text.substr(0, comma);
        text = comma == text.npos ? std::string_view{} : text.substr(comma + 1);
        if (one == "graphics=1" || one == "graphics=0") {
            options.graphics = one.back() == '1';
        } else if (one == "reading=strict" || one == "reading=relied") {
            options.relied = one == "reading=relied";
        } else {
            std::snprintf(
                error, error_bytes,
                "option '%.*s' is unknown; known are graphics=0|1 and reading=strict|relied",
                static_cast<int>(one.size()), one.data());
            return false;
        }
    }
    return true;
}

template <const Variant& variant>
void* create(const char* text, char* error, size_t error_bytes) {
    Options options;
    if (!read_options(text ? text : "", options, error, error_bytes)) return nullptr;
    return new (std::nothrow) Model{&variant, options};
}

void destroy(void* model) { delete static_cast<Model*>(model); }

template <size_t size>
void put(const char* text, char (&into)[size]) {
    const size_t count = std::min(std::strlen(text), size - 1);
    std::memcpy(into, text, count);
    into[count] = 0;
}

void report(const Violation& v, SassemuVerdict& verdict) {
    verdict.consistent = 0;
    put(v.axiom, verdict.axiom);
    put(v.clause, verdict.clause);
    verdict.cycle_count = 0;
    for (const size_t e : v.cycle)
        if (verdict.cycle_count < std::size(verdict.cycle))
            verdict.cycle[verdict.cycle_count++] = static_cast<uint32_t>(e);
}

void copy(const Relation& r, uint8_t* into) {
    if (!into) return;
    std::memset(into, 0, r.size() * r.size());
    r.each([&](size_t a, size_t b) { into[a * r.size() + b] = 1; });
}

// A graph that questions are asked about.
struct Begun {
    Begun(const Model& m, Execution&& read)
        : model(m), x(std::move(read)), d(x, *model.variant, model.options) {}
    const Model& model;
    Execution x;
    Derived d;
};

void* begin(void* self, const SassemuGraph* graph) {
    const Model& model = *static_cast<const Model*>(self);
    auto x = Execution::read(*graph, *model.variant);
    return x ? new Begun(model, std::move(*x)) : nullptr;
}

void end(void* begun) { delete static_cast<Begun*>(begun); }

// A verdict of before ABI 1.6 has no room for all that is open.
constexpr size_t first_verdict = offsetof(SassemuVerdict, all_open);

int ask(void* begun, const SassemuReadsFrom* from, size_t count, SassemuEdges chosen,
        int32_t complete, SassemuVerdict* verdict) {
    auto& [model, x, d] = *static_cast<Begun*>(begun);
    if (verdict->size < first_verdict || !x.take(from, count, chosen)) return 1;
    d.derive();
    verdict->has_open = 0;
    if (const auto v = violated(x, d, *model.variant)) {
        report(*v, *verdict);
        return 0;
    }
    verdict->consistent = 1;
    if (complete) {
        auto open = open_pairs(x, d);
        if (complete == SASSEMU_COMPLETE_SOMEHOW && !open.empty()) {
            d.choose(open);
            if (!violated(x, d, *model.variant) && open_pairs(x, d).empty()) open.clear();
        }
        const auto edge = [](const std::pair<size_t, size_t>& pair) {
            return SassemuEdge{static_cast<uint32_t>(pair.first),
                               static_cast<uint32_t>(pair.second)};
        };
        if (!open.empty()) {
            verdict->has_open = 1;
            verdict->open = edge(open[0]);
        }
        if (verdict->size >= sizeof(SassemuVerdict)) {
            verdict->open_count = open.size();
            if (verdict->all_open)
                for (size_t i = 0; i < std::min(open.size(), verdict->open_room); ++i)
                    verdict->all_open[i] = edge(open[i]);
        }
    }
    copy(d.coherence, verdict->coherence);
    copy(d.causality, verdict->causality);
    if (verdict->base)
        for (size_t a = 0; a < x.n; ++a)
            for (size_t b = 0; b < x.n; ++b) verdict->base[a * x.n + b] = d.ordered(a, b);
    return 0;
}

int judge(void* self, const SassemuGraph* graph, SassemuVerdict* verdict) {
    const std::unique_ptr<Begun> begun(static_cast<Begun*>(begin(self, graph)));
    if (!begun) return 1;
    return ask(begun.get(), graph->reads_from, graph->reads_from_count, graph->chosen,
               graph->complete, verdict);
}

template <const Variant& variant>
constexpr SassemuConsistencyModel model_of = {sizeof(SassemuConsistencyModel),
                                              SASSEMU_CONSISTENCY_ABI,
                                              variant.name,
                                              variant.summary,
                                              create<variant>,
                                              destroy,
                                              judge,
                                              begin,
                                              ask,
                                              end};

constexpr SassemuConsistencyModel models[] = {model_of<ptx60>, model_of<ptx75>, model_of<ptx>};

}  // namespace

const SassemuConsistencyModel* consistency_models(size_t* count) {
    *count = std::size(models);
    return models;
}

}  // namespace sassemu::ptx
