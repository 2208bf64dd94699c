// SPDX-License-Identifier: Apache-2.0
// Every instruction that executes: the families' headers, one lower() overload per typed struct.
#pragma once

#include "emu/isa/control.hpp"
#include "emu/isa/float_pairs.hpp"
#include "emu/isa/float_quads.hpp"
#include "emu/isa/uniform_float.hpp"
#if __has_include("emu/isa/integer.hpp")
#include "emu/isa/integer.hpp"
#endif
#if __has_include("emu/isa/move.hpp")
#include "emu/isa/move.hpp"
#endif
#if __has_include("emu/isa/uniform.hpp")
#include "emu/isa/uniform.hpp"
#endif
#if __has_include("emu/isa/float.hpp")
#include "emu/isa/float.hpp"
#endif
#if __has_include("emu/isa/double.hpp")
#include "emu/isa/double.hpp"
#endif
#if __has_include("emu/isa/half.hpp")
#include "emu/isa/half.hpp"
#endif
#if __has_include("emu/isa/conversion.hpp")
#include "emu/isa/conversion.hpp"
#endif
#if __has_include("emu/isa/special.hpp")
#include "emu/isa/special.hpp"
#endif
#if __has_include("emu/isa/memory.hpp")
#include "emu/isa/memory.hpp"
#endif
#if __has_include("emu/isa/atomic.hpp")
#include "emu/isa/atomic.hpp"
#endif
#if __has_include("emu/isa/matrix.hpp")
#include "emu/isa/matrix.hpp"
#endif
#if __has_include("emu/isa/texture.hpp")
#include "emu/isa/texture.hpp"
#endif
#if __has_include("emu/isa/barrier.hpp")
#include "emu/isa/barrier.hpp"
#endif
#if __has_include("emu/isa/warp.hpp")
#include "emu/isa/warp.hpp"
#endif
#if __has_include("emu/isa/system.hpp")
#include "emu/isa/system.hpp"
#endif
#include "emu/isa/async_store.hpp"
#include "emu/isa/bulk.hpp"
#include "emu/isa/mbarrier.hpp"
#include "emu/isa/multicast.hpp"
#include "emu/isa/tensor_memory.hpp"
#include "emu/isa/warpgroup.hpp"
