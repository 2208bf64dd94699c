// SPDX-License-Identifier: Apache-2.0
// See emulator.hpp.
#include "tests/host/emulator.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace test {

Folder::Folder() {
    char name[] = "/tmp/sassemu_host_XXXXXX";
    path_ = ::mkdtemp(name);
}
Folder::~Folder() {
    std::error_code gone;
    std::filesystem::remove_all(path_, gone);
}

std::string plan_of(const Folder& folder, const std::string& cubin, const std::string& kernel,
                    const std::string& buffers, const std::string& args) {
    const std::string path = folder / "plan.json";
    std::ofstream(path) << "{\"arch\": \"sm_90\", \"module\": \"" SASSEMU_SOURCE_DIR "/cubins/"
                        << cubin << "/sm_90.cubin\", \"timeLimit\": 50, \"buffers\": {" << buffers
                        << "}, \"launches\": [{\"kernel\": \"" << kernel
                        << "\", \"grid\": [1], \"block\": [1], \"args\": [" << args << "]}]}";
    return path;
}

Emulator::Emulator(const Folder& folder, const std::string& plan, std::vector<std::string> more)
    : address_("unix:" + folder / "socket"), file_(folder / "output") {
    std::vector<std::string> words{SASSEMU_PROGRAM, "run", plan};
    if (std::ranges::find(more, "--listen") == more.end())
        more.insert(more.end(), {"--listen", address_});
    words.insert(words.end(), more.begin(), more.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_ = ::fork();
    if (pid_) return;
    const int out = ::open(file_.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    ::dup2(out, 1);
    ::dup2(out, 2);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
}

Emulator::~Emulator() {
    if (pid_ < 0) return;
    signal(SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

void Emulator::signal(int number) const { ::kill(pid_, number); }

int Emulator::end() {
    const auto late = std::chrono::steady_clock::now() + long_enough;
    int status = 0;
    while (::waitpid(pid_, &status, WNOHANG) == 0) {
        if (std::chrono::steady_clock::now() > late) return -1;
        std::this_thread::sleep_for(1ms);
    }
    pid_ = -1;
    std::ifstream file(file_);
    output_.assign(std::istreambuf_iterator<char>(file), {});
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace test
