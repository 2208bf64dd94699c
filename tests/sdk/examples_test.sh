#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs into a scratch prefix and builds the examples against it as a stranger would; then runs each. Arguments: build
# directory, source directory, C++ compiler.
set -euo pipefail
build=$1 source=$2 compiler=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix
cmake --install "$build" --prefix "$prefix" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
cp -r "$source/sdk/example" "$scratch/example"  # nothing of the tree is in reach
{ cmake -S "$scratch/example" -B "$scratch/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$compiler" \
      -DCMAKE_PREFIX_PATH="$prefix" && cmake --build "$scratch/build"; } >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
program=$prefix/bin/sassemu plan=$source/cubins/vecadd/plan.json
run() { echo "== $*"; "$program" run "$plan" --arch sm_90 "$@"; }
run --plugin "$scratch/build/opcode_histogram/opcode_histogram.so:top=3"
run --plugin "$scratch/build/text_trace/text_trace.so" | tail -3
run --model "$scratch/build/memory_model/memory_model.so:depth=2" --seed 3
run --plugin "$scratch/build/handler_override/handler_override.so"
"$scratch/build/lent_arena/lent_arena" "$source/cubins/saxpy/sm_90.cubin"
run --model caches  # the installed plugins are found by name
# One folder alone is a project too.
cmake -S "$scratch/example/text_trace" -B "$scratch/alone" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_PREFIX_PATH="$prefix" >"$scratch/log" 2>&1 && cmake --build "$scratch/alone" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
