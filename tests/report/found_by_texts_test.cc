#include "report/nodes/found_by_texts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace reprise {
namespace {

using Key = std::tuple<std::string, std::string, std::uint32_t>;

// More texts than it has places, some of them equal, and each several times.
TEST(FoundByTexts, AreThoseOfTheTexts) {
  std::vector<std::pair<SharedText, SharedText>> texts;
  texts.reserve(5'000);
  for (int i = 0; i < 5'000; ++i) {
    texts.emplace_back(fmt::format("name {}", i % 700), i % 3 == 0 ? "" : fmt::format("{}", i % 7));
  }
  std::map<Key, int> expected, counted;
  FoundByTexts<int> found;
  for (int round = 0; round < 3; ++round) {
    for (const auto& [a, b] : texts) {
      for (const std::uint32_t number : {0U, 9U}) {
        ++expected[{a, b, number}];
        ++found.Of(a, b, number, [&, &first = a, &second = b]() -> int& {
          return counted[{first, second, number}];
        });
      }
    }
  }
  EXPECT_EQ(counted, expected);
}

TEST(FoundByTexts, CopiesAreLookedUpOnce) {
  const SharedText name = "aten::mm";
  int value = 0;
  int asked = 0;
  FoundByTexts<int> found;
  for (int i = 0; i < 100; ++i) {
    found.Of(SharedText(name), {}, 1, [&]() -> int& {
      ++asked;
      return value;
    }) += i;
  }
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(value, 4'950);
}

}  // namespace
}  // namespace reprise
