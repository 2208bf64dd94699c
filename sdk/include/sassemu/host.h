/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin may ask of the emulator: a table of functions, handed to `create`. What belongs
 * here: that table and the structs that it fills. All may be called from any callback, unless
 * stated; `create` may use only those of the first group. Functions that return int32_t answer 0
 * when they could do it. */
#ifndef SASSEMU_HOST_H
#define SASSEMU_HOST_H

#include <sassemu/memory.h>

SASSEMU_BEGIN

enum sassemu_severity {
    SASSEMU_NOTE,    /* shown; changes nothing */
    SASSEMU_WARNING, /* shown; exit code 6 */
    SASSEMU_ERROR    /* shown; exit code 6 */
};

/* Something that a checker has found. It is printed as "PLUGIN: kind: message" with the places, and
 * counted. */
typedef struct sassemu_finding {
    uint32_t size;
    uint32_t severity;
    const char* kind;         /* a word for scripts: "missing-proxy-fence" */
    const char* message;      /* one sentence */
    const char* detail;       /* further lines, or NULL */
    sassemu_insn insn, other; /* the places, or NULL */
    uint64_t count;           /* how often; 0 reads as 1 */
} sassemu_finding;

typedef struct sassemu_source {
    uint32_t size;
    uint32_t line, column; /* from 1; 0: not recorded */
    const char* file;
    const char* function; /* inlined function, mangled; "" where unknown */
} sassemu_source;

enum sassemu_operand_kind {
    SASSEMU_OPERAND_REGISTER,
    SASSEMU_OPERAND_UNIFORM_REGISTER,
    SASSEMU_OPERAND_PREDICATE,
    SASSEMU_OPERAND_UNIFORM_PREDICATE,
    SASSEMU_OPERAND_IMMEDIATE,
    SASSEMU_OPERAND_CONSTANT, /* c[bank][offset] */
    SASSEMU_OPERAND_MEMORY,   /* [register + uniform register + offset] */
    SASSEMU_OPERAND_OTHER
};
#define SASSEMU_RZ 255u /* registers: always 0 */
#define SASSEMU_PT 7u   /* predicates: always true */

typedef struct sassemu_operand {
    uint32_t size;
    uint8_t kind;
    uint8_t negated, absolute, inverted; /* -x, |x|, ~x (of a predicate: !p) */
    uint8_t is_destination;
    uint8_t has_uniform; /* memory: `uniform` counts */
    uint8_t bank;
    uint8_t registers; /* since 1.12: how many there are from `index` on; 0: it has none */
    uint32_t index;    /* register or predicate; memory: the base register */
    uint32_t uniform;
    int64_t value; /* immediate bits; offset of constants and memory */
} sassemu_operand;

/* The scheduling bits of an instruction. */
typedef struct sassemu_control {
    uint32_t size;
    uint8_t stall; /* cycles */
    uint8_t yield;
    uint8_t write_barrier; /* scoreboard set when its result is there; 7: none */
    uint8_t read_barrier;  /* scoreboard set when its operands were read; 7: none */
    uint8_t wait;          /* bit per scoreboard that it waits for */
    uint8_t reuse;
} sassemu_control;

typedef struct sassemu_launch_info {
    uint32_t size;
    uint32_t gpu;
    const char* kernel; /* its symbol; sassemu/names.hpp makes it readable */
    sassemu_module module;
    sassemu_dim3 grid, block, cluster;
    uint32_t registers; /* per thread */
    uint32_t shared_static, shared_dynamic, local_bytes;
    uint64_t id;  /* counts from 1 */
    uint32_t sms; /* of the device */
    uint32_t param_bytes;
    const void* params; /* valid during the launch */
    /* Since 1.2. It may begin before the launch before it has ended, and waits for that with
     * griddepcontrol.wait. With plugins launches follow each other all the same. */
    uint32_t may_overlap;
    uint32_t shared_reserved; /* since 1.3: bytes at the start of shared memory that are the
                                 system's, part of shared_static */
    /* Since 1.6: generic addresses of shared and local memory are these, plus less than 2^32. */
    uint64_t shared_window, local_window;
    /* Since 1.6: CTAs of this launch, and threads of any, that an SM holds at a time. */
    uint32_t ctas_per_sm, threads_per_sm;
    /* Since 1.6: bytes at the end of shared memory that are not the program's (before sm_90 what is
     * reserved for the system lies there), part of shared_static */
    uint32_t shared_behind;
    /* Since 1.7: bytes of constant banks 0 to 4; what lies behind them reads as 0. */
    uint64_t constant_bytes[5];
    /* Since 1.8: other launches, and the host, may be at work beside it. */
    uint32_t in_flight;
    /* Since 1.9: the memory model is a plugin, which may tell what happens in it (`model`). */
    uint32_t has_model;
} sassemu_launch_info;

