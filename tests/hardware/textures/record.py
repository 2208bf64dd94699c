#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cases of texture sampling, and what a GPU sampled as the record.

  record.py cases SEED OUT            writes 1,225 cases of 1,024 samples: kernels of textures.cu, formats, filters, address modes, sizes,
                                      layers, cubes, levels, borders, drawn from the seed
  record.py pack RECORDED...          writes record.txt.zst from what `record` wrote (record.cpp): cases with their hashes

On a machine with a GPU: nvcc -arch=sm_90 -cubin -o textures.sm_90.cubin textures.cu; nvcc -std=c++17 -o record record.cpp;
./record CASES textures.sm_90.cubin > RECORDED
"""
import os
import random
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
KERNELS = [('tex_1d', 30), ('tex_2d', 60), ('tex_3d', 60), ('tex_a1d', 25), ('tex_a2d', 40), ('tex_cube', 45), ('tex_acube', 30), ('lod_1d', 30), ('lod_2d', 50), ('lod_3d', 50), ('lod_a1d', 25), ('lod_a2d', 30), ('lod_cube', 40), ('lod_acube', 30),
           ('grad_1d', 25), ('grad_2d', 50), ('grad_a1d', 20), ('grad_a2d', 25), ('gather_r', 20), ('gather_g', 20), ('gather_b', 20), ('gather_a', 20), ('gather_a2d', 20), ('gather_cube', 25), ('gather_acube', 20),
           ('fetch_2d', 20), ('fetch_3d', 20), ('fetch_a2d', 20), ('fetch_a1d', 15), ('fetch_lod_2d', 20), ('fetch_lod_3d', 20), ('fetch_lod_a2d', 20), ('tex_1d_off', 15), ('tex_2d_off', 25), ('tex_3d_off', 25), ('tex_a2d_off', 20), ('lod_2d_off', 25), ('lod_3d_off', 25),
           ('grad_2d_off', 20), ('gather_off', 20), ('gather_a2d_off', 20), ('fetch_2d_off', 15), ('fetch_lod_2d_off', 15), ('fetch_1d', 15)]
FORMATS = [('f32', 0), ('f32', 0), ('f32', 0), ('f16', 0), ('f16', 0), ('u8', 1), ('u8', 1), ('s8', 1), ('u16', 1), ('s16', 1), ('u8', 0), ('s8', 0), ('u16', 0), ('s16', 0), ('u32', 0), ('s32', 0)]


def cases(seed):
    rng = random.Random(seed)
    proof = []

    def pick(*a):
        return rng.choice(a)

    def case(kernel, to, **k):
        k['kernel'] = kernel
        to.append(k)
    for kernel, count in KERNELS:
        for _ in range(count):
            k = {}
            parts = kernel.split('_')
            op = parts[0]
            lod = 'lod' in parts
            dim = parts[-2] if parts[-1] == 'off' else parts[-1]
            if op == 'gather' and dim in 'rgba' or kernel == 'gather_off': dim = '2d'
            fetch = op == 'fetch'
            def size(): return pick(1, 2, 3, 5, 7, 8, 13, 16, 29, 37, 64, 100)
            cube = 'cube' in dim
            k['w'] = size()
            if cube: k['h'] = k['w']
            elif dim in ('2d', 'a2d', '3d'): k['h'] = size()
            if dim == '3d': k['w'], k['h'], k['d'] = [min(v, 29) for v in (k['w'], k['h'], size())]
            if dim[0] == 'a': k['layers'] = pick(1, 2, 3, 5)
            if cube: k['cube'] = 1
            fmt, norm = rng.choice(FORMATS)
            linear = pick(0, 1, 1, 1) and (norm or fmt[0] == 'f')
            k.update(fmt=fmt, norm=norm, ch=pick(1, 2, 4), filter='l' if linear else 'p', texels=pick('rand', 'rand', 'unit', 'any', 'tiny'), tseed=rng.randrange(1, 1000))
            k['addr'] = ''.join(pick('w', 'm', 'c', 'b') for _ in range(3)) if pick(0, 1) else pick('w', 'm', 'c', 'b') * 3
            if pick(0, 1): k['border'] = ','.join(pick('0', '1', '0.3', '-0.7', '0.125', '5.5') for _ in range(4))
            biggest = max(k['w'], k.get('h', 1), k.get('d', 1))
            mips = op in ('lod', 'grad') or fetch and lod or (not fetch and op != 'gather' and pick(0, 0, 0, 1))
            if mips and biggest > 1 and not (kernel in ('tex_1d_off',)):
                k['levels'] = rng.randrange(1, biggest.bit_length() + 1)
                k['mip'] = pick('l', 'l', 'p')
                if pick(0, 0, 1): k['bias'] = pick('0.3', '-0.7', '1.5', '-2.25', '0.01')
                if pick(0, 0, 1): k['minlod'], k['maxlod'] = pick('0', '0.4', '1.7', '1'), pick('1.2', '2.3', '3', '16')
                if pick(0, 0, 0, 1) and op != 'grad': k['aniso'] = pick(2, 4, 16)
            nc = 1 if 'levels' in k or cube or not pick(0, 1, 1) else 0
            if fetch: nc = pick(0, 1) if 'levels' not in k else 1
            if not nc and k['addr'] != 'ccc' and pick(0, 1): k['addr'] = pick('c', 'b') * 3
            k['nc'] = nc
            if fmt == 'u8' and norm and pick(0, 0, 1): k['srgb'] = 1
            if cube: k['seamless'] = pick(0, 1)
            sizes = (k['w'], k.get('h', 1), k.get('d', 1))
            if cube: lo, ra = [-1.1] * 3, [2.2] * 3
            elif fetch: lo, ra = [-2.0] * 3, [v + 5.0 for v in sizes]
            elif nc: lo, ra = [-1.25] * 3, [3.5] * 3
            else: lo, ra = [-0.5 * v - 1 for v in sizes], [2.0 * v + 2 for v in sizes]
            lo.append(-1.5); ra.append(8.0)
            if lod and fetch: lo[3], ra[3] = -1.5, k.get('levels', 1) + 3.0
            k.update(low=','.join(map(str, lo)), range=','.join(map(str, ra)), pattern=pick(0, 0, 1), seed=rng.randrange(1, 1 << 20), n=1024, keep=1)
            if 'layers' in k: k.update(first=-2, count=k['layers'] + 4)
            if op == 'grad':
                if pick(0, 1, 1): k['w'], k['h'] = 1 << (k['w'].bit_length() - 1), 1 << (k.get('h', 1).bit_length() - 1)
                if dim in ('1d', 'a1d'): k.pop('h', None)
                b = max(k['w'], k.get('h', 1)); k['levels'] = min(k.get('levels', 1), b.bit_length())
                k.update(exponent=-b.bit_length(), exponents=b.bit_length() + 1)
            if kernel == 'fetch_1d': k = dict(lin=1, w=pick(7, 100, 1000), fmt=fmt, norm=norm, ch=k['ch'], texels=k['texels'], tseed=k['tseed'], filter='p', low='-10', range='1030', pattern=k['pattern'], seed=k['seed'], n=1024, keep=1)
            case(kernel, proof, **k)
    for i in range(40):
        case('tex_2d', proof, pitch=1, w=pick(3, 37, 64), h=pick(2, 20), ch=pick(1, 2, 4), fmt='f32', filter=pick('l', 'p'), addr=pick('c', 'b', 'w', 'm') * 3, nc=pick(0, 1), texels=pick('rand', 'any'), low='-1,-1', range='3,3', pattern=pick(0, 1), seed=rng.randrange(1, 1 << 20), n=1024, keep=1)
    return proof


def main():
    if sys.argv[1:2] == ["cases"]:
        with open(sys.argv[3], "w") as out:
            for i, k in enumerate(cases(int(sys.argv[2]))):
                out.write("id=%s.%d " % (sys.argv[2], i) + " ".join("%s=%s" % item for item in k.items()) + "\n")
    elif sys.argv[1:2] == ["pack"]:
        lines = []
        for path in sys.argv[2:]:
            with open(path) as f:
                lines += [line for line in f if " hash=" in line]
        text = "".join(lines).encode()
        subprocess.run(["zstd", "-19", "-q", "-f", "--stream-size=%d" % len(text), "-o", os.path.join(HERE, "record.txt.zst")], input=text, check=True)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
