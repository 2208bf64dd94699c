/* SPDX-License-Identifier: Apache-2.0 */
/* sassdec: decodes and prints NVIDIA machine code (SASS), Turing to Blackwell.
 *
 * This header is the whole C interface: decode one 128-bit word into a caller-owned plain struct,
 * print it, ask which registers it touches. Nothing here allocates, keeps state or locks; every
 * function may be called from any thread. C++ users find per-instruction structs in
 * sassdec/typed.hpp. */
#ifndef SASSDEC_SASSDEC_H
#define SASSDEC_SASSDEC_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SASSDEC_MAX_OPERANDS 16
#define SASSDEC_MAX_FIELDS 24
#define SASSDEC_INSN_BYTES 16

/* Table families, in the order in which they came to the library. Several architecture names share
 * one family (sm_86/87/88; sm_101/110; sm_120/121). */
typedef enum sassdec_arch {
    SASSDEC_SM_75,
    SASSDEC_SM_80,
    SASSDEC_SM_86,
    SASSDEC_SM_89,
    SASSDEC_SM_90,
    SASSDEC_SM_100,
    SASSDEC_SM_103,
    SASSDEC_SM_110,
    SASSDEC_SM_120,
    SASSDEC_SM_107,
    SASSDEC_ARCH_COUNT,
    SASSDEC_ARCH_UNKNOWN = 255
} sassdec_arch;

typedef enum sassdec_status {
    SASSDEC_OK = 0,
    SASSDEC_E_ARGUMENT, /* null pointer or unknown architecture */
    SASSDEC_E_OPCODE,   /* no instruction of this architecture has these opcode bits */
    SASSDEC_E_ENCODING, /* the opcode exists, but fixed bits have a value that no variant has */
    SASSDEC_E_FIELD,    /* a modifier field holds a value that has no meaning */
    SASSDEC_E_REGISTER, /* a multi-word register operand is not aligned */
    SASSDEC_E_CONTROL,  /* the scheduling bits hold a value that has no meaning */
    SASSDEC_E_BUFFER,   /* the text did not fit */
    SASSDEC_E_SYNTAX,   /* assembler text that is no instruction of this architecture */
    SASSDEC_E_TWO_WORDS /* assembler text that stands for several words, see sassdec_expand() */
} sassdec_status;

typedef enum sassdec_operand_kind {
    SASSDEC_OP_REG,        /* R or UR, see `file` */
    SASSDEC_OP_PRED,       /* P or UP */
    SASSDEC_OP_IMM,        /* integer immediate, sign-extended when the field is signed */
    SASSDEC_OP_FIMM,       /* floating immediate: raw bits in `imm`, see `imm_type` */
    SASSDEC_OP_CONST,      /* c[bank][reg+offset] or cx[ur][reg+offset] */
    SASSDEC_OP_MEM,        /* [reg+ureg+offset], with optional descriptor */
    SASSDEC_OP_LABEL,      /* code address, absolute, in `imm` */
    SASSDEC_OP_ENUM,       /* a named value: special register, texture shape, ... */
    SASSDEC_OP_TEXT,       /* fixed text that carries no bits */
    SASSDEC_OP_BARRIER,    /* convergence barrier B0..B15 */
    SASSDEC_OP_SCOREBOARD, /* SB0..SB5 */
    SASSDEC_OP_SB_LIST     /* {4,3,1}: bit mask in `imm` */
} sassdec_operand_kind;

typedef enum sassdec_regfile { SASSDEC_R, SASSDEC_UR, SASSDEC_P, SASSDEC_UP } sassdec_regfile;

typedef enum sassdec_imm_type {
    SASSDEC_IMM_U32,
    SASSDEC_IMM_S32,
    SASSDEC_IMM_F32,
    SASSDEC_IMM_F64,
    SASSDEC_IMM_F16X2,
    SASSDEC_IMM_BF16X2,
    SASSDEC_IMM_DEC,
    SASSDEC_IMM_F16,
    SASSDEC_IMM_S32X,
    SASSDEC_IMM_TF32,
    SASSDEC_IMM_BF16
} sassdec_imm_type;

enum { SASSDEC_READ = 1, SASSDEC_WRITE = 2 };

/* Bits of sassdec_operand.flags. INV is `!` on predicates and `~` on registers. */
enum {
    SASSDEC_NEG = 1,
    SASSDEC_ABS = 2,
    SASSDEC_INV = 4,
    SASSDEC_REUSE = 8,
    SASSDEC_HIDDEN = 16,   /* present in the encoding, not in the text */
    SASSDEC_HAS_REG = 32,  /* memory, constant: `index` is a base register */
    SASSDEC_HAS_UREG = 64, /* memory, constant: `ureg` is valid */
    SASSDEC_HAS_DESC = 128 /* memory: `desc` is valid */
};

#define SASSDEC_RZ 255
#define SASSDEC_URZ 255 /* normalised: 63 in the encodings before sm_100 */
#define SASSDEC_PT 7

