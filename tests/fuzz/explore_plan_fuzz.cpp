// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any bytes -> a launch plan with a condition, beside the cubins of
// tests/explore/plans; what can be read is explored for a moment under every judge and machine.
// Build: cmake --preset fuzz && cmake --build build/fuzz --target explore_plan_fuzz Run:
// explore_plan_fuzz -max_len=4000 -max_total_time=600 corpus/ build/fuzz/seeds/explore
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "emu/explore/plan/read_plan_test.hpp"
#include "every_model.hpp"

namespace {

// A folder with the cubins, where the plans are written; gone at the end.
struct Folder {
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "plansXXXXXX").string();
        if (!mkdtemp(name.data())) std::abort();
        path = name;
        for (const auto& file : std::filesystem::directory_iterator(PLANS))
            if (file.path().extension() == ".cubin")
                std::filesystem::copy(file.path(), path / file.path().filename());
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    std::filesystem::path path;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace sassemu::explore;
    static const Folder folder;
    const std::string path = (folder.path / "plan.json").string();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
    auto test = read_plan_test(path);
    if (test)
        explore_under_every_model(*test);
    else if (test.error().message().empty())
        __builtin_trap();
    return 0;
}
