/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the raw code of a section, with a label at each branch target: a loop over sassdec_next()
 * and the two hooks. Usage: list ARCH FILE, the file being instruction words only (objcopy -O
 * binary -j .text.KERNEL X.cubin FILE). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sassdec/sassdec.h"

static int label(void* user, const sassdec_insn* insn, uint64_t target, char* out, size_t size) {
    (void)user, (void)insn;
    return snprintf(out, size, "L_%04" PRIx64, target);
}

/* Constant bank 0 holds the launch: name what is at a known offset. */
static int parameter(void* user, const sassdec_insn* insn, unsigned operand, char* out,
                     size_t size) {
    const sassdec_operand* op = &insn->operand[operand];
    const int first = *(const int*)user;
    if (op->kind != SASSDEC_OP_CONST || op->flags || op->bank != 0 || op->offset < first) return -1;
    return snprintf(out, size, "param[0x%x]", (unsigned)(op->offset - first));
}

int main(int argc, char** argv) {
    const sassdec_arch arch = argc == 3 ? sassdec_arch_from_name(argv[1]) : SASSDEC_ARCH_UNKNOWN;
    FILE* in = arch != SASSDEC_ARCH_UNKNOWN ? fopen(argv[2], "rb") : NULL;
    if (!in) {
        fprintf(stderr, "usage: list ARCH FILE\n");
        return 2;
    }
    static unsigned char code[1 << 20];
    const size_t bytes = fread(code, 1, sizeof code, in);
    fclose(in);

    int parameters = arch >= SASSDEC_SM_100 ? 0x380 : arch >= SASSDEC_SM_90 ? 0x210 : 0x160;
    const sassdec_format_options options = {sizeof options, label, &parameters, parameter};
    unsigned char* is_target = calloc(bytes / SASSDEC_INSN_BYTES + 1, 1);
    if (!is_target) return 1;
    sassdec_insn insn;
    uint64_t target;
    for (sassdec_cursor c = {code, bytes, 0, arch, 0}; sassdec_next(&c, &insn);)
        if (sassdec_branch_target(&insn, &target) && target < bytes)
            is_target[target / SASSDEC_INSN_BYTES] = 1;
    for (sassdec_cursor c = {code, bytes, 0, arch, 0}; sassdec_next(&c, &insn);) {
        char text[512], control[128];
        if (is_target[insn.pc / SASSDEC_INSN_BYTES]) printf("L_%04" PRIx64 ":\n", insn.pc);
        sassdec_format(&insn, &options, text, sizeof text);
        sassdec_format_control(&insn, control, sizeof control);
        printf("    /*%04" PRIx64 "*/ %-60s %s\n", insn.pc, text,
               insn.status == SASSDEC_OK ? control : "");
    }
    free(is_target);
    return 0;
}
