// SPDX-License-Identifier: Apache-2.0
// Any file -> Module: finds the fatbin, chooses the image, and hands it to the cubin parser.
// Belongs here: what kind of file it is and which image fits. Does not belong here: formats.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sassemu/names.hpp>

#include "emu/base/descriptor.hpp"
#include "emu/base/input_file.hpp"
#include "emu/base/limits.hpp"
#include "emu/module/byte_reader.hpp"
#include "emu/module/elf.hpp"
#include "emu/module/fatbin.hpp"
#include "emu/module/find_name.hpp"
#include "emu/module/module_data.hpp"

namespace sassemu {
namespace {

struct Contents {
    Container container = Container::cubin;
    std::vector<FatbinEntry> entries;  // empty for a bare cubin
};

std::string image_label(const std::string& name, const ImageInfo& info) {
    return name + ": container " + std::to_string(info.container) + " image " +
           std::to_string(info.index);
}

Result<Contents> contents_of(Bytes bytes, const std::string& name) {
    Contents contents;
    if (bytes.empty()) return make_error(ErrorCode::input, name, "the file is empty");
    if (is_fatbin(bytes)) {
        contents.container = Container::fatbin;
        SASSEMU_ASSIGN(contents.entries, read_fatbin(bytes, name));
        return contents;
    }
    if (!elf::is_elf(bytes)) {
        const bool is_text =
            std::all_of(bytes.begin(),
                        bytes.begin() + std::min<std::ptrdiff_t>(
                                            static_cast<std::ptrdiff_t>(bytes.size()), 256),
                        [](std::uint8_t c) { return c >= 9 && c < 127; });
        return make_error(ErrorCode::input, name + ": first bytes",
                          "neither a cubin, a fatbin nor an ELF executable",
                          is_text ? "PTX must first be assembled with ptxas" : "");
    }
    if (read_at<std::uint16_t>(bytes, 18) == elf::machine_cuda) return contents;
    contents.container = Container::executable;
    SASSEMU_ASSIGN(const elf::File file, elf::parse(bytes, name));
    for (const auto& section : file.sections) {
        if (section.name != ".nv_fatbin") continue;
        SASSEMU_ASSIGN(contents.entries, read_fatbin(section.bytes, name + ": .nv_fatbin"));
        return contents;
    }
    return make_error(ErrorCode::input, name, "an ELF file without a .nv_fatbin section",
                      "it holds no GPU code");
}

// How well an image suits the device; 0: not at all.
unsigned rank(Arch code, const std::optional<Arch>& wanted) {
    if (!is_known_sm(code.sm)) return 0;
    unsigned score = code.sm * 4U;
    if (code.suffix == 'a') score += 2;
    if (code.suffix == 'f') score += 1;
    if (!wanted) return sassdec::find_architecture(code.sm)->measured ? score + 8192 : score;
    if (!runs_on(code, *wanted)) return 0;
    return code == *wanted ? score + 8192 : score;
}

// The best cubin of every container that has one that fits.
std::vector<const FatbinEntry*> best_entries(const Contents& contents, const LoadOptions& options) {
    std::vector<const FatbinEntry*> best;
    for (const auto& entry : contents.entries) {
        if (!entry.info.is_elf || rank(entry.info.arch, options.arch) == 0) continue;
        if (options.container && entry.info.container != *options.container) continue;
        if (best.empty() || best.back()->info.container != entry.info.container) {
            best.push_back(&entry);
        } else if (rank(entry.info.arch, options.arch) >
                   rank(best.back()->info.arch, options.arch)) {
            best.back() = &entry;
        }
    }
    return best;
}

Error no_image(const Contents& contents, const std::string& name, const LoadOptions& options) {
    std::string hint;
    for (const auto& entry : contents.entries) {
        hint += hint.empty() ? "it holds " : ", ";
        hint += (entry.info.is_elf ? "" : "PTX for ") + entry.info.arch.name();
    }
    if (hint.empty()) hint = "it holds no images";
    return make_error(ErrorCode::input, name,
                      options.container
                          ? "no suitable cubin in container " + std::to_string(*options.container)
                      : options.arch ? "no cubin that runs on " + options.arch->name()
                                     : "no cubin for a known architecture",
                      std::move(hint));
}

Result<std::vector<Module>> load_best(Bytes bytes, const std::string& name,
                                      const LoadOptions& options) {
    SASSEMU_ASSIGN(const Contents contents, contents_of(bytes, name));
    std::vector<Module> modules;
    if (contents.container == Container::cubin) {
        SASSEMU_ASSIGN(Module module,
                       parse_cubin({bytes.begin(), bytes.end()}, name, Container::cubin, 0));
        modules.push_back(std::move(module));
        return modules;
    }
    const auto best = best_entries(contents, options);
    if (best.empty()) return no_image(contents, name, options);
    for (const FatbinEntry* entry : best) {
        const std::string label = image_label(name, entry->info);
        SASSEMU_ASSIGN(std::vector<std::uint8_t> cubin, unpack(*entry, label));
        SASSEMU_ASSIGN(Module module, parse_cubin(std::move(cubin), label, contents.container,
                                                  entry->info.arch.suffix));
        modules.push_back(std::move(module));
    }
    return modules;
}

// The architectures for which the file has an image with the kernel, whatever is to run it.
std::string architectures_of(Bytes bytes, const std::string& name, const std::string& kernel) {
    std::vector<std::string> archs;
    const Result<Contents> contents = contents_of(bytes, name);
    if (!contents) return {};
    for (const FatbinEntry& entry : contents->entries) {
        const std::string arch = entry.info.arch.name();
        if (!entry.info.is_elf || std::ranges::find(archs, arch) != archs.end()) continue;
        auto cubin = unpack(entry, name);
        if (!cubin) continue;
        const auto module =
            parse_cubin(std::move(*cubin), name, contents->container, entry.info.arch.suffix);
        if (!module) continue;
        std::vector<std::string> symbols;
        for (const Kernel& k : module->kernels()) symbols.push_back(k.name);
        if (!names::meant(symbols, kernel).empty()) archs.push_back(arch);
    }
    std::string list;
    for (const std::string& arch : archs) list += (list.empty() ? "" : ", ") + arch;
    return list;
}

}  // namespace

Result<std::vector<Module>> load_all_modules(Bytes bytes, std::string name,
                                             const LoadOptions& options) {
    return load_best(bytes, name, options);
}

Result<Module> load_module(Bytes bytes, std::string name, const LoadOptions& options) {
    SASSEMU_ASSIGN(std::vector<Module> modules, load_best(bytes, name, options));
    if (!options.kernel.empty() && modules.front().container() != Container::cubin) {
        std::vector<std::string> symbols;
        std::vector<Module*> of;
        for (Module& module : modules)
            for (const Kernel& kernel : module.kernels()) {
                // A kernel that several containers hold is the first's.
                if (std::ranges::find(symbols, kernel.name) != symbols.end()) continue;
                symbols.push_back(kernel.name);
                of.push_back(&module);
            }
        if (names::meant(symbols, options.kernel).empty()) {
            const std::string archs = architectures_of(bytes, name, options.kernel);
            const Arch asked = options.arch ? *options.arch : modules.back().arch();
            if (!archs.empty())
                return make_error(ErrorCode::not_found, name + ": kernel '" + options.kernel + "'",
                                  "is not there for " + asked.name(), "it is there for " + archs);
            if (modules.size() == 1) return std::move(modules.front());
        }
        SASSEMU_ASSIGN(const size_t found, only_meant(symbols, options.kernel, name));
        return std::move(*of[found]);
    }
    if (modules.size() == 1) return std::move(modules.front());
    // Linked runtimes bring containers without kernels of their own.
    Module* only = nullptr;
    std::string with_kernels;
    for (auto& module : modules) {
        if (module.kernels().empty()) continue;
        only = with_kernels.empty() ? &module : nullptr;
        with_kernels +=
            (with_kernels.empty() ? "" : ", ") + names::demangled(module.kernels().front().name);
    }
    if (with_kernels.empty()) return std::move(modules.front());
    if (only != nullptr) return std::move(*only);
    return make_error(ErrorCode::usage, name, "several containers have kernels: " + with_kernels,
                      "name the kernel or the container");
}

Result<Module> load_module_file(const std::string& path, const LoadOptions& options) {
    SASSEMU_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(path));
    return load_module(bytes, path, options);
}

