// SPDX-License-Identifier: Apache-2.0
// Runs the programs of a list in the emulator, as record.cpp does on a chip, into a file of the
// same format.
//   emulate LIST DIRECTORY RESULT [reference] [seed=N] [threads=N]
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/hardware/programs/run.hpp"

int main(int argc, char** argv) {
    using namespace sassemu;
    if (argc < 4) return 2;
    GpuOptions options;
    options.threads = 1;
    for (int i = 4; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "reference") options.reference = true;
        if (word.starts_with("seed=")) options.seed = std::strtoull(word.c_str() + 5, nullptr, 0);
        if (word.starts_with("threads="))
            options.threads = static_cast<uint32_t>(std::atoi(word.c_str() + 8));
    }
    std::ifstream list(argv[1]);
    FILE* result = std::fopen(argv[3], "wb");
    if (!list || !result) return 2;
    uint32_t index = 0;
    for (std::string line; std::getline(list, line); ++index) {
        programs::Program p;
        std::string file, grid, place;
        std::istringstream in(line);
        in >> p.name >> file >> p.kernel >> grid >> p.block >> p.bytes >> p.seed >> place;
        std::sscanf(grid.c_str(), "%uc%u", &p.grid, &p.cluster);
        std::ifstream f(std::string(argv[2]) + "/" + file, std::ios::binary);
        const std::vector<char> cubin{std::istreambuf_iterator<char>(f), {}};
        const programs::Outcome o = programs::run(p, std::as_bytes(std::span(cubin)), options);
        if (!o.wrong.empty()) std::printf("%s: %s\n", p.name.c_str(), o.wrong.c_str());
        const uint32_t head[3] = {index, o.wrong.empty() ? 0u : 1u,
                                  static_cast<uint32_t>(o.output.size())};
        std::fwrite(head, 1, sizeof head, result);
        std::fwrite(o.output.data(), 1, o.output.size(), result);
    }
    return std::fclose(result) ? 2 : 0;
}
