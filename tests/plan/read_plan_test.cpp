// SPDX-License-Identifier: Apache-2.0
// The plan reader: what a full plan says, and for each class of bad input the place, the field and
// the reason.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "emu/plan/plan.hpp"

namespace sassemu::plan {
namespace {

const char* const full_plan = R"({
  "arch": "sm_90a", "device": {"name": "h200", "sms": 2, "residentCtas": 4}, "modules": ["a.cubin", "/b.cubin"],
  "timeLimit": 1.5, "maxWarpInstructions": "0x100", "limits": {"stack": 2048, "heap": 65536, "printf": 1024},
  "condition": "c[0]==1",
  "buffers": {
    "a": {"bytes": 16, "file": "a.bin", "kind": "managed"},
    "b": {"bytes": "0x20", "random": {"type": "i16", "seed": "18446744073709551615", "low": -3, "high": 32768},
          "pointers": [{"offset": 24, "buffer": "a", "add": 16}], "address": "0x7f2a40000000"},
    "c": {"bytes": 8, "fill": "0xcd", "expect": {"values": [1.5, "nan"], "type": "f32", "rtol": 1e-3}}
  },
  "globals": {"g": {"fill": 7, "expect": {"sha256": "E3B0C44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}}},
  "launches": [
    {"kernel": "k", "module": 1, "grid": [4, 2], "block": [32, 1, 1], "cluster": [2, 1, 1], "dynamicShared": 100,
     "cooperative": true, "repeat": 3, "attributes": {"priority": -1},
     "args": [{"buffer": "b", "offset": 8}, {"i32": -1}, {"u64": "0x10"}, {"f32": 0.1}, {"f64": "-2.5"},
              {"bits": "0x7fc00001"}, {"bytes": "00fF"}, {"symbol": "g"},
              {"texture": {"buffer": "a", "width": 2, "height": 2, "format": "f32", "filter": "linear",
                           "addressMode": ["wrap", "mirror"], "normalizedCoords": true}},
              {"surface": {"buffer": "a", "width": 4, "format": "u8", "channels": 4}},
              {"tensorMap": {"buffer": "a", "type": "bf16", "dims": [4, 2], "strides": [8], "box": [2, 2], "swizzle": "128B"}}]},
    {"kernel": "k2", "grid": [1], "block": [1], "paramBytes": "0010f0ff"}
  ],
  "expect": {"status": "deadlock", "stdout": "hi\n", "warpInstructions": 12}
})";

TEST(ReadPlan, ReadsEveryField) {
    const auto read = read_plan(full_plan, "dir/p.json");
    ASSERT_TRUE(read) << read.error().message();
    const Plan& plan = *read;
    EXPECT_EQ(plan.arch, "sm_90a");
    EXPECT_EQ(plan.device.sms, 2u);
    EXPECT_EQ(plan.device.resident_ctas, 4u);
    EXPECT_EQ(plan.modules, (std::vector<std::string>{"dir/a.cubin", "/b.cubin"}));
    EXPECT_EQ(plan.time_limit, 1.5);
    EXPECT_EQ(plan.max_warp_instructions, 256u);
    EXPECT_EQ(plan.stack_bytes, 2048u);
    EXPECT_EQ(plan.heap_bytes, 65536u);
    ASSERT_EQ(plan.buffers.size(), 3u);
    EXPECT_EQ(plan.buffers[0].contents.file, "dir/a.bin");
    EXPECT_EQ(plan.buffers[0].kind, BufferKind::managed);
    const Buffer& b = plan.buffers[1];
    EXPECT_EQ(b.bytes, 32u);
    EXPECT_EQ(b.address, 0x7f2a40000000u);
    EXPECT_EQ(b.contents.random->seed, UINT64_MAX);
    EXPECT_EQ(static_cast<int64_t>(b.contents.random->integer_low), -3);
    EXPECT_EQ(b.contents.random->integer_span, 32771u);
    ASSERT_EQ(b.pointers.size(), 1u);
    EXPECT_EQ(b.pointers[0].add, 16u);
    const Expectation& c = *plan.buffers[2].expect;
    EXPECT_EQ(load_bits(ElementType::f32, c.values.data()), 0x3fc00000u);
    EXPECT_TRUE(c.has_tolerance);
    EXPECT_EQ(plan.globals[0].contents.fill, 7);
    EXPECT_EQ(plan.globals[0].symbol, "g");
    EXPECT_FALSE(plan.globals[0].module);
    EXPECT_EQ(plan.globals[0].expect->sha256.substr(0, 8), "e3b0c442");
    const Launch& launch = plan.launches[0];
    EXPECT_EQ(launch.module, 1u);
    EXPECT_EQ(launch.grid.y, 2u);
    EXPECT_EQ(launch.grid.z, 1u);
    EXPECT_TRUE(launch.has_cluster && launch.cooperative);
    EXPECT_EQ(launch.repeat, 3u);
    ASSERT_EQ(launch.args.size(), 11u);
    EXPECT_EQ(std::get<BufferArg>(launch.args[0].value).offset, 8u);
    EXPECT_EQ(std::get<ScalarArg>(launch.args[1].value).bits, 0xffffffffu);
    EXPECT_EQ(std::get<ScalarArg>(launch.args[3].value).bits, 0x3dcccccdu);
    EXPECT_EQ(std::get<ScalarArg>(launch.args[4].value).bytes, 8u);
    EXPECT_EQ(std::get<BytesArg>(launch.args[6].value).bytes.size(), 2u);
    const TextureDesc& texture = std::get<TextureArg>(launch.args[8].value).desc;
    EXPECT_EQ(texture.format, TextureFormat::f32);
    EXPECT_EQ(texture.address_mode[1], AddressMode::mirror);
    EXPECT_EQ(texture.address_mode[2], AddressMode::clamp);
    EXPECT_TRUE(texture.filter == FilterMode::linear && texture.normalized_coords);
    EXPECT_TRUE(std::get<TextureArg>(launch.args[9].value).surface);
    EXPECT_EQ(std::get<TensorMapArg>(launch.args[10].value).element_strides.size(), 2u);
    EXPECT_EQ(plan.launches[1].param_bytes->size(), 4u);
    EXPECT_EQ(plan.expect.status.status, LaunchStatus::deadlock);
    EXPECT_EQ(plan.expect.out, "hi\n");
    EXPECT_EQ(plan.expect.warp_instructions, 12u);
}

TEST(ReadPlan, KnowsEveryFaultKindByItsNameAndSoDoesTheSchema) {
    std::ifstream in(SASSEMU_SOURCE_DIR "/sdk/plan.schema.json");
    const std::string schema{std::istreambuf_iterator<char>(in), {}};
    for (int i = 1; i <= static_cast<int>(FaultKind::other); ++i) {
        const auto kind = static_cast<FaultKind>(i);
        const std::string text =
            R"({"module": "m", "launches": [{"kernel": "k", "grid": [1], "block": [1]}],
            "expect": {"status": ")" +
            status_text(LaunchStatus::fault, kind) + "\"}}";
        const auto plan = read_plan(text, "p.json");
        ASSERT_TRUE(plan) << plan.error().message();
        EXPECT_EQ(plan->expect.status.fault, kind);
        EXPECT_NE(schema.find('"' + status_text(LaunchStatus::fault, kind) + '"'),
                  std::string::npos)
            << status_text(LaunchStatus::fault, kind);
    }
}

struct BadCase {
    const char* name;
    const char* text;
    const char* message;  // file:line:column, path and reason, as a prefix
};
void PrintTo(const BadCase& bad, std::ostream* out) { *out << bad.name; }

class BadPlan : public testing::TestWithParam<BadCase> {};

TEST_P(BadPlan, NamesPlaceFieldAndReason) {
    const auto plan = read_plan(GetParam().text, "p.json");
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code, ErrorCode::input);
    EXPECT_EQ(plan.error().message().substr(0, std::string(GetParam().message).size()),
              GetParam().message);
    EXPECT_EQ(plan.error().message().find('\n'), std::string::npos);
}

#define LAUNCH R"("launches": [{"kernel": "k", "grid": [1], "block": [1]}])"

const BadCase bad_cases[] = {
    {"comment", "{\n  // no\n}", "p.json:2:3: not valid JSON: syntax error"},
    {"empty", "", "p.json:1:1: not valid JSON"},
    {"trailing", R"({"module": "m", )" LAUNCH "} 1", "p.json:1:75: not valid JSON"},
    {"twice", R"({"module": "m", "module": "n"})",
     "p.json:1:17: the field 'module' stands twice in one object"},
    {"array", "[1]", "p.json:1:1: expected an object, found an array"},
    {"unknown", "{\"module\": \"m\",\n " LAUNCH ",\n \"lunches\": 1}",
     "p.json:3:2: lunches: unknown field 'lunches'; fields here: $schema, caps"},
    {"unknown_deep", R"({"module": "m", "buffers": {"a": {"bytes": 4, "fil": 0}}, )" LAUNCH "}",
     "p.json:1:47: buffers.a.fil: unknown field 'fil'"},
    {"no_module", "{" LAUNCH "}", "p.json:1:1: a plan has either a module or a list of modules"},
    {"no_launches", R"({"module": "m"})", "p.json:1:1: the field 'launches' is missing"},
    {"no_bytes", R"({"module": "m", "buffers": {"a": {}}, )" LAUNCH "}",
     "p.json:1:34: buffers.a: the field 'bytes' is missing"},
    {"negative", R"({"module": "m", "buffers": {"a": {"bytes": -4}}, )" LAUNCH "}",
     "p.json:1:44: buffers.a.bytes: '-4' is not an integer from 1"},
    {"fraction", R"({"module": "m", "buffers": {"a": {"bytes": 4.5}}, )" LAUNCH "}",
     "p.json:1:44: buffers.a.bytes: '4.5' is not an integer"},
    {"fill_range",
     R"({"module": "m", "buffers": {"a": {"bytes": 4, "fill": "0x100"}}, )" LAUNCH "}",
     "p.json:1:55: buffers.a.fill: '0x100' is not an integer from 0 to 255"},
    {"two_contents",
     R"({"module": "m", "buffers": {"a": {"bytes": 4, "fill": 0, "file": "f"}}, )" LAUNCH "}",
     "p.json:1:34: buffers.a: file, fill and random exclude each other"},
    {"random_type",
     R"({"module": "m", "buffers": {"a": {"bytes": 4, "random": {"type": "f33", "seed": 1}}}, )" LAUNCH
     "}",
     "p.json:1:66: buffers.a.random.type: unknown type 'f33'; one of: u8"},
    {"random_size",
     R"({"module": "m", "buffers": {"a": {"bytes": 6, "random": {"type": "f32", "seed": 1}}}, )" LAUNCH
     "}",
     "p.json:1:34: buffers.a: 6 bytes are no whole number of f32 elements"},
    {"random_order",
     R"({"module": "m", "buffers": {"a": {"bytes": 4, "random": {"type": "u8", "seed": 1, "low": 5, "high": 5}}}, )" LAUNCH
     "}",
     "p.json:1:57: buffers.a.random: low must be below high"},
    {"random_infinite",
     R"({"module": "m", "buffers": {"a": {"bytes": 4, "random": {"type": "f32", "seed": 1, "high": "inf"}}}, )" LAUNCH
     "}",
     "p.json:1:57: buffers.a.random: low and high must be finite"},
    {"two_expectations",
     R"({"module": "m", "buffers": {"a": {"bytes": 4, "expect": {"file": "f", "sha256": "00"}}}, )" LAUNCH
     "}",
     "p.json:1:57: buffers.a.expect: an expectation has exactly one of"},
    {"values_size",
     R"({"module": "m", "buffers": {"a": {"bytes": 4, "expect": {"values": [1, 2], "type": "u32"}}}, )" LAUNCH
     "}",
     "p.json:1:57: buffers.a.expect: the values take 8 bytes, the buffer has 4"},
    {"value_range",
     R"({"module": "m", "buffers": {"a": {"bytes": 1, "expect": {"values": [256], "type": "u8"}}}, )" LAUNCH
     "}",
     "p.json:1:69: buffers.a.expect.values[0]: '256' is no u8"},
    {"tolerance_of_integers",
     R"({"module": "m", "buffers": {"a": {"bytes": 4, "expect": {"file": "f", "type": "u32", "rtol": 1}}}, )" LAUNCH
     "}",
     "p.json:1:57: buffers.a.expect: a tolerance needs a floating type"},
    {"pointer_outside",
     R"({"module": "m", "buffers": {"a": {"bytes": 8, "pointers": [{"offset": 1, "buffer": "a"}]}}, )" LAUNCH
     "}",
     "p.json:1:71: buffers.a.pointers[0].offset: an address at offset 1 does not fit into 8"},
    {"pointer_target",
     R"({"module": "m", "buffers": {"a": {"bytes": 8, "pointers": [{"offset": 0, "buffer": "z"}]}}, )" LAUNCH
     "}",
     "p.json:1:60: buffers.a.pointers[0]: there is no buffer 'z'; buffers: a"},
    {"map_of_argument",
     R"({"module": "m", "launches": [{"kernel": "k", "grid": [1], "block": [1], "args": [{"bytes": "00000000", "tensorMaps": [{"offset": 0}]}]}]})",
     "p.json:1:130: launches[0].args[0].tensorMaps[0].offset: a tensor map at offset 0 does not "
     "fit "
     "into 4 bytes"},
    {"pointer_of_argument",
     R"({"module": "m", "launches": [{"kernel": "k", "grid": [1], "block": [1], "args": [{"bytes": "00000000", "pointers": [{"offset": 0, "buffer": "a"}]}]}]})",
     "p.json:1:128: launches[0].args[0].pointers[0].offset: an address at offset 0 does not fit "
     "into 4"},
    {"pointer_target_of_argument",
     R"({"module": "m", "launches": [{"kernel": "k", "grid": [1], "block": [1], "args": [{"bytes": "0000000000000000", "pointers": [{"offset": 0, "buffer": "z"}]}]}]})",
     "p.json:1:125: launches[0].args[0].pointers[0]: there is no buffer 'z'"},
    {"grid_zero", R"({"module": "m", "launches": [{"kernel": "k", "grid": [1, 0], "block": [1]}]})",
     "p.json:1:58: launches[0].grid[1]: must be from 1 to 2147483647"},
    {"grid_four",
     R"({"module": "m", "launches": [{"kernel": "k", "grid": [1,1,1,1], "block": [1]}]})",
     "p.json:1:54: launches[0].grid: expected 1 to 3 numbers, found 4"},
    {"module_index",
     R"({"module": "m", "launches": [{"kernel": "k", "module": 1, "grid": [1], "block": [1]}]})",
     "p.json:1:30: launches[0]: module 1 of 1 does not exist"},
    {"module_of_global",
     R"({"module": "m", "globals": {"g": {"module": 1}}, "launches": [{"kernel": "k", "grid": [1], "block": [1]}]})",
     "p.json:1:45: globals.g.module: there are 1 modules, counted from 0"},
    {"two_forms",
     R"({"module": "m", "launches": [{"kernel": "k", "grid": [1], "block": [1], "args": [{"i32": 1, "u32": 1}]}]})",
     "p.json:1:82: launches[0].args[0]: an argument has exactly one form"},
    {"offset_alone",
     R"({"module": "m", "launches": [{"kernel": "k", "grid": [1], "block": [1], "args": [{"offset": 1, "u32": 1}]}]})",
     "p.json:1:82: launches[0].args[0]: an argument has exactly one form"},
    {"i32_range",
     R"({"module": "m", "launches": [{"kernel": "k", "grid": [1], "block": [1], "args": [{"i32": 2147483648}]}]})",
     "p.json:1:90: launches[0].args[0].i32: '2147483648' does not fit into i32"},
    {"odd_hex",
     R"({"module": "m", "launches": [{"kernel": "k", "grid": [1], "block": [1], "args": [{"bytes": "abc"}]}]})",
     "p.json:1:92: launches[0].args[0].bytes: a byte string needs an even number"},
    {"buffer_arg",
     R"({"module": "m", "launches": [{"kernel": "k", "grid": [1], "block": [1], "args": [{"buffer": "q"}]}]})",
     "p.json:1:82: launches[0].args[0]: there is no buffer 'q'; the plan has no buffers"},
    {"texture_size",
     R"({"module": "m", "buffers": {"t": {"bytes": 15}}, "launches": [{"kernel": "k", "grid": [1], "block": [1], "args": [{"texture": {"buffer": "t", "width": 4, "format": "f32"}}]}]})",
     "p.json:1:115: launches[0].args[0]: the texels take 16 bytes, buffer 't' has 15"},
    {"texture_levels",
     R"({"module": "m", "buffers": {"t": {"bytes": 15}}, "launches": [{"kernel": "k", "grid": [1], "block": [1], "args": [{"texture": {"buffer": "t", "width": 2, "height": 2, "layers": 3, "cubemap": true, "mipmapLevels": 2, "format": "u8"}}]}]})",
     "p.json:1:115: launches[0].args[0]: the texels take 90 bytes, buffer 't' has 15"},
    {"texture_pitch",
     R"({"module": "m", "buffers": {"t": {"bytes": 31}}, "handles": [{"handle": 1, "surface": {"buffer": "t", "width": 2, "height": 2, "pitch": 24, "format": "f32"}}], )" LAUNCH
     "}",
     "p.json:1:62: handles[0]: the texels take 32 bytes, buffer 't' has 31"},
    {"texture_row",
     R"({"module": "m", "buffers": {"t": {"bytes": 31}}, "handles": [{"handle": 1, "surface": {"buffer": "t", "width": 2, "height": 2, "pitch": 4, "format": "f32"}}], )" LAUNCH
     "}",
     "p.json:1:62: handles[0]: a row takes 8 bytes, more than its pitch of 4"},
    // 2^24 rows of 2^40 bytes behind the first are not 0 bytes.
    {"texture_of_everything",
     R"({"module": "m", "buffers": {"t": {"bytes": 8}}, "handles": [{"handle": 1, "surface": {"buffer": "t", "width": 1, "height": 24929, "depth": 673, "pitch": 1099511627776, "format": "f32"}}], )" LAUNCH
     "}",
     "p.json:1:61: handles[0]: the texels take 9223372036854775811 bytes, buffer 't' has 8"},
    {"handle_of_nothing", R"({"module": "m", "handles": [{"handle": 1}], )" LAUNCH "}",
     "p.json:1:29: handles[0]: a handle is of a texture or of a surface"},
    {"host_heap",
     R"({"module": "m", "buffers": {"b": {"bytes": 4, "kind": "host", "heap": true}}, )" LAUNCH "}",
     "p.json:1:71: buffers.b.heap: blocks of the device heap are memory of kind device"},
    {"newer_capsule", R"({"module": "m", "capsule": {"version": 3}, )" LAUNCH "}",
     "p.json:1:40: capsule.version: the capsule has version 3, and this sassemu reads up to 2"},
    {"function_of_no_module",
     R"({"module": "m", "functions": [{"function": "f", "module": 1, "address": 256}], )" LAUNCH
     "}",
     "p.json:1:59: functions[0].module: there is no such module"},
    {"function_between_instructions",
     R"({"module": "m", "functions": [{"function": "f", "address": 264}], )" LAUNCH "}",
     "p.json:1:60: functions[0].address: code begins at multiples of 16"},
    {"function_nowhere", R"({"module": "m", "functions": [{"function": "f"}], )" LAUNCH "}",
     "p.json:1:31: functions[0]: the field 'address' is missing"},
    {"args_and_bytes",
     R"({"module": "m", "launches": [{"kernel": "k", "grid": [1], "block": [1], "args": [], "paramBytes": ""}]})",
     "p.json:1:99: launches[0].paramBytes: args and paramBytes exclude each other"},
    {"status", R"({"module": "m", )" LAUNCH R"(, "expect": {"status": "fault:typo"}})",
     "p.json:1:96: expect.status: unknown status 'fault:typo'; one of: ok"},
    {"device_field", R"({"module": "m", "device": {"smss": 1}, )" LAUNCH "}",
     "p.json:1:28: device.smss: unknown field 'smss'"},
    {"no_archs", R"({"module": "m", "arch": [], )" LAUNCH "}",
     "p.json:1:25: arch: the list of architectures is empty"},
    {"arch_twice", R"({"module": "m", "arch": ["sm_90", "90"], )" LAUNCH "}",
     "p.json:1:35: arch[1]: '90' is in the list twice"},
    {"arch_number", R"({"module": "m", "arch": 90, )" LAUNCH "}",
     "p.json:1:25: arch: expected a string or a list, found a number"},
    {"arch_missing", R"({"module": "{arch}.cubin", )" LAUNCH "}",
     "p.json:1:12: module: {arch} stands for the plan's 'arch', which is missing"},
    {"corner",
     R"({"module": "m", "buffers": {"a": {"bytes": 16}}, "launches": [{"kernel": "k", "grid": [1], "block": [1], )"
     R"("args": [{"tensorMap": {"buffer": "a", "type": "u8", "dims": [16, 1, 1], "strides": [16, 16], "im2col": {"lower": [0, 0], "upper": [0], "channels": 16, "pixels": 1}}}]}]})",
     "p.json:1:220: launches[0].args[0].tensorMap.im2col.lower: a corner of 1 numbers is wanted"},
    {"time", R"({"module": "m", "timeLimit": 0, )" LAUNCH "}",
     "p.json:1:30: timeLimit: must be above 0 and at most 1e9"},
};

INSTANTIATE_TEST_SUITE_P(Reader, BadPlan, testing::ValuesIn(bad_cases),
                         [](const auto& info) { return info.param.name; });

TEST(ReadPlan, OneOfAListOfArchitecturesNamesTheModules) {
    const std::string text =
        R"({"arch": ["sm_75", "sm_90"], "modules": ["{arch}/k.{arch}.cubin", "m"], )" LAUNCH "}";
    const auto first = read_plan(text, "d/p.json"), second = read_plan(text, "d/p.json", "90");
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->arch, "sm_75");
    EXPECT_EQ(second->arch, "sm_90");
    EXPECT_EQ(second->archs, (std::vector<std::string>{"sm_75", "sm_90"}));
    EXPECT_EQ(first->modules, (std::vector<std::string>{"d/sm_75/k.sm_75.cubin", "d/m"}));
    EXPECT_EQ(second->modules[0], "d/sm_90/k.sm_90.cubin");
    const auto none = read_plan(text, "d/p.json", "sm_80");
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().message(),
              "d/p.json:1:10: arch: the plan is not for sm_80; it is for sm_75, sm_90");
}

TEST(ReadPlan, RefusesDeepNestingWithoutRecursion) {
    const std::string deep(100000, '[');
    const auto plan = read_plan(deep, "p.json");
    ASSERT_FALSE(plan);
    EXPECT_NE(plan.error().message().find("nested deeper than 64"), std::string::npos);
}

// Every prefix, and every single-character damage: an answer, never a crash, and one line of error.
TEST(ReadPlan, SurvivesDamage) {
    const std::string whole = full_plan;
    for (size_t i = 0; i < whole.size(); ++i) {
        for (const char c : {'\0', '"', '{', ']', '9', '\xff'}) {
            std::string text = whole;
            text[i] = c;
            const auto plan = read_plan(text, "p.json");
            if (plan) continue;
            EXPECT_EQ(exit_code(plan.error().code), 2);
            EXPECT_EQ(plan.error().message().find('\n'), std::string::npos);
        }
        EXPECT_FALSE(read_plan(whole.substr(0, i), "p.json"));
    }
}

TEST(ReadPlan, AMissingFileIsOneLine) {
    const auto plan = read_plan_file("/nonexistent/p.json");
    ASSERT_FALSE(plan);
    EXPECT_EQ(exit_code(plan.error().code), 2);
    EXPECT_NE(plan.error().message().find("/nonexistent/p.json"), std::string::npos);
}

}  // namespace
}  // namespace sassemu::plan
