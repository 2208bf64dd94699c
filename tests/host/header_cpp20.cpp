// SPDX-License-Identifier: Apache-2.0
// The wrapper alone in C++20, every member of it.
#include <sassemu_host/host.hpp>

namespace host_process = sassemu::host_process;
template class host_process::AtomicRef<int32_t>;
template class host_process::AtomicRef<uint64_t>;
float host_header_in_cpp(const host_process::AtomicRef<float>& value) {
    return value.exchange(1.0f) + value.fetch_sub(2.0f) + value;
}
