#include "core/shared_text.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprise {
namespace {

TEST(SharedText, CopiesAreOneText) {
  const SharedText text = std::string("aten::scaled_dot_product_attention");
  const SharedText copy = text;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(copy.identity(), text.identity());
  EXPECT_EQ(&copy.str(), &text.str());
  const SharedText other = "aten::scaled_dot_product_attention";
  EXPECT_NE(other.identity(), text.identity());
  EXPECT_EQ(other, text);
  EXPECT_NE(SharedText("aten::mm"), text);
}

TEST(SharedText, ReadsAsAString) {
  const SharedText text = "mm";
  const std::string& as_string = text;
  const std::string_view as_view = text;
  EXPECT_EQ(as_string, "mm");
  EXPECT_EQ(as_view, "mm");
  EXPECT_EQ(text, "mm");
  EXPECT_EQ(text, std::string("mm"));
  EXPECT_NE(text, "m");
  EXPECT_LT(SharedText("a"), SharedText("b"));
  EXPECT_EQ(fmt::format("{:>4}", text), "  mm");
  EXPECT_TRUE(text.starts_with("m"));
  const std::map<std::pair<std::string, std::string>, int> rows = {{{text, "x"}, 1}};
  EXPECT_EQ(rows.count({"mm", "x"}), 1U);
}

TEST(SharedText, OfNothingIsEmpty) {
  for (const SharedText& text : {SharedText(), SharedText(""), SharedText(std::string())}) {
    EXPECT_TRUE(text.empty());
    EXPECT_EQ(text.size(), 0U);
    EXPECT_EQ(text, "");
    EXPECT_EQ(text, SharedText());
  }
}

TEST(SharedTexts, HoldEachTextOnce) {
  SharedTexts texts;
  std::vector<SharedText> first;
  first.reserve(1'000);
  for (int i = 0; i < 1'000; ++i) {
    first.push_back(texts.Of(fmt::format("operation {}", i)));
  }
  for (int i = 0; i < 1'000; ++i) {
    const SharedText again = texts.Of(fmt::format("operation {}", i));
    EXPECT_EQ(again, fmt::format("operation {}", i));
    EXPECT_EQ(again.identity(), first[static_cast<std::size_t>(i)].identity());
  }
  EXPECT_TRUE(texts.Of("").empty());
  EXPECT_TRUE(texts.Of("").empty());
}

}  // namespace
}  // namespace reprise
