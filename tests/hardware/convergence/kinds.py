# SPDX-License-Identifier: Apache-2.0
"""One instruction a kernel: which of them the chip refuses by the kind of launch. See README.md."""

K = {
    "st_async_b32": "mapa.shared::cluster.u32 r1, r0, 0;\n mapa.shared::cluster.u32 r2, r9, 0;\n st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [r1], 7, [r2];",
    "st_async_nomapa": "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [r0], 7, [r9];",
    "st_async_v4": "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [r0], {1,2,3,4}, [r9];",
    "st_async_b64": "st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [r0], 7, [r9];",
    "red_async": "red.async.relaxed.cluster.global.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [r0], 7, [r9];".replace(
        ".global", ""
    ),
    "red_async_inc": "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 [r0], 7, [r9];",
    "bulk_reduce_cluster": "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [r0], [r8], 64, [r9];",
    "bulk_copy_cta_to_cluster": "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [r0], [r8], 64, [r9];",
    "bulk_copy_global": "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [r0], [d1], 64, [r9];",
    "bulk_copy_global_cta": "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [r0], [d1], 64, [r9];",
    "bulk_multicast": "mov.b16 h0, 1;\n cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [r0], [d1], 64, [r9], h0;",
    "bulk_reduce_global": "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [d0], [r8], 64;\n cp.async.bulk.commit_group;\n cp.async.bulk.wait_group 0;",
    "ld_cluster": "ld.shared::cluster.u32 r5, [r0];",
    "st_cluster": "st.shared::cluster.u32 [r0], 9;",
    "atom_cluster": "atom.shared::cluster.add.u32 r5, [r0], 3;",
    "red_cluster": "red.shared::cluster.add.u32 [r0], 3;",
    "atom_cas_cluster": "atom.shared::cluster.cas.b32 r5, [r0], 3, 4;",
    "ld_mapa": "mapa.shared::cluster.u32 r1, r0, 0;\n ld.shared::cluster.u32 r5, [r1];",
    "st_mapa": "mapa.shared::cluster.u32 r1, r0, 0;\n st.shared::cluster.u32 [r1], 9;",
    "atom_mapa": "mapa.shared::cluster.u32 r1, r0, 0;\n atom.shared::cluster.add.u32 r5, [r1], 3;",
    "mapa_64": "cvta.shared.u64 d3, d2;\n mapa.u64 d3, d3, 0;\n ld.u32 r5, [d3];",
    "mapa_64_1": "cvta.shared.u64 d3, d2;\n mapa.u64 d3, d3, 1;\n ld.u32 r5, [d3];",
    "mapa_1": "mapa.shared::cluster.u32 r1, r0, 1;\n ld.shared::cluster.u32 r5, [r1];",
    "mapa_1_st": "mapa.shared::cluster.u32 r1, r0, 1;\n st.shared::cluster.u32 [r1], 9;",
    "getctarank": "getctarank.shared::cluster.u32 r5, r0;",
    "mbar_remote_arrive": "mapa.shared::cluster.u32 r2, r9, 0;\n mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r2];",
    "mbar_remote_expect": "mapa.shared::cluster.u32 r2, r9, 0;\n mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [r2], 64;",
    "mbar_expect_tx": "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [r9], 64;",
    "mbar_complete_tx": "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [r9], 64;",
    "mbar_arrive_cta": "mbarrier.arrive.shared::cta.b64 d3, [r9];",
    "cluster_barrier": "barrier.cluster.arrive;\n barrier.cluster.wait;",
    "cluster_barrier_aligned": "barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;",
    "cluster_arrive_relaxed": "barrier.cluster.arrive.relaxed;\n barrier.cluster.wait;",
    "fence_cluster": "fence.acq_rel.cluster;",
    "fence_mbarrier_init": "fence.mbarrier_init.release.cluster;",
    "fence_proxy": "fence.proxy.async.shared::cluster;",
    "grid_wait": "griddepcontrol.wait;",
    "grid_launch": "griddepcontrol.launch_dependents;",
    "is_explicit": "mov.pred q, %is_explicit_cluster;\n selp.u32 r5, 1, 0, q;",
    "clusterid": "mov.u32 r5, %clusterid.x;\n mov.u32 r6, %nclusterid.x;\n mad.lo.u32 r5, r5, 100, r6;\n mov.u32 r6, %cluster_nctarank;\n mad.lo.u32 r5, r5, 100, r6;",
    "setmaxnreg_none": "membar.gl;",
    "elect": "elect.sync r5|q, 0xffffffff;",
    "grid_sync_bar": "membar.sys;",
    "atoms_cas128": "mov.b128 x0, {d0, d1};\n mov.b128 x1, {d1, d0};\n atom.shared.exch.b128 x2, [r0], x0;\n atom.shared.cas.b128 x2, [r0], x0, x1;\n mov.b128 {d3, d1}, x2;\n ld.shared.u64 d1, [r0];\n atom.shared.cas.b128 x2, [r0], x0, x1;\n mov.b128 {d3, d1}, x2;\n cvt.u32.u64 r5, d1;",
}
H = ".version 9.0\n.target sm_90\n.address_size 64\n"


def entry(n, b):
    return f""".entry {n}(.param .u64 out_, .param .u64 in_) {{ .reg .b32 r<12>; .reg .b64 d<5>; .reg .b128 x<4>; .reg .pred q; .reg .b16 h0; .shared .align 128 .b8 s[512];
 ld.param.u64 d0, [out_]; ld.param.u64 d1, [in_]; mov.u32 r0, s; add.u32 r8, r0, 128; add.u32 r9, r0, 256; cvt.u64.u32 d2, r0; mov.u32 r5, 0;
 mov.u32 r7, %ctaid.x; mad.lo.u32 r7, r7, 16, 0; cvt.u64.u32 d4, r7;
 st.shared.u64 [r0], 0; st.shared.u64 [r8], 5; mbarrier.init.shared.b64 [r9], 1; fence.proxy.async;
 {b}
 mov.u32 r6, %clock; add.u32 r6, r6, 30000; 
L: mov.u32 r4, %clock; sub.s32 r4, r4, r6; setp.lt.s32 q, r4, 0; @q bra L;
 ld.shared.u32 r4, [r0]; add.u64 d0, d0, d4; st.global.v2.u32 [d0], {{r5, r4}}; mov.u32 r5, 77; st.global.u32 [d0+8], r5; ret; }}
"""


if __name__ == "__main__":
    import subprocess

    L = []
    for n, b in K.items():
        open("x.ptx", "w").write(H + entry("k", b))
        r = subprocess.run(["ptxas", "-arch=sm_90", "x.ptx", "-o", f"cub/l_{n}.cubin"], capture_output=True, text=True)
        if r.returncode:
            print(n, r.stdout[:300], r.stderr[:300])
            continue
        for g in ("1", "1c1", "2c2"):
            L.append(f"l_{n}_{g} l_{n}.cubin k {g} 1 64 1 h")
    open("list.kinds", "w").write("\n".join(L) + "\n")
    print(len(L))
