# SPDX-License-Identifier: Apache-2.0
"""Why a captured launch is not equal, and whether what check-sync reports of one is a defect: the last column of docs/captured.md.

A row is Reason(kinds, kernel, why) and, where that is not enough, program= and sass=:

    kinds    one or several, between commas: a verdict of compare.py ("differs", "equal in another order", "device heap", "fault", "varies") or a kind
             of finding ("data-race", "missing-proxy-fence", ...), with " (letter)" behind it where check-sync says so by the letter only
    kernel   a pattern (*, ?, [a-z]) for the whole mangled or the whole demangled name, as "at::native::gatherMedian<*" or "nvjet_sm90_*"
    why      one sentence or two, beginning with "a defect", "no defect", "by the letter" or, for launches, with what decides the bits
    program  a pattern for the name in programs.py
    sass     a pattern for the instruction of some access of the finding, as "*LDSM*"

The first row that fits counts. `page.py ... --unexplained` lists what no row fits.
"""
import fnmatch
import typing


class Reason(typing.NamedTuple):
    kinds: str
    kernel: str
    why: str
    program: str = "*"
    sass: str = "*"


HEAP = "addresses that the GPU's malloc gave; capsules hold nothing of the device heap"
SUMS = "floats are added by atomic instructions: their order decides the last bits"
WINDOW = "its capsule has a part of an arena only (window=), and the kernel reaches more: the fault says so"
ONE_VALUE = "by the letter: racing writes of one value by one instruction"

REASONS = [
    # Launches
    Reason("device heap", "*", HEAP),
    Reason("exit 3", "heap", HEAP),
    Reason("differs, equal in another order", "*gatherMedian*", "several warps store different indices of equal elements (a defect, below): the GPU's last was another warp's"),
    Reason("differs", "*laed2_par*", "what differs comes of shared memory that nobody has written, which held something else on the GPU; another run of the same program was equal"),
    Reason("equal in another order", "*AttentionBackwardKernel*", "key blocks of a head add to one gradient in the order in which they get a lock"),
    *(Reason("differs, equal in another order", kernel, SUMS) for kernel in (
        "*cusparse*coomm_alg*", "*cusparse*csrmm_alg2*", "*cusparse*csrmv_v3*", "*cusparse*coomv*", "*UpSampleBilinear2d*backward*", "*UpSample*", "*cudnn*dgrad_engine*",
        "*_scatter_gather_elementwise_kernel*")),
    Reason("differs", "*cusparse*find_colors_kernel*", "colours are handed out in the order in which atomic counters are asked"),
    Reason("fault", "*RedzoneAllocatorKernel*", WINDOW),
    Reason("fault", "*", WINDOW, program="torchaudio_transforms"),
    Reason("fault", "sm90_xmma_gemm_f64f64_*", WINDOW, program="jax_*"),
    Reason("differs", "cupyx_scipy_ndimage_label_connect", "its threads race (a defect, below): the GPU's order was another"),
    Reason("differs", "*convert_CsrToCoo_kernel*", "the program's own fault, mended since: rows that were not sorted, so that several threads stored to one place"),
    Reason("fault", "*cub*transform_kernel*", "it reads beyond a small allocation, within the 512 bytes that the driver gives: round=1"),
    Reason("limit", "*", "it is too long for the time limit of a replay"),
    Reason("not replayed", "*", "the time of the run was over"),
    # Findings of check-sync
    Reason("data-race (letter)", "*binary_search_lb*", ONE_VALUE),
    Reason("data-race (letter)", "*getrf_wo_pivot*", ONE_VALUE),
    Reason("data-race (letter)", "*sytrd4_cta*", ONE_VALUE),
    Reason("data-race (letter)", "*transpose_readWrite_alignment*", ONE_VALUE),
    Reason("data-race (letter)", "gemm_fusion_dot*", ONE_VALUE),
    Reason("data-race (letter)", "*fmha_cutlassB*", "by the letter: CTAs store the same value by one instruction, and each reads it behind its own store"),
    Reason("data-race (letter)", "*gatherMedian*", "by the letter: threads of a slice store the same median"),
    Reason("data-race", "*gatherMedian*", "a defect: several threads store different indices of equal elements; PyTorch documents it as nondeterministic"),
    Reason("data-race", "*fmha_cutlassF*", "a defect: s_prime[row] is stored again (1 for 0) for the log-sum-exp with no barrier behind other warps' reads; no effect, readers take 0 as 1"),
    Reason("data-race, missing-release", "*gatherKthValue*",
           "a defect unless the read is volatile, which LDS does not say: the least index is read while atomicMin lowers it; it only ends the search"),
    Reason("data-race", "cupyx_scipy_ndimage_label_connect", "a defect: plain loads of parents race with other threads' compare-and-swap"),
    Reason("data-race", "cupyx_scipy_ndimage_label_count", "a defect: a plain store to a label races with other threads' plain loads of it"),
    Reason("data-race (letter), scope-too-narrow (letter)", "*getrf_pivot*", "by the letter: the pivot is a plain store right behind a fence, and is polled as volatile"),
    Reason("missing-acquire (letter), no-memory-order (letter)", "*sgemm_largek_lds64*",
           "by the letter: CTAs wait for a counter, then read C as volatile and write it, with no fence behind the wait"),
    Reason("async-reuse", "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_*",
           "a defect: one warpgroup issues the products of dQ that read the tile of dS, arrives at BAR.SYNC 6 before its WARPGROUP.DEPBAR, and nothing tells the other, which writes the tile in its "
           "next iteration, that they are over; two products of its own stand between"),
    Reason("async-reuse", "nvjet_sm90_*",
           "a defect by the PTX ISA (UTMASTG, UTMACMDFLUSH, EXIT, with no wait_group.read): an H200 keeps the shared memory of a CTA that ends until its copies have read it (0 wrong words of 3.2e9)"),
    Reason("uninitialised-read (letter)", "*laed2_par*", "by the letter: shared memory that nobody ever writes"),
    Reason("missing-proxy-fence (letter)", "sm90_xmma_*", "by the letter: stages that LDS has read are filled again by UTMALDG, ordered by the mbarrier alone, as in CUTLASS' pipelines"),
    Reason("missing-proxy-fence (letter)", "triton_tem_*", "by the letter: as matmul"),
    Reason("missing-proxy-fence (letter)", "matmul", "by the letter: wgmma reads what cp.async has brought, behind wait_group and bar.sync but no fence.proxy.async, as all of Triton's pipelines do"),
]


def why(kind, names, program, sass=()):
    """The reason for what `kind` says of a kernel with these names; "" if no row fits."""
    for row in REASONS:
        if (kind in (k.strip() for k in row.kinds.split(",")) and any(fnmatch.fnmatchcase(name, row.kernel) for name in names)
                and fnmatch.fnmatchcase(program, row.program) and (row.sass == "*" or any(fnmatch.fnmatchcase(text, row.sass) for text in sass))):
            return row.why
    return ""
