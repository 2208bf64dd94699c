// SPDX-License-Identifier: Apache-2.0
// See launcher.hpp.
#include "emu/link/launcher.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "emu/base/descriptor.hpp"
#include "emu/base/system_error.hpp"
#include "emu/link/address.hpp"
#include "emu/link/pmix.hpp"

namespace sassemu::link {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds farewell{10'000};

std::string environment(const char* name) {
    const char* const value = std::getenv(name);
    return value ? value : "";
}

// Held for as long as the process is a rank of the job: an abstract socket, which goes with it.
Result<Descriptor> claim(const std::string& job, const std::string& rank) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::string name = " sassemu rank " + rank + " of ";
    name.front() = '\0';
    const size_t room = sizeof at.sun_path - name.size();
    name += job.size() > room ? job.substr(job.size() - room) : job;
    std::memcpy(at.sun_path, name.data(), name.size());
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    if (!::bind(socket.number(), reinterpret_cast<const sockaddr*>(&at), bytes)) return socket;
    if (errno != EADDRINUSE) return system_error("rank " + rank, "it cannot be claimed");
    return Error{ErrorCode::usage, "rank " + rank,
                 "two processes of the job have it: the launcher starts one for each",
                 "one `sassemu run --ranks` at a time for each process of mpirun"};
}

// ---- addresses

struct Interface {
    sockaddr_storage at{};
    socklen_t bytes = 0;
    std::string host;  // as an address of the link has it
};

std::string host_text(const sockaddr* at) {
    char text[INET6_ADDRSTRLEN] = "";
    if (at->sa_family == AF_INET)
        return ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(at)->sin_addr, text,
                           sizeof text);
    return "[" +
           std::string(::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(at)->sin6_addr,
                                   text, sizeof text)) +
           "]";
}

// Those by which other hosts may reach this one, IPv4 first.
std::vector<Interface> interfaces() {
    std::vector<Interface> four, six;
    ifaddrs* all = nullptr;
    if (::getifaddrs(&all)) return {};
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> holder(all, ::freeifaddrs);
    for (const ifaddrs* one = all; one; one = one->ifa_next) {
        const bool up = (one->ifa_flags & IFF_UP) && !(one->ifa_flags & IFF_LOOPBACK);
        if (!up || !one->ifa_addr) continue;
        const int family = one->ifa_addr->sa_family;
        if (family != AF_INET && family != AF_INET6) continue;
        Interface found;
        found.bytes = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
        std::memcpy(&found.at, one->ifa_addr, found.bytes);
        const auto& address = reinterpret_cast<const sockaddr_in6&>(found.at).sin6_addr;
        if (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&address)) continue;
        found.host = host_text(one->ifa_addr);
        (family == AF_INET ? four : six).push_back(std::move(found));
    }
    four.insert(four.end(), six.begin(), six.end());
    return four;
}

// What the host's own name stands for, if that is one of its interfaces; otherwise the first.
Result<Interface> interface_for_others() {
    const std::vector<Interface> all = interfaces();
    if (all.empty())
        return Error{ErrorCode::system, "link",
                     "the ranks are on several hosts, and this one has no network but loopback",
                     ""};
    char name[256] = "";
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    if (!::gethostname(name, sizeof name - 1)) (void)::getaddrinfo(name, nullptr, &hints, &found);
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> holder(found, ::freeaddrinfo);
    for (const addrinfo* one = found; one; one = one->ai_next) {
        if (one->ai_family != AF_INET && one->ai_family != AF_INET6) continue;
        const std::string host = host_text(one->ai_addr);
        const auto same = std::ranges::find(all, host, &Interface::host);
        if (same != all.end()) return *same;
    }
    return all.front();
}

std::string drawn_key() {
    unsigned char bytes[32];
    if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return "";
    std::string text;
    for (const unsigned char byte : bytes)
        for (const int digit : {byte >> 4, byte & 15}) text += "0123456789abcdef"[digit];
    return text;
}

class Joined final : public Launcher {
  public:
    Joined(Descriptor claimed, std::unique_ptr<Pmix> pmix, milliseconds patience)
        : claimed_(std::move(claimed)), pmix_(std::move(pmix)), patience_(patience) {}
    ~Joined() override {
        (void)pmix_->fence(farewell);
        forget_address();
    }

    uint32_t rank() const override { return pmix_->rank; }
    uint32_t ranks() const override { return pmix_->ranks; }