Result<std::vector<ImageInfo>> list_images(Bytes bytes, std::string name) {
    SASSEMU_ASSIGN(const Contents contents, contents_of(bytes, name));
    std::vector<ImageInfo> images;
    if (contents.container == Container::cubin) {
        SASSEMU_ASSIGN(const Module module,
                       parse_cubin({bytes.begin(), bytes.end()}, name, Container::cubin, 0));
        ImageInfo info;
        info.kind = 2;
        info.is_elf = true;
        info.arch = module.arch();
        info.stored_size = info.size = bytes.size();
        images.push_back(info);
        return images;
    }
    for (const auto& entry : contents.entries) images.push_back(entry.info);
    return images;
}

Result<std::vector<std::uint8_t>> extract_image(Bytes bytes, std::string name,
                                                std::uint32_t container, std::uint32_t index) {
    SASSEMU_ASSIGN(const Contents contents, contents_of(bytes, name));
    if (contents.container == Container::cubin && container == 0 && index == 0) {
        return std::vector<std::uint8_t>(bytes.begin(), bytes.end());
    }
    for (const auto& entry : contents.entries) {
        if (entry.info.container != container || entry.info.index != index) continue;
        return unpack(entry, image_label(name, entry.info));
    }
    return make_error(
        ErrorCode::not_found, name,
        "no image " + std::to_string(index) + " in container " + std::to_string(container));
}