typedef struct sassdec_operand {
    uint8_t kind;   /* sassdec_operand_kind */
    uint8_t file;   /* sassdec_regfile of `index` */
    uint8_t index;  /* register number; RZ = URZ = 255, PT = UPT = 7 */
    uint8_t width;  /* 32-bit registers that the operand spans, 1..; 0 for none */
    uint8_t access; /* SASSDEC_READ | SASSDEC_WRITE */
    uint8_t flags;
    uint8_t bank;     /* constant bank */
    uint8_t ureg;     /* uniform register of a memory or bindless constant operand */
    uint8_t desc;     /* descriptor uniform register */
    uint8_t imm_type; /* sassdec_imm_type of `imm` */
    uint8_t skipped; /* memory: of the registers that the base spans, the first that are not read */
    uint8_t spare;
    int32_t offset; /* memory, constant: byte offset */
    int64_t imm;    /* immediate, raw floating bits, enum value, absolute target, mask */
} sassdec_operand;

/* Scheduling bits that the compiler writes; the hardware relies on them. */
typedef struct sassdec_control {
    uint8_t stall;         /* cycles, 0..15 */
    uint8_t yield;         /* 1 when the scheduler may switch warps (the bit is stored inverted) */
    uint8_t write_barrier; /* scoreboard released when results are written; 7 = none */
    uint8_t read_barrier;  /* scoreboard released when sources are read; 7 = none */
    uint8_t wait_mask;     /* scoreboards to wait for, bit i = SBi */
    uint8_t reuse;         /* operand reuse cache, bit 0 = A */
} sassdec_control;

typedef struct sassdec_insn {
    uint64_t word[2];
    uint64_t pc;
    uint8_t arch;   /* sassdec_arch */
    uint8_t status; /* sassdec_status of the decode */
    uint8_t operand_count;
    uint8_t field_count;
    uint16_t form;  /* internal: row of the form table */
    uint16_t shape; /* internal: entry of the description */
    uint16_t id;    /* sassdec_id, see sassdec/ids.h: one per typed struct */
    uint8_t guard;  /* predicate 0..7 */
    uint8_t guard_neg;
    uint8_t guard_uniform;  /* 1 when the guard is a uniform predicate */
    uint8_t bad_lo, bad_hi; /* undecodable words: the offending bits, inclusive; 255 if unknown */
    sassdec_control control;
    uint32_t groups;                    /* SASSDEC_GROUP_* */
    uint16_t field[SASSDEC_MAX_FIELDS]; /* raw modifier values, in the description's order */
    sassdec_operand operand[SASSDEC_MAX_OPERANDS];
} sassdec_insn;

/* Groups: what kind of instruction this is; several may hold. */
enum {
    SASSDEC_GROUP_BRANCH = 1 << 0,
    SASSDEC_GROUP_CALL = 1 << 1,
    SASSDEC_GROUP_RETURN = 1 << 2,
    SASSDEC_GROUP_EXIT = 1 << 3,
    SASSDEC_GROUP_BARRIER = 1 << 4,
    SASSDEC_GROUP_CONVERGENCE = 1 << 5,
    SASSDEC_GROUP_MEMORY = 1 << 6,
    SASSDEC_GROUP_LOAD = 1 << 7,
    SASSDEC_GROUP_STORE = 1 << 8,
    SASSDEC_GROUP_ATOMIC = 1 << 9,
    SASSDEC_GROUP_ASYNC = 1 << 10,
    SASSDEC_GROUP_FENCE = 1 << 11,
    SASSDEC_GROUP_TENSOR = 1 << 12,
    SASSDEC_GROUP_UNIFORM = 1 << 13,
    SASSDEC_GROUP_WARP = 1 << 14,
    SASSDEC_GROUP_TEXTURE = 1 << 15,
    SASSDEC_GROUP_FLOAT = 1 << 16,
    SASSDEC_GROUP_INTEGER = 1 << 17,
    SASSDEC_GROUP_HALF = 1 << 18,
    SASSDEC_GROUP_DOUBLE = 1 << 19,
    SASSDEC_GROUP_CONVERSION = 1 << 20,
    SASSDEC_GROUP_MOVE = 1 << 21,
    SASSDEC_GROUP_PREDICATE = 1 << 22,
    SASSDEC_GROUP_SYSTEM = 1 << 23,
    SASSDEC_GROUP_CACHE = 1 << 24,
    SASSDEC_GROUP_INDIRECT = 1 << 25
};

/* One bit per register. */
typedef struct sassdec_regset {
    uint64_t r[4];
    uint64_t ur[4];
    uint8_t p;
    uint8_t up;
} sassdec_regset;

/* "sm_90a", "SM90a", "90" -> family; SASSDEC_ARCH_UNKNOWN if the name is not one of the known ones.
 */
sassdec_arch sassdec_arch_from_name(const char* name);
const char* sassdec_arch_name(sassdec_arch arch);

/* Decodes word w (w[0] = bits 63..0) at address pc. On failure insn->status says why and
 * sassdec_reason() explains; insn is always fully initialised. */
sassdec_status sassdec_decode(sassdec_arch arch, const uint64_t w[2], uint64_t pc,
                              sassdec_insn* insn);

