// SPDX-License-Identifier: Apache-2.0
#include "emu/driver/config.hpp"

#include <charconv>
#include <functional>
#include <map>
#include <string_view>

namespace sassemu::driver {

namespace {

bool number(std::string_view text, auto& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Config read_config(const char* text) {
    Config c;
    uint32_t gpus = 0;
    std::vector<std::string> profiles;
    const auto flag = [](bool& out) {
        return [&out](std::string_view v) {
            out = v == "1";
            return v == "0" || v == "1";
        };
    };
    const auto count = [](auto& out) {
        return [&out](std::string_view v) { return number(v, out); };
    };
    const auto text_of = [](std::string& out) {
        return [&out](std::string_view v) {
            out = v;
            return true;
        };
    };
    const auto list = [](std::vector<std::string>& out) {
        return [&out](std::string_view v) {
            out.emplace_back(v);
            return true;
        };
    };
    const std::map<std::string_view, std::function<bool(std::string_view)>> settings = {
        {"gpus", count(gpus)},
        {"device", list(profiles)},
        {"threads", count(c.options.threads)},
        {"deterministic", flag(c.options.deterministic)},
        {"reference", flag(c.options.reference)},
        {"seed", count(c.options.seed)},
        {"model", text_of(c.options.model)},
        {"agents",
         [&](std::string_view v) {
             c.options.agents = v == "lazy"     ? AgentOrder::lazy
                                : v == "random" ? AgentOrder::random
                                                : AgentOrder::eager;
             return v == "lazy" || v == "random" || v == "eager";
         }},
        {"plugin", list(c.plugins)},
        {"plugin-path", list(c.plugin_path)},
        {"level",
         [&](std::string_view v) {
             c.options.level = v == "v2"   ? HostLevel::v2
                               : v == "v3" ? HostLevel::v3
                               : v == "v4" ? HostLevel::v4
                                           : HostLevel::automatic;
             return v == "v2" || v == "v3" || v == "v4" || v == "auto";
         }},
        {"time-limit", count(c.limits.seconds)},
        {"max-warp-instructions", count(c.limits.max_warp_instructions)},
        {"wall-time", flag(c.wall_time)},
        {"stats", flag(c.stats)},
        {"report", text_of(c.report)},
    };
    for (std::string_view rest = text ? text : ""; !rest.empty() && c.error.empty();) {
        const size_t end = rest.find('\n');
        const std::string_view line = rest.substr(0, end);
        rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
        if (line.empty()) continue;
        const size_t equals = line.find('=');
        const auto found = settings.find(line.substr(0, equals));
        if (equals == std::string_view::npos || found == settings.end() ||
            !found->second(line.substr(equals + 1)))
            c.error = "SASSEMU_EXEC: '" + std::string(line) + "' is no setting";
    }
    if (profiles.empty()) profiles.emplace_back("h200");
    const size_t wanted = gpus ? gpus : profiles.size();
    if (wanted > 64) c.error = "SASSEMU_EXEC: gpus: 1 to 64";
    for (size_t i = 0; i < wanted && c.error.empty(); ++i) {
        auto device = device_profile(profiles[std::min(i, profiles.size() - 1)]);
        if (!device)
            c.error = "SASSEMU_EXEC: " + device.error().message();
        else
            c.devices.push_back(std::move(*device));
    }
    return c;
}

}  // namespace sassemu::driver
