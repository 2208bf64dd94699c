#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Rebuilds the cubins of this folder (nvcc of CUDA 13.0, sassemu of the release build). mbarrier.inval becomes SYNCS.CCTL.WB: one bit.
set -euo pipefail
cd "$(dirname "$0")"
for name in mbarrier tensor image reduce cast; do
    nvcc -std=c++17 -arch=sm_90a -cubin -o "$name.cubin" "$name.cu"
done
../../../build/release/bin/sassemu asm cas.sass -o cas.cubin
python3 - <<'PYTHON'
data = bytearray(open("mbarrier.cubin", "rb").read())
for at in range(0, len(data) - 16, 4):
    if data[at:at + 2] == b"\xb1\x79":  # opcode 0x9b1 with the always-true guard: SYNCS.CCTL.IV
        data[at + 9] |= 1               # bit 72: write back
open("mbarrier.cubin", "wb").write(data)
PYTHON