/* A walk over the code of a section; fill in the first four members. */
typedef struct sassdec_cursor {
    const void* code; /* bytes, of any alignment */
    size_t bytes;
    uint64_t address; /* of the first byte */
    sassdec_arch arch;
    size_t offset; /* of the next instruction; begin with 0 */
} sassdec_cursor;

/* Decodes the next instruction and steps over it. Returns 1 with *insn (look at its status: an
 * undecodable word is stepped over like any other), 0 at the end, where fewer than
 * SASSDEC_INSN_BYTES bytes are left. */
int sassdec_next(sassdec_cursor* cursor, sassdec_insn* insn);

/* Hook that may replace the text of a code address; returns the number of characters, or -1 to
 * print hex. */
typedef int (*sassdec_label_hook)(void* user, const sassdec_insn* insn, uint64_t target, char* out,
                                  size_t size);

/* Hook that may replace the text of an operand: the symbol behind an address, the name of a
 * parameter in a constant bank. Returns the number of characters, or -1 to print the operand as
 * usual. */
typedef int (*sassdec_operand_hook)(void* user, const sassdec_insn* insn, unsigned operand,
                                    char* out, size_t size);

typedef struct sassdec_format_options {
    uint32_t size;            /* sizeof(sassdec_format_options) */
    sassdec_label_hook label; /* may be null */
    void* user;
    sassdec_operand_hook operand; /* may be null; asked before `label` */
} sassdec_format_options;

/* Writes the text that nvdisasm 13.0 prints (without the final ';'), zero-terminated. opts may be
 * null. An undecodable word prints as "<undecodable: reason>". Returns the length, or -1 when it
 * did not fit. */
int sassdec_format(const sassdec_insn* insn, const sassdec_format_options* opts, char* out,
                   size_t size);

/* One line that says why the word is undecodable; empty for a decoded one. Returns the length or
 * -1. */
int sassdec_reason(const sassdec_insn* insn, char* out, size_t size);

/* ---- text -> word
 * --------------------------------------------------------------------------------------------------
 */

/* Looks up the name of a code address; returns 1 and *address, or 0 when the name is unknown. */
typedef int (*sassdec_symbol_hook)(void* user, const char* name, size_t length, uint64_t* address);

typedef struct sassdec_asm_options {
    uint32_t size;              /* sizeof(sassdec_asm_options) */
    sassdec_symbol_hook symbol; /* for branch targets by name; may be null */
    void* user;
} sassdec_asm_options;

typedef struct sassdec_asm_error {
    uint32_t column;  /* 1 for the first character */
    char reason[200]; /* one line */
} sassdec_asm_error;

/* Assembles one line: the text that sassdec_format() writes, an optional control suffix
 * (decoder/doc/asm.md) and an optional
 * ';'. What the text does not say gets its default: hidden operands PT, RZ, 0; schedule and
 * scoreboards such that nothing can go wrong. opts and error may be null; word is written on
 * success only. */
sassdec_status sassdec_assemble(sassdec_arch arch, const char* text, uint64_t pc,
                                const sassdec_asm_options* opts, uint64_t word[2],
                                sassdec_asm_error* error);

/* The lines that a line stands for, with '\n' between them: itself, or the words of a fused
 * spelling (MEMBAR.GL.IVALLD is CCTL.IVALL and MEMBAR.GPU). Returns how many, or -1 when they did
 * not fit. */
int sassdec_expand(const char* text, char* out, size_t size);

/* The control bits as a suffix that sassdec_assemble() reads: "&req={0} &rd=none &wr=1 ?WAIT4
 * ?YIELD". */
int sassdec_format_control(const sassdec_insn* insn, char* out, size_t size);

/* The text with everything that it does not say by itself: sassdec_assemble() makes the same word
 * of it, bit for bit. */
int sassdec_format_exact(const sassdec_insn* insn, char* out, size_t size);

/* "FFMA", "IADD3.X": the fixed part of the mnemonic. */
const char* sassdec_mnemonic(const sassdec_insn* insn);

/* Registers read and written, with the widths of 64-bit and wider operands; guard included in
 * `read`. RZ, URZ, PT and UPT never appear. */
void sassdec_registers(const sassdec_insn* insn, sassdec_regset* read, sassdec_regset* written);

/* Direct branch or call target; returns 0 when there is none. */
int sassdec_branch_target(const sassdec_insn* insn, uint64_t* target);

/* Modifier i (0 <= i < insn->field_count): its name in the description, and the text of its value.
 */
const char* sassdec_field_name(const sassdec_insn* insn, unsigned i);
const char* sassdec_field_text(const sassdec_insn* insn, unsigned i);
/* Operand i: its name in the description ("d", "a", "addr"). */
const char* sassdec_operand_name(const sassdec_insn* insn, unsigned i);
/* A column of sassdec/effects.h by name ("latency", "space"): its word; "" for another key. */
const char* sassdec_semantic(const sassdec_insn* insn, const char* key);

#ifdef __cplusplus
}
#endif
#endif
