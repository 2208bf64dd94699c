// SPDX-License-Identifier: Apache-2.0
// Replays what an H200 did (record.py) with generic addresses: operations that leave memory alone
// (caches, prefetches, fences, copies of nothing) at any address, atomics in every space, and lanes
// that arrive at one mbarrier together.
#include <gtest/gtest.h>
#include <zstd.h>

#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "emu/async/tensor_map.hpp"
#include "emu/gpu.hpp"
#include "emu/module/module.hpp"

namespace sassemu {
namespace {

const std::string here = SASSEMU_SOURCE_DIR "/tests/hardware/generic/";

std::string unpacked(const std::string& name) {
    std::ifstream in(here + name, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    const std::string packed = text.str();
    std::string out(ZSTD_getFrameContentSize(packed.data(), packed.size()), '\0');
    EXPECT_EQ(ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size()), out.size());
    return out;
}

// Lines of words.
std::vector<std::vector<std::string>> recorded(const std::string& name) {
    std::vector<std::vector<std::string>> out;
    std::stringstream lines(unpacked(name + ".txt.zst"));
    for (std::string line; std::getline(lines, line);) {
        std::stringstream words(line);
        out.emplace_back(std::istream_iterator<std::string>(words),
                         std::istream_iterator<std::string>());
    }
    EXPECT_FALSE(out.empty());
    return out;
}

uint32_t fnv(std::span<const std::byte> bytes, uint32_t h = 0x811c9dc5) {
    for (const std::byte b : bytes) h = (h ^ static_cast<uint32_t>(b)) * 0x01000193;
    return h;
}

// How a launch ended, as the driver numbers it.
std::string code_of(const Result<LaunchResult>& r) {
    if (!r) return r.error().what;
    if (r->status == LaunchStatus::ok) return "0";
    if (r->status == LaunchStatus::unsupported) return "unsupported: " + r->message;
    if (!r->fault) return r->message;
    switch (r->fault->kind) {
        case FaultKind::out_of_bounds:
        case FaultKind::use_after_free:
        case FaultKind::stack_overflow:
            return "700";
        case FaultKind::illegal_instruction:
            return "715";
        case FaultKind::misaligned_address:
            return "716";
        case FaultKind::barrier_misuse:
        case FaultKind::cluster:
            return "719";
        default:
            return r->fault->report();
    }
}

struct Device {
    std::unique_ptr<Gpu> gpu = *Gpu::create({});
    ModuleId module = 0;

