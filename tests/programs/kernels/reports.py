# SPDX-License-Identifier: Apache-2.0
"""What check-sync reports of launches with real inputs, for sm_90a: why that is a defect, or why it is none."""

SAME_WORD = "a defect by the words of CUDA C++ and PTX: all threads of the CTA store {} in one word of shared memory, and none is ordered with the others"
SAME_RESULT = "a defect by the words of CUDA C++ and PTX: several rows of threads hold the same merged state, and each stores it to the same place"
NO_PROXY_FENCE = "by the letter: wgmma reads what cp.async has brought, and no thread that copied executes fence.proxy.async"

REPORTS = {
    "sampling from probabilities": SAME_WORD.format("the same number and -1 before they sample"),
    "top-k sampling": SAME_WORD.format("the same number and -1 in each round"),
    "top-p renormalisation": SAME_WORD.format("the same first value"),
    "merge of seventy attention states f16": SAME_RESULT,
    "decode attention f16, GQA 4": SAME_RESULT,
    "Hopper prefill attention f16, causal, GQA 2": "a defect: the epilogue's warps arrive at a barrier and then wait at it, both with the number of all threads; "
    "one that waits before others have arrived counts twice in that phase, which then ends before they have left their part of the result in shared memory",
    "wgmma tutorial f16 (TN)": "a defect: each thread waits for its own copies (cp.async.wait_group 0), and no barrier is between that and the product, which reads "
    "what all threads have copied. The fence of the proxies lacks too",
    "DeepGEMM e4m3 with scales of blocks": "defects: lane 0 arrives for its warp, and no __syncwarp orders the other lanes' loads of scales before that; and the CTA ends "
    "while its last store by TMA may still read its shared memory, for nobody waits for the group. Reads before a write by TMA have no fence of the proxies, which is by the letter",
    "product f16, persistent (Triton)": NO_PROXY_FENCE,
    "product f16 (Triton)": NO_PROXY_FENCE,
}
