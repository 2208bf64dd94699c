// SPDX-License-Identifier: Apache-2.0
// Records the cases of cases.hpp on a GPU (sm_90a).
//   record TEMPLATE DIRECTORY SUITE       a hash of 32 bits per case, and all results: SUITE,
//   SUITE.all
#include "machine.hpp"

namespace {

void save(const std::string& name, const std::vector<uint32_t>& words) {
    FILE* f = std::fopen(name.c_str(), "wb");
    if (!f || std::fwrite(words.data(), 4, words.size(), f) != words.size() || std::fclose(f))
        std::exit(1);
    std::printf("%s: %zu words\n", name.c_str(), words.size());
}

}  // namespace

int main(int argc, char** argv) {
    using namespace warpgroup;
    if (argc != 4) return 2;
    Machine m(argv[1]);
    const std::string suite = argv[3], name = std::string(argv[2]) + "/" + suite;
    const std::vector<Case> cases = of_record(suite);
    const std::vector<uint32_t> results = m.run(cases);
    std::vector<uint32_t> hashes;
    const uint32_t* at = results.data();
    for (const Case& c : cases) {
        hashes.push_back(hash(at, c.launch.count * 128));
        at += c.launch.count * 128;
    }
    save(name, hashes);
    save(name + ".all", results);
}
