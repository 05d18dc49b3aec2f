// Rules of InferResults that no bundled capture exercises: shapes worked out by hand, and refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "converters/pytorch/results/infer_results.h"
#include "converters/pytorch/results/result_layouts.h"
#include "core/operator_table.h"

namespace reprise::pytorch {
namespace {

using ::testing::ElementsAre;

TensorDesc Tensor(Shape shape, DType dtype = DType::kFloat32, Shape strides = {}) {
  TensorDesc t;
  t.tensor_id = t.storage_id = 1;
  t.dtype = dtype;
  t.elements = ElementCount(shape);
  t.strides = strides.empty() ? ContiguousStrides(shape) : std::move(strides);
  t.shape = std::move(shape);
  return t;
}

Value Numbers(std::initializer_list<std::int64_t> numbers) {
  ValueList list;
  list.reserve(numbers.size());
  for (const std::int64_t number : numbers) {
    list.emplace_back().data = number;
  }
  return {std::move(list)};
}

Value Int(std::int64_t number) { return {number}; }

// The first result, or a tensor of unknown type where nothing is claimed.
TensorDesc First(const std::string& name, const ValueList& inputs, bool on_gpu = true) {
  const auto results = InferResults({.name = name, .inputs = inputs, .on_gpu = on_gpu});
  const TensorDesc* first = results && !results->empty() ? results->front().AsTensor() : nullptr;
  return first == nullptr ? TensorDesc{} : *first;
}

bool Refused(const std::string& name, const ValueList& inputs, bool on_gpu = true) {
  return !InferResults({.name = name, .inputs = inputs, .on_gpu = on_gpu}).has_value();
}

TEST(ResultRules, ConvolutionCountsWindows) {
  // (32 + 2·2 − (2·(3−1)+1)) / 3 + 1 = 11; groups: 8 = 4 · 2
  const ValueList call = {{Tensor({2, 8, 32, 16})},
                          {Tensor({6, 4, 3, 1})},
                          Numbers({2, 0}),
                          Numbers({3, 1}),
                          Numbers({2, 1}),
                          Int(2),
                          {false},
                          {false},
                          {true}};
  EXPECT_THAT(First("aten::cudnn_convolution", call).shape, ElementsAre(2, 6, 11, 16));
  ValueList other = call;
  other[5] = Int(4);  // 4 groups of 4 are not 8
  EXPECT_TRUE(Refused("aten::cudnn_convolution", other));
}

TEST(ResultRules, TransposedConvolutionGrows) {
  const ValueList call = {{Tensor({1, 4, 5, 5})},
                          {Tensor({4, 3, 3, 3})},
                          {},
                          Numbers({2, 2}),
                          Numbers({1, 1}),
                          Numbers({1, 1}),
                          {true},
                          Numbers({1, 1}),
                          Int(2)};
  EXPECT_THAT(First("aten::convolution_overrideable", call).shape, ElementsAre(1, 6, 10, 10));
}

TEST(ResultRules, ChannelsLastIsClaimedWhereLibrariesAgree) {
  const TensorDesc x = Tensor({2, 3, 8, 8}, DType::kFloat16, {192, 1, 24, 3});
  const ValueList cudnn = {{x},
                           {Tensor({4, 3, 1, 1}, DType::kFloat16)},
                           Numbers({0, 0}),
                           Numbers({1, 1}),
                           Numbers({1, 1}),
                           Int(1),
                           {false},
                           {false},
                           {true}};
  EXPECT_THAT(First("aten::cudnn_convolution", cudnn).strides, ElementsAre(256, 1, 32, 4));
  ValueList miopen = cudnn;
  miopen.insert(miopen.begin() + 2, Value{});
  miopen.pop_back();
  EXPECT_TRUE(Refused("aten::miopen_convolution", miopen));
}

TEST(ResultRules, RoundedUpPoolingBeginsInside) {
  const auto pool = [](bool ceil) {
    return First("aten::max_pool2d_with_indices", {{Tensor({1, 1, 6, 7})},
                                                   Numbers({2, 2}),
                                                   Numbers({4, 4}),
                                                   Numbers({0, 0}),
                                                   Numbers({1, 1}),
                                                   {ceil}});
  };
  EXPECT_THAT(pool(false).shape, ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(pool(true).shape, ElementsAre(1, 1, 2, 2));  // a third would begin at 8 of 7
}

TEST(ResultRules, TypesArePromotedAsResultTypeSays) {
  const auto mul = [](TensorDesc a, const Value& b) {
    return First("aten::mul", {{std::move(a)}, b});
  };
  EXPECT_EQ(mul(Tensor({2}, DType::kBFloat16), {Tensor({2}, DType::kFloat16)}).dtype,
            DType::kFloat32);
  EXPECT_EQ(mul(Tensor({2}, DType::kInt8), {Tensor({2}, DType::kUInt8)}).dtype, DType::kInt16);
  EXPECT_EQ(mul(Tensor({2}, DType::kBFloat16), {Tensor({}, DType::kFloat64)}).dtype,
            DType::kBFloat16);
  EXPECT_EQ(mul(Tensor({2}, DType::kInt32), Int(3)).dtype, DType::kInt32);
  EXPECT_EQ(mul(Tensor({2}, DType::kBool), Int(3)).dtype, DType::kInt64);
}

TEST(ResultRules, WhatACaptureHidesIsNotGuessed) {
  // The default type.
  EXPECT_TRUE(Refused("aten::mul", {{Tensor({2}, DType::kInt64)}, {0.5}}));
  EXPECT_TRUE(Refused("aten::div", {{Tensor({2}, DType::kInt64)}, Int(2)}));
  // Whether it was a Python number.
  EXPECT_TRUE(Refused("aten::mul", {{Tensor({2}, DType::kInt64)}, {Tensor({}, DType::kFloat64)}}));
  EXPECT_TRUE(Refused("aten::mul", {{Tensor({})}, {Tensor({}, DType::kFloat64)}}));
  // Which function: texts are not in Kineto files.
  EXPECT_TRUE(Refused("aten::gelu", {{Tensor({2})}, {}}));
  EXPECT_TRUE(Refused("aten::div", {{Tensor({2})}, {Tensor({2})}, {}}));
  // Lists of optional tensors, types in lists.
  EXPECT_TRUE(Refused("aten::index", {{Tensor({2})}, {}}));
  EXPECT_TRUE(Refused("aten::cat", {{}, Int(0)}));
  // Statistics of narrow types on a CPU.
  const ValueList norm = {{Tensor({2, 4}, DType::kBFloat16)}, Numbers({4}), {}, {}, {1e-5}};
  EXPECT_TRUE(Refused("aten::native_layer_norm", norm, false));
  EXPECT_EQ(InferResults({.name = "aten::native_layer_norm", .inputs = norm, .on_gpu = true})
                ->at(1)
                .AsTensor()
                ->dtype,
            DType::kFloat32);
  // What PyTorch itself would refuse.
  EXPECT_TRUE(Refused("aten::mm", {{Tensor({2, 3})}, {Tensor({4, 5})}}));
  EXPECT_TRUE(Refused("aten::add", {{Tensor({2, 3})}, {Tensor({2, 4})}, Int(1)}));
  EXPECT_TRUE(Refused("aten::mm", {}));
}

TEST(ResultRules, LayoutsAreTheIteratorsChoice) {
  const TensorDesc turned = Tensor({3, 5}, DType::kFloat32, {1, 3});
  EXPECT_THAT(First("aten::neg", {{turned}}).strides, ElementsAre(1, 3));
  EXPECT_THAT(First("aten::add", {{turned}, {Tensor({3, 5})}, Int(1)}).strides, ElementsAre(1, 3));
  EXPECT_THAT(First("aten::add", {{Tensor({5})}, {turned}, Int(1)}).strides, ElementsAre(1, 3));
  // A slice keeps its order of dimensions, not its gaps.
  EXPECT_THAT(First("aten::neg", {{Tensor({2, 3}, DType::kFloat32, {8, 1})}}).strides,
              ElementsAre(3, 1));
}

TEST(ResultRules, ReductionsDropOrKeepDimensions) {
  const auto sum = [](Value dims, bool keep) {
    return First("aten::sum", {{Tensor({2, 3, 4}, DType::kInt32)}, std::move(dims), {keep}, {}});
  };
  EXPECT_THAT(sum(Numbers({-1, 0}), false).shape, ElementsAre(3));
  EXPECT_THAT(sum(Numbers({1}), true).shape, ElementsAre(2, 1, 4));
  EXPECT_THAT(sum(Numbers({}), true).shape, ElementsAre(1, 1, 1));
  EXPECT_EQ(sum({}, false).dtype, DType::kInt64);
  EXPECT_TRUE(Refused("aten::sum", {{Tensor({2})}, Numbers({1}), {false}, {}}));  // no dimension 1
}

TEST(ResultRules, OutTensorsAndInPlaceOperandsAreTheResult) {
  TensorDesc out = Tensor({2, 5});
  out.storage_id = 77;
  EXPECT_EQ(First("aten::mm", {{Tensor({2, 3})}, {Tensor({3, 5})}, {out}}).storage_id, 77);
  out.shape = {0};
  EXPECT_TRUE(Refused("aten::mm", {{Tensor({2, 3})}, {Tensor({3, 5})}, {out}}));  // was resized
  EXPECT_EQ(First("aten::add_", {{Tensor({2})}, {Tensor({2})}, Int(1)}).storage_id, 1);
  EXPECT_TRUE(Refused("aten::transpose_", {{Tensor({2, 3})}, Int(0), Int(1)}));
  EXPECT_TRUE(Refused("aten::_foreach_add_", {{}, {}, Int(1)}));
}

TEST(ResultRules, EveryOperatorRefusesArgumentsThatMakeNoSense) {
  for (const OperatorRow& row : OperatorRows()) {
    if (row.result == ResultRule::kNone) {
      continue;
    }
    const std::string_view name = row.name;
    for (std::size_t count = 0; count < 18; ++count) {
      EXPECT_TRUE(Refused(std::string(name), ValueList(count))) << name << " of " << count;
      static_cast<void>(First(std::string(name), ValueList(count, {Tensor({})})));
      static_cast<void>(First(std::string(name), ValueList(count, Int(-7))));
      ValueList mixed(count, Numbers({3, -2, 9}));
      if (count > 0) {
        mixed[0] = {Tensor({4, 4, 4, 4})};
      }
      static_cast<void>(First(std::string(name), mixed));
    }
  }
}

}  // namespace
}  // namespace reprise::pytorch
