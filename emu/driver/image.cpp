// SPDX-License-Identifier: Apache-2.0
// See image.hpp.
#include "emu/driver/image.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace sassemu::driver {

namespace {

constexpr uint32_t wrapper_magic = 0x466243b1, fatbin_magic = 0xba55ed50;

struct Wrapper {
    uint32_t magic, version;
    const void* data;
    const void* filename;
};
struct FatbinHeader {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes;
};

template <class T>
T read_at(const void* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

// From the ELF header on: the section table, the program headers and what they point to.
uint64_t elf_bytes(const uint8_t* image) {
    const auto header = read_at<Elf64_Ehdr>(image);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shnum > 65000) return 0;
    constexpr uint64_t most = uint64_t{1} << 32;
    uint64_t end = std::max<uint64_t>(
        {sizeof header, header.e_shoff + uint64_t{header.e_shnum} * sizeof(Elf64_Shdr),
         header.e_phoff + uint64_t{header.e_phnum} * sizeof(Elf64_Phdr)});
    if (header.e_shoff > most || header.e_phoff > most) return 0;
    if (header.e_shentsize != sizeof(Elf64_Shdr) && header.e_shnum) return 0;
    for (unsigned i = 0; i < header.e_shnum; ++i) {
        const auto section =
            read_at<Elf64_Shdr>(image + header.e_shoff + uint64_t{i} * sizeof(Elf64_Shdr));
        if (section.sh_type == SHT_NOBITS) continue;
        if (section.sh_offset > most || section.sh_size > most) return 0;
        end = std::max(end, section.sh_offset + section.sh_size);
    }
    return end;
}

}  // namespace

Bytes extent_of(const void* image) {
    const auto* at = static_cast<const uint8_t*>(image);
    uint32_t magic = read_at<uint32_t>(at);
    if (magic == wrapper_magic) {
        at = static_cast<const uint8_t*>(read_at<Wrapper>(at).data);
        if (!at) return {};
        magic = read_at<uint32_t>(at);
    }
    if (magic == fatbin_magic) {
        const auto header = read_at<FatbinHeader>(at);
        if (header.version != 1 || header.header_bytes < 16 || header.bytes > uint64_t{1} << 33)
            return {};
        return {at, header.header_bytes + header.bytes};
    }
    if (!std::memcmp(at, ELFMAG, SELFMAG)) return {at, elf_bytes(at)};
    return {};
}

LoadedFile::~LoadedFile() {
    for (const auto& [device, id] : placed) (void)Driver::get().machine().unload(device, id);
}

CUresult LoadedFile::place(uint32_t device, ModuleId& out) {
    const std::lock_guard guard(mutex);
    if (const auto found = placed.find(device); found != placed.end()) {
        out = found->second;
        return CUDA_SUCCESS;
    }
    const auto id = Driver::get().gpu(device).load(module);
    if (!id) return refused("module", id.error());
    placed.emplace(device, *id);
    out = *id;
    return CUDA_SUCCESS;
}

CUresult load_bytes(Bytes bytes, uint32_t device, const std::string& name,
                    std::shared_ptr<LoadedFile>& out, std::string* log) {
    const Arch arch{static_cast<uint16_t>(sm_of(device)), 0};
    LoadOptions options;
    options.arch = arch;
    std::vector<uint8_t> compiled;
    // PTX text has no head of its own.
    const bool text = bytes.empty() || (read_at<uint32_t>(bytes.data()) != fatbin_magic &&
                                        std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0);
    std::string said;
    if (text) {
        const std::string ptx(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        SASSEMU_CUDA(compile_ptx(ptx, arch.name(), compiled, log ? *log : said));
        bytes = compiled;
    } else if (!std::memcmp(bytes.data(), ELFMAG, SELFMAG)) {
        options.arch.reset();  // a cubin is what it is; whether it runs is asked below
    }
    auto module = load_module(bytes, name, options);
    const auto images =
        text ? Result<std::vector<ImageInfo>>(std::vector<ImageInfo>{}) : list_images(bytes, name);
    if ((!module || !runs_on(module->arch(), arch)) && images && !text) {
        // No code for this device: PTX, if there is some for it.
        for (const ImageInfo& image : *images) {
            if (image.kind != 1 || image.arch.sm > arch.sm) continue;
            auto ptx = extract_image(bytes, name, image.container, image.index);
            if (!ptx) continue;
            const std::string source(ptx->begin(), ptx->end());
            SASSEMU_CUDA(compile_ptx(source.c_str(), arch.name(), compiled, log ? *log : said));
            module = load_module(compiled, name, {});
            break;
        }
    }
    if (module && !runs_on(module->arch(), arch)) {
        std::string has;
        if (images)
            for (const ImageInfo& image : *images)
                has += (has.empty() ? "" : ", ") + image.arch.name() +
                       (image.kind == 1 ? " (PTX)" : "");
        say(name + " has code for " + (has.empty() ? module->arch().name() : has) +
            ", the device '" + Driver::get().config.devices[device].name + "' is " + arch.name() +
            ": --device chooses another");
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    if (!module) {
        const CUresult why = refused("module", module.error());
        return why == CUDA_ERROR_INVALID_VALUE ? CUDA_ERROR_INVALID_IMAGE
               : why == CUDA_ERROR_NOT_FOUND   ? CUDA_ERROR_NO_BINARY_FOR_GPU
                                               : why;
    }
    out = std::make_shared<LoadedFile>();
    out->module = std::make_shared<const Module>(std::move(*module));
    return CUDA_SUCCESS;
}

CUresult load_image(const void* image, uint32_t device, const std::string& name,
                    std::shared_ptr<LoadedFile>& out, std::string* log) {
    Bytes bytes = extent_of(image);
    if (bytes.empty()) {
        // PTX is text that ends with a zero.
        const auto* text = static_cast<const char*>(image);
        size_t length = 0;
        while (length < 16 && text[length] &&
               (text[length] == '\n' || text[length] == '\t' ||
                (text[length] >= ' ' && text[length] < 127)))
            ++length;
        if (length < 8 && text[length]) return CUDA_ERROR_INVALID_IMAGE;
        if (length < 8) return CUDA_ERROR_INVALID_IMAGE;
        bytes = {reinterpret_cast<const uint8_t*>(image), std::strlen(text)};
    }
    return load_bytes(bytes, device, name, out, log);
}

CUresult Library::file(uint32_t device, std::shared_ptr<LoadedFile>& out) {
    const std::lock_guard guard(mutex);
    auto& known = files[device];
    if (!known) {
        if (const CUresult why = own.empty() ? load_image(image, device, name, known)
                                             : load_bytes(own, device, name, known);
            why != CUDA_SUCCESS)
            return why;
    }
    out = known;
    return CUDA_SUCCESS;
}

CUresult find_function(CUfunction handle, const std::shared_ptr<Context>& context,
                       std::shared_ptr<Function>& out) {
    Driver& d = Driver::get();
    out = d.functions.find(bits(handle));
    if (out) {
        const auto owner = out->context.lock();
        if (!owner || !owner->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        return out->device == context->device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    }
    if (!d.kernels.find(bits(handle))) return CUDA_ERROR_INVALID_HANDLE;
    CUfunction function = nullptr;
    SASSEMU_CUDA(api::cuKernelGetFunction(&function, as_handle<CUkernel>(bits(handle))));
    out = d.functions.find(bits(function));
    return out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace sassemu::driver
