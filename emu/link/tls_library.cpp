// SPDX-License-Identifier: Apache-2.0
// See security.hpp: opens the shared object.
#include <dlfcn.h>

#include "emu/link/security.hpp"

namespace sassemu::link {

Result<std::shared_ptr<Tls>> open_tls(const Security& security) {
    // Never closed: OpenSSL has told the process what to do at its end.
    void* const library = ::dlopen("libsassemu_tls.so", RTLD_NOW | RTLD_LOCAL);
    void* const make = library ? ::dlsym(library, "sassemu_make_tls") : nullptr;
    if (!make) {
        const char* const why = ::dlerror();
        return Error{ErrorCode::system, "TLS",
                     std::string("its library cannot be loaded: ") + (why ? why : "unknown"),
                     "it needs OpenSSL 3 (Debian: libssl3), and belongs beside libsassemu.so"};
    }
    Result<std::shared_ptr<Tls>> made = std::shared_ptr<Tls>();
    reinterpret_cast<decltype(&sassemu_make_tls)>(make)(security, made);
    return made;
}

}  // namespace sassemu::link
