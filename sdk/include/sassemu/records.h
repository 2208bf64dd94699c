/* SPDX-License-Identifier: Apache-2.0 */
/* What observers are told in blocks, where a call per instruction is too dear (since ABI 1.6):
 * which instructions ran, as straight runs, and how often each did. The engine fills both while it
 * runs. What belongs here: their layout. When they come, and how they are asked for, is in
 * observer.h. */
#ifndef SASSEMU_RECORDS_H
#define SASSEMU_RECORDS_H

#include <sassemu/memory.h>

SASSEMU_BEGIN

/* A straight run: `count` instructions that one warp executed, one behind the other in the code and
 * in time, each by the same lanes. */
typedef struct sassemu_record {
    uint64_t clock; /* warp instructions that the CTA had issued with its first */
    uint32_t insn;  /* index of the first: insn_code_offset() / 16 */
    uint32_t count;
    uint32_t lanes; /* that executed them; 0: the guard was false in all (SASSEMU_RECORD_SKIPPED) */
    uint32_t active; /* lanes of the path */
    uint32_t warp;   /* index in the CTA */
    uint32_t reserved;
} sassemu_record;

#define SASSEMU_RECORD_BEFORE ~0u
/* An access to memory of one recorded instruction, with the members of sassemu_access. A load that
 * a memory model holds back is here when it is issued, without its values, and so are both halves
 * of an LDGSTS; texture reads come texel by texel, with lanes = 1. */
typedef struct sassemu_recorded_access {
    uint32_t record; /* index in the block; SASSEMU_RECORD_BEFORE: the last instruction of the last
                        record of the CTA's block before */
    uint32_t step;   /* which instruction of the record, from 0 */
    uint32_t lanes;
    uint32_t flags;
    uint32_t address; /* index of its first in `address`; there is one per lane of `lanes`, lanes
                         ascend */
    uint32_t word;    /* index of its first in `word`: `words` of each lane, then `result_words` */
    uint8_t op, space, bytes, atomic;
    uint8_t words, result_words; /* 0: not asked for, or not there. Loads: what was loaded; stores
                                    and atomics: the operand; results: what an atomic returned */
    uint8_t reserved[2];
} sassemu_recorded_access;

/* A block: of one CTA, in the order of execution. All of it is valid during the call only. */
typedef struct sassemu_records {
    uint32_t size;
    uint32_t records, accesses; /* how many */
    uint32_t reserved;
    sassemu_cta cta;
    sassemu_module module; /* of all its instructions */
    const sassemu_record* record;
    const sassemu_recorded_access* access;
    const uint64_t* address; /* as the instructions form them */
    const uint32_t* word;
} sassemu_records;

/* Of one instruction, over a launch. */
typedef struct sassemu_count {
    uint64_t issued;  /* times that a path came to it */
    uint64_t skipped; /* of these, with a guard that was false in all lanes */
    uint64_t active;  /* lanes of these paths, summed */
    uint64_t lanes;   /* of these, lanes that executed it */
} sassemu_count;
/* Of `count` neighbouring instructions. Whatever lies outside was not issued. */
typedef struct sassemu_counts {
    uint32_t size;
    uint32_t reserved;
    sassemu_module module;
    uint64_t insn, count; /* insn_code_offset() / 16 of the first, and how many */
    const sassemu_count* at;
} sassemu_counts;

SASSEMU_END

#endif
