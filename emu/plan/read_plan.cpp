// SPDX-License-Identifier: Apache-2.0
// The plan reader: the document's own fields, and the references between its parts. Buffers and
// globals are read in read_buffers.cpp, launches in read_launches.cpp.
#include <algorithm>
#include <filesystem>

#include "emu/base/limits.hpp"
#include "emu/module/module.hpp"
#include "emu/plan/buffers_by_name.hpp"
#include "emu/plan/byte_source.hpp"
#include "emu/plan/read_parts.hpp"
#include "emu/plan/sha256.hpp"

namespace sassemu::plan {
namespace {

constexpr FaultKind last_fault = FaultKind::other;
constexpr std::string_view arch_place = "{arch}";

Result<StatusExpectation> read_status(const Field& field) {
    SASSEMU_ASSIGN(const std::string text, field.string());
    StatusExpectation status;
    if (text == "ok") return status;
    if (text == "assert") return StatusExpectation{LaunchStatus::assert_failed, FaultKind::none};
    if (text == "trap") return StatusExpectation{LaunchStatus::trap, FaultKind::none};
    if (text == "deadlock") return StatusExpectation{LaunchStatus::deadlock, FaultKind::none};
    std::string kinds;
    for (int i = 1; i <= static_cast<int>(last_fault); ++i) {
        const auto kind = static_cast<FaultKind>(i);
        const std::string name = "fault:" + std::string(fault_name(kind));
        if (text == name) return StatusExpectation{LaunchStatus::fault, kind};
        kinds += ", " + name;
    }
    return field.error("unknown status '" + text + "'",
                       "one of: ok, assert, trap, deadlock" + kinds);
}

Result<PlanExpectation> read_plan_expectation(const Field& field) {
    SASSEMU_TRY(field.object({"status", "stdout", "warpInstructions"}));
    PlanExpectation expect;
    if (const Field status = field.member("status")) {
        SASSEMU_ASSIGN(expect.status, read_status(status));
    }
    if (const Field out = field.member("stdout")) {
        SASSEMU_ASSIGN(expect.out, out.any_string());
    }
    if (const Field count = field.member("warpInstructions")) {
        SASSEMU_ASSIGN(expect.warp_instructions, count.unsigned_number());
    }
    return expect;
}

// Two spellings of one architecture ("sm_90", "90").
bool same_arch(const std::string& a, const std::string& b) {
    if (a == b) return true;
    const auto one = parse_arch(a), other = parse_arch(b);
    return one && other && one->name() == other->name();
}

// One name, or a list from which `wanted` picks (empty: the first).
Result<void> read_arch(const Field& field, const std::string& wanted, Plan& plan) {
    plan.arch_where = field.where();
    if (field.node->kind == JsonNode::Kind::string) {
        SASSEMU_ASSIGN(plan.arch, field.string());
        return {};
    }
    if (field.node->kind != JsonNode::Kind::array) return field.wrong_kind("a string or a list");
    std::string names;
    for (size_t i = 0; i < field.node->items.size(); ++i) {
        const Field item = field.item(i);
        SASSEMU_ASSIGN(const std::string name, item.string());
        for (const std::string& before : plan.archs) {
            if (same_arch(before, name)) return item.error("'" + name + "' is in the list twice");
        }
        if (wanted.empty() ? i == 0 : same_arch(name, wanted)) plan.arch = name;
        names += (i ? ", " : "") + name;
        plan.archs.push_back(name);
    }
    if (plan.archs.empty()) return field.error("the list of architectures is empty");
    if (plan.arch.empty())
        return field.error("the plan is not for " + wanted, "it is for " + names);
    return {};
}

Result<void> read_module(const Field& field, Plan& plan) {
    SASSEMU_ASSIGN(const std::string path, field.string());
    if (plan.arch.empty() && path.find(arch_place) != path.npos)
        return field.error("{arch} stands for the plan's 'arch', which is missing");
    plan.module_texts.push_back(path);
    plan.modules.push_back(module_path(plan, plan.modules.size(), plan.arch));
    plan.module_where.push_back(field.where());
    return {};
}

Result<void> read_modules(const Field& root, Plan& plan) {
    const Field one = root.member("module"), many = root.member("modules");
    if (bool(one) == bool(many)) {
        return root.error("a plan has either a module or a list of modules");
    }
    if (one) return read_module(one, plan);
    SASSEMU_TRY(many.array());
    if (many.node->items.empty()) return many.error("the list of modules is empty");
    for (size_t i = 0; i < many.node->items.size(); ++i)
        SASSEMU_TRY(read_module(many.item(i), plan));
    return {};
}

Result<void> read_limits(const Field& field, Plan& plan) {
    SASSEMU_TRY(field.object({"stack", "heap", "printf"}));
    struct Number {
        std::string_view name;
        std::optional<uint64_t>* target;
    };
    for (const Number& number : {Number{"stack", &plan.stack_bytes},
                                 {"heap", &plan.heap_bytes},
                                 {"printf", &plan.printf_bytes}}) {
        if (const Field value = field.member(number.name)) {
            SASSEMU_ASSIGN(*number.target, value.unsigned_number(uint64_t{1} << 40));
        }
    }
    return {};
}

// The buffer a part of the plan refers to, and that an offset lies in it (its end included).
Result<const Buffer*> referred(const BuffersByName& buffers, const Where& where,
                               const std::string& name, uint64_t offset) {
    const auto found = buffers.find(name);
    if (found == buffers.end()) {
        constexpr size_t most = 20;
        std::vector<std::string_view> names;
        for (const auto& [other, buffer] : buffers) names.push_back(other);
        std::ranges::sort(names);
        std::string list;
        for (size_t i = 0; i < std::min(most, names.size()); ++i)
            list += (i == 0 ? "" : ", ") + std::string(names[i]);
        if (names.size() > most) list += ", and " + std::to_string(names.size() - most) + " more";
        return make_error(ErrorCode::input, where, "there is no buffer '" + name + "'",
                          list.empty() ? "the plan has no buffers" : "buffers: " + list);
    }
    const Buffer& buffer = *found->second;
    if (offset > buffer.bytes) {
        return make_error(ErrorCode::input, where,
                          "offset " + std::to_string(offset) + " is beyond buffer '" + name +
                              "' of " + std::to_string(buffer.bytes) + " bytes");
    }
    return &buffer;
}

Result<void> check_argument(const BuffersByName& buffers, const Argument& arg) {
    if (const auto* value = std::get_if<BufferArg>(&arg.value)) {
        SASSEMU_TRY(referred(buffers, arg.where, value->buffer, value->offset));
    } else if (const auto* bytes = std::get_if<BytesArg>(&arg.value)) {
        for (const PointerPatch& patch : bytes->pointers) {
            SASSEMU_TRY(referred(buffers, patch.where, patch.buffer, patch.add));
        }
        for (const BytesArg::Map& map : bytes->maps) {
            SASSEMU_TRY(referred(buffers, map.where, map.map.buffer, 0));
        }
    } else if (const auto* texture = std::get_if<TextureArg>(&arg.value)) {
        SASSEMU_ASSIGN(const Buffer* buffer, referred(buffers, arg.where, texture->buffer, 0));
        SASSEMU_TRY(check_texture(*buffer, *texture, arg.where));
    } else if (const auto* map = std::get_if<TensorMapArg>(&arg.value)) {
        SASSEMU_TRY(referred(buffers, arg.where, map->buffer, 0));
    }
    return {};
}

Result<void> check_references(const Plan& plan) {
    const BuffersByName buffers = buffers_by_name(plan);
    for (const Buffer& buffer : plan.buffers) {
        for (const PointerPatch& patch : buffer.pointers) {
            SASSEMU_TRY(referred(buffers, patch.where, patch.buffer, patch.add));
        }
    }
    for (const Handle& handle : plan.handles) {
        const TextureArg& texture = handle.texture;
        SASSEMU_ASSIGN(const Buffer* buffer,
                       referred(buffers, handle.where, texture.buffer, texture.offset));
        SASSEMU_TRY(check_texture(*buffer, texture, handle.where));
    }
    for (const Launch& launch : plan.launches) {
        if (launch.module >= plan.modules.size()) {
            return make_error(ErrorCode::input, launch.where,
                              "module " + std::to_string(launch.module) + " of " +
                                  std::to_string(plan.modules.size()) + " does not exist");
        }
        for (const Argument& arg : launch.args) SASSEMU_TRY(check_argument(buffers, arg));
    }
    return {};
}

Result<void> read_scalars(const Field& root, Plan& plan) {
    if (const Field device = root.member("device")) {
        SASSEMU_ASSIGN(plan.device, read_device(device));
        plan.device_where = device.where();
    }
    if (const Field limit = root.member("timeLimit")) {
        SASSEMU_ASSIGN(plan.time_limit, limit.number());
        if (!(plan.time_limit > 0) || plan.time_limit > 1e9) {
            return limit.error("must be above 0 and at most 1e9 seconds");
        }
    }
    if (const Field limit = root.member("maxWarpInstructions")) {
        SASSEMU_ASSIGN(plan.max_warp_instructions, limit.unsigned_number(UINT64_MAX, 1));
    }
    if (const Field limits = root.member("limits")) SASSEMU_TRY(read_limits(limits, plan));
    if (const Field condition = root.member("condition")) {
        SASSEMU_ASSIGN(plan.condition, condition.string());
    }
    if (const Field verdict = root.member("verdict")) {
        SASSEMU_ASSIGN(const size_t which, verdict.one_of({"allowed", "forbidden"}));
        if (plan.condition.empty())
            return verdict.error("is the verdict of a `condition`, and there is none");
        plan.verdict = which ? "forbidden" : "allowed";
    }
    return {};
}

Result<void> read_handles(const Field& field, Plan& plan) {
    SASSEMU_TRY(field.array());
    for (size_t i = 0; i < field.node->items.size(); ++i) {
        const Field item = field.item(i);
        SASSEMU_TRY(item.object({"handle", "texture", "surface"}));
        Handle handle;
        handle.where = item.where();
        SASSEMU_ASSIGN(const Field value, required(item, "handle"));
        SASSEMU_ASSIGN(handle.handle, value.unsigned_number(UINT64_MAX, 1));
        const Field texture = item.member("texture"), surface = item.member("surface");
        if (bool(texture) == bool(surface))
            return item.error("a handle is of a texture or of a surface");
        SASSEMU_ASSIGN(handle.texture, read_texture(texture ? texture : surface, bool(surface)));
        plan.handles.push_back(std::move(handle));
    }
    return {};
}

Result<void> read_functions(const Field& field, Plan& plan) {
    SASSEMU_TRY(field.array());
    for (size_t i = 0; i < field.node->items.size(); ++i) {
        const Field item = field.item(i);
        SASSEMU_TRY(item.object({"function", "module", "address"}));
        FunctionOfPlan function;
        function.where = item.where();
        SASSEMU_ASSIGN(const Field name, required(item, "function"));
        SASSEMU_ASSIGN(function.name, name.string());
        SASSEMU_ASSIGN(const Field address, required(item, "address"));
        SASSEMU_ASSIGN(function.address, address.unsigned_number(UINT64_MAX, 1));
        if (function.address % 16) return address.error("code begins at multiples of 16");
        if (const Field module = item.member("module")) {
            SASSEMU_ASSIGN(const uint64_t index, module.unsigned_number(UINT32_MAX, 0));
            if (index >= plan.modules.size()) return module.error("there is no such module");
            function.module = static_cast<uint32_t>(index);
        }
        plan.functions.push_back(std::move(function));
    }
    return {};
}

// What a plan says of where it was captured is for people, but for the version and what is not
// captured (docs/capture.md): the device heap, and functions of the host.
Result<void> check_capsule(const Field& field, Plan& plan) {
    constexpr uint64_t known = 2;
    if (field.node->kind != JsonNode::Kind::object) return field.wrong_kind("an object");
    SASSEMU_ASSIGN(const Field version, required(field, "version"));
    SASSEMU_ASSIGN(const uint64_t number, version.unsigned_number(UINT32_MAX, 1));
    if (number > known)
        return version.error("the capsule has version " + std::to_string(number) +
                                 ", and this sassemu reads up to " + std::to_string(known),
                             "take a newer sassemu");
    SASSEMU_TRY(field.object({"version", "program", "launch", "gpu", "driver", "runs", "varies",
                              "heap", "hostFunctions"}));
    plan.captured = true;
    if (const Field runs = field.member("runs")) SASSEMU_TRY(runs.unsigned_number(UINT32_MAX, 1));
    if (const Field heap = field.member("heap")) {
        SASSEMU_ASSIGN(plan.lacks_heap, heap.boolean());
    }
    if (const Field host = field.member("hostFunctions")) {
        SASSEMU_ASSIGN(plan.lacks_host, host.boolean());
    }
    return {};
}

Result<void> read_lists(const Field& root, Plan& plan) {
    if (const Field handles = root.member("handles")) SASSEMU_TRY(read_handles(handles, plan));
    if (const Field functions = root.member("functions"))
        SASSEMU_TRY(read_functions(functions, plan));
    if (const Field buffers = root.member("buffers")) {
        if (buffers.node->kind != JsonNode::Kind::object) return buffers.wrong_kind("an object");
        for (const JsonNode::Member& member : buffers.node->members) {
            SASSEMU_TRY(process_budget().check(plan.file));
            SASSEMU_ASSIGN(Buffer buffer, read_buffer(buffers.member(member.name), member.name));
            plan.buffers.push_back(std::move(buffer));
        }
    }
    if (const Field globals = root.member("globals")) {
        if (globals.node->kind != JsonNode::Kind::object) return globals.wrong_kind("an object");
        for (const JsonNode::Member& member : globals.node->members) {
            SASSEMU_ASSIGN(Global global, read_global(globals.member(member.name), member.name));
            if (global.module && *global.module >= plan.modules.size())
                return globals.member(member.name)
                    .member("module")
                    .error("there are " + std::to_string(plan.modules.size()) +
                           " modules, counted from 0");
            plan.globals.push_back(std::move(global));
        }
    }
    SASSEMU_ASSIGN(const Field launches, required(root, "launches"));
    SASSEMU_TRY(launches.array());
    if (launches.node->items.empty()) return launches.error("the plan launches nothing");
    for (size_t i = 0; i < launches.node->items.size(); ++i) {
        SASSEMU_TRY(process_budget().check(plan.file));
        SASSEMU_ASSIGN(Launch launch, read_launch(launches.item(i)));
        plan.launches.push_back(std::move(launch));
    }
    return {};
}

}  // namespace

Result<DeviceOverrides> read_device(const Field& field, std::string* arch) {
    DeviceOverrides device;
    if (field.node->kind == JsonNode::Kind::string) {
        SASSEMU_ASSIGN(device.name, field.string());
        return device;
    }
    if (arch) {
        SASSEMU_TRY(field.object({"arch", "name", "sms", "sharedPerSm", "sharedPerCta",
                                  "registersPerSm", "residentCtas", "residentThreads"}));
        if (const Field own = field.member("arch")) {
            SASSEMU_ASSIGN(*arch, own.string());
        }
    } else {
        SASSEMU_TRY(field.object({"name", "sms", "sharedPerSm", "sharedPerCta", "registersPerSm",
                                  "residentCtas", "residentThreads"}));
    }
    if (const Field name = field.member("name")) {
        SASSEMU_ASSIGN(device.name, name.string());
    }
    struct Number {
        std::string_view name;
        std::optional<uint32_t>* target;
    };
    for (const Number& number : {Number{"sms", &device.sms},
                                 {"sharedPerSm", &device.shared_per_sm},
                                 {"sharedPerCta", &device.shared_per_cta},
                                 {"registersPerSm", &device.registers_per_sm},
                                 {"residentCtas", &device.resident_ctas},
                                 {"residentThreads", &device.resident_threads}}) {
        if (const Field value = field.member(number.name)) {
            SASSEMU_ASSIGN(const uint64_t read, value.unsigned_number(UINT32_MAX, 1));
            *number.target = static_cast<uint32_t>(read);
        }
    }
    return device;
}

std::string resolve_path(const std::string& plan_file, const std::string& path) {
    const std::filesystem::path given(path);
    if (given.is_absolute()) return path;
    return (std::filesystem::path(plan_file).parent_path() / given).string();
}

std::string module_path(const Plan& plan, size_t index, const std::string& arch) {
    std::string path = plan.module_texts[index];
    for (size_t at = 0; (at = path.find(arch_place, at)) != path.npos; at += arch.size())
        path.replace(at, arch_place.size(), arch);
    return resolve_path(plan.file, path);
}

Result<Field> required(const Field& object, std::string_view name) {
    const Field field = object.member(name);
    if (!field) return object.error("the field '" + std::string(name) + "' is missing");
    return field;
}

Result<Plan> read_plan(std::string_view text, const std::string& file, const std::string& wanted,
                       uint32_t gpus) {
    SASSEMU_ASSIGN(const JsonNode document, parse_json(text, file));
    const Field root{&document, "", &file};
    SASSEMU_TRY(root.object({"$schema",   "capsule", "arch",
                             "device",    "module",  "modules",
                             "timeLimit", "limits",  "maxWarpInstructions",
                             "condition", "verdict", "buffers",
                             "globals",   "handles", "launches",
                             "expect",    "gpus",    "peers",
                             "streams",   "host",    "nvshmem",
                             "functions"}));
    if (const Field schema = root.member("$schema")) SASSEMU_TRY(schema.string());  // for editors
    Plan plan;
    plan.file = file;
    SpanSource bytes(std::as_bytes(std::span(text)));
    SASSEMU_ASSIGN(plan.digest, sha256_hex(bytes));
    if (const Field capsule = root.member("capsule")) SASSEMU_TRY(check_capsule(capsule, plan));
    if (const Field arch = root.member("arch")) SASSEMU_TRY(read_arch(arch, wanted, plan));
    SASSEMU_TRY(read_scalars(root, plan));
    SASSEMU_TRY(read_modules(root, plan));
    SASSEMU_TRY(read_lists(root, plan));
    SASSEMU_TRY(read_in_flight(root, plan, gpus));
    if (const Field expect = root.member("expect")) {
        SASSEMU_ASSIGN(plan.expect, read_plan_expectation(expect));
    }
    SASSEMU_TRY(check_references(plan));
    SASSEMU_TRY(check_in_flight(plan));
    return plan;
}

Result<Plan> read_plan_file(const std::string& path, const std::string& arch, uint32_t gpus) {
    SASSEMU_ASSIGN(const std::vector<uint8_t> bytes, read_file(path));
    return read_plan({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path, arch, gpus);
}

std::string status_text(LaunchStatus status, FaultKind fault) {
    switch (status) {
        case LaunchStatus::ok:
            return "ok";
        case LaunchStatus::fault:
            return "fault:" + std::string(fault_name(fault));
        case LaunchStatus::assert_failed:
            return "assert";
        case LaunchStatus::trap:
            return "trap";
        case LaunchStatus::deadlock:
            return "deadlock";
        case LaunchStatus::limit:
            return "limit";
        case LaunchStatus::unsupported:
            return "unsupported";
        case LaunchStatus::interrupted:
            return "interrupted";
        case LaunchStatus::internal:
            return "internal-error";
        case LaunchStatus::not_run:
            return "not-run";
    }
    return "internal-error";
}

}  // namespace sassemu::plan
