// SPDX-License-Identifier: Apache-2.0
// Kernels by the names that people write: what is taken for the name in a demangled signature, and
// what happens where several are meant or none.
#include <gtest/gtest.h>

#include <sassemu/names.hpp>
#include <string>
#include <vector>

#include "emu/module/find_name.hpp"

namespace sassemu {
namespace {

using names::Forms;

const std::vector<std::string> symbols = {
    "scan",                             // extern "C"
    "_Z4scanPfi",                       // scan(float*, int)
    "_ZN3app6reduceIfLi3EEEvPT_PFviE",  // template, a function pointer as argument
    "_ZN3app6reduceIdLi3EEEvPT_PFviE",  // its other instance
    "_ZN3app12_GLOBAL__N_16reduceEi",   // in a namespace without a name
    "_Z1gIZ1xvEUliE_EvT_",              // of a lambda
    "_Z1wIdEv1WIXgtstT_Li4EEE",         // W<((sizeof (double))>(4))>
};

TEST(Names, TheFormsOfASymbol) {
    const auto forms = [](const char* symbol) {
        const Forms f(symbol);
        return std::vector<std::string>{f.full, f.qualified, f.templated, f.plain};
    };
    using Wanted = std::vector<std::string>;
    EXPECT_EQ(forms("scan"), (Wanted{"scan", "scan", "scan", "scan"}));
    EXPECT_EQ(forms("_Z4scanPfi"), (Wanted{"scan(float*, int)", "scan", "scan", "scan"}));
    EXPECT_EQ(forms("_ZN3app6reduceIfLi3EEEvPT_PFviE"),
              (Wanted{"void app::reduce<float, 3>(float*, void (*)(int))", "app::reduce<float, 3>",
                      "reduce<float, 3>", "reduce"}));
    EXPECT_EQ(forms("_ZN3app12_GLOBAL__N_16reduceEi"),
              (Wanted{"app::(anonymous namespace)::reduce(int)",
                      "app::(anonymous namespace)::reduce", "reduce", "reduce"}));
    EXPECT_EQ(Forms("_Z1gIZ1xvEUliE_EvT_").plain, "g");
    EXPECT_EQ(Forms("_Z1wIdEv1WIXgtstT_Li4EEE").templated, "w<double>");
}

TEST(Names, WhatIsNoMangledNameStaysAsItIs) {
    for (const char* symbol :
         {"i", "f", "", "$", "$$", "_Z", "_Zsaxpy", "a(b", "a)", "a>", ">", ")"})
        EXPECT_EQ(Forms(symbol).plain, symbol);
    EXPECT_EQ(names::demangled("$calls$_Z4downiPKi"), "down(int, int const*)");
}

TEST(Names, EveryFormIsMeantAndTheLongestWins) {
    using Indices = std::vector<size_t>;
    EXPECT_EQ(names::meant(symbols, "scan"), Indices{0});  // the C function, not scan(float*, int)
    EXPECT_EQ(names::meant(symbols, "scan(float*, int)"), Indices{1});
    EXPECT_EQ(names::meant(symbols, "app::reduce<double, 3>"), Indices{3});
    EXPECT_EQ(names::meant(symbols, "reduce<float, 3>"), Indices{2});
    EXPECT_EQ(names::meant(symbols, "reduce"), (Indices{4}));  // the only one with no arguments
    EXPECT_EQ(names::meant(symbols, "reduce<*"), (Indices{2, 3}));
    EXPECT_EQ(names::meant(symbols, "*double, 3>"), Indices{3});
    EXPECT_EQ(names::meant(symbols, "g"), Indices{5});
    EXPECT_TRUE(names::meant(symbols, "app").empty());
    EXPECT_TRUE(names::meant(symbols, "").empty());
}

TEST(Names, OptionsSelect) {
    EXPECT_TRUE(names::selects({}, "_Z4scanPfi"));
    EXPECT_TRUE(names::selects({"nothing", "scan"}, "_Z4scanPfi"));
    EXPECT_TRUE(names::selects({"app::*"}, "_ZN3app6reduceIfLi3EEEvPT_PFviE") ||
                names::selects({"*app::*"}, "_ZN3app6reduceIfLi3EEEvPT_PFviE"));
    EXPECT_FALSE(names::selects({"sca"}, "_Z4scanPfi"));
}

TEST(Names, ErrorsListWhatThereIs) {
    const auto none = only_meant(symbols, "scam", "k.cubin");
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::not_found);
    EXPECT_EQ(none.error().where, "k.cubin: kernel 'scam'");
    EXPECT_NE(none.error().hint.find("; app::reduce<float, 3>; "), std::string::npos);
    const auto several = only_meant(symbols, "reduce<*", "k.cubin");
    ASSERT_FALSE(several);
    EXPECT_EQ(several.error().code, ErrorCode::usage);
    EXPECT_NE(several.error().what.find("2 kernels"), std::string::npos);
    EXPECT_EQ(several.error().hint.find("scan"), std::string::npos);
}

}  // namespace
}  // namespace sassemu
