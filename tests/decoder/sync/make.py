#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles one kernel per PTX synchronisation construct (ptxas 13.0) into sync.sm_NN.cubin.

The constructs are those of the PTX ISA's memory consistency model; which words they become was measured.
Usage: make.py   (ptxas on the path). The test that reads the cubins is ../sync_test.cpp."""
import os
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ALL = ["sm_75", "sm_80", "sm_90a", "sm_100a"]
NEW = ["sm_90a", "sm_100a"]
CONSTRUCTS = [(f"fence_{sem}_{scope}", f"fence.{sem}.{scope};", ALL) for sem in ("sc", "acq_rel") for scope in ("cta", "gpu", "sys")]
CONSTRUCTS += [(f"membar_{s}", f"membar.{s};", ALL) for s in ("cta", "gl", "sys")]
CONSTRUCTS += [(f"fence_{sem}_cluster", f"fence.{sem}.cluster;", NEW) for sem in ("sc", "acq_rel")]
CONSTRUCTS += [(f"fence_{sem}_{scope}", f"fence.{sem}.{scope};", NEW)
               for sem in ("release", "acquire") for scope in ("cta", "cluster", "gpu", "sys")]
CONSTRUCTS += [("proxy_alias", "fence.proxy.alias;", ALL),
               ("proxy_async", "fence.proxy.async;", NEW),
               ("proxy_async_global", "fence.proxy.async.global;", NEW),
               ("proxy_async_shared_cta", "fence.proxy.async.shared::cta;", NEW),
               ("proxy_async_shared_cluster", "fence.proxy.async.shared::cluster;", NEW),
               ("tensormap_release", "fence.proxy.tensormap::generic.release.gpu;", NEW),
               ("tensormap_acquire", "fence.proxy.tensormap::generic.acquire.gpu [p], 128;", NEW),
               ("cluster_arrive_release", "barrier.cluster.arrive.release;", NEW),
               ("cluster_arrive_relaxed", "barrier.cluster.arrive.relaxed;", NEW),
               ("cluster_wait", "barrier.cluster.wait;", NEW),
               ("tcgen05_wait_st", "tcgen05.wait::st.sync.aligned;", ["sm_100a"])]


def main():
    for arch in ALL:
        text = [f".version 8.8\n.target {arch}\n.address_size 64\n"]
        for name, body, archs in CONSTRUCTS:
            if arch in archs:
                text.append(f".visible .entry {name}(.param .u64 a) {{ .reg .b64 p; .reg .b32 v; ld.param.u64 p, [a];\n"
                            f" ld.global.u32 v, [p]; st.global.u32 [p+4], v;\n {body}\n ld.global.u32 v, [p+8]; st.global.u32 [p+12], v; ret; }}\n")
        with tempfile.NamedTemporaryFile("w", suffix=".ptx") as f:
            f.write("".join(text))
            f.flush()
            subprocess.run(["ptxas", f"-arch={arch}", f.name, "-o", os.path.join(HERE, f"sync.{arch}.cubin")], check=True)


if __name__ == "__main__":
    main()
