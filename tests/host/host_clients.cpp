// SPDX-License-Identifier: Apache-2.0
// A plugin for the tests of host processes: a line for each access that is no kernel's.
#include <sassemu/plugin.hpp>

namespace {

class HostClients : public sassemu::Plugin {
  public:
    static constexpr auto name = "host_clients", summary = "accesses of the host, a line each";
    static constexpr bool in_flight = true;
    explicit HostClients(const sassemu::Start& start) : Plugin(start) {}
    void client(const sassemu_client_access& a) {
        if (a.kind != SASSEMU_AGENT_HOST || !a.bytes) return;
        char line[128];
        std::snprintf(line, sizeof line, "client op %u waited %u bytes %llu\n", unsigned{a.op},
                      unsigned{a.waited}, static_cast<unsigned long long>(a.bytes));
        print(line);
    }
};

}  // namespace

SASSEMU_PLUGIN(HostClients)
