#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the cubins of this folder from its .ptx and .cu files (CUDA 13.0), and the listings with nvdisasm 13.0 (NVDISASM names it).
set -e
cd "$(dirname "$0")"
nvdisasm=${NVDISASM:-nvdisasm}
for arch in sm_75 sm_90 sm_100; do
    sed "s/\.target sm_[0-9]*/.target $arch/" switch.ptx > switch.tmp
    ptxas -arch=$arch switch.tmp -o switch.$arch.cubin
    $nvdisasm -c switch.$arch.cubin > switch.$arch.txt
done
rm switch.tmp
$nvdisasm -c -hex switch.sm_90.cubin > switch.sm_90.hex.txt
for name in bfs.sm_90 sgemm.sm_90 assert.sm_100; do
    $nvdisasm -c ../../../cubins/${name%.*}/${name#*.}.cubin > $name.txt
done
for arch in sm_80 sm_90; do
    nvcc -cubin -arch=$arch -o functions.$arch.cubin functions.cu
done
# Relocations in code: names stand where the linker puts addresses.
for arch in sm_75 sm_86 sm_90 sm_120; do
    nvcc -w -rdc=true -cubin -arch=$arch -o relocatable.$arch.cubin relocatable.cu
done
for arch in sm_75 sm_86 sm_90; do
    sed "s/\.target sm_[0-9]*/.target $arch/" symbols.ptx > symbols.tmp
    ptxas -c -arch=$arch symbols.tmp -o symbols.$arch.cubin
    sed "s/\.target sm_[0-9]*/.target $arch/" textures.ptx > symbols.tmp
    ptxas -c -arch=$arch symbols.tmp -o textures.$arch.cubin
done
rm symbols.tmp
# Debug information names the folder of the compilation.
stage=/tmp/listing
mkdir -p $stage
cp debug.cu $stage
for arch in sm_75 sm_86 sm_100; do
    (cd $stage && nvcc -G -cubin -arch=$arch -o debug.$arch.cubin debug.cu)
done
for arch in sm_80 sm_90; do
    (cd $stage && nvcc -G -rdc=true -cubin -arch=$arch -o debug.$arch.cubin debug.cu)
done
mv $stage/*.cubin .
rm -r $stage
for name in relocatable.sm_75 relocatable.sm_90 symbols.sm_86 debug.sm_80 debug.sm_100; do
    $nvdisasm -c $name.cubin > $name.txt
done
# Digests of every other listing: cubin, and what nvdisasm prints of it.
cd ../../..
for cubin in cubins/*/*.cubin tests/cli/listing/*.cubin; do
    printf '%s\t%.16s\t%.16s\n' $cubin $(sha256sum < $cubin | cut -d' ' -f1) $($nvdisasm -c $cubin | sha256sum | cut -d' ' -f1)
done > tests/cli/listing/digests.tsv
