#include "converters/pytorch/host/tensor_ranges.h"

#include <gtest/gtest.h>

namespace reprise::pytorch {
namespace {

Value Tensor(std::int64_t incarnation, DType dtype) {
  TensorDesc tensor;
  tensor.incarnation = incarnation;
  tensor.dtype = dtype;
  return Value{tensor};
}

TEST(TensorRanges, AreReadAsTheObserverWritesThem) {
  const auto ranges = ParseTensorRanges(R"({"1":[5,510],"12":[-100, 63]})");
  ASSERT_EQ(ranges.size(), 2U);
  EXPECT_EQ(ranges[0].tensor, 1);
  EXPECT_EQ(ranges[0].low, 5);
  EXPECT_EQ(ranges[0].high, 510);
  EXPECT_EQ(ranges[1].tensor, 12);
  EXPECT_EQ(ranges[1].low, -100);
  for (const char* text : {"", "{}", "[1]", R"({"1":[5]})", R"({"1":[9,5]})", R"({"x":[1,2]})",
                           R"({"1":[1,99999999999999999999]})"}) {
    EXPECT_TRUE(ParseTensorRanges(text).empty()) << text;
  }
}

TEST(TensorRanges, OfAStorageOverAllCallsThatReadIt) {
  const std::string embedding = "aten::index";
  const std::string random = "aten::random_";
  HostTrace host;
  for (const auto& [low, high] : {std::pair(5, 80), {0, 60}}) {
    HostNode& node = host.nodes.emplace_back();
    node.name = &embedding;
    // Tensors in lists count, and undefined ones too.
    node.inputs = {Tensor(1, DType::kFloat32),
                   Value{ValueList{Tensor(-1, DType::kUnknown), Tensor(7, DType::kInt64)}}};
    node.tensor_ranges = {{2, low, high}, {0, 1, 2}, {9, 1, 2}};
  }
  HostNode& writer = host.nodes.emplace_back();
  writer.name = &random;  // what was in its memory before is not read
  writer.inputs = {Tensor(8, DType::kInt64)};
  writer.tensor_ranges = {{0, 32, 140175183125840}};
  EXPECT_EQ(FindIndexRanges(host), (std::vector<IndexRange>{{7, 0, 80}}));
}

}  // namespace
}  // namespace reprise::pytorch
