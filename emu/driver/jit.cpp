// SPDX-License-Identifier: Apache-2.0
// PTX to code, and several objects to one cubin, by programs of a toolkit that are found: ptxas and
// nvlink. Nothing is left behind.
#include <fcntl.h>
#include <glob.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "emu/driver/image.hpp"

namespace sassemu::driver {

namespace {

namespace fs = std::filesystem;

bool runs(const std::string& path) { return ::access(path.c_str(), X_OK) == 0; }

// A program of the toolkit; empty: there is none.
std::string find_tool(const std::string& name) {
    if (const char* given = std::getenv("SASSEMU_PTXAS")) {
        const std::string path =
            name == "ptxas" ? given : (fs::path(given).parent_path() / name).string();
        if (runs(path)) return path;
    }
    const char* const path = std::getenv("PATH");
    std::stringstream folders(path ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');)
        if (runs(folder + "/" + name)) return folder + "/" + name;
    std::vector<std::string> patterns = {"/usr/local/cuda/bin/"};
    const char* const home = std::getenv("HOME");
    for (const char* base : {std::getenv("VIRTUAL_ENV"), std::getenv("CONDA_PREFIX"),
                             home ? std::getenv("HOME") : nullptr}) {
        if (!base) continue;
        for (const char* packages :
             {"/lib/python3*/site-packages", "/.local/lib/python3*/site-packages"})
            for (const char* wheel :
                 {"/nvidia/cu1*/bin/", "/nvidia/cuda_nvcc/bin/", "/triton/backends/nvidia/bin/"})
                patterns.push_back(std::string(base) + packages + wheel);
    }
    for (const std::string& pattern : patterns) {
        glob_t found{};
        std::string tool;
        if (!::glob((pattern + name).c_str(), 0, nullptr, &found) && found.gl_pathc &&
            runs(found.gl_pathv[0]))
            tool = found.gl_pathv[0];
        ::globfree(&found);
        if (!tool.empty()) return tool;
    }
    return {};
}

// Without what `sassemu exec` has put into the environment for the program.
int run_tool(const std::vector<std::string>& words, const std::string& output) {
    std::vector<char*> arguments, environment;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    for (char** at = environ; *at; ++at)
        if (std::strncmp(*at, "LD_", 3) != 0) environment.push_back(*at);
    environment.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    pid_t child = 0;
    const int failed = ::posix_spawn(&child, words[0].c_str(), &files, nullptr, arguments.data(),
                                     environment.data());
    posix_spawn_file_actions_destroy(&files);
    if (failed) return -1;
    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class Folder {
  public:
    Folder() {
        const char* const base = std::getenv("TMPDIR");
        std::string name = std::string(base && *base ? base : "/tmp") + "/sassemu-jit-XXXXXX";
        if (::mkdtemp(name.data())) path_ = name;
    }
    ~Folder() {
        std::error_code ignored;
        if (!path_.empty()) fs::remove_all(path_, ignored);
    }
    bool made() const { return !path_.empty(); }
    std::string file(const std::string& name) const { return path_ + "/" + name; }

  private:
    std::string path_;
};

bool put(const std::string& path, const void* bytes, size_t count) {
    std::ofstream out(path, std::ios::binary);
    out.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(count));
    return out.good();
}
std::string text_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

CUresult no_tool(const char* name) {
    say(std::string("PTX needs `") + name +
        "` of a CUDA toolkit, and none was found: `pip install nvidia-cuda-nvcc`, or set "
        "SASSEMU_PTXAS to its path");
    return CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
}

CUresult assemble(const Folder& folder, const std::string& text, const std::string& arch,
                  bool relocatable, const std::string& name, std::string& log) {
    const std::string tool = find_tool("ptxas");
    if (tool.empty()) return no_tool("ptxas");
    const std::string source = folder.file(name + ".ptx"), said = folder.file(name + ".log");
    if (!put(source, text.data(), text.size())) return CUDA_ERROR_OPERATING_SYSTEM;
    // The code that the PTX is for may be of this chip alone (sm_90a).
    std::string target = arch;
    if (const size_t at = text.find(".target"); at != std::string::npos) {
        const size_t begin = text.find("sm_", at);
        const size_t end = text.find_first_not_of("sm_0123456789", begin);
        if (begin != std::string::npos && end != std::string::npos &&
            (text[end] == 'a' || text[end] == 'f') && text.substr(begin, end - begin) == arch)
            target += text[end];
    }
    std::vector<std::string> words = {tool, "-arch=" + target};
    if (relocatable) words.emplace_back("-c");
    words.insert(words.end(), {source, "-o", folder.file(name)});
    const int rc = run_tool(words, said);
    log += text_of(said);
    if (rc == 0) return CUDA_SUCCESS;
    say("ptxas does not compile the program's PTX for " + target + ":\n" + log);
    return CUDA_ERROR_INVALID_PTX;
}

}  // namespace

CUresult compile_ptx(const std::string& text, const std::string& arch, std::vector<uint8_t>& cubin,
                     std::string& log) {
    const Folder folder;
    if (!folder.made()) return CUDA_ERROR_OPERATING_SYSTEM;
    SASSEMU_CUDA(assemble(folder, text, arch, false, "code", log));
    const std::string bytes = text_of(folder.file("code"));
    cubin.assign(bytes.begin(), bytes.end());
    return CUDA_SUCCESS;
}

struct LinkState {
    struct Input {
        CUjitInputType type;
        std::string bytes;
    };
    std::mutex mutex;
    std::vector<Input> inputs;
    std::vector<uint8_t> cubin;
    uint32_t device = 0;
};

}  // namespace sassemu::driver

namespace sassemu::driver::api {

CUresult cuLinkCreate_v2(unsigned int, CUjit_option*, void**, CUlinkState* out) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    auto state = std::make_shared<LinkState>();
    state->device = context->device;
    *out = as_handle<CUlinkState>(Driver::get().links.add(std::move(state)));
    return CUDA_SUCCESS;
}
CUresult cuLinkAddData_v2(CUlinkState handle, CUjitInputType type, void* data, size_t size,
                          const char*, unsigned int, CUjit_option*, void**) {
    const auto state = Driver::get().links.find(bits(handle));
    if (!state) return CUDA_ERROR_INVALID_HANDLE;
    if (type < CU_JIT_INPUT_CUBIN || type > CU_JIT_INPUT_LIBRARY || !size)
        return CUDA_ERROR_INVALID_VALUE;
    std::string bytes(static_cast<const char*>(data), size);
    if (type == CU_JIT_INPUT_PTX) bytes = bytes.c_str();
    const std::lock_guard guard(state->mutex);
    state->inputs.push_back({type, std::move(bytes)});
    return CUDA_SUCCESS;
}
CUresult cuLinkAddFile_v2(CUlinkState handle, CUjitInputType type, const char* path, unsigned int,
                          CUjit_option*, void**) {
    std::ifstream in(path, std::ios::binary);
    if (!in) return CUDA_ERROR_FILE_NOT_FOUND;
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    return api::cuLinkAddData_v2(handle, type, bytes.data(), bytes.size(), path, 0, nullptr,
                                 nullptr);
}
CUresult cuLinkComplete(CUlinkState handle, void** cubin, size_t* bytes) {
    const auto state = Driver::get().links.find(bits(handle));
    if (!state) return CUDA_ERROR_INVALID_HANDLE;
    const std::lock_guard guard(state->mutex);
    if (state->inputs.empty()) return CUDA_ERROR_INVALID_VALUE;
    const std::string arch = "sm_" + std::to_string(sm_of(state->device));
    std::string log, result;
    const Folder folder;
    if (!folder.made()) return CUDA_ERROR_OPERATING_SYSTEM;
    const bool alone = state->inputs.size() == 1;
    const auto extension = [](CUjitInputType type) {
        return type == CU_JIT_INPUT_FATBINARY ? ".fatbin"
               : type == CU_JIT_INPUT_LIBRARY ? ".a"
                                              : ".o";
    };
    std::vector<std::string> words = {find_tool("nvlink"), "-arch=" + arch};
    for (size_t i = 0; i < state->inputs.size(); ++i) {
        const LinkState::Input& input = state->inputs[i];
        const std::string name =
            "input" + std::to_string(i) +
            (input.type == CU_JIT_INPUT_PTX ? ".cubin" : extension(input.type));
        if (input.type == CU_JIT_INPUT_PTX)
            SASSEMU_CUDA(assemble(folder, input.bytes, arch, !alone, name, log));
        else if (!put(folder.file(name), input.bytes.data(), input.bytes.size()))
            return CUDA_ERROR_OPERATING_SYSTEM;
        words.push_back(folder.file(name));
    }
    if (alone) {
        result = text_of(words.back());
    } else {
        if (words[0].empty()) return no_tool("nvlink");
        words.insert(words.end(), {"-o", folder.file("linked")});
        if (run_tool(words, folder.file("link.log")) != 0) {
            say("nvlink does not link the program's objects:\n" + text_of(folder.file("link.log")));
            return CUDA_ERROR_INVALID_SOURCE;
        }
        result = text_of(folder.file("linked"));
    }
    state->cubin.assign(result.begin(), result.end());
    *cubin = state->cubin.data();
    if (bytes) *bytes = state->cubin.size();
    return CUDA_SUCCESS;
}
CUresult cuLinkDestroy(CUlinkState handle) {
    return Driver::get().links.take(bits(handle)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace sassemu::driver::api