    Result<void> introduce(LinkOptions& options) override {
        forget_address();
        const std::string round = "sassemu." + std::to_string(++rounds_);
        const std::string address_key = round + ".address", secret_key = round + ".key";
        SASSEMU_ASSIGN(const std::string mine, pmix_->one_node ? unix_address() : tcp_address());
        SASSEMU_TRY(pmix_->put(address_key, mine));
        if (!pmix_->one_node && !rank()) {
            const std::string key = drawn_key();
            if (key.empty())
                return Error{ErrorCode::system, "link", "the host has no random numbers", ""};
            SASSEMU_TRY(pmix_->put(secret_key, key));
        }
        const Result<void> met = pmix_->fence(patience_);
        options.rank = rank();
        options.job = pmix_->job + " " + options.job;
        options.addresses.clear();
        for (uint32_t other = 0; other < ranks(); ++other) {
            const auto address = pmix_->get(other, address_key);
            if (!address) return absent(other, met);
            options.addresses.push_back(*address);
        }
        SASSEMU_TRY(met);
        if (!pmix_->one_node) {
            SASSEMU_ASSIGN(options.security.secret, pmix_->get(0, secret_key));
        }
        return {};
    }

  private:
    // Ranks that end come to a fence as well, without an address.
    Error absent(uint32_t other, const Result<void>& met) const {
        std::string what = "has ended before it said where it listens";
        if (!met && met.error().code == ErrorCode::limit)
            what = "is not there after " + std::to_string(patience_.count() / 1000) + " s";
        else if (!met)
            what = "has not said where it listens: " + met.error().what;
        return Error{ErrorCode::system, "rank " + std::to_string(other), std::move(what),
                     "every process of the launcher must be `sassemu run --ranks` of the plan"};
    }

    // In a directory of this rank alone, best where the launcher cleans up.
    Result<std::string> unix_address() {
        for (std::string folder :
             {environment("PMIX_SERVER_TMPDIR"), environment("TMPDIR"), std::string("/tmp")}) {
            if (!folder.starts_with('/')) continue;
            folder += "/sassemu-XXXXXX";
            if (!parse_address("unix:" + folder + "/link") || !::mkdtemp(folder.data())) continue;
            folder_ = folder;
            return "unix:" + folder_ + "/link";
        }
        return system_error("/tmp", "there is no place for the link's socket");
    }

    // The port is this rank's for as long as it is bound, and the link may listen there too.
    Result<std::string> tcp_address() {
        SASSEMU_ASSIGN(Interface own, interface_for_others());
        reserved_ = Descriptor(::socket(own.at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const int on = 1;
        ::setsockopt(reserved_.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        auto* const at = reinterpret_cast<sockaddr*>(&own.at);
        auto& port = own.at.ss_family == AF_INET
                         ? reinterpret_cast<sockaddr_in&>(own.at).sin_port
                         : reinterpret_cast<sockaddr_in6&>(own.at).sin6_port;
        port = 0;
        if (::bind(reserved_.number(), at, own.bytes) ||
            ::getsockname(reserved_.number(), at, &own.bytes))
            return system_error("tcp:" + own.host, "it has no free port");
        return "tcp:" + own.host + ":" + std::to_string(ntohs(port));
    }

    void forget_address() {
        reserved_ = Descriptor();
        if (folder_.empty()) return;
        ::unlink((folder_ + "/link").c_str());
        ::rmdir(folder_.c_str());
        folder_.clear();
    }

    const Descriptor claimed_;
    const std::unique_ptr<Pmix> pmix_;
    const milliseconds patience_;
    uint32_t rounds_ = 0;
    std::string folder_;
    Descriptor reserved_;
};

}  // namespace

bool Launcher::present() {
    return !environment("PMIX_NAMESPACE").empty() && !environment("PMIX_RANK").empty();
}

Result<std::unique_ptr<Launcher>> Launcher::join(milliseconds patience) {
    // Before PMIx is spoken to: it would take a second process for the first.
    SASSEMU_ASSIGN(Descriptor claimed,
                   claim(environment("PMIX_NAMESPACE"), environment("PMIX_RANK")));
    SASSEMU_ASSIGN(auto pmix, Pmix::connect());
    return std::unique_ptr<Launcher>(
        std::make_unique<Joined>(std::move(claimed), std::move(pmix), patience));
}

}  // namespace sassemu::link
