/* SPDX-License-Identifier: Apache-2.0 */
/* The role of instruction semantics: own behaviour for instructions. What belongs here: that role.
 */
#ifndef SASSEMU_SEMANTICS_H
#define SASSEMU_SEMANTICS_H

#include <sassemu/host.h>

SASSEMU_BEGIN

enum sassemu_outcome {
    SASSEMU_EXECUTED, /* the path goes on behind the instruction */
    SASSEMU_PASS,     /* as if there were no override, this time */
    SASSEMU_FAULTED   /* host->fault was called */
};

typedef struct sassemu_semantics {
    uint32_t size;
    uint32_t reserved;
    /* Whether `execute` stands in for this instruction; asked once per instruction before it can
     * run. It may also be one that the emulator does not execute. */
    uint32_t (*overrides)(void* self, sassemu_insn);
    /* `lanes` are those that execute it, never 0. Operands: insn_operand; registers: row,
     * predicate, uniform. */
    int32_t (*execute)(void* self, sassemu_warp, sassemu_insn, uint32_t lanes);
} sassemu_semantics;

SASSEMU_END

#endif
