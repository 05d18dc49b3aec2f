#include "core/shown_text.h"

#include <gtest/gtest.h>

namespace reprise {
namespace {

TEST(ShownText, OrdinaryTextStays) {
  for (const char* text : {"aten::mm", "", "Größe 3 µs", "矩阵", "a\\b", "~tilde"}) {
    EXPECT_EQ(ShownText(text), text);
  }
}

TEST(ShownText, ControlsAndMisleadingMarksBecomeEscapes) {
  EXPECT_EQ(ShownText("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(ShownText("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(ShownText(std::string_view("nul\0", 4)), "nul\\x00");
  EXPECT_EQ(ShownText("\xc2\x9b"), "\\x9b");  // CSI in one code point
  EXPECT_EQ(ShownText("a\xe2\x80\xae"
                      "b"),
            "a\\u{202e}b");  // right-to-left override
  EXPECT_EQ(ShownText("\xe2\x81\xa6\xe2\x80\xa8"), "\\u{2066}\\u{2028}");
  EXPECT_EQ(ShownText("\xf3\xa0\x80\x81"), "\\u{e0001}");
  EXPECT_EQ(ShownText("\xff\xc0\x80\xed\xa0\x80"), "\\xff\\xc0\\x80\\xed\\xa0\\x80");
}

TEST(ShownText, LinesAndOwnStylesStayWhereTheyAreComposed) {
  EXPECT_EQ(ShownLines("a\nb\x1b"), "a\nb\\x1b");
  EXPECT_EQ(ShownStyledLines("\x1b[1ma\x1b[0m\n\x1b[2J"), "\x1b[1ma\x1b[0m\n\\x1b[2J");
}

TEST(ShownText, MarkdownHasNoMarkup) {
  EXPECT_EQ(MarkdownText("a|b\n<img> `x` [l](u)"), "a\\|b\\\\n\\<img\\> \\`x\\` \\[l\\](u)");
}

TEST(ShownText, CsvHasNoFormulas) {
  EXPECT_EQ(CsvField("plain"), "plain");
  EXPECT_EQ(CsvField("a,\"b\""), "\"a,\"\"b\"\"\"");
  for (const char first : {'=', '+', '-', '@'}) {
    EXPECT_EQ(CsvField(std::string(1, first) + "1"), std::string("'") + first + "1");
  }
  EXPECT_EQ(CsvField("\t=1"), "\\t=1");
}

}  // namespace
}  // namespace reprise
