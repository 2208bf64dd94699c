// SPDX-License-Identifier: Apache-2.0
// See quick_form.hpp. A plan is written and read back: one reader, one set of error messages.
#include "emu/cli/quick_form.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "emu/cli/kernel_list.hpp"
#include "emu/cli/options.hpp"
#include "emu/plan/sha256.hpp"

namespace sassemu::cli {
namespace {

using nlohmann::ordered_json;

Error bad_arg(const std::string& text, std::string what) {
    return make_error(ErrorCode::usage, "--arg " + text, std::move(what),
                      "FORM=VALUE, FORM one of i32, u32, i64, u64, f32, f64, bits, bytes, symbol, "
                      "buffer (bytes), file (path)");
}

}  // namespace

Result<plan::Plan> quick_plan(const std::string& module, const QuickForm& form) {
    ordered_json buffers = ordered_json::object(), args = ordered_json::array();
    for (size_t i = 0; i < form.args.size(); ++i) {
        const std::string& text = form.args[i];
        const size_t equals = text.find('=');
        if (equals == std::string::npos) return bad_arg(text, "there is no '='");
        const std::string kind = text.substr(0, equals), value = text.substr(equals + 1);
        const std::string name = "arg" + std::to_string(i);
        if (kind == "buffer") {
            buffers[name] = {{"bytes", value}};
            args.push_back({{"buffer", name}});
        } else if (kind == "file") {
            std::error_code error;
            const auto path = std::filesystem::absolute(value);
            const auto size = std::filesystem::file_size(path, error);
            if (error) {
                return make_error(ErrorCode::input, "--arg " + text,
                                  "cannot read the file: " + error.message());
            }
            buffers[name] = {{"bytes", size}, {"file", path.string()}};
            args.push_back({{"buffer", name}});
        } else if (kind == "i32" || kind == "u32" || kind == "i64" || kind == "u64" ||
                   kind == "f32" || kind == "f64" || kind == "bits" || kind == "bytes" ||
                   kind == "symbol") {
            args.push_back({{kind, value}});
        } else {
            return bad_arg(text, "unknown form '" + kind + "'");
        }
    }
    ordered_json launch;
    launch["kernel"] = form.kernel;
    if (form.kernel.empty()) {
        SASSEMU_ASSIGN(launch["kernel"], only_kernel(module));
    }
    const auto dims = [](Dim3 dim) { return ordered_json{dim.x, dim.y, dim.z}; };
    SASSEMU_ASSIGN(const Dim3 grid, parse_dim3(form.grid, "--grid"));
    SASSEMU_ASSIGN(const Dim3 block, parse_dim3(form.block, "--block"));
    launch["grid"] = dims(grid);
    launch["block"] = dims(block);
    if (!form.cluster.empty()) {
        SASSEMU_ASSIGN(const Dim3 cluster, parse_dim3(form.cluster, "--cluster"));
        launch["cluster"] = dims(cluster);
    }
    launch["dynamicShared"] = form.dynamic_shared;
    launch["cooperative"] = form.cooperative;
    launch["repeat"] = form.repeat;
    launch["args"] = std::move(args);
    ordered_json document;
    document["module"] = std::filesystem::absolute(module).string();
    document["buffers"] = std::move(buffers);
    document["launches"] = ordered_json::array({std::move(launch)});
    const std::string text = document.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    SASSEMU_ASSIGN(plan::Plan plan, plan::read_plan(text, "command line"));
    plan.file = module;
    // Wherever its files lie.
    document.erase("module");
    for (auto& buffer : document["buffers"]) buffer.erase("file");
    const std::string said = document.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    plan::SpanSource bytes(std::as_bytes(std::span(said)));
    SASSEMU_ASSIGN(plan.digest, plan::sha256_hex(bytes));
    return plan;
}

}  // namespace sassemu::cli
