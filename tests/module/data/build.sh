#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Rebuilds the loader's test data with CUDA 13.0. The results are committed: tests need no toolkit.
# PTXAS_11_8 and PTXAS_12_3 may name the ptxas of those toolkits; without them the committed files
# of the older layouts stay as they are.
set -eu
data=$(cd "$(dirname "$0")" && pwd)
work=/tmp/sassemu-module-data # fixed, because line tables record it
rm -rf "$work"
mkdir "$work"
cp "$data"/*.cu "$data"/*.ptx "$data"/*.S "$work"
cd "$work"

for arch in 75 80 86 87 88 89 90 90a 100 100f 103a 110 120 120f 121a; do
    nvcc -arch=sm_$arch -cubin plain.cu -o plain.$arch.cubin
done
for arch in 75 90a 120; do
    nvcc -arch=sm_$arch -lineinfo -cubin lines.cu -o lines.$arch.cubin
    nvcc -arch=sm_$arch -rdc=true -cubin rdc.cu -o rdc.$arch.cubin
    nvlink -arch=sm_$arch rdc.$arch.cubin -o linked.$arch.cubin
done
for arch in 75 90; do
    nvcc -arch=sm_$arch -cubin needs.cu -o needs.$arch.cubin
done
ptxas -arch sm_90 texture.ptx -o texture.90.cubin

images="-gencode arch=compute_75,code=sm_75 -gencode arch=compute_90a,code=sm_90a
        -gencode arch=compute_80,code=compute_80"
for mode in none size speed; do
    nvcc $images -compress-mode=$mode -Xfatbin -compress-all -fatbin plain.cu -o plain_$mode.fatbin
done
nvcc -arch=sm_90a -fatbin -rdc=true rdc.cu -o rdc.fatbin
cc -shared -nostdlib -Wl,--build-id=none embed.S -o embed.so

# PTX of version 7.8 and 8.3 for the older assemblers.
nvcc -arch=compute_80 -lineinfo -ptx lines.cu -o lines80.ptx
nvcc -arch=compute_90a -lineinfo -ptx lines.cu -o lines90a.ptx
if [ -n "${PTXAS_11_8:-}" ]; then
    sed 's/^\.version.*/.version 7.8/' lines80.ptx >old.ptx
    "$PTXAS_11_8" -arch sm_80 -lineinfo old.ptx -o lines.cuda118.80.cubin
    "$PTXAS_11_8" -arch sm_80 -lineinfo -c old.ptx -o rdc.cuda118.80.cubin
fi
if [ -n "${PTXAS_12_3:-}" ]; then
    sed 's/^\.version.*/.version 8.3/' lines90a.ptx >old.ptx
    "$PTXAS_12_3" -arch sm_90a -lineinfo old.ptx -o lines.cuda123.90a.cubin
    "$PTXAS_12_3" -arch sm_90a -lineinfo -c old.ptx -o rdc.cuda123.90a.cubin
fi
cp ./*.cubin ./*.fatbin ./*.so "$data"
rm -rf "$work"