Result<std::vector<std::uint8_t>> read_file(const std::string& path) {
    const auto failed = [&](const std::string& what) {
        return make_error(ErrorCode::input, path, what);
    };
    if (path.find('\0') != std::string::npos) return failed("a path cannot hold a zero byte");
    SASSEMU_ASSIGN(const int opened, open_input(path));
    const Descriptor file(opened);
    struct stat status {};
    if (::fstat(file.number(), &status) != 0) return failed(std::strerror(errno));
    if (S_ISDIR(status.st_mode)) return failed("is a directory");
    if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode))
        return failed("is a device, not a file");
    // What is no regular file (a pipe, a file under /proc) does not say its size beforehand.
    std::vector<std::uint8_t> bytes;
    constexpr std::size_t piece = 1 << 20;
    constexpr int look_again = 20;  // ms
    const auto expected = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0));
    for (std::size_t filled = 0;;) {
        SASSEMU_TRY(process_budget().check(path));
        if (filled == bytes.size()) {
            const std::size_t size =
                std::max(filled < expected ? expected + 1 : filled + piece, filled + filled / 2);
            SASSEMU_TRY(process_budget().room_for(size, path));
            bytes.resize(size);
        }
        // Who writes into a pipe may take long, or never come: limits and signals are looked at.
        pollfd readable{file.number(), POLLIN, 0};
        if (!S_ISREG(status.st_mode) && ::poll(&readable, 1, look_again) == 0) continue;
        const std::size_t room = std::min(bytes.size() - filled, piece);
        const ssize_t count = ::read(file.number(), bytes.data() + filled, room);
        if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (count < 0) return failed("cannot be read: " + std::string(std::strerror(errno)));
        filled += static_cast<std::size_t>(count);
        if (count != 0) continue;
        bytes.resize(filled);
        return bytes;
    }
}

}  // namespace sassemu
