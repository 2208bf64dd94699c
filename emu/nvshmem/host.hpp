// SPDX-License-Identifier: Apache-2.0
// What a C++ program does besides the NVSHMEM API (nvshmem.h): its threads are the PEs, and each
// says which GPU of which machine is its own, as cudaSetDevice() does elsewhere.
#pragma once

#include <string>

#include "emu/machine.hpp"
#include "emu/nvshmem/world.hpp"
#include "nvshmem.h"

namespace sassemu::nvshmem {

// For the calling thread, before nvshmem_init() or nvshmemx_init_attr(): PE `gpu` of the machine's
// GPUs. All threads of a machine give the same options; pes is the number of GPUs, or nranks.
void use(Machine& machine, uint32_t gpu, const Options& options = {});
// Of the calling thread, between init and finalize; null otherwise. Modules are bound by it.
World* current();
// What went wrong in the calling thread's last call that failed, and forgets it; empty: nothing. It
// was printed to stderr too.
std::string take_error();
// For the *_on_stream functions of the PE whose stream it is.
cudaStream_t stream_handle(StreamId stream);

}  // namespace sassemu::nvshmem
