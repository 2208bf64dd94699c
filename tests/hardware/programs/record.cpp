// SPDX-License-Identifier: Apache-2.0
// Runs programs on a GPU, one after the other, whatever they do: a program that hangs or faults
// takes its process with it, and the next one gets a new process.
//   record LIST DIRECTORY RESULT [PROCESSES [MILLISECONDS]]     (of patience with a program: 2000)
// A line of LIST: NAME FILE KERNEL GRID BLOCK BYTES SEED PLACE: DIRECTORY/FILE is a cubin whose
// KERNEL(out, in) has GRID CTAs of BLOCK threads (GRID "2c2": in clusters of two) and BYTES of
// output, in device memory (PLACE d) or in the host's (h: what was written stays to be read when
// the program hangs). `in` are 64 KiB made of SEED. RESULT.0, RESULT.1, ... (of each process): for
// each program u32 number in LIST, u32 status (0 ran, 1 hung, otherwise CUresult + 1000 x the
// call), u32 bytes, the output. Built with: g++ -O2 -std=c++17 record.cpp -ldl
#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int hung = 1;
constexpr size_t input_bytes = 64 << 10;

struct Program {
    std::string name, file, kernel, grid;
    unsigned block = 0, bytes = 0;
    uint64_t seed = 0;
    char place = 'd';
};

struct Progress {  // of a process, shared with its parent
    std::atomic<uint32_t> next{0};
};

void* driver() {
    static void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) std::fputs("no libcuda.so.1\n", stderr), std::exit(2);
    return library;
}
template <class... A>
int call(const char* name, A... a) {
    const auto f = reinterpret_cast<int (*)(A...)>(dlsym(driver(), name));
    return f ? f(a...) : 999;
}

