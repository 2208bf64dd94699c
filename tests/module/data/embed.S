/* Loader test data: a shared library with two fatbin containers, laid out as nvcc lays them out. */
    .section .nv_fatbin, "a"
    .balign 8
first:
    .incbin "plain_size.fatbin"
    .balign 8
second:
    .incbin "rdc.fatbin"
    .balign 8
    .section .nvFatBinSegment, "aw"
    .balign 8
    .long 0x466243b1, 1
    .quad first, 0
    .long 0x466243b1, 1
    .quad second, 0
    .section .note.GNU-stack, "", @progbits
