// SPDX-License-Identifier: Apache-2.0
// The main of a libFuzzer target where there is no libFuzzer: every file that is named is an input,
// of a .jsonl file every line; in a folder every file.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
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

}  // namespace

int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
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
