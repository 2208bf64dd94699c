// SPDX-License-Identifier: Apache-2.0
// Why instructions that decode have no behaviour here, by their typed structs. One that gains a
// lower() needs no line any more. Forms of instructions that execute otherwise say it themselves
// (Lower::gap).
#pragma once

#include <type_traits>

#include "sassdec/typed.hpp"

namespace sassemu {

// Null: none is known.
template <class T>
constexpr const char* unexecuted() {
    using namespace sassdec::typed;
    constexpr auto is = []<class... U>() { return (std::is_same_v<T, U> || ...); };
    // What the chip does is not published, and no chip was at hand.
    if constexpr (is.template operator()<LdtmSparse>())
        return "which two of four values .SPARSIFY takes is not published";
    if constexpr (is.template operator()<I2fpPair, IaddXor, ImulXor, ImulWideXor>())
        return "arithmetic that no compiler emits and nothing published describes";
    if constexpr (is.template operator()<UtmastgWide, UtmaredgWide>())
        return "strides beside a tensor map (sm_107), not published";
    if constexpr (is.template operator()<SyncsPrimary, UsyncsPrimary, UsyncsArriveCast>())
        return "mbarriers of the primary CTA (sm_107), not published";
    if constexpr (is.template operator()<Acqshminit>())
        return "resizing of shared memory, which no PTX asks for";
    if constexpr (is.template operator()<SyncsPlain, SyncsWatch, SyncsOther>())
        return "a form of SYNCS that no PTX becomes";
    if constexpr (is.template operator()<UblkcpOrdered, UtmacctlUnknown>())
        return "a form of a bulk copy that no PTX becomes";
    if constexpr (is.template operator()<QmmaSpRegoffset>())
        return "metadata of fp8 with .REGOFFSET on sm_89, which no PTX becomes";
    if constexpr (is.template operator()<WarpgroupsetAc, WarpgroupsetSb>())
        return "a form of WARPGROUP that no PTX becomes";
    // Words that nvdisasm names and no compiler of 11.8 to 13.5 was seen to emit.
    if constexpr (is.template operator()<R2b, Rtt>()) return "what only trap handlers do";
    if constexpr (is.template operator()<B2r, B2rBar, B2rWarp>())
        return "the state of a barrier read into a register";
    if constexpr (is.template
                  operator()<BmovBB, BmovBFromB, BmovToState, BmovStateB, BmovBFromState,
                             BmovToOther, BmovOtherB, BmovToExit, BmovFromOther, BmovBFromOther,
                             BmovBFromMask, BmovMaskB, BmovFromMask, BmovToMask>())
        return "a state of the warp that compilers do not move";
    if constexpr (is.template operator()<JmpConst, Jmxu, RetRelUr, CallAbsUr, CallAbsConst,
                                         CallRelUr, RetAbsUr, Ulepc, UlepcOf, BraNotTid0>())
        return "a target or address of code that compilers do not form so";
    if constexpr (is.template operator()<FrndAny, F2fpAny, F2fpAnyUnpack, F2fpRandom,
                                         F2fpPackInvalid, F2fpMergeInvalid, Uf2fpOldPack,
                                         Uf2fpOldMerge, Uf2fpOldOther, FswzaddOther>())
        return "a conversion that prints and that no compiler emits";
    if constexpr (is.template operator()<Hfma2Invalid, Hmnmx2Invalid, Hmul2Invalid, Hset2Invalid,
                                         Hsetp2Invalid, Hmnmx2IsA>())
        return "half-precision arithmetic that prints and that no compiler emits";
    if constexpr (is.template operator()<MovmNarrow>()) return "matrices of bytes and nibbles";
    if constexpr (is.template
                  operator()<Uiadd364Carry, Uclea, Uplop3Sign1, Uplop3Sign2, Uplop3Sign3, UimadHiX,
                             Uiabs, Ui2i, Uviadd, Ufrnd, Uf2fpPack, Uf2fpMerge, Uf2fpPack8,
                             Uf2fpNarrow, Uf2fpUnpack, Uf2fpTf32, Ufhadd, Ufhfma, Uf2ip, Ui2ip,
                             Ui2ipBits, Ui2ipNibbles, Mov64iur, ElectUr, DepbarUr>())
        return "a uniform form that no compiler emits";
    if constexpr (is.template operator()<UldcGlobal, LdcuGlobal, Ldcu256, Ldcu256Const>())
        return "a uniform load of 256 bits, or of global memory";
    if constexpr (is.template operator()<CctltConst, CctlConstant, CctlConstantAt,
                                         CctlConstantMemory, NanosleepClear>())
        return "a cache operation or sleep that no PTX becomes";
    if constexpr (is.template operator()<SustFormatted, SuldFormatted>())
        return "formatted surfaces";
    if constexpr (is.template operator()<Suatom, SuatomCas, Suquery>())
        return "atomics on surfaces with a result, and queries";
    return nullptr;
}

}  // namespace sassemu
