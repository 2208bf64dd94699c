#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs into a scratch prefix and builds a stranger's project against it, through the CMake
# packages and through pkg-config. Arguments: build directory, source directory, C++ compiler.
set -euo pipefail
build=$1 source=$2 compiler=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix
cmake --install "$build" --prefix "$prefix" >"$scratch/install.log" || { cat "$scratch/install.log"; exit 1; }
cmake -S "$source/tests/cli/consumer" -B "$scratch/consumer" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$prefix" >"$scratch/configure.log" 2>&1 ||
    { cat "$scratch/configure.log"; exit 1; }
cmake --build "$scratch/consumer"
plan=$source/cubins/vecadd/plan.json
"$scratch/consumer/consumer" "$plan"
"$prefix/bin/sassemu" run "$plan"
"$prefix/bin/sassemu" run "$plan" --arch sm_90 --plugin "trace:file=$scratch/trace"
records=$("$scratch/consumer/trace_reader" "$scratch/trace")
python=$(PYTHONPATH=$prefix/share/sassemu/python python3 -B -c \
    "import sys; from sassemu import trace; print(len(list(trace.Trace(sys.argv[1]).records())))" "$scratch/trace")
[ "$records" -gt 0 ] && [ "$records" = "$python" ] || { echo "readers of traces: $records and $python"; exit 1; }
doc=$prefix/share/doc/sassemu
"$prefix/bin/sassemu" run "$doc/example/cubins/vecadd/plan.json"
for file in "$doc/README.md" "$doc/docs/litmus.md" "$doc/example/text_trace/text_trace.cpp" \
    "$prefix/share/man/man1/sassemu.1" "$prefix/share/man/man1/sassemu-check-sync.1" \
    "$prefix/share/bash-completion/completions/sassemu" "$prefix/share/zsh/site-functions/_sassemu" \
    "$prefix/share/fish/vendor_completions.d/sassemu.fish" \
    "$prefix/share/sassemu/python/sassemu/trace.py" "$prefix/include/sassemu/trace.hpp" \
    "$prefix/include/sassemu/records.h"; do
    [ -s "$file" ] || { echo "not installed: $file"; exit 1; }
done

pc=$(find "$prefix" -name sassemu.pc)
# The file finds the prefix that was given to the installation, whatever was configured.
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$pc")
flags=$(pkg-config --cflags --libs sassemu)
# shellcheck disable=SC2086
"$compiler" "$source/tests/cli/consumer/main.cpp" -o "$scratch/by-pkg-config" $flags \
    -Wl,-rpath,"$(dirname "$(dirname "$pc")")"
"$scratch/by-pkg-config" "$plan"
echo "both ways work"