typedef struct sassemu_cta_info {
    uint32_t size;
    uint32_t sm, rank; /* rank in the cluster */
    uint32_t warps, threads, shared_bytes;
    sassemu_dim3 id;
    uint64_t linear, cluster; /* linear indices: of the CTA, and of its cluster */
    sassemu_launch launch;
    void* shared; /* the block of shared memory */
} sassemu_cta_info;

typedef struct sassemu_warp_info {
    uint32_t size;
    uint32_t index;  /* in the CTA */
    uint32_t active; /* lanes of the running path */
    uint32_t live;   /* lanes that have not exited */
    uint32_t path;   /* index of the running path */
    sassemu_cta cta;
    uint64_t clock; /* warp instructions that the CTA has issued */
} sassemu_warp_info;

typedef struct sassemu_allocation {
    uint32_t size;
    uint32_t read_only;
    uint64_t address, bytes;
    const char* name; /* of the plan's buffer, or what the memory is for */
    /* Since 1.8. Whose memory it is: a GPU's number, or SASSEMU_OF_HOST. */
    int32_t gpu;
    uint32_t reserved;
} sassemu_allocation;

/* Registers of all files (since 1.7). */
typedef struct sassemu_register_set {
    uint32_t size;
    uint8_t p, up; /* bit n: Pn, UPn */
    uint16_t reserved;
    uint64_t r[4], ur[4]; /* bit n of word n / 64: Rn, URn */
} sassemu_register_set;

/* What the emulator's behaviour of an instruction rests on (since 1.10): docs/fidelity.md. */
enum sassemu_evidence_class {
    SASSEMU_EVIDENCE_NONE,          /* not in the table: not executed */
    SASSEMU_EVIDENCE_MEASURED,      /* on a chip of the same family */
    SASSEMU_EVIDENCE_VECTORS,       /* published results of such a chip */
    SASSEMU_EVIDENCE_SPECIFICATION, /* what NVIDIA's documents say */
    SASSEMU_EVIDENCE_ASSUMED
};

typedef struct sassemu_evidence {
    uint32_t size;
    uint32_t kind;         /* enum sassemu_evidence_class */
    const char* behaviour; /* the row of the table: what it is about */
    const char* source;    /* and why */
} sassemu_evidence;