uint64_t mixed(uint64_t& state) {
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

void put(FILE* f, uint32_t index, uint32_t status, const void* data, uint32_t bytes) {
    const uint32_t head[3] = {index, status, bytes};
    std::fwrite(head, 1, sizeof head, f);
    std::fwrite(data, 1, bytes, f);
    std::fflush(f);
}

struct LaunchConfig {  // CUlaunchConfig
    unsigned grid[3], block[3], shared;
    void* stream;
    void* attributes;
    unsigned count;
};
struct LaunchAttribute {  // CUlaunchAttribute: CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION is 4
    int id = 4;
    char pad[4] = {};
    unsigned value[16] = {};
};

// Runs the programs number, number + step, ... from where the progress says.
void run_all(const std::vector<Program>& programs, const std::string& directory, FILE* result,
             Progress& progress, uint32_t step, std::chrono::milliseconds patience) {
    void* context = nullptr;
    int device = 0;
    if (call("cuInit", 0u) || call("cuDeviceGet", &device, 0) ||
        call("cuDevicePrimaryCtxRetain", &context, device) || call("cuCtxSetCurrent", context))
        _exit(3);
    unsigned long long in = 0, out = 0;
    void* host = nullptr;
    constexpr size_t most = 1 << 20;
    call("cuCtxSetLimit", 0, size_t{16} << 10);  // CU_LIMIT_STACK_SIZE: programs recurse
    if (call("cuMemAlloc_v2", &in, input_bytes) || call("cuMemAlloc_v2", &out, most) ||
        call("cuMemHostAlloc", &host, most, 2u))
        _exit(3);
    std::vector<uint64_t> words(input_bytes / 8);
    std::vector<char> read(most);
    for (uint32_t i = progress.next; i < programs.size(); i += step) {
        progress.next = i;
        const Program& p = programs[i];
        uint64_t state = p.seed;
        for (uint64_t& w : words) w = mixed(state);
        const bool on_host = p.place == 'h';
        unsigned long long buffer = out;
        if (on_host) call("cuMemHostGetDevicePointer_v2", &buffer, host, 0u);
        call("cuMemcpyHtoD_v2", in, static_cast<const void*>(words.data()), input_bytes);
        call("cuMemsetD8_v2", out, static_cast<unsigned char>(0), most);
        std::memset(host, 0, most);
        call("cuCtxSynchronize");
        void *module = nullptr, *function = nullptr;
        int error = call("cuModuleLoad", &module, (directory + "/" + p.file).c_str());
        if (error || (error = call("cuModuleGetFunction", &function, module, p.kernel.c_str()))) {
            put(result, i, 1000 + error, nullptr, 0);
            continue;
        }
        void* parameters[] = {&buffer, &in};
        unsigned grid = 1, cluster = 0;
        std::sscanf(p.grid.c_str(), "%uc%u", &grid, &cluster);
        LaunchAttribute attribute;
        attribute.value[0] = cluster, attribute.value[1] = attribute.value[2] = 1;
        LaunchConfig config{{grid, 1, 1}, {p.block, 1, 1}, 0, nullptr, &attribute, cluster != 0};
        error = call("cuLaunchKernelEx", &config, function, static_cast<void**>(parameters),
                     static_cast<void**>(nullptr));
        if (error) {
            put(result, i, 2000 + error, nullptr, 0);
            if (error >= 700) std::exit(0);
            call("cuModuleUnload", module);
            continue;
        }
        const auto start = std::chrono::steady_clock::now();
        while ((error = call("cuStreamQuery", static_cast<void*>(nullptr))) == 600) {
            if (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(5)) continue;
            usleep(500);
            if (std::chrono::steady_clock::now() - start > patience) {
                put(result, i, hung, host, on_host ? p.bytes : 0);
                _exit(0);
            }
        }
        if (error) {
            put(result, i, 3000 + error, host, on_host ? p.bytes : 0);
            _exit(0);
        }
        if (!on_host)
            call("cuMemcpyDtoH_v2", static_cast<void*>(read.data()), out, size_t{p.bytes});
        put(result, i, 0, on_host ? host : read.data(), p.bytes);
        call("cuModuleUnload", module);
    }
    progress.next = static_cast<uint32_t>(programs.size());
    _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    std::vector<Program> programs;
    std::ifstream list(argv[1]);
    for (std::string line; std::getline(list, line);) {
        Program p;
        std::istringstream in(line);
        if (in >> p.name >> p.file >> p.kernel >> p.grid >> p.block >> p.bytes >> p.seed >> p.place)
            programs.push_back(p);
    }
    const uint32_t processes = argc > 4 ? static_cast<uint32_t>(std::atoi(argv[4])) : 4;
    const std::chrono::milliseconds patience(argc > 5 ? std::atoi(argv[5]) : 2000);
    auto* progress =
        static_cast<Progress*>(mmap(nullptr, processes * sizeof(Progress), PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    std::vector<pid_t> running(processes, 0);
    std::vector<uint32_t> from(processes), silent(processes, 0);
    const auto start = [&](uint32_t k) {
        from[k] = progress[k].next;
        running[k] = fork();
        if (running[k]) return;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        FILE* result = std::fopen((argv[3] + ("." + std::to_string(k))).c_str(), "ab");
        if (!result) _exit(4);
        run_all(programs, argv[2], result, progress[k], processes, patience);
    };
    for (uint32_t k = 0; k < processes; ++k) {
        progress[k].next = k;
        start(k);
    }
    for (uint32_t left = processes; left;) {
        int status = 0;
        const pid_t pid = waitpid(-1, &status, 0);
        if (pid < 0) break;
        for (uint32_t k = 0; k < processes; ++k) {
            if (running[k] != pid) continue;
            if (progress[k].next >= programs.size() ||
                (WIFEXITED(status) && WEXITSTATUS(status) > 1)) {
                running[k] = 0;
                --left;
                if (WIFEXITED(status) && WEXITSTATUS(status) > 1)
                    std::fprintf(stderr, "process %u: %d\n", k, status);
                continue;
            }
            // The program at which it ended has been written, or crashed the process.
            progress[k].next += processes;
            if (progress[k].next >= programs.size()) {
                running[k] = 0;
                --left;
            } else {
                start(k);
            }
        }
    }
    return 0;
}
