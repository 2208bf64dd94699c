#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the library of host processes alone, and builds the example against it through pkg-config, the header in C
# through pkg-config too, and the example through its CMake package. Arguments: build directory, source directory, C++
# compiler, C compiler.
set -euo pipefail
build=$1 source=$2 compiler=$3 c_compiler=$4
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cmake --install "$build/sdk/host" --prefix "$scratch/prefix" >"$scratch/install.log"
PKG_CONFIG_PATH=$(dirname "$(find "$scratch/prefix" -name sassemu_host.pc)")
export PKG_CONFIG_PATH
read -ra flags <<<"$(pkg-config --cflags --libs sassemu_host)"
read -ra compile <<<"$(pkg-config --cflags sassemu_host)"
"$c_compiler" -std=c11 -c "$source/tests/host/header_c11.c" -o "$scratch/c.o" "${compile[@]}"
"$compiler" -std=c++20 "$source/sdk/example/host_pingpong/host_pingpong.cpp" -o "$scratch/pingpong" "${flags[@]}"
if ldd "$scratch/pingpong" | grep -q sass; then
    echo "the engine or the decoder is needed"
    exit 1
fi
cmake -S "$source/sdk/example/host_pingpong" -B "$scratch/build" -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_PREFIX_PATH="$scratch/prefix" >"$scratch/configure.log"
cmake --build "$scratch/build" >"$scratch/build.log"
echo "both ways work"
