// Which operation is which: sequences of keys, then operations with places, names and shapes.
#include "report/compare/align.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace reprise {
namespace {

std::size_t LongestByTable(const std::vector<std::uint64_t>& a,
                           const std::vector<std::uint64_t>& b) {
  std::vector<std::vector<std::size_t>> table(a.size() + 1,
                                              std::vector<std::size_t>(b.size() + 1, 0));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      table[i + 1][j + 1] =
          a[i] == b[j] ? table[i][j] + 1 : std::max(table[i][j + 1], table[i + 1][j]);
    }
  }
  return table[a.size()][b.size()];
}

TEST(CommonSubsequenceTest, IsAsLongAsThatOfTheTable) {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    std::vector<std::uint64_t> a(random() % 40);
    std::vector<std::uint64_t> b(random() % 40);
    const std::uint64_t keys = 1 + random() % 12;
    std::generate(a.begin(), a.end(), [&] { return random() % keys; });
    std::generate(b.begin(), b.end(), [&] { return random() % keys; });
    const auto pairs = CommonSubsequence(a, b);
    EXPECT_EQ(pairs.size(), LongestByTable(a, b));
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      EXPECT_EQ(a[pairs[i].first], b[pairs[i].second]);
      if (i > 0) {
        EXPECT_GT(pairs[i].first, pairs[i - 1].first);
        EXPECT_GT(pairs[i].second, pairs[i - 1].second);
      }
    }
  }
}

TEST(CommonSubsequenceTest, SequencesWithoutLikenessEnd) {
  std::vector<std::uint64_t> a(6000);
  std::vector<std::uint64_t> b(6000);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = i;
    b[i] = i + 100'000;
  }
  EXPECT_TRUE(CommonSubsequence(a, b).empty());
  // What they have in common at the end is found although thousands differ before it.
  for (std::uint64_t key = 1; key <= 500; ++key) {
    a.push_back(1'000'000 + key);
    b.push_back(1'000'000 + key);
  }
  EXPECT_EQ(CommonSubsequence(a, b).size(), 500U);
}

TimedOperation Op(std::string name, std::string shape, std::string module = {},
                  std::string caller = {}) {
  return {.name = std::move(name),
          .caller = std::move(caller),
          .module = std::move(module),
          .shape = std::move(shape),
          .op_class = OpClass::kGemm};
}

std::vector<TimedOperation> Layers(int layers, int width) {
  std::vector<TimedOperation> out;
  const std::string shape = "[" + std::to_string(width) + ",64] [64,64]";
  for (int layer = 0; layer < layers; ++layer) {
    const std::string module = "Model_0/Layer_" + std::to_string(layer);
    out.push_back(Op("aten::addmm", shape, module + "/Linear_0", "aten::linear"));
    out.push_back(Op("aten::gelu", "[" + std::to_string(width) + ",64]", module + "/GELU_0"));
    out.push_back(Op("aten::mm", shape, module + "/Linear_1", "aten::linear"));
  }
  return out;
}

std::vector<int> CountsBy(const std::vector<AlignedPair>& pairs) {
  std::vector<int> counts(kAlignedBys, 0);
  for (const AlignedPair& pair : pairs) {
    ++counts[static_cast<std::size_t>(pair.by)];
  }
  return counts;
}

using ::testing::ElementsAre;

TEST(AlignTest, TheSameIsAlignedByAll) {
  const auto a = Layers(12, 8);
  EXPECT_THAT(CountsBy(AlignSequences(a, a)), ElementsAre(36, 0, 0, 0, 0));
}

TEST(AlignTest, AnotherBatchSizeIsAlignedByPlace) {
  EXPECT_THAT(CountsBy(AlignSequences(Layers(12, 8), Layers(12, 32))), ElementsAre(0, 36, 0, 0, 0));
}

TEST(AlignTest, ALayerThatOneLacksStaysAloneWhateverItsShapes) {
  const auto a = Layers(12, 8);
  auto b = a;
  b.erase(b.begin() + 15, b.begin() + 18);  // layer 5: its shapes are those of all others
  const auto pairs = AlignSequences(a, b);
  ASSERT_EQ(pairs.size(), 33U);
  for (const AlignedPair& pair : pairs) {
    EXPECT_EQ(a[pair.a].module, b[pair.b].module);
  }
}

TEST(AlignTest, VendorsNameTheSameOtherwise) {
  std::vector<TimedOperation> a = Layers(1, 8);
  auto b = a;
  a.insert(a.begin(), Op("aten::cudnn_convolution", "[1,3,8,8]", "", "aten::_convolution"));
  b.insert(b.begin(), Op("aten::miopen_convolution", "[1,3,8,8] [4]", "", "aten::_convolution"));
  EXPECT_THAT(CountsBy(AlignSequences(a, b)), ElementsAre(3, 0, 0, 0, 1));
  b[0].caller.clear();  // nothing says that it is the same
  EXPECT_THAT(CountsBy(AlignSequences(a, b)), ElementsAre(3, 0, 0, 0, 0));
}

TEST(AlignTest, NamesAloneAlignOnlyInRuns) {
  std::vector<TimedOperation> a = {Op("aten::add", "[4]", "A"), Op("aten::mul", "[4]", "A"),
                                   Op("aten::div", "[4]", "A"), Op("aten::sin", "[4]", "A"),
                                   Op("aten::cos", "[4]", "A")};
  std::vector<TimedOperation> b = {Op("aten::exp", "[9]", "B"), Op("aten::add", "[9]", "B"),
                                   Op("aten::tan", "[9]", "B"), Op("aten::sin", "[9]", "B"),
                                   Op("aten::log", "[9]", "B")};
  EXPECT_TRUE(AlignSequences(a, b).empty());
}

TEST(AlignTest, ThreadsOfOtherNumbersArePairedByWhatTheyRun) {
  const auto rank = [](std::int64_t forward, std::int64_t backward) {
    RankOperations out;
    out.steps = 1;
    for (TimedOperation& of : Layers(3, 8)) {
      of.thread = forward;
      out.operations.push_back(of);
    }
    for (int i = 0; i < 20; ++i) {
      out.operations.push_back(Op("aten::mul", "[4]"));
      out.operations.back().thread = backward;
    }
    std::stable_sort(out.operations.begin(), out.operations.end(),
                     [](const auto& x, const auto& y) { return x.thread < y.thread; });
    return out;
  };
  EXPECT_EQ(AlignRanks(rank(1, 2), rank(17, 4)).size(), 29U);
}

}  // namespace
}  // namespace reprise
