// SPDX-License-Identifier: Apache-2.0
// The models of this plugin: the role of sassemu/consistency.h.
#pragma once

#include <sassemu/consistency.h>

#include <cstddef>

namespace sassemu::ptx {

const SassemuConsistencyModel* consistency_models(size_t* count);

}  // namespace sassemu::ptx
