// SPDX-License-Identifier: Apache-2.0
// dlopen and the checks behind plugin_file.hpp.
#include "emu/plugin/plugin_file.hpp"

#include <dirent.h>
#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "emu/plugin/in_plugin.hpp"

namespace sassemu {

namespace fs = std::filesystem;

namespace {

// Where this very library lies: the plugins that come with it are in sassemu/plugins there.
std::string own_directory() {
    Dl_info info;
    if (!dladdr(reinterpret_cast<const void*>(&own_directory), &info) || !info.dli_fname)
        return ".";
    std::error_code ignored;
    const fs::path file = fs::canonical(info.dli_fname, ignored);
    return (ignored ? fs::path(info.dli_fname) : file).parent_path().string();
}

std::vector<std::string> places(const std::vector<std::string>& directories) {
    std::vector<std::string> all = directories;
    all.push_back(own_directory() + "/sassemu/plugins");
    return all;
}

std::string list(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

std::string version_text(uint32_t abi) {
    return std::to_string(abi >> 16) + "." + std::to_string(abi & 0xffff);
}

Result<void> check(const sassemu_plugin* p, const std::string& where) {
    const auto bad = [&](std::string what, std::string hint = {}) {
        return make_error(ErrorCode::usage, where, std::move(what), std::move(hint));
    };
    if (!p) return bad(std::string(SASSEMU_ENTRY_NAME) + " returned no table");
    if (p->abi >> 16 != SASSEMU_ABI_MAJOR || (p->abi & 0xffff) > SASSEMU_ABI_MINOR)
        return bad("was built for plugin ABI " + version_text(p->abi) + ", this emulator speaks " +
                       version_text(SASSEMU_ABI_VERSION),
                   "build it again with this emulator's headers");
    if (!SASSEMU_HAS(p, sassemu_plugin, consistency))
        return bad("its table has " + std::to_string(p->size) + " bytes, this ABI's has " +
                   std::to_string(sizeof(sassemu_plugin)));
    if (!p->name || !p->create || !p->destroy)
        return bad("its table lacks a name, create or destroy");
    if (p->threading > SASSEMU_FREE) return bad("declares a kind of threading that does not exist");
    if (p->model && (!SASSEMU_HAS(p->model, sassemu_memory_model, host_access) || !p->model->issue))
        return bad("its memory model has no issue()");
    if (const sassemu_machine* m = machine_role(*p);
        m && (!SASSEMU_HAS(m, sassemu_machine, key) || !m->start || !m->copy || !m->drop ||
              !m->perform || !m->steps || !m->take || !m->held || !m->key))
        return bad("its machine lacks one of start, copy, drop, perform, steps, take, held, key");
    if (p->observer && !SASSEMU_HAS(p->observer, sassemu_observer, finish))
        return bad("its table of an observer is too short");
    if (p->semantics && (!SASSEMU_HAS(p->semantics, sassemu_semantics, execute) ||
                         !p->semantics->overrides || !p->semantics->execute))
        return bad("its instruction semantics lack overrides() or execute()");
    return {};
}

Result<void> check_options(const sassemu_plugin& p, const PluginSpec& spec,
                           const std::string& where) {
    for (const auto& [key, value] : spec.options) {
        bool found = false;
        std::string known;
        const auto look_at = [&, &wanted = key](const sassemu_option& o) {
            found |= wanted == o.key;
            known += std::string(known.empty() ? "" : ", ") + o.key + "=" +
                     (o.value ? o.value : "VALUE");
        };
        if (machine_role(p)) std::ranges::for_each(driver_options, look_at);
        for (const sassemu_option* o = p.options; o && o->key; ++o) look_at(*o);
        if (found) continue;
        return make_error(ErrorCode::usage, where, "has no option '" + key + "'",
                          known.empty() ? "it takes none" : "it has " + known);
    }
    return {};
}

}  // namespace

const sassemu_machine* machine_role(const sassemu_plugin& p) {
    // NOLINTNEXTLINE(bugprone-sizeof-expression): the size of a member
    return !p.model && SASSEMU_HAS(&p, sassemu_plugin, machine) ? p.machine : nullptr;
}

Result<PluginSpec> parse_plugin_spec(std::string_view text) {
    PluginSpec spec;
    const std::string where = "plugin '" + std::string(text) + "'";
    // A file's name may hold colons, an option's value what a file's name may.
    const size_t so = text.find(".so:");
    const bool only_file = text.ends_with(".so") && text.find('=') == std::string_view::npos;
    const size_t colon = so != std::string_view::npos ? so + 3
                         : only_file                  ? std::string_view::npos
                                                      : text.find(':');
    spec.name = text.substr(0, colon);
    spec.is_file = spec.name.ends_with(".so") || spec.name.find('/') != std::string::npos;
    if (spec.name.empty())
        return make_error(ErrorCode::usage, where, "has no name", "NAME[:key=value,...]");
    if (colon == std::string_view::npos) return spec;
    std::string_view rest = text.substr(colon + 1);
    while (!rest.empty()) {
        const size_t comma = rest.find(',');
        const std::string_view option = rest.substr(0, comma);
        const size_t equals = option.find('=');
        rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
        if (equals == std::string_view::npos && !spec.options.empty()) {  // a comma within a value
            spec.options.back().second += "," + std::string(option);
            continue;
        }
        if (equals == 0 || equals == std::string_view::npos)
            return make_error(ErrorCode::usage, where, "'" + std::string(option) + "' is no option",
                              "NAME:key=value,key=value");
        spec.options.emplace_back(option.substr(0, equals), option.substr(equals + 1));
    }
    return spec;
}

std::vector<std::string> known_plugins(const std::vector<std::string>& directories) {
    std::vector<std::string> names;
    for (const std::string& directory : places(directories)) {
        // Not std::filesystem::directory_iterator: libstdc++'s ends the process where it has no
        // memory.
        struct Close {
            void operator()(DIR* folder) const { ::closedir(folder); }
        };
        const std::unique_ptr<DIR, Close> open(::opendir(directory.c_str()));
        while (const dirent* const entry = open ? ::readdir(open.get()) : nullptr) {
            const std::string_view name = entry->d_name;
            if (name.ends_with(".so") && name != ".so")
                names.emplace_back(name.substr(0, name.size() - 3));
        }
    }
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

Result<PluginFile> PluginFile::open(const PluginSpec& spec,
                                    const std::vector<std::string>& directories) {
    PluginFile file;
    std::string where = "plugin '" + spec.name + "'";
    if (spec.is_file) {
        std::error_code ignored;
        if (!fs::exists(spec.name, ignored))
            return make_error(ErrorCode::usage, where, "there is no such file");
        file.path_ = fs::absolute(spec.name, ignored).string();
    } else {
        for (const std::string& directory : places(directories)) {
            std::error_code ignored;
            const std::string path = directory + "/" + spec.name + ".so";
            if (!fs::exists(path, ignored)) continue;
            file.path_ = path;
            break;
        }
        if (file.path_.empty()) {
            const std::string known = list(known_plugins(directories));
            return make_error(ErrorCode::usage, where, "there is no such plugin",
                              known.empty() ? "none is installed; a file is given as ./file.so"
                                            : "there are: " + known);
        }
        where = file.path_;
    }
    const InPlugin inside(spec.name, "sassemu_plugin_entry");
    dlerror();
    void* library = dlopen(file.path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char* why = dlerror();
        return make_error(ErrorCode::usage, where,
                          std::string("cannot be loaded: ") + (why ? why : "no reason given"));
    }
    file.library_ = std::shared_ptr<void>(library, dlclose);
    const auto entry = reinterpret_cast<sassemu_entry>(dlsym(library, SASSEMU_ENTRY_NAME));
    if (!entry)
        return make_error(ErrorCode::usage, where, "exports no " + std::string(SASSEMU_ENTRY_NAME),
                          "it is no plugin of this emulator");
    file.table_ = entry();
    SASSEMU_TRY(check(file.table_, where));
    SASSEMU_TRY(check_options(*file.table_, spec, where));
    return file;
}

}  // namespace sassemu