typedef struct sassemu_host {
    uint32_t size;
    uint32_t abi;

    /* ---- the run
     * ---------------------------------------------------------------------------------------------
     */
    uint64_t (*seed)(sassemu_session);
    /* A uniform choice of 0..count-1 that --seed decides and a replay repeats. Not in `create`. */
    uint32_t (*choose)(sassemu_session, uint32_t count);
    void (*print)(sassemu_session,
                  const char* text); /* to standard output, in order with everything else */
    void (*report)(sassemu_session, const sassemu_finding*);
    /* Ends the launch with a fault: "what" is one sentence, lanes those of the access or
     * instruction at fault. */
    void (*fault)(sassemu_session, sassemu_warp, sassemu_insn, uint32_t lanes, const char* what);

    /* ---- modules and instructions
     * ------------------------------------------------------------------------------ */
    const char* (*module_name)(sassemu_module);
    const char* (*module_arch)(sassemu_module); /* "sm_90a" */
    uint32_t (*module_has_ptx)(sassemu_module); /* 1: the PTX text is there, so intent is known */
    uint64_t (*module_code_bytes)(sassemu_module);
    sassemu_insn (*module_insn)(sassemu_module, uint64_t code_offset); /* NULL: none there */

    uint64_t (*insn_pc)(
        sassemu_insn); /* bytes in its function's section, as disassembly prints it */
    uint64_t (*insn_code_offset)(
        sassemu_insn); /* bytes in the module's code: unique in the module */
    sassemu_module (*insn_module)(sassemu_insn);
    const char* (*insn_function)(sassemu_insn);
    const char* (*insn_opcode)(sassemu_insn); /* "LDG" */
    const char* (*insn_text)(sassemu_insn);   /* "@!P0 LDG.E.64 R2, desc[UR4][R4.64]" */
    void (*insn_words)(sassemu_insn, uint64_t word[2]);
    void (*insn_control)(sassemu_insn, sassemu_control*);
    uint32_t (*insn_operands)(sassemu_insn); /* how many */
    int32_t (*insn_operand)(sassemu_insn, uint32_t index, sassemu_operand*);
    /* Bit r of word r / 64: register r is read, written. */
    void (*insn_registers)(sassemu_insn, uint64_t read[4], uint64_t written[4]);
    /* depth 0: the innermost place; then the call sites through which it was inlined. */
    int32_t (*insn_source)(sassemu_insn, uint32_t depth, sassemu_source*);
    const char* (*insn_ptx)(sassemu_insn, uint32_t* line); /* NULL: not known */
    int32_t (*insn_intent)(sassemu_insn, sassemu_intent*); /* -1: PTX intent unknown */
    /* "file.cu:12, PTX line 30 '...'", or "" */
    const char* (*insn_place)(sassemu_insn);

    /* ---- who runs
     * ----------------------------------------------------------------------------------------------
     */
    void (*launch_info)(sassemu_launch, sassemu_launch_info*);
    void (*cta_info)(sassemu_cta, sassemu_cta_info*);
    void (*warp_info)(sassemu_warp, sassemu_warp_info*);
    sassemu_cta (*cta_of_rank)(sassemu_cta,
                               uint32_t rank); /* of the same cluster; NULL: no such rank */
    sassemu_warp (*cta_warp)(sassemu_cta, uint32_t index);

    /* ---- registers: 32 lanes each
     * ------------------------------------------------------------------------------ */
    uint32_t* (*row)(sassemu_warp,
                     uint32_t reg); /* R0..; RZ: a row of zeros, writes are lost; NULL: none such */
    uint32_t (*predicate)(sassemu_warp,
                          uint32_t index); /* P0..P7, then UP0..UP7 from 8 on; a bit per lane */
    void (*set_predicate)(sassemu_warp, uint32_t index, uint32_t lanes, uint32_t value);
    uint32_t* (*uniform)(sassemu_warp, uint32_t reg); /* UR0..; NULL: none such */
    /* c[bank][offset]; beyond the bank reads as 0. */
    uint32_t (*constant)(sassemu_warp, uint32_t bank, uint32_t offset);

    /* ---- an access: only for the struct handed to the running callback, and only in it
     * -------------------------- */
    /* 32 addresses as the instruction forms them (lanes outside the mask: anything). NULL: a lane's
     * address is bad; the engine will report the fault once the callback has answered SASSEMU_DONE.
     */
    const uint64_t* (*addresses)(const sassemu_access*);
    const sassemu_location* (*locations)(const sassemu_access*); /* 32, or NULL as above */
    /* Word k of lane i at [k * 32 + i]. Stores and atomics: the operand (of STSM what the row that
     * the lane names will hold); loads: the result, once performed. Bytes and halves are in the low
     * bits. NULL: not there (yet). */
    const uint32_t* (*values)(const sassemu_access*);
    const uint32_t* (*compare_values)(
        const sassemu_access*); /* second operand of SASSEMU_ATOMIC_COMPARE_EXCHANGE */
    const uint32_t* (*results)(const sassemu_access*); /* what an atomic returned, once performed */
    void (*agent)(const sassemu_access*, sassemu_agent*);

    /* ---- memory models only (model.h)
     * ---------------------------------------------------------------------------- */
    /* Gives the result of a load to the running issue(), which then answers SASSEMU_SUPPLIED. May
     * be called several times for several lanes. Signs are extended for the model. */
    void (*supply)(const sassemu_access*, uint32_t lanes, const uint32_t* values);
    /* Ends pending lanes: with `values` as given, with NULL as the bytes are now. Only in step(),
     * fence(), cache(), sync() and issue() of the same CTA's warps; others: answers -1, and nothing
     * happens. */
    int32_t (*complete)(sassemu_session, uint64_t token, uint32_t lanes, const uint32_t* values);
    /* Something that a spinning path may be waiting for has changed (bytes written through write()
     * count anyway). */
    void (*wake)(sassemu_session);

    /* ---- memory: the bytes that the engine owns
     * -------------------------------------------------------------------- */
    int32_t (*read)(sassemu_session, uint64_t address, void* to,
                    uint64_t bytes); /* -1: not allocated */
    int32_t (*write)(sassemu_session, uint64_t address, const void* from, uint64_t bytes);
    int32_t (*read_shared)(sassemu_cta, uint32_t offset, void* to, uint32_t bytes);
    int32_t (*write_shared)(sassemu_cta, uint32_t offset, const void* from, uint32_t bytes);
    int32_t (*read_local)(sassemu_warp, uint32_t lane, uint32_t offset, void* to, uint32_t bytes);
    /* The allocation on whose pages the address lies. -1: there is none. */
    int32_t (*find_allocation)(sassemu_session, uint64_t address, sassemu_allocation*);

    /* ---- since 1.1
     * --------------------------------------------------------------------------------------------------
     */
    /* Lanes of the running path, without the rest of warp_info. */
    uint32_t (*active)(sassemu_warp);

    /* ---- since 1.3
     * --------------------------------------------------------------------------------------------------
     */
    /* Tensor memory of a CTA, by the offsets of sassemu_location. */
    int32_t (*read_tensor)(sassemu_cta, uint32_t offset, void* to, uint32_t bytes);

    /* ---- since 1.4
     * --------------------------------------------------------------------------------------------------
     */
    void (*insn_effect)(sassemu_insn, sassemu_effect*);
    /* Writes a report: the file appears whole or not at all, and one that is replaced keeps its
     * mode. -1: it could not be written; the emulator says so, and its exit code is 2 unless there
     * is something worse. */
    int32_t (*write_file)(sassemu_session, const char* path, const void* bytes, uint64_t count);

    /* ---- since 1.7
     * --------------------------------------------------------------------------------------------------
     */
    /* What it reads and writes, all words of wide operands and the guard included; never RZ, URZ,
     * PT and UPT. */
    void (*insn_register_sets)(sassemu_insn, sassemu_register_set* read,
                               sassemu_register_set* written);

    /* ---- since 1.9
     * --------------------------------------------------------------------------------------------------
     */
    /* For the memory model of a run: tells observers. 0: none of them listens, so nothing need be
     * told; with NULL that is all it says. It does not change during a run. */
    int32_t (*model_event)(sassemu_session, const sassemu_model_event*);

    /* ---- since 1.10
     * --------------------------------------------------------------------------------------------------
     */
    void (*insn_evidence)(sassemu_insn, sassemu_evidence*);
    /* Adds a member to the report of the run (`sassemu run --json`). `json`: a value's text; what
     * is no JSON stands there as a string. The last one of a key counts. */
    void (*report_json)(sassemu_session, const char* key, const char* json);

    /* ---- since 1.13
     * --------------------------------------------------------------------------------------------------
     */
    /* A copy of a warp's registers to try instructions on: `row`, `predicate`, `set_predicate`,
     * `uniform` and `constant` know it. A plugin has one, which the next call makes anew. */
    sassemu_warp (*scratch)(sassemu_session, sassemu_warp);
    /* Executes an instruction there, whatever its guard. -1, and nothing happens: there is no copy,
     * or the instruction does more than compute registers of its lanes from registers of the same
     * lanes. */
    int32_t (*compute)(sassemu_session, sassemu_insn, uint32_t lanes);
} sassemu_host;

SASSEMU_END

#endif
