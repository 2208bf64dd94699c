// SPDX-License-Identifier: Apache-2.0
// The main of a libFuzzer target where there is no libFuzzer: every file that is named is an input,
// of a .jsonl file every line; in a folder every file. `--random COUNT [SEED [BYTES]]`, at the end:
// so many inputs more, of those that were named with a few bytes changed, or where none was of up
// to so many random bytes (1, 600).
#include <unistd.h>

#include <algorithm>
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
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

size_t inputs = 0;
std::vector<std::string> known;

void replay(const std::string& text) {
    ++inputs;
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

void replay_known(std::string text) {
    replay(text);
    known.push_back(std::move(text));
}

void replay_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    if (path.extension() == ".jsonl")
        for (std::string line; std::getline(in, line);) replay_known(line);
    else
        replay_known({std::istreambuf_iterator<char>(in), {}});
}

char now[40];  // the seed at hand

void tell(int number) {
    if (::write(STDERR_FILENO, now, std::strlen(now)) < 0) ::_exit(1);
    std::signal(number, SIG_DFL);
    std::raise(number);
}

// Of random bytes, or of a known input with a few of its bytes changed.
void draw(size_t count, uint32_t seed, size_t most) {
    for (size_t k = 0; k < count; ++k) {
        // Each has a seed of its own, which is told when the program dies of it.
        std::mt19937 random(seed + static_cast<uint32_t>(k));
        std::string text(1 + random() % most, '\0');
        if (!known.empty()) text = known[random() % known.size()];
        const size_t changes =
            known.empty() ? text.size() : std::min<size_t>(text.size(), 1 + random() % 12);
        for (size_t n = 0; n < changes; ++n)
            text[known.empty() ? n : random() % text.size()] = static_cast<char>(random());
        std::snprintf(now, sizeof now, "seed %zu\n", seed + k);
        replay(text);
        if (count > 1000 && (k + 1) % 1000 == 0) {
            std::printf("%zu of %zu\n", k + 1, count);
            std::fflush(stdout);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        if (argv[i] == std::string("--random")) {
            for (const int number : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGALRM, SIGPROF})
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
