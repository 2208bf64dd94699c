// SPDX-License-Identifier: Apache-2.0
// Replays what an H200 did with mbarrier protocols, SYNCS.CAS, tensor maps and tensor copies
// (record.cu).
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "emu/async/tensor_map.hpp"
#include "emu/gpu.hpp"
#include "emu/module/module.hpp"
#include "tests/hardware/async/cas_cases.hpp"
#include "tests/hardware/async/cast_cases.hpp"
#include "tests/hardware/async/image_cases.hpp"
#include "tests/hardware/async/reduce_cases.hpp"

namespace sassemu {
namespace {

namespace cases = tensor_cases;

const std::string here = SASSEMU_SOURCE_DIR "/tests/hardware/async/";

std::vector<uint16_t> recorded(const std::string& name) {
    std::ifstream in(here + name, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    const std::string bytes = text.str();
    std::vector<uint16_t> out(bytes.size() / 2);
    if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * 2);
    return out;
}

struct Device {
    std::unique_ptr<Gpu> gpu;
    ModuleId module = 0;

    explicit Device(const std::string& cubin) {
        gpu = *Gpu::create({});
        auto loaded = load_module_file(here + cubin);
        EXPECT_TRUE(loaded) << loaded.error().what;
        module = *gpu->load(std::make_shared<const Module>(std::move(*loaded)));
    }
    uint64_t allocate(uint64_t bytes) { return *gpu->allocate(bytes, "test"); }
    template <class... T>
    void launch(const std::string& kernel, uint32_t grid, uint32_t block, T... arguments) {
        const auto result = ends(kernel, grid, block, arguments...);
        ASSERT_TRUE(result) << result.error().where << " " << result.error().what;
        ASSERT_EQ(result->status, LaunchStatus::ok)
            << result->message << (result->fault ? result->fault->report() : "");
    }
    template <class... T>
    Result<LaunchResult> ends(const std::string& kernel, uint32_t grid, uint32_t block,
                              T... arguments) {
        LaunchRequest r;
        r.module = module;
        r.kernel = kernel;
        r.grid.x = grid;
        r.block.x = block;
        const auto put = [&](auto v) {
            r.params.resize((r.params.size() + sizeof v - 1) / sizeof v * sizeof v);
            const auto* bytes = reinterpret_cast<const std::byte*>(&v);
            r.params.insert(r.params.end(), bytes, bytes + sizeof v);
        };
        (put(arguments), ...);
        return gpu->launch(r);
    }
    std::vector<uint32_t> words(uint64_t at, size_t count) {
        std::vector<uint32_t> out(count);
        EXPECT_TRUE(gpu->read(at, std::as_writable_bytes(std::span(out))));
        return out;
    }
};

TensorMap map_of(const cases::Case& c, uint64_t base) {
    TensorMap m;
    m.type = static_cast<TensorType>(c.type);
    m.rank = c.rank;
    m.address = base;
    for (uint32_t k = 0; k < c.rank; ++k) {
        m.size[k] = c.dim[k];
        m.box[k] = c.box[k];
        m.step[k] = c.step[k];
        if (k + 1 < c.rank) m.stride[k] = c.stride[k];
    }
    m.interleave = static_cast<TensorInterleave>(c.interleave);
    m.swizzle = static_cast<TensorSwizzle>(c.swizzle);
    m.promotion = static_cast<uint8_t>(c.promotion);
    m.nan_fill = c.fill;
    m.image = c.image;
    if (m.image) {
        std::copy_n(c.lower, 3, m.lower);
        std::copy_n(c.upper, 3, m.upper);
        m.pixels = c.pixels;
        m.channels = c.channels;
    }
    return m;
}

std::string text(uint32_t number, const cases::Case& c) {
    std::ostringstream out;
    out << "case " << number << ": type " << c.type << " rank " << c.rank << " interleave "
        << c.interleave << " swizzle " << c.swizzle << " fill " << c.fill;
    if (c.image) {
        out << " channels " << c.channels << " pixels " << c.pixels;
        for (uint32_t k = 0; k + 2 < c.rank; ++k)
            out << "; corners " << c.lower[k] << " " << c.upper[k] << " offset " << c.offset[k];
    }
    if (c.op || c.flavour) out << " op " << c.op << " flavour " << c.flavour;
    for (uint32_t k = 0; k < c.rank; ++k)
        out << "; size " << c.dim[k] << " box " << c.box[k] << " step " << c.step[k] << " at "
            << c.at[k];
    return out.str();
}

// 24 steps each, with the object's 64 bits, all tokens and all answers in the hash.
TEST(Mbarrier, ProtocolsLeaveTheObjectsAndTokensOfAnH200) {
    const auto record = recorded("mbarrier.bin");
    ASSERT_EQ(record.size(), 100000u);
    const auto count = static_cast<uint32_t>(record.size());
    Device device("mbarrier.cubin");
    const uint64_t out = device.allocate(uint64_t{count} * 128);
    device.launch("protocol", count, 32, out, uint32_t{0}, uint32_t{24});
    const auto hashes = device.words(out, size_t{count} * 32);
    uint32_t differing = 0;
    for (uint32_t i = 0; i < count; ++i)
        if (cases::folded(&hashes[size_t{i} * 32], 32) != record[i] && ++differing == 1)
            ADD_FAILURE() << "sequence " << i;
    EXPECT_EQ(differing, 0u) << "of " << count;
}

TEST(Mbarrier, SyncsCasReplacesAnyWordAsOnAnH200) {
    const auto record = recorded("cas.bin");
    ASSERT_EQ(record.size(), 20000u);
    const auto count = static_cast<uint32_t>(record.size());
    std::vector<cas_cases::Case> list;
    for (uint32_t i = 0; i < count; ++i) list.push_back(cas_cases::make(i));
    Device device("cas.cubin");
    const uint64_t from = device.allocate(count * sizeof list[0]),
                   out = device.allocate(count * sizeof(cas_cases::Result));
    ASSERT_TRUE(device.gpu->write(from, std::as_bytes(std::span(list))));
    device.launch("cas", count, 32, out, from);
    std::vector<cas_cases::Result> results(count);
    ASSERT_TRUE(device.gpu->read(out, std::as_writable_bytes(std::span(results))));
    for (uint32_t i = 0; i < count; ++i)
        ASSERT_EQ(cas_cases::folded(results[i]), record[i])
            << std::hex << "object " << list[i].object << " xor " << list[i].difference << " next "
            << list[i].next << " how " << list[i].how << ": before " << results[i].before << " old "
            << results[i].old << " after " << results[i].after;
}

void replay_maps(const char* name, cases::Case (*make)(uint32_t, uint64_t&)) {
    const auto record = recorded(name);
    ASSERT_EQ(record.size(), 40000u);
    uint32_t refused = 0;
    for (uint32_t i = 0; i < record.size(); ++i) {
        uint64_t base;
        const cases::Case c = make(i, base);
        const TensorMap map = map_of(c, base);
        const auto bytes = map.encode();
        const uint16_t now =
            bytes ? cases::folded_map(reinterpret_cast<const unsigned char*>(bytes->data())) : 0;
        ASSERT_EQ(now, record[i]) << text(i, c) << (bytes ? "" : " " + bytes.error().where);
        refused += !bytes;
        if (!bytes) continue;
        const auto back = TensorMap::decode(bytes->data());
        ASSERT_TRUE(back) << back.error().where;
        ASSERT_EQ(*back->encode(), *bytes) << text(i, c);
    }
    EXPECT_GT(refused, 4000u);
    EXPECT_LT(refused, 36000u);
}

TEST(TensorMaps, OfBoxesEncodeAsTheDriver) { replay_maps("maps.bin", cases::wild); }
TEST(TensorMaps, OfImagesEncodeAsTheDriver) { replay_maps("image_maps.bin", image_cases::odd); }

cases::Launch launch_of(const cases::Case& c, uint64_t base) {
    cases::Launch l{};
    const auto map = map_of(c, base).encode();
    EXPECT_TRUE(map) << map.error().where << " " << map.error().what;
    if (map) std::memcpy(l.map, map->data(), 128);
    std::memcpy(l.at, c.at, sizeof c.at);
    std::memcpy(l.offset, c.offset, sizeof c.offset);
    l.rank = c.rank;
    l.bytes = c.bytes;
    l.op = c.op;
    l.type = c.type;
    l.flavour = c.flavour;
    return l;
}

struct Suite {
    const char *record, *cubin, *kernel;
    uint32_t count;
    uint64_t region;                 // bytes of a case's tensor in global memory
    bool loads;                      // they share one, which is only read
    uint32_t block = 128, ctas = 1;  // of a case
};

// make(number, base): what the kernel reads of a case whose tensor lies at `base`; show(number):
// the case as text.
template <class Make, class Show>
void replay(const Suite& suite, Make&& make, Show&& show) {
    const auto record = recorded(suite.record);
    ASSERT_EQ(record.size(), suite.count);
    const uint32_t batch = 1000;
    using Item = decltype(make(0u, uint64_t{0}));
    Device device(suite.cubin);
    const uint64_t list = device.allocate(batch * sizeof(Item)),
                   out = device.allocate(batch * suite.ctas * 4),
                   regions = device.allocate((suite.loads ? 1 : batch) * suite.region);
    if (suite.loads) {
        std::vector<uint32_t> words(suite.region / 4);
        cases::fill(words.data(), static_cast<uint32_t>(words.size()));
        ASSERT_TRUE(device.gpu->write(regions, std::as_bytes(std::span(words))));
    }
    uint32_t differing = 0;
    for (uint32_t first = 0; first < suite.count; first += batch) {
        std::vector<Item> items;
        for (uint32_t i = 0; i < batch; ++i)
            items.push_back(make(first + i, regions + (suite.loads ? 0 : i * suite.region)));
        ASSERT_TRUE(device.gpu->write(list, std::as_bytes(std::span(items))));
        // The kernels that only load dump boxes where the third argument tells them to, but for
        // that of several CTAs.
        device.launch(suite.kernel, batch * suite.ctas, suite.block, list, out,
                      suite.loads && suite.ctas == 1 ? uint64_t{0} : regions);
        const auto hashes = device.words(out, batch * suite.ctas);
        for (uint32_t i = 0; i < batch; ++i)
            if (cases::folded(&hashes[i * suite.ctas], suite.ctas) != record[first + i] &&
                ++differing <= 5)
                ADD_FAILURE() << show(first + i);
    }
    EXPECT_EQ(differing, 0u) << "of " << suite.count;
}

// `make` gives the case of a number.
template <class Make>
void replay_tensors(const Suite& suite, Make&& make) {
    replay(
        suite, [&](uint32_t number, uint64_t base) { return launch_of(make(number), base); },
        [&](uint32_t number) { return text(number, make(number)); });
}
void replay_boxes(const char* record, bool store, bool cells) {
    replay_tensors({record, "tensor.cubin", store ? "store" : "load", cells ? 20000u : 100000u,
                    cases::region, !store},
                   [&](uint32_t number) { return cases::make(number, store, cells); });
}
void replay_columns(const char* record, bool store, bool cells) {
    replay_tensors({record, "image.cubin", store ? "image_store" : "image_load",
                    cells ? 20000u : 100000u, image_cases::region, !store},
                   [&](uint32_t number) { return image_cases::make(number, store, cells); });
}
void replay_reductions(const char* record, bool image) {
    replay_tensors(
        {record, "reduce.cubin", image ? "image_reduce" : "tile_reduce", 100000,
         reduce_cases::region, false},
        [&](uint32_t number) { return reduce_cases::make(number, image, reduce_cases::legal); });
}
void replay_runs(const char* record, bool shared) {
    replay(
        {record, "reduce.cubin", shared ? "near_reduce" : "bulk_reduce", 100000,
         reduce_cases::bulk_bytes, false, 32},
        [&](uint32_t number, uint64_t) { return reduce_cases::make_bulk(number, shared); },
        [&](uint32_t number) {
            const reduce_cases::Bulk b = reduce_cases::make_bulk(number, shared);
            std::ostringstream out;
            out << "case " << number << ": type " << b.type << " op " << b.op << " flavour "
                << b.flavour << " to " << b.to << " from " << b.from << " units " << b.bytes;
            return out.str();
        });
}

TEST(TensorCopies, LoadTheBoxesOfAnH200) { replay_boxes("load.bin", false, false); }
TEST(TensorCopies, StoreTheBoxesOfAnH200) { replay_boxes("store.bin", true, false); }
TEST(TensorCopies, LoadTheCellsOfAnH200) { replay_boxes("cells_load.bin", false, true); }
TEST(TensorCopies, StoreTheCellsOfAnH200) { replay_boxes("cells_store.bin", true, true); }
TEST(TensorCopies, LoadTheColumnsOfAnH100) { replay_columns("image_load.bin", false, false); }
TEST(TensorCopies, StoreTheColumnsOfAnH100) { replay_columns("image_store.bin", true, false); }
TEST(TensorCopies, LoadTheColumnsOfCellsOfAnH100) {
    replay_columns("image_cells_load.bin", false, true);
}
TEST(TensorCopies, StoreTheColumnsOfCellsOfAnH100) {
    replay_columns("image_cells_store.bin", true, true);
}
TEST(TensorCopies, ReachTheCtasThatAnH100CopiesTo) {
    replay_tensors({"cast.bin", "cast.cubin", "cast_to", 20000, image_cases::region, true, 128,
                    cast_cases::ctas},
                   cast_cases::make);
}
// What an H100 answers with an illegal instruction (null: with none), one copy each: the map's
// bounding box of W is [-1, 8] for loads and [0, 9] for stores.
TEST(TensorCopies, EndTheLaunchWhereAnH100Does) {
    cases::Case load{};
    load.image = true;
    load.type = 2;
    load.rank = 3;
    load.dim[0] = 8, load.dim[1] = 10, load.dim[2] = 4;
    load.stride[0] = 32, load.stride[1] = 320;
    load.step[0] = load.step[1] = load.step[2] = 1;
    load.box[0] = load.box[1] = 4, load.box[2] = 2;
    load.channels = 4;
    load.pixels = 24;
    load.lower[0] = load.upper[0] = -1;
    load.bytes = 24 * 16;
    cases::Case store = load, box = load;
    store.lower[0] = store.upper[0] = 0;
    box.image = false;
    box.bytes = 2 * 4 * 16;
    const auto at = [](cases::Case c, int32_t x, int32_t y, int32_t z) {
        c.at[0] = x, c.at[1] = y, c.at[2] = z;
        return c;
    };
    cases::Case flat = load, signed_box = box, low = load;
    flat.rank = 4;
    flat.dim[3] = 2, flat.stride[2] = 1280, flat.step[3] = 1;
    signed_box.type = 3;
    signed_box.op = 3;
    low.upper[0] = 1;
    const struct {
        const char *cubin, *kernel;
        cases::Case c;
        uint32_t rank;  // of the instruction
        const char* why;
    } list[] = {
        {"image.cubin", "image_load", load, 3, nullptr},
        {"image.cubin", "image_load", at(load, 1, 0, 0), 3, "is no multiple of 16 bytes"},
        {"image.cubin", "image_load", at(load, 0, -60, 0), 3, "lies outside of the bounding box"},
        {"image.cubin", "image_load", at(load, 0, 60, 0), 3, "lies outside of the bounding box"},
        {"image.cubin", "image_load", at(load, 0, -2, 0), 3, "coordinate 1, -2, lies outside"},
        {"image.cubin", "image_load", at(load, 0, 0, -5), 3, nullptr},
        {"image.cubin", "image_load", at(load, 0, 0, 50), 3, nullptr},
        {"image.cubin", "image_load", at(load, -16, 0, 0), 3, nullptr},
        {"image.cubin", "image_load", at(load, 400, 0, 0), 3, nullptr},
        {"image.cubin", "image_load", flat, 3, "the tensor map a rank of 4"},
        {"image.cubin", "image_load", box, 3, "by a tensor map of boxes"},
        {"tensor.cubin", "load", load, 3, "by a tensor map of pixels"},
        {"image.cubin", "image_store", store, 3, nullptr},
        {"image.cubin", "image_store", load, 3, "the bounding box of a store leaves the tensor"},
        {"image.cubin", "image_store", low, 3, "the bounding box of a store leaves the tensor"},
        {"image.cubin", "image_store", at(store, 0, 0, -1), 3, "coordinate 2 of a store is neg"},
        {"image.cubin", "image_store", at(store, -4, 0, 0), 3, "coordinate 0 of a store is neg"},
        {"image.cubin", "image_store", at(store, 0, 0, 10), 3, nullptr},
        {"image.cubin", "image_store", at(store, 0, 10, 0), 3, "lies outside of the bounding box"},
        {"reduce.cubin", "tile_reduce", at(box, 0, 0, -1), 3, "coordinate 2 of a store is neg"},
        {"reduce.cubin", "tile_reduce", signed_box, 3, "there is no such reduction of the type"},
        {"reduce.cubin", "tile_reduce", load, 3, "by a tensor map of pixels"},
    };
    for (const auto& [cubin, kernel, c, rank, why] : list) {
        Device device(cubin);
        const uint64_t region = device.allocate(cases::region), out = device.allocate(4),
                       at = device.allocate(sizeof(cases::Launch));
        cases::Launch one = launch_of(c, region);
        one.rank = rank;
        ASSERT_TRUE(device.gpu->write(at, std::as_bytes(std::span(&one, 1))));
        const bool loads = std::string(kernel).ends_with("load");
        const auto result = device.ends(kernel, 1, 128, at, out, loads ? uint64_t{0} : region);
        ASSERT_TRUE(result) << result.error().what;
        const std::string report = result->fault ? result->fault->report() : "";
        if (!why) {
            EXPECT_EQ(result->status, LaunchStatus::ok) << kernel << text(0, c) << report;
            continue;
        }
        ASSERT_EQ(result->status, LaunchStatus::fault) << kernel << why;
        EXPECT_EQ(result->fault->kind, FaultKind::illegal_instruction) << report;
        EXPECT_NE(report.find(why), std::string::npos) << why << report;
    }
}

TEST(Reductions, OfBoxesAreThoseOfAnH100) { replay_reductions("tile_reduce.bin", false); }
TEST(Reductions, OfColumnsAreThoseOfAnH100) { replay_reductions("image_reduce.bin", true); }
TEST(Reductions, OfGlobalMemoryAreThoseOfAnH100) { replay_runs("bulk_reduce.bin", false); }
TEST(Reductions, OfSharedMemoryAreThoseOfAnH100) { replay_runs("near_reduce.bin", true); }

}  // namespace
}  // namespace sassemu
