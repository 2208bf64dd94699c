// Litmus tests written in SASS: the files of data/, and what is refused.
#include <sstream>

#include "emu/explore/sass_front.hpp"
#include "explore.hpp"

namespace sassemu::explore {
namespace {

std::string file(const std::string& name) {
    std::ifstream in(std::string(SASSEMU_SOURCE_DIR) + "/tests/explore/data/" + name);
    std::stringstream out;
    out << in.rdbuf();
    return out.str();
}
Verdict verdict(const std::string& text) {
    auto line = litmus_of_sass(text);
    EXPECT_TRUE(line) << line.error().message();
    return line ? explored(*line).verdict : Verdict::error;
}
std::string without(std::string text, const std::string& word) {
    for (size_t at; (at = text.find(word)) != text.npos;) text.replace(at, word.size(), "NOP");
    return text;
}

TEST(Sass, EveryWordOfTheMessageIsNeeded) {
    const std::string message = file("message.sass");
    EXPECT_EQ(verdict(message), Verdict::forbidden);
    EXPECT_EQ(verdict(without(message, "MEMBAR.ALL.GPU")), Verdict::allowed);
    EXPECT_EQ(verdict(without(message, "CCTL.IVALL")), Verdict::allowed);
    std::string narrow = message;
    narrow.replace(narrow.find("MEMBAR.ALL.GPU"), 14, "MEMBAR.ALL.CTA");
    EXPECT_EQ(verdict(narrow), Verdict::allowed);
}
TEST(Sass, StoreBufferingNeedsMembarSc) {
    const std::string sb = file("store_buffering.sass");
    EXPECT_EQ(verdict(sb), Verdict::forbidden);
    std::string weaker = sb;
    weaker.replace(weaker.find("MEMBAR.SC.GPU"), 13, "MEMBAR.ALL.GPU");
    EXPECT_EQ(verdict(weaker), Verdict::allowed);
}
TEST(Sass, WhatIsNotModelledIsNamedWithItsLine) {
    const auto refusal = [](const std::string& body) {
        auto line = litmus_of_sass(
            "// litmus "
            "{\"name\":\"t\",\"threads\":[{\"id\":\"P0\",\"kernel\":\"k\"}],\"condition\":\"x==0\"}"
            "\n.kernel k\n.param x 8\n" +
            body);
        return line ? std::string{} : line.error().message();
    };
    EXPECT_EQ(refusal("EXIT"), "");
    EXPECT_EQ(refusal("FADD R0, R1, R2"), "line 4: 'FADD R0, R1, R2' is not modelled");
    EXPECT_EQ(refusal("MEMBAR.VC"),
              "line 4: 'MEMBAR.VC' is not modelled: use the model 'caches' for it");
    EXPECT_EQ(refusal("LDG.E R0, [R2]"), "line 4: the address in R2 is not that of a parameter");
    EXPECT_FALSE(litmus_of_sass(".kernel k\nEXIT\n"));
    EXPECT_FALSE(litmus_of_sass("// litmus {\"threads\":[{\"kernel\":7}]}\n"));
    EXPECT_FALSE(litmus_of_sass("// litmus {\"threads\":[3]}\n"));
}

}  // namespace
}  // namespace sassemu::explore