    explicit Device(const std::string& name) {
        const std::string image = unpacked(name + ".cubin.zst");
        auto loaded = load_module({reinterpret_cast<const uint8_t*>(image.data()),
                                   reinterpret_cast<const uint8_t*>(image.data()) + image.size()},
                                  name);
        EXPECT_TRUE(loaded) << loaded.error().what;
        module = *gpu->load(std::make_shared<const Module>(std::move(*loaded)));
    }
    uint64_t allocate(uint64_t bytes) { return *gpu->allocate(bytes, "test"); }
    template <class... T>
    std::string launch(const std::string& kernel, Dim3 grid, uint32_t block, T... arguments) {
        LaunchRequest r;
        r.module = module;
        r.kernel = kernel;
        r.grid = grid;
        r.block.x = block;
        const auto put = [&](const auto& v) {
            constexpr size_t align = alignof(std::remove_cvref_t<decltype(v)>);
            r.params.resize((r.params.size() + align - 1) / align * align);
            const auto* bytes = reinterpret_cast<const std::byte*>(&v);
            r.params.insert(r.params.end(), bytes, bytes + sizeof v);
        };
        (put(arguments), ...);
        return code_of(gpu->launch(r));
    }
    std::vector<std::byte> bytes(uint64_t at, size_t count) {
        std::vector<std::byte> out(count);
        EXPECT_TRUE(gpu->read(at, out));
        return out;
    }
};

struct Counted {
    size_t cases = 0, wrong = 0;
    void compare(const std::string& got, const std::string& want,
                 const std::vector<std::string>& line) {
        ++cases;
        if (got == want) return;
        if (++wrong > 20) return;
        std::string text;
        for (const std::string& word : line) text += word + " ";
        ADD_FAILURE() << text << ": " << got;
    }
};

// KERNEL COUNT MASK OPERAND THREADS CODE HASH-OF-TOKENS
TEST(Generic, LanesArriveTogether) {
    Device d("arrivals");
    const uint64_t out = d.allocate(4096);
    Counted counted;
    for (const auto& line : recorded("arrivals")) {
        const auto number = [&](size_t i, int base = 10) {
            return static_cast<uint32_t>(std::stoul(line[i], nullptr, base));
        };
        const uint32_t threads = number(4);
        std::string got =
            d.launch(line[0], {1, 1, 1}, threads, out, number(1), number(2, 16), number(3));
        if (got == "0") {
            char text[16];
            snprintf(text, sizeof text, "%08x", fnv(d.bytes(out, 16 * threads)));
            got += std::string(" ") + text;
        }
        counted.compare(got, line[5] + (line.size() > 6 ? " " + line[6] : ""), line);
    }
    EXPECT_GT(counted.cases, 400u);
}

// KERNEL SPACE OFFSET MASK STRIDE EQUAL CODE HASH: record.py, atoms_case().
TEST(Generic, AtomicsInEverySpace) {
    Device d("atoms");
    const uint64_t out = d.allocate(1 << 17), far = d.allocate(2 << 20);
    std::vector<uint32_t> memory(256);
    for (uint32_t i = 0; i < 256; ++i) memory[i] = 0x3c003f80 + i * 0x01010101;
    const auto contents = std::as_bytes(std::span(memory));
    struct Parameter {
        alignas(16) std::byte bytes[64];
    } parameter;
    std::memcpy(parameter.bytes, memory.data(), sizeof parameter.bytes);
    Counted counted;
    for (const auto& line : recorded("atoms")) {
        uint32_t v[6];
        for (size_t i = 1; i < 6; ++i)
            v[i] = static_cast<uint32_t>(std::stoul(line[i], nullptr, i == 3 ? 16 : 10));
        const auto [none, space, offset, mask, stride, equal] = v;
        // .SPIN lets some of many lanes fail there, and the code that has it tries again.
        if (line[0].starts_with("CAST_SPIN") && mask == 0xffffffff) continue;
        std::vector<std::byte> operands(64 * 64);
        for (uint32_t t = 0; t < 64; ++t) {
            std::byte* const to = operands.data() + 64 * t;
            const uint64_t at = (offset + t % 32 * uint64_t{stride}) % 1000;
            for (uint32_t i = 0; i < 16; ++i)
                to[i] = !equal          ? std::byte((t * 5 + i * 11) & 127)
                        : at + i < 1024 ? contents[at + i]
                                        : std::byte{1};
            for (uint32_t i = 0; i < 4; ++i) {
                const uint32_t w = 0x40003e80 + t * 0x00110013 + i * 0x01000100;
                std::memcpy(to + 16 + 4 * i, &w, 4);
            }
        }
        ASSERT_TRUE(d.gpu->fill(out, 1 << 17, 0));
        ASSERT_TRUE(d.gpu->write(out + 8192, contents));
        ASSERT_TRUE(d.gpu->write(out + 12288, operands));
        ASSERT_TRUE(d.gpu->write(far, contents));
        const uint64_t at = space == 0    ? far
                            : space == 10 ? 0
                            : space == 11 ? 0x123456000
                                          : uint64_t{1} << 57;
        std::string got = d.launch(line[0], {2, 1, 1}, 32, out, at, uint64_t{offset},
                                   space >= 10 ? 0 : space, mask, stride, parameter);
        if (got == "0") {
            const bool shows = line[0].ends_with("P6");
            const auto all = d.bytes(out, 1 << 17), global = d.bytes(far, 1024);
            const auto part = [&](size_t first, size_t count) {
                return std::span(all).subspan(first, count);
            };
            uint32_t h = fnv({});
            for (uint32_t t = 0; t < 32; ++t) {
                if (!(mask >> t & 1)) continue;
                if (shows) h = fnv(part(40968 + 64 * t, 1), h);
                h = fnv(part(40976 + 64 * t, 16), h);
            }
            h = fnv(part(61440, 2048), h);
            h = fnv(part(65536, 1024), h);
            h = fnv(global, h);
            char text[16];
            snprintf(text, sizeof text, " %08x", h);
            got += text;
        }
        // Past the end of another CTA's memory it is a launch failure, or farther on an address.
        if (space == 3 && offset >= 1024 && got == "700") got = line[6];
        counted.compare(got, line[6] + (line.size() > 7 ? " " + line[7] : ""), line);
    }
    EXPECT_GT(counted.cases, 500u);
}

// KERNEL ADDRESS CODE VALUE
TEST(Generic, OperationsThatLeaveMemoryAlone) {
    Device d("addresses");
    constexpr uint64_t size = 2 << 20;
    // A buffer has another behind it, as on the chip.
    const uint64_t block = d.allocate(2 * size), buffer = block;
    const uint64_t out = d.allocate(4096), mine = d.allocate(4096), freed = d.allocate(1 << 20);
    const uint64_t host = d.allocate(4096);
    ASSERT_TRUE(d.gpu->release(freed));
    ASSERT_EQ(d.launch("win", {1, 1, 1}, 32, out, uint64_t{0}), "0");
    uint64_t window[3];
    ASSERT_TRUE(d.gpu->read(out, std::as_writable_bytes(std::span(window))));
    const auto map_at = [&](uint64_t tensor) {
        TensorMap m;
        m.rank = 2;
        m.address = tensor;
        m.size[0] = m.size[1] = 256;
        m.stride[0] = 1024;
        m.box[0] = m.box[1] = 16;
        m.step[0] = m.step[1] = 1;
        return *m.encode();
    };
    struct Map {  // at a multiple of 64 in the bank, where parameters begin at 0x210
        alignas(16) std::array<std::byte, 128> bytes;
    };
    std::vector<std::pair<uint64_t, std::array<std::byte, 128>>> maps;
    const auto place = [&](const std::array<std::byte, 128>& bytes) {
        return maps.emplace_back((d.allocate(320) + 63) / 64 * 64, bytes).first;
    };
    Map good{map_at(buffer)};
    std::array<std::byte, 128> zeros{}, rising;
    for (size_t i = 0; i < 128; ++i) rising[i] = std::byte(i);
    const std::map<std::string, uint64_t> named = {
        {"valid", buffer},
        {"null", 0},
        {"unmapped", 0x123456000},
        {"freed", freed},
        {"end", buffer + size},
        {"end-4", buffer + size - 4},
        {"end-16", buffer + size - 16},
        {"ones", ~uint64_t{0} << 7},
        {"sign48", 0xffff800000000000},
        {"shared", window[0]},
        {"shared+1000000", (window[0] & ~uint64_t{0xffffff}) + 0xf00000},
        {"shared_rank9", (window[0] & ~uint64_t{0xffffffff}) + 0x9000000},
        {"local", window[1]},
        {"local+far", (window[1] & ~uint64_t{0xffffffff}) + 0xfffff0},
        {"const", window[2]},
        {"const+far", window[2] + 0x100000},
        {"host", host},
        {"map", place(good.bytes)},
        {"zeros", place(zeros)},
        {"badmap", place(rising)},
        {"freedmap", place(map_at(freed))}};
    const auto address = [&](const std::string& name) -> uint64_t {
        if (name[0] == '@') return std::stoull(name.substr(1), nullptr, 16);
        if (name.starts_with("1<<")) return uint64_t{1} << std::stoul(name.substr(3));
        if (const auto at = named.find(name); at != named.end()) return at->second;
        const size_t plus = name.rfind('+');
        return named.at(name.substr(0, plus)) + std::stoull(name.substr(plus + 1));
    };
    Counted counted;
    for (const auto& line : recorded("addresses")) {
        // Bounds are exact here, pages there: the constant is shorter than a map. What is no place
        // for a map there has an error of its own (717).
        const bool reads_map = line[0].starts_with("tpf_map") || line[0] == "pf_tensormap" ||
                               line[0] == "tensormap_fence_cp";
        if (line[2] == "717" || (reads_map && line[1] == "const")) continue;
        // A cache policy that is none is an illegal instruction there; which are, nobody has asked.
        if (line[0].ends_with("_hint") && (line[1] == "ones" || line[1] == "sign48")) continue;
        std::vector<std::byte> before(1024);
        for (uint32_t i = 0; i < 1024; ++i) before[i] = std::byte((i * 7 + i / 256 * 13) & 255);
        for (const uint64_t at : {buffer, mine}) ASSERT_TRUE(d.gpu->write(at, before));
        ASSERT_TRUE(d.gpu->write(buffer + size - 16, std::span(before).first(16)));
        for (const auto& [at, bytes] : maps) ASSERT_TRUE(d.gpu->write(at, bytes));
        const uint64_t at = address(line[1]), policy = 0x14f0000000000000;
        std::string got = line[0].ends_with("_param")
                              ? d.launch(line[0], {1, 1, 1}, 32, out, at, policy, mine, 0u, good)
                              : d.launch(line[0], {1, 1, 1}, 32, out, at, policy, mine, 0u);
        if (got == "0") {
            uint32_t first;
            std::memcpy(&first, d.bytes(out, 4).data(), 4);
            got += " " + std::to_string(first - 5);
            if (d.bytes(buffer, 1024) != before) got += " changed";
        }
        std::string want = line[2];
        for (size_t i = 3; i < line.size(); ++i) want += " " + line[i];
        counted.compare(got, want, line);
    }
    EXPECT_GT(counted.cases, 500u);
}

}  // namespace
}  // namespace sassemu
