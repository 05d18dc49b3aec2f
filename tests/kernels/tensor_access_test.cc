#include "kernels/tensor_access.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/device_lowering.h"
#include "kernels/samples.h"

namespace reprise {
namespace {

TEST(Half, EveryValueSurvivesTheRoundTrip) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = HalfToFloat(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(HalfToFloat(FloatToHalf(value))));
    } else {
      ASSERT_EQ(FloatToHalf(value), half) << value;
    }
  }
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(HalfToFloat(FloatToHalf(1.0F + 0x1p-11F)), 1.0F);             // tie, even below
  EXPECT_EQ(HalfToFloat(FloatToHalf(1.0F + 3 * 0x1p-11F)), 1 + 0x1p-9F);  // tie, even above
  EXPECT_EQ(HalfToFloat(FloatToHalf(65519.0F)), 65504.0F);
  EXPECT_TRUE(std::isinf(HalfToFloat(FloatToHalf(65520.0F))));
  EXPECT_EQ(HalfToFloat(FloatToHalf(0x1p-25F)), 0.0F);
  EXPECT_EQ(HalfToFloat(FloatToHalf(0x1.8p-25F)), 0x1p-24F);
}

TEST(BFloat16, RoundsToNearestEven) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const float value = BFloat16ToFloat(static_cast<std::uint16_t>(bits));
    if (!std::isnan(value)) {
      ASSERT_EQ(FloatToBFloat16(value), bits);
    }
  }
  EXPECT_EQ(BFloat16ToFloat(FloatToBFloat16(1.0F + 0x1p-8F)), 1.0F);
  EXPECT_EQ(BFloat16ToFloat(FloatToBFloat16(1.0F + 3 * 0x1p-8F)), 1 + 0x1p-6F);
  EXPECT_TRUE(std::isnan(BFloat16ToFloat(FloatToBFloat16(NAN))));
}

TEST(Elements, ConvertAndSaturate) {
  std::array<std::byte, 8> memory{};
  StoreDouble(memory.data(), DType::kInt8, 0, 300);
  EXPECT_EQ(LoadInt(memory.data(), DType::kInt8, 0), 127);
  StoreDouble(memory.data(), DType::kInt64, 0, -1.9);
  EXPECT_EQ(LoadInt(memory.data(), DType::kInt64, 0), -1);
  const std::int64_t big = (std::int64_t{1} << 62) + 1;
  StoreInt(memory.data(), DType::kInt64, 0, big);
  EXPECT_EQ(LoadInt(memory.data(), DType::kInt64, 0), big) << "not by way of double";
  StoreDouble(memory.data(), DType::kBool, 3, 0.5);
  EXPECT_EQ(LoadInt(memory.data(), DType::kBool, 3), 1);
}

TEST(IndexSpace, MergesWhatAllOperandsWalkAlike) {
  samples::SampleTensors t;
  const TensorDesc whole = t.Tensor(DType::kFloat32, {4, 64, 256});
  const TensorDesc row = t.Tensor(DType::kFloat32, {64, 256});
  const TensorDesc* same[] = {&whole, &whole};
  const auto linear = MakeIndexSpace(whole.shape, same);
  ASSERT_TRUE(linear);
  EXPECT_EQ(linear->dims, 1);
  EXPECT_TRUE(linear->IsLinear(2));
  const TensorDesc* broadcast[] = {&whole, &row};
  const auto rows = MakeIndexSpace(whole.shape, broadcast);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->dims, 2);
  EXPECT_EQ(rows->shape[1], 64 * 256);
  EXPECT_EQ(rows->strides[1][0], 0);
  EXPECT_FALSE(rows->IsLinear(2));
}

TEST(IndexSpace, ReorderingFindsDenseTransposes) {
  samples::SampleTensors t;
  const TensorDesc transposed = t.Strided(DType::kFloat32, {8, 16}, {1, 8}, 5);
  const TensorDesc* operands[] = {&transposed, &transposed};
  EXPECT_FALSE(MakeIndexSpace(transposed.shape, operands)->IsLinear(2));
  const auto space = MakeIndexSpace(transposed.shape, operands, /*reorder=*/true);
  EXPECT_TRUE(space->IsLinear(2));
  EXPECT_EQ(space->offset[0], 5);
}

TEST(IndexSpace, RefusesWhatDoesNotBroadcast) {
  samples::SampleTensors t;
  const TensorDesc a = t.Tensor(DType::kFloat32, {4, 3});
  const TensorDesc b = t.Tensor(DType::kFloat32, {4, 1});
  const TensorDesc c = t.Tensor(DType::kFloat32, {2, 4, 3});
  const TensorDesc* good[] = {&a, &b};
  const TensorDesc* bad[] = {&b, &a};
  const TensorDesc* deep[] = {&a, &c};
  EXPECT_TRUE(MakeIndexSpace(a.shape, good));
  EXPECT_FALSE(MakeIndexSpace(b.shape, bad));
  EXPECT_FALSE(MakeIndexSpace(a.shape, deep));
}

TEST(CheckHolds, CountsToTheEndOfTheLastElement) {
  samples::SampleTensors tensors;
  const TensorDesc strided = tensors.Strided(DType::kFloat32, {2, 3}, {8, 2}, 1);  // 1 … 13
  EXPECT_TRUE(CheckHolds(strided, 56));
  const Status small = CheckHolds(strided, 55);
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().message, "storage incarnation 0 has 55 bytes, a tensor in it needs 56");
  EXPECT_TRUE(CheckHolds(tensors.Tensor(DType::kFloat32, {0, 4}), 0));
}

}  // namespace
}  // namespace reprise
