// SPDX-License-Identifier: Apache-2.0
// What a cubin says for debuggers: variables, frames, places; and damaged sections, of which
// something may be missing afterwards, never more than that.
#include <gtest/gtest.h>

#include <sassemu/names.hpp>

#include <chrono>
#include <fstream>
#include <iterator>
#include <random>

#include "emu/debug/places.hpp"
#include "emu/module/elf.hpp"

namespace sassemu {
namespace {

using debug::CodePlace;
using debug::DebugInfo;
using debug::FrameInfo;
using debug::Places;
using Bytes8 = std::vector<uint8_t>;

Bytes8 file_bytes(const std::string& name) {
    std::ifstream in(SASSEMU_SOURCE_DIR "/tests/debug/data/" + name, std::ios::binary);
    EXPECT_TRUE(in.good()) << name;
    return Bytes8(std::istreambuf_iterator<char>(in), {});
}

std::shared_ptr<const Module> module_of(const std::string& name) {
    const Bytes8 bytes = file_bytes(name);
    auto module = load_module(bytes, name);
    EXPECT_TRUE(module.ok()) << name;
    return std::make_shared<const Module>(std::move(*module));
}

const Function& function(const Module& module, const std::string& name) {
    for (const Function& f : module.functions())
        if (f.name == name) return f;
    ADD_FAILURE() << name;
    return module.functions().front();
}

// All that the debugger asks of it, at every instruction; how much it got.
size_t ask_all(const Module& module) {
    size_t known = 0;
    const DebugInfo info = DebugInfo::read(module);
    const FrameInfo frames = FrameInfo::read(module);
    Places places;
    for (const Function& f : module.functions()) {
        (void)info.frame(f.name);
        for (uint64_t at = 0; at < f.size; at += 16) {
            const auto row = frames.at(f.code_offset + at);
            known += row.has_value();
            if (row) {
                EXPECT_LT(row->return_register, FrameInfo::registers);
                EXPECT_LT(row->frame_register, FrameInfo::registers);
                for (const FrameInfo::Rule& rule : row->rules)
                    if (rule.is == FrameInfo::Rule::Is::moved)
                        EXPECT_LT(static_cast<uint64_t>(rule.at), FrameInfo::registers);
            }
            (void)places.frames({&module, f.code_offset + at});
            for (const debug::SourceVariable* v : info.visible(f.name, at)) {
                ++known;
                EXPECT_FALSE(v->name.empty());
                EXPECT_TRUE(v->type && v->type->bytes) << v->name;
                for (const char* reg : {"%r1", "%rd1", "%f1", "%p1"})
                    EXPECT_LE(info.registers(f.name, reg, at).size(), 4u);
                debug::Value value;
                value.type = v->type;
                value.bytes.resize(std::min<uint64_t>(v->type->bytes, 4096));
                EXPECT_LE(text_of(value).size(), 1u << 20);
            }
        }
    }
    return known;
}

TEST(Frames, OfCalledFunctionsAreKnownAtEveryInstruction) {
    for (const char* arch : {"sm_80", "sm_90", "sm_100"})
        for (const char* build : {"G", "lineinfo"}) {
            const auto module =
                module_of("calls." + std::string(build) + "." + std::string(arch) + ".cubin");
            const FrameInfo frames = FrameInfo::read(*module);
            for (const Function& f : module->functions())
                for (uint64_t at = 0; at < f.size; at += 16) {
                    const auto row = frames.at(f.code_offset + at);
                    // A kernel's symbol covers the copies of functions behind it.
                    if (module->function_at(f.code_offset + at) != &f) continue;
                    ASSERT_TRUE(row) << arch << " " << f.name << "+" << at;
                    EXPECT_EQ(row->is_called, !f.is_kernel) << arch << " " << f.name << "+" << at;
                    EXPECT_EQ(row->frame_register, 1u);
                    EXPECT_EQ(row->is_called && build[0] != 'G', row->return_base.has_value());
                }
        }
}

TEST(Frames, GrowInThePrologueAndSayWhatItSaved) {
    using Is = FrameInfo::Rule::Is;
    const auto module = module_of("calls.G.sm_90.cubin");
    const FrameInfo frames = FrameInfo::read(*module);
    const uint64_t begin = function(*module, "_Z6middleiPKi").code_offset;
    const auto first = frames.at(begin), later = frames.at(begin + 0x200);
    ASSERT_TRUE(first && later);
    EXPECT_EQ(first->frame_offset, 0);
    EXPECT_EQ(later->frame_offset, 88);  // IADD3 R1, R1, -0x58
    EXPECT_EQ(first->rules[20].is, Is::same);
    EXPECT_EQ(later->rules[20], (FrameInfo::Rule{Is::saved, -36}));  // STL [R1+0x34], R20
    EXPECT_EQ(later->rules[4].is, Is::lost);
    EXPECT_EQ(later->return_register, 20u);
    // Behind the last function, and in front of the first.
    EXPECT_FALSE(frames.at(module->code_image_size()));
    EXPECT_FALSE(frames.at(~uint64_t{0}));
    EXPECT_FALSE(FrameInfo().at(0));
}

TEST(Variables, AreThoseOfTheScope) {
    const auto module = module_of("calls.G.sm_90.cubin");
    const DebugInfo info = DebugInfo::read(*module);
    std::vector<std::string> names;
    for (const debug::SourceVariable* v : info.visible("_Z4downiPKi", 0x100))
        names.push_back(v->name);
    EXPECT_EQ(names, (std::vector<std::string>{"n", "of"}));
    EXPECT_EQ(info.visible("_Z4downiPKi", 0x100)[1]->type->name, "const int *");
    EXPECT_TRUE(info.visible("none", 0).empty());
    EXPECT_TRUE(info.inlined("_Z6middleiPKi", 0x100).empty());
    const auto calls = info.inlined("_Z6middleiPKi", 0x760);
    ASSERT_EQ(calls.size(), 1u);
    EXPECT_EQ(names::demangled(calls[0]->function), "twice(int, int const*)");
    EXPECT_EQ(calls[0]->line, 13u);
    EXPECT_TRUE(calls[0]->same_file);
    EXPECT_GT(ask_all(*module), 500u);
}

// The fields of sm_90 and later hold other places than their relocations.
TEST(Variables, OfABlockAreSeenInItsLinesOnly) {
    for (const char* arch : {"sm_80", "sm_90", "sm_100"}) {
        const auto module = module_of("calls.G." + std::string(arch) + ".cubin");
        Places places;
        places.add(module);
        const Function& middle = function(*module, "_Z6middleiPKi");
        size_t inside = 0;
        for (uint64_t at = 0; at < middle.size; at += 16) {
            const auto frames = places.frames({module.get(), middle.code_offset + at});
            bool seen = false;
            for (const auto* v : places.info(module.get()).visible(middle.name, at))
                seen |= v->name == "k";
            EXPECT_EQ(seen, frames.back().line == 12) << arch << " " << at;
            inside += seen;
        }
        EXPECT_GT(inside, 20u);
    }
}

TEST(PlacesInTheCode, AreFoundByWhatAUserWrites) {
    Places places;
    places.add(module_of("calls.lineinfo.sm_90.cubin"));
    const Module& module = *places.modules().front();
    const auto found = [&](const char* text, const CodePlace& here = {}) {
        const auto all = places.find(text, here);
        return all ? places.name(all->front()) + " of " + std::to_string(all->size())
                   : "error: " + all.error().message();
    };
    EXPECT_EQ(found("calls"), "calls+0x0000 of 1");
    EXPECT_EQ(found("calls+0x20"), "calls+0x0020 of 1");
    EXPECT_EQ(found("calls+32"), "calls+0x0020 of 1");
    EXPECT_TRUE(found("middle").starts_with("$calls$_Z6middleiPKi+0x0000 of 1"));
    EXPECT_TRUE(found("leaf(int, int const*)").starts_with("$calls$_Z4leafiPKi+0x0000"));
    EXPECT_TRUE(found("calls.cu:18").starts_with("$calls$_Z4downiPKi+0x"));
    EXPECT_TRUE(found("18", {&module, function(module, "$calls$_Z4downiPKi").code_offset})
                    .starts_with("$calls$_Z4downiPKi+0x"));
    for (const char* text :
         {"calls+8", "calls+0x10000000", "*0x10", "", "none", "calls.cu:4000", "@1",
          "@18446744073709551615", "none.cu:3", ":", "+", "calls+", "*", "1:2:3"})
        EXPECT_TRUE(found(text).starts_with("error: ")) << text << " " << found(text);
    // A place's number leads back to it.
    for (uint64_t at = 0; at < module.code_image_size(); at += 16) {
        const auto back = places.find("@" + std::to_string(places.address({&module, at})), {});
        ASSERT_TRUE(back.ok());
        EXPECT_EQ(back->front(), (CodePlace{&module, at}));
    }
    EXPECT_EQ(names::demangled("$calls$_Z4downiPKi"), "down(int, int const*)");
    EXPECT_EQ(names::demangled("$"), "$");
    EXPECT_EQ(names::demangled("$$"), "$$");
}

// ---- damage

class Damaged : public testing::TestWithParam<const char*> {
  protected:
    struct Range {
        std::string name;
        size_t begin = 0, size = 0;
    };
    std::vector<Range> ranges(const Bytes8& bytes) const {
        std::vector<Range> out;
        const auto file = elf::parse(bytes, "file");
        EXPECT_TRUE(file.ok());
        for (const elf::Section& s : file->sections)
            if (s.name.starts_with(".debug") || s.name.starts_with(".nv_debug") ||
                s.name.find("rel") != s.name.npos)
                if (!s.bytes.empty() && s.name.find("text") == s.name.npos)
                    out.push_back({std::string(s.name),
                                   static_cast<size_t>(s.bytes.data() - bytes.data()),
                                   s.bytes.size()});
        return out;
    }
};

TEST_P(Damaged, SectionsGiveLessAndEnd) {
    const Bytes8 whole = file_bytes(GetParam());
    const auto all = ranges(whole);
    ASSERT_GE(all.size(), 5u);
    size_t loaded = 0;
    for (uint32_t seed = 0; seed < 400; ++seed) {
        std::mt19937 random(seed);
        Bytes8 bytes = whole;
        const Range& where = all[seed % all.size()];
        const auto place = [&] { return where.begin + random() % where.size; };
        switch (seed / all.size() % 4) {
            case 0:  // single bytes
                for (int k = 0; k < 8; ++k) bytes[place()] = static_cast<uint8_t>(random());
                break;
            case 1:  // numbers without an end, and lengths that reach far
                for (size_t at = place(), k = 0; k < 40 && at + k < where.begin + where.size; ++k)
                    bytes[at + k] = 0xff;
                break;
            case 2:  // one part over another
                for (size_t from = place(), to = place(), k = 0; k < 64; ++k)
                    if (from + k < where.begin + where.size && to + k < where.begin + where.size)
                        bytes[to + k] = bytes[from + k];
                break;
            default:  // nothing from some place on
                std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(place()),
                          bytes.begin() + static_cast<std::ptrdiff_t>(where.begin + where.size), 0);
        }
        const auto begun = std::chrono::steady_clock::now();
        const auto module = load_module(bytes, "damaged");
        if (!module) continue;
        ++loaded;
        (void)ask_all(*module);
        EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20))
            << where.name << " seed " << seed;
    }
    EXPECT_GT(loaded, 100u);
}

INSTANTIATE_TEST_SUITE_P(Files, Damaged,
                         testing::Values("locals.cubin", "calls.G.sm_90.cubin",
                                         "calls.lineinfo.sm_80.cubin"));

}  // namespace
}  // namespace sassemu
