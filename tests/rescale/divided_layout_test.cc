// Where storages are divided, and their tensors after.
#include "predict/rescale/tensors/divided_layout.h"

#include <gtest/gtest.h>

#include <vector>

namespace reprise {
namespace {

using Sizes = std::vector<std::int64_t>;

TensorDesc OfStorage(const Sizes& shape, std::int64_t offset = 0, Sizes strides = {}) {
  TensorDesc tensor;
  tensor.incarnation = 1;
  tensor.offset = offset;
  tensor.shape = shape;
  tensor.strides = strides.empty() ? ContiguousStrides(shape) : std::move(strides);
  tensor.elements = ElementCount(shape);
  return tensor;
}

class SeenLayout {
 public:
  explicit SeenLayout(std::vector<TensorDesc> tensors) : tensors_(std::move(tensors)) {
    for (const TensorDesc& tensor : tensors_) {
      layout_.Add(tensor);
    }
    layout_.EndAdding();
  }
  DividedLayout& operator*() { return layout_; }
  TensorDesc After(std::size_t tensor, const DividedAmong& division) {
    TensorDesc after = tensors_[tensor];
    EXPECT_TRUE(layout_.Resize(after, division));
    return after;
  }

 private:
  std::vector<TensorDesc> tensors_;
  DividedLayout layout_;
};

constexpr DividedAmong kTwoToFour{2, 4}, kFourToTwo{4, 2};

// Queries, keys and values side by side: each has its own heads.
TEST(DividedLayout, DividesWithinParts) {
  SeenLayout layout({OfStorage({32, 96}), OfStorage({32, 4, 8}, 0, {96, 8, 1}),
                     OfStorage({32, 4, 8}, 32, {96, 8, 1}), OfStorage({32, 4, 8}, 64, {96, 8, 1})});
  ASSERT_TRUE((*layout).Divide(0, 1, kTwoToFour));
  EXPECT_EQ(layout.After(0, kTwoToFour).shape, Sizes({32, 48}));
  const TensorDesc values = layout.After(3, kTwoToFour);
  EXPECT_EQ(values.shape, Sizes({32, 2, 8}));
  EXPECT_EQ(values.strides, Sizes({48, 8, 1}));
  EXPECT_EQ(values.offset, 32);
}

// Groups of heads, each with its queries, keys and values: the groups are divided.
TEST(DividedLayout, DividesGroups) {
  SeenLayout layout(
      {OfStorage({32, 96}), OfStorage({32, 4, 24}), OfStorage({32, 4, 8}, 16, {96, 24, 1})});
  ASSERT_TRUE((*layout).Divide(1, 1, kTwoToFour));
  EXPECT_EQ(layout.After(0, kTwoToFour).shape, Sizes({32, 48}));
  const TensorDesc keys = layout.After(2, kTwoToFour);
  EXPECT_EQ(keys.shape, Sizes({32, 2, 8}));
  EXPECT_EQ(keys.strides, Sizes({48, 24, 1}));
  EXPECT_EQ(keys.offset, 16);
}

TEST(DividedLayout, TurnedAndGrown) {
  SeenLayout layout({OfStorage({64, 32}), OfStorage({32, 64}, 0, {1, 32})});
  ASSERT_TRUE((*layout).Divide(1, 0, kFourToTwo));
  EXPECT_TRUE((*layout).IsDivided(0, 1));
  EXPECT_FALSE((*layout).IsDivided(0, 0));
  EXPECT_EQ(layout.After(1, kFourToTwo).shape, Sizes({64, 64}));
  EXPECT_EQ(layout.After(1, kFourToTwo).strides, Sizes({1, 64}));
}

// A buffer of a matrix, a vector and a matrix; a share of it ends within one of them.
TEST(DividedLayout, BuffersOfSeveralTensors) {
  SeenLayout layout({OfStorage({112}), OfStorage({8, 8}), OfStorage({16}, 64),
                     OfStorage({4, 8}, 80), OfStorage({56}, 56)});
  (*layout).SetShare(4);
  ASSERT_TRUE((*layout).Divide(3, 0, kTwoToFour));
  EXPECT_EQ(layout.After(0, kTwoToFour).shape, Sizes({96}));
  EXPECT_EQ(layout.After(1, kTwoToFour).shape, Sizes({8, 8}));
  EXPECT_EQ(layout.After(3, kTwoToFour).shape, Sizes({2, 8}));
  EXPECT_EQ(layout.After(3, kTwoToFour).offset, 80);
  EXPECT_EQ(layout.After(4, kTwoToFour).shape, Sizes({48}));
  EXPECT_EQ(layout.After(4, kTwoToFour).offset, 48);
}

// Parts of ranks one after the other: more of them, each smaller.
TEST(DividedLayout, PartsOfRanks) {
  SeenLayout layout({OfStorage({16, 8}), OfStorage({2, 4, 8}, 0, {64, 8, 1}),
                     OfStorage({2, 4, 8}, 32, {64, 8, 1}), OfStorage({8, 8}, 64)});
  (*layout).PlaceRanks(1, 0);
  ASSERT_TRUE((*layout).Divide(1, 1, kTwoToFour));
  EXPECT_EQ(layout.After(0, kTwoToFour).shape, Sizes({16, 8}));
  const TensorDesc second = layout.After(2, kTwoToFour);
  EXPECT_EQ(second.shape, Sizes({4, 2, 8}));
  EXPECT_EQ(second.strides, Sizes({32, 8, 1}));
  EXPECT_EQ(second.offset, 16);
  // Half of the whole, whichever ranks it is of.
  EXPECT_EQ(layout.After(3, kTwoToFour).shape, Sizes({8, 8}));
  EXPECT_EQ(layout.After(3, kTwoToFour).offset, 64);
}

// Two heads of queries, one of keys: features stay whole, and each has more heads.
TEST(DividedLayout, OneHead) {
  SeenLayout layout({OfStorage({32, 24}), OfStorage({32, 2, 8}, 0, {24, 8, 1}),
                     OfStorage({32, 1, 8}, 16, {24, 24, 1}),
                     OfStorage({32, 1, 4}, 20, {24, 24, 1})});
  for (const std::size_t tensor : {1U, 2U, 3U}) {
    EXPECT_TRUE((*layout).SetHeads(tensor, 1));
  }
  EXPECT_TRUE((*layout).HasOneHead());
  ASSERT_TRUE((*layout).Divide(0, 1, kFourToTwo));
  ASSERT_TRUE((*layout).Divide(1, 1, kFourToTwo));
  EXPECT_EQ(layout.After(0, kFourToTwo).shape, Sizes({32, 48}));
  const TensorDesc queries = layout.After(1, kFourToTwo), keys = layout.After(2, kFourToTwo);
  EXPECT_EQ(queries.shape, Sizes({32, 4, 8}));
  EXPECT_EQ(queries.strides, Sizes({48, 8, 1}));
  EXPECT_EQ(keys.shape, Sizes({32, 2, 8}));
  EXPECT_EQ(keys.strides, Sizes({48, 8, 1}));
  EXPECT_EQ(keys.offset, 32);
  const TensorDesc second_half = layout.After(3, kFourToTwo);
  EXPECT_EQ(second_half.shape, Sizes({32, 2, 4}));
  EXPECT_EQ(second_half.offset, 36);
  EXPECT_FALSE((*layout).IsOrderInDoubt());
  // It is not divided further.
  SeenLayout one({OfStorage({32, 8}), OfStorage({32, 1, 8})});
  (*one).SetHeads(1, 1);
  EXPECT_FALSE((*one).Divide(1, 1, kTwoToFour, {8}));
}

// Of one head and one sample, heads may lie before the tokens or behind them.
TEST(DividedLayout, OrderOfOneHead) {
  SeenLayout layout({OfStorage({1, 1, 32, 8}), OfStorage({32, 1, 1, 8}, 0, {8, 256, 256, 1})});
  (*layout).SetHeads(0, 1);
  (*layout).SetHeads(1, 2);
  EXPECT_EQ((*layout).HeadElements(), Sizes({256}));
  ASSERT_TRUE((*layout).Divide(0, 1, kFourToTwo, {8}));
  EXPECT_EQ(layout.After(0, kFourToTwo).strides, Sizes({512, 8, 16, 1}));
  EXPECT_EQ(layout.After(1, kFourToTwo).shape, Sizes({32, 1, 2, 8}));
  EXPECT_TRUE((*layout).IsOrderInDoubt());
  // Where a dimension would count both, it is not known which does.
  EXPECT_FALSE((*layout).SetHeads(0, 0));
  EXPECT_FALSE((*layout).IsOfHeads(0, 1));
}

TEST(DividedLayout, RefusesWhatDoesNotAgree) {
  SeenLayout odd({OfStorage({3, 8})});
  EXPECT_FALSE((*odd).Divide(0, 0, kTwoToFour));
  SeenLayout cut({OfStorage({8, 8}), OfStorage({5, 8}, 8)});
  EXPECT_FALSE((*cut).Divide(0, 0, kTwoToFour));
}

}  // namespace
}  // namespace reprise
