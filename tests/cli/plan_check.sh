#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs one committed plan and notes its exit code for the table of docs/kernels.md.
# Arguments: the program, the plan, the architecture, the directory of the notes. Exit code 5 (an instruction without
# an implementation) is a pass on sm_100 and later only.
set -u
program=$1 plan=$2 arch=$3 notes=$4
kernel=$(basename "$(dirname "$plan")")
output=$("$program" run "$plan" --arch "$arch" 2>&1)
code=$?
mkdir -p "$notes"
printf '%s\n%s\n' "$code" "$output" >"$notes/$kernel.$arch.$$"
mv "$notes/$kernel.$arch.$$" "$notes/$kernel.$arch"
printf '%s\n' "$output"
number=${arch#sm_}
number=${number%%[af]}
[ "$code" -eq 0 ] && exit 0
[ "$code" -eq 5 ] && [ "$number" -ge 100 ] && exit 0
echo "exit code $code"
exit 1
