#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs all plans of sm_90 and sm_90a with the options given and lists those that do not end with 0.
# Arguments: the program, the source directory, then options of `sassemu run`.
set -u
program=$1 root=$2
shift 2
failed=0 count=0
for plan in "$root"/cubins/*/plan.json; do
    arch=$(grep -o -m 1 '"sm_90a\?"' "$plan" | head -n 1 | tr -d '"')
    [ -n "$arch" ] || continue
    count=$((count + 1))
    output=$("$program" run "$plan" --arch "$arch" "$@" 2>&1)
    code=$?
    if [ "$code" -ne 0 ]; then
        failed=$((failed + 1))
        printf '%s: exit code %s\n%s\n' "$plan" "$code" "$output"
    fi
done
echo "$count plans with $*: $failed failed"
[ "$count" -gt 0 ] && [ "$failed" -eq 0 ]
