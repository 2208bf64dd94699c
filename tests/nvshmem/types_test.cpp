// SPDX-License-Identifier: Apache-2.0
// Every function of the device's API in every type, against what the host computes: kernels of
// cubins/nvshmem_types. Directly, and through the proxy in an order of its own.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "sassemu_nvshmem/types.h"
#include "tests/nvshmem/pes.hpp"

namespace sassemu::nvshmem {
namespace {

// How a type keeps numbers.
enum class Kind : uint8_t { integer, real, half, bfloat16 };
struct Type {
    std::string name;
    uint32_t bytes;
    Kind kind;
    bool negative;  // has numbers below 0
};
template <class T>
Type type_of(const char* name) {
    return {name, sizeof(T), std::is_floating_point_v<T> ? Kind::real : Kind::integer,
            std::is_signed_v<T>};
}
template <>
Type type_of<sassemu_nvshmem_128>(const char* name) {
    return {name, 16, Kind::integer, false};
}
#define TYPE(NAME, T) type_of<T>(#NAME),
// Where CUDA's headers define them they are at the end of the lists.
#define HALVES {"half", 2, Kind::half, true}, {"bfloat16", 2, Kind::bfloat16, true},
const std::vector<Type> rma_types{SASSEMU_NVSHMEM_RMA_TYPES(TYPE) HALVES};
const std::vector<Type> sized{SASSEMU_NVSHMEM_BIT_SIZES(TYPE){"mem", 1, Kind::integer, false}};
const std::vector<Type> reduce_types{SASSEMU_NVSHMEM_REDUCE_TYPES(TYPE) HALVES};
const std::vector<Type> bitwise_types{SASSEMU_NVSHMEM_BITWISE_REDUCE_TYPES(TYPE)};
const std::vector<Type> amo_types{SASSEMU_NVSHMEM_AMO_TYPES(TYPE)};
const std::vector<Type> extended_types{SASSEMU_NVSHMEM_EXTENDED_AMO_TYPES(TYPE)};
const std::vector<Type> bits_types{SASSEMU_NVSHMEM_BITWISE_AMO_TYPES(TYPE)};
const std::vector<Type> wait_types{SASSEMU_NVSHMEM_WAIT_TYPES(TYPE)};

using Bytes = std::vector<std::byte>;

// Numbers that every type has exactly.
void append(Bytes& to, const Type& type, double value) {
    std::byte bytes[16]{};
    if (type.kind == Kind::integer) {
        const auto v = static_cast<int64_t>(value);
        std::memcpy(bytes, &v, 8);
    } else if (type.kind == Kind::real && type.bytes == 8) {
        std::memcpy(bytes, &value, 8);
    } else {
        const auto v = static_cast<float>(value);
        uint32_t bits;
        std::memcpy(&bits, &v, 4);
        if (type.kind == Kind::bfloat16) bits >>= 16;
        if (type.kind == Kind::half)
            bits = value == 0 ? 0
                              : (bits >> 16 & 0x8000) |
                                    (((bits >> 23 & 0xff) - 112) << 10 | (bits >> 13 & 0x3ff));
        std::memcpy(bytes, &bits, 4);
    }
    to.insert(to.end(), bytes, bytes + type.bytes);
}
Bytes part(const Bytes& bytes, size_t first, size_t count) {
    const auto at = bytes.begin() + static_cast<std::ptrdiff_t>(first);
    return {at, at + static_cast<std::ptrdiff_t>(count)};
}

class Types : public testing::TestWithParam<int> {
  protected:
    static constexpr uint32_t pes = 3, count = 13;
    void SetUp() override {
        Options options = proxied(pes, 11);
        options.proxy = GetParam() != 0;
        options.heap_bytes = 1 << 16;
        options.infiniband = GetParam() == 2;
        p_.emplace(options, Pes::one_worker(), "nvshmem_types/sm_90.cubin");
        to_ = p_->allocate(16384);
        source_ = p_->allocate(4096);
        signals_ = p_->allocate(512);
    }
    // What the PEs have in `to` afterwards; at first there are zeros.
    void run(const std::string& kernel, size_t which, const std::vector<Bytes>& sources,
             uint32_t threads = 64) {
        const Bytes zeros(16384);
        for (uint32_t pe = 0; pe < pes; ++pe) {
            p_->write(pe, to_, zeros.data(), zeros.size());
            p_->write(pe, signals_, zeros.data(), 512);
            p_->write(pe, source_, sources[pe].data(), sources[pe].size());
        }
        for (uint32_t pe = 0; pe < pes; ++pe)
            p_->launch(pe, kernel, threads,
                       Params() << static_cast<int>(which) << p_->at(pe, to_) << p_->at(pe, source_)
                                << p_->at(pe, signals_) << static_cast<int>(count));
        p_->end();
    }
    void expect(uint32_t pe, const Bytes& wanted, const std::string& what, size_t from = 0) {
        EXPECT_EQ(p_->read(pe, to_ + from, wanted.size()), wanted) << what << " on PE " << pe;
    }
    std::vector<Bytes> random_sources(size_t bytes) {
        std::vector<Bytes> sources(pes, Bytes(bytes));
        for (Bytes& source : sources)
            for (std::byte& b : source) b = static_cast<std::byte>(random_());
        return sources;
    }
    // Numbers of the type, one list for each PE.
    std::vector<std::vector<double>> numbers(const Type& type, size_t many) {
        std::vector<std::vector<double>> all(pes, std::vector<double>(many));
        for (auto& list : all)
            for (double& v : list) v = static_cast<int>(random_() % 6) - (type.negative ? 2 : 0);
        return all;
    }
    static std::vector<Bytes> as_bytes(const Type& type,
                                       const std::vector<std::vector<double>>& numbers) {
        std::vector<Bytes> all;
        for (const auto& list : numbers) {
            Bytes& bytes = all.emplace_back();
            for (const double v : list) append(bytes, type, v);
        }
        return all;
    }

