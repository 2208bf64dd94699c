// SPDX-License-Identifier: Apache-2.0
// Textures against what an H200 sampled: record.txt.zst has a line for each case, with a hash of
// its 1,024 results (README.md). Every way to sample, over formats, filters, address modes, layers,
// cubes and levels, at random and at special coordinates. SASSEMU_TEXTURES=FILE takes other lines,
// and writes the results of those that differ to FILE.out.
#include <gtest/gtest.h>
#include <zstd.h>

#include <fstream>
#include <iterator>

#include "emu/gpu.hpp"
#include "emu/module/module.hpp"
#include "tests/hardware/textures/cases.hpp"

namespace sassemu {
namespace {

using texture_cases::Arguments;
using texture_cases::Case;

const std::string here = SASSEMU_SOURCE_DIR "/tests/hardware/textures/";

std::string unpacked(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> packed{std::istreambuf_iterator<char>(file), {}};
    const auto bytes = ZSTD_getFrameContentSize(packed.data(), packed.size());
    if (bytes == ZSTD_CONTENTSIZE_ERROR || bytes == ZSTD_CONTENTSIZE_UNKNOWN) return "";
    std::string text(bytes, ' ');
    return ZSTD_decompress(text.data(), text.size(), packed.data(), packed.size()) == bytes ? text
                                                                                            : "";
}

TextureDesc description(const Case& c) {
    TextureDesc d;
    d.width = static_cast<uint32_t>(c.width);
    d.height = static_cast<uint32_t>(c.height);
    d.depth = static_cast<uint32_t>(c.depth);
    d.layers = static_cast<uint32_t>(c.layers);
    d.levels = c.levels ? static_cast<uint32_t>(c.levels) : 1;
    d.cube = c.cube;
    constexpr const char* formats[] = {"u8", "s8", "u16", "s16", "u32", "s32", "f16", "f32"};
    for (size_t i = 0; i < 8; ++i)
        if (c.format == formats[i]) d.format = static_cast<TextureFormat>(i);
    d.channels = static_cast<uint32_t>(c.channels);
    const std::string modes = c.text("addr", "ccc");
    for (size_t i = 0; i < 3; ++i)
        d.address_mode[i] = modes[i] == 'w'   ? AddressMode::wrap
                            : modes[i] == 'm' ? AddressMode::mirror
                            : modes[i] == 'b' ? AddressMode::border
                                              : AddressMode::clamp;
    const auto filter = [&](const char* key, const char* otherwise) {
        return c.text(key, otherwise) == "l" ? FilterMode::linear : FilterMode::point;
    };
    d.filter = filter("filter", "l");
    d.level_filter = filter("mip", "p");
    d.read_normalized = c.number("norm", 0) != 0;
    d.normalized_coords = c.number("nc", 0) != 0;
    d.srgb = c.number("srgb", 0) != 0;
    d.seamless = c.number("seamless", 0) != 0;
    d.exact_levels = c.number("notri", 0) != 0;
    d.linear_memory = c.number("lin", 0) != 0;
    d.anisotropy = static_cast<uint32_t>(std::max(1L, c.number("aniso", 0)));
    d.level_bias = c.real("bias", "0");
    d.level_low = c.real("minlod", "0");
    d.level_high = c.real("maxlod", c.levels ? "16" : "0");
    const auto border = c.reals("border", "0.25,0.5,-0.75,1");
    for (size_t i = 0; i < 4; ++i) d.border[i] = border[i];
    return d;
}

// "" or why it could not be sampled.
std::string sample(Gpu& gpu, ModuleId module, const Case& c, std::vector<uint32_t>* results) {
    std::vector<uint8_t> texels;
    for (long level = 0; level < std::max(1L, c.levels); ++level) {
        const auto more = c.texels(level);
        texels.insert(texels.end(), more.begin(), more.end());
    }
    auto memory = gpu.allocate(texels.size(), "texels");
    const size_t bytes = static_cast<size_t>(c.samples) * 16;
    auto out = gpu.allocate(bytes, "out");
    if (!memory || !out) return "no memory";
    if (!gpu.write(*memory, std::as_bytes(std::span(texels)))) return "the texels";
    TextureDesc desc = description(c);
    desc.address = *memory;
    auto texture = gpu.create_texture(desc);
    if (!texture) return texture.error().message();
    LaunchRequest r;
    r.module = module;
    r.kernel = c.text("kernel", "");
    r.grid = {static_cast<uint32_t>((c.samples + 127) / 128), 1, 1};
    r.block = {128, 1, 1};
    const Arguments a = c.arguments(*texture, *out);
    const auto raw = std::as_bytes(std::span(&a, 1));
    r.params.assign(raw.begin(), raw.end());
    auto done = gpu.launch(r);
    if (!done) return done.error().message();
    if (done->status != LaunchStatus::ok)
        return done->message + (done->fault ? done->fault->what : "");
    results->resize(bytes / 4);
    if (!gpu.read(*out, std::as_writable_bytes(std::span(*results)))) return "the results";
    if (!gpu.release(*memory) || !gpu.release(*out)) return "release";
    return "";
}

TEST(Textures, AsRecorded) {
    const char* other = std::getenv("SASSEMU_TEXTURES");
    std::string text;
    if (other) {
        std::ifstream in(other);
        text.assign(std::istreambuf_iterator<char>(in), {});
    } else {
        text = unpacked(here + "record.txt.zst");
    }
    ASSERT_FALSE(text.empty());
    auto loaded = load_module_file(here + "textures.sm_90.cubin");
    ASSERT_TRUE(loaded) << loaded.error().message();
    GpuOptions options;
    options.threads = 2;
    auto gpu = Gpu::create(options);
    ASSERT_TRUE(gpu) << gpu.error().message();
    auto module = (*gpu)->load(std::make_shared<const Module>(std::move(*loaded)));
    ASSERT_TRUE(module) << module.error().message();
    std::ofstream differing;
    if (other) differing.open(std::string(other) + ".out", std::ios::binary);
    std::istringstream lines(text);
    size_t cases = 0, wrong = 0;
    uint64_t samples = 0;
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line[0] == '#') continue;
        const Case c(line);
        std::vector<uint32_t> results;
        const std::string why = sample(**gpu, *module, c, &results);
        const uint64_t expected = std::strtoull(c.text("hash", "0").c_str(), nullptr, 16);
        const bool equal =
            why.empty() && texture_cases::hash(results.data(), results.size()) == expected;
        if (!equal && ++wrong <= 10) ADD_FAILURE() << line << ": " << why;
        if (!equal && other) {
            differing << line << '\n';
            differing.write(reinterpret_cast<const char*>(results.data()),
                            static_cast<std::streamsize>(results.size() * 4));
        }
        ++cases;
        samples += static_cast<uint64_t>(c.samples);
    }
    EXPECT_EQ(wrong, 0u) << "of " << cases << " cases";
    if (!other) {
        EXPECT_GE(samples, 1000000u);
    }
}

}  // namespace
}  // namespace sassemu
