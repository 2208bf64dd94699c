/* SPDX-License-Identifier: Apache-2.0 */
/* The version of the plugin ABI, and the rules that keep a plugin loadable. Nothing else belongs
 * here.
 *
 * A plugin is a shared object that exports one symbol, `sassemu_plugin_entry` (plugin.h). It links
 * against nothing of ours: what it may ask comes as a table of functions (host.h).
 *
 * - Every struct that crosses the border begins with `size`, its size in bytes where it was
 * compiled. The reader looks only at members within it. New members come at the end; a member never
 * moves or changes its meaning.
 * - Handles (sassemu_insn, sassemu_warp, ...) point at things that only the emulator knows.
 * - A new minor number adds; a new major number breaks. The emulator refuses another major number,
 * and a minor number above its own.
 * - Text is UTF-8 and ends with 0. Text that the emulator hands out lives as long as the handle it
 * was asked of, unless stated. Text that a plugin hands out need only live as long as the call.
 * - Calls never throw. An exception must not leave a callback (the C++ wrapper, plugin.hpp, sees to
 * that). */
#ifndef SASSEMU_ABI_H
#define SASSEMU_ABI_H

#include <stddef.h>
#include <stdint.h>

#define SASSEMU_ABI_MAJOR 1u
#define SASSEMU_ABI_MINOR 13u
#define SASSEMU_ABI_VERSION (SASSEMU_ABI_MAJOR << 16 | SASSEMU_ABI_MINOR)

#ifdef __cplusplus
#define SASSEMU_EXTERN_C extern "C"
#define SASSEMU_BEGIN extern "C" {
#define SASSEMU_END }
#else
#define SASSEMU_EXTERN_C
#define SASSEMU_BEGIN
#define SASSEMU_END
#endif

#define SASSEMU_EXPORT SASSEMU_EXTERN_C __attribute__((visibility("default")))

/* Whether a struct that came from elsewhere has a member. */
#define SASSEMU_HAS(pointer, type, member) \
    ((pointer)->size >= offsetof(type, member) + sizeof(((type*)0)->member))

SASSEMU_BEGIN

/* Handles. Each lives from the callback that shows it first to the one that ends it; an instruction
 * as long as its module, a warp as long as its CTA. They may be compared and used as keys within
 * that time. */
typedef struct sassemu_session_* sassemu_session; /* one plugin in one run */
typedef struct sassemu_module_* sassemu_module;
typedef struct sassemu_launch_* sassemu_launch;
typedef struct sassemu_cta_* sassemu_cta;
typedef struct sassemu_warp_* sassemu_warp;
typedef const struct sassemu_insn_* sassemu_insn;

typedef struct sassemu_dim3 {
    uint32_t x, y, z;
} sassemu_dim3;

SASSEMU_END

#endif
