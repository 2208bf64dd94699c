#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A copy of decoder/ and nothing else: configures, builds, installs; a C and a C++ program of a stranger build against it through
# pkg-config and through find_package, and run. Arguments: decoder directory, C++ compiler, C compiler.
set -euo pipefail
source=$1 cxx=$2 cc=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
quiet() { "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }; }
cp -r "$source" "$scratch/decoder"
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
# CCACHE_BASEDIR makes a copy under another path hit the cache.
export CCACHE_BASEDIR=$scratch CCACHE_NOHASHDIR=1
quiet cmake -S "$scratch/decoder" -B "$scratch/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$cxx" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_INSTALL_PREFIX="$scratch/prefix" "${launcher[@]}"
quiet cmake --build "$scratch/build"
quiet cmake --install "$scratch/build"

mkdir "$scratch/stranger"
cp "$scratch/decoder/examples/list.c" "$scratch/decoder/examples/liveness.cpp" "$scratch/stranger"
cat >"$scratch/stranger/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(stranger LANGUAGES C CXX)
find_package(sassdec 0.1 REQUIRED)
add_executable(list list.c)
add_executable(liveness liveness.cpp)
target_link_libraries(list PRIVATE sassdec::sassdec)
target_link_libraries(liveness PRIVATE sassdec::sassdec)
END
quiet cmake -S "$scratch/stranger" -B "$scratch/found" -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" \
    -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_C_COMPILER="$cc"
quiet cmake --build "$scratch/found"
PKG_CONFIG_PATH=$(dirname "$(find "$scratch/prefix" -name sassdec.pc)")
export PKG_CONFIG_PATH
read -ra flags <<<"$(pkg-config --cflags --libs sassdec)"
mkdir "$scratch/packaged"
quiet "$cxx" -std=c++20 "$scratch/stranger/liveness.cpp" -o "$scratch/packaged/liveness" "${flags[@]}"
read -ra flags <<<"$(pkg-config --static --cflags --libs sassdec)"
quiet "$cc" "$scratch/stranger/list.c" -o "$scratch/packaged/list" "${flags[@]}"

# EXIT, then BRA to itself: words in memory order.
printf '\x4d\x79\0\0\0\0\0\0\0\0\x80\x03\0\xea\x0f\0\x47\x79\xfc\0\xfc\xff\xff\xff\xff\xff\x83\x03\0\xc0\x0f\0' >"$scratch/code"
for way in found packaged; do
    "$scratch/$way/list" sm_90 "$scratch/code" >"$scratch/listing"
    grep -q '/\*0010\*/ BRA L_0010' "$scratch/listing" && grep -q '^L_0010:' "$scratch/listing"
    echo 'LDG.E.64 R4, desc[UR6][R2.64]' | "$scratch/$way/liveness" sm_90 >"$scratch/listing"
    grep -q 'reads: R2 R3 UR6 UR7' "$scratch/listing" && grep -q 'writes: R4 R5' "$scratch/listing"
done
word=$(printf '000fea0003800000000000000000794d\n' | "$scratch/prefix/bin/sassdec-words" disasm --arch sm_90 --words -)
[ "$word" = EXIT ]
echo "built alone, found both ways"
