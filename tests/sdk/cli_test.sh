#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Plugins as a user meets them: what the program says and with which code it ends. Arguments: program, source tree, folder of
# the test plugins.
set -uo pipefail
program=$1 source=$2 plugins=$3
plan=$source/cubins/vecadd/plan.json
failed=0
# check NAME CODE PATTERN ARGUMENT...: the exit code, one line on stderr (or the output) with the pattern.
check() {
    local name=$1 code=$2 pattern=$3 out got
    shift 3
    out=$("$program" run "$plan" --arch sm_90 "$@" 2>&1)
    got=$?
    if [ $got -ne "$code" ] || ! grep -qE "$pattern" <<<"$out"; then
        echo "FAILED $name: exit code $got instead of $code, or no '$pattern' in:"
        echo "$out"
        failed=1
    fi
    if [ "$code" -eq 2 ] && [ "$(wc -l <<<"$out")" -ne 1 ]; then
        echo "FAILED $name: not one line but:"
        echo "$out"
        failed=1
    fi
}
for kind in serial per_sm free; do
    check "threading $kind" 0 "threading: 0 clashes, called" --model "$plugins/threading_$kind.so" --threads 8
done
check "no such name" 2 "there is no such plugin.*caches" --plugin nowhere
check "no such file" 2 "there is no such file" --plugin ./nowhere.so
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
echo "no code" >"$scratch/text.so"
check "no shared object" 2 "cannot be loaded" --plugin "$scratch/text.so"
check "no entry" 2 "exports no sassemu_plugin_entry" --plugin "$plugins/no_entry.so"
minor=$(sed -n 's/^#define SASSEMU_ABI_MINOR \([0-9]*\)u$/\1/p' "$source/sdk/include/sassemu/abi.h")
check "another ABI" 2 "ABI 2.0, this emulator speaks 1.$minor" --plugin "$plugins/other_abi.so"
check "no such option" 2 "has no option 'depht'; it has policy=" --model caches:depht=3
check "no value" 2 "'depth' is no option" --model caches:depth
check "bad value" 2 "option 'policy': 'wild' is none of" --model caches:policy=wild
check "no number" 2 "option 'limit': 'x' is no number" --plugin "$plugins/refuses.so:limit=x"
check "a model is no observer" 2 "it is a memory model: --model nothing" --plugin "$plugins/nothing.so"
check "an observer is no model" 2 "is no memory model" --model "$plugins/recorder.so"
check "no such model" 2 "there is no such plugin" --model nowhere
check "findings" 6 "refuses: test: a finding \(3 times\)" --plugin "$plugins/refuses.so"
check "a model refuses" 3 "the test refuses" --model "$plugins/refuses.so:answer=4"
check "a model refuses while it is told of that" 3 "the test refuses" --model "$plugins/refuses.so:answer=5"
check "a model answers nonsense" 3 "a number that is no answer" --model "$plugins/refuses.so:answer=9"
check "a model supplies nothing" 3 "without having supplied" --model "$plugins/refuses.so:answer=1"
check "runs" 0 "FFMA|LDG" --plugin "$plugins/opcode_histogram.so:top=50"
check "two at once" 0 "finish" --plugin "$plugins/recorder.so:only=finish" --plugin "$plugins/opcode_histogram.so"
check "trace" 0 "LDG" --plugin "$plugins/text_trace.so"
check "example model" 0 "ok" --model "$plugins/memory_model.so"
for policy in lazy eager random adversarial; do
    check "caches $policy" 0 "ok" --model "caches:policy=$policy"
done
# An operation of a warp is performed once a lane, even if the lanes are never ready together; endless steps are no reason to wait.
for policy in lazy eager random adversarial; do
    check "a machine that takes turns, $policy" 0 "loads: each once" --model "$plugins/odd_machine.so:policy=$policy"
done
check "a machine that never is done" 6 "took 1048576 steps and waits for more" --model "$plugins/odd_machine.so:kind=keeps,policy=eager"
check "caches under reference" 0 "ok" --model caches --reference
plan=$source/cubins/sync/bulk_store/correct.json
for agents in eager lazy; do
    check "a copy is told when it is issued" 0 "async 0.0 step=5" --plugin "$plugins/recorder.so" --agents $agents
    check "but not to plugins of 1.1" 0 "steps seen: f$" --plugin "$plugins/abi_1_1.so" --agents $agents
done
plan=$source/cubins/sync/last_block/correct.json
check "fences and atomics of such a machine" 0 "fences: each once" --model "$plugins/odd_machine.so"
exit $failed
