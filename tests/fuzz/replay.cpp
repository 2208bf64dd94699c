// SPDX-License-Identifier: Apache-2.0
// The main of a libFuzzer target where there is no libFuzzer: every file that is named is an input,
// of a .jsonl file every line; in a folder every file. `--random COUNT [SEED [BYTES]]`: besides, so
// many inputs of up to so many random bytes (1, 600).
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

size_t inputs = 0;

void replay(const std::string& text) {
    ++inputs;
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

void replay_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    if (path.extension() == ".jsonl")
        for (std::string line; std::getline(in, line);) replay(line);
    else
        replay({std::istreambuf_iterator<char>(in), {}});
}

char now[40];  // the seed at hand

void tell(int number) {
    if (::write(STDERR_FILENO, now, std::strlen(now)) < 0) ::_exit(1);
    std::signal(number, SIG_DFL);
    std::raise(number);
}

void draw(size_t count, uint32_t seed, size_t most) {
    for (size_t k = 0; k < count; ++k) {
        // Each has a seed of its own, which is told when the program dies of it.
        std::mt19937 random(seed + static_cast<uint32_t>(k));
        std::string text(1 + random() % most, '\0');
        for (char& c : text) c = static_cast<char>(random());
        std::snprintf(now, sizeof now, "seed %zu\n", seed + k);
        replay(text);
    }
}

}  // namespace

int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        if (argv[i] == std::string("--random")) {
            for (const int number : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGALRM})
                std::signal(number, tell);
            const auto number = [&](int at, unsigned long otherwise) {
                return at < argc ? std::strtoul(argv[at], nullptr, 10) : otherwise;
            };
            draw(number(i + 1, 1), static_cast<uint32_t>(number(i + 2, 1)), number(i + 3, 600));
            break;
        }
        if (!std::filesystem::is_directory(argv[i])) {
            replay_file(argv[i]);
            continue;
        }
        for (const auto& file : std::filesystem::directory_iterator(argv[i]))
            replay_file(file.path());
    }
    std::printf("%zu inputs\n", inputs);
    return inputs ? 0 : 1;
}