    std::optional<Pes> p_;
    uint64_t to_ = 0, source_ = 0, signals_ = 0;
    std::minstd_rand random_{5};
};

TEST_P(Types, PutGetAndTheirForms) {
    std::vector<Type> all = rma_types;
    all.insert(all.end(), sized.begin(), sized.end());
    for (size_t which = 0; which < all.size(); ++which) {
        const size_t size = all[which].bytes, bytes = count * size;
        const auto sources = random_sources(bytes);
        run("rma", which, sources);
        const auto strided = [&](const Bytes& from, size_t to_stride, size_t from_stride) {
            Bytes out(bytes);
            for (size_t i = 0; i < count / 4; ++i)
                std::memcpy(out.data() + i * to_stride * size, from.data() + i * from_stride * size,
                            size);
            return all[which].name == "mem" ? Bytes(bytes) : out;
        };
        for (uint32_t pe = 0; pe < pes; ++pe) {
            const Bytes &before = sources[(pe + pes - 1) % pes], &next = sources[(pe + 1) % pes];
            for (size_t form = 0; form < 24; ++form) {
                const bool puts = form < 15;
                const size_t strides = form - (puts ? 12 : 21);
                Bytes wanted = puts ? before : next;
                if (strides < 3) {
                    static constexpr size_t to[] = {2, 3, 1}, from[] = {3, 2, 4};
                    wanted = strided(wanted, to[strides], from[strides]);
                }
                expect(pe, wanted, all[which].name + ", form " + std::to_string(form),
                       form * bytes);
            }
            EXPECT_EQ(p_->value<uint64_t>(pe, signals_), 31u) << all[which].name;
            EXPECT_EQ(p_->value<uint64_t>(pe, signals_ + 8), 5u) << all[which].name;
        }
    }
}

TEST_P(Types, PAndG) {
    for (size_t which = 0; which < rma_types.size(); ++which) {
        const size_t bytes = count * rma_types[which].bytes;
        const auto sources = random_sources(bytes);
        run("pg", which, sources);
        for (uint32_t pe = 0; pe < pes; ++pe) {
            expect(pe, sources[(pe + pes - 1) % pes], rma_types[which].name + "_p");
            expect(pe, sources[(pe + 1) % pes], rma_types[which].name + "_g", bytes);
        }
    }
}

TEST_P(Types, BroadcastFcollectAlltoall) {
    for (size_t which = 0; which < rma_types.size(); ++which) {
        const size_t bytes = count * rma_types[which].bytes;
        const auto sources = random_sources(bytes * pes);
        run("collectives", which, sources);
        for (uint32_t pe = 0; pe < pes; ++pe) {
            const std::string& name = rma_types[which].name;
            expect(pe, part(sources[1], 0, bytes), name + "_broadcast");
            for (uint32_t from = 0; from < pes; ++from) {
                expect(pe, part(sources[from], 0, bytes), name + "_fcollect", (1 + from) * bytes);
                expect(pe, part(sources[from], pe * bytes, bytes), name + "_alltoall",
                       (1 + pes + from) * bytes);
            }
        }
    }
}

using Operation = std::function<double(double, double)>;
double folded(const std::vector<std::vector<double>>& numbers, size_t i, const Operation& f) {
    double sum = numbers[0][i];
    for (size_t pe = 1; pe < numbers.size(); ++pe) sum = f(sum, numbers[pe][i]);
    return sum;
}

TEST_P(Types, Reductions) {
    const std::vector<std::pair<std::string, Operation>> operations{
        {"min", [](double a, double b) { return std::min(a, b); }},
        {"max", [](double a, double b) { return std::max(a, b); }},
        {"sum", std::plus<>()},
        {"prod", std::multiplies<>()}};
    for (size_t which = 0; which < reduce_types.size(); ++which) {
        const Type& type = reduce_types[which];
        auto all = numbers(type, count);
        // 0 and -0 are the same here.
        for (auto& list : all)
            for (double& v : list) v = v == 0 ? 1 : v;
        run("reduce", which, as_bytes(type, all));
        for (size_t k = 0; k < operations.size(); ++k) {
            Bytes wanted;
            for (size_t i = 0; i < count; ++i)
                append(wanted, type, folded(all, i, operations[k].second) + 0.0);
            for (uint32_t pe = 0; pe < pes; ++pe)
                expect(pe, wanted, type.name + "_" + operations[k].first, k * count * type.bytes);
        }
    }
}

TEST_P(Types, BitwiseReductions) {
    const std::vector<Operation> operations{
        [](double a, double b) { return static_cast<double>(int64_t(a) & int64_t(b)); },
        [](double a, double b) { return static_cast<double>(int64_t(a) | int64_t(b)); },
        [](double a, double b) { return static_cast<double>(int64_t(a) ^ int64_t(b)); }};
    for (size_t which = 0; which < bitwise_types.size(); ++which) {
        const Type& type = bitwise_types[which];
        const auto all = numbers(type, count);
        run("bitwise", which, as_bytes(type, all));
        for (size_t k = 0; k < operations.size(); ++k) {
            Bytes wanted;
            for (size_t i = 0; i < count; ++i) append(wanted, type, folded(all, i, operations[k]));
            for (uint32_t pe = 0; pe < pes; ++pe)
                expect(pe, wanted, type.name + ", operation " + std::to_string(k),
                       k * count * type.bytes);
        }
    }
}

TEST_P(Types, Atomics) {
    const std::vector<Bytes> none(pes, Bytes(8));
    struct Family {
        std::string kernel;
        const std::vector<Type>& types;
        std::vector<double> wanted;  // the word itself, then what was fetched
    };
    for (const Family& family : {Family{"amo", amo_types, {40, 5, 13, 14, 20, 20, 22, 23}},
                                 Family{"extended", extended_types, {12, 9, 9, 11, 12}},
                                 Family{"bits", bits_types, {11, 5, 13, 9, 8, 11, 10}}})
        for (size_t which = 0; which < family.types.size(); ++which) {
            run(family.kernel, which, none, 1);
            Bytes wanted;
            for (const double v : family.wanted) append(wanted, family.types[which], v);
            for (uint32_t pe = 0; pe < pes; ++pe)
                expect(pe, wanted, family.kernel + " of " + family.types[which].name);
        }
}

TEST_P(Types, WaitsAndTests) {
    if (GetParam() == 2) GTEST_SKIP() << "words of its own: nothing that others see late";
    const std::vector<Bytes> none(pes, Bytes(512));
    for (size_t which = 0; which < wait_types.size(); ++which) {
        run("waits", which, none);
        // Indices and counts, of 13 words of which word 0 is left out where a status says so.
        const std::vector<uint64_t> wanted{0, 1, 1, 0, 1, 1, 1, 1, 12, 1, 1, 13, 0, 1, 12, 2};
        for (uint32_t pe = 0; pe < pes; ++pe)
            for (size_t i = 0; i < wanted.size(); ++i)
                EXPECT_EQ(p_->value<uint64_t>(pe, signals_ + 8 * i), wanted[i])
                    << wait_types[which].name << ", result " << i << " on PE " << pe;
    }
}

INSTANTIATE_TEST_SUITE_P(Delivery, Types, testing::Values(0, 1, 2), [](const auto& info) {
    return std::string(info.param == 0 ? "direct" : info.param == 1 ? "proxy" : "proxy_infiniband");
});

}  // namespace
}  // namespace sassemu::nvshmem
